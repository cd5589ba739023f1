// Every message of the parser, with its place.

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/text/excerpt.h"
#include "graphnet/ir/text/parser.h"
#include "gtest/gtest.h"

namespace graphnet {
namespace {

struct Case {
  absl::string_view text, message;
};

void ExpectErrors(absl::Span<const Case> cases, bool sample) {
  for (const Case& c : cases) {
    const absl::Status status =
        sample ? ParseSample(c.text, "t").status() : ParseModule(c.text, "t").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << c.text;
    EXPECT_EQ(status.message(), c.message) << c.text;
    EXPECT_FALSE(ErrorExcerpt(status).empty()) << c.text;
  }
}

TEST(ParserErrorsTest, Headers) {
  static constexpr Case kCases[] = {
      {"graphnet.module", "t:1:16: expected a version number, found the end of the text"},
      {"graphnet.module x", "t:1:17: expected a version number, found 'x'"},
      {"graphnet.module 2", "t:1:17: version 2 is not known; this reader knows version 1"},
      {"graphnet.module 1",
       "t:1:18: expected symbol, relation, attribute, graph or end, found the end of the text"},
      {"graphnet.module 1 end end", "t:1:23: expected nothing more, found 'end'"},
      {"graphnet.module 1 graphs",
       "t:1:19: expected symbol, relation, attribute, graph or end, found 'graphs'"},
      {"graphnet.sample 1 end", "t:1:1: expected a module, found 'graphnet.sample'"},
      {"nonsense", "t:1:1: expected symbol, relation, attribute or graph, found 'nonsense'"},
      {"end", "t:1:1: expected symbol, relation, attribute or graph, found 'end'"},
      {"\n\n  ]", "t:3:3: expected symbol, relation, attribute or graph, found ']'"},
      {"\xc3\xa9", "t:1:1: expected symbol, relation, attribute or graph, found '\xc3\xa9'"},
      {"\xff", "t:1:1: expected symbol, relation, attribute or graph, found '\\xff'"},
      {absl::string_view("\0", 1),
       "t:1:1: expected symbol, relation, attribute or graph, found '\\x00'"},
      {"\"a\"", "t:1:1: expected symbol, relation, attribute or graph, found '\"a\"'"},
      {"\"abc", "t:1:1: expected symbol, relation, attribute or graph, found '\"abc'"},
      {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
       "t:1:1: expected symbol, relation, attribute or graph, found "
       "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...'"},
  };
  ExpectErrors(kCases, false);
}

TEST(ParserErrorsTest, Samples) {
  static constexpr Case kCases[] = {
      {"graphnet.sample", "t:1:16: expected a version number, found the end of the text"},
      {"graphnet.sample 3", "t:1:17: version 3 is not known; this reader knows version 1"},
      {"graphnet.sample 1",
       "t:1:18: expected a field of the sample, graphnet.module or end, found the end of the text"},
      {"graphnet.sample 1\nnom = \"a\"",
       "t:2:1: expected a field of the sample, graphnet.module or end, found 'nom'"},
      {"graphnet.sample 1 end x", "t:1:23: expected nothing more, found 'x'"},
      {"graphnet.sample 1 graphnet.module 2",
       "t:1:35: version 2 is not known; this reader knows version 1"},
      {"graphnet.sample 1 name \"a\"", "t:1:24: expected '=', found '\"a\"'"},
      {"graphnet.sample 1 name = a", "t:1:26: expected a string, found 'a'"},
      {"graphnet.sample 1\nname = \"a\"\nname = \"b\"", "t:3:1: name is given twice"},
      {"graphnet.sample 1 graph_hash = \"a\" graph_hash = \"b\"",
       "t:1:36: graph_hash is given twice"},
      {"graphnet.sample 1 graph_net_json = \"a\" graph_net_json = \"b\"",
       "t:1:40: graph_net_json is given twice"},
      {"graphnet.sample 1 constraints = 1", "t:1:33: expected True or False, found '1'"},
      {"graphnet.sample 1 constraints = True constraints = True",
       "t:1:38: constraints is given twice"},
      {"graphnet.sample 1 constraint_order = \"a\"", "t:1:38: expected '[', found '\"a\"'"},
      {"graphnet.sample 1 constraint_order = [a]", "t:1:39: expected a string, found 'a'"},
      {"graphnet.sample 1 constraint_order = [\"a\" \"b\"]",
       "t:1:43: expected ',' or ']', found '\"b\"'"},
      {"graphnet.sample 1 constraint_order = [\"a\"] constraint_order = []",
       "t:1:44: constraint_order is given twice"},
      {"graphnet.sample 1 provenance 1", "t:1:30: expected '[', found '1'"},
      {"graphnet.sample 1 provenance [1.5", "t:1:31: expected an integer, found '1.5'"},
      {"graphnet.sample 1 provenance [1, 2]", "t:1:35: expected ')', found ']'"},
      {"graphnet.sample 1 provenance [1, 2) from", "t:1:37: expected 'of', found 'from'"},
      {"graphnet.sample 1 provenance [1, 2) of x", "t:1:40: expected a string, found 'x'"},
      {"graphnet.sample 1 provenance [1, 2) of \"x\" hash x",
       "t:1:49: expected a string, found 'x'"},
      {"graphnet.sample 1 file = \"\"", "t:1:24: expected the name of a file, found '='"},
      {"graphnet.sample 1 file a.b \"\"", "t:1:28: expected '=', found '\"\"'"},
      {"graphnet.sample 1 file a = \"\" file \"a\" = \"\"", "t:1:31: file a is given twice"},
  };
  ExpectErrors(kCases, true);
}

TEST(ParserErrorsTest, Declarations) {
  static constexpr Case kCases[] = {
      {"symbol", "t:1:7: expected the name of a symbol, found the end of the text"},
      {"symbol \"\"", "t:1:8: expected the name of a symbol, found an empty name"},
      {"symbol .x", "t:1:8: expected the name of a symbol, found '.x'"},
      {"symbol a = b", "t:1:12: expected an integer, found 'b'"},
      {"symbol a = 1.0", "t:1:12: expected an integer, found '1.0'"},
      {"symbol a\nsymbol b\nsymbol \"a\"", "t:3:8: symbol a is declared twice"},
      {"relation a", "t:1:10: expected a comparison, such as S0 < S1"},
      {"relation a = b", "t:1:10: expected a comparison, such as S0 < S1"},
      {"relation a < (b < c)", "t:1:17: expected ')', found '<'"},
      {"relation a <", "t:1:13: expected an expression, found the end of the text"},
      {"relation a + < b", "t:1:14: expected an expression, found '<'"},
      {"relation a < \"\"", "t:1:14: expected an expression, found an empty name"},
      {"relation -1**2 < a", "t:1:10: put the base of the power in parentheses"},
      {"relation 1.5 < a", "t:1:10: expected an integer, found '1.5'"},
      {"relation min(a) < b", "t:1:15: expected ',', found ')'"},
      {"relation min a < b", "t:1:14: expected '(', found 'a'"},
      {"relation max(a, b < c", "t:1:19: expected ')', found '<'"},
      {"relation (a < b", "t:1:13: expected ')', found '<'"},
      {"relation 9223372036854775808 < b", "t:1:10: the integer does not fit 64 bits"},
      {"attribute", "t:1:10: expected the name of an attribute, found the end of the text"},
      {"attribute \"\"", "t:1:11: expected the name of an attribute, found an empty name"},
      {"attribute w attribute w", "t:1:23: attribute w is declared twice"},
      {"attribute w : (f32,)", "t:1:15: expected a dtype, such as f32, found '('"},
      {"attribute w as \"\"", "t:1:16: expected a type, found an empty name"},
      {"attribute w in a", "t:1:13: expected symbol, relation, attribute or graph, found 'in'"},
  };
  ExpectErrors(kCases, false);
}

TEST(ParserErrorsTest, Graphs) {
  static constexpr Case kCases[] = {
      {"graph", "t:1:6: expected '@', found the end of the text"},
      {"graph x", "t:1:7: expected '@', found 'x'"},
      {"graph @", "t:1:8: expected the name of a graph, found the end of the text"},
      {"graph @\"\"", "t:1:8: expected the name of a graph, found an empty name"},
      {"graph @g() {}\ngraph @g() {}", "t:2:7: graph @g is defined twice"},
      {"graph @g {", "t:1:10: expected '(', found '{'"},
      {"graph @g(x)", "t:1:10: expected a parameter or ')', found 'x'"},
      {"graph @g(%)", "t:1:11: expected the name of a node, found ')'"},
      {"graph @g(%\"\")", "t:1:11: expected the name of a node, found an empty name"},
      {"graph @g(%x %y)", "t:1:13: expected ',' or ')', found '%'"},
      {"graph @g(%x, %x)", "t:1:14: %x is defined twice"},
      {"graph @g(%x target)", "t:1:13: expected ',' or ')', found 'target'"},
      {"graph @g()", "t:1:11: expected '{', found the end of the text"},
      {"graph @g() {", "t:1:13: expected '%', return or '}', found the end of the text"},
      {"graph @g() { x", "t:1:14: expected '%', return or '}', found 'x'"},
      {"graph @g() { %x f()", "t:1:17: expected '=', found 'f'"},
      {"graph @g() { %x = }", "t:1:19: expected an operation, found '}'"},
      {"graph @g() { %x = f }", "t:1:21: expected '(', found '}'"},
      {"graph @g() { %x = \"f\" }", "t:1:23: expected '(', found '}'"},
      {"graph @g() { %x = . }", "t:1:21: expected the name of a method, found '}'"},
      {"graph @g() { %x = ...f() }", "t:1:20: expected the name of a method, found '..f'"},
      {"graph @g() { %x = get_attr }", "t:1:28: expected a name, found '}'"},
      {"graph @g() { %x = placeholder }", "t:1:31: expected a name, found '}'"},
      {"graph @g() { %x = call_module (1) }", "t:1:31: expected the path of a module, found '('"},
      {"graph @g() { %x = call_module a }", "t:1:33: expected '(', found '}'"},
      {"graph @g() { %x = output o }", "t:1:28: expected '(', found '}'"},
      {"graph @g() { %x = f() %x = f() }", "t:1:23: %x is defined twice"},
      {"graph @g() { return 1 return 2 }", "t:1:23: %output is defined twice"},
      {"graph @g() { return }", "t:1:21: expected a value, found '}'"},
      {"graph @g() { %x = f(%y) %y = f() }", "t:1:21: %y is not defined before its use"},
      {"graph @f(%y) {}\ngraph @g() { %x = f([%y]) }", "t:2:22: %y is not defined before its use"},
      {"graph @g() { %x = f(%x) }", "t:1:21: %x is used in its own definition"},
      {"graph @g() {\n  %x = f(1,\n    @h) }", "t:3:5: there is no graph @h"},
      {"graph @g() { return [@\"h\\n\"] }", "t:1:22: there is no graph @h\\n"},
      {"graph @g() { %x = f() as }", "t:1:26: expected a type, found '}'"},
      {"graph @g() { %x = f() in }", "t:1:26: expected the path of a module, found '}'"},
      {"graph @g() { %x = f() in a as b }", "t:1:28: expected '%', return or '}', found 'as'"},
      {"graph @g() { %x = f() at }", "t:1:26: expected a line number, found '}'"},
      {"graph @g() { %x = f() at \"m\":}", "t:1:30: expected a line number, found '}'"},
      {"graph @g() { %x = f() at -1 }", "t:1:26: expected a line number from 0 to 4294967295"},
      {"graph @g() { %x = f() at 4294967296 }",
       "t:1:26: expected a line number from 0 to 4294967295"},
      {"graph @g() { %x = f() at 1:x }", "t:1:28: expected a column, found 'x'"},
  };
  ExpectErrors(kCases, false);
}

// Each value stands in "graph @g(%x) { %y = f($) }", whose arguments start at column 24.
TEST(ParserErrorsTest, Values) {
  static constexpr Case kCases[] = {
      {"none", "expected a value, found 'none'"},
      {"1 2", "+2 expected ',' or ')', found '2'"},
      {"1x", "+1 expected ',' or ')', found 'x'"},
      {",", "expected a value, found ','"},
      {"=", "expected a value, found '='"},
      {"..", "expected a value, found '..'"},
      {".5", "expected a value, found '.5'"},
      {"+5", "expected a value, found '+'"},
      {"-", "expected a value, found '-'"},
      {"- 5", "expected a value, found '-'"},
      {"-nan", "expected a value, found '-'"},
      {"9223372036854775808", "the integer does not fit 64 bits"},
      {"-9223372036854775809", "the integer does not fit 64 bits"},
      {"1e400", "the number does not fit a 64-bit float"},
      {"1e-400", "the number does not fit a 64-bit float"},
      {"nan(1)", "+4 expected the bits of a nan, such as 0x7ff8000000000001, found '1'"},
      {"nan(0x7ff0000000000000)",
       "+4 expected the bits of a nan, such as 0x7ff8000000000001, found '0x7ff0000000000000'"},
      {"nan(0x7ff800000000000g)",
       "+4 expected the bits of a nan, such as 0x7ff8000000000001, found '0x7ff800000000000g'"},
      {"nan(0x7ff8000000000001 1)", "+23 expected ')', found '1'"},
      {"\"abc", "the string does not end on its line"},
      {"\"abc\\", "the string does not end on its line"},
      {"\"a\nb\"", "the string does not end on its line"},
      {"\"a\\q\"", R"(+2 expected \n, \t, \r, \", \\ or \xNN)"},
      {"\"a\\x4\"", "+2 expected two hexadecimal digits after \\x"},
      {"\"a\\xg0\"", "+2 expected two hexadecimal digits after \\x"},
      {"torch.foo", "expected a dtype, layout or memory format of torch, found 'torch.foo'"},
      {"torch.", "expected a dtype, layout or memory format of torch, found 'torch.'"},
      {"device(cpu)", "+7 expected a device in quotes, found 'cpu'"},
      {"device(\"gpu\")", "+8 expected a device, such as cpu or cuda:0, found 'gpu'"},
      {"device(\"cuda:-1\")", "+13 expected the index of a device from 0 to 32767"},
      {"device(\"cuda:32768\")", "+13 expected the index of a device from 0 to 32767"},
      {"device(\"cuda:x\")", "+13 expected the index of a device, found 'x'"},
      {"device(\"cpu)", "+11 expected '\"', found ')'"},
      {"complex(1)", "+9 expected ',', found ')'"},
      {"complex(a, 1)", "+8 expected a number, found 'a'"},
      {"slice(1, 2)", "expected slice(start, stop, step), found 2 values"},
      {"slice 1", "+6 expected '(', found '1'"},
      {"sym()", "+4 expected an expression, found ')'"},
      {"sym(a b)", "+6 expected ')', found 'b'"},
      {"[1 2]", "+3 expected ',' or ']', found '2'"},
      {"[1)", "+2 expected ',' or ']', found ')'"},
      {"(1)", "a tuple of one element needs a comma: (x,)"},
      {"(1 2)", "+3 expected ',' or ')', found '2'"},
      {"{1}", "+2 expected ':', found '}'"},
      {"{1: 2 3: 4}", "+6 expected ',' or '}', found '3'"},
      {"%", "+1 expected the name of a node, found ')'"},
      {"@", "+1 expected the name of a graph, found ')'"},
      {"k = 1, 2", "+7 a positional argument follows a keyword argument"},
      {"k = 1, k = 2", "+7 keyword argument 'k' is given twice"},
      {"k = ", "+4 expected a value, found ')'"},
      {"[1, 2, <5 more>]", "+7 the text was cut here when it was printed for people to read"},
      {"\"abc\"<5 more bytes>", "+5 the text was cut here when it was printed for people to read"},
      {"<nested too deeply>", "the text was cut here when it was printed for people to read"},
  };
  for (const Case& c : kCases) {
    absl::string_view message = c.message;
    size_t column = 23;
    if (message[0] == '+') {
      size_t offset = 0;
      message.remove_prefix(1);
      while (message[0] != ' ') {
        offset = offset * 10 + static_cast<size_t>(message[0] - '0');
        message.remove_prefix(1);
      }
      message.remove_prefix(1);
      column += offset;
    }
    const auto status =
        ParseModule(absl::StrCat("graph @g(%x) { %y = f(", c.text, ") }"), "t").status();
    EXPECT_EQ(status.message(), absl::StrCat("t:1:", column, ": ", message)) << c.text;
  }
}

// Each text is the meta and draw spec of a parameter, and starts at column 15.
TEST(ParserErrorsTest, Metas) {
  static constexpr struct {
    absl::string_view text;
    size_t offset;
    absl::string_view message;
  } kCases[] = {
      {"", 0, "expected a dtype, such as f32, found ')'"},
      {"float32", 0, "expected a dtype, such as f32, found 'float32'"},
      {"f32[", 4, "expected an expression, found ')'"},
      {"f32[1 2]", 6, "expected ',' or ']', found '2'"},
      {"f32[1.5]", 4, "expected a size, found '1.5'"},
      {"f32[1x]", 5, "expected ',' or ']', found 'x'"},
      {"f32[S0 < 2]", 7, "expected ',' or ']', found '<'"},
      {"f32[sym(1]", 9, "expected ')', found ']'"},
      {"f32@", 4, "expected a device, such as cpu or cuda:0, found ')'"},
      {"f32@gpu", 4, "expected a device, such as cpu or cuda:0, found 'gpu'"},
      {"f32@cuda:", 9, "expected the index of a device, found ')'"},
      {"(f32)", 0, "a tuple of one element needs a comma: (x,)"},
      {"(f32 f32)", 5, "expected ',' or ')', found 'f32'"},
      {"f32 {mean}", 9, "expected '=', found '}'"},
      {"f32 {mean = a}", 12, "expected a number, found 'a'"},
      {"f32 {mean = 1, mean = 1}", 15, "'mean' is given twice"},
      {"f32 {std = 1, std = 1}", 14, "'std' is given twice"},
      {"f32 {min = 1, min = 1}", 14, "'min' is given twice"},
      {"f32 {max = 1, max = 1}", 14, "'max' is given twice"},
      {"f32 {data = [], data = []}", 16, "'data' is given twice"},
      {"f32 {original_name = a, original_name = a}", 24, "'original_name' is given twice"},
      {"f32 {input_meta, input_meta}", 17, "'input_meta' is given twice"},
      {"f32 {min = None}", 11, "expected a number, found 'None'"},
      {"f32 {data = 1}", 12, "expected a list of numbers, found '1'"},
      {"f32 {data = [None]}", 12, "the data may hold only True, False, integers and floats"},
      {"f32 {data = [@g]}", 12, "the data may hold only True, False, integers and floats"},
      {"f32 {original_name = \"\"}", 21, "expected a name, found an empty name"},
      {"f32 {median = 1}", 5,
       "expected mean, std, min, max, data, original_name, input_meta or '}', found 'median'"},
      {"f32 {mean = 1 std = 1}", 14, "expected ',' or '}', found 'std'"},
      {"f32 {=}", 5,
       "expected mean, std, min, max, data, original_name, input_meta or '}', found '='"},
  };
  for (const auto& c : kCases) {
    const auto status = ParseModule(absl::StrCat("graph @g(%x : ", c.text, ") {}"), "t").status();
    EXPECT_EQ(status.message(), absl::StrCat("t:1:", 15 + c.offset, ": ", c.message)) << c.text;
  }
}

TEST(ParserErrorsTest, Excerpt) {
  const absl::Status status =
      ParseModule("graph @g(%x) {\n  %y = torch.relu(%z)\n}\n", "m.gn").status();
  EXPECT_EQ(status.message(), "m.gn:2:19: %z is not defined before its use");
  EXPECT_EQ(ErrorExcerpt(status),
            "    %y = torch.relu(%z)\n"
            "                    ^\n");
}

TEST(ParserErrorsTest, FileNamesAreEscaped) {
  EXPECT_EQ(ParseModule("x", "a\nb").status().message(),
            "a\\nb:1:1: expected symbol, relation, attribute or graph, found 'x'");
}

}  // namespace
}  // namespace graphnet
