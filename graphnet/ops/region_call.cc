#include "graphnet/ops/region_call.h"

#include <utility>

#include "absl/strings/strip.h"

namespace graphnet {

std::optional<RegionForm> RegionFormOf(absl::string_view target) {
  using Mode = RegionForm::Mode;
  constexpr std::pair<absl::string_view, RegionForm> kForms[] = {
      {"invoke_subgraph", {Mode::kSame, 0, 2}},
      {"tag_activation_checkpoint", {Mode::kSame, 0, 1}},
      {"wrap", {Mode::kSame, 0, 1}},
      {"wrap_with_autocast", {Mode::kAutocast, 4, 5}},
      {"wrap_with_set_grad_enabled", {Mode::kGradients, 1, 2}},
  };
  if (!absl::ConsumePrefix(&target, "torch.ops.higher_order.")) return std::nullopt;
  for (const auto& [name, form] : kForms) {
    if (name == target) return form;
  }
  return std::nullopt;
}

}  // namespace graphnet
