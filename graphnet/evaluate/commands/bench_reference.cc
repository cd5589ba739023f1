#include "graphnet/evaluate/commands/bench_reference.h"

#include <sys/utsname.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/file.h"
#include "graphnet/base/parallel.h"
#include "graphnet/base/status.h"
#include "graphnet/base/version.h"
#include "graphnet/evaluate/bench_workers.h"
#include "graphnet/evaluate/processor.h"
#include "graphnet/evaluate/trials.h"

namespace graphnet {
namespace {

// Variables that change the results of an operator, or its speed.
constexpr const char* kRecordedVariables[] = {"ATEN_CPU_CAPABILITY", "OMP_NUM_THREADS",
                                              "MKL_NUM_THREADS"};

ReferenceEnvironment EnvironmentOfMachine(const BenchSettings& settings) {
  ReferenceEnvironment environment = {{"graphnet", kVersion},
                                      {"libtorch", kLibTorchVersion},
                                      {"hardware", ProcessorName()},
                                      {"processors", absl::StrCat(NumCpus())}};
  if (settings.threads > 0) environment["threads"] = absl::StrCat(settings.threads);
  utsname system = {};
  if (uname(&system) == 0)
    environment["system"] = absl::StrCat(system.sysname, " ", system.release, " ", system.machine);
  for (const char* const name : kRecordedVariables) {
    if (const char* const value = std::getenv(name); value != nullptr) environment[name] = value;
  }
  return environment;
}

// The eager side compared with itself, so that the interval shows how far its times vary.
Log LogOfEager(const Reference& reference, const std::string& device) {
  Log log;
  log.name = "eager";
  log.file = absl::StrCat(reference.folder(), " (eager)");
  log.config.emplace_back("device", device);
  if (const auto it = reference.environment().find("hardware"); it != reference.environment().end())
    log.config.emplace_back("hardware", it->second);
  for (const ReferenceSample& sample : reference.samples()) {
    if (!sample.failure.empty()) continue;
    LoggedSample logged;
    logged.path = sample.path;
    logged.correct_levels = (1U << kNumToleranceLevels) - 1;
    logged.speedup = 1;
    for (const auto& [measure, blocks] : EagerTimesOf(sample, "")) {
      if (measure != kEndToEnd || blocks.size() < 2) continue;
      PairedTrials trials = {blocks, blocks};
      std::rotate(trials.compiled.begin(), trials.compiled.begin() + 1, trials.compiled.end());
      if (trials.Fluctuation() > kFluctuation) continue;
      const SpeedupEstimate estimate = EstimateSpeedup(trials);
      logged.speedup_low = estimate.low;
      logged.speedup_high = estimate.high;
    }
    log.samples.push_back(std::move(logged));
  }
  return log;
}

}  // namespace

absl::Status Record(const std::string& folder, BenchRun* run,
                    const std::function<absl::Status()>& bench) {
  if (IsFolder(folder) || FileExists(folder)) {
    return absl::AlreadyExistsError(
        absl::StrCat("--record: ", Printable(folder, 1000), " is there already"));
  }
  return WriteFolderAtomic(folder, /*replace=*/false, [&](const std::string& dir) -> absl::Status {
    ReferenceWriter writer(dir);
    run->record = &writer;
    RETURN_IF_ERROR(bench());
    ASSIGN_OR_RETURN(const std::vector<Backend> backends, BackendsOf(run->settings));
    std::vector<std::string> names;
    for (const Backend& backend : backends) names.push_back(FileNameOf(backend));
    return writer.Finish(run->folder, names, EnvironmentOfMachine(run->settings));
  });
}

absl::Status TakeSettings(const Reference& reference, const ReferenceOptions& options,
                          BenchSettings* settings) {
  ASSIGN_OR_RETURN(const BenchSettings recorded, SettingsOf(reference.folder()));
  if (options.seed.is_given() && settings->seed != recorded.seed) {
    return absl::InvalidArgumentError(
        absl::StrCat("--seed: the inputs of the reference were drawn with seed ", recorded.seed));
  }
  settings->seed = recorded.seed;
  if (settings->backends.empty()) settings->backends = recorded.backends;
  if (!options.device.is_given()) settings->device = recorded.device;
  if (!options.warmup.is_given()) settings->warmup = recorded.warmup;
  if (!options.trials.is_given()) settings->trials = recorded.trials;
  if (!options.threads.is_given()) settings->threads = recorded.threads;
  return absl::OkStatus();
}

void SayDifferences(const BenchRun& run, Report* report) {
  const ReferenceEnvironment& before = run.against->environment();
  const ReferenceEnvironment now = EnvironmentOfMachine(run.settings);
  Json differences = Json::List();
  ReferenceEnvironment all = before;
  all.insert(now.begin(), now.end());
  const auto value_in = [](const ReferenceEnvironment& environment, const std::string& key) {
    const auto it = environment.find(key);
    return it != environment.end() ? Printable(it->second, 200) : "not set";
  };
  for (const auto& [key, value] : all) {
    const std::string was = value_in(before, key);
    const std::string is = value_in(now, key);
    if (was == is) continue;
    differences.push_back(absl::StrCat(key, ": ", was, ", then ", is));
    report->Say(absl::StrCat("not the same ", Printable(key), ": ", was, ", then ", is));
  }
  report->Add("differences", std::move(differences));
}

absl::Status SkipUnknown(BenchRun* run, Report* report) {
  Json skipped = Json::List();
  std::vector<std::string> kept;
  for (const std::string& path : run->samples) {
    const ReferenceSample* const known = run->against->Find(path, run->NameOf(path));
    if (known != nullptr && known->failure.empty()) {
      kept.push_back(path);
      continue;
    }
    skipped.push_back(path);
    report->Say(absl::StrCat("SKIPPED ", Printable(path, 1000), ": ",
                             known == nullptr ? "the reference lacks it"
                                              : absl::StrCat("eager failed when the reference was "
                                                             "recorded: ",
                                                             Printable(known->failure, 1000))));
  }
  if (kept.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--against: ", Printable(run->against->folder(), 1000), " has none of these samples"));
  }
  report->Add("skipped", std::move(skipped));
  run->samples = std::move(kept);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Log>> RecordedLogs(const BenchRun& run) {
  const Reference& reference = *run.against;
  ASSIGN_OR_RETURN(const std::vector<Backend> backends, BackendsOf(run.settings));
  std::vector<Log> logs;
  for (const Backend& backend : backends) {
    const std::string file = reference.LogOf(FileNameOf(backend));
    Log log = LogOfEager(reference, run.settings.device);
    if (!file.empty()) {
      absl::StatusOr<Log> read = ReadLog(file, {.jobs = NumCpus()});
      if (!read.ok()) return Annotate(read.status(), "--against");
      log = *std::move(read);
    }
    absl::flat_hash_map<std::string, LoggedSample> recorded;
    for (LoggedSample& sample : log.samples) recorded[sample.path] = std::move(sample);
    log.samples.clear();
    // Samples that do not run now are no change.
    for (const std::string& path : run.samples) {
      const ReferenceSample* const known = reference.Find(path, run.NameOf(path));
      if (known == nullptr || !recorded.contains(known->path)) continue;
      log.samples.push_back(recorded.at(known->path));
      log.samples.back().path = path;
    }
    logs.push_back(std::move(log));
  }
  return logs;
}

}  // namespace graphnet
