#include "graphnet/formats/protobuf/envelope.h"

#include <zlib.h>

#include "absl/strings/str_cat.h"
#include "graphnet/base/check.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/version.h"
#include "graphnet/formats/protobuf/graphnet.pb.h"

namespace graphnet::proto_internal {
namespace {

// Field 1, bytes, of eight.
constexpr absl::string_view kMagic = "\x0a\x08graphnet";
static_assert(kMagic.size() == kMagicBytes);
constexpr char kVersionTag = 0x10;   // Field 2, a varint.
constexpr char kSizeTag = 0x1d;      // Field 3, four bytes.
constexpr char kChecksumTag = 0x25;  // Field 4, four bytes.
constexpr uint64_t kNewest = proto::VERSION_2026_11_21;
static_assert(kNewest == kProtobufVersion);

void AppendFixed32(uint32_t value, std::string* out) {
  for (int shift = 0; shift < 32; shift += 8) out->push_back(static_cast<char>(value >> shift));
}

// Takes bytes off the front; false if there are not enough of them.
class Cursor {
 public:
  explicit Cursor(absl::string_view bytes) : rest_(bytes) {}

  bool Tag(char tag) {
    if (rest_.empty() || rest_[0] != tag) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool Varint(uint64_t* value) {
    *value = 0;
    for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_[0]);
      rest_.remove_prefix(1);
      *value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }
  bool Fixed32(uint32_t* value) {
    if (rest_.size() < 4) return false;
    *value = 0;
    for (int i = 0; i < 4; ++i) {
      *value |= static_cast<uint32_t>(static_cast<unsigned char>(rest_[i])) << (8 * i);
    }
    rest_.remove_prefix(4);
    return true;
  }
  absl::string_view rest() const { return rest_; }

 private:
  absl::string_view rest_;
};

}  // namespace

uint32_t Crc32(absl::string_view bytes, uint32_t start) {
  if (bytes.empty()) return start;  // zlib takes a null address for a new beginning.
  return static_cast<uint32_t>(
      crc32_z(start, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
}

bool HasMagic(absl::string_view bytes) { return bytes.substr(0, kMagic.size()) == kMagic; }

std::string Wrap(absl::string_view payload) {
  CHECK(payload.size() <= kMaxProtoBytes);
  std::string out;
  out.reserve(payload.size() + 32);
  out.append(kMagic.data(), kMagic.size());
  out.push_back(kVersionTag);
  out.push_back(static_cast<char>(kNewest));
  static_assert(kNewest < 0x80);
  out.push_back(kSizeTag);
  AppendFixed32(static_cast<uint32_t>(payload.size()), &out);
  const uint32_t checksum = Crc32(payload, Crc32(out));
  out.push_back(kChecksumTag);
  AppendFixed32(checksum, &out);
  out.append(payload.data(), payload.size());
  return out;
}

absl::StatusOr<absl::string_view> Unwrap(absl::string_view bytes) {
  const auto fail = [](absl::string_view what) { return absl::InvalidArgumentError(what); };
  if (!HasMagic(bytes)) return fail("not a graphnet sample in protobuf form");
  if (bytes.size() > kMaxProtoBytes) return fail("2 GiB or more, the limit of protobuf");
  Cursor cursor(bytes.substr(kMagic.size()));
  uint64_t version = 0;
  if (!cursor.Tag(kVersionTag) || !cursor.Varint(&version) || version == 0) {
    return fail("damaged: no version of the format");
  }
  if (version > kNewest) {
    return fail(absl::StrCat("written by graphnet format version ", version,
                             "; this program reads up to ", kNewest));
  }
  uint32_t size = 0;
  uint32_t checksum = 0;
  if (!cursor.Tag(kSizeTag) || !cursor.Fixed32(&size)) return fail("damaged: no size");
  const absl::string_view head = bytes.substr(0, bytes.size() - cursor.rest().size());
  if (!cursor.Tag(kChecksumTag) || !cursor.Fixed32(&checksum)) return fail("damaged: no checksum");
  const absl::string_view payload = cursor.rest();
  if (payload.size() < size) {
    return fail(absl::StrCat("truncated: ", payload.size(), " of ", size, " bytes"));
  }
  if (payload.size() > size) {
    return fail(absl::StrCat("damaged: ", payload.size() - size, " bytes after the end"));
  }
  if (Crc32(payload, Crc32(head)) != checksum) return fail("damaged: its checksum is wrong");
  return payload;
}

uint32_t EnvelopeChecksum(absl::string_view bytes) {
  Cursor cursor(bytes.substr(kMagic.size()));
  uint64_t version = 0;
  uint32_t value = 0;
  CHECK(cursor.Tag(kVersionTag) && cursor.Varint(&version));
  CHECK(cursor.Tag(kSizeTag) && cursor.Fixed32(&value));
  CHECK(cursor.Tag(kChecksumTag) && cursor.Fixed32(&value));
  return value;
}

}  // namespace graphnet::proto_internal
