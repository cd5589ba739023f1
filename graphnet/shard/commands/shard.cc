#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "graphnet/base/memory.h"
#include "graphnet/base/status.h"
#include "graphnet/command/command.h"
#include "graphnet/command/json.h"
#include "graphnet/command/options.h"
#include "graphnet/formats/formats.h"
#include "graphnet/interp/inputs/draw.h"
#include "graphnet/run/engine.h"
#include "graphnet/shard/mesh.h"
#include "graphnet/shard/propagate.h"
#include "graphnet/shard/rank_output.h"
#include "graphnet/shard/report.h"
#include "graphnet/shard/reshard.h"
#include "graphnet/shard/shard_plan.h"
#include "graphnet/shard/shard_sample.h"
#include "graphnet/shard/sharding.h"
#include "graphnet/shard/stages.h"

namespace graphnet {
namespace {

struct ShardFlags {
  std::string in;
  std::string out;
  std::vector<std::string> meshes;
  std::vector<std::string> stages;
  std::vector<std::string> shardings;
  std::vector<std::string> output_shardings;
  std::vector<std::string> gathered;
  std::string plan;
  std::string stored;
  InputOptions inputs;
  uint64_t seed = 0;
  int threads = 0;
  bool values = false;
  bool check = false;
  bool trust = false;
};

using Values = std::map<std::string, TensorData>;

// Divides `sample`, which is prepared. Its last output is the gathered value.
absl::StatusOr<spmd::ShardedSample> ShardAsSaid(const ShardFlags& options, const Sample& sample) {
  spmd::ShardRequest request;
  size_t count = 0;
  sample.module->main()->output()->ForEachArgument([&](const Argument& argument) {
    count += argument.is_aggregate() || argument.is_none() ? 0 : 1;
  });
  const size_t first_gathered = count - options.gathered.size();
  for (size_t i = first_gathered; i < count; ++i) request.gathered.insert(i);
  if (!options.stored.empty()) {
    ASSIGN_OR_RETURN(spmd::ShardedSample stored, spmd::ReadShards(options.stored));
    const auto inputs = spmd::ShardingsOfPlan(stored.plan, *sample.module);
    if (!inputs.ok()) return Annotate(inputs.status(), Printable(options.stored, 1000));
    return stored;
  }
  if (options.plan.empty()) {
    ASSIGN_OR_RETURN(std::vector<spmd::NamedMesh> meshes, spmd::ParseMeshes(options.meshes));
    ASSIGN_OR_RETURN(request.stages,
                     spmd::AssignStages(std::move(meshes), options.stages, *sample.module));
    ASSIGN_OR_RETURN(request.inputs,
                     spmd::ReadShardings(options.shardings, *sample.module, request.stages));
    ASSIGN_OR_RETURN(request.outputs,
                     spmd::ReadOutputShardings(options.output_shardings, *sample.module));
  } else {
    ASSIGN_OR_RETURN(spmd::ShardPlan plan, spmd::ReadPlan(options.plan));
    auto inputs = spmd::ShardingsOfPlan(plan, *sample.module);
    if (!inputs.ok()) return Annotate(inputs.status(), Printable(options.plan, 1000));
    request.inputs = *std::move(inputs);
    for (size_t i = 0; i < plan.outputs.size() && i < first_gathered; ++i) {
      const spmd::LaidOutTensor& output = plan.outputs[i];
      if (output.gathered.empty() && !output.sharding.is_replicated())
        request.outputs[i] = output.sharding;
    }
    // The mesh of a gathered value has one rank and no stage.
    std::erase_if(plan.meshes, [&](const spmd::NamedMesh& mesh) {
      return absl::StartsWith(mesh.name, "rank_") && mesh.mesh.num_ranks() == 1;
    });
    ASSIGN_OR_RETURN(request.stages, spmd::AssignStages(std::move(plan.meshes),
                                                        std::move(plan.stages), *sample.module));
  }
  ASSIGN_OR_RETURN(spmd::ShardedSample made, spmd::ShardSample(sample, request));
  for (size_t i = 0; i < options.gathered.size(); ++i)
    made.plan.outputs[first_gathered + i].gathered = options.gathered[i];
  return made;
}

// Infers the shapes, which decide what can be divided. Values without a shape stay whole. Returns
// the reason if shapes cannot be inferred.
std::string InferShapes(Sample* sample) {
  const absl::StatusOr<const Engine*> engine = OpenEngine();
  const absl::Status status = engine.ok() ? (*engine)->InferShapes(sample) : engine.status();
  return status.ok() ? "" : absl::StrCat("shapes are not inferred: ", status.message());
}

bool AllShapesAreKnown(const Graph& graph) {
  return absl::c_all_of(graph.nodes(), [](const Node* node) {
    return !node->is_call() || (node->tensor_meta() != nullptr && node->tensor_meta()->has_shape);
  });
}

CommandResult TellPlan(const ShardFlags& options, const spmd::ShardPlan& plan,
                       const std::string& note, const std::vector<RankOutput>& checked) {
  const bool is_right = absl::c_none_of(
      checked, [](const RankOutput& o) { return o.state == RankOutput::State::kDifferent; });
  Report report = ReportOf(plan);
  report.AddNotes(note.empty() ? std::vector<std::string>() : std::vector{note});
  if (!checked.empty()) {
    std::vector<Report> outputs;
    for (const RankOutput& output : checked) outputs.push_back(ReportOf(output));
    report.Add("right", is_right);
    report.Add("checked", std::move(outputs));
  }
  if (!options.out.empty()) {
    report.Add("out", options.out);
    report.Say(
        absl::StrCat(Printable(options.out, 1000), ": ", plan.num_ranks(), " ranks written"));
  }
  return CommandResult(std::move(report), is_right ? 0 : 1);
}

absl::StatusOr<CommandResult> Shard(const ShardFlags& options) {
  const int given = static_cast<int>(!options.meshes.empty()) +
                    static_cast<int>(!options.plan.empty()) +
                    static_cast<int>(!options.stored.empty());
  if (given != 1) return absl::InvalidArgumentError("expected one of --mesh, --plan and --stored");
  const auto refuse = [&](const char* option, const char* what) {
    return absl::InvalidArgumentError(absl::StrCat(
        option, ": ", options.plan.empty() ? "--stored" : "--plan", " already says ", what));
  };
  if (options.meshes.empty()) {
    if (!options.shardings.empty()) return refuse("--shard", "how inputs are divided");
    if (!options.output_shardings.empty()) return refuse("--shard-output", "how outputs are");
    if (!options.stages.empty()) return refuse("--stage", "what runs where");
  }
  if (!options.stored.empty() && !options.out.empty())
    return absl::InvalidArgumentError("--stored: nothing is written; leave out -o");
  ASSIGN_OR_RETURN(Sample original, Load(options.in, {.trust = options.trust, .weights = true}));
  RETURN_IF_ERROR(GiveInputs(options.inputs, options.seed, &original));
  for (const std::string& name : options.gathered) {
    if (const absl::Status status = spmd::ReturnToo(name, original.module.get()); !status.ok())
      return Annotate(status, "--gather");
  }
  Sample sample = {.name = original.name,
                   .module = original.module->Clone(),
                   .graph_net_json = original.graph_net_json,
                   .weights = original.weights};
  std::string note;
  if (sample.module->main() != nullptr && !AllShapesAreKnown(*sample.module->main()))
    note = InferShapes(&sample);
  RETURN_IF_ERROR(spmd::PrepareToShard(&sample));
  absl::StatusOr<spmd::ShardedSample> made = ShardAsSaid(options, sample);
  if (absl::IsUnimplemented(made.status())) {
    return absl::UnimplementedError(absl::StrCat(
        made.status().message(), "; ranks are GraphNet folders, which cannot hold this"));
  }
  RETURN_IF_ERROR(made.status());
  spmd::ShardedSample shards = *std::move(made);
  const bool check = options.check || !options.stored.empty() || !options.gathered.empty();
  const spmd::ShardPlan plan = shards.plan;
  if (!options.out.empty()) {
    Values values = sample.weights;
    if (options.values) {
      ASSIGN_OR_RETURN(values, DrawInputs(sample, {.seed = options.seed,
                                                   .max_bytes = AvailableMemoryBytes() / 2}));
    }
    RETURN_IF_ERROR(spmd::WriteShards(shards, values, options.out));
    // Check the written ranks.
    if (check) {
      ASSIGN_OR_RETURN(shards, spmd::ReadShards(options.out));
    }
  }
  std::vector<RankOutput> checked;
  if (check) {
    ASSIGN_OR_RETURN(const Engine* engine, OpenEngine());
    engine->SetNumThreads(options.threads);
    ASSIGN_OR_RETURN(checked, engine->ValidateRanks(original, shards, options.seed));
  }
  return TellPlan(options, plan, note, checked);
}

void DeclareShard(CommandLine& command) {
  auto options = std::make_shared<ShardFlags>();
  AddSampleOption(command, &options->in);
  AddFolderOption(
      command, &options->out,
      "Folder for the samples of the ranks and plan.json; without it, nothing is written");
  command.AddOption(
      "--mesh", &options->meshes,
      "Number of ranks along each axis: 4, 2x2. Give it again for more meshes, each with a name: "
      "mesh0=2x2; their ranks follow each other, or are listed: mesh0=2x2{0,1,2,3}");
  command
      .AddOption("--stage", &options->stages,
                 "Operators that a mesh runs: PLACE,PLACE:MESH. A place is a module, layers.0-3, "
                 "by its path or a part of it, or a range of operators by name, FIRST..END "
                 "without END; one of the two names may be omitted")
      .TypeName("STAGE");
  command
      .AddOption("--shard", &options->shardings,
                 "Layout of an input or weight: its name, and for each dimension the axis of the "
                 "mesh that divides it, -1 for none: x:0,-1. A name with * (any text) or ? (one "
                 "character) means all inputs that it matches and that can be divided so. Give "
                 "it again for others; inputs that no --shard names stay whole")
      .TypeName("SHARDING");
  command
      .AddOption("--shard-output", &options->output_shardings,
                 "Layout of an output at the end: its name, or o0 for the first, and the axes, "
                 "as in --shard. Inputs without --shard are divided as the rules require")
      .TypeName("SHARDING");
  command
      .AddOption("--gather", &options->gathered,
                 "Value of the sample to gather, by its name, or o0 for an output: the first "
                 "rank of its mesh gets it whole and also returns it, and it is printed in full. "
                 "This runs everything, as --check does")
      .TypeName("NAME");
  command
      .AddOption("--plan", &options->plan,
                 "Take the meshes, the stages and the layouts of inputs from a plan.json, "
                 "instead of --mesh")
      .TypeName("FILE");
  command
      .AddOption("--stored", &options->stored,
                 "Divide nothing, and check the ranks that -o wrote to this folder before")
      .TypeName("DIR");
  command.AddFlag("--check", &options->check,
                  "Run the sample, and all ranks in this process, and compare");
  command.AddFlag("--values", &options->values,
                  "Write values for all inputs, not only for weights with known values; unknown "
                  "values are drawn");
  AddInputOption(command, &options->inputs.words);
  AddInputsOption(command, &options->inputs.file);
  AddSeedOption(command, &options->seed);
  AddThreadsOption(command, &options->threads);
  AddTrustOption(command, &options->trust);
  AddDrawWeightsOption(command);
  AddJsonOption(
      command,
      "mesh (meshes, if there are several), ranks, num_inputs, divided_inputs, num_outputs, "
      "divided_outputs, communication, replicated, notes, out; with --check: right, checked");
  command.Run([options] { return Shard(*options); });
}

const RegisteredCommand kShard(
    {.name = "shard",
     .help = "Divide a sample over a mesh of ranks, with one sample per rank",
     .group = CommandGroup::kCut,
     .declare = DeclareShard,
     .examples = {
         "graphnet shard samples/vit.pb --mesh 2 --input f32[4,3,64,64] --shard image:0,-1,-1,-1 "
         "--check -o ranks",
         "graphnet shard samples/vit.pb --mesh front=2 --mesh back=2 "
         "--stage 'patch_embed,blocks.0-1:front' --stage 'blocks.2-3,norm,head:back' --check"}});

}  // namespace
}  // namespace graphnet
