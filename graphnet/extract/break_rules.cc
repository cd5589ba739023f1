#include "graphnet/extract/break_rules.h"

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"

namespace graphnet::extract {

namespace jit = torch::jit;
namespace prim = c10::prim;

namespace {

bool Raises(const jit::Block* block) {
  return absl::c_any_of(block->nodes(),
                        [](const jit::Node* n) { return n->kind() == prim::RaiseException; });
}

// Returns the reason by the use of `value`: an `if`, an assertion, a loop; kNone for other uses.
BreakReason ReasonOfUses(const jit::Value* value, int depth) {
  BreakReason found = BreakReason::kNone;
  for (const jit::Use& use : value->uses()) {
    const jit::Node* const user = use.user;
    BreakReason reason = BreakReason::kNone;
    if (user->kind() == prim::If && use.offset == 0) {
      reason = Raises(user->blocks()[0]) || Raises(user->blocks()[1]) ? BreakReason::kAssertOnData
                                                                      : BreakReason::kBranchOnData;
    } else if (user->kind() == prim::Loop && use.offset < 2) {
      reason = BreakReason::kLoopOnData;
    } else if (user->kind() == prim::Return && use.offset == 0 &&
               user->owningBlock()->owningNode() != nullptr &&
               user->owningBlock()->owningNode()->kind() == prim::Loop) {
      reason = BreakReason::kLoopOnData;
    } else if (depth < 4 && user->outputs().size() == 1 &&
               user->output()->type()->kind() == c10::TypeKind::BoolType) {
      reason = ReasonOfUses(user->output(), depth + 1);
    }
    if (found == BreakReason::kNone) found = reason;
  }
  return found;
}

}  // namespace

BreakReason ReasonOfReading(const StepPlan& step) {
  if (step.out.size() != 1) return BreakReason::kDataRead;
  const jit::Value* const output = step.node->output();
  const BreakReason reason = ReasonOfUses(output, 0);
  if (reason != BreakReason::kNone) return reason;
  const bool is_number =
      output->type()->isSubtypeOf(*c10::NumberType::get()) || step.node->kind() == c10::aten::Bool;
  return is_number ? BreakReason::kNumberFromTensor : BreakReason::kDataRead;
}

const torchscript::Place& PlaceOfStep(const StepPlan& step) {
  if (!step.place) {
    step.place = torchscript::PlaceOf(*step.node);
    if (step.place->line == 0)
      step.place = torchscript::PlaceOf(torchscript::NearestWithPlace(*step.node));
  }
  return *step.place;
}

std::string SourceLineOf(const StepPlan& step) {
  jit::SourceRange range = torchscript::NearestWithPlace(*step.node).sourceRange();
  if (range.source() == nullptr) return "";
  if (const auto original = range.findSourceRangeThatGenerated();
      original && original->source() != nullptr) {
    range = *original;
  }
  const auto& source = range.source();
  if (range.start() > source->size()) return "";
  const std::string line = source->get_line(source->lineno_for_offset(range.start())).str();
  return Printable(absl::StripAsciiWhitespace(line), 200);
}

bool IsCustom(const StepPlan& step) {
  return !absl::StartsWith(step.schema->name(), "aten::") &&
         !absl::StartsWith(step.schema->name(), "prim::");
}

absl::flat_hash_set<std::string> OperatorsToBreakOn(const std::vector<std::string>& names) {
  absl::flat_hash_set<std::string> operators;
  for (const std::string& name : names)
    operators.insert(absl::StrContains(name, "::") ? name : absl::StrCat("aten::", name));
  return operators;
}

void AddAssigned(const jit::Block& block, Attributes* assigned) {
  std::vector<const jit::Block*> blocks = {&block};
  while (!blocks.empty()) {
    const jit::Block* const next = blocks.back();
    blocks.pop_back();
    for (const jit::Node* node : next->nodes()) {
      blocks.insert(blocks.end(), node->blocks().begin(), node->blocks().end());
      if (node->kind() == prim::SetAttr)
        assigned->insert(
            {node->input(0)->type()->castRaw<c10::ClassType>(), node->s(c10::attr::name)});
    }
  }
}

}  // namespace graphnet::extract
