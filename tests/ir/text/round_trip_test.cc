// Every printed text parses, and every text that parses prints as its canonical form. Most cases
// are already canonical. The second table lists texts with more than one spelling.

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/graph.h"
#include "graphnet/ir/text/equality.h"
#include "graphnet/ir/text/parser.h"
#include "graphnet/ir/text/printer.h"
#include "gtest/gtest.h"

namespace graphnet {
namespace {

PrintOptions Fragment() {
  PrintOptions options;
  options.header = false;
  return options;
}

// Parses `text` and prints it again. If it does not parse, adds a failure and returns an empty
// string.
std::string Reprint(absl::string_view text) {
  const auto module = ParseModule(text, "test");
  if (!module.ok()) {
    ADD_FAILURE() << module.status().message() << "\n" << text;
    return "";
  }
  return PrintModule(**module, Fragment());
}

std::string InGraph(absl::string_view statement) {
  return absl::StrCat("graph @g(%x, %y) {\n  ", statement, "\n}\n");
}

TEST(RoundTripTest, Values) {
  static constexpr absl::string_view kValues[] = {
      "None",
      "True",
      "False",
      "0",
      "-1",
      "9223372036854775807",
      "-9223372036854775808",
      "0.0",
      "-0.0",
      "1.0",
      "-1.5",
      "0.1",
      "1e-05",
      "1e+16",
      "1e+22",
      "1.7976931348623157e+308",
      "5e-324",
      "inf",
      "-inf",
      "nan",
      "nan(0x7ff8000000000001)",
      "nan(0xfff8000000000000)",
      "complex(1.0, -2.5)",
      "complex(-0.0, nan)",
      "complex(-inf, nan(0xffffffffffffffff))",
      R"("")",
      R"("text")",
      R"("\n\t\r\"\\\x00\x7f\xff")",
      "\"\xc3\xa9t\xc3\xa9 \xe2\x82\xac\"",
      "\"# no comment\"",
      "...",
      "torch.unknown",
      "torch.bool",
      "torch.float32",
      "torch.bfloat16",
      "torch.float8_e4m3fn",
      "torch.complex64",
      "torch.quint8",
      "torch.bits16",
      "device(\"cpu\")",
      "device(\"cuda:0\")",
      "device(\"privateuseone:32767\")",
      "torch.strided",
      "torch.sparse_coo",
      "torch._mkldnn",
      "torch.jagged",
      "torch.contiguous_format",
      "torch.preserve_format",
      "torch.channels_last",
      "torch.channels_last_3d",
      "[]",
      "[1]",
      "[1, 2.0, [None]]",
      "()",
      "(1,)",
      "(1, 2)",
      "((), ((),))",
      "{}",
      "{1: 2}",
      "{\"a\": [1], (1, 2): {}}",
      "slice(None, None, None)",
      "slice(1, -1, 2)",
      "slice(%x, [1], slice(0, 1, 2))",
      "%x",
      "[%x, (%y, {1: %x})]",
      "@g",
      "[@g]",
      "sym(1)",
      "sym(S0)",
      "sym(S0*2 + 1)",
      "sym(S0 == 1)",
  };
  for (const absl::string_view value : kValues) {
    for (const absl::string_view form : {"%z = f($)", "%z = f(1, k = $)", "return $", "%z = .m($)",
                                         "%z = call_module a.b($)", "%z = f([$, $])"}) {
      std::string statement(form);
      for (size_t at; (at = statement.find('$')) != std::string::npos;) {
        statement.replace(at, 1, value.data(), value.size());
      }
      const std::string text = InGraph(statement);
      EXPECT_EQ(Reprint(text), text);
    }
  }
}

TEST(RoundTripTest, EveryDTypeLayoutAndFormatHasItsOwnName) {
  Module module;
  Graph* g = module.AddGraph("g");
  for (int i = 0; i < kNumDTypes; ++i) g->CallFunction("f", {static_cast<DType>(i)});
  for (int i = 0; i < kNumLayouts; ++i) g->CallFunction("f", {static_cast<Layout>(i)});
  for (int i = 0; i < kNumMemoryFormats; ++i) g->CallFunction("f", {static_cast<MemoryFormat>(i)});
  for (int i = 0; i < kNumDeviceTypes; ++i) {
    g->CallFunction("f", {Device{static_cast<DeviceType>(i), -1}});
    TensorMeta meta;
    meta.dtype = static_cast<DType>(i);
    meta.has_device = true;
    meta.device = Device{static_cast<DeviceType>(i), 3};
    g->CallFunction("f", {})->set_meta(module.InternValueMeta(meta));
  }
  for (int i = 0; i < kNumDTypes; ++i) {
    TensorMeta meta;
    meta.dtype = static_cast<DType>(i);
    g->CallFunction("f", {})->set_meta(module.InternValueMeta(meta));
  }
  const auto parsed = ParseModule(PrintModule(module), "test");
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(CheckEqual(module, **parsed, kExact), absl::OkStatus());
}

TEST(RoundTripTest, Expressions) {
  static constexpr absl::string_view kExpressions[] = {
      "0",
      "-5",
      "-(5)",
      "-(-5)",
      "-9223372036854775808",
      "S0",
      "-S0",
      "-(-S0)",
      "\"odd name\"",
      "\"min\"",
      "\"sym\"",
      "\"1\"",
      "S0 + S1 + 1",
      "S0 + (S1 + 1)",
      "S0 - S1 - 1",
      "S0 - (S1 - 1)",
      "S0 - (S1 + 1)",
      "S0 + -1",
      "S0 - -1",
      "S0*S1*2",
      "S0*(S1*2)",
      "S0*-1",
      "-1*S0",
      "-S0*S1",
      "-(S0*S1)",
      "S0*-S1",
      "(S0 + 1)*2",
      "S0*2 + 1",
      "S0//2//3",
      "S0//(2//3)",
      "S0//2*3",
      "S0*(2//3)",
      "S0 % 2 % 3",
      "S0 % (2*3)",
      "S0**2",
      "S0**2**3",
      "(S0**2)**3",
      "(-S0)**2",
      "-(S0**2)",
      "(-1)**2",
      "S0**-1",
      "S0**-S1",
      "S0**(S1 + 1)",
      "(S0 + 1)**2",
      "S0**2*3",
      "S0**-S1*3",
      "min(S0, 1)",
      "max(min(S0, -1), S1 + 1)",
      "min(S0, 1)**2",
      "-min(S0, 1)",
  };
  for (const absl::string_view expression : kExpressions) {
    for (const absl::string_view form :
         {"%z = f(sym($))", "%z = f() : f32[$, 1]", "%z = f(sym($ <= $))"}) {
      if (expression.find_first_not_of("-0123456789") == absl::string_view::npos &&
          form[9] == ':') {
        continue;  // This is a plain size.
      }
      std::string statement(form);
      for (size_t at; (at = statement.find('$')) != std::string::npos;) {
        statement.replace(at, 1, expression.data(), expression.size());
      }
      const std::string text = InGraph(statement);
      EXPECT_EQ(Reprint(text), text);
    }
  }
}

// No tree of three operators over two leaves loses its shape.
TEST(RoundTripTest, AllSmallExpressionTrees) {
  Module module;
  std::vector<std::vector<const SymExpr*>> by_size(3);
  by_size[0] = {module.SymSymbol("a"), module.SymInt(2), module.SymInt(-3)};
  const auto grow = [&](size_t size) {
    std::vector<const SymExpr*> out;
    for (const SymExpr* e : by_size[size - 1]) out.push_back(module.SymNeg(e));
    for (size_t left = 0; left < size; ++left) {
      for (const SymExpr* lhs : by_size[left]) {
        for (const SymExpr* rhs : by_size[size - 1 - left]) {
          for (int kind = static_cast<int>(SymExpr::Kind::kAdd);
               kind <= static_cast<int>(SymExpr::Kind::kMax); ++kind) {
            out.push_back(module.SymBinary(static_cast<SymExpr::Kind>(kind), lhs, rhs));
          }
        }
      }
    }
    return out;
  };
  by_size[1] = grow(1);
  by_size[2] = grow(2);
  std::string text;
  size_t count = 0;
  for (const auto& trees : by_size) {
    for (const SymExpr* tree : trees) {
      absl::StrAppend(&text, "relation ", PrintSymExpr(*tree), " == 0\n");
      ++count;
    }
  }
  const auto parsed = ParseModule(text, "test");
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  ASSERT_EQ((*parsed)->relations().size(), count);
  size_t i = 0;
  for (const auto& trees : by_size) {
    for (const SymExpr* tree : trees) {
      EXPECT_EQ(*(*parsed)->relations()[i]->lhs, *tree) << PrintSymExpr(*tree);
      ++i;
    }
  }
}

TEST(RoundTripTest, Metas) {
  static constexpr absl::string_view kMetas[] = {
      "_",
      "?",
      "f32",
      "?[]",
      "f32[]",
      "f32[1]",
      "bf16[2, 3]@cuda:0",
      "?@cpu",
      "i64@meta",
      "f32[0, -1, 9223372036854775807]",
      "f32[S0, S0*2 + 1, \"S 1\"]",
      "f32[sym(5)]",
      "f32[sym(S0 < 2)]",
      "()",
      "(f32,)",
      "(f32, i64[2]@cpu)",
      "(_, ((?,), ()), f32[S0])",
      "bool[1]",
      "f8e4m3fn[1]",
      "c64[1]",
      "qu8[1]",
      "f32[1]@privateuseone:127",
  };
  for (const absl::string_view meta : kMetas) {
    for (const absl::string_view after : {"", " as T", " in a.b", " at 3", " {mean = 0.0}"}) {
      const std::string text = InGraph(absl::StrCat("%z = f() : ", meta, after));
      EXPECT_EQ(Reprint(text), text);
    }
    // The meta is read twice, since the parser may remember it.
    const std::string twice = InGraph(
        absl::StrCat("%z = f() : ", meta, "\n  %w = f() : ", meta, "\n  %v = f() : (", meta, ",)"));
    EXPECT_EQ(Reprint(twice), twice);
  }
}

TEST(RoundTripTest, Statements) {
  static constexpr absl::string_view kStatements[] = {
      "%z = torch.relu(%x)",
      "%z = torch.relu()",
      "%z = \"a::b\"(%x)",
      "%z = \"\"(%x)",
      "%z = \"get_attr\"(%x)",
      "%z = \"return\"(%x)",
      "%z = \"output\"(%x)",
      "%z = \"placeholder\"(%x)",
      "%z = \"call_module\"(%x)",
      "%z = None(None)",
      "%z = 1(1)",
      "%z = as(as = 1)",
      "%z = .view(%x, -1)",
      "%z = .\"odd name\"(%x)",
      "%z = .\".x\"(%x)",
      "%z = .get_attr(%x)",
      "%z = call_module layers.0(%x, scale = 2.0)",
      "%z = call_module \"\"()",
      "%z = get_attr layers.0.weight",
      "%z = get_attr in",
      "%z = get_attr w(1, k = 2)",
      "%w = f()\n  %z = placeholder z",
      "%w = f()\n  %z = placeholder L_z_",
      "%w = f()\n  %z = placeholder \"\"",
      "%z = placeholder z(1.0)",
      "%z = f(None = 1, \"1\" = 2, \"a b\" = 3, \"\" = 4, torch.float32 = 5)",
      "%z = f(\"text\", k = \"text\")",
      "%\"odd name\" = f(%x)",
      "%\"\\x00\" = f(%x)",
      "%0 = f(%x)",
      "%return = f(%x)",
      "return %x",
      "return ()",
      "return {1: 2}",
      "return {1: 2} {mean = 0.0}",
      "%result = return %x",
      "%result = return (%x, %y) : (f32, f32) at \"m.py\":3",
      "%output = output output()",
      "%output = output output(%x, %y)",
      "%output = output output(%x, k = 1)",
      "%output = output result(%x)",
      "return %x\n  %z = f(%x)\n  %output_1 = return %z",
  };
  for (const absl::string_view statement : kStatements) {
    const std::string text = InGraph(statement);
    EXPECT_EQ(Reprint(text), text);
  }
}

TEST(RoundTripTest, Suffixes) {
  static constexpr absl::string_view kSuffixes[] = {
      ": f32[1]@cpu as torch.nn.parameter.Parameter {mean = 0.0, std = 1.0} in layers.0 at "
      "\"m.py\":1:2",
      "as \"List[torch.Tensor]\"",
      "as as",
      "in in",
      "in \"a b\"",
      "at 1",
      "at 1:2",
      "at 0:2",
      "at 4294967295:65535",
      "at \"m.py\"",
      "at \"m.py\":1",
      "at \"m.py\":0:2",
      "at \"odd\\n\\\"name\":1:2",
      "{}",
      "{mean = -0.001}",
      "{std = nan}",
      "{min = -1, max = 1.5}",
      "{min = inf}",
      "{data = []}",
      "{data = [1, 2.0, True, -inf]}",
      "{original_name = L_x_}",
      "{original_name = \"L x\"}",
      "{input_meta}",
      "{mean = 0.0, std = 1.0, min = 0, max = 1, data = [1], original_name = x, input_meta}",
  };
  for (const absl::string_view suffix : kSuffixes) {
    std::string text = InGraph(absl::StrCat("%z = f(%x) ", suffix));
    EXPECT_EQ(Reprint(text), text);
    text = InGraph(absl::StrCat("return %x ", suffix));
    EXPECT_EQ(Reprint(text), text);
    text = InGraph(absl::StrCat("%z = get_attr w ", suffix));
    EXPECT_EQ(Reprint(text), text);
    text = absl::StrCat("graph @g(\n  %x ", suffix, ",\n  %y \"L_y_\" ", suffix, "\n) {\n}\n");
    // The second location is in the file of the first.
    if (suffix.find("at ") == absl::string_view::npos) {
      EXPECT_EQ(Reprint(text), text);
    }
  }
}

TEST(RoundTripTest, LocationsInheritTheFile) {
  static constexpr absl::string_view kText =
      "graph @g(\n"
      "  %x at 1,\n"
      "  %y at \"a.py\":1\n"
      ") {\n"
      "  %a = f() at 2:1\n"
      "  %b = f()\n"
      "  %c = f() at \"b.py\":3\n"
      "  %d = f() at \"b.py\"\n"
      "  %e = f() at 4\n"
      "  %f = f() at \"\":5\n"
      "  %g = f() at 6\n"
      "}\n"
      "\n"
      "graph @h() {\n"
      "  %a = f() at 7\n"
      "  %b = f() at \"a.py\":8\n"
      "}\n";
  EXPECT_EQ(Reprint(kText), kText);
  const auto module = ParseModule(kText, "test");
  ASSERT_TRUE(module.ok());
  const auto file = [&](const char* name) {
    return (*module)->main()->FindNode(name)->location().file;
  };
  EXPECT_EQ(file("x"), "");
  EXPECT_EQ(file("a"), "a.py");
  EXPECT_EQ(file("d"), "b.py");
  EXPECT_EQ(file("e"), "b.py");
  EXPECT_EQ(file("f"), "");
  EXPECT_EQ(file("g"), "");
}

TEST(RoundTripTest, Declarations) {
  static constexpr absl::string_view kTexts[] = {
      "symbol S0\n",
      "symbol S0 = 1\nsymbol \"odd name\" = -5\nsymbol \"1\"\nrelation S0 < 1\nrelation \"1\" == "
      "\"odd name\"\n",
      "relation a == b\nrelation a != b\nrelation a < b\nrelation a <= b\nrelation a > b\nrelation "
      "a >= b\n",
      "attribute w\n",
      "attribute layers.0.weight : f32[512, 512]@cpu as torch.nn.parameter.Parameter {mean = "
      "-0.001, std = 0.02}\n",
      "attribute \"odd name\" : ? as \"T[1]\" {}\n",
      "attribute a {data = [1]}\nattribute b : f32[S0]\n",
      "symbol graph\n\nattribute end\n\ngraph @graph() {\n}\n",
      "graph @\"odd name\"() {\n  %x = f(@\"odd name\")\n}\n",
  };
  for (const absl::string_view text : kTexts) EXPECT_EQ(Reprint(text), text);
}

TEST(RoundTripTest, GraphsMayBeNamedBeforeTheyAreDefined) {
  static constexpr absl::string_view kText =
      "graph @main(%x) {\n"
      "  %a = torch.cond(%x, @b, [(@c, {1: @b})], k = %x, m = @c)\n"
      "  %r = get_attr w(@c, %x)\n"
      "  %o = output output(%x, @c, k = @b)\n"
      "  return (%a, @c, %x)\n"
      "}\n"
      "\n"
      "graph @b(%x) {\n"
      "  return torch_is_no_keyword\n"
      "}\n";
  std::string text(kText);
  text.replace(text.find("torch_is_no_keyword"), 19, "@c");
  text += "\ngraph @c(%x) {\n  return @main\n}\n";
  EXPECT_EQ(Reprint(text), text);
  const auto module = ParseModule(text, "test");
  ASSERT_TRUE(module.ok());
  // Uses are right although the arguments were read twice.
  Node* x = (*module)->main()->FindNode("x");
  EXPECT_EQ(x->num_uses(), 5);
  EXPECT_EQ(x->users().size(), 4u);
}

TEST(RoundTripTest, Samples) {
  static constexpr absl::string_view kTexts[] = {
      "graphnet.sample 1\nend\n",
      "graphnet.sample 1\n\ngraphnet.module 1\nend\n",
      "graphnet.sample 1\nname = \"x\"\ngraph_hash = \"abc\"\nconstraints = True\n"
      "constraint_order = [\"L_x_\", \"\", \"a\\nb\"]\n"
      "provenance [0, 5) of \"big\"\nprovenance [-1, 9223372036854775807) of \"\" hash \"def\"\n"
      "graph_net_json =\n  \"{\\n\"\n  \"  \\\"a\\\": 1\\n\"\n  \"}\"\n"
      "file \"\" = \"\"\nfile \"a b\" = \"x\\x00y\"\nfile \"b\" =\n  \"\\n\"\n  \"\\n\"\n"
      "\ngraphnet.module 1\n\nsymbol S0\n\ngraph @g() {\n}\nend\n",
      "graphnet.sample 1\nname =\n  \"a\\n\"\n  \"b\"\n\ngraphnet.module 1\nend\n",
  };
  for (const absl::string_view text : kTexts) {
    const auto sample = ParseSample(text, "test");
    ASSERT_TRUE(sample.ok()) << sample.status() << "\n" << text;
    EXPECT_EQ(PrintSample(*sample), text);
  }
}

// These texts parse but print in another way.
TEST(RoundTripTest, OtherSpellings) {
  static constexpr struct {
    absl::string_view text, canonical;
  } kCases[] = {
      // White space, comments, trailing commas.
      {"", ""},
      {" # nothing\n", ""},
      {"graph@g(%x,%y,){return%x}", "graph @g(%x, %y) {\n  return %x\n}\n"},
      {"graph # a\n @ # b\n g ( % # c\n x , %y ) { return ( %x , ) # d\n }",
       "graph @g(%x, %y) {\n  return (%x,)\n}\n"},
      {"graph @g() {\r\n%x=f([1,2,],(1,2,),{1:2,},k=3,)\r\n}",
       "graph @g() {\n  %x = f([1, 2], (1, 2), {1: 2}, k = 3)\n}\n"},
      // Quotes that are not needed.
      {"graph @\"g\"() { %\"x\" = \"torch.relu\"(\"k\" = 1) as \"T\" in \"p\" }",
       "graph @g() {\n  %x = torch.relu(k = 1) as T in p\n}\n"},
      {"symbol \"S0\"", "symbol S0\n"},
      {"graph @g(%x \"x\") {}", "graph @g(%x) {\n}\n"},
      // Numbers.
      {"graph @g() { %x = f(007, -0, 1e3, 1.50, 1E-7, 1e-7, 123456789012345678901e0) }",
       "graph @g() {\n  %x = f(7, 0, 1000.0, 1.5, 1e-07, 1e-07, 1.2345678901234568e+20)\n}\n"},
      {"graph @g() { %x = f(complex(1, 2), nan(0x7ff8000000000000), nan(0xFFF8000000000000)) }",
       "graph @g() {\n  %x = f(complex(1.0, 2.0), nan, nan(0xfff8000000000000))\n}\n"},
      {"graph @g(%x {mean = 1, std = 2}) {}", "graph @g(\n  %x {mean = 1.0, std = 2.0}\n) {\n}\n"},
      // Escapes that are not needed.
      {R"(graph @g() { %x = f("\x41\x0a\x0A") })", "graph @g() {\n  %x = f(\"A\\n\\n\")\n}\n"},
      {"graph @g() { %x = f(\"\xff\t\") }", "graph @g() {\n  %x = f(\"\\xff\\t\")\n}\n"},
      // Other names of a dtype.
      {"graph @g() { %x = f(torch.float, torch.long) }",
       "graph @g() {\n  %x = f(torch.float32, torch.int64)\n}\n"},
      // Parentheses that are not needed.
      {"relation ((a)) + (b*c) < (1)", "relation a + b*c < 1\n"},
      {"relation --a < - 5", "relation -(-a) < -(5)\n"},
      {"relation a**--b < 1", "relation a**-(-b) < 1\n"},
      {"graph @g(%x : f32[(2), -3, sym(a)]) {}", "graph @g(\n  %x : f32[2, -3, a]\n) {\n}\n"},
      {"graph @g(%x : f32 [ 2 , ] @ cuda : 0) {}", "graph @g(\n  %x : f32[2]@cuda:0\n) {\n}\n"},
      {"graph @g() { %a = f() : f32 %b = f() : f32 @cpu %c = f() : f32@cuda %d = f() : f32@cuda :1 "
       "}",
       "graph @g() {\n  %a = f() : f32\n  %b = f() : f32@cpu\n  %c = f() : f32@cuda\n  %d = f() : "
       "f32@cuda:1\n}\n"},
      // Parts that may be omitted.
      {"graph @g() { %output = return 1 }", "graph @g() {\n  return 1\n}\n"},
      {"graph @g() { %output = output output(1) }", "graph @g() {\n  return 1\n}\n"},
      {"graph @g() { %x = placeholder x }", "graph @g(%x) {\n}\n"},
      {"graph @g() { %x = get_attr w() }", "graph @g() {\n  %x = get_attr w\n}\n"},
      {"graph @g() { %x = f() at \"a\":1 %y = f() at \"a\":2 %z = f() at \"a\":3:0 }",
       "graph @g() {\n  %x = f() at \"a\":1\n  %y = f() at 2\n  %z = f() at 3\n}\n"},
      {"graph @g() { %x = f() at 0:0 }", "graph @g() {\n  %x = f()\n}\n"},
      // A column has 16 bits.
      {"graph @g() { %x = f() at 1:65536 }", "graph @g() {\n  %x = f() at 1:65535\n}\n"},
      // The order of symbols, relations, attributes and graphs, and of the fields of a draw spec.
      {"graph @g() {} attribute w relation a < b symbol a",
       "symbol a\nrelation a < b\n\nattribute w\n\ngraph @g() {\n}\n"},
      {"graph @g(%x {input_meta, std = 1.0, mean = 0.0,}) {}",
       "graph @g(\n  %x {mean = 0.0, std = 1.0, input_meta}\n) {\n}\n"},
  };
  for (const auto& c : kCases) {
    EXPECT_EQ(Reprint(c.text), c.canonical) << c.text;
    EXPECT_EQ(Reprint(c.canonical), c.canonical);
  }
}

// A module can hold some values that its text cannot.
TEST(RoundTripTest, WhatIsLost) {
  Module module;
  Graph* g = module.AddGraph("g");
  Node* x = g->Placeholder("x");
  // A mean without has_mean.
  DrawSpec draw;
  draw.mean = 1;
  x->set_draw_spec(draw);
  // A null element of a tuple is the same as an unknown one.
  Node* y = g->CallFunction("f", {});
  y->set_meta(module.InternTupleMeta({nullptr}));
  EXPECT_EQ(PrintModule(module, Fragment()), "graph @g(\n  %x {}\n) {\n  %f = f() : (_,)\n}\n");
}

}  // namespace
}  // namespace graphnet
