#include "graphnet/base/distributions.h"

#include <cmath>

namespace graphnet {

double NormalLimit(double p) {
  double low = 0;
  double high = 40;
  for (int i = 0; i < 80; ++i) {
    const double z = (low + high) / 2;
    (std::erfc(z / std::sqrt(2.0)) > p ? low : high) = z;
  }
  return low;
}

double StudentLimit(double p, double degrees) {
  const double z = NormalLimit(p) * (8 * degrees + 3) / (8 * degrees + 1);
  return std::sqrt(degrees * std::expm1(z * z / degrees));
}

}  // namespace graphnet
