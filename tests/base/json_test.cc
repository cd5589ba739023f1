#include "graphnet/base/json.h"

#include <cmath>
#include <cstdint>
#include <optional>
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

TEST(JsonTest, ErrorsHavePlaces) {
  const auto error = [](absl::string_view text) {
    const auto json = Json::ParseObject(text, "f", /*max_depth=*/2, /*refuses_doubles=*/true);
    return json.ok() ? "" : std::string(json.status().message());
  };
  EXPECT_EQ(error(R"({"a": {"b": 1}, "c": {"b": []} })"), "f:1:1: JSON nests more than 2 deep");
  EXPECT_EQ(error(R"({"a": {"b": 1}, "c": {"b": 2}})"), "");
  EXPECT_EQ(error("[]"), "f:1:1: expected a JSON object");
  EXPECT_EQ(error("{\"a\":\n 1,}"), "f:2:4: malformed JSON");
  EXPECT_EQ(error(R"({"a": 1, "a": 2})"), "f: the key a is a duplicate");
  EXPECT_EQ(Json::ParseObject(R"({"a": 1, "b": 3, "a": 2})", "f")->Dump(-1), R"({"a":2,"b":3})");
  EXPECT_EQ(Json::Parse("{").type_name(), "null");
}

TEST(JsonTest, GivesValuesOfOneType) {
  const Json json = Json::Parse(
      R"({"i": 3, "least": -9223372036854775808, "most": 18446744073709551615, "real": 3.0,
          "flag": true, "text": "x", "list": [[1], []], "mixed": [1, "x"]})");
  EXPECT_EQ(json.Get<int>("i"), 3);
  EXPECT_EQ(json.Get<double>("i"), 3.0);
  EXPECT_EQ(json.Get<int>("real"), std::nullopt);
  EXPECT_EQ(json.Get<int64_t>("least"), INT64_MIN);
  EXPECT_EQ(json.Get<int>("least"), std::nullopt);
  EXPECT_EQ(json.Get<uint64_t>("most"), UINT64_MAX);
  EXPECT_EQ(json.Get<int64_t>("most"), std::nullopt);
  EXPECT_EQ(json.Get<bool>("flag"), true);
  EXPECT_EQ(json.Get<int>("flag"), std::nullopt);
  EXPECT_EQ(json.Get<std::string>("text"), "x");
  EXPECT_EQ(json.Get<std::string>("absent"), std::nullopt);
  const std::vector<std::vector<int>> list = {{1}, {}};
  EXPECT_EQ(json.Get<std::vector<std::vector<int>>>("list"), list);
  EXPECT_EQ(json.Get<std::vector<int>>("mixed"), std::nullopt);
  EXPECT_EQ(json.Find("list")->elements().size(), 2);
  EXPECT_EQ(Json(list).Dump(-1), "[[1],[]]");
  EXPECT_EQ(Json(UINT64_MAX).Dump(), "18446744073709551615");
}

TEST(JsonTest, WritesARowALine) {
  const Json json = Json::Object({{"rows", std::vector{Json::Object({{"a", 1}}), Json::Object()}},
                                  {"none", Json::List()},
                                  {"sizes", std::vector{1, 2}}});
  EXPECT_EQ(json.DumpRows(1, 2),
            "{\n \"rows\": [\n  {\"a\":1},\n  {}\n ],\n \"none\": [],\n \"sizes\": [1,2]\n}\n");
  EXPECT_EQ(Json("ü").Dump(-1, /*is_ascii=*/true), R"("\u00fc")");
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
