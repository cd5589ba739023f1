// Internal: sizes of values at several points, that is for several values of the symbols.
#ifndef GRAPHNET_PASSES_RESIZE_EXTENT_H_
#define GRAPHNET_PASSES_RESIZE_EXTENT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"

namespace graphnet {

// Returns a * b. A product beyond 2^62, which no tensor has, becomes 2^62 with its sign.
inline int64_t Times(int64_t a, int64_t b) {
  constexpr int64_t kMost = int64_t{1} << 62;
  int64_t product = 0;
  const bool fits =
      !__builtin_mul_overflow(a, b, &product) && -kMost <= product && product <= kMost;
  return fits ? product : (a < 0) == (b < 0) ? kMost : -kMost;
}

// A size or number. Point 0 is what was recorded.
class Size {
 public:
  Size() = default;
  // The same number everywhere.
  explicit Size(int64_t everywhere) : base_(everywhere) {}
  // One number for each point; there is at least one.
  explicit Size(std::vector<int64_t> at) : base_(at[0]) {
    if (!absl::c_all_of(at, [&](int64_t n) { return n == base_; })) at_ = std::move(at);
  }

  int64_t base() const { return base_; }
  bool varies() const { return !at_.empty(); }
  int64_t at(size_t point) const { return at_.empty() ? base_ : at_[point]; }
  friend bool operator==(const Size&, const Size&) = default;

 private:
  int64_t base_ = 0;
  std::vector<int64_t> at_;  // empty: it does not vary
};

// What is known of one value.
struct Extent {
  enum class Kind : uint8_t { kOther, kTensor, kNumber, kTuple };
  Kind kind = Kind::kOther;
  std::vector<Size> dims;        // of a tensor
  Size number;                   // of a number, or of a tensor that holds one
  bool holds_number = false;     // it is a tensor without dimensions, and `number` is known
  std::optional<Size> most;      // no element of the integers in a tensor is larger
  std::vector<Extent> elements;  // of a tuple

  static Extent Number(Size number) {
    Extent made;
    made.kind = Kind::kNumber;
    made.number = std::move(number);
    return made;
  }
  bool is_tensor() const { return kind == Kind::kTensor; }
  bool is_number() const { return kind == Kind::kNumber || holds_number; }
  bool is_tuple() const { return kind == Kind::kTuple; }
  size_t rank() const { return dims.size(); }
  bool varies() const {
    return number.varies() || absl::c_any_of(dims, [](const Size& d) { return d.varies(); }) ||
           absl::c_any_of(elements, [](const Extent& e) { return e.varies(); });
  }
};

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_RESIZE_EXTENT_H_
