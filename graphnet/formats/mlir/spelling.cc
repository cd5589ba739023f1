#include "graphnet/formats/mlir/spelling.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace graphnet::mlir {

std::string Quoted(absl::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      absl::StrAppend(&quoted, "\\", std::string(1, c));
    } else if (byte < 0x20 || byte >= 0x7f) {
      absl::StrAppendFormat(&quoted, "\\%02X", byte);
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

std::string SsaName(absl::string_view name) {
  std::string made = "%";
  if (name.empty() || absl::ascii_isdigit(static_cast<unsigned char>(name[0]))) made += '_';
  for (const char c : name) {
    const bool is_fine = absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
    made += is_fine ? c : '_';
  }
  return made;
}

std::string FloatText(double value) {
  if (!std::isfinite(value)) {
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(bits));
    return absl::StrFormat("0x%016X", bits);
  }
  std::string text = absl::StrFormat("%.17g", value);
  if (text.find_first_of(".e") == std::string::npos) return text + ".0";
  // MLIR needs a point with digits on both sides before an exponent.
  if (const size_t e = text.find('e'); e != std::string::npos && text.find('.') > e)
    text.insert(e, ".0");
  return text;
}

}  // namespace graphnet::mlir
