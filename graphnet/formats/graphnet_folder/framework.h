// Framework: the library whose calls a sample makes. The key "framework" of graph_net.json says
// "torch" or "paddle".
#ifndef GRAPHNET_FORMATS_GRAPHNET_FOLDER_FRAMEWORK_H_
#define GRAPHNET_FORMATS_GRAPHNET_FOLDER_FRAMEWORK_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/json.h"
#include "graphnet/ir/types.h"

namespace graphnet {

enum class Framework { kTorch, kPaddle };

// Returns "torch" or "paddle".
absl::string_view FrameworkName(Framework framework);

// Returns nullopt if `name` is neither "torch" nor "paddle".
std::optional<Framework> ParseFramework(absl::string_view name);

// Returns the framework that graph_net.json names; torch if it names none or is empty.
// InvalidArgument, which names `file_name`, if it names another.
absl::StatusOr<Framework> FrameworkOf(const Json& graph_net_json, absl::string_view file_name);
// Returns graph_net.json, which must be an object, with this framework and otherwise the same.
std::string WithFramework(const std::string& graph_net_json, Framework framework);

// Returns the graph_net.json of a new sample. It has the five keys that GraphNet's extractor
// writes. Bytes of the name that are not UTF-8 are replaced.
std::string MakeGraphNetJson(absl::string_view model_name, bool dynamic);

// Convert dtypes and devices to and from the words of the framework: "torch.float32" and
// "paddle.float32"; "cuda:0" and "gpu:0". Parsing accepts dtypes without "paddle.", as Paddle's own
// samples write them.
std::string DTypeWord(DType dtype, Framework framework);
std::optional<DType> ParseDTypeWord(absl::string_view word, Framework framework);
std::string DeviceWord(Device device, Framework framework);
std::optional<Device> ParseDeviceWord(absl::string_view word, Framework framework);

// Returns the number that float(`word`) is. PyTorch's samples write only those that have no literal:
// "nan", "inf" and "-inf".
std::optional<double> ParseFloatWord(absl::string_view word, Framework framework);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_GRAPHNET_FOLDER_FRAMEWORK_H_
