// What protects a message Sample: its first four fields, which tell what it is,
// of which version, how long, and its checksum.
#ifndef GRAPHNET_FORMATS_PROTOBUF_ENVELOPE_H_
#define GRAPHNET_FORMATS_PROTOBUF_ENVELOPE_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace graphnet::proto_internal {

// Puts the envelope of the current version before `payload`, the other fields.
// `payload` is below 2 GiB.
std::string Wrap(absl::string_view payload);

// The payload of `bytes`, a view of them. Refuses what is not a sample, newer
// than this program, incomplete, too long or damaged.
absl::StatusOr<absl::string_view> Unwrap(absl::string_view bytes);

// Whether the magic is there; its ten bytes are enough to tell.
bool HasMagic(absl::string_view bytes);
inline constexpr size_t kMagicBytes = 10;

// The checksum in an envelope that Unwrap accepts.
uint32_t EnvelopeChecksum(absl::string_view bytes);

uint32_t Crc32(absl::string_view bytes, uint32_t start = 0);

}  // namespace graphnet::proto_internal

#endif  // GRAPHNET_FORMATS_PROTOBUF_ENVELOPE_H_
