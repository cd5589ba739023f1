// Pipelines: passes that run one after the other, and their text form.
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

// One pass of a pipeline, with its options.
struct PipelineStep {
  const Pass* pass = nullptr;                  // owned by the registry, which lives forever
  std::map<std::string, std::string> options;  // values by name
};
// The steps in the order in which they run.
using Pipeline = std::vector<PipelineStep>;

// Parses names of passes with commas between them; options stand in braces, and "+" separates
// the elements of a list: "revert-vmap,stabilize{allow=linear+gelu},dce". InvalidArgument
// names the column and, for an unknown pass or option, the ones that exist.
absl::StatusOr<Pipeline> ParsePipeline(absl::string_view text);
// Returns the text that ParsePipeline reads.
std::string PrintPipeline(const Pipeline& pipeline);

// Settings of RunPipeline.
struct PipelineOptions {
  // Check after each pass that the verifier accepts the module, and that a pass that reports no
  // change left the text form as it was.
  bool verify_each = false;
  // Run only this many passes, to find the one that breaks something; all if negative.
  int64_t limit = -1;
  // For fold-constants{values=true} on a sample: runs a module without inputs on the values of its
  // attributes (Constants::run). If empty, nothing can run operators.
  std::function<absl::StatusOr<std::map<std::string, TensorData>>(
      const Module& module, const std::map<std::string, TensorData>& values)>
      run_constants;
  // For generalize-dims: infers sizes that no rule knows (PassRun::infer_sizes).
  InferSizes infer_sizes = {};
  // Called after each pass that changed something with the text form before and after.
  std::function<void(const PipelineStep& step, absl::string_view before, absl::string_view after)>
      on_change;
};

// The outcome of one step.
struct StepResult {
  bool changed = false;         // True if the pass changed the module.
  double seconds = 0;           // wall-clock time
  size_t nodes_before = 0;      // nodes of all graphs
  size_t nodes_after = 0;       // likewise, after the pass
  std::vector<PassNote> notes;  // messages of the pass
};

// Runs a pipeline and returns one result for each step that ran; `limit` leaves out the last ones.
// An error of a pass is prefixed with its name. A fault that verify_each finds is Internal.
absl::StatusOr<std::vector<StepResult>> RunPipeline(const Pipeline& pipeline, Module* module,
                                                    const PipelineOptions& options = {});

// Does the same for a sample: whatever it holds by name, such as weights, follows each step
// (inputs/weights.h), and its hash, if it has one, becomes that of the new graph.
absl::StatusOr<std::vector<StepResult>> RunPipeline(const Pipeline& pipeline, Sample* sample,
                                                    const PipelineOptions& options = {});

// Returns the lines that only one of two texts has, as "- …" and "+ …", in order. Lines that only
// moved do not count. O(size).
std::string DiffLines(absl::string_view before, absl::string_view after);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_PIPELINE_H_
