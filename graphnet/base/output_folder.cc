#include "graphnet/base/output_folder.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graphnet/base/file.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"

namespace graphnet {
namespace {

// The stem of the folder in which WriteFolderAtomic writes if it cannot rename the old one.
constexpr char kNew[] = "new";

absl::Status Foreign(const std::string& folder, absl::string_view entry, absl::string_view what) {
  return absl::AlreadyExistsError(absl::StrCat(
      Printable(folder, 1000), ": not replaced, as it holds ", Printable(entry, 1000), what));
}

class Examination {
 public:
  Examination(const std::string& folder, const IsOwnEntry& is_own, std::string except)
      : folder_(folder), is_own_(is_own), except_(std::move(except)) {}

  // `seen` is the place in the folder, `meant` is the place that the entries have for their writer.
  absl::Status Examine(const std::string& seen, const std::string& meant, int depth) {
    if (depth > kMaxNesting) return Foreign(folder_, seen, ", which is nested too deeply");
    const std::string place = seen.empty() ? folder_ : JoinPath(folder_, seen);
    ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFolder(place));
    for (const std::string& name : names) {
      const std::string path = JoinPath(place, name);
      if (path == except_) continue;
      const std::string entry = JoinPath(seen, name);
      struct statx info;
      if (statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, STATX_TYPE, &info) != 0) {
        if (errno == ENOENT) continue;  // It is gone meanwhile.
        return absl::InternalError(
            absl::StrCat("cannot stat ", Printable(path, 1000), ": ", std::strerror(errno)));
      }
      const bool is_folder = S_ISDIR(info.stx_mode);
      if (S_ISLNK(info.stx_mode)) return Foreign(folder_, entry, ", a link");
      if (!is_folder && !S_ISREG(info.stx_mode)) return Foreign(folder_, entry, ", a special file");
      if ((info.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0)
        return Foreign(folder_, entry, ", a mount point");
      const absl::string_view stem = WithoutTemporary(name);
      const bool is_unfinished = seen.empty() && is_folder && stem == kNew && stem != name;
      const std::string own = is_unfinished ? "" : JoinPath(meant, stem);
      const bool is_own = is_own_(own, is_folder) || (stem != name && is_own_(own, !is_folder));
      if (!is_unfinished && !is_own) return Foreign(folder_, entry, "");
      if (is_folder) RETURN_IF_ERROR(Examine(entry, own, depth + 1));
    }
    return absl::OkStatus();
  }

 private:
  const std::string folder_;
  const IsOwnEntry& is_own_;
  const std::string except_;  // a path that is not examined
};

absl::Status Check(const std::string& folder, const IsOwnEntry& is_own, const std::string& except) {
  struct stat info;
  if (lstat(folder.c_str(), &info) != 0 && (errno == ENOENT || errno == ENOTDIR))
    return absl::OkStatus();
  if (!IsFolder(folder))
    return absl::AlreadyExistsError(
        absl::StrCat(Printable(folder, 1000), " exists already and is not a folder"));
  return Examination(folder, is_own, except).Examine("", "", 0);
}

}  // namespace

absl::Status CheckReplaceable(const std::string& folder, const IsOwnEntry& is_own) {
  return Check(folder, is_own, "");
}

absl::Status ReplaceFolder(const std::string& folder, const IsOwnEntry& is_own,
                           const std::function<absl::Status(const std::string& dir)>& fill) {
  RETURN_IF_ERROR(Check(folder, is_own, ""));
  return WriteFolderAtomic(folder, /*replace=*/true, [&](const std::string& dir) -> absl::Status {
    RETURN_IF_ERROR(fill(dir));
    // `fill` may take minutes, in which others can write to the folder. `dir` may be in it.
    const std::string in_folder = JoinPath(folder, BaseName(dir));
    struct stat here, there;
    const bool is_inside = stat(in_folder.c_str(), &here) == 0 && stat(dir.c_str(), &there) == 0 &&
                           here.st_ino == there.st_ino && here.st_dev == there.st_dev;
    return Check(folder, is_own, is_inside ? in_folder : "");
  });
}

}  // namespace graphnet
