// The interpreter that runs the program while it is recorded.
#include <algorithm>
#include <iostream>
#include <limits>
#include <sstream>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/node_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "c10/core/InferenceMode.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/extract/capture.h"
#include "graphnet/extract/dynamic_sizes.h"
#include "graphnet/extract/ivalue_tree.h"
#include "graphnet/extract/operation.h"
#include "graphnet/extract/plan.h"
#include "graphnet/extract/recorder.h"
#include "graphnet/extract/spelling.h"
#include "graphnet/extract/value_tree.h"
#include "graphnet/formats/torchscript/attributes.h"
#include "graphnet/interp/torch_status.h"
#include "graphnet/text/printer.h"
#include "torch/csrc/jit/api/function_impl.h"
#include "torch/csrc/jit/ir/constants.h"

namespace graphnet {
namespace extract {
namespace {

namespace jit = torch::jit;
namespace prim = c10::prim;
namespace aten = c10::aten;
namespace attr = c10::attr;
using c10::IValue;
using Values = std::vector<IValue>;

const void* IdentityOf(const IValue& container) { return container.internalToPointer(); }

std::string Join(const std::string& path, const std::string& name) {
  return path.empty() ? name : absl::StrCat(path, ".", name);
}

class Session {
 public:
  Session(const CaptureOptions& options, Capture* capture)
      : options_(options), capture_(*capture), recorder_(capture, &sizes_, options.statistics) {
    for (const std::string& name : options.break_on) {
      break_on_.insert(absl::StrContains(name, "::") ? name : absl::StrCat("aten::", name));
    }
  }

  absl::Status Run(const jit::Module& module, jit::GraphFunction& function, Values inputs) {
    FindObjects(module._ivalue(), "", 0);
    const c10::FunctionSchema& schema = function.getSchema();
    for (const CaptureOptions::DynamicSize& size : options_.dynamic) {
      RETURN_IF_ERROR(
          Annotate(AddDynamic(size, inputs), absl::StrCat("dynamic size ", Printable(size.name))));
    }
    sizes_.Begin();
    Values arguments;
    arguments.push_back(module._ivalue());
    for (size_t i = 0; i < inputs.size(); ++i) {
      const std::string& name = schema.arguments()[i + 1].name();
      ASSIGN_OR_RETURN(ValueTree pattern, Pattern(inputs[i], name));
      ForEachTensor(inputs[i], [&](const at::Tensor& tensor) {
        if (tensor.has_storage()) input_storages_.insert(tensor.storage().unsafeGetStorageImpl());
      });
      MarkOuter(inputs[i]);
      capture_.manifest.inputs.push_back({name, std::move(pattern)});
      arguments.push_back(std::move(inputs[i]));
    }
    absl::StatusOr<IValue> result = CallFunction(function, std::move(arguments), "", nullptr);
    if (!result.ok()) {
      capture_.status = result.status();
    } else {
      absl::StatusOr<ValueTree> tree =
          ToTree(*result, [&](const at::Tensor& t) { return Number(t); });
      if (tree.ok()) {
        capture_.manifest.result = *std::move(tree);
        capture_.result = WithoutSymbols(*result);
      } else {
        capture_.status = Annotate(tree.status(), "the result");
      }
    }
    recorder_.Finish();
    for (const Symbol& symbol : sizes_.module().symbols())
      capture_.manifest.symbols.push_back({std::string(symbol.name), *symbol.example});
    for (size_t i = 0; i < sizes_.module().relations().size(); ++i) {
      const torchscript::Place& place = sizes_.places()[i];
      capture_.manifest.relations.push_back({PrintSymExpr(*sizes_.module().relations()[i]),
                                             place.file, static_cast<int64_t>(place.line)});
    }
    return absl::OkStatus();
  }

 private:
  struct Frame {
    Values slots;
    std::string path;  // of the module whose method it is
  };
  struct Home {
    std::string path;
    std::string name;
    IValue container;  // stays alive, and where it is
    ValueTree initial;
  };

  absl::Status AddDynamic(const CaptureOptions::DynamicSize& size, const Values& inputs) {
    if (size.input >= inputs.size() || !inputs[size.input].isTensor())
      return absl::InvalidArgumentError(absl::StrCat("input ", size.input, " is no tensor"));
    const bool is_name =
        !size.name.empty() && !absl::ascii_isdigit(size.name[0]) &&
        absl::c_all_of(size.name, [](char c) { return absl::ascii_isalnum(c) || c == '_'; });
    if (!is_name) return absl::InvalidArgumentError("not a name");
    return sizes_.Add(inputs[size.input].toTensor(), size.dim, size.name);
  }

  // Lists and dicts that are there after the run: they get no symbols.
  void MarkOuter(const IValue& value) {
    if (!sizes_.any()) return;
    ForEachContainer(value, [&](const IValue& c) { outer_.insert(IdentityOf(c)); });
  }

  absl::StatusOr<int64_t> Number(const at::Tensor& tensor) { return recorder_.NumberOf(tensor); }

  // A pattern whose tensors are values from outside graphs, called `name`.
  absl::StatusOr<ValueTree> Pattern(const IValue& value, const std::string& name) {
    return ToTree(value, [&](const at::Tensor& tensor) -> absl::StatusOr<int64_t> {
      return recorder_.AddValue(tensor, name);
    });
  }

  // --- Objects -------------------------------------------------------------------

  void FindObjects(const c10::intrusive_ptr<c10::ivalue::Object>& object, const std::string& path,
                   int depth) {
    if (depth > kMaxNesting || !paths_.try_emplace(object.get(), path).second) return;
    const auto& type = object->type();
    if (types_.insert(type.get()).second) {
      for (jit::Function* method : type->methods()) {
        if (jit::GraphFunction* function = jit::tryToGraphFunction(*method)) {
          function->ensure_defined();
          FindAssigned(*function->graph()->block());
        }
      }
    }
    for (size_t i = 0; i < type->numAttributes(); ++i) {
      const IValue& value = object->getSlot(i);
      if (value.isObject())
        FindObjects(value.toObject(), Join(path, type->getAttributeName(i)), depth + 1);
    }
  }

  void FindAssigned(const jit::Block& block) {
    for (const jit::Node* node : block.nodes()) {
      if (node->kind() == prim::SetAttr) {
        assigned_.insert({node->input(0)->type()->castRaw<c10::ClassType>(), node->s(attr::name)});
      }
      for (const jit::Block* inner : node->blocks()) FindAssigned(*inner);
    }
  }

  absl::StatusOr<IValue> GetAttr(const IValue& owner, const std::string& name) {
    const auto object = owner.toObject();
    const size_t slot = object->type()->getAttributeSlot(name);
    const IValue& value = object->getSlot(slot);
    const auto found = paths_.find(object.get());
    if (found == paths_.end() || value.isObject()) return value;
    const auto [seen, first] = read_.insert({object.get(), slot});
    if (!first) return value;
    const std::string full = Join(found->second, name);
    MarkOuter(value);
    if (assigned_.contains({object->type().get(), name})) {
      ASSIGN_OR_RETURN(ValueTree pattern, Pattern(value, full));
      // What it holds now is what it begins with.
      ForEachTensor(value, [&](const at::Tensor& tensor) {
        const int64_t number = recorder_.NumberOf(tensor);
        capture_.constants.try_emplace(number, tensor);
        capture_.manifest.constants.try_emplace(number, absl::StrCat(full, "#", number));
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
    } else if (!value.isTensor() && !value.isTuple()) {
      capture_.attribute_guards.push_back({object, slot, value, full});
    }
    return value;
  }

  // What ends the attempt to capture a branch.
  static absl::Status NoBody() { return absl::CancelledError("no body of a branch"); }

  absl::Status SetAttr(const StepPlan& step, const Frame&, const IValue& owner, IValue value) {
    if (recorder_.in_body()) return NoBody();
    value = sizes_.Pin(value);
    MarkOuter(value);
    const std::string& name = step.node->s(attr::name);
    const auto object = owner.toObject();
    const size_t slot = object->type()->getAttributeSlot(name);
    const auto found = paths_.find(object.get());
    if (found != paths_.end()) {
      // Read from now on, it is this value.
      read_.insert({object.get(), slot});
      const Values operands = {found->second, name, value};
      RETURN_IF_ERROR(
          Break(step, BreakReason::kAttributeAssigned, "prim::SetAttr", "", operands, [](Values*) {
            return absl::OkStatus();
          }).status());
    }
    object->setSlot(slot, std::move(value));
    return absl::OkStatus();
  }

  // --- Functions and blocks ------------------------------------------------------

  absl::StatusOr<IValue> CallFunction(jit::Function& callee, Values arguments,
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

  absl::StatusOr<IValue> RunGraph(const jit::Graph& graph, Values arguments,
                                  const std::string& path, const jit::Node* node) {
    if (++depth_ > kMaxNesting) {
      return torchscript::ErrorAtNode(*node, absl::StrCat("calls nest deeper than ", kMaxNesting));
    }
    ASSIGN_OR_RETURN(const FunctionPlan* plan, planner_.Plan(graph));
    Frame frame{.slots = Values(plan->num_slots), .path = path};
    if (plan->body.inputs.size() != arguments.size()) {
      return absl::InvalidArgumentError("a call does not fit its callee");
    }
    for (size_t i = 0; i < arguments.size(); ++i)
      frame.slots[plan->body.inputs[i]] = std::move(arguments[i]);
    RETURN_IF_ERROR(RunBlock(plan->body, &frame));
    --depth_;
    Values results;
    for (const int slot : plan->body.outputs) results.push_back(frame.slots[slot]);
    if (results.size() == 1) return results[0];
    return IValue(c10::ivalue::Tuple::create(std::move(results)));
  }

  absl::Status RunBlock(const BlockPlan& block, Frame* frame) {
    for (const StepPlan& step : block.steps) {
      if (++steps_ > options_.max_steps) {
        return torchscript::ErrorAtNode(*step.node, absl::StrCat("more than ", options_.max_steps,
                                                                 " steps: a loop without end?"));
      }
      RETURN_IF_ERROR(RunStep(step, frame));
      for (const int slot : step.dead) frame->slots[slot] = IValue();
    }
    return absl::OkStatus();
  }

  absl::Status RunStep(const StepPlan& step, Frame* frame) {
    sizes_.set_step(&step);
    try {
      return RunStepOrThrow(step, frame);
    } catch (...) {
      return torchscript::ErrorAtNode(
          *step.node,
          absl::StrCat(step.node->kind().toQualString(), ": ", CurrentExceptionStatus().message()));
    }
  }

  absl::Status RunStepOrThrow(const StepPlan& step, Frame* frame) {
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
          ASSIGN_OR_RETURN(Values results,
                           Break(*read, BreakReason::kBranchOnData, read->schema->name(),
                                 read->schema->overload_name(), {predicate},
                                 [&](Values* stack) { return Execute(*read, stack); }));
          frame->slots[step.in[0]] = results[0];
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
        // One of the orders that TorchScript allows; a future is its value.
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
      case prim::RaiseException: return torchscript::ErrorAtNode(node, RaisedText(step, *frame));
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

  static std::string RaisedText(const StepPlan& step, const Frame& frame) {
    const IValue& message = frame.slots[step.in[0]];
    std::string text = "the program raises";
    if (step.in.size() > 1 && frame.slots[step.in[1]].isString()) {
      absl::StrAppend(&text, " ", frame.slots[step.in[1]].toStringRef());
    }
    if (message.isString() && !message.toStringRef().empty())
      absl::StrAppend(&text, ": ", message.toStringRef());
    return text;
  }

  absl::Status SetCallResult(const StepPlan& step, Frame* frame, IValue result) {
    if (step.out.size() == 1) frame->slots[step.out[0]] = std::move(result);
    return absl::OkStatus();
  }

  absl::Status CallMethod(const StepPlan& step, Frame* frame, const std::string& name,
                          Values arguments) {
    if (!arguments[0].isObject()) return torchscript::CannotRepresent(*step.node, "not an object");
    const auto object = arguments[0].toObject();
    jit::Function* method = object->type()->findMethod(name);
    if (method == nullptr)
      return torchscript::CannotRepresent(*step.node, "there is no such method");
    const auto found = paths_.find(object.get());
    const std::string path = found == paths_.end() ? frame->path : found->second;
    ASSIGN_OR_RETURN(IValue result, CallFunction(*method, std::move(arguments), path, step.node));
    return SetCallResult(step, frame, std::move(result));
  }

  // Whether a body may yield the one as well as the other: tensors with the same meta,
  // or one number.
  static bool AreAlike(const IValue& a, const IValue& b) {
    if (!IsTensor(a) || !IsTensor(b)) {
      return (a.isNone() || a.isBool() || a.isInt() || a.isDouble()) && a == b;
    }
    const at::Tensor &x = a.toTensor(), &y = b.toTensor();
    return x.scalar_type() == y.scalar_type() && x.device() == y.device() &&
           x.sizes() == y.sizes() && x.layout() == y.layout();
  }

  // Captures both branches as torch.cond; false, and nothing done, if that cannot be.
  absl::StatusOr<bool> RunCond(const StepPlan& step, Frame* frame, const at::Tensor& predicate) {
    const int number = num_conds_++;
    const int depth = depth_;
    Values slots = frame->slots;
    Values yielded[2];
    std::vector<at::Tensor> tensors[2];
    bool can_be = true;
    for (int i = 0; i < 2 && can_be; ++i) {
      recorder_.BeginBody(absl::StrCat(i == 0 ? "true_" : "false_", number));
      // An error in the branch that is taken shows up when it runs by itself.
      can_be = RunBlock(step.blocks[i], frame).ok();
      depth_ = depth;
      if (!can_be) break;
      for (const int slot : step.blocks[i].outputs) {
        const IValue& value = yielded[i].emplace_back(frame->slots[slot]);
        if (IsTensor(value)) {
          tensors[i].push_back(value.toTensor());
          can_be &= !recorder_.HasUnknownSizes(value.toTensor());
        } else {
          can_be &= AreAlike(value, value);
        }
      }
      if (can_be) recorder_.EndBody(tensors[i]);
    }
    can_be = can_be && !tensors[0].empty() && absl::c_equal(yielded[0], yielded[1], AreAlike);
    frame->slots = std::move(slots);  // Nothing stays of what the branches have set.
    if (!can_be) {
      recorder_.AbandonBodies();
      return false;
    }
    const int taken = predicate.item<bool>() ? 0 : 1;
    std::vector<at::Tensor> results;
    for (size_t i = 0; i < step.out.size(); ++i) {
      IValue value = yielded[taken][i];
      // Another tensor than the branch's own, which the other branch does not yield.
      if (IsTensor(value)) value = results.emplace_back(value.toTensor().detach());
      frame->slots[step.out[i]] = std::move(value);
    }
    for (size_t i = 0; i < results.size(); ++i) {
      for (const at::Tensor& tensor : {tensors[0][i], tensors[1][i]}) {
        // It may be what was there before, and writing to the result writes to that.
        recorder_.Forget(tensor);
        if (recorder_.IsOfAttribute(tensor)) recorder_.CountAsAttribute(results[i]);
        if (tensor.has_storage() &&
            input_storages_.contains(tensor.storage().unsafeGetStorageImpl())) {
          input_storages_.insert(results[i].storage().unsafeGetStorageImpl());
        }
      }
    }
    recorder_.Cond(predicate, results, PlaceOf(step), frame->path);
    return true;
  }

  // Captures a loop, one turn of it, as while_loop; false, and nothing done, if that
  // cannot be.
  absl::StatusOr<bool> RunWhileLoop(const StepPlan& step, Frame* frame) {
    if (recorder_.in_body() || sizes_.any()) return false;
    const BlockPlan& body = step.blocks[0];
    const int64_t trips = frame->slots[step.in[0]].toInt();
    const auto initial = [&](size_t k) -> const IValue& { return frame->slots[step.in[k + 2]]; };
    const auto& formals = step.node->blocks()[0]->inputs();
    std::string index = torchscript::NameOf(formals[0]);
    if (index.empty()) index = "index";
    std::vector<at::Tensor> begin, next;
    std::vector<Recorder::Carried> carried;
    bool can_be = true;
    for (size_t k = 0; k < step.out.size(); ++k) {
      if (!IsTensor(initial(k))) continue;
      begin.push_back(initial(k).toTensor());
      // Another tensor, of which nothing is known.
      carried.push_back({begin.back().detach(), torchscript::NameOf(formals[k + 1])});
      can_be &= !recorder_.HasUnknownSizes(begin.back());
    }
    if (!can_be || begin.empty()) return false;
    const std::string name = absl::StrCat("loop_", num_loops_++);
    const Values slots = frame->slots;
    const int depth = depth_;
    recorder_.BeginBody(name);
    recorder_.BeginTurn(index, carried);
    frame->slots[body.inputs[0]] = sizes_.BeginLoop(index);
    for (size_t k = 0, tensor = 0; k < step.out.size(); ++k) {
      frame->slots[body.inputs[k + 1]] =
          IsTensor(initial(k)) ? IValue(carried[tensor++].tensor) : initial(k);
    }
    // An error of the first turn shows up when it runs by itself.
    can_be = RunBlock(body, frame).ok();
    depth_ = depth;
    for (size_t k = 0; can_be && k < step.out.size(); ++k) {
      const IValue& value = frame->slots[body.outputs[k + 1]];
      can_be = AreAlike(slots[step.in[k + 2]], value);
      if (can_be && IsTensor(value)) next.push_back(value.toTensor());
    }
    for (const at::Tensor& tensor : next) can_be &= !recorder_.HasUnknownSizes(tensor);
    if (can_be) recorder_.EndTurn(next);
    can_be &= sizes_.EndLoop();
    numbers_.clear();
    frame->slots = slots;
    if (!can_be) {
      recorder_.AbandonBodies();
      return false;
    }
    is_replaying_ = true;
    const absl::Status status = RunTurns(step, frame);
    is_replaying_ = false;
    if (!status.ok()) {
      recorder_.AbandonBodies();
      return status;
    }
    std::vector<at::Tensor> results;
    for (const int slot : step.out) {
      IValue& value = frame->slots[slot];
      if (IsTensor(value)) value = results.emplace_back(value.toTensor().detach());
    }
    recorder_.WhileLoop(absl::StrCat(name, "_test"), trips, begin, results, PlaceOf(step),
                        frame->path);
    return true;
  }

  absl::Status RunLoop(const StepPlan& step, Frame* frame) {
    const jit::Node& node = *step.node;
    const auto always = jit::toIValue(node.blocks()[0]->outputs()[0]);
    const bool counts =
        frame->slots[step.in[1]].toBool() && always && always->isBool() && always->toBool();
    if (counts && !is_replaying_ && frame->slots[step.in[0]].toInt() > options_.max_unroll) {
      ASSIGN_OR_RETURN(const bool done, RunWhileLoop(step, frame));
      if (done) return absl::OkStatus();
    }
    return RunTurns(step, frame);
  }

  absl::Status RunTurns(const StepPlan& step, Frame* frame) {
    const BlockPlan& body = step.blocks[0];
    const int64_t trips = frame->slots[step.in[0]].toInt();
    bool proceed = frame->slots[step.in[1]].toBool();
    Values carried;
    for (size_t i = 2; i < step.in.size(); ++i) carried.push_back(frame->slots[step.in[i]]);
    size_t calls = recorder_.num_calls();
    for (int64_t i = 0; i < trips && proceed; ++i) {
      if (++steps_ > options_.max_steps) {
        return torchscript::ErrorAtNode(*step.node, absl::StrCat("more than ", options_.max_steps,
                                                                 " steps: a loop without end?"));
      }
      if (i > 0 && i % options_.max_unroll == 0 && recorder_.num_calls() > calls) {
        calls = recorder_.num_calls();
        RETURN_IF_ERROR(Break(step, BreakReason::kLongLoop, "prim::Loop", "", {}, [](Values*) {
                          return absl::OkStatus();
                        }).status());
      }
      frame->slots[body.inputs[0]] = i;
      for (size_t k = 0; k < carried.size(); ++k)
        frame->slots[body.inputs[k + 1]] = std::move(carried[k]);
      RETURN_IF_ERROR(RunBlock(body, frame));
      proceed = frame->slots[body.outputs[0]].toBool();
      for (size_t k = 0; k < carried.size(); ++k) carried[k] = frame->slots[body.outputs[k + 1]];
    }
    for (size_t k = 0; k < carried.size(); ++k) frame->slots[step.out[k]] = std::move(carried[k]);
    return absl::OkStatus();
  }

  // --- Operators -----------------------------------------------------------------

  const torchscript::Place& PlaceOf(const StepPlan& step) {
    if (!step.place) step.place = torchscript::PlaceOf(*step.node);
    return *step.place;
  }

  static absl::Status Execute(const StepPlan& step, Values* stack) {
    // Such operators find their number on the stack; prim::tolist has a fixed one.
    if (step.schema->is_vararg() && !step.schema->is_varret())
      stack->push_back(static_cast<int64_t>(step.in.size()));
    (*step.operation)(*stack);
    return absl::OkStatus();
  }

  absl::Status SetOutputs(const StepPlan& step, Frame* frame, Values results) {
    if (results.size() != step.out.size()) {
      return torchscript::ErrorAtNode(
          *step.node, absl::StrCat("yields ", results.size(), " values, not ", step.out.size()));
    }
    for (size_t i = 0; i < results.size(); ++i) frame->slots[step.out[i]] = std::move(results[i]);
    return absl::OkStatus();
  }

  bool AllKnown(const Values& operands) const {
    bool known = true;
    for (const IValue& operand : operands) {
      ForEachTensor(operand, [&](const at::Tensor& tensor) { known &= recorder_.IsKnown(tensor); });
    }
    return known;
  }

  bool HasTensors(const Values& operands) const {
    bool has = false;
    for (const IValue& operand : operands)
      ForEachTensor(operand, [&](const at::Tensor&) { has = true; });
    return has;
  }

  using Change = absl::FunctionRef<at::Tensor(const at::Tensor&)>;
  // What `step` yields for `operands` with other tensors in their places; nothing if
  // it does not work on them.
  static std::optional<Values> Try(const StepPlan& step, const Values& operands, Change change) {
    if (step.schema->is_varret()) return std::nullopt;
    try {
      Values stack;
      for (const IValue& operand : operands) {
        stack.push_back(MapLeaves(operand, [&](const IValue& leaf) {
          return IsTensor(leaf) ? IValue(change(leaf.toTensor())) : leaf;
        }));
      }
      if (!Execute(step, &stack).ok()) return std::nullopt;
      return stack;
    } catch (...) {
      return std::nullopt;
    }
  }

  static at::TensorOptions MetaOf(const at::Tensor& tensor) {
    return tensor.options().device(at::kMeta);
  }
  static at::Tensor ToMeta(const at::Tensor& tensor) {
    return at::empty_strided(tensor.sizes(), tensor.strides(), MetaOf(tensor));
  }

  // Whether the operator looks at dtypes, devices and sizes only, as guards do: then
  // it works on tensors without data, and does not mind how they lie in memory.
  bool IsOfMeta(const StepPlan& step, const Values& operands) {
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

  // What a value that was read from a tensor is for.
  static BreakReason ReasonOfRead(const jit::Value* value, int depth = 0) {
    const auto raises = [](const jit::Block* block) {
      return absl::c_any_of(block->nodes(),
                            [](const jit::Node* n) { return n->kind() == prim::RaiseException; });
    };
    BreakReason found = BreakReason::kNone;
    for (const jit::Use& use : value->uses()) {
      BreakReason reason = BreakReason::kNone;
      if (use.user->kind() == prim::If && use.offset == 0) {
        reason = raises(use.user->blocks()[0]) || raises(use.user->blocks()[1])
                     ? BreakReason::kAssertOnData
                     : BreakReason::kBranchOnData;
      } else if (use.user->kind() == prim::Loop && use.offset < 2) {
        reason = BreakReason::kLoopOnData;
      } else if (use.user->kind() == prim::Return && use.offset == 0 &&
                 use.user->owningBlock()->owningNode() != nullptr &&
                 use.user->owningBlock()->owningNode()->kind() == prim::Loop) {
        reason = BreakReason::kLoopOnData;
      } else if (depth < 4 && use.user->outputs().size() == 1 &&
                 use.user->output()->type()->kind() == c10::TypeKind::BoolType) {
        reason = ReasonOfRead(use.user->output(), depth + 1);
      }
      if (found == BreakReason::kNone) found = reason;
    }
    return found;
  }

  absl::Status RunOperator(const StepPlan& step, Frame* frame, Values operands) {
    const bool asked = break_on_.contains(step.schema->name());
    const bool custom = !absl::StartsWith(step.schema->name(), "aten::") &&
                        !absl::StartsWith(step.schema->name(), "prim::");
    if (!step.is_allowed && !(custom && options_.custom_operators)) {
      return torchscript::ErrorAtNode(*step.node, absl::StrCat(step.schema->name(),
                                                               " is not run: it may reach beyond "
                                                               "the program's values"));
    }
    if (is_replaying_) {
      RETURN_IF_ERROR(Execute(step, &operands));
      return SetOutputs(step, frame, std::move(operands));
    }
    if (sizes_.any() && HasSymbols(operands)) {
      if (!asked) {
        if (std::optional<IValue> value = sizes_.Compute(step.schema->name(), operands))
          return SetOutputs(step, frame, {*std::move(value)});
      }
      // Graphs and manifests have expressions; lists hold what they are given.
      const bool is_outer =
          !step.writes.empty() && operands[0].isList() && outer_.contains(IdentityOf(operands[0]));
      if (is_outer || (!custom && step.op_class != OpClass::kCompute && !step.takes_any_list)) {
        for (IValue& operand : operands) operand = sizes_.Pin(operand);
      }
      if (is_outer) {
        for (const IValue& operand : operands) MarkOuter(operand);
      }
    }
    BreakReason reason = custom ? BreakReason::kCustomOperator : BreakReason::kNone;
    switch (step.op_class) {
      case OpClass::kValues:
        if (!custom) return RunOnValues(step, frame, std::move(operands));
        break;
      case OpClass::kEffect:
        if (!custom && absl::StrContains(step.schema->name(), "grad_enabled")) {
          return RunOnValues(step, frame,
                             std::move(operands));  // No gradients are computed anyway.
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
          RETURN_IF_ERROR(Execute(step, &results));
          if (results.size() == 1) results[0] = sizes_.Read(step, operands, results[0]);
          return SetOutputs(step, frame, std::move(results));
        }
        if (!HasTensors(operands) || AllKnown(operands) || IsOfMeta(step, operands)) {
          return RunOnValues(step, frame, std::move(operands));
        }
        reason = step.out.size() == 1 ? ReasonOfRead(step.node->output()) : BreakReason::kNone;
        if (reason == BreakReason::kNone) {
          const bool number = step.out.size() == 1 &&
                              step.node->output()->type()->isSubtypeOf(*c10::NumberType::get());
          const bool boolean = step.out.size() == 1 && step.node->kind() == aten::Bool;
          reason = number || boolean ? BreakReason::kNumberFromTensor : BreakReason::kDataRead;
        }
        if (options_.cond && reason == BreakReason::kBranchOnData && DefersToIf(step, operands[0]))
          return absl::OkStatus();
        break;
      case OpClass::kCompute:
        if (custom) break;
        if (WritesAttribute(step, operands)) {
          reason = BreakReason::kAttributeMutated;
          for (const int i : Writes(step, operands)) {
            ForEachTensor(operands[i], [&](const at::Tensor& t) { recorder_.KeepInitial(t); });
          }
        } else if (asked) {
          reason = BreakReason::kAsked;
        } else if (step.yields_list && AnyUnknownSizes(operands)) {
          reason = BreakReason::kDataRead;  // How many tensors there are depends on data.
        } else {
          return Record(step, frame, std::move(operands));
        }
        break;
    }
    ASSIGN_OR_RETURN(Values results, Break(step, reason, step.schema->name(),
                                           step.schema->overload_name(), std::move(operands),
                                           [&](Values* stack) { return Execute(step, stack); }));
    return SetOutputs(step, frame, std::move(results));
  }

  // Leaves the read to the `if` right behind it, the only one that asks for it.
  bool DefersToIf(const StepPlan& step, const IValue& operand) {
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

  static bool IsReadOfNumber(const jit::Node& node) {
    return node.outputs().size() == 1 && node.inputs().size() == 1 &&
           (node.output()->type()->kind() == c10::TypeKind::IntType ||
            node.kind() == aten::ScalarImplicit);
  }
  static const c10::TensorImpl* FirstTensor(const Values& operands) {
    return !operands.empty() && operands[0].isTensor()
               ? operands[0].toTensor().unsafeGetTensorImpl()
               : nullptr;
  }

  // Operands that the call writes to. Normalisations do so without saying it in
  // their schema.
  static std::vector<int> Writes(const StepPlan& step, const Values& operands) {
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

  bool WritesAttribute(const StepPlan& step, const Values& operands) const {
    bool writes = false;
    for (const int i : Writes(step, operands)) {
      ForEachTensor(operands[i],
                    [&](const at::Tensor& tensor) { writes |= recorder_.IsOfAttribute(tensor); });
    }
    return writes;
  }

  absl::Status RunOnValues(const StepPlan& step, Frame* frame, Values operands) {
    const bool yields_text =
        step.out.size() == 1 && step.node->output()->type()->kind() == c10::TypeKind::StringType;
    if (yields_text && HasTensors(operands) && !AllKnown(operands)) {
      ASSIGN_OR_RETURN(Values results, Break(step, BreakReason::kDataRead, step.schema->name(),
                                             step.schema->overload_name(), std::move(operands),
                                             [&](Values* stack) { return Execute(step, stack); }));
      return SetOutputs(step, frame, std::move(results));
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
          // Before the first change: what a run begins with.
          ASSIGN_OR_RETURN(ValueTree pattern,
                           ToTree(operands[i], [&](const at::Tensor& t) { return Number(t); }));
          capture_.manifest.states.push_back({h.path, h.name, std::move(pattern)});
        }
      }
    }
    RETURN_IF_ERROR(Execute(step, &operands));
    RETURN_IF_ERROR(SetOutputs(step, frame, std::move(operands)));
    for (const IValue& container : written) {
      const Home& home = homes_.at(IdentityOf(container));
      RETURN_IF_ERROR(Break(step, BreakReason::kAttributeMutated, "prim::SetAttr", "",
                            {home.path, home.name, container},
                            [](Values* values) {
                              values->clear();
                              return absl::OkStatus();
                            })
                          .status());
    }
    return absl::OkStatus();
  }

  bool AnyUnknownSizes(const Values& operands) const {
    bool any = false;
    for (const IValue& operand : operands) {
      ForEachTensor(operand,
                    [&](const at::Tensor& tensor) { any |= recorder_.HasUnknownSizes(tensor); });
    }
    return any;
  }

  // Whether sizes of what `step` yields depend on more than the sizes of `operands`.
  bool YieldsUnknownSizes(const StepPlan& step, const Values& operands, bool known) {
    if (known) return false;
    return AnyUnknownSizes(operands) ||
           (step.sizes_may_depend_on_data && !Try(step, operands, ToMeta));
  }

  // The call becomes a node of the current graph.
  absl::Status Record(const StepPlan& step, Frame* frame, Values operands) {
    if (recorder_.in_body() && (step.is_random || !Writes(step, operands).empty())) return NoBody();
    // Tracing writes sizes as tensors. One that is only read is the number that it holds.
    const bool is_number =
        sizes_.any() && step.node->kind() == prim::NumToTensor && HasSymbols(operands);
    if (is_number && !absl::c_all_of(step.node->output()->uses(), [](const jit::Use& use) {
          return IsReadOfNumber(*use.user);
        })) {
      operands[0] = sizes_.Pin(operands[0]);
    }
    const Values symbolic = operands;
    const bool is_symbolic = sizes_.any() && HasSymbols(symbolic);
    if (is_symbolic) {
      for (IValue& operand : operands) operand = WithoutSymbols(operand);
    }
    const bool known = !step.is_random && !is_symbolic && AllKnown(operands);
    const bool unknown_sizes = YieldsUnknownSizes(step, operands, known);
    std::vector<Argument> arguments;
    for (const IValue& operand : symbolic) {
      absl::StatusOr<Argument> argument = recorder_.Operand(operand);
      if (!argument.ok())
        return torchscript::CannotRepresent(*step.node, argument.status().message());
      arguments.push_back(*argument);
    }
    ASSIGN_OR_RETURN(torchscript::CallForm form,
                     operators_.Form(*step.node, std::move(arguments),
                                     [&](const IValue& value) { return Default(value); }));
    SpellAsScripts(&form);
    const std::string name = step.out.size() == 1 ? torchscript::NameOf(step.node->output()) : "";
    Node* node = recorder_.Call(form, name, PlaceOf(step), frame->path);
    recorder_.ForgetOperands();
    std::vector<at::Tensor> written;
    for (const int i : Writes(step, operands)) {
      ForEachTensor(operands[i], [&](const at::Tensor& tensor) { written.push_back(tensor); });
    }
    for (const at::Tensor& tensor : written) {
      capture_.writes_inputs |=
          tensor.has_storage() && input_storages_.contains(tensor.storage().unsafeGetStorageImpl());
    }
    RETURN_IF_ERROR(Execute(step, &operands));
    if (sizes_.any() && !unknown_sizes) sizes_.Run(step, symbolic, operands);
    if (is_number && is_symbolic) {
      const at::Tensor& number = operands[0].toTensor();
      numbers_[number.unsafeGetTensorImpl()] = {number, symbolic[0]};
    }
    recorder_.SetResults(node, operands,
                         {.known = known,
                          .foldable = is_number && is_symbolic,
                          .writes = !written.empty(),
                          .unknown_sizes = unknown_sizes});
    if (!known) {
      for (const at::Tensor& tensor : written) recorder_.Forget(tensor);
    }
    return SetOutputs(step, frame, std::move(operands));
  }

  absl::StatusOr<Argument> Default(const IValue& value) {
    // As long-lived as the table of operators.
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

  // Ends the graph, runs the operation, and notes both. `run` turns operands into
  // results.
  absl::StatusOr<Values> Break(const StepPlan& step, BreakReason reason, const std::string& op,
                               const std::string& overload, Values operands,
                               absl::FunctionRef<absl::Status(Values*)> run) {
    if (recorder_.in_body()) return NoBody();
    StitchStep out;
    out.op = op;
    out.overload = overload;
    out.reason = reason;
    const torchscript::Place& place = PlaceOf(step);
    out.file = place.file;
    out.line = static_cast<int64_t>(place.line);
    out.column = static_cast<int64_t>(place.column);
    out.source = SourceLine(*step.node);
    for (const IValue& operand : operands) {
      absl::StatusOr<ValueTree> tree =
          ToTree(operand, [&](const at::Tensor& t) { return Number(t); });
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

  static std::string SourceLine(const jit::Node& node) {
    jit::SourceRange range = node.sourceRange();
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

  const CaptureOptions& options_;
  Capture& capture_;
  DynamicSizes sizes_;
  absl::flat_hash_set<const void*> outer_;
  Recorder recorder_;
  Planner planner_;
  torchscript::OperatorTable operators_;
  Arena arena_;
  absl::flat_hash_set<std::string> break_on_;
  absl::flat_hash_set<const c10::StorageImpl*> input_storages_;
  absl::flat_hash_map<const c10::ivalue::Object*, std::string> paths_;
  absl::flat_hash_set<const c10::ClassType*> types_;
  absl::flat_hash_set<std::pair<const c10::ClassType*, std::string>> assigned_;
  absl::flat_hash_set<std::pair<const void*, size_t>> read_;  // attributes
  absl::node_hash_map<const void*, Home> homes_;
  absl::flat_hash_map<const c10::FunctionSchema*, bool> is_of_meta_;
  // Tensors that hold a symbolic number.
  absl::flat_hash_map<const c10::TensorImpl*, std::pair<at::Tensor, IValue>> numbers_;
  // By `if`: the tensor that it depends on, and the step that reads it.
  absl::flat_hash_map<const jit::Node*, std::pair<at::Tensor, const StepPlan*>> deferred_;
  int num_conds_ = 0;
  int num_loops_ = 0;
  bool is_replaying_ = false;  // turns of a loop that is captured already
  int64_t steps_ = 0;
  int depth_ = 0;
};

}  // namespace
}  // namespace extract

absl::StatusOr<Capture> CaptureProgram(const torch::jit::Module& module,
                                       std::vector<c10::IValue> inputs,
                                       const CaptureOptions& options) {
  return Guarded([&]() -> absl::StatusOr<Capture> {
    const std::optional<torch::jit::Method> method = module.find_method(options.method);
    if (!method)
      return absl::NotFoundError(
          absl::StrCat("the module has no method ", Printable(options.method)));
    torch::jit::GraphFunction* function = torch::jit::tryToGraphFunction(method->function());
    if (function == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("the method ", Printable(options.method), " is not written in TorchScript"));
    }
    const auto& type = module.type();
    if (options.method == "forward" &&
        !(type->getForwardHooks().empty() && type->getForwardPreHooks().empty())) {
      return absl::InvalidArgumentError("cannot capture the forward hooks of the module");
    }
    if (options.max_unroll < 1) return absl::InvalidArgumentError("max_unroll is below 1");
    if (options.cond && !options.dynamic.empty())
      return absl::InvalidArgumentError("cond and dynamic sizes do not go together");
    function->ensure_defined();
    std::vector<c10::IValue> stack = {module._ivalue()};
    stack.insert(stack.end(), inputs.begin(), inputs.end());
    function->getSchema().checkAndNormalizeInputs(stack);
    stack.erase(stack.begin());
    c10::InferenceMode inference;
    Capture capture;
    capture.manifest.name = options.method;
    extract::Session session(options, &capture);
    RETURN_IF_ERROR(session.Run(module, *function, std::move(stack)));
    return capture;
  });
}

}  // namespace graphnet
