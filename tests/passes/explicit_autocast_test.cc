// Programs yield the same bits once the casts of autocast are written out.
#include "graphnet/passes/explicit_autocast.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ATen/ATen.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "graphnet/interp/executable.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/ir/verifier.h"
#include "tests/base/status_matchers.h"
#include "tests/ir/text/parsed_module.h"

namespace graphnet {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kOpen[] =
    "  %mode = torch.amp.autocast_mode._enter_autocast(\"cpu\", torch.bfloat16, True, None)\n";
constexpr char kClose[] = "  %off = torch.amp.autocast_mode._exit_autocast(%mode)\n";

// Returns a graph that runs the lines, which define %r, between those of `open` and kClose.
std::string UnderAutocast(absl::string_view lines, absl::string_view open = kOpen) {
  return absl::StrCat(
      "graph @forward(%x : f32[2, 4, 4]@cpu, %y : f32[2, 4, 4]@cpu, %b : f32[4]@cpu, %w : f32[4, "
      "4]@cpu,"
      " %i : f32[1, 4, 8, 8, 8]@cpu, %t : i64[2, 4]@cpu) {\n",
      open, lines, kClose, "  return (%r,)\n}\n");
}

std::vector<c10::IValue> Inputs() {
  at::manual_seed(1);
  return {at::rand({2, 4, 4}), at::rand({2, 4, 4}),       at::rand({4}),
          at::rand({4, 4}),    at::rand({1, 4, 8, 8, 8}), at::randint(4, {2, 4}, at::kLong)};
}

std::vector<at::Tensor> RunWith(const Module& module, const std::vector<c10::IValue>& inputs) {
  auto executable = Compile(module);
  EXPECT_OK(executable) << PrintModule(module);
  if (!executable.ok()) return {};
  auto outputs = (*executable)->Run(inputs);
  EXPECT_OK(outputs) << PrintModule(module);
  std::vector<at::Tensor> tensors;
  if (!outputs.ok()) return tensors;
  for (const c10::IValue& value : *outputs) tensors.push_back(value.toTensor());
  return tensors;
}

// Applies the pass, and checks that a second run changes nothing. Returns the notes.
std::string Apply(Module* module, bool* changed) {
  PassRun run;
  const auto made = ExplicitAutocast(module, run);
  EXPECT_OK(made);
  EXPECT_OK(Verify(*module)) << PrintModule(*module);
  *changed = made.ok() && *made;
  if (*changed) {
    PassRun again;
    EXPECT_THAT(ExplicitAutocast(module, again), IsOkAndHolds(false)) << PrintModule(*module);
  }
  std::string notes;
  for (const PassNote& note : run.notes()) absl::StrAppend(&notes, note.what, "\n");
  return notes;
}

// Checks that autocast is off after the pass, and that the outputs have the same bits. Returns the
// text after the pass.
std::string ExpectExplicit(const std::string& text) {
  const ParsedModule module = Parse(text);
  const std::vector<at::Tensor> before = RunWith(*module, Inputs());
  bool changed = false;
  EXPECT_EQ(Apply(module.get(), &changed), "") << text;
  EXPECT_TRUE(changed) << text;
  std::string after = PrintModule(*module);
  EXPECT_THAT(after, Not(HasSubstr("True, None")));
  const std::vector<at::Tensor> outputs = RunWith(*module, Inputs());
  EXPECT_EQ(outputs.size(), before.size());
  for (size_t i = 0; i < outputs.size() && i < before.size(); ++i) {
    EXPECT_EQ(outputs[i].scalar_type(), before[i].scalar_type()) << after;
    EXPECT_TRUE(at::equal(outputs[i], before[i])) << after;
  }
  return after;
}

void ExpectStays(const std::string& text, absl::string_view why) {
  const ParsedModule module = Parse(text);
  const std::string before = PrintModule(*module);
  bool changed = true;
  EXPECT_THAT(Apply(module.get(), &changed), HasSubstr(std::string(why)));
  EXPECT_FALSE(changed);
  EXPECT_EQ(PrintModule(*module), before);
}

class AutocastCallTest : public testing::TestWithParam<const char*> {};

// The call runs on float32, on bfloat16, and on both.
TEST_P(AutocastCallTest, HasTheSameBits) {
  const std::string call = absl::StrCat("  %r = ", GetParam(), "\n");
  ExpectExplicit(UnderAutocast(call));
  const char* const casts =
      "  %u = .to(%x, torch.bfloat16)\n  %v = .to(%y, torch.bfloat16)\n"
      "  %c = .to(%b, torch.bfloat16)\n  %j = .to(%i, torch.bfloat16)\n";
  const std::string mixed = absl::StrReplaceAll(call, {{"%x", "%u"}, {"%b", "%c"}, {"%i", "%j"}});
  ExpectExplicit(UnderAutocast(absl::StrCat(casts, mixed)));
  ExpectExplicit(UnderAutocast(absl::StrCat(casts, absl::StrReplaceAll(mixed, {{"%y", "%v"}}))));
}

INSTANTIATE_TEST_SUITE_P(Calls, AutocastCallTest,
                         testing::Values(
                             // Autocast computes these in the dtype of the region.
                             "torch.matmul(%x, %y)", "operator.matmul(%x, %y)",
                             "torch.bmm(%x, mat2 = %y)", "torch.nn.functional.linear(%x, %w, %b)",
                             "torch.baddbmm(%x, %y, %y)",
                             "torch.conv1d(%x, %y, padding = \"same\")",
                             "torch.nn.functional.scaled_dot_product_attention(%x, %y, %y)",
                             // It computes these in float32.
                             "torch.nn.functional.cross_entropy(%x, %t)", "torch.cdist(%x, %y)",
                             "torch.nn.functional.avg_pool3d(%i, 2)", "torch.prod(%x, 1)",
                             "torch.nn.functional.binary_cross_entropy(%x, %y)",
                             // It leaves these as they are.
                             "torch.nn.functional.pad(%x, (1, 2))", "torch.cat([%x, %y], 1)",
                             "torch.stack([%x, %y])", "torch.add(%x, %b)",
                             "torch.nn.functional.softmax(%x, dim = -1)",
                             "torch.nn.functional.layer_norm(%x, (4,))"));

TEST(ExplicitAutocastTest, ValuesFollowEachOther) {
  const std::string after =
      ExpectExplicit(UnderAutocast("  %m = torch.matmul(%x, %y)\n  %s = torch.add(%m, %b)\n"
                                   "  %n = torch.matmul(%m, %s)\n  %r = torch.cdist(%n, %m)\n"));
  // A product yields the dtype of the region, so that it needs no cast for the next one.
  EXPECT_THAT(after, HasSubstr("%n = torch.matmul(%m, %to_2)"));
}

// Regions in regions: off inside of on, and on again.
TEST(ExplicitAutocastTest, Nested) {
  const std::string after = ExpectExplicit(UnderAutocast(
      "  %a = torch.matmul(%x, %y)\n"
      "  %out = torch.amp.autocast_mode._enter_autocast(\"cpu\", torch.bfloat16, False, None)\n"
      "  %c = torch.matmul(%x, %y)\n"
      "  %in = torch.amp.autocast_mode._enter_autocast(\"cpu\", torch.float16, True, None)\n"
      "  %d = torch.matmul(%x, %y)\n"
      "  %in_1 = torch.amp.autocast_mode._exit_autocast(%in)\n"
      "  %out_1 = torch.amp.autocast_mode._exit_autocast(%out)\n"
      "  %e = torch.matmul(%a, %y)\n"
      "  %r = torch.cat([%a, %c, %d, %e], 1)\n"));
  EXPECT_THAT(after, HasSubstr("%c = torch.matmul(%x, %y)"));
  EXPECT_THAT(after, HasSubstr("torch.float16)\n  %d = "));
}

// The form of torch.export: the region is a body.
TEST(ExplicitAutocastTest, ACallOfABody) {
  const std::string after = ExpectExplicit(
      "graph @forward(%x : f32[2, 4, 4]@cpu, %y : f32[2, 4, 4]@cpu, %b : f32[4]@cpu,"
      " %w : f32[4, 4]@cpu, %i : f32[1, 4, 8, 8, 8]@cpu, %t : i64[2, 4]@cpu) {\n"
      "  %r = torch.ops.higher_order.wrap_with_autocast(\"cpu\", torch.bfloat16, True, None,"
      " @body, %x, %y)\n"
      "  %p = operator.getitem(%r, 0)\n  %q = torch.bmm(%x, %y)\n  return (%p, %q)\n}\n"
      "graph @body(%a : f32[2, 4, 4]@cpu, %c : f32[2, 4, 4]@cpu) {\n"
      "  %m = aten.bmm.default(%a, %c)\n  return (%m,)\n}\n");
  EXPECT_THAT(after, HasSubstr("aten.bmm.default(%to, %to_1)"));
  EXPECT_THAT(after, HasSubstr("torch.bmm(%x, %y)"));
}

// Lowering makes one value of these two operands.
TEST(ExplicitAutocastTest, OneValueUnderTwoNames) {
  ExpectExplicit(UnderAutocast("  %s = .float(%x)\n  %r = torch.matmul(%x, %s)\n"));
  ExpectExplicit(UnderAutocast("  %s = torch.cat([%x])\n  %r = torch.matmul(%s, %x)\n"));
  ExpectExplicit(UnderAutocast(
      "  %s = torch.nn.functional.dropout(%x, 0.5, False)\n  %r = torch.matmul(%x, %s)\n"));
}

// A number, a tensor of integers and one of float64 are not cast.
TEST(ExplicitAutocastTest, OperandsThatStay) {
  const std::string after = ExpectExplicit(UnderAutocast(
      "  %q = .double(%x)\n  %m = torch.matmul(%q, %q)\n  %n = .size(%t, 0)\n"
      "  %d = operator.sub(%n, 1)\n  %k = torch.prod(%t, %d)\n  %r = torch.mul(%m, 2.0)\n"));
  EXPECT_THAT(after, Not(HasSubstr("bfloat16)\n  %m")));
}

TEST(ExplicitAutocastTest, RegionsThatStay) {
  ExpectStays(UnderAutocast("  %r = mylib.product(%x, %y)\n"),
              "nothing is known of how autocast computes mylib.product");
  ExpectStays(UnderAutocast("  %r = call_module fc(%x)\n"), "nothing is known of the module fc");
  // It broadcasts its operands first.
  ExpectStays(UnderAutocast("  %r = torch.nn.functional.mse_loss(%x, %y)\n"),
              "torch.nn.functional.mse_loss stands for several operators");
  ExpectStays(UnderAutocast("  %r = torch.nn.functional.pad(%x, (1, 2), mode = \"reflect\")\n"),
              "torch.nn.functional.pad");
  ExpectStays(UnderAutocast("  %r = torch.matrix_power(%x, 3)\n"), "torch.matrix_power");
  ExpectStays(UnderAutocast("  %d = torch.get_autocast_dtype(\"cpu\")\n  %r = .to(%x, %d)\n"),
              "asks for the settings of autocast");
  ExpectStays(UnderAutocast("  %r = torch.matmul(%x, %y, out = %y)\n"), "torch.matmul");
  const auto open = [](absl::string_view settings) {
    return absl::StrCat("  %mode = torch.amp.autocast_mode._enter_autocast(", settings, ")\n");
  };
  const char* const kProduct = "  %r = torch.matmul(%x, %y)\n";
  ExpectStays(UnderAutocast(kProduct, open("\"cpu\", torch.float32, True, None")),
              "autocast to float32");
  ExpectStays(UnderAutocast(kProduct, open("\"cpu\"")), "leaves out whether it is on");
  ExpectStays(UnderAutocast(kProduct, open("\"cpu\", torch.bfloat16, %b, None")),
              "whether autocast is on is not known");
  ExpectStays(absl::StrReplaceAll(UnderAutocast(kProduct), {{kClose, ""}}), "is not closed");
  ExpectStays(
      UnderAutocast(kProduct,
                    absl::StrCat("  %c = torch.amp.autocast_mode._exit_autocast(%b)\n", kOpen)),
      "closed where it is not open");
  ExpectStays(absl::StrReplaceAll(UnderAutocast(kProduct), {{"@cpu", ""}}),
              "the device of %x is not known");
  ExpectStays(UnderAutocast("  %u = mylib.f(%t)\n  %r = torch.matmul(%u, %u)\n"),
              "the dtype of %u is not known");
}

// A body that two calls share, one of them under autocast.
TEST(ExplicitAutocastTest, BodiesUnderTwoSettings) {
  ExpectStays(
      "graph @forward(%x : f32[3, 3]@cpu) {\n"
      "  %r = torch.ops.higher_order.wrap_with_autocast(\"cpu\", torch.bfloat16, True, None, @b, "
      "%x)\n"
      "  %s = torch.ops.higher_order.wrap_with_autocast(\"cpu\", torch.bfloat16, False, None, @b, "
      "%x)\n"
      "  return (%r, %s)\n}\n"
      "graph @b(%a : f32[3, 3]@cpu) {\n  %m = torch.mm(%a, %a)\n  return %m\n}\n",
      "@b runs under several settings of autocast");
}

// On another device than that of the values, autocast casts nothing.
TEST(ExplicitAutocastTest, OtherDevice) {
  const ParsedModule module = Parse(UnderAutocast(
      "  %r = torch.matmul(%x, %y)\n",
      "  %mode = torch.amp.autocast_mode._enter_autocast(\"cuda\", torch.float16, True, None)\n"));
  bool changed = false;
  EXPECT_EQ(Apply(module.get(), &changed), "");
  EXPECT_TRUE(changed);
  EXPECT_THAT(PrintModule(*module), Not(HasSubstr(".to(")));
}

}  // namespace
}  // namespace graphnet
