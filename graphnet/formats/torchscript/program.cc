#include "graphnet/formats/torchscript/program.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graphnet/base/limits.h"
#include "torch/csrc/jit/api/function_impl.h"
#include "torch/csrc/jit/ir/alias_analysis.h"
#include "torch/csrc/jit/ir/constants.h"
#include "torch/csrc/jit/runtime/graph_iterator.h"

namespace graphnet::torchscript {

namespace jit = torch::jit;
namespace prim = c10::prim;
namespace aten = c10::aten;
namespace attr = c10::attr;

// --- Places and errors -------------------------------------------------------

Place PlaceOf(const jit::Node& node) {
  jit::SourceRange range = node.sourceRange();
  if (range.source() == nullptr) return {};
  // An archive may record the line of the original program.
  if (std::optional<jit::SourceRange> original = range.findSourceRangeThatGenerated();
      original && original->source() != nullptr && original->source()->filename()) {
    range = *original;
  }
  if (range.start() > range.source()->size()) return {};
  const auto place = range.file_line_col();
  if (!place) return {};
  const auto& [file, line, column] = *place;
  if (file.size() > kMaxNameBytes) return {};
  return {file, line, column + 1};
}

const jit::Node& NearestWithPlace(const jit::Node& node) {
  const jit::Node* const end = node.owningBlock()->return_node();
  for (const jit::Node* near = &node; near != nullptr && near != end; near = near->prev()) {
    if (PlaceOf(*near).line > 0) return *near;
  }
  return node;
}

absl::Status ErrorAtNode(const jit::Node& node, absl::string_view message) {
  const Place place = PlaceOf(NearestWithPlace(node));
  return ErrorAt(place.file.empty() ? "<torchscript>" : place.file, place.line, place.column,
                 message);
}

absl::Status CannotRepresent(const jit::Node& node, absl::string_view why) {
  return ErrorAtNode(node,
                     absl::StrCat("cannot represent ", node.kind().toQualString(), ": ", why));
}

bool Holds(const c10::Type& type, absl::Span<const c10::TypeKind> kinds) {
  return absl::c_linear_search(kinds, type.kind()) ||
         absl::c_any_of(type.containedTypes(),
                        [&](const c10::TypePtr& inner) { return Holds(*inner, kinds); });
}

namespace {

bool IsOfCpp(const c10::ClassType& type) {
  return type.name() && absl::StartsWith(type.name()->qualifiedName(), "__torch__.torch.classes.");
}

}  // namespace

// --- Numbers -----------------------------------------------------------------

std::optional<at::Tensor> ConstantTensor(const jit::Value* value) {
  while (value->node()->kind() == prim::unchecked_cast ||
         value->node()->kind() == prim::unchecked_unwrap_optional) {
    value = value->node()->input(0);
  }
  const std::optional<c10::IValue> constant = jit::toIValue(value);
  if (!constant || !constant->isTensor() || !constant->toTensor().defined()) return std::nullopt;
  return constant->toTensor();
}

void RestoreNumbers(jit::Block* block) {
  for (jit::Node* node : block->nodes()) {
    for (jit::Block* inner : node->blocks()) RestoreNumbers(inner);
    const c10::Symbol kind = node->kind();
    if (kind != aten::add && kind != aten::sub && kind != aten::mul && kind != aten::div) continue;
    const c10::FunctionSchema* schema = node->maybeSchema();
    if (schema == nullptr || schema->overload_name() != "Tensor") continue;
    const std::optional<at::Tensor> tensor = ConstantTensor(node->input(1));
    // A bool does not change the dtype, and TorchScript's operators do not accept it as a number.
    if (!tensor || tensor->dim() > 0 || tensor->is_meta() || tensor->scalar_type() == at::kBool) {
      continue;
    }
    const jit::WithInsertPoint guard(node);
    node->replaceInput(1, node->owningGraph()->insertConstant(tensor->item()));
  }
}

// --- Inlining ----------------------------------------------------------------

namespace {

void CountNodes(const jit::Block* block, size_t* count) {
  for (const jit::Node* node : block->nodes()) {
    ++*count;
    for (const jit::Block* inner : node->blocks()) CountNodes(inner, count);
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<Program>> Program::Make(
    jit::Graph& graph, c10::intrusive_ptr<c10::ivalue::Object> self) {
  std::unique_ptr<Program> program(new Program);
  program->graph_ = graph.copy();
  jit::Graph& copy = *program->graph_;
  CountNodes(copy.block(), &program->num_nodes_);
  if (self != nullptr) {
    if (copy.inputs().empty()) {
      return absl::InvalidArgumentError("the method does not take self");
    }
    program->objects_[copy.inputs()[0]] = {std::move(self), program->InternPath("")};
  }
  RETURN_IF_ERROR(program->Flatten(copy.block(), 0));
  RestoreNumbers(copy.block());
  program->FindIdentity(copy.block());
  return program;
}

const std::string* Program::InternPath(std::string path) {
  // Neighbours share a path; beyond that, duplicates are cheap.
  if (paths_.empty() || paths_.back() != path) paths_.push_back(std::move(path));
  return &paths_.back();
}

Program::Info Program::InfoOf(const jit::Node* node) const {
  static const std::string* const kRoot = new std::string;
  const auto it = info_.find(node);
  return it == info_.end() ? Info{kRoot, 0} : it->second;
}

void Program::SetInfo(jit::Node* node, const Info& info) {
  info_[node] = info;
  for (jit::Block* block : node->blocks()) {
    for (jit::Node* inner : block->nodes()) SetInfo(inner, info);
  }
}

const Program::Object* Program::FindObject(const jit::Value* value) const {
  const auto it = objects_.find(value);
  return it == objects_.end() ? nullptr : &it->second;
}

const jit::Node* Program::FindWrittenAttribute() const {
  std::shared_ptr<jit::Graph> graph = graph_;
  const jit::AliasDb aliases(graph);
  jit::DepthFirstGraphNodeIterator nodes(graph);
  while (const jit::Node* node = nodes.next()) {
    if (node->kind() == prim::GetAttr &&
        node->output()->type()->kind() == c10::TypeKind::TensorType &&
        aliases.hasWriters(node->output())) {
      return node;
    }
  }
  return nullptr;
}

std::string Program::ModulePath(const jit::Node* node) const {
  if (const Info info = InfoOf(node); !info.path->empty()) return *info.path;
  // A graph directly from the tracer has scopes: "__module.layer1/__module.layer1.conv".
  const std::string scopes = node->scopeName();
  absl::string_view last = scopes;
  if (const size_t slash = last.rfind('/'); slash != absl::string_view::npos) {
    last.remove_prefix(slash + 1);
  }
  if (last == "__module") return "";
  if (absl::ConsumePrefix(&last, "__module.")) return std::string(last);
  return "";
}

absl::Status Program::Flatten(jit::Block* block, int depth) {
  if (depth > kMaxNesting) {
    return absl::InvalidArgumentError(absl::StrCat("blocks nest deeper than ", kMaxNesting));
  }
  for (jit::Node* node = block->return_node()->next(); node != block->return_node();) {
    jit::Node* next = node->next();
    RETURN_IF_ERROR(FlattenNode(node, depth, &next));
    node = next;
  }
  return absl::OkStatus();
}

absl::Status Program::FlattenNode(jit::Node* node, int depth, jit::Node** next) {
  switch (node->kind()) {
    case prim::CallFunction: {
      const auto type = node->input(0)->type()->cast<c10::FunctionType>();
      if (type == nullptr) return CannotRepresent(*node, "the function is not known");
      return InlineCall(node, type->function(), node->inputs().slice(1), InfoOf(node).path, next);
    }
    case prim::CallMethod: {
      const Object* object = FindObject(node->input(0));
      // A known object has a concrete type even where the program declares an interface.
      const auto type = object != nullptr ? object->object->type()
                                          : node->input(0)->type()->cast<c10::ClassType>();
      if (type == nullptr) {
        return CannotRepresent(*node, absl::StrCat("the object of the method ", node->s(attr::name),
                                                   " is known only at run time"));
      }
      const std::string* path = object != nullptr ? object->path : InfoOf(node).path;
      return InlineCall(node, type->findMethod(node->s(attr::name)), node->inputs(), path, next);
    }
    case prim::Enter:
    case prim::Exit: {
      const auto type = node->input(0)->type()->cast<c10::ClassType>();
      if (type == nullptr) return CannotRepresent(*node, "the context manager is not known");
      if (node->kind() == prim::Enter) {
        return InlineCall(node, type->findMethod("__enter__"), node->inputs(), InfoOf(node).path,
                          next);
      }
      jit::WithInsertPoint guard(node);
      jit::Value* none = graph_->insertConstant(c10::IValue());
      return InlineCall(node, type->findMethod("__exit__"), {node->input(0), none, none, none},
                        InfoOf(node).path, next);
    }
    case prim::fork: {
      // The future is the value itself, cast to another type.
      jit::Node* future = graph_->create(prim::unchecked_cast)->insertAfter(node);
      future->output()->setType(node->output()->type());
      node->output()->replaceAllUsesWith(future->output());
      future->addInput(node->output());
      SetInfo(future, InfoOf(node));
      return InlineGraph(node, *node->g(attr::Subgraph), node->inputs(), InfoOf(node).path, next);
    }
    case aten::wait: {
      jit::Node* value = graph_->create(prim::unchecked_cast, {node->input(0)})->insertAfter(node);
      value->output()->setType(node->output()->type());
      node->output()->replaceAllUsesWith(value->output());
      SetInfo(value, InfoOf(node));
      info_.erase(node);
      *next = value->next();
      node->destroy();
      return absl::OkStatus();
    }
    case prim::GetAttr:
    case prim::ModuleContainerIndex:
    case prim::unchecked_cast:
    case prim::unchecked_unwrap_optional: FindObjectOf(node); return absl::OkStatus();
    default:
      for (jit::Block* block : node->blocks()) RETURN_IF_ERROR(Flatten(block, depth + 1));
      return absl::OkStatus();
  }
}

absl::Status Program::InlineCall(jit::Node* node, jit::Function* function,
                                 at::ArrayRef<jit::Value*> inputs, const std::string* path,
                                 jit::Node** next) {
  if (function == nullptr) return CannotRepresent(*node, "the method does not exist");
  jit::GraphFunction* callee = jit::tryToGraphFunction(*function);
  if (callee == nullptr) {
    return CannotRepresent(*node, absl::StrCat(function->qualname().qualifiedName(),
                                               " is not written in TorchScript"));
  }
  callee->ensure_defined();
  return InlineGraph(node, *callee->graph(), inputs, path, next);
}

absl::Status Program::InlineGraph(jit::Node* node, jit::Graph& callee,
                                  at::ArrayRef<jit::Value*> inputs, const std::string* path,
                                  jit::Node** next) {
  const int call_depth = InfoOf(node).call_depth + 1;
  if (call_depth > kMaxNesting) {
    return CannotRepresent(*node, absl::StrCat("calls nest deeper than ", kMaxNesting));
  }
  CountNodes(callee.block(), &num_nodes_);
  if (num_nodes_ > kMaxInlinedNodes) {
    return CannotRepresent(*node, absl::StrCat("the program has more than ", kMaxInlinedNodes,
                                               " operations with its calls inlined"));
  }
  if (callee.inputs().size() != inputs.size() ||
      callee.outputs().size() != node->outputs().size()) {
    return CannotRepresent(*node, "the call does not fit the callee");
  }
  jit::Node* const before = node->prev();
  std::vector<jit::Value*> outputs;
  {
    jit::WithInsertPoint guard(node);
    outputs = jit::insertGraph(*graph_, callee, inputs);
  }
  for (jit::Node* inner = before->next(); inner != node; inner = inner->next()) {
    SetInfo(inner, {path, call_depth});
  }
  for (size_t i = 0; i < outputs.size(); ++i) node->output(i)->replaceAllUsesWith(outputs[i]);
  *next = before->next() == node ? node->next() : before->next();
  info_.erase(node);
  node->destroy();
  return absl::OkStatus();
}

void Program::FindObjectOf(jit::Node* node) {
  const Object* found = FindObject(node->input(0));
  if (found == nullptr) return;
  const Object object = *found;
  std::string name;
  if (node->kind() == prim::GetAttr) {
    name = node->s(attr::name);
  } else if (node->kind() == prim::ModuleContainerIndex) {
    // A container's index is a number or a name.
    const std::optional<c10::IValue> index = jit::toIValue(node->input(1));
    if (!index) return;
    if (index->isString()) {
      name = index->toStringRef();
    } else if (index->isInt()) {
      int64_t i = index->toInt();
      if (i < 0) i += static_cast<int64_t>(object.object->type()->numAttributes());
      name = absl::StrCat(i);
    }
  } else {
    objects_[node->output()] = object;
    return;
  }
  const std::optional<size_t> slot = object.object->type()->findAttributeSlot(name);
  if (!slot || !object.object->getSlot(*slot).isObject()) return;
  if (IsOfCpp(*object.object->getSlot(*slot).toObjectRef().type())) return;  // a value
  objects_[node->output()] = {
      object.object->getSlot(*slot).toObject(),
      InternPath(object.path->empty() ? name : absl::StrCat(*object.path, ".", name))};
}

// --- Identity ----------------------------------------------------------------

namespace {

// Returns whether a value of the type may be, or contain, something other than a
// tensor that can be changed in place.
bool MayHaveIdentity(const c10::Type& type) {
  using Kind = c10::TypeKind;
  static constexpr Kind kKinds[] = {Kind::ListType,     Kind::DictType,    Kind::InterfaceType,
                                    Kind::AnyType,      Kind::AnyListType, Kind::AnyTupleType,
                                    Kind::AnyClassType, Kind::VarType,     Kind::RRefType,
                                    Kind::PyObjectType, Kind::CapsuleType, Kind::DynamicType};
  // A module is known, or its use is an error.
  // Objects of C++ classes are packed parameters, which no operator changes.
  if (const auto* cls = type.castRaw<c10::ClassType>()) {
    return !cls->is_module() && !IsOfCpp(*cls);
  }
  return absl::c_linear_search(kKinds, type.kind()) ||
         absl::c_any_of(type.containedTypes(),
                        [](const c10::TypePtr& inner) { return MayHaveIdentity(*inner); });
}

bool MayHaveIdentity(const jit::Value* value) { return MayHaveIdentity(*value->type()); }

// Returns whether the elements of a list or dict may have an identity.
bool ElementsMayHaveIdentity(const c10::Type& type) {
  if (type.kind() != c10::TypeKind::ListType && type.kind() != c10::TypeKind::DictType) return true;
  return absl::c_any_of(type.containedTypes(),
                        [](const c10::TypePtr& inner) { return MayHaveIdentity(*inner); });
}

}  // namespace

int Program::Find(int c) const {
  while (parent_[c] != c) c = parent_[c] = parent_[parent_[c]];
  return c;
}

void Program::Unite(int a, int b) {
  a = Find(a);
  b = Find(b);
  if (a == b) return;
  parent_[b] = a;
  changed_[a] = changed_[a] || changed_[b];
}

template <typename Key>
int Program::ClassIn(absl::flat_hash_map<Key, int>& classes, const Key& key) {
  const auto [it, inserted] = classes.try_emplace(key, static_cast<int>(parent_.size()));
  if (inserted) {
    parent_.push_back(it->second);
    changed_.push_back(false);
  }
  return it->second;
}

int Program::ClassOf(const jit::Value* value) { return ClassIn(value_class_, value); }
int Program::ClassOf(const AttributeKey& key) { return ClassIn(attribute_class_, key); }

void Program::UniteAll(at::ArrayRef<const jit::Value*> values) {
  int first = -1;
  for (const jit::Value* value : values) {
    if (!MayHaveIdentity(value)) continue;
    const int c = ClassOf(value);
    if (first < 0) {
      first = c;
    } else {
      Unite(first, c);
    }
  }
}

void Program::MarkChanged(const jit::Value* value) {
  if (MayHaveIdentity(value)) changed_[Find(ClassOf(value))] = true;
}

bool Program::HasIdentity(const jit::Value* value) const {
  const auto it = value_class_.find(value);
  return it != value_class_.end() && changed_[Find(it->second)];
}

bool Program::IsState(const c10::ivalue::Object* object, const std::string& name) const {
  const AttributeKey key(object, name);
  if (assigned_.contains(key)) return true;
  const auto it = attribute_class_.find(key);
  return it != attribute_class_.end() && changed_[Find(it->second)];
}

void Program::FindIdentity(const jit::Block* block) {
  for (const jit::Node* node : block->nodes()) {
    FindIdentityOfNode(node);
    for (const jit::Block* inner : node->blocks()) FindIdentity(inner);
  }
}

void Program::FindIdentityOfNode(const jit::Node* node) {
  switch (node->kind()) {
    case prim::Constant:
    case prim::CreateObject:
    case prim::Uninitialized:
    case prim::isinstance:
    case prim::tolist:  // makes a new list
      return;
    case prim::GetAttr:
    case prim::SetAttr: {
      const bool set = node->kind() == prim::SetAttr;
      const jit::Value* value = set ? node->input(1) : node->output();
      const Object* object = FindObject(node->input(0));
      if (object == nullptr) return UniteAll({node->input(0), value});
      const AttributeKey key(object->object.get(), node->s(attr::name));
      if (set) assigned_.insert(key);
      if (MayHaveIdentity(value)) Unite(ClassOf(key), ClassOf(value));
      return;
    }
    case prim::If:
      for (size_t i = 0; i < node->outputs().size(); ++i) {
        UniteAll(
            {node->output(i), node->blocks()[0]->outputs()[i], node->blocks()[1]->outputs()[i]});
      }
      return;
    case prim::Loop: {
      const jit::Block* body = node->blocks()[0];
      for (size_t i = 0; i < node->outputs().size(); ++i) {
        UniteAll(
            {node->output(i), node->input(i + 2), body->inputs()[i + 1], body->outputs()[i + 1]});
      }
      return;
    }
    case prim::TupleConstruct:
      // Nothing runs after the return, so nothing can change its results.
      if (std::all_of(node->output()->uses().begin(), node->output()->uses().end(),
                      [&](const jit::Use& use) { return use.user == graph_->return_node(); })) {
        return;
      }
      [[fallthrough]];
    case prim::ListConstruct:
    case prim::DictConstruct:
    case prim::ListUnpack:
    case prim::TupleUnpack:
    case prim::TupleIndex:
    case prim::TupleSlice:
    case prim::unchecked_cast:
    case prim::unchecked_unwrap_optional: {
      std::vector<const jit::Value*> values(node->inputs().begin(), node->inputs().end());
      values.insert(values.end(), node->outputs().begin(), node->outputs().end());
      return UniteAll(values);
    }
    default: return FindIdentityOfCall(node);
  }
}

void Program::FindIdentityOfCall(const jit::Node* node) {
  std::vector<const jit::Value*> values(node->inputs().begin(), node->inputs().end());
  const c10::FunctionSchema* schema = node->maybeSchema();
  if (schema == nullptr || schema->is_varret()) {
    // Nothing is known about the call, so it may change everything.
    values.insert(values.end(), node->outputs().begin(), node->outputs().end());
    UniteAll(values);
    for (const jit::Value* value : values) MarkChanged(value);
    return;
  }
  if (node->kind() == aten::__is__ || node->kind() == aten::__isnot__) {
    const auto is_none = [](const jit::Value* v) {
      return v->type()->kind() == c10::TypeKind::NoneType;
    };
    if (std::none_of(values.begin(), values.end(), is_none)) {
      for (const jit::Value* value : values) MarkChanged(value);
    }
    return;
  }
  bool unite = false;
  for (size_t i = 0; i < std::min(values.size(), schema->arguments().size()); ++i) {
    const c10::AliasInfo* alias = schema->arguments()[i].alias_info();
    if (alias == nullptr) continue;
    if (alias->isWrite()) MarkChanged(values[i]);
    unite |= alias->isWrite() || alias->isWildcardAfter();
  }
  for (size_t i = 0; i < node->outputs().size(); ++i) {
    const jit::Value* output = node->output(i);
    if (!MayHaveIdentity(output)) continue;
    // A new list has no alias, but its elements may have one.
    const bool aliases =
        i >= schema->returns().size() || schema->returns()[i].alias_info() != nullptr;
    if (!aliases && !ElementsMayHaveIdentity(*output->type())) continue;
    values.push_back(output);
    unite = true;
  }
  if (unite) UniteAll(values);
}

}  // namespace graphnet::torchscript
