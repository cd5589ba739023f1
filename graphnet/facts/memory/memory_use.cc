#include "graphnet/facts/memory/memory_use.h"

#include <cstddef>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "graphnet/ops/binder.h"
#include "graphnet/ops/callable.h"
#include "graphnet/ops/fused.h"
#include "graphnet/ops/schema_table.h"

namespace graphnet {
namespace {

using NodeList = absl::InlinedVector<Node*, 2>;

void AddNodes(const Argument& argument, NodeList* nodes) {
  ForEachArgument(argument, [&](const Argument& a) {
    if (a.is_node()) nodes->push_back(a.node());
  });
}

bool IsFalse(const Argument& argument) {
  return argument.is_none() || (argument.is_bool() && !argument.boolean()) ||
         (argument.is_int() && argument.integer() == 0);
}

// Returns the argument for a parameter; null if there is none.
const Argument* Given(const Node& node, absl::string_view name, size_t position) {
  if (const Argument* argument = node.kwarg(name)) return argument;
  if (position < node.args().size()) return &node.args()[position];
  return position == 0 ? node.kwarg("input") : nullptr;
}

void AddGiven(const Argument* argument, NodeList* nodes) {
  if (argument != nullptr) AddNodes(*argument, nodes);
}

bool Shares(const Schema& schema) {
  return schema.may_alias ||
         absl::c_any_of(schema.returns, [](const SchemaType& t) { return t.is_alias; });
}

const Argument* Given(const Node& node, const Schema& schema, absl::string_view name) {
  const int i = schema.IndexOf(name);
  return i < 0 ? nullptr : Given(node, name, static_cast<size_t>(i));
}

// Adds the uses that follow from parameters and not from types: running statistics, and Python
// functions.
void AddByParameters(const Node& node, const Schema& schema, MemoryUse* use) {
  const auto says = [&](absl::string_view name) {
    const Argument* argument = Given(node, schema, name);
    return argument != nullptr && !IsFalse(*argument);
  };
  if (says("training") || says("train") || says("use_input_stats")) {
    AddGiven(Given(node, schema, "running_mean"), &use->written);
    AddGiven(Given(node, schema, "running_var"), &use->written);
  }
  if (!schema.is_python) return;
  if (says("inplace")) {
    AddGiven(Given(node, schema, schema.arguments[0].name), &use->written);
    AddGiven(Given(node, schema, schema.arguments[0].name), &use->shared);
  }
  if (says("max_norm")) AddGiven(Given(node, schema, "weight"), &use->written);
}

void AddOfSchema(const Node& node, const Schema& schema, MemoryUse* use) {
  const bool shares = Shares(schema);
  for (size_t i = 0; i < schema.arguments.size(); ++i) {
    const SchemaArgument& parameter = schema.arguments[i];
    if (!parameter.type.is_alias) continue;
    const Argument* argument = Given(node, parameter.name, parameter.keyword_only ? ~size_t{0} : i);
    if (parameter.type.is_mutated) AddGiven(argument, &use->written);
    if (shares) AddGiven(argument, &use->shared);
  }
  AddByParameters(node, schema, use);
}

// Returns the operators that a Python function may call: those of its name.
absl::Span<const Schema> OperatorsOf(const Callable& callee) {
  if (callee.kind != Callable::Kind::kFunction) return callee.overloads;
  return FindSchemas(callee.name.substr(callee.name.rfind('.') + 1));
}

bool IsGetItem(const Callable& callee) {
  return callee.kind == Callable::Kind::kPythonOperator && callee.name == "getitem";
}
bool IsGetItem(const Node& node) { return IsGetItem(CalleeOf(node)); }

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
  const auto add_all = [&](NodeList* nodes) {
    node.ForEachOperand([&](Node* n) { nodes->push_back(n); });
  };
  const Callable callee = CalleeOf(node);
  if (!callee.is_known() || callee.kind == Callable::Kind::kForeign || node.HasBody()) {
    add_all(&use.written);
    add_all(&use.shared);
    return use;
  }
  if (callee.kind == Callable::Kind::kPythonOperator) {
    if (node.args().empty()) return use;
    const PythonOperator& op = *callee.python_operator;
    if (op.is_in_place) AddNodes(node.args()[0], &use.written);
    if (op.is_in_place || op.may_alias) AddNodes(node.args()[0], &use.shared);
    return use;
  }
  for (const Schema& schema : callee.overloads) AddOfSchema(node, schema, &use);
  if (const Argument* out = node.kwarg("out")) {
    AddNodes(*out, &use.written);
    AddNodes(*out, &use.shared);
  }
  // A Python function may pass any operand on to the operator of its name. Without such an operator
  // it may consist of views. The result of a fused operator is new.
  const absl::Span<const Schema> operators = OperatorsOf(callee);
  if (absl::c_any_of(callee.overloads, [](const Schema& s) { return s.may_alias; }) ||
      (callee.kind == Callable::Kind::kFunction && !IsFused(callee.overloads[0]) &&
       (operators.empty() || absl::c_any_of(operators, Shares)))) {
    add_all(&use.shared);
  }
  return use;
}

bool ChangesSizes(const Node& node) {
  if (!node.is_call() || node.HasBody()) return false;
  return absl::c_any_of(CalleeOf(node).overloads, [](const Schema& schema) {
    absl::string_view name = schema.name;
    if (schema.arguments.empty() || !schema.arguments[0].type.is_mutated ||
        !absl::ConsumeSuffix(&name, "_")) {
      return false;
    }
    // What is a view if it is made anew is another view of the same memory in place.
    return absl::c_any_of(FindSchemas(name), Shares) || absl::StrContains(name, "resize") ||
           name == "set";
  });
}

bool YieldsTuple(const Node& node) {
  if (!node.is_call()) return false;
  if (const ValueMeta* meta = node.meta();
      meta != nullptr && (meta->is_tuple || meta->tensor != nullptr)) {
    return meta->is_tuple;
  }
  const Callable callee = CalleeOf(node);
  if (IsGetItem(callee)) {
    // A slice of a tuple is a tuple; an element is not.
    const Node* from = &node;
    while (IsGetItem(*from) && from->args().size() == 2 && from->args()[0].is_node() &&
           from->args()[1].kind() == Argument::Kind::kSlice) {
      from = from->args()[0].node();
    }
    return from != &node && !IsGetItem(*from) && YieldsTuple(*from);
  }
  if (callee.kind == Callable::Kind::kPythonOperator) return false;
  if (callee.is_function("builtins.getattr")) {
    const Argument* name = Given(node, callee.overloads[0], "name");
    return name != nullptr && name->is_string() && name->string() == "shape";
  }
  absl::Span<const Schema> overloads = callee.overloads;
  if (callee.kind == Callable::Kind::kFunction) {
    const Schema& function = callee.overloads[0];
    if (function.IndexOf("return_indices") >= 0) {
      const Argument* indices = Given(node, function, "return_indices");
      return indices != nullptr && !IsFalse(*indices);
    }
    // If the Python function has no type, the operator of its name decides.
    const bool says = absl::c_none_of(function.returns, [](const SchemaType& type) {
      return type.kind == SchemaType::Kind::kAny;
    });
    if (!says) overloads = OperatorsOf(callee);
  }
  if (overloads.empty()) return OnlyTakenApart(node);
  const auto tuples = absl::c_count_if(overloads, [](const Schema& s) { return s.yields_tuple(); });
  if (tuples == 0 || tuples == static_cast<int64_t>(overloads.size())) return tuples > 0;
  // It depends on the overload, as for max.
  const absl::StatusOr<BoundCall> call = Bind(callee, node.args(), node.kwargs(), [](const Node*) {
    return ValueType(ValueType::Kind::kTensor);
  });
  return call.ok() ? call->schema().yields_tuple() : OnlyTakenApart(node);
}

}  // namespace graphnet
