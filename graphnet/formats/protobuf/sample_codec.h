// Between a Sample and the message Sample without its envelope.
#ifndef GRAPHNET_FORMATS_PROTOBUF_SAMPLE_CODEC_H_
#define GRAPHNET_FORMATS_PROTOBUF_SAMPLE_CODEC_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graphnet/formats/protobuf/graphnet.pb.h"
#include "graphnet/ir/sample.h"

namespace graphnet::proto_internal {

// The module must verify. `unfolded` is set to what the message unfolds to,
// which its reader bounds by UnfoldLimit.
absl::Status EncodeSample(const Sample& sample, proto::Sample* message, uint64_t* unfolded);

// `bytes` is the size of the message in serialised form. The result verifies.
absl::StatusOr<Sample> DecodeSample(const proto::Sample& message, size_t bytes);
// Ditto, with the limit itself to what the message may unfold to.
absl::StatusOr<Sample> DecodeSampleWithLimit(const proto::Sample& message, uint64_t limit);

}  // namespace graphnet::proto_internal

#endif  // GRAPHNET_FORMATS_PROTOBUF_SAMPLE_CODEC_H_
