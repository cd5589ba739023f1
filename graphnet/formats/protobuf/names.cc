#include "graphnet/formats/protobuf/names.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>

#include "absl/strings/ascii.h"
#include "graphnet/base/check.h"

namespace graphnet::proto_internal {
namespace {

constexpr uint64_t kBytes = 0x0101010101010101;  // Multiplied by b, this gives eight bytes b.

// Returns 0x80 in place of each ASCII byte in [first, last], and 0 in place of any other byte.
uint64_t InRange(uint64_t word, unsigned char first, unsigned char last) {
  const uint64_t low = word & (0x7f * kBytes);
  const uint64_t at_least = low + (0x80 - first) * kBytes;
  const uint64_t above = low + (0x7f - last) * kBytes;
  return at_least & ~above & ~word & (0x80 * kBytes);
}

}  // namespace

absl::string_view SnakeCase(absl::string_view text, std::string* buffer) {
  // At most every other byte gets an underscore.
  const size_t most = text.size() + text.size() / 2 + 8;
  if (buffer->size() < most) buffer->resize(2 * most);
  char* to = buffer->data();
  bool after_small = false;
  static_assert(std::endian::native == std::endian::little);
  for (size_t i = 0; i < text.size(); i += 8) {
    const size_t count = std::min<size_t>(text.size() - i, 8);
    uint64_t word = 0;
    if (count == 8) [[likely]] {
      std::memcpy(&word, text.data() + i, 8);
    } else if (i > 0) {  // Load the last eight bytes and shift out those that were seen.
      std::memcpy(&word, text.data() + text.size() - 8, 8);
      word >>= 8 * (8 - count);
    } else {
      std::memcpy(&word, text.data(), count);
    }
    const uint64_t capital = InRange(word, 'A', 'Z');
    const uint64_t small = InRange(word, 'a', 'z');
    word |= capital >> 2;  // 0x80 becomes 0x20, which makes a letter small.
    uint64_t breaks = capital & (small << 8 | (after_small ? 0x80 : 0));
    after_small = small >> 63;
    if (breaks == 0) [[likely]] {
      std::memcpy(to, &word, 8);  // The buffer has room for eight, even if `count` is less.
      to += count;
      continue;
    }
    for (size_t k = 0; k < count; ++k, word >>= 8, breaks >>= 8) {
      if (breaks & 0x80) *to++ = '_';
      *to++ = static_cast<char>(word);
    }
  }
  return {buffer->data(), static_cast<size_t>(to - buffer->data())};
}

NameParts SplitName(absl::string_view name) {
  size_t digits = 0;
  while (digits < name.size() &&
         absl::ascii_isdigit(static_cast<unsigned char>(name[name.size() - 1 - digits]))) {
    ++digits;
  }
  if (digits == 0 || digits > 9 || name.size() < digits + 2) return {name, 0};
  const absl::string_view number = name.substr(name.size() - digits);
  if (name[name.size() - digits - 1] != '_') return {name, 0};
  if (digits > 1 && number[0] == '0') return {name, 0};
  uint64_t value = 0;
  std::from_chars(number.data(), number.data() + number.size(), value);
  return {name.substr(0, name.size() - digits - 1), value + 1};
}

void JoinName(absl::string_view base, uint64_t suffix, std::string* out) {
  DCHECK(suffix <= kMaxSuffix);
  out->assign(base.data(), base.size());
  if (suffix == 0) return;
  char digits[24];
  digits[0] = '_';
  const auto end = std::to_chars(digits + 1, digits + sizeof digits, suffix - 1);
  out->append(digits, static_cast<size_t>(end.ptr - digits));
}

}  // namespace graphnet::proto_internal
