// Compares random edits of a graph with a naive model of it: a list of nodes, each with a list of
// operands, from which everything else is computed anew.
#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/text/equality.h"
#include "graphnet/ir/unchecked_builder.h"
#include "graphnet/ir/verifier.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

class RandomEdits {
 public:
  explicit RandomEdits(uint32_t seed) : random_(seed) {
    for (int i = 0; i < 3; ++i) order_.push_back(graph_->Placeholder(absl::StrCat("x", i)));
    order_.push_back(graph_->Output(order_[0]));
    operands_[order_.back()] = {order_[0]};
  }

  void Edit() {
    switch (Random(12)) {
      case 0:
      case 1:
      case 2: return Create();
      case 3: return Erase();
      case 4: return EraseDead();
      case 5: return Move();
      case 6: return ReplaceAll();
      case 7: return ReplaceSome();
      case 8: return SetArguments();
      case 9: return SetOperand();
      case 10: return ReplaceInput();
      default: return Rename();
    }
  }

  void Check() {
    ASSERT_OK(Verify(module_));
    std::vector<Node*> order;
    for (Node* node : graph_->nodes()) order.push_back(node);
    ASSERT_EQ(order, order_);
    std::map<const Node*, std::vector<std::pair<Node*, int>>> uses;
    for (Node* node : order_) {
      ASSERT_EQ(node->operands(), operands_[node]);
      for (size_t i = 0; i < operands_[node].size(); ++i) {
        uses[operands_[node][i]].emplace_back(node, static_cast<int>(i));
      }
    }
    for (size_t i = 0; i < order_.size(); ++i) {
      const Node* node = order_[i];
      std::vector<std::pair<Node*, int>> found;
      for (const Use& use : node->uses()) found.emplace_back(use.user, use.operand);
      std::sort(found.begin(), found.end());
      Node::Users users;  // In the graph's order.
      for (const auto& [user, operand] : uses[node]) {
        if (users.empty() || users.back() != user) users.push_back(user);
      }
      std::sort(uses[node].begin(), uses[node].end());
      ASSERT_EQ(found, uses[node]);
      ASSERT_EQ(node->num_uses(), static_cast<int>(found.size()));
      ASSERT_EQ(node->users(), users);
      ASSERT_EQ(graph_->FindNode(node->name()), node);
      ASSERT_EQ(node->prev(), i > 0 ? order_[i - 1] : nullptr);
      ASSERT_EQ(node->next(), i + 1 < order_.size() ? order_[i + 1] : nullptr);
      const Node* other = order_[Random(order_.size())];
      ASSERT_EQ(node->IsBefore(other), i < Position(other));
    }
  }

  const Module& module() const { return module_; }

 private:
  size_t Random(size_t n) { return random_() % n; }
  size_t Position(const Node* node) const {
    return static_cast<size_t>(std::find(order_.begin(), order_.end(), node) - order_.begin());
  }
  size_t num_placeholders() const { return 3; }
  // Returns any node before position `end` but the output.
  Node* Before(size_t end) { return order_[Random(std::min(end, order_.size() - 1))]; }
  // Returns a call; null if there is none.
  Node* AnyCall() {
    const size_t calls = order_.size() - num_placeholders() - 1;
    return calls == 0 ? nullptr : order_[num_placeholders() + Random(calls)];
  }
  bool IsUsed(const Node* node) const {
    for (const auto& [user, operands] : operands_) {
      if (std::find(operands.begin(), operands.end(), node) != operands.end()) return true;
    }
    return false;
  }

  // Makes a random argument whose nodes lie before `end`, and adds them to `operands`.
  Argument MakeArgument(size_t end, int depth, std::vector<Node*>* operands) {
    switch (Random(depth > 3 ? 6 : 10)) {
      case 0: return static_cast<int>(Random(3));
      case 1: return "text";
      case 2: return Argument();
      case 6:
      case 7: return Argument::List(MakeElements(Random(4), end, depth, operands));
      case 8: return Argument::Tuple(MakeElements(Random(12), end, depth, operands));
      case 9: return Argument::Slice(MakeElements(3, end, depth, operands));
      default: operands->push_back(Before(end)); return operands->back();
    }
  }
  absl::Span<const Argument> MakeElements(size_t n, size_t end, int depth,
                                          std::vector<Node*>* operands) {
    std::vector<Argument> elements;
    for (size_t i = 0; i < n; ++i) elements.push_back(MakeArgument(end, depth + 1, operands));
    storage_.push_back(std::move(elements));
    return storage_.back();
  }
  absl::Span<const KwArg> MakeKeywords(size_t end, std::vector<Node*>* operands) {
    static constexpr const char* kNames[] = {"a", "b", "c", "d"};
    std::vector<KwArg> kwargs;
    for (size_t i = Random(5); i > 0; --i)
      kwargs.push_back({kNames[i - 1], MakeArgument(end, 0, operands)});
    keywords_.push_back(std::move(kwargs));
    return keywords_.back();
  }

  void Create() {
    const size_t at = num_placeholders() + Random(order_.size() - num_placeholders());
    std::vector<Node*> operands;
    const absl::Span<const Argument> args = MakeElements(Random(5), at, 0, &operands);
    const absl::Span<const KwArg> kwargs = MakeKeywords(at, &operands);
    const InsertionGuard guard(graph_, order_[at]);
    Node* node = graph_->CallFunction(absl::StrCat("f", Random(5)), args, kwargs);
    operands_[node] = operands;
    order_.insert(order_.begin() + static_cast<ptrdiff_t>(at), node);
  }

  void Erase() {
    Node* node = AnyCall();
    if (node == nullptr || IsUsed(node)) return;
    graph_->EraseNode(node);
    Forget(node);
  }
  void Forget(Node* node) {
    order_.erase(order_.begin() + static_cast<ptrdiff_t>(Position(node)));
    operands_.erase(node);
  }

  // Erases during iteration. This happens rarely, or nothing would be left.
  void EraseDead() {
    if (Random(8) != 0) return;
    const auto stays = [](const Node& node) { return node.target() == "f0"; };
    if (Random(2) == 0) {
      graph_->EliminateDeadCode([&](const Node& node) { return !stays(node); });
      for (size_t i = order_.size(); i-- > 0;) {
        Node* node = order_[i];
        if (node->is_call() && !stays(*node) && !IsUsed(node)) Forget(node);
      }
    } else {
      for (Node* node : graph_->nodes()) {
        if (node->is_call() && !node->has_uses()) {
          graph_->EraseNode(node);
          Forget(node);
        }
      }
    }
  }

  // Moves a call to any place between its operands and its users.
  void Move() {
    Node* node = AnyCall();
    if (node == nullptr) return;
    size_t low = num_placeholders();
    for (const Node* operand : operands_[node]) low = std::max(low, Position(operand) + 1);
    size_t high = order_.size() - 1;
    for (const auto& [user, operands] : operands_) {
      if (std::find(operands.begin(), operands.end(), node) != operands.end()) {
        high = std::min(high, Position(user));
      }
    }
    Node* before = order_[low + Random(high - low + 1)];
    graph_->MoveBefore(node, before);
    if (before == node) return;
    order_.erase(order_.begin() + static_cast<ptrdiff_t>(Position(node)));
    order_.insert(order_.begin() + static_cast<ptrdiff_t>(Position(before)), node);
  }

  void ReplaceAll() {
    Node* node = Before(order_.size());
    Node* value = Before(Position(node) + 1);
    node->ReplaceAllUsesWith(value);
    for (auto& [user, operands] : operands_)
      std::replace(operands.begin(), operands.end(), node, value);
  }

  void ReplaceSome() {
    Node* node = Before(order_.size());
    Node* value = Before(Position(node) + 1);
    const size_t chance = Random(3);
    std::map<const Node*, bool> chosen;
    for (const Node* user : order_) chosen[user] = Random(3) <= chance;
    node->ReplaceUsesWithIf(value, [&](const Node* user) { return chosen[user]; });
    for (auto& [user, operands] : operands_) {
      if (chosen[user]) std::replace(operands.begin(), operands.end(), node, value);
    }
  }

  void SetArguments() {
    Node* node = AnyCall();
    if (node == nullptr) return;
    // The operands in args and in kwargs.
    std::vector<Node*> of_args;
    std::vector<Node*> of_kwargs;
    const auto gather = [](const Argument& argument, std::vector<Node*>* out) {
      ForEachArgument(argument, [out](const Argument& a) {
        if (a.is_node()) out->push_back(a.node());
      });
    };
    for (const Argument& arg : node->args()) gather(arg, &of_args);
    for (const KwArg& kwarg : node->kwargs()) gather(kwarg.value, &of_kwargs);
    const size_t at = Position(node);
    switch (Random(4)) {
      case 0:
        of_args.clear();
        node->set_args(MakeElements(Random(6), at, 0, &of_args));
        break;
      case 1:
        of_kwargs.clear();
        node->set_kwargs(MakeKeywords(at, &of_kwargs));
        break;
      case 2:  // Its own arguments.
        node->set_args(node->args());
        break;
      default: {  // Those of another node.
        const Node* from = Before(at + 1);
        of_args.clear();
        of_kwargs.clear();
        for (const Argument& arg : from->args()) gather(arg, &of_args);
        for (const KwArg& kwarg : from->kwargs()) gather(kwarg.value, &of_kwargs);
        node->set_args(from->args());
        node->set_kwargs(from->kwargs());
      }
    }
    of_args.insert(of_args.end(), of_kwargs.begin(), of_kwargs.end());
    operands_[node] = of_args;
  }

  void SetOperand() {
    Node* node = order_[num_placeholders() + Random(order_.size() - num_placeholders())];
    if (operands_[node].empty()) return;
    const size_t i = Random(operands_[node].size());
    Node* value = Before(Position(node));
    node->SetOperand(static_cast<int>(i), value);
    operands_[node][i] = value;
  }

  void ReplaceInput() {
    Node* node = order_[num_placeholders() + Random(order_.size() - num_placeholders())];
    if (operands_[node].empty()) return;
    Node* from = operands_[node][Random(operands_[node].size())];
    Node* to = Before(Position(node));
    node->ReplaceInput(from, to);
    std::replace(operands_[node].begin(), operands_[node].end(), from, to);
  }

  void Rename() {
    static constexpr const char* kNames[] = {"a", "a_1", "a_2", "f0", "b.c", "", "7"};
    Node* node = order_[Random(order_.size())];
    if (Random(3) > 0) {
      node->set_name(kNames[Random(std::size(kNames))]);
    } else {
      // Two nodes swap names.
      Node* other = order_[Random(order_.size())];
      const std::string name(node->name());
      const std::string other_name(other->name());
      UncheckedBuilder(graph_).SetName(node, other_name);
      UncheckedBuilder(graph_).SetName(other, name);
      if (node == other) UncheckedBuilder(graph_).SetName(node, name);
    }
  }

  std::mt19937 random_;
  Module module_;
  Graph* graph_ = module_.AddGraph("forward");
  std::vector<Node*> order_;
  std::map<const Node*, std::vector<Node*>> operands_;
  // The memory that the arguments of the current edits view.
  std::deque<std::vector<Argument>> storage_;
  std::deque<std::vector<KwArg>> keywords_;
};

TEST(RandomEditTest, AgreesWithANaiveModel) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    RandomEdits edits(seed);
    for (int batch = 0; batch < 60; ++batch) {
      for (int i = 0; i < 1 + batch; ++i) edits.Edit();
      edits.Check();
      if (testing::Test::HasFatalFailure()) return;
    }
    const auto clone = edits.module().Clone();
    EXPECT_OK(Verify(*clone));
    EXPECT_OK(CheckEqual(edits.module(), *clone, kExact));
  }
}

}  // namespace
}  // namespace graphnet
