// Tables of source positions, which PyTorch may read or skip.
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "graphnet/formats/torchscript/archive_check.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"
#include "tests/formats/archive/pickle_builder.h"
#include "tests/formats/torchscript/archive_bytes.h"

namespace graphnet {
namespace {

using ::testing::HasSubstr;

using namespace pickle;  // NOLINT: the opcodes

// Returns whether an archive with this table of source positions passes, and may show it to LibTorch.
bool PositionsPass(const std::string& table) {
  Entries entries = Valid();
  entries["code/__torch__/m.py.debug_pkl"] = table;
  const absl::StatusOr<CheckedArchive> checked = CheckTorchScriptArchive(Archive(entries), "m.pt");
  EXPECT_OK(checked);  // A table never refuses an archive.
  if (!checked.ok() || checked->positions.ok()) return checked.ok();
  EXPECT_THAT(checked->positions.message(), HasSubstr("code/__torch__/m.py.debug_pkl: "));
  return false;
}

TEST(ArchiveCheckTest, ChecksTablesOfSourcePositions) {
  const std::string texts = Text("ab") + Text("c");
  EXPECT_TRUE(PositionsPass(DebugTable(texts, DebugRow({0, 1}, 1, 3, 4))));
  for (const std::string& row :
       {DebugRow({2}, 0, 0, 0), DebugRow({-1}, 0, 0, 0), DebugRow({0}, 2, 0, 0),
        DebugRow({0}, 0, -1, 0), DebugRow({0}, 0, 1, 0), DebugRow({0}, 0, 3, 3),
        DebugRow({0}, 0, 0, 4), Int(1), Tuple(Int(0))}) {
    EXPECT_FALSE(PositionsPass(DebugTable(texts, row)));
  }
  EXPECT_FALSE(PositionsPass(Of(Tuple(""))));
  EXPECT_FALSE(PositionsPass(DebugTable(Int(1), "")));
  EXPECT_FALSE(PositionsPass(DebugTable("", Reduce(Global("os", "system"), ")"))));
  EXPECT_FALSE(PositionsPass(Of(Text("FORMAT_OF_TOMORROW") + Tuple("") + "\x86")));
  EXPECT_FALSE(PositionsPass("no pickle at all"));
  Entries entries = Valid();
  entries["code/__torch__/m.py.debug_pkl"] = Of(Int(1));
  EXPECT_THAT(CheckTorchScriptArchive(Archive(entries), "m.pt")->positions.message(),
              HasSubstr(": not a table of source positions as torch.jit.save writes it"));
  EXPECT_FALSE(PositionsPass(""));
}

TEST(ArchiveCheckTest, ChecksFlatTablesOfSourcePositions) {
  // A row of PyTorch 1.4 to 1.9. The tag came in 1.6.
  const auto row = [](const std::string& text, const std::string& file, int64_t begin, int64_t end,
                      const std::string& tag = "") {
    return Tuple(Int(7) + Tuple(Tuple(text + file + Int(1)) + Int(begin) + Int(end)) + tag);
  };
  const auto table = [](const std::string& rows) { return Of(Tuple(rows)); };
  EXPECT_TRUE(PositionsPass(table(row(Text("abc"), Text("m.py"), 0, 3))));
  EXPECT_TRUE(PositionsPass(
      table(row(Text("abc"), None(), 1, 3, Int(0)) + row(Text(""), Text(""), 0, 1, Int(2)))));
  for (const std::string& bad :
       {row(Text("abc"), Text("m.py"), 0, 5), row(Text("abc"), Text("m.py"), 2, 1),
        row(Text("abc"), Text("m.py"), -1, 1), row(Int(0), Text("m.py"), 0, 0),
        row(Text("abc"), Int(0), 0, 0), row(Text("abc"), None(), 0, 0, Text("")), Int(1),
        Tuple("")}) {
    EXPECT_FALSE(PositionsPass(table(row(Text("abc"), None(), 1, 3) + bad)));
  }
  // LibTorch copies the text for each row that shares it.
  std::string rows;
  const std::string text(1 << 20, 'x');
  for (int i = 0; i < 65; ++i) {
    rows += row(i == 0 ? Text(text) + Put(0) : Get(0), None(), 0, 1);
    if (i == 63) {
      EXPECT_TRUE(PositionsPass(table(rows)));
    }
  }
  EXPECT_FALSE(PositionsPass(table(rows)));
}

}  // namespace
}  // namespace graphnet
