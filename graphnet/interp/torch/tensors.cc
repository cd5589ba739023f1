#include "graphnet/interp/torch/tensors.h"

#include <cstring>
#include <memory>
#include <string>

#include "ATen/EmptyTensor.h"
#include "ATen/Functions.h"
#include "c10/core/InferenceMode.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/strided_copy.h"
#include "graphnet/base/tensor_size.h"
#include "graphnet/interp/torch/status.h"
#include "graphnet/interp/torch/types.h"

namespace graphnet {
namespace {

// Returns a tensor of the elements with the strides. What lies between them is 0.
at::Tensor WithStrides(const TensorData& data, c10::ScalarType dtype) {
  TORCH_CHECK(data.bytes != nullptr && AreModestStrides(data.shape, data.strides),
              "its strides do not fit its sizes");
  at::Tensor tensor = at::empty_strided(data.shape, data.strides, dtype);
  const size_t width = c10::elementSize(dtype);
  std::memset(tensor.mutable_data_ptr(), 0,
              static_cast<size_t>(*ElementsSpanned(data.shape, data.strides)) * width);
  StridedCopy(width, data.shape, data.bytes->data(), RowMajorStrides(data.shape),
              tensor.mutable_data_ptr(), data.strides);
  return tensor;
}

// Checks the number of bytes, before memory is allocated.
bool BytesFitShape(const TensorData& data, size_t element_bytes) {
  const std::optional<int64_t> elements = NumElements(data.shape);
  return elements.has_value() && static_cast<uint64_t>(*elements) * element_bytes ==
                                     (data.bytes == nullptr ? 0 : data.bytes->size());
}

}  // namespace

absl::StatusOr<at::Tensor> ToTensor(const TensorData& data, c10::Device device) {
  return Guarded([&]() -> absl::StatusOr<at::Tensor> {
    const bool known = data.dtype != DType::kUnknown;
    TORCH_CHECK(known && !c10::isQIntType(ScalarTypeOf(data.dtype)), "a tensor of ",
                std::string(DTypeName(data.dtype)));
    TORCH_CHECK(data.shape.size() <= kMaxRank, "its rank is too large");
    const c10::ScalarType dtype = ScalarTypeOf(data.dtype);
    TORCH_CHECK(BytesFitShape(data, c10::elementSize(dtype)),
                "the number of bytes does not fit the shape");
    if (!data.strides.empty()) return WithStrides(data, dtype).to(device);
    at::Tensor tensor = at::empty(data.shape, dtype);
    if (tensor.nbytes() > 0) {
      std::memcpy(tensor.mutable_data_ptr(), data.bytes->data(), tensor.nbytes());
    }
    return tensor.to(device);
  });
}

at::Tensor AsParameter(const at::Tensor& tensor) {
  const c10::ScalarType dtype = tensor.scalar_type();
  if (tensor.requires_grad() || (!c10::isFloatingType(dtype) && !c10::isComplexType(dtype)))
    return tensor;
  // Tensors that were made in inference mode can be changed in this way only inside it.
  c10::InferenceMode inference;
  return tensor.detach().set_requires_grad(true);
}

absl::StatusOr<TensorData> ToTensorData(const at::Tensor& tensor) {
  return Guarded([&]() -> absl::StatusOr<TensorData> {
    TORCH_CHECK(!tensor.is_nested(), "a nested tensor, which has no sizes");
    TORCH_CHECK(tensor.layout() == at::kStrided, "a tensor that is not dense, ", tensor.layout());
    at::Tensor plain = tensor.is_complex() ? tensor.resolve_conj() : tensor;
    plain = plain.resolve_neg().cpu().contiguous();
    TensorData data;
    data.dtype = DTypeOf(plain.scalar_type());
    TORCH_CHECK(data.dtype != DType::kUnknown && !plain.is_quantized(),
                "expected plain numbers, not ", plain.scalar_type());
    data.shape = plain.sizes().vec();
    data.bytes = std::make_shared<const std::string>(
        static_cast<const char*>(plain.const_data_ptr()), plain.nbytes());
    return data;
  });
}

}  // namespace graphnet
