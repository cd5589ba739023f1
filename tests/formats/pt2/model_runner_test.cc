// Programs of torch.export (tests/formats/pt2/testdata, whose outputs PyTorch made), called as
// Python calls them and from several threads.
#include "graphnet/formats/pt2/model_runner.h"

#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "ATen/Functions.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graphnet/formats/pt2/importer.h"
#include "graphnet/formats/pt2/input_structure.h"
#include "graphnet/formats/safetensors/safetensors.h"
#include "graphnet/interp/torch/tensors.h"
#include "graphnet/ir/text/parser.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

using c10::IValue;
using testing::HasSubstr;

constexpr char kData[] = "tests/formats/pt2/testdata/";

std::unique_ptr<ModelRunner> Load(const std::string& name) {
  absl::StatusOr<Sample> sample = ImportPt2File(absl::StrCat(kData, name, ".pt2"));
  EXPECT_OK(sample);
  absl::StatusOr<std::unique_ptr<ModelRunner>> model = ModelRunner::Make(*std::move(sample));
  EXPECT_OK(model);
  return *std::move(model);
}

std::map<std::string, at::Tensor> Tensors(const std::string& name) {
  const auto values = ReadSafetensorsFile(absl::StrCat(kData, name, ".safetensors"));
  EXPECT_OK(values);
  std::map<std::string, at::Tensor> tensors;
  for (const auto& [key, data] : *values) tensors[key] = *ToTensor(data, c10::Device(c10::kCPU));
  return tensors;
}

IValue DictOf(const std::vector<std::pair<std::string, IValue>>& members) {
  c10::impl::GenericDict dict(c10::StringType::get(), c10::AnyType::get());
  for (const auto& [key, value] : members) dict.insert(key, value);
  return dict;
}

bool SameBits(const IValue& a, const at::Tensor& b) {
  return a.isTensor() && at::equal(a.toTensor(), b);
}

TEST(ModelRunner, WhatDependsOnWeightsAloneIsComputedOnceAndStateStays) {
  const auto module = ParseModule(R"(graph @forward(%x : f32[2, 3]) {
  %w = get_attr w : f32[4, 3]
  %count = get_attr count : f32[]
  %scaled = aten.mul.Tensor(%w, 3.0) : f32[4, 3]
  %turned = aten.t.default(%scaled) : f32[3, 4]
  %kept = aten.dropout.default(%x, 0.5, False) : f32[2, 3]
  %y = aten.mm.default(%kept, %turned) : f32[2, 4]
  %next = aten.add_.Tensor(%count, 1.0) : f32[]
  %z = aten.add.Tensor(%y, %next) : f32[2, 4]
  return (%z,)
}
attribute w : f32[4, 3]
attribute count : f32[]
)",
                                  "test");
  ASSERT_OK(module);
  Sample sample;
  sample.module = (*module)->Clone();
  at::manual_seed(1);
  const at::Tensor w = at::randn({4, 3}), x = at::randn({2, 3});
  sample.weights["w"] = *ToTensorData(w);
  sample.weights["count"] = *ToTensorData(at::zeros({}));
  const auto model = ModelRunner::Make(std::move(sample));
  ASSERT_OK(model);
  for (int count = 1; count <= 3; ++count) {
    const auto outputs = (*model)->Run({x});
    ASSERT_OK(outputs);
    const at::Tensor product = at::mm(x, at::mul(w, 3.0).t());
    EXPECT_TRUE(SameBits((*outputs)[0], at::add(product, at::full({}, count))));
  }
  const auto state = (*model)->State();
  ASSERT_OK(state);
  EXPECT_EQ(state->size(), 2);
  EXPECT_TRUE(at::equal(*ToTensor(state->at("w"), c10::Device(c10::kCPU)), w));
  EXPECT_EQ(ToTensor(state->at("count"), c10::Device(c10::kCPU))->item<float>(), 3);
}

TEST(ModelRunner, TakesAndReturnsStructures) {
  const auto model = Load("in_dict");
  auto in = Tensors("in_dict.0.in");
  auto out = Tensors("in_dict.0.out");
  const IValue pair = c10::ivalue::Tuple::create({in["batch_pair_0"], in["batch_pair_1"]});
  const auto result = model->Call({DictOf({{"pair", pair}, {"a", in["batch_a"]}})});
  ASSERT_OK(result);
  const auto dict = result->toGenericDict();
  EXPECT_TRUE(SameBits(dict.at("sum"), out["o0"]));
  const auto list = dict.at("list").toList();
  EXPECT_TRUE(SameBits(list.get(0), out["o1"]));
  const IValue deep = IValue(list.get(1)).toGenericDict().at("deep");
  EXPECT_TRUE(SameBits(deep.toTuple()->elements()[0], out["o2"]));
  EXPECT_TRUE(deep.toTuple()->elements()[1].isNone());
  EXPECT_TRUE(SameBits(dict.at("flag"), out["o3"]));
  EXPECT_THAT(model->inputs(), testing::ElementsAre("batch_a", "batch_pair_0", "batch_pair_1"));
}

TEST(ModelRunner, SaysWhatDoesNotFit) {
  const auto model = Load("in_dict");
  auto in = Tensors("in_dict.0.in");
  const auto refused = [&](std::vector<IValue> args, const char* message) {
    EXPECT_THAT(model->Call(std::move(args)),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)));
  };
  refused({}, "args: the program takes a list or tuple of 1 there");
  refused({in["batch_a"]}, "args[0]: the program takes a dict there");
  refused({DictOf({{"a", in["batch_a"]}})}, "args[0]['pair']: the program takes a value there");
  refused({DictOf({{"a", in["batch_a"]}, {"pair", in["batch_a"]}})},
          "args[0]['pair']: the program takes a list or tuple of 2 there");
  const IValue pair = c10::ivalue::Tuple::create({in["batch_a"], in["batch_a"]});
  refused({DictOf({{"a", in["batch_a"]}, {"pair", pair}, {"b", 1}})},
          "args[0]: the program takes a dict of 2 there");
  refused({DictOf({{"a", at::ones({3, 5})}, {"pair", pair}})}, "size 1 is 5");
}

TEST(ModelRunner, ChecksWhatTheProgramAsksOfItsInputs) {
  const auto model = Load("dynamic_derived");
  auto in = Tensors("dynamic_derived.0.in");
  auto refused = Tensors("dynamic_derived.0.refused");
  for (int i = 0; i < 2; ++i) {
    EXPECT_OK(model->Call({in["args_0"], in["args_1"]}));
    EXPECT_THAT(model->Call({refused["args_0"], refused["args_1"]}),
                StatusIs(absl::StatusCode::kInvalidArgument));
  }
}

// PyTorch itself no longer opens the programs of torch 2.1 to 2.4.
TEST(ModelRunner, RunsProgramsOfEachLayoutAsTheirVersionDid) {
  for (const char* name : {"torch_2_1", "torch_2_1_constant", "torch_2_2", "torch_2_3", "torch_2_4",
                           "torch_2_5", "torch_2_8", "torch_2_9", "torch_2_14"}) {
    SCOPED_TRACE(name);
    const auto model = Load(name);
    ASSERT_NE(model, nullptr);
    auto in = Tensors(absl::StrCat(name, ".0.in"));
    const auto result = model->Run({in["v0"]});
    ASSERT_OK(result);
    const auto out = Tensors(absl::StrCat(name, ".0.out"));
    ASSERT_EQ(result->size(), out.size());
    for (size_t i = 0; i < result->size(); ++i) {
      ASSERT_TRUE((*result)[i].isTensor());
      const at::Tensor& expected = out.at(absl::StrCat("o", i));
      EXPECT_GT(expected.abs().max().item<float>(), 0.01);
      EXPECT_TRUE(at::allclose((*result)[i].toTensor(), expected, 1e-5, 1e-6)) << i;
    }
  }
}

TEST(ModelRunner, KeepsState) {
  const auto model = Load("buffers");
  EXPECT_TRUE(model->writes_state());
  auto in = Tensors("buffers.0.in");
  const auto before = model->State();
  ASSERT_OK(before);
  for (const char* turn : {"buffers.0.out", "buffers.0.again"}) {
    auto out = Tensors(turn);
    const auto result = model->Call({in["args_0"]});
    ASSERT_OK(result);
    EXPECT_TRUE(SameBits(result->toTuple()->elements()[0], out["o0"])) << turn;
    EXPECT_TRUE(SameBits(result->toTuple()->elements()[1], out["o1"])) << turn;
  }
  const auto after = model->State();
  ASSERT_OK(after);
  const auto count = [](const auto& state) {
    return ToTensor(state.at("count"), c10::Device(c10::kCPU))->template item<float>();
  };
  EXPECT_EQ(count(*after), count(*before) + 2);
}

TEST(ModelRunner, RunsInThreads) {
  const auto pure = Load("in_dict");
  EXPECT_FALSE(pure->writes_state());
  const auto counting = Load("buffers");
  auto in = Tensors("in_dict.0.in");
  auto out = Tensors("in_dict.0.out");
  const std::vector<IValue> flat = {in["batch_a"], in["batch_pair_0"], in["batch_pair_1"]};
  const at::Tensor x = Tensors("buffers.0.in")["args_0"];
  const float first =
      ToTensor(counting->State()->at("count"), c10::Device(c10::kCPU))->item<float>();
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int turn = 0; turn < 25; ++turn) {
        const auto values = pure->Run(flat);
        right += values.ok() && SameBits((*values)[0], out["o0"]) ? 1 : 0;
        right += counting->Call({x}).ok() ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 200);
  EXPECT_EQ(ToTensor(counting->State()->at("count"), c10::Device(c10::kCPU))->item<float>(),
            first + 100);
}

TEST(ModelRunner, TakesOtherSamplesByPlaceholder) {
  auto sample = ParseSample(
      "graph @forward(%x : f32[2], %y : f32[2]) {\n"
      "  %z = torch.sub(%x, %y)\n"
      "  return {\"z\": %z}\n"
      "}\n",
      "a.gn");
  ASSERT_OK(sample);
  const auto model = ModelRunner::Make(*std::move(sample));
  ASSERT_OK(model);
  const auto result = (*model)->Call({at::full({2}, 3.0)}, {{"y", at::ones({2})}});
  ASSERT_OK(result);
  EXPECT_TRUE(SameBits(result->toGenericDict().at("z"), at::full({2}, 2.0)));
  EXPECT_THAT((*model)->Call({at::ones({2})}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no value for y")));
  EXPECT_THAT((*model)->Call({at::ones({2}), at::ones({2})}, {{"y", at::ones({2})}}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("an input has two values")));
  EXPECT_THAT((*model)->Run({at::ones({2})}), StatusIs(absl::StatusCode::kInvalidArgument,
                                                       HasSubstr("1 inputs, the program takes 2")));
  EXPECT_THAT(
      (*model)->Call({at::ones({2}), at::ones({2})}, {{"w", 1}}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("the program has no input w")));
}

TEST(ModelRunner, RefusesAProgramWithoutACallSignature) {
  auto sample = ParseSample(
      "graph @forward(%x : f32[2]) {\n"
      "  return %x\n"
      "}\n",
      "a.gn");
  ASSERT_OK(sample);
  sample->extra_files.emplace(kProgramFile,
                              R"({"graph_module": {"signature": {"input_specs": []},
                                  "module_call_graph": [{"fqn": "", "signature": null}]}})");
  EXPECT_THAT(ModelRunner::Make(*std::move(sample)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("the program has no usable call signature")));
}

TEST(InputStructure, IsNotFoundInOtherSamples) {
  const auto sample = ParseSample("graph @forward(%x : f32[2]) {\n  return %x\n}\n", "a.gn");
  ASSERT_OK(sample);
  EXPECT_THAT(pt2::ReadInputStructure(*sample),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("not a program of torch.export")));
}

}  // namespace
}  // namespace graphnet
