// Runs small samples below a folder before and after passes and compares what comes
// out bit for bit:
//
//   passes_run_corpus FOLDER COUNT MAX_MEGABYTES PIPELINE...
//
// Samples are taken smallest first, so that each private function is called in at least
// five of them where the folder has as many of at most MAX_MEGABYTES of inputs, up to
// COUNT. Prints a line for each sample that does not run or differs and, at the end, a
// table by private function. Exits with 1 if anything differs.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ATen/core/ivalue.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/graphnet_folder/reader.h"
#include "graphnet/inputs/draw.h"
#include "graphnet/interp/prepare.h"
#include "graphnet/interp/tensors.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/ops/target.h"
#include "graphnet/passes/pipeline.h"

namespace graphnet {
namespace {

constexpr size_t kSamplesOfEach = 5;
using Values = std::map<std::string, TensorData>;

struct Candidate {
  std::string path;
  double bytes = 0;
  std::set<std::string> targets;  // private ones
};

Candidate Look(const std::string& path) {
  Candidate candidate;
  candidate.path = path;
  const absl::StatusOr<Sample> sample = ReadGraphNetFolder(path);
  if (!sample.ok()) return candidate;
  for (const Node* node : sample->module->main()->nodes()) {
    if (node->is_call() && IsPrivateTarget(node->target()))
      candidate.targets.insert(std::string(node->target()));
    const TensorMeta* meta = node->is_placeholder() ? node->tensor_meta() : nullptr;
    if (meta == nullptr) continue;
    double bytes = DTypeBytes(meta->dtype);
    for (const Dim& dim : meta->shape)
      bytes *= dim.is_static() ? static_cast<double>(dim.value) : 1;
    candidate.bytes += bytes;
  }
  // Operators cost too.
  candidate.bytes += 1e4 * static_cast<double>(sample->module->num_nodes());
  return candidate;
}

std::vector<Candidate> Choose(const std::string& root, size_t count, double max_bytes) {
  std::vector<Candidate> all;
  for (auto it = std::filesystem::recursive_directory_iterator(root);
       it != std::filesystem::end(it); ++it) {
    if (!it->is_directory() || !IsGraphNetFolder(it->path().string())) continue;
    Candidate candidate = Look(it->path().string());
    it.disable_recursion_pending();
    if (candidate.bytes > 0 && candidate.bytes <= max_bytes) all.push_back(std::move(candidate));
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Candidate& a, const Candidate& b) { return a.bytes < b.bytes; });
  std::map<std::string, size_t> covered;
  std::vector<Candidate> chosen;
  std::vector<bool> taken(all.size());
  for (const bool all_wanted : {false, true}) {
    for (size_t i = 0; i < all.size() && chosen.size() < count; ++i) {
      bool wanted = all_wanted;
      for (const std::string& target : all[i].targets) wanted |= covered[target] < kSamplesOfEach;
      if (taken[i] || !wanted) continue;
      taken[i] = true;
      for (const std::string& target : all[i].targets) ++covered[target];
      chosen.push_back(all[i]);
    }
  }
  return chosen;
}

absl::StatusOr<std::vector<TensorData>> Run(const Module& module, Values values) {
  ASSIGN_OR_RETURN(PreparedRun prepared, PrepareRun(module, std::move(values)));
  ASSIGN_OR_RETURN(const std::vector<c10::IValue> outputs,
                   prepared.executable->Run(std::move(prepared.inputs), {.seed = 1}));
  std::vector<TensorData> data;
  for (const c10::IValue& output : outputs) {
    data.emplace_back();
    if (output.isTensor() && output.toTensor().defined()) {
      ASSIGN_OR_RETURN(data.back(), ToTensorData(output.toTensor()));
    }
  }
  return data;
}

absl::Status Compare(const Sample& sample, const Values& values,
                     const std::vector<TensorData>& before, const std::string& text) {
  Sample changed;
  changed.name = sample.name;
  changed.module = sample.module->Clone();
  changed.weights = values;
  ASSIGN_OR_RETURN(const Pipeline pipeline, ParsePipeline(text));
  RETURN_IF_ERROR(RunPipeline(pipeline, changed.module.get()).status());
  RETURN_IF_ERROR(Verify(*changed.module));
  // Renamed inputs get the values that their original names had.
  ASSIGN_OR_RETURN(Values renamed, DrawInputs(changed, {}));
  ASSIGN_OR_RETURN(const std::vector<TensorData> after, Run(*changed.module, std::move(renamed)));
  if (before.size() != after.size())
    return absl::FailedPreconditionError("another number of outputs");
  for (size_t i = 0; i < before.size(); ++i) {
    const bool same = before[i].dtype == after[i].dtype && before[i].shape == after[i].shape &&
                      (before[i].bytes == nullptr) == (after[i].bytes == nullptr) &&
                      (before[i].bytes == nullptr || *before[i].bytes == *after[i].bytes);
    if (!same) return absl::FailedPreconditionError(absl::StrCat("output ", i, " differs"));
  }
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  const std::vector<Candidate> chosen =
      Choose(argv[1], static_cast<size_t>(std::atoll(argv[2])), 1e6 * std::atof(argv[3]));
  std::map<std::string, int> samples_by_target;
  int ran = 0;
  int not_run = 0;
  std::map<std::string, std::pair<int, int>> results;  // same, differ, by pipeline
  for (const Candidate& candidate : chosen) {
    const absl::StatusOr<Sample> sample = ReadGraphNetFolder(candidate.path);
    const absl::StatusOr<Values> values = sample.ok() ? DrawInputs(*sample, {}) : sample.status();
    const absl::StatusOr<std::vector<TensorData>> before =
        values.ok() ? Run(*sample->module, *values) : values.status();
    if (!before.ok()) {
      ++not_run;
      std::printf("not run %s: %.150s\n", candidate.path.c_str(),
                  std::string(before.status().message()).c_str());
      continue;
    }
    ++ran;
    for (const std::string& target : candidate.targets) ++samples_by_target[target];
    for (int i = 4; i < argc; ++i) {
      const absl::Status status = Compare(*sample, *values, *before, argv[i]);
      ++(status.ok() ? results[argv[i]].first : results[argv[i]].second);
      if (!status.ok()) {
        std::printf("FAIL %s: %s: %.200s\n", candidate.path.c_str(), argv[i],
                    std::string(status.message()).c_str());
      }
    }
    std::fflush(stdout);
  }
  int failed = 0;
  for (const auto& [pipeline, counts] : results) {
    std::printf("%s: %d samples bit-identical, %d not\n", pipeline.c_str(), counts.first,
                counts.second);
    failed += counts.second;
  }
  for (const auto& [target, count] : samples_by_target)
    std::printf("%6d samples with %s\n", count, target.c_str());
  std::printf("%d ran, %d did not\n", ran, not_run);
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace graphnet

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "usage: passes_run_corpus FOLDER COUNT MAX_MEGABYTES PIPELINE...\n");
    return 2;
  }
  return graphnet::Main(argc, argv);
}
