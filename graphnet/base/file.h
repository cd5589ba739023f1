// Reading files whole within a limit or range by range, and writing them whole or not
// at all.
#ifndef GRAPHNET_BASE_FILE_H_
#define GRAPHNET_BASE_FILE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace graphnet {

// Whether a path may be a symbolic link itself; links in the folders before it are followed.
enum class Links { kFollowed, kRefused };

// A regular file, open for reading (devices and pipes are refused).
class InputFile {
 public:
  // NotFound if there is none.
  static absl::StatusOr<InputFile> Open(const std::string& path, Links links = Links::kFollowed);
  InputFile(InputFile&& other) noexcept
      : path_(std::move(other.path_)), size_(other.size_), fd_(other.fd_) {
    other.fd_ = -1;
  }
  ~InputFile();

  uint64_t size() const { return size_; }  // when it was opened
  // `bytes` bytes from `offset` on, fewer if the file ends before.
  absl::StatusOr<std::string> Read(uint64_t offset, size_t bytes) const;

 private:
  InputFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

  std::string path_;
  uint64_t size_ = 0;
  int fd_;
};

// Reads a regular file, or for "-" the standard input.
// NotFound if there is none, InvalidArgument if it exceeds `max_bytes`.
absl::StatusOr<std::string> ReadFile(const std::string& path, size_t max_bytes,
                                     Links links = Links::kFollowed);

// Takes the next part of a content. After an error it is given no more.
using ByteSink = std::function<absl::Status(absl::string_view part)>;
// Gives a content to a sink part by part, so that it need not be in memory as a whole.
using Producer = std::function<absl::Status(const ByteSink& sink)>;

// Writes beside `path` and renames over it, so that readers see either the old
// or the whole new content. "-" and devices such as /dev/stdout are written
// straight through. Makes the folders that `path` lies in where they are missing.
absl::Status WriteFileAtomic(const std::string& path, absl::string_view content);
// An error of `content` is returned, and nothing is written to `path`.
absl::Status WriteFileAtomic(const std::string& path, const Producer& content);

// A file that is written beside its path and not there yet. Files that belong together are
// all staged before the first is committed, so that a full disk changes none of them:
//
//   ASSIGN_OR_RETURN(StagedFile weights, StagedFile::Write("a.safetensors", bytes));
//   ASSIGN_OR_RETURN(StagedFile program, StagedFile::Write("a.mlir", text));
//   RETURN_IF_ERROR(weights.Commit());
//   RETURN_IF_ERROR(program.Commit());
class StagedFile {
 public:
  // Makes the folders that `path` lies in where they are missing.
  static absl::StatusOr<StagedFile> Write(const std::string& path, absl::string_view content);
  static absl::StatusOr<StagedFile> Write(const std::string& path, const Producer& content);
  StagedFile(StagedFile&& other) noexcept;
  // Deletes the file, and the folders that were made for it, unless it was committed.
  ~StagedFile();

  // Where the file is until it is committed.
  const std::string& temporary() const { return temporary_; }
  // Renames the file to its path.
  absl::Status Commit();

 private:
  StagedFile() = default;

  std::string path_;
  std::string temporary_;  // empty: nothing to delete
  std::vector<std::string> made_folders_;
};

// Creates `path` as a folder whole or not at all: `fill` writes into a temporary folder,
// which takes the name `path` when `fill` succeeds and is deleted when not. The folders that
// `path` lies in are made where they are missing. A folder that is at `path` already is
// replaced, in one step, when `replace` is true, else AlreadyExists; anything else is never
// replaced. A mount point, the current folder, and a folder that lies where nothing can
// be written stay, and what they hold is replaced file by file. Whatever cannot be deleted of a folder that was replaced stays under a temporary name.
absl::Status WriteFolderAtomic(const std::string& path, bool replace,
                               const std::function<absl::Status(const std::string& dir)>& fill);

// NotFound if there is nothing at `path`.
absl::StatusOr<bool> IsRegularFile(const std::string& path);
bool FileExists(const std::string& path);
bool IsFolder(const std::string& path);

// Makes the folders that `path` lies in where they are missing.
absl::Status MakeFoldersOf(const std::string& path);

// Names in a folder, sorted, without "." and "..".
absl::StatusOr<std::vector<std::string>> ListFolder(const std::string& path);

// Joins with one slash; `name` is taken relative.
std::string JoinPath(absl::string_view folder, absl::string_view name);

// The last component of a path; "a/b/" gives "b".
std::string BaseName(absl::string_view path);

}  // namespace graphnet

#endif  // GRAPHNET_BASE_FILE_H_
