#include "graphnet/shard/propagate.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/shard/unroll.h"
#include "tests/base/status_matchers.h"
#include "tests/ir/text/parsed_module.h"

namespace graphnet::spmd {
namespace {

using testing::HasSubstr;

absl::StatusOr<ShardedGraph> Shard(absl::string_view text, absl::string_view mesh,
                                   const std::map<std::string, std::string>& inputs) {
  const ParsedModule module = Parse(text);
  std::map<std::string, Sharding> shardings;
  for (const auto& [name, sharding] : inputs) shardings[name] = *ParseSharding(sharding);
  return PropagateShardings(*module, *ParseMesh(mesh), shardings);
}

// A tensor-parallel perceptron: the first weight is divided by columns, the second by rows.
constexpr absl::string_view kPerceptron = R"(
graph @forward(%x : f32[8, 16], %w1 : f32[32, 16], %b1 : f32[32], %w2 : f32[16, 32], %b2 : f32[16]) {
  %h = torch.nn.functional.linear(%x, %w1, %b1)
  %a = torch.relu(%h)
  %y = torch.nn.functional.linear(%a, %w2, %b2)
  return (%y,)
}
)";

TEST(PropagateTest, ColumnsThenRows) {
  const auto sharded =
      Shard(kPerceptron, "2x4", {{"x", "0,-1"}, {"w1", "1,-1"}, {"b1", "1"}, {"w2", "-1,1"}});
  ASSERT_OK(sharded);
  EXPECT_OK(Verify(*sharded->module));
  EXPECT_EQ(PrintModule(*sharded->module, PrintOptions::Complete()), R"text(graphnet.module 1

graph @forward(
  %x : f32[8, 16],
  %w1 : f32[32, 16],
  %b1 : f32[32],
  %w2 : f32[16, 32],
  %b2 : f32[16]
) {
  %x_1 = spmd.reshard(%x, "2x4[0, -1]") : f32[8, 16] as "2x4[0, -1]"
  %w1_1 = spmd.reshard(%w1, "2x4[1, -1]") : f32[32, 16] as "2x4[1, -1]"
  %b1_1 = spmd.reshard(%b1, "2x4[1]") : f32[32] as "2x4[1]"
  %w2_1 = spmd.reshard(%w2, "2x4[-1, 1]") : f32[16, 32] as "2x4[-1, 1]"
  %h = aten.linear.default(%x_1, %w1_1, %b1_1) : f32[8, 32] as "2x4[0, 1]"
  %a = aten.relu.default(%h) : f32[8, 32] as "2x4[0, 1]"
  %b2_1 = spmd.reshard(%b2, "2x4[-1] sum(1)") : f32[16] as "2x4[-1] sum(1)"
  %y = aten.linear.default(%a, %w2_1, %b2_1) : f32[8, 16] as "2x4[0, -1] sum(1)"
  %y_1 = spmd.reshard(%y, "2x4[0, -1]") : f32[8, 16] as "2x4[0, -1]"
  return (%y_1,)
}
end
)text");
  EXPECT_EQ(sharded->reshards, 2u);
  EXPECT_TRUE(sharded->replicated.empty());
}

TEST(PropagateTest, CallsWithoutARuleAreReplicatedAndCounted) {
  const auto sharded = Shard(R"(
graph @forward(%x : f32[8, 8]) {
  %y = torch.linalg.inv(%x)
  %z = torch.relu(%y)
  return (%z,)
}
)",
                             "4", {{"x", "0,-1"}});
  ASSERT_OK(sharded);
  EXPECT_EQ(sharded->replicated, (std::map<std::string, size_t>{{"aten.linalg_inv.default", 1}}));
  EXPECT_EQ(sharded->module->main()->FindNode("z")->annotation(), "");
}

TEST(PropagateTest, ListsThatStayWholeAreReplicated) {
  const auto sharded = Shard(R"(
graph @forward(%x : f32[8, 8]) {
  %y = torch.chunk(%x, 2, 1)
  %a = operator.getitem(%y, 0) : f32[8, 4]
  %z = torch.split(%a, 2)
  return (%a, %z)
}
)",
                             "4", {{"x", "0,-1"}});
  ASSERT_OK(sharded);
  EXPECT_EQ(sharded->module->main()->FindNode("a")->annotation(), "4[0, -1]");
  EXPECT_EQ(sharded->module->main()->FindNode("z")->annotation(), "");
  EXPECT_EQ(sharded->replicated, (std::map<std::string, size_t>{{"aten.split.Tensor", 1}}));
}

TEST(PropagateTest, AttributesAreInputsToo) {
  const auto sharded = Shard(R"(
attribute w : f32[8, 16] as torch.nn.parameter.Parameter
graph @forward(%x : f32[4, 8]) {
  %w = get_attr w
  %y = torch.matmul(%x, %w)
  return (%y,)
}
)",
                             "4", {{"w", "-1,0"}});
  ASSERT_OK(sharded);
  EXPECT_OK(Verify(*sharded->module));
  EXPECT_EQ(sharded->module->main()->FindNode("y")->annotation(), "4[-1, 0]");
}

TEST(PropagateTest, Refuses) {
  const auto refuses = [](absl::string_view mesh, const std::map<std::string, std::string>& inputs,
                          absl::string_view why) {
    EXPECT_THAT(Shard(kPerceptron, mesh, inputs),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(std::string(why))));
  };
  refuses("2x4", {{"z", "0,-1"}}, "no input is called z");
  refuses("2x4", {{"x", "0"}}, "input x: sharding [0]: has 1 dimensions, but the tensor has 2");
  refuses("2x4", {{"x", "2,-1"}}, "mesh 2x4 has no axis 2");
  refuses("2x4", {{"x", "0,0"}}, "uses axis 0 twice");
  refuses("3", {{"x", "0,-1"}}, "axis 0 of mesh 3 does not divide dimension 0 of size 8");
  refuses("2x4", {{"x", "[-1, -1] sum(0)"}}, "cannot be partial");
  EXPECT_THAT(
      Shard("graph @forward(%x) { return (%x,) }", "2", {{"x", "0"}}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not a tensor of known shape")));
  EXPECT_THAT(
      Shard("graph @forward(%x : f32[4]) { %y = torch.relu_(%x) return (%y,) }", "2", {{"x", "0"}}),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               HasSubstr("aten.relu_.default (node y): "
                         "writes to memory; functionalize the graph first")));
  EXPECT_THAT(PropagateShardings(Module(), Mesh::Of({2}), {}),
              StatusIs(absl::StatusCode::kInvalidArgument, "the module has no graphs"));
}

TEST(PropagateTest, UnknownShapesStayWhole) {
  const auto sharded = Shard(
      "graph @forward(%x : f32[4, 8], %n : i64[] as int) {\n"
      "  %u = aten.full.default([4, %n], 1.0)\n"
      "  %y = aten.add.Tensor(%x, %u) : f32[4, 8]\n"
      "  return (%y,)\n}\n",
      "2", {{"x", "0,-1"}});
  ASSERT_OK(sharded);
  EXPECT_EQ(sharded->module->main()->FindNode("y")->annotation(), "");
  EXPECT_EQ(sharded->replicated.at("aten.add.Tensor"), 1U);
  EXPECT_OK(UnrollRanks(*sharded->module));
}

TEST(UnrollTest, RefusesAnnotationsThatDoNotFit) {
  const auto refuses = [](absl::string_view text, absl::string_view why) {
    const ParsedModule module = Parse(text);
    EXPECT_THAT(UnrollRanks(*module),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(std::string(why))));
  };
  const auto graph = [](absl::string_view reshard, absl::string_view relu) {
    return absl::StrCat("graph @forward(%x : f32[8, 8]) {\n  %y = ", reshard,
                        "\n  %z = aten.relu.default(%y) : f32[8, 8] ", relu,
                        "\n  return (%z,)\n}\n");
  };
  refuses(graph("spmd.reshard(%x) : f32[8, 8]", ""), "expected a value and a layout");
  refuses(graph("spmd.reshard(%x, \"2\") : f32[8, 8]", ""), "expected MESH[AXIS");
  refuses(graph("spmd.reshard(%x, \"2[0, -1]\") : f32[8, 8]", ""),
          "has another layout than its annotation");
  refuses(graph("spmd.reshard(%x, \"3[0, -1]\") : f32[8, 8] as \"3[0, -1]\"", ""),
          "does not divide");
  refuses(graph("spmd.reshard(%x, \"2[0, -1]\") : f32[8, 8] as \"2[0, -1]\"", "as \"4[0, -1]\""),
          "is on mesh 4 and takes y, which is on 2");
  refuses(graph("spmd.reshard(%x, \"2[0, -1]\") : f32[8, 8] as \"2[0, -1]\"", "as \"2[0]\""),
          "dimensions");
  refuses(graph("spmd.reshard(%x, \"2[0]; 2[0]\") : f32[8, 8]", ""), "expected one sharding");
  refuses(graph("aten.view.default(%x, 8) : f32[8, 8] as \"2[0, -1]\"", ""),
          "expected a list of sizes");
  refuses(graph("aten.view.default(%x, [8, 8, 1]) : f32[8, 8] as \"2[0, -1]\"", ""),
          "has too many sizes");
  refuses(graph("aten.neg.default(%x) : f32[8, 8] as \"2[-1, -1]\"", "as \"4[-1, -1]\""),
          "is on mesh 4 and takes y, which is on 2");
  const std::string two_meshes =
      graph("aten.neg.default(%x) : f32[8, 8] as \"2[-1, -1]\"",
            "%v = spmd.reshard(%z, \"4[-1, -1]\") : f32[8, 8] as \"4[-1, -1]\"");
  refuses(two_meshes, "aten.relu.default (node z): is on none of the meshes");
  refuses(absl::StrReplaceAll(two_meshes, {{"%v", "as \"2[-1, -1]\" %v"}}),
          "the graph is over meshes 2 and 4: only a graph over one mesh can be unrolled");
  refuses(graph("aten.neg.default(%x) : f32[8, 8] as \"65536[-1, -1]\"", ""),
          "all ranks would have more than 16777216 nodes");
  EXPECT_THAT(UnrollRanks(Module()),
              StatusIs(absl::StatusCode::kInvalidArgument, "the module has no graphs"));
}

}  // namespace
}  // namespace graphnet::spmd
