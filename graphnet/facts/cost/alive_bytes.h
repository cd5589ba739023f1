// Computes how many bytes are alive at once while a graph runs.
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

// The caller says in which memory each value lies, in program order, and gets the live bytes:
//
//   AliveBytes alive(graph);
//   alive.Keep(4096);                       // an input
//   const auto memory = alive.Take(conv, 1024);
//   alive.Share(relu_, memory);             // it writes in place
//   for (const auto& [node, bytes] : alive.ByNode()) …
//
// A memory lives until the last node that uses a value in it has run. If a value lies in several
// memories, as a list does, they all live equally long. Takes time and space in proportion to the
// graph.
class AliveBytes {
 public:
  // The number of a memory.
  using Memory = size_t;
  // No memory, or memory that is kept: a value that lies there frees nothing.
  static constexpr Memory kNone = 0;

  explicit AliveBytes(const Graph& graph)
      : graph_(graph), memory_of_(*graph.module()), taken_(*graph.module()) {}

  // Adds memory that lives all the time, as that of inputs and attributes does.
  void Keep(int64_t bytes) { kept_ += bytes; }
  // Adds new memory for the value of `node` and returns it.
  Memory Take(const Node& node, int64_t bytes);
  // Adds existing memory to those in which the value of `node` lies.
  void Share(const Node& node, Memory memory);
  // Returns the memory of a node's value.
  Memory Of(const Node& node) const { return memory_of_[&node]; }

  // Returns the bytes that are alive while each node runs, including its own result, in program
  // order. Sums saturate at the largest int64.
  std::vector<std::pair<const Node*, int64_t>> ByNode();

 private:
  // Returns the memory that stands for all those that live as long as this one.
  Memory Root(Memory memory);

  const Graph& graph_;
  absl::int128 kept_ = 0;
  NodeTable<Memory> memory_of_;
  NodeTable<absl::int128> taken_;
  std::vector<Memory> parents_ = {kNone};
};

}  // namespace graphnet

#endif  // GRAPHNET_FACTS_COST_ALIVE_BYTES_H_
