#include "graphnet/base/json.h"

#include "nlohmann/json.hpp"

namespace graphnet {

struct JsonForm {
  using Made = nlohmann::ordered_json;
  static Json FromMade(const Made& made) {
    Json json;
    switch (made.type()) {
      case Made::value_t::boolean: return made.get<bool>();
      case Made::value_t::number_integer:
      case Made::value_t::number_unsigned: return made.get<int64_t>();
      case Made::value_t::number_float: return made.get<double>();
      case Made::value_t::string: return made.get<std::string>();
      case Made::value_t::array:
        json = Json::List();
        for (const Made& element : made) json.push_back(FromMade(element));
        return json;
      case Made::value_t::object:
        json = Json::Object();
        for (const auto& [name, value] : made.items()) json[name] = FromMade(value);
        return json;
      default: return json;
    }
  }
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

Json Json::Parse(const std::string& text) {
  return JsonForm::FromMade(JsonForm::Made::parse(text, nullptr, /*allow_exceptions=*/false));
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

std::string Json::Dump(int indent) const {
  return JsonForm()(*this).dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace graphnet
