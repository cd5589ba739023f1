#include "python/bindings/objects.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "graphnet/ir/verifier.h"
#include "nanobind/stl/unique_ptr.h"
#include "python/bindings/errors.h"

namespace graphnet {
namespace {

// A change waits this long for the calls that read its module. Most take milliseconds. A run may
// take hours.
constexpr std::chrono::seconds kMaxWaitOfChange(10);
// A call waits this long for changes, so that changes without a pause do not stop it.
constexpr std::chrono::seconds kMaxWaitOfCall(1);

std::mutex mutex;
std::condition_variable changed;  // notified when a module has one reader or waiting change less

// Waits without the GIL until `is_over`, which is called with the GIL, returns true, or time is
// over. Returns its result. Raises what a signal raises.
template <typename Condition>
bool WaitUntil(std::chrono::seconds limit, const Condition& is_over) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!is_over()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    const nb::gil_scoped_release release;
    std::unique_lock lock(mutex);
    // What is notified before this sleeps is seen a millisecond later.
    changed.wait_for(lock, std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace

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

void ModuleObject::WaitForReaders() {
  const auto may_change = [this] {
    const bool is_own = absl::c_linear_search(readers_, PyThread_get_thread_ident());
    if (is_own)
      Raise(PyExc_RuntimeError, "the module cannot be changed while a long call reads it");
    return readers_.empty();
  };
  const nb::object kept = nb::borrow(self_);
  ++waiting_;
  const absl::Cleanup done = [this] {
    --waiting_;
    changed.notify_all();
  };
  if (!WaitUntil(kMaxWaitOfChange, may_change)) {
    Raise(PyExc_RuntimeError,
          "the module cannot be changed while another thread runs a long call on it");
  }
}

void ModuleObject::WaitForChanges() const {
  const nb::object kept = nb::borrow(self_);
  WaitUntil(kMaxWaitOfCall, [this] { return waiting_ == 0; });
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

nb::object ModuleObject::MakeNode(Node* node) {
  const size_t index = node->index();
  if (index >= nodes_.size()) nodes_.resize(std::max(module().num_indices(), index + 1));
  nb::object made = nb::cast(std::make_unique<NodeObject>(this, node));
  return nodes_[index] = std::move(made);
}

nb::object ModuleObject::GraphOf(Graph* graph) {
  if (const auto it = graph_objects_.find(graph); it != graph_objects_.end()) return it->second;
  // Make the object before the table changes, since that may collect garbage, which walks the
  // table.
  nb::object made = nb::cast(std::make_unique<GraphObject>(this, graph));
  return graph_objects_[graph] = std::move(made);
}

nb::object ModuleObject::TextOf(absl::string_view interned) {
  nb::object& known = texts_[interned.data()];
  if (!known.is_valid()) known = nb::str(interned.data(), interned.size());
  return known;
}

void RefuseUnready(nb::handle instance) {
  Raise(PyExc_TypeError, absl::StrCat("this ", Py_TYPE(instance.ptr())->tp_name,
                                      " was made by __new__ alone and stands for nothing"));
}

NodeObject* AsNode(nb::handle object) {
  static const nb::handle type = nb::type<NodeObject>();
  const bool is_node = object.type().is(type) && nb::inst_ready(object);
  return is_node ? nb::inst_ptr<NodeObject>(object) : nullptr;
}

GraphObject* AsGraph(nb::handle object) {
  static const nb::handle type = nb::type<GraphObject>();
  const bool is_graph = object.type().is(type) && nb::inst_ready(object);
  return is_graph ? nb::inst_ptr<GraphObject>(object) : nullptr;
}

nb::dict ModuleObject::MetaOf(const Node* node) {
  if (const auto it = metas_.find(node->index()); it != metas_.end()) return it->second;
  nb::dict made;  // It is made before the table changes, as above.
  return metas_.try_emplace(node->index(), std::move(made)).first->second;
}

nb::object ModuleObject::FindMeta(const Node* node) const {
  const auto it = metas_.find(node->index());
  return it == metas_.end() ? nb::none() : nb::object(it->second);
}

Graph* GraphObject::get() const {
  if (!module_->HasGraph(graph_)) Raise(PyExc_ReferenceError, "the graph was erased");
  return graph_;
}

Graph* GraphObject::ForChange() const {
  module_->ForChange();
  return get();
}

void NodeObject::RefuseErased() const {
  Raise(PyExc_ReferenceError, absl::StrCat("the node ", node_->name(), " was erased"));
}

ReadLock::ReadLock(ModuleObject& module) : thread_(PyThread_get_thread_ident()) {
  for (nb::handle next = module.self(); next.is_valid();) {
    auto& object = nb::cast<ModuleObject&>(next);
    object.readers_.push_back(thread_);
    modules_.push_back(nb::borrow(next));
    next = object.base_;
  }
}

ReadLock::~ReadLock() {
  for (const nb::object& module : modules_) {
    auto& readers = nb::cast<ModuleObject&>(module).readers_;
    readers.erase(absl::c_find(readers, thread_));
  }
  if (!modules_.empty()) changed.notify_all();
}

// For Python's garbage collector: a module refers to its nodes and their cached objects, and a node
// refers to its module.
int TraverseModule(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  const auto* module = nb::inst_ptr<ModuleObject>(self);
  Py_VISIT(module->base_.ptr());
  for (const nb::object& node : module->nodes_) Py_VISIT(node.ptr());
  for (const auto& [graph, object] : module->graph_objects_) Py_VISIT(object.ptr());
  for (const auto& [index, meta] : module->metas_) Py_VISIT(meta.ptr());
  return 0;
}

int ClearModule(PyObject* self) {
  if (!nb::inst_ready(self)) return 0;
  auto* module = nb::inst_ptr<ModuleObject>(self);
  // Destroy them only when the module no longer refers to them.
  const auto nodes = std::exchange(module->nodes_, {});
  const auto graphs = std::exchange(module->graph_objects_, {});
  const auto metas = std::exchange(module->metas_, {});
  return 0;
}

namespace {

int TraverseGraph(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  Py_VISIT(nb::inst_ptr<GraphObject>(self)->owner().ptr());
  return 0;
}

}  // namespace

PyType_Slot kModuleSlots[] = {{Py_tp_traverse, reinterpret_cast<void*>(TraverseModule)},
                              {Py_tp_clear, reinterpret_cast<void*>(ClearModule)},
                              {0, nullptr}};
PyType_Slot kGraphSlots[] = {{Py_tp_traverse, reinterpret_cast<void*>(TraverseGraph)},
                             {0, nullptr}};

}  // namespace graphnet
