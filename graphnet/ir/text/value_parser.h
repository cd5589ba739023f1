// Internal to the text form: reads arguments, metas, expressions and draw specs. Like those of the
// scanner, its readers return false once something failed.
#ifndef GRAPHNET_IR_TEXT_VALUE_PARSER_H_
#define GRAPHNET_IR_TEXT_VALUE_PARSER_H_

#include <cstddef>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/ir/argument.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/tensor_meta.h"
#include "graphnet/ir/text/expression_parser.h"
#include "graphnet/ir/text/scanner.h"
#include "graphnet/ir/text/scratch.h"

namespace graphnet::text_internal {

class ValueParser {
 public:
  ValueParser(Scanner* scanner, Scratch* scratch, Module* module)
      : in_(*scanner), scratch_(*scratch), module_(*module), expressions_(scanner, module) {}

  // Names of nodes refer to nodes of this graph from now on.
  void StartGraph(Graph* graph);
  // Reserves a name for a node. The caller puts the node in **slot before it reserves another name;
  // until then, values may not refer to it. Returns false if the name is taken.
  bool ReserveNode(absl::string_view name, Node*** slot);
  absl::flat_hash_map<absl::string_view, Graph*>& graphs() { return graphs_; }

  // Reads an argument, which lives until the scratch memory is reset.
  bool ParseValue(Argument* out) { return ParseValue(0, out); }
  // Reads args and kwargs in parentheses into args() and kwargs().
  bool ParseCall();
  // Reads one value without parentheses into args().
  bool ParseSingleArg();
  absl::Span<const Argument> args() const { return args_; }
  absl::Span<const KwArg> kwargs() const { return kwargs_; }

  // True if a value names a graph that is not defined yet, which is legal. None is read in its
  // place. Once all graphs are known, the arguments are read again (Reread), with the nodes that
  // the first reading found.
  bool found_unknown_graph() const { return found_unknown_graph_; }
  void forget_unknown_graph() { found_unknown_graph_ = false; }
  void Reread(const Node& node);

  // Reads a meta, which belongs to the module. "_" means that nothing is known of the value.
  bool ParseMeta(const ValueMeta** out) { return ParseMeta(0, out); }
  // Reads the meta of a tensor. Its shape lives until the next meta is read.
  bool ParseTensorMeta(TensorMeta* out);
  bool ParseDrawSpec(DrawSpec* out);
  bool ParseRelation(const SymExpr** out) { return expressions_.ParseComparison(out); }

 private:
  static constexpr size_t kRecentNodes = 1024;
  static constexpr size_t kRecentMetas = 64;
  struct RecentMeta {
    absl::string_view text;
    const ValueMeta* meta = nullptr;
  };
  // Returns the slot of `text` in a small table. Names of one graph mostly differ at their ends,
  // metas in the middle.
  static size_t RecentSlot(absl::string_view text, size_t slots) {
    size_t slot = text.size();
    for (size_t i = text.size() > 4 ? text.size() - 4 : 0; i < text.size(); ++i) {
      slot = slot * 11 + static_cast<unsigned char>(text[i]);
    }
    for (size_t i = text.size() / 2; i < text.size() && i < text.size() / 2 + 3; ++i) {
      slot = slot * 7 + static_cast<unsigned char>(text[i]);
    }
    return slot % slots;
  }

  bool ParseValue(int depth, Argument* out);
  bool ParseWordValue(int depth, Argument* out);
  bool ParseTorchValue(absl::string_view word, Argument* out);
  bool ParseComplex(Argument* out);
  bool ParseDeviceValue(Argument* out);
  bool ParseNodeRef(Argument* out);
  bool ParseGraphRef(Argument* out);
  // Reads elements up to `close`, which is consumed.
  bool ParseElements(char close, int depth, absl::Span<const Argument>* out);
  bool ParseTuple(int depth, Argument* out);
  bool ParseDict(int depth, Argument* out);
  // Moves the values above `base` from the stack into scratch memory.
  absl::Span<const Argument> TakeFrom(size_t base);
  // Reads the name of a keyword argument and its '=' if they come next.
  bool TryKeyword(absl::string_view* out);
  bool AddKeyword(absl::string_view name, const char* where);

  bool ParseMeta(int depth, const ValueMeta** out);
  bool ParseTensorValueMeta(const ValueMeta** out);
  bool ParseDim(Dim* out);
  bool ParseDevice(Device* out);
  bool ParseNumberList(Argument* out);

  bool FailTooDeep(const char* where);

  Scanner& in_;
  Scratch& scratch_;
  Module& module_;
  Graph* graph_ = nullptr;
  // The nodes by name; null for the node that is being defined.
  absl::flat_hash_map<absl::string_view, Node*> nodes_;
  // Some nodes of this graph and of earlier ones, by RecentSlot.
  Node* recent_nodes_[kRecentNodes] = {};
  RecentMeta recent_metas_[kRecentMetas];
  absl::flat_hash_map<absl::string_view, Graph*> graphs_;
  ExpressionParser expressions_;

  std::vector<Argument> stack_;  // Elements of the aggregates that are being read.
  std::vector<Argument> args_;
  std::vector<KwArg> kwargs_;
  absl::flat_hash_set<absl::string_view> keywords_;  // The keywords of kwargs_ if they are many.
  std::vector<Dim> dims_;
  std::vector<const ValueMeta*> metas_;  // Elements of the tuples that are being read.
  const ValueMeta* unknown_ = nullptr;   // The meta for "_".

  bool found_unknown_graph_ = false;
  bool rereading_ = false;
  std::vector<Node*> operands_;  // The operands of the node that is read again.
  size_t next_operand_ = 0;
};

}  // namespace graphnet::text_internal

#endif  // GRAPHNET_IR_TEXT_VALUE_PARSER_H_
