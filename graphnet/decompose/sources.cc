#include "graphnet/decompose/sources.h"

#include <cstdint>
#include <filesystem>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graphnet/base/file.h"
#include "graphnet/base/json.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/formats.h"

namespace graphnet {
namespace {

constexpr char kPythonFolder[] = "_decomposed";

void AddRange(const Range& range, std::vector<Range>* ranges) {
  const auto before = [](const Range& a, const Range& b) {
    return a.start != b.start ? a.start < b.start : a.end < b.end;
  };
  const auto place = absl::c_lower_bound(*ranges, range, before);
  if (place == ranges->end() || !(*place == range)) ranges->insert(place, range);
}

// Returns the path of the original of a piece, as its name tells; empty if it does not.
std::string OriginalPath(absl::string_view name) {
  const std::filesystem::path folder = std::filesystem::path(std::string(name)).parent_path();
  const std::string last = folder.filename().string();
  if (last == kPythonFolder) return folder.parent_path().string();
  absl::string_view original = last;
  if (!absl::ConsumeSuffix(&original, kPythonFolder) || original.empty()) return "";
  return (folder.parent_path() / std::string(original)).string();
}

}  // namespace

absl::StatusOr<SubgraphSources> ParseSubgraphSources(absl::string_view text,
                                                     absl::string_view file) {
  ASSIGN_OR_RETURN(const Json json, Json::ParseObject(text, file));
  SubgraphSources sources;
  for (const auto& [original, value] : json.members()) {
    const auto ranges = value.To<std::vector<std::vector<int64_t>>>();
    const auto refuse = [&](absl::string_view why) {
      return absl::InvalidArgumentError(
          absl::StrCat(file, ": ", Printable(original, 1000), ": ", why));
    };
    if (!ranges.has_value()) return refuse("its ranges are not a list of pairs [start, end]");
    for (const std::vector<int64_t>& range : *ranges) {
      if (range.size() != 2) return refuse("a range is not a pair [start, end]");
      if (range[0] < 0 || range[1] <= range[0]) {
        return refuse(absl::StrCat("[", range[0], ", ", range[1], ") is not a range of operators"));
      }
      AddRange({range[0], range[1]}, &sources[original]);
    }
  }
  return sources;
}

std::string SubgraphSourcesText(const SubgraphSources& sources) {
  Json json = Json::Object();
  for (const auto& [original, ranges] : sources) {
    Json& list = json[original] = Json::List();
    for (const Range& range : ranges) list.push_back(std::vector{range.start, range.end});
  }
  return json.Dump(4);
}

SubgraphSources ProvenanceOf(const Sample& sample) {
  SubgraphSources sources;
  for (const Provenance& from : sample.provenance)
    AddRange({from.start, from.end}, &sources[from.parent]);
  return sources;
}

absl::StatusOr<SubgraphSources> SourcesOf(const Sample& sample, absl::string_view path,
                                          absl::string_view name) {
  SubgraphSources sources;
  const auto kept = sample.extra_files.find(kSubgraphSources);
  const std::string beside = absl::StrCat(WithoutEnding(path), ".", kSubgraphSources);
  if (kept != sample.extra_files.end()) {
    ASSIGN_OR_RETURN(sources, ParseSubgraphSources(kept->second, JoinPath(path, kSubgraphSources)));
  } else if (FileExists(beside)) {
    ASSIGN_OR_RETURN(const std::string text, ReadFile(beside, kMaxTextFileBytes));
    ASSIGN_OR_RETURN(sources, ParseSubgraphSources(text, beside));
  } else {
    sources = ProvenanceOf(sample);
  }
  const std::string original = OriginalPath(name);
  if (original.empty()) return sources;
  const std::string name_of_original = BaseName(original);
  const auto named = absl::c_find_if(sources, [&](const auto& source) {
    return source.first == name_of_original || WithoutEnding(source.first) == name_of_original;
  });
  if (named == sources.end() || named->first == original) return sources;
  const std::vector<Range> ranges = named->second;
  sources.erase(named);
  MergeSources({{original, ranges}}, &sources);
  return sources;
}

void MergeSources(const SubgraphSources& from, SubgraphSources* into) {
  for (const auto& [original, ranges] : from) {
    for (const Range& range : ranges) AddRange(range, &(*into)[original]);
  }
}

}  // namespace graphnet
