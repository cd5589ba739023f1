// Tests that attributes keep the form in which modules hold them, as operators round by it.
#include "graphnet/extract/samples.h"

#include <string>
#include <vector>

#include "ATen/ATen.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/extract/capture.h"
#include "gtest/gtest.h"
#include "tests/extract/store_and_load.h"

namespace graphnet {
namespace {

using c10::IValue;

// Runs the program directly and from folders of both formats.
void ExpectSameBits(const torch::jit::Module& module, const at::Tensor& x,
                    const std::vector<std::string>& break_on = {}) {
  at::Tensor expected;
  {
    const at::NoGradGuard guard;
    expected = module.get_method("forward")({x}).toTensor();
  }
  CaptureOptions options;
  options.break_on = break_on;
  const absl::StatusOr<Capture> capture = CaptureProgram(module, {x}, options);
  ASSERT_TRUE(capture.ok() && capture->status.ok()) << capture.status();
  EXPECT_TRUE(capture->result.toTensor().equal(expected));
  const absl::StatusOr<ExtractedProgram> samples = ToSamples(*capture, "program");
  ASSERT_TRUE(samples.ok()) << samples.status();
  for (const ExtractFormat format : {ExtractFormat::kProtobuf, ExtractFormat::kGraphNetFolder}) {
    const absl::StatusOr<LoadedProgram> loaded = StoreAndLoad(*samples, format);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    const absl::StatusOr<IValue> result = loaded->program->Run({x}, {});
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_TRUE(result->toTensor().equal(expected));
    EXPECT_EQ(result->toTensor().strides(), expected.strides());
  }
}

TEST(Samples, ParametersRequireGradients) {
  torch::jit::Module module("Program");
  module.register_parameter("weight", at::randn({192, 64}).requires_grad_(), false);
  module.register_parameter("bias", at::randn({192}).requires_grad_(), false);
  module.define(
      "def forward(self, x):\n"
      "    return torch.linear(x.transpose(2, 3), self.weight, self.bias)\n");
  const at::Tensor x = at::randn({1, 8, 7, 8, 7, 64});
  ExpectSameBits(module, x);
  ExpectSameBits(module, x, {"linear"});
}

TEST(Samples, AttributesKeepTheirStrides) {
  torch::jit::Module module("Program");
  module.register_parameter(
      "weight", at::randn({32, 3, 3, 3}).contiguous(at::MemoryFormat::ChannelsLast), false);
  // The tensor is contiguous in both formats, but has unusual strides.
  module.register_parameter(
      "point", at::randn({64, 32, 1, 1}).as_strided({64, 32, 1, 1}, {32, 1, 32, 32}), false);
  module.define(
      "def forward(self, x):\n"
      "    return torch.conv2d(torch.relu(torch.conv2d(x, self.weight)), self.point)\n");
  const at::Tensor x = at::randn({2, 3, 33, 33});
  ExpectSameBits(module, x);
  ExpectSameBits(module, x, {"conv2d"});
}

// Each list holds the one before it twice: 2^40 tensors, in 40 lists. Inside a program that is
// allowed; as its result it is refused, before it takes memory.
TEST(Samples, ListsThatDoubleTakeNoMemory) {
  std::string lists = "    l0 = [x, x]\n";
  for (int i = 1; i < 40; ++i)
    absl::StrAppend(&lists, "    l", i, " = [l", i - 1, ", l", i - 1, "]\n");
  torch::jit::Module module("Program");
  module.define(absl::StrCat("def forward(self, x):\n", lists,
                             "    print(len(l39))\n    return x * len(l39)\n"));
  ExpectSameBits(module, at::ones({3}));
  torch::jit::Module returns("Program");
  returns.define(absl::StrCat("def forward(self, x):\n", lists, "    return l39\n"));
  for (const std::vector<CaptureOptions::DynamicSize>& dynamic :
       {std::vector<CaptureOptions::DynamicSize>(),
        std::vector<CaptureOptions::DynamicSize>{{.input = 0, .dim = 0, .name = "n"}}}) {
    CaptureOptions options;
    options.dynamic = dynamic;
    const absl::StatusOr<Capture> capture = CaptureProgram(returns, {at::ones({3})}, options);
    const absl::Status& status = capture.ok() ? capture->status : capture.status();
    EXPECT_TRUE(absl::StrContains(status.message(), "hold too many values")) << status;
  }
}

// safetensors has no such dtype, so a file has pairs of real and imaginary parts.
TEST(Samples, ComplexDoublesKeepTheirBits) {
  torch::jit::Module module("Program");
  module.register_buffer("c", at::randn({3}, at::kComplexDouble));
  module.define("def forward(self, x):\n    return torch.view_as_real(x * self.c)\n");
  ExpectSameBits(module, at::ones({3}));
}

TEST(Samples, QuantisedConstantsAreNotStored) {
  torch::jit::Module module("Program");
  module.register_buffer("c", at::quantize_per_tensor(at::ones({3}), 1, 0, at::kQUInt8));
  module.define("def forward(self, x):\n    return x * torch.dequantize(self.c)\n");
  const absl::StatusOr<Capture> capture = CaptureProgram(module, {at::ones({3})});
  ASSERT_TRUE(capture.ok() && capture->status.ok()) << capture.status();
  EXPECT_EQ(ToSamples(*capture, "program").status().message(), "attribute c: sparse or quantised");
}

}  // namespace
}  // namespace graphnet
