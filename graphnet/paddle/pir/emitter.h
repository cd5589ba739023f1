// Internal to the lowering: makes typed operations.
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

// The lowered form of a value: a node, several nodes, or a constant.
struct Value {
  Node* node = nullptr;
  bool is_list = false;
  std::vector<Node*> list;
  Argument constant;  // also None if there is no value

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

  // Makes an operation such as "pd_op.matmul" and returns its first result. `meta` is its known
  // meta; if null, the meta is inferred from the operands.
  Node* Emit(absl::string_view name, absl::Span<const Argument> operands,
             const Attributes& attributes, const ValueMeta* meta = nullptr);
  // Does the same and returns the operation, which gives access to all results.
  Node* EmitAll(absl::string_view name, absl::Span<const Argument> operands,
                const Attributes& attributes, const ValueMeta* meta = nullptr);
  // Returns the elements of a vec, by builtin.split.
  std::vector<Node*> Split(Node* vec);
  // Makes a vec of values.
  Node* Combine(absl::Span<Node* const> values);

  // Make a constant without dimensions ("place undefined"), or of one element (on the CPU).
  Node* Scalar(double value, DType dtype);
  Node* One(double value, DType dtype);
  Node* IntArray(absl::Span<const int64_t> values);
  // Makes a constant for an operand of `type`; nullptr if `value` does not fit it.
  Node* ConstantOperand(const Argument& value, absl::string_view type);
  Node* Cast(Node* value, DType dtype);

  // Returns `value` as an attribute of `type`; nullopt if it does not fit.
  std::optional<Argument> Attribute(const Argument& value, absl::string_view type);
  // Returns the default that the table of operators has.
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

// Returns the numbers of a list of ints or of one int; nullopt for anything else.
std::optional<std::vector<int64_t>> Integers(const Argument& value);
// Returns the dtype of a node's tensor; kUnknown if it is not known.
DType DTypeOf(const Node* node);
// Returns the number of dimensions; -1 if it is not known.
int RankOf(const Node* node);

}  // namespace graphnet::pir

#endif  // GRAPHNET_PADDLE_PIR_EMITTER_H_
