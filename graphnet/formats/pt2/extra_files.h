// What a user stored beside the programs of an archive (torch.export.save(…, extra_files={…})),
// as the one file of a sample that keeps it: JSON, an object from names to texts. A content that
// is not UTF-8, which torch.export.load would refuse, is {"base64": "…"}.
#ifndef GRAPHNET_FORMATS_PT2_EXTRA_FILES_H_
#define GRAPHNET_FORMATS_PT2_EXTRA_FILES_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace graphnet::pt2 {

std::string PackExtraFiles(const std::map<std::string, std::string>& files);

// InvalidArgument for a text that is not as above, or a name that is no relative path.
absl::StatusOr<std::map<std::string, std::string>> UnpackExtraFiles(absl::string_view json);

}  // namespace graphnet::pt2

#endif  // GRAPHNET_FORMATS_PT2_EXTRA_FILES_H_
