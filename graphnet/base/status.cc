#include "graphnet/base/status.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graphnet/base/utf8.h"

namespace graphnet {
namespace {

// True if the valid UTF-8 sequence `s` controls the terminal or the layout instead of showing
// something: C0 and C1 controls, DEL, marks that change the direction of writing (U+061C, U+200E,
// U+200F, U+202A to U+202E, U+2066 to U+2069), and the separators of lines and paragraphs (U+2028,
// U+2029).
bool IsControl(absl::string_view s) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(s[i]); };
  if (s.size() == 1) return byte(0) < 0x20 || byte(0) == 0x7F;
  if (s.size() == 2)
    return (byte(0) == 0xC2 && byte(1) < 0xA0) || (byte(0) == 0xD8 && byte(1) == 0x9C);
  if (s.size() != 3 || byte(0) != 0xE2) return false;
  if (byte(1) == 0x80)
    return byte(2) == 0x8E || byte(2) == 0x8F || (byte(2) >= 0xA8 && byte(2) <= 0xAE);
  return byte(1) == 0x81 && byte(2) >= 0xA6 && byte(2) <= 0xA9;
}

// The type of the payload "<line>:<column>:<file>".
constexpr absl::string_view kPlace = "graphnet/place";

}  // namespace

std::optional<ErrorPlace> PlaceOf(const absl::Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kPlace);
  if (!payload.has_value()) return std::nullopt;
  const std::vector<std::string> parts =
      absl::StrSplit(std::string(*payload), absl::MaxSplits(':', 2));
  ErrorPlace place;
  if (parts.size() != 3 || !absl::SimpleAtoi(parts[0], &place.line) ||
      !absl::SimpleAtoi(parts[1], &place.column)) {
    return std::nullopt;
  }
  place.file = parts[2];
  return place;
}

void SetPlace(const ErrorPlace& place, absl::Status* status) {
  status->SetPayload(kPlace,
                     absl::Cord(absl::StrCat(place.line, ":", place.column, ":", place.file)));
}

std::string Printable(absl::string_view text, size_t max_bytes) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  size_t i = 0;
  while (i < text.size()) {
    if (out.size() >= max_bytes) return out + "...";
    size_t n = Utf8Length(text.substr(i));
    if (n == 0 || IsControl(text.substr(i, n))) {
      n = n == 0 ? 1 : n;
      for (size_t k = 0; k < n; ++k) {
        const unsigned char b = static_cast<unsigned char>(text[i + k]);
        if (b == '\n') {
          out += "\\n";
        } else if (b == '\t') {
          out += "\\t";
        } else {
          out += "\\x";
          out += kHex[b >> 4];
          out += kHex[b & 15];
        }
      }
    } else {
      out.append(text.data() + i, n);
    }
    i += n;
  }
  return out;
}

absl::Status ErrorAt(absl::string_view file, size_t line, size_t column,
                     absl::string_view message) {
  if (line == 0) column = 0;
  const ErrorPlace place = {Printable(file, 1000), line, column};
  std::string where = place.file;
  if (line > 0) absl::StrAppend(&where, ":", line);
  if (column > 0) absl::StrAppend(&where, ":", column);
  absl::Status status =
      absl::InvalidArgumentError(absl::StrCat(where, ": ", Printable(message, 2000)));
  SetPlace(place, &status);
  return status;
}

absl::Status Annotate(const absl::Status& status, absl::string_view context) {
  if (status.ok()) return status;
  absl::Status annotated(status.code(),
                         absl::StrCat(Printable(context, 1000), ": ", status.message()));
  status.ForEachPayload([&](absl::string_view type, const absl::Cord& payload) {
    annotated.SetPayload(type, payload);
  });
  return annotated;
}

}  // namespace graphnet
