// Lowers Python's operators: on numbers and sequences they stay Python's, on tensors they become
// the operator of ATen that torch/_tensor.py and python_variable_methods.cpp call.
#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graphnet/base/status.h"
#include "graphnet/ops/lowering.h"

namespace graphnet {
namespace {

using Kind = ValueType::Kind;

// Returns the type of the result on numbers (and, for add and mul, on sequences).
ValueType ResultOfNumbers(const PythonOperator& op, absl::Span<const ValueType> operands) {
  if (op.result == 'b') return Kind::kBool;
  if (op.result == 'i') return Kind::kInt;
  if (op.result == 'f') return Kind::kFloat;
  bool number = false;
  bool real = false;
  for (const ValueType& type : operands) {
    if (type.is_sequence()) return type.kind == Kind::kList ? type : ListOf(type.element().kind);
    if (type.kind == Kind::kString) return Kind::kString;
    if (type.kind == Kind::kUnknown) return Kind::kUnknown;
    if (type.kind == Kind::kComplex) return Kind::kComplex;
    number = number || type.kind == Kind::kNumber;
    real = real || type.kind == Kind::kFloat;
  }
  // The type is open because 2 ** -1 is a float.
  if (op.base == "pow" && !real) return Kind::kNumber;
  return real ? Kind::kFloat : number ? Kind::kNumber : Kind::kInt;
}

absl::StatusOr<Argument> GetItem(Lowering& lowering, const Argument& object,
                                 const Argument& index) {
  const ValueType type = lowering.TypeOf(object);
  // No call is needed if the elements are known.
  if ((object.is_list() || object.is_tuple()) && index.is_int()) {
    const int64_t n = static_cast<int64_t>(object.elements().size());
    const int64_t i = index.integer() < 0 ? index.integer() + n : index.integer();
    if (i < 0 || i >= n)
      return lowering.Error(absl::StrCat("there is no element ", index.integer()));
    return object.elements()[static_cast<size_t>(i)];
  }
  ValueType result;
  if (type.is_tensor()) {
    result = Kind::kTensor;
  } else if (type.is_sequence() && index.kind() == Argument::Kind::kSlice) {
    result = type.kind == Kind::kList ? type : ListOf(type.element().kind);
  } else if (type.kind == Kind::kTuple && index.is_int()) {
    const int64_t n = static_cast<int64_t>(type.elements.size());
    const int64_t i = index.integer() < 0 ? index.integer() + n : index.integer();
    if (i < 0 || i >= n)
      return lowering.Error(absl::StrCat("there is no element ", index.integer()));
    result = type.elements[static_cast<size_t>(i)];
  } else {
    result = type.element();
  }
  return lowering.Builtin("operator.getitem", {object, index}, result);
}

}  // namespace

absl::StatusOr<Argument> Lowering::Operator(absl::string_view name,
                                            absl::Span<const Argument> args) {
  const PythonOperator* op = FindPythonOperator(name);
  if (op == nullptr) return Error(absl::StrCat("operator.", name, " is not a Python operator"));
  return Operator(*op, args);
}

absl::StatusOr<Argument> Lowering::Operator(const PythonOperator& op,
                                            absl::Span<const Argument> args) {
  if (args.size() != op.num_operands) {
    return Error(absl::StrCat("takes ", op.num_operands, " operands, not ", args.size()));
  }
  const Argument swapped[] = {args.back(), args[0]};
  if (op.is_reflected) args = swapped;
  if (op.name == "getitem") return GetItem(*this, args[0], args[1]);
  if (op.name == "setitem") return Builtin("operator.setitem", args, Kind::kNone);
  const bool any_tensor = absl::c_any_of(args, [this](const Argument& a) { return IsTensor(a); });
  if (!any_tensor || op.aten.empty()) {
    std::vector<ValueType> types;
    for (const Argument& argument : args) types.push_back(TypeOf(argument));
    return Builtin(Text(absl::StrCat("operator.", op.base)), args, ResultOfNumbers(op, types));
  }
  if (args.size() == 2 && !IsTensor(args[0])) {
    // This follows Tensor.__rsub__ and the like.
    const Argument& number = args[0];
    const Argument& tensor = args[1];
    if (op.base == "sub") return Aten("rsub", {tensor, number});
    if (op.base == "truediv") {
      ASSIGN_OR_RETURN(const Argument reciprocal, Aten("reciprocal", {tensor}));
      return Aten("mul", {reciprocal, number});
    }
    static const auto* const mirrored =
        new absl::flat_hash_map<absl::string_view, absl::string_view>{
            {"add", "add"},     {"mul", "mul"}, {"and_", "__and__"}, {"or_", "__or__"},
            {"xor", "__xor__"}, {"eq", "eq"},   {"ne", "ne"},        {"lt", "gt"},
            {"le", "ge"},       {"gt", "lt"},   {"ge", "le"}};
    if (const auto it = mirrored->find(op.base); it != mirrored->end()) {
      return Aten(it->second, {tensor, number});
    }
    if (op.base == "pow") return Aten("pow", {number, tensor});
    // 2.0 += x makes a new value, so the operator in place is not used.
    return Aten(FindPythonOperator(op.base)->aten, {number, tensor});
  }
  return args.size() == 1 ? Aten(op.aten, {args[0]}) : Aten(op.aten, {args[0], args[1]});
}

}  // namespace graphnet
