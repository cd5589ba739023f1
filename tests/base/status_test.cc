#include "graphnet/base/status.h"

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "graphnet/base/without_exceptions.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

TEST(PrintableTest, EscapesWhatIsNotOneCleanLineOfText) {
  using namespace std::string_literals;
  const std::pair<std::string, std::string> cases[] = {
      {"", ""},
      {"relu_1", "relu_1"},
      {"a\nb\tc\r", "a\\nb\\tc\\x0d"},
      {"nul\0."s, "nul\\x00."},
      {"\x1b[31m", "\\x1b[31m"},
      {"\x7f", "\\x7f"},
      // UTF-8 of two, three and four bytes is shown.
      {"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"},
      {"\xc2\xa0", "\xc2\xa0"},
      // C1 controls are escaped, up to U+009F.
      {"\xc2\x80\xc2\x9f", "\\xc2\\x80\\xc2\\x9f"},
      // Invalid UTF-8 is escaped: a lone continuation, a cut sequence, overlong ones, a
      // surrogate, a code point above U+10FFFF, bytes that never occur.
      {"\x80", "\\x80"},
      {"\xe2\x82", "\\xe2\\x82"},
      {"\xc0\xaf", "\\xc0\\xaf"},
      {"\xe0\x80\xaf", "\\xe0\\x80\\xaf"},
      {"\xf0\x80\x80\xaf", "\\xf0\\x80\\x80\\xaf"},
      {"\xed\xa0\x80", "\\xed\\xa0\\x80"},
      {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
      {"\xff\xfe", "\\xff\\xfe"},
      // Separators of lines and paragraphs and directions of writing are escaped.
      {"\xe2\x80\xa8\xe2\x80\xa9", "\\xe2\\x80\\xa8\\xe2\\x80\\xa9"},
      {"\xe2\x80\xae", "\\xe2\\x80\\xae"},
      {"\xe2\x81\xa6\xe2\x81\xa9", "\\xe2\\x81\\xa6\\xe2\\x81\\xa9"},
      {"\xe2\x80\x8f\xd8\x9c", "\\xe2\\x80\\x8f\\xd8\\x9c"},
      // The neighbours of these code points are shown.
      {"\xe2\x80\xa7\xe2\x80\xaf\xe2\x81\xa5\xe2\x81\xaa",
       "\xe2\x80\xa7\xe2\x80\xaf\xe2\x81\xa5\xe2\x81\xaa"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(Printable(text), expected);
}

TEST(PrintableTest, CutsLongText) {
  EXPECT_EQ(Printable("abcde", 5), "abcde");
  EXPECT_EQ(Printable("abcdef", 5), "abcde...");
  EXPECT_EQ(Printable("ab\n\n\n", 3), "ab\\n...");
  // The cut is never inside a character.
  EXPECT_EQ(Printable("\xe2\x82\xac\xe2\x82\xac", 1), "\xe2\x82\xac...");
}

TEST(ErrorAtTest, LeavesOutWhatIsUnknown) {
  const absl::StatusCode code = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(ErrorAt("a.py", 3, 7, "expected a name"),
              StatusIs(code, "a.py:3:7: expected a name"));
  EXPECT_THAT(ErrorAt("a.py", 3, 0, "m"), StatusIs(code, "a.py:3: m"));
  EXPECT_THAT(ErrorAt("a.py", 0, 7, "m"), StatusIs(code, "a.py: m"));
  EXPECT_THAT(ErrorAt("a\n.py", 1, 1, "b\nc"), StatusIs(code, "a\\n.py:1:1: b\\nc"));
}

TEST(PlaceOfTest, IsWhatErrorAtWasGiven) {
  const auto place = [](const absl::Status& status) {
    const std::optional<ErrorPlace> at = PlaceOf(status);
    return !at.has_value()
               ? "none"
               : at->file + "," + std::to_string(at->line) + "," + std::to_string(at->column);
  };
  const absl::Status status = ErrorAt("C:a\n.py", 3, 7, "m");
  EXPECT_EQ(place(status), "C:a\\n.py,3,7");
  EXPECT_EQ(place(Annotate(Annotate(status, "b:1:2"), "c")), "C:a\\n.py,3,7");
  EXPECT_EQ(place(ErrorAt("a.py", 0, 7, "m")), "a.py,0,0");
  EXPECT_EQ(place(absl::InvalidArgumentError("a.py:3:7: m")), "none");
  EXPECT_EQ(place(absl::OkStatus()), "none");
  absl::Status other = absl::InternalError("m");
  SetPlace({"b.py", 1}, &other);
  EXPECT_EQ(place(other), "b.py,1,0");
}

TEST(AnnotateTest, PrefixesErrorsOnly) {
  EXPECT_OK(Annotate(absl::OkStatus(), "context"));
  EXPECT_THAT(Annotate(absl::NotFoundError("no file"), "read\ning"),
              StatusIs(absl::StatusCode::kNotFound, "read\\ning: no file"));
}

absl::StatusOr<int> Half(int n) {
  if (n % 2 != 0) return absl::OutOfRangeError("odd");
  return n / 2;
}

absl::StatusOr<std::string> Quarter(int n) {
  ASSIGN_OR_RETURN(const int half, Half(n));
  int quarter = 0;
  ASSIGN_OR_RETURN(quarter, Half(half));
  RETURN_IF_ERROR(quarter > 100 ? absl::InternalError("big") : absl::OkStatus());
  return std::to_string(quarter);
}

TEST(MacrosTest, ReturnTheFirstError) {
  EXPECT_THAT(Quarter(12), IsOkAndHolds("3"));
  EXPECT_THAT(Quarter(6), StatusIs(absl::StatusCode::kOutOfRange, "odd"));
  EXPECT_THAT(Quarter(404), StatusIs(absl::StatusCode::kInternal, "big"));
}

absl::StatusOr<std::unique_ptr<int>> Made() { return std::make_unique<int>(7); }

absl::Status Moves(int* out) {
  ASSIGN_OR_RETURN(const std::unique_ptr<int> p, Made());
  *out = *p;
  return absl::OkStatus();
}

TEST(MacrosTest, MoveTheValue) {
  int out = 0;
  EXPECT_OK(Moves(&out));
  EXPECT_EQ(out, 7);
}

TEST(WithoutExceptionsTest, ReturnsWhatIsThrown) {
  const auto half = [](int n) -> absl::StatusOr<int> {
    if (n == 1) throw std::runtime_error("odd");
    if (n < 0) throw n;
    return n / 2;
  };
  EXPECT_THAT(WithoutExceptions([&] { return half(4); }), IsOkAndHolds(2));
  EXPECT_THAT(WithoutExceptions([&] { return half(1); }),
              StatusIs(absl::StatusCode::kResourceExhausted, "odd"));
  EXPECT_THAT(WithoutExceptions([&] { return half(-1); }),
              StatusIs(absl::StatusCode::kInternal, "something without words was thrown"));
}

}  // namespace
}  // namespace graphnet
