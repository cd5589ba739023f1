#include "graphnet/formats/mlir/exporter.h"

#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "graphnet/ir/text/parser.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

absl::StatusOr<MlirProgram> Export(const std::string& text, const MlirOptions& options = {}) {
  const auto module = ParseModule(absl::StrCat("graphnet.module 1\n", text, "end\n"), "m.gn");
  EXPECT_OK(module);
  return ExportMlir(**module, options);
}

std::string ErrorOf(const std::string& graph) {
  return std::string(Export(graph).status().message());
}

// torch-mlir-opt accepts this text unchanged (tests/pytorch/compare.py).
TEST(MlirExporter, GraphIsAFunctionOfValueTensors) {
  const auto program = Export(R"(
attribute conv.weight : f32[4, 3, 3, 3]
graph @forward(%x : f32[1, 3, 8, 8]) {
  %w = get_attr conv.weight : f32[4, 3, 3, 3]
  %c = aten.conv2d.default(%x, %w, None, [1, 1], 1) : f32[1, 4, 8, 8]
  %s = aten.add.Tensor(%c, 1.5) : f32[1, 4, 8, 8]
  %t = aten.topk.default(%s, 2) : (f32[1, 4, 8, 2], i64[1, 4, 8, 2])
  %i = operator.getitem(%t, 1) : i64[1, 4, 8, 2]
  %l = aten.split.Tensor(%s, 2, 1) : (f32[1, 2, 8, 8], f32[1, 2, 8, 8])
  %a = operator.getitem(%l, 0) : f32[1, 2, 8, 8]
  %b = operator.getitem(%l, -1) : f32[1, 2, 8, 8]
  %j = aten.cat.default([%a, %b], 1) : f32[1, 4, 8, 8]
  return {"j": [%j], "i": %i}
}
)");
  ASSERT_OK(program);
  EXPECT_THAT(program->inputs, ElementsAre("x"));
  EXPECT_THAT(program->attributes, ElementsAre("conv.weight"));
  EXPECT_EQ(program->text, R"mlir(module {
  func.func @main(%x: !torch.vtensor<[1,3,8,8],f32>, %conv.weight: !torch.vtensor<[4,3,3,3],f32>) -> (!torch.vtensor<[1,4,8,8],f32>, !torch.vtensor<[1,4,8,2],si64>) {
    %none = torch.constant.none
    %int = torch.constant.int 1
    %float = torch.constant.float 1.5
    %int$1 = torch.constant.int 2
    %int$2 = torch.constant.int -1
    %true = torch.constant.bool true
    %list = "torch.prim.ListConstruct"(%int, %int) : (!torch.int, !torch.int) -> !torch.list<int> loc("c")
    %list$1 = "torch.prim.ListConstruct"(%int, %int) : (!torch.int, !torch.int) -> !torch.list<int> loc("c")
    %list$2 = "torch.prim.ListConstruct"(%int, %int) : (!torch.int, !torch.int) -> !torch.list<int> loc("c")
    %c = "torch.aten.conv2d"(%x, %conv.weight, %none, %list, %list$1, %list$2, %int) : (!torch.vtensor<[1,3,8,8],f32>, !torch.vtensor<[4,3,3,3],f32>, !torch.none, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.int) -> !torch.vtensor<[1,4,8,8],f32> loc("c")
    %s = "torch.aten.add.Scalar"(%c, %float, %int) : (!torch.vtensor<[1,4,8,8],f32>, !torch.float, !torch.int) -> !torch.vtensor<[1,4,8,8],f32> loc("s")
    %t:2 = "torch.aten.topk"(%s, %int$1, %int$2, %true, %true) : (!torch.vtensor<[1,4,8,8],f32>, !torch.int, !torch.int, !torch.bool, !torch.bool) -> (!torch.vtensor<[1,4,8,2],f32>, !torch.vtensor<[1,4,8,2],si64>) loc("t")
    %l.list = "torch.aten.split.Tensor"(%s, %int$1, %int) : (!torch.vtensor<[1,4,8,8],f32>, !torch.int, !torch.int) -> !torch.list<vtensor> loc("l")
    %l:2 = "torch.prim.ListUnpack"(%l.list) : (!torch.list<vtensor>) -> (!torch.vtensor<[1,2,8,8],f32>, !torch.vtensor<[1,2,8,8],f32>) loc("l")
    %list$3 = "torch.prim.ListConstruct"(%l#0, %l#1) : (!torch.vtensor<[1,2,8,8],f32>, !torch.vtensor<[1,2,8,8],f32>) -> !torch.list<vtensor> loc("j")
    %j = "torch.aten.cat"(%list$3, %int) : (!torch.list<vtensor>, !torch.int) -> !torch.vtensor<[1,4,8,8],f32> loc("j")
    return %j, %t#1 : !torch.vtensor<[1,4,8,8],f32>, !torch.vtensor<[1,4,8,2],si64>
  }
}
)mlir");
}

TEST(MlirExporter, SizesThatAreSymbolsAreComputed) {
  const auto program = Export(R"(
symbol s0 = 4
graph @forward(%x : f32[s0, 2], %n : i64[] as torch.SymInt) {
  %d = aten.sym_size.int(%x, 0)
  %e = operator.floordiv(%d, 2)
  %v = aten.view.default(%x, [2, %e, -1]) : f32[2, s0 // 2, 2]
  %y = aten.mul.Tensor(%v, %n) : f32[2, s0 // 2, 2]
  return (%y, %d)
}
)");
  ASSERT_OK(program);
  EXPECT_EQ(program->text, R"mlir(module {
  func.func @main(%x: !torch.vtensor<[?,2],f32>, %n: !torch.int) -> (!torch.vtensor<[2,?,2],f32>, !torch.int) {
    %int = torch.constant.int 0
    %int$1 = torch.constant.int 2
    %int$2 = torch.constant.int -1
    %d = "torch.aten.size.int"(%x, %int) : (!torch.vtensor<[?,2],f32>, !torch.int) -> !torch.int loc("d")
    %e = "torch.aten.floordiv.int"(%d, %int$1) : (!torch.int, !torch.int) -> !torch.int loc("e")
    %list = "torch.prim.ListConstruct"(%int$1, %e, %int$2) : (!torch.int, !torch.int, !torch.int) -> !torch.list<int> loc("v")
    %v = "torch.aten.view"(%x, %list) : (!torch.vtensor<[?,2],f32>, !torch.list<int>) -> !torch.vtensor<[2,?,2],f32> loc("v")
    %y = "torch.aten.mul.Scalar"(%v, %n) : (!torch.vtensor<[2,?,2],f32>, !torch.int) -> !torch.vtensor<[2,?,2],f32> loc("y")
    return %y, %d : !torch.vtensor<[2,?,2],f32>, !torch.int
  }
}
)mlir");
}

TEST(MlirExporter, ParametersOfIree) {
  const auto program = Export(R"(
attribute "l.weight" : i64[2]
graph @forward(%x : i64[2]) {
  %w = get_attr l.weight : i64[2]
  %y = aten.mul.Tensor(%x, %w) : i64[2]
  return %y
}
)",
                              {.parameter_scope = "model"});
  ASSERT_OK(program);
  EXPECT_EQ(program->text, R"mlir(module {
  util.global private @"l.weight" = #stream.parameter.named<"model"::"l.weight"> : tensor<2xi64>
  func.func @main(%x: !torch.vtensor<[2],si64>) -> (!torch.vtensor<[2],si64>) {
    %l.weight.raw = util.global.load @"l.weight" : tensor<2xi64>
    %l.weight = torch_c.from_builtin_tensor %l.weight.raw : tensor<2xi64> -> !torch.vtensor<[2],si64>
    %y = "torch.aten.mul.Tensor"(%x, %l.weight) : (!torch.vtensor<[2],si64>, !torch.vtensor<[2],si64>) -> !torch.vtensor<[2],si64> loc("y")
    return %y : !torch.vtensor<[2],si64>
  }
}
)mlir");
}

// Compilers miscompile attention with a mask.
TEST(MlirExporter, AttentionWithAMaskIsWrittenOut) {
  const auto program = Export(R"(
graph @forward(%q : f32[2, 4, 6, 16], %k : f32[2, 4, 5, 16], %m : bool[6, 5]) {
  %y = aten.scaled_dot_product_attention.default(%q, %k, %k, %m) : f32[2, 4, 6, 16]
  return %y
}
)");
  ASSERT_OK(program);
  EXPECT_EQ(program->text, R"mlir(module {
  func.func @main(%q: !torch.vtensor<[2,4,6,16],f32>, %k: !torch.vtensor<[2,4,5,16],f32>, %m: !torch.vtensor<[6,5],i1>) -> (!torch.vtensor<[2,4,6,16],f32>) {
    %int = torch.constant.int -2
    %int$1 = torch.constant.int -1
    %float = torch.constant.float 0.25
    %float$1 = torch.constant.float 0xFFF0000000000000
    %none = torch.constant.none
    %y.key = "torch.aten.transpose.int"(%k, %int, %int$1) : (!torch.vtensor<[2,4,5,16],f32>, !torch.int, !torch.int) -> !torch.vtensor<[2,4,16,5],f32> loc("y")
    %y.product = "torch.aten.matmul"(%q, %y.key) : (!torch.vtensor<[2,4,6,16],f32>, !torch.vtensor<[2,4,16,5],f32>) -> !torch.vtensor<[2,4,6,5],f32> loc("y")
    %y.scaled = "torch.aten.mul.Scalar"(%y.product, %float) : (!torch.vtensor<[2,4,6,5],f32>, !torch.float) -> !torch.vtensor<[2,4,6,5],f32> loc("y")
    %y.masked = "torch.aten.where.ScalarOther"(%m, %y.scaled, %float$1) : (!torch.vtensor<[6,5],i1>, !torch.vtensor<[2,4,6,5],f32>, !torch.float) -> !torch.vtensor<[2,4,6,5],f32> loc("y")
    %y.weights = "torch.aten._safe_softmax"(%y.masked, %int$1, %none) : (!torch.vtensor<[2,4,6,5],f32>, !torch.int, !torch.none) -> !torch.vtensor<[2,4,6,5],f32> loc("y")
    %y = "torch.aten.matmul"(%y.weights, %k) : (!torch.vtensor<[2,4,6,5],f32>, !torch.vtensor<[2,4,5,16],f32>) -> !torch.vtensor<[2,4,6,16],f32> loc("y")
    return %y : !torch.vtensor<[2,4,6,16],f32>
  }
}
)mlir");
}

TEST(MlirExporter, AMaskedNumberIsWhere) {
  const auto program = Export(R"(
graph @forward(%x : f32[3], %m : bool[3], %v : f32[]) {
  %y = aten.index_put.default(%x, [%m], %v) : f32[3]
  return %y
}
)");
  ASSERT_OK(program);
  EXPECT_THAT(program->text, HasSubstr(R"("torch.aten.where.self"(%m, %v, %x))"));
}

// IREE multiplied along the last dimension instead of the channels.
TEST(MlirExporter, SlopesLieAlongTheChannels) {
  const auto program = Export(R"(
graph @forward(%x : f32[1, 3, 8, 8], %w : f32[3]) {
  %y = aten.prelu.default(%x, %w) : f32[1, 3, 8, 8]
  return (%y,)
}
)");
  ASSERT_OK(program);
  EXPECT_THAT(program->text, HasSubstr("-> !torch.vtensor<[1,3,1,1],f32>"));
  EXPECT_THAT(program->text, HasSubstr("\"torch.aten.where.self\"(%y.positive, %x, %y.product)"));
}

// IREE stops at torch.export's operators, and StableHLO's pipeline at TorchScript's.
TEST(MlirExporter, UpsamplingIsRepetitionOrSumsOfRows) {
  const auto program = Export(R"(
graph @forward(%x : f32[1, 3, 8, 4]) {
  %a = aten.upsample_nearest2d.vec(%x, [16, 12], None) : f32[1, 3, 16, 12]
  %b = aten.upsample_nearest2d.vec(%x, [12, 4], None) : f32[1, 3, 12, 4]
  %c = aten.upsample_bilinear2d.vec(%x, [2, 4], True, None) : f32[1, 3, 2, 4]
  return (%a, %b, %c)
}
)");
  ASSERT_OK(program);
  EXPECT_THAT(program->text, HasSubstr("-> !torch.vtensor<[1,3,8,2,4,3],f32>"));
  EXPECT_THAT(program->text,
              HasSubstr("dense<[0, 0, 1, 2, 2, 3, 4, 4, 5, 6, 6, 7]> : tensor<12xsi64>"));
  // The first and the last row.
  EXPECT_THAT(program->text, HasSubstr("torch.vtensor.literal(dense<[0, 7]> : tensor<2xsi64>)"));
  EXPECT_THAT(program->text, HasSubstr("\"torch.aten.index_select\""));
  EXPECT_THAT(program->text, HasSubstr("-> !torch.vtensor<[2,1],f32>"));
  EXPECT_FALSE(absl::StrContains(program->text, "interpolate"));
}

TEST(MlirExporter, PoolingIsSumsOfRowsWhereSizesDoNotDivide) {
  const auto program = Export(R"(
graph @forward(%x : f32[1, 3, 8, 4]) {
  %a = aten.adaptive_avg_pool2d.default(%x, [4, 1]) : f32[1, 3, 4, 1]
  %b = aten._adaptive_avg_pool2d.default(%x, [3, 4]) : f32[1, 3, 3, 4]
  return (%a, %b)
}
)");
  ASSERT_OK(program);
  EXPECT_THAT(program->text, HasSubstr("\"torch.aten.adaptive_avg_pool2d\""));
  EXPECT_FALSE(absl::StrContains(program->text, "torch.aten._adaptive_avg_pool2d"));
  EXPECT_THAT(program->text, HasSubstr("dense<[0, 2, 5]> : tensor<3xsi64>"));
}

// StableHLO's pipeline cannot take a number out of a tensor, and needs the end of a slice.
TEST(MlirExporter, NumbersOfStableHlo) {
  const auto program = Export(R"(
graph @forward(%x : f32[1], %y : f32[4, 3]) {
  %a = aten.item.default(%x)
  %f = aten.full.default([2, 3], %a, dtype = torch.float64) : f64[2, 3]
  %s = aten.slice.Tensor(%y, 0, None, None, 2) : f32[2, 3]
  return (%f, %s)
}
)");
  ASSERT_OK(program);
  EXPECT_THAT(program->text, HasSubstr("\"torch.aten.expand\"(%f.number"));
  EXPECT_FALSE(absl::StrContains(program->text, "torch.aten.full"));
  EXPECT_THAT(program->text, HasSubstr("torch.constant.int 9223372036854775807"));
}

// StableHLO's pipeline has no fill by a tensor, which exported programs use for x[-2:] = 0.
TEST(MlirExporter, AFillByATensorIsThatTensorExpanded) {
  const auto program = Export(R"(
graph @forward(%x : f32[2, 8], %v : i64[]) {
  %f = aten.fill.Tensor(%x, %v) : f32[2, 8]
  %g = aten.fill.Scalar(%x, 1) : f32[2, 8]
  return (%f, %g)
}
)");
  ASSERT_OK(program);
  EXPECT_THAT(program->text, HasSubstr("\"torch.aten.to.dtype\"(%f.single"));
  EXPECT_THAT(program->text, HasSubstr("%f = \"torch.aten.expand\"(%f.number"));
  EXPECT_FALSE(absl::StrContains(program->text, "torch.aten.fill.Tensor"));
  EXPECT_THAT(program->text, HasSubstr("torch.aten.fill.Scalar"));
}

TEST(MlirExporter, MeshgridIsRepetition) {
  const auto program = Export(R"(
graph @forward(%x : f32[2], %y : f32[3]) {
  %m = aten.meshgrid.indexing([%x, %y], "xy") : (f32[3, 2], f32[3, 2])
  %a = operator.getitem(%m, 0) : f32[3, 2]
  return (%a,)
}
)");
  ASSERT_OK(program);
  EXPECT_THAT(program->text, HasSubstr("-> !torch.vtensor<[1,2],f32>"));
  EXPECT_THAT(program->text, HasSubstr("-> !torch.vtensor<[3,1],f32>"));
}

// torch-mlir's StableHLO takes constants as the bounds of a slice that is written to.
TEST(MlirExporter, BoundsOfSlicesThatAreWrittenToAreNumbers) {
  const auto bounds = [](absl::string_view given, absl::string_view size = "6") {
    const auto program = Export(absl::StrCat("symbol s0 = 6\ngraph @forward(%x : f32[", size,
                                             ", 8], %y : f32[2, 8]) {\n"
                                             "  %a = aten.slice_scatter.default(%x, %y",
                                             given, ") : f32[", size, ", 8]\n  return (%a,)\n}\n"));
    EXPECT_OK(program);
    return program.ok() ? program->text : std::string();
  };
  for (const absl::string_view given :
       {", 0, -2", ", 0, 4", ", 0, -2, 9223372036854775807", ", 0, 4, None", ", start = 4",
        ", 0, 4, 6", ", 0, -2, 6, 1"}) {
    const std::string text = bounds(given);
    EXPECT_THAT(text, HasSubstr("= torch.constant.int 4\n")) << given;
    EXPECT_THAT(text, HasSubstr("= torch.constant.int 6\n")) << given;
    EXPECT_FALSE(absl::StrContains(text, "torch.constant.none")) << given;
    EXPECT_FALSE(absl::StrContains(text, "torch.constant.int -")) << given;
  }
  EXPECT_THAT(bounds(", -2, 4, None"), HasSubstr("= torch.constant.int 6\n"));
  EXPECT_THAT(bounds(", 0, None, -4"), HasSubstr("= torch.constant.int 2\n"));
  const std::string symbolic = bounds(", 0, 1", "s0");
  EXPECT_THAT(symbolic, HasSubstr("= torch.constant.int 9223372036854775807\n"));
}

TEST(MlirExporter, MeshgridOfSymbolicSizes) {
  for (const absl::string_view indexing : {"ij", "xy"}) {
    const auto program = Export(absl::StrCat(
        R"(
symbol s0 = 4
symbol s1 = 6
graph @forward(%x : f32[s0], %y : f32[3], %z : f32[s1 + 1]) {
  %m = aten.meshgrid.indexing([%x, %y, %z], ")",
        indexing, R"(") : ()",
        indexing == "ij" ? "f32[s0, 3, s1 + 1], f32[s0, 3, s1 + 1], f32[s0, 3, s1 + 1]"
                         : "f32[3, s0, s1 + 1], f32[3, s0, s1 + 1], f32[3, s0, s1 + 1]",
        R"()
  %a = operator.getitem(%m, 2)
  return (%a,)
}
)"));
    ASSERT_OK(program);
    EXPECT_THAT(program->text, HasSubstr("\"torch.aten.size.int\"(%x"));
    EXPECT_THAT(program->text, HasSubstr("\"torch.aten.size.int\"(%z"));
    EXPECT_THAT(program->text, HasSubstr(indexing == "ij" ? "-> !torch.vtensor<[?,1,1],f32>"
                                                          : "-> !torch.vtensor<[1,?,1],f32>"));
  }
}

TEST(MlirExporter, NumbersInTensorsHaveTheirKind) {
  const auto program = Export(R"(
graph @forward(%x : f32[], %i : i64[], %y : f32[2]) {
  %a = aten.item.default(%x)
  %b = aten._local_scalar_dense.default(%i)
  %c = aten.mul.Scalar(%y, %a) : f32[2]
  %d = aten.mul.Scalar(%c, %b) : f32[2]
  return (%d,)
}
)");
  ASSERT_OK(program);
  EXPECT_THAT(program->text, HasSubstr("\"torch.aten.Float.Tensor\"(%x)"));
  EXPECT_THAT(program->text, HasSubstr("\"torch.aten.Int.Tensor\"(%i)"));
}

// The schema gives the default by name.
TEST(MlirExporter, AReductionThatIsLeftOutIsTheMean) {
  const auto program = Export(R"(
graph @forward(%x : f32[2, 3], %t : i64[2]) {
  %a = aten.cross_entropy_loss.default(%x, %t) : f32[]
  return (%a,)
}
)");
  ASSERT_OK(program);
  EXPECT_THAT(program->text, HasSubstr("torch.constant.int 1\n"));
}

TEST(MlirExporter, WhatCannotBeWrittenIsNamed) {
  const auto of = [](const std::string& calls) {
    return ErrorOf(absl::StrCat("graph @forward(%x : f32[3], %m : bool[3], %u) {\n", calls,
                                "  return %y\n}\n"));
  };
  EXPECT_THAT(of("  %y = aten.relu.default(%x) : f32[3]\n"), HasSubstr("(node u): its rank"));
  const auto error = [](const std::string& calls) {
    return ErrorOf(
        absl::StrCat("graph @forward(%x : f32[3], %m : bool[3]) {\n", calls, "  return %y\n}\n"));
  };
  EXPECT_THAT(error("  %y = aten.relu_.default(%x) : f32[3]\n"),
              HasSubstr("aten.relu_.default (node y): it writes to memory"));
  EXPECT_THAT(
      error("  %y = torch.relu(%x) : f32[3]\n"),
      HasSubstr("(node y): it is not an overload of ATen; run the pass torch-to-aten first"));
  EXPECT_THAT(error("  %y = aten.relu.default(%x)\n"),
              HasSubstr("the shape or dtype of its result is unknown; run graphnet shapes first"));
  EXPECT_THAT(error("  %y = aten.index.Tensor(%x, [%m]) : f32[3]\n"),
              HasSubstr("a mask as an index: the shape of the result depends on values"));
  EXPECT_THAT(error("  %y = aten.native_norm.default(%x) : f32[]\n"),
              HasSubstr("(node y): the torch dialect has no operator aten.native_norm.default"));
  EXPECT_THAT(error("  %y = operator.getitem(%x, 0) : f32[]\n"),
              HasSubstr("it subscripts a value that is not a tuple of tensors; run the pass "
                        "torch-to-aten first"));
  EXPECT_THAT(error("  %y = aten.to.dtype(%x, torch.bits8) : bits8[3]\n"),
              HasSubstr("(node y): MLIR has no bits8"));
  EXPECT_THAT(error("  %s = aten.split.Tensor(%x, 2) : (f32[2], f32[1])\n"
                    "  %y = aten.relu.default(%s) : f32[3]\n"),
              HasSubstr("(node y): it takes %s, which is not a single value"));
  EXPECT_THAT(ErrorOf("graph @forward(%x : f32[3]) {\n  return (%x, \"a\")\n}\n"),
              HasSubstr("it returns a value that is neither a tensor nor a number"));
  const auto parameter = Export(R"(
symbol S0
attribute w : f32[S0]
graph @forward() {
  %w = get_attr w : f32[S0]
  return %w
}
)",
                                {.parameter_scope = "model"});
  EXPECT_THAT(std::string(parameter.status().message()),
              HasSubstr("(node w): the sizes of a parameter must be known"));
}

// torch-mlir-opt does not accept a bool for a number.
TEST(MlirExporter, BoolsThatAreScalarsAreIntegers) {
  const auto program = Export(R"(
graph @forward(%x : f32[4], %m : bool[4]) {
  %a = aten.fill.Scalar(%x, True) : f32[4]
  %b = aten.masked_fill.Scalar(%a, %m, False) : f32[4]
  %c = aten.mul.Tensor(%b, True) : f32[4]
  %d = aten.sum.dim_IntList(%c, [0], True) : f32[1]
  return %d
}
)");
  ASSERT_OK(program) << program.status();
  EXPECT_THAT(program->text, HasSubstr("\"torch.aten.fill.Scalar\"(%x, %int) : "
                                       "(!torch.vtensor<[4],f32>, !torch.int)"));
  EXPECT_THAT(program->text, HasSubstr("\"torch.aten.masked_fill.Scalar\"(%a, %m, %int$1)"));
  EXPECT_THAT(program->text, HasSubstr("\"torch.aten.mul.Scalar\"(%b, %int)"));
  // An operand of type bool stays a bool.
  EXPECT_THAT(program->text, HasSubstr("\"torch.aten.sum.dim_IntList\"(%c, %list, %true"));
}

TEST(MlirExporter, NamesAndTextsAreQuoted) {
  const auto program = Export(R"(
graph @forward(%"1 \"x" : f32[3]) {
  %y = aten.gelu.default(%"1 \"x", approximate = "tanh") : f32[3]
  %z = aten.add.Scalar(%y, inf) : f32[3]
  return %z
}
)");
  ASSERT_OK(program) << program.status();
  EXPECT_THAT(program->text, HasSubstr("torch.constant.str \"tanh\""));
  EXPECT_THAT(program->text, HasSubstr("torch.constant.float 0x7FF0000000000000"));
}

// torch-mlir-opt accepts this text.
TEST(MlirExporter, BranchesOnValues) {
  const std::string graphs = R"(
graph @forward(%x : f32[3], %p : bool[]) {
  %c = torch.ops.higher_order.cond(%p, @yes, @no, (%x,)) : (f32[3], f32[])
  %a = operator.getitem(%c, 0) : f32[3]
  %b = operator.getitem(%c, 1) : f32[]
  return (%a, %b)
}
graph @yes(%y : f32[3]) {
  %m = aten.mul.Scalar(%y, 2) : f32[3]
  %s = aten.sum.default(%m) : f32[]
  return (%m, %s)
}
graph @no(%z : f32[3]) {
  %t = aten.sum.default(%z) : f32[]
  return (%z, %t)
}
)";
  const auto program = Export(graphs);
  ASSERT_OK(program);
  EXPECT_THAT(program->text, HasSubstr(R"mlir(
    %condition = "torch.aten.Bool.Tensor"(%p) : (!torch.vtensor<[],i1>) -> !torch.bool loc("c")
    %c:2 = "torch.prim.If"(%condition) ({
    %m = "torch.aten.mul.Scalar"(%x, %int) : (!torch.vtensor<[3],f32>, !torch.int) -> !torch.vtensor<[3],f32> loc("m")
    %s = "torch.aten.sum"(%m, %none) : (!torch.vtensor<[3],f32>, !torch.none) -> !torch.vtensor<[],f32> loc("s")
    "torch.prim.If.yield"(%m, %s) : (!torch.vtensor<[3],f32>, !torch.vtensor<[],f32>) -> ()
    }, {
    %t = "torch.aten.sum"(%x, %none) : (!torch.vtensor<[3],f32>, !torch.none) -> !torch.vtensor<[],f32> loc("t")
    "torch.prim.If.yield"(%x, %t) : (!torch.vtensor<[3],f32>, !torch.vtensor<[],f32>) -> ()
    }) : (!torch.bool) -> (!torch.vtensor<[3],f32>, !torch.vtensor<[],f32>) loc("c")
    return %c#0, %c#1)mlir"));
  const auto error = [&](absl::string_view from, absl::string_view to) {
    return ErrorOf(absl::StrReplaceAll(graphs, {{from, to}}));
  };
  // The result of a branch is cast if the types differ in what is known of the sizes.
  const auto cast =
      Export(absl::StrReplaceAll(graphs, {{"(f32[3], f32[])", "(f32[s], f32[])"},
                                          {"\ngraph @forward", "\nsymbol s = 3\ngraph @forward"}}));
  ASSERT_OK(cast);
  EXPECT_THAT(cast->text,
              HasSubstr("\"torch.tensor_static_info_cast\"(%m) : (!torch.vtensor<[3],f32>) -> "
                        "!torch.vtensor<[?],f32>"));
  EXPECT_THAT(error("%p : bool[]", "%p as float"), HasSubstr("its condition is no bool"));
  EXPECT_THAT(error("return (%z, %t)", "return (%z,)"),
              HasSubstr("its branches return different numbers of values"));
  EXPECT_THAT(error("return (%z, %t)", "return (%z, 1)"),
              HasSubstr("its branches return different types"));
  EXPECT_THAT(error("%t = aten.sum.default(%z)", "%w = get_attr w\n  %t = aten.sum.default(%w)"),
              HasSubstr("it reads an attribute within a branch"));
  EXPECT_THAT(error("(%x,))", "(%x, %x))"), HasSubstr("@yes does not take its operands"));
  EXPECT_THAT(error("(%p, @yes, @no, (%x,))", "(%p, @yes)"), HasSubstr("it has no branches"));
  EXPECT_THAT(error(" : (f32[3], f32[])", ""), HasSubstr("is unknown"));
  EXPECT_THAT(error("torch.ops.higher_order.cond(%p, @yes, @no, (%x,))",
                    "torch.ops.higher_order.while_loop(@yes, @no, (%x,), ())"),
              HasSubstr("calls with bodies other than branches"));
}

}  // namespace
}  // namespace graphnet
