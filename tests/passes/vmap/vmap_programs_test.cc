// Runs programs made by tests/pytorch/compare.py vmap, which compares them with PyTorch's own vmap:
// as they are, with flat nesting, reverted, and expanded.
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ATen/Functions.h"
#include "graphnet/formats/graphnet_folder/reader.h"
#include "graphnet/interp/inputs/draw.h"
#include "graphnet/interp/prepare.h"
#include "graphnet/ir/canonical_hash.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/passes/vmap/expand_vmap.h"
#include "graphnet/passes/vmap/flatten_vmap.h"
#include "graphnet/passes/vmap/revert_vmap.h"

namespace graphnet {
namespace {

std::vector<at::Tensor> OutputsOf(const Sample& sample, const Module& module) {
  auto values = DrawInputs(sample, DrawOptions());
  EXPECT_TRUE(values.ok()) << values.status();
  auto prepared = PrepareRun(module, *std::move(values));
  EXPECT_TRUE(prepared.ok()) << prepared.status();
  if (!prepared.ok()) return {};
  const auto outputs = prepared->executable->Run(std::move(prepared->inputs), {.seed = 0});
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  std::vector<at::Tensor> tensors;
  if (outputs.ok()) {
    for (const c10::IValue& output : *outputs) tensors.push_back(output.toTensor());
  }
  return tensors;
}

// Compares bit for bit, or approximately where the order of summation may differ.
void ExpectSame(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b, bool exact) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].scalar_type(), b[i].scalar_type()) << "output " << i;
    ASSERT_EQ(a[i].sizes(), b[i].sizes()) << "output " << i;
    const bool is_half = a[i].scalar_type() == at::kHalf;
    const bool same =
        exact || !a[i].is_floating_point()
            ? at::allclose(a[i], b[i], 0, 0, /*equal_nan=*/true)
            : at::allclose(a[i], b[i], is_half ? 1e-2 : 1e-4, is_half ? 1e-2 : 1e-5, true);
    EXPECT_TRUE(same) << "output " << i;
  }
}

TEST(VmapProgramsTest, AllFormsAgree) {
  // Bazel lays files out as links, which a sample may not contain.
  const std::string folder = testing::TempDir() + "/vmap_programs";
  std::filesystem::remove_all(folder);
  std::filesystem::copy("tests/passes/vmap/testdata/vmap_programs", folder);
  const auto sample = ReadGraphNetFolder(folder);
  ASSERT_TRUE(sample.ok()) << sample.status();
  const Module& nested = *sample->module;
  const std::vector<at::Tensor> expected = OutputsOf(*sample, nested);
  ASSERT_GT(expected.size(), 50u);

  const auto module = nested.Clone();
  ASSERT_TRUE(*FlattenVmap(module.get()));
  ASSERT_TRUE(Verify(*module).ok()) << Verify(*module);
  ExpectSame(expected, OutputsOf(*sample, *module), true);
  ASSERT_TRUE(*RevertVmap(module.get()));
  ASSERT_TRUE(Verify(*module).ok()) << Verify(*module);
  ExpectSame(expected, OutputsOf(*sample, *module), true);
  const std::string hash = CanonicalHash(*module);
  ASSERT_TRUE(*FlattenVmap(module.get()));
  ASSERT_TRUE(*RevertVmap(module.get()));
  EXPECT_EQ(CanonicalHash(*module), hash);

  PassRun run;
  ASSERT_TRUE(*ExpandVmap(module.get(), run));
  ASSERT_TRUE(Verify(*module).ok()) << Verify(*module);
  size_t left = 0;
  for (const Node* node : module->main()->nodes())
    left += node->is_call_function("torch.vmap") ? 1 : 0;
  EXPECT_LT(left * 4, expected.size());
  ExpectSame(expected, OutputsOf(*sample, *module), false);
}

}  // namespace
}  // namespace graphnet
