#include "graphnet/formats/protobuf/sample_proto.h"

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "google/protobuf/arena.h"
#include "graphnet/base/file.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/protobuf/budget.h"
#include "graphnet/formats/protobuf/envelope.h"
#include "graphnet/formats/protobuf/graphnet.pb.h"
#include "graphnet/formats/protobuf/sample_codec.h"
#include "graphnet/formats/safetensors/safetensors.h"

namespace graphnet {
namespace {

using proto_internal::Crc32;

// The file of weights. Both numbers are 0 if there is none.
struct Weights {
  uint64_t bytes = 0;
  uint32_t checksum = 0;
};

// Protobuf's limit, less the room for the envelope.
constexpr size_t kMaxPayloadBytes = kMaxProtoBytes - 64;

absl::Status TooLarge(size_t bytes) {
  return absl::ResourceExhaustedError(
      absl::StrCat("the sample takes ", bytes, " bytes, more than protobuf allows"));
}

using Encoder = absl::Status (*)(const Sample& sample, proto::Sample* message, uint64_t* unfolded);

absl::StatusOr<std::string> Serialize(const Sample& sample, const Weights* weights,
                                      bool embeds = false,
                                      Encoder encode = proto_internal::EncodeSample) {
  proto::Sample message;
  uint64_t unfolded = 0;
  RETURN_IF_ERROR(encode(sample, &message, &unfolded));
  const size_t bare_size = message.ByteSizeLong();
  if (embeds && !sample.weights.empty()) {
    // Check the size before the weights take memory.
    size_t bytes = bare_size;
    for (const auto& [name, data] : sample.weights) bytes += data.bytes->size();
    if (bytes > kMaxPayloadBytes) return TooLarge(bytes);
    ASSIGN_OR_RETURN(*message.mutable_embedded_weights(), SerializeSafetensors(sample.weights));
  }
  if (weights != nullptr) {
    message.mutable_weights()->set_bytes(weights->bytes);
    message.mutable_weights()->set_checksum(weights->checksum);
  }
  const size_t size = message.ByteSizeLong();
  if (size > kMaxPayloadBytes) return TooLarge(size);
  if (unfolded > proto_internal::UnfoldLimit(bare_size)) {
    return absl::ResourceExhaustedError(absl::StrCat("the sample shares so much that ", bare_size,
                                                     " bytes unfold to ", unfolded,
                                                     ", which no reader accepts"));
  }
  std::string payload;
  if (!message.SerializeToString(&payload)) return absl::InternalError("protobuf failed to write");
  return proto_internal::Wrap(payload);
}

absl::StatusOr<Sample> ParseChecked(absl::string_view bytes, bool with_embedded, Weights* weights) {
  ASSIGN_OR_RETURN(const absl::string_view payload, proto_internal::Unwrap(bytes));
  google::protobuf::Arena arena;
  proto::Sample& message = *google::protobuf::Arena::CreateMessage<proto::Sample>(&arena);
  if (!message.ParseFromArray(payload.data(), static_cast<int>(payload.size()))) {
    return absl::InvalidArgumentError("not a protobuf message Sample");
  }
  weights->bytes = message.weights().bytes();
  weights->checksum = message.weights().checksum();
  const std::string& embedded = message.embedded_weights();
  ASSIGN_OR_RETURN(Sample sample,
                   proto_internal::DecodeSample(message, payload.size() - embedded.size()));
  if (embedded.empty()) return sample;
  if (weights->bytes > 0)
    return absl::InvalidArgumentError("it has weights both inside and in a file beside it");
  if (with_embedded) {
    ASSIGN_OR_RETURN(sample.weights, ParseSafetensors(embedded, "embedded_weights"));
  }
  return sample;
}

absl::StatusOr<Sample> Parse(absl::string_view bytes, absl::string_view name, bool with_embedded,
                             Weights* weights) {
  absl::StatusOr<Sample> sample = ParseChecked(bytes, with_embedded, weights);
  if (!sample.ok()) return ErrorAt(name, 0, 0, sample.status().message());
  return sample;
}

// Adds the next part of the file to its size and checksum.
void Count(absl::string_view part, Weights* weights) {
  weights->bytes += part.size();
  weights->checksum = Crc32(part, weights->checksum);
}

// Returns the name that the weights have until their sample is in place.
std::string OwnWeightsPath(const std::string& sample_path, const Weights& weights) {
  return absl::StrCat(WeightsPath(sample_path), ".", absl::Hex(weights.checksum, absl::kZeroPad8),
                      ".tmp");
}

}  // namespace

absl::StatusOr<std::string> SerializeSample(const Sample& sample) {
  return Serialize(sample, nullptr);
}

absl::StatusOr<std::string> SerializeGraph(const Sample& sample) {
  return Serialize(sample, nullptr, /*embeds=*/false, proto_internal::EncodeGraph);
}

absl::StatusOr<std::string> SerializeSampleWithWeights(const Sample& sample) {
  return Serialize(sample, nullptr, /*embeds=*/true);
}

absl::StatusOr<Sample> DeserializeSample(absl::string_view bytes, absl::string_view name) {
  Weights weights;
  return Parse(bytes, name, /*with_embedded=*/true, &weights);
}

absl::Status WriteSampleFile(const Sample& sample, const std::string& path) {
  if (sample.weights.empty()) {
    ASSIGN_OR_RETURN(const std::string bytes, Serialize(sample, nullptr));
    return WriteFileAtomic(path, bytes);
  }
  if (path == "-" || absl::StartsWith(path, "/dev/")) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": the sample has weights, which need a file beside it"));
  }
  Weights weights;
  RETURN_IF_ERROR(StreamSafetensors(sample.weights, [&](absl::string_view part) {
    Count(part, &weights);
    return absl::OkStatus();
  }));
  ASSIGN_OR_RETURN(const std::string bytes, Serialize(sample, &weights));
  // Both files are on disk before a name changes. The weights have a name of their own until the
  // sample is in place, so that the old pair or the new one can be read at any moment.
  const std::string own_name = OwnWeightsPath(path, weights);
  const auto write_weights = [&](const ByteSink& sink) {
    return StreamSafetensors(sample.weights, sink);
  };
  ASSIGN_OR_RETURN(StagedFile weights_file, StagedFile::Write(own_name, write_weights));
  ASSIGN_OR_RETURN(StagedFile file, StagedFile::Write(path, bytes));
  RETURN_IF_ERROR(weights_file.Commit());
  absl::Cleanup remove = [&] { std::remove(own_name.c_str()); };
  RETURN_IF_ERROR(file.Commit());
  std::move(remove).Cancel();
  const std::string weights_path = WeightsPath(path);
  if (std::rename(own_name.c_str(), weights_path.c_str()) == 0) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat("cannot create ", Printable(weights_path, 1000), ": ", std::strerror(errno)));
}

absl::StatusOr<Sample> ReadSampleFile(const std::string& path, bool with_weights) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path, kMaxProtoBytes));
  Weights weights;
  ASSIGN_OR_RETURN(Sample sample, Parse(bytes, path, with_weights, &weights));
  if (!with_weights || weights.bytes == 0) return sample;
  std::string weights_path = WeightsPath(path);
  // This name is left by a program that was killed before it could rename the file.
  if (std::string own_name = OwnWeightsPath(path, weights); FileExists(own_name))
    weights_path = std::move(own_name);
  Weights seen;
  auto tensors =
      ReadSafetensorsFile(weights_path, [&](absl::string_view part) { Count(part, &seen); });
  if (!tensors.ok() && !absl::IsInvalidArgument(tensors.status())) return tensors.status();
  if (!tensors.ok() || seen.bytes != weights.bytes || seen.checksum != weights.checksum) {
    return ErrorAt(weights_path, 0, 0,
                   absl::StrCat("not the weights that ", Printable(BaseName(path)),
                                " was written with, or damaged"));
  }
  sample.weights = *std::move(tensors);
  return sample;
}

std::string WeightsPath(absl::string_view sample_path) {
  return absl::StrCat(absl::StripSuffix(sample_path, ".pb"), ".safetensors");
}

bool LooksLikeSample(absl::string_view bytes) { return proto_internal::HasMagic(bytes); }

}  // namespace graphnet
