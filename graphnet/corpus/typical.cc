#include "graphnet/corpus/typical.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "graphnet/corpus/choose.h"
#include "graphnet/decompose/graph_index.h"
#include "graphnet/decompose/regions.h"

namespace graphnet {
namespace {

// Numbers from here on end graphs.
constexpr uint32_t kFirstEnd = uint32_t{1} << 31;
constexpr uint32_t kNoToken = std::numeric_limits<uint32_t>::max();

// The places of a text, sorted by what follows, and how much neighbours have in common.
class SuffixArray {
 public:
  SuffixArray(const std::vector<uint32_t>& text, size_t most) : size_(text.size()), most_(most) {
    std::vector<std::pair<uint64_t, uint32_t>> keyed;
    for (uint32_t i = 0; i < size_; ++i) keyed.push_back({text[i], i});
    ranks_.push_back(Rank(&keyed));
    for (size_t length = 1; length < most; length *= 2) {
      const std::vector<uint32_t>& now = ranks_.back();
      for (uint32_t i = 0; i < size_; ++i) {
        const uint64_t behind = i + length < size_ ? now[i + length] + uint64_t{1} : 0;
        keyed[i] = {uint64_t{now[i]} << 32 | behind, i};
      }
      ranks_.push_back(Rank(&keyed));
    }
    places_.reserve(size_);
    for (const auto& [key, place] : keyed) places_.push_back(place);
  }

  const std::vector<uint32_t>& places() const { return places_; }

  // Returns how many numbers two places begin with alike, at most `most`.
  size_t Common(uint32_t a, uint32_t b) const {
    size_t common = 0;
    for (size_t level = ranks_.size(); level-- > 0 && common < most_;) {
      if (a >= size_ || b >= size_ || ranks_[level][a] != ranks_[level][b]) continue;
      const size_t length = size_t{1} << level;
      common += length;
      a += static_cast<uint32_t>(length);
      b += static_cast<uint32_t>(length);
    }
    return std::min(common, most_);
  }

 private:
  // Sorts, and returns the rank of each place: equal keys have one.
  std::vector<uint32_t> Rank(std::vector<std::pair<uint64_t, uint32_t>>* keyed) const {
    absl::c_sort(*keyed);
    std::vector<uint32_t> ranks(size_);
    uint32_t rank = 0;
    for (size_t k = 0; k < keyed->size(); ++k) {
      if (k > 0 && (*keyed)[k].first != (*keyed)[k - 1].first) ++rank;
      ranks[(*keyed)[k].second] = rank;
    }
    return ranks;
  }

  size_t size_;
  size_t most_;
  std::vector<std::vector<uint32_t>> ranks_;  // by level: of the 2^level numbers at a place
  std::vector<uint32_t> places_;
};

// A stretch of the suffix array: all places at which one sequence begins.
struct Stretch {
  size_t length = 0;  // of the sequence
  size_t begin = 0;
  size_t end = 0;
  size_t repeats = 0;          // places whose graph has another one before them in the stretch
  uint32_t before = kNoToken;  // what stands before all places; kNoToken if that differs
};

class Search {
 public:
  Search(const std::vector<uint32_t>& text, const std::vector<uint32_t>& begins,
         const TypicalOptions& options)
      : text_(text),
        begins_(begins),
        options_(options),
        array_(text, static_cast<size_t>(options.most_calls)) {}

  const std::vector<uint32_t>& places() const { return array_.places(); }

  // Returns the graph of a place.
  size_t GraphAt(uint32_t place) const {
    return static_cast<size_t>(absl::c_upper_bound(begins_, place) - begins_.begin()) - 1;
  }

  // Returns the stretches of the sequences that count. This is a walk over the suffix tree from the
  // leaves on: `open` has the nodes from the root to the leaf that was added last.
  std::vector<Stretch> Run() {
    std::vector<Stretch> found, open = {{}};
    std::vector<size_t> last(begins_.size(), kNowhere);  // by graph: its last place so far
    const std::vector<uint32_t>& places = array_.places();
    for (size_t i = 0; i < places.size(); ++i) {
      const size_t common = i == 0 ? 0 : array_.Common(places[i - 1], places[i]);
      const uint32_t before = Before(places[i]);
      // The sequences that place i does not begin with have ended.
      size_t begin = i;
      size_t repeats = 0;
      uint32_t before_all = before;
      while (open.back().length > common) {
        Stretch done = open.back();
        open.pop_back();
        done.end = i;
        begin = done.begin;
        if (open.back().length >= common) {
          AddTo(done, &open.back());
        } else {
          repeats = done.repeats;
          before_all = done.before == before ? before : kNoToken;
        }
        if (Counts(done)) found.push_back(done);
      }
      if (open.back().length < common) {
        // A new node: of the place before alone, or around what has just ended.
        if (begin == i) {
          begin = i - 1;
          before_all = Before(places[i - 1]) == before ? before : kNoToken;
        }
        open.push_back({common, begin, 0, repeats, before_all});
      }
      if (open.back().before != before) open.back().before = kNoToken;
      const size_t graph = GraphAt(places[i]);
      if (last[graph] != kNowhere) ++InnermostWith(last[graph], &open).repeats;
      last[graph] = i;
    }
    while (open.size() > 1) {
      Stretch done = open.back();
      open.pop_back();
      done.end = places.size();
      AddTo(done, &open.back());
      if (Counts(done)) found.push_back(done);
    }
    return found;
  }

 private:
  static constexpr size_t kNowhere = std::numeric_limits<size_t>::max();

  uint32_t Before(uint32_t place) const {
    // The number that ends a graph occurs once, so the beginnings of two graphs differ in it. The
    // first graph has nothing before it.
    return place == 0 ? kNoToken : text_[place - 1];
  }

  static void AddTo(const Stretch& inner, Stretch* outer) {
    outer->repeats += inner.repeats;
    if (outer->before != inner.before) outer->before = kNoToken;
  }

  // Returns the innermost stretch that has the place with this number in the array.
  static Stretch& InnermostWith(size_t number, std::vector<Stretch>* open) {
    const auto behind = std::partition_point(
        open->begin(), open->end(), [&](const Stretch& one) { return one.begin <= number; });
    return *(behind - 1);
  }

  bool Counts(const Stretch& one) const {
    const auto count = static_cast<int64_t>(one.end - one.begin);
    // The end of a graph is there once, so no sequence that recurs has it.
    return static_cast<int64_t>(one.length) >= options_.least_calls &&
           count >= std::max<int64_t>(options_.least_count, 2) &&
           count - static_cast<int64_t>(one.repeats) >= options_.least_graphs &&
           one.before == kNoToken;
  }

  const std::vector<uint32_t>& text_;
  const std::vector<uint32_t>& begins_;
  const TypicalOptions& options_;
  const SuffixArray array_;
};

}  // namespace

TypicalSequences::Graph TypicalSequences::GraphOf(const Module& module) {
  Graph made;
  made.names = OperatorNames(module);
  const Regions regions(*module.main());
  for (size_t k = 0; k <= made.names.size(); ++k)
    made.can_cut.push_back(regions.OpenAt(static_cast<int64_t>(k)) == nullptr);
  return made;
}

absl::Status TypicalSequences::Add(const Graph& graph) {
  if (text_.size() + graph.names.size() + 1 >= kFirstEnd)
    return absl::ResourceExhaustedError("there are more operators than can be searched at once");
  begins_.push_back(static_cast<uint32_t>(text_.size()));
  for (const std::string& name : graph.names) {
    const auto [it, is_new] = numbers_.try_emplace(name, static_cast<uint32_t>(names_.size()));
    if (is_new) names_.push_back(name);
    text_.push_back(it->second);
  }
  text_.push_back(kFirstEnd + static_cast<uint32_t>(begins_.size() - 1));
  can_cut_.insert(can_cut_.end(), graph.can_cut.begin(), graph.can_cut.end());
  return absl::OkStatus();
}

absl::StatusOr<Typical> TypicalSequences::Find(const TypicalOptions& options) const {
  if (options.least_calls < 1 || options.most_calls < options.least_calls ||
      options.most_calls > kMostTypicalCalls) {
    return absl::InvalidArgumentError(absl::StrCat("sequences have 1 to ", kMostTypicalCalls,
                                                   " operators, and not ", options.least_calls,
                                                   " to ", options.most_calls));
  }
  Search search(text_, begins_, options);
  std::vector<Stretch> found = search.Run();
  const std::vector<uint32_t>& places = search.places();
  const auto first_of = [&](const Stretch& one) {
    return *std::min_element(places.begin() + static_cast<ptrdiff_t>(one.begin),
                             places.begin() + static_cast<ptrdiff_t>(one.end));
  };
  struct Ranked {
    size_t all = 0;  // operators in all occurrences
    uint32_t first = 0;
    Stretch stretch;
  };
  std::vector<Ranked> ranked;
  for (const Stretch& one : found)
    ranked.push_back({one.length * (one.end - one.begin), first_of(one), one});
  absl::c_sort(ranked, [](const Ranked& a, const Ranked& b) {
    return std::tie(b.all, b.stretch.length, a.first) < std::tie(a.all, a.stretch.length, b.first);
  });
  Typical typical;
  typical.found = ranked.size();
  typical.ranges.resize(begins_.size());
  std::vector<bool> is_taken(text_.size());
  std::vector<uint32_t> sorted;
  for (size_t k = 0; k < ranked.size(); ++k) {
    const auto& [all, first, one] = ranked[k];
    if (options.limit == 0 || k < options.limit) {
      TypicalSequence& sequence = typical.sequences.emplace_back();
      for (size_t i = 0; i < one.length; ++i) sequence.names.push_back(names_[text_[first + i]]);
      sequence.occurrences = static_cast<int64_t>(one.end - one.begin);
      sequence.graphs = sequence.occurrences - static_cast<int64_t>(one.repeats);
      sequence.graph = search.GraphAt(first);
      const int64_t start = first - begins_[sequence.graph];
      sequence.range = {start, start + static_cast<int64_t>(one.length)};
    }
    sorted.assign(places.begin() + static_cast<ptrdiff_t>(one.begin),
                  places.begin() + static_cast<ptrdiff_t>(one.end));
    absl::c_sort(sorted);
    for (const uint32_t place : sorted) {
      const size_t end = place + one.length;
      if (!can_cut_[place] || !can_cut_[end] || is_taken[place] || is_taken[end - 1]) continue;
      if (std::find(is_taken.begin() + place, is_taken.begin() + static_cast<ptrdiff_t>(end),
                    true) != is_taken.begin() + static_cast<ptrdiff_t>(end)) {
        continue;
      }
      for (size_t i = place; i < end; ++i) is_taken[i] = true;
      const size_t graph = search.GraphAt(place);
      const int64_t start = place - begins_[graph];
      typical.ranges[graph].push_back({start, start + static_cast<int64_t>(one.length)});
    }
  }
  for (std::vector<Range>& ranges : typical.ranges)
    absl::c_sort(ranges, [](const Range& a, const Range& b) { return a.start < b.start; });
  return typical;
}

}  // namespace graphnet
