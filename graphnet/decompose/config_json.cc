// The JSON form of DecomposeConfig.
#include <cstddef>
#include <functional>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graphnet/base/json.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/base/utf8.h"
#include "graphnet/decompose/config.h"

namespace graphnet {
namespace {

constexpr int64_t kVersion = 2;
constexpr const char* kNumberKeys[] = {"size", "pieces", "depth"};

// --- Reading -------------------------------------------------------------------

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
  for (const auto& [key, value] : json.members()) {
    const std::string below = absl::StrCat(path, path.empty() ? "" : ".", Printable(key));
    const auto field = absl::c_find_if(fields, [&](const Field& f) { return f.key == key; });
    if (field == fields.end()) return Wrong(below, "unknown key");
    RETURN_IF_ERROR(field->read(value, below));
  }
  return absl::OkStatus();
}

absl::Status Read(const Json& json, const std::string& path, int64_t* out) {
  const auto value = json.To<int64_t>();
  if (!value)
    return Wrong(path, json.To<uint64_t>() ? "the number is too large" : "expected an integer");
  *out = *value;
  return absl::OkStatus();
}

absl::Status Read(const Json& json, const std::string& path, bool* out) {
  const auto value = json.To<bool>();
  if (!value) return Wrong(path, "expected true or false");
  *out = *value;
  return absl::OkStatus();
}

absl::Status Read(const Json& json, const std::string& path, std::string* out) {
  if (json.text() == nullptr) return Wrong(path, "expected a string");
  *out = *json.text();
  return absl::OkStatus();
}

absl::Status Read(const Json& json, const std::string& path, Range* out) {
  if (json.elements().size() != 2) return Wrong(path, "expected a list of two numbers");
  RETURN_IF_ERROR(Read(json.elements()[0], path, &out->start));
  return Read(json.elements()[1], path, &out->end);
}

absl::Status Read(const Json& json, const std::string& path, ValueRange* out);
absl::Status Read(const Json& json, const std::string& path, SubgraphConfig* out);

template <typename T>
absl::Status Read(const Json& json, const std::string& path, std::vector<T>* out) {
  if (!json.is_list()) return Wrong(path, "expected a list");
  for (const Json& element : json.elements()) {
    const std::string place = absl::StrCat(path, "[", out->size(), "]");
    RETURN_IF_ERROR(Read(element, place, &out->emplace_back()));
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

absl::StatusOr<DecomposeConfig> ReadConfig(const Json& json) {
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
    if (json.Find(key) == nullptr) return Wrong(key, "the key is missing");
  }
  if (version != kVersion) return Wrong("version", absl::StrCat("expected ", kVersion));
  const std::optional<DecomposeMode> mode = ParseDecomposeMode(mode_name);
  if (!mode) return Wrong("mode", absl::StrCat("unknown mode ", Printable(mode_name)));
  config.mode = *mode;
  config.cut.style = chain ? Style::kChain : Style::kDag;
  for (const char* key : kNumberKeys) {
    if (json.Find(key) != nullptr && key != ModeKey(config.mode))
      return Wrong(key, absl::StrCat("mode ", mode_name, " takes none"));
  }
  if (json.Find("num_subgraphs") != nullptr &&
      num_subgraphs != static_cast<int64_t>(config.subgraphs.size())) {
    return Wrong("num_subgraphs", absl::StrCat(num_subgraphs, ", but there are ",
                                               config.subgraphs.size(), " subgraphs"));
  }
  if (const std::string wrong = WhatIsWrong(config); !wrong.empty()) return Wrong("", wrong);
  return config;
}

// --- Writing -------------------------------------------------------------------

// Writes JSON on one line with blanks after separators, as Python does. Sets `is_utf8` to false if a
// text is not.
std::string OneLine(const Json& json, bool* is_utf8) {
  if (json.text() != nullptr) *is_utf8 &= IsUtf8(*json.text());
  if (!json.is_list() && !json.is_object()) return json.Dump(-1);
  std::vector<std::string> parts;
  for (const Json& element : json.elements()) parts.push_back(OneLine(element, is_utf8));
  for (const auto& [key, value] : json.members())
    parts.push_back(absl::StrCat(Json(key).Dump(-1), ": ", OneLine(value, is_utf8)));
  const std::string all = absl::StrJoin(parts, ", ");
  return json.is_list() ? absl::StrCat("[", all, "]") : absl::StrCat("{", all, "}");
}

Json ToJson(const DecomposeConfig& config) {
  Json json = Json::Object({{"version", kVersion}, {"mode", DecomposeModeName(config.mode)}});
  const std::string key(ModeKey(config.mode));
  if (config.mode == DecomposeMode::kPositions) {
    json[key] = config.split_positions;
  } else if (config.mode == DecomposeMode::kRanges) {
    for (const Range& range : config.subgraph_ranges)
      json[key].push_back(std::vector{range.start, range.end});
  } else if (config.mode == DecomposeMode::kValues) {
    for (const ValueRange& values : config.values)
      json[key].push_back(Json::Object({{"inputs", values.inputs}, {"outputs", values.outputs}}));
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
    Json object = Json::Object({{"name", subgraph.name},
                                {"start", range.start},
                                {"end", range.end},
                                {"num_ops", range.end - range.start}});
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
  const Json json = ToJson(config);
  std::string out;
  bool is_utf8 = true;
  for (const auto& [key, value] : json.members()) {
    absl::StrAppend(&out, out.empty() ? "{\n  \"" : ",\n  \"", key, "\": ");
    if (key != "subgraphs") {
      absl::StrAppend(&out, OneLine(value, &is_utf8));
      continue;
    }
    const char* before = "[\n    ";
    for (const Json& subgraph : value.elements()) {
      absl::StrAppend(&out, before, OneLine(subgraph, &is_utf8));
      before = ",\n    ";
    }
    absl::StrAppend(&out, "\n  ]");
  }
  if (!is_utf8) {
    return absl::UnimplementedError(
        "a name is not UTF-8, which JSON requires; use the protobuf form");
  }
  return absl::StrCat(out, "\n}\n");
}

absl::StatusOr<DecomposeConfig> ParseDecomposeConfigJson(absl::string_view text,
                                                         absl::string_view file_name) {
  ASSIGN_OR_RETURN(const Json json, Json::ParseObject(text, file_name, kMaxJsonDepth,
                                                      /*refuses_doubles=*/true));
  absl::StatusOr<DecomposeConfig> config = ReadConfig(json);
  if (!config.ok()) return ErrorAt(file_name, 0, 0, config.status().message());
  return config;
}

}  // namespace graphnet
