// Runs small samples below a folder before and after a pipeline of passes and compares
// what comes out bit for bit:
//
//   passes_run_corpus FOLDER COUNT MAX_MEGABYTES PIPELINE LOG
//
// Samples are taken smallest first until COUNT have run; before others come those with
// a private function that fewer than five have called so far. MAX_MEGABYTES is of inputs.
// LOG gets a line for each sample as it is done, "same", "differs" or "not-run", its path
// and why; samples that LOG has already are not run again, and one that was begun and has
// no verdict, as it took the process with it, is "not-run". Ends with a table by private
// function. Exits with 1 if anything differs.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "ATen/Parallel.h"
#include "ATen/core/ivalue.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/graphnet_folder/reader.h"
#include "graphnet/interp/inputs/draw.h"
#include "graphnet/interp/prepare.h"
#include "graphnet/interp/tensors.h"
#include "graphnet/interp/torch/tensors.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/ops/callable.h"
#include "graphnet/passes/pipeline.h"

namespace graphnet {
namespace {

constexpr size_t kSamplesOfEach = 5;
using Values = std::map<std::string, TensorData>;

struct Candidate {
  std::string path;
  double bytes = 0;
  std::set<std::string> targets;  // private functions
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
  // Operators cost time, too.
  candidate.bytes += 1e4 * static_cast<double>(sample->module->num_nodes());
  return candidate;
}

// Returns the candidates, smallest first.
std::vector<Candidate> FindCandidates(const std::string& root, double max_bytes) {
  std::vector<Candidate> all;
  for (auto it = std::filesystem::recursive_directory_iterator(root);
       it != std::filesystem::end(it); ++it) {
    if (!it->is_directory() || !IsGraphNetFolder(it->path().string())) continue;
    Candidate candidate = Look(it->path().string());
    it.disable_recursion_pending();
    if (candidate.bytes > 0 && candidate.bytes <= max_bytes) all.push_back(std::move(candidate));
  }
  std::sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) {
    return std::tie(a.bytes, a.path) < std::tie(b.bytes, b.path);
  });
  return all;
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
  // Renamed inputs get the values of their original names.
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

// Returns "same", "differs" or "not-run", and why.
std::pair<std::string, std::string> Judge(const std::string& path, const std::string& pipeline) {
  const absl::StatusOr<Sample> sample = ReadGraphNetFolder(path);
  const absl::StatusOr<Values> values = sample.ok() ? DrawInputs(*sample, {}) : sample.status();
  const absl::StatusOr<std::vector<TensorData>> before =
      values.ok() ? Run(*sample->module, *values) : values.status();
  if (!before.ok()) return {"not-run", std::string(before.status().message())};
  const absl::Status status = Compare(*sample, *values, *before, pipeline);
  if (!status.ok()) return {"differs", std::string(status.message())};
  return {"same", ""};
}

// Reads the verdicts of an earlier run, by path.
std::map<std::string, std::string> ReadLog(const std::string& path) {
  std::map<std::string, std::string> verdicts;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    const std::vector<std::string> fields = absl::StrSplit(line, '\t');
    if (fields.size() >= 2) verdicts[fields[1]] = fields[0];
  }
  return verdicts;
}

int Main(char** argv) {
  const std::vector<Candidate> candidates = FindCandidates(argv[1], 1e6 * std::atof(argv[3]));
  const auto count = static_cast<size_t>(std::atoll(argv[2]));
  const std::map<std::string, std::string> earlier = ReadLog(argv[5]);
  std::ofstream log(argv[5], std::ios::app);
  std::map<std::string, size_t> samples_by_target;
  std::map<std::string, size_t> totals;
  std::vector<bool> tried(candidates.size());
  for (const bool all_wanted : {false, true}) {
    for (size_t i = 0; i < candidates.size(); ++i) {
      const Candidate& candidate = candidates[i];
      if (totals["same"] + totals["differs"] >= count) break;
      bool wanted = all_wanted;
      for (const std::string& target : candidate.targets)
        wanted |= samples_by_target[target] < kSamplesOfEach;
      if (tried[i] || !wanted) continue;
      tried[i] = true;
      std::string verdict, why;
      if (const auto it = earlier.find(candidate.path); it != earlier.end()) {
        verdict = it->second == "begun" ? "not-run" : it->second;
      } else {
        log << "begun\t" << candidate.path << std::endl;
        std::tie(verdict, why) = Judge(candidate.path, argv[4]);
        std::replace(why.begin(), why.end(), '\n', ' ');
        log << verdict << "\t" << candidate.path << "\t" << why.substr(0, 300) << std::endl;
      }
      ++totals[verdict];
      if (verdict == "not-run") continue;
      for (const std::string& target : candidate.targets) ++samples_by_target[target];
    }
  }
  for (const auto& [target, samples] : samples_by_target)
    std::printf("%6zu samples with %s\n", samples, target.c_str());
  std::printf("%s: %zu samples bit-identical, %zu differ, %zu do not run\n", argv[4],
              totals["same"], totals["differs"], totals["not-run"]);
  return totals["differs"] == 0 ? 0 : 1;
}

}  // namespace
}  // namespace graphnet

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr, "usage: passes_run_corpus FOLDER COUNT MAX_MEGABYTES PIPELINE LOG\n");
    return 2;
  }
  at::set_num_threads(1);
  return graphnet::Main(argv);
}
