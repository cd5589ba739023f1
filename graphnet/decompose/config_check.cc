#include "graphnet/decompose/config_check.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"

namespace graphnet::config_internal {

absl::string_view ModeKey(DecomposeMode mode) {
  switch (mode) {
    case DecomposeMode::kPositions: return "split_positions";
    case DecomposeMode::kRanges: return "subgraph_ranges";
    case DecomposeMode::kFixedSize: return "size";
    case DecomposeMode::kEqual:
    case DecomposeMode::kBalanced: return "pieces";
    case DecomposeMode::kModulePath: return "depth";
    case DecomposeMode::kValues: return "values";
    case DecomposeMode::kSingleOp:
    case DecomposeMode::kBlocks: break;
  }
  return "";
}

std::string WhatIsWrong(const DecomposeConfig& config) {
  const absl::string_view key = ModeKey(config.mode);
  const bool takes_number = key == "size" || key == "pieces" || key == "depth";
  const auto differs = [&](bool has, absl::string_view name) { return has != (key == name); };
  if (differs(!config.split_positions.empty(), "split_positions") ||
      differs(!config.subgraph_ranges.empty(), "subgraph_ranges") ||
      differs(!config.values.empty(), "values")) {
    return absl::StrCat(
        "mode ", DecomposeModeName(config.mode), " needs ",
        key.empty() ? "no further key" : absl::StrCat("\"", key, "\" and no other"));
  }
  if (takes_number ? config.number < 1 : config.number != 0) {
    return takes_number ? absl::StrCat("\"", key, "\" must be at least 1")
                        : absl::StrCat("mode ", DecomposeModeName(config.mode), " takes no number");
  }
  if ((key == "pieces" || key == "depth") && config.number > kMaxNumber) {
    return absl::StrCat("\"", key, "\" must be at most ", kMaxNumber);
  }
  if (!config.is_done()) {
    return config.subgraphs.empty() && config.num_ops == 0 && config.model_name.empty()
               ? ""
               : "a decomposition that has been made needs its \"parent_hash\"";
  }
  if (config.parent_hash.size() != 64) return "\"parent_hash\" is not of 64 digits";
  if (config.subgraphs.empty()) return "a decomposition that has been made needs \"subgraphs\"";
  for (size_t i = 0; i < config.subgraphs.size(); ++i) {
    const SubgraphConfig& subgraph = config.subgraphs[i];
    if (subgraph.name != absl::StrCat("subgraph_", i)) {
      return absl::StrCat("subgraph ", i, " is called ", Printable(subgraph.name),
                          ", not subgraph_", i);
    }
    if (subgraph.range.start < 0 || subgraph.range.end < subgraph.range.start ||
        subgraph.range.end > config.num_ops) {
      return absl::StrCat("subgraph ", i, " is no range of the ", config.num_ops, " operators");
    }
  }
  return "";
}

}  // namespace graphnet::config_internal
