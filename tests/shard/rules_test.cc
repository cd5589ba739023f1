// Tests the rules of single operators by the test vectors of Paddle's SPMD rules, and their errors.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "graphnet/shard/dim_rules.h"
#include "graphnet/shard/mesh.h"
#include "graphnet/shard/sharding.h"
#include "graphnet/shard/sharding_rule.h"
#include "tests/base/status_matchers.h"

namespace graphnet::spmd {
namespace {

using testing::HasSubstr;
using Dims = std::vector<int64_t>;
using Mapping = std::vector<int>;

const Mesh kMesh = Mesh::Of({2, 4});

Inferred Forward(const ShardingRule& rule, const Mapping& given) {
  absl::StatusOr<Inferred> inferred = InferForward(rule, kMesh, {{given, {}}});
  EXPECT_OK(inferred);
  return *std::move(inferred);
}

Inferred Backward(const ShardingRule& rule, const Mapping& given) {
  std::vector<Sharding> results = {{given, {}}};
  for (size_t i = 1; i < rule.results.size(); ++i)
    results.push_back(Sharding::Replicated(rule.results[i].dims.size()));
  absl::StatusOr<Inferred> inferred = InferBackward(rule, kMesh, results);
  EXPECT_OK(inferred);
  return *std::move(inferred);
}

TEST(SliceTest, Forward) {
  const Dims shape = {8, 8, 16, 16};
  struct {
    Dims axes;
    Mapping given, operand;
  } cases[] = {
      {{-1}, {-1, 0, 1, -1}, {-1, 0, 1, -1}},           {{-1}, {-1, -1, 1, 0}, {-1, -1, 1, -1}},
      {{1, 2}, {0, -1, -1, 1}, {0, -1, -1, 1}},         {{1, 2}, {-1, 1, 0, -1}, {-1, -1, -1, -1}},
      {{0, 1, 2, 3}, {0, 1, -1, -1}, {-1, -1, -1, -1}},
  };
  for (const auto& [axes, given, operand] : cases) {
    const Inferred inferred = Forward(*SliceRule(shape, axes), given);
    EXPECT_EQ(inferred.operands[0].dims_mapping, operand);
    EXPECT_EQ(inferred.results[0].dims_mapping, operand);
  }
}

TEST(SliceTest, Backward) {
  const Dims shape = {8, 8, 16, 16};
  struct {
    Dims axes;
    Mapping given, both;
  } cases[] = {
      {{-1}, {-1, -1, 0, 1}, {-1, -1, 0, -1}},
      {{1, 2}, {-1, 1, 0, -1}, {-1, -1, -1, -1}},
  };
  for (const auto& [axes, given, both] : cases) {
    const Inferred inferred = Backward(*SliceRule(shape, axes), given);
    EXPECT_EQ(inferred.operands[0].dims_mapping, both);
    EXPECT_EQ(inferred.results[0].dims_mapping, both);
  }
}

TEST(SliceTest, DecreasedAxesAreGone) {
  const Inferred inferred = Forward(*SliceRule({8, 8, 16}, {1}, {1}), {0, -1, 1});
  EXPECT_EQ(inferred.operands[0].dims_mapping, (Mapping{0, -1, 1}));
  EXPECT_EQ(inferred.results[0].dims_mapping, (Mapping{0, 1}));
}

TEST(SliceTest, AStepThatDividesTheLocalExtentKeepsTheLastDimension) {
  const auto result = [](const Dims& axes, SliceRange range, const Mapping& given) {
    return Forward(*SliceRule({8, 16}, axes, {}, {range}), given).results[0].dims_mapping;
  };
  EXPECT_EQ(result({-1}, {0, 16, 2}, {0, 1}), (Mapping{0, 1}));   // 4 a rank
  EXPECT_EQ(result({-1}, {0, 16, 8}, {1, 0}), (Mapping{1, 0}));   // 8 a rank
  EXPECT_EQ(result({-1}, {0, 16, 8}, {0, 1}), (Mapping{0, -1}));  // 4 a rank
  EXPECT_EQ(result({-1}, {1, 16, 2}, {0, 1}), (Mapping{0, -1}));  // begins elsewhere
  EXPECT_EQ(result({-1}, {0, 15, 2}, {0, 1}), (Mapping{0, -1}));  // ends before
  EXPECT_EQ(result({0}, {0, 8, 2}, {0, 1}), (Mapping{-1, 1}));    // not the last
}

TEST(FlattenTest, Forward) {
  const Dims shape = {8, 16, 8, 24};
  struct {
    int64_t start, stop;
    Mapping given, operand, result;
  } cases[] = {
      {1, 2, {0, -1, -1, 1}, {0, -1, -1, 1}, {0, -1, 1}},
      {1, 2, {-1, 0, -1, 1}, {-1, 0, -1, 1}, {-1, 0, 1}},
      {1, 2, {-1, -1, 1, 0}, {-1, -1, -1, 0}, {-1, -1, 0}},
      {0, -1, {-1, 0, 1, -1}, {-1, -1, -1, -1}, {-1}},
      {0, -1, {1, 0, -1, -1}, {1, -1, -1, -1}, {1}},
  };
  for (const auto& [start, stop, given, operand, result] : cases) {
    const Inferred inferred = Forward(*FlattenRule(shape, start, stop), given);
    EXPECT_EQ(inferred.operands[0].dims_mapping, operand);
    EXPECT_EQ(inferred.results[0].dims_mapping, result);
  }
}

TEST(FlattenTest, Backward) {
  Inferred inferred = Backward(*FlattenRule({8, 16, 8, 24}, 1, -1), {0, 1});
  EXPECT_EQ(inferred.operands[0].dims_mapping, (Mapping{0, 1, -1, -1}));
  EXPECT_EQ(inferred.results[0].dims_mapping, (Mapping{0, 1}));
  // 4 does not divide 6, though it does 6 * 8.
  inferred = Backward(*FlattenRule({8, 6, 8}, 1, -1), {0, 1});
  EXPECT_EQ(inferred.operands[0].dims_mapping, (Mapping{0, -1, -1}));
  EXPECT_EQ(inferred.results[0].dims_mapping, (Mapping{0, -1}));
}

TEST(SqueezeTest, Forward) {
  const Dims shape = {1, 8, 1, 16};
  struct {
    Dims axes;
    Mapping result;
  } cases[] = {
      {{0, 2}, {0, 1}},
      {{1, 2}, {-1, 0, 1}},
      {{-4}, {0, -1, 1}},
      {{}, {0, 1}},
  };
  for (const auto& [axes, result] : cases) {
    const Inferred inferred = Forward(*SqueezeRule(shape, axes), {-1, 0, -1, 1});
    EXPECT_EQ(inferred.operands[0].dims_mapping, (Mapping{-1, 0, -1, 1}));
    EXPECT_EQ(inferred.results[0].dims_mapping, result);
    EXPECT_EQ(inferred.results[1].dims_mapping, (Mapping{-1, -1, 0, -1, 1}));
  }
  const Inferred inferred = Forward(*SqueezeRule(shape, {0}), {0, -1, 1, -1});
  EXPECT_EQ(inferred.operands[0].dims_mapping, (Mapping{-1, -1, -1, -1}));
}

TEST(SqueezeTest, Backward) {
  const Inferred inferred = Backward(*SqueezeRule({1, 8, 1, 16}, {0}), {0, 1, -1});
  EXPECT_EQ(inferred.operands[0].dims_mapping, (Mapping{-1, 0, -1, -1}));
  EXPECT_EQ(inferred.results[0].dims_mapping, (Mapping{0, -1, -1}));
}

TEST(UnsqueezeTest, Forward) {
  struct {
    Dims shape, axes;
    Mapping given, operand, result;
  } cases[] = {
      {{8, 16}, {0}, {0, 1}, {0, 1}, {-1, 0, 1}},
      {{8, 16}, {-1}, {0, 1}, {0, 1}, {0, 1, -1}},
      {{8, 16}, {1, 2}, {0, 1}, {0, 1}, {0, -1, -1, 1}},
      {{1, 8, 16}, {0}, {0, 1, -1}, {-1, 1, -1}, {-1, -1, 1, -1}},
  };
  for (const auto& [shape, axes, given, operand, result] : cases) {
    const Inferred inferred = Forward(*UnsqueezeRule(shape, axes), given);
    EXPECT_EQ(inferred.operands[0].dims_mapping, operand);
    EXPECT_EQ(inferred.results[0].dims_mapping, result);
  }
}

TEST(UnsqueezeTest, Backward) {
  const Inferred inferred = Backward(*UnsqueezeRule({8, 16}, {1}), {0, 1, -1});
  EXPECT_EQ(inferred.operands[0].dims_mapping, (Mapping{0, -1}));
  EXPECT_EQ(inferred.results[0].dims_mapping, (Mapping{0, -1, -1}));
}

TEST(ReshapeTest, DividesTheFirstOfMergedOrSplitDimensions) {
  struct {
    Dims from, to;
    Mapping given, operand, result;
  } cases[] = {
      {{8, 16, 24}, {8, 16, 4, 6}, {0, -1, 1}, {0, -1, 1}, {0, -1, 1, -1}},
      {{8, 16, 24}, {8, 16, 6, 4}, {0, -1, 1}, {0, -1, -1}, {0, -1, -1, -1}},  // 4 and 6
      {{8, 16, 24}, {128, 24}, {-1, 0, 1}, {-1, -1, 1}, {-1, 1}},
      {{8, 1, 24}, {24, 8}, {1, -1, -1}, {1, -1, -1}, {1, -1}},
      {{6, 4}, {3, 8}, {0, -1}, {-1, -1}, {-1, -1}},
      {{4, 0}, {0, 4}, {1, -1}, {-1, -1}, {-1, -1}},
      {{8, -1}, {-1, 8}, {1, -1}, {-1, -1}, {-1, -1}},
  };
  for (const auto& [from, to, given, operand, result] : cases) {
    const Inferred inferred = Forward(ReshapeRule(from, to), given);
    EXPECT_EQ(inferred.operands[0].dims_mapping, operand);
    EXPECT_EQ(inferred.results[0].dims_mapping, result);
  }
}

// "mk,kn->mn"
ShardingRule Matmul() {
  ShardingRule rule;
  const int m = rule.NewLetter(8);
  const int k = rule.NewLetter(16);
  rule.letters.back().reduced = ReduceType::kSum;
  const int n = rule.NewLetter(32);
  rule.operands = {{{m, k}}, {{k, n}}};
  rule.results = {{{m, n}}};
  return rule;
}

TEST(MergeTest, Letters) {
  const auto infer = [](Mapping a, Mapping b) {
    return InferForward(Matmul(), kMesh, {{a, {}}, {b, {}}});
  };
  // An undivided dimension yields to a divided one.
  absl::StatusOr<Inferred> inferred = infer({0, 1}, {-1, -1});
  ASSERT_OK(inferred);
  EXPECT_EQ(ShardingName(inferred->operands[1]), "[1, -1]");
  EXPECT_EQ(ShardingName(inferred->results[0]), "[0, -1] sum(1)");
  // The first letter keeps an axis.
  inferred = infer({0, -1}, {-1, 0});
  ASSERT_OK(inferred);
  EXPECT_EQ(ShardingName(inferred->operands[1]), "[-1, -1]");
  EXPECT_EQ(ShardingName(inferred->results[0]), "[0, -1]");
  // Two axes may not divide one letter.
  EXPECT_THAT(infer({-1, 0}, {1, -1}), StatusIs(absl::StatusCode::kInvalidArgument,
                                                HasSubstr("axes 0 and 1 divide the same")));
  inferred = InferForward(Matmul(), kMesh, {{{-1, 0}, {}}, {{1, -1}, {}}}, OnConflict::kFirstCounts,
                          {1, 0});
  ASSERT_OK(inferred);
  EXPECT_EQ(ShardingName(inferred->operands[0]), "[-1, 1]");
}

TEST(MergeTest, ReducesPartialStates) {
  const absl::StatusOr<Inferred> inferred =
      InferForward(Matmul(), kMesh, {{{0, -1}, {{1, ReduceType::kSum}}}, {{-1, -1}, {}}});
  ASSERT_OK(inferred);
  EXPECT_EQ(ShardingName(inferred->operands[0]), "[0, -1]");
  EXPECT_EQ(ShardingName(inferred->results[0]), "[0, -1]");
}

TEST(MergeTest, RefusesImpossibleShardings) {
  const auto infer = [](Mapping a) {
    return InferForward(Matmul(), kMesh, {{a, {}}, {{-1, -1}, {}}});
  };
  EXPECT_THAT(infer({0, 2}), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no axis 2")));
  EXPECT_THAT(infer({0, 0}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("axis 0 twice")));
  EXPECT_THAT(infer({0}), StatusIs(absl::StatusCode::kInvalidArgument,
                                   HasSubstr("sharding [0] is for a tensor of 2 dimensions")));
  EXPECT_THAT(InferForward(Matmul(), kMesh, {Sharding{{0, -1}, {}}}),
              StatusIs(absl::StatusCode::kInvalidArgument, "1 shardings for 2 tensors"));
  EXPECT_THAT(
      InferForward(Matmul(), kMesh, {{{-1, 0}, {}}, {{1, -1}, {}}}, OnConflict::kError),
      StatusIs(absl::StatusCode::kInvalidArgument, "axes 0 and 1 divide the same dimension"));
}

TEST(DimsTest, RefusesOutOfRangeAndDuplicates) {
  EXPECT_THAT(SliceRule({8, 8}, {2}), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(SliceRule({8, 8}, {-3}), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(SliceRule({8, 8}, {1, -1}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("twice")));
  EXPECT_THAT(FlattenRule({8, 8}, 1, 0),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "flatten from dimension 1 to 0, which comes before it"));
  EXPECT_THAT(SqueezeRule({8, 1}, {3}), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(UnsqueezeRule({8, 1}, {4}), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(MeshTest, Parse) {
  const absl::StatusOr<Mesh> mesh = ParseMesh("2x4");
  ASSERT_OK(mesh);
  EXPECT_EQ(*mesh, kMesh);
  EXPECT_EQ(MeshName(*mesh), "2x4");
  EXPECT_EQ(kMesh.LinesAlong(0), (std::vector<std::vector<int>>{{0, 4}, {1, 5}, {2, 6}, {3, 7}}));
  EXPECT_EQ(kMesh.LinesAlong(1), (std::vector<std::vector<int>>{{0, 1, 2, 3}, {4, 5, 6, 7}}));
  for (const char* wrong : {"", "x", "2x", "0", "-2", "2x4y", "256x257", "99999999999999999999"})
    EXPECT_THAT(ParseMesh(wrong), StatusIs(absl::StatusCode::kInvalidArgument)) << wrong;
}

TEST(MeshTest, BalancedSplit) {
  EXPECT_EQ(BalancedSplit(5, 4), (Dims{2, 2, 1, 0}));
  EXPECT_EQ(BalancedSplit(7, 3), (Dims{3, 3, 1}));
  EXPECT_EQ(BalancedSplit(8, 2), (Dims{4, 4}));
  EXPECT_EQ(BalancedSplit(0, 2), (Dims{0, 0}));
}

TEST(ShardingTest, Parse) {
  for (const char* text : {"[]", "[0, -1]", "[-1, 1] sum(0)", "[-1] avg(0) max(1)"}) {
    const absl::StatusOr<Sharding> sharding = ParseSharding(text);
    ASSERT_OK(sharding);
    EXPECT_EQ(ShardingName(*sharding), text);
  }
  const auto named = ParseNamedSharding("x:y:0,-1");
  ASSERT_OK(named);
  EXPECT_EQ(named->first, "x:y");
  EXPECT_EQ(ShardingName(named->second), "[0, -1]");
  for (const char* wrong : {"[0", "0,", "a", "-2", "[0] sum", "[0] sum(x)", "[0] sum(1) max(1)"})
    EXPECT_THAT(ParseSharding(wrong), StatusIs(absl::StatusCode::kInvalidArgument)) << wrong;
  EXPECT_THAT(ParseSharding("[0] median(1)"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("median is not a reduction")));
  EXPECT_THAT(ParseNamedSharding("x"), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(ShardingTest, Annotation) {
  for (const char* text : {"2x4[0, -1] sum(1)", "4[0]; 4[0, -1]"}) {
    const absl::StatusOr<ShardedValue> value = ParseAnnotation(text);
    ASSERT_OK(value);
    EXPECT_EQ(AnnotationOf(value->mesh, value->shardings), text);
  }
  for (const char* wrong : {"2x4", "[0]", "2x4[2]", "2[0] sum(0)", "2[0]; 4[0]", "List[int]"})
    EXPECT_THAT(ParseAnnotation(wrong), StatusIs(absl::StatusCode::kInvalidArgument)) << wrong;
}

TEST(ShardingTest, OfATensor) {
  EXPECT_OK(CheckSharding({{0, 1}, {}}, kMesh, {2, 8}));
  EXPECT_THAT(CheckSharding({{0, 1}, {}}, kMesh, {2, 6}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("axis 1 of mesh 2x4 does not divide dimension 1 of size 6")));
  EXPECT_THAT(CheckSharding({{0}, {}}, kMesh, {2, 6}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("dimensions")));
  EXPECT_THAT(CheckSharding({{0, -1}, {{0, ReduceType::kSum}}}, kMesh, {2, 6}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("axis 0 twice")));
}

}  // namespace
}  // namespace graphnet::spmd
