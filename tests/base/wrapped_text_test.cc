#include "graphnet/base/wrapped_text.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_split.h"

namespace graphnet {
namespace {

TEST(WrapTextTest, SecondColumnsStandBelowEachOther) {
  EXPECT_EQ(WrapText("Options:\n  --to TEXT      what to write, whatever the file is called", 50),
            "Options:\n"
            "  --to TEXT      what to write, whatever the file\n"
            "                 is called");
  EXPECT_EQ(WrapText("  one word after the other", 12),
            "  one word\n    after\n    the\n    other");
}

TEST(WrapTextTest, LinesThatFitStay) {
  const std::string text = "  -h,--help      print\n\n    two  blanks";
  EXPECT_EQ(WrapText(text, 80), text);
}

TEST(WrapTextTest, NoWordIsBrokenAndNoneIsLost) {
  const std::string text =
      "  --format       dot|html|loops|model-explorer|pir|png|python|svg and a few – é – words "
      "more";
  for (size_t width = 1; width < 100; ++width) {
    const std::string wrapped = WrapText(text, width);
    const std::vector<std::string> words = absl::StrSplit(text, ' ', absl::SkipEmpty());
    const std::vector<std::string> found =
        absl::StrSplit(wrapped, absl::ByAnyChar(" \n"), absl::SkipEmpty());
    EXPECT_EQ(found, words) << width;
  }
}

}  // namespace
}  // namespace graphnet
