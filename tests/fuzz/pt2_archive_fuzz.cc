// Any bytes as an archive of torch.export: refused with one line, or a sample that the verifier
// takes, whose weights are as long as they say.
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "graphnet/base/check.h"
#include "graphnet/formats/pt2/importer.h"
#include "graphnet/ir/verifier.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace graphnet;  // NOLINT
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  (void)LooksLikePt2(bytes);
  const auto sample = ImportPt2(bytes, "fuzz");
  if (!sample.ok()) {
    CHECK(sample.status().message().find('\n') == absl::string_view::npos);
    return 0;
  }
  CHECK(Verify(*sample->module).ok());
  for (const auto& [name, tensor] : sample->weights) {
    size_t expected = static_cast<size_t>(DTypeBytes(tensor.dtype));
    for (const int64_t extent : tensor.shape) expected *= static_cast<size_t>(extent);
    CHECK(tensor.bytes->size() == expected);
  }
  return 0;
}
