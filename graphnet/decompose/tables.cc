#include "graphnet/decompose/tables.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/ir/graph.h"
#include "graphnet/ir/text/printer.h"

namespace graphnet {
namespace {

template <typename Fn>
void ForEachSymbol(const SymExpr& expr, Fn&& fn) {
  if (expr.kind == SymExpr::Kind::kSymbol) fn(expr.name);
  if (expr.lhs != nullptr) ForEachSymbol(*expr.lhs, fn);
  if (expr.rhs != nullptr) ForEachSymbol(*expr.rhs, fn);
}

// Named things in order of first appearance.
template <typename Value>
struct Table {
  std::vector<std::pair<std::string, Value>> entries;
  absl::flat_hash_map<std::string, size_t> index;

  // Adds an entry unless the name is taken. Returns the value that has the name already, or
  // nullptr.
  const Value* Add(std::string name, Value value) {
    const auto [it, inserted] = index.try_emplace(name, entries.size());
    if (!inserted) return &entries[it->second].second;
    entries.emplace_back(std::move(name), std::move(value));
    return nullptr;
  }

  // Returns the entries in the order of `names`, then the others.
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

// Returns the text of each relation; a number distinguishes equal ones.
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

std::vector<Symbol> SymbolsBeyond(const Module& parent, const Module* observed) {
  std::vector<Symbol> further;
  if (observed == nullptr) return further;
  for (const Symbol& symbol : observed->symbols()) {
    if (parent.FindSymbol(symbol.name) == nullptr) further.push_back(symbol);
  }
  return further;
}

absl::Status Conflict(size_t piece, absl::string_view what, absl::string_view name) {
  return absl::FailedPreconditionError(absl::StrCat("piece ", piece, " declares ", what, " ",
                                                    Printable(name),
                                                    " differently from a piece before it"));
}

}  // namespace

TableDistributor::TableDistributor(const Module& parent, const Module* observed)
    : parent_(parent),
      observed_(observed),
      further_(SymbolsBeyond(parent, observed)),
      symbols_(parent.symbols().size() + further_.size()),
      relations_(parent.relations().size()),
      attributes_(parent.attributes().size()),
      relations_of_symbol_(parent.symbols().size() + further_.size()),
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

void TableDistributor::Add(Module* piece) {
  pieces_.push_back({piece, {}, {}, {}});
  if (parent_.symbols().empty() && further_.empty() && parent_.attributes().empty()) return;
  tuples_.clear();
  for (const Graph* graph : piece->graphs()) {
    for (const Node* node : graph->nodes()) CollectNode(*node);
  }
  Close();
}

void TableDistributor::Finish(bool keep_unused) {
  if (pieces_.empty()) return;
  if (keep_unused) {
    // The copy has marks of its own, so it may collect entries that the first piece already has;
    // Close drops the duplicates.
    pieces_.push_back(std::move(pieces_[0]));
    tuples_.clear();
    for (size_t i = 0; i < parent_.attributes().size(); ++i) {
      if (attributes_.IsFree(i)) MarkAttribute(i);
    }
    for (size_t i = 0; i < parent_.symbols().size(); ++i) {
      if (symbols_.IsFree(i)) MarkSymbol(i);
    }
    for (size_t i = 0; i < parent_.relations().size(); ++i) {
      if (relations_.IsFree(i) && relations_.Mark(i, current())) {
        pieces_.back().relations.push_back(i);
      }
    }
    Close();
    pieces_[0] = std::move(pieces_.back());
    pieces_.pop_back();
  }
  for (const Piece& piece : pieces_) Declare(piece);
}

void TableDistributor::Close() {
  Piece& piece = pieces_.back();
  for (size_t i = 0; i < piece.symbols.size(); ++i) {
    for (const size_t r : relations_of_symbol_[piece.symbols[i]]) {
      if (!relations_.Mark(r, current())) continue;
      piece.relations.push_back(r);
      for (const size_t s : symbols_of_relation_[r]) MarkSymbol(s);
    }
  }
  for (std::vector<size_t>* list : {&piece.symbols, &piece.relations, &piece.attributes}) {
    std::sort(list->begin(), list->end());
    list->erase(std::unique(list->begin(), list->end()), list->end());
  }
}

void TableDistributor::CollectNode(const Node& node) {
  if (node.op() == Op::kGetAttr) {
    if (const Attribute* attribute = parent_.FindAttribute(node.target())) {
      MarkAttribute(static_cast<size_t>(attribute - parent_.attributes().data()));
    }
  }
  if (parent_.symbols().empty() && further_.empty()) return;
  node.ForEachArgument([&](const Argument& a) {
    if (a.kind() == Argument::Kind::kSymInt) CollectExpr(*a.sym());
  });
  if (node.meta() != nullptr) CollectMeta(*node.meta());
}

void TableDistributor::CollectMeta(const ValueMeta& meta) {
  if (meta.tensor != nullptr) CollectTensor(*meta.tensor);
  // Tuples may share elements, so each tuple is collected once for each piece.
  if (!meta.is_tuple || !tuples_.insert(&meta).second) return;
  for (const ValueMeta* element : meta.elements) CollectMeta(*element);
}

void TableDistributor::CollectTensor(const TensorMeta& meta) {
  for (const Dim& dim : meta.shape) {
    if (!dim.is_static()) CollectExpr(*dim.expr);
  }
}

void TableDistributor::CollectExpr(const SymExpr& expr) {
  ForEachSymbol(expr, [&](absl::string_view name) {
    if (const Symbol* symbol = parent_.FindSymbol(name)) {
      MarkSymbol(static_cast<size_t>(symbol - parent_.symbols().data()));
      return;
    }
    const auto it = absl::c_find_if(further_, [&](const Symbol& s) { return s.name == name; });
    if (it != further_.end())
      MarkSymbol(parent_.symbols().size() + static_cast<size_t>(it - further_.begin()));
  });
}

Symbol TableDistributor::SymbolAt(size_t i) const {
  const size_t own = parent_.symbols().size();
  if (i >= own) return further_[i - own];
  Symbol symbol = parent_.symbols()[i];
  const Symbol* const found = observed_ == nullptr ? nullptr : observed_->FindSymbol(symbol.name);
  if (!symbol.example.has_value() && found != nullptr) symbol.example = found->example;
  return symbol;
}

void TableDistributor::MarkSymbol(size_t i) {
  if (symbols_.Mark(i, current())) pieces_.back().symbols.push_back(i);
}

void TableDistributor::MarkAttribute(size_t i) {
  if (!attributes_.Mark(i, current())) return;
  pieces_.back().attributes.push_back(i);
  if (parent_.attributes()[i].meta != nullptr) CollectTensor(*parent_.attributes()[i].meta);
}

void TableDistributor::Declare(const Piece& piece) const {
  for (const size_t i : piece.symbols) {
    const Symbol symbol = SymbolAt(i);
    piece.module->AddSymbol(symbol.name, symbol.example);
  }
  for (const size_t i : piece.relations) {
    piece.module->AddRelation(parent_.relations()[i]);
  }
  for (const size_t i : piece.attributes) piece.module->AddAttribute(parent_.attributes()[i]);
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
  const Module none;
  const Module& like = order_like != nullptr ? *order_like : none;
  for (const Symbol& symbol : symbols.InOrder(Names(like.symbols()))) {
    module->AddSymbol(symbol.name, symbol.example);
  }
  for (const SymExpr* relation : relations.InOrder(RelationNames(like))) {
    module->AddRelation(relation);
  }
  for (const Attribute& attribute : attributes.InOrder(Names(like.attributes()))) {
    module->AddAttribute(attribute);
  }
  return absl::OkStatus();
}

}  // namespace graphnet
