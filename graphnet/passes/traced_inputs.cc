#include "graphnet/passes/traced_inputs.h"

#include <cstddef>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/ops/schema_table.h"

namespace graphnet {
namespace {

// Returns the operand whose elements the value of `call` consists of; null if none is known.
const Node* ElementsOf(const Node& call) {
  // An element is part of a tensor, or one of the pieces that chunk and the like yield.
  if (call.is_call_function("operator.getitem"))
    return !call.args().empty() && call.args()[0].is_node() ? call.args()[0].node() : nullptr;
  const Schema* schema = FindOverload(call.target());
  if (schema == nullptr || schema->arguments.empty() || call.args().empty() ||
      !call.args()[0].is_node()) {
    return nullptr;
  }
  const bool views =
      schema->arguments[0].type.is_alias && !schema->mutates() &&
      absl::c_any_of(schema->returns, [](const SchemaType& type) { return type.is_alias; });
  const bool copies = schema->name == "clone" || schema->name == "_to_copy";
  return views || copies || schema->may_alias ? call.args()[0].node() : nullptr;
}

// Appends the leaves of `argument`.
void Flatten(const Argument& argument, std::vector<Argument>* out) {
  if (!argument.is_list() && !argument.is_tuple()) {
    out->push_back(argument);
    return;
  }
  for (const Argument& element : argument.elements()) Flatten(element, out);
}

}  // namespace

TracedInputs::TracedInputs(Module* module, const LoweredModule& lowered)
    : module_(module), lowered_(lowered) {
  for (const Graph* graph : lowered.module->graphs()) {
    for (const Node* call : graph->nodes()) {
      for (const Argument& argument : call->args()) {
        if (argument.is_graph()) callers_[argument.graph()].push_back(call);
      }
    }
  }
}

void TracedInputs::Follow(const Node* value, absl::flat_hash_set<const Node*>* seen,
                          absl::FunctionRef<void(const Node& input)> found) const {
  while (value != nullptr && seen->insert(value).second) {
    if (value->op() == Op::kGetAttr ||
        (value->is_placeholder() && value->graph() == lowered_.module->main())) {
      found(*value);
      return;
    }
    if (value->is_placeholder()) {
      FollowParameter(*value, seen, found);
      return;
    }
    value = ElementsOf(*value);
  }
}

// Follows a parameter of a body to the operand that each call passes for it.
void TracedInputs::FollowParameter(const Node& parameter, absl::flat_hash_set<const Node*>* seen,
                                   absl::FunctionRef<void(const Node& input)> found) const {
  const auto callers = callers_.find(parameter.graph());
  if (callers == callers_.end()) return;
  const std::vector<Node*> parameters = parameter.graph()->placeholders();
  const size_t i = static_cast<size_t>(absl::c_find(parameters, &parameter) - parameters.begin());
  for (const Node* caller : callers->second) {
    std::vector<Argument> operands;
    for (const Argument& argument : caller->args()) {
      if (argument.is_graph()) {
        operands.clear();  // Operands of the bodies follow them.
      } else {
        Flatten(argument, &operands);
      }
    }
    if (operands.size() < parameters.size()) continue;
    const Argument& operand = operands[operands.size() - parameters.size() + i];
    if (operand.is_node()) Follow(operand.node(), seen, found);
  }
}

TracedInput TracedInputs::Get(const Node& input) const {
  if (input.op() == Op::kGetAttr) {
    const Attribute* attribute = module_->FindAttribute(input.target());
    if (attribute == nullptr) return {.name = input.target()};
    return {attribute->name, attribute->meta,
            attribute->draw_spec == nullptr ? DrawSpec() : *attribute->draw_spec};
  }
  const Node& origin = *lowered_.origins[&input];
  return {origin.target(), origin.tensor_meta(),
          origin.draw_spec() == nullptr ? DrawSpec() : *origin.draw_spec()};
}

void TracedInputs::SetSpec(const Node& input, const DrawSpec& spec) {
  if (input.op() != Op::kGetAttr) {
    const_cast<Node*>(lowered_.origins[&input])->set_draw_spec(spec);
  } else if (const Attribute* attribute = module_->FindAttribute(input.target())) {
    Attribute bounded = *attribute;
    bounded.draw_spec = &spec;
    module_->AddAttribute(bounded);
  }
}

std::string TracedInputs::Place(const Node& call) const {
  const Node& origin = *lowered_.origins[&call];
  const SourceLocation location = origin.location();
  return absl::StrCat(
      location.line > 0 ? absl::StrCat(location.line, ":", location.column, ": ") : "", "%",
      Printable(origin.name()));
}

}  // namespace graphnet
