#include "graphnet/formats/posted/lines.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"

namespace graphnet::posted {
namespace {

bool TakeDigits(absl::string_view* text, size_t at_least) {
  size_t n = 0;
  while (n < text->size() && absl::ascii_isdigit((*text)[n])) ++n;
  if (n < at_least) return false;
  text->remove_prefix(n);
  return true;
}

// Takes the characters of `pattern`, where 9 is a run of digits and any other character is itself.
bool TakePattern(absl::string_view pattern, absl::string_view* text) {
  for (const char c : pattern) {
    if (c == '9' ? !TakeDigits(text, 1) : !absl::ConsumePrefix(text, absl::string_view(&c, 1)))
      return false;
  }
  return true;
}

// Takes a word in square brackets that has no blanks, and one blank after it.
bool TakeWordInBrackets(absl::string_view* text, absl::string_view* word) {
  if (!absl::StartsWith(*text, "[")) return false;
  const size_t end = text->find(']');
  if (end == absl::string_view::npos || end > 80) return false;
  *word = text->substr(1, end - 1);
  if (absl::StrContains(*word, ' ')) return false;
  text->remove_prefix(end + 1);
  absl::ConsumePrefix(text, " ");
  return true;
}

// V1130 12:00:00.000000 1234 torch/_dynamo/output_graph.py:123] [0/0] [__graph_code] TEXT, after
// [rank0]: where there are several processes.
bool TakeLogPrefix(absl::string_view* text, absl::string_view* artifact) {
  absl::string_view rest = *text;
  absl::string_view word;
  if (absl::StartsWith(rest, "[rank")) {
    if (!TakePattern("[rank9]:", &rest)) return false;
    absl::ConsumePrefix(&rest, " ");
  }
  if (rest.empty() || !absl::StrContains("VIWEC", rest.substr(0, 1))) return false;
  rest.remove_prefix(1);
  if (!TakePattern("9 9:9:9.9 9 ", &rest)) return false;
  const size_t end = rest.find("] ");
  if (end == absl::string_view::npos) {
    if (!absl::EndsWith(rest, "]")) return false;
    rest = {};
  } else {
    rest.remove_prefix(end + 2);
  }
  while (TakeWordInBrackets(&rest, &word)) {
    if (absl::ConsumePrefix(&word, "__")) {
      *artifact = word;
      break;
    }
  }
  if (artifact->empty()) return false;
  *text = rest;
  return true;
}

// [2024-01-31 12:00:00,123] [0/0] torch._dynamo.output_graph.__graph_code: [DEBUG] TEXT, as torch
// wrote it before 2.3.
bool TakeOldLogPrefix(absl::string_view* text, absl::string_view* artifact) {
  absl::string_view rest = *text;
  absl::string_view word;
  if (!TakePattern("[9-9-9 9:9:9,9] ", &rest)) return false;
  while (TakeWordInBrackets(&rest, &word)) {
  }
  const size_t end = rest.find(": [");
  if (end == absl::string_view::npos || end > 200) return false;
  const absl::string_view logger = rest.substr(0, end);
  const size_t name = logger.rfind(".__");
  rest.remove_prefix(end + 2);
  if (name == absl::string_view::npos || !TakeWordInBrackets(&rest, &word)) return false;
  *artifact = logger.substr(name + 3);
  *text = rest;
  return true;
}

// Returns the text without the codes by which terminals show colours.
std::string WithoutColours(absl::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\x1b') {
      plain.push_back(text[i]);
      continue;
    }
    if (i + 1 < text.size() && text[i + 1] == '[') ++i;
    while (i + 1 < text.size() && !absl::ascii_isalpha(text[i + 1])) ++i;
    ++i;
  }
  return plain;
}

// Takes the marks of quoted mail and the prompts of Python off. No line of Python begins so.
void TakeQuoting(absl::string_view* text) {
  if (!absl::ConsumePrefix(text, ">>> ")) {
    while (absl::ConsumePrefix(text, ">")) absl::ConsumePrefix(text, " ");
  }
  if (text->size() > 4) absl::ConsumePrefix(text, "... ");
}

}  // namespace

size_t Line::indent() const {
  const size_t n = text.find_first_not_of(" \t");
  return n == absl::string_view::npos ? text.size() : n;
}

absl::string_view Line::words() const { return absl::StripAsciiWhitespace(text); }

Lines::Lines(absl::string_view text) {
  lines_.reserve(static_cast<size_t>(absl::c_count(text, '\n')) + 1);
  absl::ConsumePrefix(&text, "\xef\xbb\xbf");
  while (!text.empty()) {
    const size_t end = text.find('\n');
    Line line;
    line.text = text.substr(0, end);
    text.remove_prefix(end == absl::string_view::npos ? text.size() : end + 1);
    absl::ConsumeSuffix(&line.text, "\r");
    if (absl::StrContains(line.text, '\x1b'))
      line.text = changed_.emplace_back(WithoutColours(line.text));
    const char* const begin = line.text.data();
    TakeQuoting(&line.text);
    if (!TakeLogPrefix(&line.text, &line.artifact)) TakeOldLogPrefix(&line.text, &line.artifact);
    line.offset = static_cast<uint32_t>(line.text.data() - begin);
    line.is_fence = absl::StartsWith(line.words(), "```") || absl::StartsWith(line.words(), "~~~");
    if (line.is_fence) line.text = {};
    lines_.push_back(line);
  }
}

}  // namespace graphnet::posted
