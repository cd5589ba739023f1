#include "graphnet/decompose/tables.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/ir/graph.h"
#include "graphnet/text/printer.h"

namespace graphnet {
namespace {

// Indices into the parent's tables.
struct Used {
  std::vector<size_t> symbols;
  std::vector<size_t> relations;
  std::vector<size_t> attributes;
};

template <typename Fn>
void ForEachSymbol(const SymExpr& expr, Fn&& fn) {
  if (expr.kind == SymExpr::Kind::kSymbol) fn(expr.name);
  if (expr.lhs != nullptr) ForEachSymbol(*expr.lhs, fn);
  if (expr.rhs != nullptr) ForEachSymbol(*expr.rhs, fn);
}

// Which entries of one table are used, by the piece looked at and by any.
class Marks {
 public:
  explicit Marks(size_t size) : last_(size, kNever) {}
  // True when it is the piece's first mark.
  bool Mark(size_t i, size_t piece) { return std::exchange(last_[i], piece) != piece; }
  // True when no piece has marked it.
  bool IsFree(size_t i) const { return last_[i] == kNever; }

 private:
  static constexpr size_t kNever = ~size_t{0};
  std::vector<size_t> last_;
};

class Distribution {
 public:
  Distribution(const Module& parent, absl::Span<Module* const> pieces)
      : parent_(parent),
        pieces_(pieces),
        symbols_(parent.symbols().size()),
        relations_(parent.relations().size()),
        attributes_(parent.attributes().size()),
        relations_of_symbol_(parent.symbols().size()),
        symbols_of_relation_(parent.relations().size()) {
    for (size_t r = 0; r < parent.relations().size(); ++r) {
      ForEachSymbol(*parent.relations()[r], [&](absl::string_view name) {
        const Symbol* symbol = parent.FindSymbol(name);
        if (symbol == nullptr) return;
        const auto s = static_cast<size_t>(symbol - parent.symbols().data());
        relations_of_symbol_[s].push_back(r);
        symbols_of_relation_[r].push_back(s);
      });
    }
  }

  void Run() {
    std::vector<Used> used(pieces_.size());
    for (piece_ = 0; piece_ < pieces_.size(); ++piece_) {
      used_ = &used[piece_];
      metas_.clear();
      for (const Graph* graph : pieces_[piece_]->graphs()) {
        for (const Node* node : graph->nodes()) CollectNode(*node);
      }
      Close();
    }
    // piece_ is a mark of its own now: what the first piece has already is found
    // once more.
    used_ = &used[0];
    metas_.clear();
    for (size_t i = 0; i < parent_.attributes().size(); ++i) {
      if (attributes_.IsFree(i)) MarkAttribute(i);
    }
    for (size_t i = 0; i < parent_.symbols().size(); ++i) {
      if (symbols_.IsFree(i)) MarkSymbol(i);
    }
    for (size_t i = 0; i < parent_.relations().size(); ++i) {
      if (relations_.IsFree(i) && relations_.Mark(i, piece_)) used_->relations.push_back(i);
    }
    Close();
    for (size_t i = 0; i < pieces_.size(); ++i) Declare(used[i], pieces_[i]);
  }

 private:
  // Symbols draw in relations, and those further symbols. Then sorts.
  void Close() {
    for (size_t i = 0; i < used_->symbols.size(); ++i) {
      for (const size_t r : relations_of_symbol_[used_->symbols[i]]) {
        if (!relations_.Mark(r, piece_)) continue;
        used_->relations.push_back(r);
        for (const size_t s : symbols_of_relation_[r]) MarkSymbol(s);
      }
    }
    for (std::vector<size_t>* list : {&used_->symbols, &used_->relations, &used_->attributes}) {
      std::sort(list->begin(), list->end());
      list->erase(std::unique(list->begin(), list->end()), list->end());
    }
  }

  void CollectNode(const Node& node) {
    if (node.op() == Op::kGetAttr) {
      if (const Attribute* attribute = parent_.FindAttribute(node.target())) {
        MarkAttribute(static_cast<size_t>(attribute - parent_.attributes().data()));
      }
    }
    if (parent_.symbols().empty()) return;
    const auto visit = [&](const Argument& argument) {
      ForEachArgument(argument, [&](const Argument& a) {
        if (a.kind() == Argument::Kind::kSymInt) CollectExpr(*a.sym());
      });
    };
    for (const Argument& arg : node.args()) visit(arg);
    for (const KwArg& kwarg : node.kwargs()) visit(kwarg.value);
    if (node.meta() != nullptr) CollectMeta(*node.meta());
  }

  void CollectMeta(const ValueMeta& meta) {
    // Metas are shared: each is looked at once a piece.
    if (!metas_.insert(&meta).second) return;
    if (meta.tensor != nullptr) CollectTensor(*meta.tensor);
    for (const ValueMeta* element : meta.elements) CollectMeta(*element);
  }

  void CollectTensor(const TensorMeta& meta) {
    for (const Dim& dim : meta.shape) {
      if (!dim.is_static()) CollectExpr(*dim.expr);
    }
  }

  void CollectExpr(const SymExpr& expr) {
    ForEachSymbol(expr, [&](absl::string_view name) {
      if (const Symbol* symbol = parent_.FindSymbol(name)) {
        MarkSymbol(static_cast<size_t>(symbol - parent_.symbols().data()));
      }
    });
  }

  void MarkSymbol(size_t i) {
    if (symbols_.Mark(i, piece_)) used_->symbols.push_back(i);
  }

  void MarkAttribute(size_t i) {
    if (!attributes_.Mark(i, piece_)) return;
    used_->attributes.push_back(i);
    if (parent_.attributes()[i].meta != nullptr) CollectTensor(*parent_.attributes()[i].meta);
  }

  void Declare(const Used& used, Module* piece) const {
    for (const size_t i : used.symbols) {
      piece->AddSymbol(parent_.symbols()[i].name, parent_.symbols()[i].example);
    }
    for (const size_t i : used.relations) {
      piece->AddRelation(piece->CopySym(parent_.relations()[i]));
    }
    for (const size_t i : used.attributes) piece->AddAttribute(parent_.attributes()[i]);
  }

  const Module& parent_;
  absl::Span<Module* const> pieces_;
  size_t piece_ = 0;
  Used* used_ = nullptr;  // of piece_
  Marks symbols_;
  Marks relations_;
  Marks attributes_;
  std::vector<std::vector<size_t>> relations_of_symbol_;
  std::vector<std::vector<size_t>> symbols_of_relation_;
  absl::flat_hash_set<const ValueMeta*> metas_;
};

// Named things in order of first appearance.
template <typename Value>
struct Table {
  std::vector<std::pair<std::string, Value>> entries;
  absl::flat_hash_map<std::string, size_t> index;

  // The value of that name before this one, or null if it is the first.
  const Value* Add(std::string name, Value value) {
    const auto [it, inserted] = index.try_emplace(name, entries.size());
    if (!inserted) return &entries[it->second].second;
    entries.emplace_back(std::move(name), std::move(value));
    return nullptr;
  }

  // Entries in the order of `names`, then the others.
  std::vector<Value> InOrder(absl::Span<const std::string> names) const {
    std::vector<Value> out;
    std::vector<bool> taken(entries.size());
    const auto take = [&](size_t i) {
      if (taken[i]) return;
      taken[i] = true;
      out.push_back(entries[i].second);
    };
    for (const std::string& name : names) {
      const auto it = index.find(name);
      if (it != index.end()) take(it->second);
    }
    for (size_t i = 0; i < entries.size(); ++i) take(i);
    return out;
  }
};

// The text of each relation; equal ones are told apart by a number.
std::vector<std::string> RelationNames(const Module& module) {
  std::vector<std::string> names;
  absl::flat_hash_map<std::string, int> seen;
  for (const SymExpr* relation : module.relations()) {
    std::string text = PrintSymExpr(*relation);
    const int number = seen[text]++;
    names.push_back(number == 0 ? std::move(text) : absl::StrCat(text, " #", number));
  }
  return names;
}

template <typename T>
std::vector<std::string> Names(absl::Span<const T> things) {
  std::vector<std::string> names;
  names.reserve(things.size());
  for (const T& thing : things) names.emplace_back(thing.name);
  return names;
}

template <typename T>
bool EqualPointees(const T* a, const T* b) {
  return a == b || (a != nullptr && b != nullptr && *a == *b);
}

absl::Status Conflict(size_t piece, absl::string_view what, absl::string_view name) {
  return absl::FailedPreconditionError(absl::StrCat("piece ", piece, " declares ", what, " ",
                                                    Printable(name),
                                                    " differently from a piece before it"));
}

}  // namespace

void DistributeTables(const Module& parent, absl::Span<Module* const> pieces) {
  if (!pieces.empty()) Distribution(parent, pieces).Run();
}

absl::Status MergeTables(absl::Span<const Module* const> pieces, const Module* order_like,
                         Module* module) {
  Table<Symbol> symbols;
  Table<const SymExpr*> relations;
  Table<Attribute> attributes;
  for (size_t i = 0; i < pieces.size(); ++i) {
    for (const Symbol& symbol : pieces[i]->symbols()) {
      const Symbol* before = symbols.Add(std::string(symbol.name), symbol);
      if (before != nullptr && before->example != symbol.example) {
        return Conflict(i, "symbol", symbol.name);
      }
    }
    const std::vector<std::string> names = RelationNames(*pieces[i]);
    for (size_t r = 0; r < names.size(); ++r) relations.Add(names[r], pieces[i]->relations()[r]);
    for (const Attribute& attribute : pieces[i]->attributes()) {
      const Attribute* before = attributes.Add(std::string(attribute.name), attribute);
      if (before != nullptr && (!EqualPointees(before->meta, attribute.meta) ||
                                before->annotation != attribute.annotation ||
                                !EqualPointees(before->draw_spec, attribute.draw_spec))) {
        return Conflict(i, "attribute", attribute.name);
      }
    }
  }
  std::vector<std::string> symbol_order;
  std::vector<std::string> relation_order;
  std::vector<std::string> attribute_order;
  if (order_like != nullptr) {
    symbol_order = Names(order_like->symbols());
    relation_order = RelationNames(*order_like);
    attribute_order = Names(order_like->attributes());
  }
  for (const Symbol& symbol : symbols.InOrder(symbol_order)) {
    module->AddSymbol(symbol.name, symbol.example);
  }
  for (const SymExpr* relation : relations.InOrder(relation_order)) {
    module->AddRelation(module->CopySym(relation));
  }
  for (const Attribute& attribute : attributes.InOrder(attribute_order)) {
    module->AddAttribute(attribute);
  }
  return absl::OkStatus();
}

}  // namespace graphnet
