#include "graphnet/base/shared_bytes.h"

#include <cstdio>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graphnet/base/file.h"
#include "graphnet/base/mapped_file.h"
#include "gtest/gtest.h"
#include "tests/base/peak_memory.h"
#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

constexpr size_t kBytes = size_t{64} << 20;

SharedBytes Mapped(const std::string& path) {
  absl::StatusOr<MappedFile> file = MappedFile::Open(path, kBytes);
  EXPECT_OK(file);
  return std::make_shared<const MappedFile>(*std::move(file));
}

int Sum(absl::string_view bytes) { return std::accumulate(bytes.begin(), bytes.end(), 0); }

TEST(SharedBytes, PartsShareTheOwner) {
  SharedBytes part;
  {
    const SharedBytes whole = std::make_shared<const std::string>("abcdef");
    part = whole.Part(2, 3);
    EXPECT_EQ(part.owner(), whole.owner());
    part.Release();  // Does nothing, as the bytes are not in a file.
  }
  EXPECT_EQ(*part, "cde");
  EXPECT_EQ(SharedBytes(nullptr), nullptr);
}

TEST(SharedBytes, WhatIsReleasedTakesNoMemoryAndIsStillThere) {
  const std::string path = absl::StrCat(testing::TempDir(), "/shared_bytes_test");
  ASSERT_OK(WriteFileAtomic(path, std::string(kBytes, 1)));
  const SharedBytes file = Mapped(path);
  constexpr size_t kPart = kBytes / 64 + 1;  // Not a multiple of a page.
  const auto read = [&](bool release) {
    int sum = 0;
    for (size_t i = 0; i < kBytes; i += kPart) {
      const SharedBytes part = file.Part(i, kPart);
      sum += Sum(*part);
      if (release) part.Release();
    }
    EXPECT_EQ(sum, static_cast<int>(kBytes));
  };
  const std::optional<int64_t> released = PeakGrowth([&] { read(true); });
  const std::optional<int64_t> kept = PeakGrowth([&] { read(false); });
  if (released && kept) {
    EXPECT_LT(*released, int64_t{16} << 20);
    EXPECT_GT(*kept, int64_t{48} << 20);
  }
  file.Part(kBytes - 1, 1).Release();
  file.Part(kBytes, 0).Release();
  EXPECT_EQ(Sum(*file.Part(kBytes - 2, 2)), 2);
  std::remove(path.c_str());
}

}  // namespace
}  // namespace graphnet
