// Handles numbers that a program reads from tensors while it is captured, and arithmetic on them.
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "graphnet/base/status.h"
#include "graphnet/extract/ivalue_tree.h"
#include "graphnet/extract/session.h"
#include "graphnet/formats/torchscript/attributes.h"

namespace graphnet::extract {

using c10::IValue;
using Values = std::vector<IValue>;

namespace {

// A list of more numbers than this keeps its value from this run.
constexpr size_t kMaxListed = 16;
// After this many operations on numbers, the numbers are pinned, as the manifest lists each one.
constexpr int kMaxNumberSteps = 4096;

bool IsNumber(const IValue& value) { return value.isInt() || value.isDouble(); }

bool IsScalar(const IValue& value) {
  return IsNumber(value) || value.isBool() || value.isSymInt() || value.isSymFloat();
}

// Returns true if it maps numbers to a number or a bool, and a stitched program can find its name.
bool IsOfNumbers(const StepPlan& step, const Values& operands) {
  if (step.op_class != OpClass::kValues || step.schema->is_vararg() || step.out.size() != 1 ||
      step.schema->returns().size() != 1 || !step.is_allowed ||
      !absl::c_all_of(operands, IsScalar)) {
    return false;
  }
  const auto& candidates =
      torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString(step.schema->name()));
  const bool has_name = absl::c_any_of(candidates, [&](const auto& candidate) {
    return candidate->schema().overload_name() == step.schema->overload_name();
  });
  return has_name && torchscript::Holds(*step.schema->returns()[0].type(),
                                        {c10::TypeKind::IntType, c10::TypeKind::FloatType,
                                         c10::TypeKind::NumberType, c10::TypeKind::BoolType});
}

}  // namespace

IValue Session::NewNumber(const IValue& example) {
  return ValueOf(c10::make_intrusive<RunNumber>(recorder_.NewNumber(), example, &on_pin_));
}

IValue Session::WithNewNumbers(const IValue& read) {
  if (IsNumber(read)) return NewNumber(read);
  const bool is_list = read.isIntList() || read.isDoubleList();
  if (!is_list || read.toListRef().size() > kMaxListed) return read;
  c10::impl::GenericList list(read.toList().elementType());
  for (const IValue& element : read.toListRef())
    list.push_back(IsNumber(element) ? NewNumber(element) : element);
  return list;
}

absl::StatusOr<bool> Session::RunOnNumbers(const StepPlan& step, Frame* frame,
                                           const Values& operands) {
  if (!IsOfNumbers(step, operands) || num_number_steps_ >= kMaxNumberSteps) return false;
  ++num_number_steps_;
  StitchStep out =
      StepAt(step, step.schema->name(), step.schema->overload_name(), BreakReason::kNone);
  Values results;
  for (const IValue& operand : operands) {
    ASSIGN_OR_RETURN(ValueTree tree, Operand(operand));
    out.operands.push_back(std::move(tree));
    results.push_back(WithoutSymbols(operand));
  }
  Execute(step, &results);
  if (IsNumber(results[0])) results[0] = NewNumber(results[0]);
  ASSIGN_OR_RETURN(ValueTree pattern, Operand(results[0]));
  out.results.push_back(std::move(pattern));
  // The open graph is added to the steps when it ends, so this step comes before it.
  capture_.manifest.steps.push_back(std::move(out));
  RETURN_IF_ERROR(SetOutputs(step, frame, std::move(results)));
  return true;
}

void Session::Pin(const RunNumber& number) {
  if (!pinned_.insert(number.id).second) return;
  // A conversion to its own type returns the number, whose pattern is the guard.
  StitchStep out = StepAt(*step_, number.example.isInt() ? "aten::Int" : "aten::Float", "Scalar",
                          BreakReason::kNone);
  ValueTree& operand = out.operands.emplace_back();
  ValueTree& expected = out.results.emplace_back();
  if (number.example.isInt()) {
    expected.kind = ValueTree::Kind::kInt;
    expected.number = number.example.toInt();
  } else {
    expected.kind = ValueTree::Kind::kFloat;
    expected.real = number.example.toDouble();
  }
  operand.kind = ValueTree::Kind::kNumber;
  operand.number = number.id;
  operand.elements = {expected};
  capture_.manifest.steps.push_back(std::move(out));
}

bool Session::SizesDependOnNumbers(const StepPlan& step, const Values& operands,
                                   const Values& results) {
  const auto sizes_of = [](const Values& values) {
    std::vector<std::vector<int64_t>> sizes;
    for (const IValue& value : values)
      ForEachTensor(value, [&](const at::Tensor& t) { sizes.push_back(t.sizes().vec()); });
    return sizes;
  };
  const auto expected = sizes_of(results);
  bool any_ran = false;
  for (const int change : {-1, 1, 2, 7919}) {
    Values stack;
    try {
      for (const IValue& operand : operands) {
        stack.push_back(MapLeaves(operand, [&](const IValue& leaf) -> IValue {
          if (const RunNumber* number = RunNumberOf(leaf)) {
            if (number->example.isInt()) return number->example.toInt() + change;
            return number->example.toDouble() + change;
          }
          if (!IsTensor(leaf)) return WithoutSymbols(leaf);
          const at::Tensor& tensor = leaf.toTensor();
          return at::empty_strided(tensor.sizes(), tensor.strides(),
                                   tensor.options().device(at::kMeta));
        }));
      }
      for (size_t i = 0; i < stack.size() && i < step.schema->arguments().size(); ++i) {
        if (step.schema->arguments()[i].name() == "device") stack[i] = c10::Device(at::kMeta);
      }
      Execute(step, &stack);
    } catch (...) {
      continue;  // The operator does not work for this number.
    }
    any_ran = true;
    if (sizes_of(stack) != expected) return true;
  }
  return !any_ran;
}

}  // namespace graphnet::extract
