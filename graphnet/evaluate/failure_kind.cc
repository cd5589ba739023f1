#include "graphnet/evaluate/failure_kind.h"

#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace graphnet {
namespace {

bool IsPartOfName(char c) { return absl::ascii_isalnum(c) || c == '_' || c == '.'; }

// Returns the end of the text that begins at `begin` with `open`; npos if it has no end.
size_t EndOf(absl::string_view text, size_t begin, char open, char close) {
  // An apostrophe within a word is not a quotation mark.
  if (open == '\'' && begin > 0 && absl::ascii_isalnum(text[begin - 1]))
    return absl::string_view::npos;
  return text.find(close, begin + 1);
}

// Replaces numbers that stand alone or follow "_", where they count values of one name.
std::string WithoutNumbers(absl::string_view word) {
  std::string kept;
  for (size_t i = 0; i < word.size();) {
    const bool begins = absl::ascii_isdigit(word[i]) &&
                        (i == 0 || !IsPartOfName(word[i - 1]) || word[i - 1] == '_');
    if (!begins) {
      kept.push_back(word[i++]);
      continue;
    }
    while (i < word.size() && IsPartOfName(word[i])) ++i;
    kept.push_back('#');
  }
  return kept;
}

}  // namespace

std::string KindOfReason(absl::string_view reason) {
  std::string text;
  for (size_t i = 0; i < reason.size();) {
    const char c = reason[i];
    const char close = c == '\'' || c == '"' ? c : c == '[' ? ']' : '\0';
    const size_t end = close == '\0' ? absl::string_view::npos : EndOf(reason, i, c, close);
    if (end != absl::string_view::npos) {
      absl::StrAppend(&text, std::string(1, c), c == '[' ? "#" : "", std::string(1, close));
      i = end + 1;
    } else if (c == '%') {
      text.push_back(c);
      for (++i; i < reason.size() && IsPartOfName(reason[i]); ++i) {
      }
    } else {
      text.push_back(reason[i++]);
    }
  }
  std::string kind;
  for (const absl::string_view word : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    const bool is_path = absl::StrContains(word, '/') && word.size() > 1;
    const std::string kept = is_path ? "#" : WithoutNumbers(word);
    absl::StrAppend(&kind, kind.empty() ? "" : " ", kept);
  }
  return kind;
}

FailureKind FailureKindOf(const SampleResult& result) {
  const Outcome outcome = result.Verdict();
  if (outcome == Outcome::kCorrect) return {};
  return {outcome, KindOfReason(result.reason)};
}

std::string DescribeFailure(const FailureKind& kind) {
  return absl::StrCat(OutcomeName(kind.outcome), kind.reason.empty() ? "" : ": ", kind.reason);
}

}  // namespace graphnet
