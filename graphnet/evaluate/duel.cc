#include "graphnet/evaluate/duel.h"

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
constexpr int kTimings = 3;  // one, and those anew if times fluctuate
// What takes longer finds the caches as another process leaves them without much harm.
constexpr double kBriefMs = 50;

// Of a file: by this it is seen that somebody wrote to it.
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

void Fail(Outcome outcome, const absl::Status& status, Duel* duel) {
  duel->status = outcome;
  duel->reason = std::string(status.message());
  duel->outputs.clear();
  duel->compiled_dtypes.clear();
  duel->trials = {};
  duel->speedup = {};
}

void FailRun(const absl::Status& status, Duel* duel) {
  Fail(SaysItDoesNotCompile(status) ? Outcome::kCompileFail : Outcome::kRuntimeFail, status, duel);
}

// How many levels and classes an output is right at.
int Closeness(const std::vector<OutputComparison>& outputs) {
  int close = 0;
  for (const OutputComparison& output : outputs)
    close += __builtin_popcountll(output.close) + (output.equal ? 1 : 0);
  return close;
}

// Of a later run, which must not be worse than the first.
void TakeIfWorse(OutputsVerdict verdict, const std::string& when, Duel* duel) {
  const bool is_worse =
      duel->status == Outcome::kCorrect && (verdict.status != Outcome::kCorrect ||
                                            Closeness(verdict.outputs) < Closeness(duel->outputs));
  if (!is_worse) return;
  duel->status = verdict.status;
  duel->outputs = std::move(verdict.outputs);
  duel->reason = absl::StrCat(when, verdict.reason.empty() ? "" : ": ", verdict.reason);
}

double MedianOf(const std::vector<double>& ms) { return StatisticsOf(ms).median; }

}  // namespace

absl::Status EagerSide::Prepare(const PrepareRequest& request) {
  ASSIGN_OR_RETURN(Worker * worker, contender_->worker());
  RETURN_IF_ERROR(worker->Prepare(request));
  ASSIGN_OR_RETURN(outputs_, OutputsOn(inputs_.files.front()));
  return absl::OkStatus();
}

std::string EagerSide::OutputsFile() const {
  return JoinPath(contender_->folder(), "eager.safetensors");
}

absl::StatusOr<Outputs> EagerSide::OutputsOn(const std::string& file) {
  ASSIGN_OR_RETURN(Worker * worker, contender_->worker());
  RETURN_IF_ERROR(worker->Run(file, OutputsFile(), options_.seed).status());
  return ReadOutputs(OutputsFile());
}

absl::StatusOr<std::vector<double>> EagerSide::TimeEager(const std::string& inputs, int warmup,
                                                         int trials) {
  ASSIGN_OR_RETURN(Worker * worker, contender_->worker());
  return worker->Time(inputs, OutputsFile(), warmup, trials, options_.seed);
}

Duel EagerSide::Fight(Contender* compiled, const PrepareRequest& request) {
  Duel duel;
  const std::vector<FileState> before = StatesOf(inputs_.files);
  Run(compiled, request, &duel);
  if (StatesOf(inputs_.files) != before) {
    Fail(Outcome::kRuntimeFail, absl::DataLossError("changed the file of its inputs"), &duel);
    if (const absl::Status restored = inputs_.restore(); !restored.ok())
      Fail(Outcome::kEagerFail, restored, &duel);
  }
  return duel;
}

void EagerSide::Run(Contender* compiled, const PrepareRequest& request, Duel* duel) {
  const absl::StatusOr<Worker*> started = compiled->worker();
  if (!started.ok()) return Fail(Outcome::kCompileFail, started.status(), duel);
  Worker& worker = **started;

  const auto begin = std::chrono::steady_clock::now();
  const absl::Status prepared = worker.Prepare(request);
  duel->prepare_ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  if (!prepared.ok()) {
    return Fail(SaysItDoesNotRun(prepared) ? Outcome::kRuntimeFail : Outcome::kCompileFail,
                prepared, duel);
  }

  const std::string file = JoinPath(compiled->folder(), "compiled.safetensors");
  const absl::StatusOr<std::string> proof = worker.Run(inputs_.files.front(), file, options_.seed);
  if (!proof.ok()) return FailRun(proof.status(), duel);
  duel->proof = *proof;
  const absl::StatusOr<Outputs> outputs = ReadOutputs(file);
  if (!outputs.ok()) return FailRun(outputs.status(), duel);
  duel->compiled_dtypes = DTypesOf(*outputs);
  OutputsVerdict verdict = CompareOutputs(outputs_, *outputs);
  duel->status = verdict.status;
  duel->reason = std::move(verdict.reason);
  duel->outputs = std::move(verdict.outputs);

  for (int timing = 0; timing < kTimings; ++timing) {
    PairedTrials trials;
    if (!MeasureBlocks(worker, file, &trials, duel).ok()) return;
    if (timing == 0 || trials.Fluctuation() < duel->trials.Fluctuation())
      duel->trials = std::move(trials);
    if (duel->trials.Fluctuation() <= kFluctuation) break;
  }
  duel->fluctuates = duel->trials.Fluctuation() > kFluctuation;
  duel->speedup = EstimateSpeedup(duel->trials);
  if (const absl::Status closed = worker.Close(); !closed.ok()) FailRun(closed, duel);
}

absl::Status EagerSide::MeasureBlocks(Worker& compiled, const std::string& outputs,
                                      PairedTrials* trials, Duel* duel) {
  const int blocks = std::min(kBlocks, options_.trials);
  for (int block = 0; block < blocks; ++block) {
    const bool is_last = block + 1 == blocks;
    const bool is_fresh = inputs_.files.size() > 1;
    const size_t fresh = is_fresh ? 1 + static_cast<size_t>(block) % (inputs_.files.size() - 1) : 0;
    const std::string& inputs = inputs_.files[fresh];
    const int count = options_.trials / blocks + (block < options_.trials % blocks ? 1 : 0);

    const auto eager = [&]() -> absl::Status {
      const int warmup = block == 0                                  ? options_.warmup
                         : MedianOf(trials->eager.back()) < kBriefMs ? 1
                                                                     : 0;
      const absl::StatusOr<std::vector<double>> ms = TimeEager(inputs, warmup, count);
      if (!ms.ok()) {
        Fail(Outcome::kEagerFail, ms.status(), duel);
        return ms.status();
      }
      trials->eager.push_back(*ms);
      return absl::OkStatus();
    };
    const auto other = [&]() -> absl::Status {
      const int warmup = block == 0                                     ? options_.warmup
                         : MedianOf(trials->compiled.back()) < kBriefMs ? 1
                                                                        : 0;
      auto ms = compiled.Time(inputs, outputs, warmup, count, options_.seed);
      if (!ms.ok()) {
        FailRun(ms.status(), duel);
        return ms.status();
      }
      trials->compiled.push_back(*std::move(ms));
      return absl::OkStatus();
    };
    // Who is first changes, so that what drifts does so for both.
    if (block % 2 == 0) RETURN_IF_ERROR(eager());
    RETURN_IF_ERROR(other());
    if (block % 2 != 0) RETURN_IF_ERROR(eager());

    if (!is_fresh && !is_last) continue;
    const absl::StatusOr<Outputs> actual = ReadOutputs(outputs);
    if (!actual.ok()) {
      FailRun(actual.status(), duel);
      return actual.status();
    }
    if (!is_fresh) {
      TakeIfWorse(CompareOutputs(outputs_, *actual), "wrong in a later run", duel);
      continue;
    }
    const absl::StatusOr<Outputs> expected = ReadOutputs(OutputsFile());
    if (!expected.ok()) {
      Fail(Outcome::kEagerFail, expected.status(), duel);
      return expected.status();
    }
    TakeIfWorse(CompareOutputs(*expected, *actual), "wrong on other inputs", duel);
  }
  return absl::OkStatus();
}

}  // namespace graphnet
