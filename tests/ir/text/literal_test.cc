#include "graphnet/ir/text/literal.h"

#include <bit>
#include <cstdint>
#include <limits>
#include <string>

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"

namespace graphnet {
namespace {

std::string Integer(int64_t value) {
  std::string out;
  AppendInteger(value, &out);
  return out;
}
std::string Float(double value) {
  std::string out;
  AppendFloat(value, &out);
  return out;
}
std::string Quoted(absl::string_view text) {
  std::string out;
  AppendQuoted(text, &out);
  return out;
}
std::string Name(absl::string_view name) {
  std::string out;
  AppendName(name, &out);
  return out;
}

TEST(LiteralTest, Integers) {
  EXPECT_EQ(Integer(0), "0");
  EXPECT_EQ(Integer(9), "9");
  EXPECT_EQ(Integer(10), "10");
  EXPECT_EQ(Integer(-1), "-1");
  EXPECT_EQ(Integer(std::numeric_limits<int64_t>::max()), "9223372036854775807");
  EXPECT_EQ(Integer(std::numeric_limits<int64_t>::min()), "-9223372036854775808");
}

TEST(LiteralTest, FloatsAsPythonWritesThem) {
  const struct {
    double value;
    absl::string_view text;
  } kCases[] = {
      {0.0, "0.0"},
      {-0.0, "-0.0"},
      {1.0, "1.0"},
      {-2.5, "-2.5"},
      {0.1, "0.1"},
      {100000.0, "100000.0"},
      {1e15, "1000000000000000.0"},
      {9999999999999998.0, "9999999999999998.0"},
      {1e16, "1e+16"},
      {1e22, "1e+22"},
      {1e100, "1e+100"},
      {0.0001, "0.0001"},
      {0.00012, "0.00012"},
      {0.00001, "1e-05"},
      {1.5e-7, "1.5e-07"},
      {5e-324, "5e-324"},
      {std::numeric_limits<double>::max(), "1.7976931348623157e+308"},
      {std::numeric_limits<double>::infinity(), "inf"},
      {-std::numeric_limits<double>::infinity(), "-inf"},
      {std::numeric_limits<double>::quiet_NaN(), "nan"},
      {std::bit_cast<double>(uint64_t{0x7ff8000000000001}), "nan(0x7ff8000000000001)"},
      {std::bit_cast<double>(uint64_t{0xfff8000000000000}), "nan(0xfff8000000000000)"},
      {std::bit_cast<double>(uint64_t{0x7ff0000000000001}), "nan(0x7ff0000000000001)"},
  };
  for (const auto& c : kCases) EXPECT_EQ(Float(c.value), c.text);
}

TEST(LiteralTest, Strings) {
  const struct {
    absl::string_view value, text;
  } kCases[] = {
      {"", R"("")"},
      {"abc", R"("abc")"},
      {"a\"b\\c", R"("a\"b\\c")"},
      {"\n\t\r", R"("\n\t\r")"},
      {absl::string_view("\0\x01\x1f\x7f", 4), R"("\x00\x01\x1f\x7f")"},
      {"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80",
       "\"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\""},
      // C1 controls, which terminals execute.
      {"\xc2\x9b"
       "31m",
       R"("\xc2\x9b31m")"},
      // Invalid UTF-8: alone, cut off, overlong, a surrogate, beyond U+10FFFF.
      {"\xff", R"("\xff")"},
      {"\xe2\x82", R"("\xe2\x82")"},
      {"\xc0\x80", R"("\xc0\x80")"},
      {"\xe0\x80\x80", R"("\xe0\x80\x80")"},
      {"\xed\xa0\x80", R"("\xed\xa0\x80")"},
      {"\xf4\x90\x80\x80", R"("\xf4\x90\x80\x80")"},
  };
  for (const auto& c : kCases) EXPECT_EQ(Quoted(c.value), c.text);
}

TEST(LiteralTest, NamesAreQuotedWhenNeeded) {
  for (const absl::string_view bare : {"x", "layers.0.weight", "0", "_", "a.", "None", "1e5"}) {
    EXPECT_TRUE(IsBareName(bare)) << bare;
    EXPECT_EQ(Name(bare), bare);
  }
  for (const absl::string_view odd : {"", ".", ".x", "a b", "a:b", "a-b", "\xc3\xa9", "%x"}) {
    EXPECT_FALSE(IsBareName(odd)) << odd;
    EXPECT_EQ(Name(odd), Quoted(odd));
  }
  EXPECT_TRUE(IsBareWord("x1"));
  EXPECT_FALSE(IsBareWord("1x"));
}

}  // namespace
}  // namespace graphnet
