#include "graphnet/passes/domain.h"

#include <cstdint>

#include "absl/strings/str_cat.h"

namespace graphnet {
namespace {

// Distances from an end that is excluded, relative to it: far enough that rounding to the dtype
// does not reach the end. At 0 the distance is absolute, so that quotients stay moderate.
constexpr double kSmall = 1e-6;
constexpr double kSmallOf16Bits = 1.0 / 128;

double InsideOf(double end, bool is_low, DType dtype) {
  const double step = is_low ? 1 : -1;
  if (!IsFloatingPoint(dtype)) return end + step;
  if (end == 0) return step * kSmall;
  return end + step * (DTypeBytes(dtype) <= 2 ? kSmallOf16Bits : kSmall) * std::abs(end);
}

Argument Bound(double value) {
  if (value == std::trunc(value) && std::abs(value) < 1e15)
    return Argument(static_cast<int64_t>(value));
  return Argument(value);
}

double BoundValue(const Argument& number) {
  if (number.is_float()) return number.real();
  return number.is_int() ? static_cast<double>(number.integer()) : number.boolean();
}

// Returns whether no value of the dtype lies between the bounds.
bool ContradictEachOther(DType dtype, const Argument& min, const Argument& max) {
  if (min.is_none() || max.is_none()) return false;
  const bool is_float = IsFloatingPoint(dtype);
  return is_float ? BoundValue(min) > BoundValue(max)
                  : std::ceil(BoundValue(min)) > std::floor(BoundValue(max));
}

}  // namespace

bool Domain::Holds(const DrawnValues& values) const {
  if (is_nonzero && values.has_zero) return false;
  return is_open ? values.min > low && values.max < high : values.min >= low && values.max <= high;
}

std::string DescribeDomain(const Domain& domain) {
  if (domain.is_nonzero) return "other than 0";
  if (domain.high == HUGE_VAL)
    return absl::StrCat(domain.is_open ? "over " : "at least ", domain.low);
  return absl::StrCat(domain.is_open ? "between " : "from ", domain.low,
                      domain.is_open ? " and " : " to ", domain.high);
}

std::optional<DrawSpec> BoundedTo(const Domain& domain, DType dtype, const DrawSpec& spec) {
  const DrawnValues values = ValuesOf(dtype, spec);
  DrawSpec bounded = spec;
  const auto inside = [&](double end, bool is_low) {
    return Bound(domain.is_open ? InsideOf(end, is_low, dtype) : end);
  };
  if (domain.is_nonzero && values.has_zero) {
    // Bound the side on which most values are.
    const bool is_low = values.min + values.max >= 0;
    (is_low ? bounded.min : bounded.max) = Bound(InsideOf(0, is_low, dtype));
  }
  const Domain above = {.low = domain.low, .is_open = domain.is_open};
  const Domain below = {.high = domain.high, .is_open = domain.is_open};
  if (!above.Holds(values)) bounded.min = inside(domain.low, true);
  if (!below.Holds(values)) bounded.max = inside(domain.high, false);
  if (ContradictEachOther(dtype, bounded.min, bounded.max) ||
      !domain.Holds(ValuesOf(dtype, bounded)))
    return std::nullopt;
  return bounded;
}

}  // namespace graphnet
