// A writer of zip archives as PyTorch reads them: entries stored, their contents aligned to
// 64 bytes, all dates the same, so that equal contents make equal archives.
//
//   ZipWriter zip(&bytes);
//   zip.Add("model/byteorder", "little");
//   RETURN_IF_ERROR(zip.Finish());
#ifndef GRAPHNET_FORMATS_ARCHIVE_ZIP_WRITER_H_
#define GRAPHNET_FORMATS_ARCHIVE_ZIP_WRITER_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/base/file.h"
#include "graphnet/base/shared_bytes.h"

namespace graphnet {

class ZipWriter {
 public:
  // The archive goes to the sink while it is made. After an error of the sink nothing does.
  explicit ZipWriter(ByteSink sink) : sink_(std::move(sink)) {}
  // It is appended to `bytes`, and no call fails.
  explicit ZipWriter(std::string* bytes);

  // Names are relative paths, no two the same. Archives and entries beyond 4 GiB are zip64.
  void Add(absl::string_view name, absl::string_view content);
  // The content is these parts, one after the other. Those that lie in a file that is mapped are in
  // memory one at a time.
  void Add(absl::string_view name, absl::Span<const SharedBytes> parts);
  // The first error of the sink, if there was one. Nothing may be added afterwards.
  absl::Status Finish();

 private:
  struct Entry {
    std::string name;
    uint64_t offset = 0;
    uint64_t size = 0;
    uint32_t crc = 0;
  };

  void Send(absl::string_view bytes);

  ByteSink sink_;
  absl::Status status_;
  uint64_t sent_ = 0;  // bytes
  std::vector<Entry> entries_;
};

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_ARCHIVE_ZIP_WRITER_H_
