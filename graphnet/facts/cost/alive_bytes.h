// The bytes that live at once while a graph runs, told from where its values lie.
#ifndef GRAPHNET_FACTS_COST_ALIVE_BYTES_H_
#define GRAPHNET_FACTS_COST_ALIVE_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/numeric/int128.h"
#include "graphnet/ir/graph.h"
#include "graphnet/ir/node_table.h"

namespace graphnet {

// The caller says where each value lies, in program order, and learns what lives at once:
//
//   AliveBytes alive(graph);
//   alive.Keep(4096);                       // an input
//   const auto memory = alive.Take(conv, 1024);
//   alive.Share(relu_, memory);             // it writes in place
//   for (const auto& [node, bytes] : alive.ByNode()) …
//
// Memory lives until the last node that uses a value which lies in it has run. A value that lies in
// several memories, such as a list, keeps all of them as long as any of them lives. Time and memory
// are in proportion to the graph.
class AliveBytes {
 public:
  using Memory = size_t;
  // Stands for no memory, and for memory that is kept: a value that lies there frees nothing.
  static constexpr Memory kNone = 0;

  explicit AliveBytes(const Graph& graph)
      : graph_(graph), memory_of_(*graph.module()), taken_(*graph.module()) {}

  // Memory that lives all the time, as that of inputs and attributes does.
  void Keep(int64_t bytes) { kept_ += bytes; }
  // Memory that is new with the value of `node`.
  Memory Take(const Node& node, int64_t bytes);
  // The value of `node` lies in memory that is there already, too.
  void Share(const Node& node, Memory memory);
  Memory Of(const Node& node) const { return memory_of_[&node]; }

  // The bytes that live while each node runs, its own included, in program order. Sums beyond
  // int64 stay at its largest.
  std::vector<std::pair<const Node*, int64_t>> ByNode();

 private:
  // The memory that stands for all that live as long as this one.
  Memory Root(Memory memory);

  const Graph& graph_;
  absl::int128 kept_ = 0;
  NodeTable<Memory> memory_of_;
  NodeTable<absl::int128> taken_;
  std::vector<Memory> parents_ = {kNone};
};

}  // namespace graphnet

#endif  // GRAPHNET_FACTS_COST_ALIVE_BYTES_H_
