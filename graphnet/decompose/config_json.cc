// The JSON form of DecomposeConfig.
#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/decompose/config.h"
#include "graphnet/formats/graphnet_folder/json_object.h"
#include "nlohmann/json.hpp"

namespace graphnet {
namespace {

constexpr int64_t kVersion = 2;
constexpr const char* kNumberKeys[] = {"size", "pieces", "depth"};

// --- Reading -------------------------------------------------------------------

using Json = nlohmann::json;

// `path` is the path of keys to the value, such as subgraphs[3].name.
absl::Status Wrong(const std::string& path, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(path, path.empty() ? "" : ": ", what));
}

struct Field {
  std::string key;
  std::function<absl::Status(const Json& json, const std::string& path)> read;
};

absl::Status ReadFields(const Json& json, const std::string& path,
                        const std::vector<Field>& fields) {
  if (!json.is_object()) return Wrong(path, "expected an object");
  for (const auto& [key, value] : json.items()) {
    const std::string below = absl::StrCat(path, path.empty() ? "" : ".", Printable(key));
    const auto field = absl::c_find_if(fields, [&](const Field& f) { return f.key == key; });
    if (field == fields.end()) return Wrong(below, "unknown key");
    RETURN_IF_ERROR(field->read(value, below));
  }
  return absl::OkStatus();
}

absl::Status Read(const Json& json, const std::string& path, int64_t* out) {
  if (!json.is_number_integer()) return Wrong(path, "expected an integer");
  *out = json.get<int64_t>();
  return json.is_number_unsigned() && *out < 0 ? Wrong(path, "the number is too large")
                                               : absl::OkStatus();
}

absl::Status Read(const Json& json, const std::string& path, bool* out) {
  if (!json.is_boolean()) return Wrong(path, "expected true or false");
  *out = json.get<bool>();
  return absl::OkStatus();
}

absl::Status Read(const Json& json, const std::string& path, std::string* out) {
  if (!json.is_string()) return Wrong(path, "expected a string");
  *out = json.get<std::string>();
  return absl::OkStatus();
}

absl::Status Read(const Json& json, const std::string& path, Range* out) {
  if (!json.is_array() || json.size() != 2) return Wrong(path, "expected a list of two numbers");
  RETURN_IF_ERROR(Read(json[0], path, &out->start));
  return Read(json[1], path, &out->end);
}

absl::Status Read(const Json& json, const std::string& path, ValueRange* out);
absl::Status Read(const Json& json, const std::string& path, SubgraphConfig* out);

template <typename T>
absl::Status Read(const Json& json, const std::string& path, std::vector<T>* out) {
  if (!json.is_array()) return Wrong(path, "expected a list");
  for (size_t i = 0; i < json.size(); ++i) {
    RETURN_IF_ERROR(Read(json[i], absl::StrCat(path, "[", i, "]"), &out->emplace_back()));
  }
  return absl::OkStatus();
}

template <typename T>
Field To(const char* key, T* out) {
  return {key, [out](const Json& json, const std::string& path) { return Read(json, path, out); }};
}

absl::Status Read(const Json& json, const std::string& path, ValueRange* out) {
  return ReadFields(json, path, {To("inputs", &out->inputs), To("outputs", &out->outputs)});
}

absl::Status Read(const Json& json, const std::string& path, SubgraphConfig* out) {
  int64_t num_ops = -1;
  RETURN_IF_ERROR(
      ReadFields(json, path,
                 {To("name", &out->name), To("start", &out->range.start),
                  To("end", &out->range.end), To("num_ops", &num_ops), To("inputs", &out->inputs),
                  To("outputs", &out->outputs), To("drops", &out->drops), To("adds", &out->adds)}));
  // Unsigned, since neither end has been checked yet and the difference could overflow.
  if (static_cast<uint64_t>(num_ops) !=
      static_cast<uint64_t>(out->range.end) - static_cast<uint64_t>(out->range.start)) {
    return Wrong(path, "\"num_ops\" is missing or not \"end\" less \"start\"");
  }
  return absl::OkStatus();
}

// Refuses duplicate keys while it parses, since the parser would keep only the last value.
absl::StatusOr<Json> ParseWithoutDoubles(absl::string_view text) {
  std::vector<std::set<std::string>> open;
  std::optional<std::string> twice;
  Json parsed = Json::parse(text, [&](int, Json::parse_event_t event, const Json& value) {
    if (event == Json::parse_event_t::object_start) open.emplace_back();
    if (event == Json::parse_event_t::object_end) open.pop_back();
    if (event == Json::parse_event_t::key && !open.back().insert(value.get<std::string>()).second)
      twice = value.get<std::string>();
    return true;
  });
  if (!twice.has_value()) return parsed;
  return Wrong("", absl::StrCat("the key ", Printable(*twice), " is a duplicate"));
}

absl::StatusOr<DecomposeConfig> ReadConfig(absl::string_view text) {
  ASSIGN_OR_RETURN(const Json json, ParseWithoutDoubles(text));
  DecomposeConfig config;
  int64_t version = 0;
  int64_t num_subgraphs = 0;
  std::string mode_name;
  bool chain = false;
  std::vector<Field> fields = {To("version", &version),
                               To("mode", &mode_name),
                               To("split_positions", &config.split_positions),
                               To("subgraph_ranges", &config.subgraph_ranges),
                               To("values", &config.values),
                               To("chain_style", &chain),
                               To("group_head_and_tail", &config.group_head_and_tail),
                               To("use_all_inputs", &config.cut.all_inputs),
                               To("model_name", &config.model_name),
                               To("parent_hash", &config.parent_hash),
                               To("num_ops", &config.num_ops),
                               To("num_subgraphs", &num_subgraphs),
                               To("subgraphs", &config.subgraphs)};
  for (const char* key : kNumberKeys) fields.push_back(To(key, &config.number));
  RETURN_IF_ERROR(ReadFields(json, "", fields));
  for (const char* key : {"version", "mode"}) {
    if (!json.contains(key)) return Wrong(key, "the key is missing");
  }
  if (version != kVersion) return Wrong("version", absl::StrCat("expected ", kVersion));
  const std::optional<DecomposeMode> mode = ParseDecomposeMode(mode_name);
  if (!mode) return Wrong("mode", absl::StrCat("unknown mode ", Printable(mode_name)));
  config.mode = *mode;
  config.cut.style = chain ? Style::kChain : Style::kDag;
  for (const char* key : kNumberKeys) {
    if (json.contains(key) && key != ModeKey(config.mode))
      return Wrong(key, absl::StrCat("mode ", mode_name, " takes none"));
  }
  if (json.contains("num_subgraphs") &&
      num_subgraphs != static_cast<int64_t>(config.subgraphs.size())) {
    return Wrong("num_subgraphs", absl::StrCat(num_subgraphs, ", but there are ",
                                               config.subgraphs.size(), " subgraphs"));
  }
  if (const std::string wrong = WhatIsWrong(config); !wrong.empty()) return Wrong("", wrong);
  return config;
}

// --- Writing -------------------------------------------------------------------

using OrderedJson = nlohmann::ordered_json;

// Writes JSON on one line with blanks after separators, as Python does.
std::string OneLine(const OrderedJson& json) {
  if (!json.is_structured()) return json.dump();
  std::string out;
  for (const auto& [key, value] : json.items()) {
    absl::StrAppend(&out, out.empty() ? "" : ", ",
                    json.is_object() ? absl::StrCat(OrderedJson(key).dump(), ": ") : "",
                    OneLine(value));
  }
  return json.is_object() ? absl::StrCat("{", out, "}") : absl::StrCat("[", out, "]");
}

OrderedJson ToJson(const DecomposeConfig& config) {
  OrderedJson json = {{"version", kVersion}, {"mode", std::string(DecomposeModeName(config.mode))}};
  const std::string key(ModeKey(config.mode));
  if (config.mode == DecomposeMode::kPositions) {
    json[key] = config.split_positions;
  } else if (config.mode == DecomposeMode::kRanges) {
    for (const Range& range : config.subgraph_ranges) json[key].push_back({range.start, range.end});
  } else if (config.mode == DecomposeMode::kValues) {
    for (const ValueRange& values : config.values)
      json[key].push_back({{"inputs", values.inputs}, {"outputs", values.outputs}});
  } else if (!key.empty()) {
    json[key] = config.number;
  }
  json["chain_style"] = config.cut.style == Style::kChain;
  json["group_head_and_tail"] = config.group_head_and_tail;
  json["use_all_inputs"] = config.cut.all_inputs;
  if (!config.is_done()) return json;
  json["model_name"] = config.model_name;
  json["parent_hash"] = config.parent_hash;
  json["num_ops"] = config.num_ops;
  json["num_subgraphs"] = config.subgraphs.size();
  const bool chain = config.cut.style == Style::kChain;
  for (const SubgraphConfig& subgraph : config.subgraphs) {
    const Range& range = subgraph.range;
    OrderedJson object = {{"name", subgraph.name},
                          {"start", range.start},
                          {"end", range.end},
                          {"num_ops", range.end - range.start}};
    if (!chain || &subgraph == &config.subgraphs.front()) object["inputs"] = subgraph.inputs;
    if (!chain || &subgraph == &config.subgraphs.back()) {
      object["outputs"] = subgraph.outputs;
    } else {
      object["drops"] = subgraph.drops;
      object["adds"] = subgraph.adds;
    }
    json["subgraphs"].push_back(std::move(object));
  }
  return json;
}

}  // namespace

absl::StatusOr<std::string> WriteDecomposeConfigJson(const DecomposeConfig& config) {
  const OrderedJson json = ToJson(config);
  std::string out;
  try {
    for (const auto& [key, value] : json.items()) {
      absl::StrAppend(&out, out.empty() ? "{\n  \"" : ",\n  \"", key, "\": ");
      if (key != "subgraphs") {
        absl::StrAppend(&out, OneLine(value));
        continue;
      }
      for (size_t i = 0; i < value.size(); ++i)
        absl::StrAppend(&out, i == 0 ? "[\n    " : ",\n    ", OneLine(value[i]));
      absl::StrAppend(&out, "\n  ]");
    }
  } catch (const nlohmann::json::exception&) {
    return absl::UnimplementedError(
        "a name is not UTF-8, which JSON requires; use the protobuf form");
  }
  return absl::StrCat(out, "\n}\n");
}

absl::StatusOr<DecomposeConfig> ParseDecomposeConfigJson(absl::string_view text,
                                                         absl::string_view file_name) {
  RETURN_IF_ERROR(CheckJsonObject(std::string(text), file_name));
  absl::StatusOr<DecomposeConfig> config = ReadConfig(text);
  if (!config.ok()) return ErrorAt(file_name, 0, 0, config.status().message());
  return config;
}

}  // namespace graphnet
