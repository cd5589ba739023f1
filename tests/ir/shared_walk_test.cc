#include "graphnet/ir/shared_walk.h"

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/verifier.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Maps the number of each value to the numbers of its parts.
using Parts = std::map<int, std::vector<int>>;

auto PartsIn(const Parts& parts) {
  return [&parts](int key, auto&& add) -> uint64_t {
    const auto it = parts.find(key);
    if (it == parts.end()) return 1;
    for (const int part : it->second) add(part);
    return 1;
  };
}

TEST(SharedWalkTest, EachValueOnceAndPartsBeforeWholes) {
  const Parts parts = {{0, {1, 2, 1}}, {1, {3, 3}}, {2, {3, 1}}};
  SharedWalk<int> walk;
  std::vector<int> order;
  ASSERT_TRUE(walk.Run(0, PartsIn(parts), [&](int key) { order.push_back(key); }));
  EXPECT_THAT(order, ElementsAre(3, 1, 2, 0));
}

TEST(SharedWalkTest, AnotherRootVisitsOnlyWhatIsNew) {
  const Parts parts = {{0, {1}}, {2, {1, 3}}};
  SharedWalk<int> walk;
  std::vector<int> order;
  const auto leave = [&](int key) { order.push_back(key); };
  ASSERT_TRUE(walk.Run(0, PartsIn(parts), leave));
  ASSERT_TRUE(walk.Run(2, PartsIn(parts), leave));
  ASSERT_TRUE(walk.Run(2, PartsIn(parts), leave));
  EXPECT_THAT(order, ElementsAre(1, 0, 3, 2));
}

TEST(SharedWalkTest, FindsAValueThatHoldsItself) {
  for (const Parts& parts :
       {Parts{{0, {0}}}, Parts{{0, {1}}, {1, {2}}, {2, {3, 1}}}, Parts{{0, {1, 2}}, {2, {0}}}}) {
    SharedWalk<int> walk;
    EXPECT_FALSE(walk.Run(0, PartsIn(parts), [](int) {}));
    Expansions<int> expansions;
    EXPECT_EQ(expansions.Of(0, PartsIn(parts)), std::nullopt);
  }
}

TEST(SharedWalkTest, AChainIsNoRecursion) {
  Parts parts;
  constexpr int kLength = 1'000'000;
  for (int i = 0; i < kLength; ++i) parts[i] = {i + 1};
  Expansions<int> expansions;
  const auto all = expansions.Of(0, PartsIn(parts));
  ASSERT_TRUE(all.has_value());
  EXPECT_EQ(all->size, kLength + 1u);
  EXPECT_EQ(all->height, kLength);
}

TEST(SharedWalkTest, ExpansionsCountWhatIsSharedEachTime) {
  Parts parts;
  for (int i = 0; i < 100; ++i) parts[i] = {i + 1, i + 1};
  Expansions<int> expansions;
  EXPECT_EQ(expansions.Of(100, PartsIn(parts))->size, 1u);
  EXPECT_EQ(expansions.Of(97, PartsIn(parts))->size, 15u);
  EXPECT_EQ(expansions.Of(60, PartsIn(parts))->size, (uint64_t{1} << 41) - 1);
  // The size is too large to count.
  EXPECT_EQ(expansions.Of(0, PartsIn(parts))->size, kMaxExpansion);
  EXPECT_EQ(expansions.Of(0, PartsIn(parts))->height, 100);
}

TEST(SharedWalkTest, ABudgetChargesNothingThatItCannotPay) {
  Budget budget(10);
  EXPECT_TRUE(budget.Charge(4));
  EXPECT_FALSE(budget.Charge(7));
  EXPECT_EQ(budget.left(), 6u);
  EXPECT_TRUE(budget.Charge(6));
  EXPECT_FALSE(budget.Charge(1));
  EXPECT_TRUE(budget.Charge(0));
}

// Returns a list of two equal lists, and so on, `times` levels deep. It lives as long as `storage`.
Argument Doubled(Argument innermost, int times, std::vector<std::vector<Argument>>* storage) {
  storage->reserve(storage->size() + static_cast<size_t>(times));
  for (int i = 0; i < times; ++i) {
    storage->push_back({innermost, innermost});
    innermost = Argument::List(storage->back());
  }
  return innermost;
}

TEST(SharedWalkTest, SharedListsAreCopiedOnceAndComparedOnce) {
  std::vector<std::vector<Argument>> storage, other_storage;
  const Argument list = Doubled(1, 60, &storage), other = Doubled(1, 60, &other_storage);
  EXPECT_TRUE(list == other);
  other_storage[0][0] = 2;
  EXPECT_FALSE(list == other);
  Module module, another;
  const Argument copy = module.CopyArgument(list);
  EXPECT_TRUE(copy == list);
  // Shared lists stay shared, and are found again.
  EXPECT_EQ(copy.elements()[0].elements().data(), copy.elements()[1].elements().data());
  EXPECT_EQ(module.CopyArgument(list).elements().data(), copy.elements().data());
  EXPECT_EQ(module.CopyArgument(copy).elements().data(), copy.elements().data());
  EXPECT_TRUE(another.CopyArgument(copy) == list);
  EXPECT_LT(module.MemoryBytes(), 100'000u);
}

TEST(SharedWalkTest, ListsOfNodesAreWrittenOut) {
  Module module;
  Graph* const graph = module.AddGraph("forward");
  Node* const x = graph->Placeholder("x");
  std::vector<std::vector<Argument>> storage, constants;
  const Argument nodes = Doubled(x, 6, &storage), numbers = Doubled(1, 6, &constants);
  Node* const call = graph->CallFunction("f", {Argument::Tuple({nodes, numbers})});
  graph->Output(call);
  EXPECT_EQ(x->num_uses(), 64);
  EXPECT_OK(Verify(module));
  const Argument& held = call->args()[0];
  EXPECT_TRUE(held == Argument::Tuple({nodes, numbers}));
  EXPECT_NE(held.elements()[0].elements()[0].elements().data(),
            held.elements()[0].elements()[1].elements().data());
  EXPECT_EQ(held.elements()[1].elements()[0].elements().data(),
            held.elements()[1].elements()[1].elements().data());
}

// Returns n + n + …, with 2^times symbols.
const SymExpr* DoubledSize(Module* module, int times) {
  const SymExpr* size = module->SymSymbol("n");
  for (int i = 0; i < times; ++i) size = module->SymBinary(SymExpr::Kind::kAdd, size, size);
  return size;
}

TEST(SharedWalkTest, SharedSizesAreEvaluatedComparedAndCopiedOnce) {
  Module module, other;
  module.AddSymbol("n", 3);
  const SymExpr* const size = DoubledSize(&module, 40);
  EXPECT_EQ(EvaluateWithExamples(module, *size), int64_t{3} << 40);
  EXPECT_EQ(EvaluateWithExamples(module, *DoubledSize(&module, 70)), std::nullopt);
  EXPECT_TRUE(*size == *DoubledSize(&other, 40));
  EXPECT_FALSE(*size == *DoubledSize(&other, 41));
  Module third;
  EXPECT_TRUE(*third.CopySym(size) == *size);
  EXPECT_EQ(third.CopySym(size), DoubledSize(&third, 40));
  TensorMeta meta{.has_shape = true};
  const Dim dims[] = {Dim(size)};
  meta.shape = dims;
  EXPECT_EQ(third.InternMeta(meta), third.InternMeta(meta));
}

TEST(SharedWalkTest, DeepSizesAreNoRecursion) {
  Module module, other;
  module.AddSymbol("n", 0);
  const SymExpr* size = module.SymSymbol("n");
  for (int i = 0; i < 100'000; ++i)
    size = module.SymBinary(SymExpr::Kind::kAdd, module.SymInt(1), size);
  EXPECT_EQ(EvaluateWithExamples(module, *size), 100'000);
  EXPECT_TRUE(*other.CopySym(size) == *size);
}

TEST(SharedWalkTest, TheVerifierRefusesWhatNoConsumerCanHold) {
  {
    Module module;
    module.AddSymbol("n", 3);
    Graph* const graph = module.AddGraph("forward");
    Node* const call = graph->CallFunction("f", {DoubledSize(&module, 19)});
    graph->Output(call);
    EXPECT_OK(Verify(module));
    call->set_arg(0, DoubledSize(&module, 20));
    EXPECT_THAT(Verify(module), StatusIs(absl::StatusCode::kFailedPrecondition,
                                         AllOf(HasSubstr("invariant 15"), HasSubstr("node f"))));
  }
  Module module;
  Graph* const graph = module.AddGraph("forward");
  std::vector<std::vector<Argument>> storage;
  // The arguments have no uses to register, like those that readers make.
  const Argument shared = module.CopyArgument(Doubled(1, 20, &storage));
  Node* const call = graph->CallFunction("f", {shared});
  graph->Output(call);
  EXPECT_OK(Verify(module));
  std::vector<Argument> many(64, shared);
  call->set_arg(0, Argument::List(many));
  EXPECT_THAT(Verify(module), StatusIs(absl::StatusCode::kFailedPrecondition,
                                       AllOf(HasSubstr("invariant 15"), HasSubstr("node f"))));
}

TEST(SharedWalkTest, BodiesCountWhereverTheyAreReferredTo) {
  Module module;
  std::vector<Graph*> graphs;
  for (int i = 0; i < 31; ++i) graphs.push_back(module.AddGraph(absl::StrCat("g", i)));
  for (size_t i = 0; i < graphs.size(); ++i) {
    Node* value = graphs[i]->Placeholder("x");
    if (i + 1 < graphs.size())
      value = graphs[i]->CallFunction("torch.cond", {value, graphs[i + 1], graphs[i + 1], value});
    graphs[i]->Output(value);
  }
  ASSERT_OK(Verify(module));
  Expansions<const Graph*> expansions;
  // The last graph has two nodes, each other graph three, and graph i counts 2^i times.
  EXPECT_EQ(expansions.Of(graphs[0], BodyParts())->size,
            3 * ((uint64_t{1} << 30) - 1) + 2 * (uint64_t{1} << 30));
  EXPECT_EQ(expansions.Of(graphs[0], BodyParts())->height, 30);
}

}  // namespace
}  // namespace graphnet
