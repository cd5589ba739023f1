// Calls on the meta device.
#include <utility>

#include "ATen/Functions.h"
#include "absl/functional/function_ref.h"
#include "c10/util/Exception.h"
#include "graphnet/interp/frame.h"
#include "graphnet/interp/meta_rules.h"

namespace graphnet::interp {
namespace {

using at::indexing::TensorIndex;
using c10::IValue;

constexpr char kUnknownData[] = "its shape depends on data that is not known";

// `value` with fn(tensor) in place of each tensor in it.
IValue MapTensors(const IValue& value, absl::FunctionRef<at::Tensor(const at::Tensor&)> fn) {
  if (value.isTensor()) return value.toTensor().defined() ? IValue(fn(value.toTensor())) : value;
  const bool may_hold_tensors = value.isTuple() || (value.isList() && !value.isIntList() &&
                                                    !value.isDoubleList() && !value.isBoolList());
  if (!may_hold_tensors) return value;
  std::vector<IValue> elements = Elements(value);
  bool any = false;
  for (IValue& element : elements) {
    IValue mapped = MapTensors(element, fn);
    any = any || !mapped.is(element);
    element = std::move(mapped);
  }
  return any ? MakeSequence(std::move(elements), value.isTuple()) : value;
}

void ForEachTensor(const IValue& value, absl::FunctionRef<void(const at::Tensor&)> fn) {
  MapTensors(value, [fn](const at::Tensor& tensor) {
    fn(tensor);
    return tensor;
  });
}

at::Tensor ToMeta(const at::Tensor& tensor) {
  return tensor.is_meta() ? tensor : tensor.to(c10::kMeta);
}

at::Tensor ZerosLike(const at::Tensor& tensor) {
  return tensor.is_meta() ? at::zeros(tensor.sizes(), tensor.options().device(c10::kCPU)) : tensor;
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

}  // namespace

void Frame::CallForShapes(const Instruction& instruction) {
  size_t tensors = 0;
  bool all_real = true;
  for (const IValue& value : stack_) {
    ForEachTensor(value, [&](const at::Tensor& t) {
      ++tensors;
      all_real = all_real && !t.is_meta();
    });
  }
  const std::vector<IValue> arguments = stack_;
  const auto call_for_real = [&] {
    stack_.clear();
    for (const IValue& argument : arguments) stack_.push_back(OnCpu(argument));
    Call(instruction, c10::Device(c10::kCPU));
  };
  IValue& result = slots_[instruction.result];
  if (all_real && (tensors > 0 || instruction.kind == Instruction::Kind::kBuiltin)) {
    call_for_real();
    if (!IsSmall(result)) result = MapTensors(result, ToMeta);
    return;
  }
  const auto push_metas = [&] {
    stack_.clear();
    for (size_t i = 0; i < arguments.size(); ++i) {
      stack_.push_back(MapTensors(arguments[i], ToMeta));
      if (i < instruction.args.size()) Convert(instruction.args[i].wanted, &stack_.back());
    }
  };
  push_metas();
  if (instruction.kind == Instruction::Kind::kOperator) {
    if (auto made = MetaResult(instruction.op->operator_name().name, stack_)) {
      result = *std::move(made);
      return;
    }
  }
  try {
    Call(instruction, device_);
  } catch (const c10::NotImplementedError&) {
    const bool depends_on_data = instruction.kind == Instruction::Kind::kOperator &&
                                 (instruction.op->hasTag(at::Tag::dynamic_output_shape) ||
                                  instruction.op->hasTag(at::Tag::data_dependent_output));
    TORCH_CHECK(!depends_on_data, kUnknownData);
    if (tensors == 0) throw;
    // An operator without a meta kernel: on zeros in place of the data.
    push_metas();
    for (IValue& value : stack_) value = MapTensors(OnCpu(value), ZerosLike);
    Call(instruction, c10::Device(c10::kCPU));
    result = MapTensors(result, ToMeta);
  }
  if (tensors == 0 && IsSmall(result)) call_for_real();
}

IValue Frame::GetItemForShapes(const at::Tensor& tensor, const std::vector<TensorIndex>& indices) {
  bool real = !tensor.is_meta();
  for (const TensorIndex& index : indices)
    real = real && !(index.is_tensor() && index.tensor().is_meta());
  if (real) return at::indexing::get_item(tensor, indices);
  std::vector<TensorIndex> metas;
  for (const TensorIndex& index : indices) {
    if (!index.is_tensor()) {
      metas.push_back(index);
    } else if (index.tensor().scalar_type() != c10::kBool &&
               index.tensor().scalar_type() != c10::kByte) {
      metas.emplace_back(ToMeta(index.tensor()));
    } else {
      // A mask, whose positions are known, as the indices that it stands for.
      TORCH_CHECK(!index.tensor().is_meta(), kUnknownData);
      for (const at::Tensor& positions : index.tensor().nonzero().unbind(1)) {
        metas.emplace_back(ToMeta(positions));
      }
    }
  }
  return at::indexing::get_item(ToMeta(tensor), metas);
}

}  // namespace graphnet::interp
