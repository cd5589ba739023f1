// Compares two stand-ins, as only a GPU has the clocks that they report.
#include "graphnet/evaluate/ab_run.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "graphnet/evaluate/backend_process.h"
#include "graphnet/evaluate/backend_table.h"
#include "graphnet/evaluate/log_writer.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Returns the lines of the log of a sample whose two sides are workers that do so.
std::string LogOf(const std::string& eager_does, const std::string& compiled_does) {
  const ::testing::TestInfo* const test = ::testing::UnitTest::GetInstance()->current_test_info();
  const std::string folder = absl::StrCat(::testing::TempDir(), "/", test->name());
  std::filesystem::create_directories(folder);
  const std::string inputs = folder + "/in.safetensors";
  std::ofstream file(inputs, std::ios::binary);
  const std::string header = R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}  )";
  const uint64_t size = header.size();
  file.write(reinterpret_cast<const char*>(&size), 8);
  file << header << "abcdefgh";
  file.close();

  const auto process = [&](const std::string& does) {
    const std::string worker =
        std::filesystem::absolute("tests/evaluate/faulty_worker.py").string();
    WorkerHost host;
    host.exec = absl::StrCat("python3 ", worker, " ", does);
    return BackendProcess(FindBackend("exec"), host, {.time = absl::Seconds(20)},
                          absl::StrCat(folder, "/", does));
  };
  BackendProcess eager = process(eager_does);
  BackendProcess compiled = process(compiled_does);
  PrepareRequest request;
  request.program = "/nowhere";
  request.inputs = inputs;
  request.order = {"x"};
  EagerSide side(&eager, {.files = {inputs}, .restore = [] { return absl::OkStatus(); }},
                 {.warmup = 0, .trials = 7});
  EXPECT_OK(side.Prepare(request));
  const AbRun run = side.Compare(&compiled, request);
  EXPECT_EQ(run.status, Outcome::kCorrect) << run.reason;

  SampleResult result;
  AddTimes("e2e", run.trials, &result);
  for (const auto& [measure, trials] : run.device_trials) AddTimes(measure, trials, &result);
  return WriteLog(result);
}

TEST(AbRunTest, ClocksOfBothSidesGiveSpeedupsWithIntervals) {
  const std::string log = LogOf("time:slowclocks", "time:clocks");
  EXPECT_THAT(log, HasSubstr("[Speedup][e2e]: 1.00000\n"));
  EXPECT_THAT(log, HasSubstr("[Speedup][gpu]: 2.00000\n"));
  EXPECT_THAT(log, HasSubstr("[Speedup][kernel]: 3.00000\n"));
  EXPECT_THAT(log, HasSubstr("[Interval][gpu]: 2.00000 2.00000\n"));
  EXPECT_THAT(log, HasSubstr("[Interval][kernel]: 3.00000 3.00000\n"));
}

TEST(AbRunTest, ClocksOfOneSideGiveTimesWithoutASpeedup) {
  const std::string log = LogOf("never:none", "time:clocks");
  EXPECT_THAT(log, HasSubstr("[Speedup][e2e]: 1.00000\n"));
  EXPECT_THAT(log, Not(HasSubstr("[Speedup][gpu]")));
  EXPECT_THAT(log, Not(HasSubstr("[Interval][kernel]")));
  const size_t compiled = log.find("[Performance][compiled]");
  ASSERT_NE(compiled, std::string::npos);
  EXPECT_THAT(log.substr(compiled), HasSubstr("\"kernel\": {"));
  EXPECT_THAT(log.substr(0, compiled), Not(HasSubstr("\"gpu\"")));
}

}  // namespace
}  // namespace graphnet
