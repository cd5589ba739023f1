#include "graphnet/passes/pipeline.h"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "graphnet/base/near_miss.h"
#include "graphnet/base/status.h"
#include "graphnet/interp/inputs/weights.h"
#include "graphnet/ir/canonical_hash.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/passes/registry.h"

namespace graphnet {
namespace {

class PipelineParser {
 public:
  explicit PipelineParser(absl::string_view text) : text_(text) {}

  absl::StatusOr<Pipeline> Parse() {
    Pipeline pipeline;
    do {
      ASSIGN_OR_RETURN(PipelineStep step, ParseStep());
      pipeline.push_back(std::move(step));
    } while (Consume(','));
    if (pos_ < text_.size()) return Error(pos_, "expected a comma or the end");
    return pipeline;
  }

 private:
  absl::StatusOr<PipelineStep> ParseStep() {
    const size_t begin = pos_;
    const absl::string_view name = Until(",{");
    PipelineStep step;
    step.pass = FindPass(name);
    if (step.pass == nullptr) {
      std::vector<absl::string_view> names;
      for (const Pass& pass : AllPasses()) names.push_back(pass.name());
      const std::string hint = NearMissHint(name, names);
      return Error(begin, absl::StrCat("there is no pass ", Quote(name),
                                       hint.empty() ? "; there are " : hint,
                                       hint.empty() ? absl::StrJoin(names, ", ") : ""));
    }
    if (!Consume('{')) return step;
    if (Consume('}')) return step;
    do {
      RETURN_IF_ERROR(ParseOption(&step));
    } while (Consume(','));
    if (!Consume('}')) return Error(pos_, "expected }");
    return step;
  }

  absl::Status ParseOption(PipelineStep* step) {
    const size_t begin = pos_;
    const absl::string_view name = Until("=,}");
    const auto options = step->pass->options();
    const bool is_known =
        absl::c_linear_search(options, name) || absl::c_linear_search(options, kAnyOption);
    if (!is_known) {
      return Error(begin,
                   absl::StrCat(step->pass->name(), " has no option ", Quote(name), "; it has ",
                                options.empty() ? "none" : absl::StrJoin(options, ", ")));
    }
    // A switch may stand without a value.
    const absl::string_view value = Consume('=') ? Until(",}") : "true";
    if (!step->options.emplace(name, value).second) {
      return Error(begin, absl::StrCat(Quote(name), " is given twice"));
    }
    return absl::OkStatus();
  }

  absl::string_view Until(absl::string_view ends) {
    const size_t begin = pos_;
    pos_ = std::min(text_.find_first_of(ends, pos_), text_.size());
    return absl::StripAsciiWhitespace(text_.substr(begin, pos_ - begin));
  }
  bool Consume(char c) {
    while (pos_ < text_.size() && absl::ascii_isspace(text_[pos_])) ++pos_;
    if (pos_ == text_.size() || text_[pos_] != c) return false;
    ++pos_;
    return true;
  }
  static std::string Quote(absl::string_view text) {
    return absl::StrCat("\"", Printable(text), "\"");
  }
  static absl::Status Error(size_t pos, absl::string_view message) {
    return ErrorAt("passes", 1, pos + 1, message);
  }

  const absl::string_view text_;
  size_t pos_ = 0;
};

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Runs the steps; `prepare` is called before each one, `follow` after each that changed something.
absl::StatusOr<std::vector<StepResult>> RunSteps(
    const Pipeline& pipeline, Module* module, const PipelineOptions& options,
    absl::FunctionRef<void(PassRun*)> prepare,
    absl::FunctionRef<absl::Status(const PassRun&)> follow) {
  std::vector<StepResult> results;
  const bool compares = options.verify_each || options.on_change != nullptr;
  std::string before = compares ? PrintModule(*module) : "";
  for (const PipelineStep& step : pipeline) {
    if (options.limit >= 0 && results.size() >= static_cast<size_t>(options.limit)) break;
    StepResult result;
    result.nodes_before = module->num_nodes();
    PassRun run(step.options);
    run.SetInferSizes(options.infer_sizes);
    prepare(&run);
    const double begin = Now();
    const absl::StatusOr<bool> changed = step.pass->Run(*module, run);
    result.seconds = Now() - begin;
    if (!changed.ok()) return Annotate(changed.status(), step.pass->name());
    if (*changed) RETURN_IF_ERROR(Annotate(follow(run), step.pass->name()));
    result.changed = *changed;
    result.nodes_after = module->num_nodes();
    result.notes.assign(run.notes().begin(), run.notes().end());
    results.push_back(std::move(result));
    if (!compares) continue;
    if (const absl::Status status = Verify(*module); options.verify_each && !status.ok()) {
      return absl::InternalError(absl::StrCat("pass ", step.pass->name(), ", number ",
                                              results.size(),
                                              ", broke the module: ", status.message()));
    }
    std::string after = PrintModule(*module);
    if (options.verify_each && *changed != (before != after)) {
      return absl::InternalError(
          absl::StrCat("pass ", step.pass->name(), ", number ", results.size(),
                       *changed ? ", reports a change but made none"
                                : ", changed something but reports no change"));
    }
    if (options.on_change != nullptr && before != after) options.on_change(step, before, after);
    before = std::move(after);
  }
  return results;
}

}  // namespace

absl::StatusOr<Pipeline> ParsePipeline(absl::string_view text) {
  return PipelineParser(text).Parse();
}

std::string PrintPipeline(const Pipeline& pipeline) {
  return absl::StrJoin(pipeline, ",", [](std::string* out, const PipelineStep& step) {
    absl::StrAppend(out, step.pass->name());
    if (!step.options.empty()) {
      absl::StrAppend(out, "{", absl::StrJoin(step.options, ",", absl::PairFormatter("=")), "}");
    }
  });
}

absl::StatusOr<std::vector<StepResult>> RunPipeline(const Pipeline& pipeline, Module* module,
                                                    const PipelineOptions& options) {
  return RunSteps(
      pipeline, module, options, [](PassRun*) {}, [](const PassRun&) { return absl::OkStatus(); });
}

absl::StatusOr<std::vector<StepResult>> RunPipeline(const Pipeline& pipeline, Sample* sample,
                                                    const PipelineOptions& options) {
  std::map<std::string, const TensorMeta*> before;
  Constants constants;
  constants.run = [&](const Module& module) {
    return options.run_constants(module, constants.values);
  };
  ASSIGN_OR_RETURN(std::vector<StepResult> results,
                   RunSteps(
                       pipeline, sample->module.get(), options,
                       [&](PassRun* run) {
                         before = NamedMetas(*sample->module);
                         if (options.run_constants == nullptr) return;
                         constants.values = sample->weights;
                         run->SetConstants(&constants);
                       },
                       [&](const PassRun& run) -> absl::Status {
                         RETURN_IF_ERROR(FollowGraph(run.renamed(), before, sample));
                         for (const auto& [name, value] : run.values())
                           sample->weights[name] = value;
                         return absl::OkStatus();
                       }));
  const bool changed =
      absl::c_any_of(results, [](const StepResult& result) { return result.changed; });
  if (changed && !sample->graph_hash.empty()) sample->graph_hash = CanonicalHash(*sample->module);
  return results;
}

std::string DiffLines(absl::string_view before, absl::string_view after) {
  absl::flat_hash_map<absl::string_view, int> counts;
  for (const absl::string_view line : absl::StrSplit(after, '\n')) ++counts[line];
  std::string out;
  // Counts the lines of `after` that have a partner in `before`; new lines are printed between
  // them.
  absl::flat_hash_map<absl::string_view, int> common;
  const std::vector<absl::string_view> old_lines = absl::StrSplit(before, '\n');
  const std::vector<absl::string_view> new_lines = absl::StrSplit(after, '\n');
  std::vector<bool> is_common(old_lines.size());
  for (size_t i = 0; i < old_lines.size(); ++i) {
    int& count = counts[old_lines[i]];
    is_common[i] = count > 0;
    if (is_common[i]) {
      --count;
      ++common[old_lines[i]];
    }
  }
  size_t next = 0;
  const auto add_new = [&] {
    for (; next < new_lines.size(); ++next) {
      int& count = common[new_lines[next]];
      if (count > 0) break;
      absl::StrAppend(&out, "+ ", new_lines[next], "\n");
    }
  };
  for (size_t i = 0; i < old_lines.size(); ++i) {
    if (!is_common[i]) {
      absl::StrAppend(&out, "- ", old_lines[i], "\n");
      continue;
    }
    add_new();
    if (next < new_lines.size()) {
      --common[new_lines[next]];
      ++next;
    }
  }
  add_new();
  return out;
}

}  // namespace graphnet
