// A strict reader of zip archives, for files that PyTorch writes and that other tools pack anew.
//
// Zip readers disagree about odd archives, so one may check an entry that another never sees. This
// one accepts only archives that can be read in one way: the local records lie side by side from
// byte 0, the central directory follows them, lists exactly these and agrees with each local
// header, and the end records follow it and end the file, with at most a comment after them. It also
// refuses encryption, methods other than stored and deflate, several disks, extra fields that could
// name another file or size, duplicate names, links, folders with data, and names that are not
// plain relative paths.
//
// All limits are those of graphnet/base/limits.h.
#ifndef GRAPHNET_FORMATS_ARCHIVE_ZIP_READER_H_
#define GRAPHNET_FORMATS_ARCHIVE_ZIP_READER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace graphnet {

// The most bytes that the deflated entries of a small archive may take together in memory.
inline constexpr uint64_t kMaxInflatedBytes = uint64_t{1} << 30;

struct ZipEntry {
  // A relative path of non-empty components other than "." and "..", in UTF-8 without NUL and
  // backslash. A folder's name ends in '/'.
  absl::string_view name;
  uint64_t size = 0;             // bytes of the content
  uint64_t compressed_size = 0;  // bytes in the archive
  uint64_t offset = 0;           // offset of those bytes
  uint32_t crc = 0;              // CRC-32 of the content
  bool deflated = false;

  bool is_folder() const { return name.back() == '/'; }
};

class ZipReader {
 public:
  // Checks the structure. Contents are checked when they are read, or by VerifyAll. `bytes` must
  // outlive the reader and its entries. Each message starts with `name_for_messages`.
  // InvalidArgument if the archive is refused.
  static absl::StatusOr<ZipReader> Open(absl::string_view bytes, std::string name_for_messages);

  // The entries in the order of the central directory.
  absl::Span<const ZipEntry> entries() const { return entries_; }

  // Returns null if no entry has this name.
  const ZipEntry* Find(absl::string_view name) const;

  // Returns the content after checking its size and CRC. `entry` must belong to this reader.
  absl::StatusOr<std::string> Read(const ZipEntry& entry) const;

  // Like Read, but without a copy. InvalidArgument if the entry is deflated. Does not compute the
  // CRC again after a successful VerifyAll.
  absl::StatusOr<absl::string_view> View(const ZipEntry& entry) const;

  // Like View, but without a check, so that the pages of a mapped file stay unread.
  absl::StatusOr<absl::string_view> ViewUnchecked(const ZipEntry& entry) const;

  // Returns the bytes that all deflated entries take together. InvalidArgument if they are more than
  // kMaxInflatedBytes and many times the archive. Ask before all of them are inflated.
  absl::StatusOr<uint64_t> InflatedBytes() const;

  // Checks the size and CRC of every entry, in constant memory.
  absl::Status VerifyAll();

 private:
  ZipReader(absl::string_view bytes, std::string name) : bytes_(bytes), name_(std::move(name)) {}

  // The place of the central directory and its number of entries.
  struct Directory {
    uint64_t begin = 0;
    uint64_t end = 0;
    uint64_t entries = 0;
  };
  // Fields of a directory entry that are needed only to compare it with its local header.
  struct Header {
    uint64_t offset = 0;  // offset of the local header
    uint16_t flags = 0;
    size_t index = 0;  // in entries_
  };

  absl::StatusOr<Directory> FindDirectory() const;
  absl::StatusOr<std::vector<Header>> ReadDirectory(const Directory& directory);
  // `next` is the offset at which the record of this entry must end.
  absl::Status CheckLocal(const Header& header, uint64_t next);
  absl::Status CheckContent(const ZipEntry& entry) const;
  absl::Status Inflate(const ZipEntry& entry,
                       absl::FunctionRef<void(absl::string_view)> append) const;

  absl::string_view Stored(const ZipEntry& entry) const {
    return bytes_.substr(entry.offset, entry.compressed_size);
  }
  absl::Status Error(uint64_t offset, absl::string_view message) const;
  absl::Status Error(const ZipEntry& entry, absl::string_view message) const;

  absl::string_view bytes_;
  std::string name_;
  std::vector<ZipEntry> entries_;
  absl::flat_hash_map<absl::string_view, size_t> index_;
  bool verified_ = false;
};

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_ARCHIVE_ZIP_READER_H_
