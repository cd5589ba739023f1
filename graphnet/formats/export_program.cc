#include "graphnet/formats/export_program.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/facts/memory/memory_use.h"
#include "graphnet/formats/torch_functions.h"
#include "graphnet/interp/inputs/example_input.h"
#include "graphnet/passes/canonical_calls.h"
#include "graphnet/passes/dead_code.h"
#include "graphnet/passes/inline_regions.h"
#include "graphnet/passes/partial_evaluation.h"
#include "graphnet/passes/pipeline.h"

namespace graphnet {

Sample CopyOf(const Sample& sample) {
  Sample copy;
  copy.name = sample.name;
  copy.module = sample.module->Clone();
  copy.extra_files = sample.extra_files;
  copy.weights = sample.weights;
  return copy;
}

namespace {

bool HasVmap(const Module& module) {
  return absl::c_any_of(module.graphs(), [](const Graph* graph) {
    return absl::c_any_of(graph->nodes(), [](const Node* node) {
      return node->is_call() && absl::StrContains(node->target(), "vmap");
    });
  });
}

// Returns the sample with the casts of autocast written out, and without regions that have no
// effect; null if it has no regions at all.
absl::StatusOr<std::unique_ptr<Sample>> InlineRegionsOf(const Sample& sample) {
  if (!HasRegions(*sample.module)) return nullptr;
  auto inlined = std::make_unique<Sample>(CopyOf(sample));
  ASSIGN_OR_RETURN(const Pipeline pipeline, ParsePipeline("explicit-autocast,inline-regions"));
  RETURN_IF_ERROR(RunPipeline(pipeline, inlined.get()).status());
  return inlined;
}

// Returns the sample with each vmap expanded. Returns null if it has none, or if one cannot be
// expanded; a later step then reports the error.
absl::StatusOr<std::unique_ptr<Sample>> ExpandVmapOf(const Sample& sample) {
  if (!HasVmap(*sample.module)) return nullptr;
  auto expanded = std::make_unique<Sample>(CopyOf(sample));
  ASSIGN_OR_RETURN(const Pipeline pipeline, ParsePipeline("revert-vmap,expand-vmap"));
  RETURN_IF_ERROR(RunPipeline(pipeline, expanded.get()).status());
  if (HasVmap(*expanded->module)) return nullptr;
  return expanded;
}

bool ChangesSizes(const Module& module) {
  return absl::c_any_of(module.graphs(), [](const Graph* graph) {
    return absl::c_any_of(graph->nodes(), [](const Node* node) { return ChangesSizes(*node); });
  });
}

// Returns the sample without changes of sizes in place, as one value then has several shapes; null
// if it has none, or if one has to stay.
absl::StatusOr<std::unique_ptr<Sample>> WithConstantSizes(const Sample& sample) {
  if (sample.extra_files.contains(std::string(kProgramFile)) || !ChangesSizes(*sample.module))
    return nullptr;
  auto made = std::make_unique<Sample>(CopyOf(sample));
  ASSIGN_OR_RETURN(const Pipeline pipeline, ParsePipeline("functionalize"));
  RETURN_IF_ERROR(RunPipeline(pipeline, made.get()).status());
  if (ChangesSizes(*made->module)) return nullptr;
  return made;
}

// Expands functions that are not operators, if enough is known of their operands. Returns whether
// it changed anything.
absl::StatusOr<bool> ExpandIn(Module* module) {
  ASSIGN_OR_RETURN(const Pipeline expand, ParsePipeline("expand-functions"));
  ASSIGN_OR_RETURN(const auto results, RunPipeline(expand, module));
  return results[0].changed;
}

// Returns the sample with branches and loops followed, and lists and numbers computed, as far as
// the shapes of its inputs decide them. Returns null if it has no bodies, or if the structure of
// its output would be lost.
absl::StatusOr<std::unique_ptr<Sample>> EvaluatedFor(const Sample& sample) {
  const Graph& main = *sample.module->main();
  if (sample.module->graphs().size() == 1 || main.output() == nullptr) return nullptr;
  const Argument& before = main.output()->args()[0];
  auto evaluated = std::make_unique<Sample>(CopyOf(sample));
  ASSIGN_OR_RETURN(evaluated->module, PartiallyEvaluate(*sample.module));
  Node* const output = evaluated->module->main()->output();
  const Argument leaves = output->args()[0];
  const bool is_tensor = before.is_node() && before.node()->tensor_meta() != nullptr;
  if (is_tensor && leaves.elements().size() == 1) {
    output->set_arg(0, leaves.elements()[0]);
  } else if (!before.is_tuple() || before.elements().size() != leaves.elements().size()) {
    return nullptr;
  }
  return evaluated;
}

// Returns the sample from which a TorchScript archive is written; null for `sample` itself.
absl::StatusOr<std::unique_ptr<Sample>> PlainFor(const Sample& sample) {
  ASSIGN_OR_RETURN(std::unique_ptr<Sample> inlined, InlineRegionsOf(sample));
  ASSIGN_OR_RETURN(std::unique_ptr<Sample> expanded,
                   ExpandVmapOf(inlined == nullptr ? sample : *inlined));
  return expanded == nullptr ? std::move(inlined) : std::move(expanded);
}

}  // namespace

absl::StatusOr<Pt2Archive> ExportPt2Program(const Sample& sample, bool flat_calls,
                                            MissingCalls* missing, const pt2::KnowsClass& knows) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Sample> plain, ExpandVmapOf(sample));
  if (plain != nullptr) return ExportPt2Program(*plain, flat_calls, missing, knows);
  ASSIGN_OR_RETURN(const std::unique_ptr<Sample> constant, WithConstantSizes(sample));
  if (constant != nullptr) return ExportPt2Program(*constant, flat_calls, missing, knows);
  ASSIGN_OR_RETURN(const std::unique_ptr<Sample> lowered, LowerForPt2(sample, missing));
  if (lowered != nullptr) RETURN_IF_ERROR(ExpandIn(lowered->module.get()).status());
  const Sample& written = lowered == nullptr ? sample : *lowered;
  if (!LacksMetas(*written.module)) return PreparePt2(written, flat_calls, missing, knows);
  Sample described = CopyOf(written);
  RETURN_IF_ERROR(DescribeInputs({}, /*seed=*/0, &described));
  RETURN_IF_ERROR(CheckKnown(described));
  ASSIGN_OR_RETURN(const TorchFunctions* torch, OpenTorchFunctions());
  RETURN_IF_ERROR(torch->InferShapes(&described));
  ASSIGN_OR_RETURN(const bool expanded, ExpandIn(described.module.get()));
  if (expanded) RETURN_IF_ERROR(torch->InferShapes(&described));
  // Nothing describes the results of a branch that is not used.
  if (described.module->graphs().size() > 1) EliminateDeadCode(described.module.get());
  absl::StatusOr<Pt2Archive> program = PreparePt2(described, flat_calls, missing, knows);
  if (program.ok()) return program;
  // The values in bodies have no metas, so try without bodies.
  absl::StatusOr<std::unique_ptr<Sample>> evaluated = EvaluatedFor(described);
  if (!evaluated.ok() || *evaluated == nullptr) return program;
  if (!torch->InferShapes(evaluated->get()).ok()) return program;
  absl::StatusOr<Pt2Archive> again = PreparePt2(**evaluated, flat_calls, nullptr, knows);
  if (again.ok() && missing != nullptr) missing->clear();
  return again.ok() ? again : program;
}

absl::StatusOr<std::string> ExportTorchScriptProgram(const Sample& sample) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Sample> plain, PlainFor(sample));
  ASSIGN_OR_RETURN(const TorchFunctions* torch, OpenTorchFunctions());
  return torch->ExportTorchScript(plain == nullptr ? sample : *plain);
}

absl::Status CheckTorchScriptProgram(const Sample& sample, MissingCalls* missing) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Sample> plain, PlainFor(sample));
  ASSIGN_OR_RETURN(const TorchFunctions* torch, OpenTorchFunctions());
  return torch->CheckTorchScript(plain == nullptr ? sample : *plain, missing);
}

absl::StatusOr<Sample> WithoutEffects(const Sample& sample) {
  Sample program = CopyOf(sample);
  ASSIGN_OR_RETURN(
      const Pipeline pipeline,
      ParsePipeline("explicit-autocast,inline-regions,change-device{to=cpu},revert-vmap,"
                    "expand-vmap,functionalize{outputs=true}"));
  RETURN_IF_ERROR(RunPipeline(pipeline, &program).status());
  return program;
}

// Goes by way of an archive of torch.export, in which every call is an overload of ATen. Then
// computes all values that follow from sizes.
absl::StatusOr<MlirProgram> ExportMlirProgram(const Sample& sample, MissingCalls* missing) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Sample> inlined, InlineRegionsOf(sample));
  ASSIGN_OR_RETURN(const Pt2Archive archive,
                   ExportPt2Program(inlined == nullptr ? sample : *inlined,
                                    /*flat_calls=*/false, missing));
  absl::StatusOr<std::unique_ptr<Module>> program = archive.ReadModule();
  if (!program.ok()) return Annotate(program.status(), Printable(sample.name));
  ASSIGN_OR_RETURN(const Pipeline functionalize,
                   ParsePipeline("expand-functions,functionalize{outputs=true},dce"));
  ASSIGN_OR_RETURN(const std::vector<StepResult> steps, RunPipeline(functionalize, program->get()));
  ASSIGN_OR_RETURN(const std::unique_ptr<Module> module, PartiallyEvaluate(**program));
  EliminateDeadCode(module.get());
  CanonicalizeCalls(module.get());
  EliminateDeadCode(module.get());
  absl::StatusOr<MlirProgram> exported = ExportMlir(*module, {}, missing);
  if (exported.ok() || !absl::StrContains(exported.status().message(), "it writes to memory"))
    return exported;
  // functionalize did not remove this write, and its notes say why.
  std::string message(exported.status().message());
  for (const StepResult& step : steps) {
    for (const PassNote& note : step.notes) absl::StrAppend(&message, "; ", note.what);
  }
  return absl::Status(exported.status().code(), message);
}

}  // namespace graphnet
