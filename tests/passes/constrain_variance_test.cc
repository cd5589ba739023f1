#include "graphnet/passes/constrain_variance.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "graphnet/ir/text/parser.h"
#include "graphnet/ir/verifier.h"
#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kNorm[] =
    "torch.nn.functional.batch_norm(%x, %m, %v, None, None, False, 0.1, 1e-05)";

// Runs the pass and returns the inputs of the main graph that have a lower bound of 0.
std::vector<std::string> Bounded(const std::string& text,
                                 std::vector<std::string>* notes = nullptr) {
  const auto module = ParseModule(text, "test");
  EXPECT_OK(module);
  EXPECT_OK(Verify(**module));
  PassRun run;
  EXPECT_OK(ConstrainVariance(module->get(), run));
  if (notes != nullptr) {
    for (const PassNote& note : run.notes()) notes->push_back(note.what);
  }
  std::vector<std::string> names;
  for (const Node* node : (*module)->main()->placeholders()) {
    const DrawSpec* spec = node->draw_spec();
    if (spec != nullptr && spec->min == Argument(int64_t{0})) names.emplace_back(node->name());
  }
  for (const Attribute& attribute : (*module)->attributes()) {
    if (attribute.draw_spec != nullptr && attribute.draw_spec->min == Argument(int64_t{0})) {
      names.emplace_back(attribute.name);
    }
  }
  return names;
}

TEST(ConstrainVarianceTest, ThroughViewsCopiesAndConversions) {
  EXPECT_THAT(Bounded(absl::StrCat(
                  "graph @forward(%x, %m, %base) {\n  %a = .clone(%base)\n  %b = .float(%a)\n"
                  "  %c = .view(%b, -1)\n  %v = .contiguous(%c)\n  %y = ",
                  kNorm, "\n  return (%y,)\n}\n")),
              ElementsAre("base"));
}

TEST(ConstrainVarianceTest, ThroughSlicesAndPieces) {
  for (const char* const view :
       {"  %v = operator.getitem(%base, slice(0, 3, None))\n",
        "  %v = operator.getitem(%base, (slice(None, None, None), 0))\n",
        "  %a = .chunk(%base, 2)\n  %v = operator.getitem(%a, 1)\n",
        "  %a = torch.unbind(%base)\n  %v = operator.getitem(%a, 0)\n",
        "  %a = torch.split(%base, 3)\n  %b = operator.getitem(%a, slice(1, None, None))\n"
        "  %v = operator.getitem(%b, 0)\n",
        "  %v = .narrow(%base, 0, 0, 3)\n"}) {
    EXPECT_THAT(Bounded(absl::StrCat("graph @forward(%x, %m, %base) {\n", view, "  %y = ", kNorm,
                                     "\n  return (%y,)\n}\n")),
                ElementsAre("base"))
        << view;
  }
  // An element of a computed value is computed, too.
  EXPECT_THAT(Bounded(absl::StrCat("graph @forward(%x, %m, %base) {\n  %a = torch.max(%base, 0)\n"
                                   "  %v = operator.getitem(%a, 0)\n  %y = ",
                                   kNorm, "\n  return (%y,)\n}\n")),
              ElementsAre());
}

TEST(ConstrainVarianceTest, SaysWhatMayBeDrawn) {
  std::vector<std::string> notes;
  Bounded(absl::StrCat("graph @forward(%x, %m, %v : f32[2]) {\n  %y = ", kNorm,
                       "\n  return (%y,)\n}\n"),
          &notes);
  EXPECT_THAT(notes, ElementsAre(HasSubstr("%y: v is a variance, but may be drawn below 0")));
  // An input whose elements are given needs no bound.
  notes.clear();
  Bounded(absl::StrCat("graph @forward(%x, %m, %v : f32[2] {data = [1.0, 0.0]}) {\n  %y = ", kNorm,
                       "\n  return (%y,)\n}\n"),
          &notes);
  EXPECT_THAT(notes, ElementsAre());
}

TEST(ConstrainVarianceTest, IntoBodies) {
  EXPECT_THAT(
      Bounded(absl::StrCat("graph @forward(%p, %a, %b, %c) {\n"
                           "  %y = torch.cond(%p, @n, @n, (%a, %b, %c))\n  return (%y,)\n}\n"
                           "graph @n(%x, %m, %v) {\n  %y = ",
                           kNorm, "\n  return %y\n}\n")),
      ElementsAre("c"));
}

TEST(ConstrainVarianceTest, Attributes) {
  EXPECT_THAT(Bounded(absl::StrCat("attribute bn.running_var : f32[2]\ngraph @forward(%x, %m) {\n"
                                   "  %v = get_attr bn.running_var\n  %y = ",
                                   kNorm, "\n  return (%y,)\n}\n")),
              ElementsAre("bn.running_var"));
}

TEST(ConstrainVarianceTest, ByKeywordAndInAten) {
  EXPECT_THAT(
      Bounded("graph @forward(%x, %m, %v, %w) {\n"
              "  %y = torch.batch_norm(%x, None, None, running_mean = %m, running_var = %v, "
              "training = False, "
              "momentum = 0.1, eps = 1e-05, cudnn_enabled = True)\n"
              "  %z = aten.native_batch_norm.default(%y, None, None, %m, %w, False, 0.1, 1e-05)\n"
              "  return (%z,)\n}\n"),
      ElementsAre("v", "w"));
}

TEST(ConstrainVarianceTest, NotWhatIsComputed) {
  EXPECT_THAT(Bounded(absl::StrCat("graph @forward(%x, %m, %a) {\n  %v = torch.exp(%a)\n  %y = ",
                                   kNorm, "\n  return (%y,)\n}\n")),
              ElementsAre());
}

TEST(ConstrainVarianceTest, NotesWhatABoundDoesNotHelp) {
  std::vector<std::string> notes;
  Bounded(
      "graph @forward(%x, %m, %v : f32[2] {data = [1.0, -1.0], min = 0}) {\n"
      "  %y = torch.nn.functional.batch_norm(%x, %m, %v, None, None, False, 0.1, 0.0)\n  return "
      "(%y,)\n}\n",
      &notes);
  EXPECT_THAT(notes, ElementsAre(HasSubstr("v is a variance, and no bound can keep it over 0")));
}

TEST(ConstrainVarianceTest, WithoutEpsABoundOf0IsNotEnough) {
  const auto module = ParseModule(
      "graph @forward(%x, %m, %v : f32[2] {mean = 1.0, std = 1.0, min = 0}) {\n"
      "  %a = torch.nn.functional.batch_norm(%x, %m, %v, None, None, False, 0.1, 1e-05)\n"
      "  %y = torch.nn.functional.batch_norm(%a, %m, %v, None, None, False, 0.1, 0)\n"
      "  return (%y,)\n}\n",
      "test");
  ASSERT_OK(module);
  PassRun run;
  ASSERT_OK(ConstrainVariance(module->get(), run));
  ASSERT_EQ(run.notes().size(), 1u);
  EXPECT_THAT(run.notes()[0].what,
              HasSubstr("v is a variance, but may be drawn at 0 or below, where eps is 0"));
  EXPECT_EQ((*module)->main()->placeholders()[2]->draw_spec()->min, Argument(1e-6));
}

TEST(ConstrainVarianceTest, WhatIsKnownIsNotDrawn) {
  const auto module = ParseModule(absl::StrCat("attribute bn.running_var : f32[2]\n"
                                               "graph @forward(%x, %m) {\n"
                                               "  %v = get_attr bn.running_var\n  %y = ",
                                               kNorm, "\n  return (%y,)\n}\n"),
                                  "test");
  ASSERT_OK(module);
  PassRun run;
  run.SetKnown({"bn.running_var"});
  EXPECT_THAT(ConstrainVariance(module->get(), run), IsOkAndHolds(false));
  EXPECT_TRUE(run.notes().empty());
}

}  // namespace
}  // namespace graphnet
