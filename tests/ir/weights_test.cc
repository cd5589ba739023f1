#include "graphnet/ir/weights.h"

#include <memory>

#include "gmock/gmock.h"
#include "graphnet/ir/verifier.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(WeightsTest, AreReadAndWritten) {
  Sample sample;
  sample.module = std::make_unique<Module>();
  Graph* const graph = sample.module->AddGraph("forward");
  const std::vector<float> ones = {1, 2, 3, 4, 5, 6};
  const auto weight = AddParameter<float>("fc.weight", {2, 3}, ones, &sample);
  ASSERT_OK(weight);
  const std::vector<int64_t> numbers = {7};
  const auto number = AddParameter<int64_t>("count", {}, numbers, &sample);
  ASSERT_OK(number);
  graph->Output(Argument::Tuple({Argument(*weight), Argument(*number)}));
  ASSERT_OK(Verify(*sample.module));
  EXPECT_EQ((*weight)->tensor_meta()->shape.size(), 2);
  EXPECT_THAT(Values<float>(sample, "fc.weight"), IsOkAndHolds(ElementsAre(1, 2, 3, 4, 5, 6)));
  EXPECT_THAT(Values<int64_t>(sample, "count"), IsOkAndHolds(ElementsAre(7)));

  const std::vector<float> twos = {2, 2, 2, 2, 2, 2};
  ASSERT_OK(SetValues<float>("fc.weight", twos, &sample));
  EXPECT_THAT(Values<float>(sample, "fc.weight"), IsOkAndHolds(ElementsAre(2, 2, 2, 2, 2, 2)));

  EXPECT_THAT(Values<double>(sample, "fc.weight").status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("the dtype of fc.weight is f32, not f64")));
  EXPECT_THAT(Values<float>(sample, "none").status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no value of none is known")));
  EXPECT_THAT(
      SetValues<float>("fc.weight", absl::MakeConstSpan(twos).first(5), &sample),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("fc.weight has 6 elements, not 5")));
  EXPECT_THAT(
      AddParameter<float>("fc.weight", {6}, twos, &sample).status(),
      StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("there is an attribute fc.weight")));
  EXPECT_THAT(AddParameter<float>("w", {2, 2}, twos, &sample).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("the shape [2, 2] of w has not 6 elements")));
}

// The bytes of a file may begin anywhere.
TEST(WeightsTest, BytesNeedNotBeAligned) {
  Sample sample;
  const float value = 1.5;
  std::string bytes("x");
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  sample.weights["w"] = {
      DType::kFloat32, {1}, SharedBytes(nullptr, absl::string_view(bytes).substr(1))};
  EXPECT_THAT(Values<float>(sample, "w"), IsOkAndHolds(ElementsAre(1.5f)));
}

}  // namespace
}  // namespace graphnet
