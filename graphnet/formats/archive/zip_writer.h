// A writer of zip archives that PyTorch can read. Entries are stored, their contents are aligned to
// 64 bytes, and all dates are the same, so that equal contents make equal archives.
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
  // Passes the archive to `sink` while it is made. After an error, the sink gets nothing more.
  explicit ZipWriter(ByteSink sink) : sink_(std::move(sink)) {}
  // Appends the archive to `bytes`, which must outlive the writer. No call fails.
  explicit ZipWriter(std::string* bytes);

  // Adds an entry. Its name must be a relative path that no other entry has. Archives and entries
  // beyond 4 GiB use zip64.
  void Add(absl::string_view name, absl::string_view content);
  // Adds an entry whose content is the parts, one after the other. Parts of a mapped file are in
  // memory one at a time.
  void Add(absl::string_view name, absl::Span<const SharedBytes> parts);
  // Ends the archive. Returns the first error of the sink, or OK. Nothing may be added afterwards.
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
