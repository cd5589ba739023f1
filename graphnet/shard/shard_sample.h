// A sample divided over a mesh, or over several: from what is said of its inputs to a folder with a sample a rank.
//
//   DIR/rank_0 …              GraphNet folders: what the ranks run (rank_programs.h)
//   DIR/rank_0.safetensors …  the values of their inputs as far as there are any, by argument
//   DIR/plan.json             shard_plan.h
#ifndef GRAPHNET_SHARD_SHARD_SAMPLE_H_
#define GRAPHNET_SHARD_SHARD_SAMPLE_H_

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/sample.h"
#include "graphnet/shard/propagate.h"
#include "graphnet/shard/shard_plan.h"
#include "graphnet/shard/sharding.h"
#include "graphnet/shard/stages.h"

namespace graphnet::spmd {

// Makes a sample one that can be divided: attributes are inputs, what follows from sizes is numbers
// (passes/partial_evaluation.h), writes to memory are values, levels of vmap calls.
// FailedPrecondition names what still writes to memory.
absl::Status PrepareToShard(Sample* sample);

// What options say, "x:0,-1", of which inputs of the module, by name: an input by what it or its
// parameter is called. A name with * in it says so of all inputs that it fits, as far as they can
// be laid out so on a mesh that uses them; a name itself goes before that. InvalidArgument for an
// input that is not there, with what may be meant, one that is named twice, and where a pattern
// fits none.
absl::StatusOr<std::map<std::string, Sharding>> ReadShardings(absl::Span<const std::string> said,
                                                              const Module& module,
                                                              const Stages& stages);
// Of outputs, "o0:0,-1", or the name of the value that is returned, by place; None is left out.
absl::StatusOr<std::map<size_t, Sharding>> ReadOutputShardings(absl::Span<const std::string> said,
                                                               const Module& module);
// The place of an output among what a graph returns, None left out: "o0" or the name of a value.
absl::StatusOr<size_t> PlaceOfOutput(absl::string_view name, const Module& module);
// Has the graph return a value in the end, too: one of its calls, inputs or outputs, by name.
absl::Status ReturnToo(absl::string_view name, Module* module);
// What a plan says. InvalidArgument if it is for other inputs, or such of other shapes.
absl::StatusOr<std::map<std::string, Sharding>> ShardingsOfPlan(const ShardPlan& plan,
                                                                const Module& module);

struct ShardedSample {
  ShardPlan plan;
  std::vector<Sample> ranks;  // as folders hold them
  // What each is given, by argument, as far as it was stored.
  std::vector<std::map<std::string, TensorData>> values;
};
// Of a sample that is prepared. Errors of PropagateShardings and MakeRankPrograms, and
// Unimplemented for what a GraphNet folder cannot hold.
absl::StatusOr<ShardedSample> ShardSample(const Sample& sample, const ShardRequest& request);

// The part that a rank holds of what there is a value of, by argument. `values`: of inputs, by
// name. InvalidArgument for one of another shape than the plan's.
absl::StatusOr<std::map<std::string, TensorData>> ValuesOfRank(
    const ShardPlan& plan, const std::map<std::string, TensorData>& values, int rank);

// The folder appears whole or not at all; one that is there is replaced only if it is such a
// folder, or empty. `values` as above, with pieces of which each rank's file is written; none:
// no files.
absl::Status WriteShards(const ShardedSample& shards,
                         const std::map<std::string, TensorData>& values,
                         const std::string& folder);
absl::StatusOr<ShardedSample> ReadShards(const std::string& folder);
absl::StatusOr<ShardPlan> ReadPlan(const std::string& path);

}  // namespace graphnet::spmd

#endif  // GRAPHNET_SHARD_SHARD_SAMPLE_H_
