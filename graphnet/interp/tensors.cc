#include "graphnet/interp/tensors.h"

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include "ATen/Functions.h"
#include "ATen/Parallel.h"
#include "absl/strings/str_cat.h"
#include "c10/core/Device.h"
#include "c10/core/impl/DeviceGuardImplInterface.h"
#include "c10/core/impl/VirtualGuardImpl.h"
#include "graphnet/base/parallel.h"
#include "graphnet/base/status.h"
#include "graphnet/interp/inputs/elements.h"
#include "graphnet/interp/structured_input.h"
#include "graphnet/interp/torch/status.h"
#include "graphnet/interp/torch/tensors.h"
#include "graphnet/ir/annotation.h"
#include "graphnet/ir/types.h"

namespace graphnet {

namespace {

// Returns the text of a string, a device or a member of an enumeration.
std::optional<std::string> TextOfOutput(const c10::IValue& value) {
  if (value.isString()) return value.toStringRef();
  if (value.isDevice()) return value.toDevice().str();
  if (value.isEnum()) {
    const std::string name = value.toEnumHolder()->qualifiedClassName();
    return absl::StrCat(name.substr(name.rfind('.') + 1), ".", value.toEnumHolder()->name());
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<c10::IValue> ToInput(at::Tensor tensor, const Node& placeholder) {
  if (IsText(placeholder.annotation())) {
    return Guarded([&]() -> absl::StatusOr<c10::IValue> { return TextOf(tensor); });
  }
  const std::optional<DType> dtype = NumberDType(InnerAnnotation(placeholder.annotation()));
  if (!dtype) return c10::IValue(std::move(tensor));
  if (tensor.numel() != 1) {
    return absl::InvalidArgumentError(absl::StrCat("input ", Printable(placeholder.target()),
                                                   ": expected one number, not ", tensor.numel()));
  }
  return Guarded([&]() -> absl::StatusOr<c10::IValue> {
    const at::Scalar number = tensor.item();
    return *dtype == DType::kInt64  ? c10::IValue(number.toLong())
           : *dtype == DType::kBool ? c10::IValue(number.toBool())
                                    : c10::IValue(number.toDouble());
  });
}

absl::StatusOr<std::map<std::string, TensorData>> NameOutputs(
    const std::vector<c10::IValue>& outputs) {
  std::map<std::string, TensorData> named;
  size_t next = 0;
  for (const c10::IValue& value : outputs) {
    if (value.isNone()) continue;
    const std::string name = absl::StrCat("o", next++);
    // A text is the u8 tensor of its bytes, as among the inputs.
    const std::optional<std::string> text = TextOfOutput(value);
    if (text.has_value()) {
      named.emplace(name, TextData(*text));
      continue;
    }
    if (!value.isTensor() && !value.isScalar()) {
      return absl::InvalidArgumentError(
          absl::StrCat("output ", name, " is neither a tensor, number, text nor device"));
    }
    const at::Tensor tensor = value.isTensor()   ? value.toTensor()
                              : value.isInt()    ? at::scalar_tensor(value.toInt(), at::kLong)
                              : value.isDouble() ? at::scalar_tensor(value.toDouble(), at::kDouble)
                              : value.isBool()
                                  ? at::scalar_tensor(value.toBool(), at::kBool)
                                  : at::scalar_tensor(value.toScalar(), at::kComplexDouble);
    absl::StatusOr<TensorData> data = Guarded([&]() -> absl::StatusOr<TensorData> {
      if (!tensor.defined() || !tensor.is_quantized()) return ToTensorData(tensor);
      const bool is_per_channel = tensor.qscheme() == at::kPerChannelAffine ||
                                  tensor.qscheme() == at::kPerChannelAffineFloatQParams;
      const at::Tensor scales = is_per_channel ? tensor.q_per_channel_scales()
                                               : at::scalar_tensor(tensor.q_scale(), at::kDouble);
      const at::Tensor zero_points = is_per_channel
                                         ? tensor.q_per_channel_zero_points()
                                         : at::scalar_tensor(tensor.q_zero_point(), at::kLong);
      ASSIGN_OR_RETURN(named[absl::StrCat(name, ".scales")], ToTensorData(scales));
      ASSIGN_OR_RETURN(named[absl::StrCat(name, ".zero_points")], ToTensorData(zero_points));
      return ToTensorData(tensor.int_repr());
    });
    if (!data.ok()) return Annotate(data.status(), absl::StrCat("output ", name));
    named.emplace(name, *std::move(data));
  }
  return named;
}

absl::StatusOr<c10::Device> ParseRunDevice(const std::string& text) {
  if (!ParseDevice(text).has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("device ", Printable(text), ": there is no such device; use cpu or cuda:0"));
  }
  return Guarded([&]() -> absl::StatusOr<c10::Device> {
    const c10::Device device(text);
    if (device.is_cpu()) return device;
    const bool is_built_in = c10::impl::hasDeviceGuardImpl(device.type());
    const int count = is_built_in ? c10::impl::VirtualGuardImpl(device.type()).deviceCount() : 0;
    if (count > (device.has_index() ? device.index() : 0)) return device;
    return absl::InvalidArgumentError(absl::StrCat(
        "device ", text, ": this LibTorch finds ", count, " devices of this kind",
        is_built_in ? ""
                    : absl::StrCat(", as it is built without ", c10::DeviceTypeName(device.type())),
        "; use cpu"));
  });
}

void SetNumThreads(int threads) {
  if (threads == 0 && std::getenv("OMP_NUM_THREADS") != nullptr) return;  // PyTorch obeys it
  at::set_num_threads(threads > 0 ? threads : NumCpus());
}

}  // namespace graphnet
