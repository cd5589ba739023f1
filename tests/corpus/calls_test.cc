#include "graphnet/corpus/calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graphnet/ir/text/parser.h"
#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::unique_ptr<Module> Parsed(const std::string& text) {
  auto module = ParseModule(text, "test");
  EXPECT_OK(module) << text;
  return module.ok() ? *std::move(module) : std::make_unique<Module>();
}

std::vector<CallKind> KindsOf(const Module& module, bool users) {
  auto kinds = CallKindsOf(module, users);
  EXPECT_OK(kinds);
  return kinds.ok() ? *std::move(kinds) : std::vector<CallKind>();
}

constexpr char kGraph[] = R"(graph @forward(%x: f32[2, 3], %w: f32[3, 3]) {
  %a = torch.matmul(%x, %w)  : f32[2, 3]
  %b = operator.matmul(%a, %w)  : f32[2, 3]
  %c = torch.softmax(%b, -1)  : f16[2, 3]
  %d = torch.sum(%c)  : f16[]
  %e = .add_(%d, 1)
  %f = my.own_operator(%e, [%c, %c])
  return (%f,)
}
)";

TEST(CallsTest, AreToldApartByOperatorDTypeAndRank) {
  const auto module = Parsed(kGraph);
  EXPECT_THAT(KindsOf(*module, /*users=*/false),
              ElementsAre(CallKind{.target = "add", .dtype = DType::kFloat16, .rank = 0},
                          CallKind{.target = "matmul", .dtype = DType::kFloat32, .rank = 2},
                          CallKind{.target = "own_operator"},
                          CallKind{.target = "softmax", .dtype = DType::kFloat16, .rank = 2},
                          CallKind{.target = "sum", .dtype = DType::kFloat16, .rank = 0}));
}

TEST(CallsTest, FlowsLeadToTheCallThatTakesTheValue) {
  const auto module = Parsed(kGraph);
  std::vector<std::string> told;
  for (const CallKind& kind : KindsOf(*module, /*users=*/true))
    told.push_back(absl::StrCat(kind.target, ">", kind.user, " ", kind.rank));
  EXPECT_THAT(told, ElementsAre("add>own_operator 0", "matmul>matmul 2", "matmul>softmax 2",
                                "softmax>own_operator 2", "softmax>sum 2", "sum>add 0"));
}

TEST(CallsTest, WhatMetasLackFollowsFromOperands) {
  const auto module = Parsed(R"(graph @forward(%x: f32[2, 3], %w: f32[3, 3], %y) {
  %a = torch.nn.functional.linear(%x, %w)
  %b = .sum(%a)
  %c = torch.relu(%a)  : f16
  %d = .view(%c, 1, 2, 3)
  %e = torch.relu(%y)
  return (%b, %d, %e)
}
)");
  EXPECT_THAT(KindsOf(*module, /*users=*/false),
              ElementsAre(CallKind{.target = "linear", .dtype = DType::kFloat32, .rank = 2},
                          CallKind{.target = "relu"},
                          CallKind{.target = "relu", .dtype = DType::kFloat16, .rank = 2},
                          CallKind{.target = "sum", .dtype = DType::kFloat32, .rank = 0},
                          CallKind{.target = "view", .dtype = DType::kFloat16, .rank = 3}));
}

TEST(CallsTest, KindsHaveABound) {
  std::string text = "graph @forward(%x) {\n";
  for (int i = 0; i < 40'000; ++i)
    absl::StrAppend(&text, "  %v", i, " = my.", std::string(80, 'a'), i, "(%x)\n");
  const auto module = Parsed(absl::StrCat(text, "  return (%x,)\n}\n"));
  EXPECT_THAT(CallKindsOf(*module, /*users=*/false),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("its calls have far more kinds than those of a model")));
  EXPECT_THAT(KindsOf(*module, /*users=*/true), IsEmpty());
}

}  // namespace
}  // namespace graphnet
