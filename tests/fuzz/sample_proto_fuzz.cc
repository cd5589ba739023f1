// Any bytes as a sample or a stream of samples in protobuf form: refused with
// one clean line, or read so that what is read verifies and is written and read
// back as the same bytes.
//
// The first byte says what the rest is: 0 a file as it is, 1 a stream as it is,
// anything else the content of a file, which gets the envelope that it needs to
// be looked at at all. The seeds are of all three sorts.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <sstream>
#include <string>

#include "absl/strings/string_view.h"
#include "graphnet/base/check.h"
#include "graphnet/formats/protobuf/envelope.h"
#include "graphnet/formats/protobuf/sample_proto.h"
#include "graphnet/formats/protobuf/sample_stream.h"
#include "graphnet/ir/text/equality.h"
#include "graphnet/ir/verifier.h"

namespace {

using graphnet::Sample;

void CheckOneLine(const absl::Status& status) {
  CHECK(status.message().find('\n') == absl::string_view::npos);
}

void CheckSample(const Sample& sample) {
  CHECK(graphnet::Verify(*sample.module).ok());
  const absl::StatusOr<std::string> bytes = graphnet::SerializeSample(sample);
  // Written in another form than the input, it may exceed a limit.
  if (!bytes.ok()) {
    CHECK(absl::IsResourceExhausted(bytes.status()));
    return;
  }
  const absl::StatusOr<Sample> again = graphnet::DeserializeSample(*bytes, "again");
  CHECK(again.ok());
  CHECK(graphnet::CheckEqual(sample, *again).ok());
  CHECK(graphnet::SerializeSample(*again).value() == *bytes);
}

void ReadFile(absl::string_view bytes) {
  (void)graphnet::LooksLikeSample(bytes);
  const absl::StatusOr<Sample> sample = graphnet::DeserializeSample(bytes, "fuzz");
  if (sample.ok()) {
    CheckSample(*sample);
  } else {
    CheckOneLine(sample.status());
  }
}

void ReadStream(absl::string_view bytes) {
  (void)graphnet::LooksLikeSampleStream(bytes);
  std::istringstream in{std::string(bytes)};
  graphnet::SampleReader reader(&in, "fuzz");
  while (true) {
    const absl::StatusOr<std::optional<Sample>> sample = reader.Next();
    if (!sample.ok()) return CheckOneLine(sample.status());
    if (!sample->has_value()) return;
    CheckSample(**sample);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const absl::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] == 0) {
    ReadFile(bytes);
  } else if (data[0] == 1) {
    ReadStream(bytes);
  } else {
    ReadFile(graphnet::proto_internal::Wrap(bytes));
  }
  return 0;
}
