#include "graphnet/ops/callable.h"

#include <gtest/gtest.h>

#include "graphnet/ir/text/parser.h"

namespace graphnet {
namespace {

TEST(TargetTest, StableFormsOfPrivateCalls) {
  // These are all that the specified rewrites name, and some that no sample has.
  EXPECT_EQ(StableTarget("torch._C._nn.linear"), "torch.nn.functional.linear");
  EXPECT_EQ(StableTarget("torch._C._nn.scaled_dot_product_attention"),
            "torch.nn.functional.scaled_dot_product_attention");
  EXPECT_EQ(StableTarget("torch._C._nn.pad"), "torch.nn.functional.pad");
  EXPECT_EQ(StableTarget("torch._C._nn.one_hot"), "torch.nn.functional.one_hot");
  EXPECT_EQ(StableTarget("torch._C._linalg.linalg_vector_norm"), "torch.linalg.vector_norm");
  EXPECT_EQ(StableTarget("torch._C._fft.fft_irfft"), "torch.fft.irfft");
  EXPECT_EQ(StableTarget("torch._C._special.special_logit"), "torch.special.logit");
  EXPECT_EQ(StableTarget("torch._C._special.special_zeta"), "torch.special.zeta");
  EXPECT_EQ(StableTarget("torch._C._set_grad_enabled"), "torch.set_grad_enabled");
  EXPECT_EQ(StableTarget("torch._VF.lstm"), "torch.lstm");
  EXPECT_EQ(StableTarget("_operator.add"), "operator.add");
}

TEST(TargetTest, NoStableForm) {
  EXPECT_EQ(StableTarget("torch.conv2d"), "");  // public already
  EXPECT_EQ(StableTarget("torch._C._log_api_usage_once"), "");
  EXPECT_EQ(StableTarget("torch._C._functorch._add_batch_dim"), "");
  EXPECT_EQ(StableTarget("torch._C._nn.no_such_function"), "");
}

TEST(TargetTest, Private) {
  EXPECT_TRUE(IsPrivateTarget("torch._C._nn.gelu"));
  EXPECT_TRUE(IsPrivateTarget("torch._assert"));
  EXPECT_FALSE(IsPrivateTarget("torch.nn.functional.gelu"));
  EXPECT_FALSE(IsPrivateTarget("__and__"));
}

TEST(TargetTest, Kinds) {
  const auto module = ParseModule(
      "graph @forward(%x) {\n  %f = torch.conv2d(%x, %x)\n  %m = .relu(%x)\n"
      "  %o = operator.add(%x, 1)\n  %z = torch.zeros([2])\n  %a = aten.ones.default([2])\n"
      "  %c = torch.cond(%x, @body, @body, [%x])\n  return (%f,)\n}\n"
      "graph @body(%v) {\n  return (%v,)\n}\n",
      "test");
  ASSERT_TRUE(module.ok()) << module.status();
  const auto kind = [&](const char* name) {
    return TargetKindName(KindOfTarget(*(*module)->main()->FindNode(name)));
  };
  EXPECT_EQ(kind("x"), "none");
  EXPECT_EQ(kind("f"), "function");
  EXPECT_EQ(kind("m"), "method");
  EXPECT_EQ(kind("o"), "operator");
  EXPECT_EQ(kind("z"), "constructor");
  EXPECT_EQ(kind("a"), "constructor");
  EXPECT_EQ(kind("c"), "higher-order");
}

}  // namespace
}  // namespace graphnet
