#include "graphnet/formats/archive/zip_writer.h"

#include <string>
#include <utility>

#include "graphnet/formats/archive/zip_reader.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

TEST(ZipWriter, WhatIsWrittenIsRead) {
  ZipWriter zip;
  zip.Add("m/a", "some text");
  zip.Add("m/empty", "");
  zip.Add("m/data/long name", std::string(1000, '\0'));
  const std::string bytes = std::move(zip).Finish();
  auto read = ZipReader::Open(bytes, "a.zip");
  ASSERT_OK(read);
  EXPECT_OK(read->VerifyAll());
  ASSERT_EQ(read->entries().size(), 3u);
  EXPECT_EQ(read->entries()[2].name, "m/data/long name");
  for (const ZipEntry& entry : read->entries()) EXPECT_EQ(entry.offset % 64, 0u);
  EXPECT_EQ(*read->Read(read->entries()[0]), "some text");
  EXPECT_EQ(*read->Read(read->entries()[2]), std::string(1000, '\0'));
}

TEST(ZipWriter, NothingIsAnArchive) {
  EXPECT_OK(ZipReader::Open(ZipWriter().Finish(), "a.zip").status());
}

TEST(ZipWriter, EntriesOverTheOldLimitAreCounted) {
  ZipWriter zip;
  constexpr int kEntries = 65535;  // of which a plain archive cannot tell how many there are
  for (int i = 0; i < kEntries; ++i) zip.Add(std::to_string(i), "");
  const std::string bytes = std::move(zip).Finish();
  const auto read = ZipReader::Open(bytes, "a.zip");
  ASSERT_OK(read);
  EXPECT_EQ(read->entries().size(), size_t{kEntries});
}

}  // namespace
}  // namespace graphnet
