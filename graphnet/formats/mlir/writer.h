// A graph of ATen calls as text of the torch dialect, operation by operation: see exporter.h.
#ifndef GRAPHNET_FORMATS_MLIR_WRITER_H_
#define GRAPHNET_FORMATS_MLIR_WRITER_H_

#include <cstdint>
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

// The type of a number of a dtype.
inline const char* NumberType(DType dtype) {
  if (dtype == DType::kBool) return kBool;
  return IsFloatingPoint(dtype) ? kFloat : kInt;
}

class Writer {
 public:
  Writer(const Module& module, const MlirOptions& options, MissingCalls* missing)
      : module_(module), options_(options), missing_(missing), values_(module), elements_(module) {}
  absl::StatusOr<MlirProgram> Run();

 private:
  // --- Operations -----------------------------------------------------------
  std::string Fresh(absl::string_view name);
  // loc("node"("net.py":7:3))
  void AppendLocation();
  // `"torch.aten.relu"(%x) : (T) -> R`, with one or several results. Attributes, ` {a = 1}`, stand
  // before the colon.
  void Append(absl::string_view results, absl::string_view operation,
              const std::vector<Value>& operands, absl::string_view result_types,
              absl::string_view attributes = "");
  Value Emit(absl::string_view name, absl::string_view operation,
             const std::vector<Value>& operands, std::string type,
             absl::string_view attributes = "");
  // "torch.constant.int 1", once each.
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
  absl::Status AddResults(const Argument& argument, std::vector<Value>* results);
  absl::Status WriteOutput(const Node& output);

  // --- Operands --------------------------------------------------------------
  absl::StatusOr<Value> ListOperand(absl::Span<const Argument> elements, SchemaType type,
                                    size_t repeat = 1);
  absl::StatusOr<Value> NodeOperand(const Node& node, const SchemaType& type);
  Value AsTensor(const Value& number);
  absl::StatusOr<Value> Operand(const Argument& argument, const SchemaType& type);

  // --- Calls ------------------------------------------------------------------
  // The overload that takes numbers where this one takes tensors and is given numbers.
  const Schema& OverloadFor(const Node& node, const Schema& schema);
  absl::StatusOr<Value> OperandOf(const Node& node, const Schema& schema, size_t i);
  absl::Status WriteCall(const Node& node);
  // Counts a call that cannot be written, unless it takes what one of those would yield that has
  // no stand-in: a value of its type.
  void StandIn(const Node& node, const absl::Status& status);
  static std::string OperationOf(const Schema& schema) {
    return absl::StrCat("torch.aten.", schema.name, schema.overload == "default" ? "" : ".",
                        schema.overload == "default" ? "" : schema.overload);
  }
  absl::Status WriteResults(const Node& node, const Schema& schema, const std::string& operation,
                            const std::vector<Value>& operands, absl::string_view attributes = "");
  absl::Status WriteOperator(const Node& node, const Schema& schema);
  absl::Status UnknownMeta() const {
    return Error("the shape or dtype of what it yields is not known; graphnet shapes finds them");
  }
  absl::Status WriteGetItem(const Node& node);
  // Of sizes: as TorchScript has it.
  absl::Status WriteArithmetic(const Node& node, const Callable& callee);
  absl::Status WriteSize(const Node& node, const Schema& schema);
  // The number in a tensor; which kind follows from the dtype.
  absl::Status WriteItem(const Node& node, const Schema& schema);

  // --- What is written otherwise ------------------------------------------------
  static const TensorMeta* MetaOf(const Argument* argument) {
    return argument != nullptr && argument->is_node() ? argument->node()->tensor_meta() : nullptr;
  }
  static bool IsMask(const Argument& index) {
    const TensorMeta* const meta = MetaOf(&index);
    return meta != nullptr && (meta->dtype == DType::kBool || meta->dtype == DType::kUInt8);
  }
  // A mask as an index makes a shape of values, which pipelines take for numbers.
  absl::Status CheckIndices(const Node& node, const Schema& schema) const;
  // index_put(x, [mask], number) is where(mask, number, x) for a mask of the sizes of x.
  absl::StatusOr<bool> WriteMaskedPut(const Node& node, const Schema& schema);
  // full(sizes, x.item()) is x, repeated: no number has to leave the program for it.
  absl::StatusOr<bool> WriteFull(const Node& node, const Schema& schema);
  // where(x > 0, x, weight * x), the weight along the channels, where pipelines look for it at the
  // last dimension.
  absl::Status WritePrelu(const Node& node, const Schema& schema);
  // What is made larger by a whole factor, nearest: each element repeated. All else along one
  // dimension after the other: what torch.export has stops IREE, what TorchScript has StableHLO.
  absl::Status WriteUpsample(const Node& node, const Schema& schema);
  // Along one dimension after the other where sizes do not divide: StableHLO's pipeline stops, and
  // IREE gets the sizes wrong.
  absl::StatusOr<bool> WriteAdaptivePool(const Node& node, const Schema& schema);
  // As TorchScript has it: of sizes that are not known.
  absl::Status WriteInterpolate(const Node& node, const Schema& schema, const Value& x);
  // One dimension made anew; those before it have their new sizes, those behind it their old ones.
  Value WriteTaps(const Node& node, const Value& value, const TensorMeta& x,
                  const std::vector<Dim>& sizes, size_t dim, const std::vector<Tap>& taps);
  // A tensor of one dimension, its elements as text.
  Value Literal(const std::string& elements, size_t size, DType dtype);
  // Each vector along its dimension, repeated along the others: pipelines make lists of wrong types
  // of it.
  absl::Status WriteMeshgrid(const Node& node, const Schema& schema);
  // An operator of a tensor and sizes that yields a tensor of these sizes.
  Value EmitSized(absl::string_view name, absl::string_view operation, const Value& tensor,
                  const TensorMeta& like, const std::vector<Dim>& shape,
                  const std::vector<Value>& more);
  // softmax(q @ k^T * scale + mask) @ v, 0 for what may look at nothing, as PyTorch has it.
  absl::Status WriteMaskedAttention(const Node& node, const Schema& schema);
  const Module& module_;
  const MlirOptions& options_;
  MissingCalls* const missing_;
  MlirProgram program_;
  std::string head_, constants_text_, body_;
  const Node* node_ = nullptr;  // that is being written
  NodeTable<Value> values_;
  NodeTable<std::vector<Value>> elements_;  // of tuples and lists
  absl::flat_hash_set<const Node*> lost_;   // that have no stand-in
  absl::flat_hash_map<std::string, Value> constants_;
  absl::flat_hash_map<std::string, int> names_;
};

}  // namespace graphnet::mlir

#endif  // GRAPHNET_FORMATS_MLIR_WRITER_H_
