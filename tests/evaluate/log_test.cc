#include "graphnet/evaluate/log.h"

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "graphnet/evaluate/log_writer.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"
#include "tests/evaluate/samples.h"

namespace graphnet {
namespace {

using testing::ElementsAre;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

TEST(LogTest, ALogWithoutSamplesIsAnError) {
  EXPECT_THAT(ParseLog("", "dir/a.log"),
              StatusIs(kInvalid, "dir/a.log: no sample in it: no line has [Processing]"));
  EXPECT_THAT(ParseLog(std::string(1000, '\0'), "a\n.log"),
              StatusIs(kInvalid, "a\\n.log: no sample in it: no line has [Processing]"));
}

TEST(LogTest, ACorrectSampleWithoutSpeedupIsAnError) {
  std::string log = WriteLog(MakeSample("good", 2, -5));
  SampleResult slow = MakeSample("bad", 1, -5);
  slow.speedups = {{"gpu", 2}};
  absl::StrAppend(&log, WriteLog(slow));
  EXPECT_THAT(ParseLog(log, "a.log"),
              StatusIs(kInvalid, "a.log:78: no [Speedup][e2e] of sample bad, which is correct"));
  // A sample that fails or is never right needs no speedup.
  slow.path = "never";
  slow.outputs[0].close = 0;
  EXPECT_OK(ParseLog(WriteLog(slow) + WriteLog(MakeFailure("x", Outcome::kCompileFail)), "a.log"));
}

TEST(LogTest, SpeedupsAreThoseOfTheClock) {
  SampleResult sample = MakeSample("a", 2, -5);
  sample.speedups.emplace_back("gpu", 3);
  sample.intervals = {{"e2e", {1.5, 2.5}}, {"gpu", {2.5, 3.5}}};
  const auto log = ParseLog(WriteLog(sample), "a.log", {.clock = "gpu"});
  ASSERT_OK(log);
  EXPECT_EQ(log->samples[0].speedup, 3);
  EXPECT_EQ(log->samples[0].speedup_low, 2.5);
  EXPECT_EQ(log->samples[0].speedup_high, 3.5);
  EXPECT_EQ(log->config.back().first, "measure");
  EXPECT_EQ(log->config.back().second, "gpu");
  EXPECT_THAT(ParseLog(WriteLog(sample), "a.log", {.clock = "kernel"}),
              StatusIs(kInvalid, "a.log:1: no [Speedup][kernel] of sample a, which is correct"));
}

TEST(LogTest, TheLastOfARepeatedSampleCounts) {
  SampleResult first = MakeSample("a", 1, -5);
  first.speedups.clear();  // this would be an error if the sample counted
  const auto log = ParseLog(
      WriteLog(first) + WriteLog(MakeSample("b", 3, -5)) + WriteLog(MakeSample("a", 2, -5)),
      "x/y.run.log");
  ASSERT_OK(log);
  EXPECT_EQ(log->name, "y.run");
  ASSERT_EQ(log->samples.size(), 2);
  EXPECT_EQ(log->samples[0].path, "b");
  EXPECT_EQ(log->samples[1].speedup, 2);
  EXPECT_THAT(log->notes,
              ElementsAre("x/y.run.log:154: a path occurs more than once: the last sample counts"));
}

TEST(LogTest, KeepsTheConfigurationThatAllSamplesShare) {
  SampleResult other = MakeSample("b", 3, -5);
  other.config = {{"model", "b"}, {"device", "cuda"}, {"compiler", "nope"}};
  const auto log = ParseLog(WriteLog(MakeSample("a", 1, -5)) + WriteLog(other), "-");
  ASSERT_OK(log);
  EXPECT_EQ(log->name, "log");
  EXPECT_THAT(log->config, ElementsAre(std::pair<std::string, std::string>("compiler", "nope")));
}

TEST(LogTest, TheLargestDifferenceIsOverAllOutputs) {
  SampleResult sample = MakeSample("a", 1, -5);
  sample.eager_dtypes = sample.compiled_dtypes = {"float32", "float32", "float32"};
  sample.outputs.resize(3, sample.outputs[0]);
  sample.outputs[1].max_diff = 0.5;
  EXPECT_EQ(ParseLog(WriteLog(sample), "a")->samples[0].max_diff, 0.5);
  sample.outputs[0].max_diff = std::nan("");
  EXPECT_TRUE(std::isnan(ParseLog(WriteLog(sample), "a")->samples[0].max_diff));
}

// Order, lines and notes are the same on one thread and on several.
TEST(LogTest, PartsMakeUpTheWhole) {
  std::string text;
  for (int i = 0; i < 1500; ++i) {
    SampleResult sample = MakeSample(absl::StrCat("s", i), 1 + i % 7, i % 15 - 10);
    if (i % 100 == 50) {  // the log has no values for this output
      sample.eager_dtypes.push_back("int64");
      sample.compiled_dtypes.push_back("int64");
    }
    absl::StrAppend(&text, WriteLog(sample));
  }
  const auto one = ParseLog(text, "a.log", {.jobs = 1});
  const auto four = ParseLog(text, "a.log", {.jobs = 4});
  ASSERT_OK(one);
  ASSERT_OK(four);
  ASSERT_EQ(one->samples.size(), 1500);
  ASSERT_EQ(four->samples.size(), 1500);
  for (size_t i = 0; i < 1500; ++i) {
    EXPECT_EQ(one->samples[i].path, four->samples[i].path);
    EXPECT_EQ(one->samples[i].line, four->samples[i].line);
    EXPECT_EQ(one->samples[i].correct_levels, four->samples[i].correct_levels);
  }
  EXPECT_EQ(one->notes, four->notes);
  EXPECT_EQ(one->notes.size(), 1);
}

}  // namespace
}  // namespace graphnet
