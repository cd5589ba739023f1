#include "graphnet/formats/archive/zip_writer.h"

#include <memory>
#include <string>
#include <vector>

#include "graphnet/formats/archive/zip_reader.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

TEST(ZipWriter, ReadsBackWhatItWrites) {
  std::string bytes;
  ZipWriter zip(&bytes);
  zip.Add("m/a", "some text");
  zip.Add("m/empty", "");
  zip.Add("m/data/long name", std::string(1000, '\0'));
  ASSERT_OK(zip.Finish());
  auto read = ZipReader::Open(bytes, "a.zip");
  ASSERT_OK(read);
  EXPECT_OK(read->VerifyAll());
  ASSERT_EQ(read->entries().size(), 3u);
  EXPECT_EQ(read->entries()[2].name, "m/data/long name");
  for (const ZipEntry& entry : read->entries()) EXPECT_EQ(entry.offset % 64, 0u);
  EXPECT_EQ(*read->Read(read->entries()[0]), "some text");
  EXPECT_EQ(*read->Read(read->entries()[2]), std::string(1000, '\0'));
}

TEST(ZipWriter, WritesAnEmptyArchive) {
  std::string bytes;
  ASSERT_OK(ZipWriter(&bytes).Finish());
  EXPECT_OK(ZipReader::Open(bytes, "a.zip").status());
}

TEST(ZipWriter, CountsMoreEntriesThanAPlainEndRecord) {
  std::string bytes;
  ZipWriter zip(&bytes);
  constexpr int kEntries = 65535;  // too many for the count in a plain end record
  for (int i = 0; i < kEntries; ++i) zip.Add(std::to_string(i), "");
  ASSERT_OK(zip.Finish());
  const auto read = ZipReader::Open(bytes, "a.zip");
  ASSERT_OK(read);
  EXPECT_EQ(read->entries().size(), size_t{kEntries});
}

TEST(ZipWriter, PartsMakeTheSameEntryAsTheWhole) {
  const std::string content = "some text in parts";
  std::string whole, in_parts;
  ZipWriter by_whole(&whole), by_parts(&in_parts);
  by_whole.Add("m/none", "");
  by_parts.Add("m/none", std::vector<SharedBytes>());
  by_whole.Add("m/a", content);
  const SharedBytes bytes = std::make_shared<const std::string>(content);
  by_parts.Add("m/a", {bytes.Part(0, 5), bytes.Part(5, 0), bytes.Part(5, content.size() - 5)});
  ASSERT_OK(by_whole.Finish());
  ASSERT_OK(by_parts.Finish());
  EXPECT_EQ(in_parts, whole);
}

TEST(ZipWriter, ASinkGetsTheSameBytes) {
  std::string expected, sent;
  ZipWriter by_string(&expected);
  ZipWriter by_sink([&](absl::string_view part) {
    sent.append(part.data(), part.size());
    return absl::OkStatus();
  });
  for (ZipWriter* zip : {&by_string, &by_sink}) {
    zip->Add("m/a", "some text");
    zip->Add("m/b", std::string(100, 'b'));
    ASSERT_OK(zip->Finish());
  }
  EXPECT_EQ(sent, expected);
}

TEST(ZipWriter, NothingIsSentAfterAnError) {
  int calls = 0;
  ZipWriter zip([&](absl::string_view part) {
    ++calls;
    return part == "full" ? absl::ResourceExhaustedError("no space") : absl::OkStatus();
  });
  zip.Add("m/a", "some text");
  const SharedBytes bytes = std::make_shared<const std::string>("fullness");
  zip.Add("m/b", {bytes.Part(0, 4), bytes.Part(4, 4)});
  EXPECT_EQ(calls, 4);
  zip.Add("m/c", "more");
  EXPECT_THAT(zip.Finish(), StatusIs(absl::StatusCode::kResourceExhausted, "no space"));
  EXPECT_EQ(calls, 4);
}

}  // namespace
}  // namespace graphnet
