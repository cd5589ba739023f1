#include "graphnet/cli/table.h"

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace graphnet {
namespace {

std::string Printed(const std::vector<TableRow>& rows, bool last_is_text) {
  std::FILE* const file = std::tmpfile();
  PrintTable(rows, last_is_text, file);
  std::string text(static_cast<size_t>(std::ftell(file)), ' ');
  std::rewind(file);
  EXPECT_EQ(std::fread(text.data(), 1, text.size(), file), text.size());
  std::fclose(file);
  return text;
}

TEST(TableTest, ColumnsAreAsWideAsTheirWidestCell) {
  const std::vector<TableRow> rows = {{"name", "n", "what"}, {"a", "1000", "x"}};
  EXPECT_EQ(Printed(rows, /*last_is_text=*/false),
            "name     n  what\n"
            "a     1000     x\n");
  EXPECT_EQ(Printed(rows, /*last_is_text=*/true),
            "name     n  what\n"
            "a     1000  x\n");
}

TEST(TableTest, BytesAreInTheUnitThatFits) {
  EXPECT_EQ(BytesText(0), "0 bytes");
  EXPECT_EQ(BytesText(1023), "1023 bytes");
  EXPECT_EQ(BytesText(1024), "1.0 KiB");
  EXPECT_EQ(BytesText(int64_t{3} << 19), "1.5 MiB");
}

TEST(TableTest, CellsOfCsvAreQuotedWhereTheyMustBe) {
  EXPECT_EQ(CsvLine({"a", "b c", "1,2", "say \"x\"", "two\nlines", ""}),
            "a,b c,\"1,2\",\"say \"\"x\"\"\",\"two\nlines\",\n");
  // Texts are no formulas, and numbers stay numbers.
  EXPECT_EQ(CsvLine({"=1+1", "+x", "-1+x", "@SUM(A1)", "\t=1", "=\"a\",b"}),
            "'=1+1,'+x,'-1+x,'@SUM(A1),'\t=1,\"'=\"\"a\"\",b\"\n");
  EXPECT_EQ(CsvLine({"-1", "+2.5", "-1e-3", "-inf", "a=1", "1-2"}), "-1,+2.5,-1e-3,-inf,a=1,1-2\n");
}

}  // namespace
}  // namespace graphnet
