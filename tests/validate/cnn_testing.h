// A small convolutional network and its pieces as a person would cut them: each piece takes its
// weights by name and one value from the piece before.
#ifndef TESTS_VALIDATE_CNN_TESTING_H_
#define TESTS_VALIDATE_CNN_TESTING_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace graphnet {

inline constexpr absl::string_view kCnn = R"(
graph @forward(
  %x : f32[1, 1, 28, 28]@cpu {mean = 0.0, std = 1.0},
  %conv1_weight : f32[16, 1, 3, 3]@cpu {mean = 0.0, std = 0.2},
  %conv1_bias : f32[16]@cpu {mean = 0.0, std = 0.2},
  %conv2_weight : f32[32, 16, 3, 3]@cpu {mean = 0.0, std = 0.1},
  %conv2_bias : f32[32]@cpu {mean = 0.0, std = 0.1},
  %fc1_weight : f32[128, 1568]@cpu {mean = 0.0, std = 0.02},
  %fc1_bias : f32[128]@cpu {mean = 0.0, std = 0.02},
  %fc2_weight : f32[10, 128]@cpu {mean = 0.0, std = 0.1},
  %fc2_bias : f32[10]@cpu {mean = 0.0, std = 0.1}
) {
  %input_1 = torch.conv2d(%x, %conv1_weight, %conv1_bias, (1, 1), (1, 1), (1, 1), 1)
  %input_2 = torch.nn.functional.relu(%input_1, inplace = True)
  %input_3 = torch.nn.functional.max_pool2d(%input_2, 2, 2, 0, 1, ceil_mode = False, return_indices = False)
  %input_4 = torch.conv2d(%input_3, %conv2_weight, %conv2_bias, (1, 1), (1, 1), (1, 1), 1)
  %input_5 = torch.nn.functional.relu(%input_4, inplace = False)
  %input_6 = torch.nn.functional.max_pool2d(%input_5, 2, 2, 0, 1, ceil_mode = False, return_indices = False)
  %input_7 = torch.flatten(%input_6, 1)
  %input_8 = torch._C._nn.linear(%input_7, %fc1_weight, %fc1_bias)
  %input_9 = torch.nn.functional.relu(%input_8, inplace = False)
  %input_10 = torch._C._nn.linear(%input_9, %fc2_weight, %fc2_bias)
  return (%input_10,)
}
)";

// The names inside the pieces differ from those of the network.
inline std::vector<std::string> CnnPieces() {
  return {R"(
graph @forward(
  %conv1_bias : f32[16]@cpu {mean = 0.0, std = 0.2},
  %conv1_weight : f32[16, 1, 3, 3]@cpu {mean = 0.0, std = 0.2},
  %x : f32[1, 1, 28, 28]@cpu {mean = 0.0, std = 1.0}
) {
  %conv = torch.conv2d(%x, %conv1_weight, %conv1_bias, (1, 1), (1, 1), (1, 1), 1)
  %relu = torch.nn.functional.relu(%conv, inplace = True)
  %pool = torch.nn.functional.max_pool2d(%relu, 2, 2, 0, 1, ceil_mode = False, return_indices = False)
  return (%pool,)
}
)",
          R"(
graph @forward(
  %input_3 : f32[1, 16, 14, 14]@cpu,
  %conv2_weight : f32[32, 16, 3, 3]@cpu {mean = 0.0, std = 0.1},
  %conv2_bias : f32[32]@cpu {mean = 0.0, std = 0.1}
) {
  %conv = torch.conv2d(%input_3, %conv2_weight, %conv2_bias, (1, 1), (1, 1), (1, 1), 1)
  %relu = torch.nn.functional.relu(%conv, inplace = False)
  %pool = torch.nn.functional.max_pool2d(%relu, 2, 2, 0, 1, ceil_mode = False, return_indices = False)
  return (%pool,)
}
)",
          R"(
graph @forward(
  %input_6 : f32[1, 32, 7, 7]@cpu,
  %fc1_weight : f32[128, 1568]@cpu {mean = 0.0, std = 0.02},
  %fc1_bias : f32[128]@cpu {mean = 0.0, std = 0.02},
  %fc2_weight : f32[10, 128]@cpu {mean = 0.0, std = 0.1},
  %fc2_bias : f32[10]@cpu {mean = 0.0, std = 0.1}
) {
  %flat = torch.flatten(%input_6, 1)
  %linear = torch._C._nn.linear(%flat, %fc1_weight, %fc1_bias)
  %relu = torch.nn.functional.relu(%linear, inplace = False)
  %out = torch._C._nn.linear(%relu, %fc2_weight, %fc2_bias)
  return (%out,)
}
)"};
}

}  // namespace graphnet

#endif  // TESTS_VALIDATE_CNN_TESTING_H_
