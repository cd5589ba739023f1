#include "graphnet/decompose/range_decomposer.h"

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/check.h"
#include "graphnet/base/status.h"
#include "graphnet/decompose/graph_copier.h"
#include "graphnet/decompose/regions.h"
#include "graphnet/decompose/tables.h"
#include "graphnet/ir/canonical_hash.h"
#include "graphnet/ir/graph.h"
#include "graphnet/ir/verifier.h"

namespace graphnet {
namespace {

// The non-empty ranges between the cuts.
std::vector<Range> RangesBetween(absl::Span<const int64_t> cuts, int64_t num_operators) {
  std::vector<Range> ranges;
  int64_t start = 0;
  for (const int64_t cut : cuts) {
    if (cut > start) ranges.push_back({start, cut});
    start = cut;
  }
  if (start < num_operators || ranges.empty()) ranges.push_back({start, num_operators});
  return ranges;
}

absl::Status CheckCuts(const Graph& graph, absl::Span<const int64_t> cuts, int64_t num_operators) {
  const Regions regions(graph);
  int64_t before = 0;
  for (const int64_t cut : cuts) {
    if (cut < 0 || cut > num_operators) {
      return absl::InvalidArgumentError(
          absl::StrCat("cut ", cut, " is not between 0 and ", num_operators, ", the number of operators"));
    }
    if (cut < before) {
      return absl::InvalidArgumentError(
          absl::StrCat("cuts must rise: ", cut, " comes after ", before));
    }
    before = cut;
    if (const Node* opener = regions.OpenAt(cut)) {
      return absl::FailedPreconditionError(absl::StrCat(
          "cut ", cut, " goes through the region that ", Printable(opener->name()), " (",
          Printable(opener->target()), ") opens; the next place for it is ", regions.NextCut(cut)));
    }
  }
  return absl::OkStatus();
}

class ChainCutter {
 public:
  ChainCutter(const Sample& parent, std::vector<Range> ranges)
      : parent_(parent), graph_(*parent.module->main()), ranges_(std::move(ranges)) {
    for (Node* node : graph_.nodes()) {
      if (node->is_placeholder()) {
        ++num_placeholders_;
        placeholder_targets_.insert(node->target());
      }
      if (node->is_output()) output_ = node;
      index_.try_emplace(node, index_.size());
      nodes_.push_back(node);
    }
    last_use_.resize(nodes_.size());
    for (size_t i = 0; i < nodes_.size(); ++i) {
      nodes_[i]->ForEachOperand([&](Node* operand) { last_use_[index_.at(operand)] = i; });
    }
    copies_.resize(nodes_.size());
  }

  std::vector<Sample> Run() {
    const std::string hash = CanonicalHash(*parent_.module);
    std::vector<Sample> pieces;
    std::vector<Module*> modules;
    pieces.reserve(ranges_.size());
    for (size_t i = 0; i < num_placeholders_; ++i) live_.push_back(i);
    for (const Range& range : ranges_) {
      Sample piece;
      piece.name = absl::StrCat(parent_.name, "_subgraph_", pieces.size());
      piece.module = CutPiece(range, pieces.size() + 1 == ranges_.size());
      piece.graph_net_json = parent_.graph_net_json;
      piece.has_constraints = parent_.has_constraints;
      piece.provenance.push_back({parent_.name, hash, range.start, range.end});
      modules.push_back(piece.module.get());
      pieces.push_back(std::move(piece));
    }
    DistributeTables(*parent_.module, modules);
    for (Sample& piece : pieces) AddConstraintOrder(&piece);
    AddWeights(&pieces);
    return pieces;
  }

 private:
  // `live_` goes from the values that the piece takes to those that the next one
  // does.
  std::unique_ptr<Module> CutPiece(const Range& range, bool is_last) {
    auto module = std::make_unique<Module>();
    Graph* graph = module->AddGraph(graph_.name());
    GraphCopier bodies(module.get());
    for (const size_t i : live_) copies_[i] = AddPort(i, graph);
    const auto copy = [&](size_t i) {
      copies_[i] = graph->CopyNodeFrom(
          *nodes_[i], [&](Node* operand) { return copies_[index_.at(operand)]; },
          [&](Graph* body) { return bodies.CopyOf(body); });
    };
    const size_t begin = num_placeholders_ + static_cast<size_t>(range.start);
    const size_t end = num_placeholders_ + static_cast<size_t>(range.end);
    for (size_t i = begin; i < end; ++i) copy(i);
    if (is_last) {
      copy(index_.at(output_));
    } else {
      PassOn(begin, end, graph);
    }
    bodies.Finish();
    return module;
  }

  void PassOn(size_t begin, size_t end, Graph* graph) {
    std::vector<size_t> passed;
    for (const size_t i : live_) {
      if (last_use_[i] >= end) passed.push_back(i);
    }
    for (size_t i = begin; i < end; ++i) {
      if (last_use_[i] >= end) passed.push_back(i);
    }
    live_ = std::move(passed);
    std::vector<Argument> values;
    values.reserve(live_.size());
    for (const size_t i : live_) values.push_back(copies_[i]);
    graph->Output(Argument::Tuple(values));
  }

  Node* AddPort(size_t i, Graph* graph) {
    const Node& node = *nodes_[i];
    if (node.is_placeholder()) {
      return graph->CopyNodeFrom(node, [](Node* operand) { return operand; });
    }
    Node* port = graph->CreateNodeWithUniqueName(Op::kPlaceholder, PortTarget(i), {}, {}, node.name());
    port->set_meta(graph->module()->CopyMeta(node.meta()));
    port->set_annotation(node.annotation());
    if (node.op() != Op::kGetAttr) return port;
    const Attribute* attribute = parent_.module->FindAttribute(node.target());
    if (node.annotation().empty()) port->set_annotation(attribute->annotation);
    const TensorMeta* meta = node.tensor_meta();
    if (attribute->draw_spec != nullptr &&
        (meta == nullptr || (attribute->meta != nullptr && *attribute->meta == *meta))) {
      port->set_draw_spec(*attribute->draw_spec);
    }
    return port;
  }

  // The name of the value, or a variant if a placeholder of the graph has it for
  // its target.
  std::string PortTarget(size_t i) {
    const std::string name(nodes_[i]->name());
    if (!placeholder_targets_.contains(name)) return name;
    std::string& target = renamed_targets_[i];
    if (!target.empty()) return target;
    if (names_.empty()) {
      for (const Node* node : nodes_) names_.insert(node->name());
    }
    int suffix = 0;
    do {
      target = absl::StrCat(name, "_", ++suffix);
    } while (placeholder_targets_.contains(target) || names_.contains(target));
    return target;
  }

  void AddConstraintOrder(Sample* piece) const {
    if (parent_.constraint_order.empty()) return;
    absl::flat_hash_set<absl::string_view> present;
    for (const Node* node : piece->module->main()->nodes()) {
      if (node->is_placeholder()) present.insert(node->target());
    }
    for (const std::string& name : parent_.constraint_order) {
      if (present.contains(name)) piece->constraint_order.push_back(name);
    }
  }

  void AddWeights(std::vector<Sample>* pieces) const {
    if (parent_.weights.empty()) return;
    absl::flat_hash_set<absl::string_view> given;
    const auto give = [&](absl::string_view name, Sample* piece) {
      const auto it = parent_.weights.find(std::string(name));
      if (it == parent_.weights.end()) return;
      given.insert(it->first);
      piece->weights.insert(*it);
    };
    for (Sample& piece : *pieces) {
      for (const Attribute& attribute : piece.module->attributes()) give(attribute.name, &piece);
      for (const Node* node : piece.module->main()->nodes()) {
        if (!node->is_placeholder()) break;
        if (placeholder_targets_.contains(node->target())) give(node->target(), &piece);
      }
    }
    for (const auto& [name, data] : parent_.weights) {
      if (!given.contains(name)) (*pieces)[0].weights[name] = data;
    }
  }

  const Sample& parent_;
  const Graph& graph_;
  const std::vector<Range> ranges_;
  // All nodes in program order; what follows is by index in it.
  std::vector<Node*> nodes_;
  absl::flat_hash_map<const Node*, size_t> index_;
  std::vector<size_t> last_use_;  // 0 without a use: no placeholder has one before
  std::vector<Node*> copies_;     // in the piece that is being made
  std::vector<size_t> live_;      // what the piece that is being made takes
  size_t num_placeholders_ = 0;
  const Node* output_ = nullptr;
  absl::flat_hash_set<absl::string_view> placeholder_targets_;
  absl::flat_hash_set<absl::string_view> names_;
  absl::flat_hash_map<size_t, std::string> renamed_targets_;
};

}  // namespace

std::vector<Range> EqualPieces(int64_t num_operators, int k) {
  CHECK(k >= 1 && num_operators >= 0);
  const int64_t size = num_operators / k;
  const int64_t longer = num_operators % k;
  std::vector<Range> ranges;
  int64_t start = 0;
  for (int64_t i = 0; i < k; ++i) {
    const int64_t end = start + size + (i < longer ? 1 : 0);
    if (end == start && i > 0) break;
    ranges.push_back({start, end});
    start = end;
  }
  return ranges;
}

std::vector<int64_t> EqualCuts(const Graph& graph, int k) {
  const Regions regions(graph);
  const int64_t num_operators = NumOperators(graph);
  std::vector<int64_t> cuts;
  for (const Range& range : EqualPieces(num_operators, k)) {
    const int64_t cut = regions.NextCut(range.start);
    if (cut > (cuts.empty() ? 0 : cuts.back()) && cut < num_operators) cuts.push_back(cut);
  }
  return cuts;
}

absl::StatusOr<std::vector<Sample>> DecomposeChain(const Sample& parent,
                                                   absl::Span<const int64_t> cuts) {
  if (parent.module == nullptr) return absl::InvalidArgumentError("the sample has no module");
  if (const absl::Status status = Verify(*parent.module); !status.ok()) {
    return absl::InvalidArgumentError(status.message());
  }
  const Graph& graph = *parent.module->main();
  const int64_t num_operators = NumOperators(graph);
  RETURN_IF_ERROR(CheckCuts(graph, cuts, num_operators));
  return ChainCutter(parent, RangesBetween(cuts, num_operators)).Run();
}

}  // namespace graphnet
