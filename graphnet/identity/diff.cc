#include "graphnet/identity/diff.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <tuple>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/base/status.h"
#include "graphnet/facts/memory/effects.h"
#include "graphnet/ir/node_table.h"
#include "graphnet/ir/text/equality.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/ops/callable.h"
#include "graphnet/ops/parameter_names.h"

namespace graphnet {
namespace {

using Hash = uint64_t;
constexpr int kNone = -1;
// The largest table that Align fills.
constexpr size_t kMaxCells = 4'000'000;
// The most rounds in which new matches are derived from known ones.
constexpr int kMaxRounds = 50;
constexpr size_t kMaxShownBytes = 160;

Hash HashOfConstant(const Argument& a) {
  using Kind = Argument::Kind;
  switch (a.kind()) {
    case Kind::kBool: return absl::HashOf(a.kind(), a.boolean());
    case Kind::kInt: return absl::HashOf(a.kind(), a.integer());
    case Kind::kFloat: {
      const double real = a.real();
      uint64_t bits;
      std::memcpy(&bits, &real, sizeof bits);
      return absl::HashOf(a.kind(), bits);
    }
    case Kind::kComplex: return absl::HashOf(a.kind(), a.complex().real(), a.complex().imag());
    case Kind::kString: return absl::HashOf(a.kind(), a.string());
    case Kind::kDType: return absl::HashOf(a.kind(), a.dtype());
    case Kind::kDevice: return absl::HashOf(a.kind(), a.device().type, a.device().index);
    case Kind::kLayout: return absl::HashOf(a.kind(), a.layout());
    case Kind::kMemoryFormat: return absl::HashOf(a.kind(), a.memory_format());
    default: return absl::HashOf(a.kind());  // Names of symbols do not count.
  }
}

Hash HashOfMeta(const TensorMeta* meta) {
  if (meta == nullptr) return 0;
  Hash hash = absl::HashOf(meta->dtype, meta->has_shape, meta->shape.size());
  for (const Dim& dim : meta->shape) {
    hash = absl::HashOf(hash, dim.is_static() ? dim.value : int64_t{-1});
  }
  return hash;
}

// One of the two graphs. Its nodes are numbered in program order.
struct Side {
  explicit Side(const Graph& graph) : index(*graph.module()) {
    for (const Node* node : graph.nodes()) {
      index[node] = static_cast<int>(nodes.size());
      nodes.push_back(node);
    }
    const size_t n = nodes.size();
    partner.assign(n, kNone);
    kind.resize(n);
    label.resize(n);
    down.resize(n);
    up.assign(n, 0);
    first_operand.reserve(n + 1);
    int64_t position = 0;
    for (size_t i = 0; i < n; ++i) {
      const Node& node = *nodes[i];
      first_operand.push_back(operands.size());
      node.ForEachOperand([&](const Node* operand) { operands.push_back(index[operand]); });
      const bool is_named = node.is_call() || node.is_output();
      kind[i] = absl::HashOf(node.op(), is_named ? node.target() : absl::string_view());
      Hash hash = absl::HashOf(kind[i], node.args().size());
      for (const Argument& arg : node.args()) hash = AddArgument(hash, arg);
      for (const KwArg& kwarg : node.kwargs()) {
        hash = AddArgument(absl::HashOf(hash, kwarg.name), kwarg.value);
      }
      label[i] = hash;
      if (node.is_placeholder()) {
        hash = absl::HashOf(hash, position++);
      } else if (node.op() == Op::kGetAttr) {
        const Attribute* attribute = graph.module()->FindAttribute(node.target());
        hash = absl::HashOf(hash, HashOfMeta(attribute != nullptr ? attribute->meta : nullptr));
      }
      for (const int operand : OperandsFrom(i)) {
        hash = absl::HashOf(hash, down[static_cast<size_t>(operand)]);
      }
      down[i] = hash;
    }
    first_operand.push_back(operands.size());
    // A sum, because the order of users has no meaning.
    for (size_t i = n; i-- > 0;) {
      int64_t place = 0;
      for (const int operand : Operands(static_cast<int>(i))) {
        up[static_cast<size_t>(operand)] += absl::HashOf(label[i], up[i], place++);
      }
    }
  }

  absl::Span<const int> Operands(int i) const {
    const size_t first = first_operand[static_cast<size_t>(i)];
    return absl::MakeConstSpan(operands).subspan(first,
                                                 first_operand[static_cast<size_t>(i) + 1] - first);
  }
  const Node& node(int i) const { return *nodes[static_cast<size_t>(i)]; }
  int size() const { return static_cast<int>(nodes.size()); }
  int& Partner(int i) { return partner[static_cast<size_t>(i)]; }
  bool IsFree(int i) const { return partner[static_cast<size_t>(i)] == kNone; }
  bool IsAttribute(int i) const { return node(i).op() == Op::kGetAttr; }

  std::vector<const Node*> nodes;
  NodeTable<int> index;
  std::vector<int> partner;  // the matching node of the other side, or kNone
  std::vector<Hash> kind;    // hash of the operator
  std::vector<Hash> label;   // hash of the operator and its constants
  std::vector<Hash> down;    // hash of the label and everything that the node depends on
  std::vector<Hash> up;      // hash of the label and everything that depends on the node
  std::vector<int> operands;
  std::vector<size_t> first_operand;

 private:
  absl::Span<const int> OperandsFrom(size_t i) const {
    return absl::MakeConstSpan(operands).subspan(first_operand[i]);
  }
  static Hash AddArgument(Hash hash, const Argument& arg) {
    ForEachArgument(arg, [&](const Argument& a) {
      hash = absl::HashOf(hash, HashOfConstant(a));
      if (a.is_aggregate()) hash = absl::HashOf(hash, a.elements().size());
    });
    return hash;
  }
};

// Finds out which nodes match.
class Matcher {
 public:
  Matcher(Side* a, Side* b) : a_(*a), b_(*b) {
    waiting_.resize(a_.nodes.size());
    for (int i = 0; i < a_.size(); ++i) {
      for (const int operand : a_.Operands(i)) Waiting(i) += a_.IsAttribute(operand) ? 0 : 1;
    }
  }

  void Run() {
    MatchUnique();
    MatchInputs();
    if (!a_.nodes.empty() && !b_.nodes.empty() && a_.nodes.back()->is_output() &&
        b_.nodes.back()->is_output() && a_.IsFree(a_.size() - 1) && b_.IsFree(b_.size() - 1)) {
      Match(a_.size() - 1, b_.size() - 1);
    }
    for (int i = 0; i < a_.size(); ++i) {
      if (Waiting(i) == 0) Offer(i);
    }
    Spread();
    // Match nodes that differ themselves by their surroundings. More matches may follow.
    for (const Likeness likeness : {Likeness::kKind, Likeness::kPlace}) {
      for (int round = 0; round < 2 * kMaxRounds && MatchOperands(likeness); ++round) Spread();
    }
    Align();
    Spread();
  }

 private:
  // How similar two operands at the same position must be to match.
  enum class Likeness { kLabel, kKind, kPlace };

  int& Waiting(int i) { return waiting_[static_cast<size_t>(i)]; }

  void Match(int i, int j) {
    a_.Partner(i) = j;
    b_.Partner(j) = i;
    pairs_.push_back({i, j});
    if (a_.IsAttribute(i)) return;
    for (const Use& use : a_.node(i).uses()) {
      const int user = a_.index[use.user];
      if (--Waiting(user) == 0) Offer(user);
    }
  }

  // Matches nodes that are unique by all that they depend on and all that depends on them.
  void MatchUnique() {
    struct Found {
      int a = 0, b = 0;  // numbers of such nodes
      int i = 0, j = 0;  // the last such node of each side
    };
    absl::flat_hash_map<Hash, Found> found;
    found.reserve(a_.nodes.size());
    const auto full = [](const Side& side, int i) {
      return absl::HashOf(side.down[static_cast<size_t>(i)], side.up[static_cast<size_t>(i)]);
    };
    for (int i = 0; i < a_.size(); ++i) {
      Found& at = found[full(a_, i)];
      ++at.a;
      at.i = i;
    }
    for (int j = 0; j < b_.size(); ++j) {
      const auto it = found.find(full(b_, j));
      if (it == found.end()) continue;
      ++it->second.b;
      it->second.j = j;
    }
    for (int i = 0; i < a_.size(); ++i) {
      const Found& at = found.at(full(a_, i));
      if (at.a == 1 && at.b == 1) Match(at.i, at.j);
    }
  }

  // Matches inputs by position. If one side has more of them, first matches those with equal uses.
  void MatchInputs() {
    const auto free_inputs = [](const Side& side) {
      std::vector<int> inputs;
      for (int i = 0; i < side.size() && side.node(i).is_placeholder(); ++i) {
        if (side.IsFree(i)) inputs.push_back(i);
      }
      return inputs;
    };
    const std::vector<int> left = free_inputs(a_), right = free_inputs(b_);
    if (left.size() != right.size()) {
      absl::flat_hash_map<Hash, std::deque<int>> by_use;
      for (const int j : right) by_use[b_.up[static_cast<size_t>(j)]].push_back(j);
      for (const int i : left) {
        std::deque<int>& alike = by_use[a_.up[static_cast<size_t>(i)]];
        if (alike.empty()) continue;
        Match(i, alike.front());
        alike.pop_front();
      }
    }
    const std::vector<int> i = free_inputs(a_), j = free_inputs(b_);
    for (size_t k = 0; k < std::min(i.size(), j.size()); ++k) Match(i[k], j[k]);
  }

  // Returns a key that is equal for nodes of both sides that do the same to matching operands. All
  // operands of node `i` except attributes must be matched. The key uses the numbers of side a.
  Hash Key(const Side& side, int i) const {
    Hash key = side.label[static_cast<size_t>(i)];
    for (const int operand : side.Operands(i)) {
      const int number = side.IsAttribute(operand) ? kNone
                         : &side == &a_            ? operand
                                                   : side.partner[static_cast<size_t>(operand)];
      key = absl::HashOf(key, number);
    }
    return key;
  }
  void Offer(int i) {
    if (a_.IsFree(i) && !a_.node(i).is_placeholder() && !a_.IsAttribute(i))
      offers_[Key(a_, i)].nodes.push_back(i);
  }
  // Attributes have no operands by which to match them. They match if their users do.
  bool AttributesFit(int i, int j) const {
    const auto x = a_.Operands(i), y = b_.Operands(j);
    for (size_t k = 0; k < x.size(); ++k) {
      if (!a_.IsAttribute(x[k])) continue;
      if (!b_.IsAttribute(y[k])) return false;
      const bool fits =
          (a_.IsFree(x[k]) && b_.IsFree(y[k])) || a_.partner[static_cast<size_t>(x[k])] == y[k];
      if (!fits) return false;
    }
    return true;
  }

  void Spread() {
    size_t before = ~size_t{0};
    for (int round = 0; round < kMaxRounds && before != pairs_.size(); ++round) {
      before = pairs_.size();
      // Go from users to operands,
      MatchOperands(Likeness::kLabel);
      // and from operands to users.
      for (int j = 0; j < b_.size(); ++j) {
        if (b_.IsFree(j) && !b_.node(j).is_placeholder() && !b_.IsAttribute(j)) TakeOffer(j);
      }
    }
  }

  void TakeOffer(int j) {
    for (const int operand : b_.Operands(j)) {
      if (b_.IsFree(operand) && !b_.IsAttribute(operand)) return;
    }
    const auto it = offers_.find(Key(b_, j));
    if (it == offers_.end()) return;
    Offers& offers = it->second;
    while (offers.first < offers.nodes.size() && !a_.IsFree(offers.nodes[offers.first]))
      ++offers.first;
    constexpr size_t kLooks = 16;
    int best = kNone;
    for (size_t k = offers.first; k < std::min(offers.nodes.size(), offers.first + kLooks); ++k) {
      const int i = offers.nodes[k];
      if (!a_.IsFree(i)) continue;
      if (a_.label[static_cast<size_t>(i)] != b_.label[static_cast<size_t>(j)] ||
          a_.Operands(i).size() != b_.Operands(j).size() || !AttributesFit(i, j)) {
        continue;
      }
      if (best == kNone) best = i;
      if (a_.up[static_cast<size_t>(i)] != b_.up[static_cast<size_t>(j)]) continue;
      best = i;
      break;
    }
    if (best == kNone) return;
    Match(best, j);
    const auto x = a_.Operands(best), y = b_.Operands(j);
    for (size_t k = 0; k < x.size(); ++k) {
      if (a_.IsAttribute(x[k]) && a_.IsFree(x[k]) && b_.IsFree(y[k])) Match(x[k], y[k]);
    }
  }

  bool IsLike(int i, int j, Likeness likeness) const {
    const auto x = static_cast<size_t>(i), y = static_cast<size_t>(j);
    if (a_.node(i).is_placeholder() || b_.node(j).is_placeholder()) return false;
    if (likeness == Likeness::kLabel) return a_.label[x] == b_.label[y];
    if (likeness == Likeness::kKind) return a_.kind[x] == b_.kind[y] && Related(i, j);
    // kPlace: another operator on the same values.
    const auto left = a_.Operands(i), right = b_.Operands(j);
    return a_.node(i).is_call() && b_.node(j).is_call() && !left.empty() &&
           left.size() == right.size() && a_.partner[static_cast<size_t>(left[0])] == right[0];
  }

  // True if the nodes have a matching operand, or if neither has operands.
  bool Related(int i, int j) const {
    const auto left = a_.Operands(i), right = b_.Operands(j);
    if (left.empty() && right.empty()) return true;
    for (size_t k = 0; k < std::min(left.size(), right.size()); ++k) {
      const int partner = a_.partner[static_cast<size_t>(left[k])];
      if (partner == right[k] || (partner == kNone && b_.IsFree(right[k]))) return true;
      // A node may have been inserted between them, or removed.
      if (partner != kNone && b_.IsFree(right[k]) &&
          absl::c_linear_search(b_.Operands(right[k]), partner)) {
        return true;
      }
      const int back = b_.partner[static_cast<size_t>(right[k])];
      if (partner == kNone && back != kNone && absl::c_linear_search(a_.Operands(left[k]), back)) {
        return true;
      }
    }
    return false;
  }

  // Matches similar operands of matching nodes. Returns true if there were any.
  bool MatchOperands(Likeness likeness) {
    // A round by label also examines the pairs that it adds. Other rounds leave them to the next.
    const size_t before = pairs_.size();
    const auto match_of = [&](size_t at) {
      const auto [i, j] = pairs_[at];
      const auto x = a_.Operands(i), y = b_.Operands(j);
      if (x.size() != y.size()) return;
      for (size_t k = 0; k < x.size(); ++k) {
        if (a_.IsFree(x[k]) && b_.IsFree(y[k]) && IsLike(x[k], y[k], likeness)) Match(x[k], y[k]);
      }
    };
    size_t& done = done_[static_cast<size_t>(likeness)];
    if (likeness == Likeness::kLabel) {
      for (; done < pairs_.size(); ++done) match_of(done);
    } else {
      // Match one at a time, because others may follow from it, unless there are many rounds.
      const bool many = ++steps_ > kMaxRounds;
      for (size_t at = 0; at < before && (many || pairs_.size() == before); ++at) match_of(at);
    }
    return pairs_.size() > before;
  }

  // Aligns the remaining calls in program order, by the longest common subsequence of similar ones.
  void Align() {
    const auto left_of = [](const Side& side) {
      std::vector<int> left;
      for (int i = 0; i < side.size(); ++i) {
        if (side.IsFree(i) && side.node(i).is_call()) left.push_back(i);
      }
      return left;
    };
    const std::vector<int> x = left_of(a_), y = left_of(b_);
    if (x.empty() || y.empty() || x.size() > kMaxCells / y.size()) return;
    const size_t width = y.size() + 1;
    std::vector<uint32_t> longest((x.size() + 1) * width, 0);  // of the rest of both lists
    const auto like = [&](size_t i, size_t j) { return IsLike(x[i], y[j], Likeness::kKind); };
    for (size_t i = x.size(); i-- > 0;) {
      for (size_t j = y.size(); j-- > 0;) {
        longest[i * width + j] =
            like(i, j) ? longest[(i + 1) * width + j + 1] + 1
                       : std::max(longest[(i + 1) * width + j], longest[i * width + j + 1]);
      }
    }
    for (size_t i = 0, j = 0; i < x.size() && j < y.size();) {
      if (like(i, j)) {
        Match(x[i++], y[j++]);
      } else if (longest[(i + 1) * width + j] >= longest[i * width + j + 1]) {
        ++i;
      } else {
        ++j;
      }
    }
  }

  Side& a_;
  Side& b_;
  std::vector<std::pair<int, int>> pairs_;
  std::array<size_t, 3> done_ = {};  // number of pairs that were examined, by likeness
  std::vector<int> waiting_;         // number of unmatched operands of each node of a
  // Nodes of a that have the same key.
  struct Offers {
    std::vector<int> nodes;
    size_t first = 0;  // the nodes before it are matched
  };
  absl::flat_hash_map<Hash, Offers> offers_;
  int steps_ = 0;
};

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
    Matcher(&left, &right).Run();
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
    int last = kNone;
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
    last = kNone;
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
  for (const Difference& difference : diff.differences) {
    if (difference.b != nullptr) made.kinds[there.at(difference.b)] = difference.kind;
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
      made.kinds[copy] = Difference::Kind::kRemoved;
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
