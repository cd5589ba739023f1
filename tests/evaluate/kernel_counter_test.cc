#include "graphnet/evaluate/kernel_counter.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graphnet/ir/text/parser.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A chain of calls named as given, each of the value before it.
Sample ChainOf(const std::vector<std::string>& calls) {
  std::string text = "graph @forward(%v0 : f32[2]) {\n";
  for (size_t i = 0; i < calls.size(); ++i)
    absl::StrAppend(&text, "  %v", i + 1, " = ", calls[i], "(%v", i, ") : f32[2]\n");
  absl::StrAppend(&text, "  return (%v", calls.size(), ",)\n}\n");
  absl::StatusOr<Sample> sample = ParseSample(text, "test");
  EXPECT_OK(sample.status());
  return *std::move(sample);
}

// A compiler that fuses every call with the one before it, but for torch.sort, which is a kernel of
// its own.
class Fuser {
 public:
  absl::StatusOr<int64_t> operator()(const Sample& sample) {
    ++asked;
    int64_t kernels = 0;
    bool is_open = false;
    for (const Node* node : sample.module->main()->nodes()) {
      if (!node->is_call()) continue;
      const bool is_sort = node->target() == "torch.sort";
      kernels += is_sort || !is_open ? 1 : 0;
      is_open = !is_sort;
    }
    return kernels;
  }
  int asked = 0;
};

TEST(KernelCounterTest, FindsTheRunsThatACompilerFuses) {
  Fuser fuser;
  const Sample sample = ChainOf({"torch.relu", "torch.exp", "torch.sort", "torch.sin", "torch.cos",
                                 "torch.tanh", "torch.sort", "torch.neg"});
  const auto counts =
      CountKernelsOfPrefixes(sample, [&](const Sample& prefix) { return fuser(prefix); });
  ASSERT_OK(counts.status());
  EXPECT_THAT(counts->operators, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_THAT(counts->kernels, ElementsAre(1, 1, 2, 3, 3, 3, 4, 5));
  EXPECT_THAT(FusedRanges(*counts), ElementsAre(Range{0, 2}, Range{3, 6}));
}

TEST(KernelCounterTest, CountsFewPrefixesIfKernelsAreFew) {
  Fuser fuser;
  std::vector<std::string> calls(200, "torch.relu");
  calls[77] = "torch.sort";
  const auto counts =
      CountKernelsOfPrefixes(ChainOf(calls), [&](const Sample& prefix) { return fuser(prefix); });
  ASSERT_OK(counts.status());
  EXPECT_THAT(FusedRanges(*counts), ElementsAre(Range{0, 77}, Range{78, 200}));
  EXPECT_LT(fuser.asked, 25);
}

TEST(KernelCounterTest, AnErrorSaysOfWhichPrefixItIs) {
  const auto counts =
      CountKernelsOfPrefixes(ChainOf({"torch.relu", "torch.exp"}),
                             [](const Sample&) { return absl::FailedPreconditionError("no"); });
  EXPECT_EQ(counts.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(counts.status().message(), HasSubstr("the first 2 operators: no"));
}

}  // namespace
}  // namespace graphnet
