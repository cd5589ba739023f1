#include "graphnet/interp/stability.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "ATen/ATen.h"
#include "absl/strings/string_view.h"
#include "graphnet/interp/measure_stability.h"
#include "tests/base/status_matchers.h"
#include "tests/interp/run_text.h"

namespace graphnet {
namespace {

// Returns the digits of each value of a graph, by the name of its node. `most_sensitive` may be null.
std::map<std::string, StableValue> Digits(absl::string_view text,
                                          const std::vector<at::Tensor>& inputs,
                                          std::string* most_sensitive = nullptr) {
  const auto module = Parse(text);
  auto executable = Compile(*module);
  EXPECT_OK(executable);
  const auto measured = MeasureStability(
      [&](const RunOptions& how) {
        std::vector<c10::IValue> values;
        for (const at::Tensor& input : inputs) values.emplace_back(input.clone());
        return (*executable)->Run(std::move(values), how);
      },
      0);
  EXPECT_OK(measured);
  std::map<std::string, StableValue> made;
  for (const StableValue& value : measured->values) made[std::string(value.node->name())] = value;
  const StableValue* const worst = MostSensitive(*measured);
  if (most_sensitive != nullptr && worst != nullptr)
    *most_sensitive = std::string(worst->node->name());
  return made;
}

// Returns the digits that `computed` shares with `exact`.
double TrueDigits(const at::Tensor& computed, const at::Tensor& exact) {
  const at::Tensor error = computed.to(at::kDouble) - exact;
  return std::log10(exact.square().mean().item<double>() / error.square().mean().item<double>()) /
         2;
}

TEST(StabilityTest, FindsTheCallThatCancels) {
  at::manual_seed(1);
  const at::Tensor x = at::randn({1000});
  std::string worst;
  const auto digits = Digits(R"(graph @forward(%x : f32[1000]@cpu {}) {
    %big = torch.add(%x, 10000.0)
    %small = torch.sub(%big, 10000.0)
    %twice = torch.mul(%small, 2.0)
    return %twice
  })",
                             {x}, &worst);
  const double found = TrueDigits((x + 10000.0) - 10000.0, x.to(at::kDouble));
  EXPECT_NEAR(digits.at("small").digits, found, 0.5);
  EXPECT_EQ(worst, "small");
  EXPECT_GT(digits.at("small").lost_here, 3);
  EXPECT_LT(digits.at("big").lost, 0.5);
  EXPECT_NEAR(digits.at("twice").digits, digits.at("small").digits, 0.1);
  EXPECT_LT(digits.at("twice").lost_here, 0.1);
}

TEST(StabilityTest, CountsDigitsByDType) {
  at::manual_seed(2);
  const auto digits = Digits(R"(graph @forward(%x : bf16[1000]@cpu {}) {
    %exp = torch.exp(%x)
    %wide = .to(%exp, torch.float32)
    %narrow = .to(%wide, torch.float16)
    %whole = .to(%x, torch.int64)
    return (%narrow, %whole)
  })",
                             {at::randn({1000}).to(at::kBFloat16)});
  EXPECT_NEAR(DigitsOf(DType::kBFloat16), 2.4, 0.05);
  EXPECT_NEAR(digits.at("exp").digits, 2.4, 0.3);
  // A cast to more digits has no more than its operand, and loses none.
  EXPECT_NEAR(digits.at("wide").digits, digits.at("exp").digits, 0.1);
  EXPECT_GT(digits.at("wide").lost, 4);
  EXPECT_LT(digits.at("wide").lost_here, 0.1);
  EXPECT_LT(digits.at("narrow").lost_here, 0.1);
  EXPECT_FALSE(digits.contains("whole"));
}

TEST(StabilityTest, TakesWhatIsNotFiniteAndTuples) {
  const at::Tensor x = at::tensor({1.0F, 0.0F, -1.0F, 4.0F});
  const auto digits = Digits(R"(graph @forward(%x : f32[4]@cpu {}) {
    %log = torch.log(%x)
    %max = torch.max(%log, 0)
    %first = operator.getitem(%max, 0)
    %none = torch.sub(%x, %x)
    return (%first, %none)
  })",
                             {x});
  EXPECT_NEAR(digits.at("log").digits, DigitsOf(DType::kFloat32), 1);
  EXPECT_EQ(digits.at("none").lost, 0) << "zeros that stay zeros lose nothing";
  EXPECT_GE(digits.at("first").digits, 0);
}

TEST(StabilityTest, TakesTheResultOfALoop) {
  at::manual_seed(3);
  const auto digits = Digits(R"(graph @forward(%x : f32[100]@cpu {}) {
    %zero = torch.sub(%x, %x)
    %loop = torch.while_loop(@cond, @body, (0, %zero), (%x,))
    %out = operator.getitem(%loop, 1)
    return %out
  }
  graph @cond(%i, %sum, %x) {
    %less = operator.lt(%i, 3)
    return %less
  }
  graph @body(%i, %sum, %x) {
    %next = operator.add(%i, 1)
    %added = torch.add(%sum, %x)
    return (%next, %added)
  })",
                             {at::randn({100})});
  EXPECT_GT(digits.at("out").digits, 6);
  EXPECT_FALSE(digits.contains("added"));
}

}  // namespace
}  // namespace graphnet
