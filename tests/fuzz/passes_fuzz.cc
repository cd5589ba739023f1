// Runs lowering, effects and each pass alone on a module that is given as text. A pass must leave
// the graph well-formed or return an error, and must change it if and only if it says so.
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/check.h"
#include "graphnet/facts/memory/effects.h"
#include "graphnet/ir/text/parser.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/ops/lowering.h"
#include "graphnet/paddle/to_paddle.h"  // the pass to-paddle
#include "graphnet/passes/pass.h"
#include "graphnet/passes/registry.h"

namespace {

using graphnet::Module;
using graphnet::PrintModule;

void ExpectGood(absl::string_view by, const Module& before, const Module& after) {
  const absl::Status status = graphnet::Verify(after);
  CHECK_SAYS(status.ok(), "%s: %s\n%s\nfrom\n%s", std::string(by).c_str(),
             status.ToString().c_str(), PrintModule(after).c_str(), PrintModule(before).c_str());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace graphnet;  // NOLINT
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const auto module = ParseModule(text, "fuzz");
  if (!module.ok() || !Verify(**module).ok()) return 0;

  const Effects effects(**module);
  const MemoryGroups groups(**module, effects);
  RefusedCalls refused;
  const auto lowered = LowerToAten(**module, &refused);
  if (lowered.ok()) ExpectGood("lowering", **module, *lowered->module);
  LowerToAten(**module).status().IgnoreError();

  const std::string before = PrintModule(**module);
  for (const Pass& pass : AllPasses()) {
    const auto copy = ParseModule(before, "copy");
    CHECK(copy.ok());
    PassRun run;
    const auto changed = pass.Run(**copy, run);
    if (!changed.ok()) continue;
    ExpectGood(pass.name(), **module, **copy);
    CHECK_SAYS(*changed == (PrintModule(**copy) != before), "%s says %d of\n%s",
               std::string(pass.name()).c_str(), *changed, before.c_str());
  }
  return 0;
}
