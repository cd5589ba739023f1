#include "graphnet/identity/diff.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graphnet/base/file.h"
#include "graphnet/base/report.h"
#include "graphnet/base/status.h"
#include "graphnet/command/command.h"
#include "graphnet/command/json.h"
#include "graphnet/command/messages.h"
#include "graphnet/command/options.h"
#include "graphnet/command/picture_options.h"
#include "graphnet/formats/safetensors/safetensors.h"
#include "graphnet/identity/commands/identity.h"
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
  PictureFile picture;
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

// How a difference is called, and how its line begins.
struct KindText {
  absl::string_view name, sign;
  Tone tone = Tone::kPlain;
};
KindText TextOf(Difference::Kind kind) {
  switch (kind) {
    case Difference::Kind::kRemoved: return {"removed", "- ", Tone::kBad};
    case Difference::Kind::kAdded: return {"added", "+ ", Tone::kGood};
    case Difference::Kind::kChanged: return {"changed", "~ "};
  }
  return {};
}

Mark MarkOf(Difference::Kind kind) {
  switch (kind) {
    case Difference::Kind::kRemoved: return Mark::kRemoved;
    case Difference::Kind::kAdded: return Mark::kAdded;
    case Difference::Kind::kChanged: return Mark::kChanged;
  }
  return Mark::kSame;
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

Report GraphsReport(const GraphDiff& diff) {
  Report report;
  const size_t removed = diff.Count(Difference::Kind::kRemoved);
  const size_t added = diff.Count(Difference::Kind::kAdded);
  const size_t changed = diff.Count(Difference::Kind::kChanged);
  const size_t same = diff.pairs.size() - changed;
  report.Add("same", same);
  report.Add("removed", removed);
  report.Add("added", added);
  report.Add("changed", changed);
  Table differences = {{"kind"}, {"a"}, {"b"}, {"what"}};
  for (const Difference& difference : diff.differences) {
    const auto [name, sign, tone] = TextOf(difference.kind);
    const auto side = [](const Node* node) { return node == nullptr ? Cell() : NodeJson(*node); };
    differences.Add({name, side(difference.a), side(difference.b), Json::List(difference.what)});
    report.Say(absl::StrCat(sign, DescribeDifference(difference)), tone);
    for (const std::string& what : difference.what) report.Say(absl::StrCat("    ", what));
  }
  report.Add("differences", std::move(differences));
  report.Say(diff.empty() ? absl::StrCat("equal: ", same, " nodes")
                          : absl::StrCat(removed, " removed, ", added, " added, ", changed,
                                         " changed, ", same, " the same"));
  return report;
}

Difference::Kind KindOf(const WeightDifference& weight) {
  return weight.b == nullptr   ? Difference::Kind::kRemoved
         : weight.a == nullptr ? Difference::Kind::kAdded
                               : Difference::Kind::kChanged;
}

Report WeightsReport(const WeightDifferences& weights) {
  Report report;
  report.Add("compared", weights.compared);
  std::map<Difference::Kind, size_t> counts;
  double largest = 0;
  Table differences = {{"kind"}, {"name"}, {"a"}, {"b"}, {"max_difference"}};
  for (const WeightDifference& weight : weights.differences) {
    const Difference::Kind kind = KindOf(weight);
    ++counts[kind];
    const auto side = [](const TensorData* data) {
      if (data == nullptr) return Cell();
      Json json;
      json["dtype"] = DTypeName(data->dtype);
      json["shape"] = Json::List(data->shape);
      return Cell(std::move(json));
    };
    const KindText kind_text = TextOf(kind);
    differences.Add({kind_text.name, weight.name, side(weight.a), side(weight.b),
                     weight.largest.has_value() ? Cell(*weight.largest) : Cell()});
    const TensorData& a = weight.a != nullptr ? *weight.a : *weight.b;
    const TensorData& b = weight.b != nullptr ? *weight.b : *weight.a;
    report.Say(absl::StrCat(kind_text.sign, Printable(weight.name), "  ",
                            DescribeDifference(a, b, weight.largest)),
               kind_text.tone);
    if (!weight.largest.has_value()) continue;
    largest = std::isnan(*weight.largest) ? *weight.largest : std::max(largest, *weight.largest);
  }
  report.Add("differences", std::move(differences));
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
  report.Say(summary);
  return report;
}

// Draws both graphs beside each other, each with its own side of the differences.
absl::StatusOr<std::string> DrawBoth(const Module& a, const Module& b, const GraphDiff& diff,
                                     const DiffFlags& options) {
  DrawingOptions left = options.drawing, right = options.drawing;
  left.part.title = BaseName(options.a);
  right.part.title = BaseName(options.b);
  for (const auto& [x, y] : diff.pairs) left.part.marks[x] = right.part.marks[y] = Mark::kSame;
  for (const Difference& difference : diff.differences) {
    for (const auto& [node, side] :
         {std::pair(difference.a, &left), std::pair(difference.b, &right)}) {
      if (node == nullptr) continue;
      side->part.marks[node] = MarkOf(difference.kind);
      side->page.notes[node] = difference.what;
    }
  }
  return DrawSideBySide({a, left}, {b, right}, diff.pairs);
}

absl::StatusOr<std::string> Draw(const Module& b, const GraphDiff& diff, PictureForm form,
                                 const DiffFlags& options) {
  const DiffUnion both = UnionOf(b, diff);
  DrawingOptions drawing = options.drawing;
  drawing.part.title = absl::StrCat(BaseName(options.b), " against ", BaseName(options.a));
  for (const Graph* graph : both.module->graphs()) {
    for (const Node* node : graph->nodes()) {
      const auto it = both.differences.find(node);
      drawing.part.marks[node] =
          it == both.differences.end() ? Mark::kSame : MarkOf(it->second->kind);
      if (it != both.differences.end()) drawing.page.notes[node] = it->second->what;
    }
  }
  return DrawPicture(*both.module, form, drawing);
}

absl::StatusOr<CommandResult> Diff(const DiffFlags& options) {
  RETURN_IF_ERROR(options.picture.Check());
  ASSIGN_OR_RETURN(const Sample a, LoadSide(options.a, options));
  ASSIGN_OR_RETURN(const Sample b, LoadSide(options.b, options));
  std::optional<GraphDiff> diff;
  if (a.module != nullptr && b.module != nullptr)
    diff = DiffModules(*a.module, *b.module, {.metas = options.metas});
  std::optional<WeightDifferences> weights;
  if (options.weights) weights = CompareWeights(a.weights, b.weights);
  const bool draws = !options.picture.path.empty() || options.format == DiffFormat::kDot;
  if (draws && !diff.has_value())
    return absl::InvalidArgumentError("a checkpoint has no graph to draw");
  if (!options.picture.path.empty()) {
    const PictureForm form = PictureFormOf(options.picture.path).value_or(PictureForm::kSvg);
    ASSIGN_OR_RETURN(const std::string drawn, options.picture.side_by_side
                                                  ? DrawBoth(*a.module, *b.module, *diff, options)
                                                  : Draw(*b.module, *diff, form, options));
    RETURN_IF_ERROR(WriteFileAtomic(options.picture.path, drawn));
  }
  const bool equal = (!diff.has_value() || diff->empty()) &&
                     (!weights.has_value() || weights->differences.empty());
  if (options.format == DiffFormat::kDot && !WantsJson()) {
    ASSIGN_OR_RETURN(const std::string drawn, Draw(*b.module, *diff, PictureForm::kDot, options));
    WriteOutput(drawn);
    return equal ? 0 : 1;
  }
  Report report;
  report.Add("equal", equal);
  if (diff.has_value()) report.Append(GraphsReport(*diff));
  if (weights.has_value()) report.Add("weights", WeightsReport(*weights));
  if (options.format == DiffFormat::kJson) WantJson();
  return CommandResult(std::move(report), equal ? 0 : 1);
}

void DeclareDiff(CommandLine& command) {
  auto options = std::make_shared<DiffFlags>();
  command.AddOption("A", &options->a, "First sample; - is the standard input").Required();
  command.AddOption("B", &options->b, "Second sample").Required();
  command.AddFlag("--normal-form", &options->normal_form,
                  "Compare what the graphs compute, not how they are written: docs/hash.md");
  command.AddFlag("--metas", &options->metas, "Include shapes, dtypes and devices");
  command.AddFlag("--weights", &options->weights,
                  "Also compare weights by name: values, dtypes and shapes. A and B may be "
                  "checkpoints, X.safetensors");
  AddInputOptions(command, &options->inputs);
  const std::map<std::string, DiffFormat> formats = {
      {"text", DiffFormat::kText}, {"json", DiffFormat::kJson}, {"dot", DiffFormat::kDot}};
  command.AddChoice("--format", &options->format, formats, "Output format");
  AddPictureOption(
      command, &options->picture,
      "Draw both graphs, with removed nodes in red, added ones in green, changed ones in yellow");
  AddDrawingOptions(command, &options->drawing);
  AddTrustOption(command, &options->trust);
  AddDrawWeightsOption(command);
  AddJsonOption(
      command,
      "equal, the numbers of nodes that are same, removed, added and changed, and differences with "
      "kind, a, b and what; with --weights also weights with compared and differences");
  command.Run([options] { return Diff(*options); });
}

const RegisteredCommand kDiff(
    {.name = "diff",
     .help = "Print the differences between two graphs, with nodes matched by structure and not by "
             "name",
     .group = CommandGroup::kLook,
     .declare = DeclareDiff,
     .examples = {"graphnet diff samples/vit.pt samples/vit.pb",
                  "graphnet diff samples/vit.pt samples/vit.pb --normal-form --json"}});

}  // namespace
}  // namespace graphnet
