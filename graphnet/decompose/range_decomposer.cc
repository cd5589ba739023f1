#include "graphnet/decompose/range_decomposer.h"

#include <algorithm>
#include <bitset>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/check.h"
#include "graphnet/base/status.h"
#include "graphnet/decompose/graph_index.h"
#include "graphnet/decompose/mutation.h"
#include "graphnet/decompose/regions.h"
#include "graphnet/decompose/tables.h"
#include "graphnet/ir/annotation.h"
#include "graphnet/ir/canonical_hash.h"
#include "graphnet/ir/graph.h"
#include "graphnet/ir/graph_copier.h"
#include "graphnet/ir/shared_walk.h"
#include "graphnet/ir/unchecked_builder.h"
#include "graphnet/ir/verifier.h"

namespace graphnet {
namespace {

// Returns the non-empty ranges; for a graph without operators, one empty range.
std::vector<Range> NonEmpty(absl::Span<const Range> ranges, int64_t num_operators) {
  std::vector<Range> out;
  for (const Range& range : ranges) {
    if (range.end > range.start) out.push_back(range);
  }
  if (num_operators == 0 && !ranges.empty()) out.push_back({0, 0});
  return out;
}

absl::Status CheckCut(const Regions& regions, int64_t cut) {
  if (regions.OpenAt(cut) == nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "cut ", cut, " ", regions.WhyNot(cut), "; the next place for it is ", regions.NextCut(cut)));
}

absl::Status CheckRanges(const GraphIndex& index, const Regions& regions,
                         absl::Span<const Range> ranges, Style style) {
  const int64_t n = index.num_operators();
  int64_t before = 0;
  for (const Range& range : ranges) {
    const std::string text = absl::StrCat("range [", range.start, ", ", range.end, ")");
    if (range.start < 0 || range.end > n) {
      return absl::InvalidArgumentError(
          absl::StrCat(text, " is not within [0, ", n, "), the operators of the graph"));
    }
    if (range.end < range.start)
      return absl::InvalidArgumentError(absl::StrCat(text, " ends before it starts"));
    if (range.start == range.end) continue;
    if (range.start < before) {
      return absl::InvalidArgumentError(
          absl::StrCat(text, " overlaps or precedes one before it, which ends at ", before));
    }
    if (style == Style::kChain && range.start > before && before > 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("a chain has no gaps: ", text, " comes after one that ends at ", before));
    }
    before = range.end;
    RETURN_IF_ERROR(CheckCut(regions, range.start));
    RETURN_IF_ERROR(CheckCut(regions, range.end));
  }
  return absl::OkStatus();
}

// Limit for the ports of all pieces together. If many values share memory that is written to, or
// pass through a chain, ports grow with the square of the graph. Each takes about 80 bytes.
constexpr uint64_t kMaxPorts = 20'000'000;

class Cutter {
 public:
  Cutter(const Sample& parent, const GraphIndex& index, std::vector<Range> ranges,
         const CutOptions& options, const ObservedValues* observed)
      : parent_(parent),
        graph_(*parent.module->main()),
        index_(index),
        ranges_(std::move(ranges)),
        options_(options),
        observed_(observed),
        copies_(index.size()),
        read_by_(index.size(), kNobody),
        taken_by_(index.size(), kNobody) {
    // Compare lengths first: most targets are longer than any name.
    std::bitset<256> sizes;
    for (size_t i = index_.num_placeholders(); i < index_.size(); ++i) {
      sizes.set(index_.node(i)->name().size() % sizes.size());
    }
    for (size_t i = 0; i < index_.num_placeholders(); ++i) {
      const Node& node = *index_.node(i);
      if (!sizes.test(node.target().size() % sizes.size())) continue;
      if (node.target() != node.name()) renamed_placeholders_.insert(node.target());
    }
    for (size_t i = 0; i < parent.constraint_order.size(); ++i) {
      constraint_position_.try_emplace(parent.constraint_order[i], i);
    }
    if (options.style == Style::kDag || index.operator_node(0) > index.num_placeholders())
      classes_ = std::make_unique<MutableClasses>(index);
    if (classes_ != nullptr) is_touched_.resize(classes_->size());
  }

  absl::StatusOr<std::vector<Sample>> Run() {
    const std::string hash = CanonicalHash(*parent_.module);
    TableDistributor tables(*parent_.module,
                            observed_ == nullptr ? nullptr : observed_->module.get());
    std::vector<Sample> pieces;
    pieces.reserve(ranges_.size());
    if (options_.style == Style::kChain) {
      StartChain();
    } else {
      carried_.resize(classes_->size());
      touched_by_.assign(classes_->size(), kNobody);
    }
    for (piece_ = 0; piece_ < ranges_.size(); ++piece_) {
      const Range& range = ranges_[piece_];
      Sample piece;
      piece.name = absl::StrCat(parent_.name, "_subgraph_", piece_);
      ASSIGN_OR_RETURN(piece.module, CutPiece(range));
      piece.graph_net_json = parent_.graph_net_json;
      piece.has_constraints = parent_.has_constraints;
      piece.provenance.push_back({parent_.name, hash, range.start, range.end});
      AddConstraintOrder(&piece);
      tables.Add(piece.module.get());
      pieces.push_back(std::move(piece));
    }
    tables.Finish(options_.keep_unused);
    AddWeights(&pieces);
    return pieces;
  }

 private:
  static constexpr size_t kNobody = ~size_t{0};

  absl::StatusOr<std::unique_ptr<Module>> CutPiece(const Range& range) {
    const size_t begin = index_.operator_node(range.start);
    const size_t end = index_.operator_node(range.end);
    const bool ends_graph = end == index_.output();
    FindReads(begin, end, ends_graph);
    if (options_.style == Style::kChain) {
      std::swap(inputs_, outputs_);  // The next piece takes what this one returns.
    } else {
      FindDagInputs(begin, end, ends_graph);
    }
    if (!ports_.Charge(inputs_.size())) return TooManyPorts();
    std::unique_ptr<Module> module = Module::DeriveFrom(*parent_.module);
    Graph* graph = module->AddGraph(graph_.name());
    GraphCopier bodies(module.get());
    for (const size_t i : inputs_) copies_[i] = AddPort(i, graph);
    const auto copy = [&](size_t i) {
      const absl::Span<const uint32_t> operands = index_.operands(i);
      size_t next = 0;
      // Names are unique in the whole graph.
      copies_[i] = UncheckedBuilder(graph).CopyNode(
          *index_.node(i), [&](Node*) { return copies_[operands[next++]]; },
          [&](Graph* body) { return bodies.CopyOf(body); });
    };
    auto read = read_.begin();
    for (size_t i = begin; i < end; ++i) {
      for (; read != read_.end() && index_.behind_get_attr(*read) <= i; ++read) copy(*read);
      copy(i);
    }
    for (; read != read_.end(); ++read) copy(*read);
    if (ends_graph) {
      copy(index_.output());
    } else {
      FindOutputs(begin, end);
      if (!ports_.Charge(outputs_.size())) return TooManyPorts();
      returned_.clear();
      for (const size_t i : outputs_) returned_.push_back(copies_[i]);
      const Node& output = *index_.node(index_.output());
      UncheckedBuilder(graph).CreateNode(Op::kOutput, output.target(), {Argument::Tuple(returned_)},
                                         {}, output.name());
    }
    bodies.Finish();
    return module;
  }

  static absl::Status TooManyPorts() {
    return absl::ResourceExhaustedError(
        absl::StrCat("the pieces would take and return more than ", kMaxPorts,
                     " values, most of which only pass through; ask for fewer pieces"));
  }

  // Sets the inputs of the first piece of a chain, as if a piece before it returned them.
  void StartChain() {
    const size_t begin = ranges_.empty() ? 0 : index_.operator_node(ranges_[0].start);
    for (size_t i = 0; i < begin; ++i) {
      if (index_.is_get_attr(i) && !IsWrittenBefore(i, begin)) continue;
      const bool input = options_.all_inputs && i < index_.num_placeholders();
      if (input || (index_.last_use(i) >= begin && index_.last_use(i) > 0)) outputs_.push_back(i);
    }
  }

  // Returns whether an operator before `begin` writes to the attribute that get_attr `i` reads, so
  // that the attribute no longer holds the value.
  bool IsWrittenBefore(size_t i, size_t begin) const {
    const int c = classes_->ClassOf(i);
    return c != MutableClasses::kNone && classes_->first_write(c) < begin;
  }

  // Finds the get_attrs that the piece holds, which are those that it uses. For memory that the
  // graph writes to, the first piece that touches it holds all of them and returns their values.
  void FindReads(size_t begin, size_t end, bool ends_graph) {
    read_.clear();
    if (index_.operator_node(0) == index_.num_placeholders()) return;
    const auto read = [&](size_t i) {
      if (std::exchange(read_by_[i], piece_) != piece_) read_.push_back(i);
    };
    const auto touch = [&](size_t i) {
      const int c = classes_->ClassOf(i);
      if (c == MutableClasses::kNone) {
        if (index_.is_get_attr(i)) read(i);
        return;
      }
      if (is_touched_[static_cast<size_t>(c)]) return;
      is_touched_[static_cast<size_t>(c)] = true;
      if (classes_->first_write(c) < begin) return;  // No piece holds that write.
      for (const uint32_t member : classes_->members(c)) {
        if (!index_.is_get_attr(member) && member >= index_.num_placeholders()) break;
        if (index_.is_get_attr(member) && index_.last_use(member) > 0) read(member);
      }
    };
    for (size_t i = begin; i < end; ++i) {
      touch(i);
      for (const uint32_t operand : index_.operands(i)) touch(operand);
    }
    if (ends_graph) {
      for (const uint32_t operand : index_.operands(index_.output())) touch(operand);
    }
    for (size_t i = index_.num_placeholders(); piece_ == 0 && index_.is_get_attr(i); ++i) {
      if (options_.keep_unused && index_.last_use(i) == 0) read(i);
    }
    std::sort(read_.begin(), read_.end());
  }

  void FindDagInputs(size_t begin, size_t end, bool ends_graph) {
    inputs_.clear();
    const auto take = [&](size_t i) {
      if (i >= begin || read_by_[i] == piece_) return;
      if (std::exchange(taken_by_[i], piece_) == piece_) return;
      inputs_.push_back(i);
    };
    if (piece_ == 0 && options_.all_inputs) {
      for (size_t i = 0; i < index_.num_placeholders(); ++i) take(i);
    }
    touched_.clear();
    for (size_t i = begin; i < end; ++i) {
      Touch(i, begin);
      for (const uint32_t operand : index_.operands(i)) {
        Touch(operand, begin);
        take(operand);
      }
    }
    if (ends_graph) {
      for (const uint32_t operand : index_.operands(index_.output())) take(operand);
    }
    for (const int c : touched_) {
      Carried& carried = carried_[static_cast<size_t>(c)];
      carried.Advance(classes_->members(c), begin);
      std::erase_if(carried.values, [&](size_t i) { return index_.last_use(i) < begin; });
      for (const size_t i : carried.values) take(i);
    }
    std::sort(inputs_.begin(), inputs_.end());
  }

  // Finds the values that are used behind the piece: in a chain all that it takes or makes, in a
  // DAG only those that it makes, and those in memory that is written to.
  void FindOutputs(size_t begin, size_t end) {
    outputs_.clear();
    const auto hand_on = [&](size_t i) {
      if (index_.last_use(i) >= end) outputs_.push_back(i);
    };
    if (options_.style == Style::kChain) {
      for (const size_t i : inputs_) hand_on(i);
      for (const size_t i : read_) {
        if (classes_->ClassOf(i) != MutableClasses::kNone) hand_on(i);
      }
    } else {
      for (const int c : touched_) {
        for (const size_t i : carried_[static_cast<size_t>(c)].values) hand_on(i);
      }
    }
    for (size_t i = begin; i < end; ++i) hand_on(i);
    if (!touched_.empty() || !read_.empty()) std::sort(outputs_.begin(), outputs_.end());
  }

  // Notes that the piece touches the memory of a value, if later pieces still need it.
  void Touch(size_t i, size_t begin) {
    const int c = classes_->ClassOf(i);
    if (c == MutableClasses::kNone || classes_->last_write(c) < begin) return;
    if (std::exchange(touched_by_[static_cast<size_t>(c)], piece_) != piece_) touched_.push_back(c);
  }

  // The values of a class that are defined before a piece and used in it or later.
  struct Carried {
    // Adds the members before `begin`.
    void Advance(absl::Span<const uint32_t> members, size_t begin) {
      for (; next < members.size() && members[next] < begin; ++next)
        values.push_back(members[next]);
    }
    std::vector<size_t> values;
    size_t next = 0;
  };

  // --- Ports -------------------------------------------------------------------
  Node* AddPort(size_t i, Graph* graph) {
    const Node& node = *index_.node(i);
    if (node.is_placeholder()) {
      return UncheckedBuilder(graph).CopyNode(
          node, [](Node* operand) { return operand; }, [](Graph* body) { return body; });
    }
    Node* port = UncheckedBuilder(graph).PlaceholderFor(node, PortTarget(i));
    if (observed_ != nullptr) AddObserved(port);
    if (node.op() != Op::kGetAttr) return port;
    const Attribute* attribute = parent_.module->FindAttribute(node.target());
    if (node.annotation().empty()) port->set_annotation(attribute->annotation);
    const TensorMeta* meta = node.tensor_meta();
    DrawSpec spec = port->draw_spec() != nullptr ? *port->draw_spec() : DrawSpec();
    if (attribute->draw_spec != nullptr &&
        (meta == nullptr || (attribute->meta != nullptr && *attribute->meta == *meta))) {
      spec = *attribute->draw_spec;
    }
    if (spec.original_name.empty()) spec.original_name = node.target();
    port->set_draw_spec(spec);
    return port;
  }

  void AddObserved(Node* port) const {
    if (port->meta() == nullptr && observed_->module != nullptr) {
      const Node* node = observed_->module->main()->FindNode(port->name());
      if (node != nullptr && node->meta() != nullptr)
        port->set_meta(port->graph()->module()->CopyMeta(node->meta()));
    }
    const auto found = observed_->values.find(port->name());
    if (found == observed_->values.end()) return;
    port->set_draw_spec(found->second.draw_spec);
    if (port->annotation().empty()) port->set_annotation(found->second.annotation);
  }

  // Returns the name of the value, or a variant if a placeholder of the graph has that name as its
  // target.
  absl::string_view PortTarget(size_t i) {
    const absl::string_view name = index_.node(i)->name();
    if (renamed_placeholders_.empty() || !renamed_placeholders_.contains(name)) return name;
    std::string& target = renamed_targets_[i];
    if (!target.empty()) return target;
    if (names_.empty()) {
      for (size_t k = 0; k < index_.size(); ++k) {
        names_.insert(index_.node(k)->name());
        if (index_.node(k)->is_placeholder()) names_.insert(index_.node(k)->target());
      }
    }
    int suffix = 0;
    do {
      target = absl::StrCat(name, "_", ++suffix);
    } while (names_.contains(target));
    return target;
  }

  void AddConstraintOrder(Sample* piece) const {
    if (constraint_position_.empty()) return;
    std::vector<size_t> present;
    for (const Node* node : piece->module->main()->nodes()) {
      if (!node->is_placeholder()) break;
      const auto it = constraint_position_.find(node->target());
      if (it != constraint_position_.end()) present.push_back(it->second);
    }
    std::sort(present.begin(), present.end());
    for (const size_t i : present) piece->constraint_order.push_back(parent_.constraint_order[i]);
  }

  void AddWeights(std::vector<Sample>* pieces) const {
    if (parent_.weights.empty()) return;
    absl::flat_hash_set<absl::string_view> placeholders;
    for (size_t i = 0; i < index_.num_placeholders(); ++i) {
      placeholders.insert(index_.node(i)->target());
    }
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
        if (!placeholders.contains(node->target())) continue;
        give(node->target(), &piece);
        const bool may_hold_others = IsStructure(node->annotation()) ||
                                     absl::StartsWith(node->annotation(), "Union[") ||
                                     node->annotation() == "Any";
        if (!may_hold_others) continue;
        const std::string prefix = absl::StrCat(node->target(), ".");
        for (auto it = parent_.weights.lower_bound(prefix);
             it != parent_.weights.end() && absl::StartsWith(it->first, prefix); ++it) {
          give(it->first, &piece);
        }
      }
    }
    if (!options_.keep_unused) return;
    for (const auto& [name, data] : parent_.weights) {
      if (!given.contains(name)) (*pieces)[0].weights[name] = data;
    }
  }

  const Sample& parent_;
  const Graph& graph_;
  const GraphIndex& index_;
  const std::vector<Range> ranges_;
  const CutOptions& options_;
  const ObservedValues* observed_;  // may be null
  Budget ports_{kMaxPorts};
  std::vector<Node*> copies_;                // by node, in the current piece
  size_t piece_ = 0;                         // number of the current piece
  std::vector<size_t> inputs_;               // values that the piece takes
  std::vector<size_t> outputs_;              // values that the piece returns
  std::vector<Argument> returned_;           // the same as arguments of its output
  std::vector<size_t> read_;                 // get_attrs that the piece holds
  std::vector<size_t> read_by_;              // by get_attr, the last piece that holds it
  std::unique_ptr<MutableClasses> classes_;  // null if neither attributes nor the style need it
  std::vector<bool> is_touched_;             // by class: true if a piece so far touches it
  // For a DAG: by node, the last piece that takes it; by class of memory, the last piece that
  // touches it; the classes that the current piece touches; and the values to hand on.
  std::vector<size_t> taken_by_;
  std::vector<size_t> touched_by_;
  std::vector<int> touched_;
  std::vector<Carried> carried_;
  // Targets of placeholders with another name, if a value may be called like the target.
  absl::flat_hash_set<absl::string_view> renamed_placeholders_;
  absl::flat_hash_map<absl::string_view, size_t> constraint_position_;
  absl::flat_hash_set<absl::string_view> names_;  // names, and targets of placeholders
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
  const GraphIndex index(graph);
  std::vector<int64_t> cuts;
  for (const Range& range : EqualPieces(index.num_operators(), k)) cuts.push_back(range.start);
  return AllowedCuts(std::move(cuts), Regions(index), index.num_operators());
}

absl::StatusOr<std::vector<Range>> RangesBetween(absl::Span<const int64_t> cuts,
                                                 int64_t num_operators) {
  std::vector<Range> ranges;
  int64_t start = 0;
  for (const int64_t cut : cuts) {
    if (cut < 0 || cut > num_operators) {
      return absl::InvalidArgumentError(absl::StrCat("cut ", cut, " is not between 0 and ",
                                                     num_operators, ", the number of operators"));
    }
    if (cut < start) {
      return absl::InvalidArgumentError(
          absl::StrCat("cuts must rise: ", cut, " comes after ", start));
    }
    ranges.push_back({std::exchange(start, cut), cut});
  }
  ranges.push_back({start, num_operators});
  return ranges;
}

absl::Status CheckModule(const Sample& sample) {
  if (sample.module == nullptr) return absl::InvalidArgumentError("the sample has no module");
  const absl::Status status = Verify(*sample.module);
  return status.ok() ? status : absl::InvalidArgumentError(status.message());
}

absl::StatusOr<std::vector<Sample>> CutRanges(const Sample& parent, absl::Span<const Range> ranges,
                                              const CutOptions& options,
                                              const ObservedValues* observed) {
  const GraphIndex index(*parent.module->main());
  return CutRanges(parent, index, Regions(index), ranges, options, observed);
}

absl::StatusOr<std::vector<Sample>> CutRanges(const Sample& parent, const GraphIndex& index,
                                              const Regions& regions,
                                              absl::Span<const Range> ranges,
                                              const CutOptions& options,
                                              const ObservedValues* observed) {
  RETURN_IF_ERROR(CheckRanges(index, regions, ranges, options.style));
  std::vector<Range> pieces = NonEmpty(ranges, index.num_operators());
  if (pieces.empty()) return absl::InvalidArgumentError("no range has an operator");
  return Cutter(parent, index, std::move(pieces), options, observed).Run();
}

absl::StatusOr<std::vector<Sample>> DecomposeChain(const Sample& parent,
                                                   absl::Span<const int64_t> cuts) {
  RETURN_IF_ERROR(CheckModule(parent));
  ASSIGN_OR_RETURN(const std::vector<Range> ranges,
                   RangesBetween(cuts, NumOperators(*parent.module->main())));
  return CutRanges(parent, ranges, {.style = Style::kChain});
}

}  // namespace graphnet
