// Budget bounds the memory that a small file may unfold to. Strings share parts, many nodes use one
// template, and expressions are shared, so without a bound a kilobyte could unfold to gigabytes.
#ifndef GRAPHNET_FORMATS_PROTOBUF_BUDGET_H_
#define GRAPHNET_FORMATS_PROTOBUF_BUDGET_H_

#include <cstddef>
#include <cstdint>

namespace graphnet::proto_internal {

// Returns the cost that a message of `bytes` may unfold to. Real samples need a factor of 20 to 40.
// The base lets small samples have any factor.
inline constexpr uint64_t kUnfoldBase = uint64_t{128} << 20;
inline constexpr uint64_t kUnfoldFactor = 128;
inline uint64_t UnfoldLimit(size_t bytes) { return kUnfoldBase + kUnfoldFactor * bytes; }

// Costs of things: about the bytes that they take in memory.
inline constexpr uint64_t kArgumentCost = 16;
inline constexpr uint64_t kExpressionCost = 64;
inline constexpr uint64_t kMetaCost = 64;  // and kArgumentCost for a dimension

// Costs stay below this, so the sum of two does not overflow.
inline constexpr uint64_t kMaxCost = uint64_t{1} << 62;
inline uint64_t AddCosts(uint64_t a, uint64_t b) { return a + b < kMaxCost ? a + b : kMaxCost - 1; }

class Budget {
 public:
  explicit Budget(uint64_t limit) : left_(limit) {}
  // Returns false, and charges nothing, if `cost` exceeds the rest.
  bool Charge(uint64_t cost) {
    if (cost > left_) [[unlikely]]
      return false;
    left_ -= cost;
    return true;
  }
  uint64_t left() const { return left_; }

 private:
  uint64_t left_;
};

}  // namespace graphnet::proto_internal

#endif  // GRAPHNET_FORMATS_PROTOBUF_BUDGET_H_
