// Any bytes as a safetensors file: refused with one line, or written and read back to the
// same tensors.
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "graphnet/base/check.h"
#include "graphnet/formats/safetensors/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace graphnet;  // NOLINT
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto tensors = ParseSafetensors(bytes, "fuzz");
  if (!tensors.ok()) {
    CHECK(tensors.status().message().find('\n') == absl::string_view::npos);
    return 0;
  }
  const auto written = SerializeSafetensors(*tensors);
  CHECK(written.ok());
  const auto back = ParseSafetensors(*written, "written");
  CHECK(back.ok());
  CHECK(*SerializeSafetensors(*back) == *written);
  return 0;
}
