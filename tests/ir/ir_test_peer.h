// Access to the internals of the IR, for tests that break invariants which its public functions
// preserve.
#ifndef TESTS_IR_IR_TEST_PEER_H_
#define TESTS_IR_IR_TEST_PEER_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "graphnet/ir/module.h"

namespace graphnet {

class IrTestPeer {
 public:
  static Node*& next(Node* node) { return node->next_; }
  static Node*& prev(Node* node) { return node->prev_; }
  static uint64_t& order(Node* node) { return node->order_; }
  static uint64_t order(const Node* node) { return node->order_; }
  static void set_erased(Node* node, bool erased) { node->erased_ = erased; }
  static Graph*& graph(Node* node) { return node->graph_; }
  static uint32_t& num_uses(Node* node) { return node->num_uses_; }
  // The user in the i-th use of `node`.
  static Node*& user(Node* node, int i) { return node->use_array()[i].user; }
  static void set_op(Node* node, Op op) { node->op_ = op; }

  static Argument* arg(Node* node, int i) { return &node->args_[i]; }
  // Makes `argument` refer to `node` without adding a use to it.
  static void set_node(Argument* argument, Node* node) {
    argument->kind_ = Argument::Kind::kNode;
    argument->u_.node = node;
  }
  static void set_graph(Argument* argument, Graph* graph) {
    argument->kind_ = Argument::Kind::kGraph;
    argument->u_.graph = graph;
  }
  static uint32_t& position(Argument* argument) { return argument->size_; }

  static size_t& num_nodes(Graph* graph) { return graph->num_nodes_; }
  static Node*& last(Graph* graph) { return graph->last_; }
  static void set_name(Graph* graph, absl::string_view name) { graph->name_ = name; }
};

}  // namespace graphnet

#endif  // TESTS_IR_IR_TEST_PEER_H_
