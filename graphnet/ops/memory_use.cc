#include "graphnet/ops/memory_use.h"

#include <cstddef>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "graphnet/ops/binder.h"
#include "graphnet/ops/schema_table.h"

namespace graphnet {
namespace {

using NodeList = absl::InlinedVector<Node*, 2>;

// What Python does to its operands in place, if they are tensors.
constexpr absl::string_view kInPlaceOperators[] = {
    "iadd", "iand", "ifloordiv", "ilshift", "imatmul",  "imod", "imul",
    "ior",  "ipow", "irshift",   "isub",    "itruediv", "ixor"};

void AddNodes(const Argument& argument, NodeList* nodes) {
  ForEachArgument(argument, [&](const Argument& a) {
    if (a.is_node()) nodes->push_back(a.node());
  });
}

bool IsFalse(const Argument& argument) {
  return argument.is_none() || (argument.is_bool() && !argument.boolean()) ||
         (argument.is_int() && argument.integer() == 0);
}

// "torch._C._nn.gelu" -> "gelu", "torch._C._nn".
absl::string_view LastComponent(absl::string_view* target) {
  const size_t dot = target->rfind('.');
  const absl::string_view last = dot == absl::string_view::npos ? *target : target->substr(dot + 1);
  *target = dot == absl::string_view::npos ? absl::string_view() : target->substr(0, dot);
  return last;
}

struct Callee {
  absl::string_view name;  // "relu"
  absl::Span<const Schema> schemas;
  const Signature* signature = nullptr;
};

Callee Resolve(const Node& node) {
  absl::string_view target = node.target();
  if (node.op() == Op::kCallMethod) return {target, FindSchemas(target), nullptr};
  absl::string_view aten = target;
  absl::ConsumePrefix(&aten, "torch.ops.");
  if (absl::ConsumePrefix(&aten, "aten.")) {
    const absl::string_view name = aten.substr(0, aten.find('.'));
    const Schema* schema = FindOverload(target);
    return {name, schema == nullptr ? FindSchemas(name) : absl::MakeConstSpan(schema, 1), nullptr};
  }
  if (!absl::StartsWith(target, "torch.") || absl::StartsWith(target, "torch.ops.")) return {};
  Callee callee;
  callee.signature = FindSignature(target);
  callee.name = LastComponent(&target);
  callee.schemas = FindSchemas(callee.name);
  // torch.fft.rfft is fft_rfft.
  if (callee.schemas.empty() && callee.signature == nullptr && !target.empty()) {
    callee.schemas = FindSchemas(absl::StrCat(LastComponent(&target), "_", callee.name));
  }
  return callee;
}

// The argument given for a parameter; null if there is none.
const Argument* Given(const Node& node, absl::string_view name, size_t position) {
  if (const Argument* argument = node.kwarg(name)) return argument;
  if (position < node.args().size()) return &node.args()[position];
  return position == 0 ? node.kwarg("input") : nullptr;
}

const Argument* Given(const Node& node, const Signature& signature, absl::string_view name) {
  for (size_t i = 0; i < signature.parameters.size(); ++i) {
    if (signature.parameters[i].name == name) return Given(node, name, i);
  }
  return nullptr;
}

void AddGiven(const Argument* argument, NodeList* nodes) {
  if (argument != nullptr) AddNodes(*argument, nodes);
}

// Functions that PyTorch defines in Python write only where a parameter says so.
void AddOfSignature(const Node& node, const Signature& signature, MemoryUse* use) {
  const auto says = [&](absl::string_view name) {
    const Argument* argument = Given(node, signature, name);
    return argument != nullptr && !IsFalse(*argument);
  };
  if (signature.parameters.empty()) return;
  const absl::string_view first = signature.parameters[0].name;
  if (says("inplace")) {
    AddGiven(Given(node, signature, first), &use->written);
    AddGiven(Given(node, signature, first), &use->shared);
  }
  if (says("training") || says("use_input_stats")) {
    AddGiven(Given(node, signature, "running_mean"), &use->written);
    AddGiven(Given(node, signature, "running_var"), &use->written);
  }
  if (says("max_norm")) AddGiven(Given(node, signature, "weight"), &use->written);
}

bool Shares(const Schema& schema) {
  return absl::c_any_of(schema.returns, [](const SchemaType& t) { return t.is_alias; });
}

void AddOfSchemas(const Node& node, const Callee& callee, MemoryUse* use) {
  for (const Schema& schema : callee.schemas) {
    const bool shares = Shares(schema);
    for (size_t i = 0; i < schema.arguments.size(); ++i) {
      const SchemaArgument& parameter = schema.arguments[i];
      if (!parameter.type.is_alias) continue;
      const Argument* argument =
          Given(node, parameter.name, parameter.keyword_only ? ~size_t{0} : i);
      if (parameter.type.is_mutated) AddGiven(argument, &use->written);
      if (shares) AddGiven(argument, &use->shared);
    }
    // The only sign that batch norms of ATen give of their running statistics.
    const Argument* training = nullptr;
    for (size_t i = 0; i < schema.arguments.size(); ++i) {
      const absl::string_view name = schema.arguments[i].name;
      if (name == "training" || name == "train" || name == "use_input_stats")
        training = Given(node, name, i);
    }
    if (training == nullptr || IsFalse(*training)) continue;
    for (size_t i = 0; i < schema.arguments.size(); ++i) {
      const absl::string_view name = schema.arguments[i].name;
      if (name == "running_mean" || name == "running_var")
        AddGiven(Given(node, name, i), &use->written);
    }
  }
}

bool HasBody(const Node& node) {
  bool found = false;
  const auto look = [&](const Argument& argument) {
    ForEachArgument(argument, [&](const Argument& a) { found |= a.is_graph(); });
  };
  for (const Argument& argument : node.args()) look(argument);
  for (const KwArg& kwarg : node.kwargs()) look(kwarg.value);
  return found;
}

bool IsTupleType(const Schema& schema) {
  return schema.returns.size() > 1 || (schema.returns.size() == 1 && schema.returns[0].is_list);
}

bool IsGetItem(const Node& node) {
  return node.is_call_function("operator.getitem") || node.is_call_function("_operator.getitem");
}

bool OnlyTakenApart(const Node& node) {
  if (!node.has_uses()) return false;
  for (const Use& use : node.uses()) {
    const Node& user = *use.user;
    if (!IsGetItem(user) || user.args().size() != 2 || !user.args()[1].is_int()) return false;
  }
  return true;
}

}  // namespace

MemoryUse MemoryUseOf(const Node& node) {
  MemoryUse use;
  if (!node.is_call()) return use;
  absl::string_view target = node.target();
  const auto add_all = [&](NodeList* nodes) {
    node.ForEachOperand([&](Node* n) { nodes->push_back(n); });
  };
  if (node.op() == Op::kCallModule || HasBody(node)) {
    add_all(&use.written);
    add_all(&use.shared);
    return use;
  }
  if (node.op() == Op::kCallFunction &&
      (absl::ConsumePrefix(&target, "operator.") || absl::ConsumePrefix(&target, "_operator."))) {
    const bool in_place = absl::c_linear_search(kInPlaceOperators, target);
    if (node.args().empty()) return use;
    if (in_place || target == "setitem") AddNodes(node.args()[0], &use.written);
    if (in_place || target == "getitem") AddNodes(node.args()[0], &use.shared);
    return use;
  }
  if (node.op() == Op::kCallFunction &&
      (absl::StartsWith(target, "builtins.") || absl::StartsWith(target, "math."))) {
    add_all(&use.shared);  // getattr, max of two tensors
    return use;
  }
  const Callee callee = Resolve(node);
  if (callee.signature != nullptr) {
    AddOfSignature(node, *callee.signature, &use);
    // Its parameters are in another order than the operator's.
    if (absl::c_any_of(callee.schemas, Shares)) add_all(&use.shared);
  } else {
    AddOfSchemas(node, callee, &use);
  }
  if (const Argument* out = node.kwarg("out")) {
    AddNodes(*out, &use.written);
    AddNodes(*out, &use.shared);
  }
  if (absl::c_any_of(callee.schemas, [](const Schema& s) { return s.may_alias; }))
    add_all(&use.shared);
  if (!callee.schemas.empty()) return use;
  // A method that is none of ATen's, such as float or cuda: only those that end
  // in "_" write, and to their object.
  if (node.op() == Op::kCallMethod) {
    if (absl::EndsWith(target, "_") && !absl::EndsWith(target, "__"))
      AddNodes(node.args()[0], &use.written);
    AddNodes(node.args()[0], &use.shared);
    return use;
  }
  add_all(&use.shared);
  if (callee.signature == nullptr) add_all(&use.written);
  return use;
}

bool YieldsTuple(const Node& node) {
  if (!node.is_call()) return false;
  if (const ValueMeta* meta = node.meta();
      meta != nullptr && (meta->is_tuple || meta->tensor != nullptr)) {
    return meta->is_tuple;
  }
  if (IsGetItem(node)) {
    // A slice of a tuple is one; an element is none.
    const Node* from = &node;
    while (IsGetItem(*from) && from->args().size() == 2 && from->args()[0].is_node() &&
           from->args()[1].kind() == Argument::Kind::kSlice) {
      from = from->args()[0].node();
    }
    return from != &node && !IsGetItem(*from) && YieldsTuple(*from);
  }
  const absl::string_view target = node.target();
  if (absl::StartsWith(target, "operator.")) return false;
  if (node.op() == Op::kCallMethod && target == "size") {
    return node.args().size() == 1 && node.kwarg("dim") == nullptr;
  }
  if (target == "builtins.getattr") {
    return node.args().size() == 2 && node.args()[1].is_string() &&
           node.args()[1].string() == "shape";
  }
  const Callee callee = Resolve(node);
  if (callee.schemas.empty()) return OnlyTakenApart(node);
  size_t tuples = 0;
  for (const Schema& schema : callee.schemas) tuples += IsTupleType(schema) ? 1 : 0;
  if (tuples == 0 || tuples == callee.schemas.size()) return tuples > 0;
  // As of max: it depends on the overload.
  const CallForm form = node.op() == Op::kCallMethod ? CallForm::kMethod : CallForm::kFunction;
  const absl::StatusOr<BoundCall> call =
      Bind(callee.schemas, form, node.args(), node.kwargs(),
           [](const Node*) { return ValueType(ValueType::Kind::kTensor); });
  return call.ok() ? IsTupleType(*call->schema) : OnlyTakenApart(node);
}

}  // namespace graphnet
