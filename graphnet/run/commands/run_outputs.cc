#include "graphnet/run/commands/run_outputs.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graphnet/base/status.h"
#include "graphnet/command/messages.h"
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
  WriteOutput(bytes);
  return absl::OkStatus();
}

Report OutputsReport(const TensorValues& outputs) {
  Report report;
  Table table = {{"name"}, {"dtype"}, {"shape"}};
  for (const std::string& name : NamesInOrder(outputs)) {
    const TensorData& data = outputs.at(name);
    table.Add({name, DTypeShortName(data.dtype), Json::List(data.shape)});
    report.Say(absl::StrCat(name, "  ", DTypeShortName(data.dtype), "[",
                            absl::StrJoin(data.shape, ", "), "]"));
  }
  report.Add("outputs", std::move(table));
  return report;
}

}  // namespace graphnet
