// Any bytes as rewrite rules: refused with one line, or applied to a graph that they leave
// well-formed.
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "graphnet/base/check.h"
#include "graphnet/ir/text/parser.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/passes/pattern.h"

namespace {

constexpr absl::string_view kGraph = R"(
graph @main(%x: f32[2, 3], %y: f32[2, 3]) {
  %add = torch.add(%x, %y, alpha=1)
  %mul = mul(%add, 2)
  %relu = torch.nn.functional.relu(%mul, inplace=False)
  %cat = torch.cat([%relu, %x, %y], dim=1)
  %relu_1 = torch.nn.functional.relu(%add, inplace=False)
  %add_1 = torch.add(%relu_1, %y)
  return (%cat, %add_1)
}
)";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace graphnet;  // NOLINT
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const auto rules = ParseRules(text, "fuzz");
  if (!rules.ok()) {
    CHECK(rules.status().message().find('\n') == absl::string_view::npos);
    return 0;
  }
  auto module = ParseModule(kGraph, "graph");
  CHECK(module.ok());
  if (ApplyRules(*rules, module->get()).ok()) CHECK(Verify(**module).ok());
  return 0;
}
