#include "graphnet/extract/folder.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graphnet/base/file.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/output_folder.h"
#include "graphnet/base/status.h"
#include "graphnet/extract/description.h"
#include "graphnet/formats/graphnet_folder/framework.h"
#include "graphnet/formats/graphnet_folder/reader.h"
#include "graphnet/formats/graphnet_folder/writer.h"
#include "graphnet/formats/graphnet_folder/writers.h"
#include "graphnet/formats/protobuf/sample_proto.h"
#include "graphnet/formats/safetensors/safetensors.h"

namespace graphnet {
namespace {

constexpr char kManifest[] = "stitch.pb";
constexpr char kManifestJson[] = "stitch.json";
constexpr char kTensors[] = "stitch.safetensors";
constexpr char kObjects[] = "stitch.pt";
constexpr char kReadme[] = "README.md";
constexpr char kScript[] = "run_stitched.py";
constexpr char kPythonCache[] = "__pycache__";  // Python writes it when the script is imported.
constexpr size_t kMaxObjectsBytes = size_t{1} << 30;

// Returns whether an extraction writes such an entry. `is_whole`: a manifest lies in the folder.
// Without one only subgraphs are its own, as others have a README.md or a model.py, too.
bool IsOwn(absl::string_view path, bool is_folder, bool is_whole) {
  if (is_whole) {
    for (const char* ours : {kManifest, kManifestJson, kTensors, kObjects, kReadme, kScript})
      if (path == ours) return !is_folder;
    if (IsSampleEntry(path, is_folder)) return true;
  }
  absl::string_view cached = path;
  const bool is_cached = absl::ConsumePrefix(&cached, absl::StrCat(kPythonCache, "/"));
  if (is_cached && absl::EndsWith(path, ".pyc") && !is_folder) {
    const std::string source = absl::StrCat(cached.substr(0, cached.find('.')), ".py");
    return IsOwn(source, /*is_folder=*/false, is_whole);
  }
  if (path == kPythonCache) return is_folder;
  if (!absl::ConsumePrefix(&path, "subgraph_")) return false;
  const size_t digits = std::min(path.find_first_not_of("0123456789"), path.size());
  if (digits == 0) return false;
  path.remove_prefix(digits);
  if (path.empty()) return is_folder;
  if (absl::ConsumePrefix(&path, "/")) return IsSampleEntry(path, is_folder);
  return !is_folder && (path == ".pb" || path == ".safetensors" || path == ".py");
}

// Returns the tensors that no sample keeps.
absl::StatusOr<std::map<std::string, TensorData>> Beside(const ExtractedProgram& program,
                                                         ExtractFormat format) {
  std::map<std::string, TensorData> tensors;
  for (const auto& [number, name] : program.manifest.constants) {
    const auto it = program.tensors.find(name);
    if (it == program.tensors.end())
      return absl::InternalError(absl::StrCat("no value for ", name));
    tensors.insert(*it);
  }
  if (format == ExtractFormat::kGraphNetFolder) {
    for (const Sample& sample : program.subgraphs)
      tensors.insert(sample.weights.begin(), sample.weights.end());
  }
  return tensors;
}

// A subgraph in the form that Python takes, and its files.
struct PythonForm {
  SubgraphFiles files;
  std::string text;  // of the file `files.python`
};

PythonForm PythonFormOf(const Sample& sample, const std::string& name, ExtractFormat format,
                        bool is_alone) {
  PythonForm out;
  SubgraphFiles& files = out.files;
  const bool is_proto = format == ExtractFormat::kProtobuf;
  files.sample = is_proto ? name + ".pb" : is_alone ? "." : name;
  if (is_proto && !sample.weights.empty()) files.weights = name + ".safetensors";
  const absl::StatusOr<Sample> form = FolderFormOfSample(sample);
  if (!form.ok()) {
    files.why_not = std::string(form.status().message());
    return out;
  }
  files.python = is_proto ? name + ".py" : is_alone ? "model.py" : name + "/model.py";
  out.text = WriteModelPy(*form->module, Framework::kTorch);
  const std::vector<Node*> placeholders = form->module->main()->placeholders();
  for (size_t i = sample.module->main()->placeholders().size(); i < placeholders.size(); ++i) {
    const DrawSpec* spec = placeholders[i]->draw_spec();
    files.attributes.emplace_back(spec != nullptr && !spec->original_name.empty()
                                      ? spec->original_name
                                      : placeholders[i]->target());
  }
  return out;
}

// Turns placeholders after the first `num_inputs` back into attributes.
void Unlift(size_t num_inputs, Module* module) {
  Graph* graph = module->main();
  const std::vector<Node*> placeholders = graph->placeholders();
  for (size_t i = num_inputs; i < placeholders.size(); ++i) {
    Node* old = placeholders[i];
    const DrawSpec* spec = old->draw_spec();
    const std::string name(spec != nullptr && !spec->original_name.empty() ? spec->original_name
                                                                           : old->target());
    module->AddAttribute({.name = name,
                          .meta = old->tensor_meta(),
                          .annotation = old->annotation(),
                          .draw_spec = spec});
    const InsertionGuard guard(graph, placeholders.back()->next());
    Node* node = graph->GetAttr(name, name);
    node->set_meta(old->meta());
    old->ReplaceAllUsesWith(node);
  }
  for (size_t i = num_inputs; i < placeholders.size(); ++i) graph->EraseNode(placeholders[i]);
}

}  // namespace

absl::Status WriteExtracted(const ExtractedProgram& program, const std::string& folder,
                            ExtractFormat format, bool complete) {
  const bool is_proto = format == ExtractFormat::kProtobuf;
  const bool is_alone = program.subgraphs.size() == 1 && complete;
  const IsOwnEntry is_own = [is_whole = IsExtracted(folder)](absl::string_view path,
                                                             bool is_folder) {
    return IsOwn(path, is_folder, is_whole);
  };
  RETURN_IF_ERROR(CheckReplaceable(folder, is_own));
  // The other files, by name, in the order in which they are written: the manifest comes last.
  std::vector<std::pair<std::string, std::string>> beside;
  if (complete) {
    std::vector<SubgraphFiles> subgraphs;
    for (size_t i = 0; i < program.subgraphs.size(); ++i) {
      PythonForm form =
          PythonFormOf(program.subgraphs[i], program.manifest.subgraphs[i].name, format, is_alone);
      if (is_proto && !form.text.empty())
        beside.emplace_back(form.files.python, std::move(form.text));
      subgraphs.push_back(std::move(form.files));
    }
    ASSIGN_OR_RETURN(const auto tensors, Beside(program, format));
    ASSIGN_OR_RETURN(std::string bytes, SerializeSafetensors(tensors));
    beside.emplace_back(kTensors, std::move(bytes));
    if (!program.objects.empty()) beside.emplace_back(kObjects, program.objects);
    beside.emplace_back(kScript, std::string(RunStitchedScript()));
    beside.emplace_back(kReadme, StitchReadme(program, subgraphs));
    beside.emplace_back(kManifestJson, StitchJson(program, subgraphs));
    beside.emplace_back(kManifest, SerializeManifest(program.manifest));
  }
  return ReplaceFolder(folder, is_own, [&](const std::string& dir) -> absl::Status {
    if (!is_proto && is_alone) {
      ASSIGN_OR_RETURN(GraphNetFileMap files, GraphNetFiles(program.subgraphs[0]));
      for (auto& [name, content] : beside) files[name] = std::move(content);
      return WriteGraphNetFiles(std::move(files), dir);
    }
    for (size_t i = 0; i < program.subgraphs.size(); ++i) {
      const std::string& name = program.manifest.subgraphs[i].name;
      const std::string path = JoinPath(dir, name);
      RETURN_IF_ERROR(is_proto ? WriteSampleFile(program.subgraphs[i], path + ".pb")
                               : Annotate(WriteGraphNetFolder(program.subgraphs[i], path), name));
    }
    for (const auto& [name, content] : beside)
      RETURN_IF_ERROR(WriteFileAtomic(JoinPath(dir, name), content));
    return absl::OkStatus();
  });
}

bool IsExtracted(const std::string& folder) {
  return IsFolder(folder) && FileExists(JoinPath(folder, kManifest));
}

absl::StatusOr<ExtractedProgram> ReadExtracted(const std::string& folder) {
  ExtractedProgram program;
  const std::string path = JoinPath(folder, kManifest);
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path, kMaxTextFileBytes));
  ASSIGN_OR_RETURN(program.manifest, ParseManifest(bytes, path));
  ASSIGN_OR_RETURN(program.tensors, ReadSafetensorsFile(JoinPath(folder, kTensors)));
  if (const std::string objects = JoinPath(folder, kObjects); FileExists(objects)) {
    ASSIGN_OR_RETURN(program.objects, ReadFile(objects, kMaxObjectsBytes));
  }
  std::vector<size_t> num_inputs(program.manifest.subgraphs.size());
  for (const StitchStep& step : program.manifest.steps) {
    if (step.subgraph >= 0) {
      num_inputs[static_cast<size_t>(step.subgraph)] = step.symbols.size() + step.inputs.size();
    }
  }
  for (size_t i = 0; i < program.manifest.subgraphs.size(); ++i) {
    const std::string stem = JoinPath(folder, program.manifest.subgraphs[i].name);
    if (FileExists(stem + ".pb")) {
      ASSIGN_OR_RETURN(Sample sample, ReadSampleFile(stem + ".pb", /*with_weights=*/true));
      program.tensors.insert(sample.weights.begin(), sample.weights.end());
      program.subgraphs.push_back(std::move(sample));
      continue;
    }
    const bool flat = program.manifest.subgraphs.size() == 1 && IsGraphNetFolder(folder);
    const std::string from = flat ? folder : stem;
    if (!IsGraphNetFolder(from)) {
      return absl::FailedPreconditionError(absl::StrCat(
          Printable(folder, 1000), ": ", program.manifest.subgraphs[i].name, " is missing"));
    }
    ASSIGN_OR_RETURN(Sample sample, ReadGraphNetFolder(from));
    if (sample.module->main()->placeholders().size() < num_inputs[i]) {
      return absl::FailedPreconditionError(
          absl::StrCat(Printable(from, 1000), ": takes too few inputs"));
    }
    Unlift(num_inputs[i], sample.module.get());
    program.subgraphs.push_back(std::move(sample));
  }
  for (const auto& [name, strides] : program.manifest.strides) {
    const auto it = program.tensors.find(name);
    if (it != program.tensors.end()) it->second.strides = strides;
  }
  return program;
}

}  // namespace graphnet
