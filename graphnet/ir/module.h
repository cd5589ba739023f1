// Module: the owner of everything: graphs, the strings, metas and expressions
// they refer to, the symbols of dynamic dimensions and the attributes that
// get_attr nodes read.
//
//   Module module;
//   Graph* graph = module.AddGraph("forward");
//   Node* x = graph->Placeholder("x");
//   graph->Output(graph->CallFunction("torch.relu", {x}));
//
// A module copies all that it, its graphs and its nodes are given (strings, arguments,
// metas, expressions, draw specs, of any module or none), or finds an equal that it has:
// nothing must outlive the call. What it gives lives as long as the module.
#ifndef GRAPHNET_IR_MODULE_H_
#define GRAPHNET_IR_MODULE_H_

#include <complex>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/hash/hash.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/base/arena.h"
#include "graphnet/base/name_hash.h"
#include "graphnet/ir/argument.h"
#include "graphnet/ir/graph.h"
#include "graphnet/ir/node.h"
#include "graphnet/ir/tensor_meta.h"

namespace graphnet {

// A symbol of a dynamic dimension and the size it had in the example.
struct Symbol {
  absl::string_view name;
  std::optional<int64_t> example;
};

// A parameter, buffer or constant that get_attr nodes refer to by name.
struct Attribute {
  absl::string_view name;
  const TensorMeta* meta = nullptr;     // null when unknown
  absl::string_view annotation;         // "torch.nn.parameter.Parameter", …
  const DrawSpec* draw_spec = nullptr;  // null when not said
};

class Module {
 public:
  Module();
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  // An empty module that refers to what `parent` holds (strings, metas, constants)
  // where another would copy it: copying nodes from the parent costs a fraction. It
  // keeps that memory alive, so the parent may die first. While one thread uses the
  // new module, no other may change the parent.
  static std::unique_ptr<Module> DeriveFrom(const Module& parent);

  // --- Graphs ----------------------------------------------------------------
  // The first graph is the main one ("forward"); others are bodies that
  // arguments refer to. `name` gets a suffix if it is taken.
  Graph* AddGraph(absl::string_view name);
  absl::Span<Graph* const> graphs() const { return graphs_; }
  // The first graph; null in an empty module.
  Graph* main() const { return graphs_.empty() ? nullptr : graphs_[0]; }
  Graph* FindGraph(absl::string_view name) const;
  // `name` must be free.
  void RenameGraph(Graph* graph, absl::string_view name);
  // Removes a graph that no argument refers to any more; its nodes must not be
  // touched afterwards.
  void EraseGraph(Graph* graph);
  // Removes the graphs that the main one does not reach by arguments, as dead
  // code elimination leaves them. Returns how many they were.
  size_t EraseUnusedGraphs();

  // --- Symbols, relations, attributes ----------------------------------------
  // In order of declaration. A second declaration of a name replaces the
  // example value.
  void AddSymbol(absl::string_view name, std::optional<int64_t> example);
  absl::Span<const Symbol> symbols() const { return symbols_; }
  const Symbol* FindSymbol(absl::string_view name) const;
  // What holds of the symbols; `relation->is_relation()`.
  void AddRelation(const SymExpr* relation) { relations_.push_back(CopySym(relation)); }
  absl::Span<const SymExpr* const> relations() const { return relations_; }
  // A second one of a name replaces the first.
  void AddAttribute(const Attribute& attribute);
  absl::Span<const Attribute> attributes() const { return attributes_; }
  const Attribute* FindAttribute(absl::string_view name) const;
  void EraseAttribute(absl::string_view name);
  void EraseAllAttributes();

  // --- Making what nodes refer to --------------------------------------------
  // The same text always gives the same address.
  const absl::string_view* InternTarget(absl::string_view text);
  // Short strings that recur: keyword names, annotations, paths.
  absl::string_view InternString(absl::string_view text) { return *InternTarget(text); }

  const SymExpr* SymInt(int64_t value);
  const SymExpr* SymSymbol(absl::string_view name);
  const SymExpr* SymNeg(const SymExpr* operand);
  const SymExpr* SymBinary(SymExpr::Kind kind, const SymExpr* lhs, const SymExpr* rhs);
  // That of this module which equals one of any module.
  const SymExpr* CopySym(const SymExpr* expr);

  const TensorMeta* InternMeta(const TensorMeta& meta);
  const ValueMeta* InternValueMeta(const TensorMeta& tensor);
  const ValueMeta* InternTupleMeta(absl::Span<const ValueMeta* const> elements);
  // That of this module which equals one of any module.
  const ValueMeta* CopyMeta(const ValueMeta* meta);

  // A deep copy in the arena. Aggregates without nodes are shared.
  Argument CopyArgument(const Argument& argument);
  Argument Complex(std::complex<double> value);
  const DrawSpec* CopyDrawSpec(const DrawSpec& spec);

  // A deep copy: same graphs, names, order. Pointers differ.
  std::unique_ptr<Module> Clone() const;

  // All memory the module holds, in bytes: arena, tables, names. What it shares with
  // the one it derives from counts there.
  size_t MemoryBytes() const;
  // Nodes over all graphs.
  size_t num_nodes() const;
  // One more than the highest Node::index(): nodes that were ever made.
  size_t num_indices() const { return num_indices_; }

  Arena& arena() { return arena_; }

 private:
  friend class Graph;
  friend class Node;
  friend class UncheckedBuilder;
  friend class IrTestPeer;
  // By content; used to share equal aggregates and metas.
  struct ArgumentHash {
    size_t operator()(const Argument& a) const;
  };
  struct MetaHash {
    size_t operator()(const TensorMeta* m) const;
  };
  struct MetaEq {
    bool operator()(const TensorMeta* a, const TensorMeta* b) const;
  };
  // By the addresses of what is below, which is interned.
  struct SymHash {
    size_t operator()(const SymExpr* e) const {
      return absl::HashOf(e->kind, e->value, e->name, e->lhs, e->rhs);
    }
  };
  struct SymEq {
    bool operator()(const SymExpr* a, const SymExpr* b) const {
      return a->kind == b->kind && a->value == b->value && a->name == b->name && a->lhs == b->lhs &&
             a->rhs == b->rhs;
    }
  };
  struct DrawSpecHash {
    size_t operator()(const DrawSpec* s) const;
  };
  struct DrawSpecEq {
    bool operator()(const DrawSpec* a, const DrawSpec* b) const;
  };
  // A set of pointers is a third of a map in size, and most strings are unique.
  struct StringHash {
    using is_transparent = void;
    size_t operator()(absl::string_view s) const { return NameHash()(s); }
    size_t operator()(const absl::string_view* s) const { return NameHash()(*s); }
  };
  struct StringEq {
    using is_transparent = void;
    bool operator()(const absl::string_view* a, absl::string_view b) const { return *a == b; }
    bool operator()(const absl::string_view* a, const absl::string_view* b) const {
      return a == b || *a == *b;
    }
  };

  // What nodes refer to, and all other memory of a module. Nothing in it is freed or
  // changes its address, so that derived modules can refer to it.
  struct Pool {
    // Not `= default`, which would clear the first block.
    Pool() {}  // NOLINT

    // Enough for most pieces of a graph.
    alignas(16) char first_block[1536];
    Arena arena{absl::MakeSpan(first_block)};
    absl::flat_hash_set<const absl::string_view*, StringHash, StringEq> strings;
    absl::flat_hash_set<Argument, ArgumentHash> shared_aggregates;
    absl::flat_hash_set<const SymExpr*, SymHash, SymEq> exprs;
    absl::flat_hash_set<const TensorMeta*, MetaHash, MetaEq> metas;
    absl::flat_hash_map<const TensorMeta*, const ValueMeta*> value_metas;
    absl::flat_hash_map<absl::Span<const ValueMeta* const>, const ValueMeta*> tuple_metas;
    // Those without literal data: statistics of few decimals recur.
    absl::flat_hash_set<const DrawSpec*, DrawSpecHash, DrawSpecEq> draw_specs;

    size_t num_interned() const {
      return strings.size() + shared_aggregates.size() + exprs.size() + metas.size() +
             value_metas.size() + tuple_metas.size() + draw_specs.size();
    }

    // Of the module that this one derives from, and how much was interned then.
    std::shared_ptr<const Pool> base;
    size_t base_interned = 0;
  };

  explicit Module(std::shared_ptr<const Pool> base);

  // Whether what `other` interned serves here as it is. What it has interned since
  // this module was derived from it may have an equal here.
  bool SharesWith(const Module& other) const {
    return pool_ == other.pool_ ||
           (pool_->base == other.pool_ && pool_->base_interned == other.pool_->num_interned());
  }
  // The entry of `table` for `key`, here or in a module that this one derives from;
  // null without one.
  template <typename Table, typename Key>
  const typename Table::value_type* Find(Table Pool::*table, const Key& key) const;

  // The one expression of this content; what is below it is of this module.
  const SymExpr* InternSym(const SymExpr& expr);
  // Ends the program unless `body` is a graph of this module.
  Graph* CheckedBody(Graph* body) const;
  // `has_node` is set when the copy refers to a node.
  Argument CopyArgumentInternal(const Argument& argument, bool* has_node);
  void EraseGraphsIf(absl::FunctionRef<bool(const Graph*)> erased);
  uint32_t InternFile(absl::string_view file);

  const std::shared_ptr<Pool> pool_;
  Arena& arena_;  // in pool_
  uint32_t num_indices_ = 0;
  absl::InlinedVector<Graph*, 1> graphs_;  // in the arena, to be destroyed
  std::vector<Symbol> symbols_;
  std::vector<const SymExpr*> relations_;
  std::vector<Attribute> attributes_;
  // Of all graphs, once they are too many to look at each.
  absl::flat_hash_map<absl::string_view, Graph*> graph_index_;
  // Where to go on counting for a name that is taken.
  absl::flat_hash_map<std::string, int> next_graph_suffix_;
  absl::flat_hash_map<absl::string_view, size_t> symbol_index_;
  absl::flat_hash_map<absl::string_view, size_t> attribute_index_;
  // The strings last asked for, by a hash of their size and end: most are asked for again soon.
  const absl::string_view* recent_strings_[32] = {};
  // SourceLocation::file, by index - 1.
  absl::InlinedVector<absl::string_view, 1> files_;
  absl::flat_hash_map<absl::string_view, uint32_t> file_index_;  // like graph_index_
  // Elements of the aggregates that are just being copied.
  std::vector<Argument> copied_elements_;
  // Freed arrays of uses, by log2 of their capacity; each begins with the address of
  // the next.
  void* free_use_arrays_[32] = {};
};

}  // namespace graphnet

#endif  // GRAPHNET_IR_MODULE_H_
