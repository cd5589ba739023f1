// Internal to the text form: prints arguments, metas, expressions and draw specs.
#ifndef GRAPHNET_IR_TEXT_VALUE_PRINTER_H_
#define GRAPHNET_IR_TEXT_VALUE_PRINTER_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/graph.h"
#include "graphnet/ir/tensor_meta.h"

namespace graphnet::text_internal {

class ValuePrinter {
 public:
  explicit ValuePrinter(std::string* out) : out_(*out) {}

  // Cuts longer constants from now on; 0 means no limit.
  void set_limits(size_t max_elements, size_t max_string_bytes) {
    max_elements_ = max_elements;
    max_string_bytes_ = max_string_bytes;
  }
  // Prints numbers instead of names from now on.
  void set_numbered() { numbered_ = true; }
  void NumberGraph(const Graph* graph, size_t number) { graph_numbers_[graph] = number; }
  // Forgets the numbers of nodes that were given before.
  void StartNumbering() { node_numbers_.clear(); }
  void NumberNode(const Node* node) { node_numbers_.try_emplace(node, node_numbers_.size()); }

  void NodeName(const Node* node);     // %x
  void NodeLabel(const Node* node);    // x
  void GraphName(const Graph* graph);  // @body
  void Value(const Argument& argument, int depth = 0);
  // Prints args and kwargs in parentheses.
  void Call(const Node& node);
  void Meta(const ValueMeta* meta, int depth = 0);
  void Tensor(const TensorMeta& meta);
  void Expr(const SymExpr& expr);
  void Draw(const DrawSpec& spec);
  // Prints a string in quotes, cut if it is too long.
  void String(absl::string_view text);

 private:
  void Elements(char open, const Argument& argument, char close, int depth);
  void Dict(absl::Span<const Argument> elements, int depth);
  void Float(double value);
  void DeviceText(Device device);
  void DimText(const Dim& dim);
  // Prints `expr`, in parentheses if it binds less tightly than `binding`, the precedence of the
  // operator around it.
  void ExprAt(const SymExpr* expr, int binding, int depth);

  std::string& out_;
  size_t max_elements_ = 0;
  size_t max_string_bytes_ = 0;
  bool numbered_ = false;
  absl::flat_hash_map<const Node*, size_t> node_numbers_;
  absl::flat_hash_map<const Graph*, size_t> graph_numbers_;
};

}  // namespace graphnet::text_internal

#endif  // GRAPHNET_IR_TEXT_VALUE_PRINTER_H_
