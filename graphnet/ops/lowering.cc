#include "graphnet/ops/lowering.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "graphnet/base/check.h"
#include "graphnet/base/status.h"
#include "graphnet/ir/node_error.h"
#include "graphnet/ir/unchecked_builder.h"
#include "graphnet/ops/adapters.h"

namespace graphnet {
namespace {

using Kind = ValueType::Kind;

// Prefixes under which ATen's operators stand, and what their names begin with
// there: torch.fft.rfft is fft_rfft.
struct Prefix {
  absl::string_view python;
  absl::string_view operator_prefix;
};
constexpr Prefix kPrefixes[] = {
    {"torch._C._nn.", ""},
    {"torch._C._linalg.", ""},
    {"torch._C._fft.", ""},
    {"torch._C._special.", ""},
    {"torch._C._sparse.", ""},
    {"torch._C._VariableFunctions.", ""},
    {"torch._VF.", ""},
    {"torch.nn.functional.", ""},
    {"torch.functional.", ""},
    {"torch.linalg.", "linalg_"},
    {"torch.fft.", "fft_"},
    {"torch.special.", "special_"},
    {"torch.", ""},
};

// Python's bindings read the default at::Reduction::Mean as 0, which is none.
bool LacksReduction(const Schema& schema, absl::Span<const Argument> args,
                    absl::Span<const KwArg> kwargs) {
  const auto is_it = [](const auto& argument) { return argument.name == "reduction"; };
  const auto it = absl::c_find_if(schema.arguments, is_it);
  return it != schema.arguments.end() &&
         args.size() <= static_cast<size_t>(it - schema.arguments.begin()) &&
         absl::c_none_of(kwargs, is_it);
}

}  // namespace

const Argument& NamedArguments::operator[](absl::string_view name) const {
  for (size_t i = 0; i < signature_.parameters.size(); ++i) {
    if (signature_.parameters[i].name == name) return values_[i];
  }
  CHECK(false);  // An adapter asks for what its signature has.
  return values_[0];
}

bool NamedArguments::is_true(absl::string_view name) const {
  const Argument& value = (*this)[name];
  return (value.is_bool() && value.boolean()) || (value.is_int() && value.integer() != 0);
}

ValueType Lowering::TypeOf(const Argument& argument) const {
  return graphnet::TypeOf(argument,
                          [this](const Node* node) { return std::as_const(types_)[node]; });
}

ValueType Lowering::ResultOfBody(const Graph& body) {
  const Node* const output = body.output();
  if (output == nullptr || !(output->args()[0].is_tuple() || output->args()[0].is_list())) {
    return Kind::kTensor;
  }
  const std::vector<ValueType> elements(output->args()[0].elements().size(), Kind::kTensor);
  return ValueType(Kind::kTuple, arena_.Copy(absl::MakeConstSpan(elements)));
}

Argument Lowering::List(absl::Span<const Argument> elements) {
  return Argument::List(arena_.Copy(elements));
}
Argument Lowering::Tuple(absl::Span<const Argument> elements) {
  return Argument::Tuple(arena_.Copy(elements));
}

absl::Status Lowering::Error(absl::string_view what) const { return NodeError(*source_, what); }

absl::Status Lowering::Unresolved(absl::string_view target) const {
  const std::vector<std::string> near = NearMisses(target);
  return Error(absl::StrCat("no operator of PyTorch is called that",
                            near.empty() ? "" : "; near: ", absl::StrJoin(near, ", ")));
}

Node* Lowering::Emit(absl::string_view target, absl::Span<const Argument> args,
                     absl::Span<const KwArg> kwargs, ValueType type) {
  Node* node = graph_->CallFunction(target, args, kwargs, source_->name());
  node->set_location(source_->location());
  node->set_module_path(source_->module_path());
  node->set_annotation(source_->annotation());
  types_[node] = type;
  result_.origins[node] = source_;
  return node;
}

Argument Lowering::Builtin(absl::string_view target, absl::Span<const Argument> args,
                           ValueType type, absl::Span<const KwArg> kwargs) {
  return Emit(target, args, kwargs, type);
}

absl::StatusOr<Argument> Lowering::Aten(absl::string_view name,
                                        std::initializer_list<Argument> args,
                                        std::initializer_list<KwArg> kwargs) {
  return AtenSpan(name, absl::MakeConstSpan(args.begin(), args.size()),
                  absl::MakeConstSpan(kwargs.begin(), kwargs.size()), CallForm::kFunction);
}

absl::StatusOr<Argument> Lowering::AtenSpan(absl::string_view name, absl::Span<const Argument> args,
                                            absl::Span<const KwArg> kwargs, CallForm form) {
  const absl::Span<const Schema> overloads = FindSchemas(name);
  if (overloads.empty()) return Unresolved(name);
  absl::StatusOr<BoundCall> call = Bind(overloads, form, args, kwargs, [this](const Node* node) {
    return std::as_const(types_)[node];
  });
  if (!call.ok()) return Error(call.status().message());
  return Emit(call->schema->target, call->args, call->kwargs, ResultType(*call->schema, &arena_));
}

absl::StatusOr<Argument> Lowering::CallByName(const Signature& signature,
                                              absl::Span<const Argument> values) {
  absl::string_view base = signature.name.substr(signature.name.rfind('.') + 1);
  for (size_t i = 0; i < values.size(); ++i) {
    if (signature.parameters[i].name == "inplace" && values[i].is_bool() && values[i].boolean()) {
      base = Text(absl::StrCat(base, "_"));
    }
  }
  const absl::Span<const Schema> overloads = FindSchemas(base);
  if (overloads.empty()) return Unresolved(signature.name);
  const auto known = [&](absl::string_view name) {
    return absl::c_any_of(overloads,
                          [&](const Schema& s) { return s.FindArgument(name) != nullptr; });
  };
  std::vector<KwArg> kwargs;
  std::vector<Argument> args;
  for (size_t i = 0; i < values.size(); ++i) {
    const Parameter& parameter = signature.parameters[i];
    absl::string_view name = parameter.name;
    Argument value = values[i];
    if (name == "inplace" || name == "_stacklevel" || name == "size_average" || name == "reduce" ||
        name == "out") {
      continue;
    }
    if (parameter.is_variadic) {
      args.push_back(value);
      continue;
    }
    if (i == 0) {  // input or self
      args.push_back(value);
      continue;
    }
    if (name == "training" && !known(name)) name = "train";
    if (name == "reduction" && value.is_string()) {
      value = value.string() == "none" ? 0 : value.string() == "mean" ? 1 : 2;
    }
    if (!known(name)) {
      const bool is_default = parameter.has_default && value == parameter.default_value;
      if (!is_default) return Error(absl::StrCat("no operator takes its argument ", name));
      continue;
    }
    // None where the operator has a default that means the same: stride=None.
    const bool optional = absl::c_any_of(overloads, [&](const Schema& s) {
      const SchemaArgument* a = s.FindArgument(name);
      return a != nullptr && a->type.optional;
    });
    if (value.is_none() && !optional) continue;
    kwargs.push_back({name, value});
  }
  for (const absl::string_view flag : {"cudnn_enabled", "cudnn_enable"}) {
    const SchemaArgument* argument = overloads[0].FindArgument(flag);
    if (argument != nullptr && !argument->has_default) kwargs.push_back({flag, true});
  }
  return AtenSpan(base, args, kwargs, CallForm::kFunction);
}

absl::StatusOr<Argument> Lowering::LowerSignature(const Signature& signature,
                                                  absl::Span<const Argument> args,
                                                  absl::Span<const KwArg> kwargs) {
  const size_t n = signature.parameters.size();
  std::vector<Argument> values(n);
  std::vector<bool> given(n);
  size_t next = 0;
  for (; next < n && !signature.parameters[next].keyword_only; ++next) {
    if (signature.parameters[next].is_variadic) {
      values[next] = List(args.subspan(std::min(next, args.size())));
      given[next] = true;
      args = args.first(std::min(next, args.size()));
      break;
    }
    if (next < args.size()) {
      values[next] = args[next];
      given[next] = true;
    }
  }
  if (args.size() > next) {
    return Error(absl::StrCat("takes ", next, " arguments, not ", args.size()));
  }
  for (const KwArg& kwarg : kwargs) {
    const auto it = absl::c_find_if(signature.parameters,
                                    [&](const Parameter& p) { return p.name == kwarg.name; });
    if (it == signature.parameters.end()) return Error(absl::StrCat("takes no ", kwarg.name));
    const size_t i = static_cast<size_t>(it - signature.parameters.begin());
    if (given[i]) return Error(absl::StrCat(kwarg.name, " is given twice"));
    values[i] = kwarg.value;
    given[i] = true;
  }
  for (size_t i = 0; i < n; ++i) {
    if (given[i]) continue;
    const Parameter& parameter = signature.parameters[i];
    if (!parameter.has_default) return Error(absl::StrCat("lacks ", parameter.name));
    values[i] = parameter.default_value;
  }
  if (const SignatureAdapter adapter = FindSignatureAdapter(signature.name)) {
    return adapter(*this, NamedArguments(signature, values));
  }
  return CallByName(signature, values);
}

absl::StatusOr<Argument> Lowering::LowerFunction(absl::string_view target,
                                                 absl::Span<const Argument> args,
                                                 absl::Span<const KwArg> kwargs) {
  if (const CallAdapter adapter = FindCallAdapter(target)) return adapter(*this, args, kwargs);
  if (absl::ConsumePrefix(&target, "operator.") || absl::ConsumePrefix(&target, "_operator.")) {
    if (!kwargs.empty()) return Error("takes no keywords");
    return Operator(target, args);
  }
  if (absl::StartsWith(target, "torch.ops.aten.") || absl::StartsWith(target, "aten.")) {
    absl::ConsumePrefix(&target, "torch.ops.");
    absl::string_view name = absl::StripPrefix(target, "aten.");
    const size_t dot = name.find('.');
    if (dot == absl::string_view::npos) return AtenSpan(name, args, kwargs, CallForm::kFunction);
    // An overload that no table has, as TorchScript's own: its result is unknown.
    const Schema* schema = FindOverload(target);
    return Argument(
        Emit(target, args, kwargs, schema == nullptr ? ValueType() : ResultType(*schema, &arena_)));
  }
  if (absl::StartsWith(target, "prim."))
    return Argument(Emit(target, args, kwargs, Kind::kUnknown));
  if (absl::ConsumePrefix(&target, "torch.Tensor.")) return LowerMethod(target, args, kwargs);
  if (const Signature* signature = FindSignature(target)) {
    return LowerSignature(*signature, args, kwargs);
  }
  for (const Prefix& prefix : kPrefixes) {
    absl::string_view name = target;
    if (!absl::ConsumePrefix(&name, prefix.python)) continue;
    // torch.split is torch.functional.split.
    if (prefix.python == "torch.") {
      if (const Signature* signature = FindSignature(absl::StrCat("torch.functional.", name))) {
        return LowerSignature(*signature, args, kwargs);
      }
    }
    const std::string op = absl::StrCat(prefix.operator_prefix, name);
    if (name.find('.') == absl::string_view::npos && !FindSchemas(op).empty()) {
      if (!LacksReduction(FindSchemas(op)[0], args, kwargs))
        return AtenSpan(op, args, kwargs, CallForm::kFunction);
      std::vector<KwArg> all(kwargs.begin(), kwargs.end());
      all.push_back({"reduction", 0});
      return AtenSpan(op, args, all, CallForm::kFunction);
    }
  }
  return Unresolved(target);
}

absl::StatusOr<Argument> Lowering::LowerMethod(absl::string_view name,
                                               absl::Span<const Argument> args,
                                               absl::Span<const KwArg> kwargs) {
  if (args.empty()) return Error("a method without its object");
  if (const CallAdapter adapter = FindCallAdapter(absl::StrCat("Tensor.", name))) {
    return adapter(*this, args, kwargs);
  }
  // __and__, __radd__: what Python calls for an operator.
  if (name.size() > 4 && absl::StartsWith(name, "__") && absl::EndsWith(name, "__")) {
    absl::string_view op = name.substr(2, name.size() - 4);
    if (op == "and" || op == "or") op = Text(absl::StrCat(op, "_"));
    return Operator(op, args);
  }
  // Methods that torch/_tensor.py hands on: norm, split, stft, unique.
  if (const Signature* signature = FindSignature(absl::StrCat("torch.functional.", name))) {
    return LowerSignature(*signature, args, kwargs);
  }
  if (!FindSchemas(name).empty()) return AtenSpan(name, args, kwargs, CallForm::kMethod);
  return Unresolved(name);
}

Argument Lowering::Map(const Argument& argument) {
  return MapArgument(argument, &arena_, [this](const Argument& a) -> Argument {
    switch (a.kind()) {
      case Argument::Kind::kNode: return result_.values[a.node()];
      case Argument::Kind::kGraph: return graphs_.at(a.graph());
      case Argument::Kind::kSymInt: return result_.module->CopySym(a.sym());
      default: return a;
    }
  });
}

absl::StatusOr<Argument> Lowering::LowerNode(const Node& node) {
  source_ = &node;
  switch (node.op()) {
    case Op::kPlaceholder: {
      Node* made = graph_->Placeholder(node.target(), node.name());
      made->set_annotation(node.annotation());
      made->set_meta(module()->CopyMeta(node.meta()));
      types_[made] = TypeOfAnnotation(node.annotation());
      if (const auto types = parameter_types_.find(graph_);
          types != parameter_types_.end() && node.annotation().empty()) {
        const size_t index = graph_->num_nodes() - 1;  // Placeholders come first.
        if (index < types->second.size()) types_[made] = types->second[index];
      }
      result_.origins[made] = &node;
      return Argument(made);
    }
    case Op::kGetAttr: {
      Node* made = graph_->GetAttr(node.target(), node.name());
      made->set_meta(module()->CopyMeta(node.meta()));
      types_[made] = Kind::kTensor;
      result_.origins[made] = &node;
      return Argument(made);
    }
    case Op::kOutput: {
      Node* made = graph_->Output(Map(node.args()[0]));
      result_.origins[made] = &node;
      return Argument(made);
    }
    default: return LowerCall(node);
  }
}

absl::StatusOr<Argument> Lowering::LowerCall(const Node& node) {
  if (node.op() == Op::kCallModule) return Error("calls of modules have no meaning here");
  std::vector<Argument> args;
  args.reserve(node.args().size());
  for (const Argument& argument : node.args()) args.push_back(Map(argument));
  std::vector<KwArg> kwargs;
  kwargs.reserve(node.kwargs().size());
  for (const KwArg& kwarg : node.kwargs()) kwargs.push_back({kwarg.name, Map(kwarg.value)});
  return node.op() == Op::kCallMethod ? LowerMethod(node.target(), args, kwargs)
                                      : LowerFunction(node.target(), args, kwargs);
}

absl::Status Lowering::LowerGraph(const Graph& from, Graph* to, RefusedCalls* refused) {
  graph_ = to;
  UncheckedBuilder(to).ReserveNames(from.num_nodes());
  for (Node* node : from.nodes()) {
    absl::StatusOr<Argument> value = LowerNode(*node);
    if (!value.ok()) {
      if (refused == nullptr) return value.status();
      (*refused)[node] = value.status();
      std::vector<Argument> operands;
      node->ForEachOperand(
          [&](const Node* operand) { operands.push_back(result_.values[operand]); });
      value = Emit(node->target(), operands, {}, ValueType());
    }
    result_.values[node] = *value;
  }
  return absl::OkStatus();
}

absl::StatusOr<LoweredModule> LowerToAten(const Module& module, RefusedCalls* refused) {
  Lowering lowering;
  lowering.result_.module = std::make_unique<Module>();
  Module* made = lowering.result_.module.get();
  for (const Symbol& symbol : module.symbols()) made->AddSymbol(symbol.name, symbol.example);
  for (const Attribute& attribute : module.attributes()) made->AddAttribute(attribute);
  for (const Graph* graph : module.graphs())
    lowering.graphs_[graph] = made->AddGraph(graph->name());
  lowering.result_.original = &module;
  lowering.result_.values = NodeTable<Argument>(module);
  for (const Graph* graph : module.graphs()) {
    RETURN_IF_ERROR(lowering.LowerGraph(*graph, lowering.graphs_[graph], refused));
  }
  // The values of nodes may be structures in this arena: the module keeps them.
  lowering.result_.values.ForEach([&](Argument& value) { value = made->CopyArgument(value); });
  return std::move(lowering.result_);
}

}  // namespace graphnet
