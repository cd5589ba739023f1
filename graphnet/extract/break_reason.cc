#include "graphnet/extract/break_reason.h"

#include "absl/strings/str_cat.h"

namespace graphnet {
namespace {

constexpr BreakReasonText kEnd = {BreakReason::kNone, "end", "the program returned", ""};

constexpr BreakReasonText kReasons[] = {
    {BreakReason::kBranchOnData, "branch-on-data", "an `if` depends on the data of a tensor",
     "compute both sides and choose with torch.where"},
    {BreakReason::kLoopOnData, "loop-on-data",
     "the length of a loop depends on the data of a tensor",
     "run a fixed number of steps and mask the surplus"},
    {BreakReason::kAssertOnData, "assert-on-data",
     "an assertion, or an error that is raised, depends on the data of a tensor",
     "check sizes and dtypes, which are known while capturing, or remove the check"},
    {BreakReason::kNumberFromTensor, "number-from-tensor",
     "a tensor becomes a number: .item(), int(t), float(t), bool(t)",
     "keep it a tensor with one element"},
    {BreakReason::kDataRead, "data-read",
     "the data of a tensor becomes a list, a string, a size or a comparison's result: .tolist(), "
     "str(t), x[x > 0].size(0), torch.equal",
     "keep it a tensor, or do it after the model"},
    {BreakReason::kPrint, "print", "the program prints", "remove the print"},
    {BreakReason::kWarning, "warning", "the program warns", "remove the warning"},
    {BreakReason::kAttributeAssigned, "attribute-assigned",
     "an attribute of a module gets another value",
     "return the value and keep it outside the model"},
    {BreakReason::kAttributeMutated, "attribute-mutated",
     "a parameter, buffer or list of a module is changed in place",
     "call eval() before scripting, or return the new value"},
    {BreakReason::kSideEffect, "side-effect",
     "an operator without a result changes something besides tensors", "do it outside the model"},
    {BreakReason::kCustomOperator, "custom-operator",
     "the operator is not one of ATen's, or takes an object of a class that is written in C++",
     "write it with PyTorch's operators"},
    {BreakReason::kAsked, "asked", "the operator was named by --break-on",
     "remove it from --break-on"},
    {BreakReason::kLongLoop, "long-loop",
     "a loop has run --max-unroll more iterations and cannot become a while_loop: it writes, "
     "draws, breaks, "
     "appends, or its sizes or numbers change",
     "keep the values that an iteration changes in tensors of fixed sizes, or raise --max-unroll"},
    {BreakReason::kCustomClass, "custom-class",
     "a method of a class that is written in C++ (torchbind) is called",
     "write the class in TorchScript"},
};

}  // namespace

absl::Span<const BreakReasonText> BreakReasons() { return kReasons; }

const BreakReasonText& TextOf(BreakReason reason) {
  for (const BreakReasonText& text : kReasons) {
    if (text.reason == reason) return text;
  }
  return kEnd;
}

std::string BreakReasonsMarkdown() {
  std::string out = "| reason | what happened | what helps |\n|---|---|---|\n";
  for (const BreakReasonText& text : kReasons) {
    absl::StrAppend(&out, "| `", text.name, "` | ", text.explanation, " | ", text.hint, " |\n");
  }
  return out;
}

}  // namespace graphnet
