#include "graphnet/base/strided_copy.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "graphnet/base/check.h"
#include "graphnet/base/tensor_size.h"

namespace graphnet {
namespace {

// `from` and `to` are steps in bytes.
struct Dimension {
  int64_t size = 1;
  int64_t from = 0;
  int64_t to = 0;
};
// The outermost dimension comes first.
using Dimensions = absl::InlinedVector<Dimension, 8>;

// Describes the same elements by fewer dimensions, in the order of `to` in memory. Returns false if
// there are no elements.
bool Simplify(size_t width, absl::Span<const int64_t> sizes, absl::Span<const int64_t> from_strides,
              absl::Span<const int64_t> to_strides, Dimensions* dimensions) {
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) return false;
    if (sizes[i] == 1) continue;
    dimensions->push_back({sizes[i], from_strides[i] * static_cast<int64_t>(width),
                           to_strides[i] * static_cast<int64_t>(width)});
  }
  std::stable_sort(dimensions->begin(), dimensions->end(),
                   [](const Dimension& a, const Dimension& b) {
                     return std::pair(std::abs(a.to), std::abs(a.from)) >
                            std::pair(std::abs(b.to), std::abs(b.from));
                   });
  // Merges in place: dimensions before `end` are merged already.
  auto end = dimensions->begin();
  for (const Dimension& dimension : *dimensions) {
    if (end != dimensions->begin() && end[-1].from == dimension.from * dimension.size &&
        end[-1].to == dimension.to * dimension.size) {
      end[-1] = {end[-1].size * dimension.size, dimension.from, dimension.to};
    } else {
      *end++ = dimension;
    }
  }
  dimensions->erase(end, dimensions->end());
  return true;
}

// --- Two dimensions ------------------------------------------------------------

using Kernel = void (*)(size_t width, const Dimension& outer, const Dimension& inner,
                        const char* from, char* to);

void CopyRows(size_t width, const Dimension& outer, const Dimension& inner, const char* from,
              char* to) {
  const size_t bytes = static_cast<size_t>(inner.size) * width;
  for (int64_t i = 0; i < outer.size; ++i) {
    std::memcpy(to, from, bytes);
    from += outer.from;
    to += outer.to;
  }
}

// Kernels for rows of a known length exist twice: with vectors that every x86-64 processor has, and
// with those of AVX2.
using Bytes = uint8_t __attribute__((vector_size(16)));
using WideBytes = uint8_t __attribute__((vector_size(32)));
#if defined(__x86_64__)
#define GRAPHNET_AVX2 __attribute__((target("avx2")))
bool HasAvx2() {
  static const bool has_it = __builtin_cpu_supports("avx2") != 0;
  return has_it;
}
#else
#define GRAPHNET_AVX2
bool HasAvx2() { return false; }
#endif

// Copies rows of kBytes, a multiple of the vector's.
template <typename Vector, size_t kBytes>
[[gnu::always_inline]] inline void CopyRowsBy(const Dimension& outer, const char* from, char* to) {
  constexpr size_t kVectors = kBytes / sizeof(Vector);
  for (int64_t i = 0; i < outer.size; ++i) {
    Vector row[kVectors];
#pragma GCC unroll 8
    for (size_t k = 0; k < kVectors; ++k) {
      std::memcpy(&row[k], from + k * sizeof(Vector), sizeof(Vector));
    }
#pragma GCC unroll 8
    for (size_t k = 0; k < kVectors; ++k) {
      std::memcpy(to + k * sizeof(Vector), &row[k], sizeof(Vector));
    }
    from += outer.from;
    to += outer.to;
  }
}
template <size_t kBytes>
void CopyRowsOf(size_t, const Dimension& outer, const Dimension&, const char* from, char* to) {
  CopyRowsBy<Bytes, kBytes>(outer, from, to);
}
template <size_t kBytes>
GRAPHNET_AVX2 void CopyRowsOfWide(size_t, const Dimension& outer, const Dimension&,
                                  const char* from, char* to) {
  CopyRowsBy<WideBytes, kBytes>(outer, from, to);
}

// Returns the kernel for dense rows, which are often as long as the head of an attention.
Kernel ChooseRows(size_t bytes) {
  switch (bytes) {
    case 32: return HasAvx2() ? CopyRowsOfWide<32> : CopyRowsOf<32>;
    case 64: return HasAvx2() ? CopyRowsOfWide<64> : CopyRowsOf<64>;
    case 128: return HasAvx2() ? CopyRowsOfWide<128> : CopyRowsOf<128>;
    default: return CopyRows;
  }
}

// Each row repeats one element.
template <size_t kWidth>
void FillRows(size_t, const Dimension& outer, const Dimension& inner, const char* from, char* to) {
  const size_t bytes = static_cast<size_t>(inner.size) * kWidth;
  for (int64_t i = 0; i < outer.size; ++i) {
    if constexpr (kWidth == 1) {
      std::memset(to, static_cast<unsigned char>(*from), bytes);
    } else {
      Bytes elements;
      for (size_t k = 0; k < 16; k += kWidth) {
        std::memcpy(reinterpret_cast<char*>(&elements) + k, from, kWidth);
      }
      size_t filled = 0;
      for (; filled + 16 <= bytes; filled += 16) std::memcpy(to + filled, &elements, 16);
      std::memcpy(to + filled, &elements, bytes - filled);
    }
    from += outer.from;
    to += outer.to;
  }
}

void CopyElements(size_t width, const Dimension& outer, const Dimension& inner, const char* from,
                  char* to) {
  for (int64_t i = 0; i < outer.size; ++i) {
    for (int64_t j = 0; j < inner.size; ++j) {
      std::memcpy(to + j * inner.to, from + j * inner.from, width);
    }
    from += outer.from;
    to += outer.to;
  }
}

// The compiler knows the width and whether `to` is dense.
template <size_t kWidth, bool kToIsDense>
void CopyElementsOf(size_t, const Dimension& outer, const Dimension& inner, const char* from,
                    char* to) {
  const int64_t to_step = kToIsDense ? int64_t{kWidth} : inner.to;
  for (int64_t i = 0; i < outer.size; ++i) {
    for (int64_t j = 0; j < inner.size; ++j) {
      std::memcpy(to + j * to_step, from + j * inner.from, kWidth);
    }
    from += outer.from;
    to += outer.to;
  }
}

// Unrolls short inner dimensions, such as the channels of images.
template <size_t kWidth, int64_t kSize>
void CopyShortRows(size_t, const Dimension& outer, const Dimension& inner, const char* from,
                   char* to) {
  for (int64_t i = 0; i < outer.size; ++i) {
#pragma GCC unroll 8
    for (int64_t j = 0; j < kSize; ++j) {
      std::memcpy(to + j * inner.to, from + j * inner.from, kWidth);
    }
    from += outer.from;
    to += outer.to;
  }
}

// Interleaves elements of two vectors, from the lower halves (kFirst = 0) or the upper ones (8).
template <size_t kWidth, size_t kFirst, size_t... kByte>
Bytes Interleave(Bytes a, Bytes b, std::index_sequence<kByte...>) {
  return __builtin_shufflevector(
      a, b, (kByte / kWidth % 2 * 16 + kFirst + kByte / (2 * kWidth) * kWidth + kByte % kWidth)...);
}

// Returns every second element of two consecutive vectors.
template <size_t kWidth, size_t... kByte>
Bytes EachSecond(Bytes a, Bytes b, std::index_sequence<kByte...>) {
  return __builtin_shufflevector(a, b, (kByte / kWidth * 2 * kWidth + kByte % kWidth)...);
}

// `inner` is dense in `to`, and reads every second element of a dense row of `from`.
template <size_t kWidth>
void CopyEachSecond(size_t, const Dimension& outer, const Dimension& inner, const char* from,
                    char* to) {
  constexpr int64_t kElements = 16 / kWidth;
  for (int64_t i = 0; i < outer.size; ++i) {
    int64_t j = 0;
    // The read includes one element behind the last that is copied, so another one must follow.
    for (; j + kElements < inner.size; j += kElements) {
      Bytes a, b;
      std::memcpy(&a, from + j * int64_t{2 * kWidth}, 16);
      std::memcpy(&b, from + j * int64_t{2 * kWidth} + 16, 16);
      a = EachSecond<kWidth>(a, b, std::make_index_sequence<16>());
      std::memcpy(to + j * int64_t{kWidth}, &a, 16);
    }
    for (; j < inner.size; ++j) {
      std::memcpy(to + j * int64_t{kWidth}, from + j * int64_t{2 * kWidth}, kWidth);
    }
    from += outer.from;
    to += outer.to;
  }
}

// Transposes a square with sides of 16 bytes. Its columns are dense rows in `to`.
template <size_t kWidth>
void TransposeSquare(const char* from, int64_t from_step, char* to, int64_t to_step) {
  constexpr size_t kSide = 16 / kWidth;
  Bytes rows[kSide], next[kSide];
  for (size_t i = 0; i < kSide; ++i) {
    std::memcpy(&rows[i], from + static_cast<int64_t>(i) * from_step, 16);
  }
  // Each round joins elements of rows that are half as far apart as before.
  for (size_t round = 1; round < kSide; round *= 2) {
    for (size_t i = 0; i < kSide / 2; ++i) {
      constexpr auto kBytes = std::make_index_sequence<16>();
      next[2 * i] = Interleave<kWidth, 0>(rows[i], rows[i + kSide / 2], kBytes);
      next[2 * i + 1] = Interleave<kWidth, 8>(rows[i], rows[i + kSide / 2], kBytes);
    }
    std::copy(next, next + kSide, rows);
  }
  for (size_t i = 0; i < kSide; ++i) {
    std::memcpy(to + static_cast<int64_t>(i) * to_step, &rows[i], 16);
  }
}

// `outer` is dense in `from`, and `inner` is dense in `to`. Works by tiles, so that both stay in
// the cache.
template <size_t kWidth>
void Transpose(size_t, const Dimension& outer, const Dimension& inner, const char* from, char* to) {
  constexpr int64_t kSide = 16 / kWidth;
  constexpr int64_t kTile = 64;  // elements
  for (int64_t j0 = 0; j0 < inner.size; j0 += kTile) {
    const int64_t j1 = std::min(j0 + kTile, inner.size);
    for (int64_t i0 = 0; i0 < outer.size; i0 += kTile) {
      const int64_t i1 = std::min(i0 + kTile, outer.size);
      int64_t i = i0;
      for (; i + kSide <= i1; i += kSide) {
        const char* const row = from + i * int64_t{kWidth};
        char* const column = to + i * outer.to;
        int64_t j = j0;
        for (; j + kSide <= j1; j += kSide) {
          TransposeSquare<kWidth>(row + j * inner.from, inner.from, column + j * int64_t{kWidth},
                                  outer.to);
        }
        CopyElementsOf<kWidth, true>(kWidth, {kSide, kWidth, outer.to},
                                     {j1 - j, inner.from, kWidth}, row + j * inner.from,
                                     column + j * int64_t{kWidth});
      }
      CopyElementsOf<kWidth, true>(
          kWidth, {i1 - i, kWidth, outer.to}, {j1 - j0, inner.from, kWidth},
          from + i * int64_t{kWidth} + j0 * inner.from, to + i * outer.to + j0 * int64_t{kWidth});
    }
  }
}

template <size_t kWidth>
Kernel ShortRows(int64_t size) {
  switch (size) {
    case 2: return CopyShortRows<kWidth, 2>;
    case 3: return CopyShortRows<kWidth, 3>;
    case 4: return CopyShortRows<kWidth, 4>;
    default: return nullptr;
  }
}

template <size_t kWidth>
Kernel ChooseOf(const Dimension& outer, const Dimension& inner) {
  if (const Kernel kernel = ShortRows<kWidth>(inner.size); kernel != nullptr) return kernel;
  if (inner.to == kWidth && inner.from == 0) return FillRows<kWidth>;
  if (inner.to != kWidth) return CopyElementsOf<kWidth, false>;
  if constexpr (kWidth < 16) {
    if (outer.from == kWidth) return Transpose<kWidth>;
  }
  if constexpr (kWidth < 8) {
    if (inner.from == 2 * kWidth) return CopyEachSecond<kWidth>;
  }
  return CopyElementsOf<kWidth, true>;
}

Kernel Choose(size_t width, const Dimension& outer, const Dimension& inner) {
  const auto dense = static_cast<int64_t>(width);
  constexpr int64_t kShort = 4;  // elements; shorter rows are faster element by element
  if (inner.to == dense && inner.from == dense && inner.size > kShort)
    return ChooseRows(static_cast<size_t>(inner.size) * width);
  switch (width) {
    case 1: return ChooseOf<1>(outer, inner);
    case 2: return ChooseOf<2>(outer, inner);
    case 4: return ChooseOf<4>(outer, inner);
    case 8: return ChooseOf<8>(outer, inner);
    case 16: return ChooseOf<16>(outer, inner);
    default: return CopyElements;
  }
}

}  // namespace

std::optional<int64_t> ElementsSpanned(absl::Span<const int64_t> sizes,
                                       absl::Span<const int64_t> strides) {
  if (sizes.size() != strides.size()) return std::nullopt;
  int64_t last = 0;
  bool is_empty = false;
  for (size_t i = 0; i < sizes.size(); ++i) {
    int64_t reach = 0;
    if (sizes[i] < 0 || strides[i] < 0) return std::nullopt;
    is_empty |= sizes[i] == 0;
    if (sizes[i] > 1 && (__builtin_mul_overflow(sizes[i] - 1, strides[i], &reach) ||
                         __builtin_add_overflow(last, reach, &last))) {
      return std::nullopt;
    }
  }
  if (is_empty) return 0;
  return last == std::numeric_limits<int64_t>::max() ? std::nullopt : std::optional(last + 1);
}

bool AreModestStrides(absl::Span<const int64_t> sizes, absl::Span<const int64_t> strides) {
  const std::optional<int64_t> elements = NumElements(sizes);
  const std::optional<int64_t> spanned = ElementsSpanned(sizes, strides);
  return elements.has_value() && spanned.has_value() &&
         (*spanned <= 4096 || *spanned / 8 <= *elements);
}

std::vector<int64_t> RowMajorStrides(absl::Span<const int64_t> sizes) {
  std::vector<int64_t> strides(sizes.size());
  int64_t stride = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    // Only a tensor without elements has a stride that overflows.
    if (__builtin_mul_overflow(stride, std::max<int64_t>(sizes[i], 1), &stride))
      stride = std::numeric_limits<int64_t>::max();
  }
  return strides;
}

void StridedCopy(size_t width, absl::Span<const int64_t> sizes, const void* from,
                 absl::Span<const int64_t> from_strides, void* to,
                 absl::Span<const int64_t> to_strides) {
  CHECK(width > 0 && from_strides.size() == sizes.size() && to_strides.size() == sizes.size());
  Dimensions dimensions;
  if (!Simplify(width, sizes, from_strides, to_strides, &dimensions)) return;
  const auto dense = static_cast<int64_t>(width);
  if (dimensions.empty()) dimensions.push_back({1, dense, dense});
  const Dimension inner = dimensions.back();
  dimensions.pop_back();
  // Prefer a dimension that is dense in `from` as the second innermost one.
  Dimension outer;
  if (!dimensions.empty()) {
    auto chosen = dimensions.end() - 1;
    if (inner.from != dense) {
      const auto found = std::find_if(dimensions.begin(), dimensions.end(),
                                      [&](const Dimension& d) { return d.from == dense; });
      if (found != dimensions.end()) chosen = found;
    }
    outer = *chosen;
    dimensions.erase(chosen);
  }
  const Kernel kernel = Choose(width, outer, inner);

  const auto* source = static_cast<const char*>(from);
  auto* target = static_cast<char*>(to);
  absl::InlinedVector<int64_t, 8> index(dimensions.size());
  while (true) {
    kernel(width, outer, inner, source, target);
    size_t i = dimensions.size();
    while (true) {
      if (i-- == 0) return;
      source += dimensions[i].from;
      target += dimensions[i].to;
      if (++index[i] < dimensions[i].size) break;
      source -= dimensions[i].from * dimensions[i].size;
      target -= dimensions[i].to * dimensions[i].size;
      index[i] = 0;
    }
  }
}

}  // namespace graphnet
