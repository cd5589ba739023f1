// Any bytes as text of a module or sample: refused with one clean line, or read
// so that what is printed reads back as the same text.

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "graphnet/base/check.h"
#include "graphnet/ir/text/excerpt.h"
#include "graphnet/ir/text/parser.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/ir/verifier.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  (void)graphnet::LooksLikeText(text);
  const auto sample = graphnet::ParseSample(text, "fuzz");
  if (!sample.ok()) {
    CHECK(sample.status().message().find('\n') == absl::string_view::npos);
    CHECK(!graphnet::ErrorExcerpt(sample.status()).empty());
    return 0;
  }
  const std::string printed = graphnet::PrintSample(*sample);
  const auto again = graphnet::ParseSample(printed, "printed");
  CHECK(again.ok());
  CHECK(graphnet::PrintSample(*again) == printed);
  // These presets leave some fields out.
  graphnet::PrintSample(*sample, graphnet::PrintOptions::Readable());
  if (sample->module != nullptr) {
    graphnet::Verify(*sample->module).IgnoreError();
    const std::string structure =
        graphnet::PrintModule(*sample->module, graphnet::PrintOptions::Structure());
    CHECK(graphnet::ParseModule(structure, "structure").ok());
  }
  return 0;
}
