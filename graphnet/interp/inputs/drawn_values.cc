#include "graphnet/interp/inputs/drawn_values.h"

#include <algorithm>
#include <cmath>

namespace graphnet {
namespace {

constexpr double kDeviations = 6;  // an element lies outside with a probability of 1e-9
constexpr double kShrunk = 0.2;    // the factor of a std
constexpr double kOfRepairs = 0.01;
constexpr double kLimit = 100;

double Number(const Argument& number) {
  if (number.is_float()) return number.real();
  return number.is_int() ? static_cast<double>(number.integer()) : number.boolean();
}

DrawnValues Literal(const DrawSpec& spec) {
  DrawnValues values = {.is_fixed = true};
  bool first = true;
  for (const Argument& element : spec.data.elements()) {
    const double number = Number(element);
    values.min = first ? number : std::min(values.min, number);
    values.max = first ? number : std::max(values.max, number);
    values.has_zero |= number == 0;
    first = false;
  }
  return values;
}

void Clamp(double low, double high, DrawnValues* values) {
  const bool moved_to_zero = (low == 0 && values->min < 0) || (high == 0 && values->max > 0);
  values->has_zero &= low <= 0 && high >= 0;
  values->has_zero |= moved_to_zero;
  values->min = std::min(std::max(values->min, low), high);
  values->max = std::min(std::max(values->max, low), high);
}

}  // namespace

DrawnValues ValuesOf(DType dtype, const DrawSpec& spec) {
  const bool is_float = IsFloatingPoint(dtype);
  const bool has_min = !spec.min.is_none(), has_max = !spec.max.is_none();
  if (!is_float && dtype != DType::kBool && has_min && has_max) {
    const double min = std::ceil(Number(spec.min)), max = std::floor(Number(spec.max));
    return {.min = min, .max = max, .has_zero = min <= 0 && max >= 0};
  }
  if (!spec.data.is_none()) return Literal(spec);
  if (dtype == DType::kBool) return {.min = 0, .max = 1, .has_zero = true, .is_fixed = true};
  const double mean = spec.has_mean ? spec.mean : 0;
  const double reach = kDeviations * kShrunk * std::abs(spec.has_std ? spec.std : 0.1);
  // Elements that are not finite are drawn again, without bounds.
  if (!std::isfinite(mean) || !std::isfinite(reach)) {
    const double repaired = kDeviations * kOfRepairs;
    return {.min = -repaired, .max = repaired, .is_fixed = true};
  }
  // Integers deviate by whole numbers, mostly by 0.
  const bool is_step = reach == 0 || !is_float;
  DrawnValues values = {.min = mean - reach, .max = mean + reach, .has_zero = is_step && mean == 0};
  if (has_min || has_max)
    Clamp(has_min ? Number(spec.min) : -HUGE_VAL, has_max ? Number(spec.max) : HUGE_VAL, &values);
  if (is_float) Clamp(-kLimit, kLimit, &values);
  return values;
}

}  // namespace graphnet
