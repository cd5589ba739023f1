#include "graphnet/evaluate/log_reader.h"

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "graphnet/evaluate/log_writer.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"
#include "tests/evaluate/samples.h"

namespace graphnet {
namespace {

struct ReadBack {
  std::vector<SampleResult> samples;
  std::vector<size_t> lines;
  LogWarnings warnings;
  absl::Status status;

  size_t Odd(LogOddity oddity) const { return warnings.counts[static_cast<size_t>(oddity)].count; }
};

ReadBack Read(const std::string& log) {
  ReadBack back;
  back.status = ReadLogLines(log, {.file = "a.log"}, &back.warnings,
                             [&](size_t line, const SampleResult& sample) {
                               back.samples.push_back(sample);
                               back.lines.push_back(line);
                               return absl::OkStatus();
                             });
  return back;
}

void ExpectSame(const SampleResult& a, const SampleResult& b) {
  EXPECT_EQ(a.path, b.path);
  EXPECT_EQ(a.config, b.config);
  EXPECT_EQ(a.status, b.status);
  EXPECT_EQ(a.reason, b.reason);
  EXPECT_EQ(a.eager_dtypes, b.eager_dtypes);
  EXPECT_EQ(a.compiled_dtypes, b.compiled_dtypes);
  ASSERT_EQ(a.outputs.size(), b.outputs.size());
  for (size_t i = 0; i < a.outputs.size(); ++i) {
    EXPECT_EQ(a.outputs[i].equal, b.outputs[i].equal);
    EXPECT_EQ(a.outputs[i].close, b.outputs[i].close);
    EXPECT_EQ(absl::StrCat(a.outputs[i].max_diff), absl::StrCat(b.outputs[i].max_diff));  // or nan
    EXPECT_EQ(a.outputs[i].mean_diff, b.outputs[i].mean_diff);
  }
  for (const auto times : {&SampleResult::eager_times, &SampleResult::compiled_times}) {
    ASSERT_EQ((a.*times).size(), (b.*times).size());
    for (size_t i = 0; i < (a.*times).size(); ++i) {
      EXPECT_EQ((a.*times)[i].first, (b.*times)[i].first);
      EXPECT_EQ((a.*times)[i].second.median, (b.*times)[i].second.median);
      EXPECT_EQ((a.*times)[i].second.max, (b.*times)[i].second.max);
      EXPECT_EQ((a.*times)[i].second.iqr, (b.*times)[i].second.iqr);
    }
  }
  EXPECT_EQ(a.speedups, b.speedups);
  ASSERT_EQ(a.rounding.has_value(), b.rounding.has_value());
  if (!a.rounding.has_value()) return;
  EXPECT_EQ(a.rounding->verdict, b.rounding->verdict);
  EXPECT_EQ(a.rounding->text, b.rounding->text);
  EXPECT_EQ(a.rounding->level, b.rounding->level);
}

// Returns a sample with everything that a log can hold.
SampleResult FullSample() {
  SampleResult sample;
  sample.path = "/samples/timm/resnet18";
  sample.config = {{"model", "resnet18"},
                   {"device", "cuda"},
                   {"hardware", "NVIDIA H20-3e"},
                   {"compiler", "inductor"},
                   {"warmup", "3"},
                   {"trials", "5"},
                   {"compile_framework_version", "2.13.0"}};
  sample.eager_dtypes = sample.compiled_dtypes = {"float32", "int64", "bfloat16"};
  sample.outputs.resize(3);
  sample.outputs[0].close = 0x123456789abcdef0 | uint64_t{0xf} << 40;  // at t = 0 all are one
  sample.outputs[0].max_diff = 0.0001220703125;
  sample.outputs[0].mean_diff = 1e-05;
  sample.outputs[1].equal = true;
  sample.outputs[1].close = ~uint64_t{0};
  sample.outputs[2].max_diff = std::nan("");
  sample.eager_times = {{"e2e", {217, 1.5, 217.25, 0.5, 216, 218.125}},
                        {"gpu", {1, 0, 1, 0, 1, 1}}};
  sample.compiled_times = {{"e2e", {1.78576, 0, 1.79, 1e-05, 1.5, 2}}, {"gpu", {1, 0, 1, 0, 1, 1}}};
  sample.speedups = {{"e2e", 121.52252}, {"gpu", 1}};
  sample.rounding = {RoundingVerdict::kBeyond, "beyond rounding: 6,300 times", -10};
  return sample;
}

TEST(LogWriterTest, WritesTheLinesOfTheFormat) {
  const std::string log = WriteLog(FullSample());
  const std::vector<std::string> expected = {
      "[Processing] /samples/timm/resnet18",
      "[Config] model: resnet18",
      "[Config] compile_framework_version: 2.13.0",
      "[Datatype][eager]: float32 int64 bfloat16",
      "[Datatype][compiled]: float32 int64 bfloat16",
      "[DataType] eager:['float32', 'int64', 'bfloat16'] compiled:['float32', 'int64', 'bfloat16'] "
      "match:True",
      "[Correctness][equal]: 0 1 0",
      "[Correctness][all_close_atol_1.00E-10_rtol_1.00E-06]: 0 1 0",
      "[Correctness][all_close_atol_1.00E+07_rtol_1.00E+07]: 0 1 0",
      "[Correctness][max_diff]: 0.0001220703125 0.0 nan",
      "[Correctness][mean_diff]: 1e-05 0.0 0.0",
      "[Result] status: success",
      "[Rounding] beyond from t = -10: beyond rounding: 6,300 times",
      "[Status] accuracy",
      "[Performance][eager]: {\"e2e\": {\"median\": 217.0, \"iqr\": 1.5, \"mean\": 217.25, "
      "\"std\": 0.5, \"min\": 216.0, \"max\": 218.125}, \"gpu\": {\"median\": 1.0, \"iqr\": 0.0, "
      "\"mean\": 1.0, \"std\": 0.0, \"min\": 1.0, \"max\": 1.0}}",
      "[Speedup][e2e]: 121.52252",
      "[Speedup][gpu]: 1.00000",
  };
  size_t at = 0;
  for (const std::string& line : expected) {
    const std::string whole = absl::StrCat("graph-net-test-compiler-log ", line, "\n");
    const size_t found = log.find(whole, at);
    EXPECT_NE(found, std::string::npos) << line << "\nin\n" << log;
    at = found == std::string::npos ? at : found + whole.size();
  }
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1 + 7 + 3 + 1 + 64 + 2 + 2 + 1 + 2 + 2);
}

TEST(LogReaderTest, ReadsBackWhatIsWritten) {
  std::vector<SampleResult> samples = {FullSample(), MakeSample("b", 0.5, -3)};
  for (const SampleRounding& rounding :
       {SampleRounding{RoundingVerdict::kEqual, "equal bits", std::nullopt},
        SampleRounding{std::nullopt, "out of memory: [Processing] is in here", std::nullopt},
        SampleRounding{RoundingVerdict::kDecision, "a decision within rounding flips: aten::gt",
                       0}}) {
    samples.push_back(MakeSample(absl::StrCat("r/", rounding.text), 2, -5));
    samples.back().rounding = rounding;
  }
  for (const Outcome status : {Outcome::kNotFinite, Outcome::kTypeMismatch, Outcome::kShapeMismatch,
                               Outcome::kRuntimeFail, Outcome::kCompileFail, Outcome::kEagerFail}) {
    samples.push_back(MakeFailure(absl::StrCat("c/", OutcomeName(status)), status,
                                  "RuntimeError: [Processing] is in here: \xc3\xa9"));
    samples.push_back(MakeFailure(absl::StrCat("d/", OutcomeName(status)), status));
  }
  std::string log;
  for (const SampleResult& sample : samples) absl::StrAppend(&log, WriteLog(sample));
  const ReadBack back = Read(log);
  EXPECT_OK(back.status);
  EXPECT_TRUE(back.warnings.Messages("a.log").empty());
  ASSERT_EQ(back.samples.size(), samples.size());
  for (size_t i = 0; i < samples.size(); ++i) {
    SCOPED_TRACE(samples[i].path);
    if (samples[i].status != Outcome::kCorrect && samples[i].reason.empty()) {
      samples[i].reason = back.samples[i].reason;  // [Fail due to …]
    }
    ExpectSame(samples[i], back.samples[i]);
  }
  EXPECT_EQ(back.lines[1], 1 + 85);
}

// Without [Status], the lines give the same status, except for failures to run and to compile.
TEST(LogReaderTest, DerivesTheStatusWithoutItsLine) {
  for (const Outcome status : {Outcome::kTypeMismatch, Outcome::kShapeMismatch,
                               Outcome::kCompileFail, Outcome::kEagerFail}) {
    std::string log = WriteLog(MakeFailure("a", status));
    log = absl::StrReplaceAll(log, {{"[Status] ", "[Stat] "}});
    const ReadBack back = Read(log);
    ASSERT_EQ(back.samples.size(), 1);
    EXPECT_EQ(OutcomeName(back.samples[0].status), OutcomeName(status));
  }
}

// The log of GraphNet's own tool in 2025: it has no median, times and dtypes come before the
// comparison, the prompt differs, and other output stands between the lines.
constexpr char kOlder[] = R"(Unable to import quantization op.
graph-net-test-device-log [Processing] /work/samples/torchvision/mnasnet1_3
graph-net-test-device-log [Config] model: mnasnet1_3
graph-net-test-device-log [Config] hardware: NVIDIA H20-3e
[Profiling] Using device: cuda NVIDIA H20-3e, warm up 0, trials 1
Trial 1: e2e=217.01026 ms, gpu=216.88783 ms
graph-net-test-device-log [Performance][eager]: {"e2e": {"mean": 217.0, "std": 0.0, "min": 217.0, "max": 217.0}}
graph-net-test-device-log [Datatype][eager]: float32
Trial 1: e2e=1.78576 ms, gpu=1.72432 ms
graph-net-test-device-log [Performance][compiled]: {"e2e": {"mean": 1.79, "std": 0.0, "min": 1.79, "max": 1.79}}
graph-net-test-device-log [Datatype][compiled]: float32
graph-net-test-device-log [DataType] eager:['float32'] compiled:['float32'] match:True
graph-net-test-device-log [Correctness][equal]: 0
graph-net-test-device-log [Correctness][all_close_atol_1.00E-05_rtol_1.30E-06]: 1
graph-net-test-device-log [Correctness][all_close_atol_1.00E+00_rtol_1.00E+00]: 1
graph-net-test-device-log [Correctness][max_diff]: nan
graph-net-test-device-log [Result] status: success
graph-net-test-device-log [Speedup][e2e]: 121.2291
)";

TEST(LogReaderTest, ReadsOlderFormats) {
  const ReadBack back = Read(kOlder);
  EXPECT_OK(back.status);
  ASSERT_EQ(back.samples.size(), 1);
  const SampleResult& sample = back.samples[0];
  EXPECT_EQ(back.lines[0], 2);
  EXPECT_EQ(sample.path, "/work/samples/torchvision/mnasnet1_3");
  EXPECT_EQ(sample.status, Outcome::kCorrect);
  EXPECT_EQ(sample.CorrectLevels(), 1 << 5 | 1 << 10);  // t = -5, 0
  EXPECT_EQ(sample.SpeedupBy(kEndToEnd), 121.2291);
  EXPECT_TRUE(std::isnan(sample.outputs[0].max_diff));
  EXPECT_EQ(sample.eager_times[0].second.mean, 217);
  EXPECT_TRUE(std::isnan(sample.eager_times[0].second.median));
  EXPECT_TRUE(back.warnings.Messages("a.log").empty());
}

TEST(LogReaderTest, LinesMayHaveAnyOrder) {
  const std::string log = WriteLog(FullSample());
  std::vector<std::string> lines;
  for (size_t at = 0; at < log.size();) {
    const size_t end = log.find('\n', at);
    lines.push_back(log.substr(at, end - at));
    at = end + 1;
  }
  std::reverse(lines.begin() + 1, lines.end());
  // The configuration is a list, and the measure that was read last comes last.
  ReadBack back = Read(absl::StrJoin(lines, "\r\n") + "\r\n");
  ASSERT_EQ(back.samples.size(), 1);
  std::reverse(back.samples[0].config.begin(), back.samples[0].config.end());
  std::reverse(back.samples[0].speedups.begin(), back.samples[0].speedups.end());
  ExpectSame(FullSample(), back.samples[0]);
}

TEST(LogReaderTest, DerivesTheStatusAsGraphNetDoes) {
  const std::string begin = "p [Processing] a\n";
  const std::string eager = "p [Datatype][eager]: float32\n";
  const std::string compiled = "p [Datatype][compiled]: float32\n";
  const std::string types = "p [DataType] eager:['float32'] compiled:['float32'] match:True\n";
  const std::string shapes = "p [Shape] eager:[[2]] compiled:[[2]] match:True\n";
  const struct {
    std::string lines;
    Outcome status;
  } kRows[] = {
      {"", Outcome::kEagerFail},
      {"p [Result] status: failed\np [Fail due to compiled model execution error.]\n"
       "RuntimeError: x\n",
       Outcome::kEagerFail},
      {eager, Outcome::kCompileFail},
      {eager + compiled, Outcome::kShapeMismatch},
      {eager + compiled + types, Outcome::kShapeMismatch},
      {eager + compiled + "p [Shape] match:False\n" + types, Outcome::kShapeMismatch},
      {eager + compiled + shapes, Outcome::kTypeMismatch},
      {eager + compiled + shapes + absl::StrReplaceAll(types, {{"True", "False"}}),
       Outcome::kTypeMismatch},
      {eager + compiled + shapes + types, Outcome::kCorrect},
      {eager + compiled + types + "p [Correctness][all_close_atol_1.00E-10_rtol_1.69E-12]: 1\n",
       Outcome::kCorrect},
      {"UserWarning: Error: harmless\n" + eager + compiled + shapes + types, Outcome::kRuntimeFail},
      {"UserWarning: Error: harmless\n" + eager + compiled + shapes + types +
           "p [Status] correct\n",
       Outcome::kCorrect},
      {"x.Exception: y\n" + eager + compiled + shapes + types, Outcome::kRuntimeFail},
      {"p [Status] compile_fail: killed by signal 9\n", Outcome::kCompileFail},
  };
  for (const auto& row : kRows) {
    const ReadBack back = Read(begin + row.lines);
    ASSERT_EQ(back.samples.size(), 1);
    EXPECT_EQ(OutcomeName(back.samples[0].status), OutcomeName(row.status)) << row.lines;
  }
  EXPECT_EQ(Read(begin + kRows[1].lines).samples[0].reason, "RuntimeError: x");
  EXPECT_EQ(Read(begin + "p [Fail due to eager model execution error.]\n").samples[0].reason,
            "Fail due to eager model execution error.");
  EXPECT_EQ(Read(begin + kRows[13].lines).samples[0].reason, "killed by signal 9");
}

// ---- Bad input: each kind is recognised. ----

TEST(LogReaderTest, NumbersOfValuesAndOutputsThatDiffer) {
  for (const char* tag : {"[equal]: 0", "all_close_atol_1.00E-10_rtol_1.69E-12]: 0"}) {
    std::string log = WriteLog(MakeSample("a", 2, -5));
    log = absl::StrReplaceAll(log, {{tag, absl::StrCat(tag, " 1")}});
    const ReadBack back = Read(log);
    EXPECT_EQ(back.samples[0].CorrectLevels(), 0);
    EXPECT_EQ(back.samples[0].status, Outcome::kCorrect);
    EXPECT_EQ(back.Odd(LogOddity::kUnequalOutputs), 1);
  }
  std::string log = WriteLog(MakeSample("a", 2, -5));
  log = absl::StrReplaceAll(log, {{"[eager]: float32", "[eager]: float32 float32"}});
  EXPECT_EQ(Read(log).samples[0].CorrectLevels(), 0);
  EXPECT_EQ(Read(log).warnings.Messages("a.log"),
            std::vector<std::string>{
                "a.log:1: the numbers of values and of outputs differ: wrong at every t"});
}

TEST(LogReaderTest, NoOutputs) {
  std::string log = WriteLog(MakeSample("a", 2, -5));
  log = absl::StrReplaceAll(log,
                            {{"]: float32\n", "]: \n"}, {"]: 0\n", "]: \n"}, {"]: 1\n", "]: \n"}});
  const ReadBack back = Read(log);
  EXPECT_EQ(back.samples[0].CorrectLevels(), 0);
  EXPECT_EQ(back.samples[0].status, Outcome::kCorrect);
  EXPECT_EQ(back.Odd(LogOddity::kNoOutputs), 1);
}

TEST(LogReaderTest, InvalidValues) {
  for (const char* speedup : {"nan", "inf", "-1", "0", "x", "", "1e999"}) {
    std::string log = WriteLog(MakeSample("a", 2, -5));
    log = absl::StrReplaceAll(log, {{"2.00000", speedup}});
    EXPECT_EQ(Read(log).samples[0].SpeedupBy(kEndToEnd), 0) << speedup;
  }
  std::string log = WriteLog(MakeSample("a", 2, -5));
  absl::StrAppend(&log, "p [Performance][eager]: {\"e2e\": {\np [Performance][compiled]: 5\n",
                  "p [Status] splendid\np [Speedup][e2e]: fast\n");
  const ReadBack back = Read(log);
  EXPECT_EQ(back.Odd(LogOddity::kBadValue), 4);
  for (const char* rounding : {"", "splendid: yes", "rounding", "rounding from t = x: yes",
                               "rounding from t: yes", "rounding from t = -6", "rounding  : yes"}) {
    const ReadBack odd =
        Read(absl::StrCat(WriteLog(MakeSample("a", 2, -5)), "p [Rounding] ", rounding, "\np\n"));
    EXPECT_EQ(odd.Odd(LogOddity::kBadValue), 1) << rounding;
    EXPECT_FALSE(odd.samples[0].rounding.has_value()) << rounding;
  }
  EXPECT_EQ(back.samples[0].SpeedupBy(kEndToEnd), 2);
  // In a comparison, an invalid value counts as false, and so does nan.
  log = absl::StrReplaceAll(WriteLog(MakeSample("a", 2, -10)), {{"]: 1\n", "]: nan\n"}});
  EXPECT_EQ(Read(log).samples[0].CorrectLevels(), 0);
  log = absl::StrReplaceAll(WriteLog(MakeSample("a", 2, -10)), {{"]: 1\n", "]: True\n"}});
  EXPECT_EQ(Read(log).samples[0].CorrectLevels(), 0xffff);
}

// A log that is cut anywhere is refused or yields the original values, never others.
TEST(LogReaderTest, CutAnywhere) {
  const std::string whole = WriteLog(MakeSample("a", 1.23456, -5));
  const SampleResult full = Read(whole).samples[0];
  size_t refused = 0;
  for (size_t n = 0; n < whole.size(); ++n) {
    const ReadBack back = Read(whole.substr(0, n));
    if (!back.status.ok()) {
      ++refused;
      EXPECT_TRUE(
          absl::StrContains(back.status.message(), "the log ends in the middle of this line"))
          << back.status;
      continue;
    }
    if (back.samples.empty()) continue;
    const SampleResult& sample = back.samples[0];
    if (sample.SpeedupBy(kEndToEnd) > 0) {
      EXPECT_NEAR(sample.SpeedupBy(kEndToEnd), 1.2345, 1e-4) << n;
    }
    if (sample.CorrectLevels() != 0) {
      EXPECT_EQ(sample.CorrectLevels() & ~full.CorrectLevels(), 0) << n;
    }
  }
  EXPECT_GT(refused, whole.size() / 2);
  EXPECT_THAT(Read(whole + "graph-net-test-comp").status,
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "a.log:78: the log ends in the middle of this line, in sample a"));
  EXPECT_OK(Read(whole + "RuntimeError: not ours").status);
  EXPECT_OK(Read(whole.substr(0, whole.size() - 1)).status);
}

TEST(LogReaderTest, CutInNames) {
  const std::string prompt = "graph-net-test-compiler-log ";
  const std::string whole = WriteLog(MakeSample("a", 2, -5));
  const std::string begun = absl::StrCat(whole, prompt, "[Processing] samples/b");
  for (const std::string& log :
       {absl::StrCat(whole, prompt, "[Processing]"), absl::StrCat(whole, prompt, "[Processing] "),
        begun, absl::StrCat(begun, "\n", prompt, "[Datatype][eager]:"),
        absl::StrCat(begun, "\n", prompt, "[Datatype][eager]: float3"),
        absl::StrCat(begun, "\n", prompt, "[Datatype][eager]: float32\n", prompt,
                     "[Datatype][compiled]: float3")}) {
    const ReadBack back = Read(log);
    EXPECT_TRUE(absl::StrContains(back.status.message(), "the log ends in the middle of this line"))
        << log.substr(whole.size());
    EXPECT_OK(Read(log + "\n").status);
  }
}

TEST(LogReaderTest, GarbageHasNoSample) {
  std::string garbage;
  for (int i = 0; i < 100000; ++i) garbage += static_cast<char>(i * 2654435761U >> 13);
  EXPECT_OK(Read(garbage).status);
  EXPECT_TRUE(Read(garbage).samples.empty());
  EXPECT_TRUE(Read("").samples.empty());
  // Within a sample, garbage counts as other output.
  const ReadBack back = Read(WriteLog(MakeSample("a", 2, -5)) + garbage + "\n");
  EXPECT_EQ(back.samples.size(), 1);
  EXPECT_EQ(back.samples[0].SpeedupBy(kEndToEnd), 2);
}

TEST(DivideLogTest, PartsBeginWithSamples) {
  std::string log = "before\n";
  for (int i = 0; i < 100; ++i) {
    absl::StrAppend(&log, WriteLog(MakeSample(absl::StrCat("s", i), 2, i % 16 - 10)));
  }
  for (const size_t parts : {1, 2, 3, 7, 50, 1000}) {
    const std::vector<size_t> begins = DivideLog(log, parts);
    EXPECT_EQ(begins[0], 0);
    EXPECT_LE(begins.size(), parts);
    EXPECT_GE(begins.size(), std::min<size_t>(parts, 3));
    size_t samples = 0;
    for (size_t i = 0; i < begins.size(); ++i) {
      const size_t end = i + 1 < begins.size() ? begins[i + 1] : log.size();
      ASSERT_LT(begins[i], end);
      const ReadBack back = Read(log.substr(begins[i], end - begins[i]));
      if (i > 0) {
        EXPECT_EQ(back.lines[0], 1);
      }
      samples += back.samples.size();
    }
    EXPECT_EQ(samples, 100);
  }
  EXPECT_EQ(DivideLog("", 4), std::vector<size_t>{0});
  EXPECT_EQ(DivideLog("\n\n\n\n", 4), std::vector<size_t>{0});
}

}  // namespace
}  // namespace graphnet
