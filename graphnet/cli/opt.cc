#include "graphnet/cli/opt.h"

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graphnet/base/file.h"
#include "graphnet/base/parallel.h"
#include "graphnet/base/status.h"
#include "graphnet/cli/load.h"
#include "graphnet/cli/options.h"
#include "graphnet/cli/progress.h"
#include "graphnet/cli/save.h"
#include "graphnet/cli/table.h"
#include "graphnet/ir/canonical_hash.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/passes/documentation.h"
#include "graphnet/passes/pipeline.h"
#include "graphnet/passes/registry.h"

namespace graphnet {
namespace {

struct Options {
  std::string in;
  std::string out;
  std::string passes;
  Target target = Target::kAuto;
  bool verify_each = false;
  bool timing = false;
  bool dump_changes = false;
  int64_t limit = -1;
  int jobs = 0;
  bool trust = false;
};

// What the steps of a pipeline did, over all samples.
struct Sum {
  std::vector<size_t> changed;
  std::vector<double> seconds;
  std::vector<int64_t> nodes;  // more than before, or fewer
  std::vector<std::map<std::string, size_t>> notes;
  explicit Sum(size_t steps) : changed(steps), seconds(steps), nodes(steps), notes(steps) {}
  void Add(const std::vector<StepResult>& results) {
    for (size_t i = 0; i < results.size(); ++i) {
      changed[i] += results[i].changed ? 1 : 0;
      seconds[i] += results[i].seconds;
      nodes[i] += static_cast<int64_t>(results[i].nodes_after) -
                  static_cast<int64_t>(results[i].nodes_before);
      for (const PassNote& note : results[i].notes) notes[i][note.what] += note.count;
    }
  }
};

void PrintSum(const Pipeline& pipeline, const Sum& sum, size_t samples, bool timing) {
  std::vector<TableRow> rows = {{"pass", "changed", "of", "nodes"}};
  if (timing) rows[0].push_back("ms");
  for (size_t i = 0; i < pipeline.size(); ++i) {
    rows.push_back({PrintPipeline({pipeline[i]}), absl::StrCat(sum.changed[i]),
                    absl::StrCat(samples), absl::StrFormat("%+d", sum.nodes[i])});
    if (timing) rows.back().push_back(absl::StrFormat("%.3f", sum.seconds[i] * 1e3));
  }
  PrintTable(rows);
  for (size_t i = 0; i < pipeline.size(); ++i) {
    for (const auto& [what, count] : sum.notes[i]) {
      std::printf("%s: %s%s\n", std::string(pipeline[i].pass->name()).c_str(),
                  count == 1 ? "" : absl::StrCat(count, " ").c_str(),
                  Printable(what, 1000).c_str());
    }
  }
}

// What the sample holds by name follows inputs that were renamed.
void FollowNames(Sample* sample) {
  std::map<std::string, std::string> renamed;
  for (const Node* node : sample->module->main()->placeholders()) {
    const DrawSpec* spec = node->draw_spec();
    if (spec != nullptr && !spec->original_name.empty()) {
      renamed[std::string(spec->original_name)] = std::string(node->target());
    }
  }
  for (std::string& name : sample->constraint_order) {
    if (const auto it = renamed.find(name); it != renamed.end()) name = it->second;
  }
  std::map<std::string, TensorData> weights;
  for (auto& [name, data] : sample->weights) {
    const auto it = renamed.find(name);
    weights[it == renamed.end() ? name : it->second] = std::move(data);
  }
  sample->weights = std::move(weights);
}

absl::StatusOr<std::vector<StepResult>> OptOne(const std::string& path, const std::string& out,
                                               Target target, const Pipeline& pipeline,
                                               const Options& options, bool print) {
  LoadOptions load;
  load.trust = options.trust;
  load.weights = !out.empty() && KeepsWeights(target);
  ASSIGN_OR_RETURN(Sample sample, LoadSample(path, load));
  PipelineOptions run;
  run.verify_each = options.verify_each;
  run.limit = options.limit;
  if (options.dump_changes && print) {
    run.on_change = [](const PipelineStep& step, absl::string_view before,
                       absl::string_view after) {
      std::printf("# %s\n%s", PrintPipeline({step}).c_str(), DiffLines(before, after).c_str());
    };
  }
  ASSIGN_OR_RETURN(std::vector<StepResult> results,
                   RunPipeline(pipeline, sample.module.get(), run));
  RETURN_IF_ERROR(Annotate(Verify(*sample.module), "after the passes"));
  if (out.empty()) return results;
  bool changed = false;
  for (const StepResult& result : results) changed |= result.changed;
  if (changed) FollowNames(&sample);
  if (changed && !sample.graph_hash.empty()) sample.graph_hash = CanonicalHash(*sample.module);
  RETURN_IF_ERROR(SaveSample(sample, out, target));
  return results;
}

const char* EndingOf(Target target) {
  switch (target) {
    case Target::kProtobuf: return ".pb";
    case Target::kText: return ".gn";
    case Target::kDot: return ".dot";
    case Target::kTorchScript: return ".pt";
    default: return "";
  }
}

// Where one of many samples goes: the same path below OUT.
absl::StatusOr<std::string> PathBelow(const std::string& out, const std::string& root,
                                      const std::string& path, Target target) {
  const std::string made =
      JoinPath(out, std::filesystem::path(path).lexically_relative(root).string()) +
      EndingOf(target);
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(made).parent_path(), error);
  if (!error) return made;
  return absl::InvalidArgumentError(
      absl::StrCat("cannot create the folder of ", Printable(made, 1000), ": ", error.message()));
}

absl::StatusOr<int> OptAll(const std::vector<std::string>& inputs, const Pipeline& pipeline,
                           const Options& options) {
  const Target target = options.target == Target::kAuto ? Target::kFolder : options.target;
  Progress progress(inputs.size());
  std::mutex mutex;
  size_t done = 0;
  size_t failed = 0;
  Sum sum(pipeline.size());
  ParallelFor(inputs.size(), options.jobs > 0 ? options.jobs : NumCpus(), [&](size_t i) {
    const absl::StatusOr<std::vector<StepResult>> results =
        [&]() -> absl::StatusOr<std::vector<StepResult>> {
      std::string out;
      if (!options.out.empty()) {
        ASSIGN_OR_RETURN(out, PathBelow(options.out, options.in, inputs[i], target));
      }
      return OptOne(inputs[i], out, target, pipeline, options, /*print=*/false);
    }();
    const std::lock_guard<std::mutex> lock(mutex);
    ++done;
    if (results.ok()) {
      sum.Add(*results);
    } else {
      ++failed;
      progress.Clear();
      std::printf("FAIL %s: %s\n", Printable(inputs[i], 1000).c_str(),
                  std::string(results.status().message()).c_str());
    }
    progress.Step(done, failed);
  });
  progress.Clear();
  PrintSum(pipeline, sum, done - failed, options.timing);
  std::printf("%zu passed, %zu failed\n", done - failed, failed);
  return failed == 0 ? 0 : 1;
}

absl::StatusOr<int> Opt(const Options& options) {
  ASSIGN_OR_RETURN(const Pipeline pipeline, ParsePipeline(options.passes));
  ASSIGN_OR_RETURN(const std::vector<std::string> inputs, FindInputs({options.in}));
  if (inputs.size() != 1 || inputs[0] != options.in) return OptAll(inputs, pipeline, options);
  const Target target = options.target == Target::kAuto && !options.out.empty()
                            ? TargetOfName(options.out)
                            : options.target;
  const absl::StatusOr<std::vector<StepResult>> results =
      OptOne(options.in, options.out, target, pipeline, options, /*print=*/true);
  if (absl::IsFailedPrecondition(results.status())) {
    // A check among the passes.
    std::printf("FAIL %s: %s\n", Printable(options.in, 1000).c_str(),
                std::string(results.status().message()).c_str());
    return 1;
  }
  RETURN_IF_ERROR(results.status());
  Sum sum(pipeline.size());
  sum.Add(*results);
  PrintSum(pipeline, sum, 1, options.timing);
  return 0;
}

absl::StatusOr<int> Passes(const std::string& name, bool markdown) {
  if (markdown) {
    ASSIGN_OR_RETURN(const std::string page, PassesPage());
    std::fwrite(page.data(), 1, page.size(), stdout);
    return 0;
  }
  if (name.empty()) {
    std::vector<TableRow> rows;
    for (const Pass& pass : AllPasses()) {
      ASSIGN_OR_RETURN(const PassDocumentation documentation, DocumentationOf(pass));
      rows.push_back({std::string(pass.name()), documentation.summary});
    }
    PrintTable(rows, /*last_is_text=*/true);
    return 0;
  }
  const Pass* pass = FindPass(name);
  if (pass == nullptr) {
    return absl::NotFoundError(
        absl::StrCat("there is no pass \"", Printable(name), "\"; `graphnet passes` lists them"));
  }
  ASSIGN_OR_RETURN(const PassDocumentation documentation, DocumentationOf(*pass));
  std::fputs(PassSection(*pass, documentation).c_str(), stdout);
  return 0;
}

}  // namespace

void RegisterOpt(CLI::App& app, CommandRunner* run) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("opt", "Rewrite samples by passes");
  command->add_option("IN", options->in, "A sample in any format, or a folder of samples")
      ->required();
  command
      ->add_option(
          "--passes,-p", options->passes,
          "Passes with commas between them, options in braces: stabilize{allow=linear},dce")
      ->required();
  command->add_option(
      "-o,--out", options->out,
      "What to write, by its ending as convert does; of a folder of samples, the folder for all. "
      "Without it nothing is written");
  AddTargetOption(command, &options->target);
  command->add_flag("--verify-each", options->verify_each,
                    "Verify the graph, and what the pass says, after each pass");
  command->add_flag("--timing", options->timing, "Print the time of each pass");
  command->add_flag("--dump-changes", options->dump_changes,
                    "Print the lines that each pass removes and adds");
  command->add_option("--pass-limit", options->limit, "Run only so many passes")
      ->check(CLI::NonNegativeNumber);
  AddJobsOption(command, &options->jobs);
  AddTrustOption(command, &options->trust);
  command->callback([options, run] { *run = [options] { return Opt(*options); }; });
}

void RegisterPasses(CLI::App& app, CommandRunner* run) {
  auto name = std::make_shared<std::string>();
  auto markdown = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand("passes", "List the passes, or explain one");
  command->add_option("NAME", *name, "The pass to explain");
  command->add_flag("--markdown", *markdown, "Print docs/passes.md");
  command->callback(
      [name, markdown, run] { *run = [name, markdown] { return Passes(*name, *markdown); }; });
}

}  // namespace graphnet
