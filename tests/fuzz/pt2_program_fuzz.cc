// Any bytes as the JSON of a program: refused with one line, or a graph that the verifier takes
// and inputs are checked against.
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "graphnet/base/check.h"
#include "graphnet/formats/pt2/importer.h"
#include "graphnet/formats/pt2/input_check.h"
#include "graphnet/ir/verifier.h"
#include "tests/formats/pt2/program_builder.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace graphnet;  // NOLINT
  ArchiveFiles files = ProgramFiles();
  files["models/model.json"].assign(reinterpret_cast<const char*>(data), size);
  const auto sample = ImportPt2(ArchiveOf(files), "fuzz");
  if (!sample.ok()) {
    CHECK(sample.status().message().find('\n') == absl::string_view::npos);
    return 0;
  }
  CHECK(Verify(*sample->module).ok());
  std::map<std::string, TensorData> values;
  for (const Node* node : sample->module->main()->placeholders()) {
    const TensorMeta* const meta = node->tensor_meta();
    TensorData& value = values[std::string(node->target())];
    for (size_t i = 0; meta != nullptr && i < meta->shape.size(); ++i) {
      value.shape.push_back(meta->shape[i].is_static() ? meta->shape[i].value : 3);
    }
  }
  const absl::Status status = CheckProgramInputs(*sample, values);
  CHECK(status.message().find('\n') == absl::string_view::npos);
  return 0;
}
