#include "graphnet/base/json.h"

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace graphnet {
namespace {

using Parsed = nlohmann::ordered_json;

TEST(JsonTest, KeepsMembersInOrderAndNamesUnique) {
  Json json;
  json["z"] = 1;
  json["a"] = "x";
  json["z"] = 2;
  EXPECT_EQ(json.Dump(-1), R"({"z":2,"a":"x"})");
}

// More than 32 members are found by a hash table.
TEST(JsonTest, FindsOneOfManyMembers) {
  Json json;
  for (int i = 0; i < 100; ++i) json[absl::StrCat("m", i)] = i;
  for (int i = 0; i < 100; ++i) json[absl::StrCat("m", i)] = 2 * i;
  const Parsed parsed = Parsed::parse(json.Dump());
  ASSERT_EQ(parsed.size(), 100);
  EXPECT_EQ(parsed.begin().key(), "m0");
  for (int i = 0; i < 100; ++i) EXPECT_EQ(parsed[absl::StrCat("m", i)], 2 * i);
}

TEST(JsonTest, AnyTextAndAnyNumberGiveJson) {
  Json json;
  json["text"] = std::string("a\xff\"\n\0b", 6);
  json["nan"] = std::nan("");
  json["infinite"] = HUGE_VAL;
  json["least"] = INT64_MIN;
  const Parsed parsed = Parsed::parse(json.Dump());
  EXPECT_EQ(parsed["text"], std::string("a\xef\xbf\xbd\"\n\0b", 8));
  EXPECT_TRUE(parsed["nan"].is_null());
  EXPECT_TRUE(parsed["infinite"].is_null());
  EXPECT_EQ(parsed["least"].get<int64_t>(), INT64_MIN);
}

TEST(JsonTest, WritesWhatItParsed) {
  const std::string text = R"({"list":[1,-2.5,null,true,[],{}],"text":"ü"})";
  EXPECT_EQ(Json::Parse(text).Dump(-1), text);
}

TEST(JsonTest, MergeTakesTheMembersOfAnother) {
  Json json;
  json["a"] = 1;
  Json more;
  more["b"] = Json::List(std::vector<int>{1, 2});
  more["a"] = 3;
  json.Merge(std::move(more));
  EXPECT_EQ(json.Dump(-1), R"({"a":3,"b":[1,2]})");
}

}  // namespace
}  // namespace graphnet
