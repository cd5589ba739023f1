// Follows blocks, branches, loops, calls and attributes of a program.
#include "graphnet/extract/foreteller.h"

#include <algorithm>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/extract/break_rules.h"
#include "graphnet/formats/torchscript/program.h"
#include "torch/csrc/jit/ir/constants.h"

namespace graphnet::extract {

namespace jit = torch::jit;
namespace prim = c10::prim;
namespace aten = c10::aten;
namespace attr = c10::attr;
using c10::IValue;

namespace {

// Loops of a known and small number of iterations are followed one by one.
constexpr int64_t kMaxTurns = 64;
// Times that an iteration is followed before it must have reached a fixed point.
constexpr int kMaxRounds = 8;

std::optional<bool> Decided(const AbstractValue& value) {
  if (!value.constant || !value.constant->isBool()) return std::nullopt;
  return value.constant->toBool();
}

}  // namespace

Foreteller::Foreteller(const CaptureOptions& options)
    : options_(options),
      budget_(static_cast<uint64_t>(std::max<int64_t>(options.max_steps, 0))),
      break_on_(OperatorsToBreakOn(options.break_on)) {}

absl::StatusOr<bool> Foreteller::Run(const jit::Module& module, jit::GraphFunction& function) {
  FindAssigned(module);
  Values arguments = {memory_.OfIValue(module._ivalue(), /*of_attribute=*/true)};
  const auto& formals = function.getSchema().arguments();
  for (size_t i = 1; i < formals.size(); ++i)
    arguments.push_back(memory_.OfType(*formals[i].type()));
  AbstractValue result;
  return RunGraph(*function.graph(), std::move(arguments), nullptr, &result);
}

absl::Status Foreteller::TooMuch(const StepPlan& step) const {
  return torchscript::ErrorAtNode(
      *step.node, absl::StrCat("foretelling takes more than ", options_.max_steps, " steps"));
}

Foreteller::Outcome Foreteller::RunGraph(const jit::Graph& graph, Values arguments,
                                         const jit::Node* node, AbstractValue* result) {
  const absl::Cleanup leave = [this] { --depth_; };
  if (++depth_ > kMaxNesting)
    return torchscript::ErrorAtNode(*node, absl::StrCat("calls nest deeper than ", kMaxNesting));
  ASSIGN_OR_RETURN(const FunctionPlan* plan, planner_.Plan(graph, node));
  if (plan->body.inputs.size() != arguments.size())
    return absl::InvalidArgumentError("a call has another number of arguments than the function");
  Frame frame{.slots = Values(plan->num_slots)};
  for (size_t i = 0; i < arguments.size(); ++i)
    frame.slots[static_cast<size_t>(plan->body.inputs[i])] = std::move(arguments[i]);
  ASSIGN_OR_RETURN(const bool completes, RunBlock(plan->body, &frame));
  if (!completes) return false;
  Values results;
  for (const int slot : plan->body.outputs)
    results.push_back(frame.slots[static_cast<size_t>(slot)]);
  *result = results.size() == 1 ? results[0] : AbstractMemory::Tuple(std::move(results));
  return true;
}

Foreteller::Outcome Foreteller::RunBlock(const BlockPlan& block, Frame* frame) {
  for (const StepPlan& step : block.steps) {
    if (!memory_.Charge()) return TooMuch(step);
    ASSIGN_OR_RETURN(const bool completes, RunStep(step, frame));
    if (memory_.is_exhausted()) return TooMuch(step);
    if (!completes) return false;
    for (const int slot : step.dead) frame->slots[static_cast<size_t>(slot)] = {};
  }
  return true;
}

Foreteller::Outcome Foreteller::RunStep(const StepPlan& step, Frame* frame) {
  const jit::Node& node = *step.node;
  const auto in = [&](size_t i) -> const AbstractValue& {
    return frame->slots[static_cast<size_t>(step.in[i])];
  };
  const auto inputs = [&](size_t from = 0) {
    Values values;
    for (size_t i = from; i < step.in.size(); ++i) values.push_back(in(i));
    return values;
  };
  const auto set = [&](AbstractValue value) {
    if (!step.out.empty()) frame->slots[static_cast<size_t>(step.out[0])] = std::move(value);
    return true;
  };
  const auto unpack = [&](const Values* elements) {
    for (size_t i = 0; i < step.out.size(); ++i) {
      frame->slots[static_cast<size_t>(step.out[i])] =
          elements != nullptr && i < elements->size() ? (*elements)[i]
                                                      : Made(*node.outputs()[i]->type(), {in(0)});
    }
    return true;
  };
  switch (node.kind()) {
    case prim::Constant: return set(memory_.OfIValue(step.constant, /*of_attribute=*/false));
    case prim::If: return RunIf(step, frame);
    case prim::Loop: return RunLoop(step, frame);
    case prim::CallFunction: {
      const auto type = node.input(0)->type()->cast<c10::FunctionType>();
      if (type == nullptr) return torchscript::CannotRepresent(node, "the function is not known");
      return Call(step, frame, *type->function(), inputs(1));
    }
    case prim::CallMethod: return CallMethod(step, frame, node.s(attr::name), inputs());
    case prim::Enter: return CallMethod(step, frame, "__enter__", inputs());
    case prim::Exit: {
      const AbstractValue none = AbstractMemory::Constant(IValue());
      return CallMethod(step, frame, "__exit__", {in(0), none, none, none});
    }
    case prim::fork: {
      AbstractValue result;
      ASSIGN_OR_RETURN(const bool completes,
                       RunGraph(*node.g(attr::Subgraph), inputs(), &node, &result));
      return set(std::move(result)) && completes;
    }
    case aten::wait: return set(in(0));
    case prim::unchecked_cast:
    case prim::unchecked_unwrap_optional: {
      AbstractValue value = in(0);
      const bool is_none = value.constant && value.constant->isNone();
      value.may_be_none &= node.output()->type()->kind() == c10::TypeKind::OptionalType;
      return set(std::move(value)) && !(is_none && node.kind() == prim::unchecked_unwrap_optional);
    }
    case prim::Uninitialized: return set({});
    case prim::GetAttr: return set(GetAttr(step, in(0)));
    case prim::SetAttr: SetAttr(step, in(0), in(1)); return true;
    case prim::CreateObject: return set(memory_.NewObject());
    case prim::TupleConstruct: return set(AbstractMemory::Tuple(inputs()));
    case prim::ListConstruct: return set(memory_.List(inputs()));
    case prim::DictConstruct: {
      AbstractValue any;
      for (size_t i = 0; i + 1 < step.in.size(); i += 2) any = memory_.Join(any, in(i + 1));
      return set(memory_.Container(std::move(any)));
    }
    case prim::TupleUnpack: return unpack(in(0).elements.get());
    case prim::ListUnpack: return unpack(memory_.ElementsOf(in(0)));
    case prim::TupleSlice: {
      const auto begin = static_cast<size_t>(node.i(attr::beg));
      const auto end = static_cast<size_t>(node.i(attr::end));
      const auto& all = in(0).elements;
      if (all == nullptr || begin > end || end > all->size())
        return set(Made(*node.output()->type(), {in(0)}));
      return set(AbstractMemory::Tuple(Values(all->begin() + static_cast<ptrdiff_t>(begin),
                                              all->begin() + static_cast<ptrdiff_t>(end))));
    }
    case prim::TupleIndex: {
      const auto& all = in(0).elements;
      const auto& index = in(1).constant;
      if (all == nullptr || !index || !index->isInt())
        return set(Made(*node.output()->type(), {in(0)}));
      const auto size = static_cast<int64_t>(all->size());
      const int64_t i = index->toInt() < 0 ? index->toInt() + size : index->toInt();
      return i >= 0 && i < size && set((*all)[static_cast<size_t>(i)]);
    }
    case prim::isinstance: return set(AbstractMemory::Number(in(0).of_data));
    case prim::RaiseException: return false;
    case prim::Print: Break(step, BreakReason::kPrint, "prim::Print"); return true;
    case aten::warn: Break(step, BreakReason::kWarning, "aten::warn"); return true;
    default: return RunOperator(step, frame, inputs());
  }
}

template <typename What>
Foreteller::Outcome Foreteller::Under(Breaks* breaks, What&& what) {
  Breaks* const outer = std::exchange(breaks_, breaks);
  memory_.Open();
  Outcome outcome = what();
  memory_.Close();
  breaks_ = outer;
  return outcome;
}

Foreteller::Outcome Foreteller::RunIf(const StepPlan& step, Frame* frame) {
  const AbstractValue condition = frame->slots[static_cast<size_t>(step.in[0])];
  const auto yielded = [&](const BlockPlan& block) {
    Values values;
    for (const int slot : block.outputs) values.push_back(frame->slots[static_cast<size_t>(slot)]);
    return values;
  };
  const auto set = [&](Values values) {
    for (size_t i = 0; i < step.out.size(); ++i)
      frame->slots[static_cast<size_t>(step.out[i])] = std::move(values[i]);
    return true;
  };
  if (const std::optional<bool> decided = Decided(condition)) {
    const BlockPlan& block = step.blocks[*decided ? 0 : 1];
    ASSIGN_OR_RETURN(const bool completes, RunBlock(block, frame));
    return completes && set(yielded(block));
  }
  Breaks breaks[2];
  Values values[2];
  bool completes[2];
  for (int i = 0; i < 2; ++i) {
    // Each value has a slot of its own, so the branches cannot disturb each other.
    ASSIGN_OR_RETURN(completes[i],
                     Under(&breaks[i], [&] { return RunBlock(step.blocks[i], frame); }));
    if (completes[i]) values[i] = yielded(step.blocks[i]);
  }
  // Breaks that both branches reach in any case, at one place.
  if (completes[0] == completes[1]) {
    for (const Found& found : breaks[0].all) {
      const auto other = breaks[1].by_step.find({found.step, found.reason});
      if (found.conditions.empty() && other != breaks[1].by_step.end() &&
          breaks[1].all[other->second].conditions.empty()) {
        AddBreak(found, breaks_);
      }
    }
  }
  for (int i = 0; i < 2; ++i) {
    const Condition taken = {i == 0 ? BreakCondition::Kind::kTrue : BreakCondition::Kind::kFalse,
                             condition.of_data, &step};
    // If the other branch raises an error, all runs without an error take this branch.
    const bool is_the_way = completes[i] && !completes[1 - i];
    MoveBreaks(std::move(breaks[i]), is_the_way ? nullptr : &taken, breaks_);
  }
  if (!completes[0] && !completes[1]) return false;
  if (!completes[0] || !completes[1]) return set(std::move(values[completes[0] ? 0 : 1]));
  for (size_t i = 0; i < step.out.size(); ++i) {
    AbstractValue& value = frame->slots[static_cast<size_t>(step.out[i])];
    value = memory_.Join(values[0][i], values[1][i]);
    // The condition decides between two numbers.
    if (!value.constant && condition.of_data) value.of_data = true;
  }
  return true;
}

Foreteller::Outcome Foreteller::RunTurn(const StepPlan& step, Frame* frame, AbstractValue index,
                                        Values* carried, AbstractValue* proceed) {
  const BlockPlan& body = step.blocks[0];
  const auto slot = [&](int i) -> AbstractValue& { return frame->slots[static_cast<size_t>(i)]; };
  slot(body.inputs[0]) = std::move(index);
  for (size_t k = 0; k < carried->size(); ++k) slot(body.inputs[k + 1]) = (*carried)[k];
  ASSIGN_OR_RETURN(const bool completes, RunBlock(body, frame));
  if (!completes) return false;
  *proceed = slot(body.outputs[0]);
  for (size_t k = 0; k < carried->size(); ++k) (*carried)[k] = slot(body.outputs[k + 1]);
  return true;
}

Foreteller::Outcome Foreteller::RunLoop(const StepPlan& step, Frame* frame) {
  const AbstractValue trips = frame->slots[static_cast<size_t>(step.in[0])];
  AbstractValue proceed = frame->slots[static_cast<size_t>(step.in[1])];
  Values carried;
  for (size_t i = 2; i < step.in.size(); ++i)
    carried.push_back(frame->slots[static_cast<size_t>(step.in[i])]);
  std::optional<int64_t> count;
  if (trips.constant && trips.constant->isInt()) count = trips.constant->toInt();
  const auto always = jit::toIValue(step.node->blocks()[0]->outputs()[0]);
  const bool counts = always && always->isBool() && always->toBool();
  const LoopState outer =
      std::exchange(loop_, {.num_breaks = num_breaks_, .num_calls = num_calls_});
  const absl::Cleanup leave = [&] {
    loop_ = {.is_repeatable = loop_.is_repeatable && outer.is_repeatable,
             .keeps_sizes = loop_.keeps_sizes && outer.keeps_sizes,
             .num_breaks = outer.num_breaks,
             .num_calls = outer.num_calls};
  };
  const Values initial = carried;
  int64_t turn = 0;
  // First follow the iterations that happen in any case, but only one of a long loop.
  const int64_t certain = counts && count && *count > kMaxTurns ? 1 : kMaxTurns;
  while (Decided(proceed).value_or(false) && count && turn < std::min(*count, certain)) {
    ASSIGN_OR_RETURN(const bool completes,
                     RunTurn(step, frame, AbstractMemory::Constant(turn), &carried, &proceed));
    if (!completes) return false;
    if (turn++ == 0) loop_.is_repeatable &= IsCarriedOn(step, initial, carried);
  }
  const bool is_over = (count && turn >= *count) || !Decided(proceed).value_or(true);
  if (!is_over) {
    // Then follow others up to a fixed point. Those of a long `for` happen in any case, too.
    const Condition goes_on = {BreakCondition::Kind::kTurn, proceed.of_data || trips.of_data,
                               &step};
    Breaks breaks;
    for (int round = 0; round < kMaxRounds; ++round) {
      Values next = carried;
      const size_t counted = memory_.CountFrom(memory_.num_cells());
      const size_t changes = memory_.changes();
      ASSIGN_OR_RETURN(const bool completes, Under(&breaks, [&] {
                         return RunTurn(step, frame, AbstractMemory::Number(trips.of_data), &next,
                                        &proceed);
                       }));
      bool is_new = false;
      if (completes) {
        loop_.is_repeatable &= IsCarriedOn(step, carried, next);
        for (size_t k = 0; k < carried.size(); ++k) {
          AbstractValue joined = memory_.Join(carried[k], next[k]);
          is_new |= !memory_.AreSame(joined, carried[k]);
          carried[k] = std::move(joined);
        }
      }
      is_new |= memory_.changes() != changes;
      memory_.CountFrom(counted);
      if (!is_new || memory_.is_exhausted()) break;
    }
    MoveBreaks(std::move(breaks), counts && turn > 0 ? nullptr : &goes_on, breaks_);
  }
  const std::optional<int64_t> turns = counts    ? count
                                       : is_over ? std::optional(turn)
                                                 : std::nullopt;
  BreakLongLoop(step, counts, turns, proceed.of_data || trips.of_data);
  for (size_t k = 0; k < carried.size(); ++k)
    frame->slots[static_cast<size_t>(step.out[k])] = std::move(carried[k]);
  return true;
}

void Foreteller::BreakLongLoop(const StepPlan& step, bool counts, std::optional<int64_t> turns,
                               bool on_data) {
  // A loop that records nothing does not break the graph.
  if (num_calls_ == loop_.num_calls || (turns && *turns <= options_.max_unroll)) return;
  const bool cannot_repeat = !counts || !loop_.is_repeatable || num_breaks_ != loop_.num_breaks;
  if (!cannot_repeat && (loop_.keeps_sizes || !turns)) return;
  ++num_breaks_;
  Found found = {BreakReason::kLongLoop, "prim::Loop", &step, {}};
  if (!turns) found.conditions.push_back({BreakCondition::Kind::kLong, on_data, &step});
  if (!cannot_repeat) found.conditions.push_back({BreakCondition::Kind::kData, false, &step});
  AddBreak(std::move(found), breaks_);
}

bool Foreteller::IsCarriedOn(const StepPlan& step, const Values& before, const Values& after) {
  bool any_tensor = false;
  for (size_t k = 0; k < before.size(); ++k) {
    if (step.node->outputs()[k]->type()->kind() == c10::TypeKind::TensorType) {
      any_tensor = true;
    } else if (!memory_.AreSame(before[k], after[k])) {
      return false;
    }
  }
  return any_tensor;
}

Foreteller::Outcome Foreteller::Call(const StepPlan& step, Frame* frame, jit::Function& callee,
                                     Values arguments) {
  jit::GraphFunction* const function = jit::tryToGraphFunction(callee);
  if (function == nullptr) {
    return torchscript::CannotRepresent(*step.node, absl::StrCat(callee.qualname().qualifiedName(),
                                                                 " is not written in TorchScript"));
  }
  function->ensure_defined();
  AbstractValue result;
  ASSIGN_OR_RETURN(const bool completes,
                   RunGraph(*function->graph(), std::move(arguments), step.node, &result));
  if (step.out.size() == 1) frame->slots[static_cast<size_t>(step.out[0])] = std::move(result);
  return completes;
}

Foreteller::Outcome Foreteller::CallMethod(const StepPlan& step, Frame* frame,
                                           const std::string& name, Values arguments) {
  const AbstractValue& self = arguments[0];
  jit::Function* method = nullptr;
  if (self.object != nullptr) {
    method = self.object->type()->findMethod(name);
  } else if (const auto type = step.node->input(0)->type()->cast<c10::ClassType>()) {
    method = type->findMethod(name);
  }
  if (method != nullptr && jit::tryToGraphFunction(*method) != nullptr)
    return Call(step, frame, *method, std::move(arguments));
  const bool is_interface = step.node->input(0)->type()->kind() == c10::TypeKind::InterfaceType;
  if (method == nullptr && !is_interface)
    return torchscript::CannotRepresent(*step.node, "the method does not exist");
  if (method != nullptr) Break(step, BreakReason::kCustomClass, method->qualname().qualifiedName());
  for (size_t i = 0; i < step.out.size(); ++i) {
    frame->slots[static_cast<size_t>(step.out[i])] =
        memory_.OfType(*step.node->outputs()[i]->type());
  }
  return true;
}

void Foreteller::FindAssigned(const jit::Module& module) {
  absl::flat_hash_set<const c10::ClassType*> types;
  for (const jit::Module& part : module.modules()) {
    if (!types.insert(part.type().get()).second) continue;
    for (jit::Function* method : part.type()->methods()) {
      jit::GraphFunction* const function = jit::tryToGraphFunction(*method);
      if (function == nullptr) continue;
      function->ensure_defined();
      AddAssigned(*function->graph()->block(), &assigned_);
    }
  }
}

AbstractValue Foreteller::GetAttr(const StepPlan& step, const AbstractValue& owner) {
  const std::string& name = step.node->s(attr::name);
  const c10::Type& type = *step.node->output()->type();
  const c10::ivalue::Object* const object = owner.object;
  if (object == nullptr) {
    if (const AbstractValue* value = memory_.Attribute(owner, name)) return *value;
    AbstractValue value = memory_.OfType(type);
    memory_.SetAttribute(owner, name, value);
    return value;
  }
  const auto slot = object->type()->findAttributeSlot(name);
  if (!slot) return memory_.OfType(type);
  const IValue& held = object->getSlot(*slot);
  const bool is_object = held.isObject() && !held.isCustomClass();
  if (!is_object && assigned_.contains({object->type().get(), name})) return memory_.OfType(type);
  AbstractValue& value = attributes_[{object, *slot}];
  if (!value.is_any) {
    value = memory_.OfIValue(held, /*of_attribute=*/true);
    if (held.isList() || held.isGenericDict()) memory_.MarkAsAttribute(value);
  }
  return value;
}

void Foreteller::SetAttr(const StepPlan& step, const AbstractValue& owner,
                         const AbstractValue& value) {
  const auto type = step.node->input(0)->type()->cast<c10::ClassType>();
  if (owner.object != nullptr || (owner.cell < 0 && type != nullptr && type->is_module())) {
    Break(step, BreakReason::kAttributeAssigned, "prim::SetAttr");
  } else {
    memory_.SetAttribute(owner, step.node->s(attr::name), value);
  }
}

void Foreteller::Break(const StepPlan& step, BreakReason reason, const std::string& op,
                       Certainty certainty) {
  if (certainty == Certainty::kNever) return;
  ++num_breaks_;
  Found found = {reason, op, &step, {}};
  if (certainty == Certainty::kSometimes)
    found.conditions.push_back({BreakCondition::Kind::kData, true, &step});
  AddBreak(std::move(found), breaks_);
}

void Foreteller::AddBreak(Found found, Breaks* breaks) {
  const auto [it, is_new] =
      breaks->by_step.try_emplace({found.step, found.reason}, breaks->all.size());
  if (is_new) {
    breaks->all.push_back(std::move(found));
  } else if (found.conditions.size() < breaks->all[it->second].conditions.size()) {
    breaks->all[it->second] = std::move(found);
  }
}

void Foreteller::MoveBreaks(Breaks from, const Condition* condition, Breaks* to) {
  for (Found& found : from.all) {
    // In a deep nest, the innermost conditions are enough to find the break.
    if (condition != nullptr && found.conditions.size() < kMaxNesting)
      found.conditions.insert(found.conditions.begin(), *condition);
    AddBreak(std::move(found), to);
  }
}

}  // namespace graphnet::extract
