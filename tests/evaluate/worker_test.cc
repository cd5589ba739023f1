// Tests workers that break the contract in every possible way.
#include "graphnet/evaluate/worker.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string Folder() {
  const ::testing::TestInfo* test = ::testing::UnitTest::GetInstance()->current_test_info();
  std::string name = absl::StrCat(::testing::TempDir(), "/", test->name());
  std::replace(name.begin() + static_cast<int64_t>(::testing::TempDir().size()) + 1, name.end(),
               '/', '_');
  std::filesystem::create_directories(name);
  return std::filesystem::absolute(name).string();
}

ProcessOptions Faulty(const std::string& fault) {
  ProcessOptions options;
  options.command = {"python3",
                     std::filesystem::absolute("tests/evaluate/faulty_worker.py").string(), fault};
  options.folder = Folder();
  options.max_memory = int64_t{256} << 20;
  options.max_file_bytes = int64_t{1} << 30;
  return options;
}

// Returns the number of processes that still have the folder in their environment.
int Left(const std::string& folder) {
  int left = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "environ");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    left += absl::StrContains(text, "=" + folder) ? 1 : 0;
  }
  return left;
}

PrepareRequest Request(const std::string& folder) {
  const std::string inputs = folder + "/in.safetensors";
  std::ofstream file(inputs, std::ios::binary);
  const std::string header = R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}  )";
  const uint64_t size = header.size();
  file.write(reinterpret_cast<const char*>(&size), 8);
  file << header << "abcdefgh";
  PrepareRequest request;
  request.program = "/nowhere";
  request.inputs = inputs;
  request.order = {"x"};
  return request;
}

// Sends all kinds of requests and returns the first error.
absl::Status Talk(const ProcessOptions& options, absl::Duration limit, bool* is_alive) {
  auto worker = Worker::Start(options, limit);
  *is_alive = false;
  if (!worker.ok()) return worker.status();
  const PrepareRequest request = Request(options.folder);
  absl::Status status = (*worker)->Prepare(request);
  const std::string outputs = options.folder + "/out.safetensors";
  if (status.ok()) status = (*worker)->Run(request.inputs, outputs, 0).status();
  if (status.ok()) status = (*worker)->Time(request.inputs, outputs, 1, 2, 0).status();
  if (status.ok()) status = (*worker)->Close();
  *is_alive = (*worker)->is_alive();
  return status;
}

TEST(WorkerTest, AnswersAllRequests) {
  bool is_alive = false;
  EXPECT_OK(Talk(Faulty("never:crash"), absl::Seconds(20), &is_alive));
  EXPECT_TRUE(is_alive);
  EXPECT_EQ(Left(Folder()), 0);
}

// The thread that starts a worker, of a pool for example, may end before the worker does.
TEST(WorkerTest, OutlivesTheThreadThatStartsIt) {
  const ProcessOptions options = Faulty("never:crash");
  std::unique_ptr<Worker> first;
  std::unique_ptr<Worker> second;
  for (std::unique_ptr<Worker>* worker : {&first, &second}) {
    std::thread([&] {
      auto started = Worker::Start(options, absl::Seconds(20));
      ASSERT_OK(started);
      *worker = *std::move(started);
    }).join();
  }
  ASSERT_NE(second, nullptr);
  const PrepareRequest request = Request(options.folder);
  EXPECT_OK(first->Prepare(request));
  EXPECT_OK(second->Prepare(request));
  EXPECT_OK(first->Close());
}

// Number of pipe ends made by this program that a program started by another thread would inherit.
std::atomic<int> ends_that_leak = 0;

TEST(WorkerTest, OtherProgramsDoNotInheritItsPipes) {
  ends_that_leak = 0;
  ASSERT_OK(Worker::Start(Faulty("never:crash"), absl::Seconds(20)));
  EXPECT_EQ(ends_that_leak, 0);
}

int OpenFiles() {
  int open = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    (void)entry;
    ++open;
  }
  return open;
}

// A start may fail at any place where no more files can be opened.
TEST(WorkerTest, KeepsNothingOpenIfItCannotStart) {
  const ProcessOptions options = Faulty("never:crash");
  ASSERT_OK(Worker::Start(options, absl::Seconds(20)));
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const int open = OpenFiles();
  int failed = 0;
  for (int more = 0; more < 8; ++more) {
    const rlimit limit = {static_cast<rlim_t>(open + more), before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
    const absl::Status started = Worker::Start(options, absl::Seconds(20)).status();
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
    if (!started.ok()) ++failed;
    if (more == 0) {
      EXPECT_EQ(started.message(), "cannot start a worker: Too many open files");
    }
    EXPECT_EQ(OpenFiles(), open) << more << " more files could be opened";
  }
  EXPECT_GE(failed, 6);
}

TEST(WorkerTest, AnEndedWorkerRefusesRequests) {
  const ProcessOptions options = Faulty("prepare:exit");
  const auto worker = Worker::Start(options, absl::Seconds(20));
  ASSERT_OK(worker);
  EXPECT_FALSE((*worker)->Prepare(Request(options.folder)).ok());
  EXPECT_EQ((*worker)->Close().message(), "the worker has ended");
}

TEST(WorkerTest, SurvivesARefusedRequest) {
  bool is_alive = false;
  const absl::Status status = Talk(Faulty("prepare:refuse"), absl::Seconds(20), &is_alive);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(), "no such\\nkernel");
  EXPECT_TRUE(is_alive);
}

TEST(WorkerTest, AFullDiskIsReported) {
  bool is_alive = false;
  const absl::Status status = Talk(Faulty("run:disk"), absl::Seconds(20), &is_alive);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("No space left on device"));
  EXPECT_TRUE(is_alive);
}

TEST(WorkerTest, LeavesNoOrphans) {
  bool is_alive = false;
  EXPECT_OK(Talk(Faulty("run:orphan"), absl::Seconds(20), &is_alive));
  EXPECT_EQ(Left(Folder()), 0);
}

TEST(WorkerTest, ReportsThatItCannotBeStarted) {
  ProcessOptions options = Faulty("");
  options.command = {"/nowhere/worker"};
  bool is_alive = false;
  const absl::Status status = Talk(options, absl::Seconds(20), &is_alive);
  EXPECT_EQ(status.message(),
            "exit: ended with code 127; it printed: error: the program cannot be started: No such "
            "file or directory");
}

struct Fault {
  std::string name;
  absl::StatusCode code;
  std::string message;  // its beginning
};

class FaultTest : public ::testing::TestWithParam<std::tuple<std::string, Fault>> {};

TEST_P(FaultTest, IsReportedInOneLineAndLeavesNoProcess) {
  const auto& [verb, fault] = GetParam();
  bool is_alive = true;
  const auto begin = absl::Now();
  // A worker that prints or writes without end must be stopped by the other limits.
  const bool hangs = fault.name == "hang";
  const absl::Status status =
      Talk(Faulty(absl::StrCat(verb, ":", fault.name)), absl::Seconds(hangs ? 2 : 60), &is_alive);
  EXPECT_EQ(status.code(), fault.code) << status;
  EXPECT_THAT(std::string(status.message()), StartsWith(fault.message));
  EXPECT_FALSE(absl::StrContains(status.message(), "\n"));
  EXPECT_FALSE(absl::StrContains(status.message(), "\x1b"));
  EXPECT_FALSE(is_alive);
  EXPECT_LT(absl::Now() - begin, absl::Seconds(50));
  EXPECT_EQ(Left(Folder()), 0);
}

INSTANTIATE_TEST_SUITE_P(
    All, FaultTest,
    ::testing::Combine(
        ::testing::Values("prepare", "time"),
        ::testing::Values(
            Fault{"crash", absl::StatusCode::kAborted,
                  "crash: killed by signal 11 (Segmentation fault); it printed: Error: about to "
                  "crash"},
            Fault{"abort", absl::StatusCode::kAborted, "crash: killed by signal 6 (Aborted)"},
            Fault{"kill", absl::StatusCode::kAborted,
                  "crash: killed by signal 9 (Killed), perhaps for lack of memory"},
            Fault{"exit", absl::StatusCode::kAborted, "exit: ended with code 3"},
            Fault{"fork", absl::StatusCode::kAborted, "exit: ended with code 1"},
            Fault{"close", absl::StatusCode::kAborted, "closed its answers"},
            Fault{"hang", absl::StatusCode::kDeadlineExceeded, "hang: no answer within 2s"},
            Fault{"garbage", absl::StatusCode::kDataLoss, "garbage: answered '\\x1b[31m{garbage'"},
            Fault{"noverdict", absl::StatusCode::kDataLoss,
                  "garbage: answered '{\"ok\": \"yes\"}'"},
            Fault{"deep", absl::StatusCode::kDataLoss, "garbage: answered '{\"ok\":[["},
            Fault{"endless", absl::StatusCode::kDataLoss, "garbage: an answer without an end"},
            Fault{"memory", absl::StatusCode::kResourceExhausted, "memory: took more than 256 MiB"},
            Fault{"print", absl::StatusCode::kResourceExhausted, "printed more than 256 MiB"},
            Fault{"file", absl::StatusCode::kAborted, "disk: wrote a file of more than 1024 MiB"},
            Fault{"files", absl::StatusCode::kResourceExhausted,
                  "disk: wrote more than 1024 MiB"})),
    [](const auto& info) {
      return absl::StrCat(std::get<0>(info.param), "_", std::get<1>(info.param).name);
    });

// The worker prints an error while it prepares, and ends without a word during the run.
TEST(WorkerTest, OnlyWhatTheLastRequestPrintedIsQuoted) {
  bool is_alive = true;
  const absl::Status status = Talk(Faulty("run:exit"), absl::Seconds(20), &is_alive);
  EXPECT_EQ(status.message(), "exit: ended with code 3");
  EXPECT_FALSE(is_alive);
}

TEST(WorkerTest, RefusesAnAnswerWithoutARequest) {
  bool is_alive = true;
  const absl::Status status = Talk(Faulty("prepare:twice"), absl::Seconds(20), &is_alive);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  EXPECT_THAT(std::string(status.message()),
              StartsWith("garbage: sent '{\"ok\": true}\\n' without a request"));
  EXPECT_FALSE(is_alive);
}

TEST(WorkerTest, RefusesInvalidTimes) {
  for (const char* fault : {"noms", "badgpu", "textgpu", "shortkernel"}) {
    bool is_alive = true;
    const absl::Status status =
        Talk(Faulty(absl::StrCat("time:", fault)), absl::Seconds(20), &is_alive);
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << fault << ": " << status;
    EXPECT_FALSE(is_alive) << fault;
  }
}

TEST(WorkerTest, ReturnsTheTimesOfEachClockThatTheWorkerHas) {
  const auto times = [](const std::string& fault) -> absl::StatusOr<WorkerTimes> {
    const ProcessOptions options = Faulty(fault);
    auto worker = Worker::Start(options, absl::Seconds(20));
    if (!worker.ok()) return worker.status();
    const PrepareRequest request = Request(options.folder);
    if (absl::Status prepared = (*worker)->Prepare(request); !prepared.ok()) return prepared;
    return (*worker)->Time(request.inputs, options.folder + "/out.safetensors", 0, 2, 0);
  };
  const auto wall = times("never:crash");
  ASSERT_OK(wall);
  EXPECT_EQ(*wall, (WorkerTimes{{"e2e", {1, 1}}}));
  const auto all = times("time:clocks");
  ASSERT_OK(all);
  EXPECT_EQ(*all, (WorkerTimes{{"e2e", {1, 1}}, {"gpu", {0.5, 0.5}}, {"kernel", {0.25, 0.25}}}));
}

}  // namespace

// These functions replace the C library's in this program.
extern "C" int pipe(int* fds) {
  ++ends_that_leak;
  return static_cast<int>(syscall(SYS_pipe2, fds, 0));
}
extern "C" int socketpair(int domain, int type, int protocol, int* fds) {
  if ((type & SOCK_CLOEXEC) == 0) ++ends_that_leak;
  return static_cast<int>(syscall(SYS_socketpair, domain, type, protocol, fds));
}

}  // namespace graphnet
