// Small TorchScript programs: what is captured of each, and that it is the program.
// With UPDATE_GOLDEN set to this file's path, programs.golden is written anew.
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graphnet/base/file.h"
#include "graphnet/extract/break_reason.h"
#include "gtest/gtest.h"
#include "tests/extract/check_program.h"

namespace graphnet {
namespace {

constexpr char kPrograms[] = "tests/extract/programs.txt";
constexpr char kGolden[] = "tests/extract/programs.golden";

std::string Read(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadFile(path, size_t{1} << 24);
  return text.ok() ? *text : "";
}

// Sections that begin with "=== head".
std::vector<std::pair<std::string, std::string>> Sections(const std::string& text) {
  std::vector<std::pair<std::string, std::string>> sections;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
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

std::vector<TestProgram> Programs() {
  std::vector<TestProgram> programs;
  for (const auto& [head, body] : Sections(Read(kPrograms))) {
    const std::vector<std::string> fields = absl::StrSplit(head, " | ");
    TestProgram& program = programs.emplace_back();
    program.name = fields[0];
    program.source = body;
    program.inputs = absl::StrSplit(fields.at(1), ' ', absl::SkipEmpty());
    if (fields.size() > 2) program.break_on = absl::StrSplit(fields[2], ',', absl::SkipEmpty());
    // "--cond", "--max-unroll N", or the name of dimension 0 of the first input.
    absl::string_view option;
    if (fields.size() > 3) option = fields[3];
    if (option == "--cond") {
      program.cond = true;
    } else if (absl::ConsumePrefix(&option, "--max-unroll ")) {
      EXPECT_TRUE(absl::SimpleAtoi(option, &program.max_unroll));
    } else if (!option.empty()) {
      program.dynamic.push_back({0, 0, std::string(option)});
    }
  }
  return programs;
}

TEST(Programs, AreWhatTheirSubgraphsAre) {
  const std::vector<TestProgram> programs = Programs();
  ASSERT_GE(programs.size(), 40u);
  const char* update = std::getenv("UPDATE_GOLDEN");
  std::map<std::string, std::string> golden;
  for (auto& [name, text] : Sections(Read(kGolden))) golden[name] = text;
  std::string written;
  std::string all;
  for (const TestProgram& program : programs) {
    const absl::StatusOr<std::string> text = CheckProgram(program);
    EXPECT_TRUE(text.ok()) << program.name << ": " << text.status();
    if (!text.ok()) continue;
    absl::StrAppend(&all, *text);
    absl::StrAppend(&written, "=== ", program.name, "\n", *text);
    if (update == nullptr) {
      EXPECT_EQ(golden[program.name], *text) << program.name;
    }
  }
  if (update != nullptr) {
    ASSERT_TRUE(WriteFileAtomic(update, written).ok());
  }
  // Every reason that these programs can have, they have.
  for (const BreakReasonText& reason : BreakReasons()) {
    EXPECT_TRUE(absl::StrContains(all, absl::StrCat(reason.name, ": "))) << reason.name;
  }
}

}  // namespace
}  // namespace graphnet
