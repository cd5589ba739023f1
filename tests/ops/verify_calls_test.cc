#include "graphnet/ops/verify_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "graphnet/ir/text/parser.h"

namespace graphnet {
namespace {

using testing::HasSubstr;

std::string Check(absl::string_view lines) {
  auto module =
      ParseModule(absl::StrCat("graph @forward(%x) {\n  ", lines, "\n  return (%x,)\n}\n"), "test");
  EXPECT_TRUE(module.ok()) << module.status();
  return module.ok() ? std::string(VerifyCalls(**module).message()) : "";
}

TEST(VerifyCallsTest, AcceptsCallsThatPyTorchHas) {
  EXPECT_EQ(Check("%y = torch.nn.functional.gelu(%x)\n  %z = .mul_(%y, 2)"), "");
}

TEST(VerifyCallsTest, RefusesUnknownCalls) {
  EXPECT_THAT(Check("%y = torch.releu(%x)"), HasSubstr("near: relu"));
  EXPECT_THAT(Check("%y = torch.relu(%x, 1, 2)"), HasSubstr("torch.relu (node y)"));
  EXPECT_THAT(Check("%y = torch.releu(%x)\n  %z = torch.tanhh(%x)"),
              testing::AllOf(HasSubstr("(node y)"), HasSubstr("(and 1 more)")));
}

TEST(VerifyCallsTest, WritingToALiteral) {
  EXPECT_THAT(Check("%y = aten.relu_.default(2.0)"),
              HasSubstr("writes to its argument self, which is a literal"));
}

}  // namespace
}  // namespace graphnet
