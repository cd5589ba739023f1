#include "graphnet/ops/call_schema.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"
#include "tests/ir/text/parsed_module.h"

namespace graphnet {
namespace {

using ::testing::HasSubstr;

TEST(CallSchemaTest, ArgumentsByName) {
  const auto module = Parse(R"(graph @main(%x : f32[2, 4], %w : f32[4]) {
    %a = torch.nn.functional.layer_norm(%x, (4,), %w)
    %b = aten.layer_norm.default(%x, [4], eps = 0.5)
    %c = .view(%x, 4, 2)
    %d = torch.add(%x, 1, alpha = 2)
    %e = operator.add(%x, 1)
    %f = my.unknown(%x)
    return (%a, %b, %c, %d, %e, %f)
  })");
  const auto arg = [&](const char* node, const char* name) {
    return ArgOf(*module->main()->FindNode(node), name);
  };
  EXPECT_EQ(arg("a", "eps")->real(), 1e-5);  // the default
  EXPECT_EQ(arg("a", "weight")->node()->name(), "w");
  EXPECT_TRUE(arg("a", "bias")->is_none());
  EXPECT_EQ(arg("b", "eps")->real(), 0.5);
  EXPECT_EQ(arg("d", "alpha")->integer(), 2);
  EXPECT_THAT(arg("a", "epsilon").status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("takes no epsilon")));
  EXPECT_THAT(arg("e", "other").status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("has no schema that is known")));
  EXPECT_EQ(arg("f", "x").status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(arg("x", "x").status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("%x is no call")));
  // A list that is written as several arguments belongs to the bound call.
  EXPECT_THAT(arg("c", "size").status(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                                  HasSubstr("is written as several arguments")));
  const auto view = BindCall(*module->main()->FindNode("c"));
  ASSERT_OK(view);
  EXPECT_EQ((*view)["size"].elements().size(), 2);
}

TEST(CallSchemaTest, TheOverloadThatTheArgumentsFit) {
  const auto module = Parse(R"(graph @main(%x : f32[2], %y : f32[2]) {
    %a = torch.add(%x, %y)
    %b = torch.add(%x, 1)
    %c = torch.relu_(%x)
    %d = torch.relu(%x, 1, 2, 3)
    return (%a, %b, %c, %d)
  })");
  const auto schema = [&](const char* node) { return SchemaOf(*module->main()->FindNode(node)); };
  EXPECT_EQ((*schema("a"))->target, "aten.add.Tensor");
  EXPECT_TRUE((*schema("c"))->mutates());
  EXPECT_FALSE((*schema("a"))->mutates());
  EXPECT_EQ(schema("d").status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace graphnet
