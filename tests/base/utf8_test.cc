#include "graphnet/base/utf8.h"

#include <string>

#include "absl/algorithm/container.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace graphnet {
namespace {

// The JSON library refuses to write strings that are not UTF-8.
bool IsUtf8ToJson(const std::string& text) {
  try {
    nlohmann::json(text).dump();
    return true;
  } catch (const nlohmann::json::exception&) {
    return false;
  }
}

std::string Bytes(int a, int b, int c = -1, int d = -1) {
  std::string text;
  for (const int byte : {a, b, c, d}) {
    if (byte >= 0) text.push_back(static_cast<char>(byte));
  }
  return text;
}

TEST(Utf8Test, AgreesWithJson) {
  // Bytes around which the answer changes.
  const int kEdges[] = {0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0,
                        0xBF, 0xC0, 0xC2, 0xE0, 0xED, 0xF0, 0xF4, 0xFF};
  size_t valid = 0;
  const auto check = [&](const std::string& text) {
    const bool expected = IsUtf8ToJson(text);
    valid += expected ? 1 : 0;
    ASSERT_EQ(IsUtf8(text), expected) << testing::PrintToString(text);
  };
  for (int a = 0; a < 256; ++a) {
    check(std::string(1, static_cast<char>(a)));
    for (int b = 0; b < 256; ++b) {
      check(Bytes(a, b));
      if (a < 0xC0 || !absl::c_linear_search(kEdges, b)) continue;
      for (const int c : kEdges) {
        check(Bytes(a, b, c));
        for (const int d : kEdges) check(Bytes(a, b, c, d));
      }
    }
  }
  EXPECT_GT(valid, 10000u);
  EXPECT_TRUE(IsUtf8(""));
}

TEST(Utf8Test, LengthOfTheFirstCharacter) {
  EXPECT_EQ(Utf8Length(""), 0u);
  EXPECT_EQ(Utf8Length(absl::string_view("\0x", 2)), 1u);
  EXPECT_EQ(Utf8Length("é!"), 2u);
  EXPECT_EQ(Utf8Length("∀x"), 3u);
  EXPECT_EQ(Utf8Length("😀"), 4u);
  EXPECT_EQ(Utf8Length("\xE2\x88"), 0u);
  EXPECT_EQ(Utf8Length("\xE2\x88("), 0u);
}

}  // namespace
}  // namespace graphnet
