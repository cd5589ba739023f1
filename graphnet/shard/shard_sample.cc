#include "graphnet/shard/shard_sample.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graphnet/base/file.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/near_miss.h"
#include "graphnet/base/status.h"
#include "graphnet/facts/memory/effects.h"
#include "graphnet/formats/graphnet_folder/reader.h"
#include "graphnet/formats/graphnet_folder/writer.h"
#include "graphnet/formats/safetensors/safetensors.h"
#include "graphnet/ir/node_error.h"
#include "graphnet/passes/partial_evaluation.h"
#include "graphnet/passes/pipeline.h"
#include "graphnet/shard/propagate.h"
#include "graphnet/shard/rank_programs.h"
#include "graphnet/shard/tensor_pieces.h"

namespace graphnet::spmd {
namespace {

constexpr char kPlanFile[] = "plan.json";

std::string RankName(int rank) { return absl::StrCat("rank_", rank); }

bool IsPattern(absl::string_view name) {
  return absl::StrContains(name, '*') || absl::StrContains(name, '?');
}

// Whether `name` is as `pattern` says: * stands for any text, ? for one character.
bool Fits(absl::string_view pattern, absl::string_view name) {
  size_t p = 0;
  size_t n = 0;
  // The match goes on from here if the text that the last * stands for has to be longer.
  size_t after_star = absl::string_view::npos;
  size_t longer = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      after_star = ++p;
      longer = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p;
      ++n;
    } else if (after_star != absl::string_view::npos) {
      p = after_star;
      n = ++longer;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

// None if they are not known.
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

// The first call that writes to each input, as errors name it.
std::map<std::string, std::string> FindWriters(const Module& module) {
  const Effects effects(module);
  const MemoryGroups groups(module, effects);
  absl::flat_hash_map<const Node*, const Node*> first;  // by group
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
    return absl::InvalidArgumentError("a sample without a graph");
  RETURN_IF_ERROR(Run("revert-vmap,expand-vmap,specialize", sample));
  // Where not all calls are known, or what they do is not, the graph stays as it is.
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
    // What functionalize made of it is not in the sample.
    const bool is_made = writer != writers.end() && writer->second != self;
    return absl::FailedPreconditionError(absl::StrCat(
        is_made ? writer->second : self, "writes to ",
        Printable(written.is_placeholder() ? written.target() : written.name()),
        ", which ranks do not share",
        is_made ? ": opt --passes=functionalize{outputs=true} returns what it becomes" : ""));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::map<std::string, Sharding>> ReadShardings(absl::Span<const std::string> said,
                                                              const Module& module,
                                                              const Mesh& mesh) {
  const std::vector<Node*> inputs = module.main()->placeholders();
  std::map<std::string, Sharding> exact;
  std::map<std::string, Sharding> by_pattern;
  for (const std::string& text : said) {
    ASSIGN_OR_RETURN(const auto named, ParseNamedSharding(text));
    const auto& [name, sharding] = named;
    if (const absl::Status status = CheckAxes(sharding, mesh); !status.ok())
      return Annotate(status, absl::StrCat("--shard ", Printable(name)));
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
      if (!Fits(name, input->target()) || !sizes.has_value() ||
          !CheckSharding(sharding, mesh, *sizes).ok())
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

absl::StatusOr<std::map<std::string, Sharding>> ShardingsOfPlan(const ShardPlan& plan,
                                                                const Module& module) {
  std::map<std::string, Sharding> shardings;
  const std::vector<Node*> inputs = module.main()->placeholders();
  if (inputs.size() != plan.inputs.size())
    return absl::InvalidArgumentError(absl::StrCat("the plan is for ", plan.inputs.size(),
                                                   " inputs, the sample has ", inputs.size()));
  for (size_t i = 0; i < inputs.size(); ++i) {
    const LaidOutTensor& planned = plan.inputs[i];
    if (planned.name != inputs[i]->target())
      return absl::InvalidArgumentError(absl::StrCat("the plan has ", Printable(planned.name),
                                                     " as input ", i, ", the sample ",
                                                     Printable(inputs[i]->target())));
    if (planned.sharding.is_replicated()) continue;
    const auto sizes = SizesOf(*inputs[i]);
    const std::string there = FormOf(planned.dtype, planned.sizes);
    const std::string here =
        sizes.has_value() ? FormOf(inputs[i]->tensor_meta()->dtype, *sizes) : "of no known shape";
    if (here != there)
      return absl::InvalidArgumentError(absl::StrCat("input ", Printable(planned.name), " is ",
                                                     here, ", the plan is for ", there));
    shardings[planned.name] = planned.sharding;
  }
  return shardings;
}

absl::StatusOr<ShardedSample> ShardSample(const Sample& sample, const Mesh& mesh,
                                          const std::map<std::string, Sharding>& inputs) {
  ASSIGN_OR_RETURN(const ShardedGraph sharded, PropagateShardings(*sample.module, mesh, inputs));
  ASSIGN_OR_RETURN(RankPrograms programs, MakeRankPrograms(*sharded.module, mesh));
  ShardedSample made;
  made.plan = std::move(programs.plan);
  made.plan.replicated = sharded.replicated;
  for (size_t i = 0; i < programs.modules.size(); ++i) {
    Sample rank;
    rank.name = RankName(mesh.ranks[i]);
    rank.module = std::move(programs.modules[i]);
    rank.graph_net_json = sample.graph_net_json;
    ASSIGN_OR_RETURN(rank, FolderFormOfSample(rank));
    made.ranks.push_back(std::move(rank));
  }
  const std::vector<Node*> arguments = made.ranks[0].module->main()->placeholders();
  for (size_t i = 0; i < arguments.size(); ++i)
    made.plan.inputs[i].argument = std::string(arguments[i]->target());
  return made;
}

absl::StatusOr<std::map<std::string, TensorData>> ValuesOfRank(
    const ShardPlan& plan, const std::map<std::string, TensorData>& values, size_t position) {
  std::map<std::string, TensorData> held;
  for (const LaidOutTensor& input : plan.inputs) {
    const auto value = values.find(input.name);
    if (value == values.end()) continue;
    if (!input.sharding.is_replicated() && value->second.shape != input.sizes)
      return absl::InvalidArgumentError(
          absl::StrCat("input ", Printable(input.name), " has a value of shape [",
                       absl::StrJoin(value->second.shape, ", "), "], the plan is for [",
                       absl::StrJoin(input.sizes, ", "), "]"));
    absl::StatusOr<TensorData> piece = PieceOf(value->second, input.sharding, plan.mesh, position);
    if (!piece.ok()) return Annotate(piece.status(), absl::StrCat("input ", Printable(input.name)));
    held[input.argument] = *std::move(piece);
  }
  return held;
}

absl::Status WriteShards(const ShardedSample& shards,
                         const std::map<std::string, TensorData>& values,
                         const std::string& folder) {
  if (FileExists(folder)) {
    if (!IsFolder(folder))
      return absl::AlreadyExistsError(absl::StrCat(Printable(folder, 1000), " is no folder"));
    ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFolder(folder));
    if (!names.empty() && !absl::c_linear_search(names, kPlanFile))
      return absl::AlreadyExistsError(absl::StrCat(
          Printable(folder, 1000), ": not replaced, as it holds ", Printable(names[0])));
  }
  return WriteFolderAtomic(folder, /*replace=*/true, [&](const std::string& dir) -> absl::Status {
    for (size_t i = 0; i < shards.ranks.size(); ++i) {
      const std::string path = JoinPath(dir, RankName(shards.plan.mesh.ranks[i]));
      RETURN_IF_ERROR(WriteGraphNetFolder(shards.ranks[i], path));
      if (values.empty()) continue;
      ASSIGN_OR_RETURN(const auto held, ValuesOfRank(shards.plan, values, i));
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
  for (const int rank : shards.plan.mesh.ranks) {
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
