// Any bytes as a configuration of a decomposition, JSON or protobuf: refused with one line,
// or written in both forms and read back to the same.
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/check.h"
#include "graphnet/decompose/config.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace graphnet;  // NOLINT
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const auto parse : {ParseDecomposeConfigJson, DeserializeDecomposeConfig}) {
    const auto config = parse(bytes, "fuzz");
    if (!config.ok()) {
      CHECK(config.status().message().find('\n') == absl::string_view::npos);
      continue;
    }
    PortNames ports(*config);
    for (size_t i = 0; i < config->subgraphs.size(); ++i) ports.Next();
    const auto binary = DeserializeDecomposeConfig(SerializeDecomposeConfig(*config), "binary");
    CHECK(binary.ok());
    CHECK(*binary == *config);
    const auto json = WriteDecomposeConfigJson(*config);
    if (absl::IsUnimplemented(json.status())) continue;  // names that are not UTF-8
    CHECK(json.ok());
    const auto text = ParseDecomposeConfigJson(*json, "json");
    CHECK(text.ok());
    CHECK(*text == *config);
  }
  return 0;
}
