#include "graphnet/base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"

namespace graphnet {

absl::StatusOr<MappedFile> MappedFile::Open(const std::string& path, size_t max_bytes) {
  const auto message = [&](absl::string_view what) {
    return absl::StrCat("cannot open ", Printable(path, 1000), ": ", what);
  };
  if (path.find('\0') != std::string::npos) {
    return absl::InvalidArgumentError(message("NUL in a file name"));
  }
  // O_NONBLOCK: opening a pipe without a writer must not hang.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  const int error = errno;
  if (fd < 0 && error == ENOENT) return absl::NotFoundError(message(std::strerror(error)));
  if (fd < 0) return absl::PermissionDeniedError(message(std::strerror(error)));
  const absl::Cleanup close_file = [fd] { close(fd); };
  struct stat info;
  if (fstat(fd, &info) != 0) return absl::InternalError(message(std::strerror(errno)));
  if (!S_ISREG(info.st_mode)) return absl::InvalidArgumentError(message("not a regular file"));
  const auto size = static_cast<size_t>(info.st_size);
  if (size > max_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(Printable(path, 1000), ": ", size, " bytes, over the limit of ", max_bytes));
  }
  if (size == 0) return MappedFile(nullptr, 0);
  void* const data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (data == MAP_FAILED) {
    return absl::ResourceExhaustedError(message(std::strerror(errno)));
  }
  return MappedFile(data, size);
}

void MappedFile::Release(absl::string_view part) const {
  // Linux also maps pages around an accessed one. Giving back too many loses nothing: they are
  // unchanged and are read again.
  constexpr size_t kWindow = size_t{64} << 10;
  if (part.empty()) return;
  const size_t offset = static_cast<size_t>(part.data() - bytes().data());
  const size_t begin = offset / kWindow * kWindow;
  const size_t end = std::min(size_, (offset + part.size() + kWindow - 1) / kWindow * kWindow);
  madvise(static_cast<char*>(data_) + begin, end - begin, MADV_DONTNEED);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(data_, size_);
}

}  // namespace graphnet
