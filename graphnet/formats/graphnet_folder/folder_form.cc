#include "graphnet/formats/graphnet_folder/folder_form.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/base/unique_names.h"
#include "graphnet/base/utf8.h"
#include "graphnet/ir/annotation.h"
#include "graphnet/ir/lift_attributes.h"
#include "graphnet/ir/unchecked_builder.h"

namespace graphnet {
namespace {

// Returns whether model.py gives this name a meaning of its own.
bool IsReserved(absl::string_view name) {
  static const auto* const kNames = new absl::flat_hash_set<absl::string_view>{
      "self",    "torch", "paddle",   "device", "inf",      "nan",    "slice",       "Ellipsis",
      "complex", "float", "operator", "math",   "builtins", "typing", "GraphModule", "forward"};
  return kNames->contains(name) || IsBuiltinFunction(name);
}

absl::string_view Root(absl::string_view target) { return target.substr(0, target.find('.')); }

std::string Identifier(absl::string_view name) {
  std::string out(name);
  for (char& c : out) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  if (out.empty() || absl::ascii_isdigit(static_cast<unsigned char>(out[0])))
    out = absl::StrCat("_", out);
  return out;
}

// Returns `name` as an identifier that is in neither `taken` nor `elsewhere`, and adds it to
// `taken`.
std::string Reserve(absl::string_view name, UniqueNames* taken, const UniqueNames& elsewhere = {}) {
  return taken->Reserve(Identifier(name), [&](absl::string_view candidate) {
    return !IsPythonKeyword(candidate) && !IsReserved(candidate) && !elsewhere.Contains(candidate);
  });
}

// Returns whether a constant has no word in the framework.
bool IsForeign(const Argument& argument, Framework framework) {
  if (framework == Framework::kTorch) return false;
  if (argument.kind() == Argument::Kind::kDevice) {
    const DeviceType type = argument.device().type;
    return type != DeviceType::kCpu && type != DeviceType::kCuda;
  }
  return argument.kind() == Argument::Kind::kLayout ||
         argument.kind() == Argument::Kind::kMemoryFormat;
}

absl::Status CheckNode(const Node& node, Framework framework) {
  const auto refuse = [&](absl::string_view why) {
    return absl::UnimplementedError(absl::StrCat("node ", Printable(node.name()), ": ", why));
  };
  if (node.op() == Op::kCallModule) return refuse("a folder cannot hold calls of submodules");
  const Framework other = framework == Framework::kPaddle ? Framework::kTorch : Framework::kPaddle;
  if (node.op() == Op::kCallFunction && Root(node.target()) == FrameworkName(other)) {
    return refuse(absl::StrCat("a call of ", Printable(node.target()), " in a sample of ",
                               FrameworkName(framework)));
  }
  if (node.op() == Op::kCallFunction && !HasPythonSpelling(node.target(), framework)) {
    return refuse(absl::StrCat("target ", Printable(node.target()), " has no Python spelling"));
  }
  if (node.op() == Op::kCallMethod &&
      (!IsPythonIdentifier(node.target()) || !node.args()[0].is_node())) {
    return refuse("a method that Python cannot spell");
  }
  if (node.is_call_function("torch.vmap") &&
      (node.args().size() != 2 || !node.args()[0].is_graph() || !node.args()[1].is_tuple())) {
    return refuse("torch.vmap without a body and a tuple of operands");
  }
  bool symbolic = false;
  bool other_bytes = false;
  bool foreign = false;
  node.ForEachArgument([&](const Argument& a) {
    symbolic |= a.kind() == Argument::Kind::kSymInt;
    other_bytes |= a.is_string() && !IsUtf8(a.string());
    foreign |= IsForeign(a, framework);
  });
  if (node.kwargs().size() > kMaxKeywords) {
    return refuse(
        absl::StrCat(node.kwargs().size(), " keyword arguments; a folder can hold ", kMaxKeywords));
  }
  for (const KwArg& kwarg : node.kwargs()) {
    if (!IsPythonIdentifier(kwarg.name)) return refuse("a keyword that Python cannot spell");
  }
  if (symbolic) return refuse("a folder cannot hold symbolic integers as arguments");
  if (foreign) return refuse("a layout or device that Paddle does not have");
  if (other_bytes) return refuse("a folder cannot hold strings that are not UTF-8");
  return absl::OkStatus();
}

void RenameNodes(Graph* graph, const UniqueNames& taken_everywhere) {
  UniqueNames taken;
  const std::vector<Node*> placeholders = graph->placeholders();
  // Name the parameters first, so that they keep their names: they are the interface.
  for (Node* node : placeholders) {
    const std::string target = Reserve(node->target(), &taken, taken_everywhere);
    const bool same_name = node->name() == node->target();
    if (target != node->target()) {
      DrawSpec spec = node->draw_spec() ? *node->draw_spec() : DrawSpec();
      if (spec.original_name.empty()) spec.original_name = node->target();
      node->set_draw_spec(spec);
      node->set_target(target);
      if (same_name) UncheckedBuilder(graph).SetName(node, target);
    }
    // Python text must be UTF-8. The original name is only a note, so it may be dropped.
    if (node->draw_spec() != nullptr && !IsUtf8(node->draw_spec()->original_name)) {
      DrawSpec spec = *node->draw_spec();
      spec.original_name = {};
      node->set_draw_spec(spec);
    }
  }
  std::vector<std::pair<Node*, std::string>> renamed;
  for (Node* node : graph->nodes()) {
    if (node->is_output()) continue;
    if (node->is_placeholder() && node->name() == node->target()) continue;
    std::string name = Reserve(node->name(), &taken, taken_everywhere);
    if (name != node->name()) renamed.push_back({node, std::move(name)});
  }
  for (const auto& [node, name] : renamed) UncheckedBuilder(graph).SetName(node, name);
  if (Node* output = graph->output()) {
    UncheckedBuilder(graph).SetName(output, Reserve("output", &taken, taken_everywhere));
  }
}

double OneNan(double value) {
  return std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value;
}

// Python writes float("nan") for every nan.
Argument OneNan(const Argument& value) {
  return value.is_float() ? Argument(OneNan(value.real())) : value;
}

void GiveOneNan(Node* node) {
  bool has_nan = false;
  node->ForEachArgument(
      [&](const Argument& a) { has_nan |= a.is_float() && std::isnan(a.real()); });
  if (has_nan) node->MapArguments([](const Argument& a) { return OneNan(a); });
  if (node->draw_spec() == nullptr) return;
  DrawSpec spec = *node->draw_spec();
  spec.mean = OneNan(spec.mean);
  spec.std = OneNan(spec.std);
  spec.min = OneNan(spec.min);
  spec.max = OneNan(spec.max);
  std::vector<Argument> data;
  if (spec.data.is_list()) {
    for (const Argument& element : spec.data.elements()) data.push_back(OneNan(element));
    spec.data = Argument::List(data);
  }
  if (!(spec == *node->draw_spec())) node->set_draw_spec(spec);
}

// Python code that loads a folder takes a number as a tensor without dimensions.
void DescribeNumber(Node* node) {
  const std::optional<DType> dtype = NumberDType(node->annotation());
  if (!dtype.has_value()) return;
  TensorMeta meta;
  meta.dtype = *dtype;
  meta.has_shape = meta.has_device = true;
  node->set_meta(node->graph()->module()->InternValueMeta(meta));
}

}  // namespace

bool IsPythonKeyword(absl::string_view name) {
  static constexpr absl::string_view kKeywords[] = {
      "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
      "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
      "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
      "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};
  // Most names are longer than all keywords, or differ in the first letter from all keywords of
  // their length.
  static constexpr auto kLetters = [] {
    std::array<uint32_t, 9> letters{};
    for (const absl::string_view keyword : kKeywords)
      letters[keyword.size()] |= uint32_t{1} << (keyword[0] & 31);
    return letters;
  }();
  if (name.empty() || name.size() >= kLetters.size()) return false;
  if ((kLetters[name.size()] >> (name[0] & 31) & 1) == 0) return false;
  return absl::c_linear_search(kKeywords, name);
}

bool IsPythonIdentifier(absl::string_view name) {
  return !name.empty() && Identifier(name) == name && !IsPythonKeyword(name);
}

bool IsBuiltinFunction(absl::string_view name) {
  static constexpr absl::string_view kNames[] = {"getattr", "max",  "min",   "abs",    "int",
                                                 "float",   "bool", "len",   "round",  "pow",
                                                 "sum",     "list", "tuple", "divmod", "str"};
  return absl::c_linear_search(kNames, name);
}

bool HasPythonSpelling(absl::string_view target, Framework framework) {
  size_t parts = 0;
  for (size_t begin = 0;; ++parts) {
    const size_t dot = target.find('.', begin);
    if (!IsPythonIdentifier(target.substr(begin, dot - begin))) return false;
    if (dot == absl::string_view::npos) break;
    begin = dot + 1;
  }
  ++parts;
  const absl::string_view root = Root(target);
  if (root == FrameworkName(framework) || root == "operator" || root == "math") return parts > 1;
  if (root == "builtins") return parts == 2 && IsBuiltinFunction(target.substr(root.size() + 1));
  // An operator such as aten.add.Tensor, with its namespace and its overload.
  return framework == Framework::kTorch && parts == 3 && !IsReserved(root);
}

absl::StatusOr<std::unique_ptr<Module>> FolderForm(const Module& module, Framework framework,
                                                   bool keep_module_paths) {
  for (const Symbol& symbol : module.symbols()) {
    if (!IsPythonIdentifier(symbol.name)) {
      return absl::UnimplementedError(
          absl::StrCat("symbol ", Printable(symbol.name), ": a name that Python cannot spell"));
    }
  }
  std::unique_ptr<Module> form = module.Clone();
  RETURN_IF_ERROR(LiftAttributes(form.get()).status());
  UniqueNames taken;
  for (Graph* graph : form->graphs()) {
    for (const Node* node : graph->nodes()) {
      RETURN_IF_ERROR(CheckNode(*node, framework));
      if (node->op() == Op::kCallFunction) taken.Insert(Root(node->target()));
    }
  }
  for (Graph* graph : form->graphs()) {
    const bool is_main = graph == form->main();
    if (is_main && graph->name() != "forward") form->RenameGraph(graph, "forward");
    if (!is_main) {
      const std::string name = Reserve(graph->name(), &taken);
      if (name != graph->name()) form->RenameGraph(graph, name);
    }
  }
  for (Graph* graph : form->graphs()) {
    for (Node* node : graph->nodes()) {
      if (!keep_module_paths) node->set_module_path({});
      if (!node->is_placeholder()) node->set_annotation({});
      const bool is_argument = node->is_placeholder() && graph == form->main();
      if (!is_argument || node->tensor_meta() == nullptr) node->set_meta(nullptr);
      if (is_argument && node->meta() == nullptr) DescribeNumber(node);
      if (is_argument && node->draw_spec() == nullptr) node->set_draw_spec(DrawSpec());
      GiveOneNan(node);
    }
    RenameNodes(graph, taken);
    for (Node* node : graph->nodes()) {
      if (!node->is_placeholder()) break;
      // Types such as List[Tensor] are not dotted names.
      if (!absl::c_all_of(node->annotation(), [](char c) {
            return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
          })) {
        node->set_annotation({});
      }
      if (graph != form->main()) node->clear_draw_spec();
    }
  }
  return form;
}

}  // namespace graphnet
