#include "graphnet/interp/observe.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "graphnet/ir/text/parser.h"
#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

ObservedValues Observed(const std::string& lines, const std::string& returned) {
  auto module = ParseModule(
      absl::StrCat("graph @forward(%x : f32[2]@cpu) {\n", lines, "  return ", returned, "\n}\n"),
      "test");
  EXPECT_OK(module);
  Sample sample;
  sample.module = *std::move(module);
  ObservedValues found;
  EXPECT_OK(InferValues(sample, /*name_sizes=*/false, &found));
  return found;
}

TEST(InferValuesTest, RecordsNumbersAndListsOfNumbers) {
  const ObservedValues found = Observed(
      "  %n = aten.size.int(%x, 0)\n  %l = prim.ListConstruct(%n, 3)\n"
      "  %y = aten.relu.default(%x)\n  %t = prim.ListConstruct(%y)\n",
      "(%n, %l, %y, %t)");
  EXPECT_EQ(found.values.at("n").annotation, "torch.SymInt");
  EXPECT_EQ(found.values.at("n").draw_spec.data.elements()[0], Argument(2));
  EXPECT_EQ(found.values.at("l").annotation, "List[int]");
  EXPECT_EQ(found.values.at("l").draw_spec.data.elements().size(), 2);
  EXPECT_FALSE(found.values.contains("y"));
  EXPECT_FALSE(found.values.contains("t"));
}

TEST(InferValuesTest, AGrowingListIsRecordedUpToALimit) {
  std::string lines = "  %n = aten.size.int(%x, 0)\n  %l = prim.ListConstruct(%n)\n";
  constexpr int kCalls = 3000;
  for (int i = 0; i < kCalls; ++i) absl::StrAppend(&lines, "  %u", i, " = aten.append.t(%l, %n)\n");
  const ObservedValues found = Observed(lines, absl::StrCat("(%l, %u", kCalls - 1, ")"));
  EXPECT_EQ(found.values.at("u0").draw_spec.data.elements().size(), 2);
  size_t numbers = 0;
  for (const auto& [name, value] : found.values) numbers += value.draw_spec.data.elements().size();
  EXPECT_GT(numbers, 1'000'000);  // of 4,504,500
  EXPECT_LE(numbers, 1 << 20);
}

}  // namespace
}  // namespace graphnet
