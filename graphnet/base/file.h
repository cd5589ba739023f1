// Reads files, whole within a limit or range by range, and writes them whole or not at all.
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

// Says whether a path itself may be a symbolic link. Links among its folders are always followed.
enum class Links { kFollowed, kRefused };

// A regular file that is open for reading. Devices and pipes are refused.
class InputFile {
 public:
  // NotFound if there is no such file.
  static absl::StatusOr<InputFile> Open(const std::string& path, Links links = Links::kFollowed);
  InputFile(InputFile&& other) noexcept
      : path_(std::move(other.path_)), size_(other.size_), fd_(other.fd_) {
    other.fd_ = -1;
  }
  ~InputFile();

  uint64_t size() const { return size_; }  // in bytes, when the file was opened
  // Returns `bytes` bytes from `offset` on, or fewer if the file ends before.
  absl::StatusOr<std::string> Read(uint64_t offset, size_t bytes) const;

 private:
  InputFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

  std::string path_;
  uint64_t size_ = 0;
  int fd_;
};

// Reads a regular file, the standard input if the path is "-", or a stream that is open already
// (/dev/stdin, /dev/fd/N). NotFound if there is no such file, InvalidArgument if it has more than
// `max_bytes`.
absl::StatusOr<std::string> ReadFile(const std::string& path, size_t max_bytes,
                                     Links links = Links::kFollowed);

// Receives the next part of a content. It is not called again after it returns an error.
using ByteSink = std::function<absl::Status(absl::string_view part)>;
// Passes a content to a sink part by part, so that it need not be in memory as a whole.
using Producer = std::function<absl::Status(const ByteSink& sink)>;

// Writes a temporary file beside `path` and renames it, so that readers see either the old content
// or the whole new one. "-" and devices such as /dev/stdout are written directly. Missing folders
// of `path` are made.
absl::Status WriteFileAtomic(const std::string& path, absl::string_view content);
// Returns an error of `content`, and then leaves `path` as it was.
absl::Status WriteFileAtomic(const std::string& path, const Producer& content);
// Copies the content of a file in the same way.
absl::Status CopyFileAtomic(const std::string& from, const std::string& to);
// Returns the path for which a temporary file or folder was made ("a.pb" for "a.pb.12.0.tmp"), or
// else `path` itself. A program that was killed may have left such files.
absl::string_view WithoutTemporary(absl::string_view path);

// A file that is written beside its path and is not at its path yet. Stage all files that belong
// together before you commit the first, so that a full disk changes none of them:
//
//   ASSIGN_OR_RETURN(StagedFile weights, StagedFile::Write("a.safetensors", bytes));
//   ASSIGN_OR_RETURN(StagedFile program, StagedFile::Write("a.mlir", text));
//   RETURN_IF_ERROR(weights.Commit());
//   RETURN_IF_ERROR(program.Commit());
class StagedFile {
 public:
  // Makes missing folders of `path`.
  static absl::StatusOr<StagedFile> Write(const std::string& path, absl::string_view content);
  static absl::StatusOr<StagedFile> Write(const std::string& path, const Producer& content);
  StagedFile(StagedFile&& other) noexcept;
  // Deletes the file and the folders that were made for it, unless the file was committed.
  ~StagedFile();

  // The path of the file until it is committed.
  const std::string& temporary() const { return temporary_; }
  // Renames the file to its path.
  absl::Status Commit();

 private:
  StagedFile() = default;

  std::string path_;
  std::string temporary_;  // empty: nothing to delete
  std::vector<std::string> made_folders_;
};

// Creates the folder `path` whole or not at all. `fill` writes into a temporary folder, which is
// renamed to `path` if `fill` succeeds, and deleted otherwise. Missing folders of `path` are made.
// A folder that exists at `path` is replaced in one step if `replace` is true; otherwise the result
// is AlreadyExists. Anything that is not a folder is never replaced. A mount point, the current
// folder and a folder in a folder that is not writable cannot be renamed: their content is replaced
// file by file. If a replaced folder cannot be deleted whole, the rest stays under a temporary
// name.
absl::Status WriteFolderAtomic(const std::string& path, bool replace,
                               const std::function<absl::Status(const std::string& dir)>& fill);

// NotFound if there is nothing at `path`.
absl::StatusOr<bool> IsRegularFile(const std::string& path);
bool FileExists(const std::string& path);
bool IsFolder(const std::string& path);

// Makes missing folders of `path`, but not `path` itself.
absl::Status MakeFoldersOf(const std::string& path);

// Returns the names in a folder, sorted, without "." and "..".
absl::StatusOr<std::vector<std::string>> ListFolder(const std::string& path);

// Joins with one slash. `name` is treated as relative, even if it begins with a slash.
std::string JoinPath(absl::string_view folder, absl::string_view name);

// Returns the last component of a path. "a/b/" gives "b".
std::string BaseName(absl::string_view path);

}  // namespace graphnet

#endif  // GRAPHNET_BASE_FILE_H_
