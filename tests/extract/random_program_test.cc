#include "tests/extract/random_program.h"

#include "gtest/gtest.h"
#include "tests/extract/check_program.h"

namespace graphnet {
namespace {

TEST(RandomPrograms, EqualTheirCaptures) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const TestProgram program = RandomProgram(seed);
    const absl::StatusOr<std::string> text = CheckProgram(program);
    EXPECT_TRUE(text.ok()) << "seed " << seed << ": " << text.status() << "\n" << program.source;
  }
}

}  // namespace
}  // namespace graphnet
