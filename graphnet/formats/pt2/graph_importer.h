// The graphs of a torch.export program in the IR: see importer.h for what becomes of what.
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

// A tensor of the program that is no input of the user's.
struct ImportedAttribute {
  std::string attribute;             // name in the module
  const Payload* payload = nullptr;  // null: the archive has no value for it
  bool is_storage = false;           // all of the payload's storage, as one dimension
};

class GraphImporter {
 public:
  // `payloads`: what the program's parameters, buffers and constants are; they outlive this.
  GraphImporter(const Payloads& payloads, Module* module)
      : payloads_(payloads), overlapping_(OverlappingStorages(payloads)), module_(*module) {}

  // Imports GraphModule{graph, signature, …} as the main graph.
  absl::Status Run(Json graph_module);
  // Relations for the bounds of symbols, ExportedProgram::range_constraints.
  absl::Status AddRanges(Json range_constraints);

  const std::vector<ImportedAttribute>& attributes() const { return attributes_; }
  // The user's inputs, in order: names of placeholders, empty where a constant takes the place.
  const std::vector<std::string>& user_inputs() const { return user_inputs_; }
  // What structure they are given in; null: not said.
  const TreeSpec* in_spec() const { return call_ ? &call_->in_spec : nullptr; }

 private:
  // A graph that is being made.
  struct Scope {
    Graph* graph = nullptr;
    absl::flat_hash_map<absl::string_view, Node*> values;
    absl::flat_hash_map<absl::string_view, Json> tensors;  // TensorMeta by name
    absl::flat_hash_map<absl::string_view, Json> sizes;    // SymInt by name
    absl::flat_hash_map<absl::string_view, Json> others;   // other values by name
    std::vector<Node*> made;                               // get_attr and getitem
    absl::flat_hash_set<absl::string_view> tokens;         // that order effects
    int depth = 0;
    std::string place;  // in the JSON, of the node that is imported
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
  // `schema`: of the operator; null: it has none.
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
  // Null: not said, or nothing that the IR can say.
  absl::StatusOr<std::optional<Dim>> ReadSize(Json size);

  const Payloads& payloads_;
  const absl::flat_hash_set<std::string> overlapping_;  // storages
  Module& module_;
  Arena arena_;
  std::vector<ImportedAttribute> attributes_;
  std::vector<std::string> user_inputs_;
  std::optional<CallSignature> call_;
  absl::flat_hash_map<std::string, std::string> by_identity_;  // Payload::Identity to attribute
  absl::flat_hash_map<std::string, Node*> storage_nodes_;      // by Payload::Storage
  absl::flat_hash_map<std::string, Node*> attribute_nodes_;    // "l.weight" to what stands for it
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
