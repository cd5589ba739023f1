// Imports the graphs of a torch.export program; importer.h says how each part is represented.
#ifndef GRAPHNET_FORMATS_PT2_GRAPH_IMPORTER_H_
#define GRAPHNET_FORMATS_PT2_GRAPH_IMPORTER_H_

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
#include "graphnet/base/status.h"
#include "graphnet/formats/pt2/call_signature.h"
#include "graphnet/formats/pt2/json.h"
#include "graphnet/formats/pt2/payloads.h"
#include "graphnet/ir/module.h"
#include "graphnet/ops/schema.h"

namespace graphnet::pt2 {

// A tensor of the program other than the user's inputs.
struct ImportedAttribute {
  std::string attribute;             // its name in the module
  const Payload* payload = nullptr;  // null if the archive has no value for it
  bool is_storage = false;           // the payload's whole storage as one dimension
  bool is_object = false;            // an object of a class, which has no values
};

// Imports one program into a module; call Run() once.
class GraphImporter {
 public:
  // `payloads` describes the parameters, buffers and constants. Both arguments must outlive this.
  GraphImporter(const Payloads& payloads, Module* module)
      : payloads_(payloads), overlapping_(OverlappingStorages(payloads)), module_(*module) {}

  // Imports GraphModule{graph, signature, …} as the main graph.
  absl::Status Run(Json graph_module);
  // Adds relations for the bounds of symbols from ExportedProgram's range_constraints.
  absl::Status AddRanges(Json range_constraints);

  // Parameters, buffers and constants.
  const std::vector<ImportedAttribute>& attributes() const { return attributes_; }
  // Names of the user's inputs in order; empty for a constant.
  const std::vector<std::string>& user_inputs() const { return user_inputs_; }
  // The structure in which callers pass them; null if the program has none.
  const TreeSpec* in_spec() const { return call_ ? &call_->in_spec : nullptr; }

 private:
  // The state of a graph while it is made.
  struct Scope {
    Graph* graph = nullptr;
    absl::flat_hash_map<absl::string_view, Node*> values;
    absl::flat_hash_map<absl::string_view, Json> tensors;  // TensorMeta by name
    absl::flat_hash_map<absl::string_view, Json> sizes;    // SymInt by name
    absl::flat_hash_map<absl::string_view, Json> others;   // other values by name
    std::vector<Node*> made;                               // get_attr and getitem nodes
    absl::flat_hash_set<absl::string_view> tokens;         // values that only order effects
    int depth = 0;
    std::string place;  // the imported node's place in the JSON
  };

  absl::StatusOr<Graph*> ImportBody(Json argument, int depth);
  absl::Status ReadValues(Json graph, Scope* scope);
  absl::Status ReadTable(Json table, absl::flat_hash_map<absl::string_view, Json>* values);

  // Inputs and outputs.
  absl::Status ImportSignatureInputs(Json inputs, Json specs, Scope* scope);
  absl::Status ImportUserInput(Json input, Json spec, Scope* scope);
  absl::Status AddAttribute(absl::string_view value, absl::string_view name,
                            absl::string_view annotation, Scope* scope);
  absl::StatusOr<Node*> MakeAttributeNode(absl::string_view value, absl::string_view name,
                                          absl::string_view annotation, Scope* scope);
  absl::StatusOr<Node*> MakeView(absl::string_view name, const Payload& payload, Scope* scope);
  absl::Status AddPlaceholder(Json input, Scope* scope);
  absl::Status ImportOutputs(Json graph, Json specs, Scope* scope);
  absl::StatusOr<Node*> FindMutated(absl::string_view kind, absl::string_view target, Scope* scope);
  absl::StatusOr<Argument> BuildOutput(const TreeSpec& spec, absl::Span<const Argument>* leaves);

  // Calls.
  absl::Status ImportNodes(Json nodes, Scope* scope);
  absl::Status ImportNode(Json node, Scope* scope);
  absl::Status ImportWithEffects(Json inputs, Json outputs, Json metadata, absl::string_view label,
                                 Scope* scope);
  // `schema` is the operator's; null if it has none.
  absl::Status ImportInputs(absl::string_view target, const Schema* schema, Json::Range inputs,
                            Scope* scope, std::vector<Argument>* args, std::vector<KwArg>* kwargs);
  absl::Status ImportResult(Node* call, Json output, Scope* scope);
  absl::Status ImportResults(Node* call, Json outputs, bool is_tuple, Scope* scope);
  absl::StatusOr<const ValueMeta*> AddElements(Node* sequence, Json::Range elements, Scope* scope);
  absl::Status Bind(absl::string_view value, Node* node, Scope* scope);
  void Describe(Json metadata, Node* node);

  // Arguments.
  absl::StatusOr<Argument> ReadArgument(Json argument, const Scope& scope);
  absl::StatusOr<Argument> ReadOutput(Json output, const Scope& scope);
  absl::StatusOr<Argument> ReadNamed(Json argument, absl::string_view value_kind,
                                     absl::string_view constant_kind, const Scope& scope);
  absl::StatusOr<Node*> FindValue(absl::string_view name, const Scope& scope);
  template <typename Fn>
  absl::StatusOr<Argument> ReadList(Json list, Fn&& read, bool tuple = false);

  // Metas.
  absl::StatusOr<const ValueMeta*> MetaOf(absl::string_view value, Scope* scope);
  absl::StatusOr<const ValueMeta*> ReadMeta(Json meta);
  // Returns nullopt if the size is missing or the IR cannot express it.
  absl::StatusOr<std::optional<Dim>> ReadSize(Json size);

  const Payloads& payloads_;
  const absl::flat_hash_set<std::string> overlapping_;  // from OverlappingStorages()
  Module& module_;
  Arena arena_;
  std::vector<ImportedAttribute> attributes_;
  std::vector<std::string> user_inputs_;
  std::optional<CallSignature> call_;
  absl::flat_hash_map<std::string, std::string> by_identity_;  // Payload::Identity to attribute
  absl::flat_hash_map<std::string, Node*> storage_nodes_;      // by Payload::Storage
  absl::flat_hash_map<std::string, Node*> attribute_nodes_;    // from "l.weight" to its node
  absl::flat_hash_set<absl::string_view> placeholder_names_;
  absl::flat_hash_map<absl::string_view, const SymExpr*> expressions_;
};

template <typename Fn>
absl::StatusOr<Argument> GraphImporter::ReadList(Json list, Fn&& read, bool tuple) {
  RETURN_IF_ERROR(list.ExpectArray());
  Argument* const elements = arena_.NewArray<Argument>(list.size());
  size_t n = 0;
  for (const Json element : list.elements()) {
    ASSIGN_OR_RETURN(const Argument argument, read(element));
    new (&elements[n++]) Argument(argument);
  }
  const auto made = absl::MakeConstSpan(elements, n);
  return tuple ? Argument::Tuple(made) : Argument::List(made);
}

}  // namespace graphnet::pt2

#endif  // GRAPHNET_FORMATS_PT2_GRAPH_IMPORTER_H_
