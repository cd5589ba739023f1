// Captures small TorchScript programs, checks the captures, and compares them with a golden file.
// If UPDATE_GOLDEN is the path of programs.golden, the file is rewritten.
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/file.h"
#include "graphnet/extract/break_reason.h"
#include "gtest/gtest.h"
#include "tests/extract/check_program.h"
#include "tests/extract/read_programs.h"

namespace graphnet {
namespace {

constexpr char kPrograms[] = "tests/extract/programs.txt";
constexpr char kGolden[] = "tests/extract/programs.golden";

TEST(Programs, EqualTheirCaptures) {
  const std::vector<TestProgram> programs = ReadPrograms(kPrograms);
  ASSERT_GE(programs.size(), 40u);
  const char* update = std::getenv("UPDATE_GOLDEN");
  std::map<std::string, std::string> golden;
  for (auto& [name, text] : ReadSections(kGolden)) golden[name] = text;
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
  // These programs cover every reason that they can have.
  for (const BreakReasonText& reason : BreakReasons()) {
    EXPECT_TRUE(absl::StrContains(all, absl::StrCat(reason.name, ": "))) << reason.name;
  }
}

}  // namespace
}  // namespace graphnet
