#include "graphnet/formats/graphnet_folder/framework.h"

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "graphnet/base/json.h"
#include "graphnet/base/status.h"
#include "graphnet/ir/types.h"

namespace graphnet {
namespace {

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

absl::StatusOr<Framework> FrameworkOf(const Json& graph_net_json, absl::string_view file_name) {
  const Json* const value = graph_net_json.Find("framework");
  if (value == nullptr) return Framework::kTorch;
  if (value->text() != nullptr) {
    if (const auto framework = ParseFramework(*value->text())) return *framework;
  }
  return absl::InvalidArgumentError(absl::StrCat(Printable(file_name, 1000), ": the framework ",
                                                 Printable(value->Dump(-1), 100),
                                                 " is neither \"torch\" nor \"paddle\""));
}

std::string WithFramework(const std::string& graph_net_json, Framework framework) {
  Json json = Json::Parse(graph_net_json);
  if (!json.is_object()) json = Json::Object();
  json["framework"] = FrameworkName(framework);
  return json.Dump(kIndent);
}

std::string MakeGraphNetJson(absl::string_view model_name, bool dynamic) {
  return Json::Object({{"framework", "torch"},
                       {"num_devices_required", 1},
                       {"num_nodes_required", 1},
                       {"dynamic", dynamic},
                       {"model_name", model_name}})
      .Dump(kIndent);
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
