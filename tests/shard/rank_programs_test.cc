// Tests the text of the ranks' programs, the errors, and the parts of tensors. oracle_test.cc tests
// that the programs compute the right results.
#include "graphnet/shard/rank_programs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/shard/join_ranks.h"
#include "graphnet/shard/propagate.h"
#include "graphnet/shard/shard_plan.h"
#include "graphnet/shard/tensor_pieces.h"
#include "tests/base/status_matchers.h"
#include "tests/ir/text/parsed_module.h"

namespace graphnet::spmd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TensorData Numbers(std::vector<int64_t> shape) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  auto bytes = std::make_shared<std::string>(static_cast<size_t>(count) * sizeof(int32_t), '\0');
  for (int32_t i = 0; i < count; ++i)
    std::memcpy(bytes->data() + static_cast<size_t>(i) * sizeof(i), &i, sizeof(i));
  TensorData data = {.dtype = DType::kInt32, .shape = std::move(shape)};
  data.bytes = bytes;
  return data;
}

std::vector<int32_t> NumbersOf(const TensorData& data) {
  std::vector<int32_t> numbers(data.bytes->size() / sizeof(int32_t));
  std::memcpy(numbers.data(), data.bytes->data(), data.bytes->size());
  return numbers;
}

TEST(TensorPiecesTest, PiecesAndBack) {
  const Mesh mesh = Mesh::Of({2, 2});
  const TensorData whole = Numbers({4, 2});
  const Sharding rows = {{1, -1}, {}};
  std::vector<TensorData> pieces;
  for (size_t i = 0; i < 4; ++i) {
    auto piece = PieceOf(whole, rows, mesh, i);
    ASSERT_OK(piece);
    pieces.push_back(*piece);
  }
  EXPECT_THAT(pieces[0].shape, ElementsAre(2, 2));
  EXPECT_THAT(NumbersOf(pieces[0]), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(NumbersOf(pieces[1]), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(NumbersOf(pieces[2]), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(PlacesOfPiece(whole.shape, rows, mesh, 1), ElementsAre(4, 5, 6, 7));
  const Sharding both = {{1, 0}, {}};
  EXPECT_THAT(NumbersOf(*PieceOf(whole, both, mesh, 2)), ElementsAre(1, 3));
  EXPECT_THAT(PlacesOfPiece(whole.shape, both, mesh, 2), ElementsAre(1, 3));
  auto back = WholeOf(pieces, rows, mesh, whole.shape);
  ASSERT_OK(back);
  EXPECT_EQ(*back->bytes, *whole.bytes);

  // Ranks 0 and 2 must hold the same part.
  pieces[2] = pieces[1];
  EXPECT_THAT(
      WholeOf(pieces, rows, mesh, whole.shape),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is not the same on ranks 0 and 2")));
  pieces[2] = whole;
  EXPECT_THAT(WholeOf(pieces, rows, mesh, whole.shape),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is [4, 2] on rank 2")));
  EXPECT_THAT(PieceOf(whole, {{-1, -1, 0}, {}}, mesh, 0),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("dimensions")));
}

TEST(TensorPiecesTest, TakesPartsOfWholeRowMajorTensorsOnly) {
  const Sharding rows = {{0, -1}, {}};
  TensorData columns = Numbers({4, 2});
  columns.strides = {1, 4};
  EXPECT_THAT(PieceOf(columns, rows, Mesh::Of({2}), 0),
              StatusIs(absl::StatusCode::kInvalidArgument, "is not in row-major order in memory"));
  TensorData cut = Numbers({4, 2});
  cut.shape = {4, 3};
  EXPECT_THAT(PieceOf(cut, rows, Mesh::Of({2}), 0),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "does not have as many bytes as its shape needs"));
}

absl::StatusOr<RankPrograms> ProgramsOf(absl::string_view text, absl::string_view mesh,
                                        const std::map<std::string, Sharding>& inputs) {
  const ParsedModule module = Parse(text);
  auto sharded = PropagateShardings(*module, *ParseMesh(mesh), inputs);
  if (!sharded.ok()) return sharded.status();
  return MakeRankPrograms(*sharded->module, *ParseMesh(mesh));
}

TEST(RankProgramsTest, SaysWhatRanksHoldAndCall) {
  const auto made = ProgramsOf(
      "graph @forward(%x : f32[4, 8], %w : f32[8, 2], %d : f32[4] {data = [1.0, 2.0, 3.0, 4.0]}) "
      "{\n"
      "  %y = torch.matmul(%x, %w)\n"
      "  %z = torch.sub(%d, 1)\n"
      "  return (%y, None, [%z])\n}\n",
      "2", {{"x", {{-1, 0}, {}}}, {"d", {{0}, {}}}});
  ASSERT_OK(made);
  // Each rank has the rows of the weight that it multiplies.
  EXPECT_EQ(made->plan.inputs[1].sharding, (Sharding{{0, -1}, {}}));
  ASSERT_EQ(made->plan.outputs.size(), 2U);
  EXPECT_FALSE(made->plan.outputs[0].is_exact);
  EXPECT_EQ(made->plan.outputs[1].name, "o1");
  EXPECT_TRUE(made->plan.outputs[1].is_exact);
  ASSERT_EQ(made->plan.communication.size(), 1U);
  const std::string second = PrintModule(*made->modules[1]);
  EXPECT_THAT(second,
              HasSubstr("%x : f32[4, 4],\n  %w : f32[4, 2],\n  %d : f32[2] {data = [3.0, 4.0]}"));
  EXPECT_THAT(second, HasSubstr("spmd.all_reduce.default(%y, \"sum\", [0, 1]) : f32[4, 2]"));
  EXPECT_EQ(second.find("2[0"), std::string::npos) << "no annotation is left:\n" << second;
}

TEST(RankProgramsTest, RefusesGraphsThatWereNotPropagated) {
  const auto refuses = [](absl::string_view body, absl::string_view why) {
    const ParsedModule module = Parse(
        absl::StrCat("attribute w : f32[4, 4]\ngraph @forward(%x : f32[4, 4]) {\n", body, "\n}\n"));
    EXPECT_THAT(
        MakeRankPrograms(*module, {{"a", *ParseMesh("2{0,1}")}, {"b", *ParseMesh("2{2,3}")}}),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(std::string(why))));
  };
  refuses("%w = get_attr w return (%w,)", "reads an attribute: lift-attributes first");
  // A reshard and the value that it takes have to say their mesh, if it is not the first one.
  refuses(
      "%y = aten.neg.default(%x) : f32[4, 4] as \"2{0, 1}[-1, -1]\"\n"
      "%z = spmd.reshard(%y, \"2{2, 3}[-1, -1]\") : f32[4, 4]\n"
      "return (%z,)",
      "spmd.reshard (node z): leaves out a rank");
  refuses(
      "%y = aten.neg.default(%x) : f32[4, 4]\n"
      "%z = spmd.reshard(%y, \"2{2, 3}[0, -1]\") : f32[4, 4] as \"2{2, 3}[0, -1]\"\n"
      "return (%z,)",
      "spmd.reshard (node z): leaves out a rank");
}

TEST(JoinRanksTest, RefusesInvalidPrograms) {
  const auto refuses = [](absl::string_view first, absl::string_view second,
                          const std::string& why) {
    const auto graph = [](absl::string_view body) {
      return absl::StrCat("graph @forward(%x : f32[4]) {\n  ", body, "\n}\n");
    };
    const ParsedModule a = Parse(graph(first));
    const ParsedModule b = Parse(graph(second));
    EXPECT_THAT(JoinRanks({&*a, &*b}, Mesh::Of({2})),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(why)));
  };
  const std::string gather = "%y = spmd.all_gather.default(%x, 0, [0, 1]) return (%y,)";
  refuses(gather, "return (%x,)", "ranks wait for each other: rank 0 at y, rank 1 at its end");
  refuses(gather, absl::StrReplaceAll(gather, {{"%x, 0", "%x, 1"}}), "rank 0 at y, rank 1 at y");
  refuses(gather, absl::StrReplaceAll(gather, {{"[0, 1]", "[0]"}}), "rank 1 is not in its group");
  refuses(absl::StrReplaceAll(gather, {{"[0, 1]", "[0, 2]"}}), gather,
          "its group has rank 2, which is not in the mesh");
  refuses(absl::StrReplaceAll(gather, {{"%x, 0", "%x, %x"}}), gather, "expected a dimension");
  refuses(absl::StrReplaceAll(gather, {{"%x, 0, ", "%x, "}}), gather, "a value and 2 constants");
  refuses(absl::StrReplaceAll(gather, {{"gather", "hail"}}), gather, "not a call of ranks");
  refuses("%y = spmd.all_reduce.default(%x, \"mul\", [0, 1]) return (%y,)", gather,
          "unknown reduction");
  Module late;
  Graph* const graph = late.AddGraph("forward");
  Node* const x = graph->Placeholder("x");
  graph->MoveBefore(graph->CallFunction("aten.zeros.default", {Argument::List({2})}), x);
  graph->Output(Argument::Tuple({x}));
  EXPECT_THAT(JoinRanks({&late}, Mesh::Of({1})),
              StatusIs(absl::StatusCode::kInvalidArgument, "x (node x): is an input after calls"));
  const Module empty;
  EXPECT_THAT(JoinRanks({&empty}, Mesh::Of({1})),
              StatusIs(absl::StatusCode::kInvalidArgument, "a program has no graph"));
}

TEST(ShardPlanTest, RefusesInvalidPlans) {
  const std::string good =
      R"({"mesh": [2], "inputs": [{"name": "x", "dtype": "f32", "shape": [4], "sharding": [0]}], )"
      R"("outputs": []})";
  ASSERT_OK(ParsePlan(good, "p"));
  const auto refuses = [&](absl::string_view from, absl::string_view to, const std::string& why) {
    const std::string text = absl::StrReplaceAll(good, {{from, to}});
    ASSERT_NE(text, good);
    EXPECT_THAT(ParsePlan(text, "p"),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(absl::StrCat("p: ", why))));
  };
  refuses("{\"mesh", "[\"mesh", "is not a JSON object");
  refuses("[2]", "[0]", "has a mesh of an invalid shape");
  refuses("[2]", "[65536, 2]", "has a mesh of an invalid shape");
  refuses("[2]", "[]", "has no mesh");
  refuses("[2]", "[2.5]", "the plan: mesh must hold integers only");
  refuses("\"inputs\"", "\"input\"", "has no list inputs");
  refuses("\"x\"", "1", "inputs has a tensor without a name");
  refuses("f32", "f31", "inputs x: unknown dtype");
  refuses("[4]", "[3]", "inputs x: sharding [0]: axis 0 of mesh 2 does not divide dimension 0");
  refuses("[4]", "[4, 0, 4611686018427387904, 4]", "inputs x: invalid shape");
  refuses("[0]", "[4294967296]", "inputs x: sharding [1]: mesh 2 has no axis 1");
}

}  // namespace
}  // namespace graphnet::spmd
