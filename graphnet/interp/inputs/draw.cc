#include "graphnet/interp/inputs/draw.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <deque>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/interp/inputs/elements.h"
#include "graphnet/interp/inputs/float16.h"
#include "graphnet/interp/inputs/generator.h"
#include "graphnet/ir/annotation.h"
#include "graphnet/ir/verifier.h"

namespace graphnet {
namespace {

static_assert(std::endian::native == std::endian::little, "TensorData is little-endian");

// Elements that are made at a time, which fit the first-level cache.
constexpr int64_t kChunk = 1024;

constexpr uint8_t kRepairStream = 1;

// Torch's arithmetic in a dtype: its type, the rounding after each operation, and
// the stored form.
template <typename T>
struct Plain {
  using Real = T;
  using Stored = T;
  static Real Round(Real x) { return x; }
  static Stored Encode(Real x) { return x; }
};
struct Half {
  using Real = float;
  using Stored = uint16_t;
  static Real Round(Real x) { return HalfToFloat(FloatToHalf(x)); }
  static Stored Encode(Real x) { return FloatToHalf(x); }
};
struct BFloat16 {
  using Real = float;
  using Stored = uint16_t;
  static Real Round(Real x) { return BFloat16ToFloat(FloatToBFloat16(x)); }
  static Stored Encode(Real x) { return FloatToBFloat16(x); }
};
template <typename T>
struct Complex {
  using Real = T;
  using Stored = std::array<T, 2>;  // real and imaginary part
  static Real Round(Real x) { return x; }
  static Stored Encode(Real x) { return {x, 0}; }
};

// A float of 8 bits. Its values without a sign lie in a table, so that rounding is a search.
template <DType kDType>
struct Float8 {
  using Real = float;
  using Stored = uint8_t;
  static Real Round(Real x) { return Decode(Encode(x)); }

  // Rounds as torch does: to the nearest value, half to even, but a power of two half up. What is
  // beyond all values becomes an infinity, or a nan where there is none, or the largest float8_e4m3fn.
  static Stored Encode(Real x) {
    static const auto* const kValues = new std::vector<std::pair<float, uint8_t>>(Values());
    if (std::isnan(x)) return kNan;
    const double magnitude = std::abs(x);
    const auto above =
        std::lower_bound(kValues->begin(), kValues->end(), magnitude,
                         [](const auto& value, double y) { return value.first < y; });
    const auto last = kValues->end() - 1;
    uint8_t code = 0;
    if (above == kValues->begin()) {
      code = above->second;
    } else {
      const auto below = above - 1;
      const double step = above > last ? double{last->first} - (last - 1)->first
                                       : double{above->first} - below->first;
      const double rest = magnitude - below->first;
      bool is_above = rest == step / 2 ? below->second % 2 != 0 : rest > step / 2;
      if (kDType == DType::kFloat8E8M0FNU)
        is_above = below->second == 0 ? rest > 0 : rest >= step / 2;
      if (above > last) {
        is_above = is_above && kDType != DType::kFloat8E4M3FN;
        if (is_above && kDType != DType::kFloat8E5M2) return kNan;
      }
      code = static_cast<uint8_t>(below->second + (is_above ? 1 : 0));
    }
    const bool has_sign =
        kDType != DType::kFloat8E8M0FNU && std::signbit(x) && (code != 0 || !kIsUnsignedZero);
    return has_sign ? code | 0x80 : code;
  }

  static Real Decode(Stored bits) {
    if (kDType == DType::kFloat8E8M0FNU)
      return bits == kNan ? std::numeric_limits<float>::quiet_NaN() : std::ldexp(1.0f, bits - 127);
    constexpr bool kIsE4 = kDType == DType::kFloat8E4M3FN || kDType == DType::kFloat8E4M3FNUZ;
    constexpr int kMantissa = kIsE4 ? 3 : 2;
    constexpr int kBias = (kIsE4 ? 7 : 15) + (kIsUnsignedZero ? 1 : 0);
    const int exponent = (bits & 0x7f) >> kMantissa;
    const int mantissa = bits & ((1 << kMantissa) - 1);
    const float sign = bits & 0x80 ? -1.0f : 1.0f;
    const bool is_special = kIsUnsignedZero                  ? bits == 0x80
                            : kDType == DType::kFloat8E4M3FN ? (bits & 0x7f) == 0x7f
                                                             : exponent == 31;
    if (is_special) {
      return kDType == DType::kFloat8E5M2 && mantissa == 0
                 ? sign * std::numeric_limits<float>::infinity()
                 : std::numeric_limits<float>::quiet_NaN();
    }
    return exponent == 0 ? sign * std::ldexp(static_cast<float>(mantissa), 1 - kBias - kMantissa)
                         : sign * std::ldexp(static_cast<float>(mantissa + (1 << kMantissa)),
                                             exponent - kBias - kMantissa);
  }

 private:
  static constexpr bool kIsUnsignedZero =
      kDType == DType::kFloat8E4M3FNUZ || kDType == DType::kFloat8E5M2FNUZ;
  static constexpr uint8_t kNan = kDType == DType::kFloat8E8M0FNU ? 0xff
                                  : kDType == DType::kFloat8E4M3FN || kDType == DType::kFloat8E5M2
                                      ? 0x7f
                                      : 0x80;
  static std::vector<std::pair<float, uint8_t>> Values() {
    std::vector<std::pair<float, uint8_t>> values;
    for (int bits = 0; bits < (kDType == DType::kFloat8E8M0FNU ? 256 : 128); ++bits) {
      const float value = Decode(static_cast<uint8_t>(bits));
      if (std::isfinite(value)) values.emplace_back(value, static_cast<uint8_t>(bits));
    }
    return values;
  }
};

// Makes the elements [0, count) by fill(first, elements of a chunk).
template <typename T, typename Fill>
std::string Generate(int64_t count, Fill&& fill) {
  std::string bytes;
  bytes.reserve(static_cast<size_t>(count) * sizeof(T));
  T chunk[kChunk];
  for (int64_t first = 0; first < count; first += kChunk) {
    const size_t n = static_cast<size_t>(std::min(kChunk, count - first));
    fill(first, absl::MakeSpan(chunk, n));
    bytes.append(reinterpret_cast<const char*>(chunk), n * sizeof(T));
  }
  return bytes;
}

// Truncates `x`. T must be able to hold the result.
template <typename T>
std::optional<T> ToInteger(double x) {
  x = std::trunc(x);
  // Both bounds are powers of two (or 0), so they are exact.
  constexpr T kHalf = std::numeric_limits<T>::max() / 2 + 1;
  constexpr double kEnd = 2.0 * static_cast<double>(kHalf);
  if (!(x >= static_cast<double>(std::numeric_limits<T>::min()) && x < kEnd)) return std::nullopt;
  return static_cast<T>(x);
}

// Converts to an integer dtype as torch does, by way of int64 where that is defined.
template <typename T>
T CutToInteger(double x) {
  return static_cast<T>(ToInteger<int64_t>(x).value_or(std::numeric_limits<int64_t>::min()));
}

double ToDouble(const Argument& number) {
  if (number.is_float()) return number.real();
  return number.is_int() ? static_cast<double>(number.integer()) : number.boolean();
}

// One tensor that is being drawn.
class Drawing {
 public:
  Drawing(const DrawSpec& spec, absl::string_view key, int64_t count, const DrawOptions& options)
      : spec_(spec),
        key_(key),
        count_(count),
        options_(options),
        std_(spec.has_std ? spec.std : 0.1),
        mean_(spec.has_mean ? spec.mean : 0) {}

  // The dtype of the result may differ from `dtype`.
  absl::StatusOr<TensorData> Run(DType dtype) {
    RETURN_IF_ERROR(CheckSpec());
    dtype_ = dtype;
    switch (dtype) {
      case DType::kBool: return Bools();
      case DType::kUInt8: return Integers<uint8_t>();
      case DType::kInt8: return Integers<int8_t>();
      case DType::kInt16: return Integers<int16_t>();
      case DType::kInt32: return Integers<int32_t>();
      case DType::kInt64: return Integers<int64_t>();
      case DType::kUInt16: return Integers<uint16_t>();
      case DType::kUInt32: return Integers<uint32_t>();
      case DType::kUInt64: return Integers<uint64_t>();
      case DType::kFloat16: return Floats<Half>();
      case DType::kBFloat16: return Floats<BFloat16>();
      case DType::kFloat32: return Floats<Plain<float>>();
      case DType::kFloat64: return Floats<Plain<double>>();
      case DType::kComplex64: return Floats<Complex<float>>();
      case DType::kComplex128: return Floats<Complex<double>>();
      case DType::kFloat8E4M3FN: return Floats<Float8<DType::kFloat8E4M3FN>>();
      case DType::kFloat8E5M2: return Floats<Float8<DType::kFloat8E5M2>>();
      case DType::kFloat8E4M3FNUZ: return Floats<Float8<DType::kFloat8E4M3FNUZ>>();
      case DType::kFloat8E5M2FNUZ: return Floats<Float8<DType::kFloat8E5M2FNUZ>>();
      case DType::kFloat8E8M0FNU: return Floats<Float8<DType::kFloat8E8M0FNU>>();
      case DType::kUnknown: return absl::InvalidArgumentError("its dtype is not known");
      default: return absl::UnimplementedError(absl::StrCat("cannot draw ", DTypeName(dtype)));
    }
  }

 private:
  absl::Status CheckSpec() const {
    for (const Argument* bound : {&spec_.min, &spec_.max}) {
      if (bound->is_none() || bound->is_int()) continue;
      if (!bound->is_float()) return absl::InvalidArgumentError("a bound is not a number");
      if (std::isnan(bound->real())) return absl::InvalidArgumentError("a bound is nan");
    }
    if (spec_.data.is_none()) return absl::OkStatus();
    if (!spec_.data.is_list()) return absl::InvalidArgumentError("its data is not a list");
    for (const Argument& element : spec_.data.elements()) {
      if (!element.is_bool() && !element.is_int() && !element.is_float()) {
        return absl::InvalidArgumentError("its data holds values other than numbers");
      }
    }
    const size_t size = spec_.data.elements().size();
    if (static_cast<int64_t>(size) == count_) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("its data has ", size, " elements, its shape ", count_));
  }

  // `fill(first, elements)` makes a chunk.
  template <typename T, typename Fill>
  absl::StatusOr<TensorData> Make(DType dtype, Fill&& fill) const {
    if (count_ > options_.max_bytes / static_cast<int64_t>(sizeof(T))) {
      return absl::ResourceExhaustedError(absl::StrCat("its ", count_, " elements of ", sizeof(T),
                                                       " bytes exceed the ", options_.max_bytes,
                                                       " bytes that may still be drawn"));
    }
    try {
      TensorData tensor;
      tensor.dtype = dtype;
      tensor.bytes = std::make_shared<const std::string>(Generate<T>(count_, fill));
      return tensor;
    } catch (const std::bad_alloc&) {
      return absl::ResourceExhaustedError("out of memory");
    }
  }

  // Makes elements from the literal data by encode(Argument).
  template <typename T, typename Encode>
  absl::StatusOr<TensorData> MakeFromData(Encode&& encode) const {
    return Make<T>(dtype_, [&](int64_t first, absl::Span<T> out) {
      for (size_t i = 0; i < out.size(); ++i) {
        out[i] = encode(spec_.data.elements()[static_cast<size_t>(first) + i]);
      }
    });
  }

  Generator Stream(uint8_t stream = 0) const { return Generator(options_.seed, key_, stream); }

  absl::StatusOr<TensorData> Bools() const {
    if (!spec_.data.is_none()) {
      return MakeFromData<uint8_t>([](const Argument& number) { return ToDouble(number) != 0; });
    }
    const Generator generator = Stream();
    return Make<uint8_t>(dtype_, [&](int64_t first, absl::Span<uint8_t> out) {
      float random[kChunk];
      const absl::Span<float> numbers(random, out.size());
      if (options_.compat == Compat::kGraphNet) {
        generator.Normal(first, numbers);
      } else {
        generator.Uniform(first, numbers);
      }
      for (size_t i = 0; i < out.size(); ++i) out[i] = random[i] > 0.5f;
    });
  }

  template <typename T>
  absl::StatusOr<TensorData> Integers() const {
    const std::optional<int64_t> min = IntegerBound(spec_.min);
    const std::optional<int64_t> max = IntegerBound(spec_.max);
    if (min && max) return UniformIntegers<T>(*min, *max);
    if (!spec_.data.is_none()) return IntegersFromData<T>();
    if (std_ == 0) {
      const std::optional<T> mean = ToInteger<T>(mean_);
      if (!mean) {
        return absl::InvalidArgumentError(
            absl::StrCat("its mean ", mean_, " does not fit ", DTypeName(dtype_)));
      }
      const T value = Clamp(*mean, min, max);
      return Make<T>(dtype_,
                     [&](int64_t, absl::Span<T> out) { std::fill(out.begin(), out.end(), value); });
    }
    if (options_.compat == Compat::kGraphNet) {
      return MakeFloats<Plain<float>>(DType::kFloat32, [](float normal) {
        return static_cast<float>(CutToInteger<T>(normal));
      });
    }
    const Generator generator = Stream();
    return Make<T>(dtype_, [&](int64_t first, absl::Span<T> out) {
      float normals[kChunk];
      generator.Normal(first, absl::MakeSpan(normals, out.size()));
      for (size_t i = 0; i < out.size(); ++i) {
        out[i] = Clamp(CutToInteger<T>(normals[i] * std_ * 0.2 + mean_), min, max);
      }
    });
  }

  // A float is rounded inwards.
  std::optional<int64_t> IntegerBound(const Argument& bound) const {
    if (bound.is_none()) return std::nullopt;
    if (bound.is_int()) return bound.integer();
    const double x = &bound == &spec_.min ? std::ceil(bound.real()) : std::floor(bound.real());
    using Limits = std::numeric_limits<int64_t>;
    return ToInteger<int64_t>(x).value_or(x < 0 ? Limits::min() : Limits::max());
  }

  template <typename T>
  static T Clamp(T value, std::optional<int64_t> min, std::optional<int64_t> max) {
    using Limits = std::numeric_limits<T>;
    if (min && std::cmp_less(value, *min)) {
      value = std::in_range<T>(*min) ? static_cast<T>(*min) : Limits::max();
    }
    if (max && std::cmp_greater(value, *max)) {
      value = std::in_range<T>(*max) ? static_cast<T>(*max) : Limits::min();
    }
    return value;
  }

  template <typename T>
  absl::StatusOr<TensorData> UniformIntegers(int64_t min, int64_t max) const {
    if (min > max || !std::in_range<T>(min) || !std::in_range<T>(max)) {
      return absl::InvalidArgumentError(absl::StrCat("its bounds ", min, " and ", max,
                                                     " are not a range of ", DTypeName(dtype_)));
    }
    const Generator generator = Stream();
    return Make<T>(dtype_, [&](int64_t first, absl::Span<T> out) {
      int64_t random[kChunk];
      generator.Integers(first, min, max, absl::MakeSpan(random, out.size()));
      for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<T>(random[i]);
    });
  }

  template <typename T>
  absl::StatusOr<TensorData> IntegersFromData() const {
    const auto encode = [](const Argument& number) -> std::optional<T> {
      if (number.is_float()) return ToInteger<T>(number.real());
      const int64_t value = number.is_int() ? number.integer() : number.boolean();
      if (!std::in_range<T>(value)) return std::nullopt;
      return static_cast<T>(value);
    };
    for (const Argument& number : spec_.data.elements()) {
      if (encode(number)) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("its data holds ", ToDouble(number), ", beyond ", DTypeName(dtype_)));
    }
    return MakeFromData<T>([&](const Argument& number) { return *encode(number); });
  }

  template <typename Format>
  absl::StatusOr<TensorData> Floats() const {
    using Real = typename Format::Real;
    if (!spec_.data.is_none()) {
      return MakeFromData<typename Format::Stored>([](const Argument& number) {
        return Format::Encode(static_cast<Real>(ToDouble(number)));
      });
    }
    if (!IsFloatingPoint(dtype_) && (!spec_.min.is_none() || !spec_.max.is_none())) {
      return absl::InvalidArgumentError("complex numbers have no bounds");
    }
    return MakeFloats<Format>(dtype_, [](float normal) { return normal; });
  }

  // Applies rules 4 to 6 (draw.h). `convert` converts a normal number to the dtype
  // before Format rounds it.
  template <typename Format, typename Convert>
  absl::StatusOr<TensorData> MakeFloats(DType dtype, Convert convert) const {
    using Real = typename Format::Real;
    using Stored = typename Format::Stored;
    constexpr Real kInfinity = std::numeric_limits<Real>::infinity();
    const Real deviation = static_cast<Real>(std_);
    const Real mean = Format::Round(static_cast<Real>(mean_));
    const auto round = [](const Argument& bound) {
      return Format::Round(static_cast<Real>(ToDouble(bound)));
    };
    const Real min = spec_.min.is_none() ? -kInfinity : round(spec_.min);
    const Real max = spec_.max.is_none() ? kInfinity : round(spec_.max);
    // The requested dtype decides, not the promoted one.
    const bool repair = IsFloatingPoint(dtype_);
    const Generator generator = Stream();
    const Generator repairs = Stream(kRepairStream);
    return Make<Stored>(dtype, [&](int64_t first, absl::Span<Stored> out) {
      const size_t n = out.size();
      float normals[kChunk];
      Real values[kChunk];
      if (std_ == 0) {
        std::fill_n(values, n, mean);
      } else {
        generator.Normal(first, absl::MakeSpan(normals, n));
        for (size_t i = 0; i < n; ++i) {
          const Real normal = Format::Round(static_cast<Real>(convert(normals[i])));
          const Real spread = Format::Round(Format::Round(normal * deviation) * Real(0.2));
          values[i] = Format::Round(spread + mean);
        }
      }
      bool all_finite = true;
      for (size_t i = 0; i < n; ++i) {
        Real x = values[i];
        x = x < min ? min : x;  // nan stays
        x = x > max ? max : x;
        all_finite &= std::abs(x) < kInfinity;
        values[i] = x;
      }
      if (repair && !all_finite) {
        repairs.Normal(first, absl::MakeSpan(normals, n));
        for (size_t i = 0; i < n; ++i) {
          if (std::isfinite(values[i])) continue;
          values[i] = Format::Round(Format::Round(static_cast<Real>(normals[i])) * Real(0.01));
        }
      }
      for (size_t i = 0; i < n; ++i) {
        out[i] = Format::Encode(repair ? std::clamp<Real>(values[i], -100, 100) : values[i]);
      }
    });
  }

  const DrawSpec& spec_;
  const absl::string_view key_;
  const int64_t count_;
  const DrawOptions& options_;
  const double std_;
  const double mean_;
  DType dtype_ = DType::kUnknown;
};

// Counts the elements of a tensor. Fails if the other sizes are too large, even if one is 0.
absl::StatusOr<int64_t> CountElements(const std::vector<int64_t>& shape) {
  if (shape.size() > kMaxRank) return absl::InvalidArgumentError("it has too many dimensions");
  int64_t count = 1;
  bool empty = false;
  for (const int64_t size : shape) {
    if (size < 0) return absl::InvalidArgumentError("a size is negative");
    empty |= size == 0;
    if (size != 0 && (__builtin_mul_overflow(count, size, &count) || count > kMaxTensorElements)) {
      return absl::InvalidArgumentError("it has too many elements");
    }
  }
  return empty ? 0 : count;
}

absl::StatusOr<TensorData> DrawUnnamed(const TensorMeta& meta, const DrawSpec& spec,
                                       absl::string_view key, const DrawOptions& options) {
  if (!meta.has_shape) return absl::InvalidArgumentError("its shape is not known");
  std::vector<int64_t> shape;
  shape.reserve(meta.shape.size());
  for (const Dim& dim : meta.shape) {
    if (!dim.is_static()) return absl::InvalidArgumentError("a size is symbolic");
    shape.push_back(dim.value);
  }
  ASSIGN_OR_RETURN(const int64_t count, CountElements(shape));
  ASSIGN_OR_RETURN(TensorData tensor, Drawing(spec, key, count, options).Run(meta.dtype));
  tensor.shape = std::move(shape);
  return tensor;
}

// Something to draw: a placeholder or an attribute.
struct Input {
  absl::string_view name;
  const TensorMeta* meta;  // null if unknown
  const DrawSpec* spec;    // null if there is none
  absl::string_view annotation;
};

TensorData IntData(int64_t value) {
  const char* const bytes = reinterpret_cast<const char*>(&value);
  return {DType::kInt64, {}, std::make_shared<const std::string>(bytes, sizeof(value))};
}

// Returns the example value of a symbol, for an input that has no draw spec.
absl::StatusOr<TensorData> SymbolValue(const Module& module, const Input& input, DType dtype) {
  const Symbol* const symbol = module.FindSymbol(input.name);
  if (dtype != DType::kInt64 || symbol == nullptr || !symbol->example) {
    return absl::InvalidArgumentError(
        absl::StrCat("input ", Printable(input.name), ": its value is not known"));
  }
  return IntData(*symbol->example);
}

bool IsIntegral(DType dtype) {
  switch (dtype) {
    case DType::kUInt8:
    case DType::kInt8:
    case DType::kUInt16:
    case DType::kInt16:
    case DType::kUInt32:
    case DType::kInt32:
    case DType::kUInt64:
    case DType::kInt64: return true;
    default: return false;
  }
}

absl::StatusOr<TensorData> DrawInput(const Module& module, const Input& input,
                                     const DrawOptions& options) {
  TensorMeta meta = input.meta != nullptr ? *input.meta : TensorMeta();
  if (IsText(input.annotation)) {
    std::string bytes;
    if (input.spec == nullptr || !input.spec->data.is_list()) {
      return absl::InvalidArgumentError(
          absl::StrCat("input ", Printable(input.name), ": its text is not known"));
    }
    for (const Argument& byte : input.spec->data.elements()) {
      if (byte.is_int()) bytes.push_back(static_cast<char>(byte.integer()));
    }
    return TextData(bytes);
  }
  if (const std::optional<DType> number = NumberDType(InnerAnnotation(input.annotation))) {
    const DrawSpec* const spec = input.spec;
    if (spec == nullptr || (spec->data.is_none() && (spec->min.is_none() || spec->max.is_none()))) {
      return SymbolValue(module, input, *number);
    }
    meta.has_shape = true;
    if (meta.dtype == DType::kUnknown) meta.dtype = *number;
  }
  std::vector<Dim> shape(meta.shape.begin(), meta.shape.end());
  for (Dim& dim : shape) {
    if (dim.is_static()) continue;
    const std::optional<int64_t> size = EvaluateWithExamples(module, *dim.expr);
    if (!size) {
      return absl::InvalidArgumentError(absl::StrCat(
          "input ", Printable(input.name), ": a size has no value: its symbols lack examples"));
    }
    dim = *size;
  }
  meta.shape = shape;
  // GraphNet's folders describe each input, so its rule for integers without bounds, which yields
  // floats, is not for this one. 0 and 1 are indices of nearly everything.
  if (input.spec == nullptr && IsIntegral(meta.dtype)) {
    DrawSpec bits;
    bits.min = int64_t{0};
    bits.max = int64_t{1};
    return DrawTensor(meta, &bits, input.name, options);
  }
  return DrawTensor(meta, input.spec, input.name, options);
}

// Adds the tensors of a tuple or list, "name.0", "name.1". Bounds apply to integers among them.
void AddElements(const ValueMeta& meta, absl::string_view name, const DrawSpec* spec,
                 std::deque<std::string>* names, std::vector<Input>* inputs) {
  for (size_t i = 0; i < meta.elements.size(); ++i) {
    const ValueMeta& element = *meta.elements[i];
    names->push_back(absl::StrCat(name, ".", i));
    if (element.is_tuple) {
      AddElements(element, std::string(names->back()), spec, names, inputs);
    } else {
      const bool is_float = element.tensor == nullptr || IsFloatingPoint(element.tensor->dtype);
      inputs->push_back({names->back(), element.tensor, is_float ? nullptr : spec, ""});
    }
  }
}

// Adds the ints of a list from its literal data, as "input.0", "input.1".
void AddInts(const DrawSpec& spec, absl::string_view input,
             std::map<std::string, TensorData>* values) {
  if (!spec.data.is_list()) return;
  int64_t i = 0;
  for (const Argument& element : spec.data.elements()) {
    if (element.is_int())
      values->try_emplace(absl::StrCat(input, ".", i), IntData(element.integer()));
    ++i;
  }
}

bool IsTooLarge(const TensorMeta* meta, const DrawOptions& options) {
  if (meta == nullptr || !meta->has_shape || !meta->is_static() || !IsFloatingPoint(meta->dtype))
    return false;
  int64_t elements = 1;
  for (const Dim& dim : meta->shape) {
    if (__builtin_mul_overflow(elements, dim.value, &elements)) return true;
  }
  return elements > options.max_elements;
}

}  // namespace

absl::StatusOr<TensorData> DrawTensor(const TensorMeta& meta, const DrawSpec* spec,
                                      absl::string_view name, const DrawOptions& options) {
  const DrawSpec nothing_said;
  if (spec == nullptr) spec = &nothing_said;
  const absl::string_view key = spec->original_name.empty() ? name : spec->original_name;
  absl::StatusOr<TensorData> tensor = DrawUnnamed(meta, *spec, key, options);
  if (!tensor.ok()) return Annotate(tensor.status(), absl::StrCat("input ", Printable(name)));
  return tensor;
}

absl::StatusOr<std::map<std::string, TensorData>> DrawInputs(const Sample& sample,
                                                             const DrawOptions& options) {
  if (sample.module == nullptr || sample.module->main() == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("sample ", Printable(sample.name), " has no graph"));
  }
  const Module& module = *sample.module;
  std::map<std::string, TensorData> values;
  std::vector<Input> inputs;
  std::deque<std::string> names;  // of elements
  for (const Node* node : module.main()->placeholders()) {
    if (node->meta() != nullptr && node->meta()->is_tuple) {
      AddElements(*node->meta(), node->target(), node->draw_spec(), &names, &inputs);
    } else if (TakesSeveralKinds(node->annotation())) {
      const auto elements = ElementsOf(sample.weights, node->target());
      values.insert(elements.begin(), elements.end());
      if (node->tensor_meta() != nullptr || sample.weights.contains(std::string(node->target())))
        inputs.push_back({node->target(), node->tensor_meta(), node->draw_spec(), ""});
    } else if (IsStructure(node->annotation())) {
      for (const auto& element : ElementsOf(sample.weights, node->target())) values.insert(element);
      if (node->draw_spec() != nullptr) AddInts(*node->draw_spec(), node->target(), &values);
    } else {
      inputs.push_back(
          {node->target(), node->tensor_meta(), node->draw_spec(), node->annotation()});
    }
  }
  for (const Attribute& attribute : module.attributes()) {
    inputs.push_back({attribute.name, attribute.meta, attribute.draw_spec, attribute.annotation});
  }
  DrawOptions left = options;
  for (const Input& input : inputs) {
    const auto [it, is_new] = values.try_emplace(std::string(input.name));
    if (!is_new) {
      return absl::InvalidArgumentError(absl::StrCat(
          "input ", Printable(input.name), ": a placeholder and an attribute have this name"));
    }
    if (const auto real = sample.weights.find(it->first); real != sample.weights.end()) {
      it->second = real->second;
      continue;
    }
    const bool none_will_do = input.meta == nullptr &&
                              absl::StartsWith(input.annotation, "Optional[") &&
                              (input.spec == nullptr || input.spec->data.is_none());
    if (none_will_do || IsTooLarge(input.meta, options)) {
      values.erase(it);
      continue;
    }
    ASSIGN_OR_RETURN(it->second, DrawInput(module, input, left));
    left.max_bytes -= static_cast<int64_t>(it->second.bytes->size());
  }
  return values;
}

}  // namespace graphnet
