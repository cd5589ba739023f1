// Captures operators of a program: records them as nodes, runs them as they are, or runs
// them between two graphs.
#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/extract/break_rules.h"
#include "graphnet/extract/ivalue_tree.h"
#include "graphnet/extract/session.h"
#include "graphnet/extract/spelling.h"

namespace graphnet::extract {

namespace jit = torch::jit;
namespace prim = c10::prim;
namespace aten = c10::aten;
using c10::IValue;
using Values = std::vector<IValue>;

namespace {

using Change = absl::FunctionRef<at::Tensor(const at::Tensor&)>;

// Returns the step's results for `operands` with replaced tensors; nullopt if it does not
// work on them.
std::optional<Values> Try(const StepPlan& step, const Values& operands, Change change) {
  if (step.schema->is_varret()) return std::nullopt;
  try {
    Values stack;
    for (const IValue& operand : operands) {
      stack.push_back(MapLeaves(operand, [&](const IValue& leaf) {
        return IsTensor(leaf) ? IValue(change(leaf.toTensor())) : leaf;
      }));
    }
    Execute(step, &stack);
    return stack;
  } catch (...) {
    return std::nullopt;
  }
}

at::TensorOptions MetaOf(const at::Tensor& tensor) { return tensor.options().device(at::kMeta); }

at::Tensor ToMeta(const at::Tensor& tensor) {
  return at::empty_strided(tensor.sizes(), tensor.strides(), MetaOf(tensor));
}

bool IsReadOfNumber(const jit::Node& node) {
  return node.outputs().size() == 1 && node.inputs().size() == 1 &&
         (node.output()->type()->kind() == c10::TypeKind::IntType ||
          node.kind() == aten::ScalarImplicit);
}

// Nested tensors have no sizes, so no graph or manifest can describe them.
absl::Status CheckResults(const StepPlan& step, const Values& results) {
  if (!AnyTensor(results, [](const at::Tensor& t) { return t.defined() && t.is_nested(); }))
    return absl::OkStatus();
  return torchscript::CannotRepresent(*step.node, "it returns a nested tensor");
}

bool HasTensors(const Values& operands) {
  return AnyTensor(operands, [](const at::Tensor&) { return true; });
}

const c10::TensorImpl* FirstTensor(const Values& operands) {
  return !operands.empty() && operands[0].isTensor() ? operands[0].toTensor().unsafeGetTensorImpl()
                                                     : nullptr;
}

// Returns the operands that the call writes to. The schemas of normalisations do not show
// their writes.
std::vector<int> Writes(const StepPlan& step, const Values& operands) {
  std::vector<int> writes = step.writes;
  const auto& formals = step.schema->arguments();
  bool trains = false;
  for (size_t i = 0; i < formals.size() && i < operands.size(); ++i) {
    if ((formals[i].name() == "training" || formals[i].name() == "use_input_stats") &&
        operands[i].isBool()) {
      trains = operands[i].toBool();
    }
  }
  for (size_t i = 0; trains && i < formals.size() && i < operands.size(); ++i) {
    if (absl::StartsWith(formals[i].name(), "running_")) writes.push_back(static_cast<int>(i));
  }
  return writes;
}

// Returns true if the call converts a tensor to its own dtype and device. Guards ensure that this
// always holds, but they do not cover the memory format.
bool YieldsItsOperand(const StepPlan& step, const Values& operands, const Values& results) {
  if (step.node->kind() != aten::to || !results[0].isTensor() ||
      !results[0].toTensor().is_same(operands[0].toTensor())) {
    return false;
  }
  const std::optional<int> format = step.schema->argumentIndexWithName("memory_format");
  return !format || operands[static_cast<size_t>(*format)].isNone();
}

}  // namespace

absl::Status Session::SetOutputs(const StepPlan& step, Frame* frame, Values results) {
  if (results.size() != step.out.size()) {
    return torchscript::ErrorAtNode(
        *step.node, absl::StrCat("returns ", results.size(), " values, not ", step.out.size()));
  }
  for (size_t i = 0; i < results.size(); ++i) frame->slots[step.out[i]] = std::move(results[i]);
  return absl::OkStatus();
}

bool Session::AllKnown(const Values& operands) const {
  return !AnyTensor(operands, [&](const at::Tensor& t) { return !recorder_.IsKnown(t); });
}

bool Session::IsOfMeta(const StepPlan& step, const Values& operands) {
  const auto [it, inserted] = is_of_meta_.try_emplace(step.schema, false);
  if (inserted && Try(step, operands, ToMeta)) {
    const auto dense = [](const at::Tensor& t) { return at::empty({2, 3, 4, 5}, MetaOf(t)); };
    const auto last = [](const at::Tensor& t) {
      return at::empty({2, 3, 4, 5}, MetaOf(t), at::MemoryFormat::ChannelsLast);
    };
    const auto apart = [](const at::Tensor& t) {
      return at::empty({300}, MetaOf(t)).as_strided({2, 3, 4, 5}, {120, 40, 10, 2}, 1);
    };
    const std::optional<Values> found = Try(step, operands, dense);
    it->second = found == Try(step, operands, last) && found == Try(step, operands, apart);
  }
  if (!it->second || !AnyUnknownSizes(operands)) return it->second;
  return Try(step, operands, ToMeta) == Try(step, operands, [&](const at::Tensor& t) {
           std::vector<int64_t> sizes = t.sizes().vec();
           if (recorder_.HasUnknownSizes(t)) {
             for (int64_t& size : sizes) ++size;
           }
           return at::empty(sizes, MetaOf(t));
         });
}

absl::Status Session::RunOperator(const StepPlan& step, Frame* frame, Values operands) {
  const bool asked = break_on_.contains(step.schema->name());
  const bool custom = IsCustom(step);
  if (!step.is_allowed && !(custom && options_.custom_operators)) {
    return torchscript::ErrorAtNode(*step.node, absl::StrCat(step.schema->name(),
                                                             " is not run: it may reach beyond "
                                                             "the program's values"));
  }
  if (is_replaying_) {
    Execute(step, &operands);
    return SetOutputs(step, frame, std::move(operands));
  }
  if (HasSymbols(operands)) {
    if (HasRunNumbers(operands)) {
      if (recorder_.in_body()) return NoBody();
      ASSIGN_OR_RETURN(const bool done, RunOnNumbers(step, frame, operands));
      if (done) return absl::OkStatus();
    } else if (!asked) {
      if (std::optional<IValue> value = sizes_.Compute(step.schema->name(), operands))
        return SetOutputs(step, frame, {*std::move(value)});
    }
    // Graphs and manifests can hold expressions, and lists can hold symbolic numbers.
    const bool is_outer =
        !step.writes.empty() && operands[0].isList() && outer_.contains(IdentityOf(operands[0]));
    if (is_outer || (!custom && step.op_class != OpClass::kCompute && !step.takes_any_list)) {
      for (IValue& operand : operands) operand = sizes_.Pin(operand);
    }
    if (is_outer) {
      for (const IValue& operand : operands) MarkOuter(operand);
    }
  }
  const bool handles_values = step.op_class == OpClass::kValues || step.op_class == OpClass::kRead;
  if (!recorder_.in_body() && (custom || !handles_values)) {
    for (const int i : Writes(step, operands))
      ForEachTensor(operands[i], [&](const at::Tensor& t) { recorder_.BeforeWrite(t); });
  }
  BreakReason reason = custom ? BreakReason::kCustomOperator : BreakReason::kNone;
  switch (step.op_class) {
    case OpClass::kValues:
      if (!custom) return RunOnValues(step, frame, std::move(operands));
      break;
    case OpClass::kEffect:
      if (!custom && absl::StrContains(step.schema->name(), "grad_enabled")) {
        if (asks_for_gradients_) {
          if (recorder_.in_body()) return NoBody();
          torchscript::CallForm form;
          form.target = "aten.set_grad_enabled.default";
          form.args = {operands[0].toBool()};
          recorder_.Call(form, "", PlaceOfStep(step), frame->path);
        }
        return RunOnValues(step, frame, std::move(operands));
      }
      if (!custom) reason = BreakReason::kSideEffect;
      break;
    case OpClass::kRead:
      if (custom) break;
      if (const auto it = numbers_.find(FirstTensor(operands));
          it != numbers_.end() && IsReadOfNumber(*step.node)) {
        return SetOutputs(step, frame, {it->second.second});
      }
      if (sizes_.AnyDynamic(operands) && IsOfMeta(step, operands)) {
        Values results = operands;
        Execute(step, &results);
        if (results.size() == 1) results[0] = sizes_.Read(step, operands, results[0]);
        return SetOutputs(step, frame, std::move(results));
      }
      if (!HasTensors(operands) || AllKnown(operands) || IsOfMeta(step, operands)) {
        return RunOnValues(step, frame, std::move(operands));
      }
      reason = ReasonOfReading(step);
      if (options_.cond && reason == BreakReason::kBranchOnData && DefersToIf(step, operands[0]))
        return absl::OkStatus();
      break;
    case OpClass::kCompute:
      if (custom) break;
      if (AnyObject(operands)) {  // A graph cannot hold objects.
        reason = BreakReason::kCustomOperator;
      } else if (WritesAttribute(step, operands)) {
        reason = BreakReason::kAttributeMutated;
        for (const int i : Writes(step, operands)) {
          ForEachTensor(operands[i], [&](const at::Tensor& t) { recorder_.KeepInitial(t); });
        }
      } else if (asked) {
        reason = BreakReason::kAsked;
      } else if (step.yields_list && AnyUnknownSizes(operands)) {
        reason = BreakReason::kDataRead;  // The number of tensors depends on data.
      } else {
        return Record(step, frame, std::move(operands));
      }
      break;
  }
  return BreakAtOperator(step, frame, reason, std::move(operands));
}

bool Session::DefersToIf(const StepPlan& step, const IValue& operand) {
  if (step.node->kind() != aten::Bool || recorder_.in_body() || !operand.isTensor() ||
      operand.toTensor().numel() != 1 || operand.toTensor().scalar_type() != at::kBool) {
    return false;
  }
  const auto& uses = step.node->output()->uses();
  if (uses.size() != 1 || uses[0].user != step.node->next() || uses[0].user->kind() != prim::If) {
    return false;
  }
  deferred_[uses[0].user] = {operand.toTensor(), &step};
  return true;
}

bool Session::WritesAttribute(const StepPlan& step, const Values& operands) const {
  return absl::c_any_of(Writes(step, operands), [&](int i) {
    return AnyTensor({operands[i]},
                     [&](const at::Tensor& t) { return recorder_.IsOfAttribute(t); });
  });
}

absl::Status Session::RunOnValues(const StepPlan& step, Frame* frame, Values operands) {
  const bool yields_text =
      step.out.size() == 1 && step.node->output()->type()->kind() == c10::TypeKind::StringType;
  if (yields_text && HasTensors(operands) && !AllKnown(operands)) {
    return BreakAtOperator(step, frame, BreakReason::kDataRead, std::move(operands));
  }
  if (recorder_.in_body() && (!step.writes.empty() || step.is_random)) return NoBody();
  Values written;
  for (const int i : step.writes) {
    if (static_cast<size_t>(i) < operands.size() &&
        (operands[i].isList() || operands[i].isGenericDict())) {
      const auto home = homes_.find(IdentityOf(operands[i]));
      if (home == homes_.end()) continue;
      written.push_back(operands[i]);
      Home& h = home->second;
      if (read_.insert({&h, 0}).second) {
        // A run begins with the value from before the first change.
        ASSIGN_OR_RETURN(ValueTree pattern, Operand(operands[i]));
        capture_.manifest.states.push_back({h.path, h.name, std::move(pattern)});
      }
    }
  }
  Execute(step, &operands);
  RETURN_IF_ERROR(SetOutputs(step, frame, std::move(operands)));
  for (const IValue& container : written) {
    const Home& home = homes_.at(IdentityOf(container));
    RETURN_IF_ERROR(Break(step, BreakReason::kAttributeMutated, "prim::SetAttr", "",
                          {home.path, home.name, container}, NoOperation)
                        .status());
  }
  return absl::OkStatus();
}

bool Session::AnyUnknownSizes(const Values& operands) const {
  return AnyTensor(operands, [&](const at::Tensor& t) { return recorder_.HasUnknownSizes(t); });
}

bool Session::YieldsUnknownSizes(const StepPlan& step, const Values& operands, bool known) {
  if (known) return false;
  return AnyUnknownSizes(operands) ||
         (step.sizes_may_depend_on_data && !Try(step, operands, ToMeta));
}

absl::Status Session::Record(const StepPlan& step, Frame* frame, Values operands) {
  if (recorder_.in_body() && (step.is_random || !Writes(step, operands).empty())) return NoBody();
  // Tracing writes sizes as tensors. A tensor that is only read stands for its number.
  const bool is_number = step.node->kind() == prim::NumToTensor && HasSymbols(operands);
  if (is_number && !HasRunNumbers(operands) &&
      !absl::c_all_of(step.node->output()->uses(),
                      [](const jit::Use& use) { return IsReadOfNumber(*use.user); })) {
    operands[0] = sizes_.Pin(operands[0]);
  }
  const Values symbolic = operands;
  const bool is_symbolic = HasSymbols(symbolic);
  if (is_symbolic) {
    for (IValue& operand : operands) operand = WithoutSymbols(operand);
  }
  const bool known = !step.is_random && !is_symbolic && AllKnown(operands);
  bool unknown_sizes = YieldsUnknownSizes(step, operands, known);
  const std::optional<IValue> number = NumberFor(step, operands);
  Values results = operands;
  // LibTorch resolves conjugate views in the lists that it gets, in place.
  for (IValue& result : results) {
    if (result.isTensorList()) result = result.toTensorList().copy();
  }
  Execute(step, &results);
  RETURN_IF_ERROR(CheckResults(step, results));
  const bool has_numbers = is_symbolic && HasRunNumbers(symbolic);
  if (has_numbers && !unknown_sizes) unknown_sizes = SizesDependOnNumbers(step, symbolic, results);
  if (YieldsItsOperand(step, operands, results)) {
    ++capture_.folded[absl::StrCat("aten.to.", step.schema->overload_name())];
    return SetOutputs(step, frame, std::move(results));
  }
  Values spelled = symbolic;
  if (number) spelled[1] = *number;
  std::vector<Argument> arguments;
  for (const IValue& operand : spelled) {
    absl::StatusOr<Argument> argument = recorder_.Operand(operand);
    if (!argument.ok())
      return torchscript::CannotRepresent(*step.node, argument.status().message());
    arguments.push_back(*argument);
  }
  ASSIGN_OR_RETURN(torchscript::CallForm form,
                   operators_.Form(*step.node, std::move(arguments),
                                   [&](const IValue& value) { return Default(value); }));
  if (number) {
    form.target = step.target_for_numbers;
    if (step.node->kind() == aten::copy_) form.args.resize(2);
  }
  if (!has_numbers) SpellAsScripts(operands, &arena_, &form);
  const std::string name = step.out.size() == 1 ? torchscript::NameOf(step.node->output()) : "";
  Node* node = recorder_.Call(form, name, PlaceOfStep(step), frame->path);
  if (options_.progress && recorder_.num_calls() % 64 == 0)
    options_.progress(recorder_.num_graphs() - 1, recorder_.num_calls());
  recorder_.ForgetOperands();
  std::vector<at::Tensor> written;
  for (const int i : Writes(step, operands)) {
    ForEachTensor(operands[i], [&](const at::Tensor& tensor) { written.push_back(tensor); });
  }
  for (const at::Tensor& tensor : written) {
    capture_.writes_inputs |=
        tensor.has_storage() && input_storages_.contains(tensor.storage().unsafeGetStorageImpl());
  }
  if (sizes_.any() && !unknown_sizes) sizes_.Run(step, symbolic, results);
  if (is_number && is_symbolic) {
    const at::Tensor& number = results[0].toTensor();
    numbers_[number.unsafeGetTensorImpl()] = {number, symbolic[0]};
  }
  recorder_.SetResults(node, results,
                       {.known = known,
                        .foldable = !step.is_random,
                        .writes = !written.empty(),
                        .unknown_sizes = unknown_sizes});
  if (!known) {
    for (const at::Tensor& tensor : written) recorder_.Forget(tensor);
  }
  return SetOutputs(step, frame, std::move(results));
}

std::optional<IValue> Session::NumberFor(const StepPlan& step, const Values& operands) const {
  if (step.target_for_numbers.empty()) return std::nullopt;
  const at::Tensor &self = operands[0].toTensor(), &other = operands[1].toTensor();
  const c10::ScalarType dtype = other.scalar_type();
  if (self.dim() == 0 || other.dim() > 0 || !other.is_cpu() || !recorder_.IsKnown(other) ||
      (dtype != at::kDouble && dtype != at::kFloat && dtype != at::kLong)) {
    return std::nullopt;
  }
  // A tensor is rounded to a narrow dtype before the computation, but a number is not.
  if (c10::isReducedFloatingType(self.scalar_type()) &&
      !other.equal(other.to(self.scalar_type()).to(dtype))) {
    return std::nullopt;
  }
  const at::Scalar number = other.item();
  const c10::ScalarType result = at::result_type(self, other);
  const bool is_same = result == at::result_type(self, number) &&
                       (step.node->kind() != aten::copy_ || result == self.scalar_type());
  if (!is_same) return std::nullopt;
  return IValue(number);
}

absl::StatusOr<Argument> Session::Default(const IValue& value) {
  // The copy lives as long as the table of operators.
  if (value.isString()) return Argument(arena_.Copy(absl::string_view(value.toStringRef())));
  if (value.isList() || value.isTuple()) {
    std::vector<Argument> elements;
    for (const IValue& element :
         value.isList() ? value.toListRef().vec() : value.toTupleRef().elements().vec()) {
      ASSIGN_OR_RETURN(const Argument argument, Default(element));
      elements.push_back(argument);
    }
    const absl::Span<const Argument> kept = arena_.Copy(absl::Span<const Argument>(elements));
    return value.isList() ? Argument::List(kept) : Argument::Tuple(kept);
  }
  return recorder_.Operand(value);
}

absl::Status Session::BreakAtOperator(const StepPlan& step, Frame* frame, BreakReason reason,
                                      Values operands) {
  ASSIGN_OR_RETURN(Values results,
                   Break(step, reason, step.schema->name(), step.schema->overload_name(),
                         std::move(operands), Execution(step)));
  return SetOutputs(step, frame, std::move(results));
}

StitchStep Session::StepAt(const StepPlan& step, const std::string& op, const std::string& overload,
                           BreakReason reason) {
  StitchStep out;
  out.op = op;
  out.overload = overload;
  out.reason = reason;
  const torchscript::Place& place = PlaceOfStep(step);
  out.file = place.file;
  out.line = static_cast<int64_t>(place.line);
  out.column = static_cast<int64_t>(place.column);
  out.source = SourceLineOf(step);
  return out;
}

absl::StatusOr<Values> Session::Break(const StepPlan& step, BreakReason reason,
                                      const std::string& op, const std::string& overload,
                                      Values operands,
                                      absl::FunctionRef<absl::Status(Values*)> run) {
  if (recorder_.in_body()) return NoBody();
  StitchStep out = StepAt(step, op, overload, reason);
  for (const IValue& operand : operands) {
    absl::StatusOr<ValueTree> tree = Operand(operand);
    if (!tree.ok()) return torchscript::CannotRepresent(*step.node, tree.status().message());
    out.operands.push_back(*std::move(tree));
  }
  if (recorder_.num_graphs() > options_.max_subgraphs) {
    return torchscript::ErrorAtNode(
        *step.node, absl::StrCat("more than ", options_.max_subgraphs, " subgraphs"));
  }
  recorder_.EndGraph();
  const Values symbolic = operands;
  for (IValue& operand : operands) operand = WithoutSymbols(operand);
  RETURN_IF_ERROR(run(&operands));
  RETURN_IF_ERROR(CheckResults(step, operands));
  const bool reads = step.schema != nullptr && op == step.schema->name() &&
                     step.op_class == OpClass::kRead && reason != BreakReason::kCustomOperator;
  if (reads) {
    for (IValue& result : operands) result = WithNewNumbers(result);
  }
  if (sizes_.any() && step.schema != nullptr && op == step.schema->name() &&
      !step.sizes_may_depend_on_data && HasTensors(operands) && !AnyUnknownSizes(symbolic)) {
    sizes_.Run(step, symbolic, operands);
  }
  if (op == "prim::SetAttr") operands.clear();
  const std::string name = step.out.size() == 1 ? torchscript::NameOf(step.node->output()) : "";
  for (const IValue& result : operands) {
    ASSIGN_OR_RETURN(ValueTree pattern, Pattern(result, name.empty() ? "result" : name));
    out.results.push_back(std::move(pattern));
  }
  capture_.manifest.steps.push_back(std::move(out));
  return operands;
}

}  // namespace graphnet::extract
