// Changes real graphs at random, and checks that the diff names exactly the change.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graphnet/formats/protobuf/sample_proto.h"
#include "graphnet/identity/diff.h"
#include "graphnet/identity/normal_form.h"
#include "graphnet/ir/canonical_hash.h"
#include "graphnet/ir/verifier.h"

namespace graphnet {
namespace {

constexpr const char* kSamples[] = {"bert", "detector", "gpt", "resnet", "unet", "vit"};
constexpr unsigned kSeeds = 40;

std::unique_ptr<Module> Load(const std::string& name) {
  auto sample = ReadSampleFile("samples/" + name + ".pb", /*with_weights=*/false);
  EXPECT_TRUE(sample.ok()) << sample.status();
  return std::move(sample->module);
}

std::vector<Node*> Calls(const Module& module) {
  std::vector<Node*> calls;
  for (Node* node : module.main()->nodes()) {
    if (node->is_call()) calls.push_back(node);
  }
  return calls;
}

// The same graph with other names, its nodes in a random order that keeps operands first.
std::unique_ptr<Module> Shuffled(const Module& module, std::mt19937* random) {
  auto made = std::make_unique<Module>();
  for (const Attribute& attribute : module.attributes()) made->AddAttribute(attribute);
  Graph* graph = made->AddGraph("shuffled");
  absl::flat_hash_map<const Node*, Node*> copies;
  absl::flat_hash_map<const Node*, size_t> waiting;
  std::vector<Node*> ready;
  for (Node* node : module.main()->nodes()) {
    if (node->is_placeholder()) {
      copies[node] = graph->CopyNodeFrom(*node, [](Node* n) { return n; });
      continue;
    }
    size_t count = 0;
    node->ForEachOperand([&](const Node* operand) { count += operand->is_placeholder() ? 0 : 1; });
    waiting[node] = count;
    if (count == 0 && !node->is_output()) ready.push_back(node);
  }
  size_t number = 0;
  while (!ready.empty()) {
    std::swap(ready[(*random)() % ready.size()], ready.back());
    Node* node = ready.back();
    ready.pop_back();
    Node* copy = graph->CopyNodeFrom(*node, [&](Node* n) { return copies.at(n); });
    copy->set_name("v" + std::to_string(number++));
    copies[node] = copy;
    for (const Use& use : node->uses()) {
      if (--waiting[use.user] == 0 && !use.user->is_output()) ready.push_back(use.user);
    }
  }
  graph->CopyNodeFrom(*module.main()->output(), [&](Node* n) { return copies.at(n); });
  EXPECT_TRUE(Verify(*made).ok());
  return made;
}

TEST(DiffSamplesTest, NothingIsEqualToItself) {
  for (const char* name : kSamples) {
    const auto a = Load(name), b = Load(name);
    EXPECT_EQ(PrintDiff(DiffModules(*a, *b)), "") << name;
  }
}

TEST(DiffSamplesTest, OrderAndNamesAreNoDifference) {
  for (const char* name : kSamples) {
    const auto a = Load(name);
    if (a->graphs().size() > 1) continue;
    const auto normal = NormalForm(*a);
    ASSERT_TRUE(normal.ok()) << normal.status();
    for (unsigned seed = 0; seed < 5; ++seed) {
      std::mt19937 random(seed);
      const auto b = Shuffled(**normal, &random);
      EXPECT_EQ(PrintDiff(DiffModules(**normal, *b)), "") << name << " " << seed;
      const auto again = NormalForm(*b);
      ASSERT_TRUE(again.ok()) << again.status();
      EXPECT_EQ(CanonicalHash(**normal), CanonicalHash(**again)) << name << " " << seed;
    }
  }
}

TEST(DiffSamplesTest, ARemovedNodeIsNamed) {
  size_t exact = 0, all = 0;
  for (const char* name : kSamples) {
    const auto a = Load(name);
    for (unsigned seed = 0; seed < kSeeds; ++seed) {
      std::mt19937 random(seed);
      const auto b = Load(name);
      const std::vector<Node*> calls = Calls(*b);
      Node* node = calls[random() % calls.size()];
      // Other nodes must use its operands too, so that only this node dies.
      const std::vector<Node*> operands = node->operands();
      const bool is_last = std::any_of(operands.begin(), operands.end(), [&](const Node* operand) {
        return operand->users().size() == 1 && operand != operands[0];
      });
      if (operands.empty() || is_last || !node->has_uses()) continue;
      const std::string removed(node->name());
      const std::string target(node->target());
      node->ReplaceAllUsesWith(operands[0]);
      b->main()->EraseNode(node);
      ++all;
      const GraphDiff diff = DiffModules(*a, *b);
      ASSERT_EQ(diff.differences.size(), 1u) << name << " " << removed << "\n" << PrintDiff(diff);
      const Difference& found = diff.differences[0];
      EXPECT_EQ(found.kind, Difference::Kind::kRemoved);
      // If two equal calls follow each other, the diff may name either.
      EXPECT_EQ(found.a->target(), target);
      exact += found.a->name() == removed ? 1 : 0;
    }
  }
  EXPECT_GT(all, 30u);
  EXPECT_GE(exact * 20, all * 19);
}

TEST(DiffSamplesTest, AChangedConstantIsNamed) {
  size_t all = 0;
  for (const char* name : kSamples) {
    const auto a = Load(name);
    for (unsigned seed = 0; seed < kSeeds; ++seed) {
      std::mt19937 random(seed);
      const auto b = Load(name);
      std::vector<std::pair<Node*, size_t>> places;
      for (Node* node : Calls(*b)) {
        for (size_t i = 0; i < node->args().size(); ++i) {
          if (node->args()[i].is_int() || node->args()[i].is_float()) places.push_back({node, i});
        }
      }
      ASSERT_FALSE(places.empty());
      const auto [node, i] = places[random() % places.size()];
      const Argument before = node->args()[i];
      node->set_arg(
          i, before.is_int() ? Argument(before.integer() + 77) : Argument(before.real() * 2 + 1));
      ++all;
      const GraphDiff diff = DiffModules(*a, *b);
      ASSERT_EQ(diff.differences.size(), 1u) << name << " " << node->name() << "\n"
                                             << PrintDiff(diff);
      EXPECT_EQ(diff.differences[0].kind, Difference::Kind::kChanged);
      EXPECT_EQ(diff.differences[0].b, node);
      ASSERT_EQ(diff.differences[0].what.size(), 1u);
      EXPECT_NE(diff.differences[0].what[0].find("argument " + std::to_string(i)),
                std::string::npos);
    }
  }
  EXPECT_EQ(all, std::size(kSamples) * kSeeds);
}

TEST(DiffSamplesTest, AnAddedNodeIsNamed) {
  for (const char* name : kSamples) {
    const auto a = Load(name);
    for (unsigned seed = 0; seed < kSeeds; ++seed) {
      std::mt19937 random(seed);
      const auto b = Load(name);
      const std::vector<Node*> calls = Calls(*b);
      Node* node = calls[random() % calls.size()];
      const InsertionGuard guard(b->main(), node->next());
      Node* added = b->main()->CallFunction("aten.lgamma.default", {node});
      node->ReplaceUsesWithIf(added, [&](const Node* user) { return user != added; });
      const GraphDiff diff = DiffModules(*a, *b);
      ASSERT_EQ(diff.differences.size(), 1u) << name << "\n" << PrintDiff(diff);
      EXPECT_EQ(diff.differences[0].kind, Difference::Kind::kAdded);
      EXPECT_EQ(diff.differences[0].b, added);
    }
  }
}

TEST(DiffSamplesTest, LargeGraphsTakeAboutASecond) {
  const auto chain = [](size_t blocks, bool with_change) {
    auto module = std::make_unique<Module>();
    Graph* graph = module->AddGraph("forward");
    Node* x = graph->Placeholder("x");
    for (size_t i = 0; i < blocks; ++i) {
      const std::string weight = "w" + std::to_string(i);
      module->AddAttribute({.name = weight});
      Node* w = graph->GetAttr(weight);
      Node* y = graph->CallFunction("aten.linear.default", {x, w});
      if (!with_change || i != blocks / 2) y = graph->CallFunction("aten.relu.default", {y});
      x = graph->CallFunction("aten.add.Tensor", {x, y});
    }
    graph->Output(Argument::Tuple({x}));
    return module;
  };
  const auto a = chain(25'000, false), b = chain(25'000, true);
  const GraphDiff diff = DiffModules(*a, *b);
  EXPECT_EQ(diff.differences.size(), 1u);
  EXPECT_EQ(diff.Count(Difference::Kind::kRemoved), 1u);
}

TEST(DiffSamplesTest, SoDoLargeGraphsThatHaveLittleInCommon) {
  const auto random_graph = [](unsigned seed) {
    std::mt19937 random(seed);
    auto module = std::make_unique<Module>();
    Graph* graph = module->AddGraph("forward");
    std::vector<Node*> values = {graph->Placeholder("x")};
    for (size_t i = 0; i < 20'000; ++i) {
      Node* a = values[values.size() - 1 - random() % std::min<size_t>(values.size(), 8)];
      Node* b = values[values.size() - 1 - random() % std::min<size_t>(values.size(), 8)];
      static constexpr const char* kTargets[] = {"aten.add.Tensor", "aten.sub.Tensor",
                                                 "aten.mul.Tensor"};
      values.push_back(graph->CallFunction(kTargets[random() % 3], {a, b}));
    }
    graph->Output(Argument::Tuple({values.back()}));
    return module;
  };
  const auto a = random_graph(1), b = random_graph(2);
  EXPECT_FALSE(DiffModules(*a, *b).empty());
}

}  // namespace
}  // namespace graphnet
