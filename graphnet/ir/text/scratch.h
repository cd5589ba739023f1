// Internal to the text form: memory that lasts for one statement.
#ifndef GRAPHNET_IR_TEXT_SCRATCH_H_
#define GRAPHNET_IR_TEXT_SCRATCH_H_

#include <cstddef>
#include <memory>
#include <type_traits>
#include <vector>

namespace graphnet::text_internal {

// Memory for values that the parser has read and the graph has not copied yet: elements of lists,
// strings with escapes. Unlike an arena, it can be emptied.
class Scratch {
 public:
  Scratch() = default;
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  // Returns uninitialised memory for `n` objects, valid until Reset.
  template <typename T>
  T* NewArray(size_t n) {
    static_assert(std::is_trivially_destructible_v<T> && alignof(T) <= kAlign);
    const size_t bytes = (n * sizeof(T) + kAlign - 1) / kAlign * kAlign;
    if (bytes > left_) Grow(bytes);
    char* const p = next_;
    next_ += bytes;
    left_ -= bytes;
    return reinterpret_cast<T*>(p);
  }

  // Frees all but one block.
  void Reset() {
    if (blocks_.empty()) return;
    blocks_.resize(1);
    next_ = blocks_[0].get();
    left_ = kBlock;
  }

 private:
  static constexpr size_t kAlign = 16;
  static constexpr size_t kBlock = 16 << 10;

  void Grow(size_t bytes) {
    // The first block is the one that Reset keeps.
    const size_t size = blocks_.empty() || bytes < kBlock ? kBlock : bytes;
    blocks_.emplace_back(new char[size]);
    next_ = blocks_.back().get();
    left_ = size;
    if (bytes > left_) Grow(bytes);
  }

  std::vector<std::unique_ptr<char[]>> blocks_;
  char* next_ = nullptr;
  size_t left_ = 0;
};

}  // namespace graphnet::text_internal

#endif  // GRAPHNET_IR_TEXT_SCRATCH_H_
