#include "graphnet/interp/direct_call.h"

#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "ATen/core/IListRef.h"
#include "ATen/core/Tensor.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "c10/util/SmallVector.h"
#include "graphnet/interp/torch/operator_library.h"

namespace graphnet::interp {
namespace {

using c10::IValue;

// --- Conversion of values to arguments of C++ types, and the codes of the types.
// An argument's memory lives as long as the result of From.

template <typename A>
struct Param;

template <>
struct Param<const at::Tensor&> {
  static constexpr char kCode[] = "T ";
  static const at::Tensor& From(const IValue& v) { return v.toTensor(); }
};
template <>
struct Param<at::Tensor&> {
  static constexpr char kCode[] = "T! ";
  // Operators write to the tensor's data, not to the handle.
  static at::Tensor& From(const IValue& v) { return const_cast<at::Tensor&>(v.toTensor()); }
};
template <>
struct Param<const at::Scalar&> {
  static constexpr char kCode[] = "S ";
  static at::Scalar From(const IValue& v) { return v.toScalar(); }
};
template <>
struct Param<c10::SymInt> {
  static constexpr char kCode[] = "y ";
  static c10::SymInt From(const IValue& v) { return v.toInt(); }
};
template <>
struct Param<int64_t> {
  static constexpr char kCode[] = "i ";
  static int64_t From(const IValue& v) { return v.toInt(); }
};
template <>
struct Param<double> {
  static constexpr char kCode[] = "f ";
  static double From(const IValue& v) { return v.toDouble(); }
};
template <>
struct Param<bool> {
  static constexpr char kCode[] = "b ";
  static bool From(const IValue& v) { return v.toBool(); }
};
template <>
struct Param<c10::string_view> {
  static constexpr char kCode[] = "s ";
  static c10::string_view From(const IValue& v) { return v.toStringView(); }
};
template <>
struct Param<at::ScalarType> {
  static constexpr char kCode[] = "d ";
  static at::ScalarType From(const IValue& v) { return v.toScalarType(); }
};
template <>
struct Param<at::Layout> {
  static constexpr char kCode[] = "l ";
  static at::Layout From(const IValue& v) { return v.toLayout(); }
};
template <>
struct Param<at::Device> {
  static constexpr char kCode[] = "D ";
  static at::Device From(const IValue& v) { return v.toDevice(); }
};
template <>
struct Param<at::MemoryFormat> {
  static constexpr char kCode[] = "m ";
  static at::MemoryFormat From(const IValue& v) { return v.toMemoryFormat(); }
};

using Ints = c10::SmallVector<int64_t, 6>;
Ints ToInts(const IValue& v) {
  Ints ints;
  for (const IValue& element : v.toListRef()) ints.push_back(element.toInt());
  return ints;
}
template <>
struct Param<at::IntArrayRef> {
  static constexpr char kCode[] = "i[] ";
  static Ints From(const IValue& v) { return ToInts(v); }
};
struct SymInts {
  Ints ints;
  operator c10::SymIntArrayRef() const { return c10::fromIntArrayRefSlow(ints); }  // NOLINT
};
template <>
struct Param<c10::SymIntArrayRef> {
  static constexpr char kCode[] = "y[] ";
  static SymInts From(const IValue& v) { return {ToInts(v)}; }
};
struct OptionalInts {
  std::optional<Ints> ints;
  operator at::OptionalIntArrayRef() const {  // NOLINT
    return ints ? at::OptionalIntArrayRef(at::IntArrayRef(*ints)) : at::OptionalIntArrayRef();
  }
};
template <>
struct Param<at::OptionalIntArrayRef> {
  static constexpr char kCode[] = "i[]? ";
  static OptionalInts From(const IValue& v) {
    return {v.isNone() ? std::nullopt : std::optional<Ints>(ToInts(v))};
  }
};

using Tensors = c10::SmallVector<at::Tensor, 4>;
Tensors ToTensors(const IValue& v) {
  Tensors tensors;
  for (const IValue& element : v.toListRef()) tensors.push_back(element.toTensor());
  return tensors;
}
template <>
struct Param<at::TensorList> {
  static constexpr char kCode[] = "T[] ";
  static Tensors From(const IValue& v) { return ToTensors(v); }
};
// Views a list of tensors; a list that also holds other kinds is copied.
struct TensorListRef {
  c10::List<at::Tensor> list;
  operator at::ITensorListRef() const { return at::ITensorListRef(list); }  // NOLINT
};
template <>
struct Param<const at::ITensorListRef&> {
  static constexpr char kCode[] = "T[] ";
  static TensorListRef From(const IValue& v) {
    if (v.isTensorList()) return {v.toTensorList()};
    c10::List<at::Tensor> list;
    for (const IValue& element : v.toListRef()) list.push_back(element.toTensor());
    return {list};
  }
};

template <typename T>
struct Optional {
  static std::optional<T> From(const IValue& v) {
    if (v.isNone()) return std::nullopt;
    return Param<T>::From(v);
  }
};
template <>
struct Param<const std::optional<at::Tensor>&> {
  static constexpr char kCode[] = "T? ";
  static std::optional<at::Tensor> From(const IValue& v) {
    if (v.isNone()) return std::nullopt;
    return v.toTensor();
  }
};
template <>
struct Param<const std::optional<at::Scalar>&> {
  static constexpr char kCode[] = "S? ";
  static std::optional<at::Scalar> From(const IValue& v) {
    if (v.isNone()) return std::nullopt;
    return v.toScalar();
  }
};
template <>
struct Param<std::optional<at::ScalarType>> : Optional<at::ScalarType> {
  static constexpr char kCode[] = "d? ";
};
template <>
struct Param<std::optional<at::Layout>> : Optional<at::Layout> {
  static constexpr char kCode[] = "l? ";
};
template <>
struct Param<std::optional<at::Device>> : Optional<at::Device> {
  static constexpr char kCode[] = "D? ";
};
template <>
struct Param<std::optional<at::MemoryFormat>> : Optional<at::MemoryFormat> {
  static constexpr char kCode[] = "m? ";
};
template <>
struct Param<std::optional<bool>> : Optional<bool> {
  static constexpr char kCode[] = "b? ";
};
template <>
struct Param<std::optional<double>> : Optional<double> {
  static constexpr char kCode[] = "f? ";
};
template <>
struct Param<std::optional<int64_t>> : Optional<int64_t> {
  static constexpr char kCode[] = "i? ";
};
template <>
struct Param<std::optional<c10::string_view>> : Optional<c10::string_view> {
  static constexpr char kCode[] = "s? ";
};

// Returns the same code for a type of a schema; empty if it has none.
absl::string_view Code(const c10::Type& type) {
  switch (type.kind()) {
    case c10::TypeKind::TensorType: return "T ";
    case c10::TypeKind::NumberType: return "S ";
    case c10::TypeKind::SymIntType: return "y ";
    case c10::TypeKind::IntType: return "i ";
    case c10::TypeKind::FloatType: return "f ";
    case c10::TypeKind::BoolType: return "b ";
    case c10::TypeKind::StringType: return "s ";
    case c10::TypeKind::ScalarTypeType: return "d ";
    case c10::TypeKind::LayoutType: return "l ";
    case c10::TypeKind::DeviceObjType: return "D ";
    case c10::TypeKind::MemoryFormatType: return "m ";
    default: return "";
  }
}

// Returns the codes of all arguments; empty if an argument has none.
std::string Codes(const c10::FunctionSchema& schema) {
  std::string codes;
  for (const c10::Argument& argument : schema.arguments()) {
    std::string suffix;
    c10::TypePtr type = argument.real_type();
    if (type->kind() == c10::TypeKind::OptionalType) {
      suffix = "?";
      type = type->expectRef<c10::OptionalType>().getElementType();
    }
    if (type->kind() == c10::TypeKind::ListType) {
      suffix = "[]" + suffix;
      type = type->expectRef<c10::ListType>().getElementType();
    }
    if (argument.alias_info() != nullptr && argument.alias_info()->isWrite()) suffix += '!';
    const absl::string_view code = Code(*type);
    if (code.empty()) return "";
    absl::StrAppend(&codes, code.substr(0, 1), suffix, " ");
  }
  return codes;
}

// --- Conversion of results.

IValue ToValue(at::Tensor result) { return IValue(std::move(result)); }
IValue ToValue(const at::Scalar& result) { return IValue(result); }
IValue ToValue(std::vector<at::Tensor> result) { return IValue(std::move(result)); }
template <typename... T>
IValue ToValue(std::tuple<T...> result) {
  return IValue(std::move(result));
}

template <typename Signature>
class TypedCall;
template <typename R, typename... A>
class TypedCall<R(A...)> final : public DirectCall {
 public:
  static_assert(sizeof...(A) <= kMaxDirectArguments);
  explicit TypedCall(c10::TypedOperatorHandle<R(A...)> op) : op_(std::move(op)) {}

  void Call(const IValue* const* args, IValue* result) const override {
    CallWith(args, result, std::index_sequence_for<A...>());
  }

 private:
  template <size_t... I>
  void CallWith(const IValue* const* args, IValue* result, std::index_sequence<I...>) const {
    *result = ToValue(op_.call(Param<A>::From(*args[I])...));
  }

  const c10::TypedOperatorHandle<R(A...)> op_;
};

struct Entry {
  std::string codes;
  // Returns null if the operator has another C++ signature, although its schema fits.
  const DirectCall* (*make)(const c10::OperatorHandle& op);
};

template <typename Signature>
struct EntryOf;
template <typename R, typename... A>
struct EntryOf<R(A...)> {
  static const DirectCall* Make(const c10::OperatorHandle& op) {
    try {
      return new TypedCall<R(A...)>(op.typed<R(A...)>());
    } catch (const c10::Error&) {
      return nullptr;  // two C++ types stand for lists of tensors
    }
  }
  static Entry Get() { return {absl::StrCat(Param<A>::kCode...), Make}; }
};
template <typename Signature>
Entry MakeEntry() {
  return EntryOf<Signature>::Get();
}

using T = const at::Tensor&;
using Written = at::Tensor&;
using MaybeT = const std::optional<at::Tensor>&;
using S = const at::Scalar&;
using MaybeS = const std::optional<at::Scalar>&;
using Sizes = c10::SymIntArrayRef;
using Str = c10::string_view;
using MaybeStr = std::optional<c10::string_view>;
using MaybeBool = std::optional<bool>;
using MaybeDType = std::optional<at::ScalarType>;
using MaybeLayout = std::optional<at::Layout>;
using MaybeDevice = std::optional<at::Device>;
using MaybeFormat = std::optional<at::MemoryFormat>;

// The signatures, each with one of its operators; there are many more operators.
const std::vector<Entry>& Entries() {
  static const auto* const entries = new std::vector<Entry>{
      MakeEntry<at::Tensor(T)>(),                                                // relu
      MakeEntry<at::Tensor(T, T)>(),                                             // mul
      MakeEntry<at::Tensor(T, T, T)>(),                                          // where
      MakeEntry<at::Tensor(T, T, MaybeT)>(),                                     // linear
      MakeEntry<at::Tensor(T, T, S)>(),                                          // add
      MakeEntry<at::Tensor(T, S)>(),                                             // pow
      MakeEntry<at::Tensor(T, S, S)>(),                                          // add.Scalar
      MakeEntry<at::Tensor(T, T, T, S)>(),                                       // addcmul
      MakeEntry<at::Tensor(T, T, T, S, S)>(),                                    // addmm
      MakeEntry<at::Tensor(T, MaybeS, MaybeS)>(),                                // clamp
      MakeEntry<at::Tensor(T, S, MaybeStr)>(),                                   // div
      MakeEntry<at::Tensor(T, T, MaybeStr)>(),                                   // div
      MakeEntry<at::Tensor(T, Str)>(),                                           // gelu
      MakeEntry<at::Tensor(T, int64_t)>(),                                       // unsqueeze
      MakeEntry<at::Tensor(T, int64_t, int64_t)>(),                              // transpose
      MakeEntry<at::Tensor(T, int64_t, c10::SymInt)>(),                          // select
      MakeEntry<at::Tensor(T, int64_t, MaybeDType)>(),                           // softmax
      MakeEntry<at::Tensor(T, int64_t, T)>(),                                    // index_select
      MakeEntry<at::Tensor(T, int64_t, T, bool)>(),                              // gather
      MakeEntry<at::Tensor(T, Sizes)>(),                                         // view
      MakeEntry<at::Tensor(T, at::IntArrayRef)>(),                               // permute
      MakeEntry<at::Tensor(T, at::IntArrayRef, at::IntArrayRef)>(),              // movedim
      MakeEntry<at::Tensor(T, Sizes, at::IntArrayRef)>(),                        // roll
      MakeEntry<at::Tensor(T, Sizes, bool)>(),                                   // expand
      MakeEntry<at::Tensor(T, at::IntArrayRef, bool)>(),                         // amax
      MakeEntry<at::Tensor(T, at::OptionalIntArrayRef, bool, MaybeDType)>(),     // mean
      MakeEntry<at::Tensor(T, S, at::OptionalIntArrayRef, bool, MaybeDType)>(),  // vector_norm
      MakeEntry<at::Tensor(T, MaybeDType)>(),                                    // sum
      MakeEntry<at::Tensor(T, at::MemoryFormat)>(),                              // contiguous
      MakeEntry<at::Tensor(T, MaybeFormat)>(),                                   // clone
      MakeEntry<at::Tensor(T, at::ScalarType, bool, bool, MaybeFormat)>(),       // to
      MakeEntry<at::Tensor(T, MaybeDType, MaybeLayout, MaybeDevice, MaybeBool, bool, bool,
                           MaybeFormat)>(),                                     // to
      MakeEntry<at::Tensor(T, double, bool)>(),                                 // dropout
      MakeEntry<at::Tensor(T, T, c10::SymInt, bool, bool)>(),                   // embedding
      MakeEntry<at::Tensor(T, T, MaybeT, Sizes, Sizes, Sizes, c10::SymInt)>(),  // conv2d
      MakeEntry<at::Tensor(T, T, MaybeT, Sizes, Sizes, Sizes, c10::SymInt, Sizes)>(),
      MakeEntry<at::Tensor(T, T, MaybeT, Sizes, Str, Sizes, c10::SymInt)>(),
      MakeEntry<at::Tensor(T, MaybeT, MaybeT, MaybeT, MaybeT, bool, double, double, bool)>(),
      MakeEntry<at::Tensor(T, Sizes, MaybeT, MaybeT, double, bool)>(),    // layer_norm
      MakeEntry<at::Tensor(T, int64_t, MaybeT, MaybeT, double, bool)>(),  // group_norm
      MakeEntry<at::Tensor(T, Sizes, MaybeT, std::optional<double>)>(),   // rms_norm
      MakeEntry<at::Tensor(T, T, T, MaybeT, double, bool, std::optional<double>, bool)>(),
      MakeEntry<at::Tensor(T, at::IntArrayRef, at::IntArrayRef, at::IntArrayRef, bool, bool,
                           std::optional<int64_t>)>(),  // avg_pool2d
      MakeEntry<at::Tensor(T, at::IntArrayRef, at::IntArrayRef, at::IntArrayRef, at::IntArrayRef,
                           bool)>(),                                                // max_pool2d
      MakeEntry<at::Tensor(T, Sizes, Str, std::optional<double>)>(),                // pad
      MakeEntry<at::Tensor(const at::ITensorListRef&, int64_t)>(),                  // cat
      MakeEntry<at::Tensor(at::TensorList, int64_t)>(),                             // stack
      MakeEntry<at::Tensor(Str, at::TensorList, at::OptionalIntArrayRef)>(),        // einsum
      MakeEntry<at::Tensor(S, MaybeDType, MaybeLayout, MaybeDevice, MaybeBool)>(),  // arange
      MakeEntry<at::Tensor(S, S, MaybeDType, MaybeLayout, MaybeDevice, MaybeBool)>(),
      MakeEntry<at::Tensor(Sizes, MaybeDType, MaybeLayout, MaybeDevice, MaybeBool)>(),  // zeros
      MakeEntry<at::Tensor(Sizes, S, MaybeDType, MaybeLayout, MaybeDevice, MaybeBool)>(),
      MakeEntry<at::Scalar(T)>(),                                     // item
      MakeEntry<std::vector<at::Tensor>(T, int64_t)>(),               // unbind
      MakeEntry<std::vector<at::Tensor>(T, int64_t, int64_t)>(),      // chunk
      MakeEntry<std::vector<at::Tensor>(T, c10::SymInt, int64_t)>(),  // split
      MakeEntry<std::vector<at::Tensor>(T, Sizes, int64_t)>(),        // split_with_sizes
      MakeEntry<at::Tensor&(Written)>(),                              // relu_
      MakeEntry<at::Tensor&(Written, T)>(),                           // mul_
      MakeEntry<at::Tensor&(Written, T, S)>(),                        // add_
      MakeEntry<at::Tensor&(Written, S)>(),                           // mul_.Scalar
      MakeEntry<at::Tensor&(Written, S, S)>(),                        // hardtanh_
      MakeEntry<at::Tensor&(Written, T, bool)>(),                     // copy_
  };
  return *entries;
}

const DirectCall* Make(const c10::OperatorHandle& op) {
  if (op.schema().is_vararg() || op.schema().returns().empty()) return nullptr;
  const std::string codes = Codes(op.schema());
  for (const Entry& entry : Entries()) {
    if (entry.codes != codes) continue;
    if (const DirectCall* call = entry.make(op)) return call;
  }
  return nullptr;
}

}  // namespace

const DirectCall* FindDirectCall(const c10::OperatorHandle& op) {
  // If all kernels are boxed, as those of declared operators are (declared_operator.h), PyTorch
  // accepts any signature as the right one.
  if (IsOfLibrary(op.operator_name())) return nullptr;
  // Look each operator up only once: a wrong guess costs an exception.
  static auto* const mutex = new std::mutex;
  static auto* const known = new absl::flat_hash_map<std::string, const DirectCall*>;
  std::string name = absl::StrCat(op.operator_name().name, ".", op.operator_name().overload_name);
  const std::lock_guard lock(*mutex);
  const auto [it, is_new] = known->try_emplace(std::move(name), nullptr);
  if (is_new) it->second = Make(op);
  return it->second;
}

}  // namespace graphnet::interp
