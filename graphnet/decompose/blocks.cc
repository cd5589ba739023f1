#include "graphnet/decompose/blocks.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "graphnet/decompose/balance.h"
#include "graphnet/decompose/schemes.h"
#include "graphnet/ir/text/printer.h"

namespace graphnet {
namespace {

constexpr size_t kMaxPeriods = 32;

void AppendKey(const Argument& argument, std::string* key) {
  if (argument.is_node()) {
    key->push_back('%');
  } else if (argument.kind() == Argument::Kind::kSymInt) {
    key->push_back('s');  // Sizes may differ from layer to layer.
  } else if (argument.is_aggregate()) {
    absl::StrAppend(key, static_cast<int>(argument.kind()), "(");
    for (const Argument& element : argument.elements()) {
      AppendKey(element, key);
      key->push_back(',');
    }
    key->push_back(')');
  } else {
    AppendArgument(argument, key);
  }
}

// Returns a number for each operator; operators that are alike have equal numbers.
std::vector<uint32_t> Tokens(const GraphIndex& index) {
  std::vector<uint32_t> tokens;
  absl::flat_hash_map<std::string, uint32_t> numbers;
  std::string key;
  for (int64_t k = 0; k < index.num_operators(); ++k) {
    const Node& node = *index.node(index.operator_node(k));
    key.clear();
    absl::StrAppend(&key, static_cast<int>(node.op()), node.target(), "\n");
    for (const Argument& argument : node.args()) {
      AppendKey(argument, &key);
      key.push_back(',');
    }
    for (const KwArg& kwarg : node.kwargs()) {
      absl::StrAppend(&key, "\n", kwarg.name, "=");
      AppendKey(kwarg.value, &key);
    }
    tokens.push_back(numbers.try_emplace(key, static_cast<uint32_t>(numbers.size())).first->second);
  }
  return tokens;
}

// Operators [start, start + period * count + rest) repeat with that period.
struct Run {
  int64_t start = 0;
  int64_t period = 0;
  int64_t length = 0;

  int64_t count() const { return length / period; }
  bool IsBetterThan(const Run& other) const {
    const int64_t a = (count() - 1) * period;
    const int64_t b = other.period == 0 ? 0 : (other.count() - 1) * other.period;
    return a != b ? a > b : period < other.period;
  }
};

class BlockFinder {
 public:
  BlockFinder(const GraphIndex& index, const Regions& regions)
      : regions_(regions),
        tokens_(Tokens(index)),
        traffic_(CutTraffic(index, /*by_bytes=*/false)),
        taken_(tokens_.size()) {}

  std::vector<Block> Find() {
    FindPeriods();
    std::vector<Range> todo = {{0, Size()}};
    while (!todo.empty() && blocks_.size() < kMaxBlocks) {
      const Range stretch = todo.back();
      todo.pop_back();
      const Run run = BestRun(stretch);
      if (run.period == 0) continue;
      AddRun(run);
      todo.push_back({stretch.start, run.start});
      todo.push_back({run.start + run.length, stretch.end});
    }
    for (Block& block : blocks_) AddLoneOccurrences(&block);
    std::sort(blocks_.begin(), blocks_.end(),
              [](const Block& a, const Block& b) { return a.starts[0] < b.starts[0]; });
    return std::move(blocks_);
  }

 private:
  int64_t Size() const { return static_cast<int64_t>(tokens_.size()); }
  uint32_t Token(int64_t i) const { return tokens_[static_cast<size_t>(i)]; }
  absl::Span<const uint32_t> TokensAt(int64_t start, int64_t size) const {
    return absl::MakeConstSpan(tokens_).subspan(static_cast<size_t>(start),
                                                static_cast<size_t>(size));
  }

  // Finds the distances at which a few operators in a row repeat, the most frequent first.
  void FindPeriods() {
    absl::flat_hash_map<absl::Span<const uint32_t>, int64_t> last;
    absl::flat_hash_map<int64_t, int64_t> counts;
    for (int64_t i = 0; i + kMinBlockOperators <= Size(); ++i) {
      const auto [it, first] = last.try_emplace(TokensAt(i, kMinBlockOperators), i);
      if (first) continue;
      const int64_t period = i - std::exchange(it->second, i);
      if (period >= kMinBlockOperators) ++counts[period];
    }
    std::vector<std::pair<int64_t, int64_t>> sorted;
    for (const auto& [period, count] : counts) sorted.push_back({-count, period});
    std::sort(sorted.begin(), sorted.end());
    for (size_t i = 0; i < sorted.size() && i < kMaxPeriods; ++i)
      periods_.push_back(sorted[i].second);
  }

  Run BestRun(const Range& stretch) const {
    Run best;
    for (const int64_t period : periods_) {
      int64_t alike = 0;  // length of the stretch before i that equals the one a period later
      for (int64_t i = stretch.start; i + period <= stretch.end; ++i) {
        if (i + period < stretch.end && Token(i) == Token(i + period)) {
          ++alike;
          continue;
        }
        const Run run = {i - alike, period, alike + period};
        if (alike >= period && run.IsBetterThan(best)) best = run;
        alike = 0;
      }
    }
    return best;
  }

  void AddRun(const Run& run) {
    // Choose the start of the first block that gives the least traffic across the cuts.
    std::optional<Traffic> least;
    int64_t offset = -1;
    for (int64_t o = 0; o <= run.length % run.period; ++o) {
      Traffic sum;
      bool allowed = true;
      for (int64_t j = 0; j <= run.count(); ++j) {
        const int64_t cut = run.start + o + j * run.period;
        sum = sum + traffic_[static_cast<size_t>(cut)];
        allowed = allowed && regions_.OpenAt(cut) == nullptr;
      }
      if (!allowed || (least.has_value() && !(sum < *least))) continue;
      least = sum;
      offset = o;
    }
    if (offset < 0) return;
    Block* block = FindLike(run.start + offset, run.period);
    for (int64_t j = 0; j < run.count(); ++j) Take(run.start + offset + j * run.period, block);
  }

  // Finds the block with these operators, or adds it.
  Block* FindLike(int64_t start, int64_t size) {
    for (Block& block : blocks_) {
      if (block.num_operators == size && TokensAt(block.starts[0], size) == TokensAt(start, size))
        return &block;
    }
    blocks_.push_back({size, {}});
    return &blocks_.back();
  }

  void Take(int64_t start, Block* block) {
    block->starts.push_back(start);
    std::fill_n(taken_.begin() + start, block->num_operators, true);
  }

  void AddLoneOccurrences(Block* block) {
    const int64_t size = block->num_operators;
    const int64_t like = block->starts[0];
    for (int64_t i = 0; i + size <= Size(); ++i) {
      if (taken_[static_cast<size_t>(i)] || TokensAt(i, size) != TokensAt(like, size)) continue;
      if (std::find(taken_.begin() + i, taken_.begin() + i + size, true) !=
          taken_.begin() + i + size)
        continue;
      if (regions_.OpenAt(i) != nullptr || regions_.OpenAt(i + size) != nullptr) continue;
      Take(i, block);
    }
    std::sort(block->starts.begin(), block->starts.end());
  }

  const Regions& regions_;
  const std::vector<uint32_t> tokens_;
  const std::vector<Traffic> traffic_;
  std::vector<bool> taken_;  // true for operators of a block
  std::vector<int64_t> periods_;
  std::vector<Block> blocks_;
};

}  // namespace

std::vector<Block> FindBlocks(const GraphIndex& index, const Regions& regions) {
  return BlockFinder(index, regions).Find();
}

std::vector<int64_t> BlockCuts(const std::vector<Block>& blocks, const Regions& regions,
                               int64_t num_operators) {
  std::vector<int64_t> cuts;
  for (const Block& block : blocks) {
    for (const int64_t start : block.starts) {
      cuts.push_back(start);
      cuts.push_back(start + block.num_operators);
    }
  }
  return AllowedCuts(std::move(cuts), regions, num_operators);
}

}  // namespace graphnet
