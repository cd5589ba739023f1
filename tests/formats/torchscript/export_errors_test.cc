// Programs that cannot be exported, and why.
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graphnet/formats/torchscript/exporter.h"
#include "graphnet/formats/torchscript/exporter_module.h"
#include "graphnet/ir/sample.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"
#include "tests/formats/torchscript/export_runs.h"

namespace graphnet {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(ExporterTest, ErrorsNameTheNode) {
  const struct {
    const char* body;
    const char* message;
  } kCases[] = {
      {"%y = torch.nn.functional.interpolate(%x, 4) at \"model.py\":3:5",
       "model.py:3:5: cannot export %y = torch.nn.functional.interpolate: no ATen overload"},
      {"%y = operator.matmul(%x, %x)", "%y = operator.matmul: no ATen overload"},
      {"%y = aten.nonsense.default(%x)", "LibTorch has no operator aten::nonsense"},
      {"%y = aten.add.Nonsense(%x)", "LibTorch's aten::add has no overload Nonsense"},
      {"%y = aten.add.Tensor(%x, \"a\")",
       "Expected a value of type 'Tensor' for argument 'other' but instead found type 'str'"},
      {"%y = aten.relu.default(%x, %x)", "Expected at most 1 arguments but found 2 positional"},
      {"%y = aten.relu.default(%x, far = 1)", "Keyword argument far unknown"},
      {"%y = aten.relu.default()", "Argument self not provided"},
      {"%y = aten.pow.int_to_int(2, 3)", "with these operands TorchScript takes aten::pow.int"},
      {"%y = aten.view.dtype(%x, torch.int32)", "TorchScript never takes this overload"},
      {"%y = aten.cat.default([%x, 1])", "a value of type int where Tensor is needed"},
      {"%y = operator.getitem(%x, True)", "a bool cannot be an index"},
      {"%y = operator.getitem(%x, (..., %x))", "a tensor index after an ellipsis"},
      {"%y = operator.getitem(%x, (..., ...))", "a second ellipsis"},
      {"%y = operator.getitem(%x, (%x, 0))", "a tensor that may be a mask of several dimensions"},
      {"%y = operator.getitem((%x, 1), 2)", "the index is out of bounds"},
      {"%y = aten.view.default(%x, [sym(S0)])", "a symbolic size"},
      {"%y = prim.FusionGroup(%x)", "an operation that only LibTorch itself makes"},
      {"%y = prim.ListConstruct()", "the type of its elements is not known"},
      {"%y = prim.ListConstruct(1) as \"List[Nonsense]\"",
       "TorchScript knows no type List[Nonsense]"},
      {"%y = prim.isinstance(%x, (\"[[[\",))", "TorchScript knows no type [[["},
      {"%o = prim.CreateObject(\"C\")\n  %y = prim.GetAttr(%o, \"a\")",
       "%y = prim.GetAttr: the attribute is read before it is assigned"},
      {"%y = torch.cond(%x, @one, @two, (%x,))",
       "%y = torch.cond: result 0 has type Tensor or int"},
      {"%y = torch.cond(%x, @one, @one, ())", "the body one takes 1 operands, not 0"},
      {"%y = torch.cond(\"a\", @one, @one, (%x,))", "the condition has type str"},
      {"%y = torch.while_loop(@test, @two, (%x,), ())",
       "it carries a value of type Tensor, and then one of type int"},
  };
  for (const auto& c : kCases) {
    const std::string text = absl::StrCat("symbol S0\ngraph @forward(%x) {\n  ", c.body, R"(
  return %y
}
)",
                                          absl::StrContains(c.body, "@one") ? R"(
graph @one(%x) {
  return (%x,)
}
)"
                                                                            : "",
                                          absl::StrContains(c.body, "@test") ? R"(
graph @test(%x) {
  return True
}
)"
                                                                             : "",
                                          absl::StrContains(c.body, "@two") ? R"(
graph @two(%x) {
  return (1,)
}
)"
                                                                            : "");
    EXPECT_THAT(ErrorOf(text), StatusIs(absl::StatusCode::kInvalidArgument,
                                        AllOf(HasSubstr("cannot export %"), HasSubstr(c.message),
                                              testing::Not(HasSubstr("\n")))))
        << c.body;
  }
  EXPECT_THAT(ErrorOf("graph @forward(%x as Nonsense) {\n  return %x\n}\n"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "cannot export %x = placeholder x: TorchScript knows no type Nonsense"));
}

TEST(ExporterTest, WrongWeights) {
  Sample sample = Parse(R"(
attribute w : f32[2]
graph @forward() {
  %w = get_attr w
  return %w
}
)");
  TensorData& data = sample.weights["w"];
  data = {
      .dtype = DType::kFloat32, .shape = {2}, .bytes = std::make_shared<const std::string>(7, 'a')};
  const auto fails_with = [&](const std::string& what) {
    return StatusIs(absl::StatusCode::kInvalidArgument, "cannot export attribute w: " + what);
  };
  EXPECT_THAT(MakeTorchScriptModule(sample).status(),
              fails_with("the number of bytes does not fit the shape"));
  data.shape = {int64_t{1} << 62, 4};
  EXPECT_THAT(MakeTorchScriptModule(sample).status(),
              fails_with("the number of bytes does not fit the shape"));
  data.shape = {-1, -7};
  EXPECT_THAT(MakeTorchScriptModule(sample).status(),
              fails_with("the number of bytes does not fit the shape"));
  data.dtype = DType::kUnknown;
  EXPECT_THAT(MakeTorchScriptModule(sample).status(), fails_with("a tensor of unknown"));
}

TEST(ExporterTest, Limits) {
  // Each body calls the next one twice.
  std::string text =
      "graph @forward(%x, %p as bool) {\n  %y = torch.cond(%p, @g0, @g0, (%x, %p))\n"
      "  return %y\n}\n";
  for (int i = 0; i < 20; ++i) {
    absl::StrAppend(&text, "graph @g", i, "(%x, %p) {\n");
    for (const char* result : {"a", "b"}) {
      absl::StrAppend(&text, "  %", result, " = torch.cond(%p, @g", i + 1, ", @g", i + 1,
                      ", (%x, %p))\n");
    }
    absl::StrAppend(&text, "  return (%a,)\n}\n");
  }
  absl::StrAppend(&text, "graph @g20(%x, %p) {\n  return (%x,)\n}\n");
  EXPECT_THAT(ErrorOf(text), StatusIs(absl::StatusCode::kInvalidArgument,
                                      HasSubstr("operations with its bodies inlined")));

  // Each tuple holds the one before it twice.
  text = "graph @forward(%x, %p as bool) {\n  %y0 = aten.neg.default(%x)\n";
  for (int i = 1; i <= 40; ++i) {
    absl::StrAppend(&text, "  %c", i, " = torch.cond(%p, @b", i, ", @b", i, ", (%y", i - 1,
                    ",))\n  %y", i, " = operator.getitem(%c", i, ", 0)\n");
  }
  absl::StrAppend(&text, "  return %y40\n}\n");
  for (int i = 1; i <= 40; ++i) {
    absl::StrAppend(&text, "graph @b", i, "(%x) {\n  return ((%x, %x),)\n}\n");
  }
  EXPECT_THAT(ErrorOf(text), StatusIs(absl::StatusCode::kInvalidArgument,
                                      HasSubstr("the type of its value is too large")));

  // Each list holds the one before it. LibTorch compares their types recursively at each call.
  text = "graph @forward(%y0) {\n";
  for (int i = 1; i <= 100'000; ++i)
    absl::StrAppend(&text, "  %y", i, " = prim.ListConstruct(%y", i - 1, ")\n");
  EXPECT_THAT(ErrorOf(absl::StrCat(text, "  return %y0\n}\n")),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("the type of its value nests too deep")));

  const auto nested = [](int depth) {
    std::string out;
    for (int i = 0; i <= depth; ++i) {
      absl::StrAppend(&out, "graph @", i == 0 ? "forward" : absl::StrCat("g", i),
                      "(%x, %p as bool) {\n");
      if (i < depth) {
        absl::StrAppend(&out, "  %y = torch.cond(%p, @g", i + 1, ", @g", i + 1, ", (%x, %p))\n");
      }
      absl::StrAppend(&out, "  return ", i < depth ? "%y" : "%x", "\n}\n");
    }
    return out;
  };
  EXPECT_OK(ErrorOf(nested(200)));
  EXPECT_THAT(ErrorOf(nested(201)), StatusIs(absl::StatusCode::kFailedPrecondition,
                                             HasSubstr("bodies nest deeper than 200")));
}

}  // namespace
}  // namespace graphnet
