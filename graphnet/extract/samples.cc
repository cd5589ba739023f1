#include "graphnet/extract/samples.h"

#include <sstream>
#include <utility>

#include "ATen/core/dispatch/Dispatcher.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/safetensors/safetensors.h"
#include "graphnet/formats/torchscript/attributes.h"
#include "graphnet/interp/torch/status.h"
#include "graphnet/interp/torch/tensors.h"
#include "graphnet/ir/annotation.h"
#include "graphnet/ir/canonical_hash.h"
#include "graphnet/ir/node_error.h"
#include "graphnet/ir/verifier.h"
#include "torch/csrc/jit/serialization/import.h"

namespace graphnet {
namespace {

// Returns the operand that the schema of `node`'s operator calls "running_var", or null.
Node* RunningVariance(const Node& node) {
  const std::vector<std::string> parts = absl::StrSplit(node.target(), '.');
  if (parts.size() != 3) return nullptr;
  const auto handle = c10::Dispatcher::singleton().findSchema(
      {absl::StrCat(parts[0], "::", parts[1]), parts[2] == "default" ? "" : parts[2]});
  if (!handle) return nullptr;
  const std::optional<int> index = handle->schema().argumentIndexWithName("running_var");
  if (!index || static_cast<size_t>(*index) >= node.args().size()) return nullptr;
  const Argument& operand = node.args()[static_cast<size_t>(*index)];
  return operand.is_node() ? operand.node() : nullptr;
}

// Returns the attribute or constant with its value from before the run.
const at::Tensor& InitialOf(const Capture& capture, const std::string& name,
                            const at::Tensor& live) {
  const auto initial = capture.initial.find(name);
  return initial == capture.initial.end() ? live : initial->second;
}

// Returns the tensor in the form of files. Records its strides, because operators return tensors
// with the same strides, and may round differently for other strides.
absl::StatusOr<TensorData> Stored(const std::string& name, const at::Tensor& tensor,
                                  StitchManifest* manifest) {
  ASSIGN_OR_RETURN(TensorData data, ToTensorData(tensor));
  data.strides = torchscript::StridesOf(tensor);
  if (!data.strides.empty()) manifest->strides[name] = data.strides;
  return data;
}

// Returns an error that names the first node that takes the attribute, if files cannot hold the
// dtype.
absl::Status CheckDType(const Graph& graph, const std::string& name, DType dtype) {
  const TensorData empty = {
      .dtype = dtype, .shape = {0}, .bytes = std::make_shared<const std::string>()};
  absl::Status status = SerializeSafetensors({{name, empty}}).status();
  if (status.ok()) return status;
  for (const Node* node : graph.nodes()) {
    if (node->op() == Op::kGetAttr && node->target() == name && node->has_uses())
      return NodeError(*node->users()[0], status.message());
  }
  return status;
}

absl::Status FillAttributes(const Capture& capture, const Capture::Subgraph& subgraph,
                            StitchManifest* manifest, Sample* sample) {
  absl::flat_hash_set<std::string> variances;
  for (Node* node : sample->module->main()->nodes()) {
    if (!node->is_call()) continue;
    Node* variance = RunningVariance(*node);
    if (variance == nullptr) continue;
    if (variance->op() == Op::kGetAttr) {
      variances.insert(std::string(variance->target()));
    } else if (variance->is_placeholder()) {
      DrawSpec spec = variance->draw_spec() != nullptr ? *variance->draw_spec() : DrawSpec();
      spec.min = 0;
      variance->set_draw_spec(spec);
    }
  }
  for (const auto& [name, live] : subgraph.attributes) {
    const at::Tensor& tensor = InitialOf(capture, name, live);
    if (tensor.layout() != at::kStrided || tensor.is_quantized()) {
      return absl::UnimplementedError(absl::StrCat("attribute ", name, ": sparse or quantised"));
    }
    Attribute attribute = *sample->module->FindAttribute(name);
    DrawSpec spec;
    std::vector<Argument> data;
    if (!tensor.is_meta()) torchscript::DescribeValues(tensor, &spec, &data);
    if (variances.contains(name)) spec.min = 0;
    attribute.draw_spec = &spec;
    attribute.annotation = tensor.requires_grad() ? kParameterAnnotation : "torch.Tensor";
    sample->module->AddAttribute(attribute);
    TensorData& stored = sample->weights[name];
    ASSIGN_OR_RETURN(stored, Stored(name, tensor, manifest));
    RETURN_IF_ERROR(CheckDType(*sample->module->main(), name, stored.dtype));
  }
  return absl::OkStatus();
}

constexpr char kObjectPrefix[] = "object_";

std::string SerializeObjects(const std::map<int64_t, c10::IValue>& objects) {
  if (objects.empty()) return "";
  torch::jit::Module module("objects");
  for (const auto& [number, object] : objects)
    module.register_attribute(absl::StrCat(kObjectPrefix, number), object.type(), object);
  std::ostringstream bytes;
  module.save(bytes);
  return bytes.str();
}

absl::StatusOr<std::map<int64_t, c10::IValue>> ReadObjects(const StitchManifest& manifest,
                                                           const std::string& bytes, bool trust) {
  std::map<int64_t, c10::IValue> objects;
  if (bytes.empty() || manifest.objects.empty()) return objects;
  if (!trust) {
    return absl::PermissionDeniedError(
        absl::StrCat(Printable(manifest.objects.begin()->second),
                     " is an object of a class written in C++, whose code would run"));
  }
  RETURN_IF_ERROR(Annotate(Guarded([&]() -> absl::Status {
                             std::istringstream stream(bytes);
                             const torch::jit::Module module = torch::jit::load(stream);
                             for (const auto& [number, path] : manifest.objects) {
                               const std::string name = absl::StrCat(kObjectPrefix, number);
                               if (module.hasattr(name)) objects[number] = module.attr(name);
                             }
                             return absl::OkStatus();
                           }),
                           "stitch.pt"));
  return objects;
}

}  // namespace

absl::StatusOr<ExtractedProgram> ToSamples(const Capture& capture, const std::string& name) {
  return Guarded([&]() -> absl::StatusOr<ExtractedProgram> {
    ExtractedProgram out;
    out.manifest = capture.manifest;
    out.manifest.name = name;
    for (size_t i = 0; i < capture.subgraphs.size(); ++i) {
      Sample sample;
      sample.name = name;
      sample.module = capture.subgraphs[i].module->Clone();
      sample.graph_hash = CanonicalHash(*sample.module);
      RETURN_IF_ERROR(FillAttributes(capture, capture.subgraphs[i], &out.manifest, &sample));
      RETURN_IF_ERROR(Annotate(Verify(*sample.module), capture.manifest.subgraphs[i].name));
      out.subgraphs.push_back(std::move(sample));
    }
    for (const auto& [number, key] : capture.manifest.constants) {
      const at::Tensor& tensor = InitialOf(capture, key, capture.constants.at(number));
      ASSIGN_OR_RETURN(out.tensors[key], Stored(key, tensor, &out.manifest));
    }
    out.objects = SerializeObjects(capture.initial_objects);
    return out;
  });
}

absl::StatusOr<LoadedProgram> LoadProgram(ExtractedProgram stored, bool trust) {
  std::map<std::string, at::Tensor> tensors;
  for (const auto& [name, data] : stored.tensors) {
    absl::StatusOr<at::Tensor> tensor = ToTensor(data, c10::Device(c10::kCPU));
    if (!tensor.ok()) return Annotate(tensor.status(), Printable(name));
    tensors[name] = *std::move(tensor);
  }
  std::vector<StitchedProgram::Subgraph> subgraphs;
  for (const Sample& sample : stored.subgraphs) {
    StitchedProgram::Subgraph& subgraph = subgraphs.emplace_back();
    subgraph.module = sample.module.get();
    for (const Attribute& attribute : sample.module->attributes()) {
      const auto it = tensors.find(std::string(attribute.name));
      if (it != tensors.end()) subgraph.attributes.insert(*it);
    }
  }
  std::map<int64_t, at::Tensor> constants;
  for (const auto& [number, name] : stored.manifest.constants) {
    const auto it = tensors.find(name);
    if (it != tensors.end()) constants[number] = it->second;
  }
  for (const int64_t number : stored.manifest.parameters) {
    const auto it = constants.find(number);
    if (it != constants.end()) it->second = AsParameter(it->second);
  }
  ASSIGN_OR_RETURN(auto objects, ReadObjects(stored.manifest, stored.objects, trust));
  LoadedProgram out;
  ASSIGN_OR_RETURN(out.program, StitchedProgram::Make(stored.manifest, std::move(subgraphs),
                                                      std::move(constants), std::move(objects)));
  out.stored = std::move(stored);
  return out;
}

}  // namespace graphnet
