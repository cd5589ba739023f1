// Methods of torch/_tensor.py, constructors, and what programs use of Python
// itself.
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/ops/adapters.h"

namespace graphnet {
namespace {

using Kind = ValueType::Kind;
using Result = absl::StatusOr<Argument>;
using Args = absl::Span<const Argument>;
using KwArgs = absl::Span<const KwArg>;

// Null when there is none of that name.
const Argument* Find(KwArgs kwargs, absl::string_view name) {
  const auto it = absl::c_find_if(kwargs, [&](const KwArg& k) { return k.name == name; });
  return it == kwargs.end() ? nullptr : &it->value;
}
// The argument at `position` or called `name`; None when neither is given.
Argument Get(Args args, KwArgs kwargs, size_t position, absl::string_view name) {
  if (position < args.size()) return args[position];
  const Argument* found = Find(kwargs, name);
  return found == nullptr ? Argument() : *found;
}

bool IsTrue(const Argument& a) { return a.is_bool() && a.boolean(); }

// --- Methods -----------------------------------------------------------------

// x.to(device) | x.to(dtype) | x.to(device, dtype) | x.to(other), then
// non_blocking, copy; memory_format by keyword.
Result To(Lowering& l, Args args, KwArgs kwargs) {
  const Argument self = args[0];
  size_t next = 1;
  Argument device = Get({}, kwargs, 0, "device");
  Argument dtype = Get({}, kwargs, 0, "dtype");
  const Argument other = Get({}, kwargs, 0, "other");
  const auto kind_at = [&](size_t i) {
    return i < args.size() ? l.TypeOf(args[i]).kind : Kind::kUnknown;
  };
  Argument like = other;
  if (kind_at(next) == Kind::kTensor) {
    like = args[next++];
  } else {
    if (kind_at(next) == Kind::kDevice || kind_at(next) == Kind::kString ||
        kind_at(next) == Kind::kInt || (next < args.size() && args[next].is_none())) {
      device = args[next++];
    }
    if (kind_at(next) == Kind::kDType || (next < args.size() && args[next].is_none())) {
      dtype = args[next++];
    }
  }
  const auto flag = [&](absl::string_view name) {
    const Argument value = Get(args, kwargs, next, name);
    if (next < args.size()) ++next;
    return value.is_none() ? Argument(false) : value;
  };
  const Argument non_blocking = flag("non_blocking");
  const Argument copy = flag("copy");
  const Argument format = Get({}, kwargs, 0, "memory_format");
  if (next < args.size()) return l.Error("too many arguments");
  if (!like.is_none()) return l.Aten("to", {self, like, non_blocking, copy, format});
  if (device.is_none() && !dtype.is_none()) {
    return l.Aten("to", {self, dtype, non_blocking, copy, format});
  }
  return l.Aten("to", {self},
                {{"dtype", dtype},
                 {"device", device},
                 {"non_blocking", non_blocking},
                 {"copy", copy},
                 {"memory_format", format}});
}

template <DType dtype>
Result ToDType(Lowering& l, Args args, KwArgs kwargs) {
  const Argument format = Get(args, kwargs, 1, "memory_format");
  return l.Aten("to", {args[0], dtype, false, false, format});
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

Result Type(Lowering& l, Args args, KwArgs kwargs) {
  Argument dtype = Get(args, kwargs, 1, "dtype");
  if (dtype.is_none()) return l.Error("the name of a tensor's type is not supported");
  if (dtype.is_string()) {
    const DType named = DTypeOfTensorType(dtype.string());
    if (named == DType::kUnknown) return l.Error(absl::StrCat("no type ", dtype.string()));
    dtype = named;
  }
  return l.Aten("to", {args[0], dtype});
}

Result Cpu(Lowering& l, Args args, KwArgs) {
  return l.Aten("to", {args[0]}, {{"device", Device{DeviceType::kCpu, -1}}});
}
Result Cuda(Lowering& l, Args args, KwArgs) {
  return l.Aten("to", {args[0]}, {{"device", Device{DeviceType::kCuda, -1}}});
}

Result Size(Lowering& l, Args args, KwArgs kwargs) {
  const Argument dim = Get(args, kwargs, 1, "dim");
  if (!dim.is_none()) return l.Aten("size", {args[0], dim});
  return l.Builtin("builtins.getattr", {args[0], "shape"}, ListOf(Kind::kInt));
}
Result NumDims(Lowering& l, Args args, KwArgs) {
  return l.Builtin("builtins.getattr", {args[0], "ndim"}, Kind::kInt);
}
Result IsFloatingPoint(Lowering& l, Args args, KwArgs) {
  return l.Builtin("torch.is_floating_point", {args[0]}, Kind::kBool);
}
Result ElementSize(Lowering& l, Args args, KwArgs) {
  return l.Builtin("builtins.getattr", {args[0], "itemsize"}, Kind::kInt);
}
Result LogSigmoid(Lowering& l, Args args, KwArgs) { return l.Aten("log_sigmoid", {args[0]}); }
Result ToList(Lowering& l, Args args, KwArgs) {
  return l.Builtin("Tensor.tolist", {args[0]}, Kind::kUnknown);
}
Result Identity(Lowering&, Args args, KwArgs) { return args[0]; }
Result Len(Lowering& l, Args args, KwArgs) {
  return l.Builtin("builtins.len", {args[0]}, Kind::kInt);
}

// Reads of attributes; those that are operators are called as such.
Result GetAttr(Lowering& l, Args args, KwArgs) {
  if (args.size() < 2 || !args[1].is_string()) return l.Error("an attribute without a name");
  const absl::string_view name = args[1].string();
  if (l.IsTensor(args[0]) || l.TypeOf(args[0]).kind == Kind::kUnknown) {
    static const auto* const types = new absl::flat_hash_map<absl::string_view, ValueType>{
        {"shape", ListOf(Kind::kInt)},  {"dtype", Kind::kDType},   {"device", Kind::kDevice},
        {"ndim", Kind::kInt},           {"layout", Kind::kLayout}, {"is_cuda", Kind::kBool},
        {"requires_grad", Kind::kBool}, {"itemsize", Kind::kInt},  {"nbytes", Kind::kInt}};
    if (const auto it = types->find(name); it != types->end()) {
      return l.Builtin("builtins.getattr", {args[0], name}, it->second);
    }
    if (name == "T") return l.Aten("numpy_T", {args[0]});
    if (name == "H") return l.Aten("matrix_H", {args[0]});
    if (name == "data") return l.Aten("detach", {args[0]});
    if (!FindSchemas(name).empty()) return l.Aten(name, {args[0]});
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
Result Tensor(Lowering& l, Args args, KwArgs kwargs) {
  const Argument data = Get(args, kwargs, 0, "data");
  const Argument dtype = Get(args, kwargs, 1, "dtype");
  const Argument device = Get(args, kwargs, 2, "device");
  return MakeTensor(l, data, dtype, device);
}
Result AsTensor(Lowering& l, Args args, KwArgs kwargs) {
  const Argument data = Get(args, kwargs, 0, "data");
  const Argument dtype = Get(args, kwargs, 1, "dtype");
  const Argument device = Get(args, kwargs, 2, "device");
  if (!l.IsTensor(data)) return MakeTensor(l, data, dtype, device);
  if (dtype.is_none() && device.is_none()) return data;
  return l.Aten("to", {data}, {{"dtype", dtype}, {"device", device}});
}
Result NewTensor(Lowering& l, Args args, KwArgs kwargs) {
  Argument dtype = Get({}, kwargs, 0, "dtype");
  if (dtype.is_none()) dtype = l.Builtin("builtins.getattr", {args[0], "dtype"}, Kind::kDType);
  Argument device = Get({}, kwargs, 0, "device");
  if (device.is_none()) device = l.Builtin("builtins.getattr", {args[0], "device"}, Kind::kDevice);
  return MakeTensor(l, Get(args, kwargs, 1, "data"), dtype, device);
}

// torch.unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
// the operators always return all three.
Result Wanted(Lowering& l, const Argument& all, bool inverse, bool counts) {
  if (inverse && counts) return all;
  ASSIGN_OR_RETURN(const Argument values, l.Operator("getitem", {all, 0}));
  if (!inverse && !counts) return values;
  ASSIGN_OR_RETURN(const Argument other, l.Operator("getitem", {all, inverse ? 1 : 2}));
  return l.Tuple({values, other});
}
Result Unique(Lowering& l, Args args, KwArgs kwargs) {
  Argument sorted = Get(args, kwargs, 1, "sorted");
  if (sorted.is_none()) sorted = true;
  const bool inverse = IsTrue(Get(args, kwargs, 2, "return_inverse"));
  const bool counts = IsTrue(Get(args, kwargs, 3, "return_counts"));
  const Argument input = Get(args, kwargs, 0, "input");
  const Argument dim = Get(args, kwargs, 4, "dim");
  ASSIGN_OR_RETURN(const Argument all,
                   dim.is_none() ? l.Aten("_unique2", {input, sorted, inverse, counts})
                                 : l.Aten("unique_dim", {input, dim, sorted, inverse, counts}));
  return Wanted(l, all, inverse, counts);
}
Result UniqueConsecutive(Lowering& l, Args args, KwArgs kwargs) {
  const bool inverse = IsTrue(Get(args, kwargs, 1, "return_inverse"));
  const bool counts = IsTrue(Get(args, kwargs, 2, "return_counts"));
  ASSIGN_OR_RETURN(const Argument all,
                   l.Aten("unique_consecutive", {Get(args, kwargs, 0, "input"), inverse, counts,
                                                 Get(args, kwargs, 3, "dim")}));
  return Wanted(l, all, inverse, counts);
}

// --- Numbers, and what has no value ------------------------------------------

Result None(Lowering&, Args, KwArgs) { return Argument(); }
Result SymSum(Lowering& l, Args args, KwArgs) {
  if (args.size() != 1 || !l.TypeOf(args[0]).is_sequence()) return l.Error("takes one list");
  return l.Builtin("torch.sym_sum", args, Kind::kInt);
}
// A function of numbers, run as Python's of that name.
template <Kind kind>
Result Numeric(Lowering& l, Args args, KwArgs) {
  return l.Builtin(l.source().target(), args, kind);
}
// Likewise, the keywords' values after the others: vmap's levels, autocast, and
// calls of nested graphs.
template <Kind kind>
Result State(Lowering& l, Args args, KwArgs kwargs) {
  std::vector<Argument> all(args.begin(), args.end());
  for (const KwArg& kwarg : kwargs) all.push_back(kwarg.value);
  return l.Builtin(l.source().target(), all, kind);
}
// torch.vmap(func, operands, in_dims=0, out_dims=0, randomness="error", chunk_size=None):
// all by position. The body's parameters are what the operands are.
Result Vmap(Lowering& l, Args args, KwArgs kwargs) {
  static constexpr absl::string_view kParameters[] = {"func",     "operands",   "in_dims",
                                                      "out_dims", "randomness", "chunk_size"};
  if (args.size() > 6) return l.Error("takes at most 6 arguments");
  std::vector<Argument> all = {Argument(), Argument(), 0, 0, "error", Argument()};
  absl::c_copy(args, all.begin());
  for (const KwArg& kwarg : kwargs) {
    const auto it = absl::c_find(kParameters, kwarg.name);
    const auto i = static_cast<size_t>(it - std::begin(kParameters));
    if (i >= 6 || i < args.size()) return l.Error(absl::StrCat("takes no ", kwarg.name));
    all[i] = kwarg.value;
  }
  if (!all[0].is_graph()) return l.Error("takes a graph");
  if (!all[1].is_tuple() && !all[1].is_list()) all[1] = l.Tuple({all[1]});
  std::vector<ValueType> types;
  for (const Argument& operand : all[1].elements()) types.push_back(l.TypeOf(operand));
  l.SetParameterTypes(all[0].graph(), std::move(types));
  return l.Builtin("torch.vmap", all, l.ResultOfBody(*l.source().args()[0].graph()));
}
}  // namespace

CallAdapter FindCallAdapter(absl::string_view name) {
  static const auto* const table = new absl::flat_hash_map<absl::string_view, CallAdapter>{
      {"Tensor.to", To},
      {"Tensor.type", Type},
      {"Tensor.float", ToDType<DType::kFloat32>},
      {"Tensor.double", ToDType<DType::kFloat64>},
      {"Tensor.half", ToDType<DType::kFloat16>},
      {"Tensor.bfloat16", ToDType<DType::kBFloat16>},
      {"Tensor.long", ToDType<DType::kInt64>},
      {"Tensor.int", ToDType<DType::kInt32>},
      {"Tensor.short", ToDType<DType::kInt16>},
      {"Tensor.char", ToDType<DType::kInt8>},
      {"Tensor.byte", ToDType<DType::kUInt8>},
      {"Tensor.bool", ToDType<DType::kBool>},
      {"Tensor.cfloat", ToDType<DType::kComplex64>},
      {"Tensor.cdouble", ToDType<DType::kComplex128>},
      {"Tensor.cpu", Cpu},
      {"Tensor.cuda", Cuda},
      {"Tensor.size", Size},
      {"Tensor.dim", NumDims},
      {"Tensor.ndimension", NumDims},
      {"Tensor.tolist", ToList},
      {"Tensor.element_size", ElementSize},
      {"Tensor.unique", Unique},
      {"Tensor.unique_consecutive", UniqueConsecutive},
      {"Tensor.is_floating_point", IsFloatingPoint},
      {"Tensor.requires_grad_", Identity},
      {"Tensor.__len__", Len},
      {"Tensor.new_tensor", NewTensor},
      {"builtins.getattr", GetAttr},
      {"builtins.len", Len},
      {"builtins.int", Numeric<Kind::kInt>},
      {"builtins.float", Numeric<Kind::kFloat>},
      {"builtins.bool", Numeric<Kind::kBool>},
      {"builtins.abs", Numeric<Kind::kNumber>},
      {"builtins.round", Numeric<Kind::kInt>},
      {"builtins.max", Numeric<Kind::kNumber>},
      {"builtins.min", Numeric<Kind::kNumber>},
      {"math.floor", Numeric<Kind::kInt>},
      {"math.ceil", Numeric<Kind::kInt>},
      {"math.trunc", Numeric<Kind::kInt>},
      {"math.sqrt", Numeric<Kind::kFloat>},
      {"math.exp", Numeric<Kind::kFloat>},
      {"math.log", Numeric<Kind::kFloat>},
      {"math.log2", Numeric<Kind::kFloat>},
      {"math.log10", Numeric<Kind::kFloat>},
      {"math.pow", Numeric<Kind::kFloat>},
      {"math.sin", Numeric<Kind::kFloat>},
      {"math.cos", Numeric<Kind::kFloat>},
      {"math.tan", Numeric<Kind::kFloat>},
      {"math.fabs", Numeric<Kind::kFloat>},
      {"math.prod", Numeric<Kind::kNumber>},
      {"torch.sym_int", Numeric<Kind::kInt>},
      {"torch.sym_float", Numeric<Kind::kFloat>},
      {"torch.sym_not", Numeric<Kind::kBool>},
      {"torch.sym_max", Numeric<Kind::kNumber>},
      {"torch.sym_min", Numeric<Kind::kNumber>},
      {"torch.sym_ite", Numeric<Kind::kNumber>},
      {"torch._sym_sqrt", Numeric<Kind::kFloat>},
      {"torch.sym_sum", SymSum},
      {"torch.is_floating_point", IsFloatingPoint},
      {"torch.numel", Numeric<Kind::kInt>},
      {"torch.Size", Identity},
      {"torch.tensor", Tensor},
      {"torch.as_tensor", AsTensor},
      {"torch.unique", Unique},
      {"torch.functional.unique", Unique},
      {"torch.unique_consecutive", UniqueConsecutive},
      {"torch.functional.unique_consecutive", UniqueConsecutive},
      {"torch.nn.functional.logsigmoid", LogSigmoid},
      {"torch._check_is_size", None},
      {"torch._check", None},
      {"torch._C._log_api_usage_once", None},
      {"torch._C._set_grad_enabled", None},
      {"torch.set_grad_enabled", None},
      {"torch.autograd.function.FunctionCtx", None},
      {"torch._functorch.predispatch.lazy_load_decompositions", None},
      {"torch._functorch.vmap.lazy_load_decompositions", None},
      {"torch._functorch.predispatch._vmap_increment_nesting", State<Kind::kInt>},
      {"torch._functorch.predispatch._vmap_decrement_nesting", State<Kind::kInt>},
      {"torch._functorch.predispatch._add_batch_dim", State<Kind::kTensor>},
      {"torch._functorch.predispatch._remove_batch_dim", State<Kind::kTensor>},
      {"torch._C._functorch._vmap_increment_nesting", State<Kind::kInt>},
      {"torch._C._functorch._vmap_decrement_nesting", State<Kind::kInt>},
      {"torch._C._functorch._add_batch_dim", State<Kind::kTensor>},
      {"torch._C._functorch._remove_batch_dim", State<Kind::kTensor>},
      {"torch.amp.autocast_mode._enter_autocast", State<Kind::kUnknown>},
      {"torch.amp.autocast_mode._exit_autocast", State<Kind::kNone>},
      {"torch.cond", State<Kind::kUnknown>},
      {"torch.while_loop", State<Kind::kUnknown>},
      {"torch.ops.higher_order.cond", State<Kind::kUnknown>},
      {"torch.ops.higher_order.while_loop", State<Kind::kUnknown>},
      {"torch.vmap", Vmap},
  };
  const auto it = table->find(name);
  return it == table->end() ? nullptr : it->second;
}

}  // namespace graphnet
