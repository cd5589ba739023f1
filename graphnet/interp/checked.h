// An int64 whose arithmetic throws c10::Error on overflow.
#ifndef GRAPHNET_INTERP_CHECKED_H_
#define GRAPHNET_INTERP_CHECKED_H_

#include <compare>
#include <cstdint>
#include <optional>

#include "c10/util/Exception.h"
#include "graphnet/base/python_numbers.h"

namespace graphnet::interp {

class Checked {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): it stands for the number.
  Checked(int64_t value) : value_(value) {}
  int64_t value() const { return value_; }

  friend auto operator<=>(Checked a, Checked b) = default;

  friend Checked operator+(Checked a, Checked b) { return Of(python::Add(a.value_, b.value_)); }
  friend Checked operator-(Checked a, Checked b) {
    return Of(python::Subtract(a.value_, b.value_));
  }
  friend Checked operator*(Checked a, Checked b) {
    return Of(python::Multiply(a.value_, b.value_));
  }
  // Rounds down, as Python does.
  friend Checked operator/(Checked a, Checked b) {
    return Of(python::FloorDivide(a.value_, b.value_));
  }

 private:
  static Checked Of(std::optional<int64_t> result) {
    TORCH_CHECK(result, "a size is no int64");
    return *result;
  }
  int64_t value_;
};

}  // namespace graphnet::interp

#endif  // GRAPHNET_INTERP_CHECKED_H_
