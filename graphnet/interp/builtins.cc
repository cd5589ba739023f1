#include "graphnet/interp/builtins.h"

#include <compare>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "ATen/Functions.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/limits.h"
#include "graphnet/interp/values.h"
#include "graphnet/ir/shared_walk.h"

namespace graphnet::interp {
namespace {

using c10::IValue;
using Args = std::vector<IValue>;

// Returns the number in a tensor of one element.
IValue Item(const IValue& value) {
  return value.isTensor() ? IValue(value.toTensor().item()) : value;
}

IValue Is(Args& a, c10::Device) { return a[0].is(a[1]); }
IValue IsNot(Args& a, c10::Device) { return !a[0].is(a[1]); }

// Returns the operands: the arguments, or the elements of the only one, which must be a sequence.
Args Operands(Args& a) { return a.size() == 1 ? Elements(a[0]) : a; }
template <bool greatest>
IValue Extreme(Args& a, c10::Device) {
  const Args all = Operands(a);
  TORCH_CHECK(!all.empty(), "min or max of an empty sequence");
  const IValue* best = nullptr;
  std::optional<python::Number> best_number;
  for (const IValue& v : all) {
    const std::optional<python::Number> number = NumberOf(Item(v));
    TORCH_CHECK(number, "expected a number, not ", v.tagKind());
    if (best == nullptr || (greatest ? std::is_gt(python::Compare(*number, *best_number))
                                     : std::is_lt(python::Compare(*number, *best_number)))) {
      best = &v;
      best_number = number;
    }
  }
  return *best;
}
// Joins the elements by an operator, from the left.
IValue Joined(const char* op, IValue start, const Args& elements, c10::Device device) {
  const Builtin join = FindBuiltin(op);
  for (const IValue& v : elements) {
    Args pair = {std::move(start), v};
    start = join(pair, device);
  }
  return start;
}
IValue Sum(Args& a, c10::Device device) { return Joined("operator.add", 0, Operands(a), device); }
IValue Product(Args& a, c10::Device device) {
  return Joined("operator.mul", 1, Operands(a), device);
}
IValue Ite(Args& a, c10::Device device) {
  Args condition = {a[0]};
  return FindBuiltin("operator.truth")(condition, device).toBool() ? a[1] : a[2];
}

// --- Tensors -----------------------------------------------------------------

IValue GetAttr(Args& a, c10::Device) {
  const at::Tensor& tensor = a[0].toTensor();
  const std::string& name = a[1].toStringRef();
  if (name == "shape") return c10::List<int64_t>(tensor.sizes());
  if (name == "dtype") return static_cast<int64_t>(tensor.scalar_type());
  if (name == "device") return tensor.device();
  if (name == "ndim") return tensor.dim();
  if (name == "layout") return static_cast<int64_t>(tensor.layout());
  if (name == "is_cuda") return tensor.is_cuda();
  if (name == "requires_grad") return false;
  if (name == "itemsize") return static_cast<int64_t>(tensor.itemsize());
  if (name == "nbytes") return static_cast<int64_t>(tensor.nbytes());
  TORCH_CHECK(false, "no attribute ", name);
}
IValue Len(Args& a, c10::Device) {
  if (a[0].isTensor()) return a[0].toTensor().size(0);
  return static_cast<int64_t>(Elements(a[0]).size());
}
IValue NumElements(Args& a, c10::Device) { return a[0].toTensor().numel(); }
IValue IsFloatingPoint(Args& a, c10::Device) {
  return at::isFloatingType(a[0].toTensor().scalar_type());
}

IValue ToList(const at::Tensor& tensor) {
  if (tensor.dim() == 0) {
    const at::Scalar value = tensor.item();
    return value.isBoolean()         ? IValue(value.toBool())
           : value.isIntegral(false) ? IValue(value.toLong())
                                     : IValue(value.toDouble());
  }
  Args elements;
  for (int64_t i = 0; i < tensor.size(0); ++i) elements.push_back(ToList(tensor.select(0, i)));
  return MakeSequence(std::move(elements), false);
}
// Elements of a tensor that become a list, or of lists that become a tensor.
constexpr int64_t kMaxListed = 10'000'000;

IValue TensorToList(Args& a, c10::Device) {
  TORCH_CHECK(a[0].toTensor().numel() <= kMaxListed, "a list of ", a[0].toTensor().numel(),
              " elements");
  return ToList(a[0].toTensor());
}

// The numbers of a nested list in row-major order, and its shape.
struct Data {
  Args values;
  std::vector<int64_t> shape;
  Budget budget = Budget(kMaxListed);  // elements and lists, once for each place where they occur
  void Add(const IValue& value, size_t depth) {
    TORCH_CHECK(budget.Charge(1), "a tensor of lists with more than ", kMaxListed, " elements");
    TORCH_CHECK(depth <= static_cast<size_t>(kMaxRank), "a tensor of more than ", kMaxRank,
                " dimensions");
    if (!value.isList() && !value.isTuple()) {
      TORCH_CHECK(depth == shape.size(), "the lists that make a tensor are of unequal depth");
      TORCH_CHECK(value.isScalar() || value.isTensor(), "a tensor cannot be made of ",
                  value.tagKind());
      values.push_back(value);
      return;
    }
    const Args elements = Elements(value);
    const auto size = static_cast<int64_t>(elements.size());
    if (shape.size() == depth) {
      TORCH_CHECK(values.empty(), "the lists that make a tensor are of unequal depth");
      shape.push_back(size);
    }
    TORCH_CHECK(shape[depth] == size, "expected a list of ", shape[depth], " elements, not ", size);
    for (const IValue& element : elements) Add(element, depth + 1);
  }
};

// torch.tensor(data, dtype, device)
IValue MakeTensor(Args& a, c10::Device target) {
  const IValue& data = a[0];
  std::optional<c10::ScalarType> asked;
  if (!a[1].isNone()) asked = AsScalarType(a[1]);
  c10::Device device = a[2].isNone()     ? c10::Device(target.is_meta() ? c10::kMeta : c10::kCPU)
                       : a[2].isString() ? c10::Device(a[2].toStringRef())
                                         : a[2].toDevice();
  if (data.isTensor()) {
    return data.toTensor().detach().clone().to(
        at::TensorOptions().dtype(asked.value_or(data.toTensor().scalar_type())).device(device));
  }
  Data flat;
  flat.Add(data, 0);
  bool is_float = false, is_complex = false, is_int = false;
  for (IValue& value : flat.values) {
    if (value.isTensor()) {
      is_float = is_float || at::isFloatingType(value.toTensor().scalar_type());
      value = ToList(value.toTensor());
    }
    is_float = is_float || value.isDouble();
    is_complex = is_complex || value.isComplexDouble();
    is_int = is_int || value.isInt();
  }
  const c10::ScalarType inferred = is_complex                        ? c10::kComplexFloat
                                   : is_float || flat.values.empty() ? c10::kFloat
                                   : is_int                          ? c10::kLong
                                                                     : c10::kBool;
  const c10::ScalarType type = asked.value_or(inferred);
  at::Tensor tensor;
  const auto size = static_cast<int64_t>(flat.values.size());
  if (is_complex) {
    tensor = at::empty({size}, at::kComplexDouble);
    auto* out = tensor.data_ptr<c10::complex<double>>();
    for (const IValue& v : flat.values) *out++ = v.toScalar().toComplexDouble();
  } else if (is_float) {
    tensor = at::empty({size}, at::kDouble);
    auto* out = tensor.data_ptr<double>();
    for (const IValue& v : flat.values) *out++ = v.toScalar().toDouble();
  } else {
    tensor = at::empty({size}, at::kLong);
    auto* out = tensor.data_ptr<int64_t>();
    for (const IValue& v : flat.values) *out++ = v.toScalar().toLong();
  }
  return tensor.to(type).reshape(flat.shape).to(device);
}

}  // namespace

std::optional<python::Number> NumberOf(const IValue& value) {
  if (value.isBool()) return value.toBool();
  if (value.isInt()) return value.toInt();
  if (value.isDouble()) return value.toDouble();
  return std::nullopt;
}

absl::Status Builtin::CheckNumArgs(size_t num_args) const {
  if (num_args >= static_cast<size_t>(min_args_) && num_args <= static_cast<size_t>(max_args_)) {
    return absl::OkStatus();
  }
  const bool any = max_args_ == std::numeric_limits<int>::max();
  return absl::InvalidArgumentError(
      absl::StrCat("takes ", min_args_,
                   any                     ? " or more"
                   : max_args_ > min_args_ ? " to "
                                           : "",
                   max_args_ > min_args_ && !any ? absl::StrCat(max_args_) : "",
                   max_args_ == 1 ? " argument, not " : " arguments, not ", num_args));
}

IValue Builtin::operator()(Args& args, c10::Device target) const {
  if (numbers_ == nullptr) return call_(args, target);
  absl::InlinedVector<python::Number, 3> numbers;
  for (const IValue& arg : args) {
    const std::optional<python::Number> number = NumberOf(call_ == nullptr ? Item(arg) : arg);
    if (!number && call_ != nullptr) return call_(args, target);
    TORCH_CHECK(number, "expected a number, not ", arg.tagKind());
    numbers.push_back(*number);
  }
  const absl::StatusOr<python::Number> result = numbers_->call(numbers);
  TORCH_CHECK(result.ok(), std::string(result.status().message()));
  return std::visit([](auto value) { return IValue(value); }, *result);
}

Builtin FindBuiltin(absl::string_view name) {
  constexpr int kAny = std::numeric_limits<int>::max();
  static const auto* const table = new absl::flat_hash_map<absl::string_view, Builtin>{
      {"builtins.getattr", {GetAttr, 2, 3}},
      {"builtins.len", {Len, 1}},
      {"builtins.max", {Extreme<true>, 1, kAny}},
      {"builtins.min", {Extreme<false>, 1, kAny}},
      {"math.prod", {Product, 1}},
      {"operator.contains", {Contains, 2}},
      {"operator.is_", {Is, 2}},
      {"operator.is_not", {IsNot, 2}},
      {"torch.sym_ite", {Ite, 3}},
      {"torch.sym_max", {Extreme<true>, 2}},
      {"torch.sym_min", {Extreme<false>, 2}},
      {"torch.sym_sum", {Sum, 1, kAny}},
      {"torch.numel", {NumElements, 1}},
      {"torch.is_floating_point", {IsFloatingPoint, 1}},
      {"torch.tensor", {MakeTensor, 3}},
      {"Tensor.tolist", {TensorToList, 1}},
  };
  if (const auto it = table->find(name); it != table->end()) return it->second;
  if (const python::Function* numbers = python::FindFunction(name)) {
    return Builtin(numbers, FindOperator(name));
  }
  if (absl::StartsWith(name, "torch.nn.functional.")) return FindFunction(name);
  if (absl::StartsWith(name, "torch.ops.torch_nn.")) return FindLinearCrossEntropy(name);
  return FindStateCall(name);
}

}  // namespace graphnet::interp
