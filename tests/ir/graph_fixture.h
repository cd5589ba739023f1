// A graph to build, which is verified when the test ends.
#ifndef TESTS_IR_GRAPH_FIXTURE_H_
#define TESTS_IR_GRAPH_FIXTURE_H_

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/verifier.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"

namespace graphnet {

class GraphTest : public testing::Test {
 protected:
  void TearDown() override { EXPECT_OK(Verify(module_)); }

  // Returns the names of all nodes in order, and checks that both directions agree.
  std::vector<std::string> Names() {
    std::vector<std::string> names;
    for (const Node* node : graph_->nodes()) names.emplace_back(node->name());
    std::vector<std::string> backwards;
    for (Node* node = graph_->last(); node != nullptr; node = node->prev()) {
      backwards.emplace_back(node->name());
    }
    std::reverse(backwards.begin(), backwards.end());
    EXPECT_EQ(names, backwards);
    EXPECT_EQ(names.size(), graph_->num_nodes());
    return names;
  }
  Node* Make(absl::string_view name) { return graph_->CallFunction("f", {}, {}, name); }

  Module module_;
  Graph* graph_ = module_.AddGraph("forward");
};

// A fixture whose graph needs no output.
class OpenGraphTest : public GraphTest {
 protected:
  void TearDown() override {
    graph_->set_insertion_point(nullptr);
    graph_->Output(Argument::None());
    GraphTest::TearDown();
  }
};

}  // namespace graphnet

#endif  // TESTS_IR_GRAPH_FIXTURE_H_
