// Programs that compute sizes, or make constants as large as their inputs, compute the same as ATen
// at another size.
#include "graphnet/passes/generalize_dims.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "ATen/ATen.h"
#include "absl/strings/str_cat.h"
#include "graphnet/interp/executable.h"
#include "graphnet/interp/shapes.h"
#include "graphnet/ir/text/parser.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/passes/pipeline.h"
#include "tests/base/status_matchers.h"
#include "tests/ir/text/parsed_module.h"

namespace graphnet {
namespace {

using ::testing::HasSubstr;

ParsedModule Generalized(const std::string& text, const std::string& options = "") {
  ParsedModule module = Parse(text);
  const auto pipeline = ParsePipeline("generalize-dims" + options);
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

absl::Status Refusal(const std::string& text, const std::string& dim = "0") {
  const ParsedModule module = Parse(text);
  PassRun run({{"dim", dim}});
  return GeneralizeDims(module.get(), run).status();
}

// Code that torch.jit.trace writes for x.view(x.shape[0], -1), and for products and quotients of
// sizes.
TEST(GeneralizeDimsTest, SizesOfTracedPrograms) {
  const ParsedModule module = Generalized(R"(
graph @forward(%x : f32[3, 4, 6]) {
  %size = aten.size.int(%x, 0)
  %b = prim.NumToTensor.Scalar(%size) : i64[]
  %Int = aten.Int.Tensor(%b)
  %Int_1 = aten.Int.Tensor(%b)
  %size_1 = aten.size.int(%x, 1)
  %t = prim.NumToTensor.Scalar(%size_1) : i64[]
  %mul = aten.mul.Tensor(%b, %t) : i64[]
  %Int_2 = aten.Int.Tensor(%mul)
  %two = aten.floor_divide.default(%mul, 2) : i64[]
  %Int_3 = aten.Int.Tensor(%two)
  %v = aten.view.default(%x, [%Int, -1]) : f32[3, 24]
  %rows = aten.reshape.default(%x, [%Int_2, 6]) : f32[12, 6]
  %pairs = aten.reshape.default(%x, [%Int_3, 12]) : f32[6, 12]
  %zeros = aten.zeros.default([%Int_1, 2]) : f32[3, 2]
  return (%v, %rows, %pairs, %zeros)
}
)");
  const at::Tensor x = at::randn({7, 4, 6});
  const auto outputs = RunWith(*module, {x});
  ASSERT_EQ(outputs.size(), 4);
  EXPECT_TRUE(at::equal(outputs[0], x.view({7, 24})));
  EXPECT_TRUE(at::equal(outputs[1], x.view({28, 6})));
  EXPECT_TRUE(at::equal(outputs[2], x.view({14, 12})));
  EXPECT_TRUE(at::equal(outputs[3], at::zeros({7, 2})));
  EXPECT_THAT(PrintModule(*module), HasSubstr("%pairs = aten.reshape.default(%x, [%Int_3, 12]) : "
                                              "f32[2*S0, 12]"));
}

// Code that torch.jit.script writes, with sizes as lists.
TEST(GeneralizeDimsTest, ListsOfSizes) {
  const ParsedModule module = Generalized(R"(
graph @forward(%x : f32[3, 4, 6]) {
  %size = aten.size.default(%x)
  %b = operator.getitem(%size, 0)
  %t = aten.__getitem__.t(%size, 1)
  %slice = aten.slice.t(%size, None, -1)
  %half = aten.floordiv.int(6, 2)
  %s = aten.add.t(%slice, [2, %half])
  %view = aten.view.default(%x, %s) : f32[3, 4, 2, 3]
  %mul = aten.mul.int(%b, %t)
  %z = aten.reshape.default(%view, [%mul, 6]) : f32[12, 6]
  %positions = aten.arange.default(%b) : i64[3]
  return (%view, %z, %positions)
}
)");
  const at::Tensor x = at::randn({5, 4, 6});
  const auto outputs = RunWith(*module, {x});
  ASSERT_EQ(outputs.size(), 3);
  EXPECT_TRUE(at::equal(outputs[0], x.view({5, 4, 2, 3})));
  EXPECT_TRUE(at::equal(outputs[1], x.view({20, 6})));
  EXPECT_TRUE(at::equal(outputs[2], at::arange(5)));
}

// A program of torch.export whose batch is a symbol already. Another dimension becomes a symbol as
// well, and enters the sizes that are computed from the batch.
TEST(GeneralizeDimsTest, SizesOfDynamicPrograms) {
  const std::string text = R"(
symbol s77 = 3
graph @forward(%x : f32[s77, 4, 6]) {
  %n = aten.sym_size.int(%x, 0)
  %mul = operator.mul(%n, 4)
  %rows = aten.reshape.default(%x, [%mul, 6]) : f32[4*s77, 6]
  %flat = aten.view.default(%x, [%n, -1]) : f32[s77, 24]
  %ones = aten.ones.default([%n, 4, 1]) : f32[s77, 4, 1]
  %y = aten.add.Tensor(%x, %ones) : f32[s77, 4, 6]
  return (%rows, %flat, %y)
}
)";
  EXPECT_THAT(PrintModule(*Generalized(text)), PrintModule(*Parse(text)));
  const ParsedModule module = Generalized(text, "{dim=1}");
  const at::Tensor x = at::randn({2, 9, 6});
  const auto outputs = RunWith(*module, {x});
  ASSERT_EQ(outputs.size(), 3);
  EXPECT_TRUE(at::equal(outputs[0], x.view({18, 6})));
  EXPECT_TRUE(at::equal(outputs[1], x.view({2, 54})));
  EXPECT_TRUE(at::equal(outputs[2], x + 1));
}

// Returns rotary embeddings as run_decompositions() leaves them: constant positions, expanded for a
// product, and slices.
std::string Rotary(int batch, int length) {
  return absl::StrCat(
      "graph @forward(%q : f32[", batch, ", 2, ", length, ", 8], %inv : f32[4]) {\n",
      "%arange = aten.arange.start_step(0, ", length, ") : i64[", length, "]\n",
      "%p = aten.unsqueeze.default(%arange, 0) : i64[1, ", length, "]\n",
      "%pos = aten.expand.default(%p, [", batch, ", -1]) : i64[", batch, ", ", length, "]\n",
      "%u = aten.unsqueeze.default(%inv, 0) : f32[1, 4]\n",
      "%u1 = aten.unsqueeze.default(%u, 2) : f32[1, 4, 1]\n", "%e = aten.expand.default(%u1, [",
      batch, ", -1, 1]) : f32[", batch, ", 4, 1]\n", "%u2 = aten.unsqueeze.default(%pos, 1) : i64[",
      batch, ", 1, ", length, "]\n",
      "%c = aten._to_copy.default(%u2, dtype = torch.float32) : f32[", batch, ", 1, ", length,
      "]\n", "%e1 = aten.expand.default(%e, [", batch, ", 4, 1]) : f32[", batch, ", 4, 1]\n",
      "%v1 = aten.view.default(%e1, [", batch, ", 4, 1]) : f32[", batch, ", 4, 1]\n",
      "%e2 = aten.expand.default(%c, [", batch, ", 1, ", length, "]) : f32[", batch, ", 1, ",
      length, "]\n", "%v2 = aten.view.default(%e2, [", batch, ", 1, ", length, "]) : f32[", batch,
      ", 1, ", length, "]\n", "%bmm = aten.bmm.default(%v1, %v2) : f32[", batch, ", 4, ", length,
      "]\n", "%t = aten.permute.default(%bmm, [0, 2, 1]) : f32[", batch, ", ", length, ", 4]\n",
      "%f = aten.cat.default([%t, %t], -1) : f32[", batch, ", ", length, ", 8]\n",
      "%cos = aten.cos.default(%f) : f32[", batch, ", ", length, ", 8]\n",
      "%uc = aten.unsqueeze.default(%cos, 1) : f32[", batch, ", 1, ", length, ", 8]\n",
      "%sin = aten.sin.default(%f) : f32[", batch, ", ", length, ", 8]\n",
      "%us = aten.unsqueeze.default(%sin, 1) : f32[", batch, ", 1, ", length, ", 8]\n",
      "%s1 = aten.slice.Tensor(%q, 3, 4, 9223372036854775807) : f32[", batch, ", 2, ", length,
      ", 4]\n", "%neg = aten.neg.default(%s1) : f32[", batch, ", 2, ", length, ", 4]\n",
      "%s2 = aten.slice.Tensor(%q, 3, 0, 4) : f32[", batch, ", 2, ", length, ", 4]\n",
      "%r = aten.cat.default([%neg, %s2], -1) : f32[", batch, ", 2, ", length, ", 8]\n",
      "%a = aten.mul.Tensor(%q, %uc) : f32[", batch, ", 2, ", length, ", 8]\n",
      "%b = aten.mul.Tensor(%r, %us) : f32[", batch, ", 2, ", length, ", 8]\n",
      "%y = aten.add.Tensor(%a, %b) : f32[", batch, ", 2, ", length, ", 8]\nreturn (%y,)\n}\n");
}

// A region without effect becomes part of the graph.
TEST(GeneralizeDimsTest, RegionsOfGradientModes) {
  const ParsedModule module = Generalized(R"(
graph @forward(%x : f32[3, 4]) {
  %r = torch.ops.higher_order.wrap_with_set_grad_enabled(False, @body, %x) : (f32[12],)
  %y = operator.getitem(%r, 0) : f32[12]
  return (%y,)
}
graph @body(%a : f32[3, 4]) {
  %v = aten.view.default(%a, [12]) : f32[12]
  return (%v,)
}
)");
  const at::Tensor x = at::randn({5, 4});
  const std::vector<at::Tensor> outputs = RunWith(*module, {x});
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_TRUE(outputs[0].equal(x.view({20}))) << PrintModule(*module);
}

TEST(GeneralizeDimsTest, RotaryEmbeddingsInCoreAten) {
  const at::Tensor inv = at::rand({4});
  for (const int batch : {1, 2}) {
    for (const std::string options : {"{inputs=q}", "{inputs=q,dim=2}"}) {
      SCOPED_TRACE(absl::StrCat(batch, options));
      const bool is_batch = options == "{inputs=q}";
      const ParsedModule module = Generalized(Rotary(batch, 5), options);
      const at::Tensor q = at::randn({is_batch ? 3 : batch, 2, is_batch ? 5 : 9, 8});
      const auto outputs = RunWith(*module, {q, inv});
      ASSERT_EQ(outputs.size(), 1);
      const at::Tensor f = at::outer(at::arange(q.size(2)).to(at::kFloat), inv).repeat({1, 2});
      const at::Tensor half = at::cat({-q.slice(3, 4), q.slice(3, 0, 4)}, -1);
      EXPECT_TRUE(at::allclose(outputs[0], q * f.cos() + half * f.sin(), 1e-5, 1e-5));
    }
  }
}

// Tables and masks that are made for the length, or cut out of longer ones.
TEST(GeneralizeDimsTest, ConstantsFollowWhatTheyAreJoinedWith) {
  const ParsedModule module = Generalized(R"(
graph @forward(%x : f32[2, 5, 5], %table : f32[64, 5]) {
  %head = aten.slice.Tensor(%table, 0, 0, 5) : f32[5, 5]
  %full = aten.full.default([5, 5], -1.0) : f32[5, 5]
  %mask = aten.triu.default(%full, 1) : f32[5, 5]
  %rows = aten.sum.dim_IntList(%mask, [1], True) : f32[5, 1]
  %cos = aten.cos.default(%head) : f32[5, 5]
  %y = aten.add.Tensor(%x, %cos) : f32[2, 5, 5]
  %z = aten.mul.Tensor(%y, %rows) : f32[2, 5, 5]
  return (%z,)
}
)",
                                          "{inputs=x,dim=1}");
  const at::Tensor x = at::randn({2, 8, 5}), table = at::randn({64, 5});
  const auto outputs = RunWith(*module, {x, table});
  ASSERT_EQ(outputs.size(), 1);
  const at::Tensor rows = at::full({8, 5}, -1.0).triu(1).sum(1, true);
  EXPECT_TRUE(at::allclose(outputs[0], (x + table.slice(0, 0, 8).cos()) * rows));
}

// Positions count along one dimension only, so they do not grow along another.
TEST(GeneralizeDimsTest, PositionsAreRepeatedAndNotCountedOn) {
  for (const int batch : {1, 2}) {
    const std::string n = absl::StrCat(batch);
    const ParsedModule module = Generalized(absl::StrCat(
        "graph @forward(%x : f32[", n, ", 5, 4]) {\n",
        "%l = aten.linspace.default(0, 1, 5) : f32[5]\n",
        "%v = aten.view.default(%l, [1, 5, 1]) : f32[1, 5, 1]\n", "%p = aten.repeat.default(%v, [",
        n, ", 1, 1]) : f32[", n, ", 5, 1]\n", "%y = aten.cat.default([%x, %p], -1) : f32[", n,
        ", 5, 5]\nreturn (%y,)\n}\n"));
    const at::Tensor x = at::randn({7, 5, 4});
    const auto outputs = RunWith(*module, {x});
    ASSERT_EQ(outputs.size(), 1);
    const at::Tensor p = at::linspace(0, 1, 5).view({1, 5, 1}).repeat({7, 1, 1});
    EXPECT_TRUE(at::equal(outputs[0], at::cat({x, p}, -1)));
  }
}

TEST(GeneralizeDimsTest, AttentionWithAMaskThatIsMade) {
  const ParsedModule module = Generalized(R"(
graph @forward(%x : f32[2, 2, 5, 4]) {
  %ones = aten.ones.default([5, 5], dtype = torch.bool) : bool[5, 5]
  %mask = aten.tril.default(%ones) : bool[5, 5]
  %v = aten.full.default([2, 2, 5, 4], 0.5) : f32[2, 2, 5, 4]
  %w = aten.add.Tensor(%v, 1) : f32[2, 2, 5, 4]
  %y = aten.scaled_dot_product_attention.default(%x, %x, %w, %mask) : f32[2, 2, 5, 4]
  return (%y,)
}
)",
                                          "{dim=2}");
  const at::Tensor x = at::randn({2, 2, 7, 4});
  const auto outputs = RunWith(*module, {x});
  ASSERT_EQ(outputs.size(), 1);
  const at::Tensor mask = at::ones({7, 7}, at::kBool).tril();
  const at::Tensor want = at::scaled_dot_product_attention(x, x, at::full({2, 2, 7, 4}, 1.5), mask);
  EXPECT_TRUE(at::allclose(outputs[0], want));
}

// A size of one fits any strides; a larger one does not.
TEST(GeneralizeDimsTest, ViewsOfOneThatWouldNeedACopy) {
  const ParsedModule module = Generalized(R"(
graph @forward(%x : f32[1, 4, 2, 3]) {
  %p = aten.permute.default(%x, [0, 2, 1, 3]) : f32[1, 2, 4, 3]
  %y = aten.view.default(%p, [2, 4, 3]) : f32[2, 4, 3]
  return (%y,)
}
)");
  const at::Tensor x = at::randn({3, 4, 2, 3});
  const auto outputs = RunWith(*module, {x});
  ASSERT_EQ(outputs.size(), 1);
  EXPECT_TRUE(at::equal(outputs[0], x.permute({0, 2, 1, 3}).reshape({6, 4, 3})));
}

// A call means the overload that its arguments choose, whatever the other overloads of its name do,
// and functions of Python are followed as the operators that they are. Each program has no sizes of
// its own, so it computes the same as before at any size.
TEST(GeneralizeDimsTest, FunctionsOfManyOverloads) {
  struct Case {
    std::string calls;
    std::vector<int> dims;
  };
  const Case cases[] = {
      {"%m = .max(%x, 1)\n%y = operator.getitem(%m, 0)\n", {0, 2, 3}},
      {"%m = torch.min(%x, dim = 1, keepdim = True)\n%y = operator.getitem(%m, 1)\n", {0, 2}},
      {"%m = aten.max.dim(%x, 3)\n%y = operator.getitem(%m, 0)\n", {0, 1, 2}},
      {"%y = torch.max(%x)\n", {0, 3}},
      {"%y = torch.max(%x, other = %x)\n", {0, 1, 2, 3}},
      {"%y = torch.min(%x, %x)\n", {0, 1}},
      {"%m = torch.median(%x, -1)\n%y = operator.getitem(%m, 0)\n", {0, 1}},
      {"%c = operator.gt(%x, 0)\n%y = torch.where(%c, %x, 0.0)\n", {0, 3}},
      {"%y = torch.nn.functional.glu(%x, 1)\n", {0, 2, 3}},
      {"%y = torch.nn.functional.glu(%x)\n", {0, 1, 2}},
      {"%y = aten.glu.default(%x, 2)\n", {0, 1, 3}},
      {"%y = torch.nn.functional.interpolate(%x, scale_factor = 2.0, mode = \"nearest\")\n",
       {0, 1, 2, 3}},
      {"%y = torch.nn.functional.interpolate(%x, None, (2, 3), \"bilinear\", False)\n",
       {0, 1, 2, 3}},
      {"%y = torch.nn.functional.interpolate(%x, size = (5, 7))\n", {0, 1, 2, 3}},
      {"%y = aten.upsample_nearest2d.vec(%x, None, [2.0, 2.0])\n", {0, 1}},
      {"%y = torch.relu(%x)\n", {0, 1, 2, 3}},
      {"%y = torch.nn.functional.gelu(%x, approximate = \"tanh\")\n", {0, 2}},
  };
  for (const Case& one : cases) {
    const std::string text =
        absl::StrCat("graph @forward(%x : f32[2, 6, 4, 8]) {\n", one.calls, "return (%y,)\n}\n");
    for (const int dim : one.dims) {
      SCOPED_TRACE(absl::StrCat("dim ", dim, "\n", text));
      ParsedModule module = Parse(text);
      ASSERT_OK(InferShapes(module.get(), {}));
      const auto pipeline = ParsePipeline(absl::StrCat("generalize-dims{dim=", dim, "}"));
      ASSERT_OK(RunPipeline(*pipeline, module.get(), {}));
      ASSERT_OK(Verify(*module)) << PrintModule(*module);
      std::vector<int64_t> sizes = {2, 6, 4, 8};
      sizes[static_cast<size_t>(dim)] = 10;
      const at::Tensor x = at::randn(sizes);
      const auto made = RunWith(*module, {x}), wanted = RunWith(*Parse(text), {x});
      ASSERT_EQ(made.size(), 1);
      EXPECT_TRUE(at::equal(made[0], wanted.at(0)));
      // The metas of the values are those of the new size.
      const Node* y = module->main()->output()->args()[0].elements()[0].node();
      ASSERT_NE(y->tensor_meta(), nullptr);
      module->AddSymbol("S0", 10);
      ASSERT_EQ(y->tensor_meta()->shape.size(), static_cast<size_t>(made[0].dim()));
      for (size_t i = 0; i < y->tensor_meta()->shape.size(); ++i) {
        const Dim& size = y->tensor_meta()->shape[i];
        EXPECT_EQ(size.is_static() ? size.value : EvaluateWithExamples(*module, *size.expr),
                  made[0].size(static_cast<int64_t>(i)));
      }
    }
  }
}

// Sizes that are not in proportion are written as sums and rounded quotients.
TEST(GeneralizeDimsTest, OtherDependenciesOnTheSize) {
  const ParsedModule module = Generalized(R"(
graph @forward(%x : f32[5, 3, 4]) {
  %head = aten.slice.Tensor(%x, 0, 0, 4) : f32[4, 3, 4]
  %n = aten.sym_size.int(%x, 0)
  %m = operator.add(%n, 1)
  %zeros = aten.zeros.default([%m, 3]) : f32[6, 3]
  %row = aten.ones.default([6, 3]) : f32[6, 3]
  %sum = aten.add.Tensor(%zeros, %row) : f32[6, 3]
  %half = aten.slice.Tensor(%x, 0, 0, 5, 2) : f32[3, 3, 4]
  %flat = aten.reshape.default(%half, [9, 4]) : f32[9, 4]
  return (%head, %sum, %flat)
}
)");
  EXPECT_THAT(PrintModule(*module), HasSubstr("f32[S0 + 1, 3]"));
  EXPECT_THAT(PrintModule(*module), HasSubstr("f32[(S0 + 1)//2, 3, 4]"));
  for (const int64_t size : {5, 8, 12}) {
    const at::Tensor x = at::randn({size, 3, 4});
    const auto outputs = RunWith(*module, {x});
    ASSERT_EQ(outputs.size(), 3);
    EXPECT_TRUE(at::equal(outputs[0], x.slice(0, 0, 4)));
    EXPECT_TRUE(at::equal(outputs[1], at::ones({size + 1, 3})));
    EXPECT_TRUE(at::equal(outputs[2], x.slice(0, 0, size, 2).reshape({-1, 4})));
  }
}

// Several dimensions grow at once: the number of patches is a product of two quotients.
TEST(GeneralizeDimsTest, SeveralSymbols) {
  const std::string text = R"(
graph @forward(%x : f32[1, 3, 32, 32], %w : f32[8, 3, 4, 4] as torch.nn.parameter.Parameter) {
  %p = aten.conv2d.default(%x, %w, None, [4, 4]) : f32[1, 8, 8, 8]
  %f = aten.view.default(%p, [1, 8, 64]) : f32[1, 8, 64]
  %t = aten.transpose.int(%f, 1, 2) : f32[1, 64, 8]
  %z = aten.zeros.default([1, 1, 8]) : f32[1, 1, 8]
  %c = aten.cat.default([%z, %t], 1) : f32[1, 65, 8]
  %v = aten.view.default(%c, [1, 65, 2, 4]) : f32[1, 65, 2, 4]
  return (%v,)
}
)";
  const ParsedModule module = Generalized(text, "{dim=0+2+3}");
  const at::Tensor x = at::randn({3, 3, 48, 28}), w = at::randn({8, 3, 4, 4});
  const auto outputs = RunWith(*module, {x, w});
  ASSERT_EQ(outputs.size(), 1) << PrintModule(*module);
  const at::Tensor patches = at::conv2d(x, w, {}, {4, 4}).flatten(2).transpose(1, 2);
  const at::Tensor want = at::cat({at::zeros({3, 1, 8}), patches}, 1).view({3, -1, 2, 4});
  EXPECT_TRUE(at::equal(outputs[0], want));
}

// Sizes that must stay equal become one symbol, whether they are of one input or of two.
TEST(GeneralizeDimsTest, WhatMustGrowTogetherIsTied) {
  const ParsedModule square = Generalized(
      "graph @forward(%x : f32[1, 4, 4]) {\n%t = aten.transpose.int(%x, 1, 2) : f32[1, 4, 4]\n"
      "%y = aten.add.Tensor(%x, %t) : f32[1, 4, 4]\nreturn (%y,)\n}\n",
      "{dim=1+2}");
  EXPECT_THAT(PrintModule(*square), HasSubstr("%x : f32[1, S0, S0]"));
  const ParsedModule two = Generalized(
      "graph @forward(%x : f32[2, 4], %mask : f32[4, 2]) {\n"
      "%t = aten.transpose.int(%mask, 0, 1) : f32[2, 4]\n"
      "%y = aten.mul.Tensor(%x, %t) : f32[2, 4]\nreturn (%y,)\n}\n",
      "{inputs=x}");
  EXPECT_THAT(PrintModule(*two), HasSubstr("%mask : f32[4, S0]"));
}

TEST(GeneralizeDimsTest, RefusesWhatCannotGrow) {
  // The number of elements that are not zero depends on the values.
  EXPECT_THAT(Refusal("graph @forward(%x : f32[5, 3]) {\n%m = torch.where(%x)\n"
                      "%y = operator.getitem(%m, 0)\nreturn (%y,)\n}\n"),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("torch.where")));
  EXPECT_THAT(Refusal("graph @forward(%x : f32[5, 3], %w : f32[5] as "
                      "torch.nn.parameter.Parameter) {\n"
                      "%t = aten.transpose.int(%x, 0, 1) : f32[3, 5]\n"
                      "%y = aten.mul.Tensor(%t, %w) : f32[3, 5]\nreturn (%y,)\n}\n"),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("joins a size that grows with one that does not")));
  // A factor that does not give the size that was recorded.
  EXPECT_THAT(
      Refusal("graph @forward(%x : f32[4, 4, 4]) {\n"
              "%y = torch.nn.functional.interpolate(%x, scale_factor = 2.0) : f32[4, 4, 6]\n"
              "return (%y,)\n}\n"),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("interpolate")));
  // A product of two symbols that is halved and rounded up.
  EXPECT_THAT(Refusal("graph @forward(%x : f32[4, 5]) {\n%f = aten.reshape.default(%x, [20]) : "
                      "f32[20]\n%h = aten.slice.Tensor(%f, 0, 0, 20, 2) : f32[10]\n"
                      "%y = aten.reshape.default(%h, [10, 1]) : f32[10, 1]\nreturn (%y,)\n}\n",
                      "0+1"),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("has a size that depends on the symbols in an unknown way")));
  EXPECT_THAT(
      Refusal("symbol s7 = 3\ngraph @forward(%x : f32[2*s7, 4]) {\n"
              "%y = aten.reshape.default(%x, [24]) : f32[24]\nreturn (%y,)\n}\n",
              "1"),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("no input has the size s7")));
}

}  // namespace
}  // namespace graphnet
