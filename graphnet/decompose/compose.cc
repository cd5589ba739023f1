#include "graphnet/decompose/compose.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/decompose/ports.h"
#include "graphnet/decompose/tables.h"
#include "graphnet/ir/graph.h"
#include "graphnet/ir/graph_copier.h"
#include "graphnet/ir/text/equality.h"

namespace graphnet {
namespace {

class Composer {
 public:
  Composer(absl::Span<const Sample> pieces, bool by_name) : pieces_(pieces), by_name_(by_name) {}

  absl::StatusOr<std::unique_ptr<Module>> Run(const Module* order_like) {
    module_ = std::make_unique<Module>();
    graph_ = module_->AddGraph(pieces_[0].module->main()->name());
    AddInputs(order_like == nullptr ? nullptr : order_like->main());
    for (size_t i = 0; i < pieces_.size(); ++i) RETURN_IF_ERROR(Append(i));
    std::vector<const Module*> modules;
    for (const Sample& piece : pieces_) modules.push_back(piece.module.get());
    RETURN_IF_ERROR(MergeTables(modules, order_like, module_.get()));
    if (order_like != nullptr) OrderReads(*order_like->main());
    return std::move(module_);
  }

 private:
  absl::Status Append(size_t i) {
    const Graph& piece = *pieces_[i].module->main();
    RETURN_IF_ERROR(Connect(i, piece));
    shared_.clear();
    GraphCopier copier(module_.get(), [this](Graph* body) { return FindBody(body); });
    for (Node* node : piece.nodes()) {
      if (node->is_placeholder()) continue;  // Connect() has mapped it.
      if (node->is_output() && i + 1 < pieces_.size()) continue;
      if (node->op() == Op::kGetAttr) {
        // Each piece that uses an attribute has a get_attr of it; the whole has only one.
        const auto read = reads_.find(node->name());
        if (read != reads_.end() && read->second->target() == node->target()) {
          map_[node] = read->second;
          continue;
        }
      }
      map_[node] = graph_->CopyNodeFrom(
          *node, [this](Node* operand) { return map_.at(operand); },
          [&](Graph* body) { return copier.CopyOf(body); });
      if (node->op() == Op::kGetAttr) reads_.try_emplace(node->name(), map_[node]);
    }
    copier.Finish();
    for (const auto& [body, copy] : copier.copied()) bodies_[std::string(body->name())] = copy;
    RETURN_IF_ERROR(CheckShared(i));
    return i + 1 < pieces_.size() ? Return(i, piece) : absl::OkStatus();
  }

  // Moves the get_attrs to their places in `like`, as long as the other nodes have the same names.
  void OrderReads(const Graph& like) {
    if (reads_.empty()) return;
    const auto skip_reads = [](Node* node) {
      while (node != nullptr && node->op() == Op::kGetAttr) node = node->next();
      return node;
    };
    Node* next = skip_reads(graph_->first());
    std::vector<Node*> reads;  // to be put before the next node
    absl::flat_hash_set<const Node*> behind;
    for (const Node* node : like.nodes()) {
      if (node->op() == Op::kGetAttr) {
        Node* const read = graph_->FindNode(node->name());
        if (read != nullptr && read->op() == Op::kGetAttr) reads.push_back(read);
        continue;
      }
      if (next == nullptr || next->name() != node->name()) return;
      for (Node* const read : reads) {
        if (absl::c_none_of(read->users(), [&](const Node* n) { return behind.contains(n); }))
          graph_->MoveBefore(read, next);
      }
      reads.clear();
      behind.insert(next);
      next = skip_reads(next->next());
    }
  }

  // Adds the inputs of the whole: values that a piece takes and no earlier piece returns, and
  // unused inputs of `like`.
  void AddInputs(const Graph* like) {
    std::vector<const Node*> inputs;
    // The value is null for names that a piece returns before any piece takes them.
    absl::flat_hash_map<absl::string_view, const Node*> by_name;
    for (const Sample& piece : by_name_ ? pieces_ : pieces_.first(1)) {
      for (const Node* node : piece.module->main()->nodes()) {
        if (!node->is_placeholder()) break;
        if (by_name.try_emplace(node->name(), node).second) inputs.push_back(node);
      }
      if (!by_name_) break;
      piece.module->main()->output()->ForEachOperand(
          [&](const Node* n) { by_name.try_emplace(n->name(), nullptr); });
    }
    const auto is_of_like = [&](const Node* node) {
      const Node* other = like->FindNode(node->name());
      return other != nullptr && other->is_placeholder();
    };
    if (like != nullptr && (by_name_ || inputs.size() < like->placeholders().size() ||
                            std::all_of(inputs.begin(), inputs.end(), is_of_like))) {
      std::vector<const Node*> ordered;
      absl::flat_hash_set<const Node*> taken;
      for (const Node* node : like->nodes()) {
        if (!node->is_placeholder()) break;
        const auto it = by_name.find(node->name());
        if (it != by_name.end() && it->second != nullptr) {
          ordered.push_back(it->second);
          taken.insert(it->second);
        } else if (!node->has_uses()) {
          ordered.push_back(node);
        }
      }
      // Inputs that `like` does not have go last in a chain; by name, Connect() refuses them.
      for (const Node* node : inputs) {
        if (!by_name_ && !taken.contains(node)) ordered.push_back(node);
      }
      inputs = std::move(ordered);
    }
    for (const Node* node : inputs) {
      values_[node->name()] = graph_->CopyNodeFrom(*node, [](Node* operand) { return operand; });
    }
  }

  // Maps the placeholders of piece i to nodes of the whole.
  absl::Status Connect(size_t i, const Graph& piece) {
    map_.clear();
    const std::vector<Node*> inputs = piece.placeholders();
    if (by_name_ || i == 0) {
      for (Node* input : inputs) {
        const auto it = values_.find(input->name());
        if (it == values_.end()) {
          return absl::FailedPreconditionError(
              absl::StrCat("piece ", i, " takes %", Printable(input->name()),
                           ", which is neither an input nor returned by an earlier piece"));
        }
        map_[input] = it->second;
        if (const auto from = givers_.find(input->name()); from != givers_.end())
          RETURN_IF_ERROR(CheckPort(i, *input, from->second.first, *from->second.second));
      }
      return absl::OkStatus();
    }
    if (inputs.size() != returned_.size()) {
      return absl::FailedPreconditionError(absl::StrCat("piece ", i, " takes ", inputs.size(),
                                                        " values, piece ", i - 1, " returns ",
                                                        returned_.size()));
    }
    for (size_t k = 0; k < inputs.size(); ++k) {
      map_[inputs[k]] = returned_[k];
      RETURN_IF_ERROR(CheckPort(i, *inputs[k], i - 1, *returned_as_[k]));
    }
    return absl::OkStatus();
  }

  // Refuses a value that is not what the piece takes.
  absl::Status CheckPort(size_t i, const Node& port, size_t giver, const Node& given) {
    if (port.tensor_meta() == nullptr) return absl::OkStatus();
    auto it = facts_.find(giver);
    if (it == facts_.end()) it = facts_.emplace(giver, PieceFacts(*pieces_[giver].module)).first;
    const std::string wrong = PortContradiction(port, it->second.Of(given));
    if (wrong.empty()) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat(
        "piece ", i, " cannot take what piece ", giver, " returns: %", Printable(port.name()),
        ": its ", wrong, " as %", Printable(given.name()), " of piece ", giver));
  }

  absl::Status Return(size_t i, const Graph& piece) {
    returned_.clear();
    returned_as_.clear();
    const Argument& value = piece.output()->args()[0];
    if (!value.is_tuple()) {
      return absl::FailedPreconditionError(absl::StrCat("piece ", i, " does not return a tuple"));
    }
    for (const Argument& element : value.elements()) {
      if (!element.is_node()) {
        return absl::FailedPreconditionError(absl::StrCat(
            "piece ", i, " returns something other than a value at position ", returned_.size()));
      }
      returned_.push_back(map_.at(element.node()));
      returned_as_.push_back(element.node());
      if (!by_name_) continue;
      values_[element.node()->name()] = returned_.back();
      givers_[element.node()->name()] = {i, element.node()};
    }
    return absl::OkStatus();
  }

  // Returns the copy of a body of this name in an earlier piece; nullptr if there is none.
  Graph* FindBody(Graph* body) {
    const auto it = bodies_.find(std::string(body->name()));
    if (it == bodies_.end()) return nullptr;
    shared_.push_back({body, it->second});
    return it->second;
  }

  // Refuses bodies that share a name with another body but differ from it.
  absl::Status CheckShared(size_t i) {
    if (shared_.empty()) return absl::OkStatus();
    Module brought;
    Module present;
    GraphCopier copy_brought(&brought);
    GraphCopier copy_present(&present);
    for (const auto& [body, copy] : shared_) {
      copy_brought.CopyOf(body);
      copy_present.CopyOf(copy);
    }
    copy_brought.Finish();
    copy_present.Finish();
    return Annotate(
        CheckEqual(present, brought, kExact),
        absl::StrCat("piece ", i, " declares a body differently from a piece before it"));
  }

  const absl::Span<const Sample> pieces_;
  const bool by_name_;
  // By name in the pieces, which outlive this object.
  absl::flat_hash_map<absl::string_view, Node*> values_;
  absl::flat_hash_map<absl::string_view, Node*> reads_;  // get_attrs
  std::unique_ptr<Module> module_;
  Graph* graph_ = nullptr;
  absl::flat_hash_map<std::string, Graph*> bodies_;  // in module_, by name in the pieces
  // Facts of the current piece: the copies of its nodes in graph_, and its bodies that an earlier
  // piece has, too.
  absl::flat_hash_map<const Node*, Node*> map_;
  std::vector<std::pair<Graph*, Graph*>> shared_;
  std::vector<Node*> returned_;           // results of the piece before
  std::vector<const Node*> returned_as_;  // its nodes
  // The piece that returns a value of this name last, and its node.
  absl::flat_hash_map<absl::string_view, std::pair<size_t, const Node*>> givers_;
  std::map<size_t, PieceFacts> facts_;  // by piece
};

absl::StatusOr<std::unique_ptr<Module>> Compose(absl::Span<const Sample> pieces, bool by_name,
                                                const Module* order_like) {
  if (pieces.empty()) return absl::InvalidArgumentError("expected at least one piece");
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i].module == nullptr || pieces[i].module->main() == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("piece ", i, " has no graph"));
    }
  }
  return Composer(pieces, by_name).Run(order_like);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Module>> ComposeChain(absl::Span<const Sample> pieces,
                                                     const Module* order_like) {
  return Compose(pieces, /*by_name=*/false, order_like);
}

absl::StatusOr<std::unique_ptr<Module>> ComposeDag(absl::Span<const Sample> pieces,
                                                   const Module* order_like) {
  return Compose(pieces, /*by_name=*/true, order_like);
}

}  // namespace graphnet
