// The Python objects that stand for a module, its graphs and its nodes. They are safe: a graph or
// node keeps its module alive, access to an erased one raises, and a module cannot be changed while
// a long call reads it without the GIL. A change waits for such calls, and calls that come later
// wait for the change.
#ifndef GRAPHNET_PYTHON_BINDINGS_OBJECTS_H_
#define GRAPHNET_PYTHON_BINDINGS_OBJECTS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "graphnet/ir/sample.h"
#include "nanobind/nanobind.h"

namespace graphnet {

namespace nb = nanobind;

// A module, with the sample that it belongs to. All fields are guarded by the GIL.
class ModuleObject {
 public:
  // `base` is the module from which the sample's module was derived, if any.
  static nb::object Make(Sample sample, nb::object base = {}, bool is_verified = false);

  const Sample& sample() const { return sample_; }
  const Module& module() const { return *sample_.module; }
  nb::handle self() const { return self_; }

  // Returns the module for one change. This is the only way to a module that is not const, so
  // whoever changes a table of it, as interning does, has asked. If long calls read the module, it
  // waits for them without the GIL, so check after it what other threads may have changed. Raises
  // RuntimeError if it waits in vain, and at once if the calling thread itself is in such a call.
  Module& ForChange() { return *SampleForChange().module; }
  // Does the same, and returns the sample.
  Sample& SampleForChange() {
    if (!readers_.empty()) [[unlikely]]
      WaitForReaders();
    is_verified_ = false;
    ++version_;
    return sample_;
  }
  // Waits a while for changes that wait for the module. Long calls do this before they do anything
  // else, so that calls that follow each other without a pause let a change through.
  void LetChangesPass() {
    if (waiting_ > 0) [[unlikely]]
      WaitForChanges();
  }
  // Waits, without the GIL, until no long call reads the module. The next ForChange() does not wait
  // if no Python code runs before it. Raises as ForChange() does.
  void WaitForReaders();
  // Raises Error if the module breaks an invariant. Functions on whole modules call this first.
  void RequireVerified();
  // Drops the cached set of graphs. Call it when a graph may have been erased.
  void ForgetGraphs() { knows_graphs_ = false; }
  // Returns whether `graph` belongs to the module and is not erased.
  bool HasGraph(const Graph* graph);

  // Returns the Python object of a node or a graph. There is only one as long as the module lives.
  nb::object NodeOf(Node* node) {
    const size_t index = node->index();
    if (index < nodes_.size() && nodes_[index].is_valid()) [[likely]]
      return nodes_[index];
    return MakeNode(node);
  }
  nb::object GraphOf(Graph* graph);
  nb::object NodeOrNone(Node* node) { return node == nullptr ? nb::none() : NodeOf(node); }
  // Returns the dict that Python keeps for a node beside the fields of the IR, and makes it if
  // there is none.
  nb::dict MetaOf(const Node* node);
  // Returns that dict, or None if there is none.
  nb::object FindMeta(const Node* node) const;
  // Returns a str for a text that is interned in the module. The str is made once.
  nb::object TextOf(absl::string_view interned);
  // Returns a number that grows with each change. Cached parts of a node are valid for one version.
  uint64_t version() const { return version_; }

 private:
  friend class ReadLock;
  friend int TraverseModule(PyObject* self, visitproc visit, void* arg);
  friend int ClearModule(PyObject* self);
  void WaitForChanges() const;
  nb::object MakeNode(Node* node);

  Sample sample_;
  nb::object base_;
  nb::handle self_;
  // The threads that made the locks of long calls, each as often as it made one.
  absl::InlinedVector<unsigned long, 4> readers_;
  int waiting_ = 0;  // the number of changes that wait for the readers
  bool knows_graphs_ = false;
  bool is_verified_ = false;  // true if verified and not changed since
  absl::flat_hash_set<const Graph*> graphs_;
  uint64_t version_ = 1;
  std::vector<nb::object> nodes_;  // by Node::index
  absl::flat_hash_map<const Graph*, nb::object> graph_objects_;
  absl::flat_hash_map<const char*, nb::object> texts_;  // by address of the interned text
  absl::flat_hash_map<uint32_t, nb::dict> metas_;
};

class GraphObject {
 public:
  GraphObject(ModuleObject* module, Graph* graph)
      : module_(module), owner_(nb::borrow(module->self())), graph_(graph) {}
  GraphObject(const GraphObject&) = delete;
  GraphObject& operator=(const GraphObject&) = delete;

  // Raises ReferenceError if the graph was erased.
  Graph* get() const;
  // Does the same after ModuleObject::ForChange().
  Graph* ForChange() const;
  ModuleObject& module() const { return *module_; }
  const nb::object& owner() const { return owner_; }

 private:
  ModuleObject* const module_;
  const nb::object owner_;
  Graph* const graph_;
};

class NodeObject {
 public:
  NodeObject(ModuleObject* module, Node* node)
      : module_(module), owner_(nb::borrow(module->self())), node_(node) {}
  NodeObject(const NodeObject&) = delete;
  NodeObject& operator=(const NodeObject&) = delete;

  // Raises ReferenceError if the node was erased, or its graph.
  Node* get() const {
    if (node_->is_erased() || !module_->HasGraph(node_->graph())) [[unlikely]]
      RefuseErased();
    return node_;
  }
  Node* ForChange() const {
    module_->ForChange();
    return get();
  }
  // Returns the node without a check; it may be erased.
  const Node* raw() const { return node_; }
  ModuleObject& module() const { return *module_; }
  const nb::object& owner() const { return owner_; }

  // Parts of the node whose Python objects are cached.
  enum Part { kArgs, kKwargs, kUsers, kName, kNumParts };
  // Returns the part for this version of the module, which `make` makes if it is not cached.
  template <typename Make>
  nb::object Cached(Part part, Make make) {
    if (version_ != module_->version()) {
      for (nb::object& old : parts_) old = nb::object();
      version_ = module_->version();
    }
    if (!parts_[part].is_valid()) parts_[part] = make();
    return parts_[part];
  }

 private:
  friend int TraverseNode(PyObject* self, visitproc visit, void* arg);
  friend int ClearNode(PyObject* self);
  [[noreturn]] void RefuseErased() const;

  ModuleObject* const module_;
  const nb::object owner_;
  Node* const node_;
  uint64_t version_ = 0;
  nb::object parts_[kNumParts];
};

[[noreturn]] void RefuseUnready(nb::handle instance);
// Returns the C++ object of an instance. Raises TypeError if nothing but __new__ has made it.
template <typename T>
T& ReadyInstance(nb::handle instance) {
  if (!nb::inst_ready(instance)) [[unlikely]]
    RefuseUnready(instance);
  return *nb::inst_ptr<T>(instance);
}

// Returns the object behind a Python Node or Graph; nullptr for any other Python object.
NodeObject* AsNode(nb::handle object);
GraphObject* AsGraph(nb::handle object);

// Keeps a module, and the modules that it was derived from, alive and unchanged while a long call
// reads it without the GIL. The GIL must be held to make and to destroy a lock.
class ReadLock {
 public:
  explicit ReadLock(ModuleObject& module);
  ReadLock(ReadLock&& other) noexcept = default;
  ReadLock& operator=(ReadLock&&) = delete;
  ~ReadLock();

 private:
  std::vector<nb::object> modules_;
  unsigned long thread_ = 0;
};

// tp_traverse of a class whose objects refer to Python objects in these fields. Without it, a
// module that refers back to such an object, by an argument or an entry of node.meta, is never
// freed.
template <typename T, nb::object T::*... fields>
int TraverseFields(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  const T* const object = nb::inst_ptr<T>(self);
  for (PyObject* const field : {(object->*fields).ptr()...}) Py_VISIT(field);
  return 0;
}

// The slots of such a class, for nb::type_slots.
template <typename T, nb::object T::*... fields>
PyType_Slot* TraverseSlots() {
  static PyType_Slot slots[] = {
      {Py_tp_traverse, reinterpret_cast<void*>(TraverseFields<T, fields...>)}, {0, nullptr}};
  return slots;
}

// Type slots of the classes, for nb::class_.
extern PyType_Slot kModuleSlots[];
extern PyType_Slot kGraphSlots[];
extern PyType_Slot kNodeSlots[];  // node.cc

}  // namespace graphnet

#endif  // GRAPHNET_PYTHON_BINDINGS_OBJECTS_H_
