#include "graphnet/ir/text/excerpt.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"

namespace graphnet {
namespace {

std::string Excerpt(absl::string_view text, size_t line, size_t column) {
  const absl::Status status = WithExcerpt(absl::InvalidArgumentError("bad"), text, line, column);
  EXPECT_EQ(status.message(), "bad");
  return ErrorExcerpt(status);
}

TEST(ExcerptTest, PointsAtTheColumn) {
  EXPECT_EQ(Excerpt("one\ntwo three\nfour", 2, 5),
            "  two three\n"
            "      ^\n");
  EXPECT_EQ(Excerpt("one", 1, 1), "  one\n  ^\n");
}

TEST(ExcerptTest, PointsBehindTheLine) {
  EXPECT_EQ(Excerpt("one\n", 1, 4), "  one\n     ^\n");
  EXPECT_EQ(Excerpt("one\n", 1, 400), "  one\n     ^\n");
  EXPECT_EQ(Excerpt("one\n", 2, 1), "  \n  ^\n");
  EXPECT_EQ(Excerpt("one\r\n", 1, 4), "  one\n     ^\n");
}

TEST(ExcerptTest, WithoutColumnThereIsNoCaret) { EXPECT_EQ(Excerpt("one", 1, 0), "  one\n"); }

TEST(ExcerptTest, NothingToShow) {
  EXPECT_EQ(Excerpt("one", 0, 1), "");
  EXPECT_EQ(Excerpt("one", 2, 1), "");
  EXPECT_EQ(ErrorExcerpt(WithExcerpt(absl::OkStatus(), "one", 1, 1)), "");
  EXPECT_EQ(ErrorExcerpt(absl::InvalidArgumentError("bad")), "");
}

TEST(ExcerptTest, LongLinesAreCut) {
  const std::string line = absl::StrCat(std::string(500, 'a'), "X", std::string(500, 'b'));
  EXPECT_EQ(Excerpt(line, 1, 501),
            absl::StrCat("  ...", std::string(60, 'a'), "X", std::string(39, 'b'), "...\n",
                         std::string(2 + 3 + 60, ' '), "^\n"));
}

TEST(ExcerptTest, EscapesAndCountsCharacters) {
  EXPECT_EQ(Excerpt("\x1b[31m\tx", 1, 7), "  \\x1b[31m\\tx\n            ^\n");
  // Each of these characters has two bytes and one column on the screen.
  EXPECT_EQ(Excerpt("\xc3\xa9\xc3\xa9 x", 1, 6), "  \xc3\xa9\xc3\xa9 x\n     ^\n");
  EXPECT_EQ(Excerpt("\xff x", 1, 3), "  \\xff x\n       ^\n");
}

TEST(ExcerptTest, NeverCutsACharacter) {
  std::string line;
  for (int i = 0; i < 100; ++i) line += "\xe2\x82\xac";
  for (size_t column = 100; column < 112; ++column) {
    const std::string excerpt = Excerpt(line, 1, column);
    EXPECT_EQ(excerpt.find("\\x"), std::string::npos) << excerpt;
  }
}

}  // namespace
}  // namespace graphnet
