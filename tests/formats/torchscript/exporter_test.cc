// Programs that are written in the text form.
#include "graphnet/formats/torchscript/exporter.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graphnet/formats/torchscript/import_graph.h"
#include "graphnet/formats/torchscript/importer.h"
#include "graphnet/ir/canonical_hash.h"
#include "graphnet/ir/sample.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"
#include "tests/formats/torchscript/export_runs.h"
#include "torch/script.h"

namespace graphnet {
namespace {

using c10::IValue;
using testing::HasSubstr;

TEST(ExporterTest, GraphsLoweredToAten) {
  const torch::Tensor x = Range({1, 2, 4, 4}), w = Range({2, 2, 3, 3});
  const torch::Tensor y = (torch::conv2d(x, w, {}, 1, 1) + 2) * 0.5;
  const auto [values, indices] = torch::max(y, 1);
  EXPECT_TRUE(
      Same(RunText(R"(
graph @forward(%x, %w, %n, %s as torch.SymInt) {
  %conv = torch.ops.aten.conv2d.default(%x, %w, None, (1, 1), padding = (1, 1))
  %add = aten.add.Tensor(%conv, 2)
  %mul = torch.ops.aten.mul.Tensor(%add, 0.5)
  %drop = aten.dropout.default(%mul, 0, False)
  %max = aten.max.dim(%drop, 1)
  %values = operator.getitem(%max, 0)
  %more = operator.add(%s, 1)
  %size = operator.mul(%more, 2)
  %view = aten.view.default(%values, [%n, %size])
  %sum = aten.sum.dim_IntList(%view, (0,), keepdim = True, dtype = torch.float64)
  %split = aten.split.Tensor(%view, 1)
  %parts = operator.getitem(%split, slice(1, None, None))
  return (%sum, %max, %parts)
}
)",
                   {x, w, 2, 3}),
           Tuple({IValue(values.view({2, 8}).sum({0}, true, torch::kDouble)),
                  Tuple({IValue(values), IValue(indices)}),
                  IValue(c10::List<torch::Tensor>({values.view({2, 8})[1].unsqueeze(0)}))})));
}

TEST(ExporterTest, AnyWhileLoop) {
  // The test is a graph: neither a `for` nor a `while` of a carried value.
  const std::string text = R"(
graph @forward(%x, %n as int) {
  %w = torch.while_loop(@test, @body, (%n, %x), (%x,))
  %n_1 = operator.getitem(%w, 0)
  %x_1 = operator.getitem(%w, 1)
  return (%n_1, %x_1)
}
graph @test(%n as int, %y, %x) {
  %sum = aten.sum.default(%y)
  %lt = aten.lt.Scalar(%sum, 100)
  return %lt
}
graph @body(%n as int, %y, %x) {
  %more = operator.add(%n, 1)
  %next = aten.add.Tensor(%y, %x)
  return (%more, %next)
}
)";
  EXPECT_TRUE(Same(RunText(text, {torch::full({2}, 20.), 0}),
                   Tuple({IValue(2), IValue(torch::full({2}, 60.))})));
  EXPECT_TRUE(Same(RunText(text, {torch::full({2}, 200.), 0}),
                   Tuple({IValue(0), IValue(torch::full({2}, 200.))})));
}

TEST(ExporterTest, LoopsThatLookLikeOthers) {
  // The limit changes, the index is used after the loop, or it starts at 1. These
  // loops cannot be `for … in range(…)`.
  const auto loop = [](const std::string& start, const std::string& limit,
                       const std::string& result) {
    return absl::StrCat(R"(
graph @forward(%n as int) {
  %w = torch.while_loop(@test, @body, ()",
                        start, R"(, 0, %n), (%n,))
  %r = operator.getitem(%w, )",
                        result, R"()
  return %r
}
graph @test(%i as int, %s as int, %m as int, %n as int) {
  %lt = operator.lt(%i, %)",
                        limit, R"()
  return %lt
}
graph @body(%i as int, %s as int, %m as int, %n as int) {
  %next = operator.add(%i, 1)
  %sum = operator.add(%s, %i)
  %less = operator.sub(%m, 1)
  return (%next, %sum, %less)
}
)");
  };
  EXPECT_EQ(RunText(loop("0", "n", "1"), {6}), 15);
  EXPECT_EQ(RunText(loop("0", "m", "1"), {6}), 3);
  EXPECT_EQ(RunText(loop("0", "n", "0"), {6}), 6);
  EXPECT_EQ(RunText(loop("1", "n", "1"), {6}), 15);
  EXPECT_EQ(RunText(loop("1", "n", "2"), {6}), 1);
}

TEST(ExporterTest, CarriedTypesGrow) {
  EXPECT_TRUE(Same(RunText(R"(
graph @forward(%x, %n as int) {
  %w = torch.while_loop(@test, @body, (0, None, []), (%x, %n))
  %last = operator.getitem(%w, 1)
  %all = operator.getitem(%w, 2)
  return (%last, %all)
}
graph @test(%i, %last, %all as "List[int]", %x, %n) {
  %lt = operator.lt(%i, %n)
  return %lt
}
graph @body(%i, %last, %all as "List[int]", %x, %n) {
  %next = operator.add(%i, 1)
  %y = aten.add.Scalar(%x, %i)
  %more = operator.add(%all, [%i])
  return (%next, %y, %more)
}
)",
                           {Range({2}), 3}),
                   Tuple({IValue(Range({2}) + 2), IValue(c10::List<int64_t>({0, 1, 2}))})));
}

TEST(ExporterTest, BranchesAsTorchExportWritesThem) {
  const std::string text = R"(
graph @forward(%x) {
  %sum = aten.sum.default(%x)
  %gt = aten.gt.Scalar(%sum, 0)
  %a = torch.ops.higher_order.cond(%gt, @double, @negative, [%x])
  %b = torch.cond(%gt, @double, @double, (%x,))
  %c = operator.getitem(%a, 0)
  %d = operator.getitem(%b, 0)
  return (%c, %d)
}
graph @double(%x) {
  %y = aten.mul.Scalar(%x, 2)
  return (%y,)
}
graph @negative(%x) {
  %y = aten.neg.default(%x)
  return (%y,)
}
)";
  for (const double value : {1., -1.}) {
    const torch::Tensor x = torch::full({2}, value);
    EXPECT_TRUE(Same(RunText(text, {x}), Tuple({IValue(value > 0 ? x * 2 : -x), IValue(x * 2)})));
  }
}

TEST(ExporterTest, Objects) {
  const std::string text = R"(
graph @forward(%x, %p as bool) {
  %point = prim.CreateObject("__torch__.some.Point")
  %a = prim.SetAttr(%point, "x", %x)
  %b = prim.SetAttr(%point, "y", None)
  %c = torch.cond(%p, @true, @false, (%point, %x))
  %u = prim.GetAttr(%point, "x")
  %v = prim.GetAttr(%point, "y")
  return (%u, %v)
}
graph @true(%point as "__torch__.some.Point", %x) {
  %u = prim.GetAttr(%point, "x")
  %y = aten.neg.default(%u)
  %s = prim.SetAttr(%point, "y", %y)
  return ()
}
graph @false(%point as "__torch__.some.Point", %x) {
  return ()
}
)";
  const IValue x(Range({2}));
  EXPECT_TRUE(Same(RunText(text, {x, true}), Tuple({x, IValue(-Range({2}))})));
  EXPECT_TRUE(Same(RunText(text, {x, false}), Tuple({x, IValue()})));
}

TEST(ExporterTest, TheOverloadIsTheOneAskedFor) {
  // If several operators accept the operands, TorchScript would read the first.
  const std::string text = R"(
graph @forward(%x) {
  %y = aten.upsample_bilinear2d.vec(%x, [4, 4], False, None)
  return %y
}
)";
  RunText(text, {Range({1, 1, 2, 2})});
  const absl::StatusOr<Sample> again = ImportTorchScriptMethod(Saved(Parse(text)), "forward");
  ASSERT_OK(again);
  EXPECT_THAT(Text(*again), HasSubstr("aten.upsample_bilinear2d.vec(%x, [4, 4], False, None)"));
}

TEST(ExporterTest, Files) {
  const std::string path = testing::TempDir() + "/exported.pt";
  Sample sample = Parse(R"(
attribute block.0.w : f32[2] as torch.nn.parameter.Parameter
graph @forward(%x) {
  %w = get_attr block.0.w
  %y = aten.mul.Tensor(%x, %w)
  return %y
}
)");
  const torch::Tensor w = Range({2});
  sample.weights["block.0.w"] = {
      .dtype = DType::kFloat32,
      .shape = {2},
      .bytes = std::make_shared<const std::string>(static_cast<const char*>(w.data_ptr()), 8)};
  ASSERT_OK(ExportTorchScript(sample, path));
  // The archive passes the check.
  const absl::StatusOr<Sample> again = ImportTorchScriptFile(path);
  ASSERT_OK(again);
  EXPECT_EQ(CanonicalHash(*again->module), CanonicalHash(*sample.module));
  EXPECT_EQ(*again->weights.at("block.0.w").bytes, *sample.weights.at("block.0.w").bytes);
  EXPECT_EQ(again->module->FindAttribute("block.0.w")->annotation, "torch.nn.parameter.Parameter");

  // A failed export leaves the file unchanged.
  sample.weights.clear();
  EXPECT_THAT(ExportTorchScript(sample, path),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "cannot export %w = block.0.w: the value of the attribute is not known; "
                       "--weights FILE gives it, or --draw-weights draws it"));
  EXPECT_OK(ImportTorchScriptFile(path));
  std::filesystem::remove(path);
}

TEST(ExporterTest, GraphsAsPythonWritesThem) {
  const torch::Tensor x = Range({2, 3, 4}), i = torch::tensor({1, 0, 1});
  using torch::indexing::Ellipsis, torch::indexing::None, torch::indexing::Slice;
  torch::Tensor y = torch::relu(x).add(1);
  y.index_put_({0, Slice(1, None)}, 5);
  y.index_put_({Ellipsis, 0}, x.index({Ellipsis, 1}));
  y.index_put_({i}, 7);
  EXPECT_TRUE(Same(RunText(R"(
graph @forward(%x, %i : i64[3]) {
  %relu = torch.nn.functional.relu(%x)
  %y = .add(%relu, 1)
  %set = operator.setitem(%y, (0, slice(1, None, None)), 5)
  %column = operator.getitem(%x, (..., 1))
  %set_1 = operator.setitem(%y, (..., 0), %column)
  %set_2 = operator.setitem(%y, %i, 7)
  %a = operator.getitem(%y, (0, None, slice(None, 2, None)))
  %b = operator.getitem(%y, (..., None, slice(None, None, 2)))
  %c = operator.getitem(%y, (slice(None, None, None), %i, 0))
  %d = operator.getitem(%y, (None, 1, %i))
  %size = .size(%y, 0)
  %e = torch.tensor([%size, 3], dtype = torch.float64)
  return (%y, %a, %b, %c, %d, %e)
}
)",
                           {x, i}),
                   Tuple({IValue(y), IValue(y.index({0, None, Slice(None, 2)})),
                          IValue(y.index({Ellipsis, None, Slice(None, None, 2)})),
                          IValue(y.index({Slice(), i, 0})), IValue(y.index({None, 1, i})),
                          IValue(torch::tensor({2, 3}, torch::kDouble))})));
}

// torch.export leaves the last size of a range to its overload. Python reads shapes as a whole.
TEST(ExporterTest, RangesAndShapesAsPythonAsksForThem) {
  const torch::Tensor x = Range({2, 3, 4});
  EXPECT_TRUE(Same(RunText(R"(
graph @forward(%x) {
  %a = aten.arange.start_step(0, 7)
  %b = aten.arange.start_step(1, 9, 2)
  %c = aten.arange.start(2, 5)
  %d = aten.arange.default(3)
  %size = .size(%x)
  %n = operator.getitem(%size, 1)
  %shape = builtins.getattr(%x, "shape")
  %m = operator.getitem(%shape, -1)
  %product = operator.mul(%n, %m)
  %view = .view(%x, -1, %product)
  %same = .reshape(%view, %shape)
  %part = operator.getitem(%shape, slice(1, None, None))
  %zeros = torch.zeros(%part)
  return (%a, %b, %c, %d, %view, %same, %zeros)
}
)",
                           {x}),
                   Tuple({IValue(torch::arange(7)), IValue(torch::arange(1, 9, 2)),
                          IValue(torch::arange(2, 5)), IValue(torch::arange(3)),
                          IValue(x.view({-1, 12})), IValue(x), IValue(torch::zeros({3, 4}))})));
}

}  // namespace
}  // namespace graphnet
