// Reads and writes many samples in one file, one at a time, so that a data set need not fit in
// memory.
//
//   SampleWriter writer(&out);
//   for (…) RETURN_IF_ERROR(writer.Write(sample));
//   RETURN_IF_ERROR(writer.Finish());
//
//   SampleReader reader(&in, "all.pbs");
//   while (true) {
//     ASSIGN_OR_RETURN(std::optional<Sample> sample, reader.Next());
//     if (!sample) break;
//     …
//   }
//
// Each sample is its size as a varint and then its serialised form, as protobuf delimits messages.
// After the last one come a size of 0, the number of samples in eight bytes, and a CRC-32 of their
// checksums and that number in four, all little-endian. So a file that was cut or lacks a sample is
// not mistaken for a shorter one. Weights are not part of the stream.
#ifndef GRAPHNET_FORMATS_PROTOBUF_SAMPLE_STREAM_H_
#define GRAPHNET_FORMATS_PROTOBUF_SAMPLE_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <istream>
#include <optional>
#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

class SampleWriter {
 public:
  // `out` must outlive the writer.
  explicit SampleWriter(std::ostream* out) : out_(out) {}
  SampleWriter(const SampleWriter&) = delete;
  SampleWriter& operator=(const SampleWriter&) = delete;

  // Appends a sample. If it cannot be serialised, the stream stays as it was.
  absl::Status Write(const Sample& sample);
  // Appends bytes that SerializeSample returned. Others are refused and leave the stream as it was.
  absl::Status WriteSerialized(absl::string_view bytes);
  // Ends the stream. A reader of a stream without this end fails. No other call may follow.
  absl::Status Finish();

  uint64_t num_samples() const { return num_samples_; }

 private:
  absl::Status Put(absl::string_view bytes);

  std::ostream* const out_;
  uint64_t num_samples_ = 0;
  uint32_t checksum_ = 0;
  bool finished_ = false;
};

class SampleReader {
 public:
  // `in` must outlive the reader. Messages call it `name`.
  SampleReader(std::istream* in, absl::string_view name) : in_(in), name_(name) {}
  SampleReader(const SampleReader&) = delete;
  SampleReader& operator=(const SampleReader&) = delete;

  // Returns the next sample; nullopt after the last. After an error, every call fails.
  absl::StatusOr<std::optional<Sample>> Next();
  // Like Next, but returns the serialised form and checks only its envelope.
  absl::StatusOr<std::optional<std::string>> NextSerialized();

  uint64_t num_samples() const { return num_samples_; }

 private:
  absl::Status Fail(absl::string_view what);
  bool ReadBytes(size_t count, std::string* out);
  absl::StatusOr<std::optional<std::string>> ReadEnd();

  std::istream* const in_;
  const std::string name_;
  uint64_t num_samples_ = 0;
  uint32_t checksum_ = 0;
  bool at_end_ = false;
  bool failed_ = false;
};

// Returns whether the bytes begin like a stream with at least one sample. The first 20 suffice.
bool LooksLikeSampleStream(absl::string_view bytes);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_PROTOBUF_SAMPLE_STREAM_H_
