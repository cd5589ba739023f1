// MutableClasses: the values of a graph that may share memory that the graph writes to. Pieces that
// touch such memory must run in their order, each on the memory as the pieces before it left it.
#ifndef GRAPHNET_DECOMPOSE_MUTATION_H_
#define GRAPHNET_DECOMPOSE_MUTATION_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "graphnet/decompose/graph_index.h"

namespace graphnet {

// Classes of values that may share memory, by the effects of the operators
// (facts/memory/memory_use.h) and because several get_attrs read one attribute. Placeholders are
// assumed to share nothing.
class MutableClasses {
 public:
  static constexpr int kNone = -1;

  // Little more than O(nodes and operands).
  explicit MutableClasses(const GraphIndex& index);

  size_t size() const { return members_.size(); }
  // Returns the class of a node's value; kNone if nothing writes to its memory.
  int ClassOf(size_t node) const { return class_of_[node]; }
  // The nodes of a class, in order.
  absl::Span<const uint32_t> members(int c) const { return members_[static_cast<size_t>(c)]; }
  // The first and the last node that may write to the memory of class `c`.
  size_t first_write(int c) const { return first_write_[static_cast<size_t>(c)]; }
  size_t last_write(int c) const { return last_write_[static_cast<size_t>(c)]; }

 private:
  std::vector<int> class_of_;
  std::vector<std::vector<uint32_t>> members_;
  std::vector<size_t> first_write_;
  std::vector<size_t> last_write_;
};

}  // namespace graphnet

#endif  // GRAPHNET_DECOMPOSE_MUTATION_H_
