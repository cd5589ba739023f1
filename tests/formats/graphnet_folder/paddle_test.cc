// Tests samples of Paddle that Paddle's own GraphNet wrote, and those that graphnet converts.
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "graphnet/formats/graphnet_folder/framework.h"
#include "graphnet/formats/graphnet_folder/reader.h"
#include "graphnet/formats/graphnet_folder/writer.h"
#include "graphnet/ir/text/equality.h"
#include "graphnet/ir/text/parser.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/paddle/paddle_sample.h"
#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr absl::string_view kHead =
    "import paddle\n\n\n"
    "class GraphModule(paddle.nn.Layer):\n"
    "    def __init__(self):\n"
    "        super().__init__()\n\n"
    "    def forward(self, parameter_0, parameter_1, data_0):\n";

// The statements that Paddle's own writer makes: comments with types, places, numbers as text,
// named lists, lambdas that make a tuple of outputs, lists that are unpacked, and del.
constexpr absl::string_view kBody =
    "        # pd_op.full: (2x3xf32) <- ()\n"
    "        full_0 = paddle._C_ops.full(\n"
    "            [2, 3], float(\"0.5\"), paddle.float32, "
    "paddle.framework._current_expected_place()\n"
    "        )\n\n"
    "        # pd_op.full: (1xf32) <- ()\n"
    "        full_1 = paddle._C_ops.full([1], float(\"-2\"), paddle.float32, "
    "paddle.core.CPUPlace())\n"
    "        full_int_array_0 = [2, -1]\n"
    "        assign_0 = full_int_array_0\n"
    "        reshape_0 = paddle._C_ops.reshape(data_0, assign_0)\n"
    "        del assign_0, data_0\n"
    "        (\n            norm_2,\n            norm_0,\n            norm_1,\n"
    "        ) = (lambda x, f: f(x))(\n"
    "            paddle._C_ops.layer_norm(reshape_0, parameter_0, parameter_1, float(\"1e-05\"), "
    "1),\n"
    "            lambda out: out\n            if isinstance(out, (list, tuple))\n"
    "            else (out, None, None),\n"
    "        )\n"
    "        combine_0 = [norm_2, full_0, full_1]\n"
    "        stack_0 = paddle._C_ops.meshgrid(combine_0)\n"
    "        split_0, split_1, split_2, = stack_0\n"
    "        add_0 = split_0 + split_1\n"
    "        del (\n            combine_0,\n            full_int_array_0,\n        )\n"
    "        return add_0\n";

constexpr absl::string_view kWeights =
    "class Program_weight_tensor_parameter_0:\n"
    "    name = \"parameter_0\"\n    shape = [3]\n    dtype = \"float32\"\n"
    "    min_val = float(\"-0.125\")\n    max_val = float(\"0.5\")\n"
    "    mean = float(\"0.00105882\")\n    std = float(\"0.03\")\n    data = None\n\n\n"
    "class Program_weight_tensor_parameter_1:\n"
    "    name = \"parameter_1\"\n    shape = [3]\n    dtype = \"float32\"\n"
    "    low = 0\n    high = 0.5\n    data = None\n";

constexpr absl::string_view kInputs =
    "class Program_weight_tensor_data_0:\n"
    "    name = \"data_0\"\n    shape = [2, 3]\n    dtype = \"float32\"\n"
    "    data = [0.0, 1.5, -2.0, 565.437, 3.0, 4.0]\n";

GraphNetFileMap Files(absl::string_view body = kBody) {
  return {{"model.py", absl::StrCat(kHead, body)},
          {"weight_meta.py", std::string(kWeights)},
          {"input_meta.py", std::string(kInputs)},
          {"graph_net.json", "{\"framework\": \"paddle\", \"model_name\": \"m\"}"}};
}

std::string ErrorOf(const GraphNetFileMap& files) {
  const auto sample = ParseGraphNetFiles(files, "dir/m");
  return sample.ok() ? "none" : std::string(sample.status().message());
}

TEST(PaddleSampleTest, ReadsWhatPaddleWrites) {
  const auto sample = ParseGraphNetFiles(Files(), "dir/m");
  ASSERT_OK(sample);
  PrintOptions options;
  options.header = false;
  const std::string text = PrintModule(*sample->module, options);
  EXPECT_THAT(text,
              AllOf(HasSubstr("paddle._C_ops.full([2, 3], 0.5, torch.float32, "
                              "%_current_expected_place)"),
                    HasSubstr("paddle._C_ops.full([1], -2.0, torch.float32, device(\"cpu\"))"),
                    HasSubstr("paddle._C_ops.reshape(%data_0, [2, -1])"),
                    HasSubstr("paddle._C_ops.layer_norm(%reshape_0, %parameter_0, "
                              "%parameter_1, 1e-05, 1)"),
                    HasSubstr("%norm_1 = operator.getitem(%layer_norm, 2)"),
                    HasSubstr("paddle._C_ops.meshgrid([%norm_2, %full_0, %full_1])"),
                    HasSubstr("return %add_0")));
  const Node* parameter = sample->module->main()->FindNode("parameter_0");
  ASSERT_NE(parameter, nullptr);
  EXPECT_EQ(parameter->draw_spec()->mean, 0.00105882);
  EXPECT_EQ(parameter->draw_spec()->min.real(), -0.125);
  EXPECT_EQ(parameter->tensor_meta()->dtype, DType::kFloat32);
  EXPECT_FALSE(parameter->tensor_meta()->has_device);
  EXPECT_EQ(sample->module->main()->FindNode("parameter_1")->draw_spec()->max.real(), 0.5);
  EXPECT_TRUE(sample->module->main()->FindNode("data_0")->draw_spec()->in_input_meta);
}

TEST(PaddleSampleTest, WritesWhatItReads) {
  const auto sample = ParseGraphNetFiles(Files(), "dir/m");
  ASSERT_OK(sample);
  const auto files = GraphNetFiles(*sample);
  ASSERT_OK(files);
  const std::string& model = files->at("model.py");
  EXPECT_THAT(model,
              AllOf(HasSubstr("import paddle\n"), Not(HasSubstr("torch")),
                    HasSubstr("class GraphModule(paddle.nn.Layer):\n    def __init__(self):"),
                    HasSubstr("paddle.float32, paddle.CPUPlace())"),
                    HasSubstr("layer_norm = (lambda x, f: f(x))(paddle._C_ops.layer_norm("),
                    HasSubstr("else (out, None, None))")));
  EXPECT_THAT(files->at("weight_meta.py"), HasSubstr("dtype = \"paddle.float32\""));
  const auto back = ParseGraphNetFiles(*files, "dir/m");
  ASSERT_OK(back);
  EqualityOptions options = kExact;
  options.locations = false;
  EXPECT_OK(CheckEqual(*sample->module, *back->module, options));
}

TEST(PaddleSampleTest, FilesAndInitMayBeMissing) {
  GraphNetFileMap files = Files("        return (data_0,)\n");
  files["model.py"] =
      "import paddle\nclass GraphModule(paddle.nn.Layer):\n    def forward(self, data_0):\n"
      "        return (data_0,)\n";
  files.erase("weight_meta.py");
  EXPECT_EQ(ErrorOf(files), "none");
}

TEST(PaddleSampleTest, ModulesOfItsOwnAreRefused) {
  GraphNetFileMap files = Files();
  files["model.py"] = absl::StrReplaceAll(
      files["model.py"], {{"super().__init__()\n",
                           "super().__init__()\n        self.conv = paddle.nn.Conv2D(3, 3, 3)\n"}});
  EXPECT_EQ(ErrorOf(files),
            "dir/m/model.py:7:9: a sample that defines modules of its own is not a graph: forward "
            "must take everything it needs as arguments");
  EXPECT_EQ(ErrorOf(Files("        x = self.conv(data_0)\n        return (x,)\n")),
            "dir/m/model.py:9:13: attributes of self are outside the subset");
  files = Files();
  files["model.py"] = absl::StrCat("import ppdet\n", files["model.py"]);
  EXPECT_EQ(ErrorOf(files),
            "dir/m/model.py:1:8: module 'ppdet' may not be imported; only paddle, math, operator, "
            "builtins and typing may");
}

TEST(PaddleSampleTest, FrameworkMustBeKnownAndTrue) {
  GraphNetFileMap files = Files();
  files["graph_net.json"] = "{\"framework\": \"jax\"}";
  EXPECT_EQ(ErrorOf(files),
            "dir/m/graph_net.json: the framework \"jax\" is neither \"torch\" nor \"paddle\"");
  files["graph_net.json"] = "{\"framework\": [1]}";
  EXPECT_EQ(ErrorOf(files),
            "dir/m/graph_net.json: the framework [1] is neither \"torch\" nor \"paddle\"");
  files["graph_net.json"] = "{\"framework\": \"paddle\", \"framework\": 1}";
  EXPECT_EQ(ErrorOf(files),
            "dir/m/graph_net.json: the framework 1 is neither \"torch\" nor \"paddle\"");
  files["graph_net.json"] = "{\"framework\": \"torch\", \"a\": {\"framework\": \"paddle\"}}";
  EXPECT_THAT(ErrorOf(files), HasSubstr("module 'paddle' may not be imported; only torch"));
  files["graph_net.json"] = "{\"framework\": [\"paddle\"], \"framework\": \"torch\"}";
  EXPECT_THAT(ErrorOf(files), HasSubstr("module 'paddle' may not be imported; only torch"));
  files["model.py"] = absl::StrReplaceAll(files["model.py"], {{"import paddle", "import torch"}});
  EXPECT_EQ(ErrorOf(files),
            "dir/m/model.py:4:19: the base class must be torch.nn.Module, as graph_net.json says "
            "\"torch\"");
}

TEST(PaddleSampleTest, RefusesWrongStatements) {
  const auto error = [](absl::string_view statement) {
    return ErrorOf(Files(absl::StrCat("        ", statement, "\n        return (data_0,)\n")));
  };
  EXPECT_THAT(error("a, b = [data_0]"), HasSubstr("2 names for 1 values"));
  EXPECT_THAT(error("a, b = 3"), HasSubstr("expected a tuple to take apart"));
  EXPECT_THAT(error("del nobody"), HasSubstr("'nobody' is not defined"));
  EXPECT_THAT(error("del 3"), HasSubstr("expected a name after del"));
  EXPECT_THAT(error("a = (lambda x, f: g(x))(paddle._C_ops.relu(data_0), lambda out: out)"),
              HasSubstr("in the lambda that makes a tuple of outputs"));
  EXPECT_THAT(error("a = paddle.CUDAPlace(-1)"), HasSubstr("the number of a device"));
  EXPECT_THAT(error("a = paddle._C_ops.topk(data_0, 1)\n        b = a[0]"),
              HasSubstr("unknown whether the value of paddle._C_ops.topk is a tuple"));
}

TEST(PaddleSampleTest, ConvertsASampleOfPyTorch) {
  const auto parsed = ParseSample(
      "graphnet.sample 1\nname = \"m\"\n"
      "graph_net_json = \"{\\\"framework\\\": \\\"torch\\\", \\\"other\\\": [1]}\"\n"
      "graphnet.module 1\n"
      "graph @forward(%x \"L_x_\" : f32[2, 3]@cuda:0 as torch.Tensor {mean = 0.5, std = 1.0},\n"
      "    %w : f16[4, 3]@cpu as torch.nn.parameter.Parameter {},\n"
      "    %n : i64[]@cpu as torch.SymInt {data = [4]}) {\n"
      "  %r = torch.relu(%x)\n  %i = operator.mul(%r, inf)\n"
      "  return (%i,)\n}\nend\n",
      "test");
  ASSERT_OK(parsed);
  const auto made = MakePaddleSample(*parsed);
  ASSERT_OK(made);
  EXPECT_TRUE(made->is_whole());
  EXPECT_EQ(made->coverage.converted, 2);
  const auto files = GraphNetFiles(made->sample);
  ASSERT_OK(files);
  EXPECT_THAT(files->at("model.py"), AllOf(HasSubstr("L_x_: paddle.Tensor,"),
                                           HasSubstr("w: paddle.base.framework.EagerParamBase,"),
                                           HasSubstr("n: int,"), HasSubstr("from math import inf"),
                                           HasSubstr("paddle.nn.functional.relu(x=x)")));
  EXPECT_THAT(files->at("weight_meta.py"),
              AllOf(HasSubstr("class Program_weight_tensor_meta_L_x_:"),
                    HasSubstr("dtype = \"paddle.float16\""), HasSubstr("device = \"gpu:0\"")));
  EXPECT_EQ(files->at("graph_net.json"),
            "{\n    \"framework\": \"paddle\",\n    \"other\": [\n        1\n    ]\n}");
  // A sample of Paddle stays a sample of Paddle.
  const auto back = ParseGraphNetFiles(*files, "m");
  ASSERT_OK(back);
  EXPECT_EQ(back->module->main()->placeholders()[0]->tensor_meta()->device,
            (Device{DeviceType::kCuda, 0}));
  const auto again = MakePaddleSample(*back);
  ASSERT_OK(again);
  EXPECT_OK(CheckEqual(*back->module, *again->sample.module, kExact));
}

TEST(PaddleSampleTest, CallsOfTheOtherFrameworkAreNotWritten) {
  const auto parsed = ParseSample(
      "graphnet.sample 1\ngraph_net_json = \"{\\\"framework\\\": \\\"paddle\\\"}\"\n"
      "graphnet.module 1\ngraph @forward(%x) {\n  %r = torch.relu(%x)\n  return (%r,)\n}\nend\n",
      "test");
  ASSERT_OK(parsed);
  EXPECT_EQ(GraphNetFiles(*parsed).status().message(),
            "node r: a call of torch.relu in a sample of paddle");
  const auto torch = ParseSample(
      "graphnet.module 1\ngraph @forward(%x) {\n  %r = paddle.abs(%x)\n  return (%r,)\n}\nend\n",
      "test");
  ASSERT_OK(torch);
  EXPECT_EQ(GraphNetFiles(*torch).status().message(),
            "node r: a call of paddle.abs in a sample of torch");
}

TEST(PaddleSampleTest, CountsCallsThatAreLeft) {
  const auto parsed = ParseSample(
      "graphnet.module 1\ngraph @forward(%x) {\n"
      "  %r = torch.nn.functional.max_pool2d(%x, 3, dilation = 2)\n"
      "  %s = torch.nn.functional.max_pool2d(%r, 3, dilation = 2)\n  return (%s,)\n}\nend\n",
      "test");
  ASSERT_OK(parsed);
  const auto made = MakePaddleSample(*parsed);
  ASSERT_OK(made);
  EXPECT_FALSE(made->is_whole());
  EXPECT_EQ(LeftCalls(made->coverage),
            "torch.nn.functional.max_pool2d (Paddle has no dilation) 2 times");
}

}  // namespace
}  // namespace graphnet
