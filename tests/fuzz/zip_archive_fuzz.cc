// Reads any bytes as a zip archive. They are refused with one line, or each entry is refused or has
// the length that the directory declares. If VerifyAll accepts an archive, all of it can be read.
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "graphnet/base/check.h"
#include "graphnet/formats/archive/zip_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace graphnet;  // NOLINT
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  auto zip = ZipReader::Open(bytes, "fuzz");
  if (!zip.ok()) {
    CHECK(zip.status().message().find('\n') == absl::string_view::npos);
    return 0;
  }
  const bool verified = zip->VerifyAll().ok();
  for (const ZipEntry& entry : zip->entries()) {
    CHECK(zip->Find(entry.name) == &entry);
    const auto content = zip->Read(entry);
    if (verified) CHECK(content.ok());
    if (content.ok()) CHECK(content->size() == entry.size);
    const auto view = zip->View(entry);
    if (view.ok() && content.ok()) CHECK(*view == *content);
  }
  return 0;
}
