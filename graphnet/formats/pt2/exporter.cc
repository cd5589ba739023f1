#include "graphnet/formats/pt2/exporter.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/file.h"
#include "graphnet/base/status.h"
#include "graphnet/base/strided_copy.h"
#include "graphnet/formats/archive/zip_writer.h"
#include "graphnet/formats/missing_values.h"
#include "graphnet/formats/pt2/evaluated.h"
#include "graphnet/formats/pt2/extra_files.h"
#include "graphnet/formats/pt2/graph_exporter.h"
#include "graphnet/formats/pt2/graph_importer.h"
#include "graphnet/formats/pt2/importer.h"
#include "graphnet/formats/pt2/pickled_tensors.h"
#include "graphnet/formats/pt2/tree_spec.h"
#include "graphnet/ir/annotation.h"
#include "graphnet/ir/text/equality.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/ops/callable.h"
#include "graphnet/ops/fused.h"
#include "graphnet/ops/lowering.h"
#include "graphnet/passes/partial_evaluation/partial_evaluation.h"

namespace graphnet {

// The files of an archive, without those that every archive has.
struct pt2::Program {
  std::string json;
  std::string weights, constants;  // configurations
  std::map<std::string, StorageContent> records;
  std::string inputs;                              // saved example inputs; empty if there are none
  std::map<std::string, std::string> extra_files;  // added by the user
  std::vector<std::string> classes;                // Pt2Archive::classes
  size_t num_dropped_guards = 0;                   // Pt2Archive::num_dropped_guards
  std::vector<std::string> renamed;                // Pt2Archive::renamed
};

namespace {

using pt2::ExportedAttribute;
using pt2::Json;
using pt2::JsonDocument;
using pt2::JsonWriter;
using pt2::Program;
using pt2::StoredTensor;

constexpr absl::string_view kWeights = "data/weights/";
constexpr absl::string_view kConstants = "data/constants/";
constexpr absl::string_view kExtra = "extra/";

absl::Status WriteArchive(const Program& program, const ByteSink& sink) {
  ZipWriter zip(sink);
  const auto add = [&](absl::string_view name, const auto& content) {
    zip.Add(absl::StrCat("model/", name), content);
  };
  for (const auto& [name, content] : program.records) add(name, content.Parts());
  add(absl::StrCat(kWeights, "model_weights_config.json"), program.weights);
  add(absl::StrCat(kConstants, "model_constants_config.json"), program.constants);
  add("models/model.json", program.json);
  // PyTorch needs this file even if it is empty.
  add("data/sample_inputs/model.pt", program.inputs);
  for (const auto& [name, content] : program.extra_files) add(absl::StrCat(kExtra, name), content);
  add("archive_format", "pt2");
  add("archive_version", "0");
  add(".data/version", "6\n");
  add("byteorder", "little");
  return zip.Finish();
}

// Reads the tensors that a program's configurations list.
absl::Status ReadConfigs(const Program& program, pt2::Payloads* payloads) {
  RETURN_IF_ERROR(ReadPayloadConfig(nullptr, "", kWeights, program.weights, payloads));
  return ReadPayloadConfig(nullptr, "", kConstants, program.constants, payloads);
}

absl::Status ReadGraph(const Program& program, pt2::GraphImporter* importer) {
  ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::Parse(program.json));
  Json graph_module, ranges;
  RETURN_IF_ERROR(ReadFields(document.root(),
                             {{"graph_module", &graph_module}, {"range_constraints", &ranges}}));
  RETURN_IF_ERROR(importer->Run(graph_module));
  return importer->AddRanges(ranges);
}

// Returns the value of an input with which the program was saved; nullopt if unknown.
std::optional<pt2::SavedLeaf> ExampleOf(const Node& input, const Sample& sample) {
  const auto it = sample.weights.find(std::string(input.target()));
  if (it == sample.weights.end()) return std::nullopt;
  const TensorData& data = it->second;
  if (NumberDType(input.annotation()) != DType::kInt64) return data;
  if (data.dtype != DType::kInt64 || data.bytes->size() != sizeof(int64_t)) return std::nullopt;
  int64_t number = 0;
  std::memcpy(&number, data.bytes->data(), sizeof(number));
  return number;
}

pt2::SavedLeaf ConstantOf(Json spec) {
  Json value;
  if (ReadFields(spec, {{"value", &value}}).ok()) spec = value;
  const absl::StatusOr<pt2::JsonUnion> constant = ReadUnion(spec);
  if (!constant.ok()) return {};
  const Json json = constant->value;
  if (constant->kind == "as_int") return json.Int().value_or(0);
  if (constant->kind == "as_float") return json.Float().value_or(0);
  if (constant->kind == "as_bool") return json.Bool().value_or(false);
  if (constant->kind == "as_string") return std::string(json.String().value_or(""));
  return {};
}

pt2::SavedLeaf LeafOf(const Argument& value) {
  if (value.is_bool()) return value.boolean();
  if (value.is_int()) return value.integer();
  if (value.is_float()) return value.real();
  return std::string(value.string());
}

// Returns the example inputs of a program; empty if any is unknown.
std::string ExamplesOf(absl::string_view in_spec,
                       const std::vector<pt2::GraphExporter::UserInput>& inputs,
                       const Sample& sample) {
  const absl::StatusOr<pt2::TreeSpec> spec = pt2::ParseTreeSpec(in_spec);
  if (!spec.ok()) return "";
  std::vector<pt2::SavedLeaf> leaves;
  for (const auto& input : inputs) {
    if (input.placeholder == nullptr) {
      leaves.push_back(ConstantOf(input.constant));
      continue;
    }
    if (input.value) {
      leaves.push_back(LeafOf(*input.value));
      continue;
    }
    std::optional<pt2::SavedLeaf> leaf = ExampleOf(*input.placeholder, sample);
    if (!leaf) return "";
    leaves.push_back(*std::move(leaf));
  }
  return pt2::PickleLeaves(*spec, leaves).value_or("");
}

// Checks that PyTorch runs nothing of a file but its graph.
absl::Status CheckTexts(const Program& program) {
  ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::Parse(program.json));
  return pt2::CheckEvaluated(document.root());
}

// --- The original program ----------------------------------------------------

// Returns the JSON of a program whose calls name only classes that `knows` knows, and whose calls
// import nothing when the program is loaded. Adds the classes that it replaces to `classes`.
absl::StatusOr<std::string> WithPlainCalls(const std::string& program, const pt2::KnowsClass& knows,
                                           std::vector<std::string>* classes) {
  ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::Parse(program));
  bool is_plain = true;
  JsonWriter out;
  // Copies a signature, or any object within one of the members on the way to it.
  const std::function<absl::Status(Json, absl::Span<const absl::string_view>)> copy =
      [&](Json value, absl::Span<const absl::string_view> path) -> absl::Status {
    if (value.is_there() && value.kind() == Json::Kind::kArray) {
      out.StartArray();
      for (const Json element : value.elements()) RETURN_IF_ERROR(copy(element, path));
      out.EndArray();
      return absl::OkStatus();
    }
    if (!value.is_there() || value.kind() != Json::Kind::kObject) {
      out.Copy(value);
      return absl::OkStatus();
    }
    out.StartObject();
    RETURN_IF_ERROR(value.ForEachMember([&](absl::string_view name, Json member) -> absl::Status {
      out.Member(name);
      if (!path.empty() && name == path[0]) return copy(member, path.subspan(1));
      if (path.empty() && (name == "in_spec" || name == "out_spec") && member.is_string()) {
        ASSIGN_OR_RETURN(const std::string spec,
                         pt2::WithoutClasses(*member.String(), classes, knows));
        ASSIGN_OR_RETURN(const JsonDocument before,
                         JsonDocument::Parse(std::string(*member.String())));
        JsonWriter same;  // the text with the blanks of ours
        same.Copy(before.root());
        is_plain = is_plain && spec == same.text();
        out.String(spec);
        return absl::OkStatus();
      }
      out.Copy(member);
      return absl::OkStatus();
    }));
    out.EndObject();
    return absl::OkStatus();
  };
  constexpr absl::string_view kPath[] = {"graph_module", "module_call_graph", "signature"};
  RETURN_IF_ERROR(copy(document.root(), kPath));
  return is_plain ? program : std::string(out.text());
}

// Returns nullopt if the sample differs from its original program.
absl::StatusOr<std::optional<Program>> WriteUnchanged(const Sample& sample,
                                                      const pt2::Original& original,
                                                      const pt2::KnowsClass& knows) {
  const auto file = [&](absl::string_view name) -> std::string {
    const auto it = sample.extra_files.find(std::string(name));
    return it == sample.extra_files.end() ? R"({"config": {}})" : it->second;
  };
  // The sample came in the layout before torch 2.8, which is not written.
  if (!sample.extra_files.contains(std::string(kProgramWeightsFile)))
    return std::optional<Program>();
  Program program;
  program.json = sample.extra_files.at(std::string(kProgramFile));
  program.weights = file(kProgramWeightsFile);
  program.constants = file(kProgramConstantsFile);
  pt2::Payloads payloads;
  if (!ReadConfigs(program, &payloads).ok()) return std::optional<Program>();
  for (auto& [name, payload] : payloads) {
    // A storage that several tensors share is an attribute of its own.
    const size_t slash = payload.record_name.rfind('/');
    const auto it =
        sample.weights.find(absl::StrCat("_storage_", payload.record_name.substr(slash + 1)));
    if (it != sample.weights.end()) payload.record_bytes = it->second.bytes->size();
  }
  Module again;
  pt2::GraphImporter importer(payloads, &again);
  if (!ReadGraph(program, &importer).ok() || !CheckEqual(*sample.module, again, kExact).ok()) {
    return std::optional<Program>();
  }
  for (const auto& [name, payload] : payloads) {
    if (payload.is_pickled) return std::optional<Program>();
    program.records.try_emplace(payload.record_name);
  }
  absl::flat_hash_set<std::string> written;
  for (const pt2::ImportedAttribute& imported : importer.attributes()) {
    const auto data = sample.weights.find(imported.attribute);
    if (imported.payload == nullptr || data == sample.weights.end()) {
      return absl::InvalidArgumentError(absl::StrCat("the value of ", Printable(imported.attribute),
                                                     " is not known", kValueHint));
    }
    StoredTensor tensor = imported.payload->tensor;
    if (imported.is_storage) {  // The attribute is its whole record.
      tensor = {.dtype = data->second.dtype,
                .sizes = data->second.shape,
                .strides = RowMajorStrides(data->second.shape)};
    }
    written.insert(imported.payload->record_name);
    if (!program.records[imported.payload->record_name].Add(tensor, data->second))
      return std::optional<Program>();
  }
  if (written.size() != program.records.size()) return std::optional<Program>();
  if (importer.in_spec() != nullptr) {
    std::vector<pt2::SavedLeaf> leaves;
    size_t i = 0;
    bool are_known = original.user_inputs().size() == importer.user_inputs().size();
    for (const std::string& name : importer.user_inputs()) {
      if (!are_known) break;
      if (name.empty()) {
        Json constant;
        const absl::StatusOr<pt2::JsonUnion> spec = ReadUnion(original.user_inputs()[i]);
        if (spec.ok() && spec->kind == "user_input") {
          ReadFields(spec->value, {{"arg", &constant, false}}).IgnoreError();
        } else if (spec.ok()) {
          constant = spec->value;
        }
        leaves.push_back(ConstantOf(constant));
      } else {
        for (const Node* node : again.main()->placeholders()) {
          if (node->target() != name) continue;
          std::optional<pt2::SavedLeaf> leaf = ExampleOf(*node, sample);
          are_known = are_known && leaf.has_value();
          leaves.push_back(leaf ? *std::move(leaf) : pt2::SavedLeaf());
        }
      }
      ++i;
    }
    if (are_known) program.inputs = PickleLeaves(*importer.in_spec(), leaves).value_or("");
  }
  ASSIGN_OR_RETURN(program.json, WithPlainCalls(program.json, knows, &program.classes));
  return std::optional(std::move(program));
}

// True if a program takes only tensors and numbers, by position, and returns no class instance.
bool HasFlatCalls(const pt2::Original& original) {
  Json in_spec, out_spec;
  if (original.call().is_null() ||
      !ReadFields(original.call(), {{"in_spec", &in_spec}, {"out_spec", &out_spec}}).ok() ||
      !in_spec.is_string() || !out_spec.is_string())
    return false;
  std::vector<std::string> classes;
  if (!pt2::WithoutClasses(*out_spec.String(), &classes).ok() || !classes.empty()) return false;
  using Kind = pt2::TreeSpec::Kind;
  const absl::StatusOr<pt2::TreeSpec> spec = pt2::ParseTreeSpec(*in_spec.String());
  if (!spec.ok() || spec->children.size() != 2 || !spec->children[1].children.empty()) return false;
  for (const pt2::TreeSpec& input : spec->children[0].children) {
    if (input.kind != Kind::kLeaf) return false;
  }
  return absl::c_all_of(original.user_inputs(), [](Json input) {
    const absl::StatusOr<pt2::JsonUnion> kind = ReadUnion(input);
    if (!kind.ok() || kind->kind != "user_input") return false;
    Json argument;
    if (!ReadFields(kind->value, {{"arg", &argument}}).ok()) return false;
    const absl::StatusOr<pt2::JsonUnion> value = ReadUnion(argument);
    return value.ok() && (value->kind == "as_tensor" || value->kind == "as_sym_int");
  });
}

// --- A new program -----------------------------------------------------------

// Adds the PayloadMeta of a tensor that is its whole record.
absl::Status AddPayload(const ExportedAttribute& attribute, const TensorData& data,
                        absl::string_view record, JsonWriter* config,
                        pt2::StorageContent* content) {
  StoredTensor tensor{.dtype = data.dtype, .sizes = data.shape, .strides = data.strides};
  if (tensor.strides.empty()) tensor.strides = RowMajorStrides(data.shape);
  const int64_t dtype = pt2::ScalarTypeNumber(data.dtype);
  if (dtype == 0 || !content->Add(tensor, data)) {
    return absl::InvalidArgumentError(absl::StrCat(Printable(attribute.attribute->name),
                                                   ": torch.export stores no tensors of dtype ",
                                                   DTypeName(data.dtype)));
  }
  const auto sizes = [&](absl::string_view name, const std::vector<int64_t>& numbers) {
    config->Member(name).StartArray();
    for (const int64_t number : numbers) {
      config->StartObject();
      config->Member("as_int").Int(number);
      config->EndObject();
    }
    config->EndArray();
  };
  const TensorMeta* const meta = attribute.attribute->meta;
  const Device device = meta != nullptr && meta->has_device ? meta->device : Device();
  config->Member(attribute.attribute->name).StartObject();
  config->Member("path_name").String(record);
  config->Member("is_param").Bool(attribute.is_parameter);
  config->Member("use_pickle").Bool(false);
  config->Member("tensor_meta").StartObject();
  config->Member("dtype").Int(dtype);
  sizes("sizes", tensor.sizes);
  config->Member("requires_grad").Bool(attribute.requires_grad);
  config->Member("device").StartObject();
  config->Member("type").String(DeviceTypeName(device.type));
  config->Member("index");
  device.index < 0 ? config->Null() : config->Int(device.index);
  config->EndObject();
  sizes("strides", tensor.strides);
  config->Member("storage_offset").Raw(R"({"as_int":0})");
  config->Member("layout").Int(pt2::LayoutNumber(Layout::kStrided));
  config->EndObject();
  config->EndObject();
  return absl::OkStatus();
}

absl::StatusOr<Program> WriteAnew(const Sample& sample, const pt2::Original& original,
                                  bool flat_calls, MissingCalls* missing) {
  pt2::GraphExporter exporter(sample, original, flat_calls, missing);
  RETURN_IF_ERROR(exporter.Run());
  Program program;
  program.json = std::string(exporter.program());
  JsonWriter configs[2];
  for (JsonWriter& config : configs) {
    config.StartObject();
    config.Member("config").StartObject();
  }
  size_t counts[2] = {};
  for (const ExportedAttribute& attribute : exporter.attributes()) {
    const int i = attribute.is_constant ? 1 : 0;
    const std::string record =
        absl::StrCat(attribute.is_constant ? "tensor_" : "weight_", counts[i]++);
    RETURN_IF_ERROR(AddPayload(
        attribute, sample.weights.at(std::string(attribute.attribute->name)), record, &configs[i],
        &program.records[absl::StrCat(i == 0 ? kWeights : kConstants, record)]));
  }
  for (JsonWriter& config : configs) {
    config.EndObject();
    config.EndObject();
  }
  program.weights = std::string(configs[0].text());
  program.constants = std::string(configs[1].text());
  program.inputs = ExamplesOf(exporter.in_spec(), exporter.user_inputs(), sample);
  program.classes = exporter.classes();
  program.num_dropped_guards = exporter.num_dropped_guards();
  program.renamed = exporter.renamed();
  return program;
}

// --- Lowering ----------------------------------------------------------------

bool IsNumber(const Argument& argument) {
  if (!argument.is_node()) return !argument.is_aggregate();
  const Node& node = *argument.node();
  if (node.tensor_meta() != nullptr || node.op() == Op::kGetAttr) return false;
  return !node.is_placeholder() || NumberDType(node.annotation()).has_value();
}

// Returns the sample with another module.
std::unique_ptr<Sample> WithModule(const Sample& sample, std::unique_ptr<Module> module) {
  auto made = std::make_unique<Sample>();
  made->name = sample.name;
  made->module = std::move(module);
  made->extra_files = sample.extra_files;
  made->weights = sample.weights;
  return made;
}

// True if a call has the form of a Python program, which torch.export does not write.
bool NeedsLowering(const Node& node) {
  if (node.op() == Op::kCallMethod || IsFusedCall(node)) return true;
  if (node.op() != Op::kCallFunction) return false;
  const absl::string_view target = node.target();
  if (absl::StartsWith(target, "operator.")) {
    if (target == "operator.getitem" || target == "operator.setitem") return false;
    for (const Argument& argument : node.args()) {
      if (!IsNumber(argument)) return true;
    }
    return false;
  }
  if (absl::StartsWith(target, "torch.")) {
    for (const absl::string_view own :
         {"torch.ops.", "torch.sym_", "torch._sym_", "torch._functorch.predispatch."}) {
      if (absl::StartsWith(target, own)) return false;
    }
    return target != "torch.cond" && target != "torch.while_loop" && target != "torch.tensor";
  }
  const Callable callee = CalleeOf(node);
  return callee.kind == Callable::Kind::kOperator && !callee.names_overload;
}

// True if a call returns tensors whose metas are not fully known.
bool LacksMeta(const Node& node) {
  if (!node.is_call() || !node.has_uses()) return false;
  const ValueMeta* const meta = node.meta();
  const auto is_known = [](const TensorMeta* tensor) {
    return tensor != nullptr && tensor->dtype != DType::kUnknown;
  };
  if (meta != nullptr && (meta->is_tuple || is_known(meta->tensor))) return false;
  if (const Schema* const schema = CalleeOf(node).named_operator())
    return !schema->returns.empty() && schema->returns[0].kind == SchemaType::Kind::kTensor;
  return node.HasBody() || node.is_call_function("operator.getitem") ||
         node.is_call_function("torch.tensor");
}

}  // namespace

bool LacksMetas(const Module& module) {
  for (const Node* node : module.main()->nodes()) {
    if (LacksMeta(*node)) return true;
  }
  return false;
}

absl::StatusOr<std::unique_ptr<Sample>> LowerForPt2(const Sample& sample, MissingCalls* missing) {
  bool needs_lowering = false;
  for (const Graph* graph : sample.module->graphs()) {
    for (const Node* node : graph->nodes()) needs_lowering |= NeedsLowering(*node);
  }
  if (!needs_lowering) return nullptr;
  RefusedCalls refused;
  ASSIGN_OR_RETURN(LoweredModule lowered,
                   LowerToAten(*sample.module, missing == nullptr ? nullptr : &refused));
  for (const auto& [node, status] : refused) AddMissing(status, missing);
  if (!refused.empty()) return refused.begin()->second;
  // Metas and draw specs known before lowering are kept.
  for (Graph* graph : lowered.module->graphs()) {
    for (Node* node : graph->nodes()) {
      const Node* const origin = lowered.origins[node];
      if (origin == nullptr || node->is_output()) continue;
      const Argument& value = lowered.values[origin];
      if (value.is_node() && value.node() == node) {
        node->set_meta(lowered.module->CopyMeta(origin->meta()));
      }
      if (node->is_placeholder() && origin->draw_spec() != nullptr) {
        node->set_draw_spec(*origin->draw_spec());
      }
    }
  }
  for (const SymExpr* relation : sample.module->relations()) lowered.module->AddRelation(relation);
  return WithModule(sample, std::move(lowered.module));
}

absl::StatusOr<Pt2Archive> PreparePt2(const Sample& sample, bool flat_calls, MissingCalls* missing,
                                      const pt2::KnowsClass& knows) {
  RETURN_IF_ERROR(Verify(*sample.module));
  const pt2::Original original = pt2::Original::Of(sample);
  std::optional<Program> program;
  if (original.is_there() && (!flat_calls || HasFlatCalls(original))) {
    // Whoever loads a file may know any class, unless the caller says otherwise.
    const auto knows_all = [](absl::string_view) { return true; };
    ASSIGN_OR_RETURN(
        program,
        WriteUnchanged(sample, original, knows == nullptr ? pt2::KnowsClass(knows_all) : knows));
    if (program && !CheckTexts(*program).ok()) program.reset();
  }
  if (!program) {
    ASSIGN_OR_RETURN(const std::unique_ptr<Sample> lowered, LowerForPt2(sample, missing));
    const Sample& plain = lowered == nullptr ? sample : *lowered;
    ASSIGN_OR_RETURN(ProgramOfCall evaluated, EvaluateCall(*plain.module, /*with_state=*/false));
    const std::unique_ptr<Sample> written = WithModule(plain, std::move(evaluated.module));
    ASSIGN_OR_RETURN(program, WriteAnew(*written, original, flat_calls, missing));
    RETURN_IF_ERROR(Annotate(CheckTexts(*program), "the program that would be written"));
  }
  if (const auto it = sample.extra_files.find(std::string(kProgramExtraFiles));
      it != sample.extra_files.end()) {
    absl::StatusOr<std::map<std::string, std::string>> files = pt2::UnpackExtraFiles(it->second);
    if (!files.ok()) return Annotate(files.status(), kProgramExtraFiles);
    program->extra_files = *std::move(files);
  }
  return Pt2Archive(std::make_shared<const Program>(*std::move(program)));
}

absl::string_view Pt2Archive::graph() const { return program_->json; }

const std::vector<std::string>& Pt2Archive::classes() const { return program_->classes; }
size_t Pt2Archive::num_dropped_guards() const { return program_->num_dropped_guards; }
const std::vector<std::string>& Pt2Archive::renamed() const { return program_->renamed; }

absl::StatusOr<std::unique_ptr<Module>> Pt2Archive::ReadModule() const {
  pt2::Payloads payloads;
  RETURN_IF_ERROR(ReadConfigs(*program_, &payloads));
  for (auto& [name, payload] : payloads) {
    const auto record = program_->records.find(payload.record_name);
    if (record != program_->records.end()) payload.record_bytes = record->second.size();
  }
  auto module = std::make_unique<Module>();
  pt2::GraphImporter importer(payloads, module.get());
  RETURN_IF_ERROR(ReadGraph(*program_, &importer));
  RETURN_IF_ERROR(Verify(*module));
  return module;
}

uint64_t Pt2Archive::weight_bytes() const {
  uint64_t bytes = 0;
  for (const auto& [name, content] : program_->records) bytes += content.size();
  return bytes;
}

absl::Status Pt2Archive::WriteTo(const ByteSink& sink) const {
  return WriteArchive(*program_, sink);
}

std::string Pt2Archive::ToString() const {
  std::string bytes;
  bytes.reserve(weight_bytes() + program_->json.size());
  WriteTo([&](absl::string_view part) {
    bytes.append(part.data(), part.size());
    return absl::OkStatus();
  }).IgnoreError();  // Appending to a string cannot fail.
  return bytes;
}

absl::Status ExportPt2(const Sample& sample, const std::string& path) {
  ASSIGN_OR_RETURN(const Pt2Archive archive, PreparePt2(sample));
  return WriteFileAtomic(path, [&](const ByteSink& sink) { return archive.WriteTo(sink); });
}

absl::StatusOr<std::string> ExportPt2ToString(const Sample& sample) {
  ASSIGN_OR_RETURN(const Pt2Archive archive, PreparePt2(sample));
  return archive.ToString();
}

}  // namespace graphnet
