#include "graphnet/passes/constrain_variance.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/ops/lowering.h"
#include "graphnet/ops/schema_table.h"

namespace graphnet {
namespace {

// The operand whose elements the value of `call` consists of; null when it is not
// known that there is one.
const Node* ElementsOf(const Node& call) {
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

// All of `argument`, structures taken apart.
void Flatten(const Argument& argument, std::vector<Argument>* out) {
  if (!argument.is_list() && !argument.is_tuple()) {
    out->push_back(argument);
    return;
  }
  for (const Argument& element : argument.elements()) Flatten(element, out);
}

class Variances {
 public:
  Variances(Module* module, const LoweredModule& lowered, PassRun* run)
      : module_(module), lowered_(lowered), run_(run) {
    for (const Graph* graph : lowered.module->graphs()) {
      for (const Node* call : graph->nodes()) {
        for (const Argument& argument : call->args()) {
          if (argument.is_graph()) callers_[argument.graph()].push_back(call);
        }
      }
    }
  }

  bool Run() {
    for (const Graph* graph : lowered_.module->graphs()) {
      for (const Node* call : graph->nodes()) {
        const Schema* schema = call->is_call() ? FindOverload(call->target()) : nullptr;
        if (schema == nullptr) continue;
        const Argument* variance = schema->Given(*call, "running_var");
        if (variance == nullptr || !variance->is_node()) continue;
        const Argument* eps = schema->Given(*call, "eps");
        if (eps != nullptr && eps->is_float() && eps->real() <= 0) {
          run_->Note(absl::StrCat(Place(*call), ": eps is ", eps->real(),
                                  ", a variance of 0 divides by 0"));
        }
        Follow(variance->node(), *call);
      }
    }
    return changed_;
  }

 private:
  std::string Place(const Node& call) const {
    const Node& origin = *lowered_.origins[&call];
    const SourceLocation location = origin.location();
    return absl::StrCat(
        location.line > 0 ? absl::StrCat(location.line, ":", location.column, ": ") : "", "%",
        Printable(origin.name()));
  }

  void Follow(const Node* value, const Node& user) {
    while (value != nullptr && visited_.insert(value).second) {
      if (value->is_placeholder() && value->graph() == lowered_.module->main()) {
        Constrain(const_cast<Node*>(lowered_.origins[value]), user);
        return;
      }
      if (value->op() == Op::kGetAttr) {
        Constrain(value->target(), user);
        return;
      }
      if (value->is_placeholder()) {
        // Of a body: the operand that each call of it has there.
        const std::vector<Node*> parameters = value->graph()->placeholders();
        const size_t i = static_cast<size_t>(absl::c_find(parameters, value) - parameters.begin());
        for (const Node* caller : callers_[value->graph()]) {
          std::vector<Argument> operands;
          for (const Argument& argument : caller->args()) {
            if (argument.is_graph()) {
              operands.clear();  // What comes behind the bodies is for them.
            } else {
              Flatten(argument, &operands);
            }
          }
          if (operands.size() < parameters.size()) continue;
          const Argument& operand = operands[operands.size() - parameters.size() + i];
          if (operand.is_node()) Follow(operand.node(), user);
        }
        return;
      }
      value = ElementsOf(*value);
    }
  }

  // The spec with the bound; nullopt if it needs none.
  std::optional<DrawSpec> Bounded(const DrawSpec* spec, absl::string_view name, const Node& user) {
    DrawSpec bounded = spec == nullptr ? DrawSpec() : *spec;
    const auto is_bound = [](const Argument& bound) {
      return (bound.is_int() && bound.integer() >= 0) || (bound.is_float() && bound.real() >= 0);
    };
    const bool is_negative =
        bounded.data.is_list() && absl::c_any_of(bounded.data.elements(), [](const Argument& a) {
          return (a.is_float() && a.real() < 0) || (a.is_int() && a.integer() < 0);
        });
    if (is_negative) {
      run_->Note(absl::StrCat(Place(user), ": the literal variance ", Printable(name),
                              " has a negative element"));
    }
    if (is_bound(bounded.min)) return std::nullopt;
    bounded.min = Argument(int64_t{0});
    run_->Note(
        absl::StrCat(Place(user), ": ", Printable(name), " is a variance, drawn at least 0"));
    return bounded;
  }
  void Constrain(Node* placeholder, const Node& user) {
    if (const auto spec = Bounded(placeholder->draw_spec(), placeholder->target(), user)) {
      placeholder->set_draw_spec(*spec);
      changed_ = true;
    }
  }
  void Constrain(absl::string_view name, const Node& user) {
    const Attribute* attribute = module_->FindAttribute(name);
    if (attribute == nullptr) return;
    const auto spec = Bounded(attribute->draw_spec, name, user);
    if (!spec.has_value()) return;
    Attribute bounded = *attribute;
    bounded.draw_spec = &*spec;
    module_->AddAttribute(bounded);
    changed_ = true;
  }

  Module* const module_;
  const LoweredModule& lowered_;
  PassRun* const run_;
  absl::flat_hash_map<const Graph*, std::vector<const Node*>> callers_;
  absl::flat_hash_set<const Node*> visited_;
  bool changed_ = false;
};

}  // namespace

absl::StatusOr<bool> ConstrainVariance(Module* module, PassRun& run) {
  RefusedCalls refused;
  ASSIGN_OR_RETURN(const LoweredModule lowered, LowerToAten(*module, &refused));
  return Variances(module, lowered, &run).Run();
}

}  // namespace graphnet
