#include "tests/extract/read_programs.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graphnet/base/check.h"
#include "graphnet/base/file.h"

namespace graphnet {

std::vector<std::pair<std::string, std::string>> ReadSections(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadFile(path, size_t{1} << 24);
  std::vector<std::pair<std::string, std::string>> sections;
  for (const absl::string_view line : absl::StrSplit(text.ok() ? *text : "", '\n')) {
    if (absl::StartsWith(line, "=== ")) {
      sections.push_back({std::string(line.substr(4)), ""});
    } else if (!sections.empty()) {
      absl::StrAppend(&sections.back().second, line, "\n");
    }
  }
  for (auto& [head, body] : sections)
    body = std::string(absl::StripTrailingAsciiWhitespace(body)) + "\n";
  return sections;
}

std::vector<TestProgram> ReadPrograms(const std::string& path) {
  std::vector<TestProgram> programs;
  for (const auto& [head, body] : ReadSections(path)) {
    const std::vector<std::string> fields = absl::StrSplit(head, " | ");
    TestProgram& program = programs.emplace_back();
    program.name = fields[0];
    program.source = body;
    program.inputs = absl::StrSplit(fields.at(1), ' ', absl::SkipEmpty());
    if (fields.size() > 2) program.break_on = absl::StrSplit(fields[2], ',', absl::SkipEmpty());
    absl::string_view option;
    if (fields.size() > 3) option = fields[3];
    if (option == "--cond") {
      program.cond = true;
    } else if (absl::ConsumePrefix(&option, "--max-unroll ")) {
      CHECK(absl::SimpleAtoi(option, &program.max_unroll));
    } else if (!option.empty()) {
      program.dynamic.push_back({0, 0, std::string(option)});
    }
  }
  return programs;
}

}  // namespace graphnet
