#include "graphnet/shard/shard_plan.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/json.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/base/tensor_size.h"

namespace graphnet::spmd {
namespace {

using Kind = ReshardStep::Kind;

// Returns whether the plan writes names of meshes, which a single mesh of ranks 0, 1, … needs not.
bool HasNames(const ShardPlan& plan) {
  return plan.meshes.size() > 1 || plan.meshes[0].mesh != Mesh::Of(plan.meshes[0].mesh.shape);
}

Json TensorJson(const ShardPlan& plan, const LaidOutTensor& tensor, bool is_input) {
  Json json;
  json["name"] = tensor.name;
  if (is_input) json["argument"] = tensor.argument;
  if (!tensor.number.empty()) json["number"] = tensor.number;
  if (tensor.dtype != DType::kUnknown) json["dtype"] = DTypeShortName(tensor.dtype);
  json["shape"] = tensor.sizes;
  if (HasNames(plan)) json["mesh"] = plan.meshes[tensor.mesh].name;
  json["sharding"] = tensor.sharding.dims_mapping;
  if (!is_input) json["exact"] = tensor.is_exact;
  if (!tensor.gathered.empty()) json["gathered"] = tensor.gathered;
  return json;
}

Json CommunicationJson(const Communication& communication) {
  const ReshardStep& step = communication.step;
  Json json;
  json["value"] = communication.value;
  json["function"] = communication.function;
  json["call"] = ReshardKindName(step.kind);
  json["dtype"] = DTypeShortName(communication.dtype);
  if (step.dim >= 0) json["dim"] = step.dim;
  if (step.to_dim >= 0) json["to_dim"] = step.to_dim;
  if (step.kind == Kind::kAllReduce || step.kind == Kind::kReduceScatter ||
      step.kind == Kind::kReduce)
    json["reduce"] = ReduceTypeName(step.reduce);
  if (step.root >= 0) json["root"] = step.root;
  json["groups"] = step.groups;
  json["bytes_per_link"] = step.bytes_per_link;
  json["links"] = step.num_links;
  return json;
}

// Reads one plan. Errors name the place.
class PlanReader {
 public:
  explicit PlanReader(absl::string_view name) : name_(name) {}

  absl::StatusOr<ShardPlan> Read(absl::string_view text) const {
    const Json json = Json::Parse(text);
    if (!json.is_object()) return Error("is not a JSON object");
    ShardPlan plan;
    RETURN_IF_ERROR(ReadMeshes(json, &plan));
    RETURN_IF_ERROR(ReadTensors(json, "inputs", plan.meshes, &plan.inputs));
    RETURN_IF_ERROR(ReadTensors(json, "outputs", plan.meshes, &plan.outputs));
    RETURN_IF_ERROR(CheckCommunication(json));
    return plan;
  }

 private:
  absl::Status Error(absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat(Printable(name_, 1000), ": ", what));
  }

  absl::StatusOr<Mesh> ReadShape(const Json& object, const char* key, absl::string_view of) const {
    ASSIGN_OR_RETURN(const std::vector<int64_t> shape, Integers(object, key, of));
    int64_t ranks = 1;
    for (const int64_t size : shape) {
      if (size < 1 || size > kMaxRanks || (ranks *= size) > kMaxRanks)
        return Error("has a mesh of an invalid shape");
    }
    if (shape.empty()) return Error("has no mesh");
    return Mesh::Of(shape);
  }

  absl::Status ReadMeshes(const Json& json, ShardPlan* plan) const {
    const Json* const several = json.Find("meshes");
    if (several == nullptr) {
      ASSIGN_OR_RETURN(Mesh mesh, ReadShape(json, "mesh", "the plan"));
      plan->meshes.push_back({"mesh", std::move(mesh)});
      return absl::OkStatus();
    }
    if (several->elements().empty() || several->elements().size() > 1000)
      return Error("has no list meshes");
    std::set<int64_t> all;
    for (const Json& object : several->elements()) {
      if (!object.is_object()) return Error("meshes must hold objects only");
      NamedMesh named;
      named.name = Text(object, "name");
      const std::string of = absl::StrCat("mesh ", Printable(named.name));
      if (named.name.empty() ||
          absl::c_any_of(plan->meshes, [&](const NamedMesh& m) { return m.name == named.name; }))
        return Error("has a mesh without a unique name");
      ASSIGN_OR_RETURN(named.mesh, ReadShape(object, "shape", of));
      const Json* const ranks = object.Find("ranks");
      if (ranks == nullptr || ranks->elements().size() != named.mesh.num_ranks())
        return Error(absl::StrCat(of, " does not have as many ranks as its shape"));
      std::set<int64_t> own;
      for (size_t i = 0; i < named.mesh.num_ranks(); ++i) {
        const auto rank = ranks->elements()[i].To<int>();
        if (!rank || *rank < 0 || *rank >= kMaxRanks || !own.insert(*rank).second)
          return Error(absl::StrCat(of, ": ranks must hold different ranks"));
        named.mesh.ranks[i] = *rank;
      }
      all.merge(own);
      plan->meshes.push_back(std::move(named));
    }
    if (*all.rbegin() != static_cast<int64_t>(all.size()) - 1)
      return Error("has meshes that leave out a rank");
    const Json* const stages = json.Find("stages");
    if (stages == nullptr || !stages->is_list()) return Error("has no list stages");
    auto names = stages->To<std::vector<std::string>>();
    if (!names) return Error("stages must hold strings only");
    plan->stages = *std::move(names);
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<int64_t>> Integers(const Json& object, const char* key,
                                                absl::string_view of) const {
    const Json* const found = object.Find(key);
    if (found == nullptr || !found->is_list() || found->elements().size() > kMaxRank)
      return Error(absl::StrCat(of, " has no list ", key));
    auto numbers = found->To<std::vector<int64_t>>();
    if (!numbers) return Error(absl::StrCat(of, ": ", key, " must hold integers only"));
    return *std::move(numbers);
  }

  static std::string Text(const Json& object, const char* key) {
    return object.Get<std::string>(key).value_or("");
  }

  absl::Status ReadTensors(const Json& json, const char* key, absl::Span<const NamedMesh> meshes,
                           std::vector<LaidOutTensor>* tensors) const {
    const Json* const list = json.Find(key);
    if (list == nullptr || !list->is_list()) return Error(absl::StrCat("has no list ", key));
    for (const Json& object : list->elements()) {
      if (!object.is_object()) return Error(absl::StrCat(key, " must hold objects only"));
      LaidOutTensor tensor;
      tensor.name = Text(object, "name");
      tensor.argument = Text(object, "argument");
      tensor.number = Text(object, "number");
      const std::string of = absl::StrCat(key, " ", Printable(tensor.name));
      if (tensor.name.empty()) return Error(absl::StrCat(key, " has a tensor without a name"));
      if (json.Find("meshes") != nullptr) {
        const std::string name = Text(object, "mesh");
        const auto found =
            absl::c_find_if(meshes, [&](const NamedMesh& m) { return m.name == name; });
        if (found == meshes.end()) return Error(absl::StrCat(of, " is on an unknown mesh"));
        tensor.mesh = static_cast<size_t>(found - meshes.begin());
      }
      const Mesh& mesh = meshes[tensor.mesh].mesh;
      tensor.gathered = Text(object, "gathered");
      if (object.Find("dtype") != nullptr) {
        const std::optional<DType> dtype = ParseDTypeShortName(Text(object, "dtype"));
        if (!dtype.has_value()) return Error(absl::StrCat(of, ": unknown dtype"));
        tensor.dtype = *dtype;
      }
      ASSIGN_OR_RETURN(tensor.sizes, Integers(object, "shape", of));
      if (!NumElements(tensor.sizes).has_value()) return Error(absl::StrCat(of, ": invalid shape"));
      ASSIGN_OR_RETURN(const std::vector<int64_t> mapping, Integers(object, "sharding", of));
      for (const int64_t axis : mapping)
        tensor.sharding.dims_mapping.push_back(
            static_cast<int>(std::clamp<int64_t>(axis, -2, mesh.num_axes())));
      if (!mapping.empty()) {
        const absl::Status status = CheckSharding(tensor.sharding, mesh, tensor.sizes);
        if (!status.ok()) return Error(absl::StrCat(of, ": ", status.message()));
      }
      tensor.is_exact = object.Get<bool>("exact").value_or(true);
      tensors->push_back(std::move(tensor));
    }
    return absl::OkStatus();
  }

  // Checks the communication, which is not read because it follows from the programs of the ranks.
  absl::Status CheckCommunication(const Json& json) const {
    const Json* const list = json.Find("communication");
    if (list == nullptr) return absl::OkStatus();
    if (!list->is_list()) return Error("has no list communication");
    for (const Json& object : list->elements()) {
      if (!object.is_object()) return Error("communication must hold objects only");
      const Json* const given = object.Find("reduce");
      if (given == nullptr) continue;
      const std::string reduce = Text(object, "reduce");
      if (ParseReduceType(reduce).has_value()) continue;
      const std::string value = Printable(Text(object, "value"));
      return Error(absl::StrCat("communication ", value, ": ",
                                given->text() != nullptr
                                    ? absl::StrCat(Printable(reduce), " is not a reduction")
                                    : "reduce must be a string"));
    }
    return absl::OkStatus();
  }

  absl::string_view name_;
};

}  // namespace

size_t ShardPlan::num_ranks() const {
  int last = -1;
  for (const NamedMesh& named : meshes)
    last = std::max(last, *absl::c_max_element(named.mesh.ranks));
  return static_cast<size_t>(last) + 1;
}

std::optional<size_t> ShardPlan::PositionOf(int rank, const LaidOutTensor& tensor) const {
  const std::vector<int>& ranks = MeshOf(tensor).ranks;
  const auto found = absl::c_find(ranks, rank);
  if (found == ranks.end()) return std::nullopt;
  return static_cast<size_t>(found - ranks.begin());
}

std::string PlanToJson(const ShardPlan& plan) {
  Json json;
  if (HasNames(plan)) {
    for (const auto& [name, mesh] : plan.meshes) {
      json["meshes"].push_back(
          Json::Object({{"name", name}, {"shape", mesh.shape}, {"ranks", mesh.ranks}}));
    }
    json["stages"] = plan.stages;
  } else {
    json["mesh"] = plan.meshes[0].mesh.shape;
  }
  Json& ranks = json["ranks"] = Json::List();
  for (size_t i = 0; i < plan.num_ranks(); ++i) ranks.push_back(absl::StrCat("rank_", i));
  Json& inputs = json["inputs"] = Json::List();
  for (const LaidOutTensor& input : plan.inputs) inputs.push_back(TensorJson(plan, input, true));
  Json& outputs = json["outputs"] = Json::List();
  for (const LaidOutTensor& output : plan.outputs)
    outputs.push_back(TensorJson(plan, output, false));
  Json& communication = json["communication"] = Json::List();
  for (const Communication& step : plan.communication)
    communication.push_back(CommunicationJson(step));
  Json& replicated = json["replicated"] = Json::Object();
  for (const auto& [target, count] : plan.replicated) replicated[target] = count;
  return json.DumpRows(/*indent=*/0, /*row_indent=*/2);
}

absl::StatusOr<ShardPlan> ParsePlan(absl::string_view text, absl::string_view name) {
  return PlanReader(name).Read(text);
}

}  // namespace graphnet::spmd
