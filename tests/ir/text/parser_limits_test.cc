// Tests the parser at its limits and with input that is meant to break it.

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/limits.h"
#include "graphnet/ir/text/parser.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/ir/verifier.h"
#include "gtest/gtest.h"

namespace graphnet {
namespace {

std::string Repeat(absl::string_view text, size_t n) {
  std::string out;
  out.reserve(text.size() * n);
  for (size_t i = 0; i < n; ++i) out.append(text.data(), text.size());
  return out;
}

// Returns an empty string if `text` parses and its module prints and parses again, else the error.
std::string Error(absl::string_view text) {
  const auto module = ParseModule(text, "t");
  if (!module.ok()) return std::string(module.status().message());
  const std::string printed = PrintModule(**module);
  const auto again = ParseModule(printed, "printed");
  if (!again.ok()) return std::string(again.status().message());
  EXPECT_EQ(PrintModule(**again), printed);
  return "";
}

std::string Return(absl::string_view value) {
  return absl::StrCat("graph @g() { return ", value, " }");
}

TEST(ParserLimitsTest, TextBytes) {
  const std::string end = "graph @g() {}";
  for (const int delta : {-1, 0, 1}) {
    const size_t size = kMaxTextFileBytes + static_cast<size_t>(delta);
    const std::string text = std::string(size - end.size(), ' ') + end;
    const auto module = ParseModule(text, "t");
    const auto sample = ParseSample(text, "t");
    EXPECT_EQ(module.ok(), delta <= 0);
    EXPECT_EQ(sample.ok(), delta <= 0);
    if (delta > 0) {
      EXPECT_EQ(module.status().message(), "t: the text has 67108865 bytes; the limit is 67108864");
    }
  }
  EXPECT_TRUE(ParseModule(end, "t", {.max_bytes = end.size()}).ok());
  EXPECT_FALSE(ParseModule(end, "t", {.max_bytes = end.size() - 1}).ok());
}

TEST(ParserLimitsTest, NestingOfArguments) {
  const struct {
    absl::string_view open, close;
  } kBrackets[] = {{"[", "]"},    {"(", ",)"},           {"{1: ", "}"},
                   {"{", ": 1}"}, {"slice(1, 2, ", ")"}, {"[(", ",)]"}};
  for (const auto& b : kBrackets) {
    const int levels = b.open == "[(" ? 2 : 1;
    for (const int depth : {kMaxNesting - 1, kMaxNesting, kMaxNesting + 1}) {
      if (depth % levels != 0) continue;
      const size_t n = static_cast<size_t>(depth / levels);
      const std::string value = absl::StrCat(Repeat(b.open, n), "1", Repeat(b.close, n));
      const std::string error = Error(Return(value));
      EXPECT_EQ(error.empty(), depth <= kMaxNesting) << b.open << depth;
      if (depth > kMaxNesting) {
        EXPECT_NE(error.find(": nested deeper than 200"), std::string::npos) << error;
      }
    }
  }
  EXPECT_EQ(Error(Return(Repeat("[", 202))), "t:1:222: nested deeper than 200");
}

// Bodies do not nest in a text, so the parser accepts any chain of them. Code that recurses into
// bodies runs after the verifier.
TEST(ParserLimitsTest, ChainsOfBodiesAreVerified) {
  for (const int bodies : {kMaxNesting - 1, kMaxNesting, kMaxNesting + 1, 5000, 120000}) {
    std::string text;
    for (int i = 0; i < bodies; ++i) {
      absl::StrAppend(&text, "graph @g", i, "() { %v = torch.vmap(@g", i + 1, ") return %v }\n");
    }
    absl::StrAppend(&text, "graph @g", bodies, "() { return 1 }\n");
    const auto module = ParseModule(text, "t");
    ASSERT_TRUE(module.ok()) << module.status();
    const absl::Status status = Verify(**module);
    EXPECT_EQ(status.ok(), bodies <= kMaxNesting) << bodies << status;
    if (bodies > kMaxNesting) {
      EXPECT_EQ(status.message(), absl::StrCat("invariant 13: in graph g", bodies - 201,
                                               ", bodies nest deeper than 200"));
    }
  }
}

TEST(ParserLimitsTest, NestingAgreesWithTheVerifier) {
  for (const int depth : {kMaxNesting - 1, kMaxNesting, kMaxNesting + 1}) {
    const size_t n = static_cast<size_t>(depth);
    const auto module = ParseModule(Return(absl::StrCat(Repeat("[", n), "1", Repeat("]", n))), "t");
    ASSERT_EQ(module.ok(), depth <= kMaxNesting);
    if (module.ok()) {
      EXPECT_EQ(Verify(**module), absl::OkStatus());
    }
  }
}

TEST(ParserLimitsTest, NestingOfMetas) {
  for (const int depth : {kMaxNesting - 1, kMaxNesting, kMaxNesting + 1}) {
    const size_t n = static_cast<size_t>(depth);
    const std::string meta = absl::StrCat(Repeat("(", n), "f32", Repeat(",)", n));
    EXPECT_EQ(Error(absl::StrCat("graph @g(%x : ", meta, ") {}")),
              depth <= kMaxNesting ? "" : absl::StrCat("t:1:", 15 + n, ": nested deeper than 200"));
  }
}

TEST(ParserLimitsTest, NestingOfExpressions) {
  for (const int depth : {kMaxNesting - 1, kMaxNesting, kMaxNesting + 1}) {
    const size_t n = static_cast<size_t>(depth);
    const std::string kExpressions[] = {
        "a" + Repeat(" + a", n),
        "a" + Repeat("*a", n),
        "a" + Repeat("**a", n),
        Repeat("-(", n) + "a" + Repeat(")", n),
        Repeat("-", n) + "a",
        Repeat("(a - ", n) + "a" + Repeat(")", n),
        Repeat("min(a, ", n) + "a" + Repeat(")", n),
        Repeat("max(", n) + "a" + Repeat(", a)", n),
        Repeat("-(a - ", n / 2) + (n % 2 ? "-a" : "a") + Repeat(")", n / 2),
        Repeat("a**-(", n / 2) + (n % 2 ? "-a" : "a") + Repeat(")", n / 2),
    };
    for (const std::string& expression : kExpressions) {
      const std::string error =
          Error(absl::StrCat("symbol a ", Return(absl::StrCat("sym(", expression, ")"))));
      EXPECT_EQ(error.empty(), depth <= kMaxNesting) << expression << error;
      if (depth > kMaxNesting) {
        EXPECT_NE(error.find("nested deeper than 200"), std::string::npos) << error;
      } else {
        const auto module = ParseModule(
            absl::StrCat("symbol a ", Return(absl::StrCat("sym(", expression, ")"))), "t");
        EXPECT_EQ(Verify(**module), absl::OkStatus());
      }
    }
  }
}

TEST(ParserLimitsTest, Rank) {
  for (const int delta : {-1, 0, 1}) {
    const size_t rank = static_cast<size_t>(kMaxRank + delta);
    const std::string error =
        Error(absl::StrCat("graph @g(%x : f32[1", Repeat(",1", rank - 1), "]) {}"));
    EXPECT_EQ(error, delta <= 0
                         ? ""
                         : absl::StrCat("t:1:", 19 + 2 * kMaxRank, ": more than 64 dimensions"));
  }
}

// The parser accepts any shape. Code that reads a file runs the verifier afterwards.
TEST(ParserLimitsTest, ElementsOfATensor) {
  for (const int delta : {-1, 0, 1}) {
    const auto module = ParseModule(
        absl::StrCat("graph @g(%x : f32[", kMaxTensorElements + delta, "]) { return %x }"), "t");
    ASSERT_TRUE(module.ok()) << module.status();
    EXPECT_EQ(Verify(**module).message(),
              delta <= 0 ? "" : "invariant 11: graph g, node x: too many elements");
  }
}

TEST(ParserLimitsTest, NameBytes) {
  static constexpr absl::string_view kForms[] = {
      "symbol $",
      "relation $ < 1",
      "attribute $",
      "attribute a as $",
      "attribute a {original_name = $}",
      "graph @$() {}",
      "graph @g(%$) {}",
      "graph @g(%x \"$\") {}",
      "graph @g() { %$ = f() }",
      "graph @g() { %x = $() }",
      "graph @g() { %x = .$() }",
      "graph @g() { %x = get_attr $ }",
      "graph @g() { %x = call_module $() }",
      "graph @g() { %x = f($ = 1) }",
      "graph @g() { %x = f() in $ }",
      "graph @g() { %x = f() at \"$\":1 }",
  };
  for (const absl::string_view form : kForms) {
    for (const int delta : {-1, 0, 1}) {
      std::string text(form);
      const size_t at = text.find('$');
      text.replace(at, 1, std::string(kMaxNameBytes + static_cast<size_t>(delta), 'a'));
      const size_t column = at + (at > 0 && text[at - 1] == '"' ? 0 : 1);
      EXPECT_EQ(Error(text), delta <= 0
                                 ? ""
                                 : absl::StrCat("t:1:", column,
                                                ": the name has 65537 bytes; the limit is 65536"))
          << form;
    }
  }
  // Strings have no limit, unlike names.
  EXPECT_EQ(Error(Return(absl::StrCat("\"", std::string(10 * kMaxNameBytes, 'a'), "\""))), "");
}

TEST(ParserLimitsTest, KeywordArguments) {
  for (const int count : {65534, 65535, 65536}) {
    std::string text = "graph @g() { %x = f(k0 = 0";
    for (int i = 1; i < count; ++i) absl::StrAppend(&text, ", k", i, " = 0");
    const size_t last = text.rfind('k');
    text += ") }";
    EXPECT_EQ(Error(text), count <= 65535 ? ""
                                          : absl::StrCat("t:1:", last + 1,
                                                         ": more than 65535 keyword arguments"));
  }
  std::string text = "graph @g() { %x = f(k0 = 0";
  for (int i = 1; i < 1000; ++i) absl::StrAppend(&text, ", k", i, " = 0");
  EXPECT_EQ(Error(text + ", k500 = 1) }"),
            absl::StrCat("t:1:", text.size() + 3, ": keyword argument 'k500' is given twice"));
}

// Time and stack stay small for any input.
TEST(ParserLimitsTest, HostileInput) {
  constexpr size_t kMany = 1000000;
  for (const absl::string_view prefix : {"", "graph @g() { return ", "relation ", "graph @g(%x : ",
                                         "graph @g(", "graph @g() {", "graph @g(%x {data = "}) {
    for (const absl::string_view piece :
         {"[",      "(",    "{",    "-",   "\"", "%",  "@",  "a", "1", ".",   "f32[",
          "slice(", "sym(", "min(", "a**", "a+", "\\", "\n", "#", "<", "{1:", "graph @g() {",
          "nan(",   ":",    ","}) {
      ParseModule(absl::StrCat(prefix, Repeat(piece, kMany / 8)), "t").IgnoreError();
    }
    ParseModule(absl::StrCat(prefix, std::string(kMany, '\0')), "t").IgnoreError();
    ParseModule(absl::StrCat(prefix, std::string(kMany, '\xff')), "t").IgnoreError();
  }
  for (const char open : {'[', '(', '{', '-'}) {
    EXPECT_NE(Error(Return(std::string(kMany, open))), "");
  }
}

TEST(ParserLimitsTest, LongLines) {
  constexpr size_t kLong = 8 << 20;
  EXPECT_EQ(Error(absl::StrCat("#", std::string(kLong, 'x'))), "");
  EXPECT_EQ(Error(Return(absl::StrCat("\"", std::string(kLong, 'x'), "\""))), "");
  EXPECT_EQ(Error(Return(absl::StrCat("\"", Repeat("\\x00", kLong / 4), "\""))), "");
  EXPECT_EQ(Error(Return(absl::StrCat("[1", Repeat(",1", kLong / 8), "]"))), "");
  EXPECT_EQ(Error(Return(std::string(kLong, '7'))), "t:1:21: the integer does not fit 64 bits");
  EXPECT_EQ(Error(Return("0." + std::string(kLong, '7'))), "");
  EXPECT_LT(Error(std::string(kLong, 'x')).size(), 200u);
  const std::string line =
      absl::StrCat("graph @g() { return \"", std::string(100 << 20, 'x'), "\" }");
  EXPECT_EQ(ParseModule(line, "t").status().message(),
            absl::StrCat("t: the text has ", line.size(), " bytes; the limit is 67108864"));
  EXPECT_TRUE(ParseModule(line, "t", {.max_bytes = line.size()}).ok());
}

// Lookups by name do not search one by one.
TEST(ParserLimitsTest, ManyOfEverything) {
  constexpr int kMany = 20000;
  std::string text;
  for (int i = 0; i < kMany; ++i) absl::StrAppend(&text, "symbol s", i, "\n");
  for (int i = 0; i < kMany; ++i) absl::StrAppend(&text, "relation s", i, " + ", i, " < 1\n");
  for (int i = 0; i < kMany; ++i)
    absl::StrAppend(&text, "attribute a", i, " : f32[s", i, "*", i, "]\n");
  for (int i = 0; i < kMany; ++i)
    absl::StrAppend(&text, "graph @g", i, "(%x) { return (@g", kMany - 1 - i, ", sym(s", i,
                    "), complex(", i, ",1)) at \"f", i, "\":1 }\n");
  EXPECT_EQ(Error(text), "");
}

}  // namespace
}  // namespace graphnet
