#include "graphnet/interp/inputs/compare_weights.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "graphnet/interp/inputs/numbers.h"

namespace graphnet {
namespace {

bool AreSame(const TensorData& a, const TensorData& b) {
  if (a.dtype != b.dtype || a.shape != b.shape) return false;
  return a.bytes == b.bytes || (a.bytes && b.bytes && *a.bytes == *b.bytes);
}

std::string FormOf(const TensorData& data) {
  return absl::StrCat(DTypeShortName(data.dtype), "[", absl::StrJoin(data.shape, ", "), "]");
}

}  // namespace

std::optional<double> LargestDifference(const TensorData& a, const TensorData& b) {
  const Numbers of_a = NumbersOf(a.dtype);
  const Numbers of_b = NumbersOf(b.dtype);
  const bool known = of_a.read != nullptr && of_b.read != nullptr && a.bytes && b.bytes;
  if (!known || of_a.is_complex != of_b.is_complex || a.shape != b.shape) return std::nullopt;
  const size_t count = std::min(a.bytes->size() / of_a.bytes, b.bytes->size() / of_b.bytes);
  double largest = 0;
  for (size_t i = 0; i < count; ++i) {
    const double x = of_a.read(a.bytes->data() + i * of_a.bytes);
    const double y = of_b.read(b.bytes->data() + i * of_b.bytes);
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    if (!std::isfinite(x) || !std::isfinite(y)) return std::numeric_limits<double>::quiet_NaN();
    largest = std::max(largest, std::abs(x - y));
  }
  return largest;
}

WeightDifferences CompareWeights(const std::map<std::string, TensorData>& a,
                                 const std::map<std::string, TensorData>& b) {
  WeightDifferences made;
  auto in_a = a.begin();
  auto in_b = b.begin();
  while (in_a != a.end() || in_b != b.end()) {
    if (in_b == b.end() || (in_a != a.end() && in_a->first < in_b->first)) {
      made.differences.push_back({in_a->first, &in_a->second, nullptr, std::nullopt});
      ++in_a;
      continue;
    }
    if (in_a == a.end() || in_b->first < in_a->first) {
      made.differences.push_back({in_b->first, nullptr, &in_b->second, std::nullopt});
      ++in_b;
      continue;
    }
    ++made.compared;
    const TensorData& x = in_a->second;
    const TensorData& y = in_b->second;
    if (!AreSame(x, y)) made.differences.push_back({in_a->first, &x, &y, LargestDifference(x, y)});
    x.bytes.Release();
    y.bytes.Release();
    ++in_a;
    ++in_b;
  }
  return made;
}

std::string DescribeDifference(const TensorData& a, const TensorData& b,
                               std::optional<double> largest) {
  std::string text = FormOf(a);
  if (FormOf(b) != text) absl::StrAppend(&text, " became ", FormOf(b));
  if (largest.has_value()) absl::StrAppendFormat(&text, ", by at most %.3g", *largest);
  return text;
}

}  // namespace graphnet
