#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/file.h"
#include "graphnet/base/status.h"
#include "graphnet/command/command.h"
#include "graphnet/command/inputs.h"
#include "graphnet/command/json.h"
#include "graphnet/command/messages.h"
#include "graphnet/command/options.h"
#include "graphnet/command/picture_options.h"
#include "graphnet/command/save.h"
#include "graphnet/decompose/part.h"
#include "graphnet/decompose/range_decomposer.h"
#include "graphnet/formats/formats.h"
#include "graphnet/formats/graphnet_folder/writer.h"
#include "graphnet/formats/posted/writer.h"
#include "graphnet/ir/text/json.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/paddle/pir/fusion.h"
#include "graphnet/paddle/pir/loops.h"
#include "graphnet/paddle/pir/lower.h"
#include "graphnet/paddle/pir/printer.h"
#include "graphnet/run/engine.h"
#include "graphnet/view/commands/runnable_python.h"
#include "graphnet/view/commands/unittest_python.h"
#include "graphnet/view/tabular.h"

namespace graphnet {
namespace {

enum class Form {
  kAuto,
  kText,
  kTabular,
  kPython,
  kUnittest,
  kReadable,
  kPir,
  kLoops,
  kDot,
  kSvg,
  kHtml,
  kModelExplorer
};

struct ShowFlags {
  InputList inputs;
  std::string in;  // the one of `inputs`
  std::string out = "-";
  Form form = Form::kAuto;
  DrawingOptions drawing;
  std::string data;  // a file of values of nodes; empty: none
  bool shapes = false;
  bool fused = false;
  bool bound = false;
  std::optional<size_t> group;
  bool runnable = false;
  int jobs = 0;
  bool trust = false;
};

// A picture of more nodes is long.
constexpr size_t kManyNodes = 1000;
constexpr size_t kMaxDataBytes = size_t{256} << 20;

std::optional<PictureForm> PictureOf(const ShowFlags& options) {
  switch (options.form) {
    case Form::kAuto: return PictureFormOf(options.out);
    case Form::kDot: return PictureForm::kDot;
    case Form::kSvg: return PictureForm::kSvg;
    case Form::kHtml: return PictureForm::kHtml;
    case Form::kModelExplorer: return PictureForm::kModelExplorer;
    default: return std::nullopt;
  }
}

// Infers the types of values, which a program of PIR needs, as `graphnet shapes` does. Without
// LibTorch, or if a type cannot be inferred, only the rules of operators are used.
void FindTypes(Sample* sample) {
  if (sample->module->main() == nullptr || pir::IsInPirTerms(*sample->module)) return;
  const bool lacks = absl::c_any_of(sample->module->main()->nodes(), [](const Node* node) {
    return node->is_call() && node->meta() == nullptr;
  });
  if (!lacks || !GiveInputs({}, /*seed=*/0, sample).ok()) return;
  if (const auto engine = OpenEngine(); engine.ok()) (*engine)->InferShapes(sample).IgnoreError();
}

// Returns whether operators that make one kernel are grouped.
bool HasGroups(const ShowFlags& options) { return options.fused || options.form == Form::kLoops; }

// Reads the values that a page shows.
absl::StatusOr<NodeValues> ReadValues(const std::string& path, const Module& module) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxDataBytes));
  ASSIGN_OR_RETURN(NodeValues values, ParseNodeValues(text, Printable(path, 1000), module));
  if (values.unknown > 0) {
    PrintNote(absl::StrCat(Printable(path, 1000), ": ", values.unknown,
                           values.unknown == 1 ? " row is" : " rows are",
                           " of no node of the graph; the first is of ", values.first_unknown));
  }
  return values;
}

absl::StatusOr<std::string> Shown(const Sample& sample, const ShowFlags& options) {
  if (const std::optional<PictureForm> picture = PictureOf(options)) {
    DrawingOptions drawing = options.drawing;
    drawing.part.title = sample.name.empty() ? BaseName(options.in) : sample.name;
    return DrawPicture(*sample.module, *picture, drawing);
  }
  switch (options.form) {
    case Form::kTabular: return Tabular(*sample.module);
    case Form::kPython: {
      ASSIGN_OR_RETURN(const GraphNetFileMap files, GraphNetFiles(sample));
      return files.at("model.py");
    }
    case Form::kReadable: return posted::PrintReadable(*sample.module);
    case Form::kPir:
    case Form::kLoops: {
      ASSIGN_OR_RETURN(std::unique_ptr<Module> lowered,
                       pir::ToPir(*sample.module, {.functional = HasGroups(options)}));
      if (options.form == Form::kLoops) {
        return pir::PrintLoops(*lowered, {.bound = options.bound, .group = options.group});
      }
      if (options.fused) pir::FuseGroups(lowered.get());
      size_t untyped = 0;
      ASSIGN_OR_RETURN(std::string text, pir::PrintPir(*lowered, &untyped));
      if (untyped > 0) {
        PrintNote(absl::StrCat("the type of ", untyped, " value", untyped == 1 ? "" : "s",
                               " is unknown: <<NULL TYPE>>"));
      }
      return text;
    }
    default: return PrintSample(sample, PrintOptions::Readable());
  }
}

// Infers shapes for text and pictures, as `graphnet shapes` does.
absl::Status FindShapes(Sample* sample) {
  RETURN_IF_ERROR(GiveInputs({}, /*seed=*/0, sample));
  ASSIGN_OR_RETURN(const Engine* engine, OpenEngine());
  RETURN_IF_ERROR(engine->InferShapes(sample));
  sample->weights.clear();
  return absl::OkStatus();
}

absl::StatusOr<Sample> PartOf(const PartFlags& flags, Sample* sample) {
  ASSIGN_OR_RETURN(const Part part, FindPart(flags, sample->module->main()));
  ASSIGN_OR_RETURN(std::vector<Sample> pieces,
                   CutRanges(*sample, {part.range}, {.all_inputs = false, .keep_unused = false}));
  return std::move(pieces[0]);
}

// Returns InvalidArgument for an ending of a format that show does not write.
absl::Status CheckEnding(const ShowFlags& options) {
  if (options.form != Form::kAuto || PictureFormOf(options.out).has_value())
    return absl::OkStatus();
  const std::string ending = EndingOfFile(options.out);
  if (ending.empty() || ending == ".txt" || ending == ".gn") return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(Printable(options.out, 1000),
                   ": show writes .svg, .html, .dot, .json, .py and text in .txt or .gn, not ",
                   ending, "; with --to, it can have any name"));
}

absl::StatusOr<CommandResult> Show(ShowFlags options) {
  if (options.form == Form::kUnittest) {
    if (options.out == "-")
      return absl::InvalidArgumentError("--to unittest writes files: -o NAME_test.py or a folder");
    return WriteUnittests({options.inputs, options.out, options.jobs, options.trust});
  }
  if (options.inputs.in.size() != 1 || !options.inputs.list.empty()) {
    return absl::InvalidArgumentError(
        "show takes one sample; several, and --list, are for --to unittest");
  }
  options.in = options.inputs.in[0];
  if (options.form == Form::kAuto && EndingOfFile(options.out) == ".py")
    options.form = Form::kPython;
  RETURN_IF_ERROR(CheckEnding(options));
  if (options.runnable && (options.form != Form::kPython || options.out == "-")) {
    return absl::InvalidArgumentError(
        "--runnable needs a Python file, because weights lie beside it: -o FILE.py");
  }
  const std::optional<PictureForm> picture = PictureOf(options);
  const bool is_text = !picture.has_value() && !WantsJson() &&
                       (options.form == Form::kAuto || options.form == Form::kText ||
                        options.form == Form::kTabular);
  DrawingOptions for_pictures = options.drawing;
  if (is_text) for_pictures.part.range = for_pictures.part.module = "";
  if (for_pictures.is_given() && !picture.has_value()) {
    return absl::InvalidArgumentError(
        "--around and --depth are for pictures (--format "
        "svg|html|dot|model-explorer, or -o FILE.svg), --range and --module for pictures and "
        "text; to cut a sample, use graphnet subgraph");
  }
  if (!options.data.empty() && picture != PictureForm::kHtml)
    return absl::InvalidArgumentError("--data is for pages: -o FILE.html");
  if ((options.fused && options.form != Form::kPir) ||
      ((options.bound || options.group.has_value()) && options.form != Form::kLoops)) {
    return absl::InvalidArgumentError(
        "--fused is for --format pir, --bound and --group for --format loops");
  }
  LoadOptions load;
  load.trust = options.trust;
  // Shapes may depend on values.
  load.weights = options.runnable || options.shapes;
  load.values_if_there = options.form == Form::kPir || options.form == Form::kLoops;
  ASSIGN_OR_RETURN(Sample sample, Load(options.in, load));
  if (options.runnable) {
    RETURN_IF_ERROR(Annotate(WriteRunnablePython(std::move(sample), options.out), options.in));
    return 0;
  }
  if (WantsJson()) return OutlineReport(sample);
  if (options.form == Form::kPir || options.form == Form::kLoops) {
    // Turning writes into values needs types, and the new values need types again.
    FindTypes(&sample);
    if (HasGroups(options)) {
      pir::PrepareForPir(sample.module.get(), {.functional = true});
      FindTypes(&sample);
    }
  }
  if (options.shapes) RETURN_IF_ERROR(FindShapes(&sample));
  if (!options.data.empty()) {
    ASSIGN_OR_RETURN(options.drawing.page.values, ReadValues(options.data, *sample.module));
  }
  const PictureOptions& part = options.drawing.part;
  if (is_text && part.is_part()) {
    ASSIGN_OR_RETURN(sample, PartOf({.range = part.range, .module = part.module}, &sample));
  }
  const absl::StatusOr<std::string> text = Shown(sample, options);
  RETURN_IF_ERROR(Annotate(text.status(), options.in));
  if (picture == PictureForm::kSvg && !part.is_part() && options.drawing.depth < 0 &&
      sample.module->main()->num_nodes() > kManyNodes) {
    PrintNote(absl::StrCat("a picture of ", sample.module->main()->num_nodes(),
                           " nodes is long; -o FILE.html is a page with search and folding, and "
                           "--depth 1 draws modules as boxes"));
  }
  if (options.out != "-") {
    RETURN_IF_ERROR(WriteFileAtomic(options.out, *text));
  } else {
    WriteOutput(*text);
  }
  return 0;
}

void DeclareShow(CommandLine& command) {
  auto options = std::make_shared<ShowFlags>();
  AddInputList(command, &options->inputs);
  const std::map<std::string, Form> forms = {{"text", Form::kText},
                                             {"tabular", Form::kTabular},
                                             {"python", Form::kPython},
                                             {"pir", Form::kPir},
                                             {"loops", Form::kLoops},
                                             {"dot", Form::kDot},
                                             {"svg", Form::kSvg},
                                             {"html", Form::kHtml},
                                             {"model-explorer", Form::kModelExplorer},
                                             {"readable", Form::kReadable},
                                             {"unittest", Form::kUnittest}};
  const Option to = command.AddChoice(
      "--to,--format", &options->form, forms,
      "text: readable, with long constants shortened; tabular: one row per node; "
      "python: the model.py of a GraphNet folder; readable: as PyTorch's print_readable(); "
      "unittest: a file of Python that "
      "checks and times other implementations, needs PyTorch alone, and is run "
      "before it is written (of many samples, to the folder -o); pir: Paddle's intermediate "
      "representation; loops: loop nests; dot: for Graphviz; svg: a picture; "
      "html: a page with search and folding; model-explorer: JSON for Google's "
      "Model Explorer. Default: by the ending of -o, otherwise text");
  command.AddOption("-o,--out", &options->out, "File to write; - is the standard output")
      .ShowDefault();
  command.AddFlag("--shapes", &options->shapes,
                  "Add the shape and dtype of each value, inferred as in graphnet shapes");
  AddDrawingOptions(command, &options->drawing);
  command.AddOption("--data", &options->data,
                    "Show the values of a table at each node, and as colours (html): CSV or JSON "
                    "by the name of a node, such as run --stats --csv prints");
  command
      .AddFlag("--runnable", &options->runnable,
               "Add functions that run the graph (python), and write weights and inputs to "
               "FILE.py.safetensors; run it with python FILE.py [RESULTS.safetensors]")
      .Needs("--out");
  command.AddFlag("--fused", &options->fused,
                  "Put operators that make one kernel into a cinn_op.fusion (pir)");
  command.AddFlag("--bound", &options->bound,
                  "Bind loops to the blocks and threads of a GPU (loops)");
  command.AddOption("--group", &options->group,
                    "Print only this group of operators, counted from 0 (loops)");
  AddJobsOption(command, &options->jobs);
  AddJsonOption(command,
                "name, hash, inputs, outputs, attributes, symbols, counts of targets, and graphs "
                "with their nodes")
      .Excludes(to);
  AddTrustOption(command, &options->trust);
  AddDrawWeightsOption(command);
  command.Run([options] { return Show(*options); });
}

const RegisteredCommand kShow(
    {.name = "show",
     .help = "Print or draw a sample",
     .group = CommandGroup::kLook,
     .declare = DeclareShow,
     .examples = {"graphnet show samples/vit.pb", "graphnet show samples/resnet.pb -o resnet.html",
                  "graphnet show samples/vit.pb --module blocks.0 -o block.svg"}});

}  // namespace
}  // namespace graphnet
