#include "graphnet/ir/module_path.h"

#include "gtest/gtest.h"

namespace graphnet {
namespace {

TEST(ModulePathTest, OfNames) {
  EXPECT_EQ(ModulePathOfParameter("layer1.0.conv1.weight"), "layer1.0.conv1");
  EXPECT_EQ(
      ModulePathOfParameter("L_self_modules_layer1_modules_0_modules_conv1_parameters_weight_"),
      "layer1.0.conv1");
  EXPECT_EQ(ModulePathOfParameter("L_self_modules_bn1_buffers_running_mean_"), "bn1");
  EXPECT_EQ(ModulePathOfParameter("L_x_"), "");
  EXPECT_EQ(ModulePathOfParameter("_modules_"), "");
  EXPECT_EQ(ModulePathOfParameter("_parameters_modules_"), "");
}

}  // namespace
}  // namespace graphnet
