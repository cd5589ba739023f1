// Samples in protobuf form: the format that graphnet itself reads and writes.
//
//   ASSIGN_OR_RETURN(Sample sample, ReadSampleFile("resnet18.pb", /*with_weights=*/true));
//   …
//   RETURN_IF_ERROR(WriteSampleFile(sample, "smaller.pb"));
//
// A sample reads back exactly as it was written: names, order, floats to the bit. Equal samples
// give equal bytes. Reading trusts nothing. A file that is truncated, damaged, newer than this
// program or made to exhaust it is refused with one line that says so. Modules that are returned
// verify.
//
// sample_stream.h puts many samples in one file. graphnet.proto and docs/protobuf.md describe the
// format.
#ifndef GRAPHNET_FORMATS_PROTOBUF_SAMPLE_PROTO_H_
#define GRAPHNET_FORMATS_PROTOBUF_SAMPLE_PROTO_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// Returns the bytes of a sample without its weights. The module must verify (ir/verifier.h).
// ResourceExhausted if the sample exceeds protobuf's limit of 2 GiB, or shares so much that no
// reader would accept it.
absl::StatusOr<std::string> SerializeSample(const Sample& sample);

// Like SerializeSample, but leaves out where the graph came from: the name, graph_net.json, the
// provenance and the locations of nodes. Graphs that are equal with all names of their values have
// equal bytes wherever they came from.
absl::StatusOr<std::string> SerializeGraph(const Sample& sample);

// Like SerializeSample, but includes the weights in the form of a safetensors file. The errors are
// those of SerializeSample and SerializeSafetensors.
absl::StatusOr<std::string> SerializeSampleWithWeights(const Sample& sample);

// Returns the sample, with the weights that the bytes include, if any. Messages call the input
// `name`, such as its path.
absl::StatusOr<Sample> DeserializeSample(absl::string_view bytes, absl::string_view name);

// Writes `path` and, if the sample has weights, the safetensors file beside it: both or neither. At
// any moment, even after a kill, ReadSampleFile reads the old pair or the new one.
absl::Status WriteSampleFile(const Sample& sample, const std::string& path);

// With `with_weights`, also reads the weights: those in the file, or the file of weights that was
// written with it. NotFound if that file is gone, InvalidArgument if it has changed.
absl::StatusOr<Sample> ReadSampleFile(const std::string& path, bool with_weights);

// Returns "dir/resnet18.safetensors" for "dir/resnet18.pb".
std::string WeightsPath(absl::string_view sample_path);

// Returns whether the bytes begin like a sample in this form. The first ten suffice.
bool LooksLikeSample(absl::string_view bytes);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_PROTOBUF_SAMPLE_PROTO_H_
