// Imports lists, tuples and dicts, and the attributes of objects.
#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/torchscript/graph_importer.h"

namespace graphnet::torchscript {

namespace jit = torch::jit;
namespace prim = c10::prim;
namespace attr = c10::attr;

namespace {

// Returns whether a list or dict is empty and becomes part of a result: only its type tells which
// values it could hold.
bool NeedsType(const jit::Node& node) {
  if (!node.inputs().empty()) return false;
  return absl::c_any_of(node.output()->uses(), [](const jit::Use& use) {
    const c10::Symbol kind = use.user->kind();
    return kind == prim::Return || kind == prim::TupleConstruct || kind == prim::ListConstruct ||
           kind == prim::DictConstruct;
  });
}

}  // namespace

// --- Attributes --------------------------------------------------------------

// State is read and written where the program does so, by
// prim.GetAttr(path of the object, name, initial value).
absl::Status GraphImporter::ImportGetAttr(const jit::Node* node) {
  const std::string& name = node->s(attr::name);
  const Program::Object* object = program_.FindObject(node->input(0));
  if (object == nullptr) {
    ASSIGN_OR_RETURN(const Argument owner, Operand(node->input(0)));
    SetResult(node,
              Emit("prim.GetAttr", {owner, absl::string_view(name)}, {}, NameOf(node->output())));
    return absl::OkStatus();
  }
  if (!program_.IsState(object->object.get(), name)) return absl::OkStatus();
  if (program_.FindObject(node->output()) != nullptr) return absl::OkStatus();
  if (const auto slot = object->object->type()->findAttributeSlot(name)) {
    const c10::IValue& value = object->object->getSlot(*slot);
    const std::string key =
        absl::StrCat("self", object->path->empty() ? "" : ".", *object->path, ".", name);
    if (value.isList() || value.isGenericDict()) {
      const auto same = absl::c_find_if(states_, [&](const auto& s) { return s.first.is(value); });
      if (same == states_.end()) {
        states_.push_back({value, key});
      } else if (same->second != key) {
        return CannotRepresent(*node, absl::StrCat(key, " and ", same->second,
                                                   " share a list that is changed in place"));
      }
    }
  }
  ASSIGN_OR_RETURN(const Argument initial, AttributeValue(*object, name));
  SetResult(node,
            Emit("prim.GetAttr",
                 {absl::string_view(*object->path), absl::string_view(name), Localize(initial)}, {},
                 NameOf(node->output())));
  return absl::OkStatus();
}

absl::Status GraphImporter::ImportSetAttr(const jit::Node* node) {
  const std::string& name = node->s(attr::name);
  ASSIGN_OR_RETURN(const Argument value, Operand(node->input(1)));
  Argument owner;
  if (const Program::Object* object = program_.FindObject(node->input(0))) {
    const auto slot = object->object->type()->findAttributeSlot(name);
    if (slot && object->object->getSlot(*slot).isObject()) {
      return CannotRepresent(*node, absl::StrCat(name, " holds an object from before the run"));
    }
    owner = absl::string_view(*object->path);
  } else {
    ASSIGN_OR_RETURN(owner, Operand(node->input(0)));
  }
  Emit("prim.SetAttr", {owner, absl::string_view(name), value});
  return absl::OkStatus();
}

// --- Structures --------------------------------------------------------------

absl::Status GraphImporter::ImportList(const jit::Node* node) {
  ASSIGN_OR_RETURN(const std::vector<Argument> elements, Operands(node->inputs()));
  if (!program_.HasIdentity(node->output()) && !NeedsType(*node)) {
    values_[node->output()] = Keep(Argument::Kind::kList, elements);
    return absl::OkStatus();
  }
  Node* list = Emit("prim.ListConstruct", elements, {}, NameOf(node->output()));
  list->set_annotation(TypeText(*node->output()->type()));
  SetResult(node, list);
  return absl::OkStatus();
}

absl::Status GraphImporter::ImportDict(const jit::Node* node) {
  ASSIGN_OR_RETURN(const std::vector<Argument> entries, Operands(node->inputs()));
  bool constant_keys = true;
  if (entries.size() > 2000) constant_keys = false;  // Keys are compared in pairs.
  for (size_t i = 0; i < entries.size() && constant_keys; i += 2) {
    constant_keys &= !entries[i].is_node() && !entries[i].is_aggregate();
    for (size_t k = 0; k < i && constant_keys; k += 2) constant_keys = entries[k] != entries[i];
  }
  if (constant_keys && !program_.HasIdentity(node->output()) && !NeedsType(*node)) {
    values_[node->output()] = Keep(Argument::Kind::kDict, entries);
    return absl::OkStatus();
  }
  Node* dict = Emit("prim.DictConstruct", entries, {}, NameOf(node->output()));
  dict->set_annotation(TypeText(*node->output()->type()));
  SetResult(node, dict);
  return absl::OkStatus();
}

absl::Status GraphImporter::ImportUnpack(const jit::Node* node) {
  ASSIGN_OR_RETURN(const Argument whole, Operand(node->input(0)));
  for (size_t i = 0; i < node->outputs().size(); ++i) {
    const jit::Value* output = node->output(i);
    if (whole.is_list() || whole.is_tuple()) {
      if (whole.elements().size() != node->outputs().size()) {
        return CannotRepresent(*node, "the number of elements is different");
      }
      values_[output] = whole.elements()[i];
    } else if (output->hasUses()) {
      values_[output] = GetItem(whole, static_cast<int64_t>(i), output);
    }
  }
  return absl::OkStatus();
}

absl::Status GraphImporter::ImportTupleElement(const jit::Node* node) {
  ASSIGN_OR_RETURN(const Argument tuple, Operand(node->input(0)));
  const jit::Value* output = node->output();
  if (node->kind() == prim::TupleSlice) {
    const int64_t begin = node->i(attr::beg);
    const int64_t end = node->i(attr::end);
    if (!tuple.is_tuple()) {
      const Argument slice[] = {begin, end, Argument::None()};
      values_[output] = GetItem(tuple, Argument::Slice(slice), output);
      return absl::OkStatus();
    }
    const int64_t size = static_cast<int64_t>(tuple.elements().size());
    if (begin < 0 || begin > end || end > size) {
      return CannotRepresent(*node, "the slice is out of bounds");
    }
    values_[output] = Argument::Tuple(tuple.elements().subspan(begin, end - begin));
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const Argument index, Operand(node->input(1)));
  if (!tuple.is_tuple() || !index.is_int()) {
    values_[output] = GetItem(tuple, index, output);
    return absl::OkStatus();
  }
  const int64_t size = static_cast<int64_t>(tuple.elements().size());
  const int64_t i = index.integer() < 0 ? index.integer() + size : index.integer();
  if (i < 0 || i >= size) return CannotRepresent(*node, "the index is out of bounds");
  values_[output] = tuple.elements()[i];
  return absl::OkStatus();
}

absl::Status GraphImporter::ImportIsInstance(const jit::Node* node) {
  ASSIGN_OR_RETURN(const Argument value, Operand(node->input(0)));
  std::vector<std::string> texts;
  for (const c10::TypePtr& type : node->tys(attr::types)) texts.push_back(TypeText(*type));
  const std::vector<Argument> types(texts.begin(), texts.end());
  SetResult(node,
            Emit("prim.isinstance", {value, Argument::Tuple(types)}, {}, NameOf(node->output())));
  return absl::OkStatus();
}

}  // namespace graphnet::torchscript
