#include "graphnet/interp/tensors.h"

#include <cstring>
#include <memory>
#include <utility>

#include "ATen/EmptyTensor.h"
#include "ATen/Functions.h"
#include "ATen/Parallel.h"
#include "absl/strings/str_cat.h"
#include "c10/core/InferenceMode.h"
#include "graphnet/base/parallel.h"
#include "graphnet/base/status.h"
#include "graphnet/interp/torch_status.h"
#include "graphnet/interp/values.h"
#include "graphnet/ops/value_type.h"

namespace graphnet {
namespace {

at::Tensor WithStrides(const at::Tensor& tensor, at::IntArrayRef strides) {
  TORCH_CHECK(tensor.numel() > 0 && tensor.sizes().size() == strides.size() &&
                  at::detail::computeStorageNbytes(tensor.sizes(), strides, 1) ==
                      static_cast<size_t>(tensor.numel()),
              "its strides do not fit its sizes");
  return at::empty_strided(tensor.sizes(), strides, tensor.options()).copy_(tensor);
}

}  // namespace

absl::StatusOr<at::Tensor> ToTensor(const TensorData& data, c10::Device device) {
  return Guarded([&]() -> absl::StatusOr<at::Tensor> {
    at::Tensor tensor = at::empty(data.shape, at::dtype(interp::ToScalarType(data.dtype)));
    TORCH_CHECK(data.bytes != nullptr && data.bytes->size() == tensor.nbytes(), "expected ",
                tensor.nbytes(), " bytes, not ", data.bytes ? data.bytes->size() : 0);
    if (tensor.nbytes() > 0) std::memcpy(tensor.data_ptr(), data.bytes->data(), tensor.nbytes());
    if (!data.strides.empty()) tensor = WithStrides(tensor, data.strides);
    return tensor.to(device);
  });
}

at::Tensor AsParameter(const at::Tensor& tensor) {
  const c10::ScalarType dtype = tensor.scalar_type();
  if (tensor.requires_grad() || (!c10::isFloatingType(dtype) && !c10::isComplexType(dtype)))
    return tensor;
  // Tensors that were made in this mode can only be changed so in it.
  c10::InferenceMode inference;
  return tensor.detach().set_requires_grad(true);
}

absl::StatusOr<TensorData> ToTensorData(const at::Tensor& tensor) {
  return Guarded([&]() -> absl::StatusOr<TensorData> {
    at::Tensor plain = tensor.is_complex() ? tensor.resolve_conj() : tensor;
    plain = plain.resolve_neg().cpu().contiguous();
    TensorData data;
    data.dtype = interp::FromScalarType(plain.scalar_type());
    TORCH_CHECK(data.dtype != DType::kUnknown, "no name for dtype ", plain.scalar_type());
    data.shape = plain.sizes().vec();
    data.bytes = std::make_shared<const std::string>(
        static_cast<const char*>(plain.const_data_ptr()), plain.nbytes());
    return data;
  });
}

absl::StatusOr<c10::IValue> ToInput(at::Tensor tensor, const Node& placeholder) {
  const ValueType::Kind kind = TypeOfAnnotation(placeholder.annotation()).kind;
  if (kind != ValueType::Kind::kInt && kind != ValueType::Kind::kFloat &&
      kind != ValueType::Kind::kBool) {
    return c10::IValue(std::move(tensor));
  }
  if (tensor.numel() != 1) {
    return absl::InvalidArgumentError(absl::StrCat("input ", Printable(placeholder.target()),
                                                   ": expected one number, not ", tensor.numel()));
  }
  return Guarded([&]() -> absl::StatusOr<c10::IValue> {
    const at::Scalar number = tensor.item();
    return kind == ValueType::Kind::kInt     ? c10::IValue(number.toLong())
           : kind == ValueType::Kind::kFloat ? c10::IValue(number.toDouble())
                                             : c10::IValue(number.toBool());
  });
}

absl::StatusOr<std::map<std::string, TensorData>> NameOutputs(
    const std::vector<c10::IValue>& outputs) {
  std::map<std::string, TensorData> named;
  size_t next = 0;
  for (const c10::IValue& value : outputs) {
    if (value.isNone()) continue;
    const std::string name = absl::StrCat("o", next++);
    if (!value.isTensor() && !value.isScalar()) {
      return absl::InvalidArgumentError(absl::StrCat("output ", name, " is no tensor or number"));
    }
    const at::Tensor tensor = value.isTensor()   ? value.toTensor()
                              : value.isInt()    ? at::scalar_tensor(value.toInt(), at::kLong)
                              : value.isDouble() ? at::scalar_tensor(value.toDouble(), at::kDouble)
                              : value.isBool()
                                  ? at::scalar_tensor(value.toBool(), at::kBool)
                                  : at::scalar_tensor(value.toScalar(), at::kComplexDouble);
    ASSIGN_OR_RETURN(TensorData data, ToTensorData(tensor));
    named.emplace(name, std::move(data));
  }
  return named;
}

absl::StatusOr<c10::Device> ParseRunDevice(const std::string& text) {
  return Guarded([&]() -> absl::StatusOr<c10::Device> { return c10::Device(text); });
}

void SetNumThreads(int threads) { at::set_num_threads(threads > 0 ? threads : NumCpus()); }

}  // namespace graphnet
