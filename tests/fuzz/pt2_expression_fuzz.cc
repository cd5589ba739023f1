// Reads any text as a SymPy expression and as a guard. It is refused or gives an expression of the
// IR, which can be evaluated.
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "graphnet/base/check.h"
#include "graphnet/formats/pt2/expressions.h"
#include "graphnet/formats/pt2/guards.h"
#include "graphnet/ir/verifier.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace graphnet;  // NOLINT
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  Module module;
  Graph* const graph = module.AddGraph("forward");
  const auto expr = pt2::ParseSympy(text, &module);
  if (expr.ok() && *expr != nullptr) {
    const Dim size_of_it = *expr;
    graph->Placeholder("x")->set_meta(
        module.InternValueMeta({.has_shape = true, .shape = {&size_of_it, 1}}));
    graph->Output({});
    CHECK(Verify(module).ok());
    (void)EvaluateWithExamples(module, **expr);
  }
  (void)pt2::EvaluateGuard(text, [](absl::string_view name) {
    return name.size() % 2 == 0 ? std::optional<python::Number>(int64_t{3}) : std::nullopt;
  });
  return 0;
}
