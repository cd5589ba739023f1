#include "graphnet/cli/run_outputs.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/safetensors/safetensors.h"

namespace graphnet {

absl::Status WriteOutputs(const TensorValues& outputs, const std::string& path) {
  if (path.empty()) return absl::OkStatus();
  if (path != "-") return WriteSafetensorsFile(outputs, path);
  ASSIGN_OR_RETURN(const std::string bytes, SerializeSafetensors(outputs));
  std::fwrite(bytes.data(), 1, bytes.size(), stdout);
  return absl::OkStatus();
}

void PrintOutputs(const TensorValues& outputs, FILE* out) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const TensorData& data = outputs.at(absl::StrCat("o", i));
    std::fprintf(out, "o%zu  %s[%s]\n", i, std::string(DTypeShortName(data.dtype)).c_str(),
                 absl::StrJoin(data.shape, ", ").c_str());
  }
}

Json OutputsJson(const TensorValues& outputs) {
  Json list = Json::List();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string name = absl::StrCat("o", i);
    Json output;
    output["name"] = name;
    output["dtype"] = DTypeShortName(outputs.at(name).dtype);
    output["shape"] = Json::List(outputs.at(name).shape);
    list.push_back(std::move(output));
  }
  return list;
}

}  // namespace graphnet
