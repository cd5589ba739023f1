// The lists, tuples, dicts and slices that names of a model.py are bound to.
//
// A name may be a part of many values, as in `v1 = (v0, v0)`. What is bound is therefore kept
// as Python has it, each value once. The arguments of a node are written out, as far as a budget
// that the size of the file sets allows; beyond it a value becomes a node of its own, which the
// others take:
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
  // Of a file of so many bytes.
  NamedValues(Module* module, size_t text_size)
      : module_(*module), budget_(kFreeValues + kValuesPerByte * text_size) {}

  // `value`, which a name is bound to, where it stays. What is in it of kept values is shared.
  // O(what is in it besides).
  Argument Keep(const Argument& value);
  // Whether a node is in `value`, of which kept values may be a part. O(what is in it besides).
  bool HasNode(const Argument& value) const;

  // `make` creates a call of that target in the graph whose nodes are being made.
  using MakeNode =
      absl::FunctionRef<Node*(absl::string_view target, absl::Span<const Argument> args)>;
  // An argument of a node of `graph`: `value` as it is if the budget allows it, else with nodes
  // in the place of the large values that are kept. Lives until Forget.
  Argument WrittenOut(const Argument& value, const Graph* graph, MakeNode make);
  // Before the next statement.
  void Forget() { arguments_.clear(); }

 private:
  static constexpr uint64_t kFreeValues = uint64_t{1} << 20;
  static constexpr uint64_t kValuesPerByte = 16;

  struct Kept {
    Argument value;
    Expansion all;
    bool has_node = false;
    // The call that makes it, in this graph.
    Node* node = nullptr;
    const Graph* graph = nullptr;
  };
  Kept* Find(const Argument& value);
  const Kept* Find(const Argument& value) const {
    return const_cast<NamedValues*>(this)->Find(value);
  }
  // Of a value that need not be kept; whether a part of it is.
  Expansion ExpansionOf(const Argument& value, bool* has_kept) const;
  bool IsLarge(const Kept& kept) const;
  // With nodes in the place of its parts that are large.
  Argument Shortened(const Argument& value, const Graph* graph);
  Node* NodeOf(Kept* kept, const Graph* graph, MakeNode make);

  Module& module_;
  Budget budget_;
  Arena arena_;
  absl::flat_hash_map<const Argument*, Kept> kept_;  // by where the elements are
  std::vector<std::vector<Argument>> arguments_;
};

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_GRAPHNET_FOLDER_NAMED_VALUES_H_
