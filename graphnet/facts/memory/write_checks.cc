// Decides whether a new value can replace a write.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "graphnet/facts/memory/view_steps.h"
#include "graphnet/facts/memory/write_analysis.h"
#include "graphnet/facts/shapes/facts_table.h"
#include "graphnet/facts/shapes/result_rules.h"
#include "graphnet/ops/schema_table.h"

namespace graphnet {
namespace {

// Writing a value through n views takes n calls each time.
constexpr int kMaxViews = 64;

}  // namespace

void WriteAnalysis::CheckWritable(int view, const Node& call) {
  const int memory = views_[static_cast<size_t>(view)].memory;
  if (views_[static_cast<size_t>(view)].depth > kMaxViews) {
    return Block(memory, "it is a view through too many views", call);
  }
  for (; views_[static_cast<size_t>(view)].parent >= 0;
       view = views_[static_cast<size_t>(view)].parent) {
    const ViewStep& step = views_[static_cast<size_t>(view)].step;
    if (step.inverse == ViewStep::Inverse::kNone) {
      return Block(memory, absl::StrCat("graphnet cannot write through ", step.target), call);
    }
  }
}

void WriteAnalysis::CheckOperands(const Write& write, const Node& call, const Argument* written,
                                  bool same_is_fine) {
  const int memory = views_[static_cast<size_t>(write.view)].memory;
  bool is_first = true;
  call.ForEachOperand([&](const Node* operand) {
    // The written tensor comes first.
    if (std::exchange(is_first, false) && operand == written->node()) return;
    const int view = CurrentView(operand);
    if (view < 0 || views_[static_cast<size_t>(view)].memory != memory) return;
    if (view == write.view ? same_is_fine : AreDisjointViews(view, write.view)) return;
    // The true elements of a mask are found before anything is written.
    if (write.form == Write::Form::kIndexPut && facts_.Of(operand).dtype == DType::kBool &&
        !(write.value.is_node() && write.value.node() == operand)) {
      return;
    }
    Block(memory, "the call that writes to it also reads it", call);
  });
}

bool WriteAnalysis::FitsOut(const Node& copy) const {
  const TensorFacts to = facts_.Of(copy.args()[0].node());
  const TensorFacts from =
      copy.args()[1].is_node() ? facts_.Of(copy.args()[1].node()) : TensorFacts();
  return to.is_static() && from.sizes == to.sizes && to.dtype != DType::kUnknown &&
         to.dtype == from.dtype;
}

void WriteAnalysis::CheckOut(const Write& copy) {
  const int memory = views_[static_cast<size_t>(copy.view)].memory;
  const Node* call = copy.node->args()[1].is_node() ? copy.node->args()[1].node() : nullptr;
  bool fits = FitsOut(*copy.node);
  if (call != nullptr && call->is_call_function("operator.getitem") && call->args()[0].is_node()) {
    // The call has several results. It stays as a whole, or none of its tensors is given to it.
    call = call->args()[0].node();
    for (const Node* item : call->users()) {
      for (const Node* user : item->users()) {
        const bool is_copy = shared_.out_copies.contains(shared_.lowered->origins[user]);
        fits = fits && (!is_copy || FitsOut(*user));
      }
    }
  }
  const Schema* const schema = call == nullptr ? nullptr : FindOverload(call->target());
  if (schema == nullptr || !fits) {
    return Block(memory, "out may have other sizes or another dtype than the result", *copy.node);
  }
  call->ForEachOperand([&](const Node* operand) {
    const int view = CurrentView(operand);
    if (view < 0 || views_[static_cast<size_t>(view)].memory != memory) return;
    if (view == copy.view ? IsPointwise(*schema) : AreDisjointViews(view, copy.view)) return;
    Block(memory, "the call that writes to it also reads it", *copy.node);
  });
}

bool WriteAnalysis::AreDisjointViews(int a, int b) const {
  const auto at = [this](int i) -> const View& { return views_[static_cast<size_t>(i)]; };
  while (at(a).depth > at(b).depth) a = at(a).parent;
  while (at(b).depth > at(a).depth) b = at(b).parent;
  if (a == b) return false;
  while (at(a).parent != at(b).parent) {
    a = at(a).parent;
    b = at(b).parent;
  }
  const Node* const like = at(at(a).parent).like;
  return AreDisjoint(at(a).step, at(b).step,
                     like == nullptr ? Sizes() : facts_.Of(like).sizes.value_or(Sizes()));
}

void WriteAnalysis::DropFinalCopies(const Graph& graph) {
  std::vector<int> count(memories_.size());
  for (const Write& write : writes_) {
    ++count[static_cast<size_t>(GroupOf(views_[static_cast<size_t>(write.view)].memory))];
  }
  absl::flat_hash_set<int> used;  // groups that later nodes use
  const auto use = [&](const Node* node) {
    if (const int memory = MemoryOf(node); memory >= 0) used.insert(GroupOf(memory));
  };
  const Node* node = graph.output();
  if (node == nullptr) return;
  node->ForEachOperand(use);
  for (node = node->prev(); node != nullptr; node = node->prev()) {
    const int i = write_of_[node];
    if (i == 0 || node->has_uses() || !node->is_call_function("aten.copy_.default") ||
        shared_.out_copies.contains(shared_.lowered->origins[node])) {
      break;
    }
    Write& write = writes_[static_cast<size_t>(i) - 1];
    const View& view = views_[static_cast<size_t>(write.view)];
    const int group = GroupOf(view.memory);
    const Argument& value = node->args()[1];
    if (view.parent >= 0 || !memory(view.memory).is_escaping || used.contains(group) ||
        count[static_cast<size_t>(group)] != 1 || memory(group).blocked >= 0 || !value.is_node() ||
        MemoryOf(value.node()) < 0 || GroupOf(MemoryOf(value.node())) == group) {
      return;
    }
    use(value.node());
    used.insert(group);
    final_copies_.push_back(node);
    write.node = nullptr;
    write_of_[node] = 0;
  }
  absl::c_reverse(final_copies_);
}

void WriteAnalysis::FindConflicts() {
  // Memories are in the order of their creation, writes in program order.
  std::vector<int> by_last_use;
  for (size_t i = 0; i < memories_.size(); ++i) {
    if (!memories_[i].is_escaping) by_last_use.push_back(static_cast<int>(i));
  }
  absl::c_stable_sort(by_last_use,
                      [this](int a, int b) { return memory(a).last_use < memory(b).last_use; });
  std::vector<int> alive(memories_.size());  // number of live memories by group
  size_t born = 0, dead = 0;
  for (const Write& write : writes_) {
    if (write.node == nullptr) continue;
    const uint32_t now = write.node->index();
    for (; born < memories_.size() && memories_[born].born < now; ++born)
      ++alive[static_cast<size_t>(GroupOf(static_cast<int>(born)))];
    for (; dead < by_last_use.size() && memory(by_last_use[dead]).last_use < now; ++dead)
      --alive[static_cast<size_t>(GroupOf(by_last_use[dead]))];
    for (const int view : {write.view, write.second}) {
      if (view < 0) continue;
      const int memory = views_[static_cast<size_t>(view)].memory;
      if (alive[static_cast<size_t>(GroupOf(memory))] > 1) {
        Block(memory, "a value that may share its memory is used later", *write.node);
      }
      if (!is_main_ && this->memory(memory).is_escaping) {
        Block(memory, "a body writes to its operand", *write.node);
      }
    }
  }
}

}  // namespace graphnet
