#include "graphnet/interp/inputs/example_input.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "graphnet/interp/inputs/elements.h"
#include "graphnet/ir/text/parser.h"
#include "graphnet/ir/text/printer.h"
#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Key;

// Returns the module with its inputs described, as text, or the error.
std::string Described(absl::string_view text, const std::vector<std::string>& inputs,
                      Sample* keep = nullptr) {
  auto module = ParseModule(text, "test");
  if (!module.ok()) return std::string(module.status().message());
  Sample sample;
  sample.module = *std::move(module);
  const absl::Status status = DescribeInputs(inputs, /*seed=*/0, &sample);
  if (!status.ok()) return std::string(status.message());
  PrintOptions options;
  options.header = false;
  std::string printed = PrintModule(*sample.module, options);
  if (keep != nullptr) *keep = std::move(sample);
  return printed;
}

TEST(ExampleInputTest, WordsOfAllKinds) {
  const auto parsed = ParseExampleInput("x=dict(a=f32[2,3],b=list(i64[]:0..900,int=3),c=None)");
  ASSERT_OK(parsed);
  EXPECT_EQ(parsed->name, "x");
  EXPECT_THAT(parsed->keys, ElementsAre("a", "b", "c"));
  EXPECT_THAT(parsed->elements[0].sizes, ElementsAre(2, 3));
  const ExampleInput& ids = parsed->elements[1].elements[0];
  EXPECT_EQ(ids.dtype, DType::kInt64);
  EXPECT_THAT(ids.sizes, ElementsAre());
  EXPECT_EQ(ids.low, 0);
  EXPECT_EQ(ids.high, 900);
  EXPECT_EQ(parsed->elements[1].elements[1].integer, 3);
  EXPECT_EQ(parsed->elements[2].kind, ExampleInput::Kind::kNone);
  EXPECT_EQ(ParseExampleInput("float=0.5")->real, 0.5);
  EXPECT_EQ(ParseExampleInput("str=a,b=c")->text, "a,b=c");
  EXPECT_EQ(ParseExampleInput("y=bool=true")->integer, 1);
}

TEST(ExampleInputTest, RefusesBadWords) {
  for (const auto& [text, what] : std::vector<std::pair<std::string, std::string>>{
           {"f33[2]", "unknown dtype"},
           {"f32[2,-1]", "a size is not a number"},
           {"f32[99999999999999999999]", "a size is not a number"},
           {"f32[2]:3", "expected bounds"},
           {"i64[2]:5..3", "expected bounds"},
           {"int=x", "not an integer"},
           {"list(f32[2]", "brackets do not match"},
           {"list(f32[2]]", "brackets do not match"},
           {"dict(f32[2])", "expected key="},
           {"dict(a=f32[2],a=f32[3])", "a key occurs twice"},
           {std::string(100000, '(') + "list(", "brackets do not match"},
           {"[1,2", "brackets do not match"},
       }) {
    EXPECT_THAT(ParseExampleInput(text),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(what)))
        << text;
  }
  std::string deep;
  for (int i = 0; i < 10000; ++i) deep += "list(";
  deep += std::string(10000, ')');
  EXPECT_THAT(ParseExampleInput(deep),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("nests too deep")));
}

TEST(ExampleInputTest, LiteralsHaveTheDeclaredType) {
  using Kind = ExampleInput::Kind;
  struct Case {
    std::string text, type;
    Kind kind;
  };
  for (const auto& [text, type, kind] : std::vector<Case>{
           {"16000", "int", Kind::kInt},
           {"-3", "Optional[int]", Kind::kInt},
           {"7", "torch.SymInt", Kind::kInt},
           {"3", "float", Kind::kFloat},
           {"1e-3", "float", Kind::kFloat},
           {"inf", "Optional[float]", Kind::kFloat},
           {"true", "bool", Kind::kBool},
           {"False", "bool", Kind::kBool},
           {"16000", "str", Kind::kString},
           {"true", "Optional[str]", Kind::kString},
           {"abc", "str", Kind::kString},
           {"cpu", "Device", Kind::kString},
           {"1+2j", "complex", Kind::kComplex},
           {"1e-3-2e-1j", "complex", Kind::kComplex},
           {"2", "complex", Kind::kComplex},
           {"2", "Union[float, int]", Kind::kInt},
           {"2.0", "Union[float, int]", Kind::kFloat},
           {"2", "Union[float, str]", Kind::kFloat},
           {"true", "Union[int, str]", Kind::kString},
           {"2.5", "number", Kind::kFloat},
       }) {
    auto input = ParseExampleInput("x=" + text);
    ASSERT_OK(input);
    EXPECT_OK(FitTo(type, &*input)) << text << " as " << type;
    EXPECT_EQ(input->kind, kind) << text << " as " << type;
    EXPECT_FALSE(input->is_literal);
  }
  for (const auto& [text, type, what] : std::vector<std::array<std::string, 3>>{
           {"1.5", "int", "1.5 is no integer"},
           {"99999999999999999999", "int", "is no integer"},
           {"1", "bool", "1 is neither true nor false"},
           {"abc", "float", "abc is no number"},
           {"abc", "complex", "abc is no complex number"},
           {"abc", "Union[float, int]", "abc is no value of type Union[float, int]"},
           {"16000", "Tensor", "expected a dtype and sizes"},
           {"f32", "torch.Tensor", "expected a dtype and sizes"},
           {"", "Tensor", "expected a dtype and sizes"},
           {"[1,a]", "List[int]", "a is no integer"},
       }) {
    auto input = ParseExampleInput("x=" + text);
    ASSERT_OK(input);
    EXPECT_THAT(FitTo(type, &*input), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(what)))
        << text << " as " << type;
  }
  auto list = ParseExampleInput("[1, 2]");
  ASSERT_OK(list);
  ASSERT_OK(FitTo("List[float]", &*list));
  EXPECT_EQ(list->elements[1].kind, Kind::kFloat);
  auto tuple = ParseExampleInput("(1, abc, [true])");
  ASSERT_OK(tuple);
  ASSERT_OK(FitTo("Tuple[float, str, List[bool]]", &*tuple));
  EXPECT_EQ(tuple->elements[0].kind, Kind::kFloat);
  EXPECT_EQ(tuple->elements[2].elements[0].kind, Kind::kBool);
  auto dict = ParseExampleInput("dict(a=1, b=2)");
  ASSERT_OK(dict);
  ASSERT_OK(FitTo("Dict[str, Optional[float]]", &*dict));
  EXPECT_EQ(dict->elements[1].kind, Kind::kFloat);
  EXPECT_THAT(dict->keys, ElementsAre("a", "b"));
}

TEST(ExampleInputTest, DictsKeepTheOrderOfTheirKeys) {
  std::map<std::string, TensorData> values;
  const auto dict = ParseExampleInput("dict(b=1,a=2,c=dict(z=1,y=2))");
  ASSERT_OK(dict);
  ASSERT_OK(DrawExamples(*dict, "d", /*seed=*/0, &values));
  EXPECT_THAT(KeyOrder("d", values), ElementsAre("b", "a", "c"));
  EXPECT_THAT(KeyOrder("d.c", values), ElementsAre("z", "y"));
  values.clear();
  ASSERT_OK(DrawExamples(*ParseExampleInput("dict(a=1,b=2)"), "d", /*seed=*/0, &values));
  EXPECT_EQ(values.size(), 2);
}

TEST(DrawExampleTest, RefusesAList) {
  const auto list = ParseExampleInput("list(f32[2])");
  ASSERT_OK(list);
  EXPECT_THAT(DrawExample(*list, "x", /*seed=*/0),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("input x is not a tensor, number or string")));
}

TEST(DescribeInputsTest, InOrderAndByName) {
  constexpr absl::string_view kText =
      "graph @f(%x, %w as torch.nn.parameter.Parameter, %n as int, %y) {\n"
      "  return (%x, %w, %n, %y)\n}\n";
  EXPECT_EQ(Described(kText, {"y=i64[3]", "f32[2,4]", "7"}),
            "graph @f(\n  %x : f32[2, 4] {mean = 0.0, std = 5.0},\n"
            "  %w as torch.nn.parameter.Parameter,\n  %n as int {data = [7]},\n"
            "  %y : i64[3] {mean = 0.0, std = 5.0, min = 0, max = 9}\n) {\n"
            "  return (%x, %w, %n, %y)\n}\n");
  EXPECT_THAT(Described(kText, {"z=f32[2]"}), HasSubstr("there is no input z"));
  EXPECT_THAT(Described(kText, {"y=f32[2]", "y=f32[2]"}), HasSubstr("given twice"));
  EXPECT_THAT(Described(kText, {"f32[1]", "int=1", "f32[1]", "f32[1]"}),
              HasSubstr("--input f32[1]: there is no input for it"));
  EXPECT_THAT(Described(kText, {"f32[1]", "f32[1]"}), HasSubstr("n is annotated int"));
  EXPECT_THAT(Described(kText, {"n=float=1"}), HasSubstr("n is annotated int"));
  EXPECT_THAT(Described(kText, {"None"}), HasSubstr("x is not Optional"));
  EXPECT_THAT(Described(kText, {"list(f32[2])"}), HasSubstr("not as a list"));
}

// The words before = mean a kind only where no input is called so.
TEST(DescribeInputsTest, NamesOfInputsComeBeforeWords) {
  for (const std::string name : {"int", "float", "bool", "str", "list", "None", "f32", "a=b",
                                 "x[0]", "list(a", "{", "a b", "é", "int=int"}) {
    Sample sample;
    const std::string text =
        absl::StrCat("graph @f(%x, %y \"", name, "\") {\n  return (%x, %y)\n}\n");
    EXPECT_THAT(Described(text, {absl::StrCat(name, "=f32[3]"), "x=f32[2]"}, &sample),
                HasSubstr("f32[3]"))
        << name;
    EXPECT_THAT(Described(text, {"f32[4]", absl::StrCat(name, "=f32[3]")}), HasSubstr("f32[4]"))
        << name;
  }
  EXPECT_THAT(Described("graph @f(%int as int, %x as int) {\n  return (%int, %x)\n}\n",
                        {"x=int=3", "int=int=4"}),
              HasSubstr("%int as int {data = [4]},\n  %x as int {data = [3]}"));
  // The longest name counts.
  EXPECT_THAT(Described("graph @f(%a, %b \"a=f32[1]\") {\n  return (%a, %b)\n}\n",
                        {"a=f32[1]=f32[2]", "a=f32[3]"}),
              AllOf(HasSubstr("%a : f32[3]"), HasSubstr(": f32[2]")));
}

// The weights of a submodule may begin like the elements of a list.
TEST(DescribeInputsTest, TensorsHaveNoElements) {
  for (const auto& [type, word, stays] :
       std::vector<std::tuple<std::string, std::string, bool>>{{"torch.Tensor", "y=f32[2]", true},
                                                               {"int", "y=3", true},
                                                               {"List[Tensor]", "y=list()", false},
                                                               {"Any", "y=3", false}}) {
    auto module =
        ParseModule(absl::StrCat("graph @f(%y as \"", type, "\") {\n  return (%y,)\n}\n"), "test");
    ASSERT_OK(module);
    Sample sample;
    sample.module = *std::move(module);
    sample.weights["y.weight"] = {};
    EXPECT_OK(DescribeInputs({word}, /*seed=*/0, &sample));
    EXPECT_EQ(sample.weights.contains("y.weight"), stays) << type;
  }
}

TEST(DescribeInputsTest, KnownMetasMustAgree) {
  constexpr absl::string_view kText =
      "graph @f(\n  %x : f32[2, 3] {std = 0.5}\n) {\n  %a = torch.relu(%x) : f32[2, 3]\n"
      "  return (%a,)\n}\n";
  EXPECT_EQ(Described(kText, {"f32[2,3]"}), kText);
  EXPECT_THAT(Described(kText, {"f16[2,3]"}), HasSubstr("x is known to be f32[2,3]"));
  EXPECT_THAT(Described(kText, {"f32[2]"}), HasSubstr("x is known to be f32[2,3]"));
  // With another size, the metas of later values are no longer true.
  EXPECT_EQ(Described(kText, {"f32[4,3]"}),
            "graph @f(\n  %x : f32[4, 3] {mean = 0.0, std = 5.0}\n) {\n  %a = torch.relu(%x)\n"
            "  return (%a,)\n}\n");
}

TEST(DescribeInputsTest, SymbolsTakeTheSizes) {
  constexpr absl::string_view kText =
      "symbol s0 = 4\ngraph @f(%x : f32[s0, 3], %y : f32[s0 + 1]) {\n  return (%x, %y)\n}\n";
  EXPECT_THAT(Described(kText, {"f32[8,3]", "f32[9]"}), HasSubstr("symbol s0 = 8\n"));
  EXPECT_THAT(Described(kText, {"f32[8,3]", "f32[5]"}),
              HasSubstr("--input f32[5]: dimension 0 of y is 9 by the symbols"));
}

TEST(DescribeInputsTest, StructuresAreDrawnByName) {
  constexpr absl::string_view kText =
      "graph @f(%x as \"List[Tensor]\", %y as \"Dict[str, Tensor]\") {\n  return (%x, %y)\n}\n";
  Sample sample;
  Described(kText, {"list(f32[2],f32[3])", "dict(a=f32[1])"}, &sample);
  EXPECT_THAT(sample.weights, ElementsAre(Key("x.0"), Key("x.1"), Key("y.a")));
  EXPECT_THAT(sample.weights["x.1"].shape, ElementsAre(3));
  EXPECT_THAT(Described(kText, {"f32[2]"}), HasSubstr("x is annotated List[Tensor]"));
}

// Returns the kinds that a value gets of a type, as in "int", "List(int,float)"; or the error.
std::string Fitted(absl::string_view type, const std::string& word) {
  auto input = ParseExampleInput(word);
  if (!input.ok()) return std::string(input.status().message());
  if (const absl::Status status = FitTo(type, &*input); !status.ok())
    return std::string(status.message());
  std::map<std::string, TensorData> values;
  EXPECT_OK(DrawExamples(*input, "x", 0, &values));
  std::string found;
  for (const auto& [name, value] : values) {
    absl::StrAppend(&found, found.empty() ? "" : " ", name);
    if (absl::EndsWith(name, ".")) absl::StrAppend(&found, "=", *value.bytes);
  }
  return found;
}

// A value of a union says which member it is, unless there is only one way to read it.
TEST(ExampleInputTest, UnionsTakeAllTheirMembers) {
  EXPECT_EQ(Fitted("Union[Tensor, int]", "3"), "x x.=int");
  EXPECT_EQ(Fitted("Union[Tensor, int]", "int=3"), "x x.=int");
  EXPECT_EQ(Fitted("Union[Tensor, int]", "i64[]"), "x x.=Tensor");
  EXPECT_EQ(Fitted("Union[Tensor, int, NoneType]", "None"), "x.=None");
  EXPECT_EQ(Fitted("Union[Tensor, List[Tensor]]", "[f32[2]]"), "x.=List x.0 x.0.=Tensor");
  EXPECT_EQ(Fitted("Union[Tensor, List[Tensor]]", "list(f32[2])"), "x.=List x.0 x.0.=Tensor");
  EXPECT_EQ(Fitted("Optional[Union[Tensor, List[Tensor]]]", "[]"), "x.=List");
  EXPECT_EQ(Fitted("Union[List[Tensor], List[int]]", "[1]"), "x.=List x.0 x.0.=int");
  EXPECT_EQ(Fitted("Union[List[float], List[int]]", "[1]"), "x.=List x.0 x.0.=int");
  EXPECT_EQ(Fitted("Union[List[float], str]", "[1]"), "x.=List x.0 x.0.=float");
  EXPECT_EQ(Fitted("Union[int, Tuple[int, float]]", "(1,2)"),
            "x.=Tuple x.0 x.0.=int x.1 x.1.=float");
  EXPECT_EQ(Fitted("Union[Tensor, Dict[str, Tensor]]", "{a: f32[2]}"), "x.=Dict x.a x.a.=Tensor");
  EXPECT_EQ(Fitted("Union[float, Tensor]", "3"), "x x.=float");
  EXPECT_EQ(Fitted("Union[complex, float]", "3"), "x x.=float");
  EXPECT_EQ(Fitted("Union[complex, str]", "3"), "x x.=complex");
  EXPECT_EQ(Fitted("Union[int, str]", "abc"), "x x.=str");
  EXPECT_EQ(Fitted("Union[int, Device]", "cpu"), "x x.=str");
  EXPECT_EQ(Fitted("Any", "[1,abc]"), "x.=List x.0 x.0.=int x.1 x.1.=str");
  for (const char* word : {"abc", "1.5", "f32[2]", "None", "[abc]", "(1,2)"})
    EXPECT_THAT(Fitted("Union[int, List[int]]", word), HasSubstr("no value of type Union")) << word;
  EXPECT_THAT(Fitted("Union[int, Tuple[int, float]]", "(1,2,3)"), HasSubstr("no value of type"));
  // None and empty structures within others are there, too.
  EXPECT_EQ(Fitted("List[Optional[Tensor]]", "[f32[2],None]"), "x.0 x.1.=None");
  EXPECT_EQ(Fitted("List[List[int]]", "[[1],[]]"), "x.0.0 x.1.=List");
}

// Unions within unions: each member is tried once at each place, and what would be too much work is
// refused. Types that double from level to level are the worst of their kind.
TEST(ExampleInputTest, UnionsWithinUnions) {
  const auto nested = [](const std::string& first, const std::string& second, int depth) {
    std::string type = "Union[int, str]";
    for (int i = 0; i < depth; ++i)
      type = absl::StrCat("Union[", first, type, "], ", second, type, "]]");
    return type;
  };
  const auto list = [](const std::string& element, int depth) {
    return absl::StrCat(std::string(depth, '['), element, std::string(depth, ']'));
  };
  EXPECT_EQ(Fitted(nested("List[", "Dict[str, ", 3), list("1", 3)),
            "x.=List x.0.=List x.0.0.=List x.0.0.0 x.0.0.0.=int");
  EXPECT_EQ(Fitted(nested("Dict[str, ", "List[", 3), list("a", 3)),
            "x.=List x.0.=List x.0.0.=List x.0.0.0 x.0.0.0.=str");
  EXPECT_THAT(Fitted(nested("List[", "Dict[str, ", 3), list("1", 2)),
              HasSubstr("no value of type"));
  // 2^12 places, of which most fit nothing.
  EXPECT_THAT(Fitted(nested("List[", "Tuple[", 12), list("f32[2]", 12)),
              HasSubstr("no value of type Union"));
  std::string many = "1";
  for (int i = 1; i < 3000; ++i) many += ",1";
  std::string members = "List[str]";
  for (int i = 0; i < 3000; ++i) members += ", List[Tensor]";
  const absl::Time start = absl::Now();
  EXPECT_THAT(Fitted(absl::StrCat("Union[", members, "]"), absl::StrCat("[", many, ",f32[2]]")),
              HasSubstr("too many of their members would have to be tried"));
  EXPECT_THAT(Fitted(nested("List[", "List[", 11),
                     absl::StrCat(std::string(11, '['), many, ",f32[2]", std::string(11, ']'))),
              HasSubstr("too many of their members would have to be tried"));
  EXPECT_LT(absl::Now() - start, absl::Seconds(60));
}

TEST(ExampleInputTest, IntsByTheNamesOfPyTorch) {
  const auto number = [](const std::string& word) {
    auto input = ParseExampleInput(word);
    EXPECT_OK(input);
    const absl::Status fits = FitTo("int", &*input);
    return fits.ok() ? std::to_string(input->integer) : std::string(fits.message());
  };
  EXPECT_EQ(number("torch.float16"), "5");
  EXPECT_EQ(number("float16"), "5");
  EXPECT_EQ(number("torch.channels_last"), "2");
  EXPECT_THAT(number("float17"), HasSubstr("no integer"));
  EXPECT_EQ(Described("graph @g(%x) {\n  return (%x,)\n}\n", {"x=float8_e5m2[2]"}),
            Described("graph @g(%x) {\n  return (%x,)\n}\n", {"x=f8e5m2[2]"}));
}

}  // namespace
}  // namespace graphnet
