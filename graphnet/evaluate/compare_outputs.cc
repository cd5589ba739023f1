#include "graphnet/evaluate/compare_outputs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/status.h"
#include "graphnet/base/tolerance.h"
#include "graphnet/formats/safetensors/safetensors.h"
#include "graphnet/interp/inputs/float16.h"

namespace graphnet {
namespace {

using Tolerances = std::array<std::array<Tolerance, kNumToleranceLevels>, kNumToleranceClasses>;

const Tolerances& AllTolerances() {
  static const Tolerances* const all = [] {
    auto* made = new Tolerances;
    for (int c = 0; c < kNumToleranceClasses; ++c) {
      for (int i = 0; i < kNumToleranceLevels; ++i)
        (*made)[c][i] = ToleranceAt(kMinToleranceLevel + i, static_cast<ToleranceClass>(c));
    }
    return made;
  }();
  return *all;
}

// Compares an output element by element. A value that is right at one level is right at all
// following ones, so it keeps the lowest level of each class at which all elements so far are
// right.
class Comparison {
 public:
  // Adds an element. `magnitude` is the expected element's. `difference` is nan if either element
  // is not finite and they are not equal.
  void Add(double difference, double magnitude) {
    ++elements_;
    sum_ += difference;
    if (difference == 0) return;
    max_ = std::isnan(difference) ? difference : std::max(max_, difference);
    equal_ = false;
    for (size_t c = 0; c < levels_.size(); ++c) {
      int& level = levels_[c];
      while (level < kNumToleranceLevels) {
        const Tolerance& tolerance = tolerances_[c][static_cast<size_t>(level)];
        if (difference <= tolerance.atol + tolerance.rtol * magnitude) break;
        ++level;
      }
    }
  }

  OutputComparison Result() const {
    OutputComparison result;
    result.equal = equal_;
    result.max_diff = std::isnan(sum_) ? sum_ : max_;
    result.mean_diff = elements_ == 0 ? 0 : sum_ / static_cast<double>(elements_);
    for (size_t c = 0; c < levels_.size(); ++c) {
      for (int level = levels_[c]; level < kNumToleranceLevels; ++level)
        result.SetClose(kMinToleranceLevel + level, static_cast<ToleranceClass>(c));
    }
    return result;
  }

 private:
  const Tolerances& tolerances_ = AllTolerances();
  std::array<int, kNumToleranceClasses> levels_{};
  bool equal_ = true;
  double max_ = 0;
  double sum_ = 0;
  size_t elements_ = 0;
};

struct Finite {
  bool expected = true;
  bool actual = true;
};

template <typename T>
T At(absl::string_view bytes, size_t i) {
  T value;
  std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
  return value;
}

// Elements are `Stored`; `decode` converts them to double or std::complex<double>.
template <typename Stored, typename Decode>
OutputComparison CompareElements(const TensorData& expected, const TensorData& actual,
                                 Decode decode, Finite* finite) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  Comparison comparison;
  const size_t elements = expected.bytes->size() / sizeof(Stored);
  for (size_t i = 0; i < elements; ++i) {
    const auto e = decode(At<Stored>(*expected.bytes, i));
    const auto a = decode(At<Stored>(*actual.bytes, i));
    const double magnitude = std::abs(e);
    const bool both_finite = std::isfinite(magnitude) && std::isfinite(std::abs(a));
    if (!both_finite) {
      finite->expected &= std::isfinite(magnitude);
      finite->actual &= std::isfinite(std::abs(a));
      comparison.Add(e == a ? 0 : kNan, magnitude);
    } else {
      comparison.Add(std::abs(a - e), magnitude);
    }
  }
  return comparison.Result();
}

template <typename Stored>
OutputComparison CompareNumbers(const TensorData& expected, const TensorData& actual,
                                Finite* finite) {
  return CompareElements<Stored>(
      expected, actual, [](Stored value) { return static_cast<double>(value); }, finite);
}

// Different integers that are the same double are not equal.
template <typename Stored>
OutputComparison CompareIntegers(const TensorData& expected, const TensorData& actual,
                                 Finite* finite) {
  OutputComparison result = CompareNumbers<Stored>(expected, actual, finite);
  result.equal = *expected.bytes == *actual.bytes;
  return result;
}

template <typename Part>
OutputComparison CompareComplex(const TensorData& expected, const TensorData& actual,
                                Finite* finite) {
  return CompareElements<std::complex<Part>>(
      expected, actual,
      [](std::complex<Part> value) { return std::complex<double>(value.real(), value.imag()); },
      finite);
}

OutputComparison CompareTensors(const TensorData& expected, const TensorData& actual,
                                Finite* finite) {
  switch (expected.dtype) {
    case DType::kBool:
    case DType::kUInt8: return CompareIntegers<uint8_t>(expected, actual, finite);
    case DType::kInt8: return CompareIntegers<int8_t>(expected, actual, finite);
    case DType::kInt16: return CompareIntegers<int16_t>(expected, actual, finite);
    case DType::kUInt16: return CompareIntegers<uint16_t>(expected, actual, finite);
    case DType::kInt32: return CompareIntegers<int32_t>(expected, actual, finite);
    case DType::kUInt32: return CompareIntegers<uint32_t>(expected, actual, finite);
    case DType::kInt64: return CompareIntegers<int64_t>(expected, actual, finite);
    case DType::kUInt64: return CompareIntegers<uint64_t>(expected, actual, finite);
    case DType::kFloat16:
      return CompareElements<uint16_t>(
          expected, actual, [](uint16_t half) { return static_cast<double>(HalfToFloat(half)); },
          finite);
    case DType::kBFloat16:
      return CompareElements<uint16_t>(
          expected, actual,
          [](uint16_t value) { return static_cast<double>(BFloat16ToFloat(value)); }, finite);
    case DType::kFloat32: return CompareNumbers<float>(expected, actual, finite);
    case DType::kFloat64: return CompareNumbers<double>(expected, actual, finite);
    case DType::kComplex64: return CompareComplex<float>(expected, actual, finite);
    case DType::kComplex128: return CompareComplex<double>(expected, actual, finite);
    default: {
      // Other 8-bit types are compared by their bits.
      Comparison comparison;
      const bool same = *expected.bytes == *actual.bytes;
      comparison.Add(same ? 0 : std::numeric_limits<double>::quiet_NaN(), 0);
      return comparison.Result();
    }
  }
}

std::string ShapeText(const TensorData& data) {
  return absl::StrCat("[", absl::StrJoin(data.shape, ", "), "]");
}

using Named = std::map<std::string, TensorData>;

absl::StatusOr<Outputs> InOrder(absl::StatusOr<Named> read) {
  if (!read.ok()) {
    return absl::DataLossError(absl::StrCat("garbage: cannot read the outputs: ",
                                            absl::string_view(read.status().message())));
  }
  Outputs outputs;
  for (size_t i = 0; i < read->size(); ++i) {
    const auto it = read->find(absl::StrCat(i));
    if (it == read->end()) {
      return absl::DataLossError(
          absl::StrCat("garbage: ", read->size(), " outputs, but none is called ", i));
    }
    outputs.push_back(std::move(it->second));
  }
  return outputs;
}

}  // namespace

absl::StatusOr<Outputs> ReadOutputs(const std::string& path) {
  return InOrder(ReadSafetensorsFile(path));
}

std::vector<std::string> DTypesOf(const Outputs& outputs) {
  std::vector<std::string> dtypes;
  for (const TensorData& output : outputs) dtypes.emplace_back(DTypeName(output.dtype));
  return dtypes;
}

OutputsVerdict CompareOutputs(const Outputs& expected, const Outputs& actual) {
  OutputsVerdict verdict;
  const auto differ = [&](Outcome status, std::string reason) {
    verdict.status = status;
    verdict.reason = std::move(reason);
    verdict.outputs.clear();
    return verdict;
  };
  if (expected.size() != actual.size()) {
    return differ(Outcome::kShapeMismatch,
                  absl::StrCat(actual.size(), " outputs, expected ", expected.size()));
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    if (expected[i].dtype != actual[i].dtype) {
      return differ(Outcome::kTypeMismatch,
                    absl::StrCat("output ", i, " is ", DTypeName(actual[i].dtype), ", expected ",
                                 DTypeName(expected[i].dtype)));
    }
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    if (expected[i].shape != actual[i].shape) {
      return differ(Outcome::kShapeMismatch,
                    absl::StrCat("output ", i, " has shape ", ShapeText(actual[i]), ", expected ",
                                 ShapeText(expected[i])));
    }
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    Finite finite;
    verdict.outputs.push_back(CompareTensors(expected[i], actual[i], &finite));
    if (finite.expected && !finite.actual && verdict.status == Outcome::kCorrect) {
      verdict.status = Outcome::kNotFinite;
      verdict.reason = absl::StrCat("output ", i, " has nan or infinity, expected finite numbers");
    }
  }
  return verdict;
}

}  // namespace graphnet
