// Runs each call of a table and compares the memory that its value shares, and the values that it
// changed, with facts/memory/effects.h and facts/memory/memory_use.h. Both must report at least
// these.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "ATen/ATen.h"
#include "absl/strings/str_cat.h"
#include "graphnet/facts/memory/effects.h"
#include "graphnet/facts/memory/memory_use.h"
#include "graphnet/interp/executable.h"
#include "graphnet/interp/torch/values.h"
#include "graphnet/ir/text/parser.h"

namespace graphnet {
namespace {

// x, y: f32[4, 4]; image: f32[2, 4, 8, 8]; scale: f32[4]; index: i64[4, 4]; mask: bool[4, 4]
constexpr const char* kInputs[] = {"x", "y", "image", "scale", "index", "mask"};

constexpr const char* kCalls[] = {
    // These are views, declared and undeclared.
    ".reshape(%x, 16)",
    ".reshape(%x, 4, 4)",
    ".view(%x, 2, 8)",
    ".flatten(%x)",
    ".ravel(%x)",
    ".contiguous(%x)",
    ".to(%x, torch.float32)",
    ".to(%x, torch.float64)",
    ".float(%x)",
    ".type_as(%x, %y)",
    ".expand(%scale, 4, 4)",
    ".expand_as(%scale, %x)",
    ".chunk(%x, 2)",
    ".split(%x, 2)",
    ".unbind(%x)",
    ".tensor_split(%x, 2)",
    ".hsplit(%x, 2)",
    ".movedim(%x, 0, 1)",
    ".squeeze(%x)",
    ".unsqueeze(%x, 0)",
    ".t(%x)",
    ".transpose(%x, 0, 1)",
    ".permute(%image, 0, 2, 3, 1)",
    ".narrow(%x, 0, 0, 2)",
    ".select(%x, 0, 1)",
    ".diagonal(%x)",
    ".unfold(%x, 0, 2, 1)",
    ".swapaxes(%x, 0, 1)",
    ".unflatten(%x, 0, (2, 2))",
    ".detach(%x)",
    ".positive(%x)",
    ".view_as(%x, %y)",
    ".reshape_as(%x, %y)",
    ".sum_to_size(%x, 4, 4)",
    ".conj(%x)",
    ".resolve_conj(%x)",
    ".conj_physical(%x)",
    ".clone(%x)",
    "torch.real(%x)",
    "torch.einsum(\"ij->ji\", %x)",
    "torch.einsum(\"ij,jk->ik\", %x, %y)",
    "torch.broadcast_tensors(%x, %scale)",
    "torch.meshgrid(%scale, %scale, indexing = \"ij\")",
    "torch.atleast_1d(%x)",
    "torch.atleast_3d(%x)",
    "torch.cartesian_prod(%scale)",
    "torch.channel_shuffle(%image, 1)",
    "torch.column_stack([%x, %y])",
    "torch.block_diag(%x)",
    "operator.getitem(%x, 0)",
    "operator.getitem(%x, slice(0, 2, None))",
    "operator.getitem(%x, %mask)",
    "builtins.getattr(%x, \"T\")",
    "builtins.getattr(%x, \"shape\")",
    // These make new tensors.
    "torch.relu(%x)",
    "torch.softmax(%x, -1)",
    "torch.cat([%x], 0)",
    "torch.stack([%x, %y])",
    ".repeat(%x, 1, 1)",
    ".roll(%x, 0)",
    "torch.rot90(%x, 0)",
    "torch.flip(%x, [0])",
    "torch.nan_to_num(%x)",
    "torch.clamp(%x, 0.1)",
    "torch.where(%mask, %x, %y)",
    "torch.cumsum(%x, 0)",
    "torch.nn.functional.pad(%x, (0, 0))",
    "torch.nn.functional.interpolate(%image, scale_factor = 1)",
    "torch.nn.functional.adaptive_avg_pool2d(%image, (8, 8))",
    "torch.nn.functional.max_pool2d(%image, 1)",
    "torch.nn.functional.avg_pool2d(%image, 1)",
    "torch.nn.functional.normalize(%x)",
    "torch.nn.functional.layer_norm(%x, (4,))",
    "torch.nn.functional.group_norm(%image, 2)",
    "torch.pixel_shuffle(%image, 2)",
    "operator.add(%x, 0)",
    "operator.mul(%x, 1)",
    // Dropout outside of training returns what it is given.
    "torch.nn.functional.dropout(%x, 0.5, False)",
    "torch.nn.functional.alpha_dropout(%x, 0.5, False)",
    "torch.nn.functional.feature_alpha_dropout(%image, 0.5, False)",
    "torch.nn.functional.dropout2d(%image, 0.5, False)",
    "torch.nn.functional.dropout(%x, 0.5, True)",
    // These write.
    "operator.iadd(%x, %y)",
    "operator.imul(%x, 2)",
    ".add_(%x, %y)",
    ".mul_(%x, 2)",
    ".zero_(%x)",
    ".copy_(%x, %y)",
    ".masked_fill_(%x, %mask, 3.0)",
    ".clamp_(%x, 0.1, 0.2)",
    ".scatter_(%x, 0, %index, %y)",
    ".fill_(%x, 7)",
    "torch.relu_(%x)",
    "torch.nn.functional.relu(%x, inplace = True)",
    "torch.nn.functional.relu(%x, True)",
    "torch.nn.functional.hardtanh(%x, -0.1, 0.1, True)",
    "torch.nn.functional.dropout(%x, 0.5, True, True)",
    "torch.nn.functional.elu(%x, 1.0, True)",
    "operator.setitem(%x, 0, %scale)",
    "operator.setitem(%x, %mask, 0.0)",
    // These update statistics.
    "torch.nn.functional.batch_norm(%image, %scale, %scale, None, None, True)",
    "torch.nn.functional.batch_norm(%image, %scale, %scale, None, None, False)",
    "torch.nn.functional.instance_norm(%image, %scale, %scale, None, None, True)",
};

void AddStorages(const c10::IValue& value, std::set<const void*>* storages) {
  if (value.isTensor() && value.toTensor().has_storage()) {
    storages->insert(value.toTensor().storage().unsafeGetStorageImpl());
  } else if (value.isTuple() || value.isTensorList()) {
    for (const c10::IValue& element : Elements(value)) AddStorages(element, storages);
  }
}

class EffectsRunTest : public testing::TestWithParam<const char*> {};

TEST_P(EffectsRunTest, ReportsAllEffects) {
  std::string text = "graph @forward(";
  for (const char* name : kInputs) absl::StrAppend(&text, name == kInputs[0] ? "%" : ", %", name);
  absl::StrAppend(&text, ") {\n  %v = ", GetParam(), "\n  return (%x,)\n}\n");
  const auto module = ParseModule(text, "test");
  ASSERT_TRUE(module.ok()) << module.status();
  const Node& call = *(*module)->main()->FindNode("v");
  const Effects analysis(**module);
  const CallEffects& said = analysis.Of(call);
  EXPECT_FALSE(said.is_unknown);
  const MemoryUse use = MemoryUseOf(call);

  at::manual_seed(0);
  const std::vector<at::Tensor> inputs = {
      at::rand({4, 4}).add_(0.5), at::rand({4, 4}).add_(0.5),   at::rand({2, 4, 8, 8}).add_(0.5),
      at::rand({4}).add_(0.5),    at::zeros({4, 4}, at::kLong), at::eye(4).to(at::kBool)};
  std::vector<at::Tensor> before;
  for (const at::Tensor& input : inputs) before.push_back(input.clone());
  const auto executable = Compile(**module);
  ASSERT_TRUE(executable.ok()) << executable.status();
  std::set<const void*> storages;
  RunOptions options;
  options.observer = [&](const Node& node, const c10::IValue& value) {
    if (&node == &call) AddStorages(value, &storages);
    return absl::OkStatus();
  };
  const auto outputs = (*executable)->Run({inputs.begin(), inputs.end()}, options);
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  const auto placeholders = (*module)->main()->placeholders();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto has = [&](const auto& nodes) {
      return std::find(nodes.begin(), nodes.end(), placeholders[i]) != nodes.end();
    };
    const bool shared = storages.count(inputs[i].storage().unsafeGetStorageImpl()) > 0;
    EXPECT_TRUE(!shared || has(said.aliases)) << "shares memory with " << kInputs[i];
    EXPECT_TRUE(!shared || has(use.shared)) << "shares memory with " << kInputs[i];
    const bool changed = !at::equal(inputs[i], before[i]);
    EXPECT_TRUE(!changed || has(said.mutates)) << "writes to " << kInputs[i];
    EXPECT_TRUE(!changed || has(use.written)) << "writes to " << kInputs[i];
  }
}

INSTANTIATE_TEST_SUITE_P(Calls, EffectsRunTest, testing::ValuesIn(kCalls));

}  // namespace
}  // namespace graphnet
