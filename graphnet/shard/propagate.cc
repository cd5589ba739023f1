#include "graphnet/shard/propagate.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/facts/shapes/facts_table.h"
#include "graphnet/facts/shapes/tensor_facts.h"
#include "graphnet/ir/node_table.h"
#include "graphnet/ops/lowering.h"
#include "graphnet/ops/schema_table.h"
#include "graphnet/shard/call_rules.h"
#include "graphnet/shard/sharding_rule.h"

namespace graphnet::spmd {
namespace {

// A copy in which attributes are as well known where they are read as where they are declared.
std::unique_ptr<Module> WithMetas(const Module& module) {
  std::unique_ptr<Module> copy = module.Clone();
  for (Node* node : copy->main()->nodes()) {
    if (node->op() != Op::kGetAttr || node->meta() != nullptr) continue;
    const Attribute* attribute = copy->FindAttribute(node->target());
    if (attribute != nullptr && attribute->meta != nullptr)
      node->set_meta(copy->InternValueMeta(*attribute->meta));
  }
  return copy;
}

// The sharding of a tensor, or those of the elements of a tuple; of a list that of each.
using Shardings = std::vector<Sharding>;

class Propagation {
 public:
  Propagation(const Module& module, const Mesh& mesh)
      : mesh_(mesh),
        source_(WithMetas(module)),
        lowered_(*LowerToAten(*source_, &refused_)),
        known_(lowered_, refused_),
        facts_(*lowered_.module),
        shardings_(*lowered_.module),
        graph_(lowered_.module->main()) {}

  absl::StatusOr<ShardedGraph> Run(const std::map<std::string, Sharding>& inputs) {
    std::vector<Node*> nodes;
    for (Node* node : graph_->nodes()) {
      nodes.push_back(node);
      facts_[node] = known_.Of(node);
      SetMeta(node);
      // How inputs are drawn is nothing that lowering asks for.
      const Node* origin = node->is_placeholder() ? lowered_.origins[node] : nullptr;
      if (origin != nullptr && origin->draw_spec() != nullptr)
        node->set_draw_spec(*origin->draw_spec());
    }
    RETURN_IF_ERROR(DivideInputs(nodes, inputs));
    for (Node* node : nodes) {
      if (node->is_call()) RETURN_IF_ERROR(VisitCall(node));
      if (node->is_output()) ReduceOutputs(node);
    }
    result_.module = std::move(lowered_.module);
    return std::move(result_);
  }

 private:
  void SetMeta(Node* node) {
    const TensorFacts& facts = facts_[node];
    const TensorMeta* known = node->tensor_meta();
    const bool is_known = known != nullptr && known->has_shape && known->is_static();
    if (is_known || !facts.is_tensor() || !facts.is_static()) return;
    TensorMeta meta;
    meta.dtype = facts.dtype;
    meta.has_shape = true;
    const std::vector<Dim> shape(facts.sizes->begin(), facts.sizes->end());
    meta.shape = shape;
    if (facts.device.has_value()) {
      meta.has_device = true;
      meta.device = *facts.device;
    }
    node->set_meta(graph_->module()->InternValueMeta(meta));
  }

  // Of a value of which nothing is annotated.
  Sharding Whole(const Node* node) const {
    return Sharding::Replicated(static_cast<size_t>(std::max(facts_[node].rank(), 0)));
  }
  Sharding ShardingOf(const Node* node) const {
    return shardings_[node].empty() ? Whole(node) : shardings_[node][0];
  }

  void Annotate(Node* node, Shardings shardings) {
    if (absl::c_all_of(shardings, [](const Sharding& s) { return s.is_replicated(); })) return;
    node->set_annotation(AnnotationOf(mesh_, shardings));
    shardings_[node] = std::move(shardings);
  }

  // Before `user`, the first of the graph that takes it so.
  Node* Reshard(Node* value, const Sharding& to, Node* user) {
    const std::string text = AnnotationOf(mesh_, {to});
    Node*& made = made_[{value, text}];
    if (made != nullptr) return made;
    made = graph_->CallLike(*value, kReshard, {value, absl::string_view(text)});
    graph_->MoveBefore(made, user);
    made->set_annotation({});
    TensorFacts facts = facts_[value];  // the table may grow
    facts_[made] = std::move(facts);
    Annotate(made, {to});
    return made;
  }

  absl::Status DivideInputs(absl::Span<Node* const> nodes,
                            const std::map<std::string, Sharding>& inputs) {
    const auto first = absl::c_find_if(nodes, [](Node* n) { return !n->is_placeholder(); });
    if (first == nodes.end()) return absl::InvalidArgumentError("a graph without an output");
    for (const auto& [name, sharding] : inputs) {
      const auto is_it = [&input = name](const Node* node) {
        return (node->is_placeholder() && node->name() == input) ||
               ((node->is_placeholder() || node->op() == Op::kGetAttr) && node->target() == input);
      };
      const auto found = absl::c_find_if(nodes, is_it);
      if (found == nodes.end())
        return absl::InvalidArgumentError(absl::StrCat("no input is called ", Printable(name)));
      Node* const input = *found;
      const TensorFacts& facts = facts_[input];
      if (!facts.is_tensor() || !facts.sizes.has_value())
        return absl::InvalidArgumentError(
            absl::StrCat("input ", Printable(name), " is no tensor of known shape"));
      if (!sharding.partial.empty())
        return absl::InvalidArgumentError(
            absl::StrCat("input ", Printable(name), " is whole: it cannot be partial"));
      RETURN_IF_ERROR(graphnet::Annotate(CheckSharding(sharding, mesh_, *facts.sizes),
                                         absl::StrCat("input ", Printable(name))));
      if (sharding.is_replicated()) continue;
      // Parameters stay together.
      Node* const divided =
          Reshard(input, sharding, input->is_placeholder() ? *first : input->next());
      input->ReplaceUsesWithIf(divided, [&](const Node* user) { return user != divided; });
    }
    return absl::OkStatus();
  }

  absl::Status VisitCall(Node* node) {
    const std::vector<Node*> operands = node->operands();
    const Schema* schema = FindOverload(node->target());
    if (schema != nullptr ? schema->mutates() : node->target() == "operator.setitem")
      return absl::FailedPreconditionError(
          absl::StrCat(Printable(node->target()), " (node ", Printable(node->name()),
                       "): writes to memory; functionalize the graph first"));
    if (absl::c_all_of(operands, [&](const Node* x) { return shardings_[x].empty(); }))
      return absl::OkStatus();
    if (TakeElement(node)) return absl::OkStatus();
    if (schema != nullptr && schema->name == "squeeze") NameSqueezedDims(node, *schema);
    std::vector<TensorFacts> facts;
    std::vector<Sharding> given;
    for (const Node* operand : operands) {
      facts.push_back(facts_[operand]);
      given.push_back(ShardingOf(operand));
    }
    const CallFacts call(*node, std::move(facts), facts_[node]);
    std::optional<ShardingRule> rule = ShardingRuleOfCall(call);
    if (rule.has_value() && !Fits(node, *rule)) rule.reset();
    std::vector<Sharding> wanted;
    Inferred inferred;
    if (rule.has_value()) {
      ASSIGN_OR_RETURN(
          inferred, InferForward(*rule, mesh_, given, OnConflict::kFirstCounts, Order(operands)));
      // What is of no known shape cannot be laid out anew.
      for (size_t i = 0; i < operands.size(); ++i) {
        if (inferred.operands[i] != given[i] && !facts_[operands[i]].is_static()) rule.reset();
      }
    }
    if (rule.has_value()) {
      wanted = std::move(inferred.operands);
      Annotate(node, std::move(inferred.results));
    } else {
      ++result_.replicated[std::string(node->target())];
      for (const Node* operand : operands) wanted.push_back(Whole(operand));
    }
    for (size_t i = 0; i < operands.size(); ++i) {
      if (given[i] == wanted[i]) continue;
      ++result_.reshards;
      node->SetOperand(static_cast<int>(i), Reshard(operands[i], wanted[i], node));
    }
    return absl::OkStatus();
  }

  // A squeeze says which dimensions it means: a piece of another may have size 1, too.
  void NameSqueezedDims(Node* node, const Schema& schema) {
    const TensorFacts& x = facts_[node->operands()[0]];
    if (!x.is_static()) return;
    const bool has_dims = schema.FindArgument("dim") != nullptr;
    const auto said = has_dims ? DimsOf(ArgumentOf(*node, schema, "dim"), x.rank()) : std::nullopt;
    if (has_dims && !said.has_value()) return;
    std::vector<Argument> dims;
    for (size_t i = 0; i < x.sizes->size(); ++i) {
      if ((*x.sizes)[i] == 1 && (!has_dims || absl::c_linear_search(*said, i)))
        dims.emplace_back(i);
    }
    node->set_target("aten.squeeze.dims");
    node->set_args({node->operands()[0], Argument::List(dims)});
    node->set_kwargs({});
  }

  // Whether the results are tensors whose sizes are known, some of them as those of dimensions
  // that are divided alike. A tuple or list that is not taken apart has no other layout than
  // whole.
  bool Fits(Node* node, const ShardingRule& rule) {
    if (facts_[node].is_tensor()) return LearnSizes(node, rule, 0);
    return absl::c_all_of(node->users(), [&](Node* user) {
      return user->target() == "operator.getitem" && user->args().size() == 2 &&
             user->args()[0] == Argument(node) && user->args()[1].is_int() &&
             user->args()[1].integer() >= 0 &&
             LearnSizes(user, rule, static_cast<size_t>(user->args()[1].integer()));
    });
  }

  bool LearnSizes(Node* value, const ShardingRule& rule, size_t result) {
    const std::vector<int>& dims = rule.results[std::min(result, rule.results.size() - 1)].dims;
    TensorFacts& facts = facts_[value];
    if (facts.rank() != static_cast<int>(dims.size())) return false;
    for (size_t i = 0; i < dims.size(); ++i) {
      if (dims[i] < 0 || (*facts.sizes)[i] >= 0) continue;
      const ShardingRule::Letter& letter = rule.letters[static_cast<size_t>(dims[i])];
      if (letter.shardable) (*facts.sizes)[i] = letter.sizes[0];
    }
    SetMeta(value);
    return facts.is_static();
  }

  // Of a getitem of a tuple or list that is sharded.
  bool TakeElement(Node* node) {
    if (node->target() != "operator.getitem" || node->args().size() != 2) return false;
    const Node* whole = node->args()[0].is_node() ? node->args()[0].node() : nullptr;
    if (whole == nullptr || facts_[whole].is_tensor() || shardings_[whole].empty()) return false;
    const Shardings& all = shardings_[whole];
    const auto index = static_cast<size_t>(node->args()[1].integer());  // Fits
    Annotate(node, {all[std::min(index, all.size() - 1)]});
    return true;
  }

  // Operands by their bytes, the most first.
  std::vector<size_t> Order(absl::Span<Node* const> operands) const {
    std::vector<double> bytes;
    for (const Node* operand : operands) {
      double product = DTypeBytes(facts_[operand].dtype);
      if (facts_[operand].sizes.has_value()) {
        for (const int64_t size : *facts_[operand].sizes) product *= static_cast<double>(size);
      }
      bytes.push_back(product);
    }
    std::vector<size_t> order(operands.size());
    std::iota(order.begin(), order.end(), size_t{0});
    absl::c_stable_sort(order, [&](size_t a, size_t b) { return bytes[a] > bytes[b]; });
    return order;
  }

  // What is returned is no partial value.
  void ReduceOutputs(Node* output) {
    const std::vector<Node*> values = output->operands();
    for (size_t i = 0; i < values.size(); ++i) {
      if (shardings_[values[i]].size() != 1) continue;
      Sharding sharding = shardings_[values[i]][0];
      if (sharding.partial.empty()) continue;
      sharding.partial.clear();
      ++result_.reshards;
      output->SetOperand(static_cast<int>(i), Reshard(values[i], sharding, output));
    }
  }

  const Mesh& mesh_;
  const std::unique_ptr<Module> source_;
  RefusedCalls refused_;
  LoweredModule lowered_;
  const FactsTable known_;
  NodeTable<TensorFacts> facts_;
  NodeTable<Shardings> shardings_;  // empty: replicated
  Graph* graph_;
  absl::flat_hash_map<std::pair<Node*, std::string>, Node*> made_;
  ShardedGraph result_;
};

}  // namespace

absl::StatusOr<ShardedGraph> PropagateShardings(const Module& module, const Mesh& mesh,
                                                const std::map<std::string, Sharding>& inputs) {
  if (module.main() == nullptr) return absl::InvalidArgumentError("a module without graphs");
  return Propagation(module, mesh).Run(inputs);
}

}  // namespace graphnet::spmd
