#include "graphnet/interp/tensors.h"

#include <cstring>
#include <memory>
#include <utility>

#include "ATen/Functions.h"
#include "ATen/Parallel.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/parallel.h"
#include "graphnet/base/status.h"
#include "graphnet/interp/values.h"

namespace graphnet {
namespace {

// Calls fn() and turns what it throws into a status.
template <typename Fn>
auto Guarded(Fn&& fn) -> absl::StatusOr<decltype(fn())> {
  try {
    return fn();
  } catch (const c10::Error& error) {
    const std::string text = error.what_without_backtrace();
    return absl::InvalidArgumentError(text.substr(0, text.find('\n')));
  } catch (const std::exception& error) {
    return absl::InvalidArgumentError(error.what());
  }
}

}  // namespace

absl::StatusOr<at::Tensor> ToTensor(const TensorData& data, c10::Device device) {
  return Guarded([&] {
    at::Tensor tensor = at::empty(data.shape, at::dtype(interp::ToScalarType(data.dtype)));
    TORCH_CHECK(data.bytes != nullptr && data.bytes->size() == tensor.nbytes(), "expected ",
                tensor.nbytes(), " bytes, not ", data.bytes ? data.bytes->size() : 0);
    if (tensor.nbytes() > 0) std::memcpy(tensor.data_ptr(), data.bytes->data(), tensor.nbytes());
    return tensor.to(device);
  });
}

absl::StatusOr<TensorData> ToTensorData(const at::Tensor& tensor) {
  return Guarded([&] {
    at::Tensor plain = tensor.is_complex() ? tensor.resolve_conj() : tensor;
    plain = plain.resolve_neg().cpu().contiguous();
    TensorData data;
    data.dtype = interp::FromScalarType(plain.scalar_type());
    TORCH_CHECK(data.dtype != DType::kUnknown, "no name for dtype ", plain.scalar_type());
    data.shape = plain.sizes().vec();
    data.bytes = std::make_shared<const std::string>(static_cast<const char*>(plain.const_data_ptr()),
                                                     plain.nbytes());
    return data;
  });
}

absl::StatusOr<std::vector<c10::IValue>> BindInputs(const Module& module,
                                                    std::map<std::string, TensorData>* values,
                                                    c10::Device device) {
  std::vector<c10::IValue> inputs;
  for (const Node* node : module.main()->placeholders()) {
    auto entry = values->extract(std::string(node->target()));
    if (entry.empty() && absl::StartsWith(node->annotation(), "Optional[")) {
      inputs.emplace_back();
      continue;
    }
    if (entry.empty()) {
      return absl::NotFoundError(absl::StrCat("no value for input ", Printable(node->target())));
    }
    absl::StatusOr<at::Tensor> tensor = ToTensor(entry.mapped(), device);
    if (!tensor.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("input ", Printable(node->target()), ": ", tensor.status().message()));
    }
    const absl::string_view type = node->annotation();
    const bool is_int = type == "torch.SymInt" || type == "int";
    const bool is_float = type == "torch.SymFloat" || type == "float";
    const bool is_bool = type == "torch.SymBool" || type == "bool";
    if (!is_int && !is_float && !is_bool) {
      inputs.emplace_back(*std::move(tensor));
      continue;
    }
    if (tensor->numel() != 1) {
      return absl::InvalidArgumentError(absl::StrCat("input ", Printable(node->target()),
                                                     ": expected one number, not ", tensor->numel()));
    }
    const at::Scalar number = tensor->item();
    inputs.emplace_back(is_int     ? c10::IValue(number.toLong())
                        : is_float ? c10::IValue(number.toDouble())
                                   : c10::IValue(number.toBool()));
  }
  return inputs;
}

absl::StatusOr<std::map<std::string, at::Tensor>> BindAttributes(
    const Module& module, std::map<std::string, TensorData>* values, c10::Device device) {
  std::map<std::string, at::Tensor> attributes;
  for (const Attribute& attribute : module.attributes()) {
    auto entry = values->extract(std::string(attribute.name));
    if (entry.empty()) continue;  // It may not be read.
    absl::StatusOr<at::Tensor> tensor = ToTensor(entry.mapped(), device);
    if (!tensor.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("attribute ", Printable(attribute.name), ": ", tensor.status().message()));
    }
    attributes.emplace(attribute.name, *std::move(tensor));
  }
  return attributes;
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
                              : value.isBool()   ? at::scalar_tensor(value.toBool(), at::kBool)
                                                 : at::scalar_tensor(value.toScalar(), at::kComplexDouble);
    ASSIGN_OR_RETURN(TensorData data, ToTensorData(tensor));
    named.emplace(name, std::move(data));
  }
  return named;
}

absl::StatusOr<c10::Device> ParseRunDevice(const std::string& text) {
  return Guarded([&] { return c10::Device(text); });
}

void SetNumThreads(int threads) { at::set_num_threads(threads > 0 ? threads : NumCpus()); }

}  // namespace graphnet
