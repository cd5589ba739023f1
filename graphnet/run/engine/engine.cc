#include "graphnet/run/engine.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "c10/util/Exception.h"
#include "c10/util/Logging.h"
#include "graphnet/base/remark.h"
#include "graphnet/base/status.h"
#include "graphnet/base/version.h"
#include "graphnet/formats/libtorch.h"
#include "graphnet/interp/blind_outputs.h"
#include "graphnet/interp/compare_runs.h"
#include "graphnet/interp/declared_operator.h"
#include "graphnet/interp/domain.h"
#include "graphnet/interp/inputs/scale_weights.h"
#include "graphnet/interp/observe.h"
#include "graphnet/interp/shapes.h"
#include "graphnet/interp/tensors.h"
#include "graphnet/interp/torch/allowed_operators.h"
#include "graphnet/interp/torch/operator_library.h"
#include "graphnet/run/engine/entry.h"
#include "graphnet/run/engine/programs.h"
#include "graphnet/shard/shard_sample.h"
#include "graphnet/shard/validate_ranks.h"
#include "graphnet/validate/numeric.h"
#include "torch/version.h"

namespace graphnet {
namespace {

static_assert(std::equal(std::begin(kLibTorchVersion), std::end(kLibTorchVersion) - 1,
                         TORCH_VERSION));

class TorchEngine final : public Engine {
 public:
  void SetNumThreads(int threads) const override { graphnet::SetNumThreads(threads); }
  absl::StatusOr<std::unique_ptr<ReadyProgram>> Prepare(
      const Module& module, TensorValues values, const RunSettings& settings) const override {
    return PrepareGraph(module, std::move(values), settings);
  }
  absl::StatusOr<std::unique_ptr<ReadyProgram>> PrepareExtracted(
      ExtractedProgram program, const TensorValues& given, const DrawOptions& draw, bool trust,
      std::function<void(const std::string&)> print) const override {
    return graphnet::PrepareExtracted(std::move(program), given, draw, trust, std::move(print));
  }
  absl::StatusOr<std::unique_ptr<TorchScriptProgram>> OpenTorchScript(const std::string& path,
                                                                      bool trust) const override {
    return graphnet::OpenTorchScript(path, trust);
  }
  absl::StatusOr<RunComparison> CompareRuns(RunSide a, RunSide b, const CompareOptions& options,
                                            const std::string& name_of_b) const override {
    return graphnet::CompareRuns(a, b, options, name_of_b);
  }
  absl::StatusOr<TensorDifference> DifferenceOf(const TensorData& a,
                                                const TensorData& b) const override {
    return graphnet::DifferenceOf(a, b);
  }
  absl::StatusOr<ShapeReport> InferShapesOf(Module* module,
                                            const TensorValues& values) const override {
    return graphnet::InferShapes(module, values);
  }
  absl::StatusOr<ShapeCheck> CheckShapes(const Module& module, TensorValues values) const override {
    return graphnet::CheckShapes(module, std::move(values));
  }
  absl::StatusOr<int> ServeWorker(const std::string& backend) const override {
    return graphnet::ServeWorker(backend);
  }

  absl::StatusOr<Sample> ImportTorchScript(const SharedBytes& bytes, const std::string& name,
                                           const std::string& method, bool trust,
                                           bool weights) const override {
    return torch_.ImportTorchScript(bytes, name, method, trust, weights);
  }
  absl::StatusOr<std::string> ExportTorchScript(const Sample& sample,
                                                std::vector<std::string>* notes) const override {
    return torch_.ExportTorchScript(sample, notes);
  }
  absl::Status CheckTorchScript(const Sample& sample, MissingCalls* missing) const override {
    return torch_.CheckTorchScript(sample, missing);
  }
  absl::Status InferShapes(Sample* sample) const override { return torch_.InferShapes(sample); }
  absl::Status InferValues(const Sample& sample, bool name_sizes,
                           ObservedValues* found) const override {
    return graphnet::InferValues(sample, name_sizes, found);
  }
  absl::Status MeasureValues(const Sample& sample, const DrawOptions& draw,
                             ObservedValues* found) const override {
    return graphnet::MeasureValues(sample, draw, found);
  }

  absl::StatusOr<std::vector<LintFinding>> LintFinite(Sample* sample, uint64_t seed,
                                                      bool repairs) const override {
    std::vector<LintFinding> findings;
    if (repairs) {
      ASSIGN_OR_RETURN(const DomainRepair repair, RepairDomains(sample, seed));
      for (const std::string& note : repair.notes) findings.push_back({note, /*is_fixed=*/true});
      // The last finding describes the remaining problem.
      if (!repair.finite) findings.back().is_fixed = false;
      return findings;
    }
    ASSIGN_OR_RETURN(const auto values, DrawInputs(*sample, {.seed = seed}));
    ASSIGN_OR_RETURN(const std::optional<NonFinite> found,
                     FindNonFinite(*sample->module, values, seed));
    if (!found.has_value()) return findings;
    const SourceLocation location = found->node->location();
    findings.push_back({absl::StrCat(
        location.line > 0 ? absl::StrCat(location.line, ":", location.column, ": ") : "", "%",
        Printable(found->node->name()), " = ", Printable(found->node->target()),
        " is the first with ", found->is_nan ? "nan" : "infinity", ", in ", found->elements,
        " elements")});
    return findings;
  }
  absl::StatusOr<std::vector<LintFinding>> LintVanishing(Sample* sample, uint64_t seed,
                                                         bool repairs) const override {
    std::vector<LintFinding> findings;
    ASSIGN_OR_RETURN(const DrawnRun before, RunDrawn(*sample, seed));
    if (before.sees_all()) return findings;
    const auto describe = [](const DrawnRun& run) {
      std::string answers = DescribeWrongAnswers(PassedAnswers(run.answers));
      if (run.is_finite) return answers;
      return absl::StrCat("outputs are nan or infinite", answers.empty() ? "" : ", ", answers);
    };
    findings.push_back({describe(before)});
    if (!repairs) return findings;
    Sample copy;
    copy.name = sample->name;
    copy.weights = sample->weights;
    copy.module = sample->module->Clone();
    ASSIGN_OR_RETURN(const std::vector<ScaledWeight> scaled, ScaleDrawnWeights(&copy));
    if (scaled.empty()) return findings;
    ASSIGN_OR_RETURN(const DrawnRun after, RunDrawn(copy, seed));
    if (!after.sees_all()) {
      findings.back().what = absl::StrCat(findings.back().what, "; with other deviations of ",
                                          scaled.size(), " weights, ", describe(after));
      return findings;
    }
    sample->module = std::move(copy.module);
    const ScaledWeight& first = scaled.front();
    absl::StrAppend(&findings.back().what, "; ", Printable(first.name),
                    absl::StrFormat(" is drawn with the deviation %.3g instead of %.3g",
                                    first.after, first.before));
    if (scaled.size() > 1)
      absl::StrAppend(&findings.back().what, ", and ", scaled.size() - 1, " other weights alike");
    findings.back().is_fixed = true;
    return findings;
  }
  absl::Status ValidateNumbers(const Sample& original, absl::Span<const Sample> pieces, Style style,
                               uint64_t seed, ValidationReport* report) const override {
    return graphnet::ValidateNumbers(original, pieces, style, {.seed = seed}, report);
  }
  absl::StatusOr<std::vector<RankOutput>> ValidateRanks(const Sample& original,
                                                        const spmd::ShardedSample& shards,
                                                        uint64_t seed) const override {
    return graphnet::ValidateRanks(original, shards, {.seed = seed});
  }
  absl::Status LoadOperatorLibrary(const std::string& path) const override {
    return graphnet::LoadOperatorLibrary(path);
  }
  void TrustFiles() const override { graphnet::TrustFiles(); }
  absl::Status DeclareOperator(const std::string& schema, bool is_identity,
                               std::shared_ptr<const Module> body) const override {
    return graphnet::DeclareOperator({schema, is_identity, std::move(body)});
  }
  std::string LibTorchVersion() const override { return TORCH_VERSION; }

 private:
  const TorchFunctions& torch_ = LinkedTorchFunctions();
};

// Passes PyTorch's warnings on, without the place in PyTorch's source.
class Warnings final : public c10::WarningHandler {
 public:
  void process(const c10::Warning& warning) override {
    Warn(warning.msg().substr(0, warning.msg().find('\n')));
  }
};

// A handler belongs to one thread. Those of other threads are dropped.
void TakeWarnings() {
  static auto* const warnings = new Warnings;
  c10::WarningUtils::set_warning_handler(warnings);
  if (std::getenv("TORCH_CPP_LOG_LEVEL") == nullptr) FLAGS_caffe2_log_level = c10::GLOG_ERROR;
}

}  // namespace

const Engine* TheEngine() {
  TakeWarnings();
  static const TorchEngine* const engine = new TorchEngine;
  return engine;
}

}  // namespace graphnet
