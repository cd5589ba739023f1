#include "graphnet/formats/graphnet_folder/framework.h"

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "graphnet/base/status.h"
#include "graphnet/ir/types.h"
#include "nlohmann/json.hpp"

namespace graphnet {
namespace {

using Json = nlohmann::ordered_json;
constexpr int kIndent = 4;

}  // namespace

absl::string_view FrameworkName(Framework framework) {
  return framework == Framework::kPaddle ? "paddle" : "torch";
}

std::optional<Framework> ParseFramework(absl::string_view name) {
  for (const Framework framework : {Framework::kTorch, Framework::kPaddle}) {
    if (name == FrameworkName(framework)) return framework;
  }
  return std::nullopt;
}

absl::StatusOr<Framework> FrameworkOf(const std::string& graph_net_json,
                                      absl::string_view file_name) {
  const Json json = Json::parse(graph_net_json, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("framework")) return Framework::kTorch;
  const Json& value = json["framework"];
  if (value.is_string()) {
    if (const auto framework = ParseFramework(value.get<std::string>())) return *framework;
  }
  const std::string given = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  return absl::InvalidArgumentError(absl::StrCat(Printable(file_name, 1000), ": the framework ",
                                                 Printable(given, 100),
                                                 " is neither \"torch\" nor \"paddle\""));
}

std::string WithFramework(const std::string& graph_net_json, Framework framework) {
  Json json = Json::parse(graph_net_json, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) json = Json::object();
  json["framework"] = std::string(FrameworkName(framework));
  return json.dump(kIndent, ' ', false, Json::error_handler_t::replace);
}

std::string DTypeWord(DType dtype, Framework framework) {
  return absl::StrCat(FrameworkName(framework), ".", DTypeName(dtype));
}

std::optional<DType> ParseDTypeWord(absl::string_view word, Framework framework) {
  const bool is_qualified =
      absl::ConsumePrefix(&word, framework == Framework::kPaddle ? "paddle." : "torch.");
  if (!is_qualified && framework == Framework::kTorch) return std::nullopt;
  return ParseDType(word);
}

std::string DeviceWord(Device device, Framework framework) {
  std::string name = DeviceName(device);
  if (framework == Framework::kTorch || device.type != DeviceType::kCuda) return name;
  return absl::StrCat("gpu", absl::StripPrefix(name, "cuda"));
}

std::optional<Device> ParseDeviceWord(absl::string_view word, Framework framework) {
  if (framework == Framework::kPaddle && (word == "gpu" || absl::StartsWith(word, "gpu:"))) {
    return ParseDevice(absl::StrCat("cuda", absl::StripPrefix(word, "gpu")));
  }
  return ParseDevice(word);
}

std::optional<double> ParseFloatWord(absl::string_view word, Framework framework) {
  double value = 0;
  const bool is_known =
      framework == Framework::kPaddle || word == "nan" || word == "inf" || word == "-inf";
  return is_known && absl::SimpleAtod(word, &value) ? std::optional(value) : std::nullopt;
}

}  // namespace graphnet
