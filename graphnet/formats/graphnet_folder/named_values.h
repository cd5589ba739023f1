// NamedValues holds the lists, tuples, dicts and slices that names in a model.py are bound to.
//
// A name may be a part of many values, as in `v1 = (v0, v0)`. So bound values are shared as in
// Python: each is kept once. The arguments of a node are written out in full as long as a budget
// allows it, which grows with the size of the file. After that, each large value becomes a node,
// and the others refer to it:
//
//   %TupleConstruct = prim.TupleConstruct(%x, %x)
//   %TupleConstruct_1 = prim.TupleConstruct(%TupleConstruct, %TupleConstruct)
#ifndef GRAPHNET_FORMATS_GRAPHNET_FOLDER_NAMED_VALUES_H_
#define GRAPHNET_FORMATS_GRAPHNET_FOLDER_NAMED_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/base/arena.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/shared_walk.h"

namespace graphnet {

class NamedValues {
 public:
  // `text_size` is the size of the file in bytes. `module` must outlive this object.
  NamedValues(Module* module, size_t text_size)
      : module_(*module), budget_(kFreeValues + kValuesPerByte * text_size) {}

  // True if no value is kept.
  bool empty() const { return kept_.empty(); }
  // Returns a copy of `value`, to which a name is bound, that lives as long as this object. The
  // copy shares the kept values that are a part of it. O(elements outside of kept values).
  Argument Keep(const Argument& value);
  // Returns whether `value` contains a node, also inside kept values. O(elements outside of those).
  bool HasNode(const Argument& value) const;

  // A function that creates a call of `target` in the current graph.
  using MakeNode =
      absl::FunctionRef<Node*(absl::string_view target, absl::Span<const Argument> args)>;
  // Returns `value` as an argument of a node of `graph`: unchanged if the budget allows it, else
  // with nodes in place of large kept values. Valid until Forget.
  Argument WrittenOut(const Argument& value, const Graph* graph, MakeNode make);
  // Frees what WrittenOut returned. Called before each statement.
  void Forget() { arguments_.clear(); }

 private:
  static constexpr uint64_t kFreeValues = uint64_t{1} << 20;
  static constexpr uint64_t kValuesPerByte = 16;

  struct Kept {
    Argument value;
    Expansion all;
    bool has_node = false;
    // The call in `graph` that makes the value; null if there is none yet.
    Node* node = nullptr;
    const Graph* graph = nullptr;
  };
  Kept* Find(const Argument& value);
  const Kept* Find(const Argument& value) const {
    return const_cast<NamedValues*>(this)->Find(value);
  }
  // Returns the expansion of any value. Sets `has_kept` if the value or a part of it is kept.
  Expansion ExpansionOf(const Argument& value, bool* has_kept) const;
  bool IsLarge(const Kept& kept) const;
  // Returns `value` with nodes in place of the kept parts that have one in `graph`.
  Argument Shortened(const Argument& value, const Graph* graph);
  Node* NodeOf(Kept* kept, const Graph* graph, MakeNode make);

  Module& module_;
  Budget budget_;
  Arena arena_;
  absl::flat_hash_map<const Argument*, Kept> kept_;  // by the address of the elements
  std::vector<std::vector<Argument>> arguments_;
};

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_GRAPHNET_FOLDER_NAMED_VALUES_H_
