#include "graphnet/paddle/pir/reader.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graphnet/ir/text/equality.h"
#include "graphnet/ir/text/excerpt.h"
#include "graphnet/ir/text/parser.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/paddle/pir/printer.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"

namespace graphnet::pir {
namespace {

using testing::HasSubstr;

std::string ErrorOf(const std::string& text) {
  return std::string(ReadPir(text, "x.pir").status().message());
}

// Reads a text, prints it, and checks that this reads back as the same module and text.
std::string RoundTrip(const std::string& text) {
  const auto module = ReadPir(text, "x.pir");
  EXPECT_OK(module);
  if (!module.ok()) return "";
  const auto printed = PrintPir(**module);
  EXPECT_OK(printed);
  const auto again = ReadPir(*printed, "printed");
  EXPECT_OK(again);
  EXPECT_OK(CheckEqual(**module, **again, kExact));
  EXPECT_THAT(PrintPir(**again), IsOkAndHolds(*printed));
  return *printed;
}

// The output of str(program) in Paddle 3.3.1 for subtract, a sum and a cond.
constexpr char kPaddle[] = R"pir({
    (%0) = "builtin.parameter" () {is_distributed:[false],is_parameter:[true],need_clip:[true],parameter_name:"w_0",persistable:[true],stop_gradient:[false],trainable:[true]} : () -> tensor<128xf32>
    (%1) = "pd_op.data" () {dtype:float32,name:"x",place:Place(undefined:0),shape:[-1,128],stop_gradient:[true]} : () -> tensor<-1x128xf32>
    (%2) = "pd_op.subtract" (%1, %0) {stop_gradient:[true]} : (tensor<-1x128xf32>, tensor<128xf32>) -> tensor<-1x128xf32>
    (%3) = "pd_op.full_int_array" () {dtype:int64,place:Place(cpu),stop_gradient:[true],value:[]} : () -> tensor<0xi64>
    (%4) = "pd_op.sum" (%2, %3) {dtype:Undefined,keepdim:false,stop_gradient:[true]} : (tensor<-1x128xf32>, tensor<0xi64>) -> tensor<f32>
    (%5, %6) = "pd_op.dropout" (%2, <<NULL VALUE>>, %4) {fix_seed:false,is_test:false,mode:"upscale_in_train",seed:0,stop_gradient:[true,true]} : (tensor<-1x128xf32>, <<NULL TYPE>>, tensor<f32>) -> tensor<-1x128xf32>, tensor<-1x128xu8>
    (%7) = "pd_op.cast" (%4) {dtype:bool,stop_gradient:[true]} : (tensor<f32>) -> tensor<b>
    (%8) = "pd_op.if" (%7) {stop_gradient:[true]} -> tensor<-1x128xf32> {
        (%9) = "pd_op.add" (%2, %5) {stop_gradient:[true]} : (tensor<-1x128xf32>, tensor<-1x128xf32>) -> tensor<-1x128xf32>
        () = "cf.yield" (%9) {} : (tensor<-1x128xf32>) -> 
    } else {
        () = "cf.yield" (%2) {} : (tensor<-1x128xf32>) -> 
    }
    () = "builtin.shadow_output" (%8) {output_name:"output_0"} : (tensor<-1x128xf32>) -> 
}
)pir";

TEST(PirReader, ReadsWhatPaddlePrints) {
  const auto module = ReadPir(kPaddle, "x.pir");
  ASSERT_OK(module);
  EXPECT_EQ(PrintModule(**module, {.header = false}), R"gn(symbol D0
symbol D1
symbol D2
symbol D3
symbol D4
symbol D5

graph @forward(
  %w_0 : f32[128] as torch.nn.parameter.Parameter,
  %x : f32[D0, 128]
) {
  %subtract = pd_op.subtract(%x, %w_0) : f32[D1, 128]
  %full_int_array = pd_op.full_int_array(dtype = torch.int64, place = "Place(cpu)", value = []) : i64[0]
  %sum = pd_op.sum(%subtract, %full_int_array, dtype = "Undefined", keepdim = False) : f32[]
  %dropout = pd_op.dropout(%subtract, None, %sum, fix_seed = False, is_test = False, mode = "upscale_in_train", seed = 0) : (f32[D2, 128], u8[D3, 128])
  %getitem = operator.getitem(%dropout, 0) : f32[D2, 128]
  %cast = pd_op.cast(%sum, dtype = torch.bool) : bool[]
  %if = pd_op.if(%cast, (@region, %subtract, %getitem), (@region_1, %subtract)) : f32[D5, 128]
  return (%if,)
}

graph @region(
  %captured_0 : f32[D1, 128],
  %captured_1 : f32[D2, 128]
) {
  %add = pd_op.add(%captured_0, %captured_1) : f32[D4, 128]
  return (%add,)
}

graph @region_1(
  %captured_0 : f32[D1, 128]
) {
  return (%captured_0,)
}
)gn");
  RoundTrip(kPaddle);
}

// The text has the form that Paddle's passes print: symbolic shapes, ids and a fused region.
TEST(PirReader, ReadsSymbolicShapesAndFusion) {
  const std::string text = R"pir({
 (%0) = "pd_op.data" [id:33] () {dtype:(pd_op.DataType)float32,name:"x",place:(pd_op.Place)Place(gpu:0),shape:(pd_op.IntArray)[-1,128],stop_gradient:[false],sym_shape_str:"shape[S0, 128], data[NULL]"} : () -> builtin.tensor<-1x128xf32> { (shape[S0, 128], data[NULL]) }	(op_33)
 (%1) = "cinn_op.fusion" [id:40] () {} : () -> builtin.tensor<-1x128xf32> { (shape[Add(S0, 1), 128], data[NULL]) } {
  (%2) = "pd_op.exp" [id:34] (%0) {stop_gradient:[false]} : (builtin.tensor<-1x128xf32>) -> builtin.tensor<-1x128xf32> { (shape[S0, 128], data[NULL]) }	(op_34)
  (%3) = "cinn_op.yield_store" [id:35] (%2) {} : (builtin.tensor<-1x128xf32>) -> builtin.tensor<-1x128xf32>
  () = "cf.yield" [id:36] (%3) {} : (builtin.tensor<-1x128xf32>) -> 
 }
 () = "builtin.shadow_output" [id:41] (%1) {output_name:"output_0"} : (builtin.tensor<-1x128xf32>) -> 
}
)pir";
  const std::string printed = RoundTrip(text);
  EXPECT_THAT(
      printed,
      HasSubstr(
          R"pir(sym_shape_str:"shape[Add(S0, 1), 128], data[NULL]"} : (builtin.tensor<-1x128xf32>) ->  {  })pir"));
  EXPECT_THAT(printed, HasSubstr(R"pir(place:(pd_op.Place)Place(gpu:0))pir"));
  EXPECT_THAT(
      printed,
      HasSubstr("-> builtin.tensor<-1x128xf32> { (shape[S0, 128], data[NULL]) }\t(op_3)\n"));
  EXPECT_THAT(printed, HasSubstr(R"pir((%3) = "cinn_op.yield_store" [id:4] (%2) {} : )pir"));
  EXPECT_THAT(printed, HasSubstr("    } { (shape[Add(S0, 1), 128], data[NULL]) }\t(op_2)\n"));
}

TEST(PirReader, KeepsTypesOfAttributesAndValues) {
  const std::string attributes =
      R"pir(a:(Int64)3,b:[(Int32)1,(Float)0.5],c:(pd_op.IntArray)[2,-1],d:<#AttrNull>,)pir"
      R"pir(e:(cinn_op.Group)<x,y>,f:"a \"b\" \\",g:(Double)inf,h:(0x7fac3),i:true,j:[],k:(Float)1e-05)pir";
  const std::string text = absl::StrCat(
      "{\n    (%0) = \"x.y\" [id:1] () {", attributes,
      ",stop_gradient:[true]} : () -> vec[builtin.tensor<2xf32>,builtin.tensor<f8e4m3fn>] { () "
      "}\t(op_1)\n"
      "    (%1) = \"x.z\" [id:2] (%0) {stop_gradient:[true]} : "
      "(vec[builtin.tensor<2xf32>,builtin.tensor<f8e4m3fn>]) -> cpu_tensor<3xi32> { () }\t(op_2)\n"
      "    (%2, %3) = \"x.two\" [id:3] (%1) {stop_gradient:[true,true]} : (cpu_tensor<3xi32>) -> "
      "builtin.tensor<1xb>, <<NULL TYPE>> { (), () }\t(op_3)\n"
      "    (%4) = \"x.w\" [id:4] (%2, <<NULL VALUE>>) {stop_gradient:[true]} : "
      "(builtin.tensor<1xb>, <<NULL TYPE>>) -> pd_op.tensor_array<f32> { () }\t(op_4)\n}\n");
  EXPECT_EQ(RoundTrip(text), text);
}

TEST(PirReader, CallsOfOthersAreText) {
  const std::string text = R"pir({
    (%0) = "pd_op.data" [id:1] () {dtype:(pd_op.DataType)float32,name:"x",place:(pd_op.Place)Place(undefined:0),shape:(pd_op.IntArray)[4],stop_gradient:[false]} : () -> builtin.tensor<4xf32> { () }	(op_1)
    (%1) = "Tensor.view" [id:2] (%0) {call:".view(%a0, (2, 2))",stop_gradient:[false]} : (builtin.tensor<4xf32>) -> builtin.tensor<2x2xf32> { () }	(op_2)
    (%2) = "torch.cond" [id:3] (%1) {call:"torch.cond(True, @r0, @r1, (%a0,))",stop_gradient:[true]} : (builtin.tensor<2x2xf32>) -> <<NULL TYPE>> {
        ^%arg_0 {type:(Type)builtin.tensor<2x2xf32>}
        () = "cf.yield" [id:4] (%arg_0) {} : (builtin.tensor<2x2xf32>) ->  {  }	(op_4)
    } else {
        ^%arg_1 {type:(Type)builtin.tensor<2x2xf32>}
        (%3) = "mylib.f" [id:5] (%arg_1) {call:"mylib.f([%a0], n = 3)",stop_gradient:[true]} : (builtin.tensor<2x2xf32>) -> <<NULL TYPE>> { () }	(op_5)
        () = "cf.yield" [id:6] (%3) {call:"return [%a0, None]"} : (<<NULL TYPE>>) ->  {  }	(op_6)
    } { () }	(op_3)
    () = "builtin.shadow_output" [id:7] (%2) {output_name:"output_0"} : (<<NULL TYPE>>) ->  {  }	(op_7)
}
)pir";
  EXPECT_EQ(RoundTrip(text), text);
  const auto module = ReadPir(text, "x.pir");
  ASSERT_OK(module);
  EXPECT_THAT(PrintModule(**module), HasSubstr("%view = .view(%x, (2, 2)) : f32[2, 2]"));
}

TEST(PirReader, ErrorsSayWhere) {
  EXPECT_EQ(ErrorOf("{\n  (%0) = \"a.b\" (%1) {} : () -> \n}"),
            "x.pir:2:17: no operation before has the result %1");
  EXPECT_EQ(ErrorOf("{\n  (%0) = \"a.b\" () {} : () -> tensor<2xf31>\n}"),
            "x.pir:2:37: expected a type such as 64x128xf32");
  EXPECT_EQ(ErrorOf("{\n  (%0) = \"a.b\" () {} : () -> \n}"),
            "x.pir:2:3: the operation has 1 results and 0 types");
  EXPECT_EQ(ErrorOf("{\n  (%0) = \"a.b\" () {x:1,x:2} : () -> i32\n}"),
            "x.pir:2:24: the attribute x is a duplicate");
  EXPECT_EQ(ErrorOf("{\n  (%0) = \"a.b\" () {x:} : () -> i32\n}"),
            "x.pir:2:22: expected a value, found '} : () -> i32'");
  EXPECT_EQ(ErrorOf("{\n  () = \"a.b () {} : () ->\n}"), "x.pir:2:8: the string does not end");
  EXPECT_EQ(ErrorOf("{\n"), "x.pir:2:1: expected '(', found the end");
  EXPECT_EQ(ErrorOf("{}\nx"), "x.pir:2:1: expected the end, found 'x'");
  EXPECT_EQ(ErrorOf("{(%0) = \"a.b\" () {} : () -> i32 (%0) = \"a.b\" () {} : () -> i32}"),
            "x.pir:1:34: value %0 already exists");
  EXPECT_THAT(ErrorOf("{(%0) = \"a.b\" () {call:\"f() ; g()\"} : () -> i32}"),
              HasSubstr("x.pir:1:2: this is not a call: "));
  EXPECT_THAT(ErrorOf("{(%0) = \"a.b\" () {x:(Int32)1.5} : () -> i32}"),
              HasSubstr("x.pir:1:28: expected an integer of 64 bits"));
  EXPECT_EQ(ErrorExcerpt(ReadPir("{}\nx", "x.pir").status()), "  x\n  ^\n");
}

TEST(PirReader, NestsAsDeepAsItMay) {
  const auto nested = [](int depth) {
    std::string text = "{\n";
    for (int i = 0; i < depth; ++i) absl::StrAppend(&text, "() = \"a.b\" () {} : () -> {\n");
    for (int i = 0; i < depth; ++i) text += "}\n";
    return text + "}\n";
  };
  EXPECT_OK(ReadPir(nested(150), "x.pir"));
  EXPECT_THAT(ErrorOf(nested(100000)), HasSubstr("regions nest too deep"));
  const std::string list(100000, '[');
  EXPECT_THAT(ErrorOf(absl::StrCat("{(%0) = \"a.b\" () {x:", list, "} : () -> i32}")),
              HasSubstr("lists nest too deep"));
  std::string type;
  for (int i = 0; i < 100000; ++i) type += "vec[";
  EXPECT_THAT(ErrorOf(absl::StrCat("{(%0) = \"a.b\" () {} : () -> ", type, "}")),
              HasSubstr("types nest too deep"));
}

TEST(PirReader, KnowsItsText) {
  EXPECT_TRUE(LooksLikePir(kPaddle));
  EXPECT_TRUE(LooksLikePir(" { // Operator Dialect\n () = \"a.b\""));
  EXPECT_FALSE(LooksLikePir("{\"key\": 1}"));
  EXPECT_FALSE(LooksLikePir("graph @forward() {"));
}

}  // namespace
}  // namespace graphnet::pir
