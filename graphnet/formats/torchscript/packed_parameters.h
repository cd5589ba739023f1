// Internal: the classes of PyTorch whose objects hold the packed parameters of quantised layers.
#ifndef GRAPHNET_FORMATS_TORCHSCRIPT_PACKED_PARAMETERS_H_
#define GRAPHNET_FORMATS_TORCHSCRIPT_PACKED_PARAMETERS_H_

#include "absl/algorithm/container.h"
#include "absl/strings/string_view.h"

namespace graphnet {

inline constexpr absl::string_view kLinearParameters =
    "__torch__.torch.classes.quantized.LinearPackedParamsBase";
inline constexpr absl::string_view kConv2dParameters =
    "__torch__.torch.classes.quantized.Conv2dPackedParamsBase";
inline constexpr absl::string_view kConv3dParameters =
    "__torch__.torch.classes.quantized.Conv3dPackedParamsBase";
inline constexpr absl::string_view kEmbeddingParameters =
    "__torch__.torch.classes.quantized.EmbeddingPackedParamsBase";
inline constexpr absl::string_view kCellParameters = "__torch__.torch.classes.rnn.CellParamsBase";

// Returns whether a qualified name is that of such a class. An archive may use no other class of
// torch.classes, as loading an object of one runs code that need not check what it is given.
inline bool IsPackedParameters(absl::string_view qualified_name) {
  static constexpr absl::string_view kNames[] = {kLinearParameters, kConv2dParameters,
                                                 kConv3dParameters, kEmbeddingParameters,
                                                 kCellParameters};
  return absl::c_linear_search(kNames, qualified_name);
}

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_TORCHSCRIPT_PACKED_PARAMETERS_H_
