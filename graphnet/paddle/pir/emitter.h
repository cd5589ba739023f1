// Internal to the lowering: makes operations with their types.
#ifndef GRAPHNET_PADDLE_PIR_EMITTER_H_
#define GRAPHNET_PADDLE_PIR_EMITTER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/base/arena.h"
#include "graphnet/ir/graph.h"
#include "graphnet/paddle/pir/builder.h"
#include "graphnet/paddle/pir/operators.h"

namespace graphnet::pir {

// What a value of the graph that is lowered is: a node, several, or a constant.
struct Value {
  Node* node = nullptr;
  bool is_list = false;
  std::vector<Node*> list;
  Argument constant;  // None also where there is nothing

  static Value Of(Node* node) { return {node, false, {}, {}}; }
  static Value Constant(const Argument& constant) { return {nullptr, false, {}, constant}; }
  bool is_constant() const { return node == nullptr && !is_list; }
  bool is_none() const { return is_constant() && constant.is_none(); }
};

using Attributes = std::map<std::string, Argument>;

class Emitter {
 public:
  Emitter(Graph* graph, ResultTable* results, MadeSymbols* made, Arena* arena)
      : graph_(*graph), results_(*results), made_(*made), arena_(*arena) {}

  // The first result of "pd_op.matmul". `meta`: what is known of it; null: what follows from
  // what the operator takes.
  Node* Emit(absl::string_view name, absl::Span<const Argument> operands,
             const Attributes& attributes, const ValueMeta* meta = nullptr);
  // The operation itself, all of whose results are known with it.
  Node* EmitAll(absl::string_view name, absl::Span<const Argument> operands,
                const Attributes& attributes, const ValueMeta* meta = nullptr);
  // Its vec taken apart by builtin.split.
  std::vector<Node*> Split(Node* vec);
  // A vec of them.
  Node* Combine(absl::Span<Node* const> values);

  // A constant of no dimensions ("place undefined") or one element (on the CPU).
  Node* Scalar(double value, DType dtype);
  Node* One(double value, DType dtype);
  Node* IntArray(absl::Span<const int64_t> values);
  // Of the type of an operand that is a constant: null if it cannot be one.
  Node* ConstantOperand(const Argument& value, absl::string_view type);
  Node* Cast(Node* value, DType dtype);

  // `value` as an attribute of that type; none if it is of another.
  std::optional<Argument> Attribute(const Argument& value, absl::string_view type);
  // What the table says.
  Argument Default(const Parameter& parameter);

  Graph* graph() { return &graph_; }
  Module* module() { return graph_.module(); }
  ResultTable& results() { return results_; }
  Argument List(absl::Span<const int64_t> values);

 private:
  const ValueMeta* Merged(const ValueMeta* known, const ValueMeta* inferred);

  Graph& graph_;
  ResultTable& results_;
  MadeSymbols& made_;
  Arena& arena_;
};

// The numbers of a list of ints, or of one int; none of anything else.
std::optional<std::vector<int64_t>> Integers(const Argument& value);
// Of a node's tensor; kUnknown if it is not known.
DType DTypeOf(const Node* node);
// -1: not known.
int RankOf(const Node* node);

}  // namespace graphnet::pir

#endif  // GRAPHNET_PADDLE_PIR_EMITTER_H_
