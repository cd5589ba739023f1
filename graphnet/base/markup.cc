#include "graphnet/base/markup.h"

#include <cstddef>

namespace graphnet {

std::string XmlText(absl::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default:
        // U+FFFE and U+FFFF are three bytes.
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
          out += '?';
        } else if (text.substr(i, 3) == "\xEF\xBF\xBE" || text.substr(i, 3) == "\xEF\xBF\xBF") {
          out += '?';
          i += 2;
        } else {
          out += c;
        }
    }
  }
  return out;
}

}  // namespace graphnet
