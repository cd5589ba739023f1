// Every pass is documented, its examples are true, and docs/passes.md is current.
#include "graphnet/passes/documentation.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graphnet/ir/text/parser.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/paddle/to_paddle.h"  // the pass to-paddle
#include "graphnet/passes/pipeline.h"
#include "graphnet/passes/registry.h"
#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

using ::testing::HasSubstr;

std::string Canonical(const std::string& text) {
  const auto module = ParseModule(text, "example");
  EXPECT_OK(module) << text;
  if (!module.ok()) return "";
  EXPECT_OK(Verify(**module)) << text;
  PrintOptions options;
  options.locations = false;
  return PrintModule(**module, options);
}

class DocumentationTest : public testing::TestWithParam<const Pass*> {};

TEST_P(DocumentationTest, ExamplesAreTrue) {
  const Pass& pass = *GetParam();
  const auto documentation = DocumentationOf(pass);
  ASSERT_OK(documentation);
  for (const absl::string_view option : pass.options()) {
    EXPECT_THAT(documentation->options, HasSubstr(absl::StrCat("- ", option, ": ")));
  }
  size_t examples = 0;
  for (const PassExample& example : documentation->examples) {
    SCOPED_TRACE(example.title);
    examples += example.is_counter_example ? 0 : 1;
    const auto module = ParseModule(example.before, "example");
    ASSERT_OK(module);
    ASSERT_OK(Verify(**module));
    const auto pipeline = ParsePipeline(absl::StrCat(pass.name(), "{", example.options, "}"));
    ASSERT_OK(pipeline);
    PipelineOptions options;
    options.verify_each = true;
    PrintOptions print;
    print.locations = false;
    const std::string before = PrintModule(**module, print);
    const auto results = RunPipeline(*pipeline, module->get(), options);
    if (!example.refused.empty()) {
      EXPECT_THAT(results.status().message(), HasSubstr(example.refused));
      EXPECT_NE(results.status().code(), absl::StatusCode::kInternal);
      EXPECT_EQ(PrintModule(**module, print), before);
      continue;
    }
    ASSERT_OK(results);
    // check-stable never changes a graph, so its examples do not change anything either.
    EXPECT_EQ((*results)[0].changed, !example.is_counter_example && pass.name() != "check-stable");
    EXPECT_EQ(PrintModule(**module, print), Canonical(example.after));
    // A second run changes nothing.
    const auto again = RunPipeline(*pipeline, module->get(), options);
    ASSERT_OK(again);
    EXPECT_FALSE((*again)[0].changed);
  }
  EXPECT_GE(examples, 2u) << "a pass shows two kinds of call that it rewrites";
}

std::vector<const Pass*> Pointers() {
  std::vector<const Pass*> passes;
  for (const Pass& pass : AllPasses()) passes.push_back(&pass);
  return passes;
}
INSTANTIATE_TEST_SUITE_P(Passes, DocumentationTest, testing::ValuesIn(Pointers()),
                         [](const auto& info) {
                           std::string name(info.param->name());
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

TEST(DocumentationPageTest, IsCurrent) {
  std::ifstream file("docs/passes.md");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), PassesPage())
      << "make it anew: graphnet passes --markdown > docs/passes.md";
}

TEST(ParsePassDocumentationTest, ErrorsNameTheMissingPart) {
  constexpr char kWhole[] =
      "// Does it.\n//\n// Applicable in scenarios where x.\n//\n// When applied, this pass will "
      "y.\n//\n"
      "// Performance impact: none.\n//\n// Risks and limitations: none.\n//\n"
      "// Example: a\n//   graph @a() {\n//   becomes\n//   graph @b() {\n//\n// Counter-example: "
      "b\n//   graph @c() {\n"
      "int F();\n";
  const auto whole = ParsePassDocumentation(kWhole);
  ASSERT_OK(whole);
  EXPECT_EQ(whole->summary, "Does it.");
  EXPECT_EQ(whole->tier, Tier::kSupported);
  ASSERT_EQ(whole->examples.size(), 2u);
  EXPECT_EQ(whole->examples[0].after, "graph @b() {\n");
  for (const std::string part :
       {"Applicable in scenarios where", "When applied, this pass will",
        "Performance impact:", "Risks and limitations:", "Example:", "Counter-example:"}) {
    std::string text = kWhole;
    text.replace(text.find("// " + part) + 3, part.size(), "Returns");  // which the page leaves out
    EXPECT_THAT(ParsePassDocumentation(text).status(),
                StatusIs(absl::StatusCode::kInvalidArgument, "no paragraph \"" + part + " …\""));
  }
  std::string unknown = kWhole;
  unknown.insert(unknown.find("// Example"), "// Risks: none.\n//\n");
  EXPECT_THAT(ParsePassDocumentation(unknown).status().message(),
              testing::HasSubstr("a paragraph has an unknown opening: Risks: none."));
  std::string text = kWhole;
  text.insert(text.find("// Applicable"), "// Tier: experimental\n//\n");
  const auto experimental = ParsePassDocumentation(text);
  ASSERT_OK(experimental);
  EXPECT_EQ(experimental->tier, Tier::kExperimental);
  text.replace(text.find("experimental"), 12, "odd");
  EXPECT_THAT(ParsePassDocumentation(text).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, "no tier is called \"odd\""));
  constexpr char kTwoGraphs[] =
      "an example has two graphs with \"becomes\" between them, a counter-example one";
  for (const auto& [example, why] :
       {std::pair("//   graph @c() {\n// }\n", "example line not indented: }"),
        std::pair("//   x=1\n", "an example has no graph"),
        std::pair("//   graph @c() {\n//   becomes\n//   graph @d() {\n", kTwoGraphs)}) {
    text = kWhole;
    text.replace(text.find("//   graph @c() {\n"), 18, example);
    EXPECT_THAT(ParsePassDocumentation(text).status(),
                StatusIs(absl::StatusCode::kInvalidArgument, why));
  }
}

TEST(DocumentationOfTest, APassOfAnotherProgramBringsItsHeader) {
  const Pass::Function function = [](Module*, PassRun&) -> absl::StatusOr<bool> { return false; };
  const Pass pass("other", "other.h", function);
  EXPECT_THAT(DocumentationOf(pass).status(),
              StatusIs(absl::StatusCode::kNotFound,
                       "the pass other is not documented: other.h is not built in"));
}

TEST(ParsePassDocumentationTest, ListsKeepTheirLines) {
  const auto parsed = ParsePassDocumentation(
      "// Does it.\n//\n// Applicable in scenarios where x.\n//\n// When applied, this pass will "
      "do:\n// - this,\n//   or that;\n// - more.\n// And\n// this.\n//\n"
      "// Options:\n// - a: one,\n//   two\n// - b: three\n//\n"
      "// Performance impact: none.\n//\n// Risks and limitations: none\n// at all.\n//\n"
      "// Example: a\n//   graph @a() {\n//   becomes\n//   graph @b() {\n//\n"
      "// Counter-example: b\n//   graph @c() {\nint F();\n");
  ASSERT_OK(parsed);
  EXPECT_EQ(parsed->change,
            "When applied, this pass will do:\n\n- this, or that;\n- more.\n\nAnd this.");
  EXPECT_EQ(parsed->options, "- a: one, two\n- b: three");
  EXPECT_EQ(parsed->risks, "none at all.");
}

}  // namespace
}  // namespace graphnet
