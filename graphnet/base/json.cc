#include "graphnet/base/json.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "graphnet/base/status.h"
#include "nlohmann/json.hpp"

namespace graphnet {
namespace {

using Made = nlohmann::ordered_json;

}  // namespace

// Builds a value from the events of the parser. Deep nesting ends the parse, since such a value would be
// destroyed by recursion.
class JsonBuilder : public nlohmann::json_sax<Made> {
 public:
  JsonBuilder(int max_depth, bool wants_object)
      : max_depth_(static_cast<size_t>(max_depth)), wants_object_(wants_object) {}

  bool null() override { return Put(Json()); }
  bool boolean(bool value) override { return Put(value); }
  bool number_integer(int64_t value) override { return Put(value); }
  bool number_unsigned(uint64_t value) override { return Put(value); }
  bool number_float(double value, const std::string&) override { return Put(value); }
  bool string(std::string& value) override { return Put(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(size_t) override { return Open(Json::Object()); }
  bool end_object() override { return Close(); }
  bool start_array(size_t) override { return Open(Json::List()); }
  bool end_array() override { return Close(); }
  bool key(std::string& name) override {
    const size_t before = open_.back()->members().size();
    member_ = &(*open_.back())[name];
    if (open_.back()->members().size() == before && !twice_) twice_ = name;
    return true;
  }
  bool parse_error(size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    position_ = position;
    return false;
  }

  Json made;
  // The first name that an object has twice.
  const std::optional<std::string>& twice() const { return twice_; }
  // The byte of a syntax error, from 1; 0 if there was none.
  size_t position() const { return position_; }
  bool is_too_deep() const { return open_.size() > max_depth_; }

 private:
  // Puts a value where one belongs.
  bool Put(Json value) {
    if (open_.empty()) {
      if (wants_object_ && !value.is_object()) return false;
      member_ = &made;
    } else if (open_.back()->is_list()) {
      member_ = &std::get<std::vector<Json>>(open_.back()->value_).emplace_back();
    }
    member_->value_ = std::move(value.value_);
    return true;
  }
  bool Open(Json value) {
    if (!Put(std::move(value))) return false;
    open_.push_back(member_);
    return !is_too_deep();
  }
  bool Close() {
    open_.pop_back();
    return true;
  }

  const size_t max_depth_;
  const bool wants_object_;
  std::vector<Json*> open_;  // lists and objects, from the outside
  Json* member_ = nullptr;
  std::optional<std::string> twice_;
  size_t position_ = 0;
};

struct JsonForm {
  Made operator()(std::monostate) const { return {}; }
  template <typename T>
  Made operator()(const T& value) const {
    return value;
  }
  Made operator()(const std::vector<Json>& list) const {
    Made made = Made::array();
    for (const Json& element : list) made.push_back(std::visit(*this, element.value_));
    return made;
  }
  Made operator()(const Json::Members& members) const {
    Made made = Made::object();
    // All names differ, so no member has to be looked up.
    Made::object_t::Container& object = made.get_ref<Made::object_t&>();
    for (const auto& [name, value] : members.all)
      object.emplace_back(name, std::visit(*this, value.value_));
    return made;
  }
  Made operator()(const Json& json) const { return std::visit(*this, json.value_); }
};

Json Json::Object(std::initializer_list<std::pair<absl::string_view, Json>> members) {
  Json object;
  std::vector<Member>& all = object.value_.emplace<Members>().all;
  for (const auto& [name, value] : members) all.emplace_back(name, value);
  return object;
}

Json Json::Rounded(double number) {
  const std::string digits = absl::StrCat(number);
  if (int64_t whole = 0; absl::SimpleAtoi(digits, &whole)) return whole;
  return absl::SimpleAtod(digits, &number) ? Json(number) : Json();
}

absl::StatusOr<Json> Json::ParseObject(absl::string_view text, absl::string_view file,
                                       int max_depth, bool refuses_doubles) {
  JsonBuilder builder(max_depth, /*wants_object=*/true);
  if (Made::sax_parse(text, &builder)) {
    if (!refuses_doubles || !builder.twice()) return std::move(builder.made);
    return ErrorAt(file, 0, 0,
                   absl::StrCat("the key ", Printable(*builder.twice()), " is a duplicate"));
  }
  if (builder.is_too_deep())
    return ErrorAt(file, 1, 1, absl::StrCat("JSON nests more than ", max_depth, " deep"));
  if (builder.position() == 0) return ErrorAt(file, 1, 1, "expected a JSON object");
  const absl::string_view before = text.substr(0, builder.position() - 1);
  const size_t newline = before.rfind('\n');  // npos + 1 is 0
  return ErrorAt(file, 1 + absl::c_count(before, '\n'), before.size() - newline, "malformed JSON");
}

Json Json::Parse(absl::string_view text) {
  JsonBuilder builder(kMaxJsonDepth, /*wants_object=*/false);
  return Made::sax_parse(text, &builder) ? std::move(builder.made) : Json();
}

void Json::Merge(Json object) {
  for (auto& [name, value] : std::get<Members>(object.value_).all) (*this)[name] = std::move(value);
}

Json& Json::operator[](absl::string_view name) {
  if (std::holds_alternative<std::monostate>(value_)) value_.emplace<Members>();
  constexpr size_t kMany = 32;
  auto& [all, places] = std::get<Members>(value_);
  if (all.size() < kMany) {
    for (auto& [other, value] : all) {
      if (other == name) return value;
    }
  } else {
    if (places.empty()) {
      for (size_t i = 0; i < all.size(); ++i) places.emplace(all[i].first, i);
    }
    const auto [it, is_new] = places.emplace(name, all.size());
    if (!is_new) return all[it->second].second;
  }
  return all.emplace_back(std::string(name), Json()).second;
}

void Json::push_back(Json element) {
  if (std::holds_alternative<std::monostate>(value_)) value_.emplace<std::vector<Json>>();
  std::get<std::vector<Json>>(value_).push_back(std::move(element));
}

absl::string_view Json::type_name() const {
  static constexpr absl::string_view kNames[] = {"null",   "boolean", "number", "number",
                                                 "number", "string",  "array",  "object"};
  return kNames[value_.index()];
}

const std::vector<Json>& Json::elements() const {
  static const auto* const kNone = new std::vector<Json>;
  const auto* const list = std::get_if<std::vector<Json>>(&value_);
  return list == nullptr ? *kNone : *list;
}

const std::vector<Json::Member>& Json::members() const {
  static const auto* const kNone = new std::vector<Member>;
  const auto* const object = std::get_if<Members>(&value_);
  return object == nullptr ? *kNone : object->all;
}

const Json* Json::Find(absl::string_view name) const {
  const auto* const object = std::get_if<Members>(&value_);
  if (object == nullptr) return nullptr;
  if (!object->places.empty()) {
    const auto it = object->places.find(name);
    return it == object->places.end() ? nullptr : &object->all[it->second].second;
  }
  const auto it = absl::c_find_if(object->all, [&](const Member& m) { return m.first == name; });
  return it == object->all.end() ? nullptr : &it->second;
}

std::string Json::Dump(int indent, bool is_ascii) const {
  return JsonForm()(*this).dump(indent, ' ', is_ascii, nlohmann::json::error_handler_t::replace);
}

std::string Json::DumpForScript() const {
  // These characters occur only inside of strings. The last two end a line of JavaScript.
  return absl::StrReplaceAll(Dump(-1), {{"<", "\\u003c"},
                                        {">", "\\u003e"},
                                        {"&", "\\u0026"},
                                        {"\x7f", "\\u007f"},
                                        {"\xE2\x80\xA8", "\\u2028"},
                                        {"\xE2\x80\xA9", "\\u2029"}});
}

std::string Json::DumpRows(int indent, int row_indent) const {
  const std::string line_start = absl::StrCat("\n", std::string(static_cast<size_t>(indent), ' '));
  const std::string row_start =
      absl::StrCat("\n", std::string(static_cast<size_t>(row_indent), ' '));
  std::string out;
  for (const auto& [name, value] : members()) {
    absl::StrAppend(&out, out.empty() ? "{" : ",", line_start, Json(name).Dump(-1), ": ");
    if (value.elements().empty() || !value.elements()[0].is_object()) {
      absl::StrAppend(&out, value.Dump(-1));
      continue;
    }
    const char* before = "[";
    for (const Json& row : value.elements()) {
      absl::StrAppend(&out, before, row_start, row.Dump(-1));
      before = ",";
    }
    absl::StrAppend(&out, line_start, "]");
  }
  return absl::StrCat(out, "\n}\n");
}

}  // namespace graphnet
