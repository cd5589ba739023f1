// Converts between a Sample and the message Sample without its envelope.
#ifndef GRAPHNET_FORMATS_PROTOBUF_SAMPLE_CODEC_H_
#define GRAPHNET_FORMATS_PROTOBUF_SAMPLE_CODEC_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graphnet/formats/protobuf/graphnet.pb.h"
#include "graphnet/ir/sample.h"

namespace graphnet::proto_internal {

// Returns an error if the module does not verify. Sets `unfolded` to the cost that the message
// unfolds to, which a reader bounds by UnfoldLimit.
absl::Status EncodeSample(const Sample& sample, proto::Sample* message, uint64_t* unfolded);
// Like EncodeSample, but leaves out where the graph came from: the name, graph_net.json, the
// provenance and the locations of nodes.
absl::Status EncodeGraph(const Sample& sample, proto::Sample* message, uint64_t* unfolded);

// Returns a sample whose module verifies. `bytes` is the size of the serialised message.
absl::StatusOr<Sample> DecodeSample(const proto::Sample& message, size_t bytes);
// Like DecodeSample, but takes the limit to the cost that the message may unfold to.
absl::StatusOr<Sample> DecodeSampleWithLimit(const proto::Sample& message, uint64_t limit);

}  // namespace graphnet::proto_internal

#endif  // GRAPHNET_FORMATS_PROTOBUF_SAMPLE_CODEC_H_
