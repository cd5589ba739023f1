// Runs calls on the meta device.
#include <algorithm>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ATen/Functions.h"
#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "c10/util/Exception.h"
#include "graphnet/base/limits.h"
#include "graphnet/interp/builtins.h"
#include "graphnet/interp/frame.h"
#include "graphnet/interp/meta_rules.h"
#include "graphnet/interp/run_report.h"
#include "graphnet/ir/node_error.h"

namespace graphnet::interp {
namespace {

using at::indexing::TensorIndex;
using c10::IValue;

constexpr char kUnknownData[] = "its shape depends on data that is not known";
// Elements that a call that makes a tensor from numbers alone may ask for, if its size can be
// found only by making it.
constexpr int64_t kMaxElementsToMake = 1 << 20;

// Returns the address of the elements of a tuple or list, which identifies it.
const void* IdentityOf(const IValue& value) {
  if (value.isTuple()) return &value.toTupleRef();
  const c10::ArrayRef<IValue> elements = value.toListRef();
  return elements.empty() ? nullptr : elements.data();
}

// Puts fn(tensor) in place of each tensor in a value. Visits each tuple and list once, as they may
// be shared.
class TensorMapper {
 public:
  explicit TensorMapper(absl::FunctionRef<at::Tensor(const at::Tensor&)> fn) : fn_(fn) {}

  IValue Map(const IValue& value, int depth = 0) {
    if (value.isTensor()) {
      return value.toTensor().defined() ? IValue(fn_(value.toTensor())) : value;
    }
    const bool may_hold_tensors = value.isTuple() || (value.isList() && !value.isIntList() &&
                                                      !value.isDoubleList() && !value.isBoolList());
    if (!may_hold_tensors) return value;
    TORCH_CHECK(depth < kMaxNesting, "a list is nested too deep");
    const void* const identity = IdentityOf(value);
    if (const auto it = mapped_.find(identity); identity != nullptr && it != mapped_.end())
      return it->second;
    std::vector<IValue> elements = Elements(value);
    bool any = false;
    for (IValue& element : elements) {
      IValue mapped = Map(element, depth + 1);
      any = any || !mapped.is(element);
      element = std::move(mapped);
    }
    IValue result = any ? MakeSequence(std::move(elements), value.isTuple()) : value;
    if (identity != nullptr && depth > 0) mapped_.emplace(identity, result);
    return result;
  }

 private:
  const absl::FunctionRef<at::Tensor(const at::Tensor&)> fn_;
  absl::flat_hash_map<const void*, IValue> mapped_;
};

IValue MapTensors(const IValue& value, absl::FunctionRef<at::Tensor(const at::Tensor&)> fn) {
  return TensorMapper(fn).Map(value);
}

void ForEachTensor(const IValue& value, absl::FunctionRef<void(const at::Tensor&)> fn) {
  MapTensors(value, [fn](const at::Tensor& tensor) {
    fn(tensor);
    return tensor;
  });
}

// Removes the data of a tensor. A nested tensor keeps it: its sizes are part of its data.
at::Tensor ToMeta(const at::Tensor& tensor) {
  return tensor.is_meta() || tensor.is_nested() ? tensor : tensor.to(c10::kMeta);
}

bool IsSmall(const IValue& value) {
  bool small = true;
  ForEachTensor(value,
                [&](const at::Tensor& t) { small = small && t.numel() <= kMaxElementsWithData; });
  return small;
}

IValue OnCpu(const IValue& value) {
  return value.isDevice() ? IValue(c10::Device(c10::kCPU)) : value;
}

bool HoldsTensors(const c10::Type& type) {
  if (type.kind() == c10::TypeKind::TensorType) return true;
  return absl::c_any_of(type.containedTypes(),
                        [](const c10::TypePtr& inner) { return HoldsTensors(*inner); });
}

// Returns true if all results of an operator are tensors.
bool YieldsTensors(const c10::OperatorHandle& op) {
  const auto& returns = op.schema().returns();
  return !returns.empty() && absl::c_all_of(returns, [](const c10::Argument& result) {
    return HoldsTensors(*result.type());
  });
}

bool DependsOnData(const c10::OperatorHandle& op) {
  return op.hasTag(at::Tag::dynamic_output_shape) || op.hasTag(at::Tag::data_dependent_output) ||
         (!op.schema().returns().empty() && !YieldsTensors(op));
}

// Returns true if two results have the same sizes and the same numbers.
bool SameForm(const IValue& a, const IValue& b) {
  if (a.isTensor() && b.isTensor()) {
    const at::Tensor& x = a.toTensor();
    const at::Tensor& y = b.toTensor();
    if (x.defined() != y.defined()) return false;
    if (!x.defined()) return true;
    if (x.is_nested() != y.is_nested()) return false;
    if (x.is_nested()) return x._nested_tensor_size().equal(y._nested_tensor_size());
    return x.sizes() == y.sizes();
  }
  const auto is_sequence = [](const IValue& v) { return v.isTuple() || v.isList(); };
  if (!is_sequence(a) || !is_sequence(b)) return a.tagKind() == b.tagKind() && a == b;
  const std::vector<IValue> x = Elements(a);
  const std::vector<IValue> y = Elements(b);
  return std::equal(x.begin(), x.end(), y.begin(), y.end(), SameForm);
}

// Data in place of unknown data: zeros, ones, or rising numbers.
enum class StandIn { kZeros, kOnes, kRising };
at::Tensor MakeStandIn(const at::Tensor& tensor, StandIn kind) {
  if (!tensor.is_meta()) return tensor.clone();
  const at::TensorOptions options = tensor.options().device(c10::kCPU);
  switch (kind) {
    case StandIn::kZeros: return at::zeros(tensor.sizes(), options);
    case StandIn::kOnes: return at::ones(tensor.sizes(), options);
    case StandIn::kRising: break;
  }
  return at::arange(tensor.numel()).to(tensor.scalar_type()).reshape(tensor.sizes());
}

// Returns true if the numbers among the arguments cannot ask for many elements.
bool AsksForLittle(const std::vector<IValue>& arguments) {
  int64_t elements = 1;
  const std::function<void(const IValue&)> take = [&](const IValue& value) {
    if (value.isInt()) {
      const int64_t n = value.toInt();
      const int64_t size = n < 0 ? (n == INT64_MIN ? INT64_MAX : -n) : n;
      if (size > 1 && __builtin_mul_overflow(elements, size, &elements)) elements = INT64_MAX;
    } else if (value.isIntList()) {
      for (const int64_t n : value.toIntVector()) take(n);
    }
  };
  for (const IValue& argument : arguments) take(argument);
  return elements <= kMaxElementsToMake;
}

}  // namespace

// Runs a call that only stores its arguments, or reads numbers from tensors. It works on the lists
// and dicts themselves, which it may change.
void Frame::CallContainer(const Instruction& instruction) {
  // aten.to with a device keeps the tensor on its device.
  const bool any_meta = absl::c_any_of(
      stack_, [](const IValue& value) { return value.isTensor() && value.toTensor().is_meta(); });
  for (IValue& value : stack_) {
    if (!any_meta) value = OnCpu(value);
    if (any_meta && value.isDevice()) value = device_;
    state_.reads_data |= value.isTensor() && !value.toTensor().is_meta();
  }
  Call(instruction, c10::Device(c10::kCPU));
  IValue& result = slots_[instruction.result];
  if (result.isTensor() && !IsSmall(result)) result = MapTensors(result, ToMeta);
}

// Runs a call that takes no tensors and makes some. They may be large, so their sizes are computed
// first; then the data of small ones.
void Frame::MakeForShapes(const Instruction& instruction, const std::vector<IValue>& arguments) {
  IValue& result = slots_[instruction.result];
  bool small = false;
  if (auto made = MetaResult(instruction.op->operator_name().name, stack_)) {
    result = *std::move(made);
    small = IsSmall(result);
  } else {
    try {
      Call(instruction, device_);
      small = IsSmall(result);
    } catch (const c10::NotImplementedError&) {
      if (!AsksForLittle(arguments)) throw;
      small = true;
    }
  }
  if (!small) return;
  stack_.clear();
  for (const IValue& argument : arguments) stack_.push_back(OnCpu(argument));
  Call(instruction, c10::Device(c10::kCPU));
  if (!IsSmall(result)) result = MapTensors(result, ToMeta);
}

// Runs a call that has no kernel for the meta device, or that needs data that is known. Made-up
// data replaces unknown data; sizes count only if they are the same for different data.
void Frame::CallOnStandIns(const Instruction& instruction, const std::vector<IValue>& arguments) {
  IValue& result = slots_[instruction.result];
  const bool must_agree = instruction.op.has_value() && DependsOnData(*instruction.op);
  std::optional<IValue> found;
  for (const StandIn kind : {StandIn::kZeros, StandIn::kOnes, StandIn::kRising}) {
    if (kind == StandIn::kRising && !must_agree) break;
    stack_.clear();
    for (size_t i = 0; i < arguments.size(); ++i) {
      stack_.push_back(MapTensors(OnCpu(arguments[i]),
                                  [kind](const at::Tensor& t) { return MakeStandIn(t, kind); }));
      if (i < instruction.args.size()) Convert(instruction.args[i].wanted, &stack_.back());
    }
    try {
      Call(instruction, c10::Device(c10::kCPU));
    } catch (const c10::Error&) {
      if (must_agree) throw;
      continue;
    }
    TORCH_CHECK_NOT_IMPLEMENTED(!found || SameForm(*found, result), kUnknownData);
    found = result;
  }
  // A call that fails on made-up data may run on other data.
  TORCH_CHECK_NOT_IMPLEMENTED(found.has_value(), kUnknownData);
  result = MapTensors(*found, ToMeta);
}

void Frame::CallForShapes(const Instruction& instruction) {
  if (instruction.is_container_call) return CallContainer(instruction);
  size_t tensors = 0;
  bool any_real = false, all_real = true, any_nested = false;
  for (const IValue& value : stack_) {
    ForEachTensor(value, [&](const at::Tensor& t) {
      ++tensors;
      any_real = any_real || !t.is_meta();
      all_real = all_real && !t.is_meta();
      any_nested = any_nested || t.is_nested();
    });
  }
  const std::vector<IValue> arguments = stack_;
  IValue& result = slots_[instruction.result];
  if (tensors == 0 && instruction.op.has_value() && YieldsTensors(*instruction.op))
    return MakeForShapes(instruction, arguments);
  const auto call_without_data = [&] {
    stack_.clear();
    for (size_t i = 0; i < arguments.size(); ++i) {
      stack_.push_back(MapTensors(arguments[i], ToMeta));
      if (i < instruction.args.size()) Convert(instruction.args[i].wanted, &stack_.back());
    }
    if (instruction.op.has_value()) {
      if (auto made = MetaResult(instruction.op->operator_name().name, stack_)) {
        result = *std::move(made);
        return;
      }
    }
    Call(instruction, device_);
  };
  if (all_real) {
    for (IValue& value : stack_) value = OnCpu(value);
    try {
      Call(instruction, c10::Device(c10::kCPU));
    } catch (const c10::NotImplementedError&) {
      // An operator of a library may have no kernel for the CPU, but may still have sizes.
      const std::exception_ptr error = std::current_exception();
      try {
        return call_without_data();
      } catch (const c10::Error&) {
        std::rethrow_exception(error);
      }
    }
    // Calls that are not operators may read any data.
    state_.reads_data |= tensors > 0 && (!instruction.op.has_value() || !result.isTensor() ||
                                         DependsOnData(*instruction.op));
    if (!IsSmall(result)) result = MapTensors(result, ToMeta);
    return;
  }
  if (instruction.op.has_value()) {
    const auto& parameters = instruction.op->schema().arguments();
    for (size_t i = 0; i < std::min(arguments.size(), parameters.size()); ++i) {
      if (parameters[i].alias_info() != nullptr && parameters[i].alias_info()->isWrite())
        ForEachTensor(arguments[i], [this](const at::Tensor& t) { Forget(t); });
    }
  }
  if (any_nested) return CallOnStandIns(instruction, arguments);
  try {
    call_without_data();
  } catch (const c10::NotImplementedError&) {
    // If no data is known, trying made-up data does not show what a result depends on.
    const bool depends = instruction.op.has_value() && DependsOnData(*instruction.op);
    TORCH_CHECK_NOT_IMPLEMENTED(any_real || !depends, kUnknownData);
    CallOnStandIns(instruction, arguments);
  } catch (const c10::Error&) {
    if (!any_real) throw;
    const std::exception_ptr error = std::current_exception();
    try {
      CallOnStandIns(instruction, arguments);
    } catch (const c10::NotImplementedError&) {
      throw;
    } catch (const c10::Error&) {
      std::rethrow_exception(error);
    }
  }
}

IValue Frame::GetItemForShapes(const at::Tensor& tensor, const std::vector<TensorIndex>& indices) {
  bool real = !tensor.is_meta();
  for (const TensorIndex& index : indices)
    real = real && !(index.is_tensor() && index.tensor().is_meta());
  for (const TensorIndex& index : indices)
    state_.reads_data |= index.is_tensor() && !index.tensor().is_meta();
  if (real) return at::indexing::get_item(tensor, indices);
  std::vector<TensorIndex> metas;
  for (const TensorIndex& index : indices) {
    if (!index.is_tensor()) {
      metas.push_back(index);
    } else if (index.tensor().scalar_type() != c10::kBool &&
               index.tensor().scalar_type() != c10::kByte) {
      metas.emplace_back(ToMeta(index.tensor()));
    } else {
      // Replace a mask, whose data is known, by the indices that it stands for.
      TORCH_CHECK_NOT_IMPLEMENTED(!index.tensor().is_meta(), kUnknownData);
      for (const at::Tensor& positions : index.tensor().nonzero().unbind(1)) {
        metas.emplace_back(ToMeta(positions));
      }
    }
  }
  return at::indexing::get_item(ToMeta(tensor), metas);
}

// --- Unknown values ------------------------------------------------------------

namespace {

const c10::StorageImpl* StorageOf(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.is_meta() || !tensor.has_storage()) return nullptr;
  return tensor.storage().unsafeGetStorageImpl();
}

// Removes the data of all tensors in a value that are in a storage. Lists and dicts are changed in
// place.
class Forgetter {
 public:
  explicit Forgetter(const c10::StorageImpl* storage) : storage_(storage) {}

  void Visit(IValue* value) {
    if (value->isTensor()) {
      if (StorageOf(value->toTensor()) == storage_) *value = ToMeta(value->toTensor());
      return;
    }
    const bool is_list =
        value->isList() && !value->isIntList() && !value->isDoubleList() && !value->isBoolList();
    if (!is_list && !value->isTuple() && !value->isGenericDict()) return;
    for (const IValue& seen : seen_) {
      if (seen.is(*value)) return;
    }
    seen_.push_back(*value);
    if (is_list) {
      c10::List<IValue> list = value->toList();
      for (size_t i = 0; i < list.size(); ++i) {
        IValue element = list.get(i);
        if (Changes(&element)) list.set(i, element);
      }
    } else if (value->isTuple()) {
      std::vector<IValue> elements = Elements(*value);
      bool any = false;
      for (IValue& element : elements) any |= Changes(&element);
      if (any) *value = MakeSequence(std::move(elements), true);
    } else {
      for (const auto& entry : value->toGenericDict()) {
        IValue element = entry.value();
        if (Changes(&element)) entry.setValue(element);
      }
    }
  }

 private:
  bool Changes(IValue* element) {
    const IValue before = *element;
    Visit(element);
    return !before.is(*element);
  }

  const c10::StorageImpl* const storage_;
  std::vector<IValue> seen_;
};

}  // namespace

void Frame::Forget(const at::Tensor& written) {
  const c10::StorageImpl* const storage = StorageOf(written);
  if (storage == nullptr) return;
  for (const c10::Storage& known : state_.forgotten) {
    if (known.unsafeGetStorageImpl() == storage) return;
  }
  state_.forgotten.push_back(written.storage());
  Forgetter forgetter(storage);
  for (Frame* frame : state_.frames) {
    for (IValue& value : frame->slots_) forgetter.Visit(&value);
  }
  for (auto& [name, value] : Written()) forgetter.Visit(&value);
}

bool Frame::TakesUnknown(const Instruction& instruction) const {
  if (unknown_.empty()) return false;
  const std::function<bool(const Source&)> is_unknown = [&](const Source& source) {
    return (source.kind == Source::Kind::kSlot && IsUnknown(source.slot)) ||
           absl::c_any_of(source.elements, is_unknown);
  };
  return absl::c_any_of(instruction.args, is_unknown);
}

void Frame::LeaveOut(const Instruction& instruction) {
  for (const Node* node : instruction.ends) {
    if (std::optional<IValue> value = (*recover_)(*node)) {
      slots_[instruction.result] = *std::move(value);
      return;
    }
  }
  if (left_out_.ok()) {
    left_out_ =
        absl::FailedPreconditionError(NodeError(*instruction.origin, kUnknownData).message());
  }
  unknown_.resize(slots_.size());
  unknown_[instruction.result] = true;
}

void Frame::ExecuteForShapes(const Instruction& instruction) {
  using Kind = Instruction::Kind;
  // Instructions that change lists, dicts or attributes must not be left out.
  const bool is_call = instruction.kind == Kind::kOperator ||
                       instruction.kind == Kind::kOperation || instruction.kind == Kind::kBuiltin ||
                       instruction.kind == Kind::kGetItem;
  const bool has_bodies = !instruction.bodies.empty();
  if (has_bodies) state_.reads_data = true;  // to choose a branch, or to end a loop
  const bool can_go_on = recover_ != nullptr && !instruction.writes_containers &&
                         (is_call || (has_bodies && state_.recover_errors));
  if (TakesUnknown(instruction)) {
    if (!can_go_on) {
      status_ = left_out_;
      TORCH_CHECK(false, kUnknownData);
    }
    if (instruction.op.has_value()) {
      const auto& parameters = instruction.op->schema().arguments();
      for (size_t i = 0; i < std::min(instruction.args.size(), parameters.size()); ++i) {
        const Source& source = instruction.args[i];
        if (parameters[i].alias_info() != nullptr && parameters[i].alias_info()->isWrite() &&
            source.kind == Source::Kind::kSlot && slots_[source.slot].isTensor())
          Forget(slots_[source.slot].toTensor());
      }
    }
    return LeaveOut(instruction);
  }
  try {
    Execute(instruction);
  } catch (const c10::NotImplementedError&) {
    // The error of a body is in status_.
    if (!status_.ok() && !(can_go_on && has_bodies)) throw;
    // PyTorch's own message is long and names kernels.
    if (!can_go_on) TORCH_CHECK_NOT_IMPLEMENTED(false, kUnknownData);
    status_ = absl::OkStatus();
    return LeaveOut(instruction);
  } catch (const c10::Error&) {
    if (!can_go_on || !state_.recover_errors || (!status_.ok() && !has_bodies)) throw;
    status_ = absl::OkStatus();
    return LeaveOut(instruction);
  }
  if (state_.forgotten.empty() || instruction.result == kNoSlot) return;
  IValue& result = slots_[instruction.result];
  if (!result.isTensor()) return;
  for (const c10::Storage& storage : state_.forgotten) {
    if (storage.unsafeGetStorageImpl() == StorageOf(result.toTensor()))
      result = ToMeta(result.toTensor());
  }
}

}  // namespace graphnet::interp
