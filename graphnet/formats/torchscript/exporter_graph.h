// Internal: translates one Sample into the method of a module.
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

// The message of a call that cannot be exported says this.
inline constexpr absl::string_view kNothing = "TorchScript has nothing for it";

// Walks the main graph in order, and each body where it is called. TorchScript
// needs a type for every value. Types follow from the types of the inputs, the
// schemas and the importer's annotations. If a value that a loop carries or an
// attribute holds needs a wider type than it started with, the graph is built
// again with that type.
class GraphExporter {
 public:
  // `sample` must outlive this. `root` must have no attributes yet. If `missing` is given, Run
  // goes on after a call that cannot be exported, adds all of them to it, and returns the first
  // error.
  GraphExporter(const Sample* sample, const torch::jit::Module& root,
                MissingCalls* missing = nullptr);

  // Adds the attributes and the method to the module.
  absl::Status Run();

  // Returns "input int is int_" for each input and attribute that Run gave another name.
  std::vector<std::string> Renamed() const;

 private:
  // The result of a node: a value, the values of a tuple, or None if there are no
  // values.
  struct Bound {
    std::vector<torch::jit::Value*> values;
    bool is_tuple = false;
  };
  // The operator that a target names. If `overload` is null, TorchScript chooses one.
  struct Operator {
    c10::Symbol symbol;
    std::shared_ptr<torch::jit::Operator> overload;
    std::vector<std::shared_ptr<torch::jit::Operator>> all;  // overloads of the symbol
  };
  // The parts of a torch.while_loop that prim::Loop has (exporter_control_flow.cc).
  struct LoopForm {
    bool counts = false;              // tests index < trip_count; the index is carried first
    Argument trip_count;              // a value of the outer graph
    std::optional<size_t> condition;  // carried value that is only the condition
    bool is_carried(size_t i) const { return !(counts && i == 0) && condition != i; }
  };
  using Handler = absl::Status (GraphExporter::*)(const Node&);

  // --- exporter_graph.cc: the method and its calls -----------------------------
  void ReserveNames();
  absl::Status AddAttributes();
  void NameInputs();
  void EraseUnusedReads();
  absl::Status ExportMain();
  void StandIn(const Node& node, const absl::Status& status);
  absl::Status AddInput(const Node& placeholder);
  // Returns the default of an input that is no tensor, number or text.
  std::optional<c10::IValue> DefaultOf(const Node& placeholder, const c10::TypePtr& type) const;
  absl::StatusOr<c10::TypePtr> TypeOfInput(const Node& placeholder);
  void AddMethod(const c10::TypePtr& result);
  absl::Status ExportNode(const Node& node);
  absl::Status ExportCall(const Node& node);
  absl::Status ExportOperator(const Node& node, const Operator& op);
  // Returns the values of the positional arguments, then those of the keyword arguments.
  absl::StatusOr<std::vector<torch::jit::Value*>> Operands(const Node& node,
                                                           const c10::FunctionSchema* schema);
  absl::StatusOr<const Operator*> FindOperator(absl::string_view target);
  bool MayRaise();  // True if the program has a path that raises.
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
  // A subscript in two steps: the view that integers, slices and None select, and the tensors
  // that index the view's dimensions (null for a dimension without one).
  struct Subscript {
    torch::jit::Value* view = nullptr;
    std::vector<torch::jit::Value*> tensors;
  };
  absl::StatusOr<Subscript> SubscriptOf(torch::jit::Value* tensor, const Argument& subscript);
  // Applies one index to dimension `dim`. `keeps` says whether the dimension remains.
  absl::Status TakeIndex(const Argument& index, int64_t dim, bool* keeps, Subscript* result);
  torch::jit::Value* IndicesOf(const Subscript& subscript);
  absl::Status ExportTensorGetItem(const Node& node, torch::jit::Value* tensor);
  absl::Status ExportSetItem(const Node& node);

  // --- exporter_values.cc: arguments as values ---------------------------------
  // Returns the value of an argument. `wanted` (may be null) decides what the argument
  // leaves open, such as the type of an empty list. The value may have another type.
  absl::StatusOr<torch::jit::Value*> ValueOf(const Argument& argument,
                                             const c10::TypePtr& wanted = nullptr);
  // Like ValueOf, but the value has the type `wanted`.
  absl::StatusOr<torch::jit::Value*> Fit(const Argument& argument, const c10::TypePtr& wanted);
  absl::StatusOr<torch::jit::Value*> ListOf(absl::Span<const Argument> elements,
                                            const c10::TypePtr& element_type);
  absl::StatusOr<torch::jit::Value*> DictOf(absl::Span<const Argument> entries,
                                            const c10::DictType* type);
  // Returns the initial value of an attribute of that type.
  absl::StatusOr<c10::IValue> LiteralOf(const Argument& argument, const c10::TypePtr& type);
  // Casts `value` to `wanted` if that is narrower: the importer drops casts that narrow a type.
  torch::jit::Value* Narrow(torch::jit::Value* value, const c10::TypePtr& wanted);
  absl::StatusOr<torch::jit::Value*> InsertStructure(torch::jit::Node* node);
  // The size of a type as a tree.
  struct TypeExtent {
    size_t parts = 1;  // at most kMaxTypeSize + 1
    int height = 1;
  };
  TypeExtent ExtentOf(const c10::TypePtr& type);
  absl::StatusOr<Bound> BoundOf(const Argument& argument);
  // Returns the type of an argument; null if the argument leaves it open.
  c10::TypePtr TypeOf(const Argument& argument) const;
  // Returns the type of what torch.tensor takes, whose numbers are never None. TypeOf says Optional of
  // a number that the program gives only on paths that have not returned.
  c10::TypePtr TypeOfData(const Argument& argument) const;
  // Returns the type that the node's annotation names; `otherwise` if it has none.
  absl::StatusOr<c10::TypePtr> AnnotatedType(const Node& node, c10::TypePtr otherwise) const;
  void Bind(const Node& node, torch::jit::Value* value);
  torch::jit::Value* None();
  torch::jit::Value* InsertConstant(const c10::IValue& constant);
  // Returns one constant for all uses of a number: long lists may be arguments of many calls.
  torch::jit::Value* InsertInt(int64_t number);

  // --- exporter_control_flow.cc: branches and loops ----------------------------
  absl::Status ExportCond(const Node& node);
  absl::Status ExportWhileLoop(const Node& node);
  LoopForm FormOf(const Node& loop) const;
  // Writes a body at the insertion point, without the node `skip`, and returns its result.
  absl::StatusOr<Argument> ExportBody(const Graph& body, absl::Span<const Bound> inputs,
                                      const Node* skip = nullptr);
  absl::StatusOr<std::vector<Bound>> OperandsOf(absl::Span<const Argument> arguments);
  absl::StatusOr<torch::jit::Value*> Condition(const Argument& argument);

  // --- exporter_state.cc: objects and attributes that change -------------------
  absl::Status FindState();
  absl::Status ExportCreateObject(const Node& node);
  absl::Status ExportGetAttr(const Node& node);
  absl::Status ExportSetAttr(const Node& node);
  // Returns the object of a prim.GetAttr or SetAttr, and the attribute's name in it.
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
  absl::flat_hash_map<const Node*, std::string> input_names_;
  absl::flat_hash_map<const Node*, c10::TypePtr> carried_types_;  // by the body's placeholder
  absl::flat_hash_map<std::string, c10::TypePtr> states_;         // by path
  std::map<absl::string_view, Operator> operators_;               // pointers to entries are kept
  absl::flat_hash_map<std::string, const AttributeTree::Place*> constants_;  // garbled constants
  MissingCalls* const missing_;
  int num_constants_ = 0;
  // Holds the type itself, so that no other type gets its address.
  absl::flat_hash_map<const c10::Type*, std::pair<c10::TypePtr, TypeExtent>> type_extents_;
  bool again_ = false;  // a type was too narrow

  // State of the graph that is being built.
  std::shared_ptr<torch::jit::Graph> graph_;
  absl::flat_hash_map<int64_t, torch::jit::Value*> ints_;
  absl::flat_hash_map<const Node*, Bound> bound_;
  absl::flat_hash_map<std::string, torch::jit::Value*> submodules_;  // by path
  std::vector<torch::jit::Node*> reads_;  // reads of attributes and modules
  absl::flat_hash_map<const torch::jit::Node*, const AttributeTree::Place*> reads_of_;
  absl::flat_hash_set<const AttributeTree::Place*> starts_;  // parts of initial values of state
  std::vector<c10::Argument> inputs_;
  absl::Status missed_;                         // the first error in missing_
  absl::flat_hash_set<const Node*> stand_ins_;  // have an uninitialized tensor as result
  const Node* current_ = nullptr;
  int depth_ = 0;
  size_t num_calls_ = 0;
  std::optional<bool> may_raise_;
};

}  // namespace graphnet::torchscript

#endif  // GRAPHNET_FORMATS_TORCHSCRIPT_EXPORTER_GRAPH_H_
