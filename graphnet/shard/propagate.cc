#include "graphnet/shard/propagate.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/facts/shapes/facts_table.h"
#include "graphnet/facts/shapes/tensor_facts.h"
#include "graphnet/ir/node_error.h"
#include "graphnet/ir/node_table.h"
#include "graphnet/ops/lowering.h"
#include "graphnet/ops/schema_table.h"
#include "graphnet/shard/call_rules.h"
#include "graphnet/shard/reshard.h"
#include "graphnet/shard/sharding_rule.h"

namespace graphnet::spmd {
namespace {

// Returns a copy in which get_attrs without meta have that of the attribute's declaration.
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

struct MeshOrder {
  bool operator()(const Mesh& a, const Mesh& b) const {
    return std::tie(a.shape, a.ranks) < std::tie(b.shape, b.ranks);
  }
};

// The sharding of a tensor, those of the elements of a tuple, or the common one of a list's
// elements.
using Shardings = std::vector<Sharding>;

class Propagation {
 public:
  Propagation(const Module& module, const ShardRequest& request)
      : request_(request),
        stages_(request.stages),
        is_staged_(stages_.meshes.size() > 1 || !request.gathered.empty()),
        source_(WithMetas(module)),
        lowered_(*LowerToAten(*source_, &refused_)),
        known_(lowered_, refused_),
        facts_(*lowered_.module),
        shardings_(*lowered_.module),
        meshes_(*lowered_.module),
        graph_(lowered_.module->main()) {}

  absl::StatusOr<ShardedGraph> Run() {
    std::vector<Node*> nodes;
    for (Node* node : graph_->nodes()) {
      nodes.push_back(node);
      facts_[node] = known_.Of(node);
      SetMeta(node);
      // Lowering drops draw specs, so they are copied here.
      const Node* origin = node->is_placeholder() ? lowered_.origins[node] : nullptr;
      if (origin != nullptr && origin->draw_spec() != nullptr)
        node->set_draw_spec(*origin->draw_spec());
      if (node->is_call()) meshes_[node] = &stages_.meshes[StageOf(node)].mesh;
    }
    RETURN_IF_ERROR(DivideInputs(nodes));
    for (Node* node : nodes) {
      if (node->is_call()) RETURN_IF_ERROR(VisitCall(node));
      if (node->is_output()) RETURN_IF_ERROR(LayOutOutputs(node));
    }
    result_.module = std::move(lowered_.module);
    return std::move(result_);
  }

 private:
  // Returns the position of a call's mesh in the list.
  size_t StageOf(const Node* call) const {
    const Node* const origin = lowered_.origins[call];
    return origin == nullptr ? 0 : stages_.MeshOf(*origin);
  }
  // Returns nullptr for inputs, which are on every mesh that uses them.
  const Mesh* MeshOf(const Node* node) const { return meshes_[node]; }
  // Returns the mesh on which a value is returned.
  const Mesh& MeshOfOutput(const Node* value) const {
    return MeshOf(value) == nullptr ? stages_.meshes[0].mesh : *MeshOf(value);
  }
  // Returns the sharding that a value counts as on another mesh than its own.
  Sharding Carried(const Node* value, const Sharding& sharding, const Mesh& from,
                   const Mesh& to) const {
    if (from.shape == to.shape) return sharding;
    Sharding carried = sharding;
    carried.partial.clear();
    for (size_t i = 0; i < carried.dims_mapping.size(); ++i) {
      int& axis = carried.dims_mapping[i];
      const int64_t size = (*facts_[value].sizes)[i];
      if (axis >= to.num_axes() || (axis >= 0 && size % to.size(axis) != 0)) axis = kReplicated;
    }
    return carried;
  }

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

  // Returns the sharding of a value without annotation.
  Sharding Whole(const Node* node) const {
    return Sharding::Replicated(static_cast<size_t>(std::max(facts_[node].rank(), 0)));
  }
  Sharding ShardingOf(const Node* node) const {
    return shardings_[node].empty() ? Whole(node) : shardings_[node][0];
  }

  void Annotate(Node* node, Shardings shardings) {
    const bool is_whole =
        absl::c_all_of(shardings, [](const Sharding& s) { return s.is_replicated(); });
    if (is_staged_ && is_whole) {
      const bool is_tensor = facts_[node].is_tensor() && facts_[node].rank() >= 0;
      node->set_annotation(
          AnnotationOf(*MeshOf(node), {is_tensor ? Whole(node) : Sharding::Replicated(0)}));
    }
    if (is_whole) return;
    node->set_annotation(AnnotationOf(*MeshOf(node), shardings));
    shardings_[node] = std::move(shardings);
  }

  // Returns the reshard of a value to a layout. A new one goes before `user`, which must be the
  // first node of the graph that takes the value in this layout.
  Node* Reshard(Node* value, const Mesh& mesh, const Sharding& to, Node* user) {
    const std::string text = AnnotationOf(mesh, {to});
    Node*& made = made_[{value, text}];
    if (made != nullptr) return made;
    made = graph_->CallLike(*value, kReshard, {value, absl::string_view(text)});
    graph_->MoveBefore(made, user);
    made->set_annotation({});
    TensorFacts facts = facts_[value];  // a copy, since the table may grow
    facts_[made] = std::move(facts);
    meshes_[made] = &*mesh_storage_.insert(mesh).first;
    Annotate(made, {to});
    return made;
  }

  // Brings a value from another mesh by one or more reshards.
  absl::StatusOr<Node*> Send(Node* value, const Mesh& mesh, const Sharding& to, Node* user) {
    if (!facts_[value].is_tensor() || !facts_[value].is_static())
      return NodeError(*user,
                       absl::StrCat("takes ", Printable(value->name()),
                                    " from another mesh, which is not a tensor of known shape"));
    const absl::StatusOr<std::vector<Layout>> way =
        RouteReshard({*MeshOf(value), ShardingOf(value)}, {mesh, to}, *facts_[value].sizes);
    if (!way.ok()) return NodeError(*user, way.status().message());
    for (const Layout& layout : *way) value = Reshard(value, layout.mesh, layout.sharding, user);
    return value;
  }

  absl::Status DivideInputs(absl::Span<Node* const> nodes) {
    const auto first = absl::c_find_if(nodes, [](Node* n) { return !n->is_placeholder(); });
    if (first == nodes.end()) return absl::InvalidArgumentError("the graph has no output");
    absl::flat_hash_map<const Node*, Sharding> layouts;
    RETURN_IF_ERROR(ReadInputs(nodes, &layouts));
    RETURN_IF_ERROR(InferInputs(nodes, &layouts));
    for (Node* input : nodes) {
      const auto layout = layouts.find(input);
      if (layout == layouts.end() || layout->second.is_replicated()) continue;
      const auto is_on = [&](const Node* user, const Mesh& mesh) {
        return user->target() != kReshard &&
               (user->is_output() ? stages_.meshes[0].mesh : *MeshOf(user)) == mesh;
      };
      for (const NamedMesh& named : stages_.meshes) {
        const Mesh& mesh = named.mesh;
        const auto users = input->users();  // copied, as reshards are added to them
        const bool is_used =
            absl::c_any_of(users, [&](const Node* user) { return is_on(user, mesh); });
        const bool is_first = &named == &stages_.meshes[0];
        if (!(is_used || (is_first && users.empty())) ||
            !CheckSharding(layout->second, mesh, *facts_[input].sizes).ok())
          continue;
        // Reshards of placeholders go behind all placeholders, which must stay together.
        Node* const divided =
            Reshard(input, mesh, layout->second, input->is_placeholder() ? *first : input->next());
        input->ReplaceUsesWithIf(
            divided, [&](const Node* user) { return user != divided && is_on(user, mesh); });
      }
    }
    return absl::OkStatus();
  }

  // Reads the requested layouts of inputs.
  absl::Status ReadInputs(absl::Span<Node* const> nodes,
                          absl::flat_hash_map<const Node*, Sharding>* layouts) {
    for (const auto& [name, sharding] : request_.inputs) {
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
            absl::StrCat("input ", Printable(name), " is not a tensor of known shape"));
      if (!sharding.partial.empty())
        return absl::InvalidArgumentError(
            absl::StrCat("input ", Printable(name), " is whole: it cannot be partial"));
      absl::Status status;  // of the last mesh, if no mesh can have the layout
      for (const NamedMesh& mesh : stages_.meshes) {
        const bool is_used =
            absl::c_any_of(input->users(),
                           [&](const Node* user) {
                             return (user->is_output() ? &stages_.meshes[0].mesh : MeshOf(user)) ==
                                    &mesh.mesh;
                           }) ||
            (input->num_uses() == 0 && &mesh == &stages_.meshes[0]);
        if (!is_used) continue;
        status = CheckSharding(sharding, mesh.mesh, *facts.sizes);
        if (status.ok()) break;
      }
      RETURN_IF_ERROR(graphnet::Annotate(status, absl::StrCat("input ", Printable(name))));
      layouts->emplace(input, sharding);
    }
    return absl::OkStatus();
  }

  // Returns, for each operand of the output, its position among the returned values without None.
  static std::vector<size_t> PlacesOfOutputs(const Node& output) {
    std::vector<size_t> places;
    size_t place = 0;
    output.ForEachArgument([&](const Argument& argument) {
      if (argument.is_aggregate() || argument.is_none()) return;
      if (argument.is_node()) places.push_back(place);
      ++place;
    });
    return places;
  }

  // Chooses layouts for inputs that the request does not name, so that outputs have the requested
  // ones.
  absl::Status InferInputs(absl::Span<Node* const> nodes,
                           absl::flat_hash_map<const Node*, Sharding>* layouts) {
    if (request_.outputs.empty()) return absl::OkStatus();
    NodeTable<Shardings> wanted(*lowered_.module);
    Node* const output = nodes.back();
    const std::vector<Node*> values = output->operands();
    const std::vector<size_t> places = PlacesOfOutputs(*output);
    for (const auto& [place, sharding] : request_.outputs) {
      const auto found = absl::c_find(places, place);
      if (found == places.end())
        return absl::InvalidArgumentError(absl::StrCat("output o", place, " is not a tensor"));
      const Node* const value = values[static_cast<size_t>(found - places.begin())];
      const TensorFacts& facts = facts_[value];
      if (!facts.is_tensor() || !facts.is_static() || !sharding.partial.empty())
        return absl::InvalidArgumentError(absl::StrCat(
            "output o", place,
            sharding.partial.empty() ? " is not a tensor of known shape" : " cannot be partial"));
      RETURN_IF_ERROR(graphnet::Annotate(CheckSharding(sharding, MeshOfOutput(value), *facts.sizes),
                                         absl::StrCat("output o", place)));
      wanted[value] = {sharding};
    }
    for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
      Node* const node = *it;
      if (wanted[node].empty()) continue;
      if (node->is_placeholder()) layouts->try_emplace(node, wanted[node][0]);
      if (node->is_call()) RETURN_IF_ERROR(InferOperands(node, &wanted));
    }
    return absl::OkStatus();
  }

  absl::Status InferOperands(Node* node, NodeTable<Shardings>* wanted) {
    const std::vector<Node*> operands = node->operands();
    if (operands.empty()) return absl::OkStatus();
    if (node->target() == "operator.getitem" && !facts_[operands[0]].is_tensor()) {
      if (node->args().size() != 2 || !node->args()[1].is_int()) return absl::OkStatus();
      const int64_t index = node->args()[1].integer();
      if (index < 0 || index > 1000) return absl::OkStatus();
      Shardings& all = (*wanted)[operands[0]];
      if (all.size() <= static_cast<size_t>(index)) all.resize(static_cast<size_t>(index) + 1);
      all[static_cast<size_t>(index)] = (*wanted)[node][0];
      return absl::OkStatus();
    }
    std::vector<TensorFacts> facts;
    for (const Node* operand : operands) facts.push_back(facts_[operand]);
    std::optional<ShardingRule> rule =
        ShardingRuleOfCall(CallFacts(*node, std::move(facts), facts_[node]));
    if (!rule.has_value() || !Fits(node, *rule)) return absl::OkStatus();
    const Shardings asked = (*wanted)[node];
    Shardings results;
    for (size_t i = 0; i < rule->results.size(); ++i) {
      const size_t rank = rule->results[i].dims.size();
      results.push_back(Sharding::Replicated(rank));
      // A list has one result for all of its elements; the first wanted layout among them counts.
      for (size_t j = i; j < asked.size(); ++j) {
        if (asked[j].dims_mapping.size() == rank && results[i].is_replicated())
          results[i] = asked[j];
        if (rule->results.size() > 1) break;
      }
    }
    const absl::StatusOr<Inferred> inferred = InferBackward(*rule, *MeshOf(node), results);
    if (!inferred.ok()) return absl::OkStatus();  // The results of one call disagree.
    for (size_t i = 0; i < operands.size(); ++i) {
      Node* const x = operands[i];
      if (inferred->operands[i].is_replicated() || !(*wanted)[x].empty() || !facts_[x].is_static())
        continue;
      const Mesh& mesh = MeshOf(x) == nullptr ? *MeshOf(node) : *MeshOf(x);
      Sharding carried = Carried(x, inferred->operands[i], *MeshOf(node), mesh);
      if (CheckSharding(carried, mesh, *facts_[x].sizes).ok()) (*wanted)[x] = {std::move(carried)};
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
    const Mesh& mesh = *MeshOf(node);
    const auto is_elsewhere = [&](const Node* x) {
      return MeshOf(x) != nullptr && *MeshOf(x) != mesh;
    };
    const bool is_whole =
        absl::c_all_of(operands, [&](const Node* x) { return shardings_[x].empty(); });
    if (is_whole && absl::c_none_of(operands, is_elsewhere)) {
      Annotate(node, {});
      return absl::OkStatus();
    }
    if (TakeElement(node)) return absl::OkStatus();
    if (schema != nullptr && schema->name == "squeeze") NameSqueezedDims(node, *schema);
    std::vector<TensorFacts> facts;
    std::vector<Sharding> given;
    for (const Node* operand : operands) {
      facts.push_back(facts_[operand]);
      given.push_back(ShardingOf(operand));
      if (!is_elsewhere(operand)) continue;
      if (!facts_[operand].is_tensor() || !facts_[operand].is_static())
        return NodeError(*node,
                         absl::StrCat("takes ", Printable(operand->name()),
                                      " from another mesh, which is not a tensor of known shape"));
      given.back() = Carried(operand, given.back(), *MeshOf(operand), mesh);
    }
    const CallFacts call(*node, std::move(facts), facts_[node]);
    std::optional<ShardingRule> rule = ShardingRuleOfCall(call);
    if (rule.has_value() && !Fits(node, *rule)) rule.reset();
    std::vector<Sharding> wanted;
    Inferred inferred;
    if (rule.has_value()) {
      ASSIGN_OR_RETURN(inferred,
                       InferForward(*rule, mesh, given, OnConflict::kFirstCounts, Order(operands)));
      // A value of unknown shape cannot change its layout.
      for (size_t i = 0; i < operands.size(); ++i) {
        if (inferred.operands[i] != given[i] && !facts_[operands[i]].is_static()) rule.reset();
      }
    }
    if (rule.has_value()) {
      wanted = std::move(inferred.operands);
      Annotate(node, std::move(inferred.results));
    } else {
      if (!is_whole) ++result_.replicated[std::string(node->target())];
      for (const Node* operand : operands) wanted.push_back(Whole(operand));
      Annotate(node, {});
    }
    for (size_t i = 0; i < operands.size(); ++i) {
      if (is_elsewhere(operands[i])) {
        ++result_.reshards;
        ASSIGN_OR_RETURN(Node* const sent, Send(operands[i], mesh, wanted[i], node));
        node->SetOperand(static_cast<int>(i), sent);
        continue;
      }
      if (given[i] == wanted[i]) continue;
      ++result_.reshards;
      node->SetOperand(static_cast<int>(i), Reshard(operands[i], mesh, wanted[i], node));
    }
    return absl::OkStatus();
  }

  // Makes a squeeze name its dimensions, since a piece of another dimension may have size 1, too.
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

  // Returns whether the results are tensors of known sizes. Unknown sizes are taken from dimensions
  // with the same letter. A tuple or list must be taken apart by getitem, since it can only be
  // replicated otherwise.
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

  // Annotates a getitem of a sharded tuple or list; returns false for any other call.
  bool TakeElement(Node* node) {
    if (node->target() != "operator.getitem" || node->args().size() != 2) return false;
    const Node* whole = node->args()[0].is_node() ? node->args()[0].node() : nullptr;
    if (whole == nullptr || facts_[whole].is_tensor() || shardings_[whole].empty()) return false;
    const Shardings& all = shardings_[whole];
    const auto index = static_cast<size_t>(node->args()[1].integer());  // checked by Fits()
    Annotate(node, {all[std::min(index, all.size() - 1)]});
    return true;
  }

  // Returns the indices of the operands, the largest in bytes first.
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

  // Reduces partial values that are returned, and gives outputs the requested layouts.
  absl::Status LayOutOutputs(Node* output) {
    const std::vector<Node*> values = output->operands();
    const std::vector<size_t> places = PlacesOfOutputs(*output);
    for (size_t i = 0; i < values.size(); ++i) {
      Node* value = values[i];
      const Mesh& mesh = MeshOfOutput(value);
      if (request_.gathered.contains(places[i])) {
        if (!facts_[value].is_tensor() || !facts_[value].is_static())
          return NodeError(*value, "cannot be gathered: it is not a tensor of known shape");
        Mesh one = Mesh::Of({1});
        one.ranks = {mesh.ranks[0]};
        ++result_.reshards;
        if (MeshOf(value) == nullptr) {
          value = Reshard(value, one, Whole(value), output);
        } else {
          ASSIGN_OR_RETURN(value, Send(value, one, Whole(value), output));
        }
        output->SetOperand(static_cast<int>(i), value);
        continue;
      }
      if (shardings_[value].size() > 1) continue;
      Sharding sharding = ShardingOf(value);
      sharding.partial.clear();
      const auto asked = request_.outputs.find(places[i]);
      if (asked != request_.outputs.end()) sharding = asked->second;
      if (sharding == ShardingOf(value)) continue;
      ++result_.reshards;
      output->SetOperand(static_cast<int>(i), Reshard(value, mesh, sharding, output));
    }
    return absl::OkStatus();
  }

  const ShardRequest& request_;
  const Stages& stages_;
  const bool is_staged_;  // true if every call is annotated
  const std::unique_ptr<Module> source_;
  RefusedCalls refused_;
  LoweredModule lowered_;
  const FactsTable known_;
  NodeTable<TensorFacts> facts_;
  NodeTable<Shardings> shardings_;  // empty if replicated
  NodeTable<const Mesh*> meshes_;
  std::set<Mesh, MeshOrder> mesh_storage_;  // meshes of reshards
  Graph* graph_;
  absl::flat_hash_map<std::pair<Node*, std::string>, Node*> made_;
  ShardedGraph result_;
};

}  // namespace

absl::StatusOr<ShardedGraph> PropagateShardings(const Module& module, const ShardRequest& request) {
  if (module.main() == nullptr) return absl::InvalidArgumentError("the module has no graphs");
  return Propagation(module, request).Run();
}

absl::StatusOr<ShardedGraph> PropagateShardings(const Module& module, const Mesh& mesh,
                                                const std::map<std::string, Sharding>& inputs) {
  ShardRequest request;
  request.stages.meshes = {{"mesh", mesh}};
  request.inputs = inputs;
  return PropagateShardings(module, request);
}

}  // namespace graphnet::spmd
