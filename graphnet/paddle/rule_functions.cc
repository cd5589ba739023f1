#include "graphnet/paddle/rule_functions.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/types/span.h"

namespace graphnet {
namespace {

bool IsWrittenPadding(const Argument& of) {
  return (of.is_list() || of.is_tuple()) && of.elements().size() % 2 == 0 &&
         absl::c_all_of(of.elements(), [](const Argument& a) {
           return a.is_int() && a.integer() > -(int64_t{1} << 40);
         });
}

absl::StatusOr<Argument> Complement(const Argument& of, Arena& /*arena*/) {
  if (!of.is_float()) return absl::UnimplementedError("a momentum that is not a constant");
  return Argument(1.0 - of.real());
}

// Returns the last axes, one for each size.
absl::StatusOr<Argument> LastAxes(const Argument& of, Arena& arena) {
  if (!of.is_list() && !of.is_tuple())
    return absl::UnimplementedError("sizes that are not constants");
  const size_t size = of.elements().size();
  Argument* const axes = arena.NewArray<Argument>(size);
  for (size_t i = 0; i < size; ++i)
    new (&axes[i]) Argument(static_cast<int64_t>(i) - static_cast<int64_t>(size));
  return Argument::List(absl::MakeConstSpan(axes, size));
}

// Makes a list of an int, which PyTorch accepts in its place.
absl::StatusOr<Argument> Axes(const Argument& of, Arena& arena) {
  if (!of.is_int()) return of;
  Argument* const axes = arena.NewArray<Argument>(1);
  new (axes) Argument(of);
  return Argument::List(absl::MakeConstSpan(axes, 1));
}

absl::StatusOr<Argument> Several(const Argument& of, Arena& /*arena*/) {
  const bool are_several = (of.is_list() || of.is_tuple()) && of.elements().size() > 1;
  if (!are_several) return absl::UnimplementedError("one size");
  return of;
}

absl::StatusOr<Argument> Positive(const Argument& of, Arena& /*arena*/) {
  const bool has_negative =
      (of.is_list() || of.is_tuple()) && absl::c_any_of(of.elements(), [](const Argument& a) {
        return a.is_int() && a.integer() < 0;
      });
  if (has_negative) return absl::UnimplementedError("a number below 0");
  return of;
}

// Returns the added part of a padding: negative numbers become 0.
absl::StatusOr<Argument> Grown(const Argument& of, Arena& arena) {
  if (!IsWrittenPadding(of)) return absl::UnimplementedError("a padding that is not a constant");
  const size_t size = of.elements().size();
  Argument* const sizes = arena.NewArray<Argument>(size);
  for (size_t i = 0; i < size; ++i)
    new (&sizes[i]) Argument(std::max<int64_t>(of.elements()[i].integer(), 0));
  return Argument::List(absl::MakeConstSpan(sizes, size));
}

// Returns the index that cuts off the negative part of a padding, which is given from the last
// dimension on.
absl::StatusOr<Argument> Cropped(const Argument& of, Arena& arena) {
  if (!IsWrittenPadding(of)) return absl::UnimplementedError("a padding that is not a constant");
  const size_t dims = of.elements().size() / 2;
  Argument* const index = arena.NewArray<Argument>(dims + 1);
  new (&index[0]) Argument(Argument::Ellipsis());
  for (size_t i = 0; i < dims; ++i) {
    const int64_t left = of.elements()[2 * i].integer();
    const int64_t right = of.elements()[2 * i + 1].integer();
    Argument* const bounds = arena.NewArray<Argument>(3);
    new (&bounds[0]) Argument(left < 0 ? Argument(-left) : Argument());
    new (&bounds[1]) Argument(right < 0 ? Argument(right) : Argument());
    new (&bounds[2]) Argument();
    new (&index[dims - i]) Argument(Argument::Slice(absl::MakeConstSpan(bounds, 3)));
  }
  return Argument::Tuple(absl::MakeConstSpan(index, dims + 1));
}

// Returns the word for the number by which ATen's losses name a reduction.
absl::StatusOr<Argument> Reduction(const Argument& of, Arena& /*arena*/) {
  static constexpr absl::string_view kWords[] = {"none", "mean", "sum"};
  if (!of.is_int() || of.integer() < 0 || of.integer() > 2)
    return absl::UnimplementedError("an unknown reduction");
  return Argument(kWords[static_cast<size_t>(of.integer())]);
}

absl::StatusOr<Argument> Not(const Argument& of, Arena& /*arena*/) {
  if (!of.is_bool()) return absl::UnimplementedError("a bool that is not a constant");
  return Argument(!of.boolean());
}

// Makes a list of a tuple, which Paddle does not accept.
absl::StatusOr<Argument> List(const Argument& of, Arena& /*arena*/) {
  return of.is_tuple() ? Argument::List(of.elements()) : of;
}

// Makes a slice of a tuple of bounds.
absl::StatusOr<Argument> Slice(const Argument& of, Arena& arena) {
  Argument* const bounds = arena.NewArray<Argument>(3);
  for (size_t i = 0; i < 3; ++i)
    new (&bounds[i]) Argument(i < of.elements().size() ? of.elements()[i] : Argument());
  return Argument::Slice(absl::MakeConstSpan(bounds, 3));
}

// Returns the dtype that PyTorch gives to a tensor of a number.
absl::StatusOr<Argument> DTypeOf(const Argument& of, Arena& /*arena*/) {
  if (of.is_bool()) return Argument("bool");
  if (of.is_int()) return Argument("int64");
  if (of.is_float()) return Argument("float32");
  return absl::UnimplementedError("a number that is not a constant");
}

absl::StatusOr<Argument> Subscript(const Argument& of, Arena& arena) {
  if (!of.is_list() && !of.is_tuple())
    return absl::UnimplementedError("indices that are not constants");
  const size_t size = of.elements().size();
  Argument* const elements = arena.NewArray<Argument>(size);
  for (size_t i = 0; i < size; ++i) {
    const Argument& element = of.elements()[i];
    Argument* const bounds = arena.NewArray<Argument>(3);
    for (size_t k = 0; k < 3; ++k) new (&bounds[k]) Argument();
    new (&elements[i])
        Argument(element.is_none() ? Argument::Slice(absl::MakeConstSpan(bounds, 3)) : element);
  }
  return Argument::Tuple(absl::MakeConstSpan(elements, size));
}

}  // namespace

const RuleFunction* FindRuleFunction(absl::string_view name) {
  static constexpr std::pair<absl::string_view, RuleFunction> kFunctions[] = {
      {"complement", Complement},
      {"subscript", Subscript},
      {"last_axes", LastAxes},
      {"axes", Axes},
      {"dtype_of", DTypeOf},
      {"several", Several},
      {"positive", Positive},
      {"grown", Grown},
      {"cropped", Cropped},
      {"reduction", Reduction},
      {"slice", Slice},
      {"not", Not},
      {"list", List},
  };
  for (const auto& row : kFunctions) {
    if (row.first == name) return &row.second;
  }
  return nullptr;
}

}  // namespace graphnet
