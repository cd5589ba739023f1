// Programs still run after their dtype is changed, and yield the new dtype.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "ATen/ATen.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graphnet/interp/executable.h"
#include "graphnet/ir/text/parser.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/passes/pipeline.h"
#include "tests/base/status_matchers.h"
#include "tests/ir/text/parsed_module.h"

namespace graphnet {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct To {
  const char* text;
  at::ScalarType dtype;
};
constexpr To kAll[] = {{"f64", at::kDouble}, {"bf16", at::kBFloat16}, {"f16", at::kHalf}};

ParsedModule Changed(absl::string_view text, absl::string_view options) {
  ParsedModule module = Parse(text);
  const auto pipeline = ParsePipeline(absl::StrCat("change-dtype{", options, "}"));
  EXPECT_OK(pipeline);
  EXPECT_OK(RunPipeline(*pipeline, module.get(), {}));
  EXPECT_OK(Verify(*module)) << PrintModule(*module);
  return module;
}

std::vector<at::Tensor> RunWith(const Module& module, const std::vector<at::Tensor>& inputs) {
  auto executable = Compile(module);
  EXPECT_OK(executable) << PrintModule(module);
  if (!executable.ok()) return {};
  auto outputs = (*executable)->Run({inputs.begin(), inputs.end()});
  EXPECT_OK(outputs) << PrintModule(module);
  std::vector<at::Tensor> tensors;
  if (!outputs.ok()) return tensors;
  for (const c10::IValue& value : *outputs) tensors.push_back(value.toTensor());
  return tensors;
}

// Calls of a scripted program that omit the dtype. Their sizes come from TorchScript's own
// operators, whose results are not tensors of the changed dtype.
TEST(ChangeDTypeRunTest, FactoriesThatAreNotToldTheDType) {
  constexpr char kText[] = R"(
graph @forward(%x : f32[3]@cpu) {
  %size = aten.size.default(%x)
  %n = aten.__getitem__.t(%size, 0)
  %zeros = aten.zeros.default([%n])
  %ones = aten.ones.default([%n, 2], dtype = None)
  %full = aten.full.default([%n], 1.5)
  %half = aten.div.int(%n, 2)
  %filled = aten.full.default([%n], %half)
  %rand = aten.rand.default([%n])
  %randn = aten.randn.default([%n])
  %empty = aten.empty.memory_format([%n])
  %arange = aten.arange.start_step(0.0, 3.0, 1.0)
  %linspace = aten.linspace.default(0, 1, %n)
  %logspace = aten.logspace.default(0, 1, %n)
  %eye = aten.eye.default(%n)
  %window = aten.hann_window.default(%n)
  %normal = aten.normal.float_float(0.0, 1.0, [%n])
  %tensor = aten.tensor.default([1.0, 2.0])
  %number = aten.tensor.float(1.5)
  %like = aten.new_zeros.default(%x, [%n])
  %sum = aten.add.Tensor(%zeros, %x)
  %ints = aten.full.default([%n], 2)
  %counted = aten.arange.default(%n)
  return (%zeros, %ones, %full, %filled, %rand, %randn, %empty, %arange, %linspace, %logspace, %eye, %window, %normal, %tensor, %number, %like, %sum, %ints, %counted)
}
)";
  for (const To& to : kAll) {
    SCOPED_TRACE(to.text);
    const ParsedModule module = Changed(kText, absl::StrCat("to=", to.text));
    const auto outputs = RunWith(*module, {at::ones({3}, to.dtype)});
    ASSERT_EQ(outputs.size(), 19);
    for (size_t i = 0; i < 17; ++i) EXPECT_EQ(outputs[i].scalar_type(), to.dtype) << i;
    for (size_t i = 17; i < 19; ++i) EXPECT_EQ(outputs[i].scalar_type(), at::kLong) << i;
    EXPECT_THAT(PrintModule(*Changed(PrintModule(*module), absl::StrCat("to=", to.text))),
                PrintModule(*module));
  }
  // Tensors of the default dtype are float32, not float16.
  EXPECT_THAT(PrintModule(*Changed(kText, "to=f64,from=f16")), Not(HasSubstr("torch.float64")));
}

// The same for a traced program, where tensors hold the sizes.
TEST(ChangeDTypeRunTest, FactoriesOfTracedSizes) {
  constexpr char kText[] = R"(
graph @forward(%x : f32[3, 2]@cpu) {
  %size = aten.size.int(%x, 0)
  %n = prim.NumToTensor.Scalar(%size)
  %size_1 = aten.size.int(%x, 1)
  %m = prim.NumToTensor.Scalar(%size_1)
  %mul = aten.mul.Tensor(%n, %m)
  %Int = aten.Int.Tensor(%mul)
  %zeros = aten.zeros.default([%Int], device = device("cpu"), pin_memory = False)
  %Int_1 = aten.Int.Tensor(%mul)
  %ones = aten.ones.default([%Int_1])
  %y = aten.add.Tensor(%zeros, %ones)
  return (%zeros, %y)
}
)";
  for (const To& to : kAll) {
    const auto outputs =
        RunWith(*Changed(kText, absl::StrCat("to=", to.text)), {at::ones({3, 2}, to.dtype)});
    ASSERT_EQ(outputs.size(), 2);
    EXPECT_EQ(outputs[0].scalar_type(), to.dtype);
    EXPECT_TRUE(at::equal(outputs[1], at::ones({6}, to.dtype)));
  }
}

// Scales that have no other use keep their dtype; others are cast back.
TEST(ChangeDTypeRunTest, OperandsThatStayFloat32) {
  constexpr char kText[] = R"(
graph @forward(%x : f32[3, 4]@cpu, %s : f32[4]@cpu, %z : i32[4]@cpu, %other : f32[4]@cpu) {
  %a = aten.fake_quantize_per_channel_affine.default(%x, %s, %z, 1, -128, 127)
  %b = torch.fake_quantize_per_channel_affine(%x, %other, %z, 1, -128, 127)
  %c = aten.mul.Tensor(%b, %other)
  %t = aten.fake_quantize_per_channel_affine_cachemask.default(%x, %s, %z, 1, -128, 127)
  %d = operator.getitem(%t, 0)
  %mask = operator.getitem(%t, 1)
  return (%a, %c, %d, %mask)
}
)";
  const at::Tensor x = at::randn({3, 4}), scale = at::full({4}, 0.125);
  const at::Tensor zero = at::zeros({4}, at::kInt);
  for (const To& to : kAll) {
    SCOPED_TRACE(to.text);
    const ParsedModule module = Changed(kText, absl::StrCat("to=", to.text));
    EXPECT_THAT(PrintModule(*module), HasSubstr("%s : f32[4]@cpu"));
    EXPECT_THAT(PrintModule(*module), HasSubstr(absl::StrCat("%other : ", to.text, "[4]@cpu")));
    const at::Tensor y = x.to(to.dtype);
    const auto outputs = RunWith(*module, {y, scale, zero, scale.to(to.dtype)});
    ASSERT_EQ(outputs.size(), 4);
    const at::Tensor want = at::fake_quantize_per_channel_affine(y, scale, zero, 1, -128, 127);
    EXPECT_TRUE(at::equal(outputs[0], want));
    EXPECT_TRUE(at::equal(outputs[1], want * scale.to(to.dtype)));
    EXPECT_TRUE(at::equal(outputs[2], want));
    EXPECT_EQ(outputs[3].scalar_type(), at::kBool);
  }
}

// All readers share one attribute.
TEST(ChangeDTypeRunTest, AttributesThatStayFloat32) {
  constexpr char kText[] = R"(
attribute scale : f32[4]@cpu
attribute shared : f32[4]@cpu
graph @forward(%x : f32[3, 4]@cpu, %z : f32[4]@cpu) {
  %s = get_attr scale
  %h = get_attr shared
  %h2 = get_attr shared
  %a = aten.fake_quantize_per_channel_affine.default(%x, %s, %z, 1, -128, 127)
  %b = aten.fake_quantize_per_channel_affine.default(%a, %h, %z, 1, -128, 127)
  %c = aten.mul.Tensor(%b, %h2)
  return (%c,)
}
)";
  const std::string text = PrintModule(*Changed(kText, "to=f64"));
  EXPECT_THAT(text, HasSubstr("attribute scale : f32[4]@cpu"));
  EXPECT_THAT(text, HasSubstr("attribute shared : f64[4]@cpu"));
  EXPECT_THAT(text, HasSubstr("%to = .to(%h, torch.float32)"));
  EXPECT_THAT(text, HasSubstr("%z : f32[4]@cpu"));
}

// The kernels for packed weights accept floats of at most four bytes.
TEST(ChangeDTypeRunTest, PackedWeightsTakeNoFloat64) {
  constexpr char kText[] = R"(
graph @forward(%x : f32[4, 64]@cpu, %w : i8[32, 64]@cpu, %s : f32[32]@cpu) {
  %y = aten._weight_int8pack_mm.default(%x, %w, %s)
  return (%y,)
}
)";
  const at::Tensor x = at::randn({4, 64}), scale = at::rand({32});
  const at::Tensor w = at::randint(-5, 5, {32, 64}, at::kChar);
  for (const To& to : kAll) {
    const auto outputs = RunWith(*Changed(kText, absl::StrCat("to=", to.text)),
                                 {x.to(to.dtype), w, scale.to(to.dtype)});
    ASSERT_EQ(outputs.size(), 1);
    EXPECT_EQ(outputs[0].scalar_type(), to.dtype);
  }
}

// Quantizers accept only float32 and return the same.
TEST(ChangeDTypeRunTest, QuantizersTakeFloat32) {
  constexpr char kText[] = R"(
graph @forward(%x : f32[3, 4]@cpu) {
  %q = aten.quantize_per_tensor.default(%x, 0.125, 0, torch.qint8)
  %d = aten.dequantize.self(%q)
  %y = aten.add.Tensor(%d, %x)
  return (%y,)
}
)";
  for (const To& to : kAll) {
    SCOPED_TRACE(to.text);
    const at::Tensor x = at::randn({3, 4}).to(to.dtype);
    const auto outputs = RunWith(*Changed(kText, absl::StrCat("to=", to.text)), {x});
    ASSERT_EQ(outputs.size(), 1);
    EXPECT_EQ(outputs[0].scalar_type(), to.dtype);
    const at::Tensor q = at::quantize_per_tensor(x.to(at::kFloat), 0.125, 0, at::kQInt8);
    EXPECT_TRUE(at::equal(outputs[0], q.dequantize().to(to.dtype) + x));
  }
}

}  // namespace
}  // namespace graphnet
