// Any bytes as the manifest of an extracted program: refused with one line, or written
// and read back to the same bytes.
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "graphnet/base/check.h"
#include "graphnet/extract/description.h"
#include "graphnet/extract/manifest.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace graphnet;  // NOLINT
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto manifest = ParseManifest(bytes, "fuzz");
  if (!manifest.ok()) {
    CHECK(manifest.status().message().find('\n') == absl::string_view::npos);
    return 0;
  }
  ExtractedProgram program;
  program.manifest = *manifest;
  CHECK(!StitchJson(program, {}).empty());
  CHECK(!StitchReadme(program, {}).empty());
  const std::string written = SerializeManifest(*manifest);
  const auto back = ParseManifest(written, "written");
  CHECK(back.ok());
  CHECK(SerializeManifest(*back) == written);
  return 0;
}
