#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "graphnet/base/limits.h"
#include "graphnet/formats/graphnet_folder/framework.h"
#include "graphnet/formats/graphnet_folder/parsers.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/ir/verifier.h"
#include "gtest/gtest.h"

namespace graphnet {
namespace {

using ::testing::HasSubstr;

constexpr char kHead[] =
    "import torch\n"
    "from torch import device\n"
    "class GraphModule(torch.nn.Module):\n"
    "    def forward(self, x: torch.Tensor, y: torch.Tensor):\n";

// Returns a model.py whose forward has these lines, indented by eight spaces.
std::string Model(const std::string& body) {
  return absl::StrCat(kHead, "        ", absl::StrReplaceAll(body, {{"\n", "\n        "}}), "\n");
}

// Returns the nodes as text, without locations and without the lines that every case has.
std::string Parse(const std::string& body) {
  Module module;
  const absl::Status status = ParseModelPy(Model(body), "model.py", Framework::kTorch, &module);
  if (!status.ok()) return std::string(status.message());
  const absl::Status valid = Verify(module);
  if (!valid.ok()) return std::string(valid.message());
  std::string out;
  for (const Node* node : module.main()->nodes()) {
    if (node->is_placeholder() && node->name() == node->target()) continue;
    absl::StrAppend(&out, PrintNode(*node), "\n");
  }
  return out;
}

struct Case {
  const char* body;
  const char* nodes;
};

class StatementTest : public ::testing::TestWithParam<Case> {};

TEST_P(StatementTest, GivesNodes) { EXPECT_EQ(Parse(GetParam().body), GetParam().nodes); }

INSTANTIATE_TEST_SUITE_P(
    Calls, StatementTest,
    ::testing::Values(
        Case{"a = torch.relu(x)\nreturn (a,)", "%a = torch.relu(%x)\nreturn (%a,)\n"},
        Case{"a = torch.conv2d(x, y, None, (1, 1), bias = [x, -1], flag=True)\nreturn a",
             "%a = torch.conv2d(%x, %y, None, (1, 1), bias = [%x, -1], flag = True)\nreturn %a\n"},
        Case{"a = x.view(-1, 2);  x = None\nreturn (a, y)",
             "%a = .view(%x, -1, 2)\nreturn (%a, %y)\n"},
        Case{"a = x.to(device(type='cuda', index=0), torch.float16)\nreturn a",
             "%a = .to(%x, device(\"cuda:0\"), torch.float16)\nreturn %a\n"},
        Case{"torch._C._log_api_usage_once('a\\tb')\nreturn x",
             "%_log_api_usage_once = torch._C._log_api_usage_once(\"a\\tb\")\nreturn %x\n"},
        // A call in an argument is a node of its own.
        Case{"a = torch.add(torch.relu(x), y.abs())\nreturn a",
             "%relu = torch.relu(%x)\n%abs = .abs(%y)\n%a = torch.add(%relu, %abs)\nreturn %a\n"},
        Case{"a = torch.ops.aten.add.Tensor(x, {'k': [y], 2: None})\nreturn a",
             "%a = torch.ops.aten.add.Tensor(%x, {\"k\": [%y], 2: None})\nreturn %a\n"},
        Case{"a = max(x, 1)\nreturn a", "%a = builtins.max(%x, 1)\nreturn %a\n"}));

INSTANTIATE_TEST_SUITE_P(
    Operators, StatementTest,
    ::testing::Values(
        Case{"a = x + y\nreturn a", "%a = operator.add(%x, %y)\nreturn %a\n"},
        Case{"a = 1 - x\nreturn a", "%a = operator.sub(1, %x)\nreturn %a\n"},
        Case{"a = -x\nb = ~a\nreturn b",
             "%a = operator.neg(%x)\n%b = operator.invert(%a)\nreturn %b\n"},
        Case{"a = x @ y\nb = a ** 2\nc = b // 3\nd = c % 4\ne = d <= 1\nreturn e",
             "%a = operator.matmul(%x, %y)\n%b = operator.pow(%a, 2)\n%c = operator.floordiv(%b, "
             "3)\n"
             "%d = operator.mod(%c, 4)\n%e = operator.le(%d, 1)\nreturn %e\n"},
        // The precedence is ** over unary over * over +. ** groups to the right.
        Case{"a = x + y * -x ** 2 ** y\nreturn a",
             "%pow = operator.pow(2, %y)\n%pow_1 = operator.pow(%x, %pow)\n%neg = "
             "operator.neg(%pow_1)\n"
             "%mul = operator.mul(%y, %neg)\n%a = operator.add(%x, %mul)\nreturn %a\n"},
        Case{"a = (x + y) * 2\nreturn a",
             "%add = operator.add(%x, %y)\n%a = operator.mul(%add, 2)\nreturn %a\n"},
        Case{"a = x - y - 1\nreturn a",
             "%sub = operator.sub(%x, %y)\n%a = operator.sub(%sub, 1)\nreturn %a\n"},
        // The alias after an augmented assignment names its node.
        Case{"x += y\na = x;  x = y = None\nreturn a", "%a = operator.iadd(%x, %y)\nreturn %a\n"},
        Case{"x //= 2\nreturn x", "%ifloordiv = operator.ifloordiv(%x, 2)\nreturn %ifloordiv\n"}));

INSTANTIATE_TEST_SUITE_P(
    Subscripts, StatementTest,
    ::testing::Values(
        Case{"a = x[0]\nreturn a", "%a = operator.getitem(%x, 0)\nreturn %a\n"},
        Case{"a = x[(slice(None, None, None), Ellipsis, -1)]\nreturn a",
             "%a = operator.getitem(%x, (slice(None, None, None), ..., -1))\nreturn %a\n"},
        Case{"a = x[1:, ::2, y]\nreturn a",
             "%a = operator.getitem(%x, (slice(1, None, None), slice(None, None, 2), %y))\nreturn "
             "%a\n"},
        Case{"x[..., 0] = y\nsetitem = x;  setitem = None\nreturn x",
             "%setitem = operator.setitem(%x, (..., 0), %y)\nreturn %x\n"},
        Case{"a = x.shape\nb = a[0]\nreturn b",
             "%a = builtins.getattr(%x, \"shape\")\n%b = operator.getitem(%a, 0)\nreturn %b\n"},
        Case{"a = x.T.shape[1]\nreturn a",
             "%getattr = builtins.getattr(%x, \"T\")\n%getattr_1 = builtins.getattr(%getattr, "
             "\"shape\")\n"
             "%a = operator.getitem(%getattr_1, 1)\nreturn %a\n"}));

INSTANTIATE_TEST_SUITE_P(
    Names, StatementTest,
    ::testing::Values(
        // Aliases and literals are not nodes. The first alias of a parameter names it.
        Case{"l_x_ = x\nb = l_x_\nc = 2\na = torch.add(b, c)\nreturn a",
             "%l_x_ = placeholder x as torch.Tensor\n%a = torch.add(%l_x_, 2)\nreturn %a\n"},
        Case{"(\n    l_x_\n) = (\n    x\n)\nx = (\n    l_x_\n) = None\nreturn y",
             "%l_x_ = placeholder x as torch.Tensor\nreturn %y\n"},
        // A variable that is bound twice names one node. The other node gets a suffix.
        Case{"a = torch.relu(x)\na = torch.relu(a)\nreturn a",
             "%a = torch.relu(%x)\n%a_1 = torch.relu(%a)\nreturn %a_1\n"},
        Case{"a = b = torch.relu(x)\nreturn (a, b)", "%a = torch.relu(%x)\nreturn (%a, %a)\n"},
        Case{"output = torch.relu(x)\nreturn output",
             "%output = torch.relu(%x)\n%output_1 = return %output\n"}));

INSTANTIATE_TEST_SUITE_P(
    Literals, StatementTest,
    ::testing::Values(Case{"a = torch.f(x, 1e-05, -1.0, inf, -inf, 9223372036854775807, "
                           "-9223372036854775808)\nreturn a",
                           "%a = torch.f(%x, 1e-05, -1.0, inf, -inf, 9223372036854775807, "
                           "-9223372036854775808)\nreturn %a\n"},
                      Case{"a = torch.f(x, 2j, 1 + 2j, complex(1.0, -2.0), float('nan'))\nreturn a",
                           "%a = torch.f(%x, complex(0.0, 2.0), complex(1.0, 2.0), complex(1.0, "
                           "-2.0), nan)\nreturn %a\n"},
                      Case{"a = torch.f(x, torch.channels_last, torch.strided, (), [], (1,), ((1, "
                           "2), [3]))\nreturn a",
                           "%a = torch.f(%x, torch.channels_last, torch.strided, (), [], (1,), "
                           "((1, 2), [3]))\nreturn %a\n"},
                      Case{"a = torch.f(x, \"it's\", 'q\\'\\x41\\u00e9')  # comment\n\nreturn a",
                           "%a = torch.f(%x, \"it's\", \"q'Aé\")\nreturn %a\n"}));

TEST(ModelParserTest, NestedFunctionsAreGraphs) {
  Module module;
  const std::string text = Model(
      "def body(a, b: torch.Tensor):\n"
      "    c = a + b\n"
      "    return (c,)\n"
      "\n"
      "z = torch.cond(x, body, body, (x, y))\n"
      "return z");
  ASSERT_EQ(ParseModelPy(text, "model.py", Framework::kTorch, &module), absl::OkStatus());
  ASSERT_EQ(Verify(module), absl::OkStatus());
  ASSERT_EQ(module.graphs().size(), 2);
  EXPECT_EQ(module.graphs()[1]->name(), "body");
  EXPECT_EQ(PrintNode(*module.main()->FindNode("z")),
            "%z = torch.cond(%x, @body, @body, (%x, %y))");
}

TEST(ModelParserTest, KeepsPlacesAndAnnotations) {
  Module module;
  ASSERT_EQ(
      ParseModelPy(Model("a = torch.relu(x)\nreturn a"), "model.py", Framework::kTorch, &module),
      absl::OkStatus());
  const Node* a = module.main()->FindNode("a");
  EXPECT_EQ(a->location().file, "model.py");
  EXPECT_EQ(a->location().line, 5u);
  EXPECT_EQ(a->location().column, 9u);
  EXPECT_EQ(module.main()->first()->annotation(), "torch.Tensor");
}

struct ErrorCase {
  const char* body;
  const char* message;
};
class ErrorTest : public ::testing::TestWithParam<ErrorCase> {};
TEST_P(ErrorTest, NamesThePlace) { EXPECT_EQ(Parse(GetParam().body), GetParam().message); }

INSTANTIATE_TEST_SUITE_P(
    Body, ErrorTest,
    ::testing::Values(
        ErrorCase{"a = torch.relu(z)\nreturn a", "model.py:5:24: 'z' is not defined"},
        ErrorCase{"a = torch.relu(b)\nb = x\nreturn a", "model.py:5:24: 'b' is not defined"},
        ErrorCase{"a = x\na = x = None\nb = torch.relu(a)\nreturn b",
                  "model.py:7:24: 'a' is used after it was released (set to None)"},
        ErrorCase{"a = self.weight\nreturn a",
                  "model.py:5:13: attributes of self are outside the subset"},
        ErrorCase{"a = os.system('x')\nreturn a", "model.py:5:13: 'os' is not defined"},
        ErrorCase{
            "for i in x:\n    pass\nreturn x",
            "model.py:5:9: 'for' is outside the subset of straight-line assignments and calls"},
        ErrorCase{"a = lambda: x\nreturn a", "model.py:5:13: 'lambda' is outside the subset"},
        ErrorCase{"a = x if y else x\nreturn a", "model.py:5:15: 'if' is outside the subset"},
        ErrorCase{"a = [x for x in y]\nreturn a", "model.py:5:16: 'for' is outside the subset"},
        ErrorCase{"a, b = x\nreturn a", "model.py:5:10: assignments to tuples are not supported"},
        ErrorCase{"a: int = x\nreturn a", "model.py:5:10: annotated variables are not supported"},
        ErrorCase{"x.a = y\nreturn x",
                  "model.py:5:13: only names and subscripts can be assigned to"},
        ErrorCase{"a = x < y < x\nreturn a",
                  "model.py:5:19: chained comparisons are not supported"},
        ErrorCase{"a = f\"{x}\"\nreturn a", "model.py:5:13: prefixed strings are not supported"},
        ErrorCase{"a = torch.f(x, 99999999999999999999)\nreturn a",
                  "model.py:5:24: the integer does not fit in 64 bits"},
        ErrorCase{"a = torch.f(*x)\nreturn a",
                  "model.py:5:21: starred arguments are not supported"},
        ErrorCase{"a = torch.f(k=x, k=y)\nreturn a", "model.py:5:27: keyword 'k' is given twice"},
        ErrorCase{"a = torch.f(k=x, y)\nreturn a",
                  "model.py:5:27: a positional argument after a keyword argument"},
        ErrorCase{"a = torch.f(x\nreturn a",
                  "model.py:6:9: expected ')' after the arguments, found 'return'"},
        ErrorCase{"a = torch.f(x))\nreturn a",
                  "model.py:5:23: a closing bracket without an opening one"},
        ErrorCase{"a = 'x\nreturn a", "model.py:5:13: the string does not end on its line"},
        ErrorCase{"a = torch.nothing\nreturn a",
                  "model.py:5:13: 'torch.nothing' is not a constant known here"},
        ErrorCase{"a = device('gpu')\nreturn a",
                  "model.py:5:13: expected a device such as device(type='cuda', index=0)"},
        ErrorCase{"a = x()\nreturn a", "model.py:5:14: only functions and methods can be called"},
        ErrorCase{"a = x ? y\nreturn a", "model.py:5:15: unexpected character '?'"},
        ErrorCase{"a = torch.relu(x)", "model.py:6:1: the function ends without a return"},
        ErrorCase{"return x\na = x", "model.py:6:9: a statement after the return"},
        ErrorCase{"a = x\n  b = y\nreturn a", "model.py:6:11: unexpected indentation"},
        ErrorCase{"x",
                  "model.py:5:10: expected an assignment or a call, found the end of the line"}));

absl::Status ParseText(const std::string& text) {
  Module module;
  return ParseModelPy(text, "model.py", Framework::kTorch, &module);
}

TEST(ModelParserTest, RefusesForeignFiles) {
  const struct {
    std::string text;
    const char* message;
  } cases[] = {
      {"",
       "model.py:1:1: expected 'class GraphModule(torch.nn.Module):', found the end of the file"},
      {"import os\n",
       "model.py:1:8: module 'os' may not be imported; only torch, math, operator, builtins "
       "and typing may"},
      {"from os import system\n",
       "model.py:1:6: module 'os' may not be imported; only torch, math, operator, "
       "builtins and typing may"},
      {"os = torch.ops.aten\n",
       "model.py:1:1: only an operator namespace may be named here, as in 'os = "
       "torch.ops.os'"},
      {"class Other(torch.nn.Module):\n",
       "model.py:1:7: expected the class name GraphModule, found 'Other'"},
      {"class GraphModule(torch.nn.Module):\n    def f(self):\n        return\n",
       "model.py:2:9: expected the method name 'forward', found 'f'"},
      {"class GraphModule(torch.nn.Module):\n    def forward(self, x, x):\n        return x\n",
       "model.py:2:26: a second parameter named 'x'"},
      {"class GraphModule(torch.nn.Module):\n    def forward(self, x=1):\n        return x\n",
       "model.py:2:24: default values are not supported"},
      {absl::StrCat(Model("return x"), "    def other(self):\n        return\n"),
       "model.py:6:5: expected nothing after the method 'forward'"},
  };
  for (const auto& c : cases) EXPECT_EQ(ParseText(c.text).message(), c.message) << c.text;
}

TEST(ModelParserTest, SurvivesStrangeBytes) {
  EXPECT_THAT(std::string(ParseText(std::string("import torch\n\0", 14)).message()),
              HasSubstr("unexpected character '\\x00'"));
  EXPECT_THAT(std::string(ParseText(Model("a = x\xff\nreturn a")).message()),
              HasSubstr("unexpected character '\\xff'"));
  // As in Python, strings and comments must be text, too. Different code checks whole words of
  // eight bytes and the rest.
  for (const size_t before : {0, 7, 8, 9, 20}) {
    const std::string fill(before, 'z');
    for (const std::string& bytes :
         {std::string(1, '\0'), std::string("\xff"), std::string("\xc0\xaf"), std::string("\xc3"),
          std::string("\xed\xa0\x80")}) {
      const std::string text = fill + bytes + "zzzzzzzzz";
      EXPECT_EQ(ParseText(Model("a = x  # " + text + "\nreturn a")).message(),
                "model.py:5:16: the comment holds a NUL or is not UTF-8");
      EXPECT_EQ(ParseText(Model("a = torch.f(x, '" + text + "')\nreturn a")).message(),
                "model.py:5:24: the string holds a NUL or is not UTF-8");
      EXPECT_EQ(ParseText(Model("a = torch.f(x, '\\n" + text + "')\nreturn a")).message(),
                "model.py:5:24: the string holds a NUL or is not UTF-8");
    }
    EXPECT_EQ(Parse("a = torch.f(x, '" + fill + "\xc3\xa9\\0')  # \xc3\xa9\nreturn a"),
              "%a = torch.f(%x, \"" + fill + "\xc3\xa9\\x00\")\nreturn %a\n");
  }
  EXPECT_THAT(std::string(ParseText(Model("a = torch.f(x, '\\ud800')\nreturn a")).message()),
              HasSubstr("malformed escape"));
}

TEST(ModelParserTest, NestingIsBounded) {
  const auto nested = [](int depth) {
    return Model(absl::StrCat("a = torch.f(x, ", std::string(depth, '['), std::string(depth, ']'),
                              ")\nreturn a"));
  };
  // The call's own parenthesis counts, too.
  EXPECT_EQ(ParseText(nested(kMaxNesting - 2)), absl::OkStatus());
  EXPECT_EQ(ParseText(nested(kMaxNesting - 1)), absl::OkStatus());
  EXPECT_THAT(std::string(ParseText(nested(kMaxNesting)).message()),
              HasSubstr("brackets nest more than 200 deep"));
  EXPECT_THAT(std::string(ParseText(nested(1000000)).message()),
              HasSubstr("brackets nest more than 200 deep"));
  EXPECT_THAT(
      std::string(ParseText(Model(absl::StrCat("a = ", std::string(1000000, '-'), "x\nreturn a")))
                      .message()),
      HasSubstr("operators nest too deep"));
  std::string powers = "a = x";
  for (int i = 0; i < 100000; ++i) powers += " ** x";
  EXPECT_THAT(std::string(ParseText(Model(powers + "\nreturn a")).message()),
              HasSubstr("operators nest too deep"));
  // Chains that group to the left are parsed by a loop and need no bound.
  std::string sums = "a = x";
  for (int i = 0; i < 10000; ++i) sums += " + x";
  EXPECT_EQ(ParseText(Model(sums + "\nreturn a")), absl::OkStatus());
}

// Returns the lines `v0 = first`, `v1 = …`. In each, the name before it replaces $.
std::string Chain(const std::string& first, const std::string& next, int count) {
  std::string body = absl::StrCat("v0 = ", first, "\n");
  for (int i = 1; i < count; ++i) {
    absl::StrAppend(&body, "v", i, " = ",
                    absl::StrReplaceAll(next, {{"$", absl::StrCat("v", i - 1)}}), "\n");
  }
  return body;
}

size_t NumLines(const std::string& text) {
  return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST(ModelParserTest, SharesBoundValuesUntilTheyAreUsed) {
  for (const char* first : {"(x, x)", "(1, 2)", "[x]", "{'k': x}", "slice(x, 1)"}) {
    for (const char* next : {"($, $)", "[$, $]", "{'a': $, 'b': $}", "($, ($, [$]), x)"}) {
      const std::string body = Chain(first, next, 60);
      EXPECT_EQ(Parse(absl::StrCat(body, "a = torch.relu(x)\nreturn (a,)")),
                "%a = torch.relu(%x)\nreturn (%a,)\n");
    }
  }
  // Small values are written out.
  EXPECT_EQ(Parse(absl::StrCat(Chain("(x, 1)", "[$, $]", 3), "a = f_(v2)\nreturn (a,)")),
            "model.py:8:13: 'f_' is not defined");
  EXPECT_EQ(Parse(absl::StrCat(Chain("(x, 1)", "[$, $]", 3), "a = max(v2, k=v0)\nreturn v1")),
            "%a = builtins.max([[(%x, 1), (%x, 1)], [(%x, 1), (%x, 1)]], k = (%x, 1))\n"
            "return [(%x, 1), (%x, 1)]\n");
}

TEST(ModelParserTest, LargeSharedValuesBecomeNodes) {
  for (const char* first : {"(x, x)", "(1, 2)"}) {
    const std::string tuples = Parse(absl::StrCat(Chain(first, "($, $)", 40), "return v39"));
    // Tuples of up to 64 values are written out.
    EXPECT_EQ(NumLines(tuples), 36) << tuples;
    EXPECT_THAT(tuples, HasSubstr("= prim.TupleConstruct(%TupleConstruct_1, %TupleConstruct_1)"));
    EXPECT_THAT(tuples, HasSubstr("\nreturn %TupleConstruct_34\n"));
  }
  const std::string lists =
      Parse(absl::StrCat(Chain("[x]", "[$, $]", 40), "a = max(v39, v39, k=v38)\nreturn a"));
  EXPECT_THAT(lists, HasSubstr("= prim.ListConstruct(%ListConstruct, %ListConstruct)"));
  EXPECT_THAT(lists, HasSubstr("%a = builtins.max("));
  const std::string dicts =
      Parse(absl::StrCat(Chain("{'k': x}", "{'a': $, 'b': $}", 40), "return [v39]"));
  EXPECT_THAT(dicts, HasSubstr("= prim.DictConstruct(\"a\", %DictConstruct"));
  // This chain is too deep to be written out.
  const std::string deep = Parse(absl::StrCat(Chain("(x,)", "($,)", 50'000), "return v49999"));
  EXPECT_THAT(deep, HasSubstr("prim.TupleConstruct"));
  EXPECT_GT(NumLines(deep), 49'000u);
}

TEST(ModelParserTest, AListThatIsUsedOftenBecomesANode) {
  std::string body = "v = [x";
  for (int i = 0; i < 5000; ++i) absl::StrAppend(&body, ", ", i);
  absl::StrAppend(&body, "]\n");
  for (int i = 0; i < 5000; ++i) absl::StrAppend(&body, "a = max(v, ", i, ")\n");
  Module module;
  ASSERT_EQ(
      ParseModelPy(Model(absl::StrCat(body, "return a")), "model.py", Framework::kTorch, &module)
          .message(),
      "");
  EXPECT_EQ(Verify(module).message(), "");
  EXPECT_EQ(module.num_nodes(), 2 + 5000 + 1 + 1);
  EXPECT_LT(module.MemoryBytes(), size_t{500} << 20);
}

TEST(ModelParserTest, NamesAreBounded) {
  for (const size_t size : {kMaxNameBytes - 1, kMaxNameBytes}) {
    EXPECT_EQ(ParseText(Model(absl::StrCat(std::string(size, 'a'), " = torch.relu(x)\nreturn x"))),
              absl::OkStatus());
  }
  EXPECT_THAT(std::string(ParseText(Model(absl::StrCat(std::string(kMaxNameBytes + 1, 'a'),
                                                       " = x\nreturn x")))
                              .message()),
              HasSubstr("the name is too long"));
}

TEST(ModelParserTest, EveryTruncationIsRefusedOrWhole) {
  const std::string text =
      Model("a = torch.conv2d(x, y, (1, 1), 'zeros')\nb = a[0:2].sum()\nreturn (b,)");
  for (size_t size = 0; size < text.size() - 1; ++size) {
    EXPECT_FALSE(ParseText(text.substr(0, size)).ok()) << text.substr(0, size);
  }
}

// --- Numbers and files as Python reads them. tests/cli/readings_test.sh compares with Python.

TEST(ReadingTest, Numbers) {
  const auto value = [](const char* number) {
    return Parse(absl::StrCat("a = torch.add(x, ", number, ")\nreturn a"));
  };
  for (const auto& [written, read] : std::initializer_list<std::pair<const char*, const char*>>{
           {"0x1f", "31"},
           {"0X_1F", "31"},
           {"0b1_01", "5"},
           {"0o17", "15"},
           {"1_000", "1000"},
           {"0_0", "0"},
           {"1_0.2_5e0_1", "102.5"},
           {"-0x8000_0000_0000_0000", "-9223372036854775808"},
           {"0x7fffffffffffffff", "9223372036854775807"},
           {"1_0j", "complex(0.0, 10.0)"}}) {
    EXPECT_EQ(value(written), absl::StrCat("%a = torch.add(%x, ", read, ")\nreturn %a\n"));
  }
  for (const char* wrong : {"0x", "0x_", "0b2", "0o8", "0x1g", "1_", "1__0", "1_.5", "1._5", "1e_5",
                            "0_7", "007", "0b1.5", "0x1__f", "1_000_"}) {
    EXPECT_THAT(value(wrong), HasSubstr("model.py:5:2")) << wrong;
  }
  EXPECT_THAT(value("0x8000000000000000"), HasSubstr("does not fit in 64 bits"));
  EXPECT_THAT(value("0x10000000000000000"), HasSubstr("does not fit in 64 bits"));
}

TEST(ReadingTest, ByteOrderMarkAndCoding) {
  const std::string model = Model("a = torch.relu(x)\nreturn a");
  const auto read = [&](absl::string_view before) {
    Module module;
    return std::string(
        ParseModelPy(absl::StrCat(before, model), "model.py", Framework::kTorch, &module)
            .message());
  };
  for (const char* good :
       {"\xef\xbb\xbf", "# -*- coding: utf-8 -*-\n", "#coding=UTF_8\n",
        "\n# vim: fileencoding=utf8\n", "\xef\xbb\xbf# coding: utf-8\n", "# a coding line\n",
        "\n\n# coding: latin-1\n", "import torch  # coding: latin-1\n",
        "import torch\n# coding: latin-1\n", "# coding: utf-8\n# coding: latin-1\n"}) {
    EXPECT_EQ(read(good), "") << good;
  }
  for (const char* bad : {"# coding: latin-1\n", "# hello\n  # -*- coding: cp1252 -*-\n",
                          "#!/usr/bin/python\n# coding=ascii\n", "# encoding: coding: koi8-r\n"}) {
    EXPECT_THAT(read(bad), HasSubstr("the file says that it is not in UTF-8")) << bad;
  }
  EXPECT_THAT(read("\xef\xbb\xbf nonsense\n"), HasSubstr("model.py:1:2: "));
}

}  // namespace
}  // namespace graphnet
