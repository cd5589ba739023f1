#include "graphnet/corpus/recurring.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "graphnet/base/parallel.h"
#include "graphnet/base/status.h"
#include "graphnet/corpus/range_form.h"
#include "graphnet/corpus/range_walk.h"

namespace graphnet {
namespace {

using corpus_internal::Fingerprint;
using corpus_internal::FingerprintKeys;
using corpus_internal::ListPrint;
using corpus_internal::MakeRangeForm;
using corpus_internal::RangeForm;
using corpus_internal::RangeWalk;
using corpus_internal::Tokens;

constexpr uint32_t kNone = ~uint32_t{0};
// How far ranges of any place are followed beyond the greatest number of operators, to see whether
// one goes on to the left. No cut may be allowed there for some operators.
constexpr uint32_t kBeyond = 8;
// How many lengths are counted in the first round.
constexpr uint32_t kFirstLengths = 4;
// The places from which a thread walks at a time.
constexpr size_t kPlacesAtATime = 4096;

// A place from which ranges begin: an operator of a graph.
struct Place {
  uint32_t graph = 0;
  uint32_t start = 0;
};

// A range that is known to recur.
struct Candidate {
  uint32_t place = 0;  // the first of its places
  uint32_t calls = 0;
  uint32_t occurrences = 0;
  bool is_dropped = false;
};

// How often a range occurs, and whether a place is the first of those that have it.
struct Frequency {
  uint32_t occurrences = 0;  // 0 if there is no such range
  bool is_first = false;
};

// Calls work(begin, end) for parts of [0, n) on several threads.
template <typename Work>
absl::Status ForParts(size_t n, int jobs, const Work& work) {
  absl::Status status;
  ParallelFor((n + kPlacesAtATime - 1) / kPlacesAtATime, jobs,
              [&](size_t part) -> absl::Status {
                work(part * kPlacesAtATime, std::min(n, (part + 1) * kPlacesAtATime));
                return absl::OkStatus();
              },
              [&](size_t, const absl::Status& done) { status.Update(done); });
  return status;
}

// Counts equal fingerprints, each as often as its weight says. Those that are empty do not count.
std::vector<Frequency> CountEqual(absl::Span<const Fingerprint> prints,
                                  absl::Span<const uint32_t> weights) {
  absl::flat_hash_map<Fingerprint, uint32_t> first;
  first.reserve(prints.size());
  std::vector<uint32_t> first_of(prints.size(), kNone);
  std::vector<Frequency> counts(prints.size());
  for (uint32_t i = 0; i < prints.size(); ++i) {
    if (prints[i] == Fingerprint()) continue;
    first_of[i] = first.try_emplace(prints[i], i).first->second;
    counts[first_of[i]].occurrences += weights[i];
  }
  for (uint32_t i = 0; i < prints.size(); ++i) {
    if (first_of[i] != kNone) counts[i] = {counts[first_of[i]].occurrences, first_of[i] == i};
  }
  return counts;
}

// The ranges with the most operators in all occurrences together come first.
auto SortKey(const Candidate& c) {
  return std::make_tuple(-static_cast<int64_t>(c.calls) * c.occurrences, -int64_t{c.calls},
                         c.place);
}

// Finds ranges of any place. Places from which all ranges are alike are one kind. For each number of
// operators, from the least on, the ranges of a place of each kind are counted as often as there are
// such places. As many numbers are worked on at a time as there is room for.
class PlacesSearch {
 public:
  PlacesSearch(absl::Span<const RangeForm> forms, const FingerprintKeys& keys,
               const RecurringOptions& options, uint64_t room)
      : forms_(forms),
        keys_(keys),
        options_(options),
        least_(static_cast<uint32_t>(options.least_calls)),
        most_(static_cast<uint32_t>(options.most_calls)),
        room_(room) {}

  absl::Status Run() {
    size_t operators = 0;
    for (const RangeForm& form : forms_) operators += form.num_operators() + 1;
    constexpr uint64_t kPlace = sizeof(Place) + 3 * sizeof(uint32_t);
    constexpr uint64_t kKind = 2 * sizeof(Fingerprint) + 6 * sizeof(uint32_t);
    const uint64_t fixed = operators * (kPlace + kKind + sizeof(uint32_t));
    if (fixed > room_) return absl::ResourceExhaustedError("");
    FindPlaces();
    RETURN_IF_ERROR(FindKinds());
    constexpr uint64_t kRange = sizeof(Fingerprint) + sizeof(Frequency);
    // The table in which the ranges of one length are counted.
    constexpr uint64_t kTable = 3 * kRange;
    std::vector<uint32_t> active(kinds_.size());
    for (uint32_t i = 0; i < active.size(); ++i) active[i] = i;
    for (uint32_t least = least_; least <= most_ + kBeyond && !active.empty();) {
      const uint64_t taken = fixed + candidates_.capacity() * sizeof(Candidate) +
                             active.size() * (kTable * static_cast<uint64_t>(options_.jobs));
      const uint64_t lengths = taken >= room_ ? 0 : (room_ - taken) / (active.size() * kRange);
      if (lengths == 0) return absl::ResourceExhaustedError("");
      // Few lengths at first, since most kinds of places are given up soon.
      const auto number = static_cast<uint32_t>(std::min<uint64_t>(
          {lengths, std::max(kFirstLengths, least - least_), most_ + kBeyond + 1 - least}));
      RETURN_IF_ERROR(CountRanges(least, number, &active));
      least += number;
    }
    return absl::OkStatus();
  }

  absl::Span<const Place> places() const { return places_; }
  std::vector<Candidate>& candidates() { return candidates_; }
  uint32_t kind_of(size_t place) const { return kind_of_[place]; }
  // Returns the values in the map of the ranges from the places of each kind.
  absl::StatusOr<std::vector<std::vector<uint32_t>>> Lookup(
      const absl::flat_hash_map<Fingerprint, uint32_t>& wanted) const {
    std::vector<std::vector<uint32_t>> found(kinds_.size());
    RETURN_IF_ERROR(ForParts(kinds_.size(), options_.jobs, [&](size_t begin, size_t end) {
      RangeWalk walk(keys_);
      for (size_t i = begin; i < end; ++i) {
        ForRanges(walk, places_[kinds_[i]], least_, reach_[i],
                  [&](uint32_t, const Fingerprint& piece) {
                    const auto it = wanted.find(piece);
                    if (it != wanted.end()) found[i].push_back(it->second);
                  });
      }
    }));
    return found;
  }
  size_t cut_short() const { return static_cast<size_t>(absl::c_count(is_cut_short_, true)); }

 private:
  void FindPlaces() {
    size_t first = 0;
    for (uint32_t g = 0; g < forms_.size(); ++g) {
      first_.push_back(first);
      first += forms_[g].num_operators() + 1;
      for (uint32_t k = 0; k + least_ <= forms_[g].num_operators(); ++k) {
        if (forms_[g].can_cut[k] && !forms_[g].stops_at(k)) places_.push_back({g, k});
      }
    }
    ends_.assign(first, kNone);
    begins_.assign(places_.size(), kNone);
    is_cut_short_.resize(places_.size());
  }

  // Calls use(calls, piece) for the ranges of `least` to `most` operators from a place. Returns false
  // if one is too large.
  template <typename Use>
  bool ForRanges(RangeWalk& walk, const Place& place, uint32_t least, uint32_t most,
                 const Use& use) const {
    const RangeForm& form = forms_[place.graph];
    walk.Start(form, place.start);
    for (uint32_t calls = 1; calls <= most && walk.Extend(); ++calls) {
      if (calls < least || !form.can_cut[walk.end()]) continue;
      const std::optional<Fingerprint> piece = walk.Piece();
      if (!piece.has_value()) return false;
      use(calls, *piece);
    }
    return !walk.is_too_large();
  }

  absl::Status FindKinds() {
    std::vector<Fingerprint> prints(places_.size());
    std::vector<uint8_t> is_whole(places_.size());
    RETURN_IF_ERROR(ForParts(places_.size(), options_.jobs, [&](size_t begin, size_t end) {
      RangeWalk walk(keys_);
      for (size_t i = begin; i < end; ++i) {
        ListPrint all(keys_.pieces);
        is_whole[i] = ForRanges(walk, places_[i], least_, most_ + kBeyond,
                                [&](uint32_t calls, const Fingerprint& piece) {
                                  all.Add({calls, calls});
                                  all.Add(piece);
                                });
        prints[i] = all.get();
      }
    }));
    absl::flat_hash_map<Fingerprint, uint32_t> known;
    for (uint32_t i = 0; i < places_.size(); ++i) {
      is_cut_short_[i] = is_whole[i] == 0;
      const auto [it, is_new] = known.try_emplace(prints[i], static_cast<uint32_t>(kinds_.size()));
      if (is_new) kinds_.push_back(i);
      if (is_new) weights_.push_back(0);
      ++weights_[it->second];
      kind_of_.push_back(it->second);
    }
    reach_.resize(kinds_.size());
    return absl::OkStatus();
  }

  // Counts the ranges of `number` lengths from `least` on. Keeps the kinds whose longer ones
  // may recur.
  absl::Status CountRanges(uint32_t least, uint32_t number, std::vector<uint32_t>* active) {
    const size_t n = active->size();
    std::vector<std::vector<Fingerprint>> prints(number, std::vector<Fingerprint>(n));
    std::vector<Fingerprint> stems(n);  // of those that have longer ranges
    RETURN_IF_ERROR(ForParts(n, options_.jobs, [&](size_t begin, size_t end) {
      RangeWalk walk(keys_);
      for (size_t i = begin; i < end; ++i) {
        const bool is_whole = ForRanges(
            walk, places_[kinds_[(*active)[i]]], least, least + number - 1,
            [&](uint32_t calls, const Fingerprint& piece) { prints[calls - least][i] = piece; });
        if (is_whole && walk.has_next()) stems[i] = walk.Stem();
      }
    }));
    std::vector<uint32_t> weights;
    for (const uint32_t kind : *active) weights.push_back(weights_[kind]);
    std::vector<std::vector<Frequency>> counts(number);
    absl::Status status;
    ParallelFor(
        number, options_.jobs,
        [&](size_t i) {
          counts[i] = CountEqual(prints[i], weights);
          prints[i] = {};
          return absl::OkStatus();
        },
        [&](size_t, const absl::Status& done) { status.Update(done); });
    RETURN_IF_ERROR(status);
    std::vector<uint32_t> slots(kinds_.size(), kNone);
    for (uint32_t i = 0; i < n; ++i) slots[(*active)[i]] = i;
    for (uint32_t k = 0; k < number; ++k) {
      for (uint32_t place = 0; place < places_.size(); ++place) {
        const uint32_t slot = slots[kind_of_[place]];
        if (slot == kNone || counts[k][slot].occurrences == 0) continue;
        AddRange(place, least + k, counts[k][slot]);
      }
    }
    DropCandidates();
    const std::vector<Frequency> longer = CountEqual(stems, weights);
    std::vector<uint32_t> still;
    for (size_t i = 0; i < n; ++i) {
      if (longer[i].occurrences > 1) still.push_back((*active)[i]);
    }
    *active = std::move(still);
    return absl::OkStatus();
  }

  // Takes the next larger range at a place. Ranges come by their length.
  void AddRange(uint32_t place, uint32_t calls, const Frequency& count) {
    const Place& at = places_[place];
    const uint32_t kind = kind_of_[place];
    if (count.occurrences > 1) reach_[kind] = std::min(calls, most_);
    const auto replace = [&](uint32_t* smaller, uint32_t by) {
      if (*smaller != kNone && candidates_[*smaller].occurrences == count.occurrences)
        candidates_[*smaller].is_dropped = true;
      *smaller = by;
    };
    uint32_t made = kNone;
    if (count.is_first && kinds_[kind] == place && count.occurrences > 1 && calls <= most_ &&
        forms_[at.graph].computes(at.start, at.start + calls)) {
      made = static_cast<uint32_t>(candidates_.size());
      candidates_.push_back({place, calls, count.occurrences});
    }
    if (calls <= most_) replace(&begins_[place], made);
    replace(&ends_[first_[at.graph] + at.start + calls], made);
  }

  // Forgets candidates that are dropped.
  void DropCandidates() {
    std::vector<uint32_t> now(candidates_.size());
    uint32_t kept = 0;
    for (size_t i = 0; i < candidates_.size(); ++i) {
      now[i] = candidates_[i].is_dropped ? kNone : kept;
      if (!candidates_[i].is_dropped) candidates_[kept++] = candidates_[i];
    }
    candidates_.resize(kept);
    for (std::vector<uint32_t>* smaller : {&begins_, &ends_}) {
      for (uint32_t& one : *smaller) one = one == kNone ? kNone : now[one];
    }
  }

  const absl::Span<const RangeForm> forms_;
  const FingerprintKeys& keys_;
  const RecurringOptions& options_;
  const uint32_t least_;
  const uint32_t most_;
  const uint64_t room_;
  std::vector<Place> places_;      // in order
  std::vector<uint32_t> kinds_;    // by kind: its first place, in order
  std::vector<uint32_t> weights_;  // by kind: how many places it has
  std::vector<uint32_t> kind_of_;  // by place
  std::vector<size_t> first_;      // by graph: the place of its first end in ends_
  std::vector<Candidate> candidates_;
  // By place, and by the place of an end: the candidate that is the largest range so far which has it
  // as its first place.
  std::vector<uint32_t> begins_;
  std::vector<uint32_t> ends_;
  // By kind: the greatest number of operators with which a range recurs; 0 if none does.
  std::vector<uint32_t> reach_;
  std::vector<bool> is_cut_short_;  // by place
};

}  // namespace

struct RecurringRanges::State {
  Tokens tokens;
  std::vector<RangeForm> forms;
  uint64_t bytes = 0;
  FingerprintKeys keys;

  absl::StatusOr<Recurring> FindPlaces(const RecurringOptions& options);
  absl::StatusOr<Recurring> FindModules(const RecurringOptions& options);
  absl::Status NoRoom(const RecurringOptions& options) const {
    return absl::ResourceExhaustedError(absl::StrCat("the ranges of ", forms.size(),
                                                     " graphs take more than ", options.max_bytes,
                                                     " bytes; give more memory or fewer graphs"));
  }
};

PreparedRanges::PreparedRanges() = default;
PreparedRanges::PreparedRanges(PreparedRanges&&) noexcept = default;
PreparedRanges& PreparedRanges::operator=(PreparedRanges&&) noexcept = default;
PreparedRanges::~PreparedRanges() = default;

absl::StatusOr<PreparedRanges> PrepareRanges(const Module& module,
                                             const RecurringOptions& options) {
  PreparedRanges made;
  ASSIGN_OR_RETURN(RangeForm form, MakeRangeForm(module, options.modules, options.fusible));
  made.form_ = std::make_unique<RangeForm>(std::move(form));
  return made;
}

RecurringRanges::RecurringRanges(const RecurringOptions& options)
    : options_(options), state_(std::make_unique<State>()) {}
RecurringRanges::~RecurringRanges() = default;

absl::Status RecurringRanges::Add(PreparedRanges graph) {
  state_->tokens.Number(graph.form_.get());
  state_->bytes += graph.form_->bytes();
  state_->forms.push_back(std::move(*graph.form_));
  if (state_->bytes + state_->tokens.bytes() <= options_.max_bytes) return absl::OkStatus();
  return state_->NoRoom(options_);
}

absl::StatusOr<Recurring> RecurringRanges::Find() {
  const int64_t most = options_.modules ? std::numeric_limits<int64_t>::max() : kMaxRecurringCalls;
  if (options_.least_calls < 1 || options_.most_calls < options_.least_calls ||
      options_.most_calls > most) {
    return absl::InvalidArgumentError(absl::StrCat("a range has at least 1 call and at most ", most,
                                                   ", and the least number comes first, not ",
                                                   options_.least_calls, " and ",
                                                   options_.most_calls));
  }
  return options_.modules ? state_->FindModules(options_) : state_->FindPlaces(options_);
}

absl::StatusOr<Recurring> RecurringRanges::State::FindPlaces(const RecurringOptions& options) {
  const uint64_t taken = bytes + tokens.bytes();
  PlacesSearch search(forms, keys, options,
                      taken < options.max_bytes ? options.max_bytes - taken : 0);
  if (const absl::Status status = search.Run(); !status.ok())
    return status.message().empty() ? NoRoom(options) : status;
  std::vector<Candidate>& candidates = search.candidates();
  Recurring made;
  made.found = candidates.size();
  made.cut_short = search.cut_short();
  const size_t limit = std::min(options.limit, candidates.size());
  const auto before = [](const Candidate& a, const Candidate& b) {
    return SortKey(a) < SortKey(b);
  };
  std::partial_sort(candidates.begin(), candidates.begin() + static_cast<ptrdiff_t>(limit),
                    candidates.end(), before);
  candidates.resize(limit);

  // Find the graphs of those that are returned.
  absl::flat_hash_map<Fingerprint, uint32_t> wanted;
  RangeWalk walk(keys);
  for (uint32_t i = 0; i < limit; ++i) {
    const Place& place = search.places()[candidates[i].place];
    walk.Start(forms[place.graph], place.start);
    while (walk.end() < place.start + candidates[i].calls && walk.Extend()) {
    }
    wanted.emplace(walk.Piece().value(), i);
    made.ranges.push_back({place.graph,
                           {place.start, int64_t{place.start} + candidates[i].calls},
                           candidates[i].occurrences,
                           {},
                           forms[place.graph].NamesOf(place.start, candidates[i].calls),
                           {}});
  }
  ASSIGN_OR_RETURN(const std::vector<std::vector<uint32_t>> found, search.Lookup(wanted));
  for (size_t i = 0; i < search.places().size(); ++i) {
    const uint32_t graph = search.places()[i].graph;
    for (const uint32_t range : found[search.kind_of(i)]) {
      std::vector<uint32_t>& graphs = made.ranges[range].graphs;
      if (graphs.empty() || graphs.back() != graph) graphs.push_back(graph);
    }
  }
  return made;
}

absl::StatusOr<Recurring> RecurringRanges::State::FindModules(const RecurringOptions& options) {
  Recurring made;
  // All ranges of modules, by graph.
  std::vector<Fingerprint> prints;
  std::vector<size_t> first;
  size_t all = 0;
  for (const RangeForm& form : forms) all += form.modules.size();
  constexpr uint64_t kRange = 4 * (sizeof(Fingerprint) + sizeof(Frequency));
  if (bytes + tokens.bytes() + all * kRange > options.max_bytes) return NoRoom(options);
  prints.reserve(all);
  RangeWalk walk(keys);
  for (const RangeForm& form : forms) {
    first.push_back(prints.size());
    prints.resize(prints.size() + form.modules.size());
    // Ranges with the same beginning stand together, the largest first.
    for (size_t end = form.modules.size(); end > 0;) {
      const uint32_t start = form.modules[end - 1].start;
      walk.Start(form, start);
      for (; end > 0 && form.modules[end - 1].start == start; --end) {
        const RangeForm::ModuleRange& range = form.modules[end - 1];
        while (walk.end() < range.end && walk.Extend()) {
        }
        const int64_t calls = int64_t{range.end} - start;
        if (calls < options.least_calls || calls > options.most_calls) continue;
        if (const std::optional<Fingerprint> piece = walk.Piece()) {
          prints[first.back() + end - 1] = *piece;
        } else {
          ++made.cut_short;
        }
      }
    }
  }
  first.push_back(prints.size());
  const std::vector<Frequency> counts = CountEqual(prints, std::vector<uint32_t>(prints.size(), 1));
  std::vector<Candidate> candidates;
  std::vector<uint32_t> graph_of;
  for (uint32_t g = 0; g < forms.size(); ++g) {
    const std::vector<RangeForm::ModuleRange>& modules = forms[g].modules;
    std::vector<size_t> around;
    for (size_t i = 0; i < modules.size(); ++i) {
      while (!around.empty() && modules[around.back()].end <= modules[i].start) around.pop_back();
      const Frequency& count = counts[first[g] + i];
      graph_of.push_back(g);
      if (count.is_first && count.occurrences > 1 && absl::c_none_of(around, [&](size_t larger) {
            return counts[first[g] + larger].occurrences == count.occurrences;
          })) {
        candidates.push_back({static_cast<uint32_t>(first[g] + i),
                              modules[i].end - modules[i].start, count.occurrences});
      }
      around.push_back(i);
    }
  }
  made.found = candidates.size();
  absl::c_sort(candidates,
               [](const Candidate& a, const Candidate& b) { return SortKey(a) < SortKey(b); });
  candidates.resize(std::min(options.limit, candidates.size()));
  absl::flat_hash_map<Fingerprint, size_t> wanted;
  for (const Candidate& candidate : candidates) {
    const uint32_t g = graph_of[candidate.place];
    const RangeForm::ModuleRange& range = forms[g].modules[candidate.place - first[g]];
    wanted.emplace(prints[candidate.place], made.ranges.size());
    made.ranges.push_back({g,
                           {range.start, range.end},
                           candidate.occurrences,
                           {},
                           forms[g].NamesOf(range.start, candidate.calls),
                           forms[g].paths[range.path].substr(0, range.size)});
  }
  for (size_t i = 0; i < prints.size(); ++i) {
    const auto it = wanted.find(prints[i]);
    if (it == wanted.end()) continue;
    std::vector<uint32_t>& graphs = made.ranges[it->second].graphs;
    if (graphs.empty() || graphs.back() != graph_of[i]) graphs.push_back(graph_of[i]);
  }
  return made;
}

}  // namespace graphnet
