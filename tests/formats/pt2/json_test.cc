#include "graphnet/formats/pt2/json.h"

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"

namespace graphnet::pt2 {
namespace {

using testing::HasSubstr;

TEST(Json, ValuesOfEveryKind) {
  const auto document = JsonDocument::Parse(
      R"( {"a": [1, -9223372036854775808, 1.5, NaN, "-Infinity", true, null, "A\u00e9\u0000"], "b": {}} )");
  ASSERT_OK(document);
  Json a, b, c;
  ASSERT_OK(ReadFields(document->root(), {{"b", &b}, {"a", &a}, {"c", &c, false}}));
  EXPECT_TRUE(c.is_null());
  EXPECT_FALSE(c.is_there());
  EXPECT_OK(b.ExpectObject());
  EXPECT_EQ(b.size(), 0u);
  ASSERT_EQ(a.size(), 8u);
  auto at = a.elements().begin();
  EXPECT_THAT((*at).Int(), IsOkAndHolds(1));
  EXPECT_THAT((*at).Float(), IsOkAndHolds(1.0));
  EXPECT_THAT((*at).String(),
              StatusIs(absl::StatusCode::kInvalidArgument, "expected a string, found an integer"));
  EXPECT_THAT((*++at).Int(), IsOkAndHolds(INT64_MIN));
  EXPECT_THAT((*++at).Float(), IsOkAndHolds(1.5));
  EXPECT_TRUE(std::isnan((*++at).Float().value_or(0)));
  EXPECT_THAT((*++at).Float(), IsOkAndHolds(-HUGE_VAL));
  EXPECT_THAT((*++at).Bool(), IsOkAndHolds(true));
  EXPECT_TRUE((*++at).is_null());
  EXPECT_THAT((*++at).String(), IsOkAndHolds(absl::string_view("A\xc3\xa9\0", 4)));
}

TEST(Json, UnionsHaveOneMember) {
  const auto document = JsonDocument::Parse(R"([{"as_int": 3}, {}, {"a": 1, "b": 2}, 4])");
  ASSERT_OK(document);
  auto at = document->root().elements().begin();
  const auto one = ReadUnion(*at);
  ASSERT_OK(one);
  EXPECT_EQ(one->kind, "as_int");
  EXPECT_THAT(ReadUnion(*++at),
              StatusIs(absl::StatusCode::kInvalidArgument, "expected one member, found 0"));
  EXPECT_THAT(ReadUnion(*++at),
              StatusIs(absl::StatusCode::kInvalidArgument, "expected one member, found 2"));
  EXPECT_THAT(ReadUnion(*++at),
              StatusIs(absl::StatusCode::kInvalidArgument, "expected an object, found an integer"));
}

TEST(Json, FieldsComeOnce) {
  const auto document = JsonDocument::Parse(R"({"a": 1, "x": 2, "x": 3})");
  ASSERT_OK(document);
  Json a;
  EXPECT_THAT(ReadFields(document->root(), {{"a", &a}}),
              StatusIs(absl::StatusCode::kInvalidArgument, "two fields are named x"));
  std::string many = "{\"a\": 1";
  for (int i = 0; i < 100; ++i) absl::StrAppend(&many, ", \"", i, "\": 0");
  const auto bomb = JsonDocument::Parse(many + "}");
  ASSERT_OK(bomb);
  EXPECT_THAT(ReadFields(bomb->root(), {{"a", &a}}),
              StatusIs(absl::StatusCode::kInvalidArgument, "has too many unknown fields"));
}

TEST(Json, RefusesOtherTextAndNamesThePlace) {
  for (const char* text :
       {"", " ", "{", "[1,]", "[1 2]", "{\"a\" 1}", "nul", "\"a", "\"\\x\"", "\"\\ud800\"", "01",
        "-", "1e999", "[1] 2", "'a'", "\"\x01\"", "\xff", "\"\xc3\""}) {
    EXPECT_THAT(JsonDocument::Parse(text),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("byte ")))
        << text;
  }
  EXPECT_THAT(
      JsonDocument::Parse(std::string("[1]\0[2]", 7)),
      StatusIs(absl::StatusCode::kInvalidArgument, "byte 3: unexpected text after the document"));
}

TEST(Json, DepthIsBounded) {
  const auto nested = [](int depth) {
    return std::string(static_cast<size_t>(depth), '[') +
           std::string(static_cast<size_t>(depth), ']');
  };
  EXPECT_OK(JsonDocument::Parse(nested(255)));
  EXPECT_OK(JsonDocument::Parse(nested(256)));
  EXPECT_THAT(JsonDocument::Parse(nested(257)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("nests deeper than 256")));
  EXPECT_THAT(JsonDocument::Parse(nested(10'000'000)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("nests deeper than 256")));
}

TEST(Json, LongStringsAndManyKeys) {
  std::string text = "\"";
  text.resize(100'000'001, 'x');
  text += '"';
  const auto document = JsonDocument::Parse(text);
  ASSERT_OK(document);
  EXPECT_EQ(document->root().String().value_or("").size(), 100'000'000u);
}

}  // namespace
}  // namespace graphnet::pt2
