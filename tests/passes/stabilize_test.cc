#include "graphnet/passes/stabilize.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "graphnet/ir/text/parser.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/ir/verifier.h"
#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Stabilized(const std::string& text, const std::string& allow = "") {
  const auto module = ParseModule(text, "test");
  EXPECT_OK(module);
  PassRun run(std::map<std::string, std::string>{{"allow", allow}});
  EXPECT_OK(Stabilize(module->get(), run));
  EXPECT_OK(Verify(**module));
  PrintOptions options;
  options.header = false;
  std::string after = PrintModule(**module, options);
  const auto again = Stabilize(module->get(), run);
  EXPECT_THAT(again, IsOkAndHolds(false)) << after;
  return after;
}

TEST(StabilizeTest, BodiesToo) {
  EXPECT_THAT(
      Stabilized(
          "graph @forward(%p, %x) {\n  %y = torch.cond(%p, @a, @a, [%x])\n  return (%y,)\n}\n"
          "graph @a(%v) {\n  %r = torch._C._nn.gelu(%v)\n  return (%r,)\n}\n"),
      HasSubstr("torch.nn.functional.gelu(%v)"));
}

TEST(StabilizeTest, ArgumentsByNameWhereTheyDiffer) {
  // The reduction is a number in ATen and a word in Python.
  EXPECT_THAT(
      Stabilized(
          "graph @forward(%x, %y) {\n  %l = torch._C._nn.binary_cross_entropy(%x, %y, None, 2)\n"
          "  return (%l,)\n}\n"),
      HasSubstr("torch.nn.functional.binary_cross_entropy(input = %x, target = %y, weight = None, "
                "reduction = \"sum\")"));
  // If it is omitted it is 0, not the schema's default.
  EXPECT_THAT(
      Stabilized("graph @forward(%x, %y) {\n  %l = torch._C._nn.binary_cross_entropy(%x, %y)\n"
                 "  return (%l,)\n}\n"),
      HasSubstr("torch.nn.functional.binary_cross_entropy(input = %x, target = %y, "
                "reduction = \"none\")"));
  // The Python function does more than the operator.
  EXPECT_THAT(
      Stabilized(
          "graph @forward(%x, %y) {\n  %l = torch._C._nn.mse_loss(%x, %y)\n  return (%l,)\n}\n"),
      HasSubstr("torch._C._nn.mse_loss"));
  // The operator yields indices, too.
  EXPECT_THAT(
      Stabilized("graph @forward(%x) {\n  %l = torch._C._nn.adaptive_max_pool2d(%x, (2, 2))\n"
                 "  return (%l,)\n}\n"),
      Not(HasSubstr("functional.adaptive_max_pool2d(%x, (2, 2))")));
}

TEST(StabilizeTest, DefaultsMayBeLeftOut) {
  EXPECT_THAT(
      Stabilized("graph @forward(%x) {\n  %y = torch._C._nn.pad(%x, (1, 2))\n  return (%y,)\n}\n"),
      HasSubstr("torch.nn.functional.pad(%x, (1, 2))"));
}

TEST(StabilizeTest, AllowedInFullOrByTheLastPart) {
  const std::string text =
      "graph @forward(%x) {\n  %a = torch._C._nn.gelu(%x)\n  %b = torch._C._nn.softplus(%a)\n"
      "  %c = torch._C._nn.silu(%b)\n  return (%c,)\n}\n";
  const std::string after = Stabilized(text, "torch._C._nn.gelu+softplus");
  EXPECT_THAT(after, HasSubstr("torch._C._nn.gelu"));
  EXPECT_THAT(after, HasSubstr("torch._C._nn.softplus"));
  EXPECT_THAT(after, HasSubstr("torch.nn.functional.silu"));
}

TEST(StabilizeTest, ALogEntryWhoseValueIsUsed) {
  EXPECT_THAT(Stabilized("graph @forward(%x) {\n  %n = torch._C._log_api_usage_once(\"a\")\n"
                         "  %y = torch.nn.functional.linear(%x, %x, %n)\n  return (%y,)\n}\n"),
              HasSubstr("torch.nn.functional.linear(%x, %x, None)"));
}

constexpr char kOff[] = "  %off = torch._C._set_grad_enabled(False)\n";
constexpr char kOn[] = "  %on = torch._C._set_grad_enabled(True)\n";

std::string WithModes(const std::string& parameter, const std::string& inside,
                      const std::string& end = kOn) {
  return Stabilized("graph @forward(%w : f32[2]" + parameter + ") {\n" + kOff + inside + end +
                    "  return (%w,)\n}\n");
}

TEST(StabilizeTest, GradientModesStayWhereTheyMatter) {
  EXPECT_THAT(WithModes(" as torch.Tensor", "  %a = torch.cos(%w)\n"),
              Not(HasSubstr("grad_enabled")));
  EXPECT_THAT(WithModes(" as torch.nn.parameter.Parameter", "  %a = torch.cos(%w)\n"),
              HasSubstr("torch.set_grad_enabled(False)"));
  // %w has an unknown origin.
  EXPECT_THAT(WithModes("", "  %a = torch.cos(%w)\n"), HasSubstr("torch.set_grad_enabled(False)"));
  // No call runs in between.
  EXPECT_THAT(WithModes("", ""), Not(HasSubstr("grad_enabled")));
  // The call asks for the mode.
  EXPECT_THAT(WithModes(" as torch.Tensor", "  %a = torch.is_grad_enabled()\n"),
              HasSubstr("torch.set_grad_enabled(False)"));
  // The graph leaves a mode behind.
  EXPECT_THAT(WithModes(" as torch.Tensor", "  %a = torch.cos(%w)\n", ""),
              HasSubstr("torch.set_grad_enabled(False)"));
  // A parameter was written to the tensor.
  EXPECT_THAT(
      Stabilized("graph @forward(%w as torch.nn.parameter.Parameter, %x as torch.Tensor) {\n"
                 "  %v = .view(%x, -1)\n  %i = .mul_(%v, %w)\n" +
                 std::string(kOff) + "  %a = torch.cos(%x)\n" + kOn + "  return (%a,)\n}\n"),
      HasSubstr("torch.set_grad_enabled(False)"));
}

}  // namespace
}  // namespace graphnet
