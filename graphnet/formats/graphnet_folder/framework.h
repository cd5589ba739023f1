// Whose calls a sample is made of, as graph_net.json says: "framework" is "torch" or "paddle".
#ifndef GRAPHNET_FORMATS_GRAPHNET_FOLDER_FRAMEWORK_H_
#define GRAPHNET_FORMATS_GRAPHNET_FOLDER_FRAMEWORK_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/types.h"

namespace graphnet {

enum class Framework { kTorch, kPaddle };

// "torch", "paddle"
absl::string_view FrameworkName(Framework framework);

// Nullopt: `name` is neither.
std::optional<Framework> ParseFramework(absl::string_view name);

// What graph_net.json says; torch if it says nothing, or is empty. InvalidArgument for a
// framework that is neither; `file_name` serves the message.
absl::StatusOr<Framework> FrameworkOf(const std::string& graph_net_json,
                                      absl::string_view file_name);
// graph_net.json with another framework, all else as it is; `graph_net_json` is an object.
std::string WithFramework(const std::string& graph_net_json, Framework framework);

// Words of records in the framework's terms: "torch.float32" and "paddle.float32"; "cuda:0" and
// "gpu:0". Paddle's own samples leave out "paddle.", so that may be lacking.
std::string DTypeWord(DType dtype, Framework framework);
std::optional<DType> ParseDTypeWord(absl::string_view word, Framework framework);
std::string DeviceWord(Device device, Framework framework);
std::optional<Device> ParseDeviceWord(absl::string_view word, Framework framework);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_GRAPHNET_FOLDER_FRAMEWORK_H_
