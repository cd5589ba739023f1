#include "graphnet/evaluate/failure_kind.h"

#include "gtest/gtest.h"

namespace graphnet {
namespace {

TEST(FailureKindTest, LeavesOutTheDetailsOfASample) {
  EXPECT_EQ(KindOfReason("shape '[8, 1024]' is invalid for input of size 4096"),
            "shape '' is invalid for input of size #");
  EXPECT_EQ(KindOfReason("a shape [8, 1024], not [1]"), "a shape [#], not [#]");
  EXPECT_EQ(KindOfReason("cannot be written as mlir: 12:5: %conv2d_3: aten.conv2d.default has no "
                         "form"),
            "cannot be written as mlir: #:#: %: aten.conv2d.default has no form");
  EXPECT_EQ(KindOfReason("hang: no answer within 2s"), "hang: no answer within #");
  EXPECT_EQ(KindOfReason("crash: killed by signal 11 (Segmentation fault)"),
            "crash: killed by signal # (Segmentation fault)");
  EXPECT_EQ(KindOfReason("cannot open /tmp/a/b.so: it's gone"), "cannot open # it's gone");
  EXPECT_EQ(KindOfReason("at 0x7f12 in layer_norm_12"), "at # in layer_norm_#");
  EXPECT_EQ(KindOfReason("50% of \"x"), "#% of \"x");
}

TEST(FailureKindTest, IsAccuracyIfOutputsDiffer) {
  SampleResult result;
  result.eager_dtypes = {"float32"};
  result.outputs.resize(1);
  EXPECT_EQ(FailureKindOf(result).outcome, Outcome::kAccuracy);
  result.outputs[0].SetClose(-5, ToleranceClass::kFloat32);
  EXPECT_EQ(FailureKindOf(result), FailureKind());
  result.status = Outcome::kCompileFail;
  result.reason = "no kernel for 3 dimensions";
  EXPECT_EQ(DescribeFailure(FailureKindOf(result)), "compile_fail: no kernel for # dimensions");
}

}  // namespace
}  // namespace graphnet
