#include "graphnet/evaluate/bench_oracle.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "graphnet/base/file.h"
#include "graphnet/base/memory.h"
#include "graphnet/base/status.h"
#include "graphnet/base/without_exceptions.h"
#include "graphnet/decompose/graph_index.h"
#include "graphnet/decompose/range_decomposer.h"
#include "graphnet/decompose/regions.h"
#include "graphnet/evaluate/bench_sample.h"
#include "graphnet/evaluate/reduce.h"
#include "graphnet/formats/formats.h"
#include "graphnet/interp/inputs/scale_weights.h"

namespace graphnet {
namespace {

// Returns the path of a sample below another folder; ".." cannot lead out of it.
std::string PathBelowFolder(const std::string& folder, const std::string& path) {
  std::filesystem::path below = folder;
  for (const std::filesystem::path& part : std::filesystem::path(path).relative_path())
    below /= part == ".." ? "_" : part;
  return below.lexically_normal().string();
}

}  // namespace

BenchOracle::BenchOracle(const BenchRun& run, const Backend* nope, const WorkerHost& host,
                         const WorkerLimits& limits, const std::string& folder)
    : run_(run), folder_(folder), eager_(nope, host, limits, JoinPath(folder, "eager")) {}

OracleFinding BenchOracle::Find(const std::string& path, bool scale_weights,
                                BackendProcess* backend) {
  OracleFinding finding;
  // An exception on hostile input counts as a result of the sample, as elsewhere.
  const absl::Status status = WithoutExceptions([&]() -> absl::Status {
    ASSIGN_OR_RETURN(Sample sample, Load(path, {.trust = run_.trust, .weights = true}));
    if (DrawsRandomNumbers(*sample.module))
      return absl::FailedPreconditionError("it draws random numbers, which differ in float64");
    if (scale_weights) RETURN_IF_ERROR(ScaleDrawnWeights(&sample).status());
    ASSIGN_OR_RETURN(finding.verdict, Judge(path, scale_weights, backend));
    if (finding.verdict->wrong == Wrong::kNobody) return absl::OkStatus();
    return FindMore(path, std::move(sample), backend, &finding);
  });
  finding.why_not = std::string(status.message());
  return finding;
}

absl::Status BenchOracle::FindMore(const std::string& path, Sample sample, BackendProcess* backend,
                                   OracleFinding* finding) {
  const Wrong wrong = finding->verdict->wrong;
  const absl::Time deadline = absl::Now() + absl::Seconds(run_.oracle_s);
  ASSIGN_OR_RETURN(const Sample part, ShortestPart(sample, wrong, backend, deadline, finding));
  ReduceOptions options;
  options.is_interesting = [&](const Sample& smaller) -> absl::StatusOr<bool> {
    const absl::StatusOr<OracleVerdict> verdict = JudgeSample(smaller, backend);
    return verdict.ok() && verdict->wrong == wrong;
  };
  options.observe = run_.observe;
  options.seed = run_.settings.seed;
  options.deadline = deadline;
  ASSIGN_OR_RETURN(const Reduction reduction, Reduce(part, options));
  // The text form has no weights.
  const char* const ending = reduction.sample.weights.empty() ? ".gn" : ".pb";
  const std::string folder =
      JoinPath(run_.folder, absl::StrCat("reduced/", FileNameOf(backend->backend())));
  const std::string reduced = absl::StrCat(PathBelowFolder(folder, path), ending);
  RETURN_IF_ERROR(Save(reduction.sample, reduced));
  finding->reduced = reduced;
  finding->operators = reduction.after.operators;
  return reduction.is_minimal
             ? absl::OkStatus()
             : absl::DeadlineExceededError("the time was up before the sample was minimal");
}

// Searches by bisection, assuming that a difference stays until the end.
absl::StatusOr<Sample> BenchOracle::ShortestPart(const Sample& sample, Wrong wrong,
                                                 BackendProcess* backend, absl::Time deadline,
                                                 OracleFinding* finding) {
  const GraphIndex index(*sample.module->main());
  const Regions regions(index);
  std::vector<int64_t> ends;
  for (int64_t end = 1; end <= index.num_operators(); ++end) {
    if (end == index.num_operators() || regions.OpenAt(end) == nullptr) ends.push_back(end);
  }
  if (ends.empty()) return absl::FailedPreconditionError("the sample has no operators");
  const auto part_to = [&](int64_t end) -> absl::StatusOr<Sample> {
    ASSIGN_OR_RETURN(std::vector<Sample> pieces,
                     CutRanges(sample, {{0, end}}, {.all_inputs = false, .keep_unused = false}));
    return std::move(pieces[0]);
  };
  size_t low = 0;
  size_t high = ends.size() - 1;
  while (low < high) {
    if (absl::Now() > deadline)
      return absl::DeadlineExceededError("the time was up before the node was found");
    const size_t middle = (low + high) / 2;
    ASSIGN_OR_RETURN(const Sample part, part_to(ends[middle]));
    const absl::StatusOr<OracleVerdict> verdict = JudgeSample(part, backend);
    if (verdict.ok() && verdict->wrong == wrong) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  const Node& node = *index.node(index.operator_node(ends[high] - 1));
  finding->node = std::string(node.name());
  finding->target = std::string(node.target());
  return part_to(ends[high]);
}

absl::StatusOr<OracleVerdict> BenchOracle::JudgeSample(const Sample& sample,
                                                       BackendProcess* backend) {
  const std::string part = JoinPath(folder_, "part.pb");
  std::error_code ignored;
  std::filesystem::create_directories(folder_, ignored);
  std::filesystem::remove(JoinPath(folder_, "part.safetensors"), ignored);
  RETURN_IF_ERROR(Save(sample, part));
  // The draw specs of the part are those of the sample.
  return Judge(part, /*scale_weights=*/false, backend);
}

absl::StatusOr<OracleVerdict> BenchOracle::Judge(const std::string& path, bool scale_weights,
                                                 BackendProcess* backend) {
  const std::string folder = JoinPath(folder_, "sample");
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  std::filesystem::create_directories(folder, ignored);
  ASSIGN_OR_RETURN(const std::unique_ptr<BenchSample> sample,
                   BenchSample::Load(path, folder,
                                     {.seed = run_.settings.seed,
                                      .device = run_.settings.device,
                                      .scale_weights = scale_weights,
                                      .trust = run_.trust}));
  ASSIGN_OR_RETURN(const Outputs reference, OutputsOf(&eager_, sample->ReferenceRequest()));
  ASSIGN_OR_RETURN(const Outputs eager,
                   OutputsOf(&eager_, sample->RequestFor(ProgramForm::kSample)));
  ASSIGN_OR_RETURN(const Outputs outputs,
                   OutputsOf(backend, sample->RequestFor(backend->backend())));
  return JudgeByReference(reference, eager, outputs);
}

absl::StatusOr<Outputs> BenchOracle::OutputsOf(BackendProcess* side,
                                               const absl::StatusOr<PrepareRequest>& request) {
  RETURN_IF_ERROR(request.status());
  ASSIGN_OR_RETURN(Worker * worker, side->worker());
  RETURN_IF_ERROR(worker->Prepare(*request));
  const std::string file = JoinPath(side->folder(), "outputs.safetensors");
  RETURN_IF_ERROR(worker->Run(request->inputs, file, run_.settings.seed).status());
  return ReadOutputs(file);
}

}  // namespace graphnet
