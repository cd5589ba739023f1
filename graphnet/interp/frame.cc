#include "graphnet/interp/frame.h"

#include <algorithm>
#include <exception>
#include <string>
#include <utility>

#include "ATen/Functions.h"
#include "ATen/WrapDimUtils.h"
#include "c10/util/Exception.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/interp/no_grad.h"
#include "graphnet/interp/torch/status.h"
#include "graphnet/ir/node_error.h"

namespace graphnet::interp {
namespace {

using at::indexing::TensorIndex;
using c10::IValue;

// Values that a graph may return. A shared value counts once for each reference to it.
constexpr int64_t kMaxReturned = int64_t{1} << 20;

bool IsTrue(const IValue& value) {
  return value.isTensor() ? value.toTensor().item().toBool()
         : value.isBool() ? value.toBool()
                          : value.toInt() != 0;
}

// Returns the value of a body: its only result, or a tuple of `results`.
IValue ResultOf(const Program& body, std::vector<IValue> results) {
  const Source& returned = body.instructions.back().args[0];
  const bool is_one = returned.kind == Source::Kind::kSlot ||
                      (returned.kind == Source::Kind::kConstant && !returned.constant.isTuple() &&
                       !returned.constant.isList());
  if (is_one && results.size() == 1) return std::move(results[0]);
  return c10::ivalue::Tuple::create(std::move(results));
}

// Returns how many values a body returns; nullopt if some of them are lists or tuples themselves.
std::optional<size_t> NumResults(const Program& body) {
  const Source& returned = body.instructions.back().args[0];
  if (returned.kind == Source::Kind::kSlot) return 1;
  if (returned.kind != Source::Kind::kTuple && returned.kind != Source::Kind::kList)
    return std::nullopt;
  for (const Source& element : returned.elements) {
    if (element.kind != Source::Kind::kSlot) return std::nullopt;
  }
  return returned.elements.size();
}

// Returns the size of the first dimension of all `xs`.
int64_t NumTurns(const std::vector<IValue>& xs) {
  std::optional<int64_t> turns;
  for (const IValue& x : xs) {
    const at::Tensor& tensor = x.toTensor();
    TORCH_CHECK(tensor.dim() > 0, "cannot iterate over a tensor without dimensions");
    TORCH_CHECK(!turns || *turns == tensor.size(0), "cannot iterate together over tensors of ",
                *turns, " and ", tensor.size(0), " elements");
    turns = tensor.size(0);
  }
  TORCH_CHECK(turns, "there is nothing to iterate over");
  return *turns;
}

// Stacks the i-th value of each iteration in one tensor; returns None if it was None.
IValue Stacked(const std::vector<std::vector<IValue>>& turns, size_t i) {
  if (turns[0][i].isNone()) return IValue();
  std::vector<at::Tensor> tensors;
  for (const std::vector<IValue>& turn : turns) {
    tensors.push_back(AsTensor(turn.at(i)).toTensor());
  }
  return at::stack(tensors);
}

}  // namespace

absl::Status Frame::Run(std::vector<IValue> inputs, bool flat, std::vector<IValue>* results) {
  flat_ = flat;
  results_ = results;
  for (size_t i = 0; i < inputs.size(); ++i) slots_[program_.inputs[i]] = std::move(inputs[i]);
  if (observer_ != nullptr) {
    for (const auto& [node, i] : program_.passed_on) {
      RETURN_IF_ERROR((*observer_)(*node, slots_[program_.inputs[i]]));
    }
  }
  const Operand* operands = program_.operands.data();
  const uint32_t* dead = program_.dead.data();
  size_t i = 0;
  try {
    for (; i < program_.steps.size(); ++i) {
      const Step& step = program_.steps[i];
      const Operand* const operands_end = program_.operands.data() + step.operands_end;
      if (step.direct != nullptr) {
        CallDirect(step, operands, operands_end);
      } else if (device_.is_meta()) [[unlikely]] {
        ExecuteForShapes(program_.instructions[i]);
      } else {
        Execute(program_.instructions[i]);
      }
      operands = operands_end;
      if (observer_ != nullptr) [[unlikely]] {
        for (const Node* node : program_.instructions[i].ends) {
          if (!IsUnknown(step.result)) RETURN_IF_ERROR((*observer_)(*node, slots_[step.result]));
        }
      }
      for (const uint32_t* const end = program_.dead.data() + step.dead_end; dead != end; ++dead) {
        slots_[*dead] = IValue();
      }
    }
  } catch (...) {
    if (!status_.ok()) return status_;
    return NodeError(*program_.instructions[i].origin, CurrentExceptionStatus().message());
  }
  return left_out_;
}

void Frame::Return(const Source& source) {
  if (source.kind != Source::Kind::kTuple && source.kind != Source::Kind::kList) {
    return Return(Make(source), false);
  }
  // Does not make the tuple, which may be long.
  results_->reserve(source.elements.size());
  for (const Source& element : source.elements) {
    if (element.kind == Source::Kind::kSlot && slots_[element.slot].isTensor() &&
        element.wanted.want == Want::kAny) {
      IValue& value = slots_[element.slot];
      results_->push_back(element.last_use ? std::move(value) : value);
    } else {
      Return(Make(element), true);
    }
  }
}

void Frame::Return(IValue value, bool is_element, int depth) {
  // Lists and tuples are shared, and lists may hold themselves.
  TORCH_CHECK(depth <= kMaxNesting, "the returned value nests too deep");
  TORCH_CHECK(++returned_ <= kMaxReturned, "more than ", kMaxReturned, " values are returned");
  if (is_element && !flat_) {
    results_->push_back(std::move(value));
  } else if (value.isTuple() || value.isList()) {
    for (IValue& element : Elements(value)) Return(std::move(element), true, depth + 1);
  } else if (flat_ && value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) Return(entry.value(), true, depth + 1);
  } else {
    results_->push_back(std::move(value));
  }
}

IValue Frame::Make(const Source& source) {
  switch (source.kind) {
    case Source::Kind::kConstant: return source.constant;
    case Source::Kind::kSlot: {
      IValue value = source.last_use ? std::move(slots_[source.slot]) : slots_[source.slot];
      Convert(source.wanted, &value);
      return value;
    }
    default: return MakeAggregate(source);
  }
}

IValue Frame::MakeAggregate(const Source& source) {
  if (source.wanted.want == Want::kTensorList) {  // a fast path, as for at::cat({x, y})
    c10::List<at::Tensor> tensors;
    tensors.reserve(source.elements.size());
    for (const Source& element : source.elements) {
      if (element.kind == Source::Kind::kSlot && slots_[element.slot].isTensor()) {
        tensors.push_back(slots_[element.slot].toTensor());
      } else {
        tensors.push_back(AsTensor(Make(element)).toTensor());
      }
    }
    return tensors;
  }
  std::vector<IValue> elements;
  elements.reserve(source.elements.size());
  for (const Source& element : source.elements) elements.push_back(Make(element));
  switch (source.kind) {
    case Source::Kind::kList:
    case Source::Kind::kTuple: {
      IValue value = MakeSequence(std::move(elements), source.kind == Source::Kind::kTuple);
      Convert(source.wanted, &value);
      return value;
    }
    case Source::Kind::kDict: {
      const c10::TypePtr key =
          elements.empty() ? c10::TypePtr(c10::StringType::get()) : elements[0].type();
      return MakeDict(key, std::move(elements));
    }
    default: TORCH_CHECK(false, "a slice outside of a subscript");
  }
}

void Frame::Execute(const Instruction& instruction) {
  stack_.clear();
  switch (instruction.kind) {
    case Instruction::Kind::kOperator:
    case Instruction::Kind::kOperation:
    case Instruction::Kind::kBuiltin:
      for (const Source& source : instruction.args) stack_.push_back(Make(source));
      if (device_.is_meta()) [[unlikely]] {
        CallForShapes(instruction);
      } else {
        Call(instruction, device_);
      }
      return;
    case Instruction::Kind::kGetItem: GetItem(instruction); return;
    case Instruction::Kind::kSetItem: SetItem(instruction); return;
    case Instruction::Kind::kCond: Cond(instruction); return;
    case Instruction::Kind::kWhile: While(instruction); return;
    case Instruction::Kind::kVmap: Vmap(instruction); return;
    case Instruction::Kind::kMap: Map(instruction); return;
    case Instruction::Kind::kScan: Scan(instruction); return;
    case Instruction::Kind::kRegion: Region(instruction); return;
    case Instruction::Kind::kOutput: Return(instruction.args[0]); return;
  }
}

void Frame::CallDirect(const Step& step, const Operand* operand, const Operand* end) {
  stack_.clear();  // It takes new arguments, and never has to grow.
  const IValue* args[kMaxDirectArguments];
  const auto count = static_cast<size_t>(end - operand);
  for (const IValue** arg = args; operand != end; ++operand, ++arg) {
    if (operand->constant != nullptr) {
      *arg = operand->constant;
    } else if (operand->tensor_slot != kNoSlot && slots_[operand->tensor_slot].isTensor()) {
      *arg = &slots_[operand->tensor_slot];
    } else if (const Source& source = *operand->source;
               source.kind == Source::Kind::kSlot && Fits(source.wanted, slots_[source.slot])) {
      *arg = &slots_[source.slot];
    } else {
      *arg = &stack_.emplace_back(Make(source));
    }
  }
  CallAsNoGrad(step.is_composite, at::ArrayRef(args, count),
               [&] { step.direct->Call(args, &slots_[step.result]); });
}

void Frame::Call(const Instruction& instruction, c10::Device device) {
  IValue& result = slots_[instruction.result];
  switch (instruction.kind) {
    case Instruction::Kind::kBuiltin: result = instruction.builtin(stack_, device); return;
    case Instruction::Kind::kOperator:
      CallAsNoGrad(instruction.is_composite, at::ArrayRef(stack_),
                   [&] { instruction.op->callBoxed(&stack_); });
      break;
    default: (*instruction.operation)(stack_); break;
  }
  if (stack_.size() == 1) {
    result = std::move(stack_[0]);
  } else if (stack_.empty()) {
    result = IValue();
  } else {
    result = c10::ivalue::Tuple::create(std::move(stack_));
  }
}

// --- Subscripts --------------------------------------------------------------

std::optional<c10::SymInt> Frame::Bound(const Source& source) {
  const IValue value = Make(source);
  if (value.isNone()) return std::nullopt;
  return c10::SymInt(AsInt(value));
}

TensorIndex Frame::Index(const Source& source) {
  if (source.kind == Source::Kind::kEllipsis) return at::indexing::Ellipsis;
  if (source.kind == Source::Kind::kSlice) {
    return at::indexing::Slice(Bound(source.elements[0]), Bound(source.elements[1]),
                               Bound(source.elements[2]));
  }
  const IValue value = Make(source);
  if (value.isNone()) return at::indexing::None;
  if (value.isBool()) return value.toBool();
  if (value.isInt()) return value.toInt();
  if (value.isTensor()) return value.toTensor();
  // A list of numbers stands for a tensor.
  std::vector<IValue> args = {value, IValue(), IValue()};
  return FindBuiltin("torch.tensor")(args, device_).toTensor();
}

std::vector<TensorIndex> Frame::Indices(const Source& source) {
  std::vector<TensorIndex> indices;
  if (source.kind == Source::Kind::kTuple) {
    indices.reserve(source.elements.size());
    for (const Source& element : source.elements) indices.push_back(Index(element));
  } else if (source.kind == Source::Kind::kConstant && source.constant.isTuple()) {
    for (const IValue& element : source.constant.toTupleRef().elements()) {
      Source constant;
      constant.constant = element;
      indices.push_back(Index(constant));
    }
  } else {
    indices.push_back(Index(source));
  }
  return indices;
}

at::Tensor Frame::View(const at::Tensor& tensor, const Instruction& instruction) {
  TORCH_CHECK(instruction.num_subscripts <= tensor.dim(),
              "too many indices for a tensor of dimension ", tensor.dim());
  const at::Tensor* base = &tensor;
  at::Tensor view;
  for (const ViewStep& step : instruction.views) {
    const int64_t dim = step.from_end ? base->dim() - step.dim : step.dim;
    switch (step.kind) {
      case ViewStep::Kind::kSlice:
        view = at::slice(*base, dim, step.start, step.stop, step.step);
        break;
      case ViewStep::Kind::kSelect: view = at::select(*base, dim, *step.start); break;
      case ViewStep::Kind::kUnsqueeze: view = at::unsqueeze(*base, dim); break;
    }
    base = &view;
  }
  return view;
}

bool Frame::GetView(const at::Tensor& tensor, const Source& index, IValue* result) {
  // The elements of a subscript, or the subscript itself. If it is a tuple of constants, its
  // views are in Instruction::views instead.
  const absl::Span<const Source> elements = index.kind == Source::Kind::kTuple
                                                ? absl::MakeConstSpan(index.elements)
                                                : absl::MakeConstSpan(&index, 1);
  const auto value_of = [&](const Source& source) -> const IValue& {
    return source.kind == Source::Kind::kSlot ? slots_[source.slot] : source.constant;
  };
  int64_t taken = 0;  // dimensions that integers and slices take
  for (const Source& element : elements) {
    switch (element.kind) {
      case Source::Kind::kEllipsis: break;
      case Source::Kind::kSlice: ++taken; break;
      case Source::Kind::kSlot:
      case Source::Kind::kConstant:
        if (value_of(element).isInt()) {
          ++taken;
        } else if (!value_of(element).isNone()) {
          return false;
        }
        break;
      default: return false;
    }
  }
  TORCH_CHECK(taken <= tensor.dim(), "too many indices for a tensor of dimension ", tensor.dim());
  at::Tensor view = tensor;
  int64_t dim = 0;
  for (const Source& element : elements) {
    if (element.kind == Source::Kind::kEllipsis) {
      dim += tensor.dim() - taken;
    } else if (element.kind == Source::Kind::kSlice) {
      const auto start = Bound(element.elements[0]), stop = Bound(element.elements[1]),
                 step = Bound(element.elements[2]);
      if (start || stop || step) view = at::slice_symint(view, dim, start, stop, step.value_or(1));
      ++dim;
    } else if (value_of(element).isNone()) {
      view = view.unsqueeze(dim++);
    } else {
      view = view.select(dim, value_of(element).toInt());
    }
  }
  *result = view.is_same(tensor) ? at::alias(view) : view;
  return true;
}

void Frame::GetItem(const Instruction& instruction) {
  const Source& from = instruction.args[0];
  const Source& index = instruction.args[1];
  IValue& result = slots_[instruction.result];
  if (!instruction.views.empty() && from.kind == Source::Kind::kSlot &&
      slots_[from.slot].isTensor()) {
    result = View(slots_[from.slot].toTensor(), instruction);
    return;
  }
  const IValue object = Make(from);
  if (object.isTensor()) {
    if (GetView(object.toTensor(), index, &result)) return;
    const auto indices = Indices(index);
    result = device_.is_meta() ? GetItemForShapes(object.toTensor(), indices)
                               : IValue(at::indexing::get_item(object.toTensor(), indices));
  } else if (object.isGenericDict()) {
    result = object.toGenericDict().at(Make(index));
  } else {
    result = GetElements(object, index);
  }
}

IValue Frame::GetElements(const IValue& sequence, const Source& index) {
  if (index.kind != Source::Kind::kSlice) {
    const int64_t given = AsInt(Make(index));
    const auto element = [given](const auto& elements) -> IValue {
      const auto size = static_cast<int64_t>(elements.size());
      const int64_t i = given < 0 ? given + size : given;
      TORCH_CHECK(i >= 0 && i < size, "index ", given, " is out of range for a length of ", size);
      return elements[static_cast<size_t>(i)];
    };
    return sequence.isTuple() ? element(sequence.toTupleRef().elements())
                              : element(sequence.toListRef());
  }
  const std::vector<IValue> elements = Elements(sequence);
  const auto size = static_cast<int64_t>(elements.size());
  const auto start = Bound(index.elements[0]), stop = Bound(index.elements[1]),
             step = Bound(index.elements[2]);
  const int64_t by = step ? step->expect_int() : 1;
  TORCH_CHECK(by > 0, "a slice of a sequence with a step of ", by);
  const auto clamp = [size](int64_t i) {
    return std::clamp<int64_t>(i < 0 ? i + size : i, 0, size);
  };
  std::vector<IValue> taken;
  const int64_t end = stop ? clamp(stop->expect_int()) : size;
  for (int64_t i = start ? clamp(start->expect_int()) : 0; i < end;) {
    taken.push_back(elements[static_cast<size_t>(i)]);
    if (by >= end - i) break;
    i += by;
  }
  return MakeSequence(std::move(taken), sequence.isTuple());
}

void Frame::SetItem(const Instruction& instruction) {
  at::Tensor object = Make(instruction.args[0]).toTensor();
  const IValue value = Make(instruction.args[2]);
  const auto indices = Indices(instruction.args[1]);
  if (device_.is_meta()) {  // Shapes do not change.
    bool real = !object.is_meta() && !(value.isTensor() && value.toTensor().is_meta());
    for (const TensorIndex& i : indices) real = real && !(i.is_tensor() && i.tensor().is_meta());
    if (!real) return Forget(object);
  }
  if (value.isTensor()) {
    object.index_put_(indices, value.toTensor());
  } else {
    object.index_put_(indices, value.toScalar());
  }
}

// --- Higher-order calls ------------------------------------------------------

std::vector<IValue> Frame::CallBody(const Program& body, std::vector<IValue> inputs) {
  TORCH_CHECK(inputs.size() == body.inputs.size(), "a body takes ", body.inputs.size(),
              " values, not ", inputs.size());
  Frame frame(body, device_, nullptr, nullptr, &state_);
  std::vector<IValue> results;
  status_ = frame.Run(std::move(inputs), /*flat=*/false, &results);
  TORCH_CHECK(status_.ok(), "failed");
  return results;
}

void Frame::Cond(const Instruction& instruction) {
  const bool taken = IsTrue(Make(instruction.args[0]));
  std::vector<IValue> inputs;
  if (instruction.args.size() > 1) inputs = Elements(Make(instruction.args[1]));
  const Program& body = *instruction.bodies[taken ? 0 : 1];
  slots_[instruction.result] = ResultOf(body, CallBody(body, std::move(inputs)));
}

void Frame::While(const Instruction& instruction) {
  std::vector<IValue> carried = Elements(Make(instruction.args[0]));
  std::vector<IValue> others;
  if (instruction.args.size() > 1) others = Elements(Make(instruction.args[1]));
  const auto inputs = [&] {
    std::vector<IValue> all = carried;
    all.insert(all.end(), others.begin(), others.end());
    return all;
  };
  while (true) {
    TORCH_CHECK(--state_.iterations >= 0, "a loop does not end");
    const std::vector<IValue> proceed = CallBody(*instruction.bodies[0], inputs());
    TORCH_CHECK(proceed.size() == 1, "the condition of a loop must return one value");
    if (!IsTrue(proceed[0])) break;
    carried = CallBody(*instruction.bodies[1], inputs());
  }
  slots_[instruction.result] = c10::ivalue::Tuple::create(std::move(carried));
}

// Follows torch/_higher_order_ops/map.py: f(x[i]…, operands…) for all i, results stacked.
void Frame::Map(const Instruction& instruction) {
  const std::vector<IValue> xs = Elements(Make(instruction.args[0]));
  const std::vector<IValue> others = Elements(Make(instruction.args[1]));
  const int64_t count = NumTurns(xs);
  TORCH_CHECK(count > 0, "a map over no elements");
  std::vector<std::vector<IValue>> turns;
  for (int64_t i = 0; i < count; ++i) {
    TORCH_CHECK(--state_.iterations >= 0, "a loop does not end");
    std::vector<IValue> inputs;
    for (const IValue& x : xs) inputs.push_back(x.toTensor().select(0, i));
    inputs.insert(inputs.end(), others.begin(), others.end());
    turns.push_back(CallBody(*instruction.bodies[0], std::move(inputs)));
  }
  std::vector<IValue> results;
  for (size_t i = 0; i < turns[0].size(); ++i) results.push_back(Stacked(turns, i));
  slots_[instruction.result] = c10::ivalue::Tuple::create(std::move(results));
}

// Follows torch/_higher_order_ops/scan.py: f(carry…, x[i]…, operands…) returns the next carry and
// the results of an iteration, which are stacked.
void Frame::Scan(const Instruction& instruction) {
  std::vector<IValue> carry = Elements(Make(instruction.args[0]));
  const std::vector<IValue> xs = Elements(Make(instruction.args[1]));
  const std::vector<IValue> others = Elements(Make(instruction.args[2]));
  const size_t carried = carry.size();
  std::vector<std::vector<IValue>> turns;
  for (int64_t i = 0, count = xs.empty() ? 0 : NumTurns(xs); i < count; ++i) {
    TORCH_CHECK(--state_.iterations >= 0, "a loop does not end");
    std::vector<IValue> inputs = std::move(carry);
    for (const IValue& x : xs) inputs.push_back(x.toTensor().select(0, i));
    inputs.insert(inputs.end(), others.begin(), others.end());
    std::vector<IValue> results = CallBody(*instruction.bodies[0], std::move(inputs));
    TORCH_CHECK(results.size() >= carried, "an iteration returns ", results.size(),
                " values, fewer than the ", carried, " carried ones");
    const auto end = results.begin() + static_cast<ptrdiff_t>(carried);
    carry.assign(results.begin(), end);
    turns.emplace_back(end, results.end());
  }
  for (size_t i = 0; !turns.empty() && i < turns[0].size(); ++i) carry.push_back(Stacked(turns, i));
  slots_[instruction.result] = c10::ivalue::Tuple::create(std::move(carry));
}

void Frame::Region(const Instruction& instruction) {
  const auto call = [this](const char* name, std::vector<IValue> args) {
    return FindStateCall(name)(args, device_);
  };
  std::vector<IValue> mode = Elements(Make(instruction.args[0]));
  std::vector<IValue> inputs;
  for (size_t i = 1; i < instruction.args.size(); ++i) inputs.push_back(Make(instruction.args[i]));
  const bool has_mode = !mode.empty();
  if (has_mode) call("torch.amp.autocast_mode._enter_autocast", std::move(mode));
  const Program& body = *instruction.bodies[0];
  std::vector<IValue> outputs;
  if (instruction.runner != nullptr) {
    absl::StatusOr<std::vector<IValue>> made = instruction.runner(inputs);
    TORCH_CHECK(made.ok(), made.status().message());
    outputs = *std::move(made);
    const std::optional<size_t> wanted = NumResults(body);
    TORCH_CHECK(outputs.size() == wanted.value_or(outputs.size()), "its backend returns ",
                outputs.size(), " values, not ", wanted.value_or(0));
  } else {
    outputs = CallBody(body, std::move(inputs));
  }
  slots_[instruction.result] = ResultOf(body, std::move(outputs));
  if (has_mode) call("torch.amp.autocast_mode._exit_autocast", {});
}

// Follows torch/_functorch/vmap.py: opens a level, adds it to the batched operands, runs the
// body, and removes it from the results.
void Frame::Vmap(const Instruction& instruction) {
  const auto call = [this](const char* name, std::vector<IValue> args) {
    return FindStateCall(name)(args, device_);
  };
  std::vector<IValue> operands = Elements(Make(instruction.args[0]));
  const auto dims_of = [](const IValue& dims, size_t count) {
    if (!dims.isTuple() && !dims.isList()) return std::vector<IValue>(count, dims);
    std::vector<IValue> all = Elements(dims);
    TORCH_CHECK(all.size() == count, "expected ", count, " batch dimensions, not ", all.size());
    return all;
  };
  const std::vector<IValue> in_dims = dims_of(Make(instruction.args[1]), operands.size());
  std::optional<int64_t> size;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (in_dims[i].isNone()) continue;
    const int64_t here = operands[i].toTensor().size(in_dims[i].toInt());
    TORCH_CHECK(!size.has_value() || here == *size, "batch dimensions of sizes ", size.value_or(0),
                " and ", here);
    size = here;
  }
  TORCH_CHECK(size.has_value(), "at least one operand must have a batch dimension");
  const IValue level =
      call("torch._C._functorch._vmap_increment_nesting", {*size, Make(instruction.args[3])});
  for (size_t i = 0; i < operands.size(); ++i) {
    if (in_dims[i].isNone()) continue;
    const int64_t dim = c10::maybe_wrap_dim(in_dims[i].toInt(), operands[i].toTensor().dim());
    operands[i] = call("torch._C._functorch._add_batch_dim", {operands[i], dim, level});
  }
  const Program& body = *instruction.bodies[0];
  std::vector<IValue> results = CallBody(body, std::move(operands));
  const std::vector<IValue> out_dims = dims_of(Make(instruction.args[2]), results.size());
  for (size_t i = 0; i < results.size(); ++i) {
    if (out_dims[i].isNone()) continue;
    results[i] = call("torch._C._functorch._remove_batch_dim",
                      {results[i], level, *size, out_dims[i].toInt()});
  }
  call("torch._C._functorch._vmap_decrement_nesting", {});
  slots_[instruction.result] = ResultOf(body, std::move(results));
}

}  // namespace graphnet::interp
