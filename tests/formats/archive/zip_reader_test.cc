#include "graphnet/formats/archive/zip_reader.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/shared_bytes.h"
#include "graphnet/formats/archive/stored_archive.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"
#include "tests/formats/archive/zip_builder.h"

namespace graphnet {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

using Contents = std::map<std::string, std::string>;

// Opens, verifies and reads everything.
absl::StatusOr<Contents> ReadAll(const std::string& bytes) {
  absl::StatusOr<ZipReader> zip = ZipReader::Open(bytes, "a.zip");
  if (!zip.ok()) return zip.status();
  if (absl::Status status = zip->VerifyAll(); !status.ok()) return status;
  Contents contents;
  for (const ZipEntry& entry : zip->entries()) {
    absl::StatusOr<std::string> content = zip->Read(entry);
    if (!content.ok()) return content.status();
    contents[std::string(entry.name)] = *std::move(content);
  }
  return contents;
}

void ExpectRefused(const ZipSpec& spec, const std::string& message) {
  EXPECT_THAT(ReadAll(MakeZip(spec)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)));
}

// Returns an archive with one entry of each kind that writers make.
ZipSpec Mixed() {
  return {
      .files = {
          {.name = "m/stored", .content = "hello", .padded = true},
          {.name = "m/deflated", .content = std::string(300, 'x'), .deflated = true},
          {.name = "m/pytorch", .content = "abc", .descriptor = 16, .padded = true, .flags = 0x800},
          {.name = "m/described",
           .content = std::string(99, 'y'),
           .deflated = true,
           .descriptor = 24},
          {.name = "m/empty"},
      }};
}

TEST(ZipReaderTest, ReadsArchivesOfUsualWriters) {
  const Contents expected = {{"m/stored", "hello"},
                             {"m/deflated", std::string(300, 'x')},
                             {"m/pytorch", "abc"},
                             {"m/described", std::string(99, 'y')},
                             {"m/empty", ""}};
  ZipSpec spec = Mixed();
  EXPECT_THAT(ReadAll(MakeZip(spec)), IsOkAndHolds(expected));
  spec.zip64 = true;
  EXPECT_THAT(ReadAll(MakeZip(spec)), IsOkAndHolds(expected));
  EXPECT_THAT(ReadAll(MakeZip({})), IsOkAndHolds(Contents()));
}

TEST(ZipReaderTest, ReadsArchivesOfOtherTools) {
  // Comments, times, owners and other fields, and folders.
  ZipSpec spec = Mixed();
  for (ZipFileSpec& file : spec.files) {
    file.comment = "of an entry";
    file.extra = "UX" + Bytes(2, 2) + "12" + Bytes(0xCAFE, 2) + Bytes(0, 2);
  }
  spec.files.insert(spec.files.begin(), {.name = "m/", .deflated = true, .comment = "a folder"});
  for (size_t size : {1, 21, 22, 23, 1000, 65535}) {
    for (bool zip64 : {false, true}) {
      spec.comment = std::string(size, 'c');
      spec.zip64 = zip64;
      const absl::StatusOr<Contents> contents = ReadAll(MakeZip(spec));
      ASSERT_OK(contents) << size;
      EXPECT_EQ(contents->size(), 6u);
      EXPECT_EQ(contents->at("m/deflated"), std::string(300, 'x'));
    }
  }
}

TEST(ZipReaderTest, StoresWhatIsDeflated) {
  ZipSpec spec = Mixed();
  const auto stored = [](const ZipSpec& spec) {
    return StoredArchive(SharedBytes(std::make_shared<const std::string>(MakeZip(spec))), "a.zip");
  };
  const absl::StatusOr<SharedBytes> archive = stored(spec);
  ASSERT_OK(archive);
  EXPECT_EQ(ReadAll(std::string(**archive)).value(), ReadAll(MakeZip(spec)).value());
  const absl::StatusOr<ZipReader> zip = ZipReader::Open(**archive, "a.zip");
  ASSERT_OK(zip);
  for (const ZipEntry& entry : zip->entries()) EXPECT_FALSE(entry.deflated);
  // Nothing is copied without need.
  for (ZipFileSpec& file : spec.files) file.deflated = false;
  const SharedBytes plain(std::make_shared<const std::string>(MakeZip(spec)));
  const absl::StatusOr<SharedBytes> same = StoredArchive(plain, "a.zip");
  ASSERT_OK(same);
  EXPECT_EQ(*same, plain);
  spec.files[1].deflated = true;
  spec.files[1].crc = 1;
  EXPECT_THAT(stored(spec),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("m/deflated: wrong CRC")));
}

TEST(ZipReaderTest, ReadsEveryFormOfDataDescriptor) {
  for (int bytes : {12, 16, 20, 24}) {
    EXPECT_THAT(ReadAll(MakeZip({.files = {{.name = "a", .content = "b", .descriptor = bytes}}})),
                IsOkAndHolds(Contents({{"a", "b"}})))
        << bytes;
  }
}

TEST(ZipReaderTest, FindsAndViewsEntries) {
  const std::string bytes = MakeZip(Mixed());
  absl::StatusOr<ZipReader> zip = ZipReader::Open(bytes, "a.zip");
  ASSERT_OK(zip);
  EXPECT_EQ(zip->entries().size(), 5u);
  EXPECT_EQ(zip->Find("stored"), nullptr);
  const ZipEntry* stored = zip->Find("m/stored");
  ASSERT_NE(stored, nullptr);
  EXPECT_EQ(stored->size, 5u);
  EXPECT_EQ(stored->offset % 64, 0u);
  const absl::StatusOr<absl::string_view> view = zip->View(*stored);
  ASSERT_OK(view);
  EXPECT_EQ(view->data(), bytes.data() + stored->offset);
  EXPECT_THAT(
      zip->View(*zip->Find("m/deflated")),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is deflated, but must be stored")));
}

TEST(ZipReaderTest, ChecksTheCrcOfEveryContent) {
  ExpectRefused({.files = {{.name = "a", .content = "b", .crc = 1}}}, "a.zip: a: wrong CRC");
  ExpectRefused({.files = {{.name = "a", .content = "b", .deflated = true, .crc = 1}}},
                "a.zip: a: wrong CRC");
  const std::string bytes = MakeZip({.files = {{.name = "a", .content = "b", .crc = 1}}});
  absl::StatusOr<ZipReader> zip = ZipReader::Open(bytes, "a.zip");
  ASSERT_OK(zip);
  EXPECT_THAT(zip->View(zip->entries()[0]), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(zip->Read(zip->entries()[0]), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(ZipReaderTest, RefusesNamesThatAreNotPlainRelativePaths) {
  for (const auto& [name, message] : std::vector<std::pair<std::string, std::string>>{
           {"", "the name is empty"},
           {"/a", "absolute"},
           {"../a", "component . or .."},
           {"a/../b", "component . or .."},
           {"a/..", "component . or .."},
           {"./a", "component . or .."},
           {"a//b", "empty component"},
           {"a\\b", "backslash"},
           {std::string("a\0b", 3), "NUL"},
           {"a\xff", "not UTF-8"},
           {"a\xc0\xaf", "not UTF-8"},
           {"\xed\xa0\x80", "not UTF-8"},
       }) {
    ExpectRefused({.files = {{.name = name, .flags = 0x800}}}, message);
  }
  // Without the flag for UTF-8, the meaning of bytes beyond ASCII depends on the writer's locale.
  ExpectRefused({.files = {{.name = "\xc3\xa4"}}}, "not marked as UTF-8");
  EXPECT_OK(ReadAll(MakeZip({.files = {{.name = "\xc3\xa4", .flags = 0x800}}})));
}

TEST(ZipReaderTest, MessagesAreOneCleanLine) {
  EXPECT_THAT(ReadAll(MakeZip({.files = {{.name = "a\n\x1b[31m//b", .flags = 0x800}}})),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       ::testing::Not(::testing::AnyOf(HasSubstr("\n"), HasSubstr("\x1b")))));
}

TEST(ZipReaderTest, RefusesDuplicateNames) {
  ExpectRefused({.files = {{.name = "a", .content = "1"}, {.name = "a", .content = "2"}}},
                "a.zip: a: occurs twice");
}

TEST(ZipReaderTest, RefusesLinksAndOddFolders) {
  ExpectRefused({.files = {{.name = "a", .content = "/etc", .attributes = 0xA1FF0000}}},
                "symbolic link");
  ExpectRefused({.files = {{.name = "a", .attributes = 0x21FF0000}}}, "neither a file");
  ExpectRefused({.files = {{.name = "a", .attributes = 0x41FF0000}}}, "neither a file");
  ExpectRefused({.files = {{.name = "a/", .content = "x"}}}, "folder with data");
  EXPECT_OK(ReadAll(MakeZip({.files = {{.name = "a/", .attributes = 0x41ED0000},
                                       {.name = "a/b", .attributes = 0x81A40000}}})));
}

TEST(ZipReaderTest, RefusesOtherMethodsAndFlags) {
  ExpectRefused({.files = {{.name = "a", .content = "b", .method = 12}}}, "method 12");
  ExpectRefused({.files = {{.name = "a", .content = "b", .flags = 1}}}, "encrypted");
  ExpectRefused({.files = {{.name = "a", .content = "b", .flags = 0x40}}}, "flags");
  // This field gives the entry another name in readers that know it.
  ExpectRefused({.files = {{.name = "a", .extra = "up" + Bytes(0, 2)}}}, "not supported");
  ExpectRefused({.files = {{.name = "a", .extra = "FB" + Bytes(9, 2)}}}, "cut short");
  ExpectRefused({.files = {{.name = "a", .extra = Bytes(1, 2) + Bytes(8, 2) + Bytes(7, 8)}}},
                "zip64");
}

TEST(ZipReaderTest, RefusesHeadersThatDiffer) {
  ExpectRefused({.files = {{.name = "a", .content = "b", .local_name = "c"}}}, "differ");
  ExpectRefused({.files = {{.name = "a", .content = "b", .local_crc = 5}}}, "differ in CRC");
  ExpectRefused({.files = {{.name = "a", .content = "b", .local_size = 5}}}, "differ in size");
  ExpectRefused({.files = {{.name = "a", .content = "b", .local_flags = 0x800}}}, "differ");
  ExpectRefused({.files = {{.name = "a", .content = "b", .size = 2}}}, "two different sizes");
  ExpectRefused({.files = {{.name = "a",
                            .content = "b",
                            .local_extra = Bytes(1, 2) + Bytes(8, 2) + Bytes(7, 8)}}},
                "differ in size");
  // The descriptor has a size other than the directory's.
  std::string bytes = MakeZip({.files = {{.name = "a", .content = "bcd", .descriptor = 16}}});
  bytes[30 + 1 + 3 + 8] = 2;
  EXPECT_THAT(ReadAll(bytes),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("descriptor")));
}

TEST(ZipReaderTest, RefusesRecordsThatTheDirectoryDoesNotList) {
  ExpectRefused(
      {.files = {{.name = "a", .content = "1"}, {.name = "b", .content = "2", .unlisted = true}}},
      "belong to no entry");
  ExpectRefused(
      {.files = {{.name = "b", .content = "2", .unlisted = true}, {.name = "a", .content = "1"}}},
      "before the first entry");
  ExpectRefused({.files = {{.name = "a"}}, .before_files = "#!"}, "before the first entry");
  ExpectRefused({.files = {{.name = "a"}}, .after_files = "x"}, "belong to no entry");
  ExpectRefused({.files = {{.name = "a"}}, .after_directory = "x"}, "end record");
  ExpectRefused({.files = {{.name = "a"}}, .after_end = "x"}, "no end record");
  ExpectRefused({.files = {{.name = "a"}}, .entries = 0}, "not a header");
  ExpectRefused({.files = {{.name = "a"}}, .entries = 2}, "missing");
  ExpectRefused({.files = {{.name = "a"}}, .directory_offset = 0}, "end record");
}

TEST(ZipReaderTest, RefusesASecondArchiveInTheComment) {
  // Some readers take the last end record, others the first one that fits its comment.
  const std::string inner = MakeZip({.files = {{.name = "evil"}}});
  ExpectRefused({.files = {{.name = "a"}}, .comment = inner}, "");
  ExpectRefused({.files = {{.name = "a"}}, .comment = "xPK\5\6"}, "no end record");
  ExpectRefused({.files = {{.name = "a"}}, .comment = "PK\5\6" + std::string(100, 'x')},
                "no end record");
  // Inside an entry, the archive is just data.
  EXPECT_OK(ReadAll(MakeZip({.files = {{.name = "a", .content = inner}}})));
}

TEST(ZipReaderTest, RefusesOverlappingEntries) {
  ExpectRefused({.files = {{.name = "a", .content = "1"}, {.name = "b", .offset = 0}}}, "overlaps");
  // The second entry lies in the content of the first.
  const std::string inner =
      "PK\3\4" + Bytes(20, 2) + Bytes(0, 20) + Bytes(1, 2) + Bytes(0, 2) + "b";
  ExpectRefused({.files = {{.name = "a", .content = inner}, {.name = "b", .offset = 31}}},
                "overlaps");
  ExpectRefused({.files = {{.name = "a", .content = "1", .size = 100, .compressed_size = 100}}},
                "overlaps");
}

TEST(ZipReaderTest, RefusesZipBombs) {
  // 10 MB that are declared as 1000 bytes, 1000 bytes that are declared as 2000, a size beyond what
  // deflate can give, and one beyond the limit.
  const std::string large(10 << 20, '\0');
  ExpectRefused({.files = {{.name = "a", .content = large, .deflated = true, .size = 1000}}},
                "more than the declared 1000");
  ExpectRefused(
      {.files = {{.name = "a", .content = std::string(1000, 'a'), .deflated = true, .size = 2000}}},
      "not the 2000 declared");
  ExpectRefused({.files = {{.name = "a", .content = "b", .deflated = true, .size = 1 << 20}}},
                "more bytes than it can inflate to");
}

TEST(ZipReaderTest, RefusesDamagedDeflatedData) {
  ExpectRefused({.files = {{.name = "a", .content = "\xff\xff", .size = 2, .method = 8}}},
                "damaged");
  // Other bytes follow a whole stream.
  ExpectRefused({.files = {{.name = "a",
                            .content = Deflate("hello") + "x",
                            .crc = CrcOf("hello"),
                            .size = 5,
                            .method = 8}}},
                "followed by other bytes");
}

TEST(ZipReaderTest, LimitsTheSizeOfDeflatedEntries) {
  // The content is wrong, which Open does not check.
  const auto open = [](uint64_t size) {
    const std::string bytes = MakeZip(
        {.files = {{.name = "a", .content = std::string(270000, 'a'), .size = size, .method = 8}}});
    return ZipReader::Open(bytes, "a.zip").status();
  };
  EXPECT_OK(open(kMaxDeflatedRecordBytes - 1));
  EXPECT_OK(open(kMaxDeflatedRecordBytes));
  EXPECT_THAT(open(kMaxDeflatedRecordBytes + 1),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr(" bytes and deflated by more than 4 times")));
}

TEST(ZipReaderTest, LimitsTheSizeOfAllContents) {
  const auto open = [](uint64_t size_of_last) {
    ZipSpec spec;
    constexpr uint64_t kCount = kMaxArchiveBytes / kMaxDeflatedRecordBytes;
    for (uint64_t i = 0; i < kCount + 1; ++i) {
      spec.files.push_back({.name = absl::StrCat(i),
                            .content = std::string(270000, 'a'),
                            .size = i < kCount - 1 ? kMaxDeflatedRecordBytes
                                    : i < kCount   ? kMaxDeflatedRecordBytes - 2
                                                   : size_of_last,
                            .method = 8});
    }
    const std::string bytes = MakeZip(spec);
    return ZipReader::Open(bytes, "a.zip").status();
  };
  EXPECT_OK(open(1));
  EXPECT_OK(open(2));
  EXPECT_THAT(open(3),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("the contents exceed")));
}

TEST(ZipReaderTest, LimitsTheNumberOfEntries) {
  ZipSpec spec;
  for (uint64_t i = 0; i < kMaxArchiveEntries - 1; ++i) {
    spec.files.push_back({.name = absl::StrCat(i)});
  }
  EXPECT_OK(ReadAll(MakeZip(spec)));
  spec.files.push_back({.name = "x"});
  EXPECT_OK(ReadAll(MakeZip(spec)));
  spec.zip64 = true;
  EXPECT_OK(ReadAll(MakeZip(spec)));
  spec.files.push_back({.name = "y"});
  ExpectRefused(spec, "more than 65535 entries");
}

TEST(ZipReaderTest, LimitsTheLengthOfNames) {
  // The format allows no more than 65535 bytes, one less than the limit.
  EXPECT_OK(ReadAll(
      MakeZip({.files = {{.name = std::string(65534, 'a')}, {.name = std::string(65535, 'a')}}})));
}

TEST(ZipReaderTest, RefusesEveryPrefix) {
  for (bool zip64 : {false, true}) {
    ZipSpec spec = Mixed();
    spec.zip64 = zip64;
    const std::string bytes = MakeZip(spec);
    for (size_t size = 0; size < bytes.size(); ++size) {
      // The buffer has exactly this size, so that a sanitizer sees reads beyond it.
      const std::vector<char> prefix(bytes.data(), bytes.data() + size);
      ASSERT_THAT(ZipReader::Open(absl::string_view(prefix.data(), size), "a.zip"),
                  StatusIs(absl::StatusCode::kInvalidArgument, StartsWith("a.zip: ")))
          << size;
    }
  }
}

TEST(ZipReaderTest, NoFlippedBitChangesAContent) {
  for (bool zip64 : {false, true}) {
    ZipSpec spec = Mixed();
    spec.zip64 = zip64;
    std::string bytes = MakeZip(spec);
    const absl::StatusOr<Contents> expected = ReadAll(bytes);
    ASSERT_OK(expected);
    int accepted = 0;
    for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
      const absl::StatusOr<Contents> contents = ReadAll(bytes);
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
      if (!contents.ok()) continue;
      ++accepted;
      ASSERT_EQ(*contents, *expected) << "bit " << bit;
    }
    // Only bits of times, versions, padding and so on may change unnoticed.
    EXPECT_LT(accepted, static_cast<int>(4 * bytes.size()));
  }
}

}  // namespace
}  // namespace graphnet
