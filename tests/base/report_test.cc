#include "graphnet/base/report.h"

#include <cstdint>
#include <string>
#include <vector>

#include "graphnet/base/json.h"
#include "graphnet/base/status.h"
#include "gtest/gtest.h"

namespace graphnet {
namespace {

TEST(ReportTest, OneReportIsTextAndJsonAndCsv) {
  Table pieces = {{"name", "piece"}, {"start"}, {"bytes", "size"}, {"", "remark"}};
  pieces.Add({"encoder", 0, Cell::Bytes(2048), "large"});
  pieces.Add({"head", 12});
  Report report;
  report.Add("num_nodes", "nodes", 1234567, "in memory");
  report.Add("seconds", 0.5);
  report.Add("name", "name", "x");
  report.Add("pieces", pieces);
  report.Say("2 pieces\nin all");
  report.AddNotes({"one is large"});
  EXPECT_EQ(report.ToText(),
            "  nodes  1,234,567  in memory\n"
            "  name   x\n"
            "piece       size  remark\n"
            "encoder  2.0 KiB  large\n"
            "head           -  -\n"
            "2 pieces\n"
            "in all\n"
            "note: one is large\n");
  EXPECT_EQ(report.ToJson().Dump(-1),
            R"({"num_nodes":1234567,"seconds":0.5,"name":"x","pieces":[)"
            R"({"name":"encoder","start":0,"bytes":2048},{"name":"head","start":12}],)"
            R"("notes":["one is large"]})");
  EXPECT_EQ(report.ToCsv(), "name,start,bytes\nencoder,0,2048\nhead,12,\n");
}

TEST(ReportTest, ReportsHaveParts) {
  Report part;
  part.Add("a", "a", 1);
  Report report;
  report.Add("one", part);
  report.Add("all", std::vector<Report>{part, part});
  report.Add("", part);
  report.Append(part);
  EXPECT_EQ(report.ToText(), "  a  1\n  a  1\n  a  1\n  a  1\n  a  1\n");
  EXPECT_EQ(report.ToJson().Dump(-1), R"({"one":{"a":1},"all":[{"a":1},{"a":1}],"a":1})");
}

TEST(ReportTest, AnEmptyReportSaysNothing) {
  EXPECT_EQ(Report().ToText(), "");
  EXPECT_EQ(Report().ToJson().Dump(-1), "{}");
  EXPECT_EQ(Report().ToCsv(), "");
}

TEST(ReportTest, TonesAreColours) {
  Report report;
  report.Say("right\nall of it", Tone::kGood);
  report.Say("wrong", Tone::kBad);
  report.Say("so so");
  EXPECT_EQ(report.ToText(), "right\nall of it\nwrong\nso so\n");
  EXPECT_EQ(report.ToText(0, /*coloured=*/true),
            "\x1b[32mright\x1b[0m\n\x1b[32mall of it\x1b[0m\n\x1b[31mwrong\x1b[0m\nso so\n");
}

TEST(CellTest, EachKindHasItsText) {
  EXPECT_EQ(Cell().text(), "-");
  EXPECT_EQ(Cell(true).text(), "yes");
  EXPECT_EQ(Cell(7).text(), "7");
  EXPECT_EQ(Cell(-1234).text(), "-1,234");
  EXPECT_EQ(Cell(INT64_MIN).text(), "-9,223,372,036,854,775,808");
  EXPECT_EQ(Cell(-123).text(), "-123");
  EXPECT_EQ(Cell::Bytes(int64_t{3} << 19).text(), "1.5 MiB");
  EXPECT_EQ(Cell::Ms(0.125).text(), "0.12");
  EXPECT_EQ(Cell(0.98765432).text(), "0.9877");
  EXPECT_EQ(Cell("two\nlines").text(), "two\\nlines");
  EXPECT_EQ(Cell(3).As("≥ 3").text(), "≥ 3");
}

// A place is three members, of which those are there that are known.
TEST(CellTest, PlacesAreMembersOfTheirRow) {
  Table table = {{"op", "op"}, {"place", "at"}};
  table.Add({"a", Cell::Place({"model.py", 3, 9})});
  table.Add({"b", Cell::Place({"model.py", 3, 0})});
  table.Add({"c", Cell::Place({})});
  EXPECT_EQ(table.ToJson().Dump(-1), R"([{"op":"a","file":"model.py","line":3,"column":9},)"
                                     R"({"op":"b","file":"model.py","line":3},{"op":"c"}])");
  EXPECT_EQ(table.ToText(), "op  at\na   model.py:3:9\nb   model.py:3\nc   -\n");
  EXPECT_EQ(table.ToCsv(), "op,place\na,model.py:3:9\nb,model.py:3\nc,\n");
}

TEST(TableTest, NumbersAreAlignedToTheRightAndTextsToTheLeft) {
  Table table = {{"", "n"}, {"", "what"}, {"", "right"}, {"", "ms"}};
  table.Add({1000, "äx", true, Cell::Ms(10)});
  table.Add({1, "a", false, Cell()});
  table.AddTotal({Cell(1001), "all of them"});
  EXPECT_EQ(table.ToText(),
            "    n  what         right     ms\n"
            "1,000  äx           yes    10.00\n"
            "    1  a            no         -\n"
            "1,001  all of them  -          -\n");
  EXPECT_EQ(table.ToJson().Dump(-1), "[{},{}]");
}

TEST(TableTest, WithoutRowsThereIsNoText) {
  Table table = {{"name", "name"}, {"count", "count"}};
  EXPECT_EQ(table.ToText(), "");
  EXPECT_EQ(table.ToJson().Dump(-1), "[]");
  EXPECT_EQ(table.ToCsv(), "name,count\n");
}

TEST(TableTest, RowsCanBeMembersByName) {
  Table counts = {{"target"}, {"count", "count"}, {"", "target"}};
  counts.set_form({.by_name = true, .has_head = false, .shown = 1});
  counts.Add({"torch.add", 12, "add"});
  counts.Add({"torch.mul", 3, "mul"});
  counts.Add({"torch.\nsub", 3, "sub"});
  EXPECT_EQ(counts.ToText(), "  12  add\n  … 2 more\n");
  EXPECT_EQ(counts.ToJson().Dump(-1), R"({"torch.add":12,"torch.mul":3,"torch.\nsub":3})");
  counts.AddColumn({"bytes"});
  counts.Add({"torch.div", 1, "div", 8});
  EXPECT_EQ(counts.ToJson().Dump(-1),
            R"({"torch.add":{"count":12},"torch.mul":{"count":3},"torch.\nsub":{"count":3},)"
            R"("torch.div":{"count":1,"bytes":8}})");
}

TEST(TableTest, TextsOfTheLastColumnAreWrapped) {
  Table table = {{"", "n"}, {"", "what"}};
  table.Add({1, "one two three four five six seven eight nine"});
  EXPECT_EQ(table.ToText(40),
            "n  what\n"
            "1  one two three four five six seven\n"
            "     eight nine\n");
  EXPECT_EQ(table.ToText(20), table.ToText()) << "too narrow to wrap";
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
