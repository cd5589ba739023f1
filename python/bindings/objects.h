// The Python objects that stand for a module, its graphs and its nodes, and what keeps them safe:
// a graph or a node keeps its module alive, an erased one says so, and a module that a long call
// reads without the GIL is not changed meanwhile.
#ifndef GRAPHNET_PYTHON_BINDINGS_OBJECTS_H_
#define GRAPHNET_PYTHON_BINDINGS_OBJECTS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "graphnet/ir/sample.h"
#include "nanobind/nanobind.h"

namespace graphnet {

namespace nb = nanobind;

// A module, with the sample that it belongs to. All fields are guarded by the GIL.
class ModuleObject {
 public:
  // `base` is the module that the one of the sample was derived from, if it was.
  static nb::object Make(Sample sample, nb::object base = {}, bool is_verified = false);

  Sample& sample() { return sample_; }
  Module& module() { return *sample_.module; }
  nb::handle self() const { return self_; }

  // Raises RuntimeError while a long call reads the module. To be called before each change.
  void CheckMayChange();
  // Raises Error if the module breaks an invariant. What works on whole modules asks this first.
  void RequireVerified();
  // Says that a graph may have been erased.
  void ForgetGraphs() { knows_graphs_ = false; }
  // Whether it is a graph of the module, and not an erased one.
  bool HasGraph(const Graph* graph);

  nb::object NodeOf(Node* node);
  nb::object GraphOf(Graph* graph);
  nb::object NodeOrNone(Node* node) { return node == nullptr ? nb::none() : NodeOf(node); }
  // What Python keeps of a node beside the fields of the IR; made when first asked for.
  nb::dict MetaOf(const Node* node);
  // None if nothing was kept.
  nb::object FindMeta(const Node* node) const;

 private:
  friend class NodeObject;
  friend class GraphObject;
  friend class ReadLock;
  friend int TraverseModule(PyObject* self, visitproc visit, void* arg);
  friend int ClearModule(PyObject* self);

  Sample sample_;
  nb::object base_;
  nb::handle self_;
  int readers_ = 0;
  bool knows_graphs_ = false;
  bool is_verified_ = false;  // and was not changed since
  absl::flat_hash_set<const Graph*> graphs_;
  // Objects that are alive, by Node::index: a node is one object for as long as somebody has it.
  std::vector<PyObject*> nodes_;
  absl::flat_hash_map<const Graph*, PyObject*> graph_objects_;
  absl::flat_hash_map<uint32_t, nb::dict> metas_;
};

class GraphObject {
 public:
  GraphObject(ModuleObject* module, Graph* graph)
      : module_(module), owner_(nb::borrow(module->self())), graph_(graph) {}
  ~GraphObject() { module_->graph_objects_.erase(graph_); }
  GraphObject(const GraphObject&) = delete;
  GraphObject& operator=(const GraphObject&) = delete;

  // Raises ReferenceError if the graph was erased.
  Graph* get() const;
  // The same, and that the module may change.
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
  ~NodeObject() { module_->nodes_[node_->index()] = nullptr; }
  NodeObject(const NodeObject&) = delete;
  NodeObject& operator=(const NodeObject&) = delete;

  // Raises ReferenceError if the node was erased, or its graph.
  Node* get() const {
    if (node_->is_erased() || !module_->HasGraph(node_->graph())) [[unlikely]]
      RefuseErased();
    return node_;
  }
  Node* ForChange() const {
    module_->CheckMayChange();
    return get();
  }
  // Of an erased node, too.
  const Node* raw() const { return node_; }
  ModuleObject& module() const { return *module_; }
  const nb::object& owner() const { return owner_; }

 private:
  [[noreturn]] void RefuseErased() const;

  ModuleObject* const module_;
  const nb::object owner_;
  Node* const node_;
};

// Keeps a module alive and unchanged while a long call reads it without the GIL, and the modules
// that it was derived from. Made and destroyed with the GIL.
class ReadLock {
 public:
  explicit ReadLock(ModuleObject& module);
  ReadLock(ReadLock&& other) noexcept = default;
  ReadLock& operator=(ReadLock&&) = delete;
  ~ReadLock();

 private:
  std::vector<nb::object> modules_;
};

// The class of an object, for nb::class_.
extern PyType_Slot kModuleSlots[];
extern PyType_Slot kGraphSlots[];
extern PyType_Slot kNodeSlots[];

}  // namespace graphnet

#endif  // GRAPHNET_PYTHON_BINDINGS_OBJECTS_H_
