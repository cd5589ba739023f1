// The envelope protects a message Sample. It consists of the first four fields: magic, version,
// size and checksum.
#ifndef GRAPHNET_FORMATS_PROTOBUF_ENVELOPE_H_
#define GRAPHNET_FORMATS_PROTOBUF_ENVELOPE_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace graphnet::proto_internal {

// Puts the envelope of the current version before `payload`, the other fields, which must take at
// most kMaxProtoBytes.
std::string Wrap(absl::string_view payload);

// Returns the payload as a view of `bytes`. InvalidArgument if they are not a sample, or are newer
// than this program, incomplete, too long or damaged.
absl::StatusOr<absl::string_view> Unwrap(absl::string_view bytes);

// Returns whether the bytes begin with the magic. The first kMagicBytes of them suffice.
bool HasMagic(absl::string_view bytes);
inline constexpr size_t kMagicBytes = 10;

// Returns the checksum in an envelope that Unwrap accepts.
uint32_t EnvelopeChecksum(absl::string_view bytes);

// Returns the checksum of `bytes` after bytes whose checksum is `start`.
uint32_t Crc32(absl::string_view bytes, uint32_t start = 0);

}  // namespace graphnet::proto_internal

#endif  // GRAPHNET_FORMATS_PROTOBUF_ENVELOPE_H_
