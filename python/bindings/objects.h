// The Python objects that stand for a module, its graphs and its nodes. They are safe: a graph or
// node keeps its module alive, access to an erased one raises, and a module cannot be changed while
// a long call reads it without the GIL.
#ifndef GRAPHNET_PYTHON_BINDINGS_OBJECTS_H_
#define GRAPHNET_PYTHON_BINDINGS_OBJECTS_H_

#include <cstddef>
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
  // `base` is the module from which the sample's module was derived, if any.
  static nb::object Make(Sample sample, nb::object base = {}, bool is_verified = false);

  Sample& sample() { return sample_; }
  Module& module() { return *sample_.module; }
  nb::handle self() const { return self_; }

  // Raises RuntimeError while a long call reads the module. Call it before each change.
  void CheckMayChange() {
    if (readers_ > 0) [[unlikely]]
      RefuseChange();
    is_verified_ = false;
    ++version_;
  }
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
  [[noreturn]] static void RefuseChange();
  nb::object MakeNode(Node* node);

  Sample sample_;
  nb::object base_;
  nb::handle self_;
  int readers_ = 0;
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
  // Does the same, and raises RuntimeError if the module may not change now.
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
    module_->CheckMayChange();
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
};

// Type slots of the classes, for nb::class_.
extern PyType_Slot kModuleSlots[];
extern PyType_Slot kGraphSlots[];
extern PyType_Slot kNodeSlots[];  // node.cc

}  // namespace graphnet

#endif  // GRAPHNET_PYTHON_BINDINGS_OBJECTS_H_
