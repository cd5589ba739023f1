#include "graphnet/formats/export_program.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graphnet/base/arena.h"
#include "graphnet/base/status.h"
#include "graphnet/facts/memory/memory_use.h"
#include "graphnet/formats/pt2/importer.h"
#include "graphnet/formats/torch_functions.h"
#include "graphnet/interp/inputs/elements.h"
#include "graphnet/interp/inputs/example_input.h"
#include "graphnet/interp/inputs/given_value.h"
#include "graphnet/ir/annotation.h"
#include "graphnet/ir/node_error.h"
#include "graphnet/ir/outline.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/passes/canonical_calls.h"
#include "graphnet/passes/dead_code.h"
#include "graphnet/passes/inline_regions.h"
#include "graphnet/passes/partial_evaluation/partial_evaluation.h"
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

// Returns whether branches and loops may be followed, or attributes that the program assigns.
bool MayBeEvaluated(const Module& module) {
  return module.graphs().size() > 1 || absl::c_any_of(module.main()->nodes(), [](const Node* node) {
           return node->is_call_function("prim.SetAttr");
         });
}

// Returns the sample with branches and loops followed, and lists, numbers and attributes computed,
// as far as the shapes of its inputs decide them. Adds to `notes` what it does not keep.
absl::StatusOr<std::unique_ptr<Sample>> EvaluatedFor(const Sample& sample,
                                                     std::vector<std::string>* notes) {
  ASSIGN_OR_RETURN(ProgramOfCall program, EvaluateCall(*sample.module, /*with_state=*/true));
  if (!program.lost.empty()) {
    notes->push_back(
        absl::StrCat("the program assigns ", Printable(absl::StrJoin(program.lost, ", "), 1000),
                     ", which torch.export cannot keep: each call starts with the saved values"));
  }
  auto evaluated = std::make_unique<Sample>(CopyOf(sample));
  evaluated->module = std::move(program.module);
  return evaluated;
}

// Returns the sample from which a TorchScript archive is written; null for `sample` itself.
absl::StatusOr<std::unique_ptr<Sample>> PlainFor(const Sample& sample) {
  ASSIGN_OR_RETURN(std::unique_ptr<Sample> inlined, InlineRegionsOf(sample));
  ASSIGN_OR_RETURN(std::unique_ptr<Sample> expanded,
                   ExpandVmapOf(inlined == nullptr ? sample : *inlined));
  return expanded == nullptr ? std::move(inlined) : std::move(expanded);
}

// Returns the sample with the given values of inputs in place of their uses; null if there are none.
// `ints`: ints are fixed, too. Adds to `notes`, unless it is null.
std::unique_ptr<Sample> FixInputs(const Sample& sample, bool ints,
                                  std::vector<std::string>* notes) {
  std::unique_ptr<Sample> fixed;
  Arena arena;
  const std::vector<Node*> inputs = sample.module->main()->placeholders();
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i]->has_uses()) continue;
    const std::optional<Argument> value = GivenValue(*inputs[i], sample, &arena);
    if (!value || (value->is_int() && !ints)) continue;
    if (fixed == nullptr) fixed = std::make_unique<Sample>(CopyOf(sample));
    ReplaceUsesWithValue(fixed->module->main()->placeholders()[i],
                         fixed->module->CopyArgument(*value));
    if (notes != nullptr) {
      notes->push_back(absl::StrCat("the program is written for ", Printable(inputs[i]->target()),
                                    " = ", PrintArgument(*value), " only"));
    }
  }
  return fixed;
}

// Returns an input that is no tensor and that a number which `node` takes is computed from; null if
// there is none.
const Node* UnknownInputOf(const Node& node, const Graph* main) {
  absl::flat_hash_set<const Node*> seen;
  std::vector<const Node*> pending = {&node};
  while (!pending.empty()) {
    const Node* const last = pending.back();
    pending.pop_back();
    for (const Node* operand : last->operands()) {
      if (operand->tensor_meta() != nullptr || !seen.insert(operand).second) continue;
      const absl::string_view type = InnerAnnotation(operand->annotation());
      // The inputs of a body are values of the graph around it.
      const bool is_input = operand->is_placeholder() && operand->graph() == main;
      if (is_input && (NumberDType(type).has_value() || IsText(type) || IsStructure(type)))
        return operand;
      pending.push_back(operand);
    }
  }
  return nullptr;
}

// Returns an error for the first loop of a program of TorchScript whose turns cannot be written out
// one after the other; OK if there is none.
absl::Status CheckLoops(const Sample& sample) {
  if (sample.extra_files.contains(std::string(kProgramFile))) return absl::OkStatus();
  const absl::StatusOr<std::unique_ptr<Module>> evaluated = PartiallyEvaluate(*sample.module);
  if (!evaluated.ok()) return absl::OkStatus();
  EliminateDeadCode(evaluated->get());
  const Graph* const main = (*evaluated)->main();
  const auto check = [main](const Graph& graph) -> absl::Status {
    for (const Node* node : graph.nodes()) {
      if (!node->is_call_function("torch.ops.higher_order.while_loop")) continue;
      if (const Node* const input = UnknownInputOf(*node, main)) {
        // The elements of a list are no inputs that torch.export has.
        if (IsStructure(input->annotation())) return absl::OkStatus();
        const std::string name = Printable(input->target());
        return NodeError(*node,
                         absl::StrCat("the number of its turns follows from the input ", name,
                                      ", whose value is not known; give it, for example "
                                      "--input ",
                                      name, "=3"));
      }
      return NodeError(*node,
                       "the number of its turns is known only when it runs: it depends on the data "
                       "of tensors or on other values that cannot be followed, or it is too large");
    }
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(check(*main));
  for (const Graph* graph : (*evaluated)->graphs()) RETURN_IF_ERROR(check(*graph));
  return absl::OkStatus();
}

// Writes a sample without further changes to its inputs.
absl::StatusOr<Pt2Archive> ExportPt2As(const Sample& sample, bool flat_calls, MissingCalls* missing,
                                       const pt2::KnowsClass& knows,
                                       std::vector<std::string>* notes) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Sample> lowered, LowerForPt2(sample, missing));
  if (lowered != nullptr) RETURN_IF_ERROR(ExpandIn(lowered->module.get()).status());
  const Sample& written = lowered == nullptr ? sample : *lowered;
  if (!LacksMetas(*written.module)) return PreparePt2(written, flat_calls, missing, knows);
  Sample described = CopyOf(written);
  RETURN_IF_ERROR(DescribeInputs({}, /*seed=*/0, &described));
  RETURN_IF_ERROR(CheckKnown(described));
  ASSIGN_OR_RETURN(const TorchFunctions* torch, OpenTorchFunctions());
  const auto infer = [&]() -> absl::Status {
    RETURN_IF_ERROR(torch->InferShapes(&described));
    ASSIGN_OR_RETURN(const bool expanded, ExpandIn(described.module.get()));
    return expanded ? torch->InferShapes(&described) : absl::OkStatus();
  };
  absl::Status inferred = infer();
  const bool may_be_evaluated = MayBeEvaluated(*described.module);
  if (!inferred.ok() && !may_be_evaluated) return inferred;
  // Nothing describes the results of a branch that is not used.
  if (described.module->graphs().size() > 1) EliminateDeadCode(described.module.get());
  absl::StatusOr<Pt2Archive> program =
      inferred.ok() ? PreparePt2(described, flat_calls, missing, knows) : inferred;
  if (program.ok() || !may_be_evaluated) return program;
  // The values in bodies have no metas, so try without bodies.
  std::vector<std::string> lost;
  absl::StatusOr<std::unique_ptr<Sample>> evaluated = EvaluatedFor(described, &lost);
  if (!evaluated.ok()) return program;
  if (!lost.empty() && notes == nullptr) return absl::InvalidArgumentError(lost.front());
  EliminateDeadCode((*evaluated)->module.get());
  // Without data, nothing tells which branch is taken, but the branches tell what they return.
  if (const absl::Status again = torch->InferShapes(evaluated->get());
      !again.ok() && !absl::IsFailedPrecondition(again))
    return program;
  absl::StatusOr<Pt2Archive> again = PreparePt2(**evaluated, flat_calls, nullptr, knows);
  if (!again.ok()) return program;
  if (missing != nullptr) missing->clear();
  if (notes != nullptr) notes->insert(notes->end(), lost.begin(), lost.end());
  return again;
}

}  // namespace

absl::StatusOr<Pt2Archive> ExportPt2Program(const Sample& sample, bool flat_calls,
                                            MissingCalls* missing, const pt2::KnowsClass& knows,
                                            std::vector<std::string>* notes) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Sample> plain, ExpandVmapOf(sample));
  if (plain != nullptr) return ExportPt2Program(*plain, flat_calls, missing, knows, notes);
  ASSIGN_OR_RETURN(const std::unique_ptr<Sample> constant, WithConstantSizes(sample));
  if (constant != nullptr) return ExportPt2Program(*constant, flat_calls, missing, knows, notes);
  // torch.export has floats, truths and texts as constants only.
  const std::unique_ptr<Sample> fixed =
      flat_calls ? nullptr : FixInputs(sample, /*ints=*/false, notes);
  if (fixed != nullptr) return ExportPt2Program(*fixed, flat_calls, missing, knows, notes);
  absl::StatusOr<Pt2Archive> program = ExportPt2As(sample, flat_calls, missing, knows, notes);
  if (program.ok()) return program;
  // An int may be any in the program, unless it decides what the program does.
  std::vector<std::string> of_ints;
  const std::unique_ptr<Sample> decided =
      flat_calls ? nullptr : FixInputs(sample, /*ints=*/true, &of_ints);
  if (decided == nullptr) {
    RETURN_IF_ERROR(CheckLoops(sample));
    return program;
  }
  absl::StatusOr<Pt2Archive> again = ExportPt2As(*decided, flat_calls, nullptr, knows, notes);
  if (!again.ok()) {
    RETURN_IF_ERROR(CheckLoops(*decided));
    return again;
  }
  if (missing != nullptr) missing->clear();
  if (notes != nullptr) notes->insert(notes->end(), of_ints.begin(), of_ints.end());
  return again;
}

absl::StatusOr<std::string> ExportTorchScriptProgram(const Sample& sample,
                                                     std::vector<std::string>* notes) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Sample> plain, PlainFor(sample));
  ASSIGN_OR_RETURN(const TorchFunctions* torch, OpenTorchFunctions());
  return torch->ExportTorchScript(plain == nullptr ? sample : *plain, notes);
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

namespace {

// Goes by way of an archive of torch.export, in which every call is an overload of ATen. Then
// computes all values that follow from sizes.
absl::StatusOr<MlirProgram> ExportMlirAs(const Sample& sample, MissingCalls* missing,
                                         std::vector<std::string>* notes) {
  ASSIGN_OR_RETURN(const Pt2Archive archive,
                   ExportPt2Program(sample, /*flat_calls=*/false, missing, nullptr, notes));
  absl::StatusOr<std::unique_ptr<Module>> program = archive.ReadModule();
  if (!program.ok()) return Annotate(program.status(), Printable(sample.name));
  ASSIGN_OR_RETURN(
      const Pipeline functionalize,
      ParsePipeline("expand-functions{recurrent=true},functionalize{outputs=true},dce"));
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

}  // namespace

absl::StatusOr<MlirProgram> ExportMlirProgram(const Sample& sample, MissingCalls* missing,
                                              std::vector<std::string>* notes) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Sample> inlined, InlineRegionsOf(sample));
  const Sample& plain = inlined == nullptr ? sample : *inlined;
  std::vector<std::string> found;
  absl::StatusOr<MlirProgram> program =
      ExportMlirAs(plain, missing, notes == nullptr ? nullptr : &found);
  if (!program.ok()) {
    // Arithmetic and branches on an int may be more than the dialect has.
    std::vector<std::string> of_ints;
    const std::unique_ptr<Sample> decided = FixInputs(plain, /*ints=*/true, &of_ints);
    if (decided == nullptr) return program;
    absl::StatusOr<MlirProgram> again =
        ExportMlirAs(*decided, nullptr, notes == nullptr ? nullptr : &of_ints);
    if (again.ok() && missing != nullptr) missing->clear();
    program = std::move(again);
    found = std::move(of_ints);
  }
  if (notes != nullptr) notes->insert(notes->end(), found.begin(), found.end());
  return program;
}

}  // namespace graphnet
