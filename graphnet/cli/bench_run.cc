#include "graphnet/cli/bench_run.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "graphnet/base/file.h"
#include "graphnet/base/memory.h"
#include "graphnet/base/near_miss.h"
#include "graphnet/base/status.h"
#include "graphnet/cli/bench_sample.h"
#include "graphnet/cli/load.h"
#include "graphnet/cli/progress.h"
#include "graphnet/cli/terminal.h"
#include "graphnet/cli/worker_host.h"
#include "graphnet/evaluate/contender.h"
#include "graphnet/evaluate/duel.h"
#include "graphnet/evaluate/worker_process.h"
#include "nlohmann/json.hpp"

namespace graphnet {
namespace {

constexpr int64_t kMaxWorkerDisk = int64_t{10} << 30;
constexpr size_t kMaxSettingsBytes = size_t{64} << 20;
constexpr char kSettings[] = "bench.json";

std::string ProcessorName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!absl::StartsWith(line, "model name")) continue;
    return std::string(absl::StripAsciiWhitespace(line.substr(line.find(':') + 1)));
  }
  return "unknown";
}

// Keeps a second benchmark out of a folder.
class FolderLock {
 public:
  static absl::StatusOr<std::unique_ptr<FolderLock>> Take(const std::string& folder) {
    const std::string path = JoinPath(folder, ".lock");
    const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0) return absl::FailedPreconditionError("cannot write " + Printable(path, 1000));
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
      close(fd);
      return absl::FailedPreconditionError(
          absl::StrCat("another benchmark writes to ", Printable(folder, 1000)));
    }
    return std::unique_ptr<FolderLock>(new FolderLock(fd));
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  ~FolderLock() { close(fd_); }

 private:
  explicit FolderLock(int fd) : fd_(fd) {}
  int fd_;
};

nlohmann::ordered_json JsonOf(const BenchSettings& settings) {
  return {{"in", settings.in},
          {"backends", settings.backends},
          {"device", settings.device},
          {"warmup", settings.warmup},
          {"trials", settings.trials},
          {"seed", settings.seed},
          {"fresh_inputs", settings.fresh_inputs},
          {"exec", settings.exec},
          {"exec_reads", FormName(settings.exec_reads)}};
}

absl::StatusOr<std::vector<Backend>> BackendsOf(const BenchSettings& settings) {
  std::vector<Backend> backends;
  for (const std::string& name : settings.backends) {
    const Backend* backend = FindBackend(name);
    if (backend == nullptr) {
      const std::string hint = NearMissHint(name, BackendNames());
      return absl::InvalidArgumentError(
          absl::StrCat("there is no backend ", Printable(name),
                       hint.empty() ? "; graphnet backends lists them" : hint));
    }
    if (absl::c_any_of(backends, [&](const Backend& other) { return other.name == name; }))
      return absl::InvalidArgumentError(absl::StrCat("backend ", name, " is named twice"));
    backends.push_back(*backend);
    if (backend->kind == BackendKind::kCommand) backends.back().reads = settings.exec_reads;
  }
  return backends;
}

// One thread's workers, and what they do with a sample.
class Bench {
 public:
  Bench(const BenchRun& run, const std::vector<Backend>& backends, const WorkerHost& host,
        const WorkerLimits& limits, std::string folder)
      : run_(run),
        folder_(std::move(folder)),
        nope_(*FindBackend("nope")),
        eager_(&nope_, host, limits, JoinPath(folder_, "eager")) {
    for (const Backend& backend : backends) {
      contenders_.push_back(std::make_unique<Contender>(
          &backend, host, limits, JoinPath(folder_, absl::StrCat("backend_", backend.name))));
    }
  }

  // Whether all workers start.
  absl::Status Start() {
    RETURN_IF_ERROR(eager_.worker().status());
    for (const auto& contender : contenders_) {
      RETURN_IF_ERROR(Annotate(contender->worker().status(),
                               absl::StrCat("backend ", contender->backend().name)));
    }
    return absl::OkStatus();
  }

  // Calls `take` with what comes of each backend i for which `wanted` is true.
  absl::Status Run(
      const std::string& path, const std::vector<bool>& wanted,
      absl::FunctionRef<absl::Status(size_t i, const SampleResult&, const Duel&)> take) {
    const std::string sample_folder = JoinPath(folder_, "sample");
    std::error_code error;
    std::filesystem::remove_all(sample_folder, error);
    std::filesystem::create_directories(sample_folder, error);
    absl::StatusOr<std::unique_ptr<BenchSample>> sample = LoadBenchSample(path, sample_folder);
    absl::Status ready = sample.status();
    const DuelOptions options = {
        .warmup = run_.settings.warmup, .trials = run_.settings.trials, .seed = run_.settings.seed};
    EagerSide eager(&eager_, sample.ok() ? (*sample)->inputs() : DuelInputs(), options);
    if (ready.ok()) {
      const absl::StatusOr<PrepareRequest> request = (*sample)->RequestFor(ProgramForm::kSample);
      ready = request.ok() ? eager.Prepare(*request) : request.status();
    }
    for (size_t i = 0; i < contenders_.size(); ++i) {
      if (!wanted[i]) continue;
      Duel duel;
      if (!ready.ok()) {
        duel.status = Outcome::kEagerFail;
        duel.reason = std::string(ready.message());
      } else {
        duel = Fight(**sample, contenders_[i].get(), &eager);
      }
      SampleResult result = ResultOf(duel, *contenders_[i]);
      result.path = path;
      if (sample.ok()) result.config.insert(result.config.begin(), {"model", (*sample)->model()});
      if (ready.ok() && duel.status != Outcome::kEagerFail)
        result.eager_dtypes = DTypesOf(eager.outputs());
      RETURN_IF_ERROR(take(i, result, duel));
    }
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<std::unique_ptr<BenchSample>> LoadBenchSample(const std::string& path,
                                                               const std::string& folder) const {
    // What hostile input throws is how it ended, too.
    try {
      return BenchSample::Load(path, folder,
                               {.seed = run_.settings.seed,
                                .device = run_.settings.device,
                                .fresh_inputs = run_.settings.fresh_inputs ? 5 : 0,
                                .trust = run_.trust});
    } catch (const std::exception& thrown) {
      return absl::ResourceExhaustedError(Printable(thrown.what(), 1000));
    }
  }

  static Duel Fight(BenchSample& sample, Contender* contender, EagerSide* eager) {
    absl::StatusOr<PrepareRequest> request = absl::InternalError("");
    try {
      request = sample.RequestFor(contender->backend().reads);
    } catch (const std::exception& thrown) {
      request = absl::ResourceExhaustedError(Printable(thrown.what(), 1000));
    }
    if (request.ok()) return eager->Fight(contender, *request);
    Duel duel;
    duel.status = Outcome::kCompileFail;
    duel.reason = absl::StrCat("cannot be written as ", FormName(contender->backend().reads), ": ",
                               absl::string_view(request.status().message()));
    return duel;
  }

  SampleResult ResultOf(const Duel& duel, const Contender& contender) const {
    SampleResult result;
    result.status = duel.status;
    result.reason = duel.reason;
    const WorkerGreeting& greeting = contender.greeting();
    result.config = {
        {"device", run_.settings.device},
        {"hardware", hardware_},
        {"compiler", std::string(contender.backend().name)},
        {"warmup", absl::StrCat(run_.settings.warmup)},
        {"trials", absl::StrCat(run_.settings.trials)},
        {"compile_framework_version", absl::StrCat(greeting.name, " ", greeting.version)}};
    result.compiled_dtypes = duel.compiled_dtypes;
    result.outputs = duel.outputs;
    if (duel.speedup.speedup > 0) {
      result.eager_times = {{"e2e", StatisticsOf(duel.trials.AllEager())}};
      result.compiled_times = {{"e2e", StatisticsOf(duel.trials.AllCompiled())}};
      result.speedups = {{"e2e", duel.speedup.speedup}};
    }
    return result;
  }

  const BenchRun& run_;
  const std::string folder_;
  const std::string hardware_ = ProcessorName();
  const Backend nope_;
  Contender eager_;
  std::vector<std::unique_ptr<Contender>> contenders_;
};

std::string FailureLine(const std::string& path, const Backend& backend,
                        const SampleResult& result) {
  const bool is_right = (result.CorrectLevels() >> (-5 - kMinToleranceLevel) & 1) != 0;
  if (is_right) return "";
  const Outcome outcome = result.status == Outcome::kCorrect ? Outcome::kAccuracy : result.status;
  return absl::StrCat(Red("FAIL"), " ", Printable(path, 1000), ": ", backend.name, ": ",
                      OutcomeName(outcome), result.reason.empty() ? "" : ": ", result.reason, "\n");
}

}  // namespace

absl::Status BeginBench(const std::string& folder, const BenchSettings& settings) {
  RETURN_IF_ERROR(BackendsOf(settings).status());
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  const auto names = ListFolder(folder);
  if (!names.ok()) return names.status();
  if (!names->empty()) {
    return absl::AlreadyExistsError(
        absl::StrCat(Printable(folder, 1000), " is not empty; --resume goes on with a benchmark"));
  }
  return WriteFileAtomic(JoinPath(folder, kSettings), JsonOf(settings).dump(2) + "\n");
}

absl::StatusOr<BenchSettings> SettingsOf(const std::string& folder) {
  const std::string path = JoinPath(folder, kSettings);
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxSettingsBytes));
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  BenchSettings settings;
  try {
    settings.in = json.at("in").get<std::vector<std::string>>();
    settings.backends = json.at("backends").get<std::vector<std::string>>();
    settings.device = json.at("device").get<std::string>();
    settings.warmup = json.at("warmup").get<int>();
    settings.trials = json.at("trials").get<int>();
    settings.seed = json.at("seed").get<uint64_t>();
    settings.fresh_inputs = json.at("fresh_inputs").get<bool>();
    settings.exec = json.at("exec").get<std::string>();
    for (int i = 0; i < kNumProgramForms; ++i) {
      if (json.at("exec_reads").get<std::string>() == FormName(static_cast<ProgramForm>(i)))
        settings.exec_reads = static_cast<ProgramForm>(i);
    }
  } catch (const nlohmann::json::exception& error) {
    return absl::InvalidArgumentError(absl::StrCat(
        Printable(path, 1000), ": not the settings of a benchmark: ", Printable(error.what())));
  }
  return settings;
}

absl::Status CheckSame(const BenchSettings& begun, const BenchSettings& now) {
  const auto before = JsonOf(begun);
  const auto after = JsonOf(now);
  for (const auto& [key, value] : before.items()) {
    if (after.at(key) == value) continue;
    return absl::InvalidArgumentError(absl::StrCat("this benchmark was begun with ", key, " ",
                                                   Printable(value.dump(), 500), ", not ",
                                                   Printable(after.at(key).dump(), 500)));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<BackendResults>> RunBench(const BenchRun& run) {
  ASSIGN_OR_RETURN(const std::vector<Backend> backends, BackendsOf(run.settings));
  ASSIGN_OR_RETURN(const std::vector<std::string> paths, FindInputs(run.settings.in));
  for (const std::string& path : paths) {
    if (path == "-")
      return absl::InvalidArgumentError("a benchmark reads files, not the standard input");
  }
  const std::string folder = std::filesystem::absolute(run.folder).string();
  ASSIGN_OR_RETURN(const std::unique_ptr<FolderLock> lock, FolderLock::Take(folder));
  const std::string scratch = JoinPath(folder, ".scratch");
  const auto clean = [&] {
    KillLeftProcesses(scratch);
    std::error_code ignored;
    std::filesystem::remove_all(scratch, ignored);
  };
  clean();

  std::vector<std::unique_ptr<ResultLog>> logs;
  for (const Backend& backend : backends) {
    ASSIGN_OR_RETURN(logs.emplace_back(), ResultLog::Open(folder, std::string(backend.name)));
  }
  std::vector<std::string> todo;
  for (const std::string& path : paths) {
    if (absl::c_any_of(logs, [&](const auto& log) { return !log->Has(path); }))
      todo.push_back(path);
  }

  WorkerHost host = HostOfTool();
  host.exec = run.settings.exec;
  WorkerLimits limits;
  limits.time = absl::Seconds(run.timeout_s);
  limits.memory = run.memory_mib > 0 ? run.memory_mib << 20 : AvailableMemoryBytes();
  limits.disk = kMaxWorkerDisk;

  std::mutex mutex;
  absl::Status failed;  // what ends all
  std::atomic<size_t> next = 0;
  size_t done = 0;
  size_t wrong = 0;
  Progress progress(todo.size());
  const auto work = [&](int thread) {
    Bench bench(run, backends, host, limits, JoinPath(scratch, absl::StrCat(thread)));
    absl::Status status = bench.Start();
    while (status.ok()) {
      const size_t i = next++;
      if (i >= todo.size()) break;
      std::vector<bool> wanted;
      {
        const std::lock_guard<std::mutex> guard(mutex);
        if (!failed.ok()) return;
        for (const auto& log : logs) wanted.push_back(!log->Has(todo[i]));
      }
      bool is_wrong = false;
      status =
          bench.Run(todo[i], wanted,
                    [&](size_t b, const SampleResult& result, const Duel& duel) -> absl::Status {
                      const std::lock_guard<std::mutex> guard(mutex);
                      RETURN_IF_ERROR(logs[b]->Add(result, duel));
                      const std::string line = FailureLine(todo[i], backends[b], result);
                      is_wrong |= !line.empty();
                      if (!line.empty() && !run.quiet) {
                        progress.Print(line);
                        std::fflush(stdout);  // It may be long until the next one.
                      }
                      return absl::OkStatus();
                    });
      const std::lock_guard<std::mutex> guard(mutex);
      wrong += is_wrong ? 1 : 0;
      if (status.ok()) progress.Step(++done, wrong);
    }
    const std::lock_guard<std::mutex> guard(mutex);
    if (failed.ok()) failed = status;
  };
  // Workers die with the thread that started them.
  std::vector<std::thread> threads;
  if (!todo.empty()) {
    const int jobs = static_cast<int>(std::min(static_cast<size_t>(run.jobs), todo.size()));
    for (int thread = 1; thread < jobs; ++thread) threads.emplace_back(work, thread);
    work(0);
  }
  for (std::thread& thread : threads) thread.join();
  progress.End();
  clean();
  RETURN_IF_ERROR(failed);

  std::vector<BackendResults> results;
  for (size_t b = 0; b < backends.size(); ++b)
    results.push_back({std::string(backends[b].name), logs[b]->log_path(), logs[b]->results()});
  return results;
}

}  // namespace graphnet
