#include "graphnet/identity/diff.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "graphnet/base/file.h"
#include "graphnet/base/status.h"
#include "graphnet/cli/command.h"
#include "graphnet/cli/identity.h"
#include "graphnet/cli/inputs.h"
#include "graphnet/cli/json.h"
#include "graphnet/cli/options.h"
#include "graphnet/cli/picture.h"
#include "graphnet/cli/terminal.h"
#include "graphnet/formats/safetensors/safetensors.h"
#include "graphnet/interp/inputs/compare_weights.h"
#include "graphnet/ir/text/printer.h"

namespace graphnet {
namespace {

enum class DiffFormat { kText, kJson, kDot };

struct DiffFlags {
  std::string a;
  std::string b;
  InputOptions inputs;
  bool normal_form = false;
  bool metas = false;
  bool weights = false;
  DiffFormat format = DiffFormat::kText;
  bool json = false;
  std::string picture;  // empty: none
  DrawingOptions drawing;
  bool trust = false;
};

// A checkpoint alone has no module.
absl::StatusOr<Sample> LoadSide(const std::string& path, const DiffFlags& options) {
  if (options.weights && absl::EndsWith(path, ".safetensors")) {
    Sample checkpoint;
    ASSIGN_OR_RETURN(checkpoint.weights, ReadSafetensorsFile(path));
    return checkpoint;
  }
  return LoadForIdentity(path, {.inputs = options.inputs,
                                .normal_form = options.normal_form,
                                .trust = options.trust,
                                .weights = options.weights});
}

absl::string_view NameOf(Difference::Kind kind) {
  switch (kind) {
    case Difference::Kind::kRemoved: return "removed";
    case Difference::Kind::kAdded: return "added";
    case Difference::Kind::kChanged: return "changed";
  }
  return "";
}

Json NodeJson(const Node& node) {
  Json made;
  made["name"] = node.name();
  made["op"] = OpName(node.op());
  if (!node.is_output()) made["target"] = node.target();
  made["graph"] = node.graph()->name();
  made["text"] = PrintNode(node);
  const SourceLocation location = node.location();
  if (!location.file.empty()) {
    made["file"] = location.file;
    made["line"] = static_cast<int64_t>(location.line);
  }
  if (!node.module_path().empty()) made["module"] = node.module_path();
  return made;
}

void AddGraphs(const GraphDiff& diff, Json* to) {
  Json& document = *to;
  document["same"] = diff.pairs.size() - diff.Count(Difference::Kind::kChanged);
  for (const auto kind :
       {Difference::Kind::kRemoved, Difference::Kind::kAdded, Difference::Kind::kChanged}) {
    document[NameOf(kind)] = diff.Count(kind);
  }
  Json differences = Json::List();
  for (const Difference& difference : diff.differences) {
    Json made;
    made["kind"] = NameOf(difference.kind);
    if (difference.a != nullptr) made["a"] = NodeJson(*difference.a);
    if (difference.b != nullptr) made["b"] = NodeJson(*difference.b);
    made["what"] = Json::List(difference.what);
    differences.push_back(std::move(made));
  }
  document["differences"] = std::move(differences);
}

Difference::Kind KindOf(const WeightDifference& weight) {
  return weight.b == nullptr   ? Difference::Kind::kRemoved
         : weight.a == nullptr ? Difference::Kind::kAdded
                               : Difference::Kind::kChanged;
}

Json WeightsJson(const WeightDifferences& weights) {
  Json document;
  document["compared"] = weights.compared;
  Json differences = Json::List();
  for (const WeightDifference& weight : weights.differences) {
    Json made;
    made["kind"] = NameOf(KindOf(weight));
    made["name"] = weight.name;
    for (const auto& [side, data] : {std::pair{"a", weight.a}, std::pair{"b", weight.b}}) {
      if (data == nullptr) continue;
      made[side]["dtype"] = DTypeName(data->dtype);
      made[side]["shape"] = Json::List(data->shape);
    }
    if (weight.largest.has_value()) made["max_difference"] = *weight.largest;
    differences.push_back(std::move(made));
  }
  document["differences"] = std::move(differences);
  return document;
}

void PrintWeights(const WeightDifferences& weights) {
  std::map<Difference::Kind, size_t> counts;
  double largest = 0;
  for (const WeightDifference& weight : weights.differences) {
    const Difference::Kind kind = KindOf(weight);
    ++counts[kind];
    const TensorData& a = weight.a != nullptr ? *weight.a : *weight.b;
    const TensorData& b = weight.b != nullptr ? *weight.b : *weight.a;
    const std::string text =
        absl::StrCat(Printable(weight.name), "  ", DescribeDifference(a, b, weight.largest));
    const std::string line = kind == Difference::Kind::kRemoved ? Red(absl::StrCat("- ", text))
                             : kind == Difference::Kind::kAdded ? Green(absl::StrCat("+ ", text))
                                                                : absl::StrCat("~ ", text);
    std::printf("%s\n", line.c_str());
    if (!weight.largest.has_value()) continue;
    largest = std::isnan(*weight.largest) ? *weight.largest : std::max(largest, *weight.largest);
  }
  const size_t different = counts[Difference::Kind::kChanged];
  std::string summary =
      weights.differences.empty()
          ? absl::StrCat("weights are equal: ", weights.compared)
          : absl::StrCat(different, " of ", weights.compared, " weights that both have differ");
  if (largest != 0) absl::StrAppendFormat(&summary, ", by at most %.3g", largest);
  if (const size_t removed = counts[Difference::Kind::kRemoved]; removed > 0)
    absl::StrAppend(&summary, ", ", removed, " only in A");
  if (const size_t added = counts[Difference::Kind::kAdded]; added > 0)
    absl::StrAppend(&summary, ", ", added, " only in B");
  std::printf("%s\n", summary.c_str());
}

absl::StatusOr<std::string> Draw(const Module& b, const GraphDiff& diff, PictureForm form,
                                 const DiffFlags& options) {
  const DiffUnion both = UnionOf(b, diff);
  DrawingOptions drawing = options.drawing;
  drawing.part.title = absl::StrCat(BaseName(options.b), " against ", BaseName(options.a));
  for (const Graph* graph : both.module->graphs()) {
    for (const Node* node : graph->nodes()) {
      const auto it = both.kinds.find(node);
      drawing.part.marks[node] = it == both.kinds.end()                     ? Mark::kSame
                                 : it->second == Difference::Kind::kRemoved ? Mark::kRemoved
                                 : it->second == Difference::Kind::kAdded   ? Mark::kAdded
                                                                            : Mark::kChanged;
    }
  }
  return DrawPicture(*both.module, form, drawing);
}

void PrintText(const GraphDiff& diff) {
  const std::string text = PrintDiff(diff);
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (line.empty()) continue;
    const std::string shown = line[0] == '-'   ? Red(line)
                              : line[0] == '+' ? Green(line)
                                               : std::string(line);
    std::printf("%s\n", shown.c_str());
  }
  if (diff.empty()) {
    std::printf("equal: %zu nodes\n", diff.pairs.size());
    return;
  }
  const size_t changed = diff.Count(Difference::Kind::kChanged);
  std::printf("%zu removed, %zu added, %zu changed, %zu the same\n",
              diff.Count(Difference::Kind::kRemoved), diff.Count(Difference::Kind::kAdded), changed,
              diff.pairs.size() - changed);
}

absl::StatusOr<int> Diff(const DiffFlags& options) {
  ASSIGN_OR_RETURN(const Sample a, LoadSide(options.a, options));
  ASSIGN_OR_RETURN(const Sample b, LoadSide(options.b, options));
  std::optional<GraphDiff> diff;
  if (a.module != nullptr && b.module != nullptr)
    diff = DiffModules(*a.module, *b.module, {.metas = options.metas});
  std::optional<WeightDifferences> weights;
  if (options.weights) weights = CompareWeights(a.weights, b.weights);
  const bool draws = !options.picture.empty() || options.format == DiffFormat::kDot;
  if (draws && !diff.has_value())
    return absl::InvalidArgumentError("a checkpoint has no graph to draw");
  if (!options.picture.empty()) {
    const PictureForm form = PictureFormOf(options.picture).value_or(PictureForm::kSvg);
    ASSIGN_OR_RETURN(const std::string drawn, Draw(*b.module, *diff, form, options));
    RETURN_IF_ERROR(WriteFileAtomic(options.picture, drawn));
  }
  const bool equal = (!diff.has_value() || diff->empty()) &&
                     (!weights.has_value() || weights->differences.empty());
  if (options.json || options.format == DiffFormat::kJson) {
    Json document;
    document["equal"] = equal;
    if (diff.has_value()) AddGraphs(*diff, &document);
    if (weights.has_value()) document["weights"] = WeightsJson(*weights);
    PrintJson(document);
  } else if (options.format == DiffFormat::kDot) {
    ASSIGN_OR_RETURN(const std::string drawn, Draw(*b.module, *diff, PictureForm::kDot, options));
    std::fputs(drawn.c_str(), stdout);
  } else {
    if (diff.has_value()) PrintText(*diff);
    if (weights.has_value()) PrintWeights(*weights);
  }
  return equal ? 0 : 1;
}

}  // namespace

void RegisterDiff(CLI::App& app, CommandRunner* run) {
  auto options = std::make_shared<DiffFlags>();
  CLI::App* command = app.add_subcommand(
      "diff",
      "Print the differences between two graphs, with nodes matched by structure and not by name");
  command->add_option("A", options->a, "First sample; - is the standard input")->required();
  command->add_option("B", options->b, "Second sample")->required();
  command->add_flag("--normal-form", options->normal_form,
                    "Compare what the graphs compute, not how they are written: docs/hash.md");
  command->add_flag("--metas", options->metas, "Include shapes, dtypes and devices");
  command->add_flag("--weights", options->weights,
                    "Also compare weights by name: values, dtypes and shapes. A and B may be "
                    "checkpoints, X.safetensors");
  AddInputOptions(command, &options->inputs);
  const std::map<std::string, DiffFormat> formats = {
      {"text", DiffFormat::kText}, {"json", DiffFormat::kJson}, {"dot", DiffFormat::kDot}};
  AddChoiceOption(command, "--format", &options->format, formats, "Output format");
  AddPictureOption(
      command, &options->picture,
      "Draw both graphs, with removed nodes in red, added ones in green, changed ones in yellow");
  AddDrawingOptions(command, &options->drawing);
  AddTrustOption(command, &options->trust);
  AddDrawWeightsOption(command);
  AddJsonOption(
      command, &options->json,
      "equal, the numbers of nodes that are same, removed, added and changed, and differences with "
      "kind, a, b and what; with --weights also weights with compared and differences");
  command->callback([options, run] { *run = [options] { return Diff(*options); }; });
}

}  // namespace graphnet
