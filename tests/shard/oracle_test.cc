// Tests the rules against ATen: graphs are sharded at random and run rank by rank, and the joined
// results are compared with a run of the original graph.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graphnet/base/status.h"
#include "graphnet/interp/torch/tensors.h"
#include "graphnet/ir/text/parser.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/shard/call_rules.h"
#include "graphnet/shard/graph_layout.h"
#include "graphnet/shard/join_ranks.h"
#include "graphnet/shard/propagate.h"
#include "graphnet/shard/rank_programs.h"
#include "graphnet/shard/reshard.h"
#include "graphnet/shard/shard_plan.h"
#include "graphnet/shard/stages.h"
#include "graphnet/shard/tensor_pieces.h"
#include "graphnet/shard/unroll.h"
#include "tests/base/status_matchers.h"
#include "tests/shard/run_graph.h"

namespace graphnet::spmd {
namespace {

using Random = std::mt19937_64;

int Below(Random& random, size_t n) { return static_cast<int>(random() % n); }

Mesh AnyMesh(Random& random) {
  static const std::vector<int64_t> kShapes[] = {{2}, {4}, {2, 2}, {1, 4}, {4, 2}, {3}};
  return Mesh::Of(kShapes[Below(random, 6)]);
}

Sharding AnySharding(const std::vector<int64_t>& sizes, const Mesh& mesh, Random& random) {
  Sharding sharding = Sharding::Replicated(sizes.size());
  for (int axis = 0; axis < mesh.num_axes(); ++axis) {
    if (sharding.dims_mapping.empty() || Below(random, 3) == 0) continue;
    const auto dim = static_cast<size_t>(Below(random, sharding.dims_mapping.size()));
    if (sharding.dims_mapping[dim] < 0 && sizes[dim] % mesh.size(axis) == 0)
      sharding.dims_mapping[dim] = axis;
  }
  return sharding;
}

Sharding AnySharding(const Node& input, const Mesh& mesh, Random& random) {
  return AnySharding(*WholeSizes(input), mesh, random);
}

struct Counts {
  int graphs = 0;
  int sharded_calls = 0;  // calls with a sharded result
  int partial_calls = 0;
  std::set<std::string> rules;  // rules of these calls
  // Over several meshes: numbers of crossing values, by state before and after ("PR"), and by
  // function.
  std::map<std::string, int> crossings;
  std::map<std::string, int> functions;
  int several_ranks = 0;  // graphs in which a rank belongs to two meshes
  int asked = 0;          // outputs with a requested layout
  int gathered = 0;
};

bool IsSame(const at::Tensor& a, const at::Tensor& b) {
  return a.sizes() == b.sizes() && a.dtype() == b.dtype() &&
         (at::equal(a, b) || at::allclose(a.to(at::kDouble), b.to(at::kDouble), 1e-9, 1e-9,
                                          /*equal_nan=*/true));
}

// Runs the programs of the ranks in one process and returns their joined results.
absl::StatusOr<std::vector<at::Tensor>> RunRanks(const Module& sharded,
                                                 const std::vector<NamedMesh>& meshes,
                                                 const std::vector<c10::IValue>& inputs) {
  ASSIGN_OR_RETURN(RankPrograms programs, MakeRankPrograms(sharded, meshes));
  if (programs.plan.meshes.size() > 1) programs.plan.stages = {"..:mesh"};
  ASSIGN_OR_RETURN(const ShardPlan read, ParsePlan(PlanToJson(programs.plan), "plan"));
  EXPECT_EQ(PlanToJson(read).substr(0, 100), PlanToJson(programs.plan).substr(0, 100));
  std::map<std::string, TensorData> values;
  const std::vector<Node*> placeholders = sharded.main()->placeholders();
  for (size_t i = 0; i < inputs.size(); ++i) {
    ASSIGN_OR_RETURN(values[std::string(placeholders[i]->target())],
                     ToTensorData(inputs[i].toTensor()));
  }
  std::vector<const Module*> modules;
  std::vector<c10::IValue> held;
  for (size_t rank = 0; rank < programs.modules.size(); ++rank) {
    modules.push_back(programs.modules[rank].get());
    RETURN_IF_ERROR(Verify(*modules.back()));
    for (const LaidOutTensor& input : read.inputs) {
      const auto position = read.PositionOf(static_cast<int>(rank), input);
      if (!position.has_value()) continue;
      ASSIGN_OR_RETURN(const TensorData piece, PieceOf(values.at(input.name), input.sharding,
                                                       read.MeshOf(input), *position));
      ASSIGN_OR_RETURN(at::Tensor tensor, ToTensor(piece, c10::Device(c10::kCPU)));
      held.emplace_back(std::move(tensor));
    }
  }
  const auto ranks = static_cast<int64_t>(modules.size());
  ASSIGN_OR_RETURN(const std::unique_ptr<Module> joined, JoinRanks(modules, Mesh::Of({ranks})));
  RETURN_IF_ERROR(Verify(*joined));
  ASSIGN_OR_RETURN(const std::vector<c10::IValue> made, RunGraph(*joined, std::move(held)));
  // Each rank returns the outputs of its meshes.
  std::map<std::pair<size_t, size_t>, size_t> places;  // by output and rank
  size_t next = 0;
  for (size_t rank = 0; rank < modules.size(); ++rank) {
    for (size_t i = 0; i < read.outputs.size(); ++i) {
      if (read.PositionOf(static_cast<int>(rank), read.outputs[i]).has_value())
        places[{i, rank}] = next++;
    }
  }
  EXPECT_EQ(made.size(), next);
  std::vector<at::Tensor> outputs;
  for (size_t i = 0; i < read.outputs.size(); ++i) {
    const LaidOutTensor& output = read.outputs[i];
    std::vector<TensorData> pieces;
    for (const int rank : read.MeshOf(output).ranks) {
      ASSIGN_OR_RETURN(TensorData piece,
                       ToTensorData(made[places.at({i, static_cast<size_t>(rank)})].toTensor()));
      pieces.push_back(std::move(piece));
    }
    ASSIGN_OR_RETURN(const TensorData whole,
                     WholeOf(pieces, output.sharding, read.MeshOf(output), output.sizes));
    ASSIGN_OR_RETURN(at::Tensor tensor, ToTensor(whole, c10::Device(c10::kCPU)));
    outputs.push_back(std::move(tensor));
  }
  return outputs;
}

// Checks one random sharding. Returns whether some input was divided.
bool CheckOnce(const Module& module, uint64_t seed, Counts* counts) {
  Random random(seed);
  const Mesh mesh = AnyMesh(random);
  std::map<std::string, Sharding> inputs;
  bool divided = false;
  for (const Node* node : module.main()->placeholders()) {
    const Sharding sharding = AnySharding(*node, mesh, random);
    divided |= !sharding.is_replicated();
    inputs[std::string(node->name())] = sharding;
  }
  const absl::StatusOr<ShardedGraph> sharded = PropagateShardings(module, mesh, inputs);
  EXPECT_OK(sharded);
  if (!sharded.ok()) return false;
  // The graph must be the same after printing and parsing.
  const std::string text = PrintModule(*sharded->module);
  SCOPED_TRACE(absl::StrCat("seed ", seed, ", as sharded:\n", text));
  const auto read = ParseModule(text, "test");
  EXPECT_OK(read);
  if (!read.ok()) return false;
  const auto unrolled = UnrollRanks(**read);
  EXPECT_OK(unrolled);
  if (!unrolled.ok()) return false;
  EXPECT_OK(Verify(**unrolled));
  const auto expected = RunGraph(module, DrawInputs(module, seed));
  const auto found = RunGraph(**unrolled, DrawInputs(module, seed));
  EXPECT_OK(expected);
  EXPECT_OK(found) << PrintModule(**unrolled);
  if (!expected.ok() || !found.ok()) return false;
  EXPECT_EQ(expected->size(), found->size());
  for (size_t i = 0; i < expected->size(); ++i) {
    const at::Tensor a = (*expected)[i].toTensor();
    const at::Tensor b = (*found)[i].toTensor();
    const bool same = IsSame(a, b);
    EXPECT_TRUE(same) << a << "\nbut rank by rank\n" << b;
    if (!same) return false;
  }
  const auto by_ranks = RunRanks(**read, {{"mesh", mesh}}, DrawInputs(module, seed));
  EXPECT_OK(by_ranks);
  if (!by_ranks.ok()) return false;
  EXPECT_EQ(expected->size(), by_ranks->size());
  for (size_t i = 0; i < expected->size(); ++i) {
    const at::Tensor a = (*expected)[i].toTensor();
    const bool same = IsSame(a, (*by_ranks)[i]);
    EXPECT_TRUE(same) << a << "\nbut by the programs of the ranks\n" << (*by_ranks)[i];
    if (!same) return false;
  }
  ++counts->graphs;
  for (const Node* node : (*read)->main()->nodes()) {
    if (!node->is_call() || node->annotation().empty() || node->is_call_function(kReshard))
      continue;
    ++counts->sharded_calls;
    counts->partial_calls += absl::StrContains(node->annotation(), "(") ? 1 : 0;
    if (const CallRule* rule = FindCallRule(*node)) counts->rules.insert(std::string(rule->name));
  }
  return divided;
}

NamedMesh MeshAt(const std::string& name, std::vector<int64_t> shape, int first) {
  NamedMesh named = {name, Mesh::Of(std::move(shape))};
  for (int& rank : named.mesh.ranks) rank += first;
  return named;
}

// Returns two or three meshes: of the same shape or not, of one rank, or one a part of another.
std::vector<NamedMesh> AnyMeshes(Random& random) {
  switch (Below(random, 9)) {
    case 0:
    case 1:
    case 2: return {MeshAt("a", {2}, 0), MeshAt("b", {2}, 2)};
    case 3: return {MeshAt("a", {2, 2}, 0), MeshAt("b", {2, 2}, 4)};
    case 4: return {MeshAt("a", {2, 2}, 0), MeshAt("b", {4}, 4)};
    case 5: return {MeshAt("a", {2}, 0), MeshAt("b", {1}, 2), MeshAt("c", {4}, 3)};
    case 6: return {MeshAt("a", {1}, 0), MeshAt("b", {2}, 1), MeshAt("c", {1}, 3)};
    case 7: return {MeshAt("a", {2, 2}, 0), MeshAt("b", {1, 2}, 2)};  // they share ranks
    default: return {MeshAt("a", {1, 2}, 0), MeshAt("b", {2, 2}, 0), MeshAt("c", {2}, 1)};
  }
}

std::string StateOf(const Sharding& sharding) {
  return sharding.is_replicated() ? "R" : sharding.partial.empty() ? "S" : "P";
}

void CountCrossings(const Module& sharded, Counts* counts) {
  const auto layout = GraphLayout::Read(sharded);
  ASSERT_OK(layout);
  for (const Node* node : sharded.main()->nodes()) {
    if (!node->is_call_function(kReshard)) continue;
    const Node* const x = node->args()[0].node();
    const auto plan = layout->PlanOf(*node, 8);
    ASSERT_OK(plan);
    if (!plan->function.empty()) ++counts->functions[std::string(plan->function)];
    if (layout->MeshOf(x) == nullptr || layout->MeshOf(node) == nullptr ||
        *layout->MeshOf(x) == *layout->MeshOf(node))
      continue;
    const size_t rank = x->tensor_meta()->shape.size();
    ++counts->crossings[StateOf(layout->OfTensor(x, rank)) + StateOf(layout->OfTensor(node, rank))];
  }
}

// Cuts at random places into one stage for each mesh, with random layouts of inputs and outputs;
// some outputs are gathered.
void CheckStaged(const Module& module, uint64_t seed, Counts* counts) {
  Random random(seed);
  ShardRequest request;
  request.stages.meshes = AnyMeshes(random);
  const std::vector<NamedMesh>& meshes = request.stages.meshes;
  std::vector<const Node*> calls;
  for (const Node* node : module.main()->nodes()) {
    if (node->is_call()) calls.push_back(node);
  }
  std::vector<size_t> cuts;
  for (size_t i = 1; i < meshes.size(); ++i)
    cuts.push_back(static_cast<size_t>(Below(random, calls.size() + 1)));
  std::sort(cuts.begin(), cuts.end());
  for (size_t i = 0; i < calls.size(); ++i)
    request.stages.mesh_of_call[calls[i]->name()] =
        static_cast<size_t>(std::upper_bound(cuts.begin(), cuts.end(), i) - cuts.begin());
  for (const Node* node : module.main()->placeholders()) {
    const size_t used = request.stages.MeshesOfInput(*node)[0];
    request.inputs[std::string(node->name())] = AnySharding(*node, meshes[used].mesh, random);
  }
  const auto expected = RunGraph(module, DrawInputs(module, seed));
  ASSERT_OK(expected);
  const std::vector<Node*> returned = module.main()->output()->operands();
  for (size_t i = 0; i < returned.size(); ++i) {
    const int what = Below(random, 4);
    if (what == 0) request.gathered.insert(i);
    if (what != 1) continue;
    const NamedMesh& mesh = meshes[request.stages.MeshOf(*returned[i])];
    request.outputs[i] = AnySharding((*expected)[i].toTensor().sizes().vec(), mesh.mesh, random);
  }
  counts->asked += static_cast<int>(request.outputs.size());
  counts->gathered += static_cast<int>(request.gathered.size());
  const absl::StatusOr<ShardedGraph> sharded = PropagateShardings(module, request);
  SCOPED_TRACE(absl::StrCat("seed ", seed, "\n", PrintModule(module)));
  ASSERT_OK(sharded);
  const std::string text = PrintModule(*sharded->module);
  SCOPED_TRACE(absl::StrCat("as sharded:\n", text));
  const auto read = ParseModule(text, "test");
  ASSERT_OK(read);
  CountCrossings(**read, counts);
  if (::testing::Test::HasFailure()) return;
  const auto found = RunRanks(**read, meshes, DrawInputs(module, seed));
  ASSERT_OK(found);
  ASSERT_EQ(expected->size(), found->size());
  for (size_t i = 0; i < expected->size(); ++i) {
    const at::Tensor a = (*expected)[i].toTensor();
    ASSERT_TRUE(IsSame(a, (*found)[i])) << a << "\nbut by the programs of the ranks\n"
                                        << (*found)[i];
  }
  size_t ranks = 0;
  std::set<int> all;
  for (const NamedMesh& mesh : meshes) {
    ranks += mesh.mesh.num_ranks();
    all.insert(mesh.mesh.ranks.begin(), mesh.mesh.ranks.end());
  }
  counts->several_ranks += all.size() < ranks ? 1 : 0;
  ++counts->graphs;
}

// Graphs of one call, of each kind that the rules distinguish: inputs, the call, and the element of
// its value that is returned, if it is not the whole value.
constexpr const char* kCalls[] = {
    "%x : f64[4, 8], %w : f64[8] | torch.add(%x, %w)",
    "%x : f64[4, 1], %w : f64[1, 8] | torch.mul(%x, %w)",
    "%x : f64[4, 8], %w : f64[4, 8] | torch.where(torch.gt, %x, %w)",
    "%x : f64[4, 8] | torch.nn.functional.dropout(%x, 0.5, False)",
    "%x : f64[4, 8] | torch.zeros_like(%x)",
    "%x : f64[4, 8, 4], %m : f64[8], %v : f64[8], %w : f64[8] | "
    "torch.nn.functional.batch_norm(%x, %m, %v, %w)",
    "%x : f64[4, 8, 4], %w : f64[8] | torch.prelu(%x, %w)",
    "%x : f64[4, 8], %w : f64[8, 12] | torch.matmul(%x, %w)",
    "%x : f64[2, 4, 8], %w : f64[8, 12] | torch.matmul(%x, %w)",
    "%x : f64[2, 1, 4, 8], %w : f64[4, 8, 4] | torch.matmul(%x, %w)",
    "%x : f64[8], %w : f64[4, 8, 4] | torch.matmul(%x, %w)",
    "%x : f64[8], %w : f64[8] | torch.dot(%x, %w)",
    "%x : f64[4, 4, 8], %w : f64[4, 8, 4] | torch.bmm(%x, %w)",
    "%b : f64[12], %x : f64[4, 8], %w : f64[8, 12] | torch.addmm(%b, %x, %w)",
    "%b : f64[4, 12], %x : f64[4, 8], %w : f64[8, 12] | torch.addmm(%b, %x, %w, alpha = 2, beta = "
    "3)",
    "%b : f64[4, 1, 12], %x : f64[4, 4, 8], %w : f64[4, 8, 12] | torch.baddbmm(%b, %x, %w)",
    "%x : f64[2, 4, 8], %w : f64[12, 8], %b : f64[12] | torch.nn.functional.linear(%x, %w, %b)",
    "%x : f64[4, 8], %w : f64[12, 8] | torch.nn.functional.linear(%x, %w)",
    "%x : f64[4], %w : f64[8] | torch.outer(%x, %w)",
    "%x : f64[4, 8, 2], %w : f64[8, 12] | torch.einsum(\"abc,bd->dca\", %x, %w)",
    "%x : f64[4, 8], %w : f64[8, 4] | torch.einsum(\"ij,jk\", %x, %w)",
    "%x : f64[4, 4], %w : f64[4] | torch.einsum(\"ii,i->i\", %x, %w)",
    "%x : f64[4, 8, 12] | torch.sum(%x, [0, -1])",
    "%x : f64[4, 8, 12] | torch.sum(%x)",
    "%x : f64[4, 8, 12] | torch.mean(%x, [1, 2], True)",
    "%x : f64[4, 8] | torch.amax(%x, 1)",
    "%x : f64[4, 8] | torch.max(%x)",
    "%x : f64[4, 8] | torch.amin(%x, [0, 1], keepdim = True)",
    "%x : f64[4, 8] | torch.prod(%x, 0)",
    "%x : f64[4, 8] | torch.any(%x, 0)",
    "%x : f64[4, 8] | torch.all(%x)",
    "%x : f64[4, 8] | torch.count_nonzero(%x, 1)",
    "%x : f64[4, 8, 12] | torch.var(%x, [1])",
    "%x : f64[4, 8] | torch.argmax(%x, 1)",
    "%x : f64[4, 8] | torch.argmax(%x)",
    "%x : f64[4, 8] | torch.logsumexp(%x, [0])",
    "%x : f64[4, 8] | torch.max(%x, 1) | 0)",
    "%x : f64[4, 8] | torch.max(%x, 0) | 1)",
    "%x : f64[4, 8, 12] | torch.softmax(%x, -1)",
    "%x : f64[4, 8] | torch.cumsum(%x, 0)",
    "%x : f64[4, 8] | torch.flip(%x, [1])",
    "%x : f64[4, 8] | torch.roll(%x, 1)",
    "%x : f64[4, 8] | torch.topk(%x, 3) | 0) : f64[4, 3]",
    "%x : f64[2, 4, 8], %w : f64[8], %b : f64[8] | "
    "torch.nn.functional.layer_norm(%x, [8], %w, %b)",
    "%x : f64[2, 4, 8, 8] | torch.nn.functional.avg_pool2d(%x, 2)",
    "%x : f64[2, 4, 8, 8] | torch.nn.functional.adaptive_avg_pool2d(%x, 1)",
    "%x : f64[4, 4, 8] | torch.tril(%x)",
    "%x : f64[4, 4, 8] | torch.nn.functional.pad(%x, (1, 2))",
    "%x : f64[4, 8, 4], %w : f64[8], %b : f64[8] | "
    "torch.nn.functional.group_norm(%x, 2, %w, %b)",
    "%x : f64[4, 8, 5, 5], %w : f64[4, 8, 3, 3], %b : f64[4] | torch.conv2d(%x, %w, %b)",
    "%x : f64[4, 8, 5], %w : f64[8, 2, 3] | torch.conv1d(%x, %w, None, 1, 1, 1, 4)",
    "%x : f64[4, 8, 5], %w : f64[8, 4, 3], %b : f64[4] | torch.conv_transpose1d(%x, %w, %b)",
    "%q : f64[2, 4, 6, 8], %k : f64[2, 4, 6, 8], %v : f64[2, 4, 6, 8], %m : f64[1, 1, 6, 6] | "
    "torch.nn.functional.scaled_dot_product_attention(%q, %k, %v, %m)",
    "%q : f64[2, 8, 4, 8], %k : f64[2, 4, 4, 8], %v : f64[2, 4, 4, 8] | "
    "torch.nn.functional.scaled_dot_product_attention(%q, %k, %v, is_causal = True, "
    "enable_gqa = True)",
    "%i : i64[4, 8], %w : f64[4, 8] | torch.nn.functional.embedding(%i, %w)",
    "%x : f64[4, 8], %i : i64[4, 12] | torch.gather(%x, 1, %i)",
    "%x : f64[4, 8], %i : i64[2, 4] | torch.gather(%x, 1, %i)",
    "%x : f64[4, 8], %i : i64[12] | torch.index_select(%x, 1, %i)",
    "%x : f64[4, 8, 4], %i : i64[4, 2] | aten.index.Tensor(%x, [None, %i])",
    "%x : f64[4, 8], %y : f64[4, 4] | torch.cat([%x, %y], 1)",
    "%x : f64[4, 8], %y : f64[4, 8] | torch.stack([%x, %y], 1)",
    "%x : f64[4, 8] | torch.chunk(%x, 2, 1) | 1) : f64[4, 4]",
    "%x : f64[4, 8] | torch.split(%x, [3, 5], 1) | 0) : f64[4, 3]",
    "%x : f64[4, 8] | torch.unbind(%x, 1) | 2) : f64[4]",
    "%x : f64[4, 8] | torch.select(%x, 0, 1)",
    "%x : f64[4, 8] | torch.narrow(%x, 1, 2, 4)",
    "%x : f64[4, 8] | aten.slice.Tensor(%x, 1, 0, 8, 2)",
    "%x : f64[4, 8] | aten.slice.Tensor(%x, 1, None, None, 4)",
    "%x : f64[4, 8] | aten.slice.Tensor(%x, 1, 0, 8)",
    "%x : f64[4, 8] | aten.slice.Tensor(%x, -2, 0, 9223372036854775807)",
    "%x : f64[4, 8] | operator.getitem(%x, (slice(0, 4, None), slice(None, 7, 1)))",
    "%x : f64[4, 8, 4] | operator.getitem(%x, (slice(None, None, None), None, ..., 1))",
    "%x : f64[4, 8, 4] | operator.getitem(%x, (slice(1, None, None), ...))",
    "%x : f64[4, 8, 12] | .permute(%x, 2, 0, 1)",
    "%x : f64[4, 8, 12] | .transpose(%x, 1, -1)",
    "%x : f64[4, 8] | .t(%x)",
    "%x : f64[4, 8, 12] | builtins.getattr(%x, \"mT\")",
    "%x : f64[4, 8, 12] | torch.movedim(%x, 0, 2)",
    "%x : f64[4, 8, 12] | .view(%x, 4, -1)",
    "%x : f64[4, 8, 12] | .view(%x, 32, 2, 6)",
    "%x : f64[4, 12] | .reshape(%x, (1, 4, 4, 3))",
    "%x : f64[4, 8] | torch.unflatten(%x, 1, [4, -1])",
    "%x : f64[2, 4, 8] | torch.flatten(%x, 1)",
    "%x : f64[4, 1, 8] | torch.squeeze(%x, 1)",
    "%x : f64[4, 1, 8] | torch.squeeze(%x)",
    "%x : f64[4, 8] | torch.unsqueeze(%x, -1)",
    "%x : f64[4, 1, 8] | .expand(%x, 2, -1, 6, 8)",
    "%x : f64[4, 8] | .repeat(%x, 2, 1, 3)",
};

std::unique_ptr<Module> ModuleOf(const std::string& call) {
  const std::vector<std::string> parts = absl::StrSplit(call, " | ");
  std::string text = absl::StrCat("graph @forward(", parts[0], ") {\n");
  // The condition of a where gets a line of its own, since the text form has no nested calls.
  std::string made = parts[1];
  if (absl::StrContains(made, "torch.gt, ")) {
    absl::StrAppend(&text, "%c = torch.gt(%x, 0)\n");
    made = "torch.where(%c, %x, %w)";
  }
  absl::StrAppend(&text, "%result = ", made, "\n");
  if (parts.size() > 2) absl::StrAppend(&text, "%z = operator.getitem(%result, ", parts[2], "\n");
  absl::StrAppend(&text, "return (", parts.size() > 2 ? "%z" : "%result", ",)\n}\n");
  auto module = ParseModule(text, "test");
  EXPECT_OK(module) << text;
  return module.ok() ? *std::move(module) : nullptr;
}

TEST(OracleTest, EachRuleHoldsAndIsDocumented) {
  Counts counts;
  for (const char* call : kCalls) {
    SCOPED_TRACE(call);
    const std::unique_ptr<Module> module = ModuleOf(call);
    ASSERT_NE(module, nullptr);
    for (uint64_t seed = 0; seed < 40; ++seed) {
      CheckOnce(*module, seed, &counts);
      if (HasFailure()) return;
    }
  }
  std::ifstream file("docs/sharding.md");
  std::stringstream page;
  page << file.rdbuf();
  for (const CallRule& rule : CallRules()) {
    EXPECT_TRUE(counts.rules.contains(std::string(rule.name))) << rule.name << " has no test";
    const std::string line = absl::StrCat("| ", rule.name, " | ", rule.what, " |");
    EXPECT_TRUE(absl::StrContains(page.str(), line)) << "docs/sharding.md lacks\n" << line;
  }
}

// Makes graphs of one to `most` calls. Sizes are chosen so that most calls are valid.
class RandomGraph {
 public:
  explicit RandomGraph(uint64_t seed, size_t most = 5)
      : random_(seed), most_(most), module_(std::make_unique<Module>()) {
    graph_ = module_->AddGraph("forward");
  }

  std::unique_ptr<Module> Make() {
    // Placeholders come first.
    Node* const mark = graph_->Output(Argument::Tuple({}));
    graph_->set_insertion_point(mark);
    first_call_ = mark;
    Input(AnySizes());
    const int calls = 1 + Below(random_, most_);
    int tries = 0;
    for (int made = 0; made < calls && tries < 50; ++tries) made += Call() ? 1 : 0;
    std::vector<Argument> outputs = {values_.back().node};
    if (Below(random_, 3) == 0) outputs.emplace_back(values_[values_.size() / 2].node);
    mark->set_arg(0, Argument::Tuple(outputs));
    return std::move(module_);
  }

 private:
  using Sizes = std::vector<int64_t>;
  struct Value {
    Node* node;
    Sizes sizes;
  };

  int64_t AnySize() {
    static const int64_t kSizes[] = {4, 4, 8, 8, 2, 1, 6};
    return kSizes[Below(random_, 7)];
  }
  Sizes AnySizes() {
    Sizes sizes(static_cast<size_t>(1 + Below(random_, 4)));
    for (int64_t& size : sizes) size = AnySize();
    return sizes;
  }

  Value Input(const Sizes& sizes, DType dtype = DType::kFloat64) {
    const InsertionGuard guard(graph_, first_call_);
    Node* node = graph_->Placeholder(absl::StrCat("x", inputs_++));
    TensorMeta meta;
    meta.dtype = dtype;
    meta.has_shape = true;
    const std::vector<Dim> shape(sizes.begin(), sizes.end());
    meta.shape = shape;
    node->set_meta(module_->InternValueMeta(meta));
    if (dtype == DType::kFloat64) values_.push_back({node, sizes});
    return {node, sizes};
  }
  // Returns an existing value of these sizes, or a new one.
  Value Of(const Sizes& sizes) {
    for (const Value& value : values_) {
      if (value.sizes == sizes && Below(random_, 2) == 0) return value;
    }
    return Input(sizes);
  }

  bool Done(Sizes sizes, absl::string_view target, absl::Span<const Argument> args) {
    Node* node = graph_->CallFunction(target, args);
    if (first_call_ == graph_->output()) first_call_ = node;
    values_.push_back({node, std::move(sizes)});
    return true;
  }

  static Argument List(const std::vector<int64_t>& numbers, std::vector<Argument>* storage) {
    storage->assign(numbers.begin(), numbers.end());
    return Argument::List(*storage);
  }

  bool Call() {
    const Value x = values_[static_cast<size_t>(Below(random_, values_.size()))];
    const auto rank = static_cast<int64_t>(x.sizes.size());
    if (rank == 0) return false;
    const int64_t dim = Below(random_, x.sizes.size());
    const auto at = static_cast<size_t>(dim);
    Sizes sizes = x.sizes;
    std::vector<Argument> storage;
    switch (Below(random_, 17)) {
      case 0: {
        static const absl::string_view kUnary[] = {"torch.relu", "torch.neg", "torch.abs",
                                                   "torch.sin"};
        return Done(sizes, kUnary[Below(random_, 4)], {x.node});
      }
      case 1:
      case 2: {  // an operand that broadcasts
        Sizes other(sizes.begin() + Below(random_, sizes.size()), sizes.end());
        if (Below(random_, 2) == 0) other[0] = 1;
        static const absl::string_view kBinary[] = {"torch.add", "torch.mul", "torch.maximum",
                                                    "torch.sub"};
        return Done(sizes, kBinary[Below(random_, 4)], {x.node, Of(other).node});
      }
      case 3:
      case 4: {
        const int64_t n = AnySize();
        const Value w = Of({sizes.back(), n});
        sizes.back() = n;
        return Done(sizes, "torch.matmul", {x.node, w.node});
      }
      case 5: {
        const int64_t n = AnySize();
        const Value w = Of({n, sizes.back()});
        const Value b = Of({n});
        sizes.back() = n;
        return Done(sizes, "torch.nn.functional.linear", {x.node, w.node, b.node});
      }
      case 6: {
        static const absl::string_view kReductions[] = {"torch.sum", "torch.mean", "torch.amax",
                                                        "torch.amin", "torch.var"};
        const bool keep = Below(random_, 2) == 0;
        const int which = Below(random_, 5);
        if (which == 4 && sizes[at] < 2) return false;
        if (keep)
          sizes[at] = 1;
        else
          sizes.erase(sizes.begin() + dim);
        Node* node = graph_->CallFunction(kReductions[which], {x.node, Argument::List({dim})},
                                          {{"keepdim", keep}});
        if (first_call_ == graph_->output()) first_call_ = node;
        values_.push_back({node, sizes});
        return true;
      }
      case 7: return Done(sizes, "torch.softmax", {x.node, dim});
      case 8: {
        const int64_t other = Below(random_, sizes.size());
        std::swap(sizes[at], sizes[static_cast<size_t>(other)]);
        return Done(sizes, "torch.transpose", {x.node, dim, other});
      }
      case 9: {  // two dimensions become one
        if (at + 1 == sizes.size()) return false;
        sizes[at] *= sizes[at + 1];
        sizes.erase(sizes.begin() + dim + 1);
        return Done(sizes, "torch.reshape", {x.node, List(sizes, &storage)});
      }
      case 10: {  // one dimension becomes two
        if (sizes[at] % 2 != 0) return false;
        const int64_t first = Below(random_, 2) == 0 ? 2 : sizes[at] / 2;
        sizes.insert(sizes.begin() + dim, first);
        sizes[at + 1] /= first;
        return Done(sizes, "torch.reshape", {x.node, List(sizes, &storage)});
      }
      case 11: {  // a reshape to any other sizes
        Sizes other = sizes;
        std::shuffle(other.begin(), other.end(), random_);
        return Done(other, "torch.reshape", {x.node, List(other, &storage)});
      }
      case 12: {
        if (sizes[at] < 2) return false;
        sizes[at] /= 2;
        return Done(sizes, "torch.narrow", {x.node, dim, Below(random_, 2), sizes[at]});
      }
      case 13: {
        const Value other = Of(sizes);
        sizes[at] *= 2;
        return Done(sizes, "torch.cat", {Argument::List({x.node, other.node}), dim});
      }
      case 14: {
        sizes.insert(sizes.begin() + dim, 1);
        return Done(sizes, "torch.unsqueeze", {x.node, dim});
      }
      case 15: {
        const Value w = Of({sizes.back()});
        return Done(sizes, "torch.nn.functional.layer_norm",
                    {x.node, Argument::List({sizes.back()}), w.node});
      }
      default: {
        if (sizes[at] < 4) return false;
        const Value index = Input({AnySize()}, DType::kInt64);
        sizes[at] = index.sizes[0];
        return Done(sizes, "torch.index_select", {x.node, dim, index.node});
      }
    }
  }

  Random random_;
  size_t most_;
  std::unique_ptr<Module> module_;
  Graph* graph_;
  Node* first_call_;
  int inputs_ = 0;
  std::vector<Value> values_;
};

TEST(OracleTest, RandomGraphs) {
  const char* wanted = std::getenv("SPMD_ORACLE_GRAPHS");
  const int graphs = wanted != nullptr ? std::atoi(wanted) : 1000;
  Counts counts;
  int divided = 0;
  for (int i = 0; i < graphs && !HasFailure(); ++i) {
    const auto seed = static_cast<uint64_t>(i);
    const std::unique_ptr<Module> module = RandomGraph(seed).Make();
    ASSERT_OK(Verify(*module)) << PrintModule(*module);
    divided += CheckOnce(*module, seed, &counts) ? 1 : 0;
  }
  // The test is worthless if little is sharded.
  EXPECT_GT(divided, graphs / 2);
  EXPECT_GT(counts.sharded_calls, graphs);
  EXPECT_GT(counts.partial_calls, graphs / 20);
  std::cout << counts.graphs << " graphs, " << divided << " with divided inputs, "
            << counts.sharded_calls << " sharded calls, " << counts.partial_calls
            << " of them partial\n";
}

// Graphs in which a value of any state may cross to another mesh and be used there in any state.
constexpr const char* kCrossings[] = {
    "%x : f64[4, 8], %w : f64[8, 4], %t : f64[4, 4]) {\n"
    "%h = torch.matmul(%x, %w)\n%y = torch.add(%h, %t)\n",
    "%u : f64[4], %t : f64[4, 8], %v : f64[4, 8]) {\n"
    "%h = torch.relu(%u)\n%y = torch.nn.functional.linear(%t, %v, %h)\n",
    "%x : f64[4, 8], %t : f64[4, 8], %v : f64[4, 8]) {\n"
    "%h = torch.sum(%x, 1)\n%y = torch.nn.functional.linear(%t, %v, %h)\n",
    "%x : f64[4, 4], %s : f64[2, 4, 4]) {\n%h = torch.relu(%x)\n%y = torch.add(%h, %s)\n",
};

TEST(OracleTest, RandomGraphsWithStages) {
  const char* wanted = std::getenv("SPMD_ORACLE_GRAPHS");
  const int graphs = wanted != nullptr ? std::atoi(wanted) : 1000;
  Counts counts;
  for (int i = 0; i < graphs && !HasFailure(); ++i) {
    const auto seed = static_cast<uint64_t>(i);
    const std::unique_ptr<Module> module = RandomGraph(seed, 8).Make();
    CheckStaged(*module, seed, &counts);
  }
  std::cout << counts.graphs << " random graphs\n";
  for (const char* graph : kCrossings) {
    const auto module =
        ParseModule(absl::StrCat("graph @forward(", graph, "return (%y,)\n}\n"), "test");
    ASSERT_OK(module);
    for (int i = 0; i < graphs / 2 && !HasFailure(); ++i)
      CheckStaged(**module, static_cast<uint64_t>(i), &counts);
  }
  for (const char* from : {"R", "S", "P"}) {
    for (const char* to : {"R", "S", "P"}) {
      const std::string crossing = absl::StrCat(from, to);
      EXPECT_TRUE(graphs < 1000 || counts.crossings[crossing] > 0) << crossing;
      std::cout << crossing << " " << counts.crossings[crossing] << "  ";
    }
  }
  std::cout << "\n";
  for (const absl::string_view function : ReshardFunctions()) {
    EXPECT_TRUE(graphs < 1000 || counts.functions[std::string(function)] > 0) << function;
    std::cout << function << " " << counts.functions[std::string(function)] << "  ";
  }
  std::cout << "\n"
            << counts.graphs << " graphs in all, " << counts.several_ranks
            << " with ranks of two meshes, " << counts.asked << " outputs asked for in a layout, "
            << counts.gathered << " gathered\n";
}

}  // namespace
}  // namespace graphnet::spmd
