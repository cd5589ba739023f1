#include "graphnet/decompose/config.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "graphnet/base/file.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/decompose/config.pb.h"
#include "graphnet/decompose/config_check.h"

namespace graphnet {
namespace {

constexpr char kMagic[] = "graphnet-decompose";
constexpr uint32_t kVersion = 1;

struct ModeName {
  DecomposeMode mode;
  absl::string_view name;
};
constexpr ModeName kModes[] = {
    {DecomposeMode::kPositions, "positions"},  {DecomposeMode::kRanges, "ranges"},
    {DecomposeMode::kFixedSize, "fixed_size"}, {DecomposeMode::kEqual, "equal"},
    {DecomposeMode::kSingleOp, "single_op"},   {DecomposeMode::kBalanced, "balanced"},
    {DecomposeMode::kBlocks, "blocks"},        {DecomposeMode::kModulePath, "module_path"},
    {DecomposeMode::kValues, "values"},
};

template <typename Strings>
std::vector<std::string> ToVector(const Strings& strings) {
  return std::vector<std::string>(strings.begin(), strings.end());
}

}  // namespace

absl::string_view DecomposeModeName(DecomposeMode mode) {
  for (const ModeName& entry : kModes) {
    if (entry.mode == mode) return entry.name;
  }
  return "unknown";
}

std::optional<DecomposeMode> ParseDecomposeMode(absl::string_view name) {
  for (const ModeName& entry : kModes) {
    if (entry.name == name) return entry.mode;
  }
  return std::nullopt;
}

bool operator==(const DecomposeConfig& a, const DecomposeConfig& b) {
  return a.mode == b.mode && a.split_positions == b.split_positions &&
         a.subgraph_ranges == b.subgraph_ranges && a.values == b.values && a.number == b.number &&
         a.cut.style == b.cut.style && a.cut.all_inputs == b.cut.all_inputs &&
         a.group_head_and_tail == b.group_head_and_tail && a.model_name == b.model_name &&
         a.parent_hash == b.parent_hash && a.num_ops == b.num_ops && a.subgraphs == b.subgraphs;
}

std::string SerializeDecomposeConfig(const DecomposeConfig& config) {
  proto::DecomposeConfig out;
  out.set_magic(kMagic);
  out.set_version(kVersion);
  out.set_mode(static_cast<proto::DecomposeConfig::Mode>(config.mode));
  for (const int64_t position : config.split_positions) out.add_split_positions(position);
  for (const Range& range : config.subgraph_ranges) {
    proto::DecomposeRange* to = out.add_subgraph_ranges();
    to->set_start(range.start);
    to->set_end(range.end);
  }
  for (const ValueRange& values : config.values) {
    proto::DecomposeValues* to = out.add_values();
    for (const std::string& name : values.inputs) to->add_inputs(name);
    for (const std::string& name : values.outputs) to->add_outputs(name);
  }
  out.set_number(config.number);
  out.set_chain_style(config.cut.style == Style::kChain);
  out.set_group_head_and_tail(config.group_head_and_tail);
  out.set_use_all_inputs(config.cut.all_inputs);
  out.set_model_name(config.model_name);
  out.set_parent_hash(config.parent_hash);
  out.set_num_ops(config.num_ops);
  for (const SubgraphConfig& subgraph : config.subgraphs) {
    proto::DecomposeSubgraph* to = out.add_subgraphs();
    to->set_name(subgraph.name);
    to->set_start(subgraph.range.start);
    to->set_end(subgraph.range.end);
    for (const std::string& name : subgraph.inputs) to->add_inputs(name);
    for (const std::string& name : subgraph.outputs) to->add_outputs(name);
  }
  return out.SerializeAsString();
}

absl::StatusOr<DecomposeConfig> DeserializeDecomposeConfig(absl::string_view bytes,
                                                           absl::string_view file_name) {
  const auto error = [&](absl::string_view what) { return ErrorAt(file_name, 0, 0, what); };
  proto::DecomposeConfig in;
  if (bytes.size() > kMaxTextFileBytes ||
      !in.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) || in.magic() != kMagic) {
    return error("not the configuration of a decomposition");
  }
  if (in.version() != kVersion) {
    return error(absl::StrCat("version ", in.version(), " is not the one that this program knows, ",
                              kVersion));
  }
  DecomposeConfig config;
  config.mode = static_cast<DecomposeMode>(in.mode());
  if (DecomposeModeName(config.mode) == "unknown")
    return error(absl::StrCat("mode ", in.mode(), " is unknown"));
  config.split_positions.assign(in.split_positions().begin(), in.split_positions().end());
  for (const proto::DecomposeRange& range : in.subgraph_ranges()) {
    config.subgraph_ranges.push_back({range.start(), range.end()});
  }
  for (const proto::DecomposeValues& values : in.values()) {
    config.values.push_back({ToVector(values.inputs()), ToVector(values.outputs())});
  }
  config.number = in.number();
  config.cut.style = in.chain_style() ? Style::kChain : Style::kDag;
  config.cut.all_inputs = in.use_all_inputs();
  config.group_head_and_tail = in.group_head_and_tail();
  config.model_name = in.model_name();
  config.parent_hash = in.parent_hash();
  config.num_ops = in.num_ops();
  for (const proto::DecomposeSubgraph& subgraph : in.subgraphs()) {
    config.subgraphs.push_back({subgraph.name(), Range{subgraph.start(), subgraph.end()},
                                ToVector(subgraph.inputs()), ToVector(subgraph.outputs())});
  }
  if (const std::string wrong = config_internal::WhatIsWrong(config); !wrong.empty())
    return error(wrong);
  // Nothing that a reader does not know, and nothing twice.
  if (SerializeDecomposeConfig(config) != bytes)
    return error("holds fields that this program does not know");
  return config;
}

absl::StatusOr<DecomposeConfig> ReadDecomposeConfig(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string content, ReadFile(path, kMaxTextFileBytes));
  // A tag of protobuf, which no JSON begins with (but for a line feed before it).
  const bool is_proto = content.size() > 1 && content[0] == '\n' && content[1] == sizeof kMagic - 1;
  return is_proto ? DeserializeDecomposeConfig(content, path)
                  : ParseDecomposeConfigJson(content, path);
}

}  // namespace graphnet
