#include "graphnet/formats/protobuf/string_table.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <new>
#include <numeric>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "graphnet/formats/protobuf/column.h"

namespace graphnet::proto_internal {
namespace {

// Number of earlier strings in which a shared tail is searched. Names recur with the period of a
// model's blocks, which seldom have more parameters than this.
constexpr size_t kWindow = 64;

// The values drop, insert, back and tail of graphnet.proto.
using Edit = std::array<uint64_t, 4>;

size_t SharedPrefix(absl::string_view a, absl::string_view b) {
  const size_t n = std::min(a.size(), b.size());
  size_t i = 0;
  while (i < n && a[i] == b[i]) ++i;
  return i;
}

// Returns the length of the shared tail, at most `max`.
size_t SharedTail(absl::string_view a, absl::string_view b, size_t max) {
  const size_t n = std::min(std::min(a.size(), b.size()), max);
  size_t i = 0;
  while (i < n && a[a.size() - 1 - i] == b[b.size() - 1 - i]) ++i;
  return i;
}

class Encoder {
 public:
  explicit Encoder(absl::Span<const absl::string_view> strings) : strings_(strings) {}

  void Run(proto::StringTable* table) {
    std::vector<uint32_t> chosen;
    chosen.reserve(strings_.size());
    for (size_t i = 0; i < strings_.size(); ++i) {
      const Edit edit = Choose(i);
      const auto [it, inserted] = index_.try_emplace(edit, static_cast<uint32_t>(edits_.size()));
      if (inserted) edits_.push_back({edit, 0});
      ++edits_[it->second].second;
      chosen.push_back(it->second);
      const size_t kept = strings_[i].size() - edit[1] - edit[3];
      const absl::string_view literal = strings_[i].substr(kept, edit[1]);
      table->mutable_literals()->append(literal.data(), literal.size());
      last_place_[strings_[i]] = i;
    }
    std::vector<uint32_t> order(edits_.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t a, uint32_t b) { return edits_[a].second > edits_[b].second; });
    std::vector<uint32_t> rank(order.size());
    for (size_t i = 0; i < order.size(); ++i) {
      rank[order[i]] = static_cast<uint32_t>(i);
      for (const uint64_t value : edits_[order[i]].first) table->add_edits(value);
    }
    for (const uint32_t edit : chosen) table->add_strings(rank[edit]);
  }

 private:
  // Returns the cheapest edit that gives string `i`, and the first of equally cheap ones.
  Edit Choose(size_t i) {
    const absl::string_view text = strings_[i];
    const absl::string_view before = i > 0 ? strings_[i - 1] : absl::string_view();
    const size_t prefix = SharedPrefix(before, text);
    best_cost_ = std::numeric_limits<size_t>::max();
    Consider({before.size() - prefix, text.size() - prefix, 0, 0});
    size_t longest = 0;
    for (size_t back = 1; back <= std::min(i, kWindow); ++back) {
      ConsiderBack(text, before, prefix, i, back, longest);
    }
    if (const auto it = last_place_.find(text); it != last_place_.end()) {
      if (i - it->second > kWindow) Consider({before.size(), 0, i - it->second, text.size()});
    }
    return best_;
  }

  void ConsiderBack(absl::string_view text, absl::string_view before, size_t prefix, size_t i,
                    size_t back, size_t& longest) {
    const size_t tail = SharedTail(strings_[i - back], text, text.size() - prefix);
    // A tail that is shorter than an earlier one costs at least a byte for each byte that it lacks,
    // and saves at most the byte for a new edit.
    if (tail == 0 || tail + 1 < longest) return;
    longest = std::max(longest, tail);
    Consider({before.size() - prefix, text.size() - prefix - tail, back, tail});
  }

  void Consider(const Edit& edit) {
    const size_t least = edit[1] + 1;
    if (least >= best_cost_) return;
    // A new edit costs one entry of the table. It counts as only one byte here, since it pays off
    // if it recurs, which is not known yet.
    const size_t cost = least + (index_.contains(edit) ? 0 : 1);
    if (cost >= best_cost_) return;
    best_cost_ = cost;
    best_ = edit;
  }

  const absl::Span<const absl::string_view> strings_;
  // Edits in the order of their first use, with their numbers of uses.
  std::vector<std::pair<Edit, uint32_t>> edits_;
  absl::flat_hash_map<Edit, uint32_t> index_;
  absl::flat_hash_map<absl::string_view, size_t> last_place_;
  Edit best_ = {};
  size_t best_cost_ = 0;
};

}  // namespace

void EncodeStrings(absl::Span<const absl::string_view> strings, proto::StringTable* table) {
  Encoder(strings).Run(table);
}

absl::Status StringTable::Decode(const proto::StringTable& table, uint64_t max_bytes,
                                 Arena* arena) {
  const auto fail = [](size_t i, absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat("string ", i, ": ", what));
  };
  if (table.edits_size() % 4 != 0) {
    return absl::InvalidArgumentError("the table of edits is not of four values each");
  }
  const absl::Span<const uint64_t> edits = Values(table.edits());
  const absl::Span<const uint64_t> chosen = Values(table.strings());
  const absl::string_view literals = table.literals();

  // Check the sizes before taking memory, since they may be false.
  std::vector<size_t> ends;
  ends.reserve(chosen.size());
  size_t total = 0;
  size_t literal = 0;
  size_t before = 0;  // size of the string before
  for (size_t i = 0; i < chosen.size(); ++i) {
    if (chosen[i] >= edits.size() / 4) return fail(i, "no such edit");
    const uint64_t* edit = &edits[chosen[i] * 4];
    if (edit[0] > before) return fail(i, "drops more than the string before has");
    if (edit[1] > literals.size() - literal) return fail(i, "the literals end within it");
    if (edit[2] > i) return fail(i, "refers back too far");
    if (edit[2] == 0 && edit[3] != 0) return fail(i, "has a tail of no string");
    if (edit[2] != 0) {
      const size_t from = i - edit[2];
      const size_t size = ends[from] - (from > 0 ? ends[from - 1] : 0);
      if (edit[3] > size) return fail(i, "its tail is longer than the string it is taken from");
    }
    before = before - edit[0] + edit[1] + edit[3];
    literal += edit[1];
    total += before;
    if (total > max_bytes) return fail(i, "the strings are too long for a file of this size");
    ends.push_back(total);
  }
  if (literal != literals.size()) {
    return absl::InvalidArgumentError("literals are left after the last string");
  }

  total_bytes_ = total;
  absl::string_view* strings = arena->NewArray<absl::string_view>(chosen.size());
  strings_ = {strings, chosen.size()};
  char* to = arena->NewArray<char>(total);
  const char* from = literals.data();
  absl::string_view last;
  for (size_t i = 0; i < chosen.size(); ++i) {
    const uint64_t* edit = &edits[chosen[i] * 4];
    char* const begin = to;
    const auto append = [&to](const char* data, size_t n) {
      if (n > 0) std::memcpy(to, data, n);
      to += n;
    };
    append(last.data(), last.size() - edit[0]);
    append(from, edit[1]);
    from += edit[1];
    if (edit[3] > 0) {
      const absl::string_view source = strings_[i - edit[2]];
      append(source.data() + source.size() - edit[3], edit[3]);
    }
    last = {begin, static_cast<size_t>(to - begin)};
    new (&strings[i]) absl::string_view(last);
  }
  return absl::OkStatus();
}

}  // namespace graphnet::proto_internal
