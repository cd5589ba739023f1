// Exports objects, and attributes of modules that change while the program runs.
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/torchscript/exporter_graph.h"

namespace graphnet::torchscript {

namespace jit = torch::jit;

namespace {

// Returns the path of the module attribute that a prim.GetAttr or SetAttr names.
std::string PathOf(const Node& node) {
  const absl::string_view owner = node.args()[0].string();
  const absl::string_view name = node.args()[1].string();
  return owner.empty() ? std::string(name) : absl::StrCat(owner, ".", name);
}

// Widens the attribute's type to include `type`; returns false if that is impossible.
bool Widen(c10::ClassType& owner, const std::string& name, const c10::TypePtr& type) {
  const size_t slot = owner.getAttributeSlot(name);
  const auto wider = c10::unifyTypes(owner.getAttribute(slot), type);
  if (!wider || **wider == *owner.getAttribute(slot)) return false;
  if (owner.is_module() && (owner.is_parameter(slot) || owner.is_buffer(slot))) return false;
  owner.unsafeChangeAttributeType(name, *wider);
  return true;
}

}  // namespace

// The first read of an attribute determines its initial value. An attribute that is
// only assigned starts as None.
absl::Status GraphExporter::FindState() {
  for (const Graph* graph : module_.graphs()) {
    for (const Node* node : graph->nodes()) {
      const bool get = node->is_call_function("prim.GetAttr");
      if (!get && !node->is_call_function("prim.SetAttr")) continue;
      current_ = node;
      if (node->args().size() < 2 || !node->args()[1].is_string() || !node->kwargs().empty()) {
        return Error("it takes an object and the name of an attribute");
      }
      if (!node->args()[0].is_string()) continue;
      if (node->args().size() != 3) return Error("it takes a path, a name and a value");
      const std::string path = PathOf(*node);
      c10::TypePtr& type = states_[path];
      if (type != nullptr || !get) continue;
      ASSIGN_OR_RETURN(type, AnnotatedType(*node, TypeOf(node->args()[2])));
      if (type == nullptr) return Error("the type of its initial value is not known");
    }
  }
  for (auto& [path, type] : states_) {
    if (module_.FindAttribute(path) != nullptr && sample_.weights.contains(path)) continue;
    if (type == nullptr) type = c10::NoneType::get();
    attributes_.Add(path, type, c10::IValue(), AttributeTree::Kind::kOther);
  }
  return absl::OkStatus();
}

jit::Value* GraphExporter::InsertSelf(const std::vector<std::string>& modules) {
  jit::Value* object = graph_->inputs()[0];
  std::string path;
  for (const std::string& name : modules) {
    absl::StrAppend(&path, ".", name);
    jit::Value*& known = submodules_[path];
    if (known != nullptr) {
      object = known;
      continue;
    }
    // The value gets no name, because a node of the graph may have the same one.
    object = graph_->insertGetAttr(object, name)->setDebugName("");
    reads_.push_back(object->node());
    if (depth_ == 0) known = object;  // A read in a body is not visible outside.
  }
  return object;
}

jit::Value* GraphExporter::InsertRead(const AttributeTree::Place& place) {
  jit::Value* const value = graph_->insertGetAttr(InsertSelf(place.modules), place.name);
  reads_.push_back(value->node());
  reads_of_[value->node()] = &place;
  return value->setDebugName("");
}

absl::StatusOr<std::pair<jit::Value*, std::string>> GraphExporter::OwnerOf(const Node& node) {
  if (node.args()[0].is_string()) {
    const AttributeTree::Place& place = *attributes_.Find(PathOf(node));
    return std::make_pair(InsertSelf(place.modules), place.name);
  }
  ASSIGN_OR_RETURN(jit::Value * object, ValueOf(node.args()[0]));
  object = Narrow(object, WithoutOptional(object->type()));
  if (object->type()->kind() != c10::TypeKind::ClassType) {
    return Error(
        absl::StrCat("an attribute of a value of type ", object->type()->annotation_str()));
  }
  return std::make_pair(object, Identifier(node.args()[1].string()));
}

absl::Status GraphExporter::ExportCreateObject(const Node& node) {
  if (node.args().size() != 1 || !node.args()[0].is_string()) {
    return Error("it takes the name of a class");
  }
  Bind(node,
       graph_
           ->insertNode(graph_->createObject(types_.AddClass(std::string(node.args()[0].string()))))
           ->output());
  return absl::OkStatus();
}

absl::Status GraphExporter::ExportGetAttr(const Node& node) {
  ASSIGN_OR_RETURN(const auto owner, OwnerOf(node));
  if (node.args()[0].is_string()) {
    const AttributeTree::Place& place = *attributes_.Find(PathOf(node));
    const size_t slot = place.owner.type()->getAttributeSlot(place.name);
    ASSIGN_OR_RETURN(c10::IValue start,
                     LiteralOf(node.args()[2], place.owner.type()->getAttribute(slot)));
    place.owner._ivalue()->setSlot(slot, std::move(start));
  }
  if (!owner.first->type()->expectRef<c10::ClassType>().hasAttribute(owner.second)) {
    return Error("the attribute is read before it is assigned");
  }
  Bind(node, graph_->insertGetAttr(owner.first, owner.second));
  return absl::OkStatus();
}

absl::Status GraphExporter::ExportSetAttr(const Node& node) {
  if (node.args().size() != 3) return Error("it takes an object, a name and a value");
  ASSIGN_OR_RETURN(const auto owner, OwnerOf(node));
  const auto type = owner.first->type()->expect<c10::ClassType>();
  const std::optional<size_t> slot = type->findAttributeSlot(owner.second);
  ASSIGN_OR_RETURN(jit::Value* const value,
                   ValueOf(node.args()[2], slot ? type->getAttribute(*slot) : nullptr));
  if (!slot) {
    type->addAttribute(owner.second, value->type());
  } else if (!value->type()->isSubtypeOf(*type->getAttribute(*slot))) {
    again_ = Widen(*type, owner.second, value->type());
    return Error(absl::StrCat("the attribute holds ", type->getAttribute(*slot)->annotation_str(),
                              " but is assigned ", value->type()->annotation_str()));
  }
  graph_->insertNode(graph_->createSetAttr(owner.first, owner.second, value));
  bound_[&node] = {};
  return absl::OkStatus();
}

}  // namespace graphnet::torchscript
