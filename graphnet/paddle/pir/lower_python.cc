#include "graphnet/paddle/pir/lower_python.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graphnet/ir/module.h"

namespace graphnet::pir {
namespace {

struct Binary {
  absl::string_view name;       // name in Python
  absl::string_view operator_;  // operator of PIR
  bool is_comparison = false;
  bool has_place = false;  // true if there is an operator in place
};

constexpr Binary kBinaries[] = {
    {"add", "add", false, true},
    {"sub", "subtract", false, true},
    {"mul", "multiply", false, true},
    {"truediv", "divide", false, true},
    {"div", "divide", false, true},
    {"pow", "elementwise_pow"},
    {"mod", "remainder", false, true},
    {"floordiv", "floor_divide", false, true},
    {"matmul", "matmul"},
    {"and_", "bitwise_and", false, true},
    {"or_", "bitwise_or", false, true},
    {"xor", "bitwise_xor", false, true},
    {"and", "bitwise_and", false, true},
    {"or", "bitwise_or", false, true},
    {"eq", "equal", true},
    {"ne", "not_equal", true},
    {"lt", "less_than", true},
    {"le", "less_equal", true},
    {"gt", "greater_than", true},
    {"ge", "greater_equal", true},
};

const Binary* Find(absl::string_view name, bool* in_place) {
  const auto find = [](absl::string_view wanted) -> const Binary* {
    const auto* it = absl::c_find_if(kBinaries, [&](const Binary& b) { return b.name == wanted; });
    return it == std::end(kBinaries) ? nullptr : it;
  };
  *in_place = false;
  if (const Binary* binary = find(name)) return binary;
  if (!absl::ConsumePrefix(&name, "i")) return nullptr;
  *in_place = true;
  const Binary* binary = find(name);
  return binary != nullptr && binary->has_place ? binary : nullptr;
}

bool IsFloat(DType dtype) { return IsFloatingPoint(dtype); }
bool IsComplex(DType dtype) {
  return dtype == DType::kComplex64 || dtype == DType::kComplex128 || dtype == DType::kComplex32;
}

std::optional<double> NumberOf(const Value& value) {
  if (!value.is_constant()) return std::nullopt;
  if (value.constant.is_int()) return static_cast<double>(value.constant.integer());
  if (value.constant.is_float()) return value.constant.real();
  return std::nullopt;
}

// Makes x·scale + bias.
Node* Scale(Emitter& out, Node* x, double scale, double bias, bool in_place,
            const ValueMeta* meta) {
  return out.Emit(in_place ? "scale_" : "scale", {x, out.One(scale, DType::kFloat32)},
                  {{"bias", bias}, {"bias_after_scale", true}}, meta);
}

Node* WithNumber(Emitter& out, const Binary& binary, Node* x, double number, bool is_reflected,
                 bool is_integer, bool in_place, const ValueMeta* meta) {
  const DType of = DTypeOf(x);
  if (of == DType::kUnknown || IsComplex(of)) return nullptr;
  const absl::string_view name = binary.operator_;
  const bool is_division = name == "divide";
  // Both become the common dtype. A float number turns ints into floats, and so does a division.
  const bool makes_floats = !IsFloat(of) && (!is_integer || is_division);
  const DType common = makes_floats ? DType::kFloat32 : of;
  const bool is_linear = name == "add" || name == "subtract" || name == "multiply" || is_division;
  if (of == DType::kBool && (is_linear || is_integer)) return nullptr;
  if (in_place && makes_floats) return nullptr;
  if (is_linear && !(is_division && (is_reflected || number == 0))) {
    Node* operand = out.Cast(x, common);
    if (name == "add") return Scale(out, operand, 1, number, in_place, meta);
    if (name == "multiply") return Scale(out, operand, number, 0, in_place, meta);
    if (is_division) return Scale(out, operand, 1 / number, 0, in_place, meta);
    return is_reflected ? Scale(out, operand, -1, number, in_place, meta)
                        : Scale(out, operand, 1, -number, in_place, meta);
  }
  Node* operand = out.Cast(x, common);
  Node* constant = out.Scalar(number, common);
  const std::string made = absl::StrCat(name, in_place ? "_" : "");
  return is_reflected ? out.Emit(made, {constant, operand}, {}, meta)
                      : out.Emit(made, {operand, constant}, {}, meta);
}

}  // namespace

Node* LowerPythonOperator(Emitter& out, absl::string_view name, const Value& a, const Value& b,
                          const ValueMeta* meta) {
  bool in_place = false;
  const Binary* binary = Find(name, &in_place);
  if (binary == nullptr) return nullptr;
  const absl::string_view made = binary->operator_;
  if (a.node != nullptr && b.node != nullptr) {
    DType first = DTypeOf(a.node);
    DType second = DTypeOf(b.node);
    if (first == DType::kUnknown || second == DType::kUnknown) return nullptr;
    if (made == "matmul") {
      return out.Emit(made, {a.node, b.node}, {{"transpose_x", false}, {"transpose_y", false}},
                      meta);
    }
    Node* left = a.node;
    Node* right = b.node;
    const DType result =
        meta != nullptr && meta->tensor != nullptr ? meta->tensor->dtype : DType::kUnknown;
    if (first != second) {
      if (in_place) {
        right = out.Cast(right, first);
      } else if (!binary->is_comparison && result != DType::kUnknown) {
        left = out.Cast(left, result);
        right = out.Cast(right, result);
      } else if (IsFloat(first) != IsFloat(second)) {
        (IsFloat(first) ? right : left) =
            out.Cast(IsFloat(first) ? right : left, IsFloat(first) ? first : second);
      } else {
        return nullptr;
      }
    } else if (made == "divide" && !IsFloat(first) && !IsComplex(first)) {
      if (in_place) return nullptr;
      left = out.Cast(left, DType::kFloat32);
      right = a.node == b.node ? left : out.Cast(right, DType::kFloat32);
    }
    return out.Emit(absl::StrCat(made, in_place ? "_" : ""), {left, right}, {}, meta);
  }
  const bool is_reflected = a.node == nullptr;
  const std::optional<double> number = NumberOf(is_reflected ? a : b);
  Node* x = is_reflected ? b.node : a.node;
  if (x == nullptr || !number.has_value() || made == "matmul") return nullptr;
  if (in_place && is_reflected) return nullptr;
  const bool is_integer = (is_reflected ? a : b).constant.is_int();
  return WithNumber(out, *binary, x, *number, is_reflected, is_integer, in_place, meta);
}

Node* LowerSubscript(Emitter& out, Node* x, const Argument& index, const ValueMeta* meta) {
  constexpr int64_t kEnd = 2147483647;  // means the end of the dimension
  const int rank = RankOf(x);
  if (rank < 0) return nullptr;
  const absl::Span<const Argument> items =
      index.is_tuple() ? index.elements() : absl::MakeConstSpan(&index, 1);
  int indexed = 0;
  for (const Argument& item : items) {
    if (item.is_int() || item.kind() == Argument::Kind::kSlice) ++indexed;
    const bool is_known = item.is_int() || item.is_none() ||
                          item.kind() == Argument::Kind::kSlice ||
                          item.kind() == Argument::Kind::kEllipsis;
    if (!is_known) return nullptr;
  }
  if (indexed > rank) return nullptr;
  std::vector<int64_t> axes;
  std::vector<int64_t> starts;
  std::vector<int64_t> ends;
  std::vector<int64_t> strides;
  std::vector<int64_t> dropped;  // as axes before any is dropped
  std::vector<int64_t> added;    // as axes of the result
  int64_t axis = 0;
  int64_t result_axis = 0;
  for (const Argument& item : items) {
    if (item.is_none()) {
      added.push_back(result_axis++);
    } else if (item.kind() == Argument::Kind::kEllipsis) {
      axis += rank - indexed;
      result_axis += rank - indexed;
    } else if (item.is_int()) {
      axes.push_back(axis);
      starts.push_back(item.integer());
      ends.push_back(item.integer() == -1 ? kEnd : item.integer() + 1);
      strides.push_back(1);
      dropped.push_back(axis++);
    } else {
      const absl::Span<const Argument> bounds = item.elements();
      int64_t numbers[3] = {0, kEnd, 1};
      for (size_t i = 0; i < 3; ++i) {
        if (bounds[i].is_none()) continue;
        if (!bounds[i].is_int()) return nullptr;
        numbers[i] = std::min(bounds[i].integer(), kEnd);
      }
      if (numbers[2] <= 0) return nullptr;
      if (numbers[0] != 0 || numbers[1] != kEnd || numbers[2] != 1) {
        axes.push_back(axis);
        starts.push_back(numbers[0]);
        ends.push_back(numbers[1]);
        strides.push_back(numbers[2]);
      }
      ++axis;
      ++result_axis;
    }
  }
  const bool is_strided = absl::c_any_of(strides, [](int64_t s) { return s != 1; });
  Node* value = x;
  if (!axes.empty()) {
    const bool is_last = added.empty();
    Node* from = out.IntArray(starts);
    Node* to = out.IntArray(ends);
    if (is_strided) {
      Node* by = out.IntArray(strides);
      value = out.Emit("strided_slice", {value, from, to, by}, {{"axes", out.List(axes)}},
                       is_last && dropped.empty() ? meta : nullptr);
      if (!dropped.empty()) {
        value = out.Emit("squeeze", {value, out.IntArray(dropped)}, {}, is_last ? meta : nullptr);
      }
    } else {
      const std::vector<int64_t> flags(axes.size(), 1);
      value = out.Emit("slice", {value, from, to},
                       {{"axes", out.List(axes)},
                        {"decrease_axis", out.List(dropped)},
                        {"infer_flags", out.List(flags)}},
                       is_last ? meta : nullptr);
    }
  }
  if (!added.empty()) {
    value = out.Emit("unsqueeze", {value, out.IntArray(added)}, {}, meta);
  }
  return value;
}

}  // namespace graphnet::pir
