// A file in memory without reading it: its pages come as they are looked at.
#ifndef GRAPHNET_BASE_MAPPED_FILE_H_
#define GRAPHNET_BASE_MAPPED_FILE_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace graphnet {

class MappedFile {
 public:
  // A regular file of at most `max_bytes`. NotFound if there is none. Nobody may cut the file
  // while it is mapped: the system ends who reads what is gone.
  static absl::StatusOr<MappedFile> Open(const std::string& path, size_t max_bytes);
  MappedFile(MappedFile&& other) noexcept : data_(other.data_), size_(other.size_) {
    other.data_ = nullptr;
    other.size_ = 0;
  }
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile();

  // As long as this lives.
  absl::string_view bytes() const { return {static_cast<const char*>(data_), size_}; }
  // Gives back the memory that `part`, some of these bytes, takes. It can be looked at again, and
  // is read again then.
  void Release(absl::string_view part) const;

 private:
  MappedFile(void* data, size_t size) : data_(data), size_(size) {}

  void* data_;
  size_t size_;
};

}  // namespace graphnet

#endif  // GRAPHNET_BASE_MAPPED_FILE_H_
