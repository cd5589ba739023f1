// Which tensors of a lowered graph (ops/lowering.h) see the same memory, which calls write to it,
// and whether the writes can be told as values: what functionalize.h rewrites by.
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

// What the analyses of all graphs of a module share.
struct LoweredFacts {
  const LoweredModule* lowered;
  const RefusedCalls* refused;
  const FactsTable* facts;
  Arena* arena;
  // Of the program: calls that had an argument `out`, and the copies that stand for it.
  absl::flat_hash_set<const Node*> out_calls;
  absl::flat_hash_set<const Node*> out_copies;
  // Bodies in which a write stays.
  absl::flat_hash_map<const Graph*, bool> writes;
};

class WriteAnalysis {
 public:
  // Memory of its own, as far as is known: an input, an attribute, what a call yields that is no
  // view.
  struct Memory {
    const Node* made_by = nullptr;
    int root = -1;  // the view that is all of it
    bool is_escaping = false;
    bool is_written = false;
    uint32_t born = 0;      // Node::index() of the node that makes it
    uint32_t last_use = 0;  // ditto of the last one that takes a tensor in it
    int group = -1;         // itself, or one that is nearer to the one that stands for all
    int blocked = -1;       // why it is left as it is: a place in reasons_; of the one for all
  };
  struct View {
    int parent = -1;  // the view that `step` is made of; -1: none, it is the memory itself
    int memory = -1;
    int depth = 0;
    ViewStep step;
    const Node* like = nullptr;  // a node of this value; null: only others are made of it
  };
  struct Write {
    enum class Form : uint8_t {
      kTwin,        // the value of `twin`
      kCopy,        // of x[…] = tensor
      kFill,        // of x[…] = number
      kIndexPut,    // of x[tensor] = …
      kStatistics,  // those of a normalisation: `view` and `second`
      kShape,       // none: the tensor is another view from here on, `view`
    };
    const Node* node = nullptr;
    Form form = Form::kTwin;
    int view = -1;
    int second = -1;
    const Schema* twin = nullptr;
    Argument value;                 // of kCopy, kFill and kIndexPut
    std::vector<Argument> indices;  // of kIndexPut
    int extra_dims = 0;             // that the tensor written has in front, of one element
  };

  // O(nodes). With `keeps_final`, copies to inputs that nothing follows are no writes, if there
  // are no others to the input: what an input became, written back.
  WriteAnalysis(const Graph& graph, bool is_main, bool keeps_final, LoweredFacts* shared);

  // The tensor that the value of a node is, counted from 0; -1: none that is followed. Writes
  // and changes of shape yield the tensor that they are given.
  int TensorOf(const Node* node) const { return tensors_[node] - 1; }
  // The view that each tensor is when it is made.
  absl::Span<const int> first_views() const { return first_view_; }
  const View& view(int i) const { return views_[static_cast<size_t>(i)]; }
  const Memory& memory(int i) const { return memories_[static_cast<size_t>(i)]; }
  size_t num_views() const { return views_.size(); }
  size_t num_memories() const { return memories_.size(); }
  // Null when the node writes nothing.
  const Write* WriteOf(const Node* node) const {
    const int i = write_of_[node];
    return i == 0 ? nullptr : &writes_[static_cast<size_t>(i) - 1];
  }
  // The copies that are no writes.
  absl::Span<const Node* const> final_copies() const { return final_copies_; }
  // Whether all writes to the memory become values.
  bool IsRewritten(int memory) const;
  bool any_rewritten() const;
  // The groups with writes that stay, each with the reason and the first call it is said of.
  struct Reason {
    std::string what;
    const Node* call;
  };
  std::vector<Reason> Blocked() const;
  // Whether a call that stays may write to what it is given.
  bool may_write() const { return unknown_writes_ || any_blocked_; }

 private:
  void Walk(const Graph& graph);
  void AddCall(const Node& call);
  void AddOperator(const Node& call, const Schema& schema);
  void AddWriter(const Node& call, const Schema& schema);
  // False: it is not known where the diagonal is.
  bool AddFillDiagonal(const Node& call, const Schema& schema);
  void AddStatistics(const Node& call, const Schema& schema);
  void AddGetItem(const Node& call);
  void AddSetItem(const Node& call);
  // A call that may write to all that it is given.
  void AddUnknown(const Node& call, absl::string_view why);
  // Its value is memory of its own, which may be what it is given, too.
  void AddFresh(const Node& call, bool shares, const Schema* schema = nullptr);
  bool MayBeTensor(const Node& call) const;
  // The view that `steps` make of `parent`.
  int AddSteps(int parent, absl::Span<const ViewStep> steps, const Node* like);
  void AddWrite(Write write);
  // Whether the other operands of a write can be read before it as well as during it.
  void CheckOperands(const Write& write, const Node& call, const Argument* written,
                     bool same_is_fine);
  // Ditto of one that stands for an argument `out`.
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
  NodeTable<int> tensors_;  // one more than the number of the tensor that a node is
  std::vector<int> first_view_;
  std::vector<int> current_view_;
  NodeTable<int> write_of_;  // one more than its place in writes_
  NodeTable<bool> contiguous_;
  // Lists of views, and tuples of tensors that are no views, by their schema or without one.
  enum class Sequence : uint8_t { kNone, kViews, kValues };
  NodeTable<Sequence> sequences_;
  absl::flat_hash_map<std::pair<const Node*, int64_t>, int> elements_;  // memories
  absl::flat_hash_map<absl::string_view, int> attributes_;              // memories
  absl::flat_hash_map<std::string, int> known_views_;
  std::vector<Reason> reasons_;
  std::vector<const Node*> final_copies_;
  bool unknown_writes_ = false;
  bool any_blocked_ = false;
  std::vector<bool> autocasts_;  // the regions that are open: whether each is on
};

}  // namespace graphnet

#endif  // GRAPHNET_FACTS_MEMORY_WRITE_ANALYSIS_H_
