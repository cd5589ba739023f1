// Tests that the table of rules uses names that PyTorch has, and that the pass follows the table.
// tests/tools/check_paddle.py checks the other half against Paddle.
#include "graphnet/paddle/to_paddle.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <map>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "graphnet/ir/text/parser.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/ops/python_operator.h"
#include "graphnet/ops/schema_table.h"
#include "graphnet/paddle/rules.h"
#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

using ::testing::HasSubstr;

struct Converted {
  std::string text;
  std::map<std::string, size_t> notes;
};

Converted Convert(const std::string& body, const std::string& inputs = "%x, %y") {
  const auto module = ParseModule("graph @forward(" + inputs + ") {\n" + body + "}\n", "test");
  EXPECT_OK(module);
  if (!module.ok()) return {};
  PassRun run;
  EXPECT_OK(ToPaddle(module->get(), run));
  EXPECT_OK(Verify(**module));
  Converted converted;
  PrintOptions options;
  options.header = false;
  converted.text = PrintModule(**module, options);
  for (const PassNote& note : run.notes()) converted.notes[note.what] += note.count;
  PassRun again;
  EXPECT_THAT(ToPaddle(module->get(), again), IsOkAndHolds(false)) << converted.text;
  return converted;
}

// Returns the overloads to which a rule applies.
absl::Span<const Schema> OverloadsOf(const PaddleRule& rule) {
  const auto functions = FindFunctions(rule.name);
  return functions.empty() ? FindSchemas(rule.name) : functions;
}

void ExpectParameter(const PaddleRule& rule, absl::string_view parameter) {
  bool found = false;
  for (const Schema& schema : OverloadsOf(rule)) found |= schema.IndexOf(parameter) >= 0;
  EXPECT_TRUE(found) << rule.name << " has no parameter " << parameter;
}

void ExpectParameters(const PaddleRule& rule, const PaddleTerm& term) {
  const bool is_parameter = term.kind == PaddleTerm::Kind::kParameter ||
                            term.kind == PaddleTerm::Kind::kVariadic ||
                            term.kind == PaddleTerm::Kind::kPieces;
  // A parameter that may be missing may belong to another name of the row.
  if (is_parameter && !term.may_lack) ExpectParameter(rule, term.name);
  for (const PaddleTerm& argument : term.arguments) ExpectParameters(rule, argument);
}

TEST(PaddleRulesTest, NameParametersThatPyTorchHas) {
  ASSERT_FALSE(AllPaddleRules().empty());
  for (const PaddleRule& rule : AllPaddleRules()) {
    absl::string_view name = rule.name;
    if (absl::ConsumePrefix(&name, "operator.")) {
      EXPECT_NE(FindPythonOperator(name), nullptr) << rule.name;
      continue;
    }
    // A call that is in no table may only have a reason why Paddle lacks it.
    const bool is_reason = rule.kind == PaddleRule::Kind::kNone && rule.conditions.empty();
    if (is_reason && absl::StartsWith(rule.name, "torch.")) continue;
    EXPECT_FALSE(OverloadsOf(rule).empty()) << rule.name;
    if (rule.kind == PaddleRule::Kind::kCall) ExpectParameters(rule, rule.call);
    for (const PaddleCondition& condition : rule.conditions)
      ExpectParameter(rule, condition.parameter);
  }
}

TEST(PaddleRulesTest, ClassesFitTheCalls) {
  for (const PaddleRule& rule : AllPaddleRules()) {
    EXPECT_EQ(rule.kind == PaddleRule::Kind::kNone, !rule.reason.empty()) << rule.name;
    if (rule.kind == PaddleRule::Kind::kNone) {
      EXPECT_GE(rule.mapping_class, 5) << rule.name;
    }
    if (rule.mapping_class == 7) {
      EXPECT_EQ(rule.kind, PaddleRule::Kind::kNone) << rule.name;
    }
  }
}

TEST(ToPaddleTest, ArgumentsByName) {
  EXPECT_THAT(Convert("  %a = torch.conv2d(%x, %y, None, (2, 2), padding = 1)\n"
                      "  return (%a,)\n")
                  .text,
              HasSubstr("paddle.nn.functional.conv2d(x = %x, weight = %y, stride = (2, 2), "
                        "padding = [1, 1])"));
  // A default that differs is written; one that is the same is left out.
  EXPECT_THAT(Convert("  %a = .index_select(%x, 0, %y)\n  return (%a,)\n").text,
              HasSubstr("paddle.index_select(x = %x, index = %y, axis = 0)"));
  EXPECT_THAT(Convert("  %a = torch.nn.functional.dropout(%x, 0.5, True, False)\n"
                      "  return (%a,)\n")
                  .text,
              HasSubstr("paddle.nn.functional.dropout(x = %x)"));
}

TEST(ToPaddleTest, MomentumIsComplemented) {
  EXPECT_THAT(
      Convert(
          "  %a = torch.nn.functional.batch_norm(%x, %y, %y, training = True, momentum = 0.25)\n"
          "  return (%a,)\n")
          .text,
      HasSubstr("training = True, momentum = 0.75"));
}

TEST(ToPaddleTest, DevicesAndDTypesAreWords) {
  EXPECT_THAT(
      Convert("  %a = torch.zeros((2, 3), dtype = torch.bfloat16, device = device(\"cuda:0\"))\n"
              "  return (%a,)\n")
          .text,
      HasSubstr("shape = (2, 3), dtype = \"bfloat16\", device = \"gpu:0\""));
}

TEST(ToPaddleTest, InPlaceCallsWriteToTheSameTensor) {
  EXPECT_THAT(Convert("  %a = torch.nn.functional.hardswish(%x, True)\n  return (%a,)\n").text,
              HasSubstr("paddle.assign(x = %hardswish, output = %x)"));
  EXPECT_THAT(Convert("  %a = torch.relu_(%x)\n  return (%a,)\n").text,
              HasSubstr("paddle.nn.functional.relu_(x = %x)"));
  EXPECT_THAT(Convert("  %a = .clamp_(%x, min = 0)\n  return (%a,)\n").text,
              HasSubstr("paddle.assign("));
}

// Each of these once gave other numbers or did not run.
TEST(ToPaddleTest, CallsThatPaddleInterpretsDifferently) {
  const auto converts = [](const std::string& call) {
    return Convert("  %r = " + call + "\n  return (%r,)\n").text;
  };
  // Paddle's SAME padding ignores the dilation.
  EXPECT_THAT(converts("torch.conv2d(%x, %y, padding = \"same\", dilation = 2)"),
              HasSubstr("torch.conv2d(%x"));
  EXPECT_THAT(converts("torch.conv2d(%x, %y, padding = \"same\")"),
              HasSubstr("paddle.nn.functional.conv2d(x = %x, weight = %y, padding = \"same\")"));
  // In Paddle a padding_idx makes that row zeros.
  EXPECT_THAT(converts("torch.nn.functional.embedding(%x, %y, 1)"),
              HasSubstr("paddle.nn.functional.embedding(x = %x, weight = %y)"));
  EXPECT_THAT(converts("torch.full((2, 3), 1)"), HasSubstr("dtype = \"int64\""));
  EXPECT_THAT(converts("torch.full((2, 3), 1.0)"), HasSubstr("dtype = \"float32\""));
  EXPECT_THAT(converts("torch._C._nn.avg_pool2d(%x, 3, divisor_override = 2)"),
              HasSubstr("torch._C._nn.avg_pool2d(%x"));
  EXPECT_THAT(converts("torch.clamp(%x, min = %y)"), HasSubstr("paddle.maximum(x = %x, y = %y)"));
  EXPECT_THAT(converts("torch.clamp(%x, min = 0)"), HasSubstr("paddle.clip(x = %x, min = 0)"));
  EXPECT_THAT(converts("torch.nn.functional.layer_norm(%x, (2, 3), %y, %y)"),
              HasSubstr("paddle.flatten(x = %y)"));
  EXPECT_THAT(converts("torch.nn.functional.layer_norm(%x, (2,), %y, %y)"),
              HasSubstr("layer_norm(x = %x, normalized_shape = (2,), weight = %y, bias = %y)"));
  // Paddle does not pad by negative numbers, so a subscript cuts that part off.
  EXPECT_THAT(converts("torch._C._nn.pad(%x, (0, -1))"),
              HasSubstr("functional.pad(input = %x, pad = [0, 0])\n  %r = operator.getitem(%pad, "
                        "(..., slice(None, -1, None)))"));
  EXPECT_THAT(converts("aten.constant_pad_nd.default(%x, [-2, 1, 3, -4], 5)"),
              HasSubstr("functional.pad(input = %x, pad = [0, 1, 3, 0], value = 5)\n  %r = "
                        "operator.getitem(%pad, (..., slice(None, -4, None), slice(2, None, "
                        "None)))"));
  EXPECT_THAT(converts("torch._C._nn.pad(%x, (0, -1), \"reflect\")"),
              HasSubstr("torch._C._nn.pad(%x"));
  EXPECT_THAT(converts("torch.functional.einsum(\"ij,jk->ik\", [%x, %y])"),
              HasSubstr("paddle.einsum(\"ij,jk->ik\", %x, %y)"));
  EXPECT_THAT(converts("torch.fft.fftn(%x, dim = -1)"), HasSubstr("axes = [-1]"));
  EXPECT_THAT(converts(".add_(%x, %y)"), HasSubstr("paddle.assign(x = %add, output = %x)"));
}

// Paddle 3.3.1 refused the earlier form of these calls.
TEST(ToPaddleTest, KnownFactsOfTensorsDecide) {
  const auto converts = [](const std::string& calls) {
    return Convert(calls + "\n  return (%r,)\n", "%x : f32[5, 4], %u, %p : f32[5, 4], %n : i64[5]")
        .text;
  };
  EXPECT_THAT(converts("  %r = torch.chunk(%x, 2)"),
              HasSubstr("paddle.split(x = %x, num_or_sections = [3, 2])"));
  // There are fewer pieces than the call asks for.
  EXPECT_THAT(converts("  %a = torch.relu(%x)\n  %r = .chunk(%a, 4, dim = -2)"),
              HasSubstr("paddle.split(x = %a, num_or_sections = [2, 2, 1], axis = -2)"));
  EXPECT_THAT(converts("  %r = torch.chunk(%x, 2, 1)"),
              HasSubstr("paddle.chunk(x = %x, chunks = 2, axis = 1)"));
  EXPECT_THAT(converts("  %r = torch.chunk(%u, 2)"), HasSubstr("paddle.chunk(x = %u, chunks = 2)"));
  EXPECT_THAT(converts("  %a = torch.gt(%u, 0)\n  %r = torch.cumsum(%a, 0)"),
              HasSubstr("%cast = paddle.cast(x = %a, dtype = \"int64\")\n"
                        "  %r = paddle.cumsum(x = %cast, axis = 0)"));
  EXPECT_THAT(converts("  %a = torch.gt(%u, 0)\n  %r = torch.cumprod(%a, 0)"),
              HasSubstr("paddle.cumprod(x = %cast, dim = 0)"));
  EXPECT_THAT(converts("  %r = torch.cumsum(%u, 0)"), HasSubstr("paddle.cumsum(x = %u, axis = 0)"));
  EXPECT_THAT(converts("  %r = torch.nn.functional.cross_entropy(%x, %p)"),
              HasSubstr("cross_entropy(input = %x, label = %p, soft_label = True, axis = 1)"));
  EXPECT_THAT(converts("  %r = torch.nn.functional.cross_entropy(%x, %p, reduction = \"none\")"),
              HasSubstr("%r = paddle.squeeze(x = %cross_entropy, axis = 1)"));
  for (const char* const target : {"%n", "%u"}) {
    EXPECT_THAT(converts(absl::StrCat("  %r = torch.nn.functional.cross_entropy(%x, ", target,
                                      ", label_smoothing = 0.1)")),
                HasSubstr(absl::StrCat("cross_entropy(input = %x, label = ", target,
                                       ", label_smoothing = 0.1, axis = 1)")));
  }
}

// A computed size is allowed wherever a literal one is.
TEST(ToPaddleTest, SizesOfSizes) {
  const auto converts = [](const std::string& calls) {
    return Convert(calls + "\n  return (%r,)\n").text;
  };
  const std::string sizes =
      "  %s = .size(%x)\n  %n = operator.getitem(%s, 1)\n  %h = operator.floordiv(%n, 2)\n"
      "  %t = builtins.getattr(%y, \"shape\")\n  %m = operator.getitem(%t, -1)\n"
      "  %q = .size(%y, 0)\n";
  EXPECT_THAT(converts(sizes + "  %r = .reshape(%x, %n, -1)"),
              HasSubstr("paddle.reshape(x = %x, shape = [%n, -1])"));
  EXPECT_THAT(converts(sizes + "  %r = .view(%x, %h, %m, %q)"),
              HasSubstr("paddle.view(x = %x, shape_or_dtype = [%h, %m, %q])"));
  EXPECT_THAT(converts(sizes + "  %r = .expand(%x, %m, -1)"),
              HasSubstr("paddle.expand(x = %x, shape = [%m, -1])"));
  EXPECT_THAT(converts(sizes + "  %r = torch.zeros(%h, %q)"), HasSubstr("shape = [%h, %q]"));
  EXPECT_THAT(converts(sizes + "  %r = .repeat(%x, %n, 1)"),
              HasSubstr("paddle.tile(x = %x, repeat_times = [%n, 1])"));
}

// Arguments without meaning are left out: a default repeated for each dimension, or the strides
// that the tensor has anyway.
TEST(ToPaddleTest, NeutralArguments) {
  const auto converts = [](const std::string& call) {
    return Convert("  %r = " + call + "\n  return (%r,)\n").text;
  };
  EXPECT_THAT(converts("torch.nn.functional.max_pool2d(%x, 2, 2, 0, (1, 1))"),
              HasSubstr("paddle.nn.functional.max_pool2d(x = %x, kernel_size = 2, stride = 2"));
  EXPECT_THAT(converts("torch.nn.functional.max_pool1d(%x, 2, 2, 0, [1], False)"),
              HasSubstr("paddle.nn.functional.max_pool1d("));
  EXPECT_THAT(converts("torch.clone(%x, memory_format = torch.preserve_format)"),
              HasSubstr("%r = .clone(%x)\n"));
  EXPECT_THAT(converts("torch.nn.functional.max_pool2d(%x, 2, 2, 0, (1, 2))"),
              HasSubstr("torch.nn.functional.max_pool2d("));
}

TEST(ToPaddleTest, ScatterReduce) {
  const auto converts = [](const std::string& reduce) {
    return Convert("  %r = torch.scatter_reduce(%x, 1, %y, %x, " + reduce + ")\n  return (%r,)\n",
                   "%x : f32[2, 3], %y : i64[2, 3]")
        .text;
  };
  EXPECT_THAT(converts("\"sum\""),
              HasSubstr("paddle.put_along_axis(arr = %x, indices = %y, values = %x, axis = 1, "
                        "reduce = \"add\", broadcast = False)"));
  EXPECT_THAT(converts("\"amax\", include_self = False"),
              HasSubstr("reduce = \"amax\", include_self = False, broadcast = False"));
  EXPECT_THAT(converts("\"prod\""), HasSubstr("reduce = \"multiply\""));
}

// Rows may make tuples, mention a value twice, and turn constants into words.
TEST(ToPaddleTest, RowsConvertValues) {
  const auto converts = [](const std::string& call) {
    return Convert("  %r = " + call + "\n  return (%r,)\n").text;
  };
  EXPECT_THAT(converts("torch.std_mean(%x, 1)"),
              HasSubstr("%std = paddle.std(x = %x, axis = 1)\n"
                        "  %mean = paddle.mean(x = %x, axis = 1)\n"
                        "  %r = builtins.tuple((%std, %mean))"));
  // There is one frexp for both elements.
  EXPECT_THAT(converts("torch.frexp(%x)"),
              HasSubstr("%frexp = paddle.frexp(x = %x)\n"
                        "  %getitem = operator.getitem(%frexp, 0)\n"
                        "  %getitem_1 = operator.getitem(%frexp, 1)\n"));
  EXPECT_THAT(converts("torch.functional.block_diag(%x, %y)"),
              HasSubstr("paddle.block_diag(inputs = (%x, %y))"));
  EXPECT_THAT(converts("torch.functional.broadcast_shapes((2, 1), (1, 3))"),
              HasSubstr("paddle.broadcast_shapes((2, 1), (1, 3))"));
  EXPECT_THAT(converts("torch.signal.windows.hann(8, sym = False)"),
              HasSubstr("paddle.hann_window(window_length = 8, periodic = True)"));
  EXPECT_THAT(converts("torch.special.entr(%x)"), HasSubstr("x = -inf"));
  EXPECT_THAT(converts("torch.linalg.inv_ex(%x)"),
              HasSubstr("operator.getitem(%getattr, slice(None, -2, None))"));
  // The first is an attribute in PyTorch and a function in Paddle, the second an attribute in both.
  EXPECT_THAT(converts("builtins.getattr(%x, \"real\")"), HasSubstr("%r = paddle.real(x = %x)"));
  EXPECT_THAT(converts("builtins.getattr(%x, \"ndim\")"), HasSubstr("getattr(%x, \"ndim\")"));
  // PyTorch's Python bindings have a default that ATen does not have.
  EXPECT_THAT(converts("torch.hinge_embedding_loss(%x, %y)"), HasSubstr("reduction = \"none\")"));
  EXPECT_THAT(converts("torch.hinge_embedding_loss(%x, %y, reduction = 2)"),
              HasSubstr("reduction = \"sum\")"));
  EXPECT_THAT(converts("aten.hinge_embedding_loss.default(%x, %y)"),
              HasSubstr("hinge_embedding_loss(input = %x, label = %y)"));
}

// A call for a list becomes the call for each of its tensors, which may be several calls or none.
TEST(ToPaddleTest, ListsOfTensors) {
  const auto converts = [](const std::string& call) {
    return Convert("  %r = " + call + "\n  return (%r,)\n");
  };
  EXPECT_THAT(converts("torch._foreach_abs([%x, %y])").text,
              HasSubstr("%abs = paddle.abs(x = %x)\n  %abs_2 = paddle.abs(x = %y)\n"
                        "  %r = builtins.list([%abs, %abs_2])"));
  EXPECT_THAT(converts("torch._foreach_add([%x, %y], [1, 2])").text,
              HasSubstr("operator.add(%y, 2)"));
  EXPECT_THAT(converts("torch._foreach_mul([%x, %y], 3)").text, HasSubstr("operator.mul(%y, 3)"));
  const std::string in_place = Convert("  %r = torch._foreach_erfc_([%x])\n  return (%x,)\n").text;
  EXPECT_THAT(in_place, HasSubstr("paddle.assign(x = %sub, output = %x)"));
  EXPECT_THAT(in_place, ::testing::Not(HasSubstr("builtins.list")));
  const Converted left = converts("torch._foreach_norm([%x, %y])");
  EXPECT_THAT(left.text, HasSubstr("%r = torch._foreach_norm([%x, %y])"));
  EXPECT_THAT(left.text, ::testing::Not(HasSubstr("paddle.")));
}

TEST(ToPaddleTest, NotesConditionalGapsOfPaddle) {
  const Converted converted = Convert(
      "  %a = torch.nn.functional.interpolate(%x, scale_factor = 2, mode = \"nearest-exact\")\n"
      "  %b = torch.nn.functional.interpolate(%x, scale_factor = 2)\n"
      "  %c = torch.nn.functional.cross_entropy(%y, %y, label_smoothing = 0.1)\n"
      "  return (%a, %b, %c)\n",
      "%x, %y : f32[2, 3, 4]");
  EXPECT_EQ(converted.notes.at("left torch.nn.functional.interpolate: Paddle has no mode "
                               "nearest-exact"),
            1);
  EXPECT_EQ(converted.notes.at("left torch.nn.functional.cross_entropy: Paddle weighs and smooths "
                               "probabilities differently"),
            1);
  EXPECT_THAT(converted.text, HasSubstr("paddle.nn.functional.interpolate(x = %x"));
}

// Paddle iterates over `size`, where PyTorch accepts one int for all axes.
TEST(ToPaddleTest, RepeatsOneSizeForEachAxis) {
  const std::string call = "torch.nn.functional.interpolate(%x, size = 27, mode = ";
  const auto converts = [&](const std::string& mode, const std::string& inputs) {
    return Convert("  %r = " + call + '"' + mode + "\")\n  return (%r,)\n", inputs).text;
  };
  EXPECT_THAT(converts("linear", "%x : f32[2, 3, 4], %y"), HasSubstr("size = [27], mode = "));
  EXPECT_THAT(converts("bicubic", "%x : f32[2, 3, 4, 4], %y"),
              HasSubstr("size = [27, 27], mode = "));
  EXPECT_THAT(converts("trilinear", "%x : f32[2, 3, 4, 4, 4], %y"),
              HasSubstr("size = [27, 27, 27], mode = "));
  EXPECT_EQ(Convert("  %r = " + call + "\"linear\")\n  return (%r,)\n")
                .notes.at("left torch.nn.functional.interpolate: one size for axes of an unknown "
                          "number"),
            1);
}

TEST(ToPaddleTest, KeepsAndNotesCallsThatPaddleLacks) {
  const Converted converted = Convert(
      "  %a = torch.nn.functional.max_pool2d(%x, 3, dilation = 2)\n"
      "  %b = mylib.f(%a)\n  %c = torch.relu(%b)\n  return (%c,)\n");
  EXPECT_THAT(converted.text, HasSubstr("torch.nn.functional.max_pool2d(%x, 3, dilation = 2)"));
  EXPECT_EQ(converted.notes.at("calls in Paddle's terms"), 1);
  EXPECT_EQ(converted.notes.at("left mylib.f: no rule"), 1);
  EXPECT_EQ(converted.notes.at("left torch.nn.functional.max_pool2d: Paddle has no dilation"), 1);
}

}  // namespace
}  // namespace graphnet
