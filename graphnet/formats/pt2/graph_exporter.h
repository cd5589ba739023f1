// Writes a module anew as the JSON of a program of torch.export: see exporter.h.
#ifndef GRAPHNET_FORMATS_PT2_GRAPH_EXPORTER_H_
#define GRAPHNET_FORMATS_PT2_GRAPH_EXPORTER_H_

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
#include "graphnet/formats/pt2/export_value.h"
#include "graphnet/formats/pt2/json_writer.h"
#include "graphnet/formats/pt2/original.h"
#include "graphnet/ir/missing_calls.h"
#include "graphnet/ir/sample.h"
#include "graphnet/ir/shared_walk.h"
#include "graphnet/ops/schema.h"

namespace graphnet::pt2 {

// A tensor of the module, as the program has it.
struct ExportedAttribute {
  const Attribute* attribute = nullptr;
  bool is_parameter = false;
  bool requires_grad = false;
  bool is_constant = false;  // lies among the constants, not in the state
};

class GraphExporter {
 public:
  // Both outlive this. With `flat_calls`, the program takes its inputs by position, one beside the
  // other, whatever the original does, and no constants.
  // With `missing`, Run goes on after calls that cannot be written, and counts them all there.
  GraphExporter(const Sample& sample, const Original& original, bool flat_calls,
                MissingCalls* missing = nullptr)
      : sample_(sample),
        module_(*sample.module),
        original_(original),
        flat_calls_(flat_calls),
        missing_(missing) {}

  // The module's calls are ATen overloads, higher-order ones and what Python itself does.
  // InvalidArgument names the node that cannot be written.
  absl::Status Run();

  // ExportedProgram.
  const std::string& program() const { return program_; }
  const std::vector<ExportedAttribute>& attributes() const { return attributes_; }
  // The user's inputs: placeholders of the main graph in order, and the constants among them.
  struct UserInput {
    const Node* placeholder = nullptr;  // null: a constant
    Json constant;                      // InputToConstantInputSpec
  };
  const std::vector<UserInput>& user_inputs() const { return user_inputs_; }
  // What structure they are given in, JSON.
  const std::string& in_spec() const { return in_spec_; }
  // The classes of the original's structures in whose place tuples are written (tree_spec.h).
  const std::vector<std::string>& classes() const { return classes_; }

 private:
  using Kind = ExportValue::Kind;
  // A graph that is being written.
  struct Scope {
    const Graph* graph = nullptr;
    const Original::Tables* original = nullptr;
    int depth = 0;
    JsonWriter inputs, nodes, tensors, ints, bools, floats;
    UniqueNames names;
    absl::flat_hash_map<const SymExpr*, ExportValue> sizes;  // that were made
  };
  void Open(const Graph& graph, Scope* scope);
  void Close(absl::string_view outputs, bool is_single, Scope* scope, JsonWriter* json);

  // Names.
  std::string Unique(absl::string_view wanted, Scope* scope);
  absl::string_view NameOf(const Node& node, Scope* scope);

  // Signature.
  absl::Status AddAttributes(Scope* scope, JsonWriter* specs);
  absl::Status AddUserInputs(Scope* scope, JsonWriter* specs);
  absl::StatusOr<ExportValue> AddPlaceholder(const Node& node, const ExportValue* given,
                                             Scope* scope);
  absl::Status AddOutputs(const ExportValue& result, Scope* scope, JsonWriter* outputs,
                          JsonWriter* specs, JsonWriter* arguments);
  absl::Status WriteTree(const ExportValue& value, std::vector<ExportValue>* leaves,
                         JsonWriter* spec);
  void WriteRanges(JsonWriter* json);
  void WriteCalls(absl::string_view out_spec, JsonWriter* json);

  // Nodes. What a graph returns.
  absl::StatusOr<ExportValue> ExportBody(const Graph& graph, Scope* scope);
  absl::StatusOr<ExportValue> Inline(const Graph& graph, absl::Span<const ExportValue> inputs,
                                     Scope* scope);
  absl::StatusOr<ExportValue> ExportCall(const Node& node, Scope* scope);
  // A value of the type of what a call would yield that cannot be written, which is counted.
  ExportValue StandIn(const Node& node, const absl::Status& status, Scope* scope);
  absl::StatusOr<std::optional<ExportValue>> ExportKnownControlFlow(
      const Node& node, absl::Span<const ExportValue> args, Scope* scope);
  absl::StatusOr<std::optional<ExportValue>> ExportSizes(const Node& node,
                                                         absl::Span<const ExportValue> args,
                                                         Scope* scope);
  absl::StatusOr<ExportValue> ExportAten(const Node& node, const Schema& schema,
                                         absl::Span<const ExportValue> args, Scope* scope);
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
    std::vector<ExportValue> tensors;  // by dimension; None where there is none
  };
  absl::StatusOr<ExportValue> ExportGetItem(const Node& node, const ExportValue& tensor,
                                            Scope* scope);
  absl::StatusOr<ExportValue> ExportSetItem(const Node& node, const ExportValue& tensor,
                                            Scope* scope);
  absl::StatusOr<Subscript> SubscriptOf(const Node& node, const ExportValue& tensor,
                                        const Argument& index, const TensorMeta* result,
                                        Scope* scope);
  // A call of an operator that yields one tensor, or none of which anything is asked.
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
  // `size`: of an int; of a bool a relation of sizes.
  ExportValue AddNumber(Kind kind, absl::string_view name, absl::string_view target,
                        const SymExpr* size, Scope* scope);
  // Of results that are taken apart: `value` yields them, if anything does.
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
  absl::StatusOr<ExportValue> MakeTensor(const Node& node, const ExportValue& scalar, Scope* scope);
  absl::Status WriteInput(const Node& node, absl::string_view name, int64_t kind,
                          const ExportValue& value, const SchemaType* type, Scope* scope,
                          JsonWriter* inputs);
  absl::Status WriteArgument(const Node& node, const ExportValue& value, const SchemaType* type,
                             Scope* scope, JsonWriter* json);
  absl::Status WriteList(const Node& node, const ExportValue& value, const SchemaType* type,
                         Scope* scope, JsonWriter* json);
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
  MissingCalls* const missing_;
  absl::Status first_missing_;
  absl::flat_hash_set<const Node*> lost_;  // that have no stand-in
  Module scratch_;                         // expressions that are made
  Arena arena_;
  absl::flat_hash_map<const Node*, ExportValue> values_;
  absl::flat_hash_map<absl::string_view, ExportValue> attribute_values_;
  absl::flat_hash_map<const Graph*, std::string> body_names_;
  // What the bodies of higher-order calls are given, where it is known.
  absl::flat_hash_map<const Graph*, std::vector<ExportValue>> operands_;
  std::vector<ExportedAttribute> attributes_;
  std::vector<UserInput> user_inputs_;
  bool has_same_inputs_ = false;  // as the original program
  std::string in_spec_, program_;
  std::vector<std::string> classes_;
  int64_t num_unknown_ = 0;                         // symbols for numbers that nothing is known of
  absl::flat_hash_set<std::string> unknown_bools_;  // those that are 0 or 1
  // What the program may hold besides what the module does: values of lists and of bodies that
  // are written wherever they are used, nodes of loops and branches whose course is known, terms
  // of sizes.
  Budget written_{uint64_t{1} << 22};
  Budget inlined_{uint64_t{1} << 19};
  Budget size_terms_{uint64_t{1} << 20};
  Expansions<const Graph*> bodies_;
  Expansions<const SymExpr*> sizes_;  // of scratch_
};

}  // namespace graphnet::pt2

#endif  // GRAPHNET_FORMATS_PT2_GRAPH_EXPORTER_H_
