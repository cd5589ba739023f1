#include "graphnet/evaluate/bench_workers.h"

#include <sys/resource.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "graphnet/base/file.h"
#include "graphnet/base/memory.h"
#include "graphnet/base/shell_word.h"
#include "graphnet/base/status.h"
#include "graphnet/base/without_exceptions.h"
#include "graphnet/evaluate/backend_options.h"
#include "graphnet/evaluate/bench_rewrite.h"
#include "graphnet/evaluate/failure_kind.h"
#include "graphnet/evaluate/processor.h"

namespace graphnet {
namespace {

constexpr int64_t kMaxWorkerDisk = int64_t{10} << 30;

WorkerLimits LimitsOf(const BenchRun& run, int threads) {
  WorkerLimits limits;
  limits.time = absl::Seconds(run.timeout_s);
  // Each thread runs the eager side and one backend at a time.
  limits.memory =
      run.memory_mib > 0 ? run.memory_mib << 20 : AvailableMemoryBytes() / (2 * threads);
  limits.disk = kMaxWorkerDisk;
  limits.threads = run.settings.threads;
  return limits;
}

AbRun Compare(BenchSample& sample, BackendProcess* process, EagerSide* eager) {
  const Backend& backend = process->backend();
  const absl::StatusOr<PrepareRequest> request =
      WithoutExceptions([&] { return sample.RequestFor(backend); });
  AbRun ab_run;
  if (request.ok()) {
    const absl::Status compared = WithoutExceptions([&] {
      ab_run = eager->Compare(process, *request);
      return absl::OkStatus();
    });
    if (compared.ok()) return ab_run;
    // Both may be in the middle of an answer.
    process->Stop();
    eager->Stop();
    ab_run = {};
    ab_run.status = Outcome::kRuntimeFail;
    ab_run.reason = std::string(compared.message());
    return ab_run;
  }
  ab_run.status = Outcome::kCompileFail;
  const std::string how = backend.kind == BackendKind::kRewrite
                              ? "rewritten"
                              : absl::StrCat("written as ", FormName(backend.reads));
  ab_run.reason =
      absl::StrCat("cannot be ", how, ": ", absl::string_view(request.status().message()));
  return ab_run;
}

// Returns whether a disk was full, which says nothing about a backend. A message must say so; if it
// is a worker's, which may have written anywhere, the benchmark's disk must be full indeed.
bool IsDiskFull(absl::string_view message, bool is_workers, const std::string& folder) {
  const auto says = [&](int error) { return absl::StrContains(message, std::strerror(error)); };
  if (says(ENOSPC) || says(EDQUOT)) {
    constexpr uintmax_t kLittle = uintmax_t{64} << 20;
    std::error_code error;
    const std::filesystem::space_info space = std::filesystem::space(folder, error);
    return !is_workers || (!error && space.available < kLittle);
  }
  // Workers have a file size limit of their own; exceeding it is their failure.
  rlimit limit = {};
  return says(EFBIG) && getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
         limit.rlim_cur < static_cast<rlim_t>(kMaxWorkerDisk);
}

// Gives a backend the number of threads, unless it has no such option or has been given one.
void SetThreads(int threads, Backend* backend) {
  const bool knows = absl::c_any_of(
      backend->options, [](const BackendOption& option) { return option.name == "threads"; });
  const bool is_given =
      absl::c_any_of(backend->given, [](const auto& given) { return given.first == "threads"; });
  if (knows && !is_given) backend->given.emplace_back("threads", absl::StrCat(threads));
}

// Returns the times of the eager side by each clock.
EagerTimes TimesOf(const AbRun& ab_run) {
  EagerTimes times;
  if (!ab_run.trials.eager.empty()) times.emplace_back(std::string(kEndToEnd), ab_run.trials.eager);
  for (const auto& [measure, trials] : ab_run.device_trials) {
    if (!trials.eager.empty()) times.emplace_back(measure, trials.eager);
  }
  return times;
}

// Returns whether both sides ran and returned different outputs.
bool Differs(const SampleResult& result) {
  switch (FailureKindOf(result).outcome) {
    case Outcome::kAccuracy:
    case Outcome::kNotFinite:
    case Outcome::kTypeMismatch:
    case Outcome::kShapeMismatch: return true;
    default: return false;
  }
}

}  // namespace

absl::StatusOr<std::vector<Backend>> BackendsOf(const BenchSettings& settings) {
  std::vector<Backend> backends;
  for (const std::string& name : settings.backends) {
    Backend backend;
    if (IsRewriteName(name)) {
      RETURN_IF_ERROR(RewriterOf(name).status());
      backend.name = name;
      backend.kind = BackendKind::kRewrite;
      backend.reads = ProgramForm::kSample;
    } else {
      ASSIGN_OR_RETURN(backend, BackendOfText(name));
    }
    const bool is_second = absl::c_any_of(
        backends, [&](const Backend& other) { return FileNameOf(other) == FileNameOf(backend); });
    if (is_second)
      return absl::InvalidArgumentError(
          absl::StrCat("backend ", Printable(name), " is named twice"));
    if (backend.kind == BackendKind::kCommand) backend.reads = settings.exec_reads;
    if (settings.threads > 0) SetThreads(settings.threads, &backend);
    backends.push_back(std::move(backend));
  }
  return backends;
}

BenchWorkers::BenchWorkers(const BenchRun& run, const std::vector<Backend>& backends,
                           std::string folder, int threads)
    : run_(run),
      folder_(std::move(folder)),
      hardware_(ProcessorName()),
      nope_(*FindBackend("nope")) {
  WorkerHost host = run.host;
  host.exec = run.settings.exec;
  host.on = run.settings.on;
  const WorkerLimits limits = LimitsOf(run, threads);
  eager_ = std::make_unique<BackendProcess>(&nope_, host, limits, JoinPath(folder_, "eager"));
  for (const Backend& backend : backends) {
    processes_.push_back(std::make_unique<BackendProcess>(
        &backend, host, limits, JoinPath(folder_, absl::StrCat("backend_", FileNameOf(backend)))));
  }
  if (run.settings.oracle) {
    oracle_ = std::make_unique<BenchOracle>(run, &nope_, host, limits, JoinPath(folder_, "oracle"));
  }
  if (run.settings.derives_tolerance) {
    WorkerHost here = host;
    here.on.clear();
    rounding_ =
        std::make_unique<BenchRounding>(run, &nope_, here, limits, JoinPath(folder_, "rounding"));
  }
}

absl::Status BenchWorkers::Start() {
  if (run_.against == nullptr)
    RETURN_IF_ERROR(Annotate(eager_->worker().status(), run_.settings.on.empty() ? "" : "eager"));
  for (const auto& process : processes_) {
    RETURN_IF_ERROR(
        Annotate(process->worker().status(), absl::StrCat("backend ", process->backend().shown())));
  }
  return absl::OkStatus();
}

absl::Status BenchWorkers::Run(
    const std::string& path, const std::vector<bool>& wanted,
    absl::FunctionRef<absl::Status(size_t i, const BenchOutcome&)> take) {
  const std::string sample_folder = JoinPath(folder_, "sample");
  const std::string scaled_folder = JoinPath(folder_, "scaled");
  std::error_code error;
  for (const std::string& folder : {sample_folder, scaled_folder}) {
    std::filesystem::remove_all(folder, error);
    std::filesystem::create_directories(folder, error);
  }
  const ReferenceSample* known = nullptr;
  if (run_.against != nullptr) known = run_.against->Find(path, run_.NameOf(path));
  absl::StatusOr<std::unique_ptr<BenchSample>> sample =
      Load(path, sample_folder, known != nullptr && known->is_scaled);
  absl::Status ready = sample.status();
  const AbOptions options = {
      .warmup = run_.settings.warmup, .trials = run_.settings.trials, .seed = run_.settings.seed};
  const auto side_of = [&](BenchSample* of) {
    return EagerSide(eager_.get(), of == nullptr ? AbInputs() : of->inputs(), options);
  };
  EagerSide eager = side_of(sample.ok() ? sample->get() : nullptr);
  const auto prepare = [&] {
    return WithoutExceptions([&]() -> absl::Status {
      if (run_.against != nullptr) return Recall(known, **sample, &eager);
      ASSIGN_OR_RETURN(const PrepareRequest request, (*sample)->RequestFor(ProgramForm::kSample));
      return eager.Prepare(request);
    });
  };
  if (ready.ok()) ready = prepare();
  // What eager returns says whether the sample proves anything. If it does not, weights that are
  // drawn otherwise may help.
  std::vector<BlindOutput> blind;
  if (ready.ok()) {
    blind = (*sample)->BlindAmong(eager.outputs());
    const bool explodes = !absl::c_all_of(eager.outputs(), IsFinite);
    absl::StatusOr<std::unique_ptr<BenchSample>> scaled = nullptr;
    if (run_.against == nullptr && (!blind.empty() || explodes))
      scaled = Load(path, scaled_folder, true);
    if (scaled.ok() && *scaled != nullptr && (*scaled)->num_scaled() > 0) {
      std::swap(sample, scaled);
      EagerSide before = std::exchange(eager, side_of(sample->get()));
      std::vector<BlindOutput> left;
      absl::Status repaired = prepare();
      if (repaired.ok()) left = (*sample)->BlindAmong(eager.outputs());
      if (repaired.ok() && left.empty() && absl::c_all_of(eager.outputs(), IsFinite)) {
        blind.clear();
      } else {
        std::swap(sample, scaled);
        eager = std::move(before);
        ready = prepare();
      }
    }
  }
  ReferenceSample recorded;
  for (size_t i = 0; i < processes_.size(); ++i) {
    if (!wanted[i]) continue;
    BenchOutcome outcome;
    AbRun& ab_run = outcome.ab_run;
    if (ready.ok() && !eager.is_ready()) ready = prepare();
    if (!ready.ok()) {
      ab_run.status = Outcome::kEagerFail;
      ab_run.reason = std::string(ready.message());
      ab_run.is_loaded = sample.ok() && run_.against == nullptr;
    } else {
      if (known != nullptr)
        eager.Recall(eager.outputs(), EagerTimesOf(*known, FileNameOf(processes_[i]->backend())));
      ab_run = Compare(**sample, processes_[i].get(), &eager);
    }
    if (IsDiskFull(ab_run.reason, /*is_workers=*/sample.ok(), folder_)) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "the disk is too full for the benchmark: ", ab_run.reason, "; graphnet bench --resume ",
          ShellWord(run_.folder), " goes on once there is space"));
    }
    SampleResult& result = outcome.result;
    result = ResultOf(ab_run, *processes_[i]);
    result.path = path;
    if (sample.ok()) result.config.insert(result.config.begin(), {"model", (*sample)->model()});
    if (sample.ok() && (*sample)->num_scaled() > 0)
      result.config.emplace_back(kDrawingKey, "fan_in");
    if (ab_run.status == Outcome::kCorrect) result.blind = blind;
    if (ready.ok() && ab_run.status != Outcome::kEagerFail)
      result.eager_dtypes = DTypesOf(eager.outputs());
    const bool has_numbers =
        ab_run.status == Outcome::kCorrect || ab_run.status == Outcome::kNotFinite;
    if (rounding_ != nullptr && has_numbers)
      result.rounding = rounding_->Judge(**sample, eager.outputs(), ab_run);
    if (oracle_ != nullptr && Differs(result))
      outcome.oracle = oracle_->Find(path, (*sample)->num_scaled() > 0, processes_[i].get());
    if (run_.record != nullptr)
      recorded.eager[FileNameOf(processes_[i]->backend())] = TimesOf(ab_run);
    RETURN_IF_ERROR(take(i, outcome));
  }
  if (run_.record == nullptr) return absl::OkStatus();
  recorded.path = path;
  recorded.name = run_.NameOf(path);
  recorded.failure = std::string(ready.message());
  if (sample.ok()) {
    recorded.digests = (*sample)->digests();
    recorded.is_scaled = (*sample)->num_scaled() > 0;
  }
  return run_.record->Add(recorded, eager.outputs());
}

absl::Status BenchWorkers::Recall(const ReferenceSample* known, const BenchSample& sample,
                                  EagerSide* eager) const {
  if (known == nullptr) return absl::NotFoundError("the reference lacks it");
  RETURN_IF_ERROR(Reference::CheckSame(*known, sample.digests()));
  ASSIGN_OR_RETURN(Outputs outputs, run_.against->OutputsOf(*known));
  eager->Recall(std::move(outputs), {});
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<BenchSample>> BenchWorkers::Load(const std::string& path,
                                                                const std::string& folder,
                                                                bool scale_weights) const {
  // An exception on hostile input is how the sample ended, too.
  return WithoutExceptions([&] {
    return BenchSample::Load(path, folder,
                             {.seed = run_.settings.seed,
                              .device = run_.settings.device,
                              .fresh_inputs = run_.settings.fresh_inputs ? 5 : 0,
                              .scale_weights = scale_weights,
                              .trust = run_.trust,
                              .digests = run_.record != nullptr || run_.against != nullptr});
  });
}

SampleResult BenchWorkers::ResultOf(const AbRun& ab_run, const BackendProcess& process) const {
  SampleResult result;
  result.status = ab_run.status;
  result.reason = ab_run.reason;
  const WorkerGreeting& greeting = process.greeting();
  result.config = {
      {"device", run_.settings.device},
      {"hardware", greeting.hardware.empty() ? hardware_ : greeting.hardware},
      {"compiler", std::string(process.backend().name)},
      {"warmup", absl::StrCat(run_.settings.warmup)},
      {"trials", absl::StrCat(run_.settings.trials)},
      {"compile_framework_version", absl::StrCat(greeting.name, " ", greeting.version)}};
  if (const std::string options = OptionsText(process.backend()); !options.empty())
    result.config.emplace_back("options", options);
  result.compiled_dtypes = ab_run.compiled_dtypes;
  result.outputs = ab_run.outputs;
  if (ab_run.speedup.speedup > 0) {
    AddTimes(std::string(kEndToEnd), ab_run.trials, &result);
    for (const auto& [measure, trials] : ab_run.device_trials) AddTimes(measure, trials, &result);
  }
  return result;
}

}  // namespace graphnet
