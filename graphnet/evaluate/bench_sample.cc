#include "graphnet/evaluate/bench_sample.h"

#include <filesystem>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graphnet/base/file.h"
#include "graphnet/base/json.h"
#include "graphnet/base/memory.h"
#include "graphnet/base/status.h"
#include "graphnet/evaluate/bench_rewrite.h"
#include "graphnet/facts/memory/effects.h"
#include "graphnet/formats/export_program.h"
#include "graphnet/formats/formats.h"
#include "graphnet/formats/safetensors/safetensors.h"
#include "graphnet/interp/inputs/draw.h"
#include "graphnet/interp/inputs/example_input.h"
#include "graphnet/interp/inputs/scale_weights.h"
#include "graphnet/ir/canonical_hash.h"
#include "graphnet/ir/lift_attributes.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/passes/pipeline.h"

namespace graphnet {
namespace {

absl::string_view EndingOf(ProgramForm form) {
  switch (form) {
    case ProgramForm::kSample: return "";
    case ProgramForm::kPt2: return ".pt2";
    case ProgramForm::kTorchScript: return ".pt";
    case ProgramForm::kExport: return ".json";
    case ProgramForm::kMlir: return ".mlir";
    case ProgramForm::kPaddle: return "_paddle";
  }
  return "";
}

bool IsSubgraphName(absl::string_view name) {
  if (!absl::ConsumePrefix(&name, "subgraph")) return false;
  if (name.empty()) return true;
  return absl::ConsumePrefix(&name, "_") && !name.empty() &&
         absl::c_all_of(name, absl::ascii_isdigit);
}

// Returns model_name of graph_net.json if there is one, otherwise the folder's name or, for a
// folder called subgraph_3, its parent's name.
std::string ModelName(const Sample& sample, const std::string& path) {
  if (auto name = Json::Parse(sample.graph_net_json).Get<std::string>("model_name"))
    return *std::move(name);
  const std::filesystem::path absolute = std::filesystem::absolute(path).lexically_normal();
  const std::string name = absolute.filename().string();
  return IsSubgraphName(name) ? absolute.parent_path().filename().string() : name;
}

bool IsInput(const Node& node) {
  return node.op() == Op::kPlaceholder || node.op() == Op::kGetAttr;
}

absl::StatusOr<std::unique_ptr<Module>> Functionalized(const Module& module,
                                                       absl::string_view pass) {
  std::unique_ptr<Module> copy = module.Clone();
  ASSIGN_OR_RETURN(const Pipeline functionalize, ParsePipeline(pass));
  RETURN_IF_ERROR(RunPipeline(functionalize, copy.get()).status());
  return copy;
}

// Returns the names of inputs and attributes that are copied to.
absl::flat_hash_set<std::string> InputsCopiedTo(const Module& module) {
  absl::flat_hash_set<std::string> names;
  for (const Node* node : module.main()->nodes()) {
    if (!node->is_call_function("aten.copy_.default") || !node->args()[0].is_node()) continue;
    const Node* written = node->args()[0].node();
    if (IsInput(*written)) names.emplace(written->target());
  }
  return names;
}

absl::StatusOr<WrittenNames> NamesWritten(const Module& module) {
  ASSIGN_OR_RETURN(const auto copying, Functionalized(module, "functionalize"));
  ASSIGN_OR_RETURN(const auto returning, Functionalized(module, "functionalize{outputs=true}"));
  absl::flat_hash_set<std::string> returned = InputsCopiedTo(*copying);
  for (const std::string& name : InputsCopiedTo(*returning)) returned.erase(name);
  const Effects effects(*returning);
  const MemoryGroups groups(*returning, effects);
  WrittenNames names;
  absl::flat_hash_set<absl::string_view> seen;
  for (const Node* node : returning->main()->nodes()) {
    if (!IsInput(*node) || !seen.insert(node->target()).second) continue;
    if (returned.contains(node->target())) {
      names.values.emplace_back(node->target());
    } else if (groups.IsWritten(node)) {
      names.left.emplace_back(node->target());
    }
  }
  return names;
}

Node* FindInput(Graph* graph, absl::string_view target) {
  for (Node* node : graph->nodes()) {
    if (IsInput(*node) && node->target() == target) return node;
  }
  return nullptr;
}

// Replaces an input or attribute by a copy, which calls may write to.
void UseCopyOf(Node* input) {
  Graph* const graph = input->graph();
  Node* const copy = graph->CallLike(*input, "aten.clone.default", {input});
  if (input->op() == Op::kPlaceholder) {
    Node* first = graph->first();
    while (first->op() == Op::kPlaceholder) first = first->next();
    if (first != copy) graph->MoveBefore(copy, first);
  }
  for (Node* node : graph->nodes()) {
    if (node->op() == input->op() && node->target() == input->target())
      node->ReplaceAllUsesWith(copy);
  }
  copy->set_arg(0, input);
}

// Changes the dtype of an input back to `given` and casts it to its present dtype.
void CastInput(Node* input, DType given) {
  const TensorMeta* const meta = input->tensor_meta();
  if (meta == nullptr) return;
  Graph* const graph = input->graph();
  Node* first = graph->first();
  while (first->is_placeholder()) first = first->next();
  const InsertionGuard guard(graph, first);
  Node* const cast = graph->CallFunction("aten.to.dtype", {input, meta->dtype});
  cast->set_meta(input->meta());
  input->ReplaceUsesWithIf(cast, [&](const Node* user) { return user != cast; });
  TensorMeta before = *meta;
  before.dtype = given;
  input->set_meta(graph->module()->InternValueMeta(before));
}

std::vector<Argument> OutputsOf(const Graph& graph) {
  const Argument& value = graph.output()->args()[0];
  if (!value.is_tuple()) return {value};
  return {value.elements().begin(), value.elements().end()};
}

}  // namespace

bool DrawsRandomNumbers(const Module& module) {
  const Effects effects(module);
  return absl::c_any_of(module.graphs(), [&](const Graph* graph) {
    return absl::c_any_of(graph->nodes(),
                          [&](const Node* node) { return effects.Of(*node).is_random; });
  });
}

absl::StatusOr<std::unique_ptr<BenchSample>> BenchSample::Load(const std::string& path,
                                                               const std::string& folder,
                                                               const BenchSampleOptions& options) {
  std::unique_ptr<BenchSample> made(new BenchSample);
  made->path_ = std::filesystem::absolute(path).string();
  made->folder_ = folder;
  made->options_ = options;
  ASSIGN_OR_RETURN(made->program_, graphnet::Load(path, {.trust = options.trust, .weights = true}));
  Sample& sample = made->program_;
  if (sample.module->main() == nullptr)
    return absl::InvalidArgumentError("the sample has no graph");
  made->model_ = ModelName(sample, path);
  RETURN_IF_ERROR(DescribeInputs({}, options.seed, &sample));
  RETURN_IF_ERROR(CheckKnown(sample));
  if (options.scale_weights) {
    ASSIGN_OR_RETURN(const std::vector<ScaledWeight> scaled, ScaleDrawnWeights(&sample));
    made->num_scaled_ = scaled.size();
  }
  RETURN_IF_ERROR(made->Draw(sample));
  if (options.digests) {
    std::map<std::string, TensorData> values = made->values_.front();
    values.insert(sample.weights.begin(), sample.weights.end());
    made->digests_ = {CanonicalHash(*sample.module),
                      CanonicalHash(*sample.module, {.metas = true, .weights = &values})};
  }
  made->forms_ = FormsOfOutputs(*sample.module);
  PrepareRequest& request = made->request_;
  for (const Node* node : sample.module->main()->placeholders())
    request.order.emplace_back(node->target());
  request.inputs = made->files_.front();
  request.device = options.device;
  request.seed = options.seed;
  ASSIGN_OR_RETURN(WrittenNames written, NamesWritten(*sample.module));
  request.written = std::move(written.values);
  if (!written.left.empty()) {
    // Once sizes are known, functionalize may return more of them.
    made->specialized_ = made->Specialize();
    if (made->specialized_->ok()) {
      for (const std::string& name : (*made->specialized_)->values) {
        if (absl::c_linear_search(written.left, name)) request.written.push_back(name);
      }
    }
  }
  // Nodes of the module may be gone by now.
  made->forms_.resize(made->forms_.size() + request.written.size());
  return made;
}

// Draws one set of values for attributes, and one for inputs in each file.
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

bool BenchSample::is_random() const { return DrawsRandomNumbers(*program_.module); }

std::vector<BlindOutput> BenchSample::BlindAmong(const Outputs& outputs) const {
  std::map<std::string, TensorData> values = values_.front();
  values.insert(program_.weights.begin(), program_.weights.end());
  std::vector<BlindOutput> found;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const ToleranceClass dtypes = ToleranceClassOf(DTypeName(outputs[i].dtype));
    std::vector<Tolerance> rising;
    for (int t = kMinToleranceLevel; t <= kCustomaryToleranceLevel; ++t)
      rising.push_back(ToleranceAt(t, dtypes));
    WrongAnswer answer = FindWrongAnswer(outputs, i, forms_, values, rising);
    if (!answer.found()) continue;
    found.push_back(
        {i, kMinToleranceLevel + static_cast<int>(answer.tolerance), std::move(answer.what)});
  }
  return found;
}

absl::Status BenchSample::WriteInputs() const {
  for (size_t i = 0; i < files_.size(); ++i)
    RETURN_IF_ERROR(WriteSafetensorsFile(values_[i], files_[i]));
  return absl::OkStatus();
}

AbInputs BenchSample::inputs() {
  return {.files = files_, .restore = [this] { return WriteInputs(); }};
}

absl::StatusOr<WrittenNames> BenchSample::Specialize() {
  ASSIGN_OR_RETURN(const Pipeline pipeline, ParsePipeline(kPassesBeforeCompilers));
  RETURN_IF_ERROR(RunPipeline(pipeline, &program_).status());
  return NamesWritten(*program_.module);
}

// Rewrites program_ without effects.
absl::Status BenchSample::MakeFunctional() {
  if (!specialized_.has_value()) specialized_ = Specialize();
  RETURN_IF_ERROR(specialized_->status());
  const WrittenNames& names = **specialized_;
  Graph* const graph = program_.module->main();
  const size_t num_outputs = OutputsOf(*graph).size();
  ASSIGN_OR_RETURN(const Pipeline functionalize, ParsePipeline("functionalize{outputs=true}"));
  RETURN_IF_ERROR(RunPipeline(functionalize, &program_).status());
  // Backends must leave their inputs unchanged. If a write may reach an input or only a copy of it,
  // programs may differ in the input's final value, which is not compared, so a copy takes its
  // place.
  for (const std::string& name : names.left) {
    if (Node* const input = FindInput(graph, name); input != nullptr) UseCopyOf(input);
  }
  if (names.values == request_.written) return absl::OkStatus();

  std::vector<Argument> outputs = OutputsOf(*graph);
  if (outputs.size() != num_outputs + names.values.size())
    return absl::InternalError("functionalize returns other inputs than it writes to");
  const std::vector<Argument> written(outputs.begin() + static_cast<ptrdiff_t>(num_outputs),
                                      outputs.end());
  outputs.resize(num_outputs);
  for (const std::string& name : request_.written) {
    const auto it = absl::c_find(names.values, name);
    Node* const input = FindInput(graph, name);
    if (it != names.values.end()) {
      outputs.push_back(written[static_cast<size_t>(it - names.values.begin())]);
    } else if (input != nullptr) {
      outputs.emplace_back(input);  // with sizes known, nothing writes to it
    } else {
      return absl::InvalidArgumentError(absl::StrCat("input ", Printable(name), " is gone"));
    }
  }
  graph->output()->set_arg(0, Argument::Tuple(outputs));
  return absl::OkStatus();
}

absl::Status BenchSample::Functional() {
  if (!is_functional_) {
    is_functional_ = true;
    functional_ = MakeFunctional();
  }
  return functional_;
}

absl::StatusOr<PrepareRequest> BenchSample::RequestFor(ProgramForm form) {
  PrepareRequest request = request_;
  request.weights = weights_;
  if (form == ProgramForm::kSample) {
    request.program = path_;
    return request;
  }
  if (form != ProgramForm::kPaddle) RETURN_IF_ERROR(Functional());
  for (const std::string& name : request.order) {
    if (values_.front().contains(name)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("input ", Printable(name), " is neither a tensor nor a number"));
  }
  std::optional<absl::Status>& status = written_[static_cast<size_t>(form)];
  if (!status.has_value()) status = WriteProgram(form);
  RETURN_IF_ERROR(*status);
  request.program = JoinPath(folder_, absl::StrCat("program", EndingOf(form)));
  request.written.clear();
  request.constants = constants_[static_cast<size_t>(form)];
  // Archives contain their constants.
  if (form == ProgramForm::kPt2 || form == ProgramForm::kTorchScript) request.weights = "";
  return request;
}

absl::StatusOr<PrepareRequest> BenchSample::RequestFor(const Backend& backend) {
  if (backend.kind == BackendKind::kRewrite) return RewrittenRequest(backend);
  ASSIGN_OR_RETURN(PrepareRequest request, RequestFor(backend.reads));
  request.options = backend.given;
  return request;
}

// Loads the original sample with the values that were drawn for its inputs and attributes.
absl::StatusOr<Sample> BenchSample::LoadDrawn() const {
  ASSIGN_OR_RETURN(Sample sample,
                   graphnet::Load(path_, {.trust = options_.trust, .weights = true}));
  RETURN_IF_ERROR(DescribeInputs({}, options_.seed, &sample));
  RETURN_IF_ERROR(CheckKnown(sample));
  if (options_.scale_weights) RETURN_IF_ERROR(ScaleDrawnWeights(&sample).status());
  sample.weights = values_.front();
  if (!weights_.empty()) {
    ASSIGN_OR_RETURN(const auto attributes, ReadSafetensorsFile(weights_));
    sample.weights.insert(attributes.begin(), attributes.end());
  }
  return sample;
}

absl::StatusOr<PrepareRequest> BenchSample::RewrittenRequest(const Backend& backend) const {
  ASSIGN_OR_RETURN(const Rewriter rewrite, RewriterOf(backend.name));
  ASSIGN_OR_RETURN(Sample sample, LoadDrawn());
  RETURN_IF_ERROR(rewrite(&sample));
  RETURN_IF_ERROR(Annotate(Verify(*sample.module), "the rewritten sample"));
  PrepareRequest request = request_;
  // Both sides get the same files of inputs, whatever names the rewrite uses. New inputs come after
  // the existing ones, and their values are among the weights.
  const std::vector<Node*> placeholders = sample.module->main()->placeholders();
  for (size_t i = 0; i < placeholders.size(); ++i) {
    if (placeholders.size() < request_.order.size()) break;
    if (i >= request_.order.size()) {
      request.order.emplace_back(placeholders[i]->target());
      continue;
    }
    const auto converted = sample.weights.extract(std::string(placeholders[i]->target()));
    const auto given = values_.front().find(request_.order[i]);
    if (!converted.empty() && given != values_.front().end() &&
        converted.mapped().dtype != given->second.dtype) {
      CastInput(placeholders[i], given->second.dtype);
    }
    if (placeholders[i]->target() != request_.order[i])
      placeholders[i]->set_target(request_.order[i]);
  }
  request.weights.clear();
  if (!sample.weights.empty()) {
    request.weights = JoinPath(folder_, absl::StrCat(FileNameOf(backend), ".safetensors"));
    RETURN_IF_ERROR(WriteSafetensorsFile(sample.weights, request.weights));
    sample.weights.clear();
  }
  request.program = JoinPath(folder_, absl::StrCat(FileNameOf(backend), ".pb"));
  RETURN_IF_ERROR(Save(sample, request.program));
  return request;
}

absl::StatusOr<PrepareRequest> BenchSample::ReferenceRequest() const {
  // The pass converts the values, which were drawn in the original dtypes.
  ASSIGN_OR_RETURN(Sample sample, LoadDrawn());
  ASSIGN_OR_RETURN(const Pipeline pipeline, ParsePipeline("change-dtype{to=f64}"));
  RETURN_IF_ERROR(RunPipeline(pipeline, &sample).status());
  PrepareRequest request = request_;
  request.program = JoinPath(folder_, "reference.pb");
  request.inputs = JoinPath(folder_, "reference.safetensors");
  RETURN_IF_ERROR(WriteSafetensorsFile(sample.weights, request.inputs));
  sample.weights.clear();
  RETURN_IF_ERROR(Save(sample, request.program));
  return request;
}

// Returns the sample without effects, but in the calls that it has: more of them have a rule for Paddle
// than of those that other compilers are given.
absl::StatusOr<Sample> BenchSample::FunctionalAsItIs() {
  ASSIGN_OR_RETURN(Sample sample, LoadDrawn());
  const size_t num_outputs = OutputsOf(*sample.module->main()).size();
  ASSIGN_OR_RETURN(const Pipeline pipeline,
                   ParsePipeline("change-device{to=cpu},revert-vmap,expand-vmap,specialize,"
                                 "fold-constants,functionalize{outputs=true}"));
  RETURN_IF_ERROR(RunPipeline(pipeline, &sample).status());
  if (OutputsOf(*sample.module->main()).size() == num_outputs + request_.written.size())
    return sample;
  // What is written to is only known once sizes are.
  RETURN_IF_ERROR(Functional());
  sample.name = program_.name;
  sample.module = program_.module->Clone();
  return sample;
}

// Writes a folder of Paddle's calls, which takes the attributes as inputs behind the others.
absl::Status BenchSample::WritePaddle(const std::string& path) {
  ASSIGN_OR_RETURN(const Sample sample, FunctionalAsItIs());
  std::map<std::string, std::string> renamed;
  RETURN_IF_ERROR(LiftAttributes(sample.module.get(), &renamed).status());
  std::map<absl::string_view, absl::string_view> attributes;
  for (const auto& [attribute, input] : renamed) attributes.emplace(input, attribute);
  std::vector<std::string>& constants = constants_[static_cast<size_t>(ProgramForm::kPaddle)];
  const std::vector<Node*> inputs = sample.module->main()->placeholders();
  for (size_t i = request_.order.size(); i < inputs.size(); ++i) {
    const auto it = attributes.find(inputs[i]->target());
    constants.emplace_back(it != attributes.end() ? it->second : inputs[i]->target());
  }
  return Save(sample, path, {.format = "paddle"});
}

absl::Status BenchSample::WriteProgram(ProgramForm form) {
  const std::string path = JoinPath(folder_, absl::StrCat("program", EndingOf(form)));
  std::string text;
  switch (form) {
    case ProgramForm::kSample: return absl::OkStatus();
    case ProgramForm::kPt2: {
      ASSIGN_OR_RETURN(const Pt2Archive archive, ExportPt2Program(program_, /*flat_calls=*/true));
      return WriteFileAtomic(path, [&](const ByteSink& sink) { return archive.WriteTo(sink); });
    }
    case ProgramForm::kTorchScript: {
      ASSIGN_OR_RETURN(text, ExportTorchScriptProgram(program_));
      break;
    }
    case ProgramForm::kExport: {
      ASSIGN_OR_RETURN(const Pt2Archive archive, ExportPt2Program(program_, /*flat_calls=*/true));
      text = std::string(archive.graph());
      break;
    }
    case ProgramForm::kMlir: {
      ASSIGN_OR_RETURN(MlirProgram program, ExportMlirProgram(program_));
      text = std::move(program.text);
      constants_[static_cast<size_t>(form)] = std::move(program.attributes);
      break;
    }
    case ProgramForm::kPaddle: return WritePaddle(path);
  }
  return WriteFileAtomic(path, text);
}

}  // namespace graphnet
