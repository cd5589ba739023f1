#include "graphnet/formats/graphnet_folder/json_object.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "nlohmann/json.hpp"

namespace graphnet {
namespace {

using Json = nlohmann::ordered_json;

// Checks a JSON text without building a tree. Refuses too deep nesting while it parses, since a
// deep tree would be destroyed by recursion. Keeps the string that the object has for one key.
class ObjectChecker : public nlohmann::json_sax<Json> {
 public:
  explicit ObjectChecker(absl::string_view key) : key_(key) {}

  bool null() override { return Scalar(); }
  bool boolean(bool) override { return Scalar(); }
  bool number_integer(number_integer_t) override { return Scalar(); }
  bool number_unsigned(number_unsigned_t) override { return Scalar(); }
  bool number_float(number_float_t, const string_t&) override { return Scalar(); }
  bool string(string_t& text) override {
    if (is_value_) value_ = std::move(text);
    return Scalar();
  }
  bool binary(binary_t&) override { return Scalar(); }
  bool start_object(std::size_t) override { return Open(); }
  bool key(string_t& name) override {
    is_value_ = depth_ == 1 && name == key_;
    if (is_value_) value_.clear();  // The last of equal keys counts.
    return true;
  }
  bool end_object() override { return Close(); }
  bool start_array(std::size_t) override {
    if (depth_ == 0) return false;
    return Open();
  }
  bool end_array() override { return Close(); }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    position_ = position;
    return false;
  }

  std::size_t position() const { return position_; }
  bool too_deep() const { return too_deep_; }
  std::string TakeValue() { return std::move(value_); }

 private:
  bool Scalar() {
    is_value_ = false;
    return depth_ > 0;
  }
  bool Open() {
    is_value_ = false;
    too_deep_ |= ++depth_ > kMaxJsonDepth;
    return !too_deep_;
  }
  bool Close() {
    --depth_;
    return true;
  }
  const absl::string_view key_;
  bool is_value_ = false;  // True if the value of the key comes next.
  std::string value_;
  int depth_ = 0;
  bool too_deep_ = false;
  std::size_t position_ = 0;
};

}  // namespace

absl::Status CheckJsonObject(const std::string& text, absl::string_view file_name) {
  std::string unused;
  return CheckJsonObject(text, file_name, "", &unused);
}

absl::Status CheckJsonObject(const std::string& text, absl::string_view file_name,
                             absl::string_view key, std::string* value) {
  ObjectChecker checker(key);
  if (Json::sax_parse(text, &checker)) {
    *value = checker.TakeValue();
    return absl::OkStatus();
  }
  if (checker.too_deep())
    return ErrorAt(file_name, 1, 1, absl::StrCat("JSON nests more than ", kMaxJsonDepth, " deep"));
  if (checker.position() == 0) return ErrorAt(file_name, 1, 1, "expected a JSON object");
  const absl::string_view before = absl::string_view(text).substr(0, checker.position() - 1);
  const size_t newline = before.rfind('\n');  // npos + 1 is 0
  return ErrorAt(file_name, 1 + absl::c_count(before, '\n'), before.size() - newline,
                 "malformed JSON");
}

std::string MakeGraphNetJson(absl::string_view model_name, bool dynamic) {
  Json json;
  json["framework"] = "torch";
  json["num_devices_required"] = 1;
  json["num_nodes_required"] = 1;
  json["dynamic"] = dynamic;
  json["model_name"] = std::string(model_name);
  // Names come from outside, so bytes that are not UTF-8 are replaced, not refused.
  return json.dump(4, ' ', false, Json::error_handler_t::replace);
}

}  // namespace graphnet
