// Adapters of the methods in torch/_tensor.py, of constructors, and of Python's own functions.
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/ops/adapters.h"
#include "graphnet/ops/fused.h"
#include "graphnet/ops/schema_table.h"

namespace graphnet {
namespace {

using Kind = ValueType::Kind;
using Result = absl::StatusOr<Argument>;

// --- Methods -----------------------------------------------------------------

// x.to(device, dtype) | x.to(dtype) | x.to(other)
Result To(Lowering& l, const BoundCall& a) {
  const auto flag = [&](absl::string_view name) {
    return a[name].is_none() ? Argument(false) : a[name];
  };
  const Argument non_blocking = flag("non_blocking");
  const Argument copy = flag("copy");
  const Argument& format = a["memory_format"];
  if (a.schema().IndexOf("other") >= 0) {
    return l.Aten("to", {a.self(), a["other"], non_blocking, copy, format});
  }
  const bool has_device = a.schema().IndexOf("device") >= 0 && a.has("device");
  if (!has_device && a.has("dtype")) {
    return l.Aten("to", {a.self(), a["dtype"], non_blocking, copy, format});
  }
  return l.Aten("to", {a.self()},
                {{"dtype", a["dtype"]},
                 {"device", has_device ? a["device"] : Argument()},
                 {"non_blocking", non_blocking},
                 {"copy", copy},
                 {"memory_format", format}});
}

// x.float(), x.long(), …
template <DType dtype>
Result ToDType(Lowering& l, const BoundCall& a) {
  return l.Aten("to", {a.self(), dtype, false, false, a["memory_format"]});
}

// "torch.FloatTensor", "torch.cuda.HalfTensor"
DType DTypeOfTensorType(absl::string_view name) {
  static const auto* const table = new absl::flat_hash_map<absl::string_view, DType>{
      {"FloatTensor", DType::kFloat32}, {"DoubleTensor", DType::kFloat64},
      {"HalfTensor", DType::kFloat16},  {"BFloat16Tensor", DType::kBFloat16},
      {"LongTensor", DType::kInt64},    {"IntTensor", DType::kInt32},
      {"ShortTensor", DType::kInt16},   {"CharTensor", DType::kInt8},
      {"ByteTensor", DType::kUInt8},    {"BoolTensor", DType::kBool}};
  const auto it = table->find(name.substr(name.rfind('.') + 1));
  return it == table->end() ? DType::kUnknown : it->second;
}

Result Type(Lowering& l, const BoundCall& a) {
  Argument dtype = a["dtype"];
  if (dtype.is_none()) return l.Error("reading the type's name is not supported");
  if (dtype.is_string()) {
    const DType named = DTypeOfTensorType(dtype.string());
    if (named == DType::kUnknown) return l.Error(absl::StrCat("unknown type ", dtype.string()));
    dtype = named;
  }
  return l.Aten("to", {a.self(), dtype, a["non_blocking"]});
}

Result ToDevice(Lowering& l, const BoundCall& a, const Argument& device) {
  return l.Aten("to", {a.self()}, {{"device", device}, {"memory_format", a["memory_format"]}});
}
Result Cpu(Lowering& l, const BoundCall& a) { return ToDevice(l, a, Device{DeviceType::kCpu, -1}); }
Result Cuda(Lowering& l, const BoundCall& a) {
  const Argument& device = a["device"];
  if (device.is_none()) return ToDevice(l, a, Device{DeviceType::kCuda, -1});
  if (!device.is_int()) return ToDevice(l, a, device);
  if (device.integer() < 0 || device.integer() > std::numeric_limits<int8_t>::max()) {
    return l.Error(absl::StrCat("there is no device ", device.integer()));
  }
  return ToDevice(l, a, Device{DeviceType::kCuda, static_cast<int16_t>(device.integer())});
}

Result NumDims(Lowering& l, const BoundCall& a) {
  return l.Builtin("builtins.getattr", {a.self(), "ndim"}, Kind::kInt);
}
Result ElementSize(Lowering& l, const BoundCall& a) {
  return l.Builtin("builtins.getattr", {a.self(), "itemsize"}, Kind::kInt);
}
Result Size(Lowering& l, const BoundCall& a) {
  if (a.schema().IndexOf("dim") >= 0 && a.has("dim")) return l.Aten("size", {a.self(), a["dim"]});
  return l.Builtin("builtins.getattr", {a.self(), "shape"}, ListOf(Kind::kInt));
}
Result IsFloatingPoint(Lowering& l, const BoundCall& a) {
  return l.Builtin("torch.is_floating_point", {a.self()}, Kind::kBool);
}
Result LogSigmoid(Lowering& l, const BoundCall& a) { return l.Aten("log_sigmoid", {a.self()}); }
Result Len(Lowering& l, const BoundCall& a) {
  return l.Builtin("builtins.len", {a.self()}, Kind::kInt);
}
// It changes nothing if no gradients are recorded.
Result RequiresGrad(Lowering& l, const BoundCall& a) {
  if (!l.asks_for_gradients()) return a.self();
  return l.Aten("requires_grad_", {a.self(), a["requires_grad"]});
}

// Lowers the read of an attribute; one that is an operator becomes a call of it.
Result GetAttr(Lowering& l, const BoundCall& a) {
  const Argument& object = a.self();
  if (!a["name"].is_string()) return l.Error("the name of the attribute must be a string");
  const absl::string_view name = a["name"].string();
  if (l.IsTensor(object) || l.TypeOf(object).kind == Kind::kUnknown) {
    static const auto* const types = new absl::flat_hash_map<absl::string_view, ValueType>{
        {"shape", ListOf(Kind::kInt)},  {"dtype", Kind::kDType},   {"device", Kind::kDevice},
        {"ndim", Kind::kInt},           {"layout", Kind::kLayout}, {"is_cuda", Kind::kBool},
        {"requires_grad", Kind::kBool}, {"itemsize", Kind::kInt},  {"nbytes", Kind::kInt}};
    if (const auto it = types->find(name); it != types->end()) {
      return l.Builtin("builtins.getattr", {object, name}, it->second);
    }
    if (name == "T") return l.Aten("numpy_T", {object});
    if (name == "H") return l.Aten("matrix_H", {object});
    if (name == "data") return l.Aten("detach", {object});
    if (!FindSchemas(name).empty()) return l.Aten(name, {object});
  }
  return l.Error(absl::StrCat("no attribute ", name, " is known"));
}

// --- Constructors ------------------------------------------------------------

// torch.tensor(data, *, dtype=None, device=None): numbers and nested lists of them.
Argument MakeTensor(Lowering& l, const Argument& data, const Argument& dtype,
                    const Argument& device) {
  std::vector<KwArg> kwargs;
  if (!dtype.is_none()) kwargs.push_back({"dtype", dtype});
  if (!device.is_none()) kwargs.push_back({"device", device});
  return l.Builtin("torch.tensor", {data}, Kind::kTensor, kwargs);
}
Result Tensor(Lowering& l, const BoundCall& a) {
  return MakeTensor(l, a["data"], a["dtype"], a["device"]);
}
Result AsTensor(Lowering& l, const BoundCall& a) {
  if (!l.IsTensor(a["data"])) return Tensor(l, a);
  if (!a.has("dtype") && !a.has("device")) return a["data"];
  return l.Aten("to", {a["data"]}, {{"dtype", a["dtype"]}, {"device", a["device"]}});
}
Result NewTensor(Lowering& l, const BoundCall& a) {
  const auto own = [&](absl::string_view name, Kind kind) {
    return a.has(name) ? a[name] : l.Builtin("builtins.getattr", {a.self(), name}, kind);
  };
  const Argument dtype = own("dtype", Kind::kDType);
  return MakeTensor(l, a["data"], dtype, own("device", Kind::kDevice));
}
Result MakeSize(Lowering& l, const BoundCall& a) { return a.is_given(0) ? a.self() : l.Tuple({}); }

// Returns the results that a call of torch.unique asks for; the operators always return all three.
Result Wanted(Lowering& l, const BoundCall& a, const Argument& all) {
  const bool inverse = a.is_true("return_inverse");
  const bool counts = a.is_true("return_counts");
  if (inverse && counts) return all;
  ASSIGN_OR_RETURN(const Argument values, l.Operator("getitem", {all, 0}));
  if (!inverse && !counts) return values;
  ASSIGN_OR_RETURN(const Argument other, l.Operator("getitem", {all, inverse ? 1 : 2}));
  return l.Tuple({values, other});
}
Result Unique(Lowering& l, const BoundCall& a) {
  const bool inverse = a.is_true("return_inverse");
  const bool counts = a.is_true("return_counts");
  ASSIGN_OR_RETURN(const Argument all,
                   a.has("dim")
                       ? l.Aten("unique_dim", {a.self(), a["dim"], a["sorted"], inverse, counts})
                       : l.Aten("_unique2", {a.self(), a["sorted"], inverse, counts}));
  return Wanted(l, a, all);
}
Result UniqueConsecutive(Lowering& l, const BoundCall& a) {
  ASSIGN_OR_RETURN(const Argument all,
                   l.Aten("unique_consecutive", {a.self(), a.is_true("return_inverse"),
                                                 a.is_true("return_counts"), a["dim"]}));
  return Wanted(l, a, all);
}

// --- Python, and calls of nested graphs ---------------------------------------

Result Round(Lowering& l, const BoundCall& a) {
  return l.Keep(a, a.has("ndigits") ? Kind::kNumber : Kind::kInt);
}
// The body's parameters have the types of the operands.
Result Vmap(Lowering& l, const BoundCall& a) {
  std::vector<Argument> all = a.all();
  if (!all[0].is_graph()) return l.Error("takes a graph");
  if (!all[1].is_tuple() && !all[1].is_list()) all[1] = l.Tuple({all[1]});
  std::vector<ValueType> types;
  for (const Argument& operand : all[1].elements()) types.push_back(l.TypeOf(operand));
  l.SetParameterTypes(all[0].graph(), types);
  return l.Builtin("torch.vmap", all, l.ResultOfBody(*all[0].graph()));
}

// The value of x.data.
Result Data(Lowering& l, const BoundCall& a) { return l.Aten("detach", {a["self"]}); }

}  // namespace

absl::Span<const AdapterRow> PythonAdapters() {
  static constexpr AdapterRow kRows[] = {
      {"Tensor.__len__", Len},
      {"Tensor.bfloat16", ToDType<DType::kBFloat16>},
      {"Tensor.bool", ToDType<DType::kBool>},
      {"Tensor.byte", ToDType<DType::kUInt8>},
      {"Tensor.cdouble", ToDType<DType::kComplex128>},
      {"Tensor.cfloat", ToDType<DType::kComplex64>},
      {"Tensor.char", ToDType<DType::kInt8>},
      {"Tensor.cpu", Cpu},
      {"Tensor.cuda", Cuda},
      {"Tensor.dim", NumDims},
      {"Tensor.double", ToDType<DType::kFloat64>},
      {"Tensor.element_size", ElementSize},
      {"Tensor.float", ToDType<DType::kFloat32>},
      {"Tensor.half", ToDType<DType::kFloat16>},
      {"Tensor.int", ToDType<DType::kInt32>},
      {"Tensor.is_floating_point", IsFloatingPoint},
      {"Tensor.long", ToDType<DType::kInt64>},
      {"Tensor.ndimension", NumDims},
      {"Tensor.new_tensor", NewTensor},
      {"Tensor.requires_grad_", RequiresGrad},
      {"Tensor.short", ToDType<DType::kInt16>},
      {"Tensor.size", Size},
      {"Tensor.to", To},
      {"Tensor.type", Type},
      {"torch._C._autograd._get_data_attr", Data},
      {"Tensor.unique", Unique},
      {"Tensor.unique_consecutive", UniqueConsecutive},
      {"builtins.getattr", GetAttr},
      {"builtins.round", Round},
      {"torch.Size", MakeSize},
      {"torch.as_tensor", AsTensor},
      {"torch.functional.unique", Unique},
      {"torch.functional.unique_consecutive", UniqueConsecutive},
      {"torch.nn.functional.logsigmoid", LogSigmoid},
      {"torch.tensor", Tensor},
      {"torch.vmap", Vmap},
  };
  return kRows;
}

Adapter FindAdapter(absl::string_view name) {
  static const auto* const table = [] {
    auto* made = new absl::flat_hash_map<absl::string_view, Adapter>;
    for (const auto& rows : {FunctionalAdapters(), PythonAdapters(), QuantizedAdapters()}) {
      made->insert(rows.begin(), rows.end());
    }
    for (const FusedOperator& fused : FusedOperators()) made->emplace(fused.name, LowerFused);
    return made;
  }();
  const auto it = table->find(name);
  return it == table->end() ? nullptr : it->second;
}

}  // namespace graphnet
