// Tests the protobuf form one below, at and one above its limits. sample_codec_test has the codec's
// own limits of nesting, sample_proto_test those of names.

#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graphnet/base/limits.h"
#include "graphnet/formats/protobuf/column.h"
#include "graphnet/formats/protobuf/envelope.h"
#include "graphnet/formats/protobuf/graphnet.pb.h"
#include "graphnet/formats/protobuf/sample_codec.h"
#include "graphnet/formats/protobuf/sample_proto.h"
#include "graphnet/formats/protobuf/sample_stream.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"
#include "tests/formats/protobuf/sample_fixtures.h"

namespace graphnet {
namespace {

using ::testing::HasSubstr;

auto Refused(const std::string& message) {
  return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message));
}

TEST(ProtoLimitsTest, BytesOfAMessage) {
  // Pages of zeros, which take no memory, follow the head of an envelope.
  constexpr size_t kMapped = kMaxProtoBytes + 1;
  void* const mapped = mmap(nullptr, kMapped, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  const std::string head = proto_internal::Wrap("");
  std::memcpy(mapped, head.data(), head.size());
  for (const int delta : {-1, 0, 1}) {
    const size_t size = kMaxProtoBytes + static_cast<size_t>(delta);
    const absl::string_view bytes(static_cast<const char*>(mapped), size);
    EXPECT_THAT(
        DeserializeSample(bytes, "f"),
        Refused(delta <= 0 ? absl::StrCat("damaged: ", size - head.size(), " bytes after the end")
                           : "2 GiB or more, the limit of protobuf"));
  }
  munmap(mapped, kMapped);
}

TEST(ProtoLimitsTest, BytesOfAMessageInAStream) {
  const auto declared = [](uint64_t size) {
    std::string bytes;
    for (; size >= 0x80; size >>= 7) bytes.push_back(static_cast<char>(size | 0x80));
    bytes.push_back(static_cast<char>(size));
    std::istringstream in(bytes);
    return SampleReader(&in, "f").Next().status();
  };
  EXPECT_THAT(declared(kMaxProtoBytes - 1), Refused("truncated: the stream ends within it"));
  EXPECT_THAT(declared(kMaxProtoBytes), Refused("truncated: the stream ends within it"));
  EXPECT_THAT(declared(kMaxProtoBytes + 1), Refused("a size of 2147483648 bytes is too large"));
}

// Only fields that are not a part of the format can nest that deep. They are refused, too, but only
// after protobuf has read them by recursion.
TEST(ProtoLimitsTest, DepthOfAMessage) {
  const auto nested = [](int depth) {
    const size_t n = static_cast<size_t>(depth);
    // These are nested groups of field 127.
    std::string payload;
    for (size_t i = 0; i < n; ++i) payload += "\xfb\x07";
    for (size_t i = 0; i < n; ++i) payload += "\xfc\x07";
    return DeserializeSample(proto_internal::Wrap(payload), "f");
  };
  EXPECT_THAT(nested(kMaxProtoDepth - 1), Refused("a field that this version does not have"));
  EXPECT_THAT(nested(kMaxProtoDepth), Refused("a field that this version does not have"));
  EXPECT_THAT(nested(kMaxProtoDepth + 1), Refused("not a protobuf message Sample"));
  EXPECT_THAT(nested(1000000), Refused("not a protobuf message Sample"));
}

// Decodes the small sample with another shape for its first placeholder. The shape is set after
// encoding, since the writer verifies.
absl::Status WithShape(const std::vector<uint64_t>& sizes) {
  proto::Sample message;
  uint64_t unfolded = 0;
  EXPECT_OK(proto_internal::EncodeSample(MakeSmallSample(), &message, &unfolded));
  proto_internal::Column* metas = message.mutable_module()->mutable_metas();
  metas->Add(1 | 2 << 2);  // a tensor with a shape, and no device
  metas->Add(sizes.size());
  for (const uint64_t size : sizes) metas->Add(size << 1);
  return proto_internal::DecodeSample(message, message.ByteSizeLong()).status();
}

TEST(ProtoLimitsTest, RankOfATensor) {
  EXPECT_OK(WithShape(std::vector<uint64_t>(kMaxRank - 1, 1)));
  EXPECT_OK(WithShape(std::vector<uint64_t>(kMaxRank, 1)));
  EXPECT_THAT(WithShape(std::vector<uint64_t>(kMaxRank + 1, 1)),
              Refused("too many dimensions: 65"));
}

TEST(ProtoLimitsTest, ElementsOfATensor) {
  constexpr uint64_t kMax = kMaxTensorElements;
  EXPECT_OK(WithShape({kMax - 1}));
  EXPECT_OK(WithShape({kMax}));
  EXPECT_OK(WithShape({kMax / 2, 2, 0}));
  for (const std::vector<uint64_t>& shape :
       std::vector<std::vector<uint64_t>>{{kMax + 1}, {kMax, 2}, {0, kMax + 1}, {kMax + 1, 0}}) {
    EXPECT_THAT(WithShape(shape), Refused("too many elements"));
  }
}

}  // namespace
}  // namespace graphnet
