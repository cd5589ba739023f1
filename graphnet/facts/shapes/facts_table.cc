#include "graphnet/facts/shapes/facts_table.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "graphnet/facts/memory/memory_use.h"
#include "graphnet/facts/shapes/functional_twin.h"
#include "graphnet/ops/schema_table.h"

namespace graphnet {
namespace {

using Kind = TensorFacts::Kind;

// Returns the entry of in_dims or out_dims for the i-th value.
Argument DimAt(const Argument& dims, size_t i) {
  if (!dims.is_list() && !dims.is_tuple()) return dims;
  return i < dims.elements().size() ? dims.elements()[i] : Argument();
}

// Compares facts without sizes.
bool AreAlike(const TensorFacts& a, const TensorFacts& b) {
  return a.kind == b.kind && a.rank() == b.rank() && a.dtype == b.dtype;
}

TensorFacts OfLiteral(const Node& call) {
  int rank = 0;
  const Argument* data = &call.args()[0];
  while ((data->is_list() || data->is_tuple()) && !data->elements().empty()) {
    ++rank;
    data = &data->elements()[0];
  }
  if (data->is_node()) rank = -1;
  const Argument* dtype = call.kwarg("dtype");
  if (dtype != nullptr && dtype->kind() == Argument::Kind::kDType)
    return TensorFacts::Tensor(rank, dtype->dtype());
  return TensorFacts::Tensor(rank, data->is_bool()    ? DType::kBool
                                   : data->is_int()   ? DType::kInt64
                                   : data->is_float() ? DType::kFloat32
                                                      : DType::kUnknown);
}

}  // namespace

FactsTable::FactsTable(const LoweredModule& lowered, const RefusedCalls& refused)
    : lowered_(lowered),
      refused_(refused),
      facts_(*lowered.module),
      changes_sizes_(*lowered.module) {
  AddGraph(*lowered.module->main(), {});
}

void FactsTable::FindChangedSizes(const Graph& graph) {
  std::vector<const Node*> changed;
  for (const Node* node : graph.nodes()) {
    const Schema* schema = node->is_call() ? FindOverload(node->target()) : nullptr;
    if (schema == nullptr || !ChangesSizes(*schema) || !node->args()[0].is_node()) continue;
    changed.push_back(node);
    changed.push_back(node->args()[0].node());
  }
  // Spread in both directions through calls that may return their operand.
  const auto add = [&](const Node* node) {
    if (!changes_sizes_[node]) changed.push_back(node);
  };
  while (!changed.empty()) {
    const Node* const node = changed.back();
    changed.pop_back();
    if (std::exchange(changes_sizes_[node], true)) continue;
    for (const Use& use : node->uses()) {
      if (!MemoryUseOf(*use.user).shared.empty()) add(use.user);
    }
    for (const Node* shared : MemoryUseOf(*node).shared) add(shared);
  }
}

void FactsTable::AddGraph(const Graph& graph, absl::Span<const TensorFacts> parameters) {
  FindChangedSizes(graph);
  size_t next = 0;
  for (const Node* node : graph.nodes()) {
    TensorFacts facts;
    if (node->is_placeholder()) {
      if (next < parameters.size()) {
        facts = parameters[next];
      } else {
        const ValueType type = TypeOfAnnotation(node->annotation());
        facts.kind = type.kind == ValueType::Kind::kTensor ? Kind::kTensor : Kind::kOther;
      }
      ++next;
    } else if (node->op() == Op::kGetAttr) {
      facts.kind = Kind::kTensor;
    } else if (node->is_call()) {
      facts = OfCall(*node);
    }
    const Node* origin = lowered_.origins[node];
    // A node may be the value of another origin, too; only its own origin's meta counts.
    const Argument& value = lowered_.values[origin];
    if (value.is_node() && value.node() == node && origin->tensor_meta() != nullptr) {
      TensorFacts known = FactsOfMeta(origin->tensor_meta());
      if (known.dtype == DType::kUnknown) known.dtype = facts.dtype;
      if (!known.sizes.has_value()) known.sizes = std::move(facts.sizes);
      facts = std::move(known);
    }
    if (changes_sizes_[node]) facts.set_rank(-1);
    facts_[node] = std::move(facts);
  }
}

TensorFacts FactsTable::OfArgument(const Argument& argument) const {
  if (argument.is_node()) return Of(argument.node());
  if ((!argument.is_list() && !argument.is_tuple()) || argument.elements().empty())
    return TensorFacts::Other();
  TensorFacts facts = OfArgument(argument.elements()[0]);
  if (!facts.is_tensor()) return TensorFacts::Other();
  facts.kind = Kind::kList;
  for (const Argument& element : argument.elements()) {
    const TensorFacts other = OfArgument(element);
    if (other.rank() != facts.rank()) facts.set_rank(-1);
    if (other.dtype != facts.dtype) facts.dtype = DType::kUnknown;
    if (facts.sizes != other.sizes) facts.set_rank(facts.rank());
  }
  return facts;
}

TensorFacts FactsTable::OfVmap(const Node& call) {
  const Graph* body = call.args()[0].graph();
  const absl::Span<const Argument> operands = call.args()[1].elements();
  std::vector<TensorFacts> parameters;
  int64_t batch = -1;
  for (size_t i = 0; i < operands.size(); ++i) {
    TensorFacts facts = OfArgument(operands[i]);
    const Argument dim = DimAt(call.args()[2], i);
    if (!dim.is_none() && facts.rank() > 0) {
      const auto at = DimsOf(dim, facts.rank());
      if (at.has_value()) {
        const auto place = facts.sizes->begin() + static_cast<ptrdiff_t>((*at)[0]);
        batch = std::max(batch, *place);
        facts.sizes->erase(place);
      } else {
        facts.set_rank(facts.rank() - 1);
      }
    }
    parameters.push_back(facts);
  }
  const auto [it, is_new] = parameters_.try_emplace(body, parameters);
  if (is_new) {
    AddGraph(*body, parameters);
  } else if (!absl::c_equal(it->second, parameters, AreAlike)) {
    ambiguous_[body] = true;
  } else {
    // A size in the body is known only if all calls agree on it.
    bool fewer = false;
    for (size_t i = 0; i < parameters.size(); ++i) {
      for (int d = 0; d < parameters[i].rank(); ++d) {
        int64_t& known = (*it->second[i].sizes)[static_cast<size_t>(d)];
        if (known < 0 || known == (*parameters[i].sizes)[static_cast<size_t>(d)]) continue;
        known = -1;
        fewer = true;
      }
    }
    if (fewer)
      AddGraph(*body, std::vector<TensorFacts>(it->second));  // a copy, because the entry may move
  }
  if (body->output() == nullptr) return {};
  const auto result = [&](const Argument& value, size_t i) {
    const TensorFacts facts = OfArgument(value);
    const Argument dim = DimAt(call.args()[3], i);
    TensorFacts made = TensorFacts::Tensor(-1, facts.dtype);
    if (ambiguous_.contains(body) || !facts.sizes.has_value()) return made;
    made.sizes = facts.sizes;
    if (dim.is_none()) return made;
    made.set_rank(facts.rank() + 1);
    if (const auto at = DimsOf(dim, made.rank()); at.has_value()) {
      made.sizes = facts.sizes;
      made.sizes->insert(made.sizes->begin() + static_cast<ptrdiff_t>((*at)[0]), batch);
    }
    return made;
  };
  const Argument& returned = body->output()->args()[0];
  if (!returned.is_tuple() && !returned.is_list()) return result(returned, 0);
  std::vector<TensorFacts> elements;
  for (size_t i = 0; i < returned.elements().size(); ++i)
    elements.push_back(result(returned.elements()[i], i));
  elements_[&call] = std::move(elements);
  return {Kind::kList};
}

TensorFacts FactsTable::OfSubscript(const Node& call) const {
  TensorFacts facts = OfArgument(call.args()[0]);
  const Argument& index = call.args()[1];
  if (facts.kind == Kind::kList) {
    const Node* whole = call.args()[0].is_node() ? call.args()[0].node() : nullptr;
    TensorFacts made = facts;
    if (!index.is_int()) {
      made.set_rank(-1);
      return made;
    }
    made.kind = Kind::kTensor;
    const auto known = elements_.find(whole);
    if (known == elements_.end()) return made;
    const auto size = static_cast<int64_t>(known->second.size());
    const int64_t i = index.integer() < 0 ? index.integer() + size : index.integer();
    return i >= 0 && i < size ? known->second[static_cast<size_t>(i)] : TensorFacts();
  }
  if (!facts.is_tensor() || !facts.sizes.has_value()) return facts;
  const Sizes& x = *facts.sizes;
  TensorFacts unknown = TensorFacts::Tensor(-1, facts.dtype);
  const absl::Span<const Argument> elements =
      index.is_tuple() ? index.elements() : absl::MakeConstSpan(&index, 1);
  const auto taken = static_cast<size_t>(absl::c_count_if(elements, [](const Argument& a) {
    return !a.is_none() && a.kind() != Argument::Kind::kEllipsis;
  }));
  if (taken > x.size()) return unknown;
  TensorFacts made = facts;
  made.sizes.emplace();
  int tensors = -1;  // the rank of the index tensors
  const int64_t* next = x.data();
  for (const Argument& element : elements) {
    if (element.is_none()) {
      made.sizes->push_back(1);
    } else if (element.kind() == Argument::Kind::kEllipsis) {
      for (size_t i = taken; i < x.size(); ++i) made.sizes->push_back(*next++);
    } else if (element.kind() == Argument::Kind::kSlice) {
      const bool whole =
          absl::c_all_of(element.elements(), [](const Argument& a) { return a.is_none(); });
      made.sizes->push_back(whole ? *next : -1);
      ++next;
    } else if (element.is_int() || (element.is_node() && Of(element.node()).kind == Kind::kOther)) {
      ++next;  // a number
    } else if (element.is_node() && Of(element.node()).is_index()) {
      tensors = std::max(tensors, Of(element.node()).rank());
      ++next;
    } else {
      return unknown;
    }
  }
  made.sizes->insert(made.sizes->end(), next, x.data() + x.size());
  if (tensors >= 0) made.set_rank(made.rank() + tensors);
  return made;
}

// Functions that stay calls in a lowered graph have all their arguments by position.
TensorFacts FactsTable::OfFunction(const Node& node) {
  TensorFacts facts = OfArgument(node.args()[0]);
  if (node.target() == "torch.nn.functional.interpolate") {
    facts.set_rank(facts.rank());
  } else if (node.target() == "torch.nn.functional.multi_head_attention_forward") {
    TensorFacts weights = TensorFacts::Tensor(-1, facts.dtype);
    const Argument& is_mean = node.args()[23];
    if (facts.rank() >= 0 && is_mean.is_bool())
      weights.set_rank(facts.rank() + (is_mean.boolean() ? 0 : 1));
    if (facts.rank() > 0) facts.sizes->back() = -1;
    elements_[&node] = {std::move(facts), std::move(weights)};
    return {Kind::kList};
  } else if (node.target() != "torch.nn.functional.local_response_norm") {
    return TensorFacts::Other();
  }
  return facts;
}

TensorFacts FactsTable::OfCall(const Node& node) {
  if (refused_.contains(lowered_.origins[&node])) return TensorFacts::Other();
  if (node.target() == "torch.vmap") return OfVmap(node);
  if (node.target() == "operator.getitem") return OfSubscript(node);
  if (node.target() == "torch.tensor") return OfLiteral(node);
  if (absl::StartsWith(node.target(), "torch.nn.functional.")) return OfFunction(node);
  const Schema* schema = FindOverload(node.target());
  if (schema == nullptr) return TensorFacts::Other();
  std::vector<TensorFacts> elements;
  TensorFacts facts = FactsOfCall(
      node, *schema, [this](const Argument& a) { return OfArgument(a); },
      schema->returns.size() > 1 ? &elements : nullptr);
  if (!elements.empty()) elements_[&node] = std::move(elements);
  return facts;
}

}  // namespace graphnet
