#include "graphnet/decompose/config.h"

#include <cstddef>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/file.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/decompose/config.pb.h"

namespace graphnet {
namespace {

constexpr char kMagic[] = "graphnet-decompose";
constexpr uint32_t kVersion = 2;

struct Mode {
  DecomposeMode mode;
  absl::string_view name;
  absl::string_view key;  // the JSON key of its argument
};
constexpr Mode kModes[] = {
    {DecomposeMode::kPositions, "positions", "split_positions"},
    {DecomposeMode::kRanges, "ranges", "subgraph_ranges"},
    {DecomposeMode::kFixedSize, "fixed_size", "size"},
    {DecomposeMode::kEqual, "equal", "pieces"},
    {DecomposeMode::kSingleOp, "single_op", ""},
    {DecomposeMode::kBalanced, "balanced", "pieces"},
    {DecomposeMode::kBlocks, "blocks", ""},
    {DecomposeMode::kModulePath, "module_path", "depth"},
    {DecomposeMode::kValues, "values", "values"},
};

// Copies between a vector and a repeated field.
template <typename To, typename From>
To Copy(const From& from) {
  return To(from.begin(), from.end());
}
using Names = std::vector<std::string>;
using ProtoNames = google::protobuf::RepeatedPtrField<std::string>;

// Checks that each subgraph has the lists of ports that its position allows, and that it drops
// values that it takes, in their order. Linear in the size of the configuration.
std::string WhatIsWrongWithPorts(const DecomposeConfig& config) {
  const bool chain = config.cut.style == Style::kChain;
  absl::flat_hash_map<absl::string_view, size_t> passed_on;  // to the position in the order
  size_t count = 0;
  const auto add = [&](const Names& names) {
    for (const std::string& name : names) passed_on.try_emplace(name, count++);
  };
  for (size_t i = 0; i < config.subgraphs.size(); ++i) {
    const SubgraphConfig& subgraph = config.subgraphs[i];
    const bool last = i + 1 == config.subgraphs.size();
    const auto has = [&](const char* what, const char* why) {
      return absl::StrCat("subgraph ", i, " has \"", what, "\", ", why);
    };
    if (!subgraph.inputs.empty() && chain && i > 0)
      return has("inputs", "but takes what the one before it returns");
    if (!subgraph.outputs.empty() && chain && !last)
      return has("outputs",
                 "but returns its inputs without what it \"drops\", and what it \"adds\"");
    if (!(subgraph.drops.empty() && subgraph.adds.empty()) && (!chain || last))
      return has(subgraph.drops.empty() ? "adds" : "drops", "but its outputs are listed");
    if (!chain) continue;
    add(subgraph.inputs);
    size_t at = 0;
    for (const std::string& name : subgraph.drops) {
      const auto it = passed_on.find(name);
      if (it == passed_on.end() || it->second < at) {
        return absl::StrCat("subgraph ", i, " drops ", Printable(name),
                            it == passed_on.end() ? ", which it does not take"
                                                  : ", which comes before another that it drops");
      }
      at = it->second;
      passed_on.erase(it);
    }
    add(subgraph.adds);
  }
  return "";
}

}  // namespace

absl::string_view DecomposeModeName(DecomposeMode mode) {
  for (const Mode& entry : kModes) {
    if (entry.mode == mode) return entry.name;
  }
  return "unknown";
}

std::optional<DecomposeMode> ParseDecomposeMode(absl::string_view name) {
  for (const Mode& entry : kModes) {
    if (entry.name == name) return entry.mode;
  }
  return std::nullopt;
}

absl::string_view ModeKey(DecomposeMode mode) {
  for (const Mode& entry : kModes) {
    if (entry.mode == mode) return entry.key;
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
  if (config.parent_hash.size() != 64) return "\"parent_hash\" must have 64 digits";
  if (config.subgraphs.empty()) return "a decomposition that has been made needs \"subgraphs\"";
  for (size_t i = 0; i < config.subgraphs.size(); ++i) {
    const SubgraphConfig& subgraph = config.subgraphs[i];
    if (subgraph.name != absl::StrCat("subgraph_", i)) {
      return absl::StrCat("subgraph ", i, " is called ", Printable(subgraph.name),
                          ", not subgraph_", i);
    }
    if (subgraph.range.start < 0 || subgraph.range.end < subgraph.range.start ||
        subgraph.range.end > config.num_ops) {
      return absl::StrCat("subgraph ", i, " is not a range of the ", config.num_ops, " operators");
    }
  }
  return WhatIsWrongWithPorts(config);
}

void PortNames::Next() {
  const SubgraphConfig& subgraph = config_.subgraphs[next_++];
  const bool chain = config_.cut.style == Style::kChain;
  if (chain && next_ > 1) {
    std::swap(inputs_, outputs_);
  } else {
    inputs_.assign(subgraph.inputs.begin(), subgraph.inputs.end());
  }
  if (!chain || next_ == config_.subgraphs.size()) {
    outputs_.assign(subgraph.outputs.begin(), subgraph.outputs.end());
    return;
  }
  outputs_.clear();
  auto drop = subgraph.drops.begin();
  for (const absl::string_view name : inputs_) {
    if (drop != subgraph.drops.end() && *drop == name) {
      ++drop;
    } else {
      outputs_.push_back(name);
    }
  }
  outputs_.insert(outputs_.end(), subgraph.adds.begin(), subgraph.adds.end());
}

std::string SerializeDecomposeConfig(const DecomposeConfig& config) {
  proto::DecomposeConfig out;
  out.set_magic(kMagic);
  out.set_version(kVersion);
  out.set_mode(static_cast<proto::DecomposeConfig::Mode>(config.mode));
  out.mutable_split_positions()->Add(config.split_positions.begin(), config.split_positions.end());
  for (const Range& range : config.subgraph_ranges) {
    proto::DecomposeRange* to = out.add_subgraph_ranges();
    to->set_start(range.start);
    to->set_end(range.end);
  }
  for (const ValueRange& values : config.values) {
    proto::DecomposeValues* to = out.add_values();
    *to->mutable_inputs() = Copy<ProtoNames>(values.inputs);
    *to->mutable_outputs() = Copy<ProtoNames>(values.outputs);
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
    *to->mutable_inputs() = Copy<ProtoNames>(subgraph.inputs);
    *to->mutable_outputs() = Copy<ProtoNames>(subgraph.outputs);
    *to->mutable_drops() = Copy<ProtoNames>(subgraph.drops);
    *to->mutable_adds() = Copy<ProtoNames>(subgraph.adds);
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
    return error(
        absl::StrCat("version ", in.version(), " is not supported; expected version ", kVersion));
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
    config.values.push_back({Copy<Names>(values.inputs()), Copy<Names>(values.outputs())});
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
                                Copy<Names>(subgraph.inputs()), Copy<Names>(subgraph.outputs()),
                                Copy<Names>(subgraph.drops()), Copy<Names>(subgraph.adds())});
  }
  if (const std::string wrong = WhatIsWrong(config); !wrong.empty()) return error(wrong);
  // Refuses unknown and repeated fields.
  if (SerializeDecomposeConfig(config) != bytes)
    return error("holds fields that this program does not know");
  return config;
}

absl::StatusOr<DecomposeConfig> ReadDecomposeConfig(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string content, ReadFile(path, kMaxTextFileBytes));
  // Protobuf begins with this tag and the length of kMagic. JSON could have the line feed, but not
  // the length behind it.
  const bool is_proto = content.size() > 1 && content[0] == '\n' && content[1] == sizeof kMagic - 1;
  return is_proto ? DeserializeDecomposeConfig(content, path)
                  : ParseDecomposeConfigJson(content, path);
}

}  // namespace graphnet
