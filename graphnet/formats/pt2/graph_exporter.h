// Makes the JSON of a torch.export program from a module; see exporter.h.
#ifndef GRAPHNET_FORMATS_PT2_GRAPH_EXPORTER_H_
#define GRAPHNET_FORMATS_PT2_GRAPH_EXPORTER_H_

#include <cstddef>
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
#include "graphnet/base/arena.h"
#include "graphnet/base/unique_names.h"
#include "graphnet/facts/shapes/sizes_of_run.h"
#include "graphnet/formats/pt2/export_value.h"
#include "graphnet/formats/pt2/json_writer.h"
#include "graphnet/formats/pt2/original.h"
#include "graphnet/ir/missing_calls.h"
#include "graphnet/ir/sample.h"
#include "graphnet/ir/shared_walk.h"
#include "graphnet/ops/schema.h"

namespace graphnet::pt2 {

// The schema's ArgumentKind.
inline constexpr int64_t kPositional = 1;
inline constexpr int64_t kKeyword = 2;

// Returns the full target of a higher-order call, such as torch.cond; empty for other targets.
std::string HigherOrderTarget(absl::string_view target);

// A tensor of the module and its role in the program.
struct ExportedAttribute {
  const Attribute* attribute = nullptr;
  bool is_parameter = false;
  bool requires_grad = false;
  bool is_constant = false;  // stored with the constants, not in the state
};

// Writes one module; call Run() once.
class GraphExporter {
 public:
  // `sample` and `original` must outlive this. With `flat_calls`, the program takes its inputs one
  // by one by position and no constants, whatever the original does. With `missing`, Run() goes on
  // after a call that cannot be written, and `missing` counts all such calls.
  GraphExporter(const Sample& sample, const Original& original, bool flat_calls,
                MissingCalls* missing = nullptr)
      : sample_(sample),
        module_(*sample.module),
        original_(original),
        flat_calls_(flat_calls),
        missing_(missing) {}

  // Makes the program. What the module computes ahead of time has been evaluated
  // (passes/partial_evaluation). It may call ATen overloads, higher-order operators and Python's own
  // functions. InvalidArgument names the node that cannot be written.
  absl::Status Run();

  // The JSON of the ExportedProgram.
  const std::string& program() const { return program_; }
  const std::vector<ExportedAttribute>& attributes() const { return attributes_; }
  // An input of the user: a placeholder of the main graph, or a constant. A number or text that is
  // given and that nothing uses is written as a constant, as torch.export does.
  struct UserInput {
    const Node* placeholder = nullptr;  // null: a constant
    Json constant;                      // InputToConstantInputSpec
    std::optional<Argument> value;      // the only value of the placeholder, which nothing uses
  };
  // All inputs in order.
  const std::vector<UserInput>& user_inputs() const { return user_inputs_; }
  // JSON of the structure in which callers pass them.
  const std::string& in_spec() const { return in_spec_; }
  // The classes of the original's structures that tuples replace (tree_spec.h).
  const std::vector<std::string>& classes() const { return classes_; }
  // Pt2Archive::num_dropped_guards
  size_t num_dropped_guards() const { return num_dropped_guards_; }
  // "input a b is a_b" for each input that the program gives another name.
  const std::vector<std::string>& renamed() const { return renamed_; }

 private:
  using Kind = ExportValue::Kind;
  // The state of a graph while it is written.
  struct Scope {
    const Graph* graph = nullptr;
    const Original::Tables* original = nullptr;
    int depth = 0;
    JsonWriter inputs, nodes, tensors, ints, bools, floats;
    UniqueNames names;
    absl::flat_hash_map<const SymExpr*, ExportValue> sizes;  // already computed
    absl::flat_hash_map<std::string, std::string> bodies;    // written, by name
  };
  void Open(const Graph& graph, Scope* scope);
  void Close(absl::string_view outputs, bool is_single, Scope* scope, JsonWriter* json);

  // Names.
  std::string Unique(absl::string_view wanted, Scope* scope);
  absl::string_view NameOf(const Node& node, Scope* scope);

  // Signature.
  absl::Status AddAttributes(Scope* scope, JsonWriter* specs);
  absl::Status AddUserInputs(Scope* scope, JsonWriter* specs);
  void AddConstantInput(const UserInput& input, Scope* scope, JsonWriter* specs);
  absl::StatusOr<ExportValue> AddPlaceholder(const Node& node, const ExportValue* given,
                                             Scope* scope);
  absl::Status AddOutputs(const ExportValue& result, Scope* scope, JsonWriter* outputs,
                          JsonWriter* specs, JsonWriter* arguments);
  absl::Status WriteTree(const ExportValue& value, std::vector<ExportValue>* leaves,
                         JsonWriter* spec);
  void WriteRanges(JsonWriter* json);
  void WriteCalls(absl::string_view out_spec, JsonWriter* json);

  // Nodes. Each function returns the result of what it writes.
  absl::StatusOr<ExportValue> ExportBody(const Graph& graph, Scope* scope);
  absl::StatusOr<ExportValue> ExportCall(const Node& node, Scope* scope);
  // Counts a call that cannot be written, and returns a value of its type in its place.
  ExportValue StandIn(const Node& node, const absl::Status& status, Scope* scope);
  absl::StatusOr<std::optional<ExportValue>> ExportSize(const Node& node,
                                                        absl::Span<const ExportValue> args,
                                                        Scope* scope);
  absl::StatusOr<ExportValue> ExportAten(const Node& node, const Schema& schema,
                                         absl::Span<const ExportValue> args, Scope* scope);
  // Returns the value with a call of item() for each tensor without dimensions that `type` takes as
  // a number.
  absl::StatusOr<ExportValue> AsNumbers(const Node& node, const ExportValue& value,
                                        const SchemaType& type, Scope* scope);
  // Returns the meta of what two written branches return, and its types; null unless they agree.
  const ValueMeta* MetaOfBranches(const ExportValue& taken, const ExportValue& other,
                                  std::vector<SchemaType>* types);
  absl::StatusOr<ExportValue> ExportNumbers(const Node& node, absl::string_view function,
                                            absl::Span<const ExportValue> args, Scope* scope);
  absl::StatusOr<ExportValue> ExportHigherOrder(const Node& node, absl::string_view target,
                                                absl::Span<const ExportValue> args, Scope* scope);
  absl::StatusOr<ExportValue> ExportScriptOperator(const Node& node,
                                                   absl::Span<const ExportValue> args,
                                                   Scope* scope);
  absl::StatusOr<ExportValue> ExportTensor(const Node& node, absl::Span<const ExportValue> args,
                                           Scope* scope);
  absl::StatusOr<ExportValue> ExportListed(const Node& node, const ExportValue& list, Scope* scope);
  // Subscripts of tensors, one view after the other: export_subscripts.cc.
  struct Subscript {
    ExportValue view;
    std::vector<ExportValue> tensors;  // by dimension; None for a dimension without one
  };
  absl::StatusOr<ExportValue> ExportGetItem(const Node& node, const ExportValue& tensor,
                                            Scope* scope);
  absl::StatusOr<ExportValue> ExportSetItem(const Node& node, const ExportValue& tensor,
                                            Scope* scope);
  absl::StatusOr<Subscript> SubscriptOf(const Node& node, const ExportValue& tensor,
                                        const Argument& index, const TensorMeta* result,
                                        Scope* scope);
  // Writes a call of an operator that returns one tensor, or whose result is unused.
  absl::StatusOr<ExportValue> MakeCall(
      const Node& node, absl::string_view target, absl::Span<const ExportValue> args,
      absl::Span<const std::pair<absl::string_view, ExportValue>> kwargs, absl::string_view name,
      const TensorMeta* meta, Scope* scope);
  void WriteNode(const Node* node, absl::string_view target, absl::string_view inputs,
                 absl::string_view outputs, absl::string_view name,
                 std::optional<bool> is_single_tensor, Scope* scope);
  void WriteMetadata(const Node* node, absl::string_view target, absl::string_view name,
                     const Scope& scope, JsonWriter* json);

  // Results.
  absl::StatusOr<ExportValue> AddTensor(absl::string_view name, const TensorMeta* meta,
                                        const Node& node, Scope* scope);
  // `size` is the value of an int, or the relation of sizes that a bool is.
  ExportValue AddNumber(Kind kind, absl::string_view name, absl::string_view target,
                        const SymExpr* size, Scope* scope);
  // Adds the elements of a result with several values; nodes that use `value` take them apart.
  absl::StatusOr<ExportValue> AddElements(const Node& call, const Node* value,
                                          const ValueMeta* meta, absl::Span<const SchemaType> types,
                                          absl::string_view prefix, Scope* scope,
                                          JsonWriter* outputs);
  absl::StatusOr<ExportValue> AddElement(const Node& call, const Node* user, const ValueMeta* meta,
                                         const SchemaType* type, const std::string& unused,
                                         Scope* scope, JsonWriter* outputs);

  // Arguments.
  absl::StatusOr<ExportValue> Resolve(const Node& node, const Argument& argument, Scope* scope);
  absl::StatusOr<ExportValue> MakeSize(const Node& node, const SymExpr* size, Scope* scope);
  absl::Status WriteInput(const Node& node, absl::string_view name, int64_t kind,
                          const ExportValue& value, const SchemaType* type, Scope* scope,
                          JsonWriter* inputs);
  absl::Status WriteArgument(const Node& node, const ExportValue& value, const SchemaType* type,
                             Scope* scope, JsonWriter* json);
  absl::Status WriteList(const Node& node, const ExportValue& value, const SchemaType* type,
                         JsonWriter* json);
  absl::Status WriteGraph(const Graph& body, Scope* scope, JsonWriter* json);

  // Metas.
  bool IsSame(Json meta, const TensorMeta& known);
  void WriteTensorMeta(const TensorMeta& meta, bool requires_grad,
                       absl::Span<const int64_t> strides, JsonWriter* json);
  void WriteSize(const SymExpr& size, JsonWriter* json);
  std::string SymbolText(absl::string_view name);
  const SymExpr* SizeOf(const Dim& dim);

  const Sample& sample_;
  const Module& module_;
  const Original& original_;
  const bool flat_calls_;
  const Node* changed_sizes_ = nullptr;  // the last call that changed sizes in place
  SizesOfRun sizes_of_run_;
  MissingCalls* const missing_;
  absl::Status first_missing_;
  absl::flat_hash_set<const Node*> lost_;  // calls that cannot be written
  Module scratch_;                         // holds new expressions and metas
  Arena arena_;
  absl::flat_hash_map<const Node*, ExportValue> values_;
  absl::flat_hash_map<absl::string_view, ExportValue> attribute_values_;
  absl::flat_hash_map<const Graph*, ExportValue> results_;             // of bodies that are written
  absl::flat_hash_map<const Graph*, ExportValue::Elements> operands_;  // of bodies
  std::vector<ExportedAttribute> attributes_;
  std::vector<UserInput> user_inputs_;
  bool has_same_inputs_ = false;  // the same as the original program's
  std::string in_spec_, program_;
  std::vector<std::string> classes_;
  size_t num_dropped_guards_ = 0;
  std::vector<std::string> renamed_;
  int64_t num_unknown_ = 0;                         // symbols for unknown numbers
  absl::flat_hash_set<std::string> unknown_bools_;  // symbols for unknown bools
  // Limits on how far the program may outgrow the module: values of lists and bodies, which are
  // written at each use; terms of sizes.
  Budget written_{uint64_t{1} << 22};
  Budget size_terms_{uint64_t{1} << 20};
  Expansions<const Graph*> bodies_;
  Expansions<const SymExpr*> sizes_;  // of scratch_
};

}  // namespace graphnet::pt2

#endif  // GRAPHNET_FORMATS_PT2_GRAPH_EXPORTER_H_
