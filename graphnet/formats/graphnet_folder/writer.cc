#include "graphnet/formats/graphnet_folder/writer.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "graphnet/base/file.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/graphnet_folder/folder_form.h"
#include "graphnet/formats/graphnet_folder/framework.h"
#include "graphnet/formats/graphnet_folder/json_object.h"
#include "graphnet/formats/graphnet_folder/reader.h"
#include "graphnet/formats/graphnet_folder/writers.h"
#include "graphnet/ir/canonical_hash.h"

namespace graphnet {
namespace {

// Written last: a folder that has it is complete.
constexpr char kMarker[] = "graph_net.json";

}  // namespace

absl::StatusOr<Sample> FolderFormOfSample(const Sample& sample, bool keep_module_paths) {
  Sample out;
  out.name = sample.name;
  ASSIGN_OR_RETURN(const Framework framework, FrameworkOf(sample.graph_net_json, kMarker));
  ASSIGN_OR_RETURN(out.module, FolderForm(*sample.module, framework, keep_module_paths));
  out.has_constraints = sample.has_constraints || !out.module->symbols().empty();
  out.constraint_order = sample.constraint_order;
  out.extra_files = sample.extra_files;
  out.graph_net_json = sample.graph_net_json;
  if (out.graph_net_json.empty()) {
    out.graph_net_json = MakeGraphNetJson(sample.name, !out.module->symbols().empty());
  }
  out.graph_hash = sample.graph_hash;
  if (out.graph_hash.empty()) out.graph_hash = CanonicalHash(*out.module);
  return out;
}

absl::StatusOr<GraphNetFileMap> GraphNetFiles(const Sample& sample) {
  ASSIGN_OR_RETURN(const Sample form, FolderFormOfSample(sample));
  const Module& module = *form.module;
  ASSIGN_OR_RETURN(const Framework framework, FrameworkOf(form.graph_net_json, kMarker));
  GraphNetFileMap files = form.extra_files;
  ASSIGN_OR_RETURN(files["weight_meta.py"], WriteMetaPy(module, MetaFile::kWeightMeta, framework));
  ASSIGN_OR_RETURN(files["input_meta.py"], WriteMetaPy(module, MetaFile::kInputMeta, framework));
  files["input_tensor_constraints.py"] =
      WriteConstraintsPy(module, form.has_constraints, form.constraint_order);
  files["model.py"] = WriteModelPy(module, framework);
  files["graph_hash.txt"] = form.graph_hash;
  files[kMarker] = form.graph_net_json;
  return files;
}

absl::Status WriteGraphNetFolder(const Sample& sample, const std::string& path) {
  ASSIGN_OR_RETURN(GraphNetFileMap files, GraphNetFiles(sample));
  return WriteGraphNetFiles(std::move(files), path);
}

absl::Status WriteGraphNetFiles(GraphNetFileMap files, const std::string& path) {
  const auto marker = files.extract(kMarker);
  if (marker.empty()) return absl::InvalidArgumentError(absl::StrCat("the sample lacks ", kMarker));
  bool replace = false;
  if (IsFolder(path)) {
    // Never wipe a folder that holds something else.
    ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFolder(path));
    replace = names.empty() || IsGraphNetFolder(path);
  }
  return WriteFolderAtomic(path, replace, [&](const std::string& folder) -> absl::Status {
    for (const auto& [name, content] : files) {
      if (name.empty() || name[0] == '.' || name.find('/') != std::string::npos) {
        return absl::InvalidArgumentError(
            absl::StrCat("file name ", Printable(name), " leaves the folder"));
      }
      RETURN_IF_ERROR(WriteFileAtomic(JoinPath(folder, name), content));
    }
    return WriteFileAtomic(JoinPath(folder, kMarker), marker.mapped());
  });
}

}  // namespace graphnet
