#include "graphnet/ir/text/excerpt.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"

namespace graphnet {
namespace {

constexpr absl::string_view kPayload = "graphnet/excerpt";
constexpr size_t kBytesBefore = 60;
constexpr size_t kBytesAfter = 40;

// Returns line `number` without its end; nullopt if the text has fewer lines.
std::optional<absl::string_view> FindLine(absl::string_view text, size_t number) {
  size_t start = 0;
  for (size_t i = 1; i < number; ++i) {
    const size_t newline = text.find('\n', start);
    if (newline == absl::string_view::npos) return std::nullopt;
    start = newline + 1;
  }
  absl::string_view line = text.substr(start);
  line = line.substr(0, line.find('\n'));
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// Returns the nearest start of a character at or before `i`.
size_t CharacterStart(absl::string_view line, size_t i) {
  for (int steps = 0; steps < 3 && i > 0 && i < line.size() && IsContinuation(line[i]); ++steps) {
    --i;
  }
  return i;
}

std::string MakeExcerpt(absl::string_view line, size_t column) {
  const size_t point = CharacterStart(line, std::min(column == 0 ? 0 : column - 1, line.size()));
  const size_t begin = CharacterStart(line, point > kBytesBefore ? point - kBytesBefore : 0);
  const size_t end = CharacterStart(line, std::min(line.size(), point + kBytesAfter));
  // Escaping makes at most four output bytes from each input byte.
  constexpr size_t kNoCut = 8 * (kBytesBefore + kBytesAfter);
  const std::string before =
      absl::StrCat(begin > 0 ? "..." : "", Printable(line.substr(begin, point - begin), kNoCut));
  const std::string after = absl::StrCat(Printable(line.substr(point, end - point), kNoCut),
                                         end < line.size() ? "..." : "");
  std::string out = absl::StrCat("  ", before, after, "\n");
  if (column > 0) {
    const auto width =
        std::count_if(before.begin(), before.end(), [](char c) { return !IsContinuation(c); });
    absl::StrAppend(&out, "  ", std::string(static_cast<size_t>(width), ' '), "^\n");
  }
  return out;
}

}  // namespace

absl::Status WithExcerpt(absl::Status status, absl::string_view text, size_t line, size_t column) {
  if (status.ok() || line == 0) return status;
  if (const std::optional<absl::string_view> found = FindLine(text, line)) {
    status.SetPayload(kPayload, absl::Cord(MakeExcerpt(*found, column)));
  }
  return status;
}

std::string ErrorExcerpt(const absl::Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kPayload);
  return payload ? std::string(*payload) : std::string();
}

}  // namespace graphnet
