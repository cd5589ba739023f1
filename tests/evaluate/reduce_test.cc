#include "graphnet/evaluate/reduce.h"

#include <functional>
#include <map>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "graphnet/ir/observed_values.h"
#include "graphnet/ir/text/parser.h"
#include "graphnet/ir/text/printer.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Sample SampleOf(absl::string_view text) {
  absl::StatusOr<Sample> sample = ParseSample(text, "test");
  EXPECT_OK(sample.status());
  sample->name = "test";
  return *std::move(sample);
}

int Count(const Sample& sample, absl::string_view target) {
  int count = 0;
  for (const Node* node : sample.module->main()->nodes()) count += node->target() == target ? 1 : 0;
  return count;
}

std::string Text(const Sample& sample) { return PrintModule(*sample.module); }

// Samples for which `holds` returns true are interesting. Shapes are assumed to be right.
absl::StatusOr<Reduction> ReduceText(absl::string_view text,
                                     const std::function<bool(const Sample&)>& holds,
                                     absl::Time deadline = absl::InfiniteFuture()) {
  ReduceOptions options;
  options.is_interesting = [&](const Sample& sample) { return holds(sample); };
  options.observe.infer = [](const Sample& sample, ObservedValues* found) {
    found->module = sample.module->Clone();
    return absl::OkStatus();
  };
  options.deadline = deadline;
  return Reduce(SampleOf(text), options);
}

// Returns a chain of torch.add with the given calls at `places`.
std::string Chain(int length, const std::map<int, std::string>& places) {
  std::string text = "graph @forward(%v0 : f32[8, 4] {mean = 3.0, std = 2.0}, %w : f32[4]) {\n";
  for (int i = 0; i < length; ++i) {
    const auto it = places.find(i);
    absl::StrAppend(&text, "  %v", i + 1, " = ", it != places.end() ? it->second : "torch.add",
                    "(%v", i, it != places.end() ? "" : ", %w", ") : f32[8, 4]\n");
  }
  return absl::StrCat(text, "  return (%v", length, ", %v", length / 2, ")\n}\n");
}

TEST(ReduceTest, FindsTheOneOperator) {
  for (const int place : {0, 1, 31, 63, 98, 99}) {
    const auto reduction = ReduceText(Chain(100, {{place, "torch.erf"}}), [](const Sample& sample) {
      return Count(sample, "torch.erf") == 1;
    });
    ASSERT_OK(reduction.status());
    EXPECT_TRUE(reduction->is_minimal);
    EXPECT_EQ(reduction->before.operators, 100);
    EXPECT_EQ(reduction->after.operators, 1);
    EXPECT_EQ(reduction->after.inputs, 1);
    EXPECT_EQ(reduction->after.elements, 1);
    EXPECT_LT(reduction->tries, 60) << "at " << place;
    EXPECT_EQ(reduction->sample.name, "test");
    // The operator keeps its name.
    EXPECT_THAT(Text(reduction->sample), HasSubstr(absl::StrCat("%v", place + 1, " = torch.erf")));
  }
}

TEST(ReduceTest, RefusesASampleWithoutTheProperty) {
  const auto reduction = ReduceText(Chain(3, {}), [](const Sample&) { return false; });
  EXPECT_EQ(reduction.status().message(),
            "the sample does not have the property that is to be kept");
}

TEST(ReduceTest, KeepsOperatorsThatOnlyFailTogether) {
  const auto reduction =
      ReduceText(Chain(64, {{3, "torch.erf"}, {50, "torch.tanh"}, {20, "torch.sin"}}),
                 [](const Sample& sample) {
                   return Count(sample, "torch.erf") == 1 && Count(sample, "torch.tanh") == 1;
                 });
  ASSERT_OK(reduction.status());
  EXPECT_EQ(reduction->after.operators, 2);
}

// Inputs take the place of other operators, so that one operator still feeds the other.
TEST(ReduceTest, KeepsAnEdge) {
  const auto reduction =
      ReduceText(Chain(40, {{10, "torch.erf"}, {11, "torch.tanh"}}), [](const Sample& sample) {
        for (const Node* node : sample.module->main()->nodes()) {
          if (node->target() == "torch.tanh" && node->args()[0].node()->target() == "torch.erf")
            return true;
        }
        return false;
      });
  ASSERT_OK(reduction.status());
  EXPECT_EQ(reduction->after.operators, 2);
  EXPECT_EQ(reduction->after.inputs, 1);
}

TEST(ReduceTest, DropsTuplesWithTheCallsThatTakeThemApart) {
  constexpr absl::string_view kText = R"(
graph @forward(%x : f32[6, 4]) {
  %a = torch.relu(%x) : f32[6, 4]
  %s = torch.split(%a, 2) : (f32[2, 4], f32[2, 4], f32[2, 4])
  %s0 = operator.getitem(%s, 0) : f32[2, 4]
  %t = torch.tanh(%s0) : f32[2, 4]
  %s1 = operator.getitem(%s, 1) : f32[2, 4]
  %e = torch.erf(%s1) : f32[2, 4]
  %y = torch.add(%t, %e) : f32[2, 4]
  return (%y,)
}
)";
  const auto erf =
      ReduceText(kText, [](const Sample& sample) { return Count(sample, "torch.erf") == 1; });
  ASSERT_OK(erf.status());
  EXPECT_EQ(erf->after.operators, 1);
  const auto split =
      ReduceText(kText, [](const Sample& sample) { return Count(sample, "torch.split") == 1; });
  ASSERT_OK(split.status());
  EXPECT_LE(split->after.operators, 2);
}

TEST(ReduceTest, SimplifiesNumbersKeywordsAndInputsThatDoNotMatter) {
  const auto reduction = ReduceText(
      R"(
graph @forward(%x : f32[64, 48] {mean = 7.0, std = 0.5, min = 0.0}, %i : i64[64] {min = 0, max = 9}) {
  %v = .view(%x, 64, 6, 8) : f32[64, 6, 8]
  %a = torch.add(%v, 2.5, alpha = 3) : f32[64, 6, 8]
  %b = torch.foo(%a, %i, 17, 4.5) : f32[64, 6, 8]
  return (%b,)
}
)",
      [](const Sample& sample) {
        const Node* foo = sample.module->main()->FindNode("b");
        return foo != nullptr && foo->target() == "torch.foo" && foo->args()[2].integer() >= 1 &&
               Count(sample, "view") == 1;
      });
  ASSERT_OK(reduction.status());
  const std::string text = Text(reduction->sample);
  EXPECT_THAT(text, HasSubstr("torch.foo("));
  EXPECT_THAT(text, HasSubstr(", 1, 0.0)"));
  EXPECT_THAT(text, Not(HasSubstr("17")));
  EXPECT_THAT(text, Not(HasSubstr("alpha")));
  EXPECT_THAT(text, Not(HasSubstr("mean = 7.0")));
  EXPECT_THAT(text, Not(HasSubstr("max = 9")));
  EXPECT_EQ(reduction->after.elements, 3) << text;  // of %x, %i and the operand of %b
}

TEST(ReduceTest, ArgumentsFollowSizesThatMatter) {
  const auto reduction = ReduceText(
      R"(
graph @forward(%x : f32[12, 10]) {
  %v = .view(%x, 120) : f32[120]
  return (%v,)
}
)",
      [](const Sample& sample) {
        const Node* x = sample.module->main()->FindNode("x");
        const Node* v = sample.module->main()->FindNode("v");
        const int64_t rows = x->tensor_meta()->shape[0].value;
        const int64_t columns = x->tensor_meta()->shape[1].value;
        return rows >= 3 && v->args()[1].integer() == rows * columns;
      });
  ASSERT_OK(reduction.status());
  EXPECT_EQ(reduction->after.elements, 3) << Text(reduction->sample);
}

TEST(ReduceTest, WritesToMemoryStayInOrder) {
  const auto reduction =
      ReduceText(R"(
graph @forward(%x : f32[4], %y : f32[4]) {
  %a = torch.mul(%x, %y) : f32[4]
  %b = .add_(%a, 1) : f32[4]
  %c = torch.exp(%a) : f32[4]
  %d = .zero_(%a) : f32[4]
  %e = torch.neg(%c) : f32[4]
  return (%e, %a)
}
)",
                 [](const Sample& sample) {
                   bool written = false;
                   for (const Node* node : sample.module->main()->nodes()) {
                     written |= node->target() == "add_";
                     if (node->target() == "exp" || node->target() == "torch.exp") return written;
                   }
                   return false;
                 });
  ASSERT_OK(reduction.status());
  EXPECT_EQ(reduction->after.operators, 2) << Text(reduction->sample);
}

TEST(ReduceTest, SymbolsBecomeNumbers) {
  const auto reduction =
      ReduceText(R"(
symbol S0 = 5
graph @forward(%x : f32[S0, 4]) {
  %r = torch.relu(%x) : f32[S0, 4]
  %y = torch.erf(%r) : f32[S0, 4]
  return (%y,)
}
)",
                 [](const Sample& sample) { return Count(sample, "torch.erf") == 1; });
  ASSERT_OK(reduction.status());
  EXPECT_EQ(reduction->after.elements, 1);
  EXPECT_TRUE(reduction->sample.module->symbols().empty());
}

TEST(ReduceTest, StopsInTime) {
  int asked = 0;
  ReduceOptions options;
  options.deadline = absl::InfinitePast();
  options.is_interesting = [&](const Sample&) {
    ++asked;
    return true;
  };
  const auto whole = Reduce(SampleOf(Chain(10, {})), options);
  ASSERT_OK(whole.status());
  EXPECT_FALSE(whole->is_minimal);
  EXPECT_EQ(whole->after.operators, 10);
  EXPECT_EQ(asked, 1);
  // The result is the smallest sample so far.
  options.deadline = absl::Now() + absl::Seconds(2);
  options.is_interesting = [&](const Sample& sample) {
    absl::SleepFor(absl::Milliseconds(200));
    return Count(sample, "torch.erf") == 1;
  };
  const auto reduction = Reduce(SampleOf(Chain(1000, {{700, "torch.erf"}})), options);
  ASSERT_OK(reduction.status());
  EXPECT_FALSE(reduction->is_minimal);
  EXPECT_LT(reduction->after.operators, 1000);
  EXPECT_EQ(Count(reduction->sample, "torch.erf"), 1);
}

TEST(ReduceTest, RefusesUninterestingSamplesAndReturnsErrors) {
  const auto boring = ReduceText(Chain(4, {}), [](const Sample&) { return false; });
  EXPECT_EQ(boring.status().code(), absl::StatusCode::kFailedPrecondition);
  ReduceOptions options;
  int asked = 0;
  options.is_interesting = [&](const Sample&) -> absl::StatusOr<bool> {
    if (++asked == 3) return absl::ResourceExhaustedError("disk full");
    return true;
  };
  const auto broken = Reduce(SampleOf(Chain(10, {})), options);
  EXPECT_EQ(broken.status().message(), "disk full");
}

}  // namespace
}  // namespace graphnet
