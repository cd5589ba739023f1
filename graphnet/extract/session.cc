#include "graphnet/extract/session.h"

#include <limits>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/cleanup/cleanup.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/extract/break_rules.h"
#include "graphnet/extract/ivalue_tree.h"
#include "graphnet/formats/torchscript/attributes.h"
#include "graphnet/interp/torch/status.h"
#include "graphnet/ir/text/printer.h"

namespace graphnet::extract {

namespace jit = torch::jit;
namespace prim = c10::prim;
namespace aten = c10::aten;
namespace attr = c10::attr;
using c10::IValue;
using Values = std::vector<IValue>;

namespace {

std::string Join(const std::string& path, const std::string& name) {
  return path.empty() ? name : absl::StrCat(path, ".", name);
}

std::string RaisedText(const StepPlan& step, const Values& slots) {
  const IValue& message = slots[step.in[0]];
  std::string text = "the program raises";
  if (step.in.size() > 1 && slots[step.in[1]].isString()) {
    absl::StrAppend(&text, " ", slots[step.in[1]].toStringRef());
  }
  if (message.isString() && !message.toStringRef().empty())
    absl::StrAppend(&text, ": ", message.toStringRef());
  return text;
}

}  // namespace

Session::Session(const CaptureOptions& options, bool asks_for_gradients, Capture* capture)
    : options_(options),
      asks_for_gradients_(asks_for_gradients),
      capture_(*capture),
      recorder_(capture, &sizes_, options.statistics),
      break_on_(OperatorsToBreakOn(options.break_on)) {}

absl::Status Session::Run(const jit::Module& module, jit::GraphFunction& function, Values inputs) {
  FindObjects(module._ivalue(), "", 0);
  const c10::FunctionSchema& schema = function.getSchema();
  for (const CaptureOptions::DynamicSize& size : options_.dynamic) {
    RETURN_IF_ERROR(
        Annotate(AddDynamic(size, inputs), absl::StrCat("dynamic size ", Printable(size.name))));
  }
  sizes_.Begin();
  Values arguments;
  arguments.emplace_back(module._ivalue());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string& name = schema.arguments()[i + 1].name();
    ASSIGN_OR_RETURN(ValueTree pattern, Pattern(inputs[i], name));
    ForEachTensor(inputs[i], [&](const at::Tensor& tensor) {
      if (tensor.has_storage()) input_storages_.insert(tensor.storage().unsafeGetStorageImpl());
    });
    MarkOuter(inputs[i]);
    capture_.manifest.inputs.push_back({name, std::move(pattern), std::nullopt});
    arguments.push_back(inputs[i]);
  }
  absl::StatusOr<IValue> result = CallFunction(function, std::move(arguments), "", nullptr);
  if (!result.ok()) {
    capture_.status = result.status();
  } else {
    absl::StatusOr<ValueTree> tree = Operand(*result);
    if (tree.ok()) {
      capture_.manifest.result = *std::move(tree);
      capture_.result = WithoutSymbols(*result);
      for (size_t i = 0; i < inputs.size(); ++i) {
        StitchManifest::Input& input = capture_.manifest.inputs[i];
        absl::StatusOr<ValueTree> after = Operand(inputs[i]);
        if (!after.ok()) {
          capture_.status = Annotate(after.status(), absl::StrCat("input ", input.name));
        } else if (!(*after == input.pattern)) {
          input.after = *std::move(after);
        }
      }
    } else {
      capture_.status = Annotate(tree.status(), "the result");
    }
  }
  recorder_.Finish();
  for (const auto& [number, tensor] : capture_.constants) {
    if (tensor.requires_grad()) capture_.manifest.parameters.push_back(number);
  }
  for (const Symbol& symbol : sizes_.module().symbols())
    capture_.manifest.symbols.push_back({std::string(symbol.name), *symbol.example});
  for (size_t i = 0; i < sizes_.module().relations().size(); ++i) {
    const torchscript::Place& place = sizes_.places()[i];
    capture_.manifest.relations.push_back({PrintSymExpr(*sizes_.module().relations()[i]),
                                           place.file, static_cast<int64_t>(place.line)});
  }
  return absl::OkStatus();
}

absl::Status Session::AddDynamic(const CaptureOptions::DynamicSize& size, const Values& inputs) {
  if (size.input >= inputs.size() || !inputs[size.input].isTensor())
    return absl::InvalidArgumentError(absl::StrCat("input ", size.input, " is not a tensor"));
  const bool is_name =
      !size.name.empty() && !absl::ascii_isdigit(size.name[0]) &&
      absl::c_all_of(size.name, [](char c) { return absl::ascii_isalnum(c) || c == '_'; });
  if (!is_name) return absl::InvalidArgumentError("not a valid name");
  return sizes_.Add(inputs[size.input].toTensor(), size.dim, size.name);
}

void Session::MarkOuter(const IValue& value) {
  ForEachContainer(value, [&](const IValue& c) { outer_.insert(IdentityOf(c)); });
}

absl::StatusOr<ValueTree> Session::Pattern(const IValue& value, const std::string& name) {
  return ToTree(
      value,
      [&](const IValue& leaf) -> absl::StatusOr<int64_t> {
        return leaf.isTensor() ? recorder_.AddValue(leaf.toTensor(), name) : NumberOfObject(leaf);
      },
      &tree_parts_);
}

absl::StatusOr<ValueTree> Session::Operand(const IValue& value) {
  return ToTree(
      value,
      [&](const IValue& leaf) -> absl::StatusOr<int64_t> {
        return leaf.isTensor() ? recorder_.NumberOf(leaf.toTensor()) : NumberOfObject(leaf);
      },
      &tree_parts_);
}

int64_t Session::NumberOfObject(const IValue& object) {
  const auto found = paths_.find(object.toObject().get());
  return recorder_.NumberOfObject(object, found == paths_.end() ? nullptr : &found->second);
}

void Session::FindObjects(const c10::intrusive_ptr<c10::ivalue::Object>& object,
                          const std::string& path, int depth) {
  if (depth > kMaxNesting || !paths_.try_emplace(object.get(), path).second) return;
  const auto& type = object->type();
  if (types_.insert(type.get()).second) {
    for (jit::Function* method : type->methods()) {
      if (jit::GraphFunction* function = jit::tryToGraphFunction(*method)) {
        function->ensure_defined();
        AddAssigned(*function->graph()->block(), &assigned_);
      }
    }
  }
  for (size_t i = 0; i < type->numAttributes(); ++i) {
    const IValue& value = object->getSlot(i);
    if (value.isObject())
      FindObjects(value.toObject(), Join(path, type->getAttributeName(i)), depth + 1);
  }
}

absl::StatusOr<IValue> Session::GetAttr(const IValue& owner, const std::string& name) {
  const auto object = owner.toObject();
  const size_t slot = object->type()->getAttributeSlot(name);
  const IValue& value = object->getSlot(slot);
  const auto found = paths_.find(object.get());
  if (found == paths_.end() || (value.isObject() && !value.isCustomClass())) return value;
  const auto [seen, first] = read_.insert({object.get(), slot});
  if (!first) {
    const auto held = numbers_held_.find({object.get(), slot});
    return held == numbers_held_.end() ? value : held->second;
  }
  const std::string full = Join(found->second, name);
  MarkOuter(value);
  if (assigned_.contains({object->type().get(), name})) {
    if (value.isInt() || value.isDouble()) {
      const IValue number = NewNumber(value);
      ASSIGN_OR_RETURN(ValueTree pattern, Operand(number));
      capture_.manifest.states.push_back({found->second, name, std::move(pattern)});
      return numbers_held_[{object.get(), slot}] = number;
    }
    ASSIGN_OR_RETURN(ValueTree pattern, Pattern(value, full));
    // The current values are those that the run begins with.
    ForEachTensor(value, [&](const at::Tensor& tensor) {
      const int64_t number = recorder_.NumberOf(tensor);
      const std::string key = absl::StrCat(full, "#", number);
      capture_.constants.try_emplace(number, tensor);
      capture_.manifest.constants.try_emplace(number, key);
      capture_.initial.try_emplace(key, tensor.clone());  // The program may write to it later.
    });
    capture_.manifest.states.push_back({found->second, name, std::move(pattern)});
    return value;
  }
  int index = 0;
  ForEachTensor(value, [&](const at::Tensor& tensor) {
    recorder_.AddAttribute(tensor, value.isTensor() ? full : absl::StrCat(full, ".", index++));
  });
  if (value.isList() || value.isGenericDict()) {
    homes_.try_emplace(IdentityOf(value), Home{found->second, name, value, {}});
  } else if (!value.isTuple()) {
    capture_.attribute_guards.push_back({object, slot, value, full});
  }
  return value;
}

absl::Status Session::SetAttr(const StepPlan& step, const Frame&, const IValue& owner,
                              IValue value) {
  if (recorder_.in_body()) return NoBody();
  const std::string& name = step.node->s(attr::name);
  const auto object = owner.toObject();
  const size_t slot = object->type()->getAttributeSlot(name);
  const auto found = paths_.find(object.get());
  // A list or dict that outlives the run must hold plain numbers.
  if (RunNumberOf(value) == nullptr || found == paths_.end()) value = sizes_.Pin(value);
  MarkOuter(value);
  if (found != paths_.end()) {
    // Later reads find this value.
    read_.insert({object.get(), slot});
    const Values operands = {found->second, name, value};
    RETURN_IF_ERROR(
        Break(step, BreakReason::kAttributeAssigned, "prim::SetAttr", "", operands, NoOperation)
            .status());
  }
  if (RunNumberOf(value) != nullptr) {
    numbers_held_[{object.get(), slot}] = value;
    value = WithoutSymbols(value);
  } else {
    numbers_held_.erase({object.get(), slot});
  }
  object->setSlot(slot, std::move(value));
  return absl::OkStatus();
}

absl::StatusOr<IValue> Session::CallFunction(jit::Function& callee, Values arguments,
                                             const std::string& path, const jit::Node* node) {
  jit::GraphFunction* function = jit::tryToGraphFunction(callee);
  if (function == nullptr) {
    const std::string what =
        absl::StrCat(callee.qualname().qualifiedName(), " is not written in TorchScript");
    return node != nullptr ? torchscript::CannotRepresent(*node, what)
                           : absl::InvalidArgumentError(what);
  }
  function->ensure_defined();
  return RunGraph(*function->graph(), std::move(arguments), path, node);
}

absl::StatusOr<IValue> Session::RunGraph(const jit::Graph& graph, Values arguments,
                                         const std::string& path, const jit::Node* node) {
  const absl::Cleanup leave = [this] { --depth_; };
  if (++depth_ > kMaxNesting) {
    return torchscript::ErrorAtNode(*node, absl::StrCat("calls nest deeper than ", kMaxNesting));
  }
  ASSIGN_OR_RETURN(const FunctionPlan* plan, planner_.Plan(graph, node));
  Frame frame{.slots = Values(plan->num_slots), .path = path};
  if (plan->body.inputs.size() != arguments.size()) {
    return absl::InvalidArgumentError("a call has another number of arguments than the function");
  }
  for (size_t i = 0; i < arguments.size(); ++i)
    frame.slots[plan->body.inputs[i]] = std::move(arguments[i]);
  RETURN_IF_ERROR(RunBlock(plan->body, &frame));
  Values results;
  for (const int slot : plan->body.outputs) results.push_back(frame.slots[slot]);
  if (results.size() == 1) return results[0];
  return IValue(c10::ivalue::Tuple::create(std::move(results)));
}

absl::Status Session::RunBlock(const BlockPlan& block, Frame* frame) {
  for (const StepPlan& step : block.steps) {
    if (++steps_ > options_.max_steps) {
      return torchscript::ErrorAtNode(
          *step.node, absl::StrCat("more than ", options_.max_steps, " steps: an endless loop?"));
    }
    RETURN_IF_ERROR(RunStep(step, frame));
    for (const int slot : step.dead) frame->slots[slot] = IValue();
  }
  return absl::OkStatus();
}

absl::Status Session::RunStep(const StepPlan& step, Frame* frame) {
  sizes_.set_step(&step);
  step_ = &step;
  try {
    return RunStepOrThrow(step, frame);
  } catch (...) {
    return torchscript::ErrorAtNode(*step.node, absl::StrCat(step.node->kind().toQualString(), ": ",
                                                             CurrentExceptionStatus().message()));
  }
}

absl::Status Session::RunStepOrThrow(const StepPlan& step, Frame* frame) {
  const jit::Node& node = *step.node;
  const auto in = [&](size_t i) -> const IValue& { return frame->slots[step.in[i]]; };
  const auto inputs = [&](size_t from = 0) {
    Values values;
    for (size_t i = from; i < step.in.size(); ++i) values.push_back(in(i));
    return values;
  };
  const auto set = [&](IValue value) {
    if (!step.out.empty()) frame->slots[step.out[0]] = std::move(value);
    return absl::OkStatus();
  };
  const auto unpack = [&](at::ArrayRef<IValue> elements) -> absl::Status {
    if (elements.size() != step.out.size()) {
      return torchscript::ErrorAtNode(
          node, absl::StrCat("expected ", step.out.size(), " elements, found ", elements.size()));
    }
    for (size_t i = 0; i < step.out.size(); ++i) frame->slots[step.out[i]] = elements[i];
    return absl::OkStatus();
  };
  switch (node.kind()) {
    case prim::Constant:
      if (step.constant.isTensor()) recorder_.AddConstant(step.constant.toTensor());
      return set(step.constant);
    case prim::If: {
      if (const auto it = deferred_.find(&node); it != deferred_.end()) {
        const auto [predicate, read] = std::move(it->second);
        deferred_.erase(it);
        ASSIGN_OR_RETURN(const bool done, RunCond(step, frame, predicate));
        if (done) return absl::OkStatus();
        RETURN_IF_ERROR(BreakAtOperator(*read, frame, BreakReason::kBranchOnData, {predicate}));
      }
      const BlockPlan& block = step.blocks[in(0).toBool() ? 0 : 1];
      RETURN_IF_ERROR(RunBlock(block, frame));
      for (size_t i = 0; i < step.out.size(); ++i) {
        frame->slots[step.out[i]] = frame->slots[block.outputs[i]];
      }
      return absl::OkStatus();
    }
    case prim::Loop: return RunLoop(step, frame);
    case prim::CallFunction: {
      const auto type = node.input(0)->type()->cast<c10::FunctionType>();
      if (type == nullptr) return torchscript::CannotRepresent(node, "the function is not known");
      ASSIGN_OR_RETURN(IValue result,
                       CallFunction(*type->function(), inputs(1), frame->path, &node));
      return SetCallResult(step, frame, std::move(result));
    }
    case prim::CallMethod: return CallMethod(step, frame, node.s(attr::name), inputs());
    case prim::Enter: return CallMethod(step, frame, "__enter__", inputs());
    case prim::Exit:
      return CallMethod(step, frame, "__exit__", {in(0), IValue(), IValue(), IValue()});
    case prim::fork: {
      // TorchScript allows this order of execution; a future is represented by its value.
      ASSIGN_OR_RETURN(IValue result,
                       RunGraph(*node.g(attr::Subgraph), inputs(), frame->path, &node));
      return set(std::move(result));
    }
    case aten::wait:
    case prim::unchecked_cast: return set(in(0));
    case prim::unchecked_unwrap_optional:
      if (in(0).isNone()) return torchscript::ErrorAtNode(node, "Unwrapping null optional");
      return set(in(0));
    case prim::Uninitialized: return set(IValue());
    case prim::GetAttr: {
      ASSIGN_OR_RETURN(IValue value, GetAttr(in(0), node.s(attr::name)));
      return set(std::move(value));
    }
    case prim::SetAttr: return SetAttr(step, *frame, in(0), in(1));
    case prim::CreateObject: {
      const auto type = node.output()->type()->expect<c10::ClassType>();
      return set(c10::ivalue::Object::create(c10::StrongTypePtr(type->compilation_unit(), type),
                                             type->numAttributes()));
    }
    case prim::TupleConstruct: {
      const auto type = node.output()->type()->expect<c10::TupleType>();
      if (type->name()) return set(c10::ivalue::Tuple::createNamed(inputs(), type));
      return set(c10::ivalue::Tuple::create(inputs()));
    }
    case prim::ListConstruct: {
      c10::impl::GenericList list(node.output()->type()->containedType(0));
      list.reserve(step.in.size());
      for (size_t i = 0; i < step.in.size(); ++i) list.push_back(in(i));
      return set(list);
    }
    case prim::DictConstruct: {
      const auto& type = node.output()->type();
      c10::impl::GenericDict dict(type->containedType(0), type->containedType(1));
      for (size_t i = 0; i + 1 < step.in.size(); i += 2)
        dict.insert_or_assign(sizes_.Pin(in(i)), in(i + 1));
      return set(dict);
    }
    case prim::TupleUnpack: return unpack(in(0).toTupleRef().elements().vec());
    case prim::ListUnpack: return unpack(in(0).toListRef().vec());
    case prim::TupleSlice: {
      const Values elements = in(0).toTupleRef().elements().vec();
      const int64_t begin = node.i(attr::beg), end = node.i(attr::end);
      if (begin < 0 || begin > end || end > static_cast<int64_t>(elements.size())) {
        return torchscript::ErrorAtNode(node, "the slice is out of bounds");
      }
      return set(
          c10::ivalue::Tuple::create(Values(elements.begin() + begin, elements.begin() + end)));
    }
    case prim::TupleIndex: {
      const auto elements = in(0).toTupleRef().elements();
      const auto size = static_cast<int64_t>(elements.size());
      const int64_t i = in(1).toInt() < 0 ? in(1).toInt() + size : in(1).toInt();
      if (i < 0 || i >= size) return torchscript::ErrorAtNode(node, "the index is out of bounds");
      return set(elements[static_cast<size_t>(i)]);
    }
    case prim::isinstance: {
      const auto type = WithoutSymbols(in(0)).type();
      return set(absl::c_any_of(node.tys(attr::types),
                                [&](const c10::TypePtr& t) { return type->isSubtypeOf(*t); }));
    }
    case prim::RaiseException:
      return torchscript::ErrorAtNode(node, RaisedText(step, frame->slots));
    case prim::Print:
      return Break(step, BreakReason::kPrint, "prim::Print", "", inputs(),
                   [&](Values* values) {
                     Print(*values, options_.print);
                     values->clear();
                     return absl::OkStatus();
                   })
          .status();
    case aten::warn:
      return Break(step, BreakReason::kWarning, "aten::warn", "", inputs(),
                   [&](Values* values) {
                     Warn(*values);
                     values->clear();
                     return absl::OkStatus();
                   })
          .status();
    default: return RunOperator(step, frame, inputs());
  }
}

absl::Status Session::SetCallResult(const StepPlan& step, Frame* frame, IValue result) {
  if (step.out.size() == 1) frame->slots[step.out[0]] = std::move(result);
  return absl::OkStatus();
}

absl::Status Session::CallMethod(const StepPlan& step, Frame* frame, const std::string& name,
                                 Values arguments) {
  if (!arguments[0].isObject()) return torchscript::CannotRepresent(*step.node, "not an object");
  const auto object = arguments[0].toObject();
  jit::Function* method = object->type()->findMethod(name);
  if (method == nullptr)
    return torchscript::CannotRepresent(*step.node, "the method does not exist");
  if (jit::tryToGraphFunction(*method) == nullptr)
    return CallCustomMethod(step, frame, method, std::move(arguments));
  const auto found = paths_.find(object.get());
  const std::string path = found == paths_.end() ? frame->path : found->second;
  ASSIGN_OR_RETURN(IValue result, CallFunction(*method, std::move(arguments), path, step.node));
  return SetCallResult(step, frame, std::move(result));
}

absl::Status Session::CallCustomMethod(const StepPlan& step, Frame* frame, jit::Function* method,
                                       Values arguments) {
  const std::string& name = method->qualname().qualifiedName();
  if (!options_.custom_operators) {
    return torchscript::ErrorAtNode(
        *step.node, absl::StrCat(name, " is not run: it may reach beyond the program's values"));
  }
  const bool creates = method->name() == "__init__";
  const IValue self = arguments[0];
  if (creates) arguments.erase(arguments.begin());
  ASSIGN_OR_RETURN(Values results, Break(step, BreakReason::kCustomClass, name, "",
                                         std::move(arguments), [&](Values* values) {
                                           if (creates) values->insert(values->begin(), self);
                                           method->run(*values);
                                           if (creates) *values = {self};
                                           return absl::OkStatus();
                                         }));
  return SetCallResult(step, frame, creates ? IValue() : std::move(results[0]));
}

}  // namespace graphnet::extract
