#include "graphnet/identity/diff.h"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/status.h"
#include "graphnet/facts/memory/effects.h"
#include "graphnet/identity/match_nodes.h"
#include "graphnet/ir/text/equality.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/ops/callable.h"
#include "graphnet/ops/parameter_names.h"

namespace graphnet {
namespace {

constexpr size_t kMaxShownBytes = 160;

std::string Shown(const Argument& argument) {
  return Printable(PrintArgument(argument), kMaxShownBytes);
}

class Differ {
 public:
  Differ(const Module& a, const Module& b, const DiffOptions& options)
      : module_a_(a), module_b_(b), options_(options) {}

  GraphDiff Run() {
    Pair(module_a_.main(), module_b_.main());
    for (size_t i = 0; i < graphs_.size(); ++i) DiffGraphs(*graphs_[i].first, *graphs_[i].second);
    return std::move(diff_);
  }

 private:
  struct Entry {
    int place;  // the position in b
    Difference difference;
  };

  void Pair(const Graph* a, const Graph* b) {
    if (paired_.insert({a, b}).second) graphs_.push_back({a, b});
  }

  void DiffGraphs(const Graph& a, const Graph& b) {
    Side left(a), right(b);
    MatchNodes(&left, &right);
    a_ = &left;
    b_ = &right;
    notes_.clear();
    std::vector<Entry> entries;
    for (int j = 0; j < right.size(); ++j) {
      if (right.IsFree(j)) continue;
      diff_.pairs.push_back({&left.node(right.Partner(j)), &right.node(j)});
      std::vector<std::string> what = Compare(left.node(right.Partner(j)), right.node(j));
      if (!what.empty()) {
        entries.push_back({j,
                           {Difference::Kind::kChanged, &left.node(right.Partner(j)),
                            &right.node(j), std::move(what)}});
      }
    }
    for (int j = 0; j < right.size(); ++j) {
      if (!right.IsFree(j)) continue;
      const Node* node = &right.node(j);
      entries.push_back({j, {Difference::Kind::kAdded, nullptr, node, notes_[node]}});
    }
    int place = right.size();
    for (int i = left.size(); i-- > 0;) {
      if (!left.IsFree(i)) {
        place = left.Partner(i);
        continue;
      }
      const Node* node = &left.node(i);
      entries.push_back({place, {Difference::Kind::kRemoved, node, nullptr, notes_[node]}});
    }
    if (entries.empty()) CheckOrder(&entries);
    const auto before = [&](const Entry& x, const Entry& y) {
      const auto key = [&](const Entry& e) {
        const Node* node = e.difference.a;
        return std::tuple(e.place, e.difference.kind != Difference::Kind::kRemoved,
                          node != nullptr ? left.index[node] : 0);
      };
      return key(x) < key(y);
    };
    std::sort(entries.begin(), entries.end(), before);
    for (Entry& entry : entries) diff_.differences.push_back(std::move(entry.difference));
  }

  // Describes the differences between two matching nodes.
  std::vector<std::string> Compare(const Node& x, const Node& y) {
    std::vector<std::string> what;
    if (x.op() != y.op() || ((x.is_call()) && x.target() != y.target())) {
      what.push_back(
          absl::StrCat("target: ", Printable(x.target()), " became ", Printable(y.target())));
    }
    CompareArguments(x, y, &what);
    if (x.op() == Op::kGetAttr) CompareAttributes(x, y, &what);
    if (options_.metas && !EqualPointees(x.meta(), y.meta())) {
      const auto shown = [](const ValueMeta* meta) {
        return meta == nullptr ? "unknown" : PrintMeta(*meta);
      };
      what.push_back(absl::StrCat("meta: ", shown(x.meta()), " became ", shown(y.meta())));
    }
    return what;
  }

  void CompareArguments(const Node& x, const Node& y, std::vector<std::string>* what) {
    const std::vector<PositionalParameter> names = x.is_call() && x.target() == y.target()
                                                       ? PositionalParameters(x, CalleeOf(x))
                                                       : std::vector<PositionalParameter>();
    const auto name_of = [&](size_t i) {
      if (x.is_output()) return std::string("output");
      if (i >= names.size()) return absl::StrCat("argument ", i);
      return absl::StrCat("argument ", i, " (", names[i].name, ")");
    };
    for (size_t i = 0; i < std::max(x.args().size(), y.args().size()); ++i) {
      CompareOne(x, y, name_of(i), i < x.args().size() ? &x.args()[i] : nullptr,
                 i < y.args().size() ? &y.args()[i] : nullptr, what);
    }
    const auto compare = [&](absl::string_view name, const Argument* from, const Argument* to) {
      CompareOne(x, y, absl::StrCat("argument ", name), from, to, what);
    };
    absl::flat_hash_map<absl::string_view, const Argument*> in_y;
    for (const KwArg& kwarg : y.kwargs()) in_y.emplace(kwarg.name, &kwarg.value);
    for (const KwArg& kwarg : x.kwargs()) {
      const auto other = in_y.extract(kwarg.name);
      compare(kwarg.name, &kwarg.value, other ? other.mapped() : nullptr);
    }
    for (const KwArg& kwarg : y.kwargs()) {
      if (in_y.contains(kwarg.name)) compare(kwarg.name, nullptr, &kwarg.value);
    }
  }

  void CompareOne(const Node& x, const Node& y, const std::string& name, const Argument* from,
                  const Argument* to, std::vector<std::string>* what) {
    if (from == nullptr || to == nullptr) {
      what->push_back(from == nullptr ? absl::StrCat(name, ": ", Shown(*to), " was not there")
                                      : absl::StrCat(name, ": ", Shown(*from), " is gone"));
    } else if (!Same(x, y, *from, *to)) {
      what->push_back(absl::StrCat(name, ": ", Shown(*from), " became ", Shown(*to)));
    }
  }

  // True if the arguments are equal except for removed or added operands, which get notes.
  bool Same(const Node& x, const Node& y, const Argument& from, const Argument& to) {
    using Kind = Argument::Kind;
    if (from.kind() != to.kind()) return false;
    if (from.is_node()) {
      const int i = a_->index[from.node()], j = b_->index[to.node()];
      if (a_->Partner(i) == j) return true;
      if (!a_->IsFree(i) && !b_->IsFree(j)) return false;
      if (a_->IsFree(i)) {
        notes_[from.node()].push_back(absl::StrCat("%", x.is_output() ? "output" : x.name(),
                                                   " takes %", to.node()->name(), " instead"));
      }
      if (b_->IsFree(j)) {
        notes_[to.node()].push_back(absl::StrCat("%", y.is_output() ? "output" : y.name(),
                                                 " took %", from.node()->name(), " before"));
      }
      return true;
    }
    if (from.is_graph()) {
      Pair(from.graph(), to.graph());
      return true;
    }
    if (from.kind() == Kind::kSymInt) return SameExpression(from.sym(), to.sym());
    if (!from.is_aggregate()) return from == to;
    if (from.elements().size() != to.elements().size()) return false;
    bool same = true;
    for (size_t i = 0; i < from.elements().size(); ++i) {
      same = Same(x, y, from.elements()[i], to.elements()[i]) && same;
    }
    return same;
  }

  // A symbol matches the symbol with which it is first compared.
  bool SameExpression(const SymExpr* x, const SymExpr* y) {
    if (x == nullptr || y == nullptr) return x == y;
    if (x->kind != y->kind || x->value != y->value) return false;
    if (x->kind == SymExpr::Kind::kSymbol) return SameLabel(x->name, y->name, &symbols_);
    return SameExpression(x->lhs, y->lhs) && SameExpression(x->rhs, y->rhs);
  }

  struct Labels {
    absl::flat_hash_map<absl::string_view, absl::string_view> there, back;
  };
  static bool SameLabel(absl::string_view x, absl::string_view y, Labels* labels) {
    return labels->there.try_emplace(x, y).first->second == y &&
           labels->back.try_emplace(y, x).first->second == x;
  }

  void CompareAttributes(const Node& x, const Node& y, std::vector<std::string>* what) {
    if (!SameLabel(x.target(), y.target(), &attributes_)) {
      const auto it = attributes_.there.find(x.target());
      what->push_back(absl::StrCat("reads attribute ", Printable(y.target()), ", where ",
                                   Printable(x.target()), " elsewhere is ",
                                   it->second == y.target() ? "another" : Printable(it->second)));
    }
    if (!options_.metas) return;
    const Attribute* from = module_a_.FindAttribute(x.target());
    const Attribute* to = module_b_.FindAttribute(y.target());
    if (from == nullptr || to == nullptr || EqualPointees(from->meta, to->meta)) return;
    const auto shown = [](const TensorMeta* meta) {
      return meta == nullptr ? "unknown" : PrintTensorMeta(*meta);
    };
    what->push_back(absl::StrCat("attribute: ", shown(from->meta), " became ", shown(to->meta)));
  }

  // Checks the order of nodes with effects and of nodes that read memory that is written to.
  void CheckOrder(std::vector<Entry>* entries) {
    int last = kNoPartner;
    bool is_ordered = true;
    for (int j = 0; j < b_->size(); ++j) {
      is_ordered &= b_->Partner(j) > last;
      last = b_->Partner(j);
    }
    if (is_ordered) return;
    if (effects_ == nullptr) {
      effects_ = std::make_unique<Effects>(module_b_);
      groups_ = std::make_unique<MemoryGroups>(module_b_, *effects_);
    }
    last = kNoPartner;
    for (int j = 0; j < b_->size(); ++j) {
      const Node& node = b_->node(j);
      bool counts = node.is_call() && !effects_->Of(node).is_pure();
      node.ForEachOperand([&](const Node* value) { counts |= groups_->IsWritten(value); });
      if (!counts || node.is_output()) continue;
      const int i = b_->Partner(j);
      if (i < last) {
        const Node& other = a_->node(last);
        entries->push_back({j,
                            {Difference::Kind::kChanged,
                             &a_->node(i),
                             &node,
                             {absl::StrCat("order: %", other.name(),
                                           " stands before it, where it stood behind")}}});
      }
      last = std::max(last, i);
    }
  }

  const Module& module_a_;
  const Module& module_b_;
  const DiffOptions& options_;
  std::vector<std::pair<const Graph*, const Graph*>> graphs_;
  absl::flat_hash_set<std::pair<const Graph*, const Graph*>> paired_;
  GraphDiff diff_;
  Labels symbols_, attributes_;
  std::unique_ptr<Effects> effects_;  // of module b
  std::unique_ptr<MemoryGroups> groups_;
  // The graphs that are being compared.
  Side* a_ = nullptr;
  Side* b_ = nullptr;
  absl::flat_hash_map<const Node*, std::vector<std::string>> notes_;
};

}  // namespace

size_t GraphDiff::Count(Difference::Kind kind) const {
  return static_cast<size_t>(
      absl::c_count_if(differences, [&](const Difference& d) { return d.kind == kind; }));
}

GraphDiff DiffModules(const Module& a, const Module& b, const DiffOptions& options) {
  // Matching many similar calls is a guess. For equal modules, the matches are known.
  if (!CheckEqual(a, b, {.names = true}).ok()) return Differ(a, b, options).Run();
  GraphDiff same;
  for (const Graph* graph : a.graphs()) {
    auto other = b.FindGraph(graph->name())->nodes().begin();
    for (const Node* node : graph->nodes()) {
      same.pairs.emplace_back(node, *other);
      ++other;
    }
  }
  return same;
}

DiffUnion UnionOf(const Module& b, const GraphDiff& diff) {
  DiffUnion made;
  made.module = b.Clone();
  absl::flat_hash_map<const Node*, Node*> there;  // from nodes of both modules to the union
  for (size_t i = 0; i < b.graphs().size(); ++i) {
    auto copy = made.module->graphs()[i]->nodes().begin();
    for (const Node* node : b.graphs()[i]->nodes()) {
      there[node] = *copy;
      ++copy;
    }
  }
  absl::flat_hash_map<const Graph*, Graph*> graphs;  // from graphs of a to the union
  for (const auto& [x, y] : diff.pairs) {
    there[x] = there.at(y);
    graphs[x->graph()] = there.at(y)->graph();
  }
  absl::flat_hash_map<const Node*, const Difference*> removed;
  for (const Difference& difference : diff.differences) {
    if (difference.b != nullptr) {
      made.differences[there.at(difference.b)] = &difference;
    } else {
      removed[difference.a] = &difference;
    }
  }
  for (const auto& [from, to] : graphs) {
    for (Node* node : from->nodes()) {
      if (there.contains(node) || !node->is_call()) continue;
      // The copy goes behind its operands, or to the start of the graph. A node with bodies is left
      // out, because the other module does not have them.
      Node* before = to->first();
      bool is_whole = !node->HasBody();
      node->ForEachOperand([&](const Node* operand) {
        const auto it = there.find(operand);
        is_whole = is_whole && it != there.end();
        if (!is_whole) return;
        Node* next = it->second->next();
        if (next != nullptr && before->IsBefore(next)) before = next;
      });
      if (!is_whole) continue;
      while (before->is_placeholder()) before = before->next();
      const InsertionGuard guard(to, before);
      Node* copy = to->CopyNodeFrom(*node, [&](Node* operand) { return there.at(operand); });
      there[node] = copy;
      if (const auto it = removed.find(node); it != removed.end())
        made.differences[copy] = it->second;
    }
  }
  return made;
}

std::string DescribeDifference(const Difference& difference) {
  const Node& node = difference.a != nullptr ? *difference.a : *difference.b;
  const Node& place = difference.b != nullptr ? *difference.b : *difference.a;
  std::string line = Printable(PrintNode(node), 2 * kMaxShownBytes);
  if (node.graph() != node.graph()->module()->main()) {
    absl::StrAppend(&line, "  in @", node.graph()->name());
  }
  if (!place.module_path().empty()) {
    absl::StrAppend(&line, "  in ", Printable(place.module_path()));
  }
  const SourceLocation location = place.location();
  if (!location.file.empty()) {
    absl::StrAppend(&line, "  at ", Printable(location.file), ":", location.line);
  }
  return line;
}

std::string PrintDiff(const GraphDiff& diff) {
  std::string text;
  for (const Difference& d : diff.differences) {
    const absl::string_view sign = d.kind == Difference::Kind::kRemoved ? "- "
                                   : d.kind == Difference::Kind::kAdded ? "+ "
                                                                        : "~ ";
    absl::StrAppend(&text, sign, DescribeDifference(d), "\n");
    for (const std::string& what : d.what) absl::StrAppend(&text, "    ", what, "\n");
  }
  return text;
}

}  // namespace graphnet
