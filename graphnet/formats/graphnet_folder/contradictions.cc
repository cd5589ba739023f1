#include "graphnet/formats/graphnet_folder/contradictions.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/file.h"
#include "graphnet/base/json.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/graphnet_folder/record_places.h"

namespace graphnet {
namespace {

constexpr char kJsonFile[] = "graph_net.json";

double Number(const Argument& bound) {
  return bound.is_int() ? static_cast<double>(bound.integer()) : bound.real();
}

// Returns pairs of a field's name in weight_meta.py and what is wrong with its value.
std::vector<std::pair<std::string, std::string>> WrongFields(const DrawSpec& spec) {
  std::vector<std::pair<std::string, std::string>> wrong;
  const bool has_min = !spec.min.is_none(), has_max = !spec.max.is_none();
  const double min = has_min ? Number(spec.min) : 0, max = has_max ? Number(spec.max) : 0;
  if (has_min && std::isnan(min)) wrong.emplace_back("min_val", "is nan");
  if (has_max && std::isnan(max)) wrong.emplace_back("max_val", "is nan");
  if (has_min && has_max && min > max)
    wrong.emplace_back("min_val", absl::StrCat(min, " is above max_val ", max));
  if (spec.has_mean && std::isnan(spec.mean)) wrong.emplace_back("mean", "is nan");
  if (spec.has_std && spec.std < 0)
    wrong.emplace_back("std", absl::StrCat(spec.std, " is negative"));
  if (spec.has_std && std::isinf(spec.std) && spec.std > 0)
    wrong.emplace_back("std", "is infinite");
  return wrong;
}

// Returns the lines, from 1, of the keys of the outermost object in a JSON text. Each key is
// spelled as in the text, with its quotes.
absl::flat_hash_map<absl::string_view, size_t> LinesOfKeys(absl::string_view text) {
  absl::flat_hash_map<absl::string_view, size_t> lines;
  size_t line = 1;
  int64_t depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    line += c == '\n' ? 1 : 0;
    depth += c == '{' || c == '[' ? 1 : c == '}' || c == ']' ? -1 : 0;
    if (c != '"') continue;
    const size_t begin = i++;
    while (i < text.size() && text[i] != '"') i += text[i] == '\\' ? 2 : 1;
    if (i >= text.size()) break;
    const size_t next = text.find_first_not_of(" \t\r\n", i + 1);
    if (depth == 1 && next != text.npos && text[next] == ':') {
      lines.try_emplace(text.substr(begin, i + 1 - begin), line);
    }
  }
  return lines;
}

// The records of weight_meta.py or input_meta.py. They are read when they are first needed.
class RecordFile {
 public:
  explicit RecordFile(std::string name) : name_(std::move(name)) {}

  // Returns the place of a field, such as "weight_meta.py:12: ".
  absl::StatusOr<std::string> PlaceOf(const std::string& folder, absl::string_view tensor,
                                      absl::string_view field) {
    if (!is_read_) {
      is_read_ = true;
      const std::string path = JoinPath(folder, name_);
      ASSIGN_OR_RETURN(text_, ReadFile(path, kMaxTextFileBytes));
      ASSIGN_OR_RETURN(const std::vector<RecordPlace> records, FindRecords(text_, path));
      for (const RecordPlace& record : records) records_.emplace(record.name, record);
    }
    const auto it = records_.find(tensor);
    const FieldPlace* const place = it == records_.end() ? nullptr : it->second.Find(field);
    if (place == nullptr) return absl::StrCat(name_, ": ");
    return absl::StrCat(name_, ":", place->line, ": ");
  }

 private:
  std::string name_;
  bool is_read_ = false;
  std::string text_;
  absl::flat_hash_map<std::string, RecordPlace> records_;
};

// Returns the name of the type that the key's value must have; null if any type will do.
const char* TypeOf(absl::string_view key) {
  if (key == "dynamic") return "a boolean";
  if (key == "num_devices_required" || key == "num_nodes_required") return "an integer";
  if (key == "framework" || key == "model_name" || key == "source" || key == "heuristic_tag" ||
      key == "symbolic_dimension_reifier") {
    return "a string";
  }
  if (absl::EndsWith(key, "_passes")) return "a list of strings";
  return nullptr;
}

bool HasType(const Json& value, absl::string_view type) {
  if (type == "a boolean") return value.To<bool>().has_value();
  if (type == "an integer") return value.To<int64_t>() || value.To<uint64_t>();
  if (type == "a string") return value.text() != nullptr;
  return value.To<std::vector<std::string>>().has_value();
}

}  // namespace

absl::StatusOr<std::vector<std::string>> FindContradictions(const Sample& sample,
                                                            const std::string& folder) {
  std::vector<std::string> findings;
  RecordFile weights("weight_meta.py");
  RecordFile inputs("input_meta.py");
  const auto check = [&](absl::string_view name, const DrawSpec* spec) -> absl::Status {
    if (spec == nullptr) return absl::OkStatus();
    for (const auto& [field, what] : WrongFields(*spec)) {
      std::string place;
      if (!folder.empty()) {
        RecordFile& file = spec->in_input_meta ? inputs : weights;
        ASSIGN_OR_RETURN(place, file.PlaceOf(folder, name, field));
      }
      findings.push_back(absl::StrCat(place, Printable(name), ": ", field, " ", what));
    }
    return absl::OkStatus();
  };
  for (const Node* node : sample.module->main()->placeholders())
    RETURN_IF_ERROR(check(node->target(), node->draw_spec()));
  for (const Attribute& attribute : sample.module->attributes())
    RETURN_IF_ERROR(check(attribute.name, attribute.draw_spec));
  const Json json = Json::Parse(sample.graph_net_json);
  absl::flat_hash_map<absl::string_view, size_t> lines;
  for (const auto& [key, value] : json.members()) {
    const char* type = TypeOf(key);
    if (type == nullptr || HasType(value, type)) continue;
    if (lines.empty()) lines = LinesOfKeys(sample.graph_net_json);
    const auto line = lines.find(Json(key).Dump(-1));  // not found if the text has escapes in it
    findings.push_back(absl::StrCat(kJsonFile, ":", line == lines.end() ? 1 : line->second, ": ",
                                    Printable(key), ": expected ", type, ", found ",
                                    value.type_name()));
  }
  return findings;
}

}  // namespace graphnet
