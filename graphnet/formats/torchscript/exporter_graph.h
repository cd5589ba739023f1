// Internal: the translation of one Sample into the method of a module.
#ifndef GRAPHNET_FORMATS_TORCHSCRIPT_EXPORTER_GRAPH_H_
#define GRAPHNET_FORMATS_TORCHSCRIPT_EXPORTER_GRAPH_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/base/unique_names.h"
#include "graphnet/formats/torchscript/exporter_attributes.h"
#include "graphnet/formats/torchscript/exporter_types.h"
#include "graphnet/ir/missing_calls.h"
#include "graphnet/ir/sample.h"
#include "torch/csrc/jit/api/module.h"
#include "torch/csrc/jit/frontend/schema_matching.h"
#include "torch/csrc/jit/ir/ir.h"
#include "torch/csrc/jit/runtime/operator.h"

namespace graphnet::torchscript {

// Walks the main graph in its order, bodies where they are called. TorchScript
// wants a type for every value; they follow from the types of the inputs, the
// schemas and the annotations of the importer. Where what a loop carries, or an
// attribute holds, turns out to need a wider type than it began with, the graph
// is built once more with that type.
class GraphExporter {
 public:
  // `sample` must outlive this. `root` has no attributes yet. With `missing`, Run goes on after
  // calls that cannot be exported, and counts them all there; their first error is its own.
  GraphExporter(const Sample* sample, const torch::jit::Module& root,
                MissingCalls* missing = nullptr);

  // Gives the module its attributes and its method.
  absl::Status Run();

 private:
  // What a node stands for: a value, the values of a tuple, or (without values)
  // None.
  struct Bound {
    std::vector<torch::jit::Value*> values;
    bool is_tuple = false;
  };
  // What a target says. Without overload, that is for TorchScript to choose.
  struct Operator {
    c10::Symbol symbol;
    std::shared_ptr<torch::jit::Operator> overload;
    std::vector<std::shared_ptr<torch::jit::Operator>> all;  // of that symbol
  };
  // How a torch.while_loop fits prim::Loop (exporter_control_flow.cc).
  struct LoopForm {
    bool counts = false;              // index < trip_count, the index carried first
    Argument trip_count;              // of the outer graph
    std::optional<size_t> condition;  // carried, and nothing but the condition
    bool is_carried(size_t i) const { return !(counts && i == 0) && condition != i; }
  };
  using Handler = absl::Status (GraphExporter::*)(const Node&);

  // --- exporter_graph.cc: the method and its calls -----------------------------
  absl::Status AddAttributes();
  void EraseUnusedReads();
  absl::Status ExportMain();
  void StandIn(const Node& node, const absl::Status& status);
  absl::Status AddInput(const Node& placeholder);
  absl::StatusOr<c10::TypePtr> TypeOfInput(const Node& placeholder);
  void AddMethod(const c10::TypePtr& result);
  absl::Status ExportNode(const Node& node);
  absl::Status ExportCall(const Node& node);
  absl::Status ExportOperator(const Node& node, const Operator& op);
  // The positional ones, then the keywords.
  absl::StatusOr<std::vector<torch::jit::Value*>> Operands(const Node& node,
                                                           const c10::FunctionSchema* schema);
  absl::StatusOr<const Operator*> FindOperator(absl::string_view target);
  absl::StatusOr<const Operator*> FindAnyOverload(const char* symbol);
  Handler FindHandler(absl::string_view target) const;
  absl::Status ExportProperty(const Node& node);
  absl::Status ExportTensor(const Node& node);
  absl::Status ExportSymSum(const Node& node);
  absl::Status ExportGetItem(const Node& node);
  absl::Status ExportList(const Node& node);
  absl::Status ExportDict(const Node& node);
  absl::Status ExportToList(const Node& node);
  absl::Status ExportIsInstance(const Node& node);

  // --- exporter_subscripts.cc: subscripts of tensors ------------------------------
  // What integers, slices and None make of a tensor, and the tensors that index its
  // dimensions; null for those without.
  struct Subscript {
    torch::jit::Value* view = nullptr;
    std::vector<torch::jit::Value*> tensors;
  };
  absl::StatusOr<Subscript> SubscriptOf(torch::jit::Value* tensor, const Argument& subscript);
  // `keeps`: the dimension is still there.
  absl::Status TakeIndex(const Argument& index, int64_t dim, bool* keeps, Subscript* result);
  torch::jit::Value* IndicesOf(const Subscript& subscript);
  absl::Status ExportTensorGetItem(const Node& node, torch::jit::Value* tensor);
  absl::Status ExportSetItem(const Node& node);

  // --- exporter_values.cc: arguments as values ---------------------------------
  // `wanted` decides what the argument alone leaves open, such as the type of an
  // empty list; null: nothing is wanted. The value may be of another type.
  absl::StatusOr<torch::jit::Value*> ValueOf(const Argument& argument,
                                             const c10::TypePtr& wanted = nullptr);
  // Ditto, but the value is of that type.
  absl::StatusOr<torch::jit::Value*> Fit(const Argument& argument, const c10::TypePtr& wanted);
  absl::StatusOr<torch::jit::Value*> ListOf(absl::Span<const Argument> elements,
                                            const c10::TypePtr& element_type);
  absl::StatusOr<torch::jit::Value*> DictOf(absl::Span<const Argument> entries,
                                            const c10::DictType* type);
  // What an attribute of that type holds at the start.
  absl::StatusOr<c10::IValue> LiteralOf(const Argument& argument, const c10::TypePtr& type);
  // The importer leaves out casts that tell what a value is on this path.
  torch::jit::Value* Narrow(torch::jit::Value* value, const c10::TypePtr& wanted);
  absl::StatusOr<torch::jit::Value*> InsertStructure(torch::jit::Node* node);
  struct TypeExtent {
    size_t parts = 1;  // at most kMaxTypeSize + 1
    int height = 1;
  };
  TypeExtent ExtentOf(const c10::TypePtr& type);
  absl::StatusOr<Bound> BoundOf(const Argument& argument);
  // Null if the argument leaves it open.
  c10::TypePtr TypeOf(const Argument& argument) const;
  // What the annotation says.
  absl::StatusOr<c10::TypePtr> AnnotatedType(const Node& node, c10::TypePtr otherwise) const;
  void Bind(const Node& node, torch::jit::Value* value);
  torch::jit::Value* None();
  torch::jit::Value* InsertConstant(const c10::IValue& constant);
  // One constant for all places of a number: a list of many may be an argument of many calls.
  torch::jit::Value* InsertInt(int64_t number);

  // --- exporter_control_flow.cc: branches and loops ----------------------------
  absl::Status ExportCond(const Node& node);
  absl::Status ExportWhileLoop(const Node& node);
  LoopForm FormOf(const Node& loop) const;
  // The result of the body, at the insertion point.
  absl::StatusOr<Argument> ExportBody(const Graph& body, absl::Span<const Bound> inputs,
                                      const Node* skip = nullptr);
  absl::StatusOr<std::vector<Bound>> OperandsOf(absl::Span<const Argument> arguments);
  absl::StatusOr<torch::jit::Value*> Condition(const Argument& argument);

  // --- exporter_state.cc: objects and attributes that change -------------------
  absl::Status FindState();
  absl::Status ExportCreateObject(const Node& node);
  absl::Status ExportGetAttr(const Node& node);
  absl::Status ExportSetAttr(const Node& node);
  // The object of a prim.GetAttr or SetAttr, and its attribute's name there.
  absl::StatusOr<std::pair<torch::jit::Value*, std::string>> OwnerOf(const Node& node);
  torch::jit::Value* InsertRead(const AttributeTree::Place& place);
  torch::jit::Value* InsertSelf(const std::vector<std::string>& modules);

  absl::Status Error(absl::string_view what) const;
  absl::Status ErrorOf(const Node& node, absl::string_view what) const;

  const Sample& sample_;
  const Module& module_;
  torch::jit::Module root_;
  TypeTable types_;
  AttributeTree attributes_;
  absl::flat_hash_map<const Node*, c10::TypePtr> carried_types_;  // by the body's placeholder
  absl::flat_hash_map<std::string, c10::TypePtr> states_;         // by path
  std::map<absl::string_view, Operator> operators_;               // which pointers go to
  absl::flat_hash_map<std::string, const AttributeTree::Place*> constants_;  // the garbled ones
  MissingCalls* const missing_;
  int num_constants_ = 0;
  // The type itself is kept so that no other gets its address.
  absl::flat_hash_map<const c10::Type*, std::pair<c10::TypePtr, TypeExtent>> type_extents_;
  bool again_ = false;  // a type was too narrow

  // Of the graph that is being built.
  std::shared_ptr<torch::jit::Graph> graph_;
  absl::flat_hash_map<int64_t, torch::jit::Value*> ints_;
  absl::flat_hash_map<const Node*, Bound> bound_;
  absl::flat_hash_map<std::string, torch::jit::Value*> submodules_;  // by path
  std::vector<torch::jit::Node*> reads_;                             // of attributes and modules
  absl::flat_hash_map<const torch::jit::Node*, const AttributeTree::Place*> reads_of_;
  absl::flat_hash_set<const AttributeTree::Place*> starts_;  // parts of what state starts with
  std::vector<c10::Argument> inputs_;
  UniqueNames input_names_;
  absl::Status missed_;                         // the first of missing_
  absl::flat_hash_set<const Node*> stand_ins_;  // for what they yield
  const Node* current_ = nullptr;
  int depth_ = 0;
  size_t num_calls_ = 0;
};

}  // namespace graphnet::torchscript

#endif  // GRAPHNET_FORMATS_TORCHSCRIPT_EXPORTER_GRAPH_H_
