#include "graphnet/evaluate/ab_run.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graphnet/base/file.h"
#include "graphnet/base/status.h"

namespace graphnet {
namespace {

constexpr int kBlocks = 5;
constexpr int kTimings = 3;  // one, and repetitions if times fluctuate
// Runs that take longer suffer little from the caches that another process leaves.
constexpr double kBriefMs = 50;

// The state of a file, which shows whether it was written to.
struct FileState {
  ino_t inode = 0;
  off_t size = -1;
  int64_t seconds = 0;
  int64_t nanoseconds = 0;
  bool operator==(const FileState&) const = default;
};

FileState StateOf(const std::string& path) {
  struct stat state {};
  if (stat(path.c_str(), &state) != 0) return {};
  return {state.st_ino, state.st_size, state.st_mtim.tv_sec, state.st_mtim.tv_nsec};
}

std::vector<FileState> StatesOf(const std::vector<std::string>& files) {
  std::vector<FileState> states;
  for (const std::string& file : files) states.push_back(StateOf(file));
  return states;
}

bool SaysItDoesNotCompile(const absl::Status& status) { return absl::IsFailedPrecondition(status); }
bool SaysItDoesNotRun(const absl::Status& status) { return absl::IsUnavailable(status); }

void Fail(Outcome outcome, const absl::Status& status, AbRun* ab_run) {
  ab_run->status = outcome;
  ab_run->reason = std::string(status.message());
  ab_run->outputs.clear();
  ab_run->compiled_dtypes.clear();
  ab_run->compared.clear();
  ab_run->trials = {};
  ab_run->speedup = {};
  ab_run->device_trials.clear();
}

void FailRun(const absl::Status& status, AbRun* ab_run) {
  Fail(SaysItDoesNotCompile(status) ? Outcome::kCompileFail : Outcome::kRuntimeFail, status,
       ab_run);
}

// Returns the number of levels and classes at which outputs are right.
int Closeness(const std::vector<OutputComparison>& outputs) {
  int close = 0;
  for (const OutputComparison& output : outputs)
    close += __builtin_popcountll(output.close) + (output.equal ? 1 : 0);
  return close;
}

// Takes the verdict of a later run if it is worse than the one so far. `compared` is its file, if it is
// one on the first inputs.
void TakeIfWorse(OutputsVerdict verdict, const std::string& when, const std::string& compared,
                 AbRun* ab_run) {
  const bool is_worse = ab_run->status == Outcome::kCorrect &&
                        (verdict.status != Outcome::kCorrect ||
                         Closeness(verdict.outputs) < Closeness(ab_run->outputs));
  if (!is_worse) return;
  ab_run->status = verdict.status;
  ab_run->outputs = std::move(verdict.outputs);
  ab_run->compared = compared;
  ab_run->reason = absl::StrCat(when, verdict.reason.empty() ? "" : ": ", verdict.reason);
}

// Returns the number of runs that warm up the next block.
int WarmupAfter(const std::vector<WorkerTimes>& blocks, int first) {
  if (blocks.empty()) return first;
  return StatisticsOf(blocks.back().front().second).median < kBriefMs ? 1 : 0;
}

}  // namespace

absl::Status EagerSide::Prepare(const PrepareRequest& request) {
  ASSIGN_OR_RETURN(Worker * worker, process_->worker());
  RETURN_IF_ERROR(worker->Prepare(request));
  ASSIGN_OR_RETURN(outputs_, OutputsOn(inputs_.files.front()));
  return absl::OkStatus();
}

void EagerSide::Recall(Outputs outputs, EagerTimes times) {
  outputs_ = std::move(outputs);
  recalled_ = std::move(times);
}

std::string EagerSide::OutputsFile() const {
  return JoinPath(process_->folder(), "eager.safetensors");
}

absl::StatusOr<Outputs> EagerSide::OutputsOn(const std::string& file) {
  ASSIGN_OR_RETURN(Worker * worker, process_->worker());
  RETURN_IF_ERROR(worker->Run(file, OutputsFile(), options_.seed).status());
  return ReadOutputs(OutputsFile());
}

absl::StatusOr<WorkerTimes> EagerSide::TimeEager(const std::string& inputs, int warmup,
                                                 int trials) {
  ASSIGN_OR_RETURN(Worker * worker, process_->worker());
  return worker->Time(inputs, OutputsFile(), warmup, trials, options_.seed);
}

AbRun EagerSide::Compare(BackendProcess* compiled, const PrepareRequest& request) {
  AbRun ab_run;
  const std::vector<FileState> before = StatesOf(inputs_.files);
  Run(compiled, request, &ab_run);
  if (StatesOf(inputs_.files) != before) {
    Fail(Outcome::kRuntimeFail, absl::DataLossError("changed the file of its inputs"), &ab_run);
    if (const absl::Status restored = inputs_.restore(); !restored.ok())
      Fail(Outcome::kEagerFail, restored, &ab_run);
  }
  return ab_run;
}

void EagerSide::Run(BackendProcess* compiled, const PrepareRequest& request, AbRun* ab_run) {
  const absl::StatusOr<Worker*> started = compiled->worker();
  if (!started.ok()) return Fail(Outcome::kCompileFail, started.status(), ab_run);
  Worker& worker = **started;

  const auto begin = std::chrono::steady_clock::now();
  const absl::Status prepared = worker.Prepare(request);
  ab_run->prepare_ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  if (!prepared.ok()) {
    return Fail(SaysItDoesNotRun(prepared) ? Outcome::kRuntimeFail : Outcome::kCompileFail,
                prepared, ab_run);
  }

  const std::string first = JoinPath(compiled->folder(), "first.safetensors");
  const std::string file = JoinPath(compiled->folder(), "compiled.safetensors");
  const absl::StatusOr<std::string> proof = worker.Run(inputs_.files.front(), first, options_.seed);
  if (!proof.ok()) return FailRun(proof.status(), ab_run);
  ab_run->proof = *proof;
  const absl::StatusOr<Outputs> outputs = ReadOutputs(first);
  if (!outputs.ok()) return FailRun(outputs.status(), ab_run);
  ab_run->compiled_dtypes = DTypesOf(*outputs);
  OutputsVerdict verdict = CompareOutputs(outputs_, *outputs);
  ab_run->status = verdict.status;
  ab_run->reason = std::move(verdict.reason);
  ab_run->outputs = std::move(verdict.outputs);
  ab_run->compared = first;

  for (int timing = 0; timing < kTimings; ++timing) {
    ByMeasure<PairedTrials> trials;
    if (!MeasureBlocks(worker, file, &trials, ab_run).ok()) return;
    if (timing == 0 || trials.front().second.Fluctuation() < ab_run->trials.Fluctuation()) {
      ab_run->trials = std::move(trials.front().second);
      trials.erase(trials.begin());
      ab_run->device_trials = std::move(trials);
    }
    if (ab_run->trials.Fluctuation() <= kFluctuation) break;
  }
  ab_run->fluctuates = ab_run->trials.Fluctuation() > kFluctuation;
  ab_run->speedup = EstimateSpeedup(ab_run->trials);
  if (const absl::Status closed = worker.Close(); !closed.ok()) FailRun(closed, ab_run);
}

absl::Status EagerSide::MeasureBlocks(Worker& compiled, const std::string& outputs,
                                      ByMeasure<PairedTrials>* trials, AbRun* ab_run) {
  const int blocks = std::min(kBlocks, options_.trials);
  std::vector<WorkerTimes> eager_times;
  std::vector<WorkerTimes> compiled_times;
  for (int block = 0; block < blocks; ++block) {
    const bool is_last = block + 1 == blocks;
    const bool is_fresh = inputs_.files.size() > 1;
    const size_t fresh = is_fresh ? 1 + static_cast<size_t>(block) % (inputs_.files.size() - 1) : 0;
    const std::string& inputs = inputs_.files[fresh];
    const int count = options_.trials / blocks + (block < options_.trials % blocks ? 1 : 0);

    const auto eager = [&]() -> absl::Status {
      if (recalled_.has_value()) return absl::OkStatus();
      const int warmup = WarmupAfter(eager_times, options_.warmup);
      absl::StatusOr<WorkerTimes> times = TimeEager(inputs, warmup, count);
      if (!times.ok()) {
        Fail(Outcome::kEagerFail, times.status(), ab_run);
        return times.status();
      }
      eager_times.push_back(*std::move(times));
      return absl::OkStatus();
    };
    const auto other = [&]() -> absl::Status {
      const int warmup = WarmupAfter(compiled_times, options_.warmup);
      auto times = compiled.Time(inputs, outputs, warmup, count, options_.seed);
      if (!times.ok()) {
        FailRun(times.status(), ab_run);
        return times.status();
      }
      compiled_times.push_back(*std::move(times));
      return absl::OkStatus();
    };
    // The sides take turns in going first, so that drift affects both alike.
    if (block % 2 == 0) RETURN_IF_ERROR(eager());
    RETURN_IF_ERROR(other());
    if (block % 2 != 0) RETURN_IF_ERROR(eager());

    if (!is_fresh && !is_last) continue;
    const absl::StatusOr<Outputs> actual = ReadOutputs(outputs);
    if (!actual.ok()) {
      FailRun(actual.status(), ab_run);
      return actual.status();
    }
    if (!is_fresh) {
      TakeIfWorse(CompareOutputs(outputs_, *actual), "wrong in a later run", outputs, ab_run);
      continue;
    }
    const absl::StatusOr<Outputs> expected = ReadOutputs(OutputsFile());
    if (!expected.ok()) {
      Fail(Outcome::kEagerFail, expected.status(), ab_run);
      return expected.status();
    }
    TakeIfWorse(CompareOutputs(*expected, *actual), "wrong on other inputs", "", ab_run);
  }
  *trials = TrialsByMeasure(eager_times, compiled_times);
  if (!recalled_.has_value()) return absl::OkStatus();
  for (const auto& [measure, times] : *recalled_) {
    for (auto& [name, both] : *trials) {
      if (name == measure) both.eager = times;
    }
  }
  return absl::OkStatus();
}

}  // namespace graphnet
