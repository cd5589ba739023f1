// Follows operators of a program.
#include <algorithm>
#include <set>
#include <utility>

#include "ATen/ATen.h"
#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "graphnet/extract/break_rules.h"
#include "graphnet/extract/foreteller.h"
#include "graphnet/facts/shapes/result_rules.h"

namespace graphnet::extract {

namespace jit = torch::jit;
namespace prim = c10::prim;
using c10::IValue;

namespace {

constexpr size_t kMaxText = 1000;

bool IsScalar(const c10::Type& type) {
  switch (type.kind()) {
    case c10::TypeKind::BoolType:
    case c10::TypeKind::IntType:
    case c10::TypeKind::FloatType:
    case c10::TypeKind::NumberType: return true;
    default: return false;
  }
}

// Returns the alias sets of an argument, such as `a` in "Tensor(a)" and "Tensor(a)[]".
std::set<c10::Symbol> SetsOf(const c10::Argument& argument) {
  std::set<c10::Symbol> sets;
  const c10::AliasInfo* const alias = argument.alias_info();
  if (alias == nullptr) return sets;
  const auto add = [&](const c10::AliasInfo& of) {
    for (const c10::Symbol symbol : of.beforeSets()) {
      if (symbol != c10::AliasInfo::wildcardSet()) sets.insert(symbol);
    }
  };
  add(*alias);
  for (const c10::AliasInfo& of : alias->containedTypes()) add(of);
  return sets;
}

bool Share(const std::set<c10::Symbol>& a, const std::set<c10::Symbol>& b) {
  return absl::c_any_of(a, [&](c10::Symbol symbol) { return b.contains(symbol); });
}

at::Tensor OnMeta(at::IntArrayRef sizes, at::MemoryFormat format) {
  return at::empty(sizes, at::TensorOptions(at::kMeta), format);
}

at::Tensor Apart() {
  return at::empty({300}, at::TensorOptions(at::kMeta))
      .as_strided({2, 3, 4, 5}, {120, 40, 10, 2}, 1);
}

// Returns an operand of that type, for operators that do not look at data; nullopt for other types.
std::optional<IValue> Stand(const c10::Type& type, const at::Tensor& tensor) {
  switch (type.kind()) {
    case c10::TypeKind::TensorType: return IValue(tensor);
    case c10::TypeKind::NoneType:
    case c10::TypeKind::OptionalType: return IValue();
    case c10::TypeKind::BoolType: return IValue(false);
    case c10::TypeKind::NumberType:
    case c10::TypeKind::IntType: return IValue(int64_t{0});
    case c10::TypeKind::FloatType: return IValue(0.0);
    default: return std::nullopt;
  }
}

std::optional<std::vector<IValue>> TryOn(const StepPlan& step, const at::Tensor& tensor) {
  std::vector<IValue> stack;
  for (const jit::Value* operand : step.node->inputs()) {
    std::optional<IValue> value = Stand(*operand->type(), tensor);
    if (!value) return std::nullopt;
    stack.push_back(*std::move(value));
  }
  try {
    Execute(step, &stack);
    return stack;
  } catch (...) {
    return std::nullopt;
  }
}

const ResultRule& RuleOf(const StepPlan& step) {
  absl::string_view name = step.schema->name();
  name.remove_prefix(std::min(name.size(), name.find("::") + 2));
  return ResultRuleOf(name);
}

}  // namespace

bool Foreteller::AnyOfData(const Values& operands) const {
  return absl::c_any_of(operands, [](const AbstractValue& value) { return value.of_data; });
}

Foreteller::Certainty Foreteller::Any(const Values& operands, uint8_t fact, uint8_t opposite) {
  Certainty found = Certainty::kNever;
  for (const AbstractValue& operand : operands) {
    memory_.ForEachTensor(operand, [&](const AbstractValue& tensor) {
      const uint8_t facts = memory_.FactsOf(tensor);
      if ((facts & fact) == 0) return;
      found = std::max(found, (facts & opposite) != 0 ? Certainty::kSometimes : Certainty::kAlways);
    });
  }
  return found;
}

Foreteller::Outcome Foreteller::RunOperator(const StepPlan& step, Frame* frame,
                                            const Values& operands) {
  if (step.is_random || !step.writes.empty()) loop_.is_repeatable = false;
  const auto set_of_types = [&] {
    for (size_t i = 0; i < step.out.size(); ++i) {
      frame->slots[static_cast<size_t>(step.out[i])] =
          memory_.OfType(*step.node->outputs()[i]->type());
      frame->slots[static_cast<size_t>(step.out[i])].of_data = true;
    }
  };
  if (IsCustom(step)) {
    Break(step, BreakReason::kCustomOperator, step.schema->name());
    set_of_types();
    return true;
  }
  // A run refuses the operator and ends.
  if (!step.is_allowed) return false;
  switch (step.op_class) {
    case OpClass::kValues: RunOnValues(step, frame, operands); break;
    case OpClass::kRead: RunRead(step, frame, operands); break;
    case OpClass::kCompute: RunCompute(step, frame, operands); break;
    case OpClass::kEffect:
      if (!absl::StrContains(step.schema->name(), "grad_enabled"))
        Break(step, BreakReason::kSideEffect, step.schema->name());
      break;
  }
  return true;
}

std::optional<AbstractValue> Foreteller::Fold(const StepPlan& step, const Values& operands) {
  if (step.node->outputs().size() != 1 || !step.writes.empty() || step.is_random)
    return std::nullopt;
  const c10::Type& type = *step.node->output()->type();
  const std::string& name = step.schema->name();
  if (name == "aten::__getitem__" && operands.size() == 2 && operands[1].constant &&
      operands[1].constant->isInt()) {
    if (const std::vector<AbstractValue>* elements = memory_.ElementsOf(operands[0])) {
      const auto size = static_cast<int64_t>(elements->size());
      int64_t i = operands[1].constant->toInt();
      if (i < 0) i += size;
      if (i >= 0 && i < size) return (*elements)[static_cast<size_t>(i)];
    }
    return std::nullopt;
  }
  if (name == "aten::len" && operands.size() == 1) {
    if (const std::vector<AbstractValue>* elements = memory_.ElementsOf(operands[0]))
      return AbstractMemory::Constant(static_cast<int64_t>(elements->size()));
  }
  // A tensor or module is not None.
  if ((name == "aten::__is__" || name == "aten::__isnot__") && operands.size() == 2) {
    for (size_t i = 0; i < 2; ++i) {
      const AbstractValue &value = operands[i], &none = operands[1 - i];
      if (!none.constant || !none.constant->isNone() || value.constant) continue;
      if (value.is_any && !value.may_be_none)
        return AbstractMemory::Constant(name == "aten::__isnot__");
    }
  }
  if (!IsScalar(type)) return std::nullopt;
  std::vector<IValue> stack;
  for (size_t i = 0; i < operands.size(); ++i) {
    std::optional<IValue> constant =
        memory_.ConstantOf(operands[i], *step.node->inputs()[i]->type());
    const bool is_short =
        constant &&
        (constant->isNone() || constant->isScalar() || constant->isBool() || constant->isList() ||
         (constant->isString() && constant->toStringRef().size() <= kMaxText));
    if (!is_short) return std::nullopt;
    stack.push_back(*std::move(constant));
  }
  try {
    Execute(step, &stack);
  } catch (...) {
    return std::nullopt;  // A run raises here, too, or does not get here.
  }
  if (stack.size() != 1) return std::nullopt;
  return AbstractMemory::Constant(std::move(stack[0]));
}

AbstractValue Foreteller::Made(const c10::Type& type, const Values& operands, int depth) {
  if (depth > 16 || !memory_.Charge()) return memory_.OfType(type);
  const bool of_data = AnyOfData(operands);
  switch (type.kind()) {
    case c10::TypeKind::TensorType: {
      AbstractValue any;
      for (const AbstractValue& operand : operands) {
        memory_.ForEachTensor(
            operand, [&](const AbstractValue& tensor) { any = memory_.Join(any, tensor); });
      }
      if (!any.is_any) return memory_.OfType(type);
      // Only the facts of a tensor count.
      any.elements = nullptr;
      any.constant.reset();
      return any;
    }
    case c10::TypeKind::OptionalType:
    case c10::TypeKind::FutureType: return Made(*type.containedType(0), operands, depth + 1);
    case c10::TypeKind::ListType:
      return memory_.Container(Made(*type.containedType(0), operands, depth + 1));
    case c10::TypeKind::DictType:
      return memory_.Container(Made(*type.containedType(1), operands, depth + 1));
    case c10::TypeKind::TupleType: {
      Values elements;
      for (const c10::TypePtr& element : type.containedTypes())
        elements.push_back(Made(*element, operands, depth + 1));
      return AbstractMemory::Tuple(std::move(elements));
    }
    default: {
      AbstractValue value = memory_.OfType(type);
      value.of_data = of_data;
      value.is_foreign = absl::c_any_of(
          operands, [&](const AbstractValue& operand) { return memory_.HoldsForeign(operand); });
      return value;
    }
  }
}

void Foreteller::RunOnValues(const StepPlan& step, Frame* frame, const Values& operands) {
  const auto set = [&](size_t i, AbstractValue value) {
    frame->slots[static_cast<size_t>(step.out[i])] = std::move(value);
  };
  if (std::optional<AbstractValue> folded = Fold(step, operands)) {
    set(0, *std::move(folded));
    return;
  }
  const bool yields_text =
      step.out.size() == 1 && step.node->output()->type()->kind() == c10::TypeKind::StringType;
  if (yields_text)
    Break(step, BreakReason::kDataRead, step.schema->name(), Any(operands, kUnknown, kKnown));
  for (const int i : step.writes) {
    if (static_cast<size_t>(i) >= operands.size()) continue;
    const AbstractValue& container = operands[static_cast<size_t>(i)];
    for (size_t k = 0; k < operands.size(); ++k) {
      if (k == static_cast<size_t>(i)) continue;
      // Adding a list to another one adds its elements.
      const bool is_list = step.node->inputs()[k]->type()->isSubtypeOf(
          *step.node->inputs()[static_cast<size_t>(i)]->type());
      memory_.Add(container, is_list ? memory_.ElementOf(operands[k]) : operands[k]);
    }
    if (operands.size() == 1) memory_.Add(container, {});
    if (memory_.IsAttribute(container))
      Break(step, BreakReason::kAttributeMutated, "prim::SetAttr");
  }
  for (size_t i = 0; i < step.out.size(); ++i) {
    const c10::Type& type = *step.node->outputs()[i]->type();
    const c10::Argument* const formal =
        i < step.schema->returns().size() ? &step.schema->returns()[i] : nullptr;
    const c10::AliasInfo* const alias = formal != nullptr ? formal->alias_info() : nullptr;
    if (alias != nullptr && alias->isWrite() && !step.writes.empty()) {
      set(i, operands[static_cast<size_t>(step.writes[0])]);
      continue;
    }
    const bool is_element = formal != nullptr && !operands.empty() && step.takes_any_list &&
                            formal->type()->kind() == c10::TypeKind::VarType;
    AbstractValue element = is_element ? memory_.ElementOf(operands[0]) : AbstractValue();
    set(i, element.is_any ? std::move(element) : Made(type, operands));
  }
}

Foreteller::MetaUse Foreteller::MetaUseOf(const StepPlan& step) {
  const auto [it, is_new] = meta_uses_.try_emplace(step.schema);
  if (!is_new || step.schema->is_varret()) return it->second;
  const auto dense = TryOn(step, OnMeta({2, 3, 4, 5}, at::MemoryFormat::Contiguous));
  if (!dense || dense != TryOn(step, OnMeta({2, 3, 4, 5}, at::MemoryFormat::ChannelsLast)) ||
      dense != TryOn(step, Apart())) {
    return it->second;
  }
  it->second.only = true;
  it->second.of_sizes = dense != TryOn(step, OnMeta({3, 4, 5, 6}, at::MemoryFormat::Contiguous));
  return it->second;
}

void Foreteller::RunRead(const StepPlan& step, Frame* frame, const Values& operands) {
  Certainty reads = Any(operands, kUnknown, kKnown);
  if (reads == Certainty::kNever) {
    RunOnValues(step, frame, operands);
    return;
  }
  if (const MetaUse use = MetaUseOf(step); use.only)
    reads = use.of_sizes ? Any(operands, kDataSizes, kFixedSizes) : Certainty::kNever;
  Break(step, ReasonOfReading(step), step.schema->name(), reads);
  for (size_t i = 0; i < step.out.size(); ++i) {
    AbstractValue value = memory_.OfType(*step.node->outputs()[i]->type());
    value.of_data = reads != Certainty::kNever;
    frame->slots[static_cast<size_t>(step.out[i])] = std::move(value);
  }
}

std::vector<std::pair<size_t, Foreteller::Certainty>> Foreteller::Writes(const StepPlan& step,
                                                                         const Values& operands) {
  std::vector<std::pair<size_t, Certainty>> writes;
  for (const int i : step.writes) writes.emplace_back(static_cast<size_t>(i), Certainty::kAlways);
  // The schemas of normalisations do not show their writes.
  const auto& formals = step.schema->arguments();
  Certainty trains = Certainty::kNever;
  for (size_t i = 0; i < formals.size() && i < operands.size(); ++i) {
    if (formals[i].name() != "training" && formals[i].name() != "use_input_stats") continue;
    const auto& flag = operands[i].constant;
    trains = !flag                              ? Certainty::kSometimes
             : flag->isBool() && flag->toBool() ? Certainty::kAlways
                                                : Certainty::kNever;
  }
  for (size_t i = 0; i < formals.size() && i < operands.size(); ++i) {
    if (trains != Certainty::kNever && absl::StartsWith(formals[i].name(), "running_"))
      writes.emplace_back(i, trains);
  }
  return writes;
}

bool Foreteller::TakesReadNumbers(const Values& operands) {
  return absl::c_any_of(operands, [this](const AbstractValue& operand) {
    if (operand.of_data && operand.tensor == 0) return true;
    const std::vector<AbstractValue>* const elements = memory_.ElementsOf(operand);
    return elements != nullptr && absl::c_any_of(*elements, [](const AbstractValue& element) {
             return element.of_data && element.tensor == 0;
           });
  });
}

// Returns true if such a number is an int or in a list of ints: a bound, an index or a size.
bool Foreteller::TakesReadSizes(const StepPlan& step, const Values& operands) {
  const auto& formals = step.schema->arguments();
  for (size_t i = 0; i < formals.size() && i < operands.size(); ++i) {
    const c10::TypePtr& type = formals[i].type();
    const bool is_size = type->isSubtypeOf(*c10::OptionalType::create(c10::IntType::get())) ||
                         torchscript::Holds(*type, {c10::TypeKind::IntType});
    if (is_size && TakesReadNumbers({operands[i]})) return true;
  }
  return false;
}

// Returns true if the operator's tag says that sizes may depend on data, and here they do.
bool Foreteller::YieldsDataSizes(const StepPlan& step, const Values& operands) {
  if (!step.sizes_may_depend_on_data) return false;
  const auto& formals = step.schema->arguments();
  bool is_index = false;
  for (size_t i = 0; i < formals.size() && i < operands.size(); ++i) {
    // The size may be given.
    if (absl::StrContains(formals[i].name(), "output_size") &&
        !(operands[i].constant && operands[i].constant->isNone())) {
      return false;
    }
    is_index |= formals[i].name() == "indices";
  }
  if (!is_index) return true;
  // Among indices, only the data of masks decides on sizes.
  return operands.size() > 1 && Any({operands[1]}, kBool, kOtherDtype) == Certainty::kAlways;
}

uint8_t Foreteller::DtypeOfResult(const StepPlan& step, const Values& operands) {
  constexpr uint8_t kEither = kBool | kOtherDtype;
  const auto& formals = step.schema->arguments();
  for (size_t i = 0; i < formals.size() && i < operands.size(); ++i) {
    const auto& given = operands[i].constant;
    if (formals[i].name() == "dtype" && !(given && given->isNone())) {
      if (!given || !given->isInt()) return kEither;
      return given->toInt() == static_cast<int64_t>(at::kBool) ? kBool : kOtherDtype;
    }
  }
  const absl::string_view type = RuleOf(step).type;
  if (type == "bool") return kBool;
  std::vector<uint8_t> dtypes;
  for (const AbstractValue& operand : operands) {
    memory_.ForEachTensor(operand, [&](const AbstractValue& tensor) {
      dtypes.push_back(static_cast<uint8_t>(tensor.tensor & kEither));
    });
  }
  if (dtypes.empty()) return kOtherDtype;
  if (type == "first" || type == "picked" || type == "to") return dtypes[0];
  if (type == "second") return dtypes.size() > 1 ? dtypes[1] : kEither;
  if (type != "common" && type != "alike" && type != "-") return kOtherDtype;
  // The result is bool if all operands are.
  uint8_t common = dtypes[0];
  for (const uint8_t dtype : dtypes) {
    if (dtype != common) common = (dtype & common & kBool) != 0 ? kEither : uint8_t{kOtherDtype};
  }
  return common;
}

AbstractValue Foreteller::ResultOf(const StepPlan& step, size_t i, const Values& operands,
                                   uint8_t facts) {
  const c10::TypePtr type = step.node->outputs()[i]->type();
  const auto& formals = step.schema->arguments();
  AbstractValue shared;
  if (i < step.schema->returns().size()) {
    const std::set<c10::Symbol> sets = SetsOf(step.schema->returns()[i]);
    for (size_t k = 0; k < formals.size() && k < operands.size() && !sets.empty(); ++k) {
      if (!Share(sets, SetsOf(formals[k]))) continue;
      memory_.ForEachTensor(
          operands[k], [&](const AbstractValue& tensor) { shared = memory_.Join(shared, tensor); });
    }
  }
  const auto tensor = [&] {
    AbstractValue made = memory_.Tensor(facts);
    if (shared.is_any && shared.cell >= 0) made.cell = shared.cell;
    return made;
  };
  if (type->kind() == c10::TypeKind::TensorType) return tensor();
  if (type->kind() == c10::TypeKind::ListType &&
      type->containedType(0)->kind() == c10::TypeKind::TensorType) {
    return memory_.Container(tensor());
  }
  return memory_.OfType(*type);
}

void Foreteller::RunCompute(const StepPlan& step, Frame* frame, const Values& operands) {
  ++num_calls_;
  const absl::string_view sizes = RuleOf(step).sizes;
  loop_.keeps_sizes &= sizes == "same" || sizes == "broadcast" || sizes == "second";
  // A number that was read from a tensor is not known, and may be a size of the result.
  const Certainty of_numbers =
      TakesReadNumbers(operands) ? Certainty::kSometimes : Certainty::kNever;
  const Certainty unknown = std::max(of_numbers, Any(operands, kUnknown, kKnown));
  const Certainty data_sizes =
      std::max(TakesReadSizes(step, operands) ? of_numbers : Certainty::kNever,
               Any(operands, kDataSizes, kFixedSizes));
  const auto writes = Writes(step, operands);
  Certainty to_attribute = Certainty::kNever;
  for (const auto& [i, certainty] : writes) {
    to_attribute =
        std::max(to_attribute, std::min(certainty, Any({operands[i]}, kAttribute, kOther)));
  }
  if (absl::c_any_of(operands, [&](const AbstractValue& o) { return memory_.HoldsForeign(o); })) {
    Break(step, BreakReason::kCustomOperator, step.schema->name());
  } else if (to_attribute != Certainty::kNever) {
    Break(step, BreakReason::kAttributeMutated, step.schema->name(), to_attribute);
  } else if (break_on_.contains(step.schema->name())) {
    Break(step, BreakReason::kAsked, step.schema->name());
  } else if (step.yields_list) {
    Break(step, BreakReason::kDataRead, step.schema->name(), data_sizes);
  }
  const auto pair = [](Certainty certainty, uint8_t fact, uint8_t opposite) {
    uint8_t facts = 0;
    if (certainty != Certainty::kNever) facts |= fact;
    if (certainty != Certainty::kAlways) facts |= opposite;
    return facts;
  };
  const Certainty is_unknown = step.is_random ? Certainty::kAlways : unknown;
  const bool by_itself = is_unknown != Certainty::kNever && YieldsDataSizes(step, operands);
  const auto facts = static_cast<uint8_t>(
      uint8_t{kOther} | pair(is_unknown, kUnknown, kKnown) | DtypeOfResult(step, operands) |
      pair(by_itself ? Certainty::kAlways : data_sizes, kDataSizes, kFixedSizes));
  if (is_unknown != Certainty::kNever) {
    for (const auto& [i, certainty] : writes) {
      loop_.is_repeatable = false;
      Values written;
      memory_.ForEachTensor(operands[i], [&](const AbstractValue& t) { written.push_back(t); });
      for (const AbstractValue& tensor : written) memory_.Forget(tensor);
    }
  }
  for (size_t i = 0; i < step.out.size(); ++i)
    frame->slots[static_cast<size_t>(step.out[i])] = ResultOf(step, i, operands, facts);
}

}  // namespace graphnet::extract
