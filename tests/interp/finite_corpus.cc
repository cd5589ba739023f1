// Counts outputs with nan or infinity of samples with drawn inputs: as they are, after the pass
// constrain-variance, and after the bounds that `graphnet lint --rule finite-run -o` sets:
//
//   finite_corpus [--without-bounds] < PATHS
//
// PATHS has one GraphNet sample folder a line. --without-bounds ignores the samples' own bounds
// of floating-point inputs. Prints a line for each sample: "finite", "repaired", "left" or
// "not-run", its path, the numbers of outputs that are not finite in the three states, and the
// bounds or the reason why nothing helps; then the totals. Exits with 1 if a bound made anything
// worse.
#include <cstdio>
#include <iostream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ATen/Parallel.h"
#include "ATen/core/Tensor.h"
#include "ATen/core/ivalue.h"
#include "ATen/ops/isfinite.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/graphnet_folder/reader.h"
#include "graphnet/interp/domain.h"
#include "graphnet/interp/inputs/draw.h"
#include "graphnet/interp/prepare.h"
#include "graphnet/passes/constrain_variance.h"

namespace graphnet {
namespace {

struct Count {
  size_t outputs = 0;
  size_t not_finite = 0;
};

absl::StatusOr<Count> CountOutputs(const Sample& sample) {
  ASSIGN_OR_RETURN(auto values, DrawInputs(sample, {}));
  ASSIGN_OR_RETURN(PreparedRun prepared, PrepareRun(*sample.module, std::move(values)));
  ASSIGN_OR_RETURN(const std::vector<c10::IValue> outputs,
                   prepared.executable->Run(std::move(prepared.inputs), {.seed = 0}));
  Count count;
  count.outputs = outputs.size();
  for (const c10::IValue& output : outputs) {
    if (!output.isTensor() || !output.toTensor().defined()) continue;
    const at::Tensor& tensor = output.toTensor();
    if (!tensor.is_floating_point() && !tensor.is_complex()) continue;
    if (!at::isfinite(tensor).all().item<bool>()) ++count.not_finite;
  }
  return count;
}

struct Survey {
  Count before, constrained, repaired;
  std::vector<std::string> notes;
};

void DropBounds(Graph* graph) {
  for (Node* node : graph->placeholders()) {
    const TensorMeta* meta = node->tensor_meta();
    if (node->draw_spec() == nullptr || meta == nullptr || !IsFloatingPoint(meta->dtype)) continue;
    DrawSpec spec = *node->draw_spec();
    spec.min = spec.max = Argument();
    node->set_draw_spec(spec);
  }
}

absl::StatusOr<Survey> Examine(const std::string& path, bool without_bounds) {
  Survey survey;
  ASSIGN_OR_RETURN(Sample sample, ReadGraphNetFolder(path));
  if (without_bounds) DropBounds(sample.module->main());
  ASSIGN_OR_RETURN(survey.before, CountOutputs(sample));
  survey.constrained = survey.repaired = survey.before;
  PassRun run;
  ASSIGN_OR_RETURN(const bool constrained, ConstrainVariance(sample.module.get(), run));
  for (const PassNote& note : run.notes()) survey.notes.push_back(note.what);
  if (constrained) {
    ASSIGN_OR_RETURN(survey.constrained, CountOutputs(sample));
    survey.repaired = survey.constrained;
  }
  if (survey.constrained.not_finite == 0) return survey;
  ASSIGN_OR_RETURN(const DomainRepair repair, RepairDomains(&sample));
  survey.notes.insert(survey.notes.end(), repair.notes.begin(), repair.notes.end());
  ASSIGN_OR_RETURN(survey.repaired, CountOutputs(sample));
  return survey;
}

int Main(bool without_bounds) {
  std::map<std::string, size_t> samples;
  Count before, constrained, repaired;
  bool worse = false;
  const auto add = [](Count* sum, const Count& count) {
    sum->outputs += count.outputs;
    sum->not_finite += count.not_finite;
  };
  for (std::string path; std::getline(std::cin, path);) {
    const absl::StatusOr<Survey> survey = Examine(path, without_bounds);
    if (!survey.ok()) {
      ++samples["not-run"];
      std::printf("not-run\t%s\t%.300s\n", path.c_str(),
                  std::string(survey.status().message()).c_str());
      std::fflush(stdout);
      continue;
    }
    const char* verdict = survey->repaired.not_finite > 0 ? "left"
                          : survey->before.not_finite > 0 ? "repaired"
                                                          : "finite";
    ++samples[verdict];
    add(&before, survey->before);
    add(&constrained, survey->constrained);
    add(&repaired, survey->repaired);
    worse |= survey->repaired.not_finite > survey->before.not_finite;
    std::printf("%s\t%s\t%zu of %zu, %zu, %zu\t%.2000s\n", verdict, path.c_str(),
                survey->before.not_finite, survey->before.outputs, survey->constrained.not_finite,
                survey->repaired.not_finite, absl::StrJoin(survey->notes, "; ").c_str());
    std::fflush(stdout);
  }
  for (const auto& [verdict, count] : samples)
    std::printf("%zu samples %s\n", count, verdict.c_str());
  std::printf("outputs not finite: %zu of %zu, %zu after constrain-variance, %zu after repair\n",
              before.not_finite, before.outputs, constrained.not_finite, repaired.not_finite);
  return worse ? 1 : 0;
}

}  // namespace
}  // namespace graphnet

int main(int argc, char** argv) {
  at::set_num_threads(1);
  return graphnet::Main(argc > 1 && std::string(argv[1]) == "--without-bounds");
}
