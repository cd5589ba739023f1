#include "python/bindings/objects.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graphnet/ir/verifier.h"
#include "nanobind/stl/unique_ptr.h"
#include "python/bindings/errors.h"

namespace graphnet {

nb::object ModuleObject::Make(Sample sample, nb::object base, bool is_verified) {
  auto made = std::make_unique<ModuleObject>();
  made->sample_ = std::move(sample);
  if (made->sample_.module == nullptr) made->sample_.module = std::make_unique<Module>();
  made->base_ = std::move(base);
  made->is_verified_ = is_verified;
  ModuleObject* const module = made.get();
  nb::object self = nb::cast(std::move(made));
  module->self_ = self;
  return self;
}

void ModuleObject::CheckMayChange() {
  if (readers_ > 0) {
    throw nb::builtin_exception(
        nb::exception_type::runtime_error,
        "the module cannot be changed while another thread runs a long call on it");
  }
  is_verified_ = false;
}

void ModuleObject::RequireVerified() {
  if (is_verified_) return;
  RaiseIfError(Verify(module()));
  is_verified_ = true;
}

bool ModuleObject::HasGraph(const Graph* graph) {
  if (graph == module().main()) return true;
  if (!knows_graphs_ || graphs_.size() != module().graphs().size()) {
    graphs_.clear();
    graphs_.insert(module().graphs().begin(), module().graphs().end());
    knows_graphs_ = true;
  }
  return graphs_.contains(graph);
}

nb::object ModuleObject::NodeOf(Node* node) {
  const size_t index = node->index();
  if (index >= nodes_.size()) nodes_.resize(std::max<size_t>(module().num_indices(), index + 1));
  if (nodes_[index] != nullptr) return nb::borrow(nodes_[index]);
  nb::object made = nb::cast(std::make_unique<NodeObject>(this, node));
  nodes_[index] = made.ptr();
  return made;
}

nb::object ModuleObject::GraphOf(Graph* graph) {
  PyObject*& known = graph_objects_[graph];
  if (known != nullptr) return nb::borrow(known);
  nb::object made = nb::cast(std::make_unique<GraphObject>(this, graph));
  known = made.ptr();
  return made;
}

nb::dict ModuleObject::MetaOf(const Node* node) {
  return metas_.try_emplace(node->index()).first->second;
}

nb::object ModuleObject::FindMeta(const Node* node) const {
  const auto it = metas_.find(node->index());
  return it == metas_.end() ? nb::none() : nb::object(it->second);
}

Graph* GraphObject::get() const {
  if (!module_->HasGraph(graph_)) {
    PyErr_SetString(PyExc_ReferenceError, "the graph was erased");
    throw nb::python_error();
  }
  return graph_;
}

Graph* GraphObject::ForChange() const {
  module_->CheckMayChange();
  return get();
}

void NodeObject::RefuseErased() const {
  PyErr_SetString(PyExc_ReferenceError,
                  absl::StrCat("the node ", node_->name(), " was erased").c_str());
  throw nb::python_error();
}

ReadLock::ReadLock(ModuleObject& module) {
  for (nb::handle next = module.self(); next.is_valid();) {
    auto& object = nb::cast<ModuleObject&>(next);
    ++object.readers_;
    modules_.push_back(nb::borrow(next));
    next = object.base_;
  }
}

ReadLock::~ReadLock() {
  for (const nb::object& module : modules_) --nb::cast<ModuleObject&>(module).readers_;
}

// For the garbage collector of Python: what is kept beside nodes may refer to them.
int TraverseModule(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  const auto* module = nb::inst_ptr<ModuleObject>(self);
  Py_VISIT(module->base_.ptr());
  for (const auto& [index, meta] : module->metas_) Py_VISIT(meta.ptr());
  return 0;
}

int ClearModule(PyObject* self) {
  auto* module = nb::inst_ptr<ModuleObject>(self);
  auto metas = std::move(module->metas_);  // Erased when the module no longer refers to them.
  module->metas_.clear();
  return 0;
}

namespace {

template <typename T>
int TraverseOwner(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  Py_VISIT(nb::inst_ptr<T>(self)->owner().ptr());
  return 0;
}

}  // namespace

PyType_Slot kModuleSlots[] = {{Py_tp_traverse, reinterpret_cast<void*>(TraverseModule)},
                              {Py_tp_clear, reinterpret_cast<void*>(ClearModule)},
                              {0, nullptr}};
PyType_Slot kGraphSlots[] = {{Py_tp_traverse, reinterpret_cast<void*>(TraverseOwner<GraphObject>)},
                             {0, nullptr}};
PyType_Slot kNodeSlots[] = {{Py_tp_traverse, reinterpret_cast<void*>(TraverseOwner<NodeObject>)},
                            {0, nullptr}};

}  // namespace graphnet
