#include "graphnet/formats/graphnet_folder/reader.h"

#include <sys/stat.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/file.h"
#include "graphnet/base/json.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/graphnet_folder/framework.h"
#include "graphnet/formats/graphnet_folder/parsers.h"
#include "graphnet/ir/verifier.h"

namespace graphnet {
namespace {

constexpr absl::string_view kKnownFiles[] = {"model.py",       "weight_meta.py",
                                             "input_meta.py",  "input_tensor_constraints.py",
                                             "graph_net.json", "graph_hash.txt"};
constexpr size_t kMaxHashBytes = 4096;

// Parses model.py and weight_meta.py, the files that every sample needs.
absl::Status ParseModelAndWeights(const std::string& model_py, const std::string& weight_meta_py,
                                  const std::string& folder, Framework framework, Module* module) {
  // Locations in nodes are relative to the folder, so that a sample does not depend on the folder's
  // path.
  absl::Status status = ParseModelPy(model_py, "model.py", framework, module);
  if (status.ok())
    status =
        ParseMetaPy(weight_meta_py, "weight_meta.py", MetaFile::kWeightMeta, framework, module);
  if (status.ok()) return status;
  const std::string before = absl::StrCat(Printable(folder, 1000), "/");
  absl::Status moved(status.code(), absl::StrCat(before, status.message()));
  if (std::optional<ErrorPlace> place = PlaceOf(status)) {
    place->file = before + place->file;
    SetPlace(*place, &moved);
  }
  return moved;
}

absl::Status CheckAllHaveMetas(const Module& module, const std::string& folder) {
  for (const Node* node : module.main()->nodes()) {
    if (!node->is_placeholder()) break;
    if (node->draw_spec() == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat(Printable(folder, 1000), "/model.py:", node->location().line, ":",
                       node->location().column, ": argument '", Printable(node->target()),
                       "' has no record in weight_meta.py or input_meta.py"));
    }
  }
  return absl::OkStatus();
}

// Returns whether a file is kept with the sample although its content is not parsed, such as the
// source of a custom operator or the record of a decomposition.
bool IsExtraFile(absl::string_view name) {
  static constexpr absl::string_view kEndings[] = {".py", ".json", ".txt", ".md",
                                                   ".cu", ".cc",   ".cpp", ".h"};
  return !absl::StartsWith(name, ".") && !absl::c_linear_search(kKnownFiles, name) &&
         absl::c_any_of(kEndings,
                        [&](absl::string_view ending) { return absl::EndsWith(name, ending); });
}

bool IsLink(const std::string& path) {
  struct stat info;
  return lstat(path.c_str(), &info) == 0 && S_ISLNK(info.st_mode);
}

}  // namespace

bool IsGraphNetFolder(const std::string& path) {
  return FileExists(JoinPath(path, "graph_net.json"));
}

bool IsGraphNetFile(absl::string_view name) { return absl::c_linear_search(kKnownFiles, name); }

absl::StatusOr<std::unique_ptr<Module>> ParseGraphNetModel(const std::string& model_py,
                                                           const std::string& weight_meta_py,
                                                           const std::string& folder) {
  auto module = std::make_unique<Module>();
  RETURN_IF_ERROR(
      ParseModelAndWeights(model_py, weight_meta_py, folder, Framework::kTorch, module.get()));
  RETURN_IF_ERROR(CheckAllHaveMetas(*module, folder));
  RETURN_IF_ERROR(Annotate(Verify(*module), folder));
  return module;
}

absl::StatusOr<Sample> ParseGraphNetFiles(const GraphNetFileMap& files, const std::string& path) {
  static const std::string* const kEmpty = new std::string;
  const auto find = [&](absl::string_view name) -> const std::string* {
    const auto it = files.find(std::string(name));
    return it == files.end() ? nullptr : &it->second;
  };
  for (absl::string_view name : {"graph_net.json", "model.py"}) {
    if (find(name) == nullptr) {
      return absl::NotFoundError(
          absl::StrCat(Printable(path, 1000), ": the sample has no file ", name));
    }
  }
  // The other files may be missing, because older writers did not write them.
  const auto optional = [&](absl::string_view name) -> const std::string& {
    const std::string* content = find(name);
    return content ? *content : *kEmpty;
  };
  Sample sample;
  sample.name = BaseName(path);
  sample.module = std::make_unique<Module>();
  Module* const module = sample.module.get();
  sample.graph_net_json = *find("graph_net.json");
  // The file is empty in GraphNet's own samples for tests.
  Framework framework = Framework::kTorch;
  if (!absl::StripAsciiWhitespace(sample.graph_net_json).empty()) {
    const std::string file = JoinPath(path, "graph_net.json");
    ASSIGN_OR_RETURN(const Json json, Json::ParseObject(sample.graph_net_json, file));
    ASSIGN_OR_RETURN(framework, FrameworkOf(json, file));
  }
  // Paddle's own samples do not have this file if they have no weights.
  if (framework == Framework::kTorch && find("weight_meta.py") == nullptr) {
    return absl::NotFoundError(
        absl::StrCat(Printable(path, 1000), ": the sample has no file weight_meta.py"));
  }
  RETURN_IF_ERROR(
      ParseModelAndWeights(*find("model.py"), optional("weight_meta.py"), path, framework, module));
  RETURN_IF_ERROR(ParseMetaPy(optional("input_meta.py"), JoinPath(path, "input_meta.py"),
                              MetaFile::kInputMeta, framework, module));
  RETURN_IF_ERROR(CheckAllHaveMetas(*module, path));
  RETURN_IF_ERROR(ParseConstraintsPy(optional("input_tensor_constraints.py"),
                                     JoinPath(path, "input_tensor_constraints.py"), module,
                                     &sample.has_constraints, &sample.constraint_order));
  sample.graph_hash = optional("graph_hash.txt");
  if (sample.graph_hash.size() > kMaxHashBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(Printable(path, 1000), "/graph_hash.txt: too long for a hash"));
  }
  for (const auto& [name, content] : files) {
    if (IsExtraFile(name)) sample.extra_files[name] = content;
  }
  RETURN_IF_ERROR(Annotate(Verify(*module), path));
  return sample;
}

absl::StatusOr<Sample> ReadGraphNetFolder(const std::string& path) {
  if (!IsFolder(path)) {
    return absl::NotFoundError(absl::StrCat(Printable(path, 1000), ": no such folder"));
  }
  GraphNetFileMap files;
  size_t extra_bytes = 0;
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFolder(path));
  for (const std::string& name : names) {
    const bool extra = IsExtraFile(name);
    const std::string file = JoinPath(path, name);
    if (!extra && !absl::c_linear_search(kKnownFiles, name)) continue;
    if (extra && !IsLink(file) && IsFolder(file)) continue;
    // A link may lead to any file that the user can read. The sample would then contain that file.
    absl::StatusOr<std::string> content = ReadFile(file, kMaxTextFileBytes, Links::kRefused);
    if (!content.ok() && IsLink(file)) {
      return absl::InvalidArgumentError(
          absl::StrCat(Printable(file, 1000), ": is a symbolic link, which a sample may not have"));
    }
    RETURN_IF_ERROR(content.status());
    if (extra) extra_bytes += content->size();
    if (extra_bytes > kMaxTextFileBytes) {
      return absl::InvalidArgumentError(
          absl::StrCat(Printable(path, 1000), ": the additional files together are too large"));
    }
    files[name] = *std::move(content);
  }
  return ParseGraphNetFiles(files, path);
}

}  // namespace graphnet
