#include "graphnet/paddle/pir/groups.h"

#include <cstdint>
#include <optional>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "graphnet/ir/node_table.h"
#include "graphnet/paddle/pir/builder.h"
#include "graphnet/paddle/pir/formulas.h"
#include "graphnet/paddle/pir/operators.h"

namespace graphnet::pir {
namespace {

constexpr size_t kNoGroup = static_cast<size_t>(-1);

// Returns whether all sizes are known as numbers or symbols.
bool HasSizes(const ValueMeta* meta) {
  return meta != nullptr && meta->tensor != nullptr && meta->tensor->has_shape &&
         meta->tensor->dtype != DType::kUnknown;
}

bool IsOne(const Dim& dim) { return dim.is_static() && dim.value == 1; }

// Returns whether a node must keep its order among nodes with effects.
bool HasEffects(const Node& node) {
  if (absl::StartsWith(node.target(), "builtin.") || absl::StartsWith(node.target(), "cf.")) {
    return false;
  }
  // In test mode batch_norm does not change its statistics.
  const Argument* is_test = node.kwarg("is_test");
  if (node.is_call_function("pd_op.batch_norm_") && is_test != nullptr && is_test->is_bool() &&
      is_test->boolean()) {
    return false;
  }
  const Operator* op =
      absl::StartsWith(node.target(), "pd_op.") ? FindOperator(node.target()) : nullptr;
  return op == nullptr || op->has_effects;
}

// Returns whether a type broadcasts to another. Types come from text and may be inconsistent, and
// only consistent ones make loops.
bool Broadcasts(const TensorMeta& from, const TensorMeta& to) {
  if (from.shape.size() > to.shape.size()) return false;
  const size_t more = to.shape.size() - from.shape.size();
  for (size_t i = 0; i < from.shape.size(); ++i) {
    if (!IsOne(from.shape[i]) && !(from.shape[i] == to.shape[more + i])) return false;
  }
  return true;
}

// Returns whether a node has the operands and attributes that the formula mentions.
bool HasWhatItNames(const Node& node, const Formula& formula) {
  for (size_t i = 0; i + 1 < formula.text.size(); ++i) {
    if (formula.text[i] == '$' && formula.text[i + 1] != 'v') {
      const auto k = static_cast<size_t>(formula.text[i + 1] - '0');
      if (k >= node.args().size() || !node.args()[k].is_node()) return false;
      const Node* operand = node.args()[k].node();
      double ignored = 0;
      if (IsScalarConstant(*operand, &ignored)) continue;
      if (!HasSizes(operand->meta())) return false;
      if (!formula.is_reduction && !Broadcasts(*operand->tensor_meta(), *node.tensor_meta())) {
        return false;
      }
    }
    if (formula.text[i] == '@') {
      const absl::string_view rest = formula.text.substr(i + 1);
      const Argument* value = node.kwarg(rest.substr(0, rest.find_first_of(" )")));
      if (value == nullptr || !(value->is_int() || value->is_float())) return false;
    }
  }
  return true;
}

bool ReducesToItsShape(const Node& node) {
  const Node* x = node.args()[0].node();
  if (!HasSizes(x->meta())) return false;
  const std::vector<bool> is_reduced = *ReducedDims(node);
  std::vector<Dim> without;
  std::vector<Dim> with;
  for (size_t i = 0; i < is_reduced.size(); ++i) {
    const Dim size = x->tensor_meta()->shape[i];
    if (!is_reduced[i]) without.push_back(size);
    with.push_back(is_reduced[i] ? Dim(1) : size);
  }
  const absl::Span<const Dim> written = node.tensor_meta()->shape;
  return absl::c_equal(written, without) || absl::c_equal(written, with);
}

// Returns the operation that yields a value.
Node* OperationOf(Node* node) {
  const Node* of = nullptr;
  size_t i = 0;
  return IsResult(*node, &of, &i) ? node->args()[0].node() : node;
}

class Grouping {
 public:
  explicit Grouping(const Graph& graph) : graph_(graph), group_of_(*graph.module()) {
    for (Node* node : graph.nodes()) {
      group_of_[node] = kNoGroup;
      if (!node->is_call() || OperationOf(node) != node) continue;
      operations_.push_back(node);
    }
  }

  std::vector<Unit> Run() {
    for (Node* node : operations_) {
      if (HasEffects(*node)) {
        first_open_ = groups_.size();
        barrier_ = node;
      }
      if (GroupKindOf(*node) != GroupKind::kNone) Join(node);
    }
    Arrange();
    return std::move(units_);
  }

 private:
  void Join(Node* node) {
    size_t chosen = kNoGroup;
    node->ForEachOperand([&](Node* operand) {
      const size_t group = group_of_[OperationOf(operand)];
      if (group == kNoGroup || group == chosen || group < first_open_) return;
      if (TakesReductionOf(*node, group) || Reaches({node}, group)) return;
      if (chosen == kNoGroup) {
        chosen = group;
      } else {
        Merge(group, chosen);
      }
    });
    if (chosen != kNoGroup && Reaches({node}, chosen)) chosen = kNoGroup;
    if (chosen == kNoGroup) {
      chosen = groups_.size();
      groups_.emplace_back();
    }
    groups_[chosen].push_back(node);
    group_of_[node] = chosen;
  }

  // Merges two groups if that is allowed.
  void Merge(size_t from, size_t to) {
    const auto takes = [&](size_t group, size_t other) {
      return absl::c_any_of(groups_[group],
                            [&](const Node* member) { return TakesReductionOf(*member, other); });
    };
    if (takes(from, to) || takes(to, from) || Reaches(groups_[from], to) ||
        Reaches(groups_[to], from)) {
      return;
    }
    for (Node* member : groups_[from]) group_of_[member] = to;
    groups_[to].insert(groups_[to].end(), groups_[from].begin(), groups_[from].end());
    groups_[from].clear();
    absl::c_sort(groups_[to], [](const Node* a, const Node* b) { return a->IsBefore(b); });
  }

  bool TakesReductionOf(const Node& node, size_t group) const {
    bool takes = false;
    node.ForEachOperand([&](const Node* operand) {
      takes |= group_of_[operand] == group && GroupKindOf(*operand) == GroupKind::kReduction;
    });
    return takes;
  }

  // Returns whether a path through operations outside leads from `group` to one of `nodes`, which
  // are all in one group or in none.
  bool Reaches(const std::vector<Node*>& nodes, size_t group) {
    const size_t own = group_of_[nodes[0]];
    absl::flat_hash_set<Node*> seen;
    absl::flat_hash_set<size_t> seen_groups;
    std::vector<Node*> work;
    const auto add_operands = [&](const Node* of, bool is_start) {
      of->ForEachOperand([&](Node* operand) {
        Node* operation = OperationOf(operand);
        const size_t at = group_of_[operation];
        if (is_start && at != kNoGroup && (at == group || at == own)) return;
        // Operations before the barrier cannot depend on operations behind it.
        const bool is_before = barrier_ != nullptr && operation->IsBefore(barrier_);
        if (!is_before && operation->is_call() && seen.insert(operation).second) {
          work.push_back(operation);
        }
      });
    };
    for (const Node* node : nodes) add_operands(node, /*is_start=*/true);
    while (!work.empty()) {
      Node* at = work.back();
      work.pop_back();
      const size_t of = group_of_[at];
      if (of == group) return true;
      if (of == kNoGroup) {
        add_operands(at, /*is_start=*/false);
        continue;
      }
      // A group depends on the operands of all of its members.
      if (!seen_groups.insert(of).second) continue;
      for (const Node* member : groups_[of]) add_operands(member, /*is_start=*/false);
    }
    return false;
  }

  // Orders the units so that each comes after the units that it depends on.
  void Arrange() {
    NodeTable<size_t> unit_of(*graph_.module());
    std::vector<size_t> unit_of_group(groups_.size(), kNoGroup);
    std::vector<Unit> units;
    for (Node* node : operations_) {
      const size_t group = group_of_[node];
      if (group == kNoGroup) {
        unit_of[node] = units.size();
        units.push_back({false, {node}});
      } else {
        if (unit_of_group[group] == kNoGroup) {
          unit_of_group[group] = units.size();
          units.push_back({true, groups_[group]});
        }
        unit_of[node] = unit_of_group[group];
      }
    }
    std::vector<int> state(units.size(), 0);  // 1: begun, 2: done
    std::vector<size_t> stack;
    for (size_t start = 0; start < units.size(); ++start) {
      stack.push_back(start);
      while (!stack.empty()) {
        const size_t at = stack.back();
        if (state[at] == 2) {
          stack.pop_back();
          continue;
        }
        if (state[at] == 1) {
          state[at] = 2;
          units_.push_back(units[at]);
          stack.pop_back();
          continue;
        }
        state[at] = 1;
        for (Node* node : units[at].nodes) {
          node->ForEachOperand([&](Node* operand) {
            Node* operation = OperationOf(operand);
            if (operation->is_placeholder() || !operation->is_call()) return;
            const size_t needed = unit_of[operation];
            if (needed != at && state[needed] == 0) stack.push_back(needed);
          });
        }
      }
    }
  }

  const Graph& graph_;
  std::vector<Node*> operations_;
  std::vector<std::vector<Node*>> groups_;
  NodeTable<size_t> group_of_;
  size_t first_open_ = 0;          // groups before this index lie before the barrier
  const Node* barrier_ = nullptr;  // the last operation with effects
  std::vector<Unit> units_;
};

}  // namespace

bool IsScalarConstant(const Node& node, double* value) {
  const Argument* number = node.is_call_function("pd_op.full") ? node.kwarg("value") : nullptr;
  const TensorMeta* meta = node.tensor_meta();
  if (number == nullptr || !number->is_float() || meta == nullptr || !meta->has_shape) return false;
  const bool is_one =
      meta->shape.empty() ||
      (meta->shape.size() == 1 && meta->shape[0].is_static() && meta->shape[0].value == 1);
  *value = number->real();
  return is_one;
}

GroupKind GroupKindOf(const Node& node) {
  if (!node.is_call() || !HasSizes(node.meta())) return GroupKind::kNone;
  const Formula* formula = FormulaOf(node);
  if (formula == nullptr || !HasWhatItNames(node, *formula)) return GroupKind::kNone;
  if (formula->is_reduction) {
    return ReducesToItsShape(node) ? GroupKind::kReduction : GroupKind::kNone;
  }
  return GroupKind::kElementwise;
}

std::vector<Unit> GroupsOf(const Graph& graph) { return Grouping(graph).Run(); }

}  // namespace graphnet::pir
