// Finds the tensors of a lowered graph (ops/lowering.h) that share memory, the calls that write to
// it, and whether new values can replace the writes. functionalize.h uses it.
#ifndef GRAPHNET_FACTS_MEMORY_WRITE_ANALYSIS_H_
#define GRAPHNET_FACTS_MEMORY_WRITE_ANALYSIS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/base/arena.h"
#include "graphnet/facts/memory/view_steps.h"
#include "graphnet/facts/shapes/facts_table.h"
#include "graphnet/facts/shapes/result_rules.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/node_table.h"
#include "graphnet/ops/callable.h"
#include "graphnet/ops/lowering.h"

namespace graphnet {

// Facts that the analyses of all graphs of a module share.
struct LoweredFacts {
  const LoweredModule* lowered;
  const RefusedCalls* refused;
  const FactsTable* facts;
  Arena* arena;
  // Nodes of the original program: calls that had an argument `out`, and the copies that replaced
  // it.
  absl::flat_hash_set<const Node*> out_calls;
  absl::flat_hash_set<const Node*> out_copies;
  // Bodies in which a write remains.
  absl::flat_hash_map<const Graph*, bool> writes;
};

// The analysis of one graph.
class WriteAnalysis {
 public:
  // Memory that is separate as far as is known: that of an input, of an attribute, or of a call
  // that does not return a view.
  struct Memory {
    const Node* made_by = nullptr;
    int root = -1;             // the view that covers all of it
    bool is_escaping = false;  // visible outside: that of an input or attribute
    bool is_written = false;
    uint32_t born = 0;      // Node::index() of the node that makes it
    uint32_t last_use = 0;  // Node::index() of the last node that takes a tensor in it
    int group = -1;         // parent in a union-find forest of memories that may overlap
    int blocked = -1;       // of a root: why its writes stay, as an index into reasons_
  };
  // A view of a memory.
  struct View {
    int parent = -1;  // the view that `step` applies to; -1: it is the memory itself
    int memory = -1;
    int depth = 0;
    ViewStep step;
    const Node* like = nullptr;  // a node with this value; null: only other views use it
  };
  // A write by one node.
  struct Write {
    enum class Form : uint8_t {
      kTwin,        // writes the value of `twin`
      kCopy,        // x[…] = tensor
      kFill,        // x[…] = number
      kIndexPut,    // x[tensor] = …
      kStatistics,  // a normalisation updates its statistics, `view` and `second`
      kShape,       // no write: from here on the tensor is another view, `view`
    };
    const Node* node = nullptr;
    Form form = Form::kTwin;
    int view = -1;
    int second = -1;
    const Schema* twin = nullptr;
    Argument value;                 // for kCopy, kFill and kIndexPut
    std::vector<Argument> indices;  // for kIndexPut
    int extra_dims = 0;             // leading dimensions of one element that `value` has too many
  };

  // O(nodes). With `keeps_final`, copies to inputs at the end of the graph do not count as writes
  // if nothing else writes to the input: they write the new value of the input back.
  WriteAnalysis(const Graph& graph, bool is_main, bool keeps_final, LoweredFacts* shared);

  // Returns the number of the tensor that the value of a node is, from 0; -1 if it is not tracked.
  // Writes and changes of shape return the tensor that they are given.
  int TensorOf(const Node* node) const { return tensors_[node] - 1; }
  // Returns for each tensor the view that it is at first.
  absl::Span<const int> first_views() const { return first_view_; }
  const View& view(int i) const { return views_[static_cast<size_t>(i)]; }
  const Memory& memory(int i) const { return memories_[static_cast<size_t>(i)]; }
  size_t num_views() const { return views_.size(); }
  size_t num_memories() const { return memories_.size(); }
  // Returns the write of a node; null if it writes nothing.
  const Write* WriteOf(const Node* node) const {
    const int i = write_of_[node];
    return i == 0 ? nullptr : &writes_[static_cast<size_t>(i) - 1];
  }
  // The copies at the end of the graph that do not count as writes.
  absl::Span<const Node* const> final_copies() const { return final_copies_; }
  // Returns whether all writes to the memory can become values.
  bool IsRewritten(int memory) const;
  bool any_rewritten() const;
  // Why the writes to a group of memories stay, and the first call that the reason is about.
  struct Reason {
    std::string what;
    const Node* call;
  };
  // Returns one reason for each group with writes that stay.
  std::vector<Reason> Blocked() const;
  // Returns whether a call that stays may write to its operands.
  bool may_write() const { return unknown_writes_ || any_blocked_; }

 private:
  void Walk(const Graph& graph);
  void AddCall(const Node& call);
  void AddOperator(const Node& call, const Schema& schema);
  void AddWriter(const Node& call, const Schema& schema);
  // Returns false if it is unknown where the diagonal is.
  bool AddFillDiagonal(const Node& call, const Schema& schema);
  void AddStatistics(const Node& call, const Schema& schema);
  void AddGetItem(const Node& call);
  void AddSetItem(const Node& call);
  // Adds a call that may write to all of its operands.
  void AddUnknown(const Node& call, absl::string_view why);
  // Gives the value of a call new memory, which may overlap that of its operands if it `shares`.
  void AddFresh(const Node& call, bool shares, const Schema* schema = nullptr);
  bool MayBeTensor(const Node& call) const;
  // Returns the view that `steps` make from `parent`, which is added if it is new.
  int AddSteps(int parent, absl::Span<const ViewStep> steps, const Node* like);
  void AddWrite(Write write);
  // Blocks the write unless its other operands can as well be read before it as during it.
  void CheckOperands(const Write& write, const Node& call, const Argument* written,
                     bool same_is_fine);
  // Returns whether a copy that replaced an argument `out` writes a tensor of the same sizes and dtype.
  bool FitsOut(const Node& copy) const;
  // Like CheckOperands, for such a copy.
  void CheckOut(const Write& copy);
  bool AreDisjointViews(int a, int b) const;

  void MarkUses(const Node& node);
  void DropFinalCopies(const Graph& graph);
  void FindConflicts();
  int NewMemory(const Node* node, bool escapes);
  void NewTensor(const Node* node, int view);
  int CurrentView(const Node* node) const {
    const int tensor = tensors_[node];
    return tensor == 0 ? -1 : current_view_[static_cast<size_t>(tensor) - 1];
  }
  int MemoryOf(const Node* node) const {
    const int view = CurrentView(node);
    return view < 0 ? -1 : views_[static_cast<size_t>(view)].memory;
  }
  int GroupOf(int memory) const;
  void Unite(int a, int b);
  void Block(int memory, absl::string_view why, const Node& call);
  void CheckWritable(int view, const Node& call);

  LoweredFacts& shared_;
  const FactsTable& facts_;
  const bool is_main_;
  ViewReader reader_;
  std::vector<Memory> memories_;
  std::vector<View> views_;
  std::vector<Write> writes_;
  NodeTable<int> tensors_;  // the number of the node's tensor, plus one
  std::vector<int> first_view_;
  std::vector<int> current_view_;
  NodeTable<int> write_of_;  // its index in writes_, plus one
  NodeTable<bool> contiguous_;
  // kViews: a list of views. kValues: a tuple or list of other tensors.
  enum class Sequence : uint8_t { kNone, kViews, kValues };
  NodeTable<Sequence> sequences_;
  absl::flat_hash_map<std::pair<const Node*, int64_t>, int> elements_;  // memories
  absl::flat_hash_map<absl::string_view, int> attributes_;              // memories
  absl::flat_hash_map<std::string, int> known_views_;
  std::vector<Reason> reasons_;
  std::vector<const Node*> final_copies_;
  bool unknown_writes_ = false;
  bool any_blocked_ = false;
  std::vector<bool> autocasts_;  // for each open region, whether it is on
};

}  // namespace graphnet

#endif  // GRAPHNET_FACTS_MEMORY_WRITE_ANALYSIS_H_
