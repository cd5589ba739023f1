// Pipelines: passes one after the other, as text and as they are run.
//
//   ASSIGN_OR_RETURN(const Pipeline pipeline, ParsePipeline("stabilize{allow=linear},dce"));
//   RETURN_IF_ERROR(RunPipeline(pipeline, module.get()).status());
#ifndef GRAPHNET_PASSES_PIPELINE_H_
#define GRAPHNET_PASSES_PIPELINE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/sample.h"
#include "graphnet/passes/pass.h"

namespace graphnet {

struct PipelineStep {
  const Pass* pass = nullptr;
  std::map<std::string, std::string> options;
};
using Pipeline = std::vector<PipelineStep>;

// Names with commas between them; options in braces, the parts of a list with "+":
// "revert-vmap,stabilize{allow=linear+gelu},dce". InvalidArgument names the column
// and, for an unknown pass or option, what there is.
absl::StatusOr<Pipeline> ParsePipeline(absl::string_view text);
std::string PrintPipeline(const Pipeline& pipeline);

struct PipelineOptions {
  // After each pass: that the verifier is content, and that a pass which says it
  // changed nothing did not (by the text form).
  bool verify_each = false;
  // Run only so many passes, to find the one that breaks something; negative: all.
  int64_t limit = -1;
  // Of fold-constants{values=true}, for a sample: runs a module without inputs on values of its
  // attributes (Constants::run); empty: nothing does.
  std::function<absl::StatusOr<std::map<std::string, TensorData>>(
      const Module& module, const std::map<std::string, TensorData>& values)>
      run_constants;
  // Called after each pass that changed something with the text form before and after.
  std::function<void(const PipelineStep& step, absl::string_view before, absl::string_view after)>
      on_change;
};

struct StepResult {
  bool changed = false;
  double seconds = 0;
  size_t nodes_before = 0;
  size_t nodes_after = 0;
  std::vector<PassNote> notes;
};

// What each step did, those that `limit` leaves out missing at the end. Errors of a
// pass are prefixed with its name; what verify_each finds is Internal.
absl::StatusOr<std::vector<StepResult>> RunPipeline(const Pipeline& pipeline, Module* module,
                                                    const PipelineOptions& options = {});

// The same for a sample: what it holds by name, its weights among that, follows each step
// (inputs/weights.h), and its hash is that of the new graph, if it has one.
absl::StatusOr<std::vector<StepResult>> RunPipeline(const Pipeline& pipeline, Sample* sample,
                                                    const PipelineOptions& options = {});

// The lines that only one of two texts has, as "- …" and "+ …" in order; a change of
// place is no difference. O(size).
std::string DiffLines(absl::string_view before, absl::string_view after);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_PIPELINE_H_
