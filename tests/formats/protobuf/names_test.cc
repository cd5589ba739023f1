#include "graphnet/formats/protobuf/names.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace graphnet::proto_internal {
namespace {

std::string Snake(absl::string_view text) {
  std::string buffer = "left over";
  return std::string(SnakeCase(text, &buffer));
}

TEST(SnakeCaseTest, MatchesTorchFx) {
  const struct {
    const char* text;
    const char* expected;
  } cases[] = {
      {"", ""},
      {"L_x_", "l_x_"},
      {"mod.PascalCase", "mod.pascal_case"},
      {"mod.ALL_CAPS", "mod.all_caps"},
      {"aB", "a_b"},
      {"aBcDeFgHiJkL", "a_bc_de_fg_hi_jk_l"},
      {"1A", "1a"},
      {"L_self_modules_encoder_modules_LayerNorm_parameters_weight_",
       "l_self_modules_encoder_modules_layer_norm_parameters_weight_"},
      // The underscore goes between the eighth and the ninth byte.
      {"1234567aB", "1234567a_b"},
      {"\xc3\x84z\xffZ", "\xc3\x84z\xffz"},
  };
  for (const auto& c : cases) EXPECT_EQ(Snake(c.text), c.expected);
}

TEST(SnakeCaseTest, MatchesTheRuleByteByByte) {
  std::mt19937 random(3);
  const absl::string_view alphabet("aBcZzAM_9@[`{.\0\x80\xe1\xc1\xff", 19);
  for (int i = 0; i < 100000; ++i) {
    std::string text, expected;
    for (size_t n = random() % 40; n > 0; --n) text += alphabet[random() % alphabet.size()];
    for (size_t k = 0; k < text.size(); ++k) {
      const bool capital = text[k] >= 'A' && text[k] <= 'Z';
      if (capital && k > 0 && text[k - 1] >= 'a' && text[k - 1] <= 'z') expected += '_';
      expected += capital ? static_cast<char>(text[k] + 32) : text[k];
    }
    ASSERT_EQ(Snake(text), expected);
  }
}

TEST(SplitNameTest, Cases) {
  const struct {
    const char* name;
    const char* base;
    uint64_t suffix;
  } cases[] = {
      {"", "", 0},
      {"x", "x", 0},
      {"x_0", "x", 1},
      {"x_7", "x", 8},
      {"x_10", "x", 11},
      {"x_y_10", "x_y", 11},
      {"x__1", "x_", 2},
      {"x_01", "x_01", 0},
      {"x_00", "x_00", 0},
      {"x_", "x_", 0},
      {"x1", "x1", 0},
      {"_1", "_1", 0},
      {"__1", "_", 2},
      {"1", "1", 0},
      {"x_999999999", "x", kMaxSuffix},
      {"x_1000000000", "x_1000000000", 0},
  };
  for (const auto& c : cases) {
    const NameParts parts = SplitName(c.name);
    EXPECT_EQ(parts.base, c.base) << c.name;
    EXPECT_EQ(parts.suffix, c.suffix) << c.name;
    std::string joined = "left over";
    JoinName(parts.base, parts.suffix, &joined);
    EXPECT_EQ(joined, c.name);
  }
}

TEST(NextSuffixTest, CountsLikeGraphs) {
  EXPECT_EQ(NextSuffix(0), 2u);  // x, then x_1
  EXPECT_EQ(NextSuffix(2), 3u);  // x_1, then x_2
  EXPECT_EQ(NextSuffix(1), 2u);  // x_0, then x_1
}

}  // namespace
}  // namespace graphnet::proto_internal
