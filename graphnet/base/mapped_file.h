// A file that is mapped into memory. The system reads its pages when they are accessed.
#ifndef GRAPHNET_BASE_MAPPED_FILE_H_
#define GRAPHNET_BASE_MAPPED_FILE_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace graphnet {

class MappedFile {
 public:
  // Maps a regular file of at most `max_bytes`. NotFound if there is no such file. The file must
  // not be truncated while it is mapped: reading past its new end raises SIGBUS.
  static absl::StatusOr<MappedFile> Open(const std::string& path, size_t max_bytes);
  MappedFile(MappedFile&& other) noexcept : data_(other.data_), size_(other.size_) {
    other.data_ = nullptr;
    other.size_ = 0;
  }
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile();

  // The content, which is valid as long as this object.
  absl::string_view bytes() const { return {static_cast<const char*>(data_), size_}; }
  // Gives the memory of `part`, a part of bytes(), back to the system. `part` stays valid: the
  // system reads it again when it is accessed.
  void Release(absl::string_view part) const;

 private:
  MappedFile(void* data, size_t size) : data_(data), size_(size) {}

  void* data_;
  size_t size_;
};

}  // namespace graphnet

#endif  // GRAPHNET_BASE_MAPPED_FILE_H_
