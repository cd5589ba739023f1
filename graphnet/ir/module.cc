#include "graphnet/ir/module.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/inlined_vector.h"
#include "absl/hash/hash.h"
#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/check.h"
#include "graphnet/ir/node_table.h"
#include "graphnet/ir/shared_walk.h"
#include "graphnet/ir/unchecked_builder.h"

namespace graphnet {
namespace {

// If there are more graphs or files than this, they have an index by name.
constexpr size_t kFew = 8;
constexpr ValueMeta kUnknownMeta;         // All modules share it.
constexpr size_t kMaxInternedBytes = 64;  // Longer string arguments rarely recur.

uint64_t Bits(double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

// Returns whether an argument refers to no other memory, so that it is its own copy.
bool IsPlain(const Argument& a) {
  switch (a.kind()) {
    case Argument::Kind::kNone:
    case Argument::Kind::kEllipsis:
    case Argument::Kind::kBool:
    case Argument::Kind::kInt:
    case Argument::Kind::kFloat:
    case Argument::Kind::kDType:
    case Argument::Kind::kDevice:
    case Argument::Kind::kLayout:
    case Argument::Kind::kMemoryFormat: return true;
    default: return false;
  }
}

// Hashes an argument without nodes whose aggregates and size expressions are shared already, so that
// their addresses represent their content.
size_t HashElement(const Argument& a) {
  const auto kind = static_cast<size_t>(a.kind());
  switch (a.kind()) {
    case Argument::Kind::kNone:
    case Argument::Kind::kNode:
    case Argument::Kind::kEllipsis: return kind;
    case Argument::Kind::kBool: return absl::HashOf(kind, a.boolean());
    case Argument::Kind::kInt: return absl::HashOf(kind, a.integer());
    case Argument::Kind::kFloat: return absl::HashOf(kind, Bits(a.real()));
    case Argument::Kind::kComplex:
      return absl::HashOf(kind, Bits(a.complex().real()), Bits(a.complex().imag()));
    case Argument::Kind::kString: return absl::HashOf(kind, a.string());
    case Argument::Kind::kDType: return absl::HashOf(kind, a.dtype());
    case Argument::Kind::kDevice: return absl::HashOf(kind, a.device().type, a.device().index);
    case Argument::Kind::kLayout: return absl::HashOf(kind, a.layout());
    case Argument::Kind::kMemoryFormat: return absl::HashOf(kind, a.memory_format());
    case Argument::Kind::kGraph: return absl::HashOf(kind, a.graph());
    case Argument::Kind::kSymInt: return absl::HashOf(kind, a.sym());
    case Argument::Kind::kList:
    case Argument::Kind::kTuple:
    case Argument::Kind::kDict:
    case Argument::Kind::kSlice:
      return absl::HashOf(kind, a.elements().data(), a.elements().size());
  }
  return kind;
}

// Expressions are interned, so that their addresses represent their content, however deep they are.
size_t HashDim(const Dim& dim) {
  return dim.is_static() ? absl::HashOf(dim.value) : absl::HashOf(dim.expr);
}

// Calls fn(Graph*) for every reference to a graph in the arguments of `graph`.
template <typename Fn>
void ForEachGraphReference(const Graph& graph, Fn&& fn) {
  for (const Node* node : graph.nodes()) {
    node->ForEachArgument([&fn](const Argument& a) {
      if (a.is_graph()) fn(a.graph());
    });
  }
}

}  // namespace

size_t Module::ArgumentHash::operator()(const Argument& a) const {
  size_t h = absl::HashOf(a.kind(), a.elements().size());
  for (const Argument& element : a.elements()) h = absl::HashOf(h, HashElement(element));
  return h;
}

size_t Module::MetaHash::operator()(const TensorMeta* m) const {
  size_t h = absl::HashOf(m->dtype, m->has_device, m->has_shape, m->device.type, m->device.index,
                          m->shape.size());
  for (const Dim& dim : m->shape) h = absl::HashOf(h, HashDim(dim));
  return h;
}

bool Module::MetaEq::operator()(const TensorMeta* a, const TensorMeta* b) const { return *a == *b; }

size_t Module::DrawSpecHash::operator()(const DrawSpec* s) const {
  // Some values are hashed, so that specs which differ only in their values mostly differ in hash.
  constexpr size_t kMost = 8;
  size_t values = 0;
  if (!s->data.is_none()) {
    const absl::Span<const Argument> data = s->data.elements();
    for (const Argument& value : data.first(std::min(data.size(), kMost)))
      values = absl::HashOf(values, HashElement(value));
    values = absl::HashOf(values, data.size());
  }
  return absl::HashOf(s->has_mean ? Bits(s->mean) : 0, s->has_std ? Bits(s->std) : 0,
                      s->original_name, values);
}

bool Module::DrawSpecEq::operator()(const DrawSpec* a, const DrawSpec* b) const { return *a == *b; }

Module::Module() : Module(nullptr) {}
Module::Module(std::shared_ptr<const Pool> base)
    : pool_(std::make_shared<Pool>()), arena_(pool_->arena) {
  pool_->base_interned = base == nullptr ? 0 : base->num_interned();
  pool_->base = std::move(base);
}
Module::~Module() {
  for (Graph* graph : graphs_) graph->~Graph();
}

std::unique_ptr<Module> Module::DeriveFrom(const Module& parent) {
  return absl::WrapUnique(new Module(parent.pool_));
}

template <typename Table, typename Key>
const typename Table::value_type* Module::Find(Table Pool::*table, const Key& key) const {
  for (const Pool* pool = pool_.get(); pool != nullptr; pool = pool->base.get()) {
    const Table& entries = pool->*table;
    if (entries.empty()) continue;  // Tables are mostly empty in the pieces of a graph.
    if (const auto it = entries.find(key); it != entries.end()) return &*it;
  }
  return nullptr;
}

Graph* Module::AddGraph(absl::string_view name) {
  std::string unique(name);
  if (FindGraph(unique) != nullptr) {
    int& suffix = next_graph_suffix_[unique];
    do {
      unique = absl::StrCat(name, "_", ++suffix);
    } while (FindGraph(unique) != nullptr);
  }
  graphs_.push_back(new (arena_.Allocate(sizeof(Graph), alignof(Graph)))
                        Graph(this, arena_.Copy(absl::string_view(unique))));
  if (!graph_index_.empty()) {
    graph_index_[graphs_.back()->name()] = graphs_.back();
  } else if (graphs_.size() > kFew) {
    for (Graph* graph : graphs_) graph_index_[graph->name()] = graph;
  }
  return graphs_.back();
}

Graph* Module::FindGraph(absl::string_view name) const {
  if (!graph_index_.empty()) {
    const auto it = graph_index_.find(name);
    return it == graph_index_.end() ? nullptr : it->second;
  }
  const auto it = absl::c_find_if(graphs_, [&](const Graph* g) { return g->name() == name; });
  return it == graphs_.end() ? nullptr : *it;
}

void Module::RenameGraph(Graph* graph, absl::string_view name) {
  if (name == graph->name_) return;
  CHECK(FindGraph(name) == nullptr);
  const bool indexed = graph_index_.erase(graph->name_) > 0;
  graph->name_ = arena_.Copy(name);
  if (indexed) graph_index_[graph->name_] = graph;
}

void Module::EraseGraphsIf(absl::FunctionRef<bool(const Graph*)> erased) {
  // Graphs are destroyed at the end, since `erased` may read graphs that it has seen.
  const auto first = std::stable_partition(graphs_.begin(), graphs_.end(),
                                           [&](const Graph* graph) { return !erased(graph); });
  for (auto it = first; it != graphs_.end(); ++it) {
    graph_index_.erase((*it)->name());
    (*it)->~Graph();
  }
  graphs_.erase(first, graphs_.end());
}

void Module::EraseGraph(Graph* graph) {
#ifndef NDEBUG
  for (const Graph* other : graphs_) {
    if (other != graph) ForEachGraphReference(*other, [&](Graph* g) { CHECK(g != graph); });
  }
#endif
  CHECK(absl::c_linear_search(graphs_, graph));
  EraseGraphsIf([graph](const Graph* g) { return g == graph; });
}

size_t Module::EraseUnusedGraphs() {
  if (graphs_.empty()) return 0;
  absl::flat_hash_set<const Graph*> used = {main()};
  std::vector<const Graph*> queue = {main()};
  for (size_t i = 0; i < queue.size(); ++i) {
    ForEachGraphReference(*queue[i], [&](const Graph* graph) {
      if (used.insert(graph).second) queue.push_back(graph);
    });
  }
  const size_t before = graphs_.size();
  EraseGraphsIf([&](const Graph* graph) { return !used.contains(graph); });
  return before - graphs_.size();
}

void Module::AddSymbol(absl::string_view name, std::optional<int64_t> example) {
  const absl::string_view interned = InternString(name);
  const auto [it, inserted] = symbol_index_.try_emplace(interned, symbols_.size());
  if (inserted) {
    symbols_.push_back({interned, example});
  } else {
    symbols_[it->second].example = example;
  }
}

const Symbol* Module::FindSymbol(absl::string_view name) const {
  const auto it = symbol_index_.find(name);
  return it == symbol_index_.end() ? nullptr : &symbols_[it->second];
}

void Module::AddAttribute(const Attribute& attribute) {
  Attribute copy;
  copy.name = InternString(attribute.name);
  copy.annotation = InternString(attribute.annotation);
  if (attribute.meta) copy.meta = InternMeta(*attribute.meta);
  if (attribute.draw_spec) copy.draw_spec = CopyDrawSpec(*attribute.draw_spec);
  const auto [it, inserted] = attribute_index_.try_emplace(copy.name, attributes_.size());
  if (inserted) {
    attributes_.push_back(copy);
  } else {
    attributes_[it->second] = copy;
  }
}

const Attribute* Module::FindAttribute(absl::string_view name) const {
  const auto it = attribute_index_.find(name);
  return it == attribute_index_.end() ? nullptr : &attributes_[it->second];
}

void Module::EraseAttribute(absl::string_view name) {
  const auto it = attribute_index_.find(name);
  if (it == attribute_index_.end()) return;
  attributes_.erase(attributes_.begin() + static_cast<ptrdiff_t>(it->second));
  attribute_index_.clear();
  for (size_t i = 0; i < attributes_.size(); ++i) attribute_index_[attributes_[i].name] = i;
}

void Module::EraseAllAttributes() {
  attributes_.clear();
  attribute_index_.clear();
}

const absl::string_view* Module::InternTarget(absl::string_view text) {
  uint32_t end = 0;
  const size_t bytes = std::min<size_t>(text.size(), sizeof end);
  if (bytes > 0) std::memcpy(&end, text.data() + text.size() - bytes, bytes);
  const absl::string_view*& recent =
      recent_strings_[((end + static_cast<uint32_t>(text.size())) * 0x9e3779b1u) >> 27];
  if (recent != nullptr && *recent == text) return recent;
  if (const auto* found = Find(&Pool::strings, text)) return recent = *found;
  recent = arena_.New<absl::string_view>(arena_.Copy(text));
  pool_->strings.insert(recent);
  return recent;
}

uint32_t Module::InternFile(absl::string_view file) {
  if (file.empty()) return 0;
  // There is mostly one file, or the nodes of one file are adjacent.
  const absl::string_view last = files_.empty() ? absl::string_view() : files_.back();
  if (last.size() == file.size() && (last.data() == file.data() || last == file)) {
    return static_cast<uint32_t>(files_.size());
  }
  if (!file_index_.empty()) {
    const auto it = file_index_.find(file);
    if (it != file_index_.end()) return it->second;
  } else if (const auto it = absl::c_find(files_, file); it != files_.end()) {
    return static_cast<uint32_t>(it - files_.begin()) + 1;
  }
  files_.push_back(InternString(file));
  const auto index = static_cast<uint32_t>(files_.size());
  if (!file_index_.empty()) {
    file_index_[files_.back()] = index;
  } else if (index > kFew) {
    for (uint32_t i = 0; i < index; ++i) file_index_[files_[i]] = i + 1;
  }
  return index;
}

const SymExpr* Module::InternSym(const SymExpr& expr) {
  if (const auto* found = Find(&Pool::exprs, &expr)) return *found;
  SymExpr* made = arena_.New<SymExpr>(expr);
  made->name = InternString(expr.name);
  pool_->exprs.insert(made);
  return made;
}

const SymExpr* Module::SymInt(int64_t value) {
  return InternSym({.kind = SymExpr::Kind::kInt, .value = value});
}

const SymExpr* Module::SymSymbol(absl::string_view name) {
  return InternSym({.kind = SymExpr::Kind::kSymbol, .name = name});
}

const SymExpr* Module::SymNeg(const SymExpr* operand) {
  return InternSym({.kind = SymExpr::Kind::kNeg, .lhs = CopySym(operand)});
}

const SymExpr* Module::SymBinary(SymExpr::Kind kind, const SymExpr* lhs, const SymExpr* rhs) {
  CHECK(kind >= SymExpr::Kind::kAdd);
  return InternSym({.kind = kind, .lhs = CopySym(lhs), .rhs = CopySym(rhs)});
}

const SymExpr* Module::CopySym(const SymExpr* expr) {
  if (expr == nullptr) return nullptr;
  // An expression that this module has made is its own copy.
  const auto is_own = [this](const SymExpr* e) {
    const auto* found = Find(&Pool::exprs, e);
    return found != nullptr && *found == e;
  };
  if (is_own(expr)) return expr;
  if (expr->lhs == nullptr) return InternSym(*expr);
  absl::flat_hash_map<const SymExpr*, const SymExpr*> copies;
  const auto copy_of = [&](const SymExpr* e) {
    const auto it = copies.find(e);
    return it == copies.end() ? e : it->second;
  };
  SharedWalk<const SymExpr*> walk;
  const bool is_finite = walk.Run(
      expr,
      [&](const SymExpr* e, auto&& add) {
        for (const SymExpr* operand : {e->lhs, e->rhs}) {
          if (operand != nullptr && !is_own(operand)) add(operand);
        }
      },
      [&](const SymExpr* e) {
        SymExpr copy = *e;
        copy.lhs = copy_of(copy.lhs);
        copy.rhs = copy_of(copy.rhs);
        copies[e] = InternSym(copy);
      });
  CHECK(is_finite);
  return copies.at(expr);
}

const TensorMeta* Module::InternMeta(const TensorMeta& original) {
  // The fields of a device or shape that is unknown must not distinguish metas.
  TensorMeta meta = original;
  if (!meta.has_device) meta.device = Device();
  if (!meta.has_shape) meta.shape = {};
  // Expressions are interned first, because metas are hashed by the addresses of theirs.
  absl::InlinedVector<Dim, kFew> dims;
  if (!absl::c_all_of(meta.shape, [](const Dim& dim) { return dim.is_static(); })) {
    for (const Dim& dim : meta.shape)
      dims.push_back(dim.is_static() ? dim : Dim(CopySym(dim.expr)));
    meta.shape = dims;
  }
  if (const auto* found = Find(&Pool::metas, &meta)) return *found;
  TensorMeta* copy = arena_.New<TensorMeta>(meta);
  Dim* shape = arena_.NewArray<Dim>(meta.shape.size());
  for (size_t i = 0; i < meta.shape.size(); ++i) new (&shape[i]) Dim(meta.shape[i]);
  copy->shape = {shape, meta.shape.size()};
  pool_->metas.insert(copy);
  return copy;
}

const ValueMeta* Module::InternValueMeta(const TensorMeta& tensor) {
  const TensorMeta* meta = InternMeta(tensor);
  if (const auto* found = Find(&Pool::value_metas, meta)) return found->second;
  ValueMeta* made = arena_.New<ValueMeta>();
  made->tensor = meta;
  pool_->value_metas.emplace(meta, made);
  return made;
}

const ValueMeta* Module::InternTupleMeta(absl::Span<const ValueMeta* const> elements) {
  if (const auto* found = Find(&Pool::tuple_metas, elements)) return found->second;
  absl::InlinedVector<const ValueMeta*, 8> own;
  for (const ValueMeta* element : elements) {
    own.push_back(element == nullptr ? &kUnknownMeta : CopyMeta(element));
  }
  if (own != elements) return InternTupleMeta(own);
  ValueMeta* made = arena_.New<ValueMeta>();
  made->is_tuple = true;
  made->elements = arena_.Copy(elements);
  pool_->tuple_metas.emplace(made->elements, made);
  return made;
}

const ValueMeta* Module::CopyMeta(const ValueMeta* meta) {
  if (meta == nullptr) return nullptr;
  if (meta->tensor == nullptr) {
    return meta->is_tuple ? InternTupleMeta(meta->elements) : &kUnknownMeta;
  }
  // Finds the meta by address if this module has interned it.
  const auto it = pool_->value_metas.find(meta->tensor);
  return it != pool_->value_metas.end() ? it->second : InternValueMeta(*meta->tensor);
}

Graph* Module::CheckedBody(Graph* body) const {
  CHECK_SAYS(body != nullptr, "the body of a call is null");
  CHECK_SAYS(body->module() == this, "the body @%s of a call belongs to another module",
             std::string(body->name()).c_str());
  return body;
}

Argument Module::CopyArgument(const Argument& argument) {
  bool has_node = false;
  return CopyArgumentInternal(argument, &has_node);
}

Argument Module::CopyArgumentInternal(const Argument& argument, bool* has_node) {
  if (argument.is_node()) {  // Most arguments are nodes.
    *has_node = true;
    return argument;
  }
  if (IsPlain(argument)) return argument;
  const auto is_aggregate = [](const Argument& a) { return a.is_aggregate(); };
  const auto is_flat = [&](const Argument& a) {
    return !a.is_aggregate() || absl::c_none_of(a.elements(), is_aggregate);
  };
  // Copies each reference separately, unless this module shares the aggregate already.
  struct Copier {
    Module& module;
    Argument Copy(const Argument& argument, bool* has_node) {
      switch (argument.kind()) {
        case Argument::Kind::kNode: *has_node = true; return argument;
        case Argument::Kind::kString: {
          const absl::string_view text = argument.string();
          return text.size() <= kMaxInternedBytes ? module.InternString(text)
                                                  : module.arena_.Copy(text);
        }
        case Argument::Kind::kComplex: return module.Complex(argument.complex());
        case Argument::Kind::kGraph: return module.CheckedBody(argument.graph());
        case Argument::Kind::kSymInt: return module.CopySym(argument.sym());
        case Argument::Kind::kList:
        case Argument::Kind::kTuple:
        case Argument::Kind::kDict:
        case Argument::Kind::kSlice: return CopyAggregate(argument, has_node);
        default: return argument;
      }
    }
    Argument CopyAggregate(const Argument& argument, bool* has_node) {
      if (IsShared(argument)) return argument;
      return CopyElements(argument, has_node);
    }
    Argument CopyElements(const Argument& argument, bool* has_node) {
      // Elements are copied first, so that each aggregate is visited once, however deep it lies.
      std::vector<Argument>& copied = module.copied_elements_;
      if (copied.capacity() == 0) copied.reserve(16);
      const size_t base = copied.size();
      bool nodes_inside = false;
      for (const Argument& element : argument.elements()) {
        nodes_inside |= element.is_node();
        if (element.is_node() || IsPlain(element)) {
          copied.push_back(element);
          continue;
        }
        const Argument copy = Copy(element, &nodes_inside);
        copied.push_back(copy);
      }
      const auto copies = absl::MakeConstSpan(copied).subspan(base);
      *has_node |= nodes_inside;
      Argument result;
      if (nodes_inside) {
        result = Argument::Aggregate(argument.kind(), module.arena_.Copy(copies));
      } else {
        const Argument all = Argument::Aggregate(argument.kind(), copies);
        const auto* found = module.Find(&Pool::shared_aggregates, all);
        result =
            found != nullptr
                ? *found
                : *module.pool_->shared_aggregates
                       .insert(Argument::Aggregate(argument.kind(), module.arena_.Copy(copies)))
                       .first;
      }
      copied.resize(base);
      return result;
    }
    // A lookup is worth its time only for an aggregate that holds others.
    bool IsShared(const Argument& argument) {
      if (absl::c_none_of(argument.elements(), [](const Argument& a) { return a.is_aggregate(); }))
        return false;
      const auto* found = module.Find(&Pool::shared_aggregates, argument);
      return found != nullptr && found->elements().data() == argument.elements().data();
    }
  };
  Copier copier{*this};
  if (!argument.is_aggregate()) return copier.Copy(argument, has_node);
  if (is_flat(argument)) return copier.CopyElements(argument, has_node);
  // In a list of flat lists, nothing is visited twice.
  if (absl::c_all_of(argument.elements(), is_flat) || copier.IsShared(argument))
    return copier.Copy(argument, has_node);

  // Each shared aggregate is visited once. Aggregates without nodes are shared in this module; the
  // others are written out below, since each of their elements is an operand of its own.
  struct Part {
    Argument argument;
    bool has_node = false;
  };
  Arena arena;
  absl::flat_hash_map<AggregateKey, Part> parts;
  SharedWalk<AggregateKey> walk;
  std::vector<Argument> elements;
  const bool is_finite = walk.Run(AggregateKey(argument), ElementParts(), [&](AggregateKey key) {
    Part part;
    elements.clear();
    for (const Argument& element : key.argument().elements()) {
      if (element.is_aggregate()) {
        const Part& inner = parts.at(AggregateKey(element));
        elements.push_back(inner.argument);
        part.has_node |= inner.has_node;
      } else {
        elements.push_back(element);
        part.has_node |= element.is_node();
      }
    }
    part.argument = Argument::Aggregate(key.kind, elements);
    bool unused = false;
    part.argument = part.has_node
                        ? Argument::Aggregate(key.kind, arena.Copy(absl::MakeConstSpan(elements)))
                        : copier.Copy(part.argument, &unused);
    parts[key] = part;
  });
  CHECK(is_finite);
  return copier.Copy(parts.at(AggregateKey(argument)).argument, has_node);
}

Argument Module::Complex(std::complex<double> value) {
  return Argument(arena_.New<std::complex<double>>(value));
}

const DrawSpec* Module::CopyDrawSpec(const DrawSpec& spec) {
  const bool shared = spec.data.is_none();
  if (shared) {
    if (const auto* found = Find(&Pool::draw_specs, &spec)) return *found;
  }
  DrawSpec* copy = arena_.New<DrawSpec>(spec);
  copy->min = CopyArgument(spec.min);
  copy->max = CopyArgument(spec.max);
  // Literal data does not recur, so a lookup would waste time.
  if (spec.data.is_aggregate() &&
      absl::c_all_of(spec.data.elements(), [](const Argument& a) { return a.is_number(); })) {
    const absl::Span<const Argument> values = arena_.Copy(spec.data.elements());
    copy->data = Argument(spec.data.kind(), values.data(), static_cast<uint32_t>(values.size()));
  } else {
    copy->data = CopyArgument(spec.data);
  }
  copy->original_name = InternString(spec.original_name);
  if (shared) pool_->draw_specs.insert(copy);
  return copy;
}

std::unique_ptr<Module> Module::Clone() const {
  auto clone = std::make_unique<Module>();
  for (const Symbol& symbol : symbols_) clone->AddSymbol(symbol.name, symbol.example);
  for (const SymExpr* relation : relations_) clone->AddRelation(relation);
  for (const Attribute& attribute : attributes_) clone->AddAttribute(attribute);
  absl::flat_hash_map<const Graph*, Graph*> graphs;
  for (const Graph* graph : graphs_) graphs[graph] = clone->AddGraph(graph->name());
  NodeTable<Node*> nodes(*this);
  for (const Graph* graph : graphs_) {
    Graph* copy = graphs[graph];
    UncheckedBuilder(copy).ReserveNames(graph->num_nodes());
    for (Node* node : graph->nodes()) {
      nodes[node] = copy->CopyNodeFrom(
          *node, [&](Node* n) { return nodes[n]; }, [&](Graph* g) { return graphs.at(g); });
    }
  }
  return clone;
}

size_t Module::MemoryBytes() const {
  const auto table = [](const auto& t) { return t.capacity() * (sizeof(*t.begin()) + 1); };
  size_t bytes = sizeof *this + sizeof *pool_ + arena_.bytes_reserved();
  bytes += table(pool_->strings) + table(pool_->shared_aggregates) + table(pool_->exprs) +
           table(pool_->metas) + table(pool_->value_metas) + table(pool_->draw_specs) +
           table(pool_->tuple_metas) + table(attribute_index_) + table(graph_index_) +
           table(next_graph_suffix_) + table(symbol_index_) + table(file_index_);
  bytes += symbols_.capacity() * sizeof(Symbol) + relations_.capacity() * sizeof(void*) +
           attributes_.capacity() * sizeof(Attribute) + files_.capacity() * sizeof(files_[0]) +
           copied_elements_.capacity() * sizeof(Argument);
  for (const Graph* graph : graphs_) {
    bytes += table(graph->by_name_) + table(graph->next_suffix_);
  }
  return bytes;
}

size_t Module::num_nodes() const {
  size_t n = 0;
  for (const Graph* graph : graphs_) n += graph->num_nodes();
  return n;
}

}  // namespace graphnet
