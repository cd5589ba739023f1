// Checks and makes graph_net.json. A sample keeps it as text, so that unknown keys survive.
#ifndef GRAPHNET_FORMATS_GRAPHNET_FOLDER_JSON_OBJECT_H_
#define GRAPHNET_FORMATS_GRAPHNET_FOLDER_JSON_OBJECT_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace graphnet {

// Returns OK if `text` is a JSON object nested at most kMaxJsonDepth deep. Errors name line and
// column.
absl::Status CheckJsonObject(const std::string& text, absl::string_view file_name);
// Also sets `value` to the string that the object has for `key`; to "" if it has none.
absl::Status CheckJsonObject(const std::string& text, absl::string_view file_name,
                             absl::string_view key, std::string* value);

// Returns the graph_net.json of a new sample. It has the five keys that GraphNet's extractor
// writes.
std::string MakeGraphNetJson(absl::string_view model_name, bool dynamic);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_GRAPHNET_FOLDER_JSON_OBJECT_H_
