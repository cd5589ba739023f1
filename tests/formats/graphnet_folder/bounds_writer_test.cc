#include "graphnet/formats/graphnet_folder/bounds_writer.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "graphnet/formats/graphnet_folder/record_places.h"
#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

using ::testing::HasSubstr;

const Argument kNone;
const Argument kZero(int64_t{0});
const Argument kTiny(1e-6);

// Returns a record as GraphNet's extractor writes it, with the fields `last` at its end.
std::string Record(const std::string& name, const std::string& last = "") {
  return absl::StrCat("class Program_weight_tensor_meta_", name, ":\n\tname = \"", name,
                      "\"\n\tshape = [2]\n\tdtype = \"torch.float32\"\n\tdevice = \"cuda:0\"\n",
                      "\tmean = 0.500\n\tstd = 1.000\n\tdata = None\n", last);
}

std::string With(const std::string& text, const std::string& name, Argument min, Argument max) {
  const auto written = WithBounds(text, "weight_meta.py", {{name, {min, max}}});
  EXPECT_OK(written);
  return written.value_or("");
}

TEST(WithBoundsTest, WritesAfterTheOtherFields) {
  const std::string text = absl::StrCat(Record("a"), "\n\n", Record("b"), "\n\n", Record("c"));
  EXPECT_EQ(With(text, "b", kZero, kNone),
            absl::StrCat(Record("a"), "\n\n", Record("b", "\tmin_val = 0\n"), "\n\n", Record("c")));
  EXPECT_EQ(With(Record("a"), "a", kTiny, Argument(2.5)),
            Record("a", "\tmin_val = 0.000001\n\tmax_val = 2.500000\n"));
}

TEST(WithBoundsTest, ReplacesABound) {
  EXPECT_EQ(With(Record("a", "\tmin_val = -1  # why\n\tmax_val = (3)\n"), "a", kZero, kNone),
            Record("a", "\tmin_val = 0  # why\n\tmax_val = (3)\n"));
  EXPECT_EQ(With(Record("a", "\tmin_val = -1\n\tmax_val = (\n    3\n)\n"), "a", kNone, kZero),
            Record("a", "\tmin_val = -1\n\tmax_val = 0\n"));
  EXPECT_EQ(With(Record("a", "\tmax_val = 3\n"), "a", kZero, kNone),
            Record("a", "\tmin_val = 0\n\tmax_val = 3\n"));
  EXPECT_EQ(With(Record("a", "\tmax_val = 3\n"), "a", kZero, kTiny),
            Record("a", "\tmin_val = 0\n\tmax_val = 0.000001\n"));
}

TEST(WithBoundsTest, KeepsTheEndsOfLines) {
  const std::string returns = absl::StrReplaceAll(Record("a"), {{"\n", "\r\n"}});
  EXPECT_EQ(With(returns, "a", kZero, kNone), returns + "\tmin_val = 0\r\n");
  std::string unfinished = Record("a");
  unfinished.pop_back();
  EXPECT_EQ(With(unfinished, "a", kZero, kNone), unfinished + "\n\tmin_val = 0");
  const std::string commented = absl::StrCat(Record("a", "\tmin_val = None # none\n"), "# end\n");
  EXPECT_EQ(With(commented, "a", kNone, kZero),
            absl::StrCat(Record("a", "\tmin_val = None # none\n\tmax_val = 0\n"), "# end\n"));
}

// People and formatters spell one record in many ways.
TEST(WithBoundsTest, TakesAnySpellingOfARecord) {
  const std::string head = "class Program_weight_tensor_meta_L_v_:\n    ";
  const std::string rest = "\n    shape = [2]\n    dtype = \"torch.float32\"\n    device = \"cpu\"";
  for (const char* name : {
           "name = \"L_v_\"",
           "name = 'L_v_'",
           "name = (\n        \"L_v_\"\n    )",
           "name = (  # long\n        'L_v_'  # as it is\n    )",
           "name = ((\"L_v_\"))",
           "name = \"L_\" \"v_\"",
           "name = (\n        \"L_\"\n        'v_'\n    )",
           "name = \"L\\x5fv_\"",
           "name = \\\n    \"L_v_\"",
           "name=\"L_v_\"",
       }) {
    const std::string record = absl::StrCat(head, name, rest);
    EXPECT_EQ(With(record + "\n", "L_v_", kZero, kNone), record + "\n    min_val = 0\n");
    EXPECT_EQ(
        With(record + "\n    min_val = (\n        None\n    )  # free\n", "L_v_", kZero, kNone),
        record + "\n    min_val = 0  # free\n");
  }
}

// Bounds go after the last value, even if it takes many lines.
TEST(WithBoundsTest, WritesAfterAValueOfManyLines) {
  const std::string record =
      "class Program_weight_tensor_meta_a:\n  name = 'a'\n  data = [\n    1.0,\n    2.0,\n  ]";
  EXPECT_EQ(With(record + "  # two\n", "a", kZero, kTiny),
            record + "  # two\n  min_val = 0\n  max_val = 0.000001\n");
}

// A bound keeps the name that it has in older samples of Paddle.
TEST(WithBoundsTest, KeepsOlderNamesOfBounds) {
  EXPECT_EQ(With(Record("a", "\tlow = 1\n\thigh = 5\n"), "a", kZero, kTiny),
            Record("a", "\tlow = 0\n\thigh = 0.000001\n"));
}

TEST(FindRecordsTest, FindsThePlacesOfFields) {
  const std::string text =
      "# min_val = 1\nclass Program_weight_tensor_meta_a:\n  name = (\n    'a'\n  )\n  min_val = "
      "2\n";
  const auto records = FindRecords(text, "weight_meta.py");
  ASSERT_OK(records);
  ASSERT_EQ(records->size(), 1u);
  const FieldPlace* const field = (*records)[0].Find("min_val");
  ASSERT_NE(field, nullptr);
  EXPECT_EQ(field->line, 6u);
  EXPECT_EQ(text.substr(field->value, field->end - field->value), "2");
  EXPECT_EQ((*records)[0].Find("std"), nullptr);
}

TEST(WithBoundsTest, RefusesUnknownNamesAndBadText) {
  EXPECT_THAT(WithBounds(Record("a"), "weight_meta.py", {{"b", {kZero, kNone}}}).status().message(),
              HasSubstr("no record is named b"));
  EXPECT_THAT(WithBounds("x = 1\n", "weight_meta.py", {}).status().message(),
              HasSubstr("weight_meta.py:1:1: expected a class"));
}

}  // namespace
}  // namespace graphnet
