#include "graphnet/passes/inline_regions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/ir/verifier.h"
#include "tests/ir/text/parsed_module.h"

namespace graphnet {
namespace {

using ::testing::HasSubstr;

// Returns the module after the pass, and checks that a second run changes nothing.
std::string Inlined(absl::string_view text, std::string* notes = nullptr) {
  const auto module = Parse(text);
  const std::string before = PrintModule(*module);
  PassRun run;
  const auto changed = InlineRegions(module.get(), run);
  EXPECT_TRUE(changed.ok()) << changed.status();
  EXPECT_TRUE(Verify(*module).ok()) << Verify(*module);
  std::string after = PrintModule(*module);
  EXPECT_EQ(*changed, before != after);
  PassRun again;
  EXPECT_FALSE(*InlineRegions(module.get(), again));
  EXPECT_EQ(PrintModule(*module), after);
  if (notes != nullptr) {
    for (const PassNote& note : run.notes()) absl::StrAppend(notes, note.what, "\n");
  }
  return after;
}

void ExpectInlined(absl::string_view text, absl::string_view expected) {
  EXPECT_EQ(Inlined(text), PrintModule(*Parse(expected)));
}

void ExpectStays(absl::string_view text, absl::string_view why) {
  std::string notes;
  EXPECT_EQ(Inlined(text, &notes), PrintModule(*Parse(text)));
  EXPECT_THAT(notes, HasSubstr(std::string(why)));
}

// Returns a graph with a region around `body` and a sine; the operands have this type.
std::string Autocast(absl::string_view mode, absl::string_view type,
                     absl::string_view body = "torch.matmul(%b, %b)") {
  return absl::StrCat("graph @forward(%x : ", type,
                      ") {\n  %r = torch.ops.higher_order.wrap_with_autocast(", mode,
                      ", @body, %x)\n  return (%r,)\n}\ngraph @body(%b : ", type,
                      ") {\n  %m = ", body, "\n  return %m\n}\n");
}
std::string Without(absl::string_view type, absl::string_view call = "torch.matmul(%x, %x)") {
  return absl::StrCat("graph @forward(%x : ", type, ") {\n  %r = ", call, "\n  return (%r,)\n}\n");
}

TEST(InlineRegionsTest, AutocastThatTouchesNothing) {
  const char* const on_cpu = "\"cpu\", torch.bfloat16, True, None";
  ExpectInlined(Autocast("\"cpu\", None, False, None", "f32[3, 3]"), Without("f32[3, 3]"));
  ExpectInlined(Autocast("\"cuda\", torch.float16, True, None", "f32[3, 3]@cpu"),
                Without("f32[3, 3]@cpu"));
  ExpectInlined(Autocast(on_cpu, "f64[3, 3]"), Without("f64[3, 3]"));
  ExpectInlined(Autocast(on_cpu, "i64[3, 3]"), Without("i64[3, 3]"));
  ExpectInlined(Autocast(on_cpu, "f32[3, 3]", "torch.add(%b, 1)"),
                Without("f32[3, 3]", "torch.add(%x, 1)"));
  ExpectStays(Autocast(on_cpu, "f32[3, 3]"), "autocast on cpu may compute torch.matmul");
  ExpectStays(Autocast(on_cpu, "f32[3, 3]", "torch._C._nn.linear(%b, %b)"), "linear");
  // PyTorch composes this call from matrix products.
  ExpectStays(Autocast(on_cpu, "f32[3, 3]", "torch.matrix_power(%b, 3)"), "matrix_power");
  ExpectStays(Autocast(on_cpu, "f32[3, 3]", "call_module fc(%b)"), "fc");
  ExpectStays(Autocast("\"cuda\", torch.float16, True, None", "f32[3, 3]@cuda:0"), "on cuda");
  // A value without a device may be on any.
  ExpectStays(Autocast("\"cuda\", torch.float16, True, None", "f32[3, 3]"), "on cuda");
}

TEST(InlineRegionsTest, AutocastInAutocast) {
  const auto nested = [](absl::string_view outer, absl::string_view inner) {
    return absl::StrCat(
        "graph @forward(%x : f32[3, 3]) {\n"
        "  %r = torch.ops.higher_order.wrap_with_autocast(\"cpu\", torch.bfloat16, ",
        outer,
        ", None, @a, %x)\n  return (%r,)\n}\n"
        "graph @a(%y : f32[3, 3]) {\n"
        "  %r = torch.ops.higher_order.wrap_with_autocast(\"cpu\", torch.bfloat16, ",
        inner,
        ", None, @b, %y)\n  %s = torch.sin(%r)\n  return %s\n}\n"
        "graph @b(%z : f32[3, 3]) {\n  %m = torch.mm(%z, %z)\n  return %m\n}\n");
  };
  // A region that is off inside another one makes neither necessary.
  ExpectInlined(nested("True", "False"),
                "graph @forward(%x : f32[3, 3]) {\n  %r_1 = torch.mm(%x, %x)\n"
                "  %r = torch.sin(%r_1)\n  return (%r,)\n}\n");
  const std::string on = Inlined(nested("True", "True"));
  EXPECT_THAT(on, HasSubstr("wrap_with_autocast"));
  // Turning autocast off inside a region that stays makes a difference.
  std::string kept = nested("True", "False");
  kept.replace(kept.find("torch.sin(%r)"), 13, "torch.mm(%r, %y)");
  EXPECT_EQ(Inlined(kept), PrintModule(*Parse(kept)));
}

TEST(InlineRegionsTest, BracketsOfAutocast) {
  const auto brackets = [](absl::string_view enabled, absl::string_view call) {
    return absl::StrCat(
        "graph @forward(%x : f32[3, 3]) {\n"
        "  %e = torch.amp.autocast_mode._enter_autocast(\"cpu\", torch.bfloat16, ",
        enabled, ", None)\n  %r = ", call,
        "\n  %l = torch.amp.autocast_mode._exit_autocast(%e)\n  return (%r,)\n}\n");
  };
  ExpectInlined(brackets("False", "torch.matmul(%x, %x)"), Without("f32[3, 3]"));
  ExpectInlined(brackets("True", "torch.add(%x, 1)"), Without("f32[3, 3]", "torch.add(%x, 1)"));
  ExpectStays(brackets("True", "torch.matmul(%x, %x)"), "torch.matmul");
  ExpectStays(
      "graph @forward(%x : f32[3]) {\n"
      "  %e = torch.amp.autocast_mode._enter_autocast(\"cpu\", torch.bfloat16, False, None)\n"
      "  %r = torch.add(%x, 1)\n  return (%r,)\n}\n",
      "not closed");
}

std::string NoGrad(absl::string_view in_region, absl::string_view behind = "torch.neg(%g)") {
  return absl::StrCat(
      "graph @forward(%x : f32[3]) {\n"
      "  %r = torch.ops.higher_order.wrap_with_set_grad_enabled(False, @body, %x)\n"
      "  %g = operator.getitem(%r, 0)\n  %n = ",
      behind, "\n  return (%n,)\n}\ngraph @body(%b : f32[3]) {\n  %s = ", in_region,
      "\n  return (%s, %b)\n}\n");
}

TEST(InlineRegionsTest, ModesOfGradients) {
  ExpectInlined(NoGrad("torch.sin(%b)"),
                "graph @forward(%x : f32[3]) {\n  %g = torch.sin(%x)\n  %n = torch.neg(%g)\n"
                "  return (%n,)\n}\n");
  ExpectStays(NoGrad("torch.sin(%b)", ".requires_grad_(%g)"), "asks for gradients");
  ExpectStays(NoGrad("torch.sin(%b)", "torch.autograd.grad(%g, %x)"), "asks for gradients");
  ExpectStays(NoGrad("builtins.getattr(%b, \"requires_grad\")"), "asks for gradients");
  ExpectStays(NoGrad("mylib.f(%b)"), "nothing is known");
  // Overloads with `out` are those that PyTorch has beside the ones that return new tensors.
  for (const char* call :
       {"aten.div.out(%b, 2, out = %b)", "torch.ops.aten.add.Scalar_out(%b, 1, out = %b)",
        "aten.cat.out([%b], out = %b)"}) {
    EXPECT_FALSE(absl::StrContains(Inlined(NoGrad(call)), "wrap_with")) << call;
  }
  ExpectStays(NoGrad("aten.nope.out(%b, out = %b)"), "nothing is known");
  // PyTorch takes `out` only where no operand asks for gradients.
  for (const absl::string_view enabled : {"False", "True"}) {
    const std::string inlined = Inlined(absl::StrCat(
        "graph @forward(%x : f32[3], %u : f32[3]) {\n"
        "  %r = torch.ops.higher_order.wrap_with_set_grad_enabled(",
        enabled, ", @body, %x, %u)\n  %g = operator.getitem(%r, 0)\n  return (%g,)\n}\n",
        "graph @body(%b : f32[3], %u : f32[3]) {\n  %c = aten.cat.out([%b, %b], out = %u)\n"
        "  %d = aten.div.out(%u, %b, out = %u)\n  return (%d,)\n}\n"));
    EXPECT_EQ(absl::StrContains(inlined, "aten.cat.out([%x, %x]"), enabled == "True") << inlined;
    EXPECT_EQ(absl::StrContains(inlined, "aten.detach.default(%x)"), enabled == "False");
    EXPECT_FALSE(absl::StrContains(inlined, "aten.detach.default(%u)"));
    EXPECT_FALSE(absl::StrContains(inlined, "wrap_with")) << inlined;
  }
  // torch.gradient is a numerical gradient, not a mode.
  EXPECT_FALSE(absl::StrContains(Inlined(NoGrad("torch.gradient(%b)")), "wrap_with"));
  ExpectInlined(
      "graph @forward(%x : f32[3]) {\n  %a = torch._C._set_grad_enabled(False)\n"
      "  %s = torch.sin(%x)\n  %b = torch._C._set_grad_enabled(True)\n  return (%s,)\n}\n",
      "graph @forward(%x : f32[3]) {\n  %s = torch.sin(%x)\n  return (%s,)\n}\n");
}

TEST(InlineRegionsTest, MarkedPartsAndBodiesOfOtherCalls) {
  ExpectInlined(
      "graph @forward(%p, %x : f32[3]) {\n  %c = torch.cond(%p, @then, @else, (%x,))\n"
      "  %k = torch.ops.higher_order.tag_activation_checkpoint(@else, %x)\n"
      "  %g = operator.getitem(%k, 0)\n  return (%c, %g)\n}\n"
      "graph @then(%y : f32[3]) {\n  %w = torch.ops.higher_order.wrap(@else, %y)\n"
      "  %g = operator.getitem(%w, 0)\n  return (%g,)\n}\n"
      "graph @else(%z : f32[3]) {\n  %n = torch.neg(%z)\n  return (%n,)\n}\n",
      "graph @forward(%p, %x : f32[3]) {\n  %c = torch.cond(%p, @then, @else, (%x,))\n"
      "  %g = torch.neg(%x)\n  return (%c, %g)\n}\n"
      "graph @then(%y : f32[3]) {\n  %g = torch.neg(%y)\n  return (%g,)\n}\n"
      "graph @else(%z : f32[3]) {\n  %n = torch.neg(%z)\n  return (%n,)\n}\n");
}

// A body that doubles at each of many levels would fill the memory.
TEST(InlineRegionsTest, GrowthIsBounded) {
  std::string text =
      "graph @f(%x) {\n  %v = torch.ops.higher_order.wrap(@b0, %x)\n  return (%v,)\n}\n";
  for (int i = 0; i < 40; ++i) {
    const std::string call =
        i == 39 ? "torch.neg(%a)" : absl::StrCat("torch.ops.higher_order.wrap(@b", i + 1, ", %a)");
    absl::StrAppend(&text, "graph @b", i, "(%a) {\n  %v = ", call, "\n  %w = ", call,
                    "\n  return (%v, %w)\n}\n");
  }
  const auto module = Parse(text);
  const std::string before = PrintModule(*module);
  PassRun run;
  const auto changed = InlineRegions(module.get(), run);
  EXPECT_EQ(changed.status().code(), absl::StatusCode::kResourceExhausted) << changed.status();
  EXPECT_EQ(PrintModule(*module), before);
}

}  // namespace
}  // namespace graphnet
