// Tests that each row of the table of rules has a section in the page of paddle-map, and that each
// name has a call in paddle_examples.txt. Paddle has run these with the results of PyTorch
// (tests/tools/check_paddle.py).
#include <gtest/gtest.h>

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/text/parser.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/paddle/mapping.h"
#include "graphnet/paddle/rules.h"
#include "graphnet/paddle/to_paddle.h"
#include "graphnet/passes/pipeline.h"
#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Runs the passes of convert that depend on more than spellings.
TEST(PaddleExamplesTest, AreConvertedAsWritten) {
  ASSERT_FALSE(AllPaddleExamples().empty());
  const auto pipeline = ParsePipeline("explicit-operators");
  ASSERT_OK(pipeline);
  for (const PaddleExample& example : AllPaddleExamples()) {
    const auto module = ParseModule(std::string(example.graph), "example");
    ASSERT_OK(module) << example.graph;
    ASSERT_OK(RunPipeline(*pipeline, module->get()));
    const auto coverage = ConvertCallsToPaddle(module->get());
    ASSERT_OK(coverage);
    EXPECT_TRUE(coverage->left.empty()) << example.graph;
    EXPECT_OK(Verify(**module));
    std::vector<std::string> lines;
    for (const Node* node : (*module)->main()->nodes()) {
      if (!node->is_placeholder()) lines.push_back(PrintNode(*node));
    }
    EXPECT_EQ(absl::StrJoin(lines, " ; "), absl::StrJoin(example.converted, " ; "))
        << example.graph;
  }
}

// Names without a call that Paddle has run to the same result, with the reason, checked by hand.
const std::map<std::string, std::string>& NotRun() {
  static const auto* const names = new std::map<std::string, std::string>{
      {"Tensor.backward", "autograd: its value is a gradient or none"},
      {"Tensor.cuda", "needs a GPU"},
      {"Tensor.register_hook", "autograd: its value is a gradient or none"},
      {"retain_grad", "autograd: its value is a gradient or none"},
      {"Tensor.to_sparse_coo", "sparse: its value is no array that could be compared"},
      {"coalesce", "sparse: its value is no array that could be compared"},
      {"col_indices", "sparse: its value is no array that could be compared"},
      {"crow_indices", "sparse: its value is no array that could be compared"},
      {"dense_dim", "sparse: its value is no array that could be compared"},
      {"indices", "sparse: its value is no array that could be compared"},
      {"is_coalesced", "sparse: its value is no array that could be compared"},
      {"smm", "sparse: its value is no array that could be compared"},
      {"sparse_coo_tensor", "sparse: its value is no array that could be compared"},
      {"sparse_csr_tensor", "sparse: its value is no array that could be compared"},
      {"sparse_dim", "sparse: its value is no array that could be compared"},
      {"sparse_mask", "sparse: its value is no array that could be compared"},
      {"sspaddmm", "sparse: its value is no array that could be compared"},
      {"to_dense", "sparse: its value is no array that could be compared"},
      {"to_sparse", "sparse: its value is no array that could be compared"},
      {"to_sparse_csr", "sparse: its value is no array that could be compared"},
      {"values", "sparse: its value is no array that could be compared"},
      {"torch.autocast", "changes how later calls run, and has no value"},
      {"torch.cpu.amp.autocast", "changes how later calls run, and has no value"},
      {"torch.enable_grad", "changes how later calls run, and has no value"},
      {"torch.inference_mode", "changes how later calls run, and has no value"},
      {"torch.manual_seed", "changes how later calls run, and has no value"},
      {"torch.no_grad", "changes how later calls run, and has no value"},
      {"torch.set_default_dtype", "changes how later calls run, and has no value"},
      {"torch.get_default_dtype", "its value is no array"},
      {"torch.is_autocast_enabled", "says how the caller runs it"},
      {"torch.is_grad_enabled", "says how the caller runs it"},
      {"pin_memory", "needs a GPU"},
      {"index", "PyTorch's own tests have no call"}};
  return *names;
}

TEST(PaddleExamplesTest, EachNameHasAnExample) {
  std::set<std::string> names;
  std::set<std::string> without;
  for (const PaddleExample& example : AllPaddleExamples()) names.emplace(example.name);
  for (const PaddleRule& rule : AllPaddleRules()) {
    const bool is_call =
        rule.kind == PaddleRule::Kind::kCall || rule.kind == PaddleRule::Kind::kKeep;
    if (!is_call || names.contains(rule.name)) continue;
    if (!NotRun().contains(rule.name)) without.insert(rule.name);
  }
  EXPECT_EQ(absl::StrJoin(without, " "), "");
  for (const auto& [name, why] : NotRun()) {
    EXPECT_FALSE(names.contains(name)) << name << " has an example: " << why << " is not so";
    EXPECT_FALSE(PaddleRulesOf(name).empty()) << name;
  }
}

TEST(PaddleMappingTest, FindsACallByNameOrLastComponent) {
  const auto exact = FindPaddleRules("Tensor.bfloat16");
  ASSERT_TRUE(exact.ok()) << exact.status();
  ASSERT_EQ(exact->size(), 1u);
  const std::string section = PaddleMappingSection(exact->front());
  EXPECT_THAT(section, StartsWith("## `Tensor.bfloat16`\n"));
  EXPECT_THAT(PaddleMappingPage(), HasSubstr(section));
  const auto end = FindPaddleRules("bfloat16");
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(PaddleMappingSection(end->front()), section);
  EXPECT_THAT(std::string(FindPaddleRules("bfloat61").status().message()),
              HasSubstr("no rule for bfloat61"));
}

// Programs and converters spell a call in several ways, and all get the same rules.
TEST(PaddleMappingTest, AllSpellingsFindTheSameRules) {
  const auto section = [](const char* spelling) {
    const auto found = FindPaddleRules(spelling);
    if (!found.ok()) return std::string(found.status().message());
    EXPECT_EQ(found->size(), 1u) << spelling;
    return PaddleMappingSection(found->front());
  };
  for (const char* const spelling : {"torch.addmm", "torch.Tensor.addmm", "aten.addmm"}) {
    const std::string text = section(spelling);
    EXPECT_THAT(text, StartsWith(absl::StrCat("## `", spelling, "`\n")));
    EXPECT_THAT(text, HasSubstr(absl::StrCat(spelling, "(self, mat1, mat2, *, beta=1, alpha=1)")));
    EXPECT_THAT(text, HasSubstr("The rules are those of `addmm`.\n"));
    EXPECT_THAT(text, HasSubstr("1. class 1, direct: `paddle.addmm("));
    EXPECT_THAT(text, HasSubstr("| `mat1` | `x` |"));
    EXPECT_THAT(text, HasSubstr("%r = paddle.addmm("));
  }
  EXPECT_THAT(section("torch.Tensor.addbmm_"),
              HasSubstr("those of `addbmm`; the call writes to its input by `paddle.assign`."));
  EXPECT_THAT(section("torch._foreach_cosh"),
              HasSubstr("those of `cosh`, for each tensor of the list."));
  EXPECT_THAT(section("torch._foreach_cosh_"),
              HasSubstr("for each tensor of the list; the call writes to its input"));
  EXPECT_THAT(section("torch.meshgrid"), HasSubstr("those of `torch.functional.meshgrid`."));
  EXPECT_THAT(section("torch.no_such_call"), HasSubstr("no rule for torch.no_such_call"));
}

TEST(PaddleMappingTest, EachRowIsDocumented) {
  const std::string page = PaddleMappingPage();
  std::set<std::string> names;
  for (const PaddleRule& rule : AllPaddleRules()) {
    names.insert(rule.name);
    EXPECT_THAT(page, HasSubstr(absl::StrCat("\n## `", rule.name, "`\n")));
    EXPECT_THAT(page, HasSubstr(absl::StrCat("class ", rule.mapping_class, ", ",
                                             MappingClassName(rule.mapping_class))));
    if (rule.kind == PaddleRule::Kind::kCall) {
      EXPECT_THAT(page, HasSubstr(absl::StrCat("`", PaddleCallText(rule.call), "`"))) << rule.name;
    }
  }
  size_t sections = 0;
  for (size_t at = page.find("\n## "); at != std::string::npos; at = page.find("\n## ", at + 1))
    ++sections;
  EXPECT_EQ(sections, names.size());
}

}  // namespace
}  // namespace graphnet
