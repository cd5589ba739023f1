#include "graphnet/formats/protobuf/envelope.h"

#include <gtest/gtest.h>

#include <string>

#include "graphnet/formats/protobuf/graphnet.pb.h"

namespace graphnet::proto_internal {
namespace {

std::string Error(const std::string& bytes) {
  return std::string(Unwrap(bytes).status().message());
}

TEST(EnvelopeTest, RoundTrips) {
  for (const std::string& payload : {std::string(), std::string("x"), std::string(100000, '\0')}) {
    const std::string bytes = Wrap(payload);
    EXPECT_EQ(bytes.size(), payload.size() + 22);
    absl::StatusOr<absl::string_view> unwrapped = Unwrap(bytes);
    ASSERT_TRUE(unwrapped.ok()) << unwrapped.status();
    EXPECT_EQ(*unwrapped, payload);
  }
}

// The envelope consists of fields, so that any protobuf program can read a whole file.
TEST(EnvelopeTest, IsProtobuf) {
  proto::Sample inner;
  inner.set_name("resnet18");
  const std::string bytes = Wrap(inner.SerializeAsString());
  proto::Sample message;
  ASSERT_TRUE(message.ParseFromString(bytes));
  EXPECT_EQ(message.magic(), "graphnet");
  EXPECT_EQ(message.version(), 1u);
  EXPECT_EQ(message.size(), 10u);
  EXPECT_EQ(message.checksum(), EnvelopeChecksum(bytes));
  EXPECT_EQ(message.name(), "resnet18");
  EXPECT_EQ(message.SerializeAsString(), bytes);
}

TEST(EnvelopeTest, SaysWhatIsWrong) {
  const std::string good = Wrap("payload");
  EXPECT_EQ(Error(""), "not a graphnet sample in protobuf form");
  EXPECT_EQ(Error("PK\x03\x04 something else"), "not a graphnet sample in protobuf form");
  EXPECT_EQ(Error(good.substr(0, 10)), "damaged: no version of the format");
  EXPECT_EQ(Error(good.substr(0, 11)), "damaged: no version of the format");
  EXPECT_EQ(Error(good.substr(0, 13)), "damaged: no size");
  EXPECT_EQ(Error(good.substr(0, 20)), "damaged: no checksum");
  EXPECT_EQ(Error(good.substr(0, good.size() - 2)), "truncated: 5 of 7 bytes");
  EXPECT_EQ(Error(good + "xyz"), "damaged: 3 bytes after the end");
  std::string bad = good;
  bad.back() = 'x';
  EXPECT_EQ(Error(bad), "damaged: its checksum is wrong");
  bad = good;
  bad[11] = 0;
  EXPECT_EQ(Error(bad), "damaged: no version of the format");
}

TEST(EnvelopeTest, VersionsAroundTheNewest) {
  std::string bytes = Wrap("payload");
  bytes[11] = 2;
  EXPECT_EQ(Error(bytes), "written by graphnet format version 2; this program reads up to 1");
  // The longest varint has ten bytes.
  bytes = bytes.substr(0, 11) + std::string(9, '\xff') + '\x01' + bytes.substr(12);
  EXPECT_EQ(Error(bytes),
            "written by graphnet format version 18446744073709551615; this program reads up to 1");
  bytes = bytes.substr(0, 11) + std::string(11, '\xff');
  EXPECT_EQ(Error(bytes), "damaged: no version of the format");
}

TEST(EnvelopeTest, MagicIsEnoughToTell) {
  const std::string bytes = Wrap("");
  EXPECT_TRUE(HasMagic(bytes));
  EXPECT_TRUE(HasMagic(bytes.substr(0, kMagicBytes)));
  EXPECT_FALSE(HasMagic(bytes.substr(0, kMagicBytes - 1)));
}

// Tensors without elements may have a null address, which zlib takes for a new beginning.
TEST(EnvelopeTest, NoBytesLeaveAChecksumAsItIs) {
  const uint32_t before = Crc32("abc", 0);
  EXPECT_NE(before, 0u);
  EXPECT_EQ(Crc32(absl::string_view(), before), before);
  EXPECT_EQ(Crc32("", before), before);
}

}  // namespace
}  // namespace graphnet::proto_internal
