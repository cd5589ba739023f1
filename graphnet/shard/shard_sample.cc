#include "graphnet/shard/shard_sample.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "graphnet/base/file.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/near_miss.h"
#include "graphnet/base/output_folder.h"
#include "graphnet/base/status.h"
#include "graphnet/facts/memory/effects.h"
#include "graphnet/formats/graphnet_folder/reader.h"
#include "graphnet/formats/graphnet_folder/writer.h"
#include "graphnet/formats/safetensors/safetensors.h"
#include "graphnet/ir/node_error.h"
#include "graphnet/passes/partial_evaluation/partial_evaluation.h"
#include "graphnet/passes/pipeline.h"
#include "graphnet/shard/name_pattern.h"
#include "graphnet/shard/rank_programs.h"
#include "graphnet/shard/tensor_pieces.h"

namespace graphnet::spmd {
namespace {

constexpr char kPlanFile[] = "plan.json";

std::string RankName(int rank) { return absl::StrCat("rank_", rank); }

// Returns whether WriteShards writes such an entry.
bool IsShardEntry(absl::string_view path, bool is_folder) {
  if (path == kPlanFile) return !is_folder;
  if (!absl::ConsumePrefix(&path, "rank_")) return false;
  const size_t digits = std::min(path.find_first_not_of("0123456789"), path.size());
  if (digits == 0) return false;
  path.remove_prefix(digits);
  if (path.empty()) return is_folder;
  if (path == ".safetensors") return !is_folder;
  return absl::ConsumePrefix(&path, "/") && IsSampleEntry(path, is_folder);
}

// Returns nullopt if the sizes are not known.
std::optional<std::vector<int64_t>> SizesOf(const Node& input) {
  const TensorMeta* meta = input.tensor_meta();
  if (meta == nullptr || !meta->has_shape || !meta->is_static()) return std::nullopt;
  std::vector<int64_t> sizes;
  for (const Dim& dim : meta->shape) sizes.push_back(dim.value);
  return sizes;
}

std::string FormOf(DType dtype, absl::Span<const int64_t> sizes) {
  return absl::StrCat(DTypeShortName(dtype), "[", absl::StrJoin(sizes, ", "), "]");
}

absl::Status Run(absl::string_view passes, Sample* sample) {
  ASSIGN_OR_RETURN(const Pipeline pipeline, ParsePipeline(passes));
  return RunPipeline(pipeline, sample).status();
}

// Returns the first call that writes to each input, in the words of an error.
std::map<std::string, std::string> FindWriters(const Module& module) {
  const Effects effects(module);
  const MemoryGroups groups(module, effects);
  absl::flat_hash_map<const Node*, const Node*> first;  // by group of memory
  for (const Node* node : module.main()->nodes()) {
    for (const Node* written : effects.Of(*node).mutates)
      first.try_emplace(groups.Of(written), node);
  }
  std::map<std::string, std::string> writers;
  for (const Node* input : module.main()->placeholders()) {
    const auto writer = first.find(groups.Of(input));
    if (writer != first.end())
      writers.try_emplace(std::string(input->target()), NodeError(*writer->second, "").message());
  }
  return writers;
}

}  // namespace

absl::Status PrepareToShard(Sample* sample) {
  if (sample->module == nullptr || sample->module->main() == nullptr)
    return absl::InvalidArgumentError("the sample has no graph");
  RETURN_IF_ERROR(Run("revert-vmap,expand-vmap,specialize", sample));
  // If some call or its effects are unknown, the graph stays as it is.
  std::unique_ptr<Module> lowered = sample->module->Clone();
  ASSIGN_OR_RETURN(const Pipeline lower, ParsePipeline("torch-to-aten,dce"));
  if (RunPipeline(lower, lowered.get()).ok()) {
    absl::StatusOr<std::unique_ptr<Module>> evaluated = PartiallyEvaluate(*lowered);
    if (evaluated.ok()) sample->module = *std::move(evaluated);
  }
  RETURN_IF_ERROR(Run("lift-attributes,fold-constants", sample));
  const std::map<std::string, std::string> writers = FindWriters(*sample->module);
  RETURN_IF_ERROR(Run("functionalize,dce", sample));
  const Effects effects(*sample->module);
  for (const Node* node : sample->module->main()->nodes()) {
    if (!node->is_call() || effects.Of(*node).mutates.empty()) continue;
    const Node& written = *effects.Of(*node).mutates[0];
    const std::string self(NodeError(*node, "").message());
    const auto writer =
        written.is_placeholder() ? writers.find(std::string(written.target())) : writers.end();
    // A call that functionalize made is not in the sample, so the message names the original call.
    const bool is_made = writer != writers.end() && writer->second != self;
    return absl::FailedPreconditionError(absl::StrCat(
        is_made ? writer->second : self, "writes to ",
        Printable(written.is_placeholder() ? written.target() : written.name()),
        ", which ranks do not share",
        is_made ? ": opt --passes=functionalize{outputs=true} returns the written value instead"
                : ""));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::map<std::string, Sharding>> ReadShardings(absl::Span<const std::string> said,
                                                              const Module& module,
                                                              const Stages& stages) {
  const std::vector<Node*> inputs = module.main()->placeholders();
  std::map<std::string, Sharding> exact;
  std::map<std::string, Sharding> by_pattern;
  for (const std::string& text : said) {
    ASSIGN_OR_RETURN(const auto named, ParseNamedSharding(text));
    const auto& [name, sharding] = named;
    absl::Status status;
    for (const NamedMesh& named : stages.meshes) {
      status = CheckAxes(sharding, named.mesh);
      if (status.ok()) break;
    }
    if (!status.ok()) return Annotate(status, absl::StrCat("--shard ", Printable(name)));
    if (!IsPattern(name)) {
      const auto input = absl::c_find_if(inputs, [&, &name = name](const Node* node) {
        return node->target() == name || node->name() == name;
      });
      if (input == inputs.end()) {
        std::vector<absl::string_view> names;
        for (const Node* node : inputs) names.push_back(node->target());
        return absl::InvalidArgumentError(absl::StrCat("--shard: no input is called ",
                                                       Printable(name), NearMissHint(name, names)));
      }
      if (!exact.emplace((*input)->target(), sharding).second)
        return absl::InvalidArgumentError(
            absl::StrCat("--shard: ", Printable(name), " is given twice"));
      continue;
    }
    bool fits = false;
    for (const Node* input : inputs) {
      const auto sizes = SizesOf(*input);
      if (!FitsPattern(name, input->target()) || !sizes.has_value() ||
          absl::c_none_of(stages.MeshesOfInput(*input), [&, &sharding = sharding](size_t mesh) {
            return CheckSharding(sharding, stages.meshes[mesh].mesh, *sizes).ok();
          }))
        continue;
      fits = true;
      by_pattern[std::string(input->target())] = sharding;
    }
    if (!fits)
      return absl::InvalidArgumentError(absl::StrCat("--shard: no input that ", Printable(name),
                                                     " fits can be laid out as ",
                                                     ShardingName(sharding)));
  }
  exact.merge(by_pattern);
  return exact;
}

absl::StatusOr<size_t> PlaceOfOutput(absl::string_view name, const Module& module) {
  std::optional<size_t> found;
  std::vector<std::string> names;
  module.main()->output()->ForEachArgument([&](const Argument& argument) {
    if (argument.is_aggregate() || argument.is_none()) return;
    const size_t place = names.size();
    const std::string number = absl::StrCat("o", place);
    names.push_back(argument.is_node() ? std::string(argument.node()->name()) : number);
    if (!found.has_value() && (name == number || name == names.back())) found = place;
  });
  if (found.has_value()) return *found;
  return absl::NotFoundError(absl::StrCat("no output is called ", Printable(name), ", there are ",
                                          absl::StrJoin(names, ", "), ", or o0 and so on"));
}

absl::StatusOr<std::map<size_t, Sharding>> ReadOutputShardings(absl::Span<const std::string> said,
                                                               const Module& module) {
  std::map<size_t, Sharding> shardings;
  for (const std::string& text : said) {
    ASSIGN_OR_RETURN(const auto named, ParseNamedSharding(text));
    const absl::StatusOr<size_t> place = PlaceOfOutput(named.first, module);
    if (!place.ok())
      return absl::InvalidArgumentError(absl::StrCat("--shard-output: ", place.status().message()));
    if (!shardings.emplace(*place, named.second).second)
      return absl::InvalidArgumentError(
          absl::StrCat("--shard-output: ", Printable(named.first), " is given twice"));
  }
  return shardings;
}

absl::Status ReturnToo(absl::string_view name, Module* module) {
  Graph* const graph = module->main();
  Node* const output = graph->output();
  Node* value = nullptr;
  std::vector<absl::string_view> names;
  for (Node* node : graph->nodes()) {
    if (node->is_output()) continue;
    names.push_back(node->name());
    if (value == nullptr &&
        (node->name() == name || (node->is_placeholder() && node->target() == name)))
      value = node;
  }
  if (value == nullptr) {
    size_t place = 0;
    output->ForEachArgument([&](const Argument& argument) {
      if (argument.is_aggregate() || argument.is_none()) return;
      if (argument.is_node() && name == absl::StrCat("o", place)) value = argument.node();
      ++place;
    });
  }
  if (value == nullptr)
    return absl::InvalidArgumentError(
        absl::StrCat("no value is called ", Printable(name), NearMissHint(name, names)));
  const Argument returned = output->args()[0];
  output->set_arg(0, Argument::Tuple({returned, value}));
  return absl::OkStatus();
}

absl::StatusOr<std::map<std::string, Sharding>> ShardingsOfPlan(const ShardPlan& plan,
                                                                const Module& module) {
  std::map<std::string, Sharding> shardings;
  const std::vector<Node*> inputs = module.main()->placeholders();
  // An input of several meshes has an entry for each.
  std::vector<const LaidOutTensor*> all;
  for (const LaidOutTensor& input : plan.inputs) {
    if (all.empty() || all.back()->name != input.name)
      all.push_back(&input);
    else if (all.back()->sharding.is_replicated())
      all.back() = &input;
  }
  if (inputs.size() != all.size())
    return absl::InvalidArgumentError(
        absl::StrCat("the plan is for ", all.size(), " inputs, the sample has ", inputs.size()));
  for (size_t i = 0; i < inputs.size(); ++i) {
    const LaidOutTensor& planned = *all[i];
    if (planned.name != inputs[i]->target())
      return absl::InvalidArgumentError(absl::StrCat("the plan has ", Printable(planned.name),
                                                     " as input ", i, ", the sample ",
                                                     Printable(inputs[i]->target())));
    if (planned.sharding.is_replicated()) continue;
    const auto sizes = SizesOf(*inputs[i]);
    const std::string there = FormOf(planned.dtype, planned.sizes);
    const std::string here =
        sizes.has_value() ? FormOf(inputs[i]->tensor_meta()->dtype, *sizes) : "of unknown shape";
    if (here != there)
      return absl::InvalidArgumentError(absl::StrCat("input ", Printable(planned.name), " is ",
                                                     here, ", the plan is for ", there));
    shardings[planned.name] = planned.sharding;
  }
  return shardings;
}

absl::StatusOr<ShardedSample> ShardSample(const Sample& sample, const ShardRequest& request) {
  ASSIGN_OR_RETURN(const ShardedGraph sharded, PropagateShardings(*sample.module, request));
  ASSIGN_OR_RETURN(RankPrograms programs, MakeRankPrograms(*sharded.module, request.stages.meshes));
  ShardedSample made;
  made.plan = std::move(programs.plan);
  made.plan.stages = request.stages.said;
  made.plan.replicated = sharded.replicated;
  for (size_t i = 0; i < programs.modules.size(); ++i) {
    Sample rank;
    rank.name = RankName(static_cast<int>(i));
    rank.module = std::move(programs.modules[i]);
    rank.graph_net_json = sample.graph_net_json;
    ASSIGN_OR_RETURN(rank, FolderFormOfSample(rank));
    made.ranks.push_back(std::move(rank));
  }
  for (size_t i = 0; i < made.ranks.size(); ++i) {
    const std::vector<Node*> arguments = made.ranks[i].module->main()->placeholders();
    size_t next = 0;
    for (LaidOutTensor& input : made.plan.inputs) {
      if (!made.plan.PositionOf(static_cast<int>(i), input).has_value()) continue;
      const std::string argument(arguments[next++]->target());
      if (!input.argument.empty() && input.argument != argument)
        return absl::InvalidArgumentError(
            absl::StrCat("input ", Printable(input.name), " is called ", Printable(argument),
                         " on rank ", i, " and ", Printable(input.argument),
                         " on others of its mesh: give inputs names that Python can have"));
      input.argument = argument;
    }
  }
  return made;
}

absl::StatusOr<std::map<std::string, TensorData>> ValuesOfRank(
    const ShardPlan& plan, const std::map<std::string, TensorData>& values, int rank) {
  std::map<std::string, TensorData> held;
  for (const LaidOutTensor& input : plan.inputs) {
    const auto value = values.find(input.name);
    const std::optional<size_t> position = plan.PositionOf(rank, input);
    if (value == values.end() || !position.has_value()) continue;
    if (!input.sharding.is_replicated() && value->second.shape != input.sizes)
      return absl::InvalidArgumentError(
          absl::StrCat("input ", Printable(input.name), " has a value of shape [",
                       absl::StrJoin(value->second.shape, ", "), "], the plan is for [",
                       absl::StrJoin(input.sizes, ", "), "]"));
    absl::StatusOr<TensorData> piece =
        PieceOf(value->second, input.sharding, plan.MeshOf(input), *position);
    if (!piece.ok()) return Annotate(piece.status(), absl::StrCat("input ", Printable(input.name)));
    held[input.argument] = *std::move(piece);
  }
  return held;
}

absl::Status WriteShards(const ShardedSample& shards,
                         const std::map<std::string, TensorData>& values,
                         const std::string& folder) {
  RETURN_IF_ERROR(CheckReplaceable(folder, IsShardEntry));
  // Other tools have a plan.json, too.
  if (const std::string plan = JoinPath(folder, kPlanFile);
      FileExists(plan) && !ReadPlan(plan).ok())
    return absl::AlreadyExistsError(absl::StrCat(Printable(folder, 1000), ": not replaced, as its ",
                                                 kPlanFile, " is not one of graphnet"));
  return ReplaceFolder(folder, IsShardEntry, [&](const std::string& dir) -> absl::Status {
    for (size_t i = 0; i < shards.ranks.size(); ++i) {
      const std::string path = JoinPath(dir, RankName(static_cast<int>(i)));
      RETURN_IF_ERROR(WriteGraphNetFolder(shards.ranks[i], path));
      if (values.empty()) continue;
      ASSIGN_OR_RETURN(const auto held, ValuesOfRank(shards.plan, values, static_cast<int>(i)));
      RETURN_IF_ERROR(WriteSafetensorsFile(held, absl::StrCat(path, ".safetensors")));
    }
    return WriteFileAtomic(JoinPath(dir, kPlanFile), PlanToJson(shards.plan));
  });
}

absl::StatusOr<ShardPlan> ReadPlan(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxTextFileBytes));
  return ParsePlan(text, path);
}

absl::StatusOr<ShardedSample> ReadShards(const std::string& folder) {
  ShardedSample shards;
  ASSIGN_OR_RETURN(shards.plan, ReadPlan(JoinPath(folder, kPlanFile)));
  for (size_t i = 0; i < shards.plan.num_ranks(); ++i) {
    const auto rank = static_cast<int>(i);
    ASSIGN_OR_RETURN(Sample sample, ReadGraphNetFolder(JoinPath(folder, RankName(rank))));
    shards.ranks.push_back(std::move(sample));
    const std::string values = absl::StrCat(JoinPath(folder, RankName(rank)), ".safetensors");
    if (!FileExists(values)) continue;
    ASSIGN_OR_RETURN(auto held, ReadSafetensorsFile(values));
    shards.values.push_back(std::move(held));
  }
  if (!shards.values.empty() && shards.values.size() != shards.ranks.size())
    return absl::FailedPreconditionError(
        absl::StrCat(Printable(folder, 1000), ": not every rank has its values"));
  return shards;
}

}  // namespace graphnet::spmd
