#include "graphnet/base/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/cleanup/cleanup.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graphnet/base/status.h"

namespace graphnet {
namespace {

absl::Status SystemError(absl::string_view what, const std::string& path) {
  const int error = errno;
  const std::string message =
      absl::StrCat(what, " ", Printable(path, 1000), ": ", std::strerror(error));
  switch (error) {
    case ENOENT:
    case ENOTDIR: return absl::NotFoundError(message);
    case EEXIST:
    case ENOTEMPTY: return absl::AlreadyExistsError(message);
    case EACCES:
    case EPERM: return absl::PermissionDeniedError(message);
    default: return absl::InternalError(message);
  }
}

absl::Status CheckPath(const std::string& path) {
  if (path.find('\0') == std::string::npos) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(Printable(path, 1000), ": NUL in a file name"));
}

// Returns a name beside `path` that no other running program uses.
std::string TemporaryName(const std::string& path) {
  static std::atomic<unsigned> counter{0};
  std::string trimmed = path;
  while (trimmed.size() > 1 && trimmed.back() == '/') trimmed.pop_back();
  // A file name may have at most 255 bytes, whatever `path` is.
  const size_t slash = trimmed.rfind('/');
  const size_t start = slash == std::string::npos ? 0 : slash + 1;
  if (trimmed.size() - start > 200) trimmed.resize(start + 200);
  return absl::StrCat(trimmed, ".", getpid(), ".", counter.fetch_add(1), ".tmp");
}

// Removes a dot and the digits behind it from the end.
bool ConsumeNumber(absl::string_view* name) {
  const size_t dot = name->rfind('.');
  if (dot == absl::string_view::npos || dot + 1 == name->size()) return false;
  if (!absl::c_all_of(name->substr(dot + 1), absl::ascii_isdigit)) return false;
  name->remove_suffix(name->size() - dot);
  return true;
}

// Calls make(name) with temporary names until it makes something new: a killed program may have
// left some of them, and in containers all processes can have the same id. Returns false if it
// fails, with errno set.
template <typename Make>
bool MakeTemporary(const std::string& path, std::string* name, Make&& make) {
  for (int tries = 0; tries < 1000; ++tries) {
    *name = TemporaryName(path);
    if (make(name->c_str()) >= 0) return true;
    if (errno != EEXIST) return false;
  }
  return false;
}

// Makes missing folders of `path`, and adds them to `made`, outermost first. Returns false if it
// fails, with errno set.
bool MakeFoldersOf(const std::string& path, std::vector<std::string>* made) {
  std::string trimmed = path;
  while (trimmed.size() > 1 && trimmed.back() == '/') trimmed.pop_back();
  for (size_t slash = trimmed.find('/', 1); slash != std::string::npos;
       slash = trimmed.find('/', slash + 1)) {
    const std::string folder = trimmed.substr(0, slash);
    if (mkdir(folder.c_str(), 0777) == 0) {
      made->push_back(folder);
      continue;
    }
    const int error = errno;
    if (IsFolder(folder)) continue;
    errno = error == EEXIST ? ENOTDIR : error;
    return false;
  }
  return true;
}

void RemoveMadeFolders(const std::vector<std::string>& made) {
  for (auto it = made.rbegin(); it != made.rend(); ++it) rmdir(it->c_str());
}

// True if the folder is a mount point or the current folder, which cannot or should not be renamed.
bool MustStay(const std::string& folder) {
  struct statx mount;
  if (statx(AT_FDCWD, folder.c_str(), 0, 0, &mount) == 0 &&
      (mount.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0)
    return true;
  std::error_code ignored;
  return std::filesystem::equivalent(folder, ".", ignored);
}

// Replaces the content of `path` by the content of `temporary`, which may be in `path`.
absl::Status MoveContents(const std::string& temporary, const std::string& path) {
  ASSIGN_OR_RETURN(const std::vector<std::string> old_names, ListFolder(path));
  std::error_code error;
  for (const std::string& name : old_names) {
    if (JoinPath(path, name) != temporary) std::filesystem::remove_all(JoinPath(path, name), error);
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFolder(temporary));
  for (const std::string& name : names) {
    if (rename(JoinPath(temporary, name).c_str(), JoinPath(path, name).c_str()) != 0)
      return SystemError("cannot create", JoinPath(path, name));
  }
  std::filesystem::remove_all(temporary, error);
  return absl::OkStatus();
}

// True if renameat2 failed because the file system or the kernel lacks it.
bool IsUnsupported(int error) { return error == EINVAL || error == ENOSYS; }

constexpr char kStandardInput[] = "the standard input";
constexpr size_t kBlock = 1 << 20;

// Reads until `content` is full or the input ends, and then truncates `content`. read_some(to, n,
// done) works like read(2); `done` is the number of bytes that were read before.
template <typename ReadSome>
absl::Status Fill(const ReadSome& read_some, const std::string& path, std::string* content) {
  size_t done = 0;
  while (done < content->size()) {
    const ssize_t n = read_some(content->data() + done, content->size() - done, done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return SystemError("cannot read", path);
    if (n == 0) break;
    done += static_cast<size_t>(n);
  }
  content->resize(done);
  return absl::OkStatus();
}

absl::Status WriteAll(int fd, absl::string_view content, const std::string& path) {
  while (!content.empty()) {
    const ssize_t n = write(fd, content.data(), content.size());
    if (n < 0) {
      if (errno == EINTR) continue;
      return SystemError("cannot write", path);
    }
    content.remove_prefix(static_cast<size_t>(n));
  }
  return absl::OkStatus();
}

ByteSink SinkTo(int fd, const std::string& path) {
  return [fd, path](absl::string_view part) { return WriteAll(fd, part, path); };
}

Producer InOnePart(absl::string_view content) {
  return [content](const ByteSink& sink) { return sink(content); };
}

// Returns whether the path is a stream that whoever started the program has opened for it, as
// <(COMMAND) of a shell is.
bool IsOwnStream(absl::string_view path) {
  if (path == "/dev/stdin") return true;
  return absl::ConsumePrefix(&path, "/dev/fd/") || absl::ConsumePrefix(&path, "/proc/self/fd/");
}

// Reads to the end.
absl::StatusOr<std::string> ReadStream(int fd, const std::string& name, size_t max_bytes) {
  std::string content;
  const auto read_some = [fd](char* to, size_t n, size_t) { return read(fd, to, n); };
  for (std::string block(kBlock, '\0'); block.size() == kBlock;) {
    RETURN_IF_ERROR(Fill(read_some, name, &block));
    if (block.size() > max_bytes - content.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat(Printable(name, 1000), ": at most ", max_bytes, " bytes are read"));
    }
    content += block;
  }
  return content;
}

}  // namespace

absl::StatusOr<InputFile> InputFile::Open(const std::string& path, Links links) {
  RETURN_IF_ERROR(CheckPath(path));
  // O_NONBLOCK: opening a pipe without a writer must not hang.
  const int no_link = links == Links::kRefused ? O_NOFOLLOW : 0;
  InputFile file(path, open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | no_link));
  if (file.fd_ < 0) return SystemError("cannot open", path);
  struct stat info;
  if (fstat(file.fd_, &info) != 0) return SystemError("cannot stat", path);
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(Printable(path, 1000), ": not a regular file"));
  }
  file.size_ = static_cast<uint64_t>(info.st_size);
  return file;
}

InputFile::~InputFile() {
  if (fd_ >= 0) close(fd_);
}

absl::StatusOr<std::string> InputFile::Read(uint64_t offset, size_t bytes) const {
  std::string content(bytes, '\0');
  const auto read_some = [&](char* to, size_t n, size_t done) {
    return pread(fd_, to, n, static_cast<off_t>(offset + done));
  };
  RETURN_IF_ERROR(Fill(read_some, path_, &content));
  return content;
}

absl::StatusOr<std::string> ReadFile(const std::string& path, size_t max_bytes, Links links) {
  if (path == "-") return ReadStream(STDIN_FILENO, kStandardInput, max_bytes);
  if (IsOwnStream(path)) {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return SystemError("cannot open", path);
    const absl::Cleanup closer = [fd] { close(fd); };
    return ReadStream(fd, path, max_bytes);
  }
  ASSIGN_OR_RETURN(const InputFile file, InputFile::Open(path, links));
  if (file.size() <= max_bytes) return file.Read(0, static_cast<size_t>(file.size()));
  return absl::InvalidArgumentError(absl::StrCat(Printable(path, 1000), ": ", file.size(),
                                                 " bytes; at most ", max_bytes, " are read"));
}

absl::string_view WithoutTemporary(absl::string_view path) {
  absl::string_view stem = path;
  const bool is_temporary =
      absl::ConsumeSuffix(&stem, ".tmp") && ConsumeNumber(&stem) && ConsumeNumber(&stem);
  return is_temporary && !stem.empty() && stem.back() != '/' ? stem : path;
}

absl::Status WriteFileAtomic(const std::string& path, absl::string_view content) {
  return WriteFileAtomic(path, InOnePart(content));
}

absl::Status WriteFileAtomic(const std::string& path, const Producer& content) {
  if (path == "-") return content(SinkTo(STDOUT_FILENO, "standard output"));
  RETURN_IF_ERROR(CheckPath(path));
  struct stat info;
  if (stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    if (S_ISDIR(info.st_mode)) {
      return absl::InvalidArgumentError(absl::StrCat(Printable(path, 1000), ": is a folder"));
    }
    const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0) return SystemError("cannot open", path);
    const absl::Cleanup closer = [fd] { close(fd); };
    return content(SinkTo(fd, path));
  }
  ASSIGN_OR_RETURN(StagedFile file, StagedFile::Write(path, content));
  return file.Commit();
}

absl::StatusOr<StagedFile> StagedFile::Write(const std::string& path, absl::string_view content) {
  return Write(path, InOnePart(content));
}

absl::StatusOr<StagedFile> StagedFile::Write(const std::string& path, const Producer& content) {
  RETURN_IF_ERROR(CheckPath(path));
  StagedFile file;
  file.path_ = path;
  if (!MakeFoldersOf(path, &file.made_folders_)) return SystemError("cannot create", path);
  std::string temporary;
  int fd = -1;
  if (!MakeTemporary(path, &temporary, [&](const char* name) {
        return fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      })) {
    return SystemError("cannot create", path);
  }
  file.temporary_ = temporary;
  absl::Status status = content(SinkTo(fd, path));
  if (close(fd) != 0 && status.ok()) status = SystemError("cannot write", path);
  RETURN_IF_ERROR(status);
  return file;
}

StagedFile::StagedFile(StagedFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, "")),
      made_folders_(std::exchange(other.made_folders_, {})) {}

StagedFile::~StagedFile() {
  if (!temporary_.empty()) unlink(temporary_.c_str());
  RemoveMadeFolders(made_folders_);
}

absl::Status StagedFile::Commit() {
  if (rename(temporary_.c_str(), path_.c_str()) != 0) return SystemError("cannot create", path_);
  temporary_.clear();
  made_folders_.clear();
  return absl::OkStatus();
}

absl::Status WriteFolderAtomic(const std::string& given, bool replace,
                               const std::function<absl::Status(const std::string& dir)>& fill) {
  RETURN_IF_ERROR(CheckPath(given));
  std::string path = given;
  struct stat info;
  // If `path` is a link to a folder, replace that folder.
  if (stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) {
    std::error_code error;
    const std::filesystem::path real = std::filesystem::canonical(path, error);
    if (!error) path = real.string();
  }
  const bool exists = lstat(path.c_str(), &info) == 0;
  if (exists && !replace) {
    return absl::AlreadyExistsError(absl::StrCat(Printable(given, 1000), " exists already"));
  }
  if (exists && !S_ISDIR(info.st_mode)) {
    return absl::AlreadyExistsError(
        absl::StrCat(Printable(given, 1000), " exists already and is not a folder"));
  }
  std::vector<std::string> made_folders;
  absl::Cleanup remove_folders = [&] { RemoveMadeFolders(made_folders); };
  if (!MakeFoldersOf(path, &made_folders)) return SystemError("cannot create", given);
  const std::string parent = std::filesystem::path(path).parent_path().string();
  const bool stays =
      exists && (MustStay(path) || access(parent.empty() ? "." : parent.c_str(), W_OK) != 0);
  std::string temporary;
  if (!MakeTemporary(stays ? JoinPath(path, "new") : path, &temporary,
                     [](const char* name) { return mkdir(name, 0777); })) {
    return SystemError("cannot create", given);
  }
  absl::Cleanup remove = [&] {
    std::error_code ignored;
    std::filesystem::remove_all(temporary, ignored);
  };
  RETURN_IF_ERROR(fill(temporary));
  std::string old;
  if (!exists) {
    // This fails if something took the name meanwhile.
    if (renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) != 0 &&
        (!IsUnsupported(errno) || rename(temporary.c_str(), path.c_str()) != 0)) {
      return SystemError("cannot create", given);
    }
  } else if (stays) {
    RETURN_IF_ERROR(MoveContents(temporary, path));
  } else if (renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, path.c_str(), RENAME_EXCHANGE) == 0) {
    old = temporary;
  } else if (errno == EBUSY || errno == EXDEV) {
    // The folder belongs to another program or to a lower layer of a container.
    RETURN_IF_ERROR(MoveContents(temporary, path));
  } else if (!IsUnsupported(errno)) {
    return SystemError("cannot replace", given);
  } else {
    // The file system cannot exchange names. The old folder is moved aside first, because a folder
    // cannot be renamed over one that is not empty.
    old = TemporaryName(path);
    if (rename(path.c_str(), old.c_str()) != 0) return SystemError("cannot replace", given);
    if (rename(temporary.c_str(), path.c_str()) != 0) {
      absl::Status status = SystemError("cannot create", given);
      if (rename(old.c_str(), path.c_str()) != 0) return SystemError("cannot restore", given);
      return status;
    }
  }
  std::move(remove).Cancel();
  std::move(remove_folders).Cancel();
  // The new folder is in place, so it is not a failure if the old one cannot be deleted.
  std::error_code ignored;
  if (!old.empty()) std::filesystem::remove_all(old, ignored);
  return absl::OkStatus();
}

absl::Status CopyFileAtomic(const std::string& from, const std::string& to) {
  std::ifstream file(from, std::ios::binary);
  if (!file) return SystemError("cannot read", from);
  return WriteFileAtomic(to, [&](const ByteSink& sink) -> absl::Status {
    std::string block(kBlock, '\0');
    while (file.read(block.data(), static_cast<std::streamsize>(block.size())) || file.gcount() > 0)
      RETURN_IF_ERROR(sink(absl::string_view(block).substr(0, static_cast<size_t>(file.gcount()))));
    return file.bad() ? SystemError("cannot read", from) : absl::OkStatus();
  });
}

absl::StatusOr<bool> IsRegularFile(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return SystemError("cannot find", path);
  return S_ISREG(info.st_mode);
}

bool FileExists(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0;
}

bool IsFolder(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

absl::Status MakeFoldersOf(const std::string& path) {
  std::vector<std::string> made;
  return MakeFoldersOf(path, &made) ? absl::OkStatus() : SystemError("cannot create", path);
}

absl::StatusOr<std::vector<std::string>> ListFolder(const std::string& path) {
  RETURN_IF_ERROR(CheckPath(path));
  DIR* dir = opendir(path.c_str());
  if (dir == nullptr) return SystemError("cannot list", path);
  const absl::Cleanup closer = [dir] { closedir(dir); };
  std::vector<std::string> names;
  while (true) {
    errno = 0;  // Tells an error from the end of the folder.
    const dirent* entry = readdir(dir);
    if (entry == nullptr && errno != 0) return SystemError("cannot list", path);
    if (entry == nullptr) break;
    const absl::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string JoinPath(absl::string_view folder, absl::string_view name) {
  if (folder.empty()) return std::string(name);
  if (folder.back() == '/') return absl::StrCat(folder, name);
  return absl::StrCat(folder, "/", name);
}

std::string BaseName(absl::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  const size_t slash = path.rfind('/');
  return std::string(slash == absl::string_view::npos ? path : path.substr(slash + 1));
}

}  // namespace graphnet
