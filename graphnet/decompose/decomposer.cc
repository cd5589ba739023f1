#include "graphnet/decompose/decomposer.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/decompose/blocks.h"
#include "graphnet/decompose/graph_index.h"
#include "graphnet/decompose/regions.h"
#include "graphnet/decompose/schemes.h"
#include "graphnet/ir/graph.h"

namespace graphnet {
namespace {

class Planner {
 public:
  Planner(const GraphIndex& index, const Regions& regions, const DecomposeConfig& config,
          std::vector<std::string>* notes)
      : index_(index),
        regions_(regions),
        n_(index_.num_operators()),
        config_(config),
        notes_(notes) {}

  absl::StatusOr<std::vector<Range>> Ranges() {
    switch (config_.mode) {
      case DecomposeMode::kPositions: return AtPositions();
      case DecomposeMode::kRanges: return WithHeadAndTail(config_.subgraph_ranges);
      case DecomposeMode::kValues: return BetweenValues();
      case DecomposeMode::kFixedSize:
        return AtCuts(CutsEvery(config_.number, regions_, n_), (n_ - 1) / config_.number);
      case DecomposeMode::kSingleOp: return AtCuts(CutsEvery(1, regions_, n_), n_ - 1);
      case DecomposeMode::kEqual: {
        const std::vector<Range> pieces = EqualPieces(n_, static_cast<int>(config_.number));
        std::vector<int64_t> cuts;
        for (const Range& piece : pieces) cuts.push_back(piece.start);
        NoteFewOperators();
        return AtCuts(AllowedCuts(std::move(cuts), regions_, n_),
                      static_cast<int64_t>(pieces.size()) - 1);
      }
      case DecomposeMode::kBalanced: {
        NoteUnknownSizes();
        NoteFewOperators();
        ASSIGN_OR_RETURN(const std::vector<int64_t> cuts,
                         BalancedCuts(index_, regions_, static_cast<int>(config_.number)));
        return AtCuts(cuts, std::min(config_.number, n_) - 1);
      }
      case DecomposeMode::kBlocks: return AtBlocks();
      case DecomposeMode::kModulePath: {
        ASSIGN_OR_RETURN(const std::vector<int64_t> cuts,
                         ModuleCuts(static_cast<int>(config_.number), index_, regions_));
        return RangesBetween(cuts, n_);
      }
    }
    return absl::InvalidArgumentError("unknown mode");
  }

 private:
  absl::StatusOr<std::vector<Range>> AtPositions() {
    ASSIGN_OR_RETURN(std::vector<Range> ranges, RangesBetween(config_.split_positions, n_));
    if (config_.group_head_and_tail) return ranges;
    if (ranges.size() < 3) {
      return absl::InvalidArgumentError("one cut leaves no piece if head and tail are left out");
    }
    return std::vector<Range>(ranges.begin() + 1, ranges.end() - 1);
  }

  absl::StatusOr<std::vector<Range>> WithHeadAndTail(std::vector<Range> ranges) const {
    if (!config_.group_head_and_tail) return ranges;
    if (ranges.front().start > 0) ranges.insert(ranges.begin(), {0, ranges.front().start});
    if (ranges.back().end < n_) ranges.push_back({ranges.back().end, n_});
    return ranges;
  }

  absl::StatusOr<std::vector<Range>> BetweenValues() const {
    std::vector<Range> ranges;
    for (const ValueRange& values : config_.values) {
      ASSIGN_OR_RETURN(const Range range,
                       RangeOfValues(values.inputs, values.outputs, index_, regions_));
      ranges.push_back(range);
    }
    return WithHeadAndTail(std::move(ranges));
  }

  absl::StatusOr<std::vector<Range>> AtBlocks() {
    const std::vector<Block> blocks = FindBlocks(index_, regions_);
    for (const Block& block : blocks) {
      notes_->push_back(absl::StrCat("a block of ", block.num_operators, " operators occurs ",
                                     block.starts.size(), " times, first at operator ",
                                     block.starts[0]));
    }
    if (blocks.empty()) notes_->push_back("no operators repeat");
    return RangesBetween(BlockCuts(blocks, regions_, n_), n_);
  }

  absl::StatusOr<std::vector<Range>> AtCuts(absl::Span<const int64_t> cuts, int64_t wanted) {
    const int64_t lost = std::max<int64_t>(wanted, 0) - static_cast<int64_t>(cuts.size());
    if (lost > 0) {
      notes_->push_back(
          absl::StrCat(lost,
                       " fewer cuts than asked for: tuples and the regions of vmap and "
                       "autocast must stay whole"));
    }
    return RangesBetween(cuts, n_);
  }

  void NoteFewOperators() {
    if (config_.number <= n_) return;
    notes_->push_back(
        absl::StrCat(config_.number, " pieces asked for, but there are only ", n_, " operators"));
  }

  void NoteUnknownSizes() {
    int64_t unknown = 0;
    for (int64_t k = 0; k < n_; ++k)
      unknown += ValueBytes(*index_.node(index_.operator_node(k))).has_value() ? 0 : 1;
    if (unknown == 0) return;
    notes_->push_back(
        absl::StrCat(unknown, " of ", n_,
                     " values have unknown sizes and only decide between cuts of equal "
                     "bytes"));
  }

  const GraphIndex& index_;
  const Regions& regions_;
  const int64_t n_;
  const DecomposeConfig& config_;
  std::vector<std::string>* notes_;
};

std::vector<std::string> NamesOf(absl::Span<Node* const> nodes) {
  std::vector<std::string> names;
  names.reserve(nodes.size());
  for (const Node* node : nodes) names.emplace_back(node->name());
  return names;
}

// Reports the first difference: "piece 2 takes x and y, the configuration says x".
absl::Status CheckReplay(const DecomposeConfig& said, const DecomposeConfig& made) {
  if (said == made) return absl::OkStatus();
  const auto differs = [](absl::string_view what) {
    return absl::FailedPreconditionError(
        absl::StrCat("mismatch of ", what, " between the configuration and the sample"));
  };
  if (said.model_name != made.model_name) return differs("the name of the model");
  if (said.num_ops != made.num_ops) return differs("the number of operators");
  if (said.subgraphs.size() != made.subgraphs.size()) return differs("the number of subgraphs");
  for (size_t i = 0; i < made.subgraphs.size(); ++i) {
    const SubgraphConfig& a = said.subgraphs[i];
    const SubgraphConfig& b = made.subgraphs[i];
    if (a.inputs != b.inputs) return differs(absl::StrCat("the inputs of ", b.name));
    if (a.outputs != b.outputs || a.drops != b.drops || a.adds != b.adds)
      return differs(absl::StrCat("the outputs of ", b.name));
    if (!(a == b)) return differs(b.name);
  }
  return differs("the parameters");
}

// Returns whether the ranges have all operators.
bool IsWhole(const std::vector<Range>& ranges, int64_t num_ops) {
  int64_t end = 0;
  for (const Range& range : ranges) {
    if (range.start != end) return false;
    end = range.end;
  }
  return end == num_ops;
}

}  // namespace

absl::StatusOr<Decomposition> Decompose(const Sample& sample, const DecomposeConfig& config,
                                        const ObservedValues* observed) {
  RETURN_IF_ERROR(CheckModule(sample));
  if (const std::string wrong = WhatIsWrong(config); !wrong.empty()) {
    return absl::InvalidArgumentError(wrong);
  }
  Decomposition made;
  made.config = config;
  const auto other_graph = [&] {
    return absl::FailedPreconditionError(
        absl::StrCat("the configuration belongs to another graph: ", Printable(config.model_name)));
  };
  const GraphIndex index(*sample.module->main());
  const Regions regions(index);
  const int64_t num_ops = index.num_operators();
  std::vector<Range> ranges;
  if (config.is_done()) {
    if (config.num_ops != num_ops) return other_graph();
    for (const SubgraphConfig& subgraph : config.subgraphs) ranges.push_back(subgraph.range);
  } else {
    // Other schemes use metas only to recognise tuples. A validator, which has only the sample,
    // must find the same cuts.
    const bool more = config.mode == DecomposeMode::kBalanced && observed != nullptr &&
                      observed->module != nullptr;
    if (more) {
      const GraphIndex other(*observed->module->main());
      const Regions regions_of_other(other);
      ASSIGN_OR_RETURN(ranges, Planner(other, regions_of_other, config, &made.notes).Ranges());
    } else {
      ASSIGN_OR_RETURN(ranges, Planner(index, regions, config, &made.notes).Ranges());
    }
  }
  CutOptions cut = config.cut;
  cut.keep_unused = cut.keep_unused && IsWhole(ranges, num_ops);
  ASSIGN_OR_RETURN(made.pieces, CutRanges(sample, index, regions, ranges, cut, observed));
  made.config.model_name = sample.name;
  made.config.parent_hash = made.pieces[0].provenance[0].parent_hash;
  if (config.is_done() && config.parent_hash != made.config.parent_hash) return other_graph();
  made.config.num_ops = num_ops;
  made.config.subgraphs.clear();
  for (size_t i = 0; i < made.pieces.size(); ++i) {
    const Sample& piece = made.pieces[i];
    const Provenance& from = piece.provenance[0];
    made.config.subgraphs.push_back(
        {absl::StrCat("subgraph_", i), Range{from.start, from.end}, {}, {}});
  }
  RecordPorts(made.pieces, &made.config);
  if (config.is_done()) RETURN_IF_ERROR(CheckReplay(config, made.config));
  return made;
}

void RecordPorts(absl::Span<const Sample> pieces, DecomposeConfig* config) {
  const bool chain = config->cut.style == Style::kChain;
  absl::flat_hash_set<absl::string_view> returned;
  absl::flat_hash_set<absl::string_view> taken;
  for (size_t i = 0; i < std::min(pieces.size(), config->subgraphs.size()); ++i) {
    SubgraphConfig& subgraph = config->subgraphs[i];
    const std::vector<Node*> inputs = pieces[i].module->main()->placeholders();
    const std::vector<Node*> outputs = pieces[i].module->main()->output()->operands();
    subgraph.inputs = chain && i > 0 ? std::vector<std::string>() : NamesOf(inputs);
    subgraph.outputs.clear();
    subgraph.drops.clear();
    subgraph.adds.clear();
    if (!chain || i + 1 == config->subgraphs.size()) {
      subgraph.outputs = NamesOf(outputs);
      continue;
    }
    returned.clear();
    for (const Node* node : outputs) returned.insert(node->name());
    taken.clear();
    for (const Node* node : inputs) {
      taken.insert(node->name());
      if (!returned.contains(node->name())) subgraph.drops.emplace_back(node->name());
    }
    for (const Node* node : outputs) {
      if (!taken.contains(node->name())) subgraph.adds.emplace_back(node->name());
    }
  }
}

absl::StatusOr<std::vector<Range>> PlanRanges(const Sample& sample, const DecomposeConfig& config) {
  std::vector<std::string> notes;
  const GraphIndex index(*sample.module->main());
  const Regions regions(index);
  ASSIGN_OR_RETURN(std::vector<Range> ranges, Planner(index, regions, config, &notes).Ranges());
  if (index.num_operators() == 0) return std::vector<Range>{{0, 0}};
  std::erase_if(ranges, [](const Range& range) { return range.start == range.end; });
  return ranges;
}

std::vector<Traffic> PieceTraffic(const Module& original, const std::vector<Sample>& pieces) {
  const Graph& graph = *original.main();
  std::vector<Traffic> traffic;
  for (const Sample& piece : pieces) {
    Traffic sum;
    for (const Node* port : piece.module->main()->placeholders()) {
      const Node* value = graph.FindNode(port->name());
      if (value == nullptr || value->is_placeholder() || value->op() == Op::kGetAttr) continue;
      const std::optional<int64_t> bytes = ValueBytes(*value);
      sum = sum + Traffic{bytes.value_or(0), bytes.has_value() ? 0 : 1};
    }
    traffic.push_back(sum);
  }
  return traffic;
}

}  // namespace graphnet
