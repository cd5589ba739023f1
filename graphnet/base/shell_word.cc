#include "graphnet/base/shell_word.h"

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "graphnet/base/status.h"

namespace graphnet {

std::string ShellWord(absl::string_view text) {
  const auto is_plain = [](char c) {
    return absl::ascii_isalnum(c) || absl::StrContains("_./:,+@-", absl::string_view(&c, 1));
  };
  if (!text.empty() && absl::c_all_of(text, is_plain)) return std::string(text);
  if (Printable(text, text.size()) == text)
    return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
  std::string word = "$'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') {
      absl::StrAppend(&word, "\\", std::string(1, c));
    } else if (absl::ascii_isprint(c)) {
      word += c;
    } else {
      // Three octal digits end by themselves, whatever follows.
      absl::StrAppendFormat(&word, "\\%03o", static_cast<unsigned char>(c));
    }
  }
  return word + "'";
}

}  // namespace graphnet
