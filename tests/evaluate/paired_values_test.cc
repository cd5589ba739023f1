#include "graphnet/evaluate/paired_values.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graphnet/ir/text/equality.h"
#include "graphnet/ir/text/parser.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"
#include "tests/interp/inputs/tensor.h"

namespace graphnet {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TensorData Floats(const std::vector<float>& values) {
  return Tensor<float>(DType::kFloat32, values);
}

// Returns a graph with an attribute and an input of these names.
Sample Made(const std::string& weight, const std::string& input,
            const std::string& type = "f32[2]") {
  Sample sample;
  const std::string text = absl::StrCat("attribute ", weight, " : f32[2]\ngraph @main(%", input,
                                        " : ", type, ") {\n  %w = get_attr ", weight,
                                        "\n  %y = torch.add(%", input, ", %w)\n  return %y\n}\n");
  absl::StatusOr<std::unique_ptr<Module>> module = ParseModule(text, "test");
  EXPECT_OK(module) << text;
  if (module.ok()) sample.module = *std::move(module);
  return sample;
}

PairedValues Paired(WeightsOf weights, Sample a, Sample b) {
  absl::StatusOr<PairedValues> made = PairValues({}, weights, {.seed = 1}, &a, &b);
  EXPECT_OK(made);
  return made.ok() ? *std::move(made) : PairedValues();
}

TEST(PairedValuesTest, EachSampleRunsWithItsOwnWeights) {
  Sample a = Made("w", "x");
  Sample b = Made("w", "x");
  a.weights["w"] = Floats({1, 2});
  b.weights["w"] = Floats({3, 4});
  const PairedValues made = Paired(WeightsOf::kOwn, std::move(a), std::move(b));
  EXPECT_TRUE(SameData(made.first.at("w"), Floats({1, 2})));
  EXPECT_TRUE(SameData(made.second.at("w"), Floats({3, 4})));
  EXPECT_THAT(made.weights, ElementsAre(Pair("w", "w")));
  EXPECT_THAT(made.inputs, ElementsAre(Pair("x", "x")));
  EXPECT_TRUE(SameData(made.first.at("x"), made.second.at("x")));
}

TEST(PairedValuesTest, BothCanRunWithTheWeightsOfOne) {
  Sample a = Made("w", "x");
  Sample b = Made("w", "x");
  a.weights["w"] = Floats({1, 2});
  b.weights["w"] = Floats({3, 4});
  const PairedValues made = Paired(WeightsOf::kB, std::move(a), std::move(b));
  EXPECT_TRUE(SameData(made.first.at("w"), Floats({3, 4})));
  EXPECT_EQ(made.taken_by_first, 1);
  EXPECT_EQ(made.taken_by_second, 0);
}

TEST(PairedValuesTest, ASampleWithoutValuesTakesThoseThatFit) {
  Sample a = Made("w", "x");
  Sample b = Made("w", "x");
  a.weights["w"] = Floats({1, 2});
  EXPECT_EQ(Paired(WeightsOf::kOwn, std::move(a), std::move(b)).taken_by_second, 1);

  Sample longer = Made("w", "x");
  Sample other = Made("w", "x");
  longer.weights["w"] = Floats({1, 2, 3});
  const PairedValues made = Paired(WeightsOf::kOwn, std::move(longer), std::move(other));
  EXPECT_EQ(made.taken_by_second, 0);
  EXPECT_THAT(made.second.at("w").shape, ElementsAre(2));
}

TEST(PairedValuesTest, FloatsAreConvertedToTheDtypeThatTheSecondTakes) {
  absl::StatusOr<PairedValues> made;
  Sample a = Made("w", "x");
  Sample b = Made("w", "x", "f64[2]");
  made = PairValues({.words = {"x=f32[2]"}}, WeightsOf::kOwn, {.seed = 1}, &a, &b);
  ASSERT_OK(made);
  EXPECT_EQ(made->first.at("x").dtype, DType::kFloat32);
  EXPECT_EQ(made->second.at("x").dtype, DType::kFloat64);
}

TEST(PairedValuesTest, NamesThatOnlyOneSampleHasAreCounted) {
  const PairedValues made = Paired(WeightsOf::kOwn, Made("w", "x"), Made("v", "x"));
  EXPECT_EQ(made.unpaired, 1);
  EXPECT_THAT(made.weights, IsEmpty());
}

}  // namespace
}  // namespace graphnet
