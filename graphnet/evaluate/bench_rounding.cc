#include "graphnet/evaluate/bench_rounding.h"

#include <map>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/file.h"
#include "graphnet/base/status.h"
#include "graphnet/base/without_exceptions.h"
#include "graphnet/formats/safetensors/safetensors.h"

namespace graphnet {

BenchRounding::BenchRounding(const BenchRun& run, const Backend* nope, const WorkerHost& host,
                             const WorkerLimits& limits, const std::string& folder)
    : run_(run), process_(nope, host, limits, folder) {}

SampleRounding BenchRounding::Judge(BenchSample& sample, const Outputs& expected,
                                    const AbRun& ab_run) {
  const bool is_equal =
      !ab_run.outputs.empty() &&
      absl::c_all_of(ab_run.outputs, [](const OutputComparison& output) { return output.equal; });
  if (is_equal) return {RoundingVerdict::kEqual, RoundingFinding().Text(), std::nullopt};
  if (ab_run.compared.empty()) return {std::nullopt, "the first inputs show no difference", {}};
  // An exception on hostile input counts as a result of the sample, as elsewhere.
  absl::StatusOr<SampleRounding> measured =
      WithoutExceptions([&] { return Measure(sample, expected, ab_run.compared); });
  if (measured.ok()) return *std::move(measured);
  return {std::nullopt, std::string(measured.status().message()), std::nullopt};
}

absl::StatusOr<SampleRounding> BenchRounding::Measure(BenchSample& sample, const Outputs& expected,
                                                      const std::string& compared) {
  ASSIGN_OR_RETURN(Worker * worker, process_.worker());
  const auto file = [&](absl::string_view name) {
    return JoinPath(process_.folder(), absl::StrCat(name, ".safetensors"));
  };
  std::map<std::string, TensorData> numbered;
  for (size_t i = 0; i < expected.size(); ++i) numbered[absl::StrCat(i)] = expected[i];
  RETURN_IF_ERROR(WriteSafetensorsFile(numbered, file("expected")));
  // Without it, the runs with random rounding are all that is known. In float64, other random numbers
  // are drawn.
  std::string exact;
  if (!sample.is_random()) {
    const absl::StatusOr<PrepareRequest> wide = sample.ReferenceRequest();
    const bool ran = wide.ok() && worker->Prepare(*wide).ok() &&
                     worker->Run(wide->inputs, file("exact"), run_.settings.seed).status().ok();
    if (ran) exact = file("exact");
    ASSIGN_OR_RETURN(worker, process_.worker());
  }
  ASSIGN_OR_RETURN(const PrepareRequest request, sample.RequestFor(ProgramForm::kSample));
  RETURN_IF_ERROR(worker->Prepare(request));
  return worker->Judge(request.inputs, compared, file("expected"), exact, run_.settings.seed);
}

}  // namespace graphnet
