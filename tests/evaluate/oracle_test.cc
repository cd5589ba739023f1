#include "graphnet/evaluate/oracle.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "graphnet/ir/sample.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

template <typename T>
TensorData Tensor(DType dtype, const std::vector<T>& values) {
  TensorData data;
  data.dtype = dtype;
  data.shape = {static_cast<int64_t>(values.size())};
  std::string bytes(values.size() * sizeof(T), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  data.bytes = std::make_shared<std::string>(std::move(bytes));
  return data;
}
TensorData Floats(const std::vector<float>& values) { return Tensor(DType::kFloat32, values); }
TensorData Doubles(const std::vector<double>& values) { return Tensor(DType::kFloat64, values); }

Wrong WhoIsWrong(const Outputs& reference, const Outputs& eager, const Outputs& backend) {
  const absl::StatusOr<OracleVerdict> verdict = JudgeByReference(reference, eager, backend);
  EXPECT_OK(verdict.status());
  return verdict->wrong;
}

TEST(OracleTest, ASideBeyondTheToleranceIsWrong) {
  const Outputs reference = {Doubles({1, 2, 1e-3}), Doubles({5})};
  const Outputs right = {Floats({1, 2, 1e-3F}), Floats({5})};
  const Outputs near = {Floats({1.000005F, 2, 1e-3F}), Floats({5})};
  const Outputs far = {Floats({1, 2, 1e-3F}), Floats({5.01F})};
  EXPECT_EQ(WhoIsWrong(reference, right, near), Wrong::kNobody);
  EXPECT_EQ(WhoIsWrong(reference, right, far), Wrong::kBackend);
  EXPECT_EQ(WhoIsWrong(reference, far, near), Wrong::kEager);
  EXPECT_EQ(WhoIsWrong(reference, far, far), Wrong::kBoth);
  EXPECT_NEAR(JudgeByReference(reference, right, far)->backend_error, 0.01, 1e-6);
  EXPECT_LT(JudgeByReference(reference, right, far)->eager_error, 1e-9);
}

TEST(OracleTest, UsesTheTolerancesOfEagersDTypes) {
  // The neighbours 1.0 and 1.0009765625 in float16; its rtol at t = -5 is 1e-3.
  const TensorData one = Tensor<uint16_t>(DType::kFloat16, {0x3c00});
  EXPECT_EQ(WhoIsWrong({Doubles({1.0009})}, {one}, {one}), Wrong::kNobody);
  EXPECT_EQ(WhoIsWrong({Doubles({1.0009})}, {Floats({1})}, {Floats({1})}), Wrong::kBoth);
}

TEST(OracleTest, AnotherShapeOrDTypeIsWrong) {
  const Outputs reference = {Doubles({1, 2})};
  const Outputs eager = {Floats({1, 2})};
  EXPECT_EQ(WhoIsWrong(reference, eager, {Floats({1})}), Wrong::kBackend);
  EXPECT_EQ(WhoIsWrong(reference, eager, {}), Wrong::kBackend);
  // The numbers are right, but the dtype is not.
  EXPECT_EQ(WhoIsWrong(reference, eager, {Doubles({1, 2})}), Wrong::kBackend);
  EXPECT_EQ(WhoIsWrong(reference, eager, {Floats({1, std::numeric_limits<float>::quiet_NaN()})}),
            Wrong::kBackend);
  EXPECT_FALSE(JudgeByReference({Doubles({1})}, eager, eager).ok());
}

TEST(OracleTest, DescribesTheFindingInOneLine) {
  OracleFinding finding;
  finding.verdict = {Wrong::kBackend, 3e-8, 0.25};
  finding.node = "y";
  finding.target = "torch.erf";
  finding.reduced = "bench/reduced/iree/a.gn";
  finding.operators = 1;
  EXPECT_EQ(DescribeFinding(finding, "iree"),
            "iree is wrong: errors against float64: iree 0.25, eager 3e-08; first at %y = "
            "torch.erf; "
            "1 operator in bench/reduced/iree/a.gn");
  EXPECT_EQ(DescribeFinding({.why_not = "no luck"}, "iree"),
            "cannot tell which side is wrong: no luck");
}

}  // namespace
}  // namespace graphnet
