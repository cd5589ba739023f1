// Makes the normal form of a module that is given as text. The form must be well-formed and be its
// own normal form. Then compares both modules.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/check.h"
#include "graphnet/identity/diff.h"
#include "graphnet/identity/normal_form.h"
#include "graphnet/ir/text/parser.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/ir/verifier.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace graphnet;  // NOLINT
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const auto module = ParseModule(text, "fuzz");
  if (!module.ok() || !Verify(**module).ok()) return 0;
  CHECK_SAYS(DiffModules(**module, **module).empty(), "differs from itself:\n%s",
             PrintModule(**module).c_str());

  const absl::StatusOr<std::unique_ptr<Module>> form = NormalForm(**module);
  if (!form.ok()) return 0;
  const std::string printed = PrintModule(**form);
  const absl::StatusOr<std::unique_ptr<Module>> again = NormalForm(**form);
  CHECK_SAYS(again.ok(), "%s\nof the normal form\n%s", again.status().ToString().c_str(),
             printed.c_str());
  const GraphDiff changes = DiffModules(**form, **again);
  CHECK_SAYS(changes.empty(), "the normal form changes when it is made again:\n%s%s",
             PrintDiff(changes).c_str(), printed.c_str());

  const GraphDiff diff = DiffModules(**module, **form);
  PrintDiff(diff);
  CHECK(Verify(*UnionOf(**form, diff).module).ok());
  return 0;
}
