#include "graphnet/formats/protobuf/string_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace graphnet::proto_internal {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kEnough = uint64_t{1} << 30;

proto::StringTable Encode(const std::vector<std::string>& strings) {
  proto::StringTable table;
  EncodeStrings(std::vector<absl::string_view>(strings.begin(), strings.end()), &table);
  return table;
}

void ExpectRoundTrip(const std::vector<std::string>& strings) {
  const proto::StringTable table = Encode(strings);
  Arena arena;
  StringTable decoded;
  const absl::Status status = decoded.Decode(table, kEnough, &arena);
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_EQ(decoded.size(), strings.size());
  size_t total = 0;
  for (size_t i = 0; i < strings.size(); ++i) {
    EXPECT_EQ(decoded[i], strings[i]) << i;
    total += strings[i].size();
  }
  EXPECT_EQ(decoded.total_bytes(), total);
}

TEST(StringTableTest, RoundTrips) {
  ExpectRoundTrip({});
  ExpectRoundTrip({""});
  ExpectRoundTrip({"", "", "a", ""});
  ExpectRoundTrip({"abc", "abc", "abcd", "bcd", "aXc", std::string("\0\xff", 2)});
  // A string comes again far beyond the window.
  std::vector<std::string> strings = {"the first of all"};
  for (int i = 0; i < 300; ++i) strings.push_back(std::to_string(i * 7919));
  strings.push_back("the first of all");
  ExpectRoundTrip(strings);
}

TEST(StringTableTest, RandomStringsRoundTrip) {
  std::mt19937 random(4);
  for (int i = 0; i < 300; ++i) {
    std::vector<std::string> strings(random() % 100);
    for (std::string& text : strings) {
      for (size_t n = random() % 12; n > 0; --n) text += static_cast<char>('a' + random() % 3);
    }
    ExpectRoundTrip(strings);
  }
}

TEST(StringTableTest, ParameterNamesTakeFewBytes) {
  std::vector<std::string> strings;
  for (int layer = 0; layer < 50; ++layer) {
    for (const char* leaf : {"query", "key", "value"}) {
      for (const char* kind : {"weight", "bias"}) {
        strings.push_back(absl::StrCat("L_self_modules_encoder_modules_layer_modules_", layer,
                                       "_modules_attention_modules_self_modules_", leaf,
                                       "_parameters_", kind, "_"));
      }
    }
  }
  const proto::StringTable table = Encode(strings);
  EXPECT_LT(table.ByteSizeLong(), strings.size() * 3 / 2 + 150);
  ExpectRoundTrip(strings);
}

TEST(StringTableTest, IsDeterministic) {
  std::vector<std::string> strings;
  for (int i = 0; i < 500; ++i) strings.push_back(absl::StrCat("x", i % 37, "_y", i % 11));
  EXPECT_EQ(Encode(strings).SerializeAsString(), Encode(strings).SerializeAsString());
}

TEST(StringTableTest, RefusesNonsense) {
  const struct {
    std::vector<uint64_t> edits;
    std::vector<uint64_t> strings;
    std::string literals;
    const char* message;
  } cases[] = {
      {{0, 1, 0}, {}, "", "four values"},
      {{}, {0}, "", "string 0: no such edit"},
      {{0, 1, 0, 0}, {0, 1}, "ab", "string 1: no such edit"},
      {{1, 0, 0, 0}, {0}, "", "string 0: drops more"},
      {{0, 2, 0, 0}, {0}, "a", "string 0: the literals end"},
      {{0, UINT64_MAX, 0, 0}, {0}, "a", "the literals end"},
      {{0, 1, 1, 1}, {0}, "a", "string 0: refers back too far"},
      {{0, 1, UINT64_MAX, 1}, {0}, "a", "refers back too far"},
      {{0, 1, 0, 1}, {0}, "a", "a tail of no string"},
      {{0, 1, 0, 0, 0, 0, 1, 2}, {0, 1}, "a", "string 1: its tail is longer"},
      {{0, 0, 0, 0}, {0}, "a", "literals are left"},
  };
  for (const auto& c : cases) {
    proto::StringTable table;
    for (const uint64_t value : c.edits) table.add_edits(value);
    for (const uint64_t value : c.strings) table.add_strings(value);
    table.set_literals(c.literals);
    Arena arena;
    StringTable decoded;
    EXPECT_THAT(std::string(decoded.Decode(table, kEnough, &arena).message()),
                HasSubstr(c.message));
  }
}

// Each string is the one before, twice. Two bytes double it.
TEST(StringTableTest, UnfoldsNoFurtherThanAllowed) {
  proto::StringTable table;
  for (const uint64_t value : {0, 1, 0, 0}) table.add_edits(value);
  table.add_strings(0);
  table.set_literals("a");
  uint64_t total = 1;
  for (uint64_t i = 1; i <= 20; ++i) {
    for (const uint64_t value : {uint64_t{0}, uint64_t{0}, uint64_t{1}, uint64_t{1} << (i - 1)}) {
      table.add_edits(value);
    }
    table.add_strings(i);
    total += uint64_t{1} << i;
  }
  Arena arena;
  StringTable decoded;
  EXPECT_TRUE(decoded.Decode(table, total + 1, &arena).ok());
  EXPECT_TRUE(decoded.Decode(table, total, &arena).ok());
  EXPECT_THAT(std::string(decoded.Decode(table, total - 1, &arena).message()),
              HasSubstr("string 20: the strings are too long"));
}

}  // namespace
}  // namespace graphnet::proto_internal
