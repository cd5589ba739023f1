// Samples in protobuf form: the format that graphnet itself reads and writes.
//
//   ASSIGN_OR_RETURN(Sample sample, ReadSampleFile("resnet18.pb", /*with_weights=*/true));
//   …
//   RETURN_IF_ERROR(WriteSampleFile(sample, "smaller.pb"));
//
// What is written is read back exactly: names, order, floats to the bit. Equal
// samples give equal bytes. Reading trusts nothing: a file that is truncated,
// damaged, newer than this program or out to exhaust it is refused with one
// line that says so, and a module that is returned verifies.
//
// Many samples in one file: sample_stream.h. The format: graphnet.proto and
// docs/protobuf.md.
#ifndef GRAPHNET_FORMATS_PROTOBUF_SAMPLE_PROTO_H_
#define GRAPHNET_FORMATS_PROTOBUF_SAMPLE_PROTO_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// The sample without its weights. The module must verify (ir/verifier.h);
// ResourceExhausted for a sample that protobuf's limit of 2 GiB does not allow.
absl::StatusOr<std::string> SerializeSample(const Sample& sample);

// The sample with its weights in it, as a safetensors file is; errors are those of SerializeSample
// and of SerializeSafetensors.
absl::StatusOr<std::string> SerializeSampleWithWeights(const Sample& sample);

// The sample, with the weights that are in the bytes, if any. `name` is what messages call the
// input, such as its path.
absl::StatusOr<Sample> DeserializeSample(absl::string_view bytes, absl::string_view name);

// Writes `path` and, if the sample has weights, the safetensors file beside it: both or
// neither. At any moment ReadSampleFile reads the old pair or the new one, also after a kill.
absl::Status WriteSampleFile(const Sample& sample, const std::string& path);

// With `with_weights`, also reads the weights that are in the file, or the file of weights that the
// sample was written with, which then must be there and be the same.
absl::StatusOr<Sample> ReadSampleFile(const std::string& path, bool with_weights);

// "dir/resnet18.pb" -> "dir/resnet18.safetensors".
std::string WeightsPath(absl::string_view sample_path);

// Whether the bytes are a sample in this form, by their beginning; how their
// file is named does not matter.
bool LooksLikeSample(absl::string_view bytes);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_PROTOBUF_SAMPLE_PROTO_H_
