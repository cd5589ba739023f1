// Internal: writes a graph of ATen calls in the torch dialect, operation by operation (exporter.h).
#ifndef GRAPHNET_FORMATS_MLIR_WRITER_H_
#define GRAPHNET_FORMATS_MLIR_WRITER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/formats/mlir/exporter.h"
#include "graphnet/formats/mlir/resample.h"
#include "graphnet/formats/mlir/spelling.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/node_error.h"
#include "graphnet/ir/node_table.h"
#include "graphnet/ops/callable.h"
#include "graphnet/ops/schema.h"

namespace graphnet::mlir {

// Types of the torch dialect that operands are compared with.
inline constexpr char kInt[] = "!torch.int";
inline constexpr char kFloat[] = "!torch.float";
inline constexpr char kBool[] = "!torch.bool";
inline constexpr char kTensorList[] = "!torch.list<vtensor>";

// An SSA value and its type.
struct Value {
  std::string name;  // "%add"
  std::string type;

  bool is_tensor() const { return absl::StartsWith(type, "!torch.vtensor"); }
  bool is_number() const { return type == kInt || type == kFloat || type == kBool; }
};

// Returns the scalar type that holds an element of `dtype`.
inline const char* NumberType(DType dtype) {
  if (dtype == DType::kBool) return kBool;
  return IsFloatingPoint(dtype) ? kFloat : kInt;
}

// Writes one module. Run may be called once.
class Writer {
 public:
  Writer(const Module& module, const MlirOptions& options, MissingCalls* missing)
      : module_(module), options_(options), missing_(missing), values_(module), elements_(module) {}
  absl::StatusOr<MlirProgram> Run();

 private:
  // --- Operations -----------------------------------------------------------
  // Returns an SSA name that is not taken yet.
  std::string Fresh(absl::string_view name);
  // Appends the current node's location: loc("node"("net.py":7:3)).
  void AppendLocation();
  // Appends an operation in generic form, `"torch.aten.relu"(%x) : (T) -> R`, with one or several
  // results. `attributes` (" {a = 1}") goes before the colon.
  void Append(absl::string_view results, absl::string_view operation,
              const std::vector<Value>& operands, absl::string_view result_types,
              absl::string_view attributes = "");
  // Appends an operation with one result of type `type`, and returns the result.
  Value Emit(absl::string_view name, absl::string_view operation,
             const std::vector<Value>& operands, std::string type,
             absl::string_view attributes = "");
  // Returns a constant such as "torch.constant.int 1". Each is written only once.
  Value Constant(absl::string_view name, const std::string& text, absl::string_view type);
  Value None() { return Constant("none", "torch.constant.none", "!torch.none"); }
  Value Int(int64_t number) {
    return Constant("int", absl::StrCat("torch.constant.int ", number), kInt);
  }
  Value Bool(bool value) {
    return Constant(value ? "true" : "false",
                    absl::StrCat("torch.constant.bool ", value ? "true" : "false"), kBool);
  }
  Value Float(double number) {
    return Constant("float", absl::StrCat("torch.constant.float ", FloatText(number)), kFloat);
  }
  absl::Status Error(absl::string_view what) const { return NodeError(*node_, what); }

  // --- Inputs and attributes ------------------------------------------------
  absl::Status WriteInputs(const Graph& graph);
  // Appends the values of one output, with lists and dicts flattened.
  absl::Status AddResults(const Argument& argument, std::vector<Value>* results);
  absl::Status WriteOutput(const Node& output);

  // --- Operands --------------------------------------------------------------
  // Writes a list operand. `repeat` is how often its only element is repeated.
  absl::StatusOr<Value> ListOperand(absl::Span<const Argument> elements, SchemaType type,
                                    size_t repeat = 1);
  absl::StatusOr<Value> NodeOperand(const Node& node, const SchemaType& type);
  // Makes a tensor of rank 0 of a number.
  Value AsTensor(const Value& number);
  absl::StatusOr<Value> Operand(const Argument& argument, const SchemaType& type);

  // --- Calls ------------------------------------------------------------------
  // Returns the overload that takes numbers for those tensors of `schema` for which the node passes
  // numbers; `schema` itself if there is none.
  const Schema& OverloadFor(const Node& node, const Schema& schema);
  // Writes argument `i` of the schema, or its default.
  std::optional<int64_t> BoundOf(const Node& node, const Schema& schema, const Argument* given,
                                 bool is_end) const;
  absl::StatusOr<Value> OperandOf(const Node& node, const Schema& schema, size_t i);
  absl::Status WriteCall(const Node& node);
  // Binds the node to a placeholder of its type so that later calls can still be checked. Counts
  // the call as missing, unless an operand is itself the result of a call without a placeholder.
  void StandIn(const Node& node, const absl::Status& status);
  static std::string OperationOf(const Schema& schema) {
    return absl::StrCat("torch.aten.", schema.name, schema.overload == "default" ? "" : ".",
                        schema.overload == "default" ? "" : schema.overload);
  }
  absl::Status WriteResults(const Node& node, const Schema& schema, const std::string& operation,
                            const std::vector<Value>& operands, absl::string_view attributes = "");
  absl::Status WriteOperator(const Node& node, const Schema& schema);
  absl::Status UnknownMeta() const {
    return Error("the shape or dtype of its result is unknown; run graphnet shapes first");
  }
  absl::Status WriteGetItem(const Node& node);

  // --- Branches (branches.cc) ---------------------------------------------------
  // Writes torch.cond as torch.prim.If. Its results must be tensors whose types are known.
  absl::Status WriteCond(const Node& node);
  // Writes the calls of a branch, and casts its results to `types`.
  absl::Status WriteBranch(const Graph& body, absl::Span<const Argument> operands,
                           const std::vector<std::string>& types, std::vector<Value>* results);
  // Writes arithmetic on sizes with TorchScript's operators.
  absl::Status WriteArithmetic(const Node& node, const Callable& callee);
  absl::Status WriteSize(const Node& node, const Schema& schema);
  // Reads the number in a tensor. Its type follows from the dtype.
  absl::Status WriteItem(const Node& node, const Schema& schema);

  // --- Rewritten calls ----------------------------------------------------------
  static const TensorMeta* MetaOf(const Argument* argument) {
    return argument != nullptr && argument->is_node() ? argument->node()->tensor_meta() : nullptr;
  }
  static bool IsMask(const Argument& index) {
    const TensorMeta* const meta = MetaOf(&index);
    return meta != nullptr && (meta->dtype == DType::kBool || meta->dtype == DType::kUInt8);
  }
  // Refuses a mask as an index: the result's shape depends on values, and compilers take the mask
  // for integers.
  absl::Status CheckIndices(const Node& node, const Schema& schema) const;
  // Writes index_put(x, [mask], number) as where(mask, number, x) if the mask has the shape of x.
  // Returns false if no index is a mask.
  absl::StatusOr<bool> WriteMaskedPut(const Node& node, const Schema& schema);
  // Writes full(sizes, x.item()) as an expanded x, so that no number has to leave the device.
  absl::StatusOr<bool> WriteFull(const Node& node, const Schema& schema);
  // Writes fill(x, tensor) as an expanded tensor, because StableHLO's pipeline lacks the overload.
  absl::StatusOr<bool> WriteFill(const Node& node, const Schema& schema);
  // Writes the number in the tensor `source` in the dtype and the known shape of the node's result.
  // Returns false if the shape of `source` is not known.
  absl::StatusOr<bool> WriteSpread(const Node& node, const Argument& source);
  // Writes where(x > 0, x, weight * x) with the weight along dimension 1: compilers expect it along
  // the last.
  absl::Status WritePrelu(const Node& node, const Schema& schema);
  // Writes nearest upsampling by integer factors as repeated elements, and all other upsampling
  // along one dimension after the other. IREE stops at torch.export's operators for it, and
  // StableHLO's pipeline at TorchScript's.
  absl::Status WriteUpsample(const Node& node, const Schema& schema);
  // Writes adaptive average pooling along one dimension after the other if sizes do not divide: for
  // the operator, StableHLO's pipeline stops and IREE gets the sizes wrong. Returns false if the
  // operator itself can be written.
  absl::StatusOr<bool> WriteAdaptivePool(const Node& node, const Schema& schema);
  // Writes upsampling of unknown sizes with TorchScript's operator.
  absl::Status WriteInterpolate(const Node& node, const Schema& schema, const Value& x);
  // Resamples dimension `dim`. Dimensions before it already have their new sizes; those after it
  // still have their old ones.
  Value WriteTaps(const Node& node, const Value& value, const TensorMeta& x,
                  const std::vector<Dim>& sizes, size_t dim, const std::vector<Tap>& taps);
  // Returns a constant tensor of one dimension. `elements` is its elements' text.
  Value Literal(const std::string& elements, size_t size, DType dtype);
  // Writes each vector along its dimension, expanded along the others: compilers give the list of
  // results a wrong type.
  absl::Status WriteMeshgrid(const Node& node, const Schema& schema);
  // Writes an operator that takes a tensor and sizes and returns a tensor of these sizes.
  Value EmitSized(absl::string_view name, absl::string_view operation, const Value& tensor,
                  const TensorMeta& like, const std::vector<Dim>& shape,
                  const std::vector<Value>& more);
  // `sizes` are the values of `shape`, which may be symbolic.
  Value EmitSized(absl::string_view name, absl::string_view operation, const Value& tensor,
                  const TensorMeta& like, const std::vector<Dim>& shape,
                  const std::vector<Value>& sizes, const std::vector<Value>& more);
  // Writes softmax(q @ k^T * scale + mask) @ v. As in PyTorch, a row that is masked entirely is 0.
  absl::Status WriteMaskedAttention(const Node& node, const Schema& schema);
  const Module& module_;
  const MlirOptions& options_;
  MissingCalls* const missing_;
  MlirProgram program_;
  std::string head_, constants_text_, body_;
  const Node* node_ = nullptr;  // the node that is being written
  NodeTable<Value> values_;
  NodeTable<std::vector<Value>> elements_;  // elements of tuples and lists
  absl::flat_hash_set<const Node*> lost_;   // nodes without a placeholder
  absl::flat_hash_map<std::string, Value> constants_;
  absl::flat_hash_map<std::string, int> names_;
};

}  // namespace graphnet::mlir

#endif  // GRAPHNET_FORMATS_MLIR_WRITER_H_
