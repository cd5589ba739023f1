// Packs the files that a user stored in an archive (torch.export.save(…, extra_files={…})) into one
// file of the sample: a JSON object from names to contents. A content that is not UTF-8, which
// torch.export.load would refuse, becomes {"base64": "…"}.
#ifndef GRAPHNET_FORMATS_PT2_EXTRA_FILES_H_
#define GRAPHNET_FORMATS_PT2_EXTRA_FILES_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace graphnet::pt2 {

// Returns the JSON of `files`, a map from names to contents.
std::string PackExtraFiles(const std::map<std::string, std::string>& files);

// Reads that JSON. InvalidArgument for another text, or a name that is not a relative path.
absl::StatusOr<std::map<std::string, std::string>> UnpackExtraFiles(absl::string_view json);

}  // namespace graphnet::pt2

#endif  // GRAPHNET_FORMATS_PT2_EXTRA_FILES_H_
