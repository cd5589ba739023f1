#include "graphnet/cli/run_outputs.h"

#include <cstdio>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/safetensors/safetensors.h"

namespace graphnet {

std::vector<std::string> NamesInOrder(const TensorValues& outputs) {
  std::vector<std::string> names;
  for (size_t i = 0; outputs.contains(absl::StrCat("o", i)); ++i) {
    names.push_back(absl::StrCat("o", i));
    for (const char* part : {".scales", ".zero_points"}) {
      std::string name = absl::StrCat("o", i, part);
      if (outputs.contains(name)) names.push_back(std::move(name));
    }
  }
  return names;
}

absl::Status WriteOutputs(const TensorValues& outputs, const std::string& path) {
  if (path.empty()) return absl::OkStatus();
  if (path != "-") return WriteSafetensorsFile(outputs, path);
  ASSIGN_OR_RETURN(const std::string bytes, SerializeSafetensors(outputs));
  std::fwrite(bytes.data(), 1, bytes.size(), stdout);
  return absl::OkStatus();
}

void PrintOutputs(const TensorValues& outputs, FILE* out) {
  for (const std::string& name : NamesInOrder(outputs)) {
    const TensorData& data = outputs.at(name);
    std::fprintf(out, "%s  %s[%s]\n", name.c_str(), std::string(DTypeShortName(data.dtype)).c_str(),
                 absl::StrJoin(data.shape, ", ").c_str());
  }
}

Json OutputsJson(const TensorValues& outputs) {
  Json list = Json::List();
  for (const std::string& name : NamesInOrder(outputs)) {
    Json output;
    output["name"] = name;
    output["dtype"] = DTypeShortName(outputs.at(name).dtype);
    output["shape"] = Json::List(outputs.at(name).shape);
    list.push_back(std::move(output));
  }
  return list;
}

}  // namespace graphnet
