#include "graphnet/formats/graphnet_folder/literal_writer.h"

#include <charconv>
#include <cmath>

namespace graphnet {

void AppendPythonFloat(double value, std::string* out) {
  if (std::isnan(value)) {
    out->append("nan");
    return;
  }
  if (std::isinf(value)) {
    out->append(value < 0 ? "-inf" : "inf");
    return;
  }
  char buffer[40];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  (void)error;
  const absl::string_view text(buffer, static_cast<size_t>(end - buffer));
  out->append(text.data(), text.size());
  if (text.find_first_of(".e") == absl::string_view::npos) out->append(".0");
}

void AppendPythonDecimal(double value, int decimals, std::string* out) {
  if (!std::isfinite(value)) {
    out->append(std::isnan(value) ? "float(\"nan\")"
                : value < 0       ? "float(\"-inf\")"
                                  : "float(\"inf\")");
    return;
  }
  // Large enough for the longest double in fixed notation.
  char buffer[400];
  const auto [end, error] =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed, decimals);
  double back = 0;
  if (error == std::errc() && std::from_chars(buffer, end, back).ec == std::errc() &&
      back == value) {
    out->append(buffer, end);
    return;
  }
  AppendPythonFloat(value, out);
}

void AppendPythonString(absl::string_view text, std::string* out) {
  static constexpr char kHex[] = "0123456789abcdef";
  out->push_back('"');
  for (const char c : text) {
    const unsigned char byte = static_cast<unsigned char>(c);
    switch (c) {
      case '"':
      case '\\':
        out->push_back('\\');
        out->push_back(c);
        break;
      case '\n': out->append("\\n"); break;
      case '\t': out->append("\\t"); break;
      case '\r': out->append("\\r"); break;
      default:
        if (byte < 0x20 || byte == 0x7f) {
          out->append("\\x");
          out->push_back(kHex[byte >> 4]);
          out->push_back(kHex[byte & 15]);
        } else {
          out->push_back(c);
        }
    }
  }
  out->push_back('"');
}

}  // namespace graphnet
