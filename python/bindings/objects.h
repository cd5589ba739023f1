// The Python objects that stand for a module, its graphs and its nodes, and what keeps them safe:
// a graph or a node keeps its module alive, an erased one says so, and a module that a long call
// reads without the GIL is not changed meanwhile.
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
  // `base` is the module that the one of the sample was derived from, if it was.
  static nb::object Make(Sample sample, nb::object base = {}, bool is_verified = false);

  Sample& sample() { return sample_; }
  Module& module() { return *sample_.module; }
  nb::handle self() const { return self_; }

  // Raises RuntimeError while a long call reads the module. To be called before each change.
  void CheckMayChange() {
    if (readers_ > 0) [[unlikely]]
      RefuseChange();
    is_verified_ = false;
    ++version_;
  }
  // Raises Error if the module breaks an invariant. What works on whole modules asks this first.
  void RequireVerified();
  // Says that a graph may have been erased.
  void ForgetGraphs() { knows_graphs_ = false; }
  // Whether it is a graph of the module, and not an erased one.
  bool HasGraph(const Graph* graph);

  // The one object of a node, or of a graph, for as long as the module lives.
  nb::object NodeOf(Node* node) {
    const size_t index = node->index();
    if (index < nodes_.size() && nodes_[index].is_valid()) [[likely]]
      return nodes_[index];
    return MakeNode(node);
  }
  nb::object GraphOf(Graph* graph);
  nb::object NodeOrNone(Node* node) { return node == nullptr ? nb::none() : NodeOf(node); }
  // What Python keeps of a node beside the fields of the IR; made when first asked for.
  nb::dict MetaOf(const Node* node);
  // Returns None if nothing was kept.
  nb::object FindMeta(const Node* node) const;
  // A text that is interned in the module, as a str that is made once.
  nb::object TextOf(absl::string_view interned);
  // How many changes there were: what is cached of a node holds for one version.
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
  bool is_verified_ = false;  // and was not changed since
  absl::flat_hash_set<const Graph*> graphs_;
  uint64_t version_ = 1;
  std::vector<nb::object> nodes_;  // by Node::index
  absl::flat_hash_map<const Graph*, nb::object> graph_objects_;
  absl::flat_hash_map<const char*, nb::object> texts_;  // by the address of what is interned
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
  // The node may be erased.
  const Node* raw() const { return node_; }
  ModuleObject& module() const { return *module_; }
  const nb::object& owner() const { return owner_; }

  // Objects of Python that stand for parts of the node, made when they are first asked for.
  enum Part { kArgs, kKwargs, kUsers, kName, kNumParts };
  // The part as of this version of the module; `make` makes it.
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

// The object of a Node or a Graph; null for any other object of Python.
NodeObject* AsNode(nb::handle object);
GraphObject* AsGraph(nb::handle object);

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
extern PyType_Slot kNodeSlots[];  // node.cc

}  // namespace graphnet

#endif  // GRAPHNET_PYTHON_BINDINGS_OBJECTS_H_
