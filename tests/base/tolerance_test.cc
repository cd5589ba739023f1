#include "graphnet/base/tolerance.h"

#include <set>
#include <string>

#include "gtest/gtest.h"

namespace graphnet {
namespace {

TEST(ToleranceTest, AreThoseOfPyTorchAtMinusFive) {
  const struct {
    ToleranceClass dtypes;
    double atol, rtol;
  } kRows[] = {{ToleranceClass::kFloat16, 1e-5, 1e-3},
               {ToleranceClass::kBFloat16, 1e-5, 1.6e-2},
               {ToleranceClass::kFloat32, 1e-5, 1.3e-6},
               {ToleranceClass::kFloat64, 1e-7, 1e-7}};
  for (const auto& row : kRows) {
    const Tolerance tolerance = ToleranceAt(-5, row.dtypes);
    EXPECT_NEAR(tolerance.atol / row.atol, 1, 1e-9);
    EXPECT_NEAR(tolerance.rtol / row.rtol, 1, 2e-3);
    const Tolerance one = ToleranceAt(0, row.dtypes);
    EXPECT_EQ(one.atol, 1);
    EXPECT_EQ(one.rtol, 1);
  }
}

TEST(ToleranceTest, NamesAreThoseOfLogs) {
  EXPECT_EQ(ToleranceName(-10, ToleranceClass::kFloat16), "all_close_atol_1.00E-10_rtol_1.00E-06");
  EXPECT_EQ(ToleranceName(-10, ToleranceClass::kBFloat16), "all_close_atol_1.00E-10_rtol_2.56E-04");
  EXPECT_EQ(ToleranceName(-10, ToleranceClass::kFloat32), "all_close_atol_1.00E-10_rtol_1.69E-12");
  EXPECT_EQ(ToleranceName(-10, ToleranceClass::kFloat64), "all_close_atol_1.00E-14_rtol_1.00E-14");
  EXPECT_EQ(ToleranceName(-4, ToleranceClass::kFloat64), "all_close_atol_2.51E-06_rtol_2.51E-06");
  EXPECT_EQ(ToleranceName(5, ToleranceClass::kFloat32), "all_close_atol_1.00E+05_rtol_7.69E+05");
  EXPECT_EQ(ToleranceName(3, ToleranceClass::kExact), "equal");
  std::set<std::string> names;
  for (int t = kMinToleranceLevel; t <= kMaxToleranceLevel; ++t) {
    for (int c = 0; c < kNumToleranceClasses; ++c) {
      names.insert(ToleranceName(t, static_cast<ToleranceClass>(c)));
    }
  }
  EXPECT_EQ(names.size(), 64 - 3);  // At t = 0, four classes share a name.
}

TEST(ToleranceTest, DtypesHaveTheirClass) {
  EXPECT_EQ(ToleranceClassOf("float16"), ToleranceClass::kFloat16);
  EXPECT_EQ(ToleranceClassOf("complex32"), ToleranceClass::kFloat16);
  EXPECT_EQ(ToleranceClassOf("bfloat16"), ToleranceClass::kBFloat16);
  EXPECT_EQ(ToleranceClassOf("float32"), ToleranceClass::kFloat32);
  EXPECT_EQ(ToleranceClassOf("paddle.float32"), ToleranceClass::kFloat32);
  EXPECT_EQ(ToleranceClassOf("torch.complex64"), ToleranceClass::kFloat32);
  EXPECT_EQ(ToleranceClassOf("qint8"), ToleranceClass::kFloat32);
  EXPECT_EQ(ToleranceClassOf("float64"), ToleranceClass::kFloat64);
  EXPECT_EQ(ToleranceClassOf("complex128"), ToleranceClass::kFloat64);
  for (const char* exact : {"int64", "bool", "uint8", "float8_e4m3fn", "", "float3"}) {
    EXPECT_EQ(ToleranceClassOf(exact), ToleranceClass::kExact) << exact;
  }
}

}  // namespace
}  // namespace graphnet
