#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/graphnet_folder/folder_form.h"
#include "graphnet/formats/graphnet_folder/framework.h"
#include "graphnet/formats/graphnet_folder/literal_writer.h"
#include "graphnet/formats/graphnet_folder/posted_writer.h"
#include "graphnet/formats/graphnet_folder/writers.h"
#include "graphnet/ir/node_table.h"

namespace graphnet {
namespace {

// The spelling of an operator function.
struct Infix {
  absl::string_view target;
  absl::string_view text;
};
constexpr Infix kInfix[] = {
    {"operator.add", " + "},     {"operator.sub", " - "},       {"operator.mul", " * "},
    {"operator.truediv", " / "}, {"operator.floordiv", " // "}, {"operator.mod", " % "},
    {"operator.matmul", " @ "},  {"operator.pow", " ** "},      {"operator.and_", " & "},
    {"operator.or_", " | "},     {"operator.xor", " ^ "},       {"operator.lshift", " << "},
    {"operator.rshift", " >> "}, {"operator.eq", " == "},       {"operator.ne", " != "},
    {"operator.lt", " < "},      {"operator.le", " <= "},       {"operator.gt", " > "},
    {"operator.ge", " >= "}};
constexpr Infix kInPlace[] = {
    {"operator.iadd", " += "},     {"operator.isub", " -= "},       {"operator.imul", " *= "},
    {"operator.itruediv", " /= "}, {"operator.ifloordiv", " //= "}, {"operator.imod", " %= "},
    {"operator.imatmul", " @= "},  {"operator.ipow", " **= "},      {"operator.iand", " &= "},
    {"operator.ior", " |= "},      {"operator.ixor", " ^= "},       {"operator.ilshift", " <<= "},
    {"operator.irshift", " >>= "}};
constexpr Infix kPrefix[] = {
    {"operator.neg", "-"}, {"operator.invert", "~"}, {"operator.pos", "+"}};

template <size_t N>
absl::string_view Find(const Infix (&table)[N], absl::string_view target) {
  for (const Infix& row : table) {
    if (row.target == target) return row.text;
  }
  return {};
}

class ModelWriter {
 public:
  ModelWriter(const Module& module, Framework framework)
      : module_(module), framework_(framework), last_user_(module) {}

  // Writes the form of posted_writer.h instead of a file.
  ModelWriter(const Module& module, const PostedComments& comments)
      : module_(module), framework_(Framework::kTorch), posted_(&comments), last_user_(module) {}

  absl::StatusOr<std::string> WritePosted() {
    RETURN_IF_ERROR(WriteClass(*module_.main(), "GraphModule", 0));
    return std::move(out_);
  }

  std::string Write() {
    out_.reserve(module_.num_nodes() * 160);
    WriteFunction(*module_.main(), 4);
    std::string header = absl::StrCat("import ", FrameworkName(framework_), "\n");
    for (const std::string& line : header_) absl::StrAppend(&header, "\n", line, "\n");
    // Paddle's own samples have this __init__.
    const absl::string_view head = framework_ == Framework::kPaddle
                                       ? "class GraphModule(paddle.nn.Layer):\n"
                                         "    def __init__(self):\n"
                                         "        super().__init__()\n\n"
                                       : "class GraphModule(torch.nn.Module):\n";
    return absl::StrCat(header, "\n\n", head, out_);
  }

 private:
  // Writes a class with the method forward, and its bodies as classes in it.
  absl::Status WriteClass(const Graph& graph, absl::string_view name, int indent) {
    // A body that many others call is written in each of them.
    if (indent > 4 * kMaxNesting || ++num_classes_ > kCopies * module_.graphs().size())
      return absl::UnimplementedError("the bodies nest too deep, or too many graphs share them");
    Indent(indent);
    absl::StrAppend(&out_, "class ", name, "(torch.nn.Module):\n");
    Indent(indent + 4);
    out_.append("def forward(self");
    std::vector<const Graph*> bodies;
    absl::flat_hash_set<const Graph*> seen;
    for (const Node* node : graph.nodes()) {
      node->ForEachOperand([&](const Node* operand) { last_user_[operand] = node; });
      node->ForEachArgument([&](const Argument& a) {
        if (a.is_graph() && seen.insert(a.graph()).second) bodies.push_back(a.graph());
        has_sym_int_ |= a.kind() == Argument::Kind::kSymInt;
      });
      if (node->is_placeholder())
        absl::StrAppend(&out_, ", ", node->target(), posted_->annotation(*node));
    }
    if (has_sym_int_) return absl::UnimplementedError("symbolic integers are arguments of a call");
    out_.append("):\n");
    std::optional<SourceLocation> last;
    bool is_first = true;
    for (const Node* node : graph.nodes()) {
      if (node->is_placeholder() && node->name() == node->target()) continue;
      if (!node->is_placeholder() && !node->is_output())
        WriteLocation(*node, &last, is_first, indent + 8);
      is_first = false;
      node->ForEachArgument([&](const Argument& a) {
        if (!a.is_graph()) return;
        Indent(indent + 8);
        absl::StrAppend(&out_, a.graph()->name(), " = self.", a.graph()->name(), "\n");
      });
      WriteNode(*node, indent + 8, PostedReleases(*node));
    }
    for (const Graph* body : bodies) {
      out_.append("\n");
      RETURN_IF_ERROR(WriteClass(*body, body->name(), indent + 4));
    }
    return absl::OkStatus();
  }

  // Writes the place of a node as torch.fx does: if it is another one than that of the last node.
  void WriteLocation(const Node& node, std::optional<SourceLocation>* last, bool is_first,
                     int indent) {
    const SourceLocation place = node.location();
    if (last->has_value() && place.file == (*last)->file && place.line == (*last)->line) return;
    *last = place;
    if (!is_first) out_.append("\n");
    Indent(indent);
    if (place.file.empty()) {
      out_.append("# No stacktrace found for following nodes\n");
    } else {
      absl::StrAppend(&out_, "# File: ", posted_->file(place.file), ":", place.line, "\n");
    }
  }

  // Returns "x = y = " of the values that a node uses last, in the order in which it takes them.
  std::string PostedReleases(const Node& node) {
    std::string names;
    if (node.is_output()) return names;
    absl::flat_hash_set<absl::string_view> released;
    const auto release = [&](absl::string_view name) {
      if (released.insert(name).second) absl::StrAppend(&names, name, " = ");
    };
    node.ForEachArgument([&](const Argument& a) {
      if (a.is_graph()) release(a.graph()->name());
      if (a.is_node() && last_user_[a.node()] == &node) release(a.node()->name());
    });
    if (!node.has_uses()) release(node.name());
    return names;
  }

  void Indent(int width) { out_.append(static_cast<size_t>(width), ' '); }

  void WriteFunction(const Graph& graph, int indent) {
    const bool is_main = &graph == module_.main();
    Indent(indent);
    absl::StrAppend(&out_, "def ", graph.name(), "(");
    if (is_main) {
      out_.append("\n");
      Indent(indent + 4);
      out_.append("self,\n");
    }
    bool first = true;
    for (const Node* node : graph.nodes()) {
      if (!node->is_placeholder()) break;
      if (is_main) {
        Indent(indent + 4);
      } else if (!first) {
        out_.append(", ");
      }
      first = false;
      absl::StrAppend(&out_, node->target());
      if (!node->annotation().empty()) absl::StrAppend(&out_, ": ", node->annotation());
      if (is_main) out_.append(",\n");
    }
    if (is_main) Indent(indent);
    out_.append("):\n");
    // Each node releases the values of which it is the last user.
    absl::flat_hash_map<const Node*, std::vector<const Node*>> released;
    released.reserve(graph.num_nodes());
    for (const Node* node : graph.nodes()) {
      node->ForEachOperand([&](const Node* operand) { last_user_[operand] = node; });
    }
    for (const Node* node : graph.nodes()) {
      if (node->is_output()) continue;
      const Node* const last = last_user_[node];
      if (last == nullptr || !last->is_output()) released[last ? last : node].push_back(node);
    }
    // A body goes right before the node that needs it first.
    for (const Node* node : graph.nodes()) {
      node->ForEachArgument([&](const Argument& a) {
        if (a.is_graph() && written_.insert(a.graph()).second)
          WriteFunction(*a.graph(), indent + 4);
      });
      if (node->is_placeholder() && node->name() == node->target() && !released.contains(node))
        continue;
      WriteNode(*node, indent + 4, Released(*node, released));
    }
    if (!is_main) out_.append("\n");
  }

  // Returns "x = y = " of the values that `node` releases.
  static std::string Released(
      const Node& node,
      const absl::flat_hash_map<const Node*, std::vector<const Node*>>& released) {
    std::string names;
    const auto it = released.find(&node);
    if (it == released.end()) return names;
    for (const Node* value : it->second) {
      // An unused parameter needs no release, unless an alias names it. Then both names are
      // released.
      if (value->is_placeholder() && value == &node) {
        if (value->name() == value->target()) continue;
        absl::StrAppend(&names, value->target(), " = ");
      }
      absl::StrAppend(&names, value->name(), " = ");
    }
    return names;
  }

  // Writes "NAME = ", behind which the value follows.
  void WriteTarget(const Node& node) {
    absl::StrAppend(&out_, node.name());
    if (posted_ != nullptr) out_.append(posted_->annotation(node));
    out_.append(" = ");
  }

  void WriteNode(const Node& node, int indent, const std::string& released) {
    const size_t begin = out_.size();
    Indent(indent);
    const size_t text = out_.size();
    switch (node.op()) {
      case Op::kPlaceholder:
        if (node.name() != node.target()) absl::StrAppend(&out_, node.name(), " = ", node.target());
        break;
      case Op::kOutput:
        out_.append("return ");
        WriteArgument(node.args()[0]);
        break;
      case Op::kCallMethod:
        WriteTarget(node);
        absl::StrAppend(&out_, node.args()[0].node()->name(), ".", node.target());
        WriteCall(node.args().subspan(1), node.kwargs());
        break;
      case Op::kGetAttr:
      case Op::kCallModule:
        WriteTarget(node);
        WriteSelfPath(node.target());
        if (node.op() == Op::kCallModule) WriteCall(node.args(), node.kwargs());
        break;
      default: WriteFunctionCall(node);
    }
    if (!released.empty())
      absl::StrAppend(&out_, out_.size() > text ? ";  " : "", released, "None");
    if (out_.size() == text) {
      out_.resize(begin);
      return;
    }
    out_.append("\n");
  }

  // Writes an operand of an operator. A negative literal before ** needs parentheses, because
  // Python reads -x ** y as -(x ** y).
  void WriteOperand(const Argument& arg, absl::string_view op, bool is_left) {
    const bool negative =
        (arg.is_int() && arg.integer() < 0) || (arg.is_float() && std::signbit(arg.real()));
    const bool parenthesise = is_left && negative && op == " ** ";
    if (parenthesise) out_.append("(");
    WriteArgument(arg);
    if (parenthesise) out_.append(")");
  }

  void WriteFunctionCall(const Node& node) {
    const absl::Span<const Argument> args = node.args();
    const absl::string_view target = node.target();
    if (node.kwargs().empty() && absl::StartsWith(target, "operator.")) {
      if (args.size() == 2 && (args[0].is_node() || args[1].is_node())) {
        if (const absl::string_view text = Find(kInfix, target); !text.empty()) {
          WriteTarget(node);
          WriteOperand(args[0], text, true);
          out_.append(text.data(), text.size());
          WriteOperand(args[1], text, false);
          return;
        }
        // `a += b` rebinds a, so the old value must have no later user.
        const absl::string_view text = Find(kInPlace, target);
        if (!text.empty() && args[0].is_node() && last_user_[args[0].node()] == &node) {
          const absl::string_view self = args[0].node()->name();
          absl::StrAppend(&out_, self, text);
          WriteArgument(args[1]);
          absl::StrAppend(&out_, ";  ", node.name(), " = ", self);
          return;
        }
      }
      if (args.size() == 1 && args[0].is_node()) {
        if (const absl::string_view text = Find(kPrefix, target); !text.empty()) {
          WriteTarget(node);
          absl::StrAppend(&out_, text, args[0].node()->name());
          return;
        }
      }
      if (target == "operator.getitem" && args.size() == 2 && args[0].is_node()) {
        WriteTarget(node);
        absl::StrAppend(&out_, args[0].node()->name(), "[");
        WriteArgument(args[1]);
        out_.append("]");
        return;
      }
      if (target == "operator.setitem" && args.size() == 3 && args[0].is_node() &&
          !node.has_uses()) {
        const absl::string_view self = args[0].node()->name();
        absl::StrAppend(&out_, self, "[");
        WriteArgument(args[1]);
        out_.append("] = ");
        WriteArgument(args[2]);
        absl::StrAppend(&out_, ";  ", node.name(), " = ", self);
        return;
      }
    }
    WriteTarget(node);
    if (target == "builtins.getattr" && node.kwargs().empty() && args.size() == 2 &&
        args[0].is_node() && args[1].is_string() && IsPythonIdentifier(args[1].string())) {
      absl::StrAppend(&out_, args[0].node()->name(), ".", args[1].string());
      return;
    }
    if (target == "torch.vmap") {  // The function that it returns is called at once.
      out_.append("torch.vmap");
      WriteCall(args.first(1), node.kwargs());
      WriteCall(args[1].elements(), {});
      return;
    }
    if (posted_ != nullptr && absl::StartsWith(target, "aten.")) out_.append("torch.ops.");
    absl::string_view spelled = target;
    const absl::string_view root = target.substr(0, target.find('.'));
    if (!absl::ConsumePrefix(&spelled, "builtins.")) NeedRoot(root);
    const int64_t outputs = NumOutputs(node);
    if (outputs > 0) out_.append("(lambda x, f: f(x))(");
    out_.append(spelled.data(), spelled.size());
    if (posted_ != nullptr && absl::StartsWith(target, "torch.ops.higher_order.")) {
      WriteHigherOrderCall(args, node.kwargs());
    } else {
      WriteCall(args, node.kwargs());
    }
    if (outputs > 0) {
      out_.append(", lambda out: out if isinstance(out, (list, tuple)) else (out,");
      for (int64_t i = 1; i < outputs; ++i) out_.append(i == 1 ? " None" : ", None");
      out_.append("))");
    }
  }

  // PyTorch passes operands as tuples, which an archive stores as lists.
  void WriteHigherOrderCall(absl::Span<const Argument> args, absl::Span<const KwArg> kwargs) {
    std::vector<Argument> tuples(args.begin(), args.end());
    for (Argument& arg : tuples) {
      if (arg.kind() == Argument::Kind::kList) arg = Argument::Tuple(arg.elements());
    }
    WriteCall(tuples, kwargs);
  }

  // Writes self.a.b, or getattr(self.a, "0").b for a name that is no identifier.
  void WriteSelfPath(absl::string_view path) {
    std::string text = "self";
    for (const absl::string_view part : absl::StrSplit(path, '.')) {
      if (IsPythonIdentifier(part)) {
        absl::StrAppend(&text, ".", part);
        continue;
      }
      std::string name;
      AppendPythonString(part, &name);
      text = absl::StrCat("getattr(", text, ", ", name, ")");
    }
    out_.append(text);
  }

  // Returns the number of outputs of a Paddle operator that operator.getitem takes by index; 0 for
  // other nodes and for one value. An operator with several outputs returns only the first one if
  // it does not compute the others. So, like Paddle's own samples, the lambda above makes a tuple.
  int64_t NumOutputs(const Node& node) const {
    if (framework_ != Framework::kPaddle || !absl::StartsWith(node.target(), "paddle._C_ops."))
      return 0;
    int64_t count = 0;
    for (const Node* user : node.users()) {
      if (user->is_call_function("operator.getitem") && user->args().size() == 2 &&
          user->args()[0].is_node() && user->args()[0].node() == &node &&
          user->args()[1].is_int()) {
        count = std::max(count, user->args()[1].integer() + 1);
      }
    }
    return count;
  }

  void NeedRoot(absl::string_view root) {
    if (root == FrameworkName(framework_)) return;
    if (root == "operator" || root == "math") {
      header_.insert(absl::StrCat("import ", root));
    } else {
      header_.insert(absl::StrCat(root, " = torch.ops.", root));
    }
  }

  void WriteCall(absl::Span<const Argument> args, absl::Span<const KwArg> kwargs) {
    WriteElements("(", args, "");
    const char* separator = args.empty() ? "" : ", ";
    for (const KwArg& kwarg : kwargs) {
      absl::StrAppend(&out_, separator, kwarg.name, posted_ != nullptr ? " = " : "=");
      separator = ", ";
      WriteArgument(kwarg.value);
    }
    out_.append(")");
  }

  void WriteElements(const char* open, absl::Span<const Argument> elements, const char* close) {
    out_.append(open);
    for (size_t i = 0; i < elements.size(); ++i) {
      if (i > 0) out_.append(", ");
      WriteArgument(elements[i]);
    }
    out_.append(close);
  }

  void NeedNumber(absl::string_view name) {
    header_.insert(absl::StrCat("from ", framework_ == Framework::kPaddle ? "math" : "torch",
                                " import ", name));
  }

  void WritePlace(Device device) {
    if (device.type == DeviceType::kCpu) {
      out_.append("paddle.CPUPlace()");
    } else {
      absl::StrAppend(&out_, "paddle.CUDAPlace(", std::max<int>(device.index, 0), ")");
    }
  }

  // Writes a text in quotes: those of repr() in the form of torch.fx, if it has nothing to escape.
  void WriteText(absl::string_view text) {
    const size_t begin = out_.size();
    AppendPythonString(text, &out_);
    if (posted_ == nullptr || out_.size() - begin != text.size() + 2 ||
        absl::StrContains(text, '\'')) {
      return;
    }
    out_[begin] = out_.back() = '\'';
  }

  void WriteArgument(const Argument& arg) {
    switch (arg.kind()) {
      case Argument::Kind::kNone: out_.append("None"); break;
      case Argument::Kind::kNode: {
        const absl::string_view name = arg.node()->name();
        out_.append(name.data(), name.size());
        break;
      }
      case Argument::Kind::kBool: out_.append(arg.boolean() ? "True" : "False"); break;
      case Argument::Kind::kInt: absl::StrAppend(&out_, arg.integer()); break;
      case Argument::Kind::kFloat:
        if (std::isinf(arg.real())) NeedNumber("inf");
        if (std::isnan(arg.real())) NeedNumber("nan");
        AppendPythonFloat(arg.real(), &out_);
        break;
      case Argument::Kind::kComplex:
        WriteElements("complex(", {arg.complex().real(), arg.complex().imag()}, ")");
        break;
      case Argument::Kind::kString: WriteText(arg.string()); break;
      case Argument::Kind::kDType: out_.append(DTypeWord(arg.dtype(), framework_)); break;
      case Argument::Kind::kDevice: {
        if (framework_ == Framework::kPaddle) {
          WritePlace(arg.device());
          break;
        }
        header_.insert("from torch import device");
        const Device device = arg.device();
        absl::StrAppend(&out_, "device(type='", DeviceTypeName(device.type), "'");
        if (device.index >= 0) absl::StrAppend(&out_, ", index=", device.index);
        out_.append(")");
        break;
      }
      case Argument::Kind::kLayout:
        absl::StrAppend(&out_, "torch.", LayoutName(arg.layout()));
        break;
      case Argument::Kind::kMemoryFormat:
        absl::StrAppend(&out_, "torch.", MemoryFormatName(arg.memory_format()));
        break;
      case Argument::Kind::kList: WriteElements("[", arg.elements(), "]"); break;
      case Argument::Kind::kTuple:
        WriteElements("(", arg.elements(), arg.elements().size() == 1 ? ",)" : ")");
        break;
      case Argument::Kind::kDict:
        out_.append("{");
        for (size_t i = 0; i < arg.elements().size(); i += 2) {
          if (i > 0) out_.append(", ");
          WriteArgument(arg.elements()[i]);
          out_.append(": ");
          WriteArgument(arg.elements()[i + 1]);
        }
        out_.append("}");
        break;
      case Argument::Kind::kSlice: WriteElements("slice(", arg.elements(), ")"); break;
      case Argument::Kind::kEllipsis: out_.append("Ellipsis"); break;
      case Argument::Kind::kGraph: absl::StrAppend(&out_, arg.graph()->name()); break;
      case Argument::Kind::kSymInt: break;  // FolderForm refuses these.
    }
  }

  const Module& module_;
  const Framework framework_;
  // How often the bodies of a module are written, on average.
  static constexpr size_t kCopies = 16;
  const PostedComments* posted_ = nullptr;  // null for a file
  size_t num_classes_ = 0;
  bool has_sym_int_ = false;
  std::string out_;
  std::set<std::string> header_;  // sorted lines after the import of the framework
  absl::flat_hash_set<const Graph*> written_;
  NodeTable<const Node*> last_user_;  // covers the graphs that are written so far
};

}  // namespace

std::string WriteModelPy(const Module& module, Framework framework) {
  return ModelWriter(module, framework).Write();
}

absl::StatusOr<std::string> WritePostedModule(const Module& module,
                                              const PostedComments& comments) {
  return ModelWriter(module, comments).WritePosted();
}

}  // namespace graphnet
