// Runs every pass on every sample below a folder:
//
//   passes_corpus FOLDER [JOBS [STRIDE [PIPELINE]]]
//
// after each: that the verifier is content, that every call is one of PyTorch's, that
// what the pass says of having changed something is so by the text form, and that running
// it again works and changes neither text nor hash. PIPELINE, as in `graphnet opt`, runs
// instead of all. Prints a line for each failure and, at the end, a table and what the
// passes noted. Exits with 1 if anything failed.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graphnet/base/parallel.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/graphnet_folder/reader.h"
#include "graphnet/ir/canonical_hash.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/ops/verify_calls.h"
#include "graphnet/paddle/to_paddle.h"  // the pass to-paddle
#include "graphnet/passes/pipeline.h"
#include "graphnet/passes/registry.h"

namespace graphnet {
namespace {

double CpuSeconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Adds options that a pass requires, and passes that must run first.
std::string PipelineOf(const Pass& pass) {
  if (pass.name() == "rewrite") return "rewrite{rules=tests/passes/example.rules}";
  if (pass.name() == "change-device") return "change-device{to=cpu}";
  if (pass.name() == "check-stable") {
    return "stabilize,check-stable{allow=_vmap_increment_nesting+_vmap_decrement_nesting+_add_"
           "batch_dim+"
           "_remove_batch_dim}";
  }
  return std::string(pass.name());
}

struct Total {
  int64_t samples = 0;
  int64_t changed = 0;
  int64_t refused = 0;
  int64_t failed = 0;
  int64_t nodes = 0;
  double seconds = 0;
  std::map<std::string, size_t> notes;
};

class Corpus {
 public:
  Corpus(const std::string& root, size_t stride, std::vector<std::string> pipelines)
      : pipelines_(std::move(pipelines)) {
    std::vector<std::string> all;
    for (auto it = std::filesystem::recursive_directory_iterator(root);
         it != std::filesystem::end(it); ++it) {
      if (!it->is_directory() || !IsGraphNetFolder(it->path().string())) continue;
      all.push_back(it->path().string());
      it.disable_recursion_pending();
    }
    std::sort(all.begin(), all.end());
    for (size_t i = 0; i < all.size(); i += stride) paths_.push_back(all[i]);
  }

  int Run(int jobs) {
    ParallelFor(
        paths_.size(), jobs, [this](size_t i) { return RunSample(paths_[i]); },
        [this](size_t, const absl::Status& status) {
          if (status.ok()) return;
          const std::lock_guard<std::mutex> lock(mutex_);
          ++failures_;
          std::printf("FAIL %s\n", std::string(status.message()).c_str());
        });
    std::printf("%-24s %8s %8s %8s %8s %10s %10s\n", "pass", "samples", "changed", "refused",
                "failed", "nodes", "CPU s");
    for (const auto& [name, total] : totals_) {
      std::printf("%-24s %8lld %8lld %8lld %8lld %+10lld %10.3f\n", name.substr(0, 24).c_str(),
                  static_cast<long long>(total.samples), static_cast<long long>(total.changed),
                  static_cast<long long>(total.refused), static_cast<long long>(total.failed),
                  static_cast<long long>(total.nodes), total.seconds);
    }
    std::printf("%-24s %8zu %46.3f\n", "(import)", paths_.size(), import_seconds_);
    for (const auto& [name, total] : totals_) {
      for (const auto& [note, count] : total.notes) {
        std::printf("%s: %zu %s\n", name.substr(0, 24).c_str(), count, note.c_str());
      }
    }
    std::printf("%lld failures\n", static_cast<long long>(failures_));
    return failures_ == 0 ? 0 : 1;
  }

 private:
  absl::Status RunSample(const std::string& path) {
    const double begin = CpuSeconds();
    const absl::StatusOr<Sample> sample = ReadGraphNetFolder(path);
    const double seconds = CpuSeconds() - begin;
    RETURN_IF_ERROR(sample.status());
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      import_seconds_ += seconds;
    }
    const std::string before = PrintModule(*sample->module);
    for (const std::string& text : pipelines_) {
      Total total;
      total.samples = 1;
      const absl::Status status = RunPipelineText(*sample->module, before, text, &total);
      const std::lock_guard<std::mutex> lock(mutex_);
      Total& sum = totals_[text];
      sum.samples += 1;
      sum.changed += total.changed;
      sum.nodes += total.nodes;
      sum.seconds += total.seconds;
      for (const auto& [note, count] : total.notes) sum.notes[note] += count;
      if (status.ok()) continue;
      // A faulty sample is not a failure of the pass.
      const bool refused = absl::IsInvalidArgument(status);
      ++(refused ? sum.refused : sum.failed);
      failures_ += refused ? 0 : 1;
      std::printf("%s %s: %s: %s\n", refused ? "refused" : "FAIL", path.c_str(), text.c_str(),
                  std::string(status.message()).c_str());
    }
    return absl::OkStatus();
  }

  static absl::Status RunPipelineText(const Module& original, const std::string& before,
                                      const std::string& text, Total* total) {
    ASSIGN_OR_RETURN(const Pipeline pipeline, ParsePipeline(text));
    const std::unique_ptr<Module> module = original.Clone();
    const double begin = CpuSeconds();
    ASSIGN_OR_RETURN(const std::vector<StepResult> results, RunPipeline(pipeline, module.get()));
    total->seconds = CpuSeconds() - begin;
    bool changed = false;
    for (const StepResult& result : results) {
      changed |= result.changed;
      for (const PassNote& note : result.notes) total->notes[note.what] += note.count;
    }
    total->changed = changed ? 1 : 0;
    total->nodes =
        static_cast<int64_t>(module->num_nodes()) - static_cast<int64_t>(original.num_nodes());
    RETURN_IF_ERROR(Annotate(Verify(*module), "verifier"));
    const std::string after = PrintModule(*module);
    if (changed != (after != before)) {
      return absl::InternalError(changed ? "reports a change but made none"
                                         : "changed something but reports no change");
    }
    const std::string hash = CanonicalHash(*module, {.metas = true});
    // Calls may only be wrong if they were wrong in the sample.
    if (const absl::Status calls = VerifyCalls(*module);
        !calls.ok() && VerifyCalls(original).ok()) {
      return absl::InternalError(absl::StrCat("made a call that is none: ", calls.message()));
    }
    PipelineOptions options;
    options.verify_each = true;
    const absl::StatusOr<std::vector<StepResult>> again =
        RunPipeline(pipeline, module.get(), options);
    if (!again.ok())
      return absl::InternalError(absl::StrCat("running again: ", again.status().message()));
    for (const StepResult& result : *again) {
      if (result.changed) return absl::InternalError("running again changes more");
    }
    if (CanonicalHash(*module, {.metas = true}) != hash)
      return absl::InternalError("running again changes the hash");
    return absl::OkStatus();
  }

  const std::vector<std::string> pipelines_;
  std::vector<std::string> paths_;
  std::mutex mutex_;
  std::map<std::string, Total> totals_;
  double import_seconds_ = 0;
  int64_t failures_ = 0;
};

}  // namespace
}  // namespace graphnet

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: passes_corpus FOLDER [JOBS [STRIDE [PIPELINE]]]\n");
    return 2;
  }
  std::vector<std::string> pipelines;
  if (argc > 4) {
    pipelines.push_back(argv[4]);
  } else {
    for (const graphnet::Pass& pass : graphnet::AllPasses())
      pipelines.push_back(graphnet::PipelineOf(pass));
    pipelines.push_back("stabilize,dce");
  }
  const int jobs = argc > 2 ? std::max(1, std::atoi(argv[2])) : graphnet::NumCpus();
  const int stride = argc > 3 ? std::max(1, std::atoi(argv[3])) : 1;
  return graphnet::Corpus(argv[1], static_cast<size_t>(stride), pipelines).Run(jobs);
}
