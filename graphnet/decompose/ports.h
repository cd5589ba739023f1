// Compares what a piece takes with what the piece before it returns.
#ifndef GRAPHNET_DECOMPOSE_PORTS_H_
#define GRAPHNET_DECOMPOSE_PORTS_H_

#include <memory>
#include <string>

#include "graphnet/facts/shapes/tensor_facts.h"
#include "graphnet/ir/module.h"

namespace graphnet {

// What is known of the values of one module: its metas, and what follows from them
// (facts/shapes/facts_table.h). Nothing is computed before it is asked for.
class PieceFacts {
 public:
  // `module` must outlive this.
  explicit PieceFacts(const Module& module);
  ~PieceFacts();
  PieceFacts(PieceFacts&&) noexcept;

  // Returns the facts of a node of the main graph.
  TensorFacts Of(const Node& node);

 private:
  struct Table;
  const Module* module_;
  std::unique_ptr<Table> table_;  // null until it is needed
};

// Returns how the meta of `port` contradicts the tensor that it is given: "dtype is bf16, not f32";
// empty if it does not, or if one of them is unknown. Dtypes, ranks, sizes that are numbers, and
// devices are compared.
std::string PortContradiction(const Node& port, const TensorFacts& given);

}  // namespace graphnet

#endif  // GRAPHNET_DECOMPOSE_PORTS_H_
