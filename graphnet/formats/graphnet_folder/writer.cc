#include "graphnet/formats/graphnet_folder/writer.h"

#include <sys/stat.h>

#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graphnet/base/file.h"
#include "graphnet/base/json.h"
#include "graphnet/base/listed_names.h"
#include "graphnet/base/output_folder.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/graphnet_folder/folder_form.h"
#include "graphnet/formats/graphnet_folder/framework.h"
#include "graphnet/formats/graphnet_folder/reader.h"
#include "graphnet/formats/graphnet_folder/writers.h"
#include "graphnet/ir/canonical_hash.h"

namespace graphnet {
namespace {

// Written last: a folder that has it is complete.
constexpr char kMarker[] = "graph_net.json";
constexpr char kModel[] = "model.py";

// Replaces these files in a folder that holds others, which stay as they are.
absl::Status ReplaceFiles(const GraphNetFileMap& files, const std::string& marker,
                          const std::string& path) {
  std::vector<StagedFile> staged;
  staged.reserve(files.size() + 1);
  const auto stage = [&](const std::string& name, const std::string& content) -> absl::Status {
    const std::string file = JoinPath(path, name);
    struct stat info;
    if (lstat(file.c_str(), &info) == 0 && !S_ISREG(info.st_mode))
      return absl::AlreadyExistsError(
          absl::StrCat(Printable(file, 1000), ": not replaced, as it is not a regular file"));
    ASSIGN_OR_RETURN(StagedFile made, StagedFile::Write(file, content));
    staged.push_back(std::move(made));
    return absl::OkStatus();
  };
  for (const auto& [name, content] : files) RETURN_IF_ERROR(stage(name, content));
  RETURN_IF_ERROR(stage(kMarker, marker));
  for (StagedFile& file : staged) RETURN_IF_ERROR(file.Commit());
  return absl::OkStatus();
}

// Says which inputs have other names in a folder, and which weights are not in it.
void TellNames(const Module& module, const Module& form, std::vector<std::string>* notes) {
  std::vector<std::string> renamed;
  const std::vector<Node*> now = form.main()->placeholders();
  size_t i = 0;
  for (const Node* input : module.main()->placeholders()) {
    if (now[i]->target() != input->target()) {
      renamed.push_back(
          absl::StrCat("input ", Printable(input->target()), " is ", Printable(now[i]->target())));
    }
    ++i;
  }
  if (!renamed.empty())
    notes->push_back(absl::StrCat("renamed for the folder: ", ListedNames(renamed)));
  absl::flat_hash_set<absl::string_view> read;
  for (const Node* node : module.main()->nodes()) {
    if (node->op() == Op::kGetAttr) read.insert(node->target());
  }
  std::vector<std::string> dropped;
  for (const Attribute& attribute : module.attributes()) {
    if (!read.contains(attribute.name)) dropped.push_back(Printable(attribute.name));
  }
  if (!dropped.empty()) {
    notes->push_back(
        absl::StrCat("a folder holds no weights that nothing reads: ", ListedNames(dropped)));
  }
}

}  // namespace

bool IsSampleEntry(absl::string_view path, bool is_folder) {
  if (!absl::ConsumePrefix(&path, "__pycache__")) return !is_folder && IsGraphNetFile(path);
  if (path.empty()) return is_folder;
  return !is_folder && absl::ConsumePrefix(&path, "/") && absl::EndsWith(path, ".pyc") &&
         IsGraphNetFile(absl::StrCat(path.substr(0, path.find('.')), ".py"));
}

absl::StatusOr<Sample> FolderFormOfSample(const Sample& sample, bool keep_module_paths) {
  Sample out;
  out.name = sample.name;
  ASSIGN_OR_RETURN(const Framework framework,
                   FrameworkOf(Json::Parse(sample.graph_net_json), kMarker));
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

absl::StatusOr<GraphNetFileMap> GraphNetFiles(const Sample& sample,
                                              std::vector<std::string>* notes) {
  ASSIGN_OR_RETURN(const Sample form, FolderFormOfSample(sample));
  if (notes != nullptr) TellNames(*sample.module, *form.module, notes);
  const Module& module = *form.module;
  ASSIGN_OR_RETURN(const Framework framework,
                   FrameworkOf(Json::Parse(form.graph_net_json), kMarker));
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

absl::Status WriteGraphNetFolder(const Sample& sample, const std::string& path,
                                 std::vector<std::string>* notes) {
  ASSIGN_OR_RETURN(GraphNetFileMap files, GraphNetFiles(sample, notes));
  return WriteGraphNetFiles(std::move(files), path);
}

absl::Status WriteGraphNetFiles(GraphNetFileMap files, const std::string& path) {
  const auto marker = files.extract(kMarker);
  if (marker.empty()) return absl::InvalidArgumentError(absl::StrCat("the sample lacks ", kMarker));
  for (const auto& file : files) {
    const std::string& name = file.first;
    if (name.empty() || name[0] == '.' || name.find('/') != std::string::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat("file name ", Printable(name), " leaves the folder"));
    }
  }
  const IsOwnEntry is_own = [&](absl::string_view entry, bool is_folder) {
    return IsSampleEntry(entry, is_folder) || (!is_folder && files.contains(std::string(entry)));
  };
  if (IsFolder(path)) {
    ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFolder(path));
    const absl::Status replaceable = CheckReplaceable(path, is_own);
    if (!names.empty() && !(IsGraphNetFolder(path) && FileExists(JoinPath(path, kModel)))) {
      RETURN_IF_ERROR(replaceable);
      return absl::AlreadyExistsError(absl::StrCat(Printable(path, 1000),
                                                   ": not replaced, as it holds ",
                                                   Printable(names[0]), " and is not a sample"));
    }
    if (!replaceable.ok()) return ReplaceFiles(files, marker.mapped(), path);
  }
  return ReplaceFolder(path, is_own, [&](const std::string& folder) -> absl::Status {
    for (const auto& [name, content] : files)
      RETURN_IF_ERROR(WriteFileAtomic(JoinPath(folder, name), content));
    return WriteFileAtomic(JoinPath(folder, kMarker), marker.mapped());
  });
}

}  // namespace graphnet
