#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/decompose/regions.h"
#include "graphnet/validate/meaning.h"
#include "graphnet/validate/structure_checks.h"

namespace graphnet::validate_internal {
namespace {

// The kind of an operator; kinds are counted separately.
using Kind = std::pair<Op, absl::string_view>;

// Returns "torch.relu (%relu_1)".
std::string Describe(const Node& node) {
  return absl::StrCat(Printable(node.target()), " (", ValueName(node.name()), ")");
}

class OperatorCheck {
 public:
  OperatorCheck(absl::Span<const Node* const> original, absl::Span<const PieceOperator> pieces,
                bool by_meaning, ValidationReport* report)
      : original_(original), pieces_(pieces), by_meaning_(by_meaning), report_(report) {}

  void Run() {
    const auto same = [this](const Node* a, const PieceOperator& b) {
      return KindOf(*a) == KindOf(*b.node);
    };
    if (std::equal(original_.begin(), original_.end(), pieces_.begin(), pieces_.end(), same))
      return;
    for (const Node* node : original_) ++surplus_[KindOf(*node)];
    for (auto& [kind, count] : surplus_) count = -count;
    for (const PieceOperator& op : pieces_) ++surplus_[KindOf(*op.node)];
    const bool same_counts =
        std::all_of(surplus_.begin(), surplus_.end(), [](const auto& e) { return e.second == 0; });
    if (same_counts) {
      CheckOrder();
    } else {
      ReportMissing();
      ReportSurplus();
    }
  }

 private:
  Kind KindOf(const Node& node) const {
    return by_meaning_ ? MeaningOf(node) : Kind(node.op(), node.target());
  }
  std::string Totals() const {
    return absl::StrCat("; original=", original_.size(), " pieces=", pieces_.size());
  }
  void Add(int piece, const Node& node, std::string message) {
    report_->Add(ErrorClass::kCount, piece, node.name(), std::move(message));
  }

  // Reports the first operator that stands in another order. The numbers of all kinds are equal.
  void CheckOrder() {
    for (size_t i = 0; i < original_.size(); ++i) {
      const Node& expected = *original_[i];
      const PieceOperator& found = pieces_[i];
      if (KindOf(expected) == KindOf(*found.node)) continue;
      Add(found.piece, *found.node,
          absl::StrCat(Describe(*found.node), " stands where operator ", i, " of the original is ",
                       Describe(expected)));
      return;
    }
  }

  // Reports missing operators. If the pieces have too few of a kind, the missing ones are those
  // whose names they lack; if names do not decide, the last ones of the kind.
  void ReportMissing() {
    absl::flat_hash_set<std::pair<Kind, absl::string_view>> names;
    for (const PieceOperator& op : pieces_) names.insert({KindOf(*op.node), op.node->name()});
    auto lacking = surplus_;
    std::vector<size_t> missing;
    for (const bool by_name : {true, false}) {
      for (size_t i = original_.size(); i-- > 0;) {
        int64_t& count = lacking[KindOf(*original_[i])];
        if (count >= 0 || names.contains({KindOf(*original_[i]), original_[i]->name()}) == by_name)
          continue;
        ++count;
        missing.push_back(i);
      }
    }
    std::sort(missing.begin(), missing.end());
    // The piece of a missing operator is the one that has the operator before it in the original,
    // found by name or, if no name helps, by number.
    absl::flat_hash_map<absl::string_view, int> piece_of;
    for (const PieceOperator& op : pieces_) piece_of.try_emplace(op.node->name(), op.piece);
    int piece = 0;
    bool by_name = false;
    size_t next = 0;
    for (const size_t i : missing) {
      for (; next < i; ++next) {
        const auto it = piece_of.find(original_[next]->name());
        if (it != piece_of.end()) {
          piece = it->second;
          by_name = true;
        }
      }
      if (!by_name && i > 0 && !pieces_.empty())
        piece = pieces_[std::min(i, pieces_.size()) - 1].piece;
      Add(piece, *original_[i],
          absl::StrCat(Describe(*original_[i]), ", operator ", i,
                       " of the original, is missing in it or right after it", Totals()));
    }
  }

  // Reports surplus operators. If the pieces have too many of a kind, the surplus ones are those
  // whose names the original lacks or that come a second time; if names do not decide, the last
  // ones.
  void ReportSurplus() {
    absl::flat_hash_set<std::pair<Kind, absl::string_view>> names;
    for (const Node* node : original_) names.insert({KindOf(*node), node->name()});
    auto too_many = surplus_;
    std::vector<size_t> found;
    std::vector<bool> odd(pieces_.size());
    for (size_t i = 0; i < pieces_.size(); ++i) {
      odd[i] = names.erase({KindOf(*pieces_[i].node), pieces_[i].node->name()}) == 0;
    }
    for (const bool by_name : {true, false}) {
      for (size_t i = pieces_.size(); i-- > 0;) {
        int64_t& count = too_many[KindOf(*pieces_[i].node)];
        if (count <= 0 || odd[i] != by_name) continue;
        --count;
        found.push_back(i);
      }
    }
    std::sort(found.begin(), found.end());
    for (const size_t i : found) {
      Add(pieces_[i].piece, *pieces_[i].node,
          absl::StrCat(Describe(*pieces_[i].node), " is one more than the original has", Totals()));
    }
  }

  absl::Span<const Node* const> original_;
  absl::Span<const PieceOperator> pieces_;
  const bool by_meaning_;
  ValidationReport* report_;
  // The number of operators that the pieces have beyond the original's, by kind.
  absl::flat_hash_map<Kind, int64_t> surplus_;
};

}  // namespace

std::vector<const Node*> OperatorsOf(const Graph& graph) {
  std::vector<const Node*> out;
  for (const Node* node : graph.nodes()) {
    if (IsOperator(*node)) out.push_back(node);
  }
  return out;
}

void CheckOperators(absl::Span<const Node* const> original, absl::Span<const PieceOperator> pieces,
                    bool by_meaning, ValidationReport* report) {
  OperatorCheck(original, pieces, by_meaning, report).Run();
}

}  // namespace graphnet::validate_internal
