// Says whether a folder of output may be replaced, and replaces it.
#ifndef GRAPHNET_BASE_OUTPUT_FOLDER_H_
#define GRAPHNET_BASE_OUTPUT_FOLDER_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace graphnet {

// Returns whether the writer of a folder writes an entry of this kind at this path, which is
// relative to the folder: "a", "a/b". It is asked for a folder before it is asked for what is in it.
using IsOwnEntry = std::function<bool(absl::string_view path, bool is_folder)>;

// OK if nothing is at `folder`, or if it is a folder in which each entry, at every depth, is one
// that its writer writes. Otherwise the result is AlreadyExists and names the first entry that is
// foreign. Links, devices and mount points are foreign whatever their name, and so are hidden files
// that `is_own` does not name. What a killed writer left (NAME.1.2.tmp) counts as NAME does. If
// `folder` is a link, the folder behind it is examined. A folder that cannot be listed is an error.
absl::Status CheckReplaceable(const std::string& folder, const IsOwnEntry& is_own);

// Like WriteFolderAtomic, and replaces a folder only if CheckReplaceable allows it, before `fill`
// starts and again when it has ended:
//
//   const IsOwnEntry is_own = [](absl::string_view path, bool is_folder) {
//     return !is_folder && path == "plan.json";
//   };
//   RETURN_IF_ERROR(ReplaceFolder("plans", is_own, [&](const std::string& folder) {
//     return WriteFileAtomic(JoinPath(folder, "plan.json"), plan);
//   }));
absl::Status ReplaceFolder(const std::string& folder, const IsOwnEntry& is_own,
                           const std::function<absl::Status(const std::string& dir)>& fill);

}  // namespace graphnet

#endif  // GRAPHNET_BASE_OUTPUT_FOLDER_H_
