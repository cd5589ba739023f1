#include "graphnet/identity/match_nodes.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/argument.h"
#include "graphnet/ir/module.h"

namespace graphnet {
namespace {

using Hash = uint64_t;
// The largest table that Align fills.
constexpr size_t kMaxCells = 4'000'000;
// The most rounds in which new matches are derived from known ones.
constexpr int kMaxRounds = 50;

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

Hash AddArgument(Hash hash, const Argument& arg) {
  ForEachArgument(arg, [&](const Argument& a) {
    hash = absl::HashOf(hash, HashOfConstant(a));
    if (a.is_aggregate()) hash = absl::HashOf(hash, a.elements().size());
  });
  return hash;
}

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
      const int number = side.IsAttribute(operand) ? kNoPartner
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
    int best = kNoPartner;
    for (size_t k = offers.first; k < std::min(offers.nodes.size(), offers.first + kLooks); ++k) {
      const int i = offers.nodes[k];
      if (!a_.IsFree(i)) continue;
      if (a_.label[static_cast<size_t>(i)] != b_.label[static_cast<size_t>(j)] ||
          a_.Operands(i).size() != b_.Operands(j).size() || !AttributesFit(i, j)) {
        continue;
      }
      if (best == kNoPartner) best = i;
      if (a_.up[static_cast<size_t>(i)] != b_.up[static_cast<size_t>(j)]) continue;
      best = i;
      break;
    }
    if (best == kNoPartner) return;
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
      if (partner == right[k] || (partner == kNoPartner && b_.IsFree(right[k]))) return true;
      // A node may have been inserted between them, or removed.
      if (partner != kNoPartner && b_.IsFree(right[k]) &&
          absl::c_linear_search(b_.Operands(right[k]), partner)) {
        return true;
      }
      const int back = b_.partner[static_cast<size_t>(right[k])];
      if (partner == kNoPartner && back != kNoPartner &&
          absl::c_linear_search(a_.Operands(left[k]), back)) {
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

}  // namespace

Side::Side(const Graph& graph) : index(*graph.module()) {
  for (const Node* node : graph.nodes()) {
    index[node] = static_cast<int>(nodes.size());
    nodes.push_back(node);
  }
  const size_t n = nodes.size();
  partner.assign(n, kNoPartner);
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
    for (const int operand : absl::MakeConstSpan(operands).subspan(first_operand[i])) {
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

void MatchNodes(Side* a, Side* b) { Matcher(a, b).Run(); }

}  // namespace graphnet
