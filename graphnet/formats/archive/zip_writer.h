// A writer of zip archives as PyTorch reads them: entries stored, their contents aligned to
// 64 bytes, all dates the same, so that equal contents make equal archives.
//
//   ZipWriter zip;
//   zip.Add("model/byteorder", "little");
//   std::string bytes = std::move(zip).Finish();
#ifndef GRAPHNET_FORMATS_ARCHIVE_ZIP_WRITER_H_
#define GRAPHNET_FORMATS_ARCHIVE_ZIP_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace graphnet {

class ZipWriter {
 public:
  // `bytes`: how much all contents have together, if known.
  explicit ZipWriter(size_t bytes = 0) { bytes_.reserve(bytes); }

  // Names are relative paths, no two the same. Archives and entries beyond 4 GiB are zip64.
  void Add(absl::string_view name, absl::string_view content);
  std::string Finish() &&;

 private:
  struct Entry {
    std::string name;
    uint64_t offset = 0;
    uint64_t size = 0;
    uint32_t crc = 0;
  };

  std::string bytes_;
  std::vector<Entry> entries_;
};

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_ARCHIVE_ZIP_WRITER_H_
