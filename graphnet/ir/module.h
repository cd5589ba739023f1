// Module: the owner of everything. It has graphs, the strings, metas and expressions that they
// refer to, the symbols of dynamic dimensions, and the attributes that get_attr nodes read.
//
//   Module module;
//   Graph* graph = module.AddGraph("forward");
//   Node* x = graph->Placeholder("x");
//   graph->Output(graph->CallFunction("torch.relu", {x}));
//
// A module, its graphs and its nodes copy all strings, arguments, metas, expressions and draw specs
// that they are given, or find equal ones that the module has already. These may belong to any
// module or to none, and need not outlive the call. Everything that is made by a module or
// returned by it lives as long as the module.
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
  absl::string_view name;          // The name, "S0".
  std::optional<int64_t> example;  // The size in the example, if it is known.
};

// A parameter, buffer or constant that get_attr nodes refer to by name.
struct Attribute {
  absl::string_view name;               // The name, "layer1.0.conv1.weight".
  const TensorMeta* meta = nullptr;     // The meta; null if unknown.
  absl::string_view annotation;         // The annotation, "torch.nn.parameter.Parameter".
  const DrawSpec* draw_spec = nullptr;  // The draw spec; null if there is none.
};

// A main graph, the bodies that it calls, and everything that they refer to.
class Module {
 public:
  Module();
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  // Makes an empty module that refers to the strings, metas and constants of `parent` where another
  // module would copy them, so that copying nodes from the parent costs a fraction. It keeps that
  // memory alive, so the parent may be destroyed first. While one thread uses the new module, no
  // other thread may change the parent.
  static std::unique_ptr<Module> DeriveFrom(const Module& parent);

  // --- Graphs ----------------------------------------------------------------
  // Adds an empty graph. The first graph is the main one ("forward"); the others are bodies that
  // arguments refer to. A name that is taken gets a suffix.
  Graph* AddGraph(absl::string_view name);
  // All graphs in the order in which they were added, as a view until one is added or removed.
  absl::Span<Graph* const> graphs() const { return graphs_; }
  // The first graph; null in an empty module.
  Graph* main() const { return graphs_.empty() ? nullptr : graphs_[0]; }
  Graph* FindGraph(absl::string_view name) const;  // Returns the graph; null if there is none.
  // Renames `graph`. If another graph has that name, the program ends.
  void RenameGraph(Graph* graph, absl::string_view name);
  // Removes and destroys a graph of this module to which no argument refers. Its nodes must not be
  // touched afterwards.
  void EraseGraph(Graph* graph);
  // Removes the graphs that the main graph does not reach through arguments, such as those that
  // dead code elimination leaves. Returns the number of graphs that it removed.
  size_t EraseUnusedGraphs();

  // --- Symbols, relations, attributes ----------------------------------------
  // Declares a symbol. A second declaration of a name replaces the example value.
  void AddSymbol(absl::string_view name, std::optional<int64_t> example);
  // All symbols in order of declaration, as a view until one is added.
  absl::Span<const Symbol> symbols() const { return symbols_; }
  // Returns the symbol, valid until one is added; null if there is none.
  const Symbol* FindSymbol(absl::string_view name) const;
  // Adds a fact about the symbols. `relation->is_relation()` must be true.
  void AddRelation(const SymExpr* relation) { relations_.push_back(CopySym(relation)); }
  // All relations in the order in which they were added, as a view until one is added.
  absl::Span<const SymExpr* const> relations() const { return relations_; }
  // Adds an attribute, or replaces the one of that name.
  void AddAttribute(const Attribute& attribute);
  // All attributes in the order in which they were added, as a view until one is added or removed.
  absl::Span<const Attribute> attributes() const { return attributes_; }
  // Returns the attribute, valid until one is added or removed; null if there is none.
  const Attribute* FindAttribute(absl::string_view name) const;
  // Removes the attribute if there is one of that name. O(attributes).
  void EraseAttribute(absl::string_view name);
  void EraseAllAttributes();  // Removes all attributes.

  // --- Making the objects to which nodes refer -------------------------------
  // Returns the module's copy of `text`. Equal texts have the same address.
  const absl::string_view* InternTarget(absl::string_view text);
  // The same, for short strings that recur: keyword names, annotations, paths.
  absl::string_view InternString(absl::string_view text) { return *InternTarget(text); }

  const SymExpr* SymInt(int64_t value);              // Returns the expression of a number.
  const SymExpr* SymSymbol(absl::string_view name);  // Returns the expression of a symbol.
  const SymExpr* SymNeg(const SymExpr* operand);     // Returns -operand.
  // Returns an operation with two operands, or a relation. With kInt, kSymbol or kNeg the program
  // ends.
  const SymExpr* SymBinary(SymExpr::Kind kind, const SymExpr* lhs, const SymExpr* rhs);
  // Returns this module's equal of `expr`, which may be of any module; null for null. Each shared
  // part is copied once.
  const SymExpr* CopySym(const SymExpr* expr);

  // Returns the one copy of `meta` in this module.
  const TensorMeta* InternMeta(const TensorMeta& meta);
  // Returns the one meta of a value that is this tensor.
  const ValueMeta* InternValueMeta(const TensorMeta& tensor);
  // Returns the one meta of a tuple (or list). A null element means that nothing is known of it.
  const ValueMeta* InternTupleMeta(absl::Span<const ValueMeta* const> elements);
  // Returns this module's equal of `meta`, which may be of any module; null for null.
  const ValueMeta* CopyMeta(const ValueMeta* meta);

  // Makes a deep copy in the arena. Equal aggregates without nodes are shared. If a body is not a
  // graph of this module, the program ends.
  Argument CopyArgument(const Argument& argument);
  // Makes a complex number that lives as long as the module.
  Argument Complex(std::complex<double> value);
  // Returns a copy of `spec`, or an equal draw spec that the module has already.
  const DrawSpec* CopyDrawSpec(const DrawSpec& spec);

  // Makes a deep copy with the same graphs, names and order, in which all pointers differ.
  std::unique_ptr<Module> Clone() const;

  // The memory that the module holds, in bytes: arena, tables and names. Memory that it shares
  // with the module that it derives from counts there.
  size_t MemoryBytes() const;
  // The number of live nodes of all graphs.
  size_t num_nodes() const;
  // The number of nodes that were ever made. Each Node::index() is less than it.
  size_t num_indices() const { return num_indices_; }

  // Memory that lives as long as the module.
  Arena& arena() { return arena_; }

 private:
  friend class Graph;
  friend class Node;
  friend class UncheckedBuilder;
  friend class IrTestPeer;
  // Hash by content, so that equal aggregates and metas are shared.
  struct ArgumentHash {
    size_t operator()(const Argument& a) const;
  };
  struct MetaHash {
    size_t operator()(const TensorMeta* m) const;
  };
  struct MetaEq {
    bool operator()(const TensorMeta* a, const TensorMeta* b) const;
  };
  // Hashes an expression by the addresses of its operands, which are interned.
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
  // For a set of pointers, which takes a third of the memory of a map; most strings are unique.
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

  // All memory of a module, with the objects to which nodes refer. It neither frees nor moves
  // any of them, so that derived modules can refer to them.
  struct Pool {
    // A default constructor that is not `= default`, which would clear the first block.
    Pool() {}  // NOLINT

    // Large enough for most pieces of a graph.
    alignas(16) char first_block[1536];
    Arena arena{absl::MakeSpan(first_block)};
    absl::flat_hash_set<const absl::string_view*, StringHash, StringEq> strings;
    absl::flat_hash_set<Argument, ArgumentHash> shared_aggregates;
    absl::flat_hash_set<const SymExpr*, SymHash, SymEq> exprs;
    absl::flat_hash_set<const TensorMeta*, MetaHash, MetaEq> metas;
    absl::flat_hash_map<const TensorMeta*, const ValueMeta*> value_metas;
    absl::flat_hash_map<absl::Span<const ValueMeta* const>, const ValueMeta*> tuple_metas;
    // The draw specs without literal data. Statistics of few decimals recur.
    absl::flat_hash_set<const DrawSpec*, DrawSpecHash, DrawSpecEq> draw_specs;

    size_t num_interned() const {
      return strings.size() + shared_aggregates.size() + exprs.size() + metas.size() +
             value_metas.size() + tuple_metas.size() + draw_specs.size();
    }

    // The pool of the module that this one derives from, and its num_interned() at that time.
    std::shared_ptr<const Pool> base;
    size_t base_interned = 0;
  };

  explicit Module(std::shared_ptr<const Pool> base);

  // Returns whether objects that `other` interned are valid here as they are. They are not if
  // `other`, from which this module derives, has interned more since: this module may have an
  // equal of it.
  bool SharesWith(const Module& other) const {
    return pool_ == other.pool_ ||
           (pool_->base == other.pool_ && pool_->base_interned == other.pool_->num_interned());
  }
  // Returns the entry of `table` for `key`, here or in a module that this one derives from; null
  // if there is none.
  template <typename Table, typename Key>
  const typename Table::value_type* Find(Table Pool::*table, const Key& key) const;

  // Returns the one expression of this content. Its operands must be of this module.
  const SymExpr* InternSym(const SymExpr& expr);
  // Ends the program unless `body` is a graph of this module.
  Graph* CheckedBody(Graph* body) const;
  // Like CopyArgument, and sets *has_node to true if the copy refers to a node.
  Argument CopyArgumentInternal(const Argument& argument, bool* has_node);
  void EraseGraphsIf(absl::FunctionRef<bool(const Graph*)> erased);
  uint32_t InternFile(absl::string_view file);

  const std::shared_ptr<Pool> pool_;
  Arena& arena_;  // in pool_
  uint32_t num_indices_ = 0;
  absl::InlinedVector<Graph*, 1> graphs_;  // They lie in the arena; the destructor destroys them.
  std::vector<Symbol> symbols_;
  std::vector<const SymExpr*> relations_;
  std::vector<Attribute> attributes_;
  // All graphs by name; empty while there are few.
  absl::flat_hash_map<absl::string_view, Graph*> graph_index_;
  // The last suffix that a name got that was taken.
  absl::flat_hash_map<std::string, int> next_graph_suffix_;
  absl::flat_hash_map<absl::string_view, size_t> symbol_index_;
  absl::flat_hash_map<absl::string_view, size_t> attribute_index_;
  // A cache of the strings interned last, by a hash of their size and end; most recur soon.
  const absl::string_view* recent_strings_[32] = {};
  // The paths for SourceLocation::file; Node::file_ - 1 is the index.
  absl::InlinedVector<absl::string_view, 1> files_;
  absl::flat_hash_map<absl::string_view, uint32_t> file_index_;  // like graph_index_
  // The elements of the aggregates that are being copied now.
  std::vector<Argument> copied_elements_;
  // Lists of freed arrays of uses, by log2 of their capacity. Each array begins with the address
  // of the next one.
  void* free_use_arrays_[32] = {};
};

}  // namespace graphnet

#endif  // GRAPHNET_IR_MODULE_H_
