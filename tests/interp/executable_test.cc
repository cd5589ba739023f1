#include "graphnet/interp/executable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ATen/ATen.h"
#include "ATen/core/dispatch/Dispatcher.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "graphnet/ops/schema_table.h"
#include "tests/base/status_matchers.h"
#include "tests/interp/run_text.h"
#include "tests/ir/text/parsed_module.h"

namespace graphnet {
namespace {

using testing::HasSubstr;

TEST(ExecutableTest, ChainOfOperators) {
  const at::Tensor x = at::randn({2, 3}), w = at::randn({4, 3}), b = at::randn({4});
  const at::Tensor y = Only(
      RunText("graph @forward(%x, %w, %b) {\n  %l = torch._C._nn.linear(%x, %w, %b)\n"
              "  %r = torch.nn.functional.relu(%l, inplace = True)\n  %s = operator.mul(%r, 2.5)\n"
              "  return (%s,)\n}\n",
              {x, w, b}));
  EXPECT_TRUE(at::equal(y, at::relu(at::linear(x, w, b)) * 2.5));
}

TEST(ExecutableTest, NumbersShapesAndSequences) {
  const at::Tensor y = Only(RunText(
      "graph @forward(%x, %n as torch.SymInt) {\n  %s = .size(%x)\n  %a = operator.getitem(%s, 0)\n"
      "  %b = operator.getitem(%s, 1)\n  %c = operator.mul(%a, %b)\n  %d = operator.floordiv(%c, "
      "%n)\n"
      "  %v = .view(%x, %n, %d)\n  return (%v,)\n}\n",
      {at::arange(12).view({3, 4}), 2}));
  EXPECT_EQ(y.sizes(), (std::vector<int64_t>{2, 6}));
}

TEST(ExecutableTest, SubscriptsReadAndWrite) {
  const at::Tensor x = at::arange(24).view({2, 3, 4});
  EXPECT_TRUE(at::equal(
      Only(RunText("graph @forward(%x) {\n  %a = operator.getitem(%x, (..., slice(1, None, 2)))\n"
                   "  return (%a,)\n}\n",
                   {x})),
      x.slice(2, 1, c10::nullopt, 2)));
  const at::Tensor written = Only(
      RunText("graph @forward(%x) {\n  %a = operator.setitem(%x, (0, slice(None, 2, None)), 7)\n"
              "  return (%x,)\n}\n",
              {x.clone()}));
  at::Tensor expected = x.clone();
  expected.select(0, 0).slice(0, 0, 2).fill_(7);
  EXPECT_TRUE(at::equal(written, expected));
}

TEST(ExecutableTest, RefusesAnAttributeWithoutAValue) {
  const auto module = Parse(
      "attribute w : f32[2]\n\n"
      "graph @forward() {\n  %w = get_attr w\n  return (%w,)\n}\n");
  EXPECT_THAT(std::string(Compile(*module).status().message()),
              HasSubstr("no value is known for this attribute"));
}

// The values that a body returns are known before the body is lowered.
TEST(ExecutableTest, VmapOfBodiesWithSeveralResults) {
  const at::Tensor x = at::arange(6).view({2, 3});
  const std::string body =
      "graph @b(%z) {\n  %a = torch.add(%z, 1)\n  %c = torch.mul(%z, 2)\n  return (%a, %c)\n}\n";
  EXPECT_TRUE(at::equal(Only(RunText("graph @forward(%x) {\n  %v = torch.vmap(@b, (%x,))\n"
                                     "  %s = torch.stack(%v)\n  return (%s,)\n}\n" +
                                         body,
                                     {x})),
                        at::stack({x + 1, x * 2})));
  // The body may contain another vmap, whose body comes last.
  EXPECT_TRUE(
      at::equal(Only(RunText("graph @forward(%x) {\n  %v = torch.vmap(@outer, (%x,))\n"
                             "  %s = torch.cat(%v)\n  return (%s,)\n}\n"
                             "graph @outer(%y) {\n  %w = torch.vmap(@b, (%y,))\n  return %w\n}\n" +
                                 body,
                             {x})),
                at::cat({x + 1, x * 2})));
}

TEST(ExecutableTest, GradientsThatTheProgramAsksFor) {
  const at::Tensor x = at::randn({2, 3});
  const auto text = [](const std::string& energy) {
    return "graph @forward(%x) {\n  %d = aten.detach.default(%x)\n"
           "  %p = aten.requires_grad_.default(%d)\n" +
           energy +
           "  %e = aten.sum.default(%c)\n"
           "  %g = aten.grad.default([%e], [%p], None, None, False, True)\n"
           "  %r = operator.getitem(%g, 0)\n  return (%r,)\n}\n";
  };
  const std::string cube = "  %c = aten.pow.Tensor_Scalar(%p, 3)\n";
  const at::Tensor found = Only(RunText(text(cube), {x}));
  EXPECT_TRUE(at::allclose(found, 3 * x * x));
  EXPECT_FALSE(found.requires_grad());
  EXPECT_FALSE(x.requires_grad());
  // Values that are computed without gradients are constants for gradients.
  EXPECT_TRUE(at::equal(Only(RunText(text("  %o = aten.set_grad_enabled.default(False)\n"
                                          "  %w = aten.exp.default(%p)\n"
                                          "  %n = aten.set_grad_enabled.default(True)\n"
                                          "  %c = aten.mul.Tensor(%p, %w)\n"),
                                     {x})),
                        x.exp()));
  EXPECT_TRUE(at::GradMode::is_enabled());
  // A gradient has the sizes of its input.
  const auto module = Parse(text(cube));
  auto shapes = Compile(*module, {.device = c10::kMeta});
  ASSERT_TRUE(shapes.ok()) << shapes.status();
  EXPECT_EQ(Only((*shapes)->Run({x.to(c10::kMeta)}, {})).sizes(), x.sizes());
}

// Constant subscripts are resolved when a graph is compiled.
TEST(ExecutableTest, SubscriptsMatchPython) {
  using at::indexing::Ellipsis;
  using at::indexing::None;
  using at::indexing::Slice;
  const at::Tensor x = at::arange(24).view({2, 3, 4});
  const std::vector<std::pair<std::string, std::vector<at::indexing::TensorIndex>>> cases = {
      {"1", {1}},
      {"-1", {-1}},
      {"None", {None}},
      {"...", {Ellipsis}},
      {"slice(None, None, None)", {Slice()}},
      {"slice(None, None, 2)", {Slice(None, None, 2)}},
      {"(slice(None, None, None), slice(1, 3, None))", {Slice(), Slice(1, 3)}},
      {"(slice(None, None, None), 0, slice(-2, None, None))", {Slice(), 0, Slice(-2, None)}},
      {"(..., -1)", {Ellipsis, -1}},
      {"(..., None)", {Ellipsis, None}},
      {"(0, ..., None, slice(1, None, None), None)", {0, Ellipsis, None, Slice(1, None), None}},
      {"(None, 1, None, ..., slice(None, -1, None))", {None, 1, None, Ellipsis, Slice(None, -1)}},
      {"(1, 2, 3)", {1, 2, 3}},
  };
  for (const auto& [text, indices] : cases) {
    const at::Tensor y = Only(RunText(
        "graph @forward(%x) {\n  %a = operator.getitem(%x, " + text + ")\n  return (%a,)\n}\n",
        {x}));
    const at::Tensor expected = at::indexing::get_item(x, indices);
    EXPECT_EQ(y.sizes(), expected.sizes()) << text;
    EXPECT_EQ(y.strides(), expected.strides()) << text;
    EXPECT_TRUE(at::equal(y, expected)) << text;
  }
  EXPECT_THAT(RunText("graph @forward(%x) {\n  %a = operator.getitem(%x, (0, ..., 0, 0, 0))\n"
                      "  return (%a,)\n}\n",
                      {x})
                  .status()
                  .message(),
              HasSubstr("too many indices for a tensor of dimension 3"));
}

TEST(ExecutableTest, InPlaceOperatorsWriteToViews) {
  const at::Tensor y = Only(
      RunText("graph @forward(%x) {\n  %v = .view(%x, -1)\n  %a = .add_(%v, 1)\n  %r = .clone(%x)\n"
              "  return (%r,)\n}\n",
              {at::zeros({2, 2})}));
  EXPECT_TRUE(at::equal(y, at::ones({2, 2})));
}

TEST(ExecutableTest, SeedGivesPyTorchsStream) {
  RunOptions options;
  options.seed = 7;
  const at::Tensor a =
      Only(RunText("graph @forward(%x) {\n  %r = torch.rand(3)\n  return (%r,)\n}\n",
                   {at::zeros({1})}, options));
  at::manual_seed(7);
  EXPECT_TRUE(at::equal(a, at::rand({3})));
}

TEST(ExecutableTest, BranchesAndLoops) {
  const std::string text =
      "graph @forward(%x, %n as torch.SymInt) {\n"
      "  %p = operator.gt(%n, 2)\n  %c = torch.cond(%p, @twice, @same, (%x,))\n"
      "  %y = operator.getitem(%c, 0)\n"
      "  %w = torch.while_loop(@below, @step, (0, %y), (%n,))\n  %z = operator.getitem(%w, 1)\n"
      "  return (%z,)\n}\n"
      "graph @twice(%x) {\n  %r = aten.mul.Scalar(%x, 2)\n  return (%r,)\n}\n"
      "graph @same(%x) {\n  return (%x,)\n}\n"
      "graph @below(%i as int, %x, %n as int) {\n  %r = operator.lt(%i, %n)\n  return %r\n}\n"
      "graph @step(%i as int, %x, %n as int) {\n  %j = operator.add(%i, 1)\n"
      "  %y = aten.add.Scalar(%x, 1)\n  return (%j, %y)\n}\n";
  // torch.export and Dynamo write these names.
  const std::string operators =
      absl::StrReplaceAll(text, {{"torch.cond", "torch.ops.higher_order.cond"},
                                 {"torch.while_loop", "torch.ops.higher_order.while_loop"}});
  for (const std::string& spelled : {text, operators}) {
    EXPECT_EQ(Only(RunText(spelled, {at::full({1}, 5.0), 2})).item<double>(), 7);
    EXPECT_EQ(Only(RunText(spelled, {at::full({1}, 5.0), 3})).item<double>(), 13);
  }
}

// torch.export keeps these calls; map and scan iterate over the first dimension.
TEST(ExecutableTest, MapsScansAndRegions) {
  const at::Tensor x = at::randn({5, 3}), w = at::randn({3, 3});
  const std::string map =
      "graph @forward(%x, %w) {\n  %m = torch.ops.higher_order.map_impl(@body, [%x], [%w])\n"
      "  %a = operator.getitem(%m, 0)\n  return (%a,)\n}\n"
      "graph @body(%x, %w) {\n  %r = aten.mv.default(%w, %x)\n  return (%r,)\n}\n";
  std::vector<at::Tensor> rows;
  for (int64_t i = 0; i < 5; ++i) rows.push_back(at::mv(w, x[i]));
  EXPECT_TRUE(at::equal(Only(RunText(map, {x, w})), at::stack(rows)));
  EXPECT_FALSE(RunText(map, {at::zeros({0, 3}), w}).ok());
  EXPECT_FALSE(RunText(map, {at::zeros({}), w}).ok());

  const std::string scan =
      "graph @forward(%c, %x) {\n  %s = torch.ops.higher_order.scan(@body, [%c], [%x], ())\n"
      "  %last = operator.getitem(%s, 0)\n  %all = operator.getitem(%s, 1)\n"
      "  return (%last, %all)\n}\n"
      "graph @body(%c, %x) {\n  %n = aten.add.Tensor(%c, %x)\n  %t = aten.mul.Scalar(%n, 2)\n"
      "  return (%n, %t)\n}\n";
  const auto scanned = RunText(scan, {at::zeros({3}), x});
  ASSERT_TRUE(scanned.ok()) << scanned.status();
  EXPECT_TRUE(at::allclose((*scanned)[0].toTensor(), x.sum(0)));
  EXPECT_TRUE(at::allclose((*scanned)[1].toTensor(), x.cumsum(0) * 2));

  // The call returns one value or a tuple, as its body does.
  const std::string region =
      "graph @forward(%x, %w) {\n  %a = torch.ops.higher_order.wrap_with_autocast(\"cpu\", "
      "torch.bfloat16, True, False, @body, %x, %w)\n  %b = "
      "torch.ops.higher_order.wrap_with_set_grad_enabled(False, @body, %x, %w)\n"
      "  return (%a, %b)\n}\n"
      "graph @body(%x, %w) {\n  %r = aten.mm.default(%x, %w)\n  return %r\n}\n";
  const auto products = RunText(region, {x, w});
  ASSERT_TRUE(products.ok()) << products.status();
  EXPECT_EQ((*products)[0].toTensor().scalar_type(), at::kBFloat16);
  EXPECT_TRUE(at::equal((*products)[1].toTensor(), at::mm(x, w)));
}

TEST(ExecutableTest, VmapNesting) {
  const at::Tensor x = at::randn({3, 4});
  const at::Tensor y = Only(RunText(
      "graph @forward(%x) {\n  %l = torch._C._functorch._vmap_increment_nesting(3, \"error\")\n"
      "  %b = torch._C._functorch._add_batch_dim(%x, 0, %l)\n  %s = .sum(%b)\n"
      "  %r = torch._C._functorch._remove_batch_dim(%s, %l, 3, 0)\n"
      "  %d = torch._C._functorch._vmap_decrement_nesting()\n  return (%r,)\n}\n",
      {x}));
  EXPECT_TRUE(at::allclose(y, x.sum(1)));
  // A level that stays open does not outlive the run.
  EXPECT_FALSE(RunText("graph @forward(%x) {\n"
                       "  %l = torch._C._functorch._vmap_increment_nesting(3, \"error\")\n"
                       "  %b = torch._C._functorch._add_batch_dim(%x, 0, %l)\n  %v = .view(%b, "
                       "77)\n  return (%v,)\n}\n",
                       {x})
                   .ok());
  EXPECT_TRUE(at::equal(
      Only(RunText("graph @forward(%x) {\n  %r = torch.neg(%x)\n  return (%r,)\n}\n", {x})), -x));
}

TEST(ExecutableTest, ObserverSeesEveryNodeOnce) {
  std::vector<std::string> names;
  RunOptions options;
  options.observer = [&names](const Node& node, const c10::IValue&) {
    names.emplace_back(node.name());
    return absl::OkStatus();
  };
  ASSERT_TRUE(RunText("graph @forward(%x) {\n  %a = operator.truediv(1, %x)\n  %b = torch.neg(%a)\n"
                      "  return (%b,)\n}\n",
                      {at::ones({2})}, options)
                  .ok());
  EXPECT_THAT(names, testing::ElementsAre("a", "b"));
  options.observer = [](const Node&, const c10::IValue&) { return absl::AbortedError("enough"); };
  EXPECT_EQ(RunText("graph @forward(%x) {\n  %a = torch.neg(%x)\n  return (%a,)\n}\n",
                    {at::ones({2})}, options)
                .status()
                .code(),
            absl::StatusCode::kAborted);
}

// at::matmul folds dimensions if a matrix requires gradients, and then rounds differently.
TEST(ExecutableTest, ParametersRequireGradients) {
  constexpr char kBody[] =
      "  %t = .transpose(%x, 2, 3)\n  %y = torch.nn.functional.linear(%t, %w, %b)\n"
      "  return (%y,)\n}\n";
  const at::Tensor x = at::randn({1, 8, 7, 8, 7, 64}), b = at::randn({192});
  at::Tensor w = at::randn({192, 64});
  const at::Tensor plain = Only(
      RunText(absl::StrCat("graph @forward(%x, %w as torch.nn.parameter.Parameter, %b) {\n", kBody),
              {x, w, b}));
  const auto module =
      Parse(absl::StrCat("attribute w : f32[192, 64] as torch.nn.parameter.Parameter\n"
                         "graph @forward(%x, %b) {\n  %w = get_attr w\n",
                         kBody));
  CompileOptions options;
  options.attributes["w"] = w.clone();
  auto executable = Compile(*module, options);
  ASSERT_TRUE(executable.ok()) << executable.status();
  const at::Tensor held = Only((*executable)->Run({x, b}, {}));
  EXPECT_FALSE(options.attributes["w"].requires_grad());
  const at::NoGradGuard guard;
  EXPECT_TRUE(at::equal(plain, at::linear(x.transpose(2, 3), w, b)));
  w.requires_grad_();
  EXPECT_TRUE(at::equal(held, at::linear(x.transpose(2, 3), w, b)));
}

// Returns true if the value of %a is gone after %d has run.
bool IsGone(absl::string_view lines) {
  c10::weak_intrusive_ptr<c10::TensorImpl> first(
      c10::intrusive_ptr<c10::TensorImpl>::reclaim(nullptr));
  bool gone = false;
  RunOptions options;
  options.observer = [&](const Node& node, const c10::IValue& value) {
    if (node.name() == "a") first = value.toTensor().getIntrusivePtr();
    if (node.name() == "d") gone = first.expired();
    return absl::OkStatus();
  };
  EXPECT_OK(RunText(absl::StrCat("graph @forward(%x) {\n  %a = torch.neg(%x)\n", lines,
                                 "  %d = torch.neg(%c)\n  return (%d,)\n}\n"),
                    {at::ones({2})}, options));
  return gone;
}

TEST(ExecutableTest, ValuesDieAtTheirLastUse) {
  // At most two values of a chain are alive at once.
  EXPECT_TRUE(IsGone("  %b = torch.neg(%a)\n  %c = torch.neg(%b)\n"));
  // So do values in lists and tuples of calls, and values that subscripts read.
  EXPECT_TRUE(IsGone("  %b = torch.cat([%a, %x])\n  %c = torch.neg(%b)\n"));
  EXPECT_TRUE(IsGone("  %b = torch.block_diag(%a, %x)\n  %c = torch.neg(%b)\n"));
  EXPECT_TRUE(
      IsGone("  %b = torch.meshgrid([%a, %x], indexing = \"ij\")\n"
             "  %b0 = operator.getitem(%b, 0)\n  %b1 = torch.neg(%b0)\n"
             "  %c = torch.neg(%b1)\n"));
  EXPECT_TRUE(
      IsGone("  %b = operator.getitem(%a, 0)\n  %b0 = torch.neg(%b)\n"
             "  %c = torch.neg(%b0)\n"));
}

TEST(ExecutableTest, ErrorsNameTheNode) {
  const auto fails = [](absl::string_view text, std::vector<c10::IValue> inputs) {
    return std::string(RunText(text, std::move(inputs)).status().message());
  };
  EXPECT_THAT(
      fails("graph @forward(%x) {\n  %a = .view(%x, 7)\n  return (%a,)\n}\n", {at::ones({2})}),
      HasSubstr("view (node a): shape '[7]' is invalid"));
  EXPECT_THAT(fails("graph @forward(%x) {\n  return (%x,)\n}\n", {}),
              HasSubstr("takes 1 inputs, not 0"));
  EXPECT_THAT(fails("graph @forward(%n as torch.SymInt) {\n  %a = operator.floordiv(%n, 0)\n"
                    "  return (%a,)\n}\n",
                    {3}),
              HasSubstr("division by zero"));
}

// Other variadic operators take the number of their operands from the stack; this one does not.
TEST(ExecutableTest, ToListOfTorchScript) {
  const auto list = [](absl::string_view arguments, std::vector<c10::IValue> inputs) {
    return RunText(absl::StrCat("graph @forward(%x) {\n  %l = prim.tolist(", arguments,
                                ")\n  %t = torch.tensor(%l)\n  return (%t,)\n}\n"),
                   std::move(inputs));
  };
  EXPECT_TRUE(Only(list("%x, 1, 0", {at::arange(3)})).equal(at::arange(3)));
  EXPECT_TRUE(Only(list("%x, 2, 1", {at::ones({2, 2}, at::kDouble)})).equal(at::ones({2, 2})));
  for (const char* arguments : {"", "%x", "1, 2", "%x, 1, 0, 2"}) {
    EXPECT_THAT(std::string(list(arguments, {at::arange(3)}).status().message()),
                HasSubstr("prim.tolist (node l): takes a tensor, its rank and the number of"))
        << arguments;
  }
  EXPECT_THAT(std::string(list("1, 1, 0", {at::arange(3)}).status().message()),
              HasSubstr("Expected Tensor but got Int"));
}

TEST(ExecutableTest, ErrorsTellUnknownOperatorsApart) {
  const auto error = [](absl::string_view target) {
    return std::string(
        RunText(absl::StrCat("graph @forward(%x) {\n  %y = ", target, "(%x)\n  return (%y,)\n}\n"),
                {at::ones({2})})
            .status()
            .message());
  };
  EXPECT_THAT(error("torch.ops.higher_order.auto_functionalized_v2"),
              HasSubstr("PyTorch has this operator outside of ATen, and graphnet cannot run it"));
  EXPECT_THAT(error("torch.ops.mylib.foo.default"),
              HasSubstr("is an operator of a library other than PyTorch; load the library"));
  EXPECT_THAT(error("torch.ops.aten.nothing.default"), HasSubstr("is not an operator of PyTorch"));
}

// schemas.txt comes from the linked version of LibTorch.
TEST(SchemaTableTest, AgreesWithTheDispatcher) {
  size_t missing = 0;
  for (const Schema& schema : AllSchemas()) {
    const std::string overload(schema.overload == "default" ? "" : schema.overload);
    const auto handle =
        c10::Dispatcher::singleton().findSchema({"aten::" + std::string(schema.name), overload});
    if (!handle.has_value()) {
      ++missing;
      continue;
    }
    const auto& arguments = handle->schema().arguments();
    ASSERT_EQ(arguments.size(), schema.arguments.size()) << schema.target;
    for (size_t i = 0; i < arguments.size(); ++i) {
      EXPECT_EQ(arguments[i].name(), schema.arguments[i].name) << schema.target;
      EXPECT_EQ(arguments[i].kwarg_only(), schema.arguments[i].keyword_only) << schema.target;
      EXPECT_EQ(arguments[i].default_value().has_value(), schema.arguments[i].has_default)
          << schema.target << " " << arguments[i].name();
    }
  }
  EXPECT_EQ(missing, 0u);
}

}  // namespace
}  // namespace graphnet
