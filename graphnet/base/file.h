// Reading files whole within a limit, and writing them whole or not at all.
#ifndef GRAPHNET_BASE_FILE_H_
#define GRAPHNET_BASE_FILE_H_

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace graphnet {

// Reads a regular file (links are followed, devices and pipes refused).
// NotFound if there is none, InvalidArgument if it exceeds `max_bytes`.
absl::StatusOr<std::string> ReadFile(const std::string& path, size_t max_bytes);

// Writes beside `path` and renames over it, so that readers see either the old
// or the whole new content. "-" and devices such as /dev/stdout are written
// straight through.
absl::Status WriteFileAtomic(const std::string& path, absl::string_view content);

// Creates `path` as a folder whole or not at all: `fill` writes into a
// temporary sibling that takes the name `path` when `fill` succeeds and is
// deleted when not. A folder that is at `path` already is replaced, in one step,
// when `replace` is true, else AlreadyExists; anything else is never replaced.
absl::Status WriteFolderAtomic(const std::string& path, bool replace,
                               const std::function<absl::Status(const std::string& dir)>& fill);

// NotFound if there is nothing at `path`.
absl::StatusOr<bool> IsRegularFile(const std::string& path);
bool FileExists(const std::string& path);
bool IsFolder(const std::string& path);

// Names in a folder, sorted, without "." and "..".
absl::StatusOr<std::vector<std::string>> ListFolder(const std::string& path);

// Joins with one slash; `name` is taken relative.
std::string JoinPath(absl::string_view folder, absl::string_view name);

// The last component of a path; "a/b/" gives "b".
std::string BaseName(absl::string_view path);

}  // namespace graphnet

#endif  // GRAPHNET_BASE_FILE_H_
