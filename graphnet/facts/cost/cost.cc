#include "graphnet/facts/cost/cost.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "graphnet/facts/cost/alive_bytes.h"
#include "graphnet/facts/memory/memory_use.h"
#include "graphnet/facts/shapes/tensor_facts.h"
#include "graphnet/ir/node_table.h"
#include "graphnet/ir/shared_walk.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/ops/callable.h"
#include "graphnet/ops/lowering.h"
#include "graphnet/ops/region_call.h"
#include "graphnet/ops/schema_table.h"
#include "graphnet/ops/value_type.h"

namespace graphnet {
namespace {

using Kind = TensorFacts::Kind;

constexpr uint64_t kVisitsANode = 64;

absl::Span<const Argument> ElementsOf(const Argument& argument) {
  return argument.is_list() || argument.is_tuple() ? argument.elements()
                                                   : absl::MakeConstSpan(&argument, 1);
}

// The facts of a value and of its elements.
struct Value {
  TensorFacts facts;
  std::vector<TensorFacts> elements;  // of a tuple or list, as far as known
};

// Returns the bytes of a value's tensors, as far as their sizes are known.
int64_t BytesOf(const Value& value) {
  if (value.facts.is_tensor()) return BytesOfTensor(value.facts).value_or(0);
  Cost sum;  // saturates
  for (const TensorFacts& element : value.elements) {
    if (element.is_tensor()) sum += {.bytes = BytesOfTensor(element).value_or(0)};
  }
  return sum.bytes;
}

// The levels of vmap that single calls open and close. A call on values that are batched at a level
// computes its result for each element of the batch.
class Levels {
 public:
  // Returns how many times the call computes its value; 0 if it only opens or closes a level.
  // `of(argument)` returns the facts of an operand.
  int64_t Enter(const Node& call, absl::FunctionRef<TensorFacts(const Argument&)> of) {
    const absl::string_view name = BareName(call);
    uint64_t levels = 0;
    call.ForEachOperand([&](const Node* operand) {
      if (const auto it = levels_of_.find(operand); it != levels_of_.end()) levels |= it->second;
    });
    if (name == "_vmap_increment_nesting") {
      depth_of_[&call] = ++depth_;
    } else if (name == "_vmap_decrement_nesting") {
      --depth_;
    } else if (name == "_add_batch_dim" && call.args().size() == 3) {
      const int level = LevelOf(call.args()[2]);
      const TensorFacts facts = of(call.args()[0]);
      const auto dims = DimsOf(call.args()[1], facts.rank());
      const bool is_known = dims.has_value() && !dims->empty();
      sizes_[level] = is_known ? std::max<int64_t>((*facts.sizes)[(*dims)[0]], 1) : 1;
      levels_of_[&call] = levels | uint64_t{1} << level;
    } else if (name == "_remove_batch_dim" && call.args().size() == 4) {
      levels_of_[&call] = levels & ~(uint64_t{1} << LevelOf(call.args()[1]));
    } else {
      if (levels == 0) return 1;
      levels_of_[&call] = levels;
      Cost times = {.calls = 1};
      for (size_t level = 0; level < sizes_.size(); ++level) {
        if ((levels >> level & 1) != 0) times = times.Times(sizes_[level]);
      }
      return times.calls;
    }
    return 0;
  }

 private:
  // Returns the number of a level. PyTorch has the levels 1 to 63.
  int LevelOf(const Argument& level) const {
    const int64_t depth = level.is_int() ? level.integer()
                          : level.is_node() && depth_of_.contains(level.node())
                              ? depth_of_.at(level.node())
                              : depth_;
    return static_cast<int>(std::clamp<int64_t>(depth, 0, 63));
  }

  int64_t depth_ = 0;
  absl::flat_hash_map<const Node*, int64_t> depth_of_;
  absl::flat_hash_map<const Node*, uint64_t> levels_of_;  // one bit per level
  std::array<int64_t, 64> sizes_ = {};
};

// A graph together with the facts of its parameters.
struct Instance {
  std::vector<std::pair<const Node*, Cost>> calls;  // nodes of the original module
  std::vector<std::pair<size_t, int64_t>> bodies;   // index of an instance, how often it runs
  Cost total;                                       // including all bodies
  int64_t open_loops = 0;
  Value result;
};

class Walk {
 public:
  explicit Walk(const Module& module)
      : original_(module), budget_(kVisitsANode * (module.num_indices() + 1)) {
    absl::StatusOr<LoweredModule> lowered = LowerToAten(module, &refused_);
    if (lowered.ok()) lowered_ = *std::move(lowered);
  }

  ModuleCost Run() {
    ModuleCost result;
    if (lowered_.module == nullptr || lowered_.module->main() == nullptr) return result;
    const std::optional<size_t> main = Visit(*lowered_.module->main(), {});
    if (!main.has_value()) return result;
    // A body comes before its callers.
    std::vector<int64_t> times(instances_.size());
    times[*main] = 1;
    NodeTable<Cost> costs(original_);
    for (size_t i = instances_.size(); i-- > 0;) {
      if (times[i] == 0) continue;
      const Instance& instance = instances_[i];
      for (const auto& [node, cost] : instance.calls) costs[node] += cost.Times(times[i]);
      for (const auto& [body, often] : instance.bodies) {
        Cost count = {.calls = times[body]};
        count += Cost{.calls = often}.Times(times[i]);
        times[body] = count.calls;
      }
      result.open_loops += instance.open_loops;
    }
    for (const Graph* graph : original_.graphs()) {
      for (const Node* node : graph->nodes()) {
        if (costs[node].calls > 0) result.calls.push_back({node, costs[node]});
      }
    }
    for (const auto& [node, cost] : result.calls) result.total += cost;
    SetAliveBytes(&result);
    return result;
  }

 private:
  // Sets the live bytes. Memory that a call or its bodies use internally does not count. A value
  // that may be a view of an operand and has the same dtype counts as a view.
  void SetAliveBytes(ModuleCost* result) {
    const Graph& graph = *lowered_.module->main();
    AliveBytes alive(graph);
    for (const Attribute& attribute : original_.attributes()) {
      if (attribute.meta != nullptr) alive.Keep(BytesOfTensor(OfMeta(attribute.meta)).value_or(0));
    }
    for (const Node* node : graph.nodes()) {
      const int64_t bytes = BytesOf(values_[node]);
      if (node->is_placeholder()) {
        alive.Keep(bytes);
      } else if (node->is_call() && !SharesMemory(*node, values_[node], &alive)) {
        alive.Take(*node, bytes);
      }
    }
    for (const auto& [node, bytes] : alive.ByNode()) {
      int64_t& most = result->alive_bytes[lowered_.origins[node]];
      most = std::max(most, bytes);
      result->peak_bytes = std::max(result->peak_bytes, bytes);
    }
  }

  // Returns whether the value of the call lies in memory of its operands, and records it.
  bool SharesMemory(const Node& call, const Value& value, AliveBytes* alive) const {
    if (call.HasBody()) return false;  // these may share memory, but nothing more is known
    bool shares = false;
    for (const Node* operand : MemoryUseOf(call).shared) {
      const TensorFacts& from = values_[operand].facts;
      if (from.is_tensor() && value.facts.is_tensor() && from.dtype != value.facts.dtype) continue;
      shares = true;
      alive->Share(call, alive->Of(*operand));
    }
    return shares;
  }

  // Returns the index of the instance; nullopt if the budget is spent.
  std::optional<size_t> Visit(const Graph& graph, std::vector<TensorFacts> parameters) {
    std::string key = absl::StrCat(reinterpret_cast<uintptr_t>(&graph));
    for (const TensorFacts& facts : parameters) {
      absl::StrAppend(&key, ";", facts.kind, ",", facts.dtype);
      if (!facts.sizes.has_value()) absl::StrAppend(&key, ",?");
      for (int d = 0; d < facts.rank(); ++d)
        absl::StrAppend(&key, ",", (*facts.sizes)[static_cast<size_t>(d)]);
    }
    if (const auto it = known_.find(key); it != known_.end()) return it->second;
    if (!budget_.Charge(graph.num_nodes())) return std::nullopt;
    Instance instance;
    Levels levels;
    size_t next = 0;
    const Node* last = nullptr;
    for (const Node* node : graph.nodes()) {
      const Node* origin = lowered_.origins[node];
      Value value;
      if (node->is_placeholder()) {
        if (next < parameters.size()) {
          value.facts = parameters[next];
        } else {
          const bool is_tensor = TypeOfAnnotation(node->annotation()).is_tensor();
          value.facts.kind = is_tensor ? Kind::kTensor : Kind::kOther;
        }
        ++next;
      }
      Cost cost;
      const bool is_refused = refused_.contains(origin);
      if (node->is_call()) {
        if (node->HasBody()) {
          cost = {.calls = 1};
          if (is_refused || !CallBodies(*node, &instance, &value)) cost.unknown = 1;
        } else if (!is_refused) {
          value = OfCall(*node);
        }
      }
      SetKnown(*node, origin, &value);
      values_[node] = std::move(value);
      if (!node->is_call()) continue;
      const int64_t times =
          levels.Enter(*node, [this](const Argument& a) { return OfArgument(a); });
      if (times == 0) {
        cost = {.calls = 1};
      } else if (!node->HasBody()) {
        cost = is_refused ? Cost{.calls = 1, .unknown = 1} : CostOfNode(*node);
        cost = cost.Times(times);
      }
      // A call may be lowered to several calls.
      if (origin == last) {
        cost.calls = 0;
        if (instance.calls.back().second.unknown > 0) cost.unknown = 0;
        instance.calls.back().second += cost;
      } else {
        instance.calls.push_back({origin, cost});
      }
      last = origin;
      instance.total += cost;
    }
    if (const Node* output = graph.output(); output != nullptr) {
      const Argument& returned = output->args()[0];
      if (returned.is_tuple() || returned.is_list()) {
        instance.result.facts.kind = Kind::kList;
        for (const Argument& element : returned.elements())
          instance.result.elements.push_back(OfArgument(element));
      } else if (returned.is_node()) {
        instance.result = values_[returned.node()];
      }
    }
    instances_.push_back(std::move(instance));
    known_[key] = instances_.size() - 1;
    return instances_.size() - 1;
  }

  // Applies the meta of the value, which overrides what follows from the operands.
  void SetKnown(const Node& node, const Node* origin, Value* value) {
    const ValueMeta* meta = node.meta();
    if (meta == nullptr && origin != nullptr) {
      const Argument& last = lowered_.values[origin];
      if (last.is_node() && last.node() == &node) meta = origin->meta();
    }
    if (meta == nullptr) return;
    if (meta->is_tuple) {
      value->facts.kind = Kind::kList;
      value->elements.clear();
      for (const ValueMeta* element : meta->elements)
        value->elements.push_back(OfMeta(element->tensor));
    } else if (meta->tensor != nullptr) {
      TensorFacts known = OfMeta(meta->tensor);
      if (known.dtype == DType::kUnknown) known.dtype = value->facts.dtype;
      if (!known.sizes.has_value()) known.sizes = value->facts.sizes;
      value->facts = std::move(known);
    }
  }

  // Returns the facts of a meta with the example values of symbols.
  TensorFacts OfMeta(const TensorMeta* meta) {
    TensorFacts facts = FactsOfMeta(meta);
    for (int d = 0; d < facts.rank(); ++d) {
      const Dim& dim = meta->shape[static_cast<size_t>(d)];
      if (dim.is_static()) continue;
      const auto [it, is_new] = examples_.try_emplace(dim.expr, -1);
      if (is_new) it->second = EvaluateWithExamples(original_, *dim.expr).value_or(-1);
      (*facts.sizes)[static_cast<size_t>(d)] = it->second;
    }
    return facts;
  }

  TensorFacts OfArgument(const Argument& argument) const {
    if (argument.is_node()) return values_[argument.node()].facts;
    if ((!argument.is_list() && !argument.is_tuple()) || argument.elements().empty())
      return TensorFacts::Other();
    TensorFacts facts = OfArgument(argument.elements()[0]);
    if (!facts.is_tensor()) return TensorFacts::Other();
    facts.kind = Kind::kList;
    facts.set_rank(facts.rank());
    return facts;
  }

  Value OfCall(const Node& node) const {
    Value value;
    if (node.target() == "operator.getitem") return OfSubscript(node);
    const Schema* schema = FindOverload(node.target());
    if (schema == nullptr) {
      const bool is_known =
          CalleeOf(node).kind != Callable::Kind::kForeign || IsOfTorchScript(node.target());
      value.facts.kind = is_known ? Kind::kOther : Kind::kUnknown;
      return value;
    }
    value.facts = FactsOfCall(
        node, *schema, [this](const Argument& a) { return OfArgument(a); },
        schema->yields_tuple() ? &value.elements : nullptr);
    return value;
  }

  // Returns an element of a tuple or list. The sizes of a part of a tensor come from its meta.
  Value OfSubscript(const Node& node) const {
    Value value;
    if (node.args().size() != 2) return value;
    const Argument& whole = node.args()[0];
    const Argument& index = node.args()[1];
    if (!whole.is_node()) return value;
    const Value& from = values_[whole.node()];
    value.facts.kind = from.facts.is_tensor()            ? Kind::kTensor
                       : from.facts.kind == Kind::kOther ? Kind::kOther
                                                         : Kind::kUnknown;
    value.facts.dtype = from.facts.dtype;
    const auto size = static_cast<int64_t>(from.elements.size());
    if (!index.is_int() || from.facts.is_tensor()) return value;
    const int64_t i = index.integer() < 0 ? index.integer() + size : index.integer();
    if (i >= 0 && i < size) value.facts = from.elements[static_cast<size_t>(i)];
    return value;
  }

  Cost CostOfNode(const Node& node) const {
    const Value& value = values_[&node];
    std::vector<TensorFacts> results = value.elements;
    if (value.facts.kind == Kind::kTensor || value.facts.kind == Kind::kUnknown)
      results = {value.facts};
    std::erase_if(results, [](const TensorFacts& f) { return f.kind == Kind::kOther; });
    return CostOfCall(
        node, [this](const Argument& a) { return OfArgument(a); }, results);
  }

  // Adds the operands of a body from an argument of a call.
  void AddOperands(const Argument& operands, std::vector<TensorFacts>* parameters) const {
    for (const Argument& operand : ElementsOf(operands)) parameters->push_back(OfArgument(operand));
  }

  // Returns the facts of one element along `dim`, which a body takes, and sets `*size` to the
  // number of elements.
  static TensorFacts OneOf(TensorFacts facts, const Argument& dim, int64_t* size) {
    if (dim.is_none() || !facts.sizes.has_value()) return facts;
    const auto at = DimsOf(dim, facts.rank());
    if (!at.has_value() || at->empty()) {
      facts.set_rank(-1);
      return facts;
    }
    const auto place = facts.sizes->begin() + static_cast<ptrdiff_t>((*at)[0]);
    *size = std::max(*size, *place);
    facts.sizes->erase(place);
    return facts;
  }
  // Returns the facts of `size` elements stacked along `dim`.
  static TensorFacts AllOf(TensorFacts facts, const Argument& dim, int64_t size) {
    if (dim.is_none() || !facts.sizes.has_value()) return facts;
    const auto at = DimsOf(dim, facts.rank() + 1);
    if (!at.has_value() || at->empty()) {
      facts.set_rank(-1);
    } else {
      facts.sizes->insert(facts.sizes->begin() + static_cast<ptrdiff_t>((*at)[0]), size);
    }
    return facts;
  }
  // Returns the entry of in_dims or out_dims for the i-th value.
  static Argument DimAt(const Argument& dims, size_t i) {
    if (!dims.is_list() && !dims.is_tuple()) return dims;
    return i < dims.elements().size() ? dims.elements()[i] : Argument();
  }

  bool Call(size_t body, int64_t times, Instance* instance) {
    const Instance& called = instances_[body];
    instance->bodies.push_back({body, times});
    instance->total += called.total.Times(times);
    return true;
  }

  // Adds the bodies that the call runs. Returns false if it is unknown how the call uses them.
  bool CallBodies(const Node& node, Instance* instance, Value* value) {
    const Callable callee = CalleeOf(node);
    const absl::Span<const Argument> args = node.args();
    const auto body_at = [&](size_t i) -> const Graph* {
      return i < args.size() && args[i].is_graph() ? args[i].graph() : nullptr;
    };
    std::vector<TensorFacts> parameters;
    if (callee.is_function("torch.cond")) {
      if (body_at(1) == nullptr || body_at(2) == nullptr || args.size() < 4) return false;
      AddOperands(args[3], &parameters);
      const auto first = Visit(*body_at(1), parameters);
      const auto second = Visit(*body_at(2), parameters);
      if (!first.has_value() || !second.has_value()) return false;
      const auto work = [&](size_t i) {
        const Cost& total = instances_[i].total;
        return std::tuple(total.flops, total.other, total.bytes);
      };
      const size_t taken = work(*second) > work(*first) ? *second : *first;
      *value = instances_[taken].result;
      return Call(taken, 1, instance);
    }
    if (callee.is_function("torch.while_loop")) {
      if (body_at(0) == nullptr || body_at(1) == nullptr || args.size() < 3) return false;
      AddOperands(args[2], &parameters);
      value->facts.kind = Kind::kList;
      value->elements = parameters;
      if (args.size() > 3) AddOperands(args[3], &parameters);
      ++instance->open_loops;
      for (const size_t i : {0, 1}) {
        const auto body = Visit(*body_at(i), parameters);
        if (!body.has_value()) return false;
        Call(*body, 1, instance);
      }
      return true;
    }
    if (callee.is_function("torch.vmap")) {
      if (body_at(0) == nullptr || args.size() < 4) return false;
      int64_t size = -1;
      const absl::Span<const Argument> operands = ElementsOf(args[1]);
      for (size_t i = 0; i < operands.size(); ++i)
        parameters.push_back(OneOf(OfArgument(operands[i]), DimAt(args[2], i), &size));
      return CallEach(*body_at(0), std::move(parameters), size, args[3], 0, instance, value);
    }
    if (callee.is_function("torch.ops.higher_order.map_impl")) {
      if (body_at(0) == nullptr || args.size() < 2) return false;
      int64_t size = -1;
      for (const Argument& operand : ElementsOf(args[1]))
        parameters.push_back(OneOf(OfArgument(operand), 0, &size));
      if (args.size() > 2) AddOperands(args[2], &parameters);
      return CallEach(*body_at(0), std::move(parameters), size, 0, 0, instance, value);
    }
    if (callee.is_function("torch.ops.higher_order.scan")) {
      if (body_at(0) == nullptr || args.size() < 3) return false;
      int64_t size = -1;
      AddOperands(args[1], &parameters);
      const size_t carried = parameters.size();
      for (const Argument& operand : ElementsOf(args[2]))
        parameters.push_back(OneOf(OfArgument(operand), 0, &size));
      if (args.size() > 3) AddOperands(args[3], &parameters);
      return CallEach(*body_at(0), std::move(parameters), size, 0, carried, instance, value);
    }
    const std::optional<RegionForm> form =
        callee.kind == Callable::Kind::kFunction ? RegionFormOf(callee.name) : std::nullopt;
    if (!form.has_value() || body_at(form->body) == nullptr) return false;
    for (size_t i = form->operands; i < args.size(); ++i) parameters.push_back(OfArgument(args[i]));
    const auto body = Visit(*body_at(form->body), std::move(parameters));
    if (!body.has_value()) return false;
    *value = instances_[*body].result;
    return Call(*body, 1, instance);
  }

  // Calls a body `size` times. All results but the first `carried` are stacked.
  bool CallEach(const Graph& graph, std::vector<TensorFacts> parameters, int64_t size,
                const Argument& dims, size_t carried, Instance* instance, Value* value) {
    const auto body = Visit(graph, std::move(parameters));
    if (!body.has_value() || size < 0) return false;
    *value = instances_[*body].result;
    if (value->facts.is_tensor()) value->facts = AllOf(value->facts, DimAt(dims, 0), size);
    for (size_t i = carried; i < value->elements.size(); ++i)
      value->elements[i] = AllOf(value->elements[i], DimAt(dims, i), size);
    return Call(*body, size, instance);
  }

  const Module& original_;
  RefusedCalls refused_;
  LoweredModule lowered_;
  Budget budget_;
  NodeTable<Value> values_;
  absl::flat_hash_map<const SymExpr*, int64_t> examples_;
  std::vector<Instance> instances_;
  absl::flat_hash_map<std::string, size_t> known_;
};

}  // namespace

ModuleCost CostOf(const Module& module) { return Walk(module).Run(); }

}  // namespace graphnet
