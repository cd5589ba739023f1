// The protobuf reader. What is accepted verifies, and serialises to bytes that
// read back as the same sample.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/string_view.h"
#include "graphnet/ir/equality.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/proto/sample_proto.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace graphnet;  // NOLINT
  const auto sample =
      DeserializeSample(absl::string_view(reinterpret_cast<const char*>(data), size), "fuzz");
  if (!sample.ok()) return 0;
  absl::Status status = Verify(*sample->module);
  const auto bytes = SerializeSample(*sample);
  status.Update(bytes.status());
  if (status.ok()) {
    const auto back = DeserializeSample(*bytes, "fuzz");
    status = back.ok() ? CheckEqual(*sample, *back) : back.status();
  }
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    std::abort();
  }
  return 0;
}
