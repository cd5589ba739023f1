#include "graphnet/passes/pattern.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "graphnet/ir/text/parser.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/ir/verifier.h"
#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

using ::testing::HasSubstr;

// Returns the text form of the body of @forward(%x, %y) after a rule is applied.
std::string Rewritten(const std::string& rule, const std::string& body, size_t* count = nullptr) {
  const auto rules = ParseRules("rule r\n" + rule, "rules");
  EXPECT_OK(rules);
  const auto module = ParseModule("graph @forward(%x, %y) {\n" + body + "}\n", "test");
  EXPECT_OK(module);
  if (!rules.ok() || !module.ok()) return "";
  std::vector<size_t> counts;
  EXPECT_OK(ApplyRules(*rules, module->get(), &counts));
  EXPECT_OK(Verify(**module));
  if (count != nullptr) *count = counts[0];
  PrintOptions options;
  options.header = false;
  const std::string text = PrintModule(**module, options);
  const std::string head = "graph @forward(%x, %y) {\n";
  return text.substr(text.find(head) + head.size(),
                     text.rfind('}') - text.find(head) - head.size());
}

TEST(PatternTest, LiteralsBindAndMustAgree) {
  const std::string rule =
      "graph @pattern(%x, %p as literal) {\n  %a = .add(%x, %p)\n  %b = .sub(%a, %p)\n  return "
      "%b\n}\n"
      "graph @replacement(%x) {\n  return %x\n}\n";
  EXPECT_EQ(Rewritten(rule, "  %a = .add(%x, 2)\n  %b = .sub(%a, 2)\n  return (%b,)\n"),
            "  return (%x,)\n");
  const std::string other = "  %a = .add(%x, 2)\n  %b = .sub(%a, 3)\n  return (%b,)\n";
  EXPECT_EQ(Rewritten(rule, other), other);
  const std::string value = "  %a = .add(%x, %y)\n  %b = .sub(%a, %y)\n  return (%b,)\n";
  EXPECT_EQ(Rewritten(rule, value), value);
}

TEST(PatternTest, ReturnedOperandsAreNotWrittenToLater) {
  const std::string rule =
      "graph @pattern(%x) {\n  %a = .t(%x)\n  %b = .t(%a)\n  return %b\n}\n"
      "graph @replacement(%x) {\n  return %x\n}\n";
  EXPECT_EQ(Rewritten(rule, "  %a = .t(%x)\n  %b = .t(%a)\n  return (%b,)\n"), "  return (%x,)\n");
  for (const char* write : {".unsqueeze_(%b, 0)", ".t_(%x)", "operator.iadd(%b, 1)"}) {
    const std::string body =
        absl::StrCat("  %a = .t(%x)\n  %b = .t(%a)\n  %c = ", write, "\n  return (%b, %x, %c)\n");
    EXPECT_EQ(Rewritten(rule, body), body) << write;
  }
}

TEST(PatternTest, VariadicArgumentsArePassedOn) {
  const std::string rule =
      "graph @pattern(%x, %rest as variadic) {\n  %a = .contiguous(%x)\n  %b = .view(%a, %rest)\n  "
      "return %b\n}\n"
      "graph @replacement(%x, %rest) {\n  %b = .reshape(%x, %rest)\n  return %b\n}\n";
  EXPECT_EQ(Rewritten(rule, "  %a = .contiguous(%x)\n  %b = .view(%a, 2, -1)\n  return (%b,)\n"),
            "  %b = .reshape(%x, 2, -1)\n  return (%b,)\n");
}

TEST(PatternTest, VariadicElementsOfAList) {
  const std::string rule =
      "graph @pattern(%a, %rest as variadic, %d as literal) {\n  %c = torch.cat([%a, %rest], %d)\n "
      " return %c\n}\n"
      "graph @replacement(%a, %rest, %d) {\n  %c = torch.concat([%a, %rest], %d)\n  return %c\n}\n";
  EXPECT_EQ(Rewritten(rule, "  %c = torch.cat((%x, %y, %x), 1)\n  return (%c,)\n"),
            "  %c = torch.concat([%x, %y, %x], 1)\n  return (%c,)\n");
}

TEST(PatternTest, KeywordsInAnyOrder) {
  const std::string rule =
      "graph @pattern(%x, %p as any) {\n  %a = torch.f(%x, p = %p, q = 1)\n  return %a\n}\n"
      "graph @replacement(%x, %p) {\n  %a = torch.g(%x, %p)\n  return %a\n}\n";
  EXPECT_EQ(Rewritten(rule, "  %a = torch.f(%x, q = 1, p = [%y, 2])\n  return (%a,)\n"),
            "  %a = torch.g(%x, [%y, 2])\n  return (%a,)\n");
  const std::string more = "  %a = torch.f(%x, q = 1, p = 2, r = 3)\n  return (%a,)\n";
  EXPECT_EQ(Rewritten(rule, more), more);
}

constexpr char kRelus[] =
    "graph @pattern(%x) {\n  %a = torch.relu(%x)\n  %b = torch.relu(%a)\n  return %b\n}\n"
    "graph @replacement(%x) {\n  %b = torch.relu(%x)\n  return %b\n}\n";

TEST(PatternTest, NewCallsAreMatchedAgain) {
  std::string body = "  %r0 = torch.relu(%x)\n";
  for (int i = 1; i <= 20; ++i) absl::StrAppend(&body, "  %r", i, " = torch.relu(%r", i - 1, ")\n");
  size_t count = 0;
  EXPECT_EQ(Rewritten(kRelus, body + "  return (%r20,)\n", &count),
            "  %r20 = torch.relu(%x)\n  return (%r20,)\n");
  EXPECT_EQ(count, 20u);
}

TEST(PatternTest, ValuesThatAreUsedElsewhereStay) {
  const std::string body = "  %a = torch.relu(%x)\n  %b = torch.relu(%a)\n  return (%a, %b)\n";
  EXPECT_EQ(Rewritten(kRelus, body), body);
}

TEST(PatternTest, WritesInBetweenPreventIt) {
  const std::string body =
      "  %a = torch.relu(%x)\n  %w = .add_(%x, 1)\n  %b = torch.relu(%a)\n  return (%b, %w)\n";
  EXPECT_EQ(Rewritten(kRelus, body), body);
  EXPECT_EQ(
      Rewritten(
          kRelus,
          "  %w = .add_(%x, 1)\n  %a = torch.relu(%x)\n  %b = torch.relu(%a)\n  return (%b, %w)\n"),
      "  %w = .add_(%x, 1)\n  %b = torch.relu(%x)\n  return (%b, %w)\n");
}

TEST(PatternTest, RulesThatUndoEachOtherAreAnError) {
  const auto rules = ParseRules(
      "rule a\ngraph @pattern(%x) {\n  %a = torch.f(%x)\n  return %a\n}\n"
      "graph @replacement(%x) {\n  %a = torch.g(%x)\n  return %a\n}\n"
      "rule b\ngraph @pattern(%x) {\n  %a = torch.g(%x)\n  return %a\n}\n"
      "graph @replacement(%x) {\n  %a = torch.f(%x)\n  return %a\n}\n",
      "rules");
  ASSERT_OK(rules);
  const auto module =
      ParseModule("graph @forward(%x) {\n  %a = torch.f(%x)\n  return (%a,)\n}\n", "test");
  std::vector<size_t> counts;
  EXPECT_THAT(ApplyRules(*rules, module->get(), &counts),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("undo each other")));
}

constexpr char kTwoAdds[] = R"(graph @forward(%x, %y) {
  %a = torch.add(%x, 1)
  %b = torch.add(%a, 2)
  %c = torch.add(%y, 3)
  %d = torch.add(%c, 4)
  %e = torch.add(%d, 5)
  return (%b, %e)
}
)";

TEST(PatternTest, APredicateIsAskedOfEachMatch) {
  auto rules = ParseRules(R"(rule twice
graph @pattern(%x, %p as literal, %q as literal) {
  %a = torch.add(%x, %p)
  %b = torch.add(%a, %q)
  return %b
}
graph @replacement(%x, %p as any, %q as any) {
  %a = torch.add3(%x, %p, %q)
  return %a
}
)",
                          "rules");
  ASSERT_OK(rules);
  (*rules)[0].where = [](const PatternMatch& match) {
    EXPECT_EQ(match.nodes.size(), 2u);
    EXPECT_EQ(match.nodes[0]->args()[0], Argument(match.nodes[1]));
    return match["p"].integer() + match["q"].integer() > 7;
  };
  const auto module = ParseModule(kTwoAdds, "test");
  ASSERT_OK(module);
  ASSERT_OK(ApplyRules(*rules, module->get()));  // `counts` may be omitted
  EXPECT_OK(Verify(**module));
  EXPECT_EQ(PrintModule(**module, {.header = false}), R"(graph @forward(%x, %y) {
  %a = torch.add(%x, 1)
  %b = torch.add(%a, 2)
  %c = torch.add(%y, 3)
  %e = torch.add3(%c, 4, 5)
  return (%b, %e)
}
)");
}

TEST(PatternTest, FindMatchesChangesNothing) {
  auto rule = ParsePattern(R"(graph @pattern(%x, %p as literal) {
  %a = torch.add(%x, 3)
  %b = torch.add(%a, %p)
  return %b
})",
                           "pattern");
  ASSERT_OK(rule);
  const auto module = ParseModule(kTwoAdds, "test");
  ASSERT_OK(module);
  const std::vector<PatternMatch> found = FindMatches(*rule, (*module)->main());
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].nodes[0]->name(), "d");
  EXPECT_EQ(found[0]["x"].node()->name(), "y");
  EXPECT_EQ(found[0]["p"], Argument(4));
  EXPECT_EQ(PrintModule(**module, {.header = false}), kTwoAdds);
  rule->where = [](const PatternMatch&) { return false; };
  EXPECT_EQ(FindMatches(*rule, (*module)->main()).size(), 0u);
  EXPECT_FALSE(ParsePattern("graph @pattern(%x) { return %x }", "pattern").ok());
}

TEST(ParseRulesTest, ErrorsNameTheLine) {
  const auto error = [](const std::string& text) {
    return std::string(ParseRules(text, "f").status().message());
  };
  EXPECT_THAT(error(""), HasSubstr("no rules"));
  EXPECT_THAT(error("# only\n\nhello\n"), HasSubstr("f:3:1: expected rule NAME"));
  EXPECT_THAT(error("rule r\ngraph @pattern(%x) {\n  %a = torch.f(%z)\n"), HasSubstr("f:3:"));
  EXPECT_THAT(error("rule r\ngraph @pattern(%x) {\n  %a = torch.f(%x)\n  return %a\n}\n"),
              HasSubstr("f:1:1: rule r: @replacement: missing"));
  EXPECT_THAT(error("rule r\ngraph @pattern(%x) {\n  return %x\n}\ngraph @replacement(%x) {\n  "
                    "return %x\n}\n"),
              HasSubstr("must return the result of a call"));
  EXPECT_THAT(error("rule r\ngraph @pattern(%x) {\n  %a = torch.f(%x)\n  return %a\n}\n"
                    "graph @replacement(%y) {\n  return %y\n}\n"),
              HasSubstr("%y is not a parameter of the pattern"));
  EXPECT_THAT(
      error("rule r\ngraph @pattern(%x, %r as variadic) {\n  %a = torch.f(%r, %x)\n  return %a\n}\n"
            "graph @replacement(%x) {\n  return %x\n}\n"),
      HasSubstr("a variadic parameter must end the arguments"));
}

TEST(PatternTest, AListMayGoOnAfterItsVariadicPart) {
  const std::string rule =
      "graph @pattern(%a, *%rest, %b) {\n  %c = torch.cat([%a, *%rest, %b])\n  return %c\n}\n"
      "graph @replacement(%a, *%rest, %b) {\n  %c = torch.f(%b, [*%rest, %a])\n  return %c\n}\n";
  EXPECT_EQ(Rewritten(rule, "  %c = torch.cat([%x, %y, %y, %x, %y])\n  return (%c,)\n"),
            "  %c = torch.f(%y, [%y, %y, %x, %x])\n  return (%c,)\n");
  EXPECT_EQ(Rewritten(rule, "  %c = torch.cat([%x, %y])\n  return (%c,)\n"),
            "  %c = torch.f(%y, [%x])\n  return (%c,)\n");
  const std::string one = "  %c = torch.cat([%x])\n  return (%c,)\n";
  EXPECT_EQ(Rewritten(rule, one), one);
}

TEST(PatternTest, EachElementOfAListIsTheSameCall) {
  const std::string rule =
      "graph @pattern(%x as each, %y as each, %p as literal, %d as literal) {\n"
      "  %a = torch.f(%x, %p)\n  %b = torch.g(%a, %y)\n  %c = torch.cat([%b], %d)\n"
      "  return %c\n}\n"
      "graph @replacement(%x, %y, %p, %d) {\n  %c = torch.h([%x], [%y], %p, %d)\n"
      "  return %c\n}\n";
  const auto of = [](const char* second) {
    return absl::StrCat(
        "  %a = torch.f(%x, 1)\n  %b = torch.g(%a, %y)\n  %c = torch.f(%y, 1)\n  %d = ", second,
        "\n  %e = torch.cat([%b, %d], 2)\n  return (%e,)\n");
  };
  EXPECT_EQ(Rewritten(rule, of("torch.g(%c, %x)")),
            "  %e = torch.h([%x, %y], [%y, %x], 1, 2)\n  return (%e,)\n");
  EXPECT_EQ(Rewritten(rule,
                      "  %a = torch.f(%x, 1)\n  %b = torch.g(%a, %y)\n"
                      "  %e = torch.cat([%b], 2)\n  return (%e,)\n"),
            "  %e = torch.h([%x], [%y], 1, 2)\n  return (%e,)\n");
  // Another call, another constant, a value that is not from its own call, and no element.
  const std::string others[] = {
      of("torch.k(%c, %x)"),
      "  %a = torch.f(%x, 1)\n  %b = torch.g(%a, %y)\n  %c = torch.f(%y, 3)\n"
      "  %d = torch.g(%c, %x)\n  %e = torch.cat([%b, %d], 2)\n  return (%e,)\n",
      "  %e = torch.cat([%x, %y], 2)\n  return (%e,)\n",
      "  %e = torch.cat([], 2)\n  return (%e,)\n"};
  for (const std::string& other : others) EXPECT_EQ(Rewritten(rule, other), other);
}

TEST(PatternTest, ABodyIsTheSameNodeByNode) {
  const auto rules = ParseRules(
      "rule r\ngraph @pattern(%x) {\n  %y = torch.vmap(@step, (%x,))\n  return %y\n}\n"
      "graph @replacement(%x) {\n  %y = torch.f(%x)\n  return %y\n}\n"
      "graph @step(%a) {\n  %b = torch.relu(%a)\n  %c = torch.add(%b, %a)\n  return %c\n}\n",
      "rules");
  ASSERT_OK(rules);
  const auto count = [&](const char* body) {
    const auto module = ParseModule(
        absl::StrCat("graph @forward(%x) {\n  %y = torch.vmap(@body, (%x,))\n  return (%y,)\n}\n"
                     "graph @body(%p) {\n",
                     body, "}\n"),
        "test");
    EXPECT_OK(module);
    std::vector<size_t> counts;
    EXPECT_OK(ApplyRules(*rules, module->get(), &counts));
    return counts[0];
  };
  EXPECT_EQ(count("  %q = torch.relu(%p)\n  %r = torch.add(%q, %p)\n  return %r\n"), 1u);
  EXPECT_EQ(count("  %q = torch.relu(%p)\n  %r = torch.add(%p, %q)\n  return %r\n"), 0u);
  EXPECT_EQ(count("  %q = torch.relu(%p)\n  %r = torch.sub(%q, %p)\n  return %r\n"), 0u);
  EXPECT_EQ(count("  %q = torch.relu(%p)\n  return %q\n"), 0u);
}

TEST(PatternTest, ErrorsNameWrongLists) {
  const auto error = [](const std::string& pattern, const std::string& replacement) {
    return std::string(
        ParseRules("rule r\ngraph @pattern(" + pattern + "graph @replacement(" + replacement, "f")
            .status()
            .message());
  };
  const std::string to_x = "%x) {\n  %a = torch.g([%x])\n  return %a\n}\n";
  EXPECT_THAT(error("*%x, *%y) {\n  %a = torch.f([*%x, *%y])\n  return %a\n}\n", to_x),
              HasSubstr("the only one in a list"));
  EXPECT_THAT(error("%x as each) {\n  %a = torch.f(%x)\n  return %a\n}\n", to_x),
              HasSubstr("must return one value, not one for each element"));
  EXPECT_THAT(error("%x as each) {\n  %a = torch.f([%x])\n  return %a\n}\n",
                    "%x) {\n  %a = torch.g(%x)\n  return %a\n}\n"),
              HasSubstr("must stand in a list"));
}

// --- Parts of a rule besides its graphs

TEST(PatternTest, LeftoverKeywordsArePassedOn) {
  const std::string rule =
      "graph @pattern(%x, **%rest) {\n  %a = torch.f(%x, p = 1, **%rest)\n  return %a\n}\n"
      "graph @replacement(%x, **%rest) {\n  %a = torch.g(%x, r = 4, **%rest)\n  return %a\n}\n";
  EXPECT_EQ(Rewritten(rule, "  %a = torch.f(%x, q = [%y, 2], p = 1, r = 3)\n  return (%a,)\n"),
            "  %a = torch.g(%x, r = 4, q = [%y, 2])\n  return (%a,)\n");
  EXPECT_EQ(Rewritten(rule, "  %a = torch.f(%x, p = 1)\n  return (%a,)\n"),
            "  %a = torch.g(%x, r = 4)\n  return (%a,)\n");
  const std::string other = "  %a = torch.f(%x, p = 2, q = 3)\n  return (%a,)\n";
  EXPECT_EQ(Rewritten(rule, other), other);
}

TEST(PatternTest, LeftoverPositionalArgumentsGetTheirNames) {
  const std::string rule =
      "graph @pattern(%x, %w, **%rest) {\n  %a = torch.conv2d(%x, %w, **%rest)\n  return %a\n}\n"
      "graph @replacement(%x, %w, **%rest) {\n  %a = lib.conv(%x, %w, **%rest)\n  return %a\n}\n";
  EXPECT_EQ(Rewritten(rule,
                      "  %a = torch.conv2d(%x, %y, None, (2, 2), groups = 2)\n"
                      "  return (%a,)\n"),
            "  %a = lib.conv(%x, %y, bias = None, stride = (2, 2), groups = 2)\n"
            "  return (%a,)\n");
}

TEST(PatternTest, StarsTakePositionalArguments) {
  const std::string rule =
      "graph @pattern(%x, *%rest) {\n  %a = .view(%x, *%rest)\n  return %a\n}\n"
      "graph @replacement(%x, *%rest) {\n  %a = .reshape(%x, *%rest)\n  return %a\n}\n";
  EXPECT_EQ(Rewritten(rule, "  %a = .view(%x, 2, -1)\n  return (%a,)\n"),
            "  %a = .reshape(%x, 2, -1)\n  return (%a,)\n");
}

TEST(PatternTest, ArgumentsMatchByParameterHoweverTheyAreWritten) {
  const std::string tail =
      "graph @replacement(%x, %w) {\n  %a = lib.linear(%x, %w)\n  return %a\n}\n";
  const std::string keyword =
      "graph @pattern(%x, %w) {\n  %a = torch.nn.functional.linear(%x, weight = %w)\n"
      "  return %a\n}\n" +
      tail;
  const std::string position =
      "graph @pattern(%x, %w) {\n  %a = torch.nn.functional.linear(%x, %w)\n  return %a\n}\n" +
      tail;
  for (const std::string& rule : {keyword, position}) {
    for (const char* call : {"%x, %y", "%x, weight = %y", "weight = %y, input = %x"}) {
      EXPECT_EQ(Rewritten(rule, absl::StrCat("  %a = torch.nn.functional.linear(", call,
                                             ")\n  return (%a,)\n")),
                "  %a = lib.linear(%x, %y)\n  return (%a,)\n")
          << rule << call;
    }
  }
}

TEST(PatternTest, ACallMayHaveSeveralTargets) {
  const std::string rule =
      "graph @pattern(%x) {\n"
      "  %a = torch.relu|torch.nn.functional.relu|.relu(%x)\n  %b = .neg(%a)\n  return %b\n}\n"
      "graph @replacement(%x) {\n  %b = lib.f(%x)\n  return %b\n}\n";
  for (const char* relu : {"torch.relu", "torch.nn.functional.relu", ".relu"}) {
    EXPECT_EQ(Rewritten(rule, absl::StrCat("  %a = ", relu,
                                           "(%x)\n  %b = .neg(%a)\n"
                                           "  return (%b,)\n")),
              "  %b = lib.f(%x)\n  return (%b,)\n");
  }
  const std::string other = "  %a = torch.gelu(%x)\n  %b = .neg(%a)\n  return (%b,)\n";
  EXPECT_EQ(Rewritten(rule, other), other);
  // Test the last alternative, too.
  EXPECT_EQ(Rewritten("graph @pattern(%x) {\n  %a = torch.f | .g (%x)\n  return %a\n}\n"
                      "graph @replacement(%x) {\n  return %x\n}\n",
                      "  %a = .g(%x)\n  %b = torch.f(%a)\n  return (%b,)\n"),
            "  return (%x,)\n");
}

TEST(PatternTest, OnceAppliesOnceToEachOriginalCall) {
  const std::string graphs =
      "graph @pattern(%x, **%rest) {\n  %c = torch.conv2d(%x, **%rest)\n  return %c\n}\n"
      "graph @replacement(%x, **%rest) {\n  %c = torch.conv2d(%x, **%rest)\n"
      "  %o = lib.observe(%c)\n  return %o\n}\n";
  const std::string body =
      "  %a = torch.conv2d(%x, weight = %y)\n  %b = torch.conv2d(%a, weight = %y)\n"
      "  return (%b,)\n";
  size_t count = 0;
  EXPECT_EQ(Rewritten("once\n" + graphs, body, &count),
            "  %c = torch.conv2d(%x, weight = %y)\n  %a = lib.observe(%c)\n"
            "  %c_1 = torch.conv2d(%a, weight = %y)\n  %b = lib.observe(%c_1)\n  return (%b,)\n");
  EXPECT_EQ(count, 2u);
  // Without "once", the rule is applied to its own results.
  const auto rules = ParseRules("rule r\n" + graphs, "rules");
  ASSERT_OK(rules);
  const auto module = ParseModule("graph @forward(%x, %y) {\n" + body + "}\n", "test");
  EXPECT_THAT(ApplyRules(*rules, module->get()),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("undo each other")));
}

// Returns how often `rule` matches in @forward with the given metas.
size_t MatchesWith(const std::string& where, const std::string& x, const std::string& w) {
  const auto rules =
      ParseRules("rule r\n" + where +
                     "graph @pattern(%x, %w) {\n  %a = torch.f(%x, %w)\n  return %a\n}\n"
                     "graph @replacement(%x, %w) {\n  %a = torch.g(%x, %w)\n  return %a\n}\n",
                 "rules");
  EXPECT_OK(rules);
  const auto module = ParseModule("symbol S0 = 2\ngraph @forward(%x" + x + ", %w" + w +
                                      ") {\n  %a = torch.f(%x, %w)\n  return (%a,)\n}\n",
                                  "test");
  EXPECT_OK(module);
  if (!rules.ok() || !module.ok()) return 0;
  std::vector<size_t> counts;
  EXPECT_OK(ApplyRules(*rules, module->get(), &counts));
  return counts[0];
}

TEST(PatternTest, TypesAreConditions) {
  const std::string x = " : f32[2, 3, 64]@cuda:1", w = " : bf16[64]";
  for (const char* where :
       {"where %x: f32[2, 3, 64]\n", "where %x: f32\n", "where %x: ?[*, *, 64]\n",
        "where %x: f16|f32[..., 64]\n", "where %x: ?[2, ...]\n", "where %x: ?[...]@cuda\n",
        "  where %x: f32@cuda:1\n", "where %x: ?[*, *, N]\nwhere %w: ?[N]\n"}) {
    EXPECT_EQ(MatchesWith(where, x, w), 1u) << where;
  }
  for (const char* where :
       {"where %x: bf16\n", "where %x: f32[2, 3]\n", "where %x: f32[2, 3, 65]\n",
        "where %x: f32@cpu\n", "where %x: f32@cuda:0\n", "where %x: ?[..., 3]\n",
        "where %x: ?[*, N, *]\nwhere %w: ?[N]\n", "where %x: ?[*, *, *, *, ...]\n",
        "where %x: f32\nwhere %w: f32\n"}) {
    EXPECT_EQ(MatchesWith(where, x, w), 0u) << where;
  }
  // A symbolic size equals itself, but no number.
  EXPECT_EQ(MatchesWith("where %x: ?[2]\n", " : f32[S0]", ""), 0u);
  EXPECT_EQ(MatchesWith("where %x: ?[N]\nwhere %w: ?[N]\n", " : f32[S0]", " : i64[S0]"), 1u);
  EXPECT_EQ(MatchesWith("where %x: f32\n", "", ""), 0u);
}

TEST(PatternTest, ErrorsNameLineAndColumn) {
  const std::string graphs =
      "graph @pattern(%x, **%rest) {\n  %a = torch.f(%x, **%rest)\n  return %a\n}\n"
      "graph @replacement(%x, **%rest) {\n  %a = torch.g(%x, **%rest)\n  return %a\n}\n";
  const auto error = [](const std::string& text) {
    return std::string(ParseRules(text, "r").status().message());
  };
  EXPECT_EQ(error("rule r\n" + graphs), "");
  EXPECT_THAT(error("rule r\nwhere %y: f32\n" + graphs), HasSubstr("r:2:8: @pattern has no %y"));
  EXPECT_THAT(error("rule r\n  where %x: f33\n" + graphs), HasSubstr("r:2:13: expected a dtype"));
  EXPECT_THAT(error("rule r\nwhere %x: f32[2\n" + graphs),
              HasSubstr("r:2:16: expected ',' or ']'"));
  EXPECT_THAT(error("rule r\nwhere %x: f32[..., ...]\n" + graphs),
              HasSubstr("r:2:20: '...' may occur only once"));
  EXPECT_THAT(error("rule r\nwhere %x\n" + graphs), HasSubstr("r:2:9: expected ':'"));
  EXPECT_THAT(error("rule r\nwhere %rest: f32\n" + graphs),
              HasSubstr("r:2:8: %rest is not a value"));
  EXPECT_THAT(error("rule r\ngraph @pattern(%x) {\n  %a = torch.f|(%x)\n  return %a\n}\n"),
              HasSubstr("r:3:16: expected a target after |"));
  EXPECT_THAT(error("rule r\ngraph @pattern(%x) {\n  %a = torch.f(%x)\n  return %a\n}\n"
                    "graph @replacement(%x) {\n  %a = torch.f|.g(%x)\n  return %a\n}\n"),
              HasSubstr("r:7:15: only calls of @pattern have several targets"));
  EXPECT_THAT(
      error("rule r\ngraph @pattern(%x, *%r) {\n  %a = torch.f(%x, **%r)\n  return %a\n}\n"),
      HasSubstr("r:3:20: %r is written with one star and with two"));
  EXPECT_THAT(error("rule r\ngraph @pattern(%x, %r as keywords) {\n  %a = torch.f(%x, [%r])\n"
                    "  return %a\n}\n"),
              HasSubstr("a parameter for keywords must stand in a call"));
  // Text that shares a line with a star keeps its column.
  EXPECT_THAT(error("rule r\ngraph @pattern(%x, **%r) {\n  %a = torch.f(%x, **%r, q = )\n"),
              HasSubstr("r:3:30: "));
}

TEST(PatternTest, SaysWhyARuleNeverMatched) {
  const auto why = [](const std::string& rule, const std::string& body) {
    const auto rules =
        ParseRules("rule r\n" + rule + "graph @replacement(%x) {\n  return %x\n}\n", "rules");
    EXPECT_OK(rules);
    const auto module = ParseModule("graph @forward(%x, %y) {\n" + body + "}\n", "test");
    EXPECT_OK(module);
    return WhyNoMatch((*rules)[0], module->get());
  };
  const std::string relu = "graph @pattern(%x) {\n  %a = torch.relu(%x)\n  return %a\n}\n";
  EXPECT_EQ(why(relu, "  return (%x,)\n"), "torch.relu does not occur");
  EXPECT_EQ(why(relu, "  %a = .relu(%x)\n  %b = .relu(%a)\n  return (%b,)\n"),
            "torch.relu does not occur; .relu does, 2 times");
  EXPECT_EQ(why(relu,
                "  %a = torch.relu(%x, inplace = True)\n"
                "  %b = torch.relu(%a, inplace = True)\n  return (%b,)\n"),
            "torch.relu occurs 2 times, always with inplace=");
  EXPECT_EQ(why("where %x: f32\n" + relu, "  %a = torch.relu(%x)\n  return (%a,)\n"),
            "torch.relu occurs once, where nothing is known of %x: f32");
  EXPECT_EQ(why("graph @pattern(%x) {\n  %a = torch.f(%x)\n  %b = torch.relu(%a)\n  return %b\n}\n",
                "  %a = torch.f(%x)\n  %b = torch.relu(%a)\n  return (%b, %a)\n"),
            "torch.relu occurs once, with a value inside that is used elsewhere");
  auto refusing = ParseRules("rule r\n" + relu + "graph @replacement(%x) {\n  return %x\n}\n", "r");
  ASSERT_OK(refusing);
  (*refusing)[0].where = [](const PatternMatch&) { return false; };
  const auto module =
      ParseModule("graph @forward(%x) {\n  %a = torch.relu(%x)\n  return (%a,)\n}\n", "test");
  ASSERT_OK(module);
  EXPECT_EQ(WhyNoMatch((*refusing)[0], module->get()),
            "torch.relu occurs once, where its predicate refuses");
}

}  // namespace
}  // namespace graphnet
