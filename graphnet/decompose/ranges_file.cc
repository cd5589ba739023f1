#include "graphnet/decompose/ranges_file.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/file.h"
#include "graphnet/base/json.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"

namespace graphnet {
namespace {

constexpr char kRangesFile[] = "subgraph_ranges.json";
constexpr char kKernelsFile[] = "cumsum_num_kernels.json";
constexpr char kSplitsFile[] = "split_results.json";
constexpr char kRanges[] = "subgraph_ranges";
constexpr char kPositions[] = "split_positions";
constexpr char kOperators[] = "num_subgraph_ops";
constexpr char kKernels[] = "num_subgraph_kernels";
constexpr char kOffset[] = "start_offset_in_original_graph";

// More operators than any graph has.
constexpr int64_t kMaxOperators = int64_t{1} << 40;

Json Described(const SampleRanges& sample, absl::string_view key, Json value) {
  Json json;
  json["model_name"] = sample.model_name;
  json[key] = std::move(value);
  json["total_length"] = sample.total_length;
  return json;
}

Json RangesJson(const SampleRanges& sample) {
  Json list = Json::List();
  for (const Range& range : sample.ranges) list.push_back(std::vector{range.start, range.end});
  return Described(sample, kRanges, std::move(list));
}

absl::StatusOr<std::vector<Range>> RangesIn(const Json& value, absl::string_view file) {
  const auto pairs = value.To<std::vector<std::vector<int64_t>>>();
  const auto refuse = [&](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat(Printable(file, 1000), ": ", why));
  };
  if (!pairs.has_value()) return refuse("subgraph_ranges is not a list of pairs [start, end]");
  std::vector<Range> ranges;
  for (const std::vector<int64_t>& pair : *pairs) {
    if (pair.size() != 2) return refuse("a range is not a pair [start, end]");
    if (pair[0] < 0 || pair[1] <= pair[0])
      return refuse(absl::StrCat("[", pair[0], ", ", pair[1], ") is not a range of operators"));
    ranges.push_back({pair[0], pair[1]});
  }
  return ranges;
}

}  // namespace

absl::Status WriteRanges(const RangesOfSamples& samples, const std::string& folder) {
  Json all = Json::Object(), splits = Json::Object();
  for (const auto& [path, sample] : samples) {
    Json ranges = RangesJson(sample);
    RETURN_IF_ERROR(WriteFileAtomic(JoinPath(JoinPath(folder, path), kRangesFile), ranges.Dump(4)));
    if (sample.kernels.has_value()) {
      RETURN_IF_ERROR(WriteFileAtomic(JoinPath(JoinPath(folder, path), kKernelsFile),
                                      KernelCountsText(*sample.kernels)));
    }
    std::set<int64_t> positions;
    for (const Range& range : sample.ranges) positions.insert({range.start, range.end});
    all[path] = std::move(ranges);
    splits[path] = Described(sample, kPositions, positions);
  }
  RETURN_IF_ERROR(WriteFileAtomic(JoinPath(folder, kRangesFile), all.Dump(4)));
  return WriteFileAtomic(JoinPath(folder, kSplitsFile), splits.Dump(4));
}

absl::StatusOr<RangesFile> RangesFile::Open(const std::string& path) {
  RangesFile file;
  file.path_ = path;
  file.is_folder_ = IsFolder(path);
  if (file.is_folder_) return file;
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxTextFileBytes));
  ASSIGN_OR_RETURN(const Json json, Json::ParseObject(text, path));
  if (json.Find(kRanges) != nullptr || json.Find(kPositions) != nullptr ||
      json.Find(kOperators) != nullptr) {
    ASSIGN_OR_RETURN(file.of_all_, ReadEntry(text, path));
    return file;
  }
  for (const auto& [name, value] : json.members()) {
    ASSIGN_OR_RETURN(file.of_sample_[name],
                     ReadEntry(value.Dump(), absl::StrCat(path, ": ", Printable(name, 1000))));
  }
  return file;
}

absl::StatusOr<RangesFile::Entry> RangesFile::ReadEntry(absl::string_view text,
                                                        const std::string& file) {
  ASSIGN_OR_RETURN(const Json json, Json::ParseObject(text, file));
  Entry entry;
  if (const Json* ranges = json.Find(kRanges)) {
    ASSIGN_OR_RETURN(entry.ranges, RangesIn(*ranges, file));
    return entry;
  }
  if (json.Find(kOperators) != nullptr) {
    ASSIGN_OR_RETURN(const KernelCounts counts, ParseKernelCounts(text, file));
    entry.ranges = FusedRanges(counts);
    return entry;
  }
  entry.positions = json.Get<std::vector<int64_t>>(kPositions);
  if (!entry.positions.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat(
        file, ": has neither subgraph_ranges nor split_positions, which are lists of numbers"));
  }
  return entry;
}

absl::StatusOr<std::vector<Range>> RangesFile::Of(const std::string& name,
                                                  int64_t num_operators) const {
  Entry entry;
  if (of_all_.has_value()) {
    entry = *of_all_;
  } else if (is_folder_) {
    const std::string file = JoinPath(JoinPath(path_, name), kRangesFile);
    ASSIGN_OR_RETURN(const std::string text, ReadFile(file, kMaxTextFileBytes));
    ASSIGN_OR_RETURN(entry, ReadEntry(text, file));
  } else {
    const auto found = of_sample_.find(name);
    if (found == of_sample_.end()) {
      return absl::NotFoundError(
          absl::StrCat(Printable(path_, 1000), " has no ranges of ", Printable(name, 1000)));
    }
    entry = found->second;
  }
  if (!entry.positions.has_value()) return entry.ranges;
  int64_t start = 0;
  for (const int64_t position : *entry.positions) {
    if (position > start && position < num_operators) {
      entry.ranges.push_back({start, position});
      start = position;
    } else if (position != start && position != num_operators) {
      return absl::InvalidArgumentError(absl::StrCat(
          Printable(path_, 1000), ": ", Printable(name, 1000), ": position ", position,
          " is not behind the one before it and within ", num_operators, " operators"));
    }
  }
  entry.ranges.push_back({start, num_operators});
  return entry.ranges;
}

std::vector<Range> FusedRanges(const KernelCounts& counts) {
  std::vector<Range> ranges;
  // A kernel that only a shorter prefix has vanishes behind it: what it made is fused with more.
  std::vector<int64_t> kernels = counts.kernels;
  for (size_t i = kernels.size(); i-- > 1;) kernels[i - 1] = std::min(kernels[i - 1], kernels[i]);
  for (size_t at = 0; at < kernels.size();) {
    const size_t first = at++;
    while (at < kernels.size() && kernels[at] == kernels[at - 1]) ++at;
    const int64_t start = first == 0 ? 0 : counts.operators[first - 1];
    const int64_t end = counts.operators[at - 1];
    if (kernels[first] > 0 && end - start > 1)
      ranges.push_back({counts.first_operator + start, counts.first_operator + end});
  }
  return ranges;
}

std::string KernelCountsText(const KernelCounts& counts) {
  Json json;
  json[kOperators] = counts.operators;
  json[kKernels] = counts.kernels;
  json[kOffset] = counts.first_operator;
  return json.Dump(4);
}

absl::StatusOr<KernelCounts> ParseKernelCounts(absl::string_view text, absl::string_view file) {
  ASSIGN_OR_RETURN(const Json json, Json::ParseObject(text, file));
  const auto operators = json.Get<std::vector<int64_t>>(kOperators);
  const auto kernels = json.Get<std::vector<int64_t>>(kKernels);
  const auto offset = json.Get<int64_t>(kOffset);
  if (!operators || !kernels || !offset || operators->size() != kernels->size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(Printable(file, 1000), ": lacks lists of one length, num_subgraph_ops and ",
                     "num_subgraph_kernels, or the number start_offset_in_original_graph"));
  }
  // As prefixes only grow, the last one is the largest, and no sum overflows.
  const auto does_not_grow = [](int64_t before, int64_t after) { return before >= after; };
  if (*offset < 0 || *offset > kMaxOperators ||
      absl::c_adjacent_find(*operators, does_not_grow) != operators->end() ||
      (!operators->empty() && (operators->front() < 0 || operators->back() > kMaxOperators))) {
    return absl::InvalidArgumentError(absl::StrCat(
        Printable(file, 1000), ": num_subgraph_ops does not grow from prefix to prefix, or ",
        "counts more operators than a graph can have"));
  }
  return KernelCounts{*operators, *kernels, *offset};
}

}  // namespace graphnet
