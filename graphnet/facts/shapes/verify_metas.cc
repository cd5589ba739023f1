#include "graphnet/facts/shapes/verify_metas.h"

#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graphnet/base/status.h"
#include "graphnet/facts/shapes/functional_twin.h"
#include "graphnet/facts/shapes/tensor_facts.h"
#include "graphnet/ir/node_error.h"
#include "graphnet/ops/callable.h"
#include "graphnet/ops/schema_table.h"

namespace graphnet {
namespace {

constexpr absl::string_view kAutocast = "torch.ops.higher_order.wrap_with_autocast";

TensorFacts FactsOf(const Argument& value) {
  if (value.is_list() || value.is_tuple()) {
    if (value.elements().empty()) return TensorFacts::Other();
    // A list has the facts that all its tensors share.
    TensorFacts facts = FactsOf(value.elements()[0]);
    if (!facts.is_tensor()) return {};
    for (const Argument& element : value.elements()) {
      const TensorFacts other = FactsOf(element);
      if (other.dtype != facts.dtype) facts.dtype = DType::kUnknown;
      if (other.rank() != facts.rank()) facts.set_rank(-1);
      if (other.sizes != facts.sizes) facts.set_rank(facts.rank());
    }
    facts.kind = TensorFacts::Kind::kList;
    return facts;
  }
  if (!value.is_node()) return TensorFacts::Other();
  const ValueMeta* const meta = value.node()->meta();
  if (meta == nullptr) return {};
  if (!meta->is_tuple) return FactsOfMeta(meta->tensor);
  TensorFacts facts;
  facts.kind = TensorFacts::Kind::kList;
  return facts;
}

// "f32[2, ?]"
std::string TextOf(const TensorFacts& facts) {
  std::string text(DTypeShortName(facts.dtype));
  if (!facts.sizes.has_value()) return text;
  return absl::StrCat(text, "[",
                      absl::StrJoin(*facts.sizes, ", ",
                                    [](std::string* out, int64_t size) {
                                      size < 0 ? absl::StrAppend(out, "?")
                                               : absl::StrAppend(out, size);
                                    }),
                      "]");
}

bool Contradict(const TensorFacts& said, const TensorFacts& yielded) {
  if (!said.is_tensor() || yielded.kind == TensorFacts::Kind::kOther) return false;
  if (said.dtype != DType::kUnknown && yielded.dtype != DType::kUnknown &&
      said.dtype != yielded.dtype) {
    return true;
  }
  if (!said.sizes.has_value() || !yielded.sizes.has_value()) return false;
  if (said.rank() != yielded.rank()) return true;
  for (size_t i = 0; i < said.sizes->size(); ++i) {
    const int64_t a = (*said.sizes)[i], b = (*yielded.sizes)[i];
    if (a >= 0 && b >= 0 && a != b) return true;
  }
  return false;
}

absl::Status VerifyCall(const Node& call, const Schema& schema) {
  const ValueMeta* const meta = call.meta();
  if (meta == nullptr) return absl::OkStatus();
  std::vector<TensorFacts> elements;
  const TensorFacts facts =
      FactsOfCall(call, schema, FactsOf, schema.returns.size() > 1 ? &elements : nullptr);
  const auto check = [&](const ValueMeta* said_of, const TensorFacts& yielded) {
    if (said_of == nullptr || said_of->is_tuple || said_of->tensor == nullptr) {
      return absl::OkStatus();
    }
    const TensorFacts said = FactsOfMeta(said_of->tensor);
    if (!Contradict(said, yielded)) return absl::OkStatus();
    return NodeError(call, absl::StrCat("its meta is ", TextOf(said), ", but the operator returns ",
                                        TextOf(yielded)));
  };
  if (!meta->is_tuple) return facts.is_tensor() ? check(meta, facts) : absl::OkStatus();
  for (size_t i = 0; i < meta->elements.size() && i < elements.size(); ++i) {
    RETURN_IF_ERROR(check(meta->elements[i], elements[i]));
  }
  return absl::OkStatus();
}

// Returns whether no call changes how other calls behave, and none changes sizes in place.
bool IsPlain(const Graph& graph) {
  for (const Node* node : graph.nodes()) {
    if (!node->is_call()) continue;
    if (CalleeOf(*node).bracket() != Schema::Bracket::kNone) return false;
    const Schema* const schema = FindOverload(node->target());
    if (schema != nullptr && ChangesSizes(*schema)) return false;
  }
  return true;
}

// Adds the bodies in which autocast chooses dtypes. The verifier bounds how deep they nest.
void AddBodies(const Graph& graph, bool is_autocast, absl::flat_hash_set<const Graph*>* found) {
  for (const Node* node : graph.nodes()) {
    if (!is_autocast && node->target() != kAutocast) continue;
    node->ForEachArgument([&](const Argument& argument) {
      if (argument.is_graph() && found->insert(argument.graph()).second) {
        AddBodies(*argument.graph(), /*is_autocast=*/true, found);
      }
    });
  }
}

}  // namespace

absl::Status VerifyMetas(const Module& module) {
  absl::flat_hash_set<const Graph*> autocast;
  for (const Graph* graph : module.graphs()) AddBodies(*graph, false, &autocast);
  for (const Graph* graph : module.graphs()) {
    if (autocast.contains(graph) || !IsPlain(*graph)) continue;
    for (const Node* node : graph->nodes()) {
      const Schema* const schema = node->is_call() ? FindOverload(node->target()) : nullptr;
      if (schema != nullptr) RETURN_IF_ERROR(VerifyCall(*node, *schema));
    }
  }
  return absl::OkStatus();
}

}  // namespace graphnet
