#include "graphnet/ir/module.h"

#include <algorithm>
#include <cstring>

#include "absl/algorithm/container.h"
#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/check.h"

namespace graphnet {
namespace {

constexpr size_t kMaxInternedBytes = 64;  // Longer string arguments rarely recur.

uint64_t Bits(double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

size_t HashSym(const SymExpr* expr) {
  size_t h = 0;
  for (; expr != nullptr; expr = expr->lhs) {
    h = absl::HashOf(h, expr->kind, expr->value, expr->name);
    if (expr->rhs != nullptr) h = absl::HashOf(h, HashSym(expr->rhs));
  }
  return h;
}

// Of an argument without nodes whose aggregates are shared already, so that
// their addresses stand for their content.
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
    case Argument::Kind::kSymInt: return absl::HashOf(kind, HashSym(a.sym()));
    case Argument::Kind::kList:
    case Argument::Kind::kTuple:
    case Argument::Kind::kDict:
    case Argument::Kind::kSlice:
      return absl::HashOf(kind, a.elements().data(), a.elements().size());
  }
  return kind;
}

size_t HashDim(const Dim& dim) {
  return dim.is_static() ? absl::HashOf(dim.value) : HashSym(dim.expr);
}

bool IsNumber(const Argument& a) { return a.is_bool() || a.is_int() || a.is_float(); }

// Calls fn(Graph*) for every reference to a graph in the arguments of `graph`.
template <typename Fn>
void ForEachGraphReference(const Graph& graph, Fn&& fn) {
  const auto visit = [&fn](const Argument& argument) {
    ForEachArgument(argument, [&fn](const Argument& a) {
      if (a.is_graph()) fn(a.graph());
    });
  };
  for (const Node* node : graph.nodes()) {
    for (const Argument& arg : node->args()) visit(arg);
    for (const KwArg& kwarg : node->kwargs()) visit(kwarg.value);
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
  return absl::HashOf(s->has_mean ? Bits(s->mean) : 0, s->has_std ? Bits(s->std) : 0,
                      s->original_name.size());
}

bool Module::DrawSpecEq::operator()(const DrawSpec* a, const DrawSpec* b) const { return *a == *b; }

Module::Module() = default;
Module::~Module() = default;

Graph* Module::AddGraph(absl::string_view name) {
  std::string unique(name);
  if (FindGraph(unique) != nullptr) {
    int& suffix = next_graph_suffix_[unique];
    do {
      unique = absl::StrCat(name, "_", ++suffix);
    } while (FindGraph(unique) != nullptr);
  }
  graph_owner_.push_back(
      std::unique_ptr<Graph>(new Graph(this, arena_.Copy(absl::string_view(unique)))));
  Graph* graph = graph_owner_.back().get();
  graphs_.push_back(graph);
  graph_index_[graph->name()] = graph;
  return graph;
}

Graph* Module::FindGraph(absl::string_view name) const {
  const auto it = graph_index_.find(name);
  return it == graph_index_.end() ? nullptr : it->second;
}

void Module::RenameGraph(Graph* graph, absl::string_view name) {
  if (name == graph->name_) return;
  CHECK(FindGraph(name) == nullptr);
  graph_index_.erase(graph->name_);
  graph->name_ = arena_.Copy(name);
  graph_index_[graph->name_] = graph;
}

void Module::EraseGraph(Graph* graph) {
#ifndef NDEBUG
  for (const Graph* other : graphs_) {
    if (other != graph) ForEachGraphReference(*other, [&](Graph* g) { CHECK(g != graph); });
  }
#endif
  for (size_t i = 0; i < graphs_.size(); ++i) {
    if (graphs_[i] != graph) continue;
    graph_index_.erase(graph->name());
    graphs_.erase(graphs_.begin() + i);
    graph_owner_.erase(graph_owner_.begin() + i);
    return;
  }
  CHECK(false);
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
  for (const Graph* graph : graphs_) {
    if (!used.contains(graph)) graph_index_.erase(graph->name());
  }
  graphs_.erase(std::remove_if(graphs_.begin(), graphs_.end(),
                               [&](const Graph* graph) { return !used.contains(graph); }),
                graphs_.end());
  graph_owner_.erase(
      std::remove_if(graph_owner_.begin(), graph_owner_.end(),
                     [&](const std::unique_ptr<Graph>& g) { return !used.contains(g.get()); }),
      graph_owner_.end());
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
  const auto it = strings_.find(text);
  if (it != strings_.end()) return recent = *it;
  recent = arena_.New<absl::string_view>(arena_.Copy(text));
  strings_.insert(recent);
  return recent;
}

uint32_t Module::InternFile(absl::string_view file) {
  if (file.empty()) return 0;
  // Mostly there is one file, or nodes of one file follow each other.
  if (!files_.empty() && files_.back() == file) return static_cast<uint32_t>(files_.size());
  const auto it = file_index_.find(file);
  if (it != file_index_.end()) return it->second;
  files_.push_back(InternString(file));
  const auto index = static_cast<uint32_t>(files_.size());
  file_index_.emplace(files_.back(), index);
  return index;
}

const SymExpr* Module::SymInt(int64_t value) {
  SymExpr* expr = arena_.New<SymExpr>();
  expr->kind = SymExpr::Kind::kInt;
  expr->value = value;
  return expr;
}

const SymExpr* Module::SymSymbol(absl::string_view name) {
  SymExpr* expr = arena_.New<SymExpr>();
  expr->kind = SymExpr::Kind::kSymbol;
  expr->name = InternString(name);
  return expr;
}

const SymExpr* Module::SymNeg(const SymExpr* operand) {
  SymExpr* expr = arena_.New<SymExpr>();
  expr->kind = SymExpr::Kind::kNeg;
  expr->lhs = operand;
  return expr;
}

const SymExpr* Module::SymBinary(SymExpr::Kind kind, const SymExpr* lhs, const SymExpr* rhs) {
  CHECK(kind >= SymExpr::Kind::kAdd);
  SymExpr* expr = arena_.New<SymExpr>();
  expr->kind = kind;
  expr->lhs = lhs;
  expr->rhs = rhs;
  return expr;
}

const SymExpr* Module::CopySym(const SymExpr* expr) {
  // Iterative along lhs, the direction in which sums and products grow.
  const SymExpr* result = nullptr;
  const SymExpr** end = &result;
  for (; expr != nullptr; expr = expr->lhs) {
    SymExpr* copy = arena_.New<SymExpr>(*expr);
    copy->name = InternString(expr->name);
    copy->lhs = nullptr;
    copy->rhs = CopySym(expr->rhs);
    *end = copy;
    end = &copy->lhs;
  }
  return result;
}

const TensorMeta* Module::InternMeta(const TensorMeta& original) {
  // What is said to be missing must not tell equal metas apart.
  TensorMeta meta = original;
  if (!meta.has_device) meta.device = Device();
  if (!meta.has_shape) meta.shape = {};
  const auto it = metas_.find(&meta);
  if (it != metas_.end()) return *it;
  TensorMeta* copy = arena_.New<TensorMeta>(meta);
  Dim* shape = arena_.NewArray<Dim>(meta.shape.size());
  for (size_t i = 0; i < meta.shape.size(); ++i) {
    const Dim& dim = meta.shape[i];
    new (&shape[i]) Dim(dim.is_static() ? Dim(dim.value) : Dim(CopySym(dim.expr)));
  }
  copy->shape = {shape, meta.shape.size()};
  metas_.insert(copy);
  return copy;
}

const ValueMeta* Module::InternValueMeta(const TensorMeta& tensor) {
  const TensorMeta* meta = InternMeta(tensor);
  const ValueMeta*& value = value_metas_[meta];
  if (value == nullptr) {
    ValueMeta* made = arena_.New<ValueMeta>();
    made->tensor = meta;
    value = made;
  }
  return value;
}

const ValueMeta* Module::InternTupleMeta(absl::Span<const ValueMeta* const> elements) {
  const auto it = tuple_metas_.find(elements);
  if (it != tuple_metas_.end()) return it->second;
  ValueMeta* made = arena_.New<ValueMeta>();
  made->is_tuple = true;
  made->elements = arena_.Copy(elements);
  tuple_metas_.emplace(made->elements, made);
  return made;
}

const ValueMeta* Module::CopyMeta(const ValueMeta* meta) {
  if (meta == nullptr) return nullptr;
  if (meta->tensor != nullptr) return InternValueMeta(*meta->tensor);
  if (!meta->is_tuple) return arena_.New<ValueMeta>();
  std::vector<const ValueMeta*> elements;
  elements.reserve(meta->elements.size());
  for (const ValueMeta* element : meta->elements) elements.push_back(CopyMeta(element));
  return InternTupleMeta(elements);
}

Argument Module::CopyArgument(const Argument& argument) {
  bool has_node = false;
  return CopyArgumentInternal(argument, &has_node);
}

Argument Module::CopyArgumentInternal(const Argument& argument, bool* has_node) {
  switch (argument.kind()) {
    case Argument::Kind::kNode: *has_node = true; return argument;
    case Argument::Kind::kString: {
      const absl::string_view text = argument.string();
      return text.size() <= kMaxInternedBytes ? InternString(text) : arena_.Copy(text);
    }
    case Argument::Kind::kComplex: return Complex(argument.complex());
    case Argument::Kind::kSymInt: return CopySym(argument.sym());
    case Argument::Kind::kList:
    case Argument::Kind::kTuple:
    case Argument::Kind::kDict:
    case Argument::Kind::kSlice: {
      // Elements are copied first, so that each aggregate is looked at once
      // however deep it lies.
      const size_t base = copied_elements_.size();
      bool nodes_inside = false;
      for (const Argument& element : argument.elements()) {
        const Argument copy = CopyArgumentInternal(element, &nodes_inside);
        copied_elements_.push_back(copy);
      }
      const auto copies = absl::MakeConstSpan(copied_elements_).subspan(base);
      *has_node |= nodes_inside;
      const auto as_argument = [&](absl::Span<const Argument> elements) {
        return Argument(argument.kind(), elements.data(), static_cast<uint32_t>(elements.size()));
      };
      Argument result;
      if (nodes_inside) {
        result = as_argument(arena_.Copy(copies));
      } else {
        const auto it = shared_aggregates_.find(as_argument(copies));
        result = it != shared_aggregates_.end()
                     ? *it
                     : *shared_aggregates_.insert(as_argument(arena_.Copy(copies))).first;
      }
      copied_elements_.resize(base);
      return result;
    }
    default: return argument;
  }
}

Argument Module::Complex(std::complex<double> value) {
  return Argument(arena_.New<std::complex<double>>(value));
}

const DrawSpec* Module::CopyDrawSpec(const DrawSpec& spec) {
  const bool shared = spec.data.is_none();
  if (shared) {
    const auto it = draw_specs_.find(&spec);
    if (it != draw_specs_.end()) return *it;
  }
  DrawSpec* copy = arena_.New<DrawSpec>(spec);
  copy->min = CopyArgument(spec.min);
  copy->max = CopyArgument(spec.max);
  // Literal data does not recur: looking for an equal one would be wasted.
  if (spec.data.is_aggregate() && absl::c_all_of(spec.data.elements(), IsNumber)) {
    const absl::Span<const Argument> values = arena_.Copy(spec.data.elements());
    copy->data = Argument(spec.data.kind(), values.data(), static_cast<uint32_t>(values.size()));
  } else {
    copy->data = CopyArgument(spec.data);
  }
  copy->original_name = InternString(spec.original_name);
  if (shared) draw_specs_.insert(copy);
  return copy;
}

std::unique_ptr<Module> Module::Clone() const {
  auto clone = std::make_unique<Module>();
  for (const Symbol& symbol : symbols_) clone->AddSymbol(symbol.name, symbol.example);
  for (const SymExpr* relation : relations_) clone->AddRelation(clone->CopySym(relation));
  for (const Attribute& attribute : attributes_) clone->AddAttribute(attribute);
  absl::flat_hash_map<const Graph*, Graph*> graphs;
  for (const Graph* graph : graphs_) graphs[graph] = clone->AddGraph(graph->name());
  absl::flat_hash_map<const Node*, Node*> nodes;
  for (const Graph* graph : graphs_) {
    Graph* copy = graphs[graph];
    nodes.clear();
    nodes.reserve(graph->num_nodes());
    for (Node* node : graph->nodes()) {
      nodes[node] = copy->CopyNodeFrom(
          *node, [&](Node* n) { return nodes.at(n); }, [&](Graph* g) { return graphs.at(g); });
    }
  }
  return clone;
}

size_t Module::MemoryBytes() const {
  const auto table = [](const auto& t) { return t.capacity() * (sizeof(*t.begin()) + 1); };
  size_t bytes = sizeof *this + arena_.bytes_reserved();
  bytes += table(strings_) + table(shared_aggregates_) + table(metas_) + table(value_metas_) +
           table(draw_specs_) + table(tuple_metas_) + table(attribute_index_) +
           table(graph_index_) + table(next_graph_suffix_) + table(symbol_index_) +
           table(file_index_);
  bytes += symbols_.capacity() * sizeof(Symbol) + relations_.capacity() * sizeof(void*) +
           attributes_.capacity() * sizeof(Attribute) + files_.capacity() * sizeof(files_[0]) +
           copied_elements_.capacity() * sizeof(Argument);
  for (const auto& list : free_use_arrays_) bytes += list.capacity() * sizeof(void*);
  for (const Graph* graph : graphs_) {
    bytes +=
        sizeof(Graph) + 2 * sizeof(void*) + table(graph->by_name_) + table(graph->next_suffix_);
  }
  return bytes;
}

size_t Module::num_nodes() const {
  size_t n = 0;
  for (const Graph* graph : graphs_) n += graph->num_nodes();
  return n;
}

}  // namespace graphnet
