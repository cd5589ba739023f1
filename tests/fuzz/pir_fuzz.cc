// Reads any bytes as text of PIR. They are refused with one clean line, or the printed text reads
// back as the same text, with groups and loops, too.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "graphnet/base/check.h"
#include "graphnet/ir/text/excerpt.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/paddle/pir/fusion.h"
#include "graphnet/paddle/pir/loops.h"
#include "graphnet/paddle/pir/lower.h"
#include "graphnet/paddle/pir/printer.h"
#include "graphnet/paddle/pir/reader.h"

namespace graphnet {
namespace {

void CheckReadsBack(const Module& module) {
  const auto printed = pir::PrintPir(module);
  if (!printed.ok()) return;  // too long
  const auto again = pir::ReadPir(*printed, "printed");
  CHECK(again.ok());
  const auto twice = pir::PrintPir(**again);
  CHECK(twice.ok() && *twice == *printed);
}

}  // namespace
}  // namespace graphnet

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  (void)graphnet::pir::LooksLikePir(text);
  const auto module = graphnet::pir::ReadPir(text, "fuzz");
  if (!module.ok()) {
    CHECK(module.status().message().find('\n') == absl::string_view::npos);
    return 0;
  }
  graphnet::CheckReadsBack(**module);
  const auto lowered = graphnet::pir::ToPir(**module);
  if (!lowered.ok()) return 0;
  CHECK(graphnet::Verify(**lowered).ok());
  graphnet::CheckReadsBack(**lowered);
  graphnet::pir::PrintLoops(**lowered).status().IgnoreError();
  graphnet::pir::FuseGroups(lowered->get());
  CHECK(graphnet::Verify(**lowered).ok());
  graphnet::CheckReadsBack(**lowered);
  return 0;
}
