#include "graphnet/shard/reshard.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ATen/ATen.h"
#include "graphnet/shard/unroll.h"
#include "tests/base/status_matchers.h"
#include "tests/shard/run_graph.h"

namespace graphnet::spmd {
namespace {

using testing::HasSubstr;

Mesh MeshOf(std::vector<int64_t> shape, int first_rank) {
  Mesh mesh = Mesh::Of(std::move(shape));
  for (int& rank : mesh.ranks) rank += first_rank;
  return mesh;
}

// Deals a tensor to the ranks of a layout, and joins the parts again, in plain loops over
// coordinates.
std::map<int, at::Tensor> Deal(const at::Tensor& whole, const Layout& layout) {
  std::map<int, at::Tensor> parts;
  for (size_t i = 0; i < layout.mesh.num_ranks(); ++i) {
    at::Tensor part = whole;
    for (size_t dim = 0; dim < layout.sharding.dims_mapping.size(); ++dim) {
      const int axis = layout.sharding.dims_mapping[dim];
      if (axis < 0) continue;
      const int64_t size = whole.size(static_cast<int64_t>(dim));
      const int64_t n = layout.mesh.size(axis);
      const int64_t begin = std::min(size, layout.mesh.Coordinate(i, axis) * ((size + n - 1) / n));
      const int64_t end = std::min(size, begin + (size + n - 1) / n);
      part = part.narrow(static_cast<int64_t>(dim), begin, end - begin);
    }
    // The terms differ and combine to the part.
    for (const auto& [axis, type] : layout.sharding.partial) {
      const auto n = static_cast<double>(layout.mesh.size(axis));
      const auto k = static_cast<double>(layout.mesh.Coordinate(i, axis));
      if (type == ReduceType::kSum) part = k == 0 ? part - (n - 1) * n / 2 : at::full_like(part, k);
      if (type == ReduceType::kAvg) part = part + (k - (n - 1) / 2);
      if (type == ReduceType::kMax) part = part - k;
    }
    parts[layout.mesh.ranks[i]] = part;
  }
  return parts;
}

at::Tensor Assemble(const std::map<int, at::Tensor>& parts, const Layout& layout,
                    at::IntArrayRef sizes) {
  // Joins each line of ranks into one value, axis by axis, the innermost first.
  std::vector<at::Tensor> values;
  for (const int rank : layout.mesh.ranks) values.push_back(parts.at(rank));
  for (int axis = layout.mesh.num_axes() - 1; axis >= 0; --axis) {
    const auto n = static_cast<size_t>(layout.mesh.size(axis));
    std::vector<at::Tensor> next;
    for (size_t i = 0; i < values.size(); i += n) {
      const std::vector<at::Tensor> line(values.begin() + static_cast<ptrdiff_t>(i),
                                         values.begin() + static_cast<ptrdiff_t>(i + n));
      const auto& mapping = layout.sharding.dims_mapping;
      const auto dim = std::find(mapping.begin(), mapping.end(), axis) - mapping.begin();
      const auto partial = layout.sharding.partial.find(axis);
      if (dim < static_cast<ptrdiff_t>(mapping.size())) {
        next.push_back(at::cat(line, dim));
      } else if (partial == layout.sharding.partial.end()) {
        for (const at::Tensor& other : line) EXPECT_TRUE(at::equal(other, line[0]));
        next.push_back(line[0]);
      } else if (partial->second == ReduceType::kMax) {
        next.push_back(std::get<0>(at::stack(line).max(0)));
      } else {
        const at::Tensor sum = at::stack(line).sum(0);
        next.push_back(partial->second == ReduceType::kAvg ? sum / static_cast<double>(n) : sum);
      }
    }
    values = std::move(next);
  }
  EXPECT_EQ(values[0].sizes(), sizes);
  return values[0];
}

// Runs the plan from `from` to `to` and compares the parts of the ranks with the whole.
void Check(const Layout& from, const Layout& to, const std::vector<int64_t>& sizes,
           std::string* function = nullptr) {
  const std::string what = LayoutName(from) + " to " + LayoutName(to);
  SCOPED_TRACE(what);
  const absl::StatusOr<ReshardPlan> plan = PlanReshard(from, to, sizes, 8);
  ASSERT_OK(plan);
  if (function != nullptr) *function = std::string(plan->function);
  int64_t elements = 1;
  for (const int64_t size : sizes) elements *= size;
  const at::Tensor whole = at::arange(elements, at::kDouble).reshape(sizes);

  Module module;
  Graph* graph = module.AddGraph("forward");
  RankValues values;
  std::vector<c10::IValue> inputs;
  for (const auto& [rank, part] : Deal(whole, from)) {
    values[rank] = graph->Placeholder("rank" + std::to_string(rank));
    inputs.emplace_back(part.clone());
  }
  values = Unroll(*plan, sizes, values, graph);
  std::vector<Argument> outputs;
  for (const int rank : to.mesh.ranks) {
    ASSERT_TRUE(values.contains(rank));
    outputs.push_back(values[rank]);
  }
  graph->Output(Argument::Tuple(outputs));
  const auto ran = RunGraph(module, inputs);
  ASSERT_OK(ran);
  std::map<int, at::Tensor> parts;
  for (size_t i = 0; i < ran->size(); ++i) parts[to.mesh.ranks[i]] = (*ran)[i].toTensor();
  EXPECT_TRUE(at::equal(Assemble(parts, to, whole.sizes()), whole));
  // The part of each rank must have the right sizes, too.
  for (const auto& [rank, part] : Deal(whole, to)) EXPECT_EQ(parts[rank].sizes(), part.sizes());
}

struct State {
  char letter;
  Sharding sharding;
};
const State kStates[] = {
    {'R', {{-1, -1}, {}}}, {'S', {{0, -1}, {}}}, {'P', {{-1, -1}, {{0, ReduceType::kSum}}}}};

TEST(ReshardTest, AllStatesOnAllPairsOfMeshes) {
  for (const std::vector<int64_t>& sizes :
       {std::vector<int64_t>{8, 4}, {5, 4}, {7, 3}, {1, 2}, {0, 3}}) {
    for (const int64_t n : {2, 4}) {
      const Mesh mesh = Mesh::Of({n});
      for (const State& from : kStates) {
        for (const State& to : kStates) {
          std::string function;
          const std::string name = {from.letter, 'T', 'o', to.letter};
          Check({mesh, from.sharding}, {mesh, to.sharding}, sizes, &function);
          EXPECT_EQ(function, from.letter == to.letter ? "" : name);
          // The two meshes share some ranks.
          Check({mesh, from.sharding}, {MeshOf({n}, 1), to.sharding}, sizes, &function);
          EXPECT_EQ(function, from.letter == to.letter ? "SameStatus" : name + "CrossMesh");
          Check({mesh, from.sharding}, {MeshOf({1}, 1), to.sharding}, sizes, &function);
          EXPECT_EQ(function, "XToRShrink");
          Check({mesh, from.sharding}, {MeshOf({1}, 9), to.sharding}, sizes, &function);
          EXPECT_EQ(function, "XToRShrink");
          Check({MeshOf({1}, 1), from.sharding}, {mesh, to.sharding}, sizes, &function);
          EXPECT_EQ(function, "RToXExpand");
          Check({MeshOf({1}, 9), from.sharding}, {mesh, to.sharding}, sizes, &function);
          EXPECT_EQ(function, "RToXExpand");
        }
      }
    }
  }
}

TEST(ReshardTest, OtherDimension) {
  std::string function;
  for (const std::vector<int64_t>& sizes : {std::vector<int64_t>{8, 4}, {5, 7}}) {
    Check({Mesh::Of({4}), {{0, -1}, {}}}, {Mesh::Of({4}), {{-1, 0}, {}}}, sizes, &function);
    EXPECT_EQ(function, "SToS");
    Check({Mesh::Of({4}), {{0, -1}, {}}}, {MeshOf({4}, 4), {{-1, 0}, {}}}, sizes, &function);
    EXPECT_EQ(function, "SToSCrossMesh");
  }
}

TEST(ReshardTest, AveragesAndMaxima) {
  const Mesh mesh = Mesh::Of({4});
  for (const ReduceType type : {ReduceType::kAvg, ReduceType::kMax}) {
    const Sharding partial = {{-1, -1}, {{0, type}}};
    for (const Sharding& other : {kStates[0].sharding, kStates[1].sharding}) {
      Check({mesh, partial}, {mesh, other}, {8, 4});
      Check({mesh, other}, {mesh, partial}, {8, 4});
      Check({mesh, partial}, {MeshOf({4}, 2), other}, {5, 4});
    }
  }
}

TEST(ReshardTest, AllShardingsOnMeshesOfTwoAxes) {
  std::vector<Sharding> all;
  for (int a = -1; a < 2; ++a) {
    for (int b = -1; b < 2; ++b) {
      if (a == b && a >= 0) continue;
      for (int partial = 0; partial < 4; ++partial) {
        Sharding sharding = {{a, b}, {}};
        if ((partial & 1) != 0) sharding.partial[0] = ReduceType::kSum;
        if ((partial & 2) != 0) sharding.partial[1] = ReduceType::kAvg;
        if (CheckAxes(sharding, Mesh::Of({2, 4})).ok()) all.push_back(sharding);
      }
    }
  }
  EXPECT_EQ(all.size(), 14u);
  std::string function;
  for (const Sharding& from : all) {
    for (const Sharding& to : all) {
      Check({Mesh::Of({2, 4}), from}, {Mesh::Of({2, 4}), to}, {5, 8}, &function);
      EXPECT_EQ(function, from == to ? "" : "SameNdMesh");
      Check({Mesh::Of({2, 4}), from}, {MeshOf({2, 4}, 3), to}, {5, 8}, &function);
      EXPECT_EQ(function, from == to ? "SameStatus" : "CrossNdMesh");
    }
  }
}

TEST(ReshardTest, PartsOfAMesh) {
  const Mesh whole = Mesh::Of({2, 4});
  const Mesh part = MeshOf({1, 4}, 4);  // the second half
  const Sharding along = {{1, -1}, {}};
  std::string function;
  Check({whole, along}, {part, along}, {8, 3}, &function);
  EXPECT_EQ(function, "GlobalToSubMesh");
  Check({part, along}, {whole, along}, {8, 3}, &function);
  EXPECT_EQ(function, "SubMeshToGlobal");
  // A tensor that is divided along the axis is not complete on the part.
  EXPECT_THAT(
      PlanReshard({whole, {{0, -1}, {}}}, {part, {{-1, -1}, {}}}, {8, 3}, 4),
      StatusIs(absl::StatusCode::kUnimplemented,
               testing::AllOf(HasSubstr("2x4[0, -1]"), HasSubstr("1x4{4, 5, 6, 7}[-1, -1]"))));
}

TEST(ReshardTest, BytesOnLinks) {
  const Mesh mesh = Mesh::Of({4});
  const Sharding r = {{-1, -1}, {}};
  const Sharding s0 = {{0, -1}, {}};
  const Sharding s1 = {{-1, 0}, {}};
  const Sharding p = {{-1, -1}, {{0, ReduceType::kSum}}};
  const auto plan = [&](const Sharding& from, const Sharding& to) {
    return DescribePlan(*PlanReshard({mesh, from}, {mesh, to}, {8, 4}, 4));
  };
  // The tensor has 128 bytes, and a piece has 32.
  EXPECT_EQ(plan(s0, r), "SToR: all_gather(dim 0) 96 bytes on 4 links");
  EXPECT_EQ(plan(p, r), "PToR: all_reduce 192 bytes on 4 links");
  EXPECT_EQ(plan(p, s0), "PToS: reduce_scatter(dim 0) 96 bytes on 4 links");
  EXPECT_EQ(plan(s0, s1), "SToS: all_to_all(dim 0 to 1) 8 bytes on 12 links");
  EXPECT_EQ(plan(r, s0), "RToS: take_piece(dim 0)");
  EXPECT_EQ(plan(r, p), "RToP: keep_first");
  EXPECT_EQ(plan(r, r), "nothing to do");
  EXPECT_EQ(PlanReshard({mesh, s0}, {mesh, s1}, {8, 4}, 4)->bytes_moved(), 96);
  EXPECT_EQ(DescribePlan(*PlanReshard({mesh, s0}, {MeshOf({4}, 2), s0}, {8, 4}, 4)),
            "SameStatus: send 32 bytes on 4 links");
}

TEST(ReshardTest, TakesTheFirstThatSuits) {
  EXPECT_EQ(ReshardFunctions().size(), 21u);
  EXPECT_EQ(ReshardFunctions().front(), "SToR");
  EXPECT_EQ(ReshardFunctions()[14], "XToRShrink");
  EXPECT_EQ(ReshardFunctions().back(), "SubMeshToGlobal");
}

TEST(ReshardTest, Refuses) {
  const Mesh mesh = Mesh::Of({4});
  const Sharding r = {{-1}, {}};
  const Sharding max = {{-1}, {{0, ReduceType::kMax}}};
  const Sharding sum = {{-1}, {{0, ReduceType::kSum}}};
  EXPECT_THAT(
      PlanReshard({mesh, max}, {mesh, sum}, {8}, 4),
      StatusIs(absl::StatusCode::kUnimplemented, "no reshard of 4[-1] max(0) to 4[-1] sum(0)"));
  EXPECT_THAT(PlanReshard({mesh, r}, {Mesh::Of({2}), r}, {8}, 4),
              StatusIs(absl::StatusCode::kUnimplemented));
  EXPECT_THAT(PlanReshard({mesh, max}, {Mesh::Of({1}), r}, {8}, 4),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("only partial sums")));
  EXPECT_THAT(PlanReshard({mesh, r}, {mesh, {{1}, {}}}, {8}, 4),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no axis 1")));
  EXPECT_THAT(PlanReshard({mesh, r}, {mesh, r}, {8, 8}, 4),
              StatusIs(absl::StatusCode::kInvalidArgument));
  for (const int64_t size : {int64_t{-1}, kMaxReshardBytes / 4 + 1, INT64_MAX}) {
    EXPECT_THAT(PlanReshard({mesh, r}, {mesh, {{0}, {}}}, {size}, 4),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         "cannot reshard a tensor that is too large or of unknown size"));
  }
  EXPECT_OK(PlanReshard({mesh, r}, {mesh, {{0}, {}}}, {kMaxReshardBytes / 4}, 4));
}

}  // namespace
}  // namespace graphnet::spmd
