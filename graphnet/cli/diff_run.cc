#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "graphnet/base/file.h"
#include "graphnet/base/status.h"
#include "graphnet/base/tolerance.h"
#include "graphnet/cli/bench_options.h"
#include "graphnet/cli/command.h"
#include "graphnet/cli/engine.h"
#include "graphnet/cli/inputs.h"
#include "graphnet/cli/json.h"
#include "graphnet/cli/messages.h"
#include "graphnet/cli/options.h"
#include "graphnet/cli/paired_values.h"
#include "graphnet/cli/picture.h"
#include "graphnet/cli/progress.h"
#include "graphnet/formats/formats.h"
#include "graphnet/identity/pair_nodes.h"
#include "graphnet/interp/inputs/draw.h"
#include "graphnet/ir/text/equality.h"

namespace graphnet {
namespace {

struct DiffRunFlags {
  std::string a;
  std::string b;
  InputOptions inputs;
  WeightsOf weights = WeightsOf::kOwn;
  std::string picture;  // empty: none
  DrawingOptions drawing;
  uint64_t seed = 0;
  Tolerance tolerance;
  bool table = false;
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

// Reports on the i-th output.
Report ReportOf(size_t i, const OutputDifference& output) {
  Report made;
  made.Add("name", absl::StrCat("o", i));
  made.Add("equal", output.equal);
  if (output.close) made.Add("close", true);
  if (!output.blind.empty()) made.Add("blind", output.blind);
  const bool is_right = output.equal || output.close;
  const auto said = [&](const std::string& text) {
    made.Say(
        absl::StrFormat("o%-3d %s%s%s", i,
                        output.equal   ? ""
                        : output.close ? "close"
                                       : "DIFFERENT",
                        text,
                        output.blind.empty() || !is_right
                            ? ""
                            : absl::StrCat(", but blind: ", output.blind, " would have passed")),
        is_right ? Tone::kGood : Tone::kBad);
    return made;
  };
  if (output.equal) return said(output.are_tensors ? "bit-equal" : "equal");
  if (!output.are_tensors) {
    made.Add("difference", "not tensors");
    return said(", not tensors");
  }
  std::string text;
  if (output.same_dtype && output.same_shape) {
    made.Add("difference", "values");
  } else {
    const char* const what = output.same_shape   ? "dtype"
                             : output.same_dtype ? "shape"
                                                 : "shape and dtype";
    made.Add("difference", what);
    made.Add("forms", Json::List(std::vector<std::string>{output.form_a, output.form_b}));
    text = absl::StrCat(" in ", what, ", ", output.form_a, " and ", output.form_b);
    if (!output.same_shape) return said(text);
  }
  const TensorDifference& difference = output.difference;
  made.Add("max_difference", difference.largest);
  made.Add("mean_difference", difference.mean);
  made.Add("different_elements", difference.elements);
  made.Add("elements", output.elements);
  made.Add("relative_difference", difference.relative());
  if (difference.elements == 0)
    return said(absl::StrCat(text, ": in no number", output.same_dtype ? ", in bits alone" : ""));
  return said(absl::StrFormat("%s: at most %.3g, on average %.3g, in %d of %d elements", text,
                              difference.largest, difference.mean, difference.elements,
                              output.elements));
}

constexpr absl::string_view kPairedBy[kNumPairedBy] = {"what computes them", "module and shape",
                                                       "name"};
constexpr absl::string_view kPairedByInJson[kNumPairedBy] = {"computation", "module", "name"};

// Returns "at most 0.0031, on average 0.0008, 0.00071 of the largest element".
std::string SizeOf(const ComparedValue& value) {
  if (!value.difference.has_value()) return "";
  return absl::StrFormat("at most %.3g, on average %.3g, %.3g of the largest element",
                         value.difference->largest, value.difference->mean,
                         value.difference->relative());
}

std::string PlaceOf(const Node& node) {
  std::string place;
  if (!node.module_path().empty()) absl::StrAppend(&place, " in ", Printable(node.module_path()));
  const SourceLocation location = node.location();
  if (location.line > 0)
    absl::StrAppend(&place, " at ", Printable(location.file, 300), ":", location.line);
  return place;
}

std::string DescribeValue(const ComparedValue& value) {
  std::string text = absl::StrCat(Printable(value.b->name()), " = ", Printable(value.b->target()),
                                  PlaceOf(*value.b));
  if (const std::string size = SizeOf(value); !size.empty()) absl::StrAppend(&text, ": ", size);
  if (value.a->name() != value.b->name())
    absl::StrAppend(&text, "; it is ", Printable(value.a->name()), " in A");
  return text;
}

const std::vector<Column>& ValueColumns() {
  static const auto* const columns = new std::vector<Column>{{"name", "value"},
                                                             {"target"},
                                                             {"name_in_a", "in A"},
                                                             {"paired_by"},
                                                             {"equal"},
                                                             {"module"},
                                                             {"place"},
                                                             {"max_difference", "at most"},
                                                             {"mean_difference", "on average"},
                                                             {"relative_difference", "relative"},
                                                             {"", "paired by"},
                                                             {"", "computed by"}};
  return *columns;
}

std::vector<Cell> CellsOf(const ComparedValue& value) {
  const size_t by = static_cast<size_t>(value.by);
  const Node& node = *value.b;
  const SourceLocation location = node.location();
  std::vector<Cell> cells = {
      node.name(),
      node.target(),
      value.a->name(),
      kPairedByInJson[by],
      value.equal,
      node.module_path().empty() ? Cell() : Cell(node.module_path()),
      location.line > 0
          ? Cell::Place({std::string(location.file), static_cast<size_t>(location.line), 0})
          : Cell()};
  if (value.difference.has_value()) {
    for (const double size :
         {value.difference->largest, value.difference->mean, value.difference->relative()})
      cells.push_back(Cell(size).As(absl::StrFormat("%.3g", size)));
  } else {
    cells.insert(cells.end(), 3, Cell().As(value.equal ? "0" : "?"));
  }
  cells.insert(cells.end(),
               {kPairedBy[by], Cell("").As(absl::StrCat(Printable(node.target()), PlaceOf(node)))});
  return cells;
}

// Returns "52 values compared, 0 of them different; paired by what computes them: 50, by name: 2".
std::string TextOf(const RunComparison& compared) {
  std::string text = absl::StrCat(compared.values.size(), " values compared, ", compared.different,
                                  " of them different");
  const char* separator = "; paired by ";
  for (size_t i = 0; i < kNumPairedBy; ++i) {
    if (compared.paired[i] == 0) continue;
    absl::StrAppend(&text, separator, kPairedBy[i], ": ", compared.paired[i]);
    separator = ", by ";
  }
  if (compared.unpaired > 0)
    absl::StrAppend(&text, "; ", compared.unpaired, " of B have no partner in A");
  return text;
}

absl::StatusOr<CommandResult> DiffRunGraphs(const DiffRunFlags& options) {
  ASSIGN_OR_RETURN(const Engine* engine, OpenEngine());
  engine->SetNumThreads(options.threads);
  ASSIGN_OR_RETURN(Sample a, Load(options.a, {.trust = options.trust, .weights = true}));
  ASSIGN_OR_RETURN(Sample b, Load(options.b, {.trust = options.trust, .weights = true}));
  DrawOptions draw;
  draw.seed = options.seed;
  ASSIGN_OR_RETURN(PairedValues values, PairValues(options.inputs, options.weights, draw, &a, &b));
  ASSIGN_OR_RETURN(const ComparedValues weights, CompareValues(values.weights, values, *engine));
  ASSIGN_OR_RETURN(const ComparedValues inputs, CompareValues(values.inputs, values, *engine));

  Progress progress("running both");
  CompareOptions how;
  how.seed = options.seed;
  how.tolerance = options.tolerance;
  how.pairs = PairNodes(*a.module, *b.module);
  ASSIGN_OR_RETURN(
      const RunComparison compared,
      engine->CompareRuns(
          {a.module.get(), std::move(values.first), std::move(values.parameters_of_first)},
          {b.module.get(), std::move(values.second), std::move(values.parameters_of_second)}, how,
          Printable(options.b, 1000)));
  progress.End();
  const bool same = compared.same();
  const ComparedValue* const first = compared.first_difference();
  if (!options.picture.empty()) {
    DrawingOptions drawing = options.drawing;
    drawing.part.title = absl::StrCat(BaseName(options.b), " against ", BaseName(options.a));
    for (const ComparedValue& value : compared.values)
      drawing.part.marks[value.b] = value.equal ? Mark::kEqual : Mark::kDifferent;
    ASSIGN_OR_RETURN(
        const std::string drawn,
        DrawPicture(*b.module, PictureFormOf(options.picture).value_or(PictureForm::kSvg),
                    drawing));
    RETURN_IF_ERROR(WriteFileAtomic(options.picture, drawn));
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
  if (same && compared.different > 0) {
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
  Report report;
  report.Add("equal", same);
  report.Add("weights", ReportOf(weights, "weights"));
  report.Add("inputs", ReportOf(inputs, "inputs"));
  report.Add("notes", Json::List(notes));
  report.Add("values", compared.values.size());
  Report paired;
  for (size_t i = 0; i < kNumPairedBy; ++i) paired.Add(kPairedByInJson[i], compared.paired[i]);
  report.Add("paired_by", std::move(paired));
  report.Add("unpaired_values", compared.unpaired);
  report.Add("different_values", compared.different);
  if (first != nullptr) {
    report.Add("first_difference", DescribeValue(*first));
    Report value;
    const std::vector<Cell> cells = CellsOf(*first);
    for (size_t c = 0; c < cells.size(); ++c) value.Add(ValueColumns()[c].key, cells[c]);
    report.Add("first_different_value", std::move(value));
  }
  if (options.table) {
    Table values_table = {};
    for (const Column& column : ValueColumns()) values_table.AddColumn(column);
    for (const ComparedValue& value : compared.values) values_table.Add(CellsOf(value));
    report.Add("compared_values", std::move(values_table));
  }
  report.Say(TextOf(compared));
  if (first != nullptr) report.Say(absl::StrCat("first difference: ", DescribeValue(*first)));
  if (compared.outputs_a != compared.outputs_b)
    report.Say(absl::StrCat(compared.outputs_a, " outputs and ", compared.outputs_b));
  std::vector<Report> outputs;
  for (size_t i = 0; i < compared.outputs.size(); ++i)
    outputs.push_back(ReportOf(i, compared.outputs[i]));
  report.Add("outputs", std::move(outputs));
  report.Add("num_outputs",
             Json::List(std::vector<size_t>{compared.outputs_a, compared.outputs_b}));
  for (const std::string& note : notes) report.Say(absl::StripSuffix(NoteLine(note), "\n"));
  return CommandResult(std::move(report), same ? 0 : 1);
}

}  // namespace

void RegisterDiffRun(CLI::App& app, CommandRunner* run) {
  auto options = std::make_shared<DiffRunFlags>();
  CLI::App* command = app.add_subcommand(
      "diff-run", "Run two graphs on the same inputs, each with its own weights, and compare");
  command->add_option("A", options->a, "First sample; - is the standard input")->required();
  command->add_option("B", options->b, "Second sample")->required();
  AddInputOption(command, &options->inputs.words);
  AddInputsOption(command, &options->inputs.file);
  const std::map<std::string, WeightsOf> weights = {
      {"own", WeightsOf::kOwn}, {"a", WeightsOf::kA}, {"b", WeightsOf::kB}};
  AddChoiceOption(command, "--weights", &options->weights, weights,
                  "Weights for both samples: own (default): each its own; a, b: those of A or B if "
                  "names, dtypes and shapes agree");
  AddPictureOption(command, &options->picture,
                   "Draw B, with values that differ in red and equal ones in green");
  AddDrawingOptions(command, &options->drawing);
  command
      ->add_option("--atol", options->tolerance.atol,
                   "Absolute difference within which values count as equal")
      ->check(CLI::Range(0.0, 1e300))
      ->check(IsNumber())
      ->capture_default_str();
  command
      ->add_option("--rtol", options->tolerance.rtol,
                   "Difference within which values count as equal, as a part of the value of A")
      ->check(CLI::Range(0.0, 1e300))
      ->check(IsNumber())
      ->capture_default_str();
  command->add_flag("--table", options->table, "List all values that are compared");
  AddSeedOption(command, &options->seed);
  AddThreadsOption(command, &options->threads);
  AddTrustOption(command, &options->trust);
  AddDrawWeightsOption(command);
  AddJsonOption(command,
                "equal, weights and inputs (compared, different, max_difference, different_dtype, "
                "different_shape), values, paired_by, unpaired_values, different_values, "
                "first_difference, first_different_value, with --table compared_values, and "
                "outputs with their "
                "differences and blind");
  command->callback([options, run] { *run = [options] { return DiffRunGraphs(*options); }; });
}

}  // namespace graphnet
