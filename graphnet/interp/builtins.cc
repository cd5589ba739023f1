#include "graphnet/interp/builtins.h"

#include <cmath>
#include <string>

#include "ATen/Functions.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "graphnet/interp/values.h"

namespace graphnet::interp {
namespace {

using c10::IValue;
using Args = std::vector<IValue>;

double Real(const IValue& v) {
  if (v.isTensor()) return v.toTensor().item().toDouble();
  return v.toScalar().toDouble();
}

// --- Numbers -----------------------------------------------------------------

// A float as Python's int(), floor and ceil make an int of it.
IValue ToInt(double value) {
  TORCH_CHECK(std::isfinite(value), "cannot convert ", value, " to an int");
  TORCH_CHECK(std::fabs(value) < 9.3e18, "the number ", value, " is no int64");
  return static_cast<int64_t>(value);
}
bool IsIntegral(const IValue& v) { return v.isInt() || v.isBool(); }

IValue Int(Args& a, c10::Device) {
  if (a.at(0).isTensor()) return a[0].toTensor().item().toLong();
  return IsIntegral(a[0]) ? IValue(a[0].toScalar().toLong()) : ToInt(Real(a[0]));
}
IValue Float(Args& a, c10::Device) { return Real(a.at(0)); }
IValue Bool(Args& a, c10::Device) { return Real(a.at(0)) != 0; }
IValue Not(Args& a, c10::Device) { return Real(a.at(0)) == 0; }
IValue Floor(Args& a, c10::Device d) {
  return IsIntegral(a.at(0)) ? Int(a, d) : ToInt(std::floor(Real(a[0])));
}
IValue Ceil(Args& a, c10::Device d) {
  return IsIntegral(a.at(0)) ? Int(a, d) : ToInt(std::ceil(Real(a[0])));
}
IValue Round(Args& a, c10::Device d) {
  // Half to even, the mode that programs start in.
  return IsIntegral(a.at(0)) ? Int(a, d) : ToInt(std::nearbyint(Real(a[0])));
}
IValue Abs(Args& a, c10::Device) {
  return IsIntegral(a.at(0)) ? IValue(std::abs(a[0].toScalar().toLong()))
                             : IValue(std::fabs(Real(a[0])));
}
template <double (*fn)(double)>
IValue Apply(Args& a, c10::Device) {
  return fn(Real(a.at(0)));
}
double Sqrt(double x) { return std::sqrt(x); }
double Exp(double x) { return std::exp(x); }
double Log(double x) { return std::log(x); }
double Log2(double x) { return std::log2(x); }
double Log10(double x) { return std::log10(x); }
double Sin(double x) { return std::sin(x); }
double Cos(double x) { return std::cos(x); }
double Tan(double x) { return std::tan(x); }
double Fabs(double x) { return std::fabs(x); }
IValue Pow(Args& a, c10::Device) { return std::pow(Real(a.at(0)), Real(a.at(1))); }

// Of the arguments, or of the one sequence.
Args Operands(Args& a) { return a.size() == 1 && !a[0].isScalar() ? Elements(a[0]) : a; }
template <bool greatest>
IValue Extreme(Args& a, c10::Device) {
  const Args all = Operands(a);
  TORCH_CHECK(!all.empty(), "the extreme of nothing");
  const IValue* best = &all[0];
  for (const IValue& v : all) {
    if (greatest ? Real(v) > Real(*best) : Real(v) < Real(*best)) best = &v;
  }
  return *best;
}
IValue Sum(Args& a, c10::Device device) {
  IValue sum = 0;
  for (const IValue& v : Operands(a)) {
    Args pair = {sum, v};
    sum = FindOperator("add")(pair, device);
  }
  return sum;
}
IValue Product(Args& a, c10::Device device) {
  IValue product = 1;
  for (const IValue& v : Operands(a)) {
    Args pair = {product, v};
    product = FindOperator("mul")(pair, device);
  }
  return product;
}
IValue Ite(Args& a, c10::Device) { return Real(a.at(0)) != 0 ? a.at(1) : a.at(2); }

// --- Tensors -----------------------------------------------------------------

IValue GetAttr(Args& a, c10::Device) {
  const at::Tensor& tensor = a.at(0).toTensor();
  const std::string& name = a.at(1).toStringRef();
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
  if (a.at(0).isTensor()) return a[0].toTensor().size(0);
  return static_cast<int64_t>(Elements(a[0]).size());
}
IValue NumElements(Args& a, c10::Device) { return a.at(0).toTensor().numel(); }
IValue IsFloatingPoint(Args& a, c10::Device) {
  return at::isFloatingType(a.at(0).toTensor().scalar_type());
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
IValue TensorToList(Args& a, c10::Device) { return ToList(a.at(0).toTensor()); }

// The numbers of a nested list in row-major order, and its shape.
struct Data {
  Args values;
  std::vector<int64_t> shape;
  void Add(const IValue& value, size_t depth) {
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
IValue Tensor(Args& a, c10::Device target) {
  const IValue& data = a.at(0);
  std::optional<c10::ScalarType> asked;
  if (!a.at(1).isNone()) asked = static_cast<c10::ScalarType>(a[1].toInt());
  c10::Device device = a.at(2).isNone()  ? c10::Device(target.is_meta() ? c10::kMeta : c10::kCPU)
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

Builtin FindBuiltin(absl::string_view name) {
  static const auto* const table = new absl::flat_hash_map<absl::string_view, Builtin>{
      {"builtins.getattr", GetAttr},
      {"builtins.len", Len},
      {"builtins.int", Int},
      {"builtins.float", Float},
      {"builtins.bool", Bool},
      {"builtins.abs", Abs},
      {"builtins.round", Round},
      {"builtins.max", Extreme<true>},
      {"builtins.min", Extreme<false>},
      {"math.floor", Floor},
      {"math.ceil", Ceil},
      {"math.trunc", Int},
      {"math.sqrt", Apply<Sqrt>},
      {"math.exp", Apply<Exp>},
      {"math.log", Apply<Log>},
      {"math.log2", Apply<Log2>},
      {"math.log10", Apply<Log10>},
      {"math.pow", Pow},
      {"math.sin", Apply<Sin>},
      {"math.cos", Apply<Cos>},
      {"math.tan", Apply<Tan>},
      {"math.fabs", Apply<Fabs>},
      {"math.prod", Product},
      {"torch.sym_int", Int},
      {"torch.sym_float", Float},
      {"torch.sym_not", Not},
      {"torch.sym_max", Extreme<true>},
      {"torch.sym_min", Extreme<false>},
      {"torch.sym_ite", Ite},
      {"torch.sym_sum", Sum},
      {"torch._sym_sqrt", Apply<Sqrt>},
      {"torch.numel", NumElements},
      {"torch.is_floating_point", IsFloatingPoint},
      {"torch.tensor", Tensor},
      {"Tensor.tolist", TensorToList},
  };
  if (const auto it = table->find(name); it != table->end()) return it->second;
  if (absl::string_view op = name; absl::ConsumePrefix(&op, "operator.")) return FindOperator(op);
  if (absl::StartsWith(name, "torch.nn.functional.")) return FindFunction(name);
  return FindStateCall(name);
}

}  // namespace graphnet::interp
