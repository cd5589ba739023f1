#include <limits>
#include <numbers>
#include <optional>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/graphnet_folder/folder_form.h"
#include "graphnet/formats/graphnet_folder/model_parser.h"

namespace graphnet {

// The arguments of one call. They stay on the stack until this object is destroyed.
class ModelParser::CallArguments {
 public:
  explicit CallArguments(ModelParser* parser)
      : parser_(parser), base_(parser->stack_.size()), kwbase_(parser->kwargs_.size()) {}
  ~CallArguments() { Drop(); }
  void Drop() {
    if (dropped_) return;
    dropped_ = true;
    parser_->stack_.Pop(base_);
    parser_->kwargs_.resize(kwbase_);
  }

  void Push(const Argument& arg) { parser_->stack_.Push(arg); }

  absl::Status Parse() {
    Scanner& scanner = parser_->scanner_;
    scanner.Next();  // (
    return scanner.TakeElements(Punct(")"), "after the arguments", [&] { return ParseOne(); });
  }

  absl::Span<const Argument> args() const { return parser_->stack_.From(base_); }
  absl::Span<const KwArg> kwargs() const {
    return absl::MakeConstSpan(parser_->kwargs_).subspan(kwbase_);
  }

 private:
  absl::Status ParseOne() {
    Scanner& scanner = parser_->scanner_;
    if (scanner.Is(Punct("*")) || scanner.Is(Punct("**"))) {
      return scanner.Error("starred arguments are not supported");
    }
    Argument value;
    if (parser_->TakeElement(&value)) return PushPositional(value);
    if (scanner.token().kind != TokenKind::kName) {
      ASSIGN_OR_RETURN(value, parser_->ParseExpression());
      return PushPositional(value);
    }
    const absl::string_view name = scanner.token().text;
    scanner.Next();
    if (!scanner.Is(Punct("="))) {
      ASSIGN_OR_RETURN(value, parser_->ParseAtomFromName(name));
      ASSIGN_OR_RETURN(value, parser_->ParsePostfix(value));
      ASSIGN_OR_RETURN(value, parser_->ParseBinaryRest(value, kComparison));
      return PushPositional(value);
    }
    for (const KwArg& other : kwargs()) {
      if (other.name == name)
        return scanner.Error(absl::StrCat("keyword '", name, "' is given twice"));
    }
    if (kwargs().size() >= kMaxKeywords) return scanner.Error("too many keyword arguments");
    scanner.Next();
    ASSIGN_OR_RETURN(value, parser_->ParseExpression());
    parser_->kwargs_.push_back({name, value});
    return absl::OkStatus();
  }

  absl::Status PushPositional(const Argument& value) {
    if (!kwargs().empty()) {
      return parser_->scanner_.Error("a positional argument after a keyword argument");
    }
    Push(value);
    return absl::OkStatus();
  }

  ModelParser* parser_;
  size_t base_;
  size_t kwbase_;
  bool dropped_ = false;
};

absl::StatusOr<Argument> ModelParser::Lookup(absl::string_view name) {
  const auto it = scope_.names.find(name);
  if (it != scope_.names.end() && it->second.kind == Binding::kValue) return it->second.value;
  // A function may refer to every function that ended before.
  if (it == scope_.names.end()) {
    const auto function = functions_.find(name);
    if (function != functions_.end()) return Argument(function->second);
  }
  if (name == "self") {
    return scanner_.ErrorAtOffset(name.data(), "attributes of self are outside the subset");
  }
  if (it != scope_.names.end() && it->second.kind == Binding::kReleased) {
    return scanner_.ErrorAtOffset(
        name.data(), absl::StrCat("'", name, "' is used after it was released (set to None)"));
  }
  return scanner_.ErrorAtOffset(name.data(), absl::StrCat("'", name, "' is not defined"));
}

std::optional<Argument> ModelParser::NamedLiteral(absl::string_view name) {
  switch (name.size()) {
    case 3:
      if (name == "inf") return Argument(std::numeric_limits<double>::infinity());
      if (name == "nan") return Argument(std::numeric_limits<double>::quiet_NaN());
      break;
    case 4:
      if (name == "None") return Argument();
      if (name == "True") return Argument(true);
      break;
    case 5:
      if (name == "False") return Argument(false);
      break;
    case 8:
      if (name == "Ellipsis") return Argument::Ellipsis();
      break;
    default: break;
  }
  return std::nullopt;
}

bool ModelParser::TakeElement(Argument* value) {
  if (!scanner_.EndsElement()) return false;
  const Token& token = scanner_.token();
  switch (token.kind) {
    case TokenKind::kInt:
      if (token.int_value < 0) return false;  // 2^63
      *value = token.int_value;
      break;
    case TokenKind::kFloat: *value = token.float_value; break;
    case TokenKind::kName:
      if (const auto it = scope_.names.find(token.text);
          it != scope_.names.end() && it->second.kind == Binding::kValue) {
        *value = it->second.value;
      } else if (const std::optional<Argument> literal = NamedLiteral(token.text)) {
        *value = *literal;
      } else {
        return false;
      }
      break;
    default: return false;
  }
  scanner_.Next();
  return true;
}

// Parses the rest of an atom whose first token, `name`, has been taken.
absl::StatusOr<Argument> ModelParser::ParseAtomFromName(absl::string_view name) {
  const auto it = scope_.names.find(name);
  if (it != scope_.names.end() && it->second.kind == Binding::kValue) return it->second.value;
  if (const std::optional<Argument> literal = NamedLiteral(name)) return *literal;
  if (is_posted() && (name == "self" || name == "getattr")) return ParseSelf(name);
  if (scanner_.Is(Punct("(")) || scanner_.Is(Punct("."))) {
    if (it == scope_.names.end() || it->second.kind == Binding::kUndefined) {
      return ParseGlobal(name);
    }
  }
  if (IsForeignKeyword(name)) {
    return scanner_.ErrorAtOffset(name.data(), absl::StrCat("'", name, "' is outside the subset"));
  }
  return Lookup(name);
}

// Parses a function or constant, such as `torch.conv2d(…)`, `torch.float32` or `slice(…)`.
absl::StatusOr<Argument> ModelParser::ParseGlobal(absl::string_view first) {
  ASSIGN_OR_RETURN(const absl::string_view written, ParseDottedRest(first, /*is_import=*/false));
  const bool is_call = scanner_.Is(Punct("("));
  const bool is_plain = written.size() == first.size();

  if (is_plain && is_call) {
    if (written == "slice") return ParseSliceCall(first);
    if (written == "device") return ParseDeviceCall(first);
    if (written == "complex" || written == "float") return ParseNumberCall(first);
  }
  const auto import = imports_.find(first);
  if (import == imports_.end()) {
    if (first == "self") return Lookup(first).status();
    if (is_plain && is_call && IsBuiltinFunction(written)) {
      return ParseCall(Op::kCallFunction,
                       module_->InternString(absl::StrCat("builtins.", written)));
    }
    return scanner_.ErrorAtOffset(first.data(), absl::StrCat("'", first, "' is not defined"));
  }
  absl::string_view path = written;
  if (import->second != first) {  // from torch import inf
    path = module_->InternString(absl::StrCat(import->second, written.substr(first.size())));
  }
  if (is_posted()) {
    absl::string_view rest = path;
    if (path == "pytree.tree_unflatten" && is_call) return ParseUnflattened();
    if (absl::ConsumePrefix(&rest, "torch.ops.aten.")) {
      path = module_->InternString(absl::StrCat("aten.", rest));
    } else if (absl::StartsWith(path, "_operator.")) {
      path.remove_prefix(1);
    }
  }
  if (is_call) {
    if (path == "torch.device") return ParseDeviceCall(first);
    if (path == "torch.vmap") return ParseVmapCall(first);
    if (is_paddle()) {
      ASSIGN_OR_RETURN(const std::optional<Argument> place, ParsePlace(path));
      if (place) return *place;
    }
    return ParseCall(Op::kCallFunction, path);
  }
  return ParseConstant(first, path);
}

absl::StatusOr<Argument> ModelParser::ParseConstant(absl::string_view first,
                                                    absl::string_view path) {
  absl::string_view name = path;
  const bool is_torch = absl::ConsumePrefix(&name, "torch.");
  if (is_paddle() && absl::ConsumePrefix(&name, "paddle.")) {
    if (const auto dtype = ParseDType(name)) return Argument(*dtype);
  }
  if (is_torch) {
    if (const auto dtype = ParseDType(name)) return Argument(*dtype);
    if (const auto layout = ParseLayout(name)) return Argument(*layout);
    if (const auto format = ParseMemoryFormat(name)) return Argument(*format);
  }
  if (is_torch || absl::ConsumePrefix(&name, "math.")) {
    if (name == "inf") return Argument(std::numeric_limits<double>::infinity());
    if (name == "nan") return Argument(std::numeric_limits<double>::quiet_NaN());
    if (name == "pi") return Argument(std::numbers::pi);
    if (name == "e") return Argument(std::numbers::e);
  }
  return scanner_.ErrorAtOffset(first.data(),
                                absl::StrCat("'", path, "' is not a constant known here"));
}

// device(type='cuda', index=0), device('cuda:0')
absl::StatusOr<Argument> ModelParser::ParseDeviceCall(absl::string_view first) {
  CallArguments call(this);
  RETURN_IF_ERROR(call.Parse());
  Argument type;
  Argument index;
  if (!call.args().empty()) type = call.args()[0];
  if (call.args().size() > 1) index = call.args()[1];
  bool known = call.args().size() <= 2;
  for (const KwArg& kwarg : call.kwargs()) {
    if (kwarg.name == "type" && type.is_none()) {
      type = kwarg.value;
    } else if (kwarg.name == "index" && index.is_none()) {
      index = kwarg.value;
    } else {
      known = false;
    }
  }
  std::optional<Device> device;
  if (known && type.is_string()) device = ParseDevice(type.string());
  if (device && index.is_int() && device->index < 0 && index.integer() >= 0 &&
      index.integer() < 128) {
    device->index = static_cast<int16_t>(index.integer());
  } else if (!index.is_none()) {
    device.reset();
  }
  if (!device) {
    return scanner_.ErrorAtOffset(first.data(),
                                  "expected a device such as device(type='cuda', index=0)");
  }
  return Argument(*device);
}

// torch.vmap(body, in_dims=(0, None))(x, y). The function that vmap returns must be called at once,
// since it is not a value of the graph.
absl::StatusOr<Argument> ModelParser::ParseVmapCall(absl::string_view first) {
  static constexpr absl::string_view kByPosition[] = {"in_dims", "out_dims", "randomness"};
  Argument body;
  std::vector<KwArg> kwargs;
  {
    CallArguments call(this);
    RETURN_IF_ERROR(call.Parse());
    if (call.args().empty() || !call.args()[0].is_graph() || call.args().size() > 4) {
      return scanner_.ErrorAtOffset(first.data(),
                                    "torch.vmap takes a function that is defined above");
    }
    body = call.args()[0];
    for (size_t i = 1; i < call.args().size(); ++i) {
      kwargs.push_back({kByPosition[i - 1], call.args()[i]});
    }
    for (const KwArg& kwarg : call.kwargs()) {
      for (const KwArg& other : kwargs) {
        if (other.name != kwarg.name) continue;
        return scanner_.ErrorAtOffset(first.data(),
                                      absl::StrCat("argument '", kwarg.name, "' is given twice"));
      }
      kwargs.push_back(kwarg);
    }
  }
  if (!scanner_.Is(Punct("("))) return scanner_.Expected("the operands of torch.vmap");
  CallArguments call(this);
  RETURN_IF_ERROR(call.Parse());
  if (!call.kwargs().empty()) {
    return scanner_.ErrorAtOffset(first.data(), "torch.vmap's operands cannot have keywords");
  }
  const Argument args[] = {body, Argument::Tuple(call.args())};
  return Argument(Create(Op::kCallFunction, "torch.vmap", args, kwargs));
}

// slice(stop), slice(start, stop), slice(start, stop, step)
absl::StatusOr<Argument> ModelParser::ParseSliceCall(absl::string_view first) {
  CallArguments call(this);
  RETURN_IF_ERROR(call.Parse());
  const absl::Span<const Argument> args = call.args();
  if (args.empty() || args.size() > 3 || !call.kwargs().empty()) {
    return scanner_.ErrorAtOffset(first.data(), "slice takes one to three arguments");
  }
  Argument parts[3];
  if (args.size() == 1) {
    parts[1] = args[0];
  } else {
    for (size_t i = 0; i < args.size(); ++i) parts[i] = args[i];
  }
  call.Drop();
  const size_t base = stack_.size();
  for (const Argument& part : parts) stack_.Push(part);
  return Argument::Slice(stack_.Close(base));
}

// complex(1.0, 2.0) and float('nan') are literals. With other arguments they are calls.
absl::StatusOr<Argument> ModelParser::ParseNumberCall(absl::string_view first) {
  CallArguments call(this);
  RETURN_IF_ERROR(call.Parse());
  const absl::Span<const Argument> args = call.args();
  if (first == "complex" && args.size() == 2 && args[0].is_float() && args[1].is_float() &&
      call.kwargs().empty()) {
    return module_->Complex({args[0].real(), args[1].real()});
  }
  if (first == "float" && args.size() == 1 && args[0].is_string() && call.kwargs().empty()) {
    if (const auto value = ParseFloatWord(args[0].string(), framework_)) return Argument(*value);
    return scanner_.ErrorAtOffset(first.data(),
                                  "expected float('nan'), float('inf') or float('-inf')");
  }
  return Argument(Create(Op::kCallFunction, module_->InternString(absl::StrCat("builtins.", first)),
                         args, call.kwargs()));
}

absl::StatusOr<Argument> ModelParser::ParseCall(Op op, absl::string_view target,
                                                std::optional<Argument> self) {
  CallArguments call(this);
  if (self) call.Push(*self);
  RETURN_IF_ERROR(call.Parse());
  if (is_posted() && absl::StartsWith(target, "torch.ops.higher_order.")) {
    // Exported programs have lists of operands.
    std::vector<Argument> args(call.args().begin(), call.args().end());
    for (Argument& arg : args) {
      if (arg.kind() == Argument::Kind::kTuple) arg = Argument::List(arg.elements());
    }
    return Argument(Create(op, target, args, call.kwargs()));
  }
  return Argument(Create(op, target, call.args(), call.kwargs()));
}

}  // namespace graphnet
