#include "graphnet/ops/lowering.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "graphnet/base/check.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/ir/node_error.h"
#include "graphnet/ir/unchecked_builder.h"
#include "graphnet/ops/adapters.h"
#include "graphnet/ops/binding_defaults.h"
#include "graphnet/ops/operator_names.h"
#include "graphnet/ops/out_overload.h"

namespace graphnet {
namespace {

using Kind = ValueType::Kind;

}  // namespace

bool LacksReduction(const Callable& callee, absl::Span<const Argument> args,
                    absl::Span<const KwArg> kwargs) {
  if (!callee.is_binding) return false;
  const int i = callee.overloads[0].IndexOf("reduction");
  return i >= 0 && args.size() <= static_cast<size_t>(i) &&
         absl::c_none_of(kwargs, [](const KwArg& kwarg) { return kwarg.name == "reduction"; });
}

ValueType Lowering::TypeOf(const Argument& argument) const {
  return graphnet::TypeOf(argument,
                          [this](const Node* node) { return std::as_const(types_)[node]; });
}

ValueType Lowering::ResultOfBody(const Graph& body) {
  // The body may not be lowered yet, so the original tells what it returns.
  const Graph* from = originals_.at(&body);
  absl::InlinedVector<const Graph*, 8> asked;  // bodies with the same result
  ValueType result = Kind::kUnknown;
  for (int depth = 0; depth < kMaxNesting; ++depth) {
    if (const auto known = body_results_.find(from); known != body_results_.end()) {
      result = known->second;
      break;
    }
    asked.push_back(from);
    const Node* const output = from->output();
    const Argument returned = output == nullptr ? Argument() : output->args()[0];
    if (returned.is_tuple() || returned.is_list()) {
      const std::vector<ValueType> elements(returned.elements().size(), Kind::kTensor);
      result = ValueType(Kind::kTuple, arena_.Copy(absl::MakeConstSpan(elements)));
      break;
    }
    // A body that returns the result of another vmap returns what that body returns.
    const Node* const call = returned.is_node() ? returned.node() : nullptr;
    if (call == nullptr || !call->HasBody()) {
      result = Kind::kTensor;
      break;
    }
    const Callable callee = CalleeOf(*call);
    const bool is_vmap =
        callee.is_known() && !callee.overloads.empty() && callee.overloads[0].name == "torch.vmap";
    if (!is_vmap || call->args().empty() || !call->args()[0].is_graph()) break;
    from = call->args()[0].graph();
  }
  for (const Graph* graph : asked) body_results_.emplace(graph, result);
  return result;
}

Argument Lowering::List(absl::Span<const Argument> elements) {
  return Argument::List(arena_.Copy(elements));
}
Argument Lowering::Tuple(absl::Span<const Argument> elements) {
  return Argument::Tuple(arena_.Copy(elements));
}

absl::Status Lowering::Error(absl::string_view what) const { return NodeError(*source_, what); }

absl::Status Lowering::Unresolved(absl::string_view target) const {
  if (absl::StartsWith(target, "operator.")) return Error("is not a Python operator");
  if (absl::StartsWith(target, "torch.ops.")) {
    switch (OriginOfTarget(target)) {
      case TargetOrigin::kPyTorch:
        return Error("PyTorch has this operator outside of ATen, and graphnet cannot run it");
      case TargetOrigin::kOther:
        return Error(
            "is an operator of a library other than PyTorch; load the library with --library");
      case TargetOrigin::kMissing: break;
    }
  }
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
  const absl::Span<const Schema> overloads = FindSchemas(name);
  if (overloads.empty()) return Unresolved(name);
  return CallAten({.kind = Callable::Kind::kOperator, .name = name, .overloads = overloads},
                  absl::MakeConstSpan(args.begin(), args.size()),
                  absl::MakeConstSpan(kwargs.begin(), kwargs.size()));
}

absl::StatusOr<BoundCall> Lowering::BindTyped(const Callable& callee,
                                              absl::Span<const Argument> args,
                                              absl::Span<const KwArg> kwargs) const {
  absl::StatusOr<BoundCall> call =
      Bind(callee, args, kwargs, [this](const Node* node) { return types_[node]; });
  if (!call.ok()) return Error(call.status().message());
  return call;
}

absl::StatusOr<Argument> Lowering::CallAten(const Callable& callee, absl::Span<const Argument> args,
                                            absl::Span<const KwArg> kwargs) {
  ASSIGN_OR_RETURN(const BoundCall call, BindTyped(callee, args, kwargs));
  std::vector<Argument> made;
  std::vector<KwArg> by_keyword;
  call.AppendTo(&made, &by_keyword);
  return Emit(call.schema().target, made, by_keyword, ResultType(call.schema(), &arena_));
}

absl::StatusOr<Argument> Lowering::CallAtenWithOut(const Callable& callee,
                                                   absl::Span<const Argument> args,
                                                   absl::Span<const KwArg> kwargs,
                                                   const Argument& out) {
  // Python's parser tries only the overloads that have a form with `out`.
  std::vector<Schema> makers;
  for (const Schema& schema : callee.overloads) {
    const OutForm* const form = FindOutForm(schema);
    if (form != nullptr && form->is_of_python) makers.push_back(schema);
  }
  if (makers.empty() || callee.form == CallForm::kMethod)
    return Error(absl::StrCat(callee.name, " takes no out"));
  Callable maker = callee;
  maker.overloads = makers;
  ASSIGN_OR_RETURN(const BoundCall call, BindTyped(maker, args, kwargs));
  const OutForm* const form = FindOutForm(call.schema());
  const absl::Span<const Argument> outs =
      out.is_sequence() ? out.elements() : absl::MakeConstSpan(&out, 1);
  if (outs.size() != form->outs.size()) {
    return Error(absl::StrCat("out must be ", form->outs.size(), " tensors, not ", outs.size()));
  }
  std::vector<Argument> made;
  std::vector<KwArg> by_keyword;
  call.AppendTo(&made, &by_keyword);
  for (size_t i = 0; i < outs.size(); ++i) {
    if (!outs[i].is_node()) return Error("out must be a tensor");
    by_keyword.push_back({form->outs[i], outs[i]});
  }
  if (form->lacks_options) {
    // PyTorch compares the dtype with that of the tensor, and then leaves it out.
    const TensorMeta* const meta = outs[0].node()->tensor_meta();
    for (const KwArg& kwarg : by_keyword) {
      if (kwarg.name == "dtype" && kwarg.value.kind() == Argument::Kind::kDType &&
          meta != nullptr && meta->dtype != DType::kUnknown && meta->dtype != kwarg.value.dtype()) {
        return Error(absl::StrCat("its dtype is ", DTypeName(kwarg.value.dtype()),
                                  ", but that of out is ", DTypeName(meta->dtype)));
      }
    }
    std::erase_if(by_keyword, [](const KwArg& kwarg) { return IsOption(kwarg.name); });
  }
  return Emit(form->target, made, by_keyword, ResultType(call.schema(), &arena_));
}

absl::StatusOr<Argument> Lowering::Keep(const BoundCall& call, ValueType type) {
  const Schema& function = call.schema();
  std::vector<Argument> args;
  std::vector<KwArg> kwargs;
  if (function.keeps_all) {
    args = call.all();
  } else {
    call.AppendTo(&args, &kwargs);
  }
  const bool is_method = absl::StartsWith(function.name, "Tensor.");
  return Emit(is_method ? function.name : source_->target(), args, kwargs, type);
}

absl::StatusOr<Argument> Lowering::CallByName(const BoundCall& call) {
  const Schema& function = call.schema();
  absl::string_view base = function.name.substr(function.name.rfind('.') + 1);
  if (function.IndexOf("inplace") >= 0 && call.is_true("inplace")) {
    base = Text(absl::StrCat(base, "_"));
  }
  const absl::Span<const Schema> overloads = FindSchemas(base);
  if (overloads.empty()) return Error("Python composes it of other calls, which is not supported");
  const auto known = [&](absl::string_view name) {
    return absl::c_any_of(overloads,
                          [&](const Schema& s) { return s.FindArgument(name) != nullptr; });
  };
  std::vector<KwArg> kwargs;
  std::vector<Argument> args;
  for (size_t i = 0; i < function.arguments.size(); ++i) {
    const SchemaArgument& parameter = function.arguments[i];
    absl::string_view name = parameter.name;
    Argument value = call[i];
    if (name == "inplace" || name == "_stacklevel") continue;
    if (parameter.is_variadic || i == 0) {  // input or self
      args.push_back(value);
      continue;
    }
    if (name == "training" && !known(name)) name = "train";
    if (name == "reduction" && value.is_string()) {
      value = absl::c_find(parameter.words, value.string()) - parameter.words.begin();
    }
    if (!known(name)) {
      if (!parameter.IsDefault(value)) {
        return Error(absl::StrCat("no operator accepts its argument ", name));
      }
      continue;
    }
    // If the operator does not accept None, it means the operator's own default: stride=None.
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
  return CallAten({.kind = Callable::Kind::kOperator, .name = base, .overloads = overloads}, args,
                  kwargs);
}

absl::StatusOr<Argument> Lowering::LowerFunction(const BoundCall& call) {
  const Schema& function = call.schema();
  // The deprecated forms of `reduction`, and the tensor that Python writes the result to.
  for (const absl::string_view name : {"size_average", "reduce", "out"}) {
    if (function.IndexOf(name) >= 0 && call.has(name)) {
      return Error(absl::StrCat(name, " is not supported"));
    }
  }
  if (const Adapter adapter = FindAdapter(function.name)) return adapter(*this, call);
  if (function.is_dropped) return Argument();
  if (function.is_kept) return Keep(call, ResultType(function, &arena_));
  return CallByName(call);
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
  if (node.op() == Op::kCallModule) return Error("calls of modules are not supported");
  const Callable callee = CalleeOf(node);
  if (!callee.is_known()) return Unresolved(node.target());
  if (node.op() == Op::kCallMethod && node.args().empty()) {
    return Error("a method is called without an object");
  }
  std::vector<Argument> args;
  args.reserve(node.args().size());
  for (const Argument& argument : node.args()) args.push_back(Map(argument));
  std::vector<KwArg> kwargs;
  kwargs.reserve(node.kwargs().size() + 1);
  for (const KwArg& kwarg : node.kwargs()) kwargs.push_back({kwarg.name, Map(kwarg.value)});
  switch (callee.kind) {
    case Callable::Kind::kOperator: {
      if (LacksReduction(callee, args, kwargs)) kwargs.push_back({"reduction", 0});
      const auto out = absl::c_find_if(kwargs, [&](const KwArg& kwarg) {
        return kwarg.name == "out" && !kwarg.value.is_none() && !callee.names_overload &&
               absl::c_none_of(callee.overloads, [](const Schema& schema) {
                 return schema.FindArgument("out") != nullptr;
               });
      });
      if (out == kwargs.end()) return CallAten(callee, args, kwargs);
      const Argument given = out->value;
      kwargs.erase(out);
      return CallAtenWithOut(callee, args, kwargs, given);
    }
    case Callable::Kind::kPythonOperator:
      if (kwargs.empty()) return Operator(*callee.python_operator, args);
      // Only methods that are ATen's own accept keywords, such as x.__and__(other=y).
      if (const auto overloads = FindSchemas(node.target()); !overloads.empty()) {
        return CallAten({.kind = Callable::Kind::kOperator,
                         .form = CallForm::kMethod,
                         .name = node.target(),
                         .overloads = overloads},
                        args, kwargs);
      }
      return Error("takes no keywords");
    case Callable::Kind::kFunction: {
      ASSIGN_OR_RETURN(const BoundCall call, BindTyped(callee, args, kwargs));
      return LowerFunction(call);
    }
    default:  // An operator in no table, such as TorchScript's own: its result is unknown.
      return Argument(
          Emit(absl::StripPrefix(node.target(), "torch.ops."), args, kwargs, Kind::kUnknown));
  }
}

absl::Status Lowering::LowerGraph(const Graph& from, Graph* to, RefusedCalls* refused) {
  graph_ = to;
  UncheckedBuilder(to).ReserveNames(from.num_nodes());
  for (Node* node : from.nodes()) {
    const size_t graphs = module()->graphs().size();
    absl::StatusOr<Argument> value = LowerNode(*node);
    // Bodies that a call became have it as their origin.
    for (const Graph* body : module()->graphs().subspan(graphs)) {
      for (const Node* made : body->nodes()) result_.origins[made] = node;
    }
    if (!value.ok()) {
      if (refused == nullptr) return value.status();
      (*refused)[node] = value.status();
      std::vector<Argument> operands;
      node->ForEachArgument([&](const Argument& argument) {
        if (argument.is_node() || argument.is_graph()) operands.push_back(Map(argument));
      });
      value = Emit(node->target(), operands, {}, ValueType());
    }
    result_.values[node] = *value;
  }
  return absl::OkStatus();
}

bool AsksForGradients(const Module& module) {
  return absl::c_any_of(module.graphs(), [](const Graph* graph) {
    return absl::c_any_of(graph->nodes(), [](const Node* node) {
      absl::string_view target = node->is_call() ? node->target() : "";
      absl::ConsumePrefix(&target, "torch.ops.");
      return target == "aten.grad.default" || target == "aten.grad";
    });
  });
}

absl::StatusOr<LoweredModule> LowerToAten(const Module& module, RefusedCalls* refused) {
  Lowering lowering;
  lowering.result_.module = std::make_unique<Module>();
  Module* made = lowering.result_.module.get();
  for (const Symbol& symbol : module.symbols()) made->AddSymbol(symbol.name, symbol.example);
  for (const Attribute& attribute : module.attributes()) made->AddAttribute(attribute);
  for (const Graph* graph : module.graphs()) {
    lowering.graphs_[graph] = made->AddGraph(graph->name());
    lowering.originals_[lowering.graphs_[graph]] = graph;
  }
  lowering.result_.original = &module;
  lowering.result_.values = NodeTable<Argument>(module);
  for (const Graph* graph : module.graphs()) {
    RETURN_IF_ERROR(lowering.LowerGraph(*graph, lowering.graphs_[graph], refused));
  }
  // Values may be structures in this object's arena, so they are copied into the module.
  lowering.result_.values.ForEach([&](Argument& value) { value = made->CopyArgument(value); });
  return std::move(lowering.result_);
}

}  // namespace graphnet
