// Imports inputs and outputs of a program.
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/pt2/graph_importer.h"
#include "graphnet/formats/pt2/json.h"
#include "graphnet/formats/pt2/schema.h"
#include "graphnet/formats/pt2/tree_spec.h"
#include "graphnet/ir/annotation.h"

namespace graphnet::pt2 {

// --- Inputs ------------------------------------------------------------------

absl::Status GraphImporter::Bind(absl::string_view value, Node* node, Scope* scope) {
  if (!scope->tensors.contains(value) && !scope->sizes.contains(value) &&
      !scope->others.contains(value)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the value ", Printable(value), " has no record in the tables of values"));
  }
  if (scope->values.try_emplace(value, node).second) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the value ", Printable(value), " is defined twice"));
}

absl::Status GraphImporter::AddPlaceholder(Json input, Scope* scope) {
  ASSIGN_OR_RETURN(const absl::string_view name, NameOfArgument(input));
  if (name.empty()) {  // A constant: nothing refers to it, but callers pass it.
    scope->graph->Placeholder(absl::StrCat("arg", scope->graph->num_nodes()));
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const JsonUnion value, ReadUnion(input));
  const std::string target = scope->graph->UniqueName(name);
  Node* const node = scope->graph->Placeholder(target, target);
  ASSIGN_OR_RETURN(const ValueMeta* const meta, MetaOf(name, scope));
  node->set_meta(meta);
  if (value.kind == "as_sym_int") node->set_annotation("torch.SymInt");
  if (value.kind == "as_sym_float") node->set_annotation("torch.SymFloat");
  if (value.kind == "as_sym_bool") node->set_annotation("torch.SymBool");
  if (value.kind == "as_tensor" && scope->depth == 0) node->set_annotation("torch.Tensor");
  if (value.kind == "as_sym_int" && scope->depth == 0) {
    // Draw the number's value in the example if that is known.
    const auto it = scope->sizes.find(name);
    if (it == scope->sizes.end())
      return absl::InvalidArgumentError("the program does not describe its value");
    ASSIGN_OR_RETURN(const std::optional<Dim> size, ReadSize(it->second));
    if (size && !size->is_static() && size->expr->kind == SymExpr::Kind::kSymbol) {
      const Symbol* const symbol = module_.FindSymbol(size->expr->name);
      if (symbol != nullptr && symbol->example) {
        const Argument example = *symbol->example;
        DrawSpec spec;
        spec.data = Argument::List({&example, 1});
        node->set_draw_spec(spec);
      }
    }
  }
  return Bind(name, node, scope);
}

absl::Status GraphImporter::ImportUserInput(Json input, Json spec, Scope* scope) {
  Json argument;
  RETURN_IF_ERROR(ReadFields(spec, {{"arg", &argument}}));
  ASSIGN_OR_RETURN(const absl::string_view name, NameOfArgument(input));
  ASSIGN_OR_RETURN(const absl::string_view named, NameOfArgument(argument));
  if (name != named) {
    return absl::InvalidArgumentError(
        absl::StrCat("the signature calls it ", Printable(named), ", the graph ", Printable(name)));
  }
  if (name.empty()) {
    user_inputs_.emplace_back();
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(AddPlaceholder(input, scope));
  user_inputs_.emplace_back(scope->values.at(name)->target());
  return absl::OkStatus();
}

absl::StatusOr<Node*> GraphImporter::MakeAttributeNode(absl::string_view value,
                                                       absl::string_view name,
                                                       absl::string_view annotation, Scope* scope) {
  std::string attribute(name);
  while (placeholder_names_.contains(attribute) || module_.FindAttribute(attribute) != nullptr) {
    attribute += '_';
  }
  ASSIGN_OR_RETURN(const ValueMeta* const meta, MetaOf(value, scope));
  module_.AddAttribute({.name = attribute,
                        .meta = meta == nullptr ? nullptr : meta->tensor,
                        .annotation = annotation});
  Node* const node = scope->graph->GetAttr(attribute, value);
  node->set_meta(meta);
  scope->made.push_back(node);
  const auto payload = payloads_.find(name);
  const Payload* const its_value = payload == payloads_.end() ? nullptr : &payload->second;
  if (its_value != nullptr && its_value->is_tensor && its_value->can_be_shared()) {
    by_identity_.emplace(its_value->Identity(), attribute);
  }
  attributes_.push_back({std::move(attribute), its_value, /*is_storage=*/false,
                         /*is_object=*/annotation == "torch.ScriptObject"});
  return node;
}

absl::StatusOr<Node*> GraphImporter::MakeView(absl::string_view name, const Payload& payload,
                                              Scope* scope) {
  // The storage is an attribute and this tensor a view of it: a write to one tensor that shares
  // the storage shows in the others.
  Node*& storage = storage_nodes_[payload.Storage()];
  if (storage == nullptr) {
    std::string attribute =
        absl::StrCat("_storage_", payload.record_name.substr(payload.record_name.rfind('/') + 1));
    while (placeholder_names_.contains(attribute) || module_.FindAttribute(attribute) != nullptr) {
      attribute += '_';
    }
    if (!payload.record_bytes)
      return absl::InvalidArgumentError("its storage is not in the archive");
    const uint64_t width = static_cast<uint64_t>(DTypeBytes(payload.tensor.dtype));
    const Dim size = static_cast<int64_t>(*payload.record_bytes / width);
    const ValueMeta* const meta = module_.InternValueMeta({.dtype = payload.tensor.dtype,
                                                           .has_device = true,
                                                           .has_shape = true,
                                                           .shape = {&size, 1}});
    module_.AddAttribute({.name = attribute, .meta = meta->tensor, .annotation = "torch.Tensor"});
    storage = scope->graph->GetAttr(attribute, attribute);
    storage->set_meta(meta);
    scope->made.push_back(storage);
    attributes_.push_back({attribute, &payload, /*is_storage=*/true});
  }
  const auto list = [&](const std::vector<int64_t>& numbers) {
    const std::vector<Argument> elements(numbers.begin(), numbers.end());
    return Argument::List(arena_.Copy(absl::MakeConstSpan(elements)));
  };
  Node* const view = scope->graph->CallFunction(
      "aten.as_strided.default",
      {storage, list(payload.tensor.sizes), list(payload.tensor.strides), payload.tensor.offset},
      {}, name);
  scope->made.push_back(view);
  return view;
}

absl::Status GraphImporter::AddAttribute(absl::string_view value, absl::string_view name,
                                         absl::string_view annotation, Scope* scope) {
  if (name.empty() || name.size() > kMaxNameBytes)
    return absl::InvalidArgumentError("its name is empty or too long");
  const auto [it, is_new] = attribute_nodes_.try_emplace(std::string(name));
  if (!is_new) {
    // torch 2.6 lists a shared parameter so.
    const Attribute* const attribute = module_.FindAttribute(name);
    if (attribute != nullptr && attribute->annotation == annotation &&
        attribute->annotation != "torch.Tensor") {
      return Bind(value, it->second, scope);
    }
    return absl::InvalidArgumentError(
        absl::StrCat("two inputs are the attribute ", Printable(name)));
  }
  const auto payload = payloads_.find(name);
  // An archive may have no values at all.
  if (payload == payloads_.end() && !payloads_.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the archive has no value of ", Printable(name)));
  }
  Node* node = nullptr;
  if (payload != payloads_.end()) {
    // One tensor under several names is one attribute.
    const auto same = by_identity_.find(payload->second.Identity());
    if (same != by_identity_.end() && payload->second.can_be_shared()) {
      node = scope->graph->GetAttr(same->second, value);
      scope->made.push_back(node);
    } else if (payload->second.is_tensor && overlapping_.contains(payload->second.Storage())) {
      ASSIGN_OR_RETURN(node, MakeView(value, payload->second, scope));
    }
    if (node != nullptr) {
      ASSIGN_OR_RETURN(const ValueMeta* const meta, MetaOf(value, scope));
      node->set_meta(meta);
    }
  }
  if (node == nullptr) {
    ASSIGN_OR_RETURN(node, MakeAttributeNode(value, name, annotation, scope));
  }
  attribute_nodes_[std::string(name)] = node;
  return Bind(value, node, scope);
}

absl::Status GraphImporter::ImportSignatureInputs(Json inputs, Json specs, Scope* scope) {
  RETURN_IF_ERROR(Annotate(inputs.ExpectArray(), "inputs"));
  RETURN_IF_ERROR(Annotate(specs.ExpectArray(), "signature: input_specs"));
  if (inputs.size() != specs.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the signature has ", specs.size(), " inputs, the graph ", inputs.size()));
  }
  const auto fail = [](size_t i, const absl::Status& status) {
    return Annotate(status, absl::StrCat("input ", i));
  };
  // Placeholders come first in a graph.
  auto spec = specs.elements().begin();
  size_t i = 0;
  for (const Json input : inputs.elements()) {
    const absl::StatusOr<JsonUnion> kind = ReadUnion(*spec);
    if (!kind.ok()) return fail(i, kind.status());
    if (kind->kind == "user_input") {
      RETURN_IF_ERROR(fail(i, ImportUserInput(input, kind->value, scope)));
    } else if (kind->kind == "constant_input") {
      user_inputs_.emplace_back();
    } else if (kind->kind == "token") {
      const absl::StatusOr<absl::string_view> token = NameOfArgument(input);
      if (!token.ok()) return fail(i, token.status());
      scope->tokens.insert(*token);
    }
    ++spec;
    ++i;
  }
  for (const Node* node : scope->graph->nodes()) placeholder_names_.insert(node->target());
  spec = specs.elements().begin();
  i = 0;
  for (const Json input : inputs.elements()) {
    const auto import = [&]() -> absl::Status {
      ASSIGN_OR_RETURN(const JsonUnion kind, ReadUnion(*spec));
      if (kind.kind == "user_input" || kind.kind == "constant_input" || kind.kind == "token") {
        return absl::OkStatus();
      }
      Json argument, target;
      const absl::string_view field = kind.kind == "parameter"         ? "parameter_name"
                                      : kind.kind == "buffer"          ? "buffer_name"
                                      : kind.kind == "tensor_constant" ? "tensor_constant_name"
                                      : kind.kind == "custom_obj"      ? "custom_obj_name"
                                                                       : "";
      if (field.empty())
        return absl::InvalidArgumentError(
            absl::StrCat("unknown kind of input: ", Printable(kind.kind)));
      Json persistent;
      const bool is_buffer = kind.kind == "buffer";
      RETURN_IF_ERROR(ReadFields(
          kind.value,
          {{"arg", &argument}, {field, &target}, {"persistent", &persistent, is_buffer}}));
      if (is_buffer) RETURN_IF_ERROR(persistent.Bool().status());
      ASSIGN_OR_RETURN(const absl::string_view value, NameOfArgument(input));
      ASSIGN_OR_RETURN(const absl::string_view named, ReadName(argument));
      if (value.empty() || value != named) {
        return absl::InvalidArgumentError(absl::StrCat("the signature calls it ", Printable(named),
                                                       ", the graph ", Printable(value)));
      }
      ASSIGN_OR_RETURN(const absl::string_view name, target.String());
      const absl::string_view annotation = kind.kind == "parameter"    ? kParameterAnnotation
                                           : kind.kind == "custom_obj" ? "torch.ScriptObject"
                                                                       : "torch.Tensor";
      return AddAttribute(value, name, annotation, scope);
    };
    RETURN_IF_ERROR(fail(i, import()));
    ++spec;
    ++i;
  }
  return absl::OkStatus();
}

// --- Outputs -----------------------------------------------------------------

// Returns the node that a mutation of the signature writes to.
absl::StatusOr<Node*> GraphImporter::FindMutated(absl::string_view kind, absl::string_view target,
                                                 Scope* scope) {
  if (kind == "user_input_mutation") {
    const auto it = scope->values.find(target);
    if (it != scope->values.end() && it->second->is_placeholder()) return it->second;
  } else if (const auto it = attribute_nodes_.find(std::string(target));
             it != attribute_nodes_.end()) {
    return it->second;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("a mutation writes to ", Printable(target), ", which does not exist"));
}

absl::StatusOr<Argument> GraphImporter::BuildOutput(const TreeSpec& spec,
                                                    absl::Span<const Argument>* leaves) {
  if (spec.kind == TreeSpec::Kind::kLeaf) {
    const Argument leaf = leaves->front();
    leaves->remove_prefix(1);
    return leaf;
  }
  std::vector<Argument> elements;
  for (size_t i = 0; i < spec.children.size(); ++i) {
    if (spec.kind == TreeSpec::Kind::kDict) {
      elements.push_back(std::visit(
          [this](const auto& key) -> Argument {
            using Key = std::decay_t<decltype(key)>;
            if constexpr (std::is_same_v<Key, std::monostate>) {
              return Argument();
            } else if constexpr (std::is_same_v<Key, std::string>) {
              return arena_.Copy(absl::string_view(key));
            } else {
              return key;
            }
          },
          spec.keys[i]));
    }
    ASSIGN_OR_RETURN(const Argument child, BuildOutput(spec.children[i], leaves));
    elements.push_back(child);
  }
  const absl::Span<const Argument> kept = arena_.Copy(absl::MakeConstSpan(elements));
  switch (spec.kind) {
    case TreeSpec::Kind::kList: return Argument::List(kept);
    case TreeSpec::Kind::kDict: return Argument::Dict(kept);
    default: return Argument::Tuple(kept);
  }
}

absl::Status GraphImporter::ImportOutputs(Json graph, Json specs, Scope* scope) {
  Json outputs;
  RETURN_IF_ERROR(ReadFields(graph, {{"outputs", &outputs}}));
  RETURN_IF_ERROR(Annotate(outputs.ExpectArray(), "outputs"));
  RETURN_IF_ERROR(Annotate(specs.ExpectArray(), "signature: output_specs"));
  if (outputs.size() != specs.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the signature has ", specs.size(), " outputs, the graph ", outputs.size()));
  }
  std::vector<Argument> returned;
  absl::flat_hash_map<Node*, Node*> copies;
  auto spec = specs.elements().begin();
  size_t i = 0;
  for (const Json output : outputs.elements()) {
    const auto import = [&]() -> absl::Status {
      ASSIGN_OR_RETURN(const JsonUnion kind, ReadUnion(*spec));
      if (kind.kind == "token") {
        ASSIGN_OR_RETURN(const absl::string_view token, NameOfArgument(output));
        if (scope->tokens.contains(token)) return absl::OkStatus();
        return absl::InvalidArgumentError(absl::StrCat(Printable(token), " is not a token"));
      }
      ASSIGN_OR_RETURN(const Argument value, ReadOutput(output, *scope));
      Json argument, target;
      const bool is_mutation = absl::EndsWith(kind.kind, "_mutation");
      if (kind.kind != "user_output" && kind.kind != "loss_output" && !is_mutation &&
          !absl::StartsWith(kind.kind, "gradient_to_")) {
        return absl::InvalidArgumentError(
            absl::StrCat("unknown kind of output: ", Printable(kind.kind)));
      }
      RETURN_IF_ERROR(ReadFields(kind.value, {{"arg", &argument}}));
      ASSIGN_OR_RETURN(const absl::string_view name, NameOfArgument(output));
      absl::string_view named;
      if (kind.kind == "user_output") {
        ASSIGN_OR_RETURN(named, NameOfArgument(argument));
      } else {
        ASSIGN_OR_RETURN(named, ReadName(argument));
      }
      if (name != named) {
        return absl::InvalidArgumentError(absl::StrCat("the signature calls it ", Printable(named),
                                                       ", the graph ", Printable(name)));
      }
      if (!is_mutation) {
        returned.push_back(value);
        return absl::OkStatus();
      }
      const absl::string_view field = kind.kind == "buffer_mutation"      ? "buffer_name"
                                      : kind.kind == "parameter_mutation" ? "parameter_name"
                                                                          : "user_input_name";
      RETURN_IF_ERROR(ReadFields(kind.value, {{field, &target}}));
      ASSIGN_OR_RETURN(const absl::string_view written, target.String());
      ASSIGN_OR_RETURN(Node* const to, FindMutated(kind.kind, written, scope));
      if (!value.is_node())
        return absl::InvalidArgumentError("the new value of a mutation is a constant, not a value");
      Node* const copy = scope->graph->CallFunction("aten.copy_.default", {to, value});
      copy->set_meta(to->meta());
      copies[value.node()] = copy;
      return absl::OkStatus();
    };
    RETURN_IF_ERROR(Annotate(import(), absl::StrCat("output ", i)));
    ++spec;
    ++i;
  }
  // Like torch.export's own module, return a copied value from the place it was copied to.
  for (Argument& value : returned) {
    if (!value.is_node()) continue;
    if (const auto it = copies.find(value.node()); it != copies.end()) value = it->second;
  }
  Argument result = Argument::Tuple(arena_.Copy(absl::MakeConstSpan(returned)));
  if (call_) {
    if (call_->out_spec.num_leaves() != returned.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("module_call_graph: out_spec has ", call_->out_spec.num_leaves(),
                       " leaves, the signature ", returned.size(), " outputs"));
    }
    absl::Span<const Argument> leaves = returned;
    ASSIGN_OR_RETURN(result, BuildOutput(call_->out_spec, &leaves));
  }
  scope->graph->Output(result);
  // Unused nodes that this import made are dropped.
  for (size_t n = scope->made.size(); n-- > 0;) {
    if (!scope->made[n]->has_uses()) scope->graph->EraseNode(scope->made[n]);
  }
  return absl::OkStatus();
}

}  // namespace graphnet::pt2
