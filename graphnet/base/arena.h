// A bump allocator: allocation is a pointer increment, everything is freed at
// once with the arena. Objects placed in it are never destroyed one by one.
#ifndef GRAPHNET_BASE_ARENA_H_
#define GRAPHNET_BASE_ARENA_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace graphnet {

class Arena {
 public:
  Arena() = default;
  // Allocates from `first`, which the caller owns, before it asks the system for memory.
  explicit Arena(absl::Span<char> first) : next_(first.data()), end_(first.data() + first.size()) {}
  ~Arena() {
    while (blocks_ != nullptr) ::operator delete(std::exchange(blocks_, blocks_->next));
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Returns uninitialised memory. `align` is a power of two of at most 16.
  void* Allocate(size_t bytes, size_t align = alignof(void*)) {
    const size_t padding = PaddingOf(next_, align);
    if (next_ == nullptr || padding + bytes > static_cast<size_t>(end_ - next_)) {
      return AllocateSlow(bytes, align);
    }
    char* const p = next_ + padding;
    next_ = p + bytes;
    return p;
  }

  template <typename T, typename... Args>
  T* New(Args&&... args) {
    static_assert(std::is_trivially_destructible_v<T>);
    return new (Allocate(sizeof(T), alignof(T))) T(std::forward<Args>(args)...);
  }

  // Uninitialised room for `n` objects of a trivial type; null when n is 0.
  template <typename T>
  T* NewArray(size_t n) {
    static_assert(std::is_trivially_destructible_v<T>);
    if (n == 0) return nullptr;
    return static_cast<T*>(Allocate(n * sizeof(T), alignof(T)));
  }

  template <typename T>
  absl::Span<const T> Copy(absl::Span<const T> values) {
    T* out = NewArray<T>(values.size());
    if (!values.empty())
      std::memcpy(static_cast<void*>(out), values.data(), values.size() * sizeof(T));
    return absl::MakeConstSpan(out, values.size());
  }

  absl::string_view Copy(absl::string_view text) {
    if (text.empty()) return {};
    // Text grows from the end of a block downwards, so that objects between two strings need no
    // padding.
    char* out;
    if (text.size() <= static_cast<size_t>(end_ - next_)) {
      out = end_ -= text.size();
    } else {
      out = static_cast<char*>(AllocateSlow(text.size(), 1));
    }
    std::memcpy(out, text.data(), text.size());
    return {out, text.size()};
  }

  // Bytes obtained from the system, unused tails included.
  size_t bytes_reserved() const { return reserved_; }

 private:
  void* AllocateSlow(size_t bytes, size_t align) {
    // Blocks grow with the arena, so that small modules use little memory.
    size_t want = reserved_ / 64;
    if (want < kMinBlock) want = kMinBlock;
    if (want > kMaxBlock) want = kMaxBlock;
    if (bytes + align > want / 4) {  // A big allocation gets its own block.
      char* const block = NewBlock(bytes + align);
      return block + PaddingOf(block, align);
    }
    next_ = NewBlock(want);
    end_ = next_ + want;
    return Allocate(bytes, align);
  }

  static size_t PaddingOf(const char* p, size_t align) {
    return -reinterpret_cast<uintptr_t>(p) & (align - 1);
  }

  char* NewBlock(size_t bytes) {
    bytes += sizeof(Block);
    blocks_ = new (::operator new(bytes)) Block{blocks_};
    reserved_ += bytes;
    return reinterpret_cast<char*>(blocks_ + 1);
  }

  // The header of a block. The allocated bytes follow it.
  struct Block {
    Block* next;
  };
  static constexpr size_t kMinBlock = 2 << 10;
  static constexpr size_t kMaxBlock = 256 << 10;
  Block* blocks_ = nullptr;
  char* next_ = nullptr;
  char* end_ = nullptr;
  size_t reserved_ = 0;
};

}  // namespace graphnet

#endif  // GRAPHNET_BASE_ARENA_H_
