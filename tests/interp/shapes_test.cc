#include "graphnet/interp/shapes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "graphnet/interp/prepare.h"
#include "graphnet/ir/text/parser.h"
#include "graphnet/ir/text/printer.h"
#include "tests/ir/text/parsed_module.h"

namespace graphnet {
namespace {

using testing::HasSubstr;

// Returns the metas of all calls in the text form, or the error.
std::string Shapes(absl::string_view text, const std::map<std::string, TensorData>& values = {}) {
  auto module = ParseModule(text, "test");
  if (!module.ok()) return std::string(module.status().message());
  const auto report = InferShapes(module->get(), values);
  if (!report.ok()) return std::string(report.status().message());
  std::string out;
  for (const Node* node : (*module)->main()->nodes()) {
    if (!node->is_call() || node->tensor_meta() == nullptr) continue;
    if (!out.empty()) out += ' ';
    out += PrintTensorMeta(*node->tensor_meta());
  }
  return out;
}

TEST(InferShapesTest, Operators) {
  EXPECT_EQ(Shapes("graph @forward(%x : f32[2, 3, 8, 8], %w : f32[6, 3, 3, 3]) {\n"
                   "  %c = torch.conv2d(%x, %w, None, (2, 2), (1, 1))\n"
                   "  %h = .to(%c, torch.float16)\n  %f = .flatten(%h, 1)\n  return (%f,)\n}\n"),
            "f32[2, 6, 4, 4] f16[2, 6, 4, 4] f16[2, 96]");
  EXPECT_EQ(Shapes("graph @forward(%x : f32[2, 3, 5], %w : f32[3, 4, 3]) {\n"
                   "  %c = torch.conv_transpose1d(%x, %w, None, 2, 1, 1)\n  return (%c,)\n}\n"),
            "f32[2, 4, 10]");
  EXPECT_EQ(Shapes("graph @forward(%x : f32[1, 3, 9], %w : f32[2, 3, 3]) {\n"
                   "  %c = torch.conv1d(%x, %w, padding = \"same\")\n  return (%c,)\n}\n"),
            "f32[1, 2, 9]");
}

// Shapes are not computed on a real device, so devices cannot be inferred.
TEST(InferShapesTest, DevicesStay) {
  EXPECT_EQ(Shapes("graph @forward(%x : f32[4, 3]@cuda:0) {\n"
                   "  %a = torch.relu(%x) : f32[9]@cuda:0\n"
                   "  %b = torch.chunk(%a, 2) : (f32[9]@cuda:0, _)\n"
                   "  %c = operator.getitem(%b, 0)\n"
                   "  %d = operator.getitem(%b, 1) : f16[1]@cuda:1\n  return (%c, %d)\n}\n"),
            "f32[4, 3]@cuda:0 f32[2, 3] f32[2, 3]@cuda:1");
}

TEST(InferShapesTest, SymbolicSizesStay) {
  EXPECT_EQ(
      Shapes("symbol S0 = 4\nsymbol S1 = 6\n\n"
             "graph @forward(%x : f32[S0, 3, S1]) {\n"
             "  %a = torch.relu(%x)\n  %b = torch.cat((%a, %a), 2)\n  %c = .flatten(%x)\n"
             "  %d = operator.getitem(%x, (slice(None, None, None), 0, slice(1, None, None)))\n"
             "  %e = .sum(%x)\n  %f = torch.max_pool1d(%x, 2)\n  return (%a, %b, %c, %d, %e, "
             "%f)\n}\n"),
      "f32[S0, 3, S1] f32[S0, 3, 2*S1] f32[3*S0*S1] f32[S0, S1 - 1] f32[] f32[S0, 3, 3]");
}

TEST(InferShapesTest, RefusesASymbolWithoutAnExample) {
  EXPECT_EQ(Shapes("symbol S0\n\n"
                   "graph @forward(%x : f32[S0]) {\n"
                   "  %a = torch.relu(%x)\n  return (%a,)\n}\n"),
            "input x: its shape is symbolic, without an example");
}

TEST(PrepareRunTest, RefusesAnInputWithoutAValue) {
  const auto module = Parse("graph @forward(%x : f32[2]) {\n  return (%x,)\n}\n");
  EXPECT_EQ(PrepareRun(*module, {}).status().message(), "no value for input x");
}

TEST(InferShapesTest, SizesOfAGraphThatIsValidForItsExamplesOnly) {
  EXPECT_EQ(Shapes("symbol S0 = 4\n\n"
                   "graph @forward(%x : f32[S0, 3]) {\n"
                   "  %a = torch.relu(%x)\n  %b = .view(%a, 2, 6)\n  return (%b,)\n}\n"),
            "f32[S0, 3] f32[2, 6]");
}

TEST(InferShapesTest, ACallThatDoesNothingHasTheShapeOfItsValue) {
  EXPECT_EQ(Shapes("graph @forward(%x : f32[2, 3]) {\n"
                   "  %a = torch.nn.functional.dropout(%x, 0.5, False)\n  %b = torch.relu(%a)\n"
                   "  %c = .float(%b)\n  return (%c,)\n}\n"),
            "f32[2, 3] f32[2, 3] f32[2, 3]");
}

TEST(InferShapesTest, SizesThatDependOnSmallData) {
  // The data of arange and its sum is known.
  EXPECT_EQ(Shapes("graph @forward(%x : f32[100, 100]) {\n  %a = torch.arange(4)\n  %s = .sum(%a)\n"
                   "  %n = .item(%s)\n  %z = torch.zeros((%n, 2))\n  %m = operator.gt(%a, 1)\n"
                   "  %k = operator.getitem(%a, %m)\n  return (%z, %k)\n}\n"),
            "i64[4] i64[] f32[6, 2] bool[4] i64[2]");
}

TEST(InferShapesTest, SizesThatDependOnOtherDataAreAnError) {
  EXPECT_THAT(Shapes("graph @forward(%x : f32[100, 100]) {\n  %n = torch.nonzero(%x)\n"
                     "  return (%n,)\n}\n"),
              HasSubstr("torch.nonzero (node n): its shape depends on data"));
  EXPECT_THAT(Shapes("graph @forward(%x : f32[100, 100]) {\n  %m = operator.gt(%x, 0)\n"
                     "  %n = operator.getitem(%x, %m)\n  return (%n,)\n}\n"),
              HasSubstr("operator.getitem (node n): its shape depends on data"));
  EXPECT_THAT(Shapes("graph @forward(%x) {\n  %n = torch.relu(%x)\n  return (%n,)\n}\n"),
              HasSubstr("input x: its shape is not known"));
  EXPECT_THAT(Shapes("graph @forward(%x : f32[2, 3], %y : f32[4, 5]) {\n"
                     "  %n = torch.matmul(%x, %y)\n  return (%n,)\n}\n"),
              HasSubstr("torch.matmul (node n): "));
}

// Each call on a list runs once, so it adds its element once.
TEST(InferShapesTest, ListsAreFilledOnce) {
  EXPECT_EQ(Shapes("graph @forward(%x : f32[2, 3]) {\n"
                   "  %s = prim.ListConstruct()\n  %a = aten.size.int(%x, 0)\n"
                   "  %b = operator.add(%a, 1)\n  %p = aten.append.t(%s, %b)\n"
                   "  %q = aten.append.t(%s, 4)\n  %z = torch.zeros(%s)\n  return (%z,)\n}\n"),
            "f32[3, 4]");
  EXPECT_EQ(Shapes("graph @forward(%x : f32[2, 3]) {\n"
                   "  %s = prim.ListConstruct(5, 6, 7, 8)\n  %i = aten.insert.t(%s, 0, 9)\n"
                   "  %p = aten.pop.t(%s, -1)\n  %k = prim.ListConstruct(2)\n"
                   "  %e = aten.extend.t(%s, %k)\n  %v = aten.reverse.t(%s)\n"
                   "  %z = torch.zeros(%s)\n  return (%z,)\n}\n"),
            "f32[2, 7, 6, 5, 9]");
  EXPECT_EQ(Shapes("graph @forward(%x : f32[2, 3], %y : f32[4, 3]) {\n"
                   "  %d = prim.DictConstruct(\"a\", %x)\n"
                   "  %s = aten._set_item.str(%d, \"b\", %y)\n"
                   "  %p = aten.pop.Dict_str(%d, \"a\")\n  %n = aten.len.Dict_str(%d)\n"
                   "  %z = torch.zeros((%n, 2))\n  return (%z,)\n}\n"),
            "f32[2, 3] f32[1, 2]");
}

// A call may fail if the symbol has another size. Its value then has the size of the program's own
// meta.
TEST(InferShapesTest, SymbolsStayAfterACallThatFailsForOtherSizes) {
  const std::string program =
      "symbol S0 = 4\n\n"
      "graph @forward(%x : f32[S0, 3]) {\n  %a = torch.relu(%x)\n"
      "  %b = .view(%a, 4, 3)SAID\n  %c = torch.neg(%b)\n"
      "  %d = torch.cat((%c, %x))\n  return (%d,)\n}\n";
  const auto with = [&](const std::string& said) {
    std::string text = program;
    return Shapes(text.replace(text.find("SAID"), 4, said));
  };
  EXPECT_EQ(with(" : f32[S0, 3]"), "f32[S0, 3] f32[S0, 3] f32[S0, 3] f32[2*S0, 3]");
  // Without such a meta, the size is a number.
  EXPECT_EQ(with(""), "f32[S0, 3] f32[4, 3] f32[4, 3] f32[8, 3]");
}

// A graph runs again for each symbol that sizes depend on, but not for other symbols.
TEST(InferShapesTest, UnusedSymbolsHaveNoEffect) {
  std::string symbols;
  for (int i = 0; i < 20000; ++i) absl::StrAppend(&symbols, "symbol U", i, " = 2\n");
  EXPECT_EQ(Shapes(absl::StrCat(symbols,
                                "symbol S0 = 4\nsymbol n = 3\n\n"
                                "graph @forward(%x : f32[S0, 3], %n as torch.SymInt) {\n"
                                "  %a = torch.relu(%x)\n  %b = torch.zeros(%n, 5)\n"
                                "  return (%a, %b)\n}\n")),
            "f32[S0, 3] f32[n, 5]");
}

TEST(InferShapesTest, OperatorsWithoutATensorAmongTheirArguments) {
  EXPECT_EQ(Shapes("graph @forward(%x : f32[2, 3]) {\n"
                   "  %a = torch.tril_indices(5, 5, -1)\n  %b = torch.triu_indices(3, 4, 1)\n"
                   "  %c = torch.randperm(7)\n  %d = torch.hann_window(16)\n"
                   "  %e = torch.linspace(0, 1, 9)\n  return (%a, %b, %c, %d, %e)\n}\n"),
            "i64[2, 10] i64[2, 6] i64[7] f32[16] f32[9]");
}

TEST(InferShapesTest, NestedTensorsHaveNoShape) {
  EXPECT_EQ(Shapes("graph @forward(%x : f32[2, 3, 4]@cpu, %m : bool[2, 3]@cpu) {\n"
                   "  %o = torch.ones((2, 3), dtype = torch.bool)\n"
                   "  %n = torch._nested_tensor_from_mask(%x, %o)\n"
                   "  %r = torch.relu(%n)\n"
                   "  %p = aten.to_padded_tensor.default(%r, 0.0, [2, 3, 4])\n"
                   "  return (%p,)\n}\n"),
            "bool[2, 3] f32 f32 f32[2, 3, 4]");
}

TEST(InferShapesTest, TheNumberOfPartsIsBounded) {
  for (const char* call : {"torch.split(%x, 1)", "aten.split.Tensor(%x, 1)", "torch.unbind(%x)",
                           "torch.chunk(%x, 1000000000)", "torch.tensor_split(%x, 1000000000)"}) {
    EXPECT_THAT(Shapes(absl::StrCat("graph @forward(%x : u8[1000000000]) {\n  %h = ", call,
                                    "\n  return (%h,)\n}\n")),
                HasSubstr("makes 1000000000 tensors"))
        << call;
  }
}

TEST(InferShapesTest, PeakMemory) {
  // The input and two values live while %b or %c is computed: 3 * 4096 * 4 floats.
  const ParsedModule module = Parse(
      "graph @forward(%x : f32[4096, 4]) {\n  %a = torch.neg(%x)\n  %v = .view(%a, 4, 4096)\n"
      "  %b = torch.neg(%v)\n  %c = torch.neg(%b)\n  return (%c,)\n}\n");
  const auto report = InferShapes(module.get(), {});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->peak_bytes, 3 * 4096 * 4 * 4);
  EXPECT_EQ(report->nodes, 4u);
}

TEST(InferShapesTest, ListsKeepNothingAlive) {
  // The parts are freed after they are joined. The peak is at the last call: it reads and makes a
  // tensor of four parts each, and the input is alive, too.
  const ParsedModule module = Parse(
      "graph @forward(%x : f32[4096, 4]) {\n  %a = torch.neg(%x)\n  %b = torch.neg(%x)\n"
      "  %c = torch.cat([%a, %b, %a, %b])\n  %d = torch.neg(%c)\n  %e = torch.neg(%d)\n"
      "  return (%e,)\n}\n");
  const auto report = InferShapes(module.get(), {});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->peak_bytes, 9 * 4096 * 4 * 4);
}

TEST(InferShapesTest, PeakMemoryBeforeUnknownShapes) {
  const ParsedModule module = Parse(
      "graph @forward(%x : f32[4096, 4]) {\n  %a = torch.neg(%x)\n  %n = torch.nonzero(%a)\n"
      "  %b = torch.neg(%n)\n  return (%b,)\n}\n");
  EXPECT_EQ(PeakBytes(*module, {}), 2 * 4096 * 4 * 4);
}

}  // namespace
}  // namespace graphnet
