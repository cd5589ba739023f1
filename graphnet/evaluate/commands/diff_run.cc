#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "graphnet/base/file.h"
#include "graphnet/base/status.h"
#include "graphnet/base/tolerance.h"
#include "graphnet/command/command.h"
#include "graphnet/command/json.h"
#include "graphnet/command/messages.h"
#include "graphnet/command/options.h"
#include "graphnet/command/picture_options.h"
#include "graphnet/command/progress.h"
#include "graphnet/evaluate/commands/bench_options.h"
#include "graphnet/evaluate/paired_values.h"
#include "graphnet/formats/formats.h"
#include "graphnet/formats/safetensors/safetensors.h"
#include "graphnet/identity/pair_nodes.h"
#include "graphnet/interp/comparison_report.h"
#include "graphnet/interp/inputs/draw.h"
#include "graphnet/ir/text/equality.h"
#include "graphnet/run/engine.h"
#include "graphnet/run/float64_outputs.h"

namespace graphnet {
namespace {

struct DiffRunFlags {
  std::string a;
  std::string b;
  InputOptions inputs;
  WeightsOf weights = WeightsOf::kOwn;
  PictureFile picture;
  DrawingOptions drawing;
  uint64_t seed = 0;
  Tolerance tolerance;
  bool table = false;
  bool explain = false;
  int threads = 0;
  bool trust = false;
};

// Counts of differences in the weights or inputs that both graphs have.
struct ComparedValues {
  size_t common = 0;
  size_t different = 0;
  size_t reshaped = 0;  // with different sizes
  double largest = 0;
  std::map<std::pair<absl::string_view, absl::string_view>, size_t>
      dtypes;  // pairs of different dtypes
};

absl::StatusOr<ComparedValues> CompareValues(const PairedValues::Names& names,
                                             const PairedValues& values, const Engine& engine) {
  ComparedValues made;
  for (const auto& [of_first, of_second] : names) {
    const auto a = values.first.find(of_first);
    const auto b = values.second.find(of_second);
    if (a == values.first.end() || b == values.second.end()) continue;
    ++made.common;
    const TensorData& x = a->second;
    const TensorData& y = b->second;
    if (SameData(x, y)) continue;
    ++made.different;
    if (x.dtype != y.dtype) ++made.dtypes[{DTypeShortName(x.dtype), DTypeShortName(y.dtype)}];
    if (x.shape != y.shape) {
      ++made.reshaped;
      continue;
    }
    ASSIGN_OR_RETURN(const TensorDifference difference, engine.DifferenceOf(x, y));
    made.largest = std::max(made.largest, difference.largest);
  }
  return made;
}

Report ReportOf(const ComparedValues& values, absl::string_view what) {
  size_t dtypes = 0;
  for (const auto& [pair, times] : values.dtypes) dtypes += times;
  Report report;
  report.Add("compared", values.common);
  report.Add("different", values.different);
  report.Add("max_difference", values.largest);
  report.Add("different_dtype", dtypes);
  report.Add("different_shape", values.reshaped);
  if (values.different == 0) return report;
  std::string text = absl::StrFormat("%d of %d %s differ", values.different, values.common, what);
  if (values.different > values.reshaped)
    absl::StrAppendFormat(&text, ", by at most %.3g", values.largest);
  for (const auto& [pair, times] : values.dtypes) {
    absl::StrAppend(&text, ", ", times == values.different ? "" : absl::StrCat(times, " "),
                    pair.first, " in A and ", pair.second, " in B");
  }
  if (values.reshaped > 0) absl::StrAppend(&text, ", ", values.reshaped, " in shape");
  report.Say(text);
  return report;
}

using NodePairs = std::vector<std::pair<const Node*, const Node*>>;

// Returns what a page says of each value of B, or of A.
NodeValues ValuesOf(const RunComparison& compared, bool of_a) {
  NodeValues made = {{"largest difference", "mean difference", "of the largest element",
                      of_a ? "value of B" : "value of A"},
                     {}};
  for (const ComparedValue& value : compared.values) {
    std::vector<Json>& row = made.rows[of_a ? value.a : value.b];
    if (const auto& difference = value.difference; difference.has_value()) {
      for (const double size : {difference->largest, difference->mean, difference->relative()})
        row.push_back(std::isfinite(size) ? Json(size) : Json(absl::StrCat(size)));
    } else if (value.equal) {
      row = {0.0, 0.0, 0.0};
    } else {
      row.resize(3);
    }
    row.emplace_back(absl::StrCat("%", (of_a ? value.b : value.a)->name()));
  }
  return made;
}

DrawingOptions DrawingOf(const RunComparison& compared, bool of_a, const DiffRunFlags& options) {
  DrawingOptions drawing = options.drawing;
  for (const ComparedValue& value : compared.values) {
    drawing.part.marks[of_a ? value.a : value.b] = value.equal ? Mark::kEqual : Mark::kDifferent;
  }
  drawing.page.values = ValuesOf(compared, of_a);
  return drawing;
}

// Draws B, or both beside each other. `pairs` are nodes that compute the same.
absl::StatusOr<std::string> Draw(const Module& a, const Module& b, const RunComparison& compared,
                                 NodePairs pairs, const DiffRunFlags& options) {
  DrawingOptions right = DrawingOf(compared, /*of_a=*/false, options);
  if (!options.picture.side_by_side) {
    right.part.title = absl::StrCat(BaseName(options.b), " against ", BaseName(options.a));
    return DrawPicture(b, PictureFormOf(options.picture.path).value_or(PictureForm::kSvg), right);
  }
  DrawingOptions left = DrawingOf(compared, /*of_a=*/true, options);
  left.part.title = BaseName(options.a);
  right.part.title = BaseName(options.b);
  for (const ComparedValue& value : compared.values) pairs.emplace_back(value.a, value.b);
  return DrawSideBySide({a, left}, {b, right}, pairs);
}

absl::StatusOr<CommandResult> DiffRunGraphs(const DiffRunFlags& options) {
  RETURN_IF_ERROR(options.picture.Check());
  ASSIGN_OR_RETURN(const Engine* engine, OpenEngine());
  engine->SetNumThreads(options.threads);
  ASSIGN_OR_RETURN(Sample a, Load(options.a, {.trust = options.trust, .weights = true}));
  // Outputs of something else belong to no graph.
  const bool has_outputs = absl::EndsWith(options.b, ".safetensors");
  std::map<std::string, TensorData> outputs_of_b;
  Sample b;
  if (has_outputs) {
    ASSIGN_OR_RETURN(outputs_of_b, ReadSafetensorsFile(options.b));
    b.module = std::make_unique<Module>();
    b.module->AddGraph("outputs");
  } else {
    ASSIGN_OR_RETURN(b, Load(options.b, {.trust = options.trust, .weights = true}));
  }
  DrawOptions draw;
  draw.seed = options.seed;
  ASSIGN_OR_RETURN(PairedValues values, PairValues(options.inputs, options.weights, draw, &a, &b));
  ASSIGN_OR_RETURN(const ComparedValues weights, CompareValues(values.weights, values, *engine));
  ASSIGN_OR_RETURN(const ComparedValues inputs, CompareValues(values.inputs, values, *engine));

  Progress progress("running both");
  CompareOptions how;
  how.seed = options.seed;
  how.tolerance = options.tolerance;
  if (!has_outputs) how.pairs = PairNodes(*a.module, *b.module);
  how.explains = options.explain;
  if (options.explain) {
    // Without it, the runs with random rounding are all that is known.
    absl::StatusOr<TensorValues> exact =
        Float64Outputs(*engine, *a.module, values.first, options.seed);
    if (exact.ok()) how.exact = *std::move(exact);
  }
  RunSide side_of_b{b.module.get(), std::move(values.second),
                    std::move(values.parameters_of_second)};
  if (has_outputs) side_of_b = {nullptr, std::move(outputs_of_b), {}};
  ASSIGN_OR_RETURN(const RunComparison compared,
                   engine->CompareRuns({a.module.get(), std::move(values.first),
                                        std::move(values.parameters_of_first)},
                                       std::move(side_of_b), how, Printable(options.b, 1000)));
  progress.End();
  const bool same = compared.same();
  if (!options.picture.path.empty()) {
    ASSIGN_OR_RETURN(const std::string drawn,
                     Draw(*a.module, *b.module, compared, how.pairs, options));
    RETURN_IF_ERROR(WriteFileAtomic(options.picture.path, drawn));
  }
  std::vector<std::string> notes;
  for (const auto& [side, count] :
       {std::pair{"AB", values.taken_by_first}, std::pair{"BA", values.taken_by_second}}) {
    if (count == 0) continue;
    notes.push_back(
        options.weights == WeightsOf::kOwn
            ? absl::StrFormat("%c has no values for %d of its weights, and ran with those of %c",
                              side[0], count, side[1])
            : absl::StrFormat("%c ran with the values of %c for %d of its weights", side[0],
                              side[1], count));
  }
  if (!same && values.unpaired > 0) {
    notes.push_back(absl::StrCat(
        values.unpaired,
        " inputs or weights of B have other names than those of A, and so have their own values"));
  }
  // Outputs that are close do show it.
  const bool same_bits =
      same &&
      absl::c_all_of(compared.outputs, [](const OutputDifference& output) { return output.equal; });
  if (same_bits && compared.different > 0) {
    notes.emplace_back(
        "values differ inside, but no output shows it: the outputs do not depend on them for these "
        "inputs, or they are no pairs. Try other inputs with --input, --inputs random or --seed");
  }
  if (same && !compared.dead_paths.empty()) {
    const size_t more = compared.dead_paths.size() - 1;
    notes.push_back(absl::StrCat(compared.dead_paths.front(),
                                 more == 0 ? "" : absl::StrCat(", and ", more, " more like it"),
                                 ": its operands have no effect on the outputs for these values, "
                                 "so the comparison does not cover them. Try --inputs random"));
  }
  const auto beyond = absl::c_find_if(compared.values, [](const ComparedValue& value) {
    return value.explained.has_value() && !value.explained->is_explained();
  });
  if (same && beyond != compared.values.end()) {
    notes.push_back(
        absl::StrCat("rounding does not explain the value of %", Printable(beyond->b->name()),
                     ", but no output shows it: the outputs hardly depend on it for these inputs"));
  }
  Report report;
  report.Add("equal", same);
  report.Add("weights", ReportOf(weights, "weights"));
  report.Add("inputs", ReportOf(inputs, "inputs"));
  report.Add("notes", Json::List(notes));
  report.Append(ReportOf(compared, options.table));
  for (const std::string& note : notes) report.Say(absl::StripSuffix(NoteLine(note), "\n"));
  return CommandResult(std::move(report), same ? 0 : 1);
}

void DeclareDiffRun(CommandLine& command) {
  auto options = std::make_shared<DiffRunFlags>();
  command.AddOption("A", &options->a, "First sample; - is the standard input").Required();
  command
      .AddOption(
          "B", &options->b,
          "Second sample, or outputs o0, o1, … of anything as .safetensors, as run -o writes them")
      .Required();
  AddInputOption(command, &options->inputs.words);
  AddInputsOption(command, &options->inputs.file);
  const std::map<std::string, WeightsOf> weights = {
      {"own", WeightsOf::kOwn}, {"a", WeightsOf::kA}, {"b", WeightsOf::kB}};
  command.AddChoice(
      "--weights", &options->weights, weights,
      "Weights for both samples: own (default): each its own; a, b: those of A or B if "
      "names, dtypes and shapes agree");
  AddPictureOption(command, &options->picture,
                   "Draw B, with values that differ in red and equal ones in green");
  AddDrawingOptions(command, &options->drawing);
  command
      .AddOption("--atol", &options->tolerance.atol,
                 "Absolute difference within which values count as equal")
      .Range(0.0, 1e300)
      .ShowDefault();
  command
      .AddOption("--rtol", &options->tolerance.rtol,
                 "Difference within which values count as equal, as a part of the value of A")
      .Range(0.0, 1e300)
      .ShowDefault();
  command.AddFlag(
      "--explain", &options->explain,
      "Say of outputs that differ whether rounding explains it; runs A some 30 times more");
  command.AddFlag("--table", &options->table, "List all values that are compared");
  AddSeedOption(command, &options->seed);
  AddThreadsOption(command, &options->threads);
  AddTrustOption(command, &options->trust);
  AddDrawWeightsOption(command);
  AddJsonOption(
      command,
      "equal, weights and inputs (compared, different, max_difference, different_dtype, "
      "different_shape), values, paired_by, unpaired_values, different_values, "
      "first_difference, first_different_value, with --table compared_values, and "
      "outputs with their "
      "differences, blind, and with --explain explained (verdict, ratio, beyond, decision, first)");
  command.Run([options] { return DiffRunGraphs(*options); });
}

const RegisteredCommand kDiffRun(
    {.name = "diff-run",
     .help = "Run two graphs on the same inputs, each with its own weights, and compare",
     .group = CommandGroup::kRun,
     .declare = DeclareDiffRun,
     .examples = {"graphnet diff-run samples/resnet.pt samples/resnet.pb"}});

}  // namespace
}  // namespace graphnet
