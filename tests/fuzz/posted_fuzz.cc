// Reads any text as graphs that PyTorch printed. Each graph that is listed is read or refused, and
// can be verified.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "graphnet/base/check.h"
#include "graphnet/formats/posted/reader.h"
#include "graphnet/ir/verifier.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace graphnet;  // NOLINT
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const bool is_readable = posted::LooksLikePosted(text, /*must_be_readable=*/true);
  std::vector<std::string> notes;
  const auto first = posted::ReadGraph(text, "", &notes);
  CHECK(first.ok() || !is_readable);
  for (const std::string& name : posted::ListGraphs(text)) {
    const auto sample = posted::ReadGraph(text, name, &notes);
    CHECK(sample.ok() == first.ok());
    if (sample.ok()) (void)Verify(*sample->module);
  }
  return 0;
}
