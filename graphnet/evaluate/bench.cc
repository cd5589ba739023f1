#include "graphnet/evaluate/bench.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/file.h"
#include "graphnet/base/json.h"
#include "graphnet/base/status.h"
#include "graphnet/base/without_exceptions.h"
#include "graphnet/evaluate/bench_workers.h"
#include "graphnet/evaluate/failure_kind.h"
#include "graphnet/evaluate/oracle.h"
#include "graphnet/evaluate/worker_process.h"
#include "graphnet/formats/formats.h"
#include "graphnet/ir/types.h"

namespace graphnet {
namespace {

constexpr size_t kMaxSettingsBytes = size_t{64} << 20;
constexpr char kSettings[] = "bench.json";

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

Json JsonOf(const BenchSettings& settings) {
  return Json::Object({{"in", settings.in},
                       {"list", settings.list},
                       {"backends", settings.backends},
                       {"device", settings.device},
                       {"warmup", settings.warmup},
                       {"trials", settings.trials},
                       {"seed", settings.seed},
                       {"threads", settings.threads},
                       {"fresh_inputs", settings.fresh_inputs},
                       {"oracle", settings.oracle},
                       {"derives_tolerance", settings.derives_tolerance},
                       {"exec", settings.exec},
                       {"exec_reads", FormName(settings.exec_reads)},
                       {"against", settings.against},
                       {"on", settings.on}});
}

// Sets `value` to a member. Returns whether there is one of the right type.
template <typename T>
bool Take(const Json& json, absl::string_view name, T* value) {
  std::optional<T> member = json.Get<T>(name);
  if (!member) return false;
  *value = *std::move(member);
  return true;
}

absl::Status CheckDevice(const std::string& device) {
  if (ParseDevice(device).has_value()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--device: unknown device ", Printable(device), "; expected cpu or cuda:0"));
}

}  // namespace

absl::Status BeginBench(const std::string& folder, const BenchSettings& settings) {
  RETURN_IF_ERROR(BackendsOf(settings).status());
  RETURN_IF_ERROR(CheckDevice(settings.device));
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  const auto names = ListFolder(folder);
  if (!names.ok()) return names.status();
  if (!names->empty()) {
    return absl::AlreadyExistsError(absl::StrCat(
        Printable(folder, 1000), " is not empty; use --resume to go on with a benchmark"));
  }
  return WriteFileAtomic(JoinPath(folder, kSettings), JsonOf(settings).Dump() + "\n");
}

absl::StatusOr<BenchSettings> SettingsOf(const std::string& folder) {
  const std::string path = JoinPath(folder, kSettings);
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxSettingsBytes));
  const Json json = Json::Parse(text);
  if (json.type_name() == "null")
    return absl::InvalidArgumentError(absl::StrCat(Printable(path, 1000), ": is not JSON"));
  BenchSettings settings;
  std::string form;
  if (!Take(json, "in", &settings.in) || !Take(json, "backends", &settings.backends) ||
      !Take(json, "device", &settings.device) || !Take(json, "warmup", &settings.warmup) ||
      !Take(json, "trials", &settings.trials) || !Take(json, "seed", &settings.seed) ||
      !Take(json, "fresh_inputs", &settings.fresh_inputs) || !Take(json, "exec", &settings.exec) ||
      !Take(json, "exec_reads", &form)) {
    return absl::InvalidArgumentError(
        absl::StrCat(Printable(path, 1000), ": not the settings of a benchmark"));
  }
  // Earlier versions did not have these.
  settings.oracle = json.Get<bool>("oracle").value_or(false);
  settings.derives_tolerance = json.Get<bool>("derives_tolerance").value_or(false);
  settings.list = json.Get<std::string>("list").value_or("");
  settings.threads = json.Get<int>("threads").value_or(0);
  settings.against = json.Get<std::string>("against").value_or("");
  settings.on = json.Get<std::string>("on").value_or("");
  for (int i = 0; i < kNumProgramForms; ++i) {
    const auto known = static_cast<ProgramForm>(i);
    if (form == FormName(known)) settings.exec_reads = known;
  }
  return settings;
}

absl::Status CheckSame(const BenchSettings& begun, const BenchSettings& now) {
  const Json before = JsonOf(begun);
  const Json after = JsonOf(now);
  for (const auto& [key, value] : before.members()) {
    const std::string was = value.Dump(-1);
    const std::string is = after.Find(key)->Dump(-1);
    if (was == is) continue;
    return absl::InvalidArgumentError(absl::StrCat("this benchmark was begun with ", key, " ",
                                                   Printable(was, 500), ", not ",
                                                   Printable(is, 500)));
  }
  return absl::OkStatus();
}

absl::StatusOr<BenchResults> RunBench(const BenchRun& run) {
  RETURN_IF_ERROR(CheckDevice(run.settings.device));
  ASSIGN_OR_RETURN(const std::vector<Backend> backends, BackendsOf(run.settings));
  BenchResults made;
  std::vector<std::string> paths;
  for (const std::string& path : run.samples) {
    // An input that is not a sample is no backend's failure.
    if (const absl::Status status = Recognise(path).status(); !status.ok()) {
      made.unusable.push_back(status);
    } else {
      paths.push_back(path);
    }
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
    ASSIGN_OR_RETURN(logs.emplace_back(), ResultLog::Open(folder, FileNameOf(backend)));
  }
  std::vector<std::string> todo;
  for (const std::string& path : paths) {
    if (absl::c_any_of(logs, [&](const auto& log) { return !log->Has(path); }))
      todo.push_back(path);
  }

  std::mutex mutex;
  absl::Status failed;  // the error that ends the benchmark
  std::atomic<size_t> next = 0;
  size_t done = 0;
  size_t wrong = 0;
  const BenchListener& listener = run.listener;
  if (listener.on_begin) listener.on_begin(todo.size());
  const int jobs = static_cast<int>(std::min(static_cast<size_t>(run.jobs), todo.size()));
  const auto work_on = [&](int thread) -> absl::Status {
    BenchWorkers bench(run, backends, JoinPath(scratch, absl::StrCat(thread)), jobs);
    RETURN_IF_ERROR(bench.Start());
    while (true) {
      const size_t i = next++;
      if (i >= todo.size()) return absl::OkStatus();
      std::vector<bool> wanted;
      {
        const std::lock_guard<std::mutex> guard(mutex);
        if (!failed.ok()) return absl::OkStatus();
        for (const auto& log : logs) wanted.push_back(!log->Has(todo[i]));
      }
      bool is_wrong = false;
      const absl::Status status =
          bench.Run(todo[i], wanted, [&](size_t b, const BenchOutcome& outcome) -> absl::Status {
            const std::lock_guard<std::mutex> guard(mutex);
            RETURN_IF_ERROR(logs[b]->Add(outcome.result, outcome.ab_run,
                                         outcome.oracle.has_value() ? &*outcome.oracle : nullptr));
            is_wrong |= FailureKindOf(outcome.result).outcome != Outcome::kCorrect;
            if (listener.on_outcome) listener.on_outcome(todo[i], backends[b], outcome);
            return absl::OkStatus();
          });
      RETURN_IF_ERROR(status);
      const std::lock_guard<std::mutex> guard(mutex);
      wrong += is_wrong ? 1 : 0;
      ++done;
      if (listener.on_step) listener.on_step(done, wrong);
    }
  };
  // An exception in a thread ends the benchmark with its message; finished results stay.
  const auto work = [&](int thread) {
    const absl::Status status = WithoutExceptions([&] { return work_on(thread); });
    const std::lock_guard<std::mutex> guard(mutex);
    if (failed.ok()) failed = status;
  };
  std::vector<std::thread> threads;
  // If the system refuses more threads, fewer are used.
  const absl::Status started = WithoutExceptions([&] {
    for (int thread = 1; thread < jobs; ++thread) threads.emplace_back(work, thread);
    return absl::OkStatus();
  });
  if (!started.ok() && listener.on_note)
    listener.on_note(absl::StrCat("fewer threads than asked for: ", started.message()));
  if (!todo.empty()) work(0);
  for (std::thread& thread : threads) thread.join();
  clean();
  RETURN_IF_ERROR(failed);

  for (size_t b = 0; b < backends.size(); ++b) {
    made.backends.push_back(
        {std::string(backends[b].shown()), logs[b]->log_path(), logs[b]->results()});
  }
  return made;
}

}  // namespace graphnet
