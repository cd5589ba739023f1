#include "graphnet/identity/diff.h"

#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
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
#include "graphnet/text/printer.h"

namespace graphnet {
namespace {

enum class DiffFormat { kText, kJson, kDot };

struct DiffFlags {
  std::string a;
  std::string b;
  std::vector<std::string> inputs;
  bool normal_form = false;
  bool metas = false;
  DiffFormat format = DiffFormat::kText;
  bool json = false;
  std::string picture;  // empty: none
  DrawingOptions drawing;
  bool trust = false;
};

absl::StatusOr<std::unique_ptr<Module>> Load(const std::string& path, const DiffFlags& options) {
  ASSIGN_OR_RETURN(Sample sample, LoadForIdentity(path, {.inputs = options.inputs,
                                                         .normal_form = options.normal_form,
                                                         .trust = options.trust}));
  return std::move(sample.module);
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

Json DiffJson(const GraphDiff& diff) {
  Json document;
  document["equal"] = diff.empty();
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
  return document;
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
  ASSIGN_OR_RETURN(const std::unique_ptr<Module> a, Load(options.a, options));
  ASSIGN_OR_RETURN(const std::unique_ptr<Module> b, Load(options.b, options));
  const GraphDiff diff = DiffModules(*a, *b, {.metas = options.metas});
  if (!options.picture.empty()) {
    const PictureForm form = PictureFormOf(options.picture).value_or(PictureForm::kSvg);
    ASSIGN_OR_RETURN(const std::string drawn, Draw(*b, diff, form, options));
    RETURN_IF_ERROR(WriteFileAtomic(options.picture, drawn));
  }
  if (options.json || options.format == DiffFormat::kJson) {
    PrintJson(DiffJson(diff));
  } else if (options.format == DiffFormat::kDot) {
    ASSIGN_OR_RETURN(const std::string drawn, Draw(*b, diff, PictureForm::kDot, options));
    std::fputs(drawn.c_str(), stdout);
  } else {
    PrintText(diff);
  }
  return diff.empty() ? 0 : 1;
}

}  // namespace

void RegisterDiff(CLI::App& app, CommandRunner* run) {
  auto options = std::make_shared<DiffFlags>();
  CLI::App* command = app.add_subcommand(
      "diff", "Tell what two graphs differ in, nodes matched by structure and not by name");
  command->add_option("A", options->a, "The first sample, - on the standard input")->required();
  command->add_option("B", options->b, "The second sample")->required();
  command->add_flag("--normal-form", options->normal_form,
                    "Compare what they compute, however it is written: docs/hash.md");
  command->add_flag("--metas", options->metas, "Shapes, dtypes and devices count, too");
  AddInputOption(command, &options->inputs);
  const std::map<std::string, DiffFormat> formats = {
      {"text", DiffFormat::kText}, {"json", DiffFormat::kJson}, {"dot", DiffFormat::kDot}};
  AddChoiceOption(command, "--format", &options->format, formats, "What to print");
  AddPictureOption(command, &options->picture,
                   "Draw both, what was removed in red, added in green, changed in yellow");
  AddDrawingOptions(command, &options->drawing);
  AddTrustOption(command, &options->trust);
  AddJsonOption(command, &options->json,
                "equal, how many nodes are same, removed, added and changed, and differences with "
                "kind, a, b and what");
  command->callback([options, run] { *run = [options] { return Diff(*options); }; });
}

}  // namespace graphnet
