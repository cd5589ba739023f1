// Divides a sample over one or several meshes: from the layouts of its inputs to a folder with one
// sample for each rank.
//
//   DIR/rank_0 …              GraphNet folders: the programs of the ranks (rank_programs.h)
//   DIR/rank_0.safetensors …  the known values of their inputs, by argument
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

// Rewrites a sample into a form that can be divided: attributes become inputs, values that follow
// from sizes become numbers (passes/partial_evaluation/partial_evaluation.h), writes to memory become values, and
// levels of vmap become calls. FailedPrecondition names a call that still writes to memory.
absl::Status PrepareToShard(Sample* sample);

// Reads options such as "x:0,-1" and returns the layouts by name of the input. An option names an
// input or its parameter. A name with * or ? in it applies to all inputs that it fits, as far as
// they can have the layout on a mesh that uses them; an exact name takes precedence.
// InvalidArgument for an input that does not exist, with suggestions, for one that is named twice,
// and for a pattern that fits no input.
absl::StatusOr<std::map<std::string, Sharding>> ReadShardings(absl::Span<const std::string> said,
                                                              const Module& module,
                                                              const Stages& stages);
// Reads options such as "o0:0,-1" and returns the layouts by position of the output, None left out.
// An output may also be named by the returned value.
absl::StatusOr<std::map<size_t, Sharding>> ReadOutputShardings(absl::Span<const std::string> said,
                                                               const Module& module);
// Returns the position of an output among the returned values, None left out. The name is "o0" or
// that of a value.
absl::StatusOr<size_t> PlaceOfOutput(absl::string_view name, const Module& module);
// Adds a value, named as a call, input or output, to the end of the values that the graph returns.
absl::Status ReturnToo(absl::string_view name, Module* module);
// Returns the layouts of a plan. InvalidArgument if its inputs or their shapes differ from the
// module's.
absl::StatusOr<std::map<std::string, Sharding>> ShardingsOfPlan(const ShardPlan& plan,
                                                                const Module& module);

// A plan with the samples of its ranks.
struct ShardedSample {
  ShardPlan plan;
  std::vector<Sample> ranks;  // in the form that a folder holds
  // The stored input values of each rank, by argument.
  std::vector<std::map<std::string, TensorData>> values;
};
// Divides a prepared sample. Errors of PropagateShardings and MakeRankPrograms, and Unimplemented
// for a program that a GraphNet folder cannot hold.
absl::StatusOr<ShardedSample> ShardSample(const Sample& sample, const ShardRequest& request);

// Returns the rank's parts of `values`, by argument. `values` has the known values of inputs, by
// name. InvalidArgument if a value has another shape than in the plan.
absl::StatusOr<std::map<std::string, TensorData>> ValuesOfRank(
    const ShardPlan& plan, const std::map<std::string, TensorData>& values, int rank);

// Writes a folder, which appears whole or not at all. An existing folder is replaced only if it is
// empty or a folder of shards. The file of each rank holds its parts of `values`, which are as
// above; without values no such files are written.
absl::Status WriteShards(const ShardedSample& shards,
                         const std::map<std::string, TensorData>& values,
                         const std::string& folder);
absl::StatusOr<ShardedSample> ReadShards(const std::string& folder);
absl::StatusOr<ShardPlan> ReadPlan(const std::string& path);

}  // namespace graphnet::spmd

#endif  // GRAPHNET_SHARD_SHARD_SAMPLE_H_
