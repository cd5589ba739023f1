#include "graphnet/formats/archive/utf8.h"

#include <cstddef>
#include <cstdint>

namespace graphnet {

bool IsUtf8(absl::string_view text) {
  size_t i = 0;
  while (i < text.size()) {
    const unsigned char lead = static_cast<unsigned char>(text[i++]);
    if (lead < 0x80) continue;
    const int more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
    if (lead < 0xC2 || lead > 0xF4) return false;
    uint32_t code = lead & (0x3F >> more);
    for (int k = 0; k < more; ++k) {
      if (i == text.size()) return false;
      const unsigned char next = static_cast<unsigned char>(text[i++]);
      if ((next & 0xC0) != 0x80) return false;
      code = code << 6 | (next & 0x3F);
    }
    if (more == 2 && (code < 0x800 || (code >= 0xD800 && code < 0xE000))) {
      return false;
    }
    if (more == 3 && (code < 0x10000 || code > 0x10FFFF)) return false;
  }
  return true;
}

}  // namespace graphnet
