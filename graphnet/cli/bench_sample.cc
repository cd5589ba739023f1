#include "graphnet/cli/bench_sample.h"

#include <filesystem>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graphnet/base/file.h"
#include "graphnet/base/memory.h"
#include "graphnet/base/status.h"
#include "graphnet/cli/engine.h"
#include "graphnet/cli/export_program.h"
#include "graphnet/cli/inputs.h"
#include "graphnet/cli/load.h"
#include "graphnet/formats/safetensors/safetensors.h"
#include "graphnet/inputs/draw.h"
#include "graphnet/passes/pipeline.h"
#include "graphnet/proto/sample_proto.h"
#include "nlohmann/json.hpp"

namespace graphnet {
namespace {

absl::string_view EndingOf(ProgramForm form) {
  switch (form) {
    case ProgramForm::kSample: return "";
    case ProgramForm::kPt2: return ".pt2";
    case ProgramForm::kTorchScript: return ".pt";
    case ProgramForm::kExport: return ".json";
    case ProgramForm::kMlir: return ".mlir";
  }
  return "";
}

bool IsSubgraphName(absl::string_view name) {
  if (!absl::ConsumePrefix(&name, "subgraph")) return false;
  if (name.empty()) return true;
  return absl::ConsumePrefix(&name, "_") && !name.empty() &&
         absl::c_all_of(name, absl::ascii_isdigit);
}

// model_name of graph_net.json, else the folder's name, or of one called subgraph_3 its parent's.
std::string ModelName(const Sample& sample, const std::string& path) {
  const auto json =
      nlohmann::json::parse(sample.graph_net_json, nullptr, /*allow_exceptions=*/false);
  if (json.is_object()) {
    if (const auto name = json.find("model_name"); name != json.end() && name->is_string())
      return name->get<std::string>();
  }
  const std::filesystem::path absolute = std::filesystem::absolute(path).lexically_normal();
  const std::string name = absolute.filename().string();
  return IsSubgraphName(name) ? absolute.parent_path().filename().string() : name;
}

// Of inputs and attributes that the program writes to, in the order in which functionalize
// returns what they become.
absl::StatusOr<std::vector<std::string>> NamesWritten(const Module& module) {
  const std::unique_ptr<Module> copy = module.Clone();
  ASSIGN_OR_RETURN(const Pipeline functionalize, ParsePipeline("functionalize"));
  RETURN_IF_ERROR(RunPipeline(functionalize, copy.get()).status());
  std::vector<std::string> names;
  for (const Node* node : copy->main()->nodes()) {
    if (node->target() != "aten.copy_.default" || !node->args()[0].is_node()) continue;
    const Node* written = node->args()[0].node();
    if (written->op() == Op::kPlaceholder || written->op() == Op::kGetAttr)
      names.emplace_back(written->target());
  }
  return names;
}

}  // namespace

absl::StatusOr<std::unique_ptr<BenchSample>> BenchSample::Load(const std::string& path,
                                                               const std::string& folder,
                                                               const BenchSampleOptions& options) {
  std::unique_ptr<BenchSample> made(new BenchSample);
  made->path_ = std::filesystem::absolute(path).string();
  made->folder_ = folder;
  made->options_ = options;
  ASSIGN_OR_RETURN(made->program_, LoadSample(path, {.trust = options.trust, .weights = true}));
  Sample& sample = made->program_;
  if (sample.module->main() == nullptr) return absl::InvalidArgumentError("there is no graph");
  made->model_ = ModelName(sample, path);
  RETURN_IF_ERROR(GiveInputs({}, options.seed, &sample));
  RETURN_IF_ERROR(made->Draw(sample));
  PrepareRequest& request = made->request_;
  for (const Node* node : sample.module->main()->placeholders())
    request.order.emplace_back(node->target());
  request.inputs = made->files_.front();
  request.device = options.device;
  request.seed = options.seed;
  ASSIGN_OR_RETURN(request.written, NamesWritten(*sample.module));
  return made;
}

// Inputs may be others each time, attributes are one set of values.
absl::Status BenchSample::Draw(const Sample& sample) {
  std::map<std::string, TensorData> attributes;
  for (int i = 0; i <= options_.fresh_inputs; ++i) {
    DrawOptions draw;
    draw.seed = options_.seed + static_cast<uint64_t>(i);
    draw.max_bytes = AvailableMemoryBytes();
    ASSIGN_OR_RETURN(auto values, DrawInputs(sample, draw));
    for (const Attribute& attribute : sample.module->attributes()) {
      auto value = values.extract(std::string(attribute.name));
      if (i == 0 && !value.empty()) attributes.insert(std::move(value));
    }
    values_.push_back(std::move(values));
    files_.push_back(JoinPath(folder_, absl::StrCat("inputs_", i, ".safetensors")));
  }
  if (!attributes.empty()) {
    weights_ = JoinPath(folder_, "weights.safetensors");
    RETURN_IF_ERROR(WriteSafetensorsFile(attributes, weights_));
  }
  program_.weights = std::move(attributes);
  return WriteInputs();
}

absl::Status BenchSample::WriteInputs() const {
  for (size_t i = 0; i < files_.size(); ++i)
    RETURN_IF_ERROR(WriteSafetensorsFile(values_[i], files_[i]));
  return absl::OkStatus();
}

DuelInputs BenchSample::inputs() {
  return {.files = files_, .restore = [this] { return WriteInputs(); }};
}

// Without effects, without vmap, of the sizes that the inputs have and, as all devices are one, on
// the CPU.
absl::Status BenchSample::MakeFunctional() {
  ASSIGN_OR_RETURN(
      const Pipeline pipeline,
      ParsePipeline("change-device{to=cpu},revert-vmap,expand-vmap,specialize,fold-constants,"
                    "expand-functions,functionalize{outputs=true}"));
  return RunPipeline(pipeline, &program_).status();
}

absl::StatusOr<PrepareRequest> BenchSample::RequestFor(ProgramForm form) {
  PrepareRequest request = request_;
  request.weights = weights_;
  if (form == ProgramForm::kSample) {
    request.program = path_;
    return request;
  }
  if (!is_functional_) {
    is_functional_ = true;
    functional_ = MakeFunctional();
  }
  RETURN_IF_ERROR(functional_);
  for (const std::string& name : request.order) {
    if (values_.front().contains(name)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("input ", Printable(name), " is no tensor and no number"));
  }
  std::optional<absl::Status>& status = written_[static_cast<size_t>(form)];
  if (!status.has_value()) status = WriteProgram(form);
  RETURN_IF_ERROR(*status);
  request.program = JoinPath(folder_, absl::StrCat("program", EndingOf(form)));
  request.written.clear();
  if (form == ProgramForm::kMlir) request.constants = constants_;
  // Archives hold their constants.
  if (form == ProgramForm::kPt2 || form == ProgramForm::kTorchScript) request.weights = "";
  return request;
}

absl::StatusOr<PrepareRequest> BenchSample::ReferenceRequest() const {
  ASSIGN_OR_RETURN(Sample sample, LoadSample(path_, {.trust = options_.trust, .weights = true}));
  RETURN_IF_ERROR(GiveInputs({}, options_.seed, &sample));
  // The values that were drawn in the other dtypes, which the pass converts.
  sample.weights = values_.front();
  if (!weights_.empty()) {
    ASSIGN_OR_RETURN(const auto attributes, ReadSafetensorsFile(weights_));
    sample.weights.insert(attributes.begin(), attributes.end());
  }
  ASSIGN_OR_RETURN(const Pipeline pipeline, ParsePipeline("change-dtype{to=f64}"));
  RETURN_IF_ERROR(RunPipeline(pipeline, &sample).status());
  PrepareRequest request = request_;
  request.program = JoinPath(folder_, "reference.pb");
  request.inputs = JoinPath(folder_, "reference.safetensors");
  RETURN_IF_ERROR(WriteSafetensorsFile(sample.weights, request.inputs));
  sample.weights.clear();
  ASSIGN_OR_RETURN(const std::string bytes, SerializeSample(sample));
  RETURN_IF_ERROR(WriteFileAtomic(request.program, bytes));
  return request;
}

absl::Status BenchSample::WriteProgram(ProgramForm form) {
  std::string text;
  switch (form) {
    case ProgramForm::kSample: return absl::OkStatus();
    case ProgramForm::kPt2: {
      ASSIGN_OR_RETURN(text, ExportPt2Program(program_));
      break;
    }
    case ProgramForm::kTorchScript: {
      ASSIGN_OR_RETURN(const Engine* engine, OpenEngine());
      ASSIGN_OR_RETURN(text, engine->ExportTorchScript(program_));
      break;
    }
    case ProgramForm::kExport: {
      ASSIGN_OR_RETURN(const std::string archive, ExportPt2Program(program_));
      ASSIGN_OR_RETURN(text, GraphOfPt2(archive));
      break;
    }
    case ProgramForm::kMlir: {
      ASSIGN_OR_RETURN(MlirProgram program, ExportMlirProgram(program_));
      text = std::move(program.text);
      constants_ = std::move(program.attributes);
      break;
    }
  }
  return WriteFileAtomic(JoinPath(folder_, absl::StrCat("program", EndingOf(form))), text);
}

}  // namespace graphnet
