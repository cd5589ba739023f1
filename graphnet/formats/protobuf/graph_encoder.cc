#include "graphnet/formats/protobuf/graph_encoder.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/ascii.h"
#include "graphnet/formats/protobuf/column.h"
#include "graphnet/formats/protobuf/names.h"

namespace graphnet::proto_internal {
namespace {

// A base that is longer and is used only once is cheaper as a label.
constexpr size_t kLongBase = 16;

// Returns whether the target is a label, because it resembles its neighbours. The targets of other
// nodes recur and belong to the template.
bool TargetIsLabel(const Node& node) {
  return node.op() == Op::kPlaceholder || node.op() == Op::kGetAttr;
}

}  // namespace

GraphEncoder::GraphEncoder(const Module& module, TablesEncoder* tables, bool has_locations)
    : module_(module), tables_(*tables), has_locations_(has_locations) {}

uint32_t GraphEncoder::FindTemplate(const Node& node) {
  uint64_t cost = 0;
  uint64_t target_id = 0;
  scratch_.clear();
  scratch_.push_back(static_cast<uint64_t>(node.op()) | uint64_t{!node.annotation().empty()} << 3 |
                     uint64_t{node.draw_spec() != nullptr} << 4);
  if (!TargetIsLabel(node)) target_id = tables_.NameId(node.target());
  scratch_.push_back(target_id);
  if (!node.annotation().empty()) scratch_.push_back(tables_.NameId(node.annotation()));
  if (node.draw_spec() != nullptr) tables_.AppendDrawForm(*node.draw_spec(), &scratch_);
  scratch_.push_back(node.args().size() << 1 | uint64_t{!node.kwargs().empty()});
  if (!node.kwargs().empty()) scratch_.push_back(node.kwargs().size());
  for (const Argument& arg : node.args()) {
    tables_.AppendArgument(arg, &scratch_, &cost);
  }
  for (const KwArg& kwarg : node.kwargs()) {
    scratch_.push_back(tables_.NameId(kwarg.name));
    tables_.AppendArgument(kwarg.value, &scratch_, &cost);
    cost = AddCosts(cost, kArgumentCost);
  }
  const auto it = template_ids_.find(scratch_);
  if (it != template_ids_.end()) return it->second;
  const uint32_t id = static_cast<uint32_t>(templates_.size());
  template_ids_.emplace(scratch_, id);
  templates_.push_back({.cost = cost, .target_id = target_id});
  return id;
}

GraphEncoder::NameUse GraphEncoder::UseOfName(const Node& node) {
  if (TargetIsLabel(node)) {
    if (SnakeCase(node.target(), &text_) == node.name()) return {.name = proto::NAME_EXPECTED};
    if (absl::AsciiStrToLower(node.target()) == node.name()) return {.name = proto::NAME_LOWER};
    if (node.target() == node.name()) return {.name = proto::NAME_SAME};
  }
  const NameParts parts = SplitName(node.name());
  ++base_count_[parts.base];
  return {.name = proto::NAME_BASE, .base = parts.base, .suffix = parts.suffix};
}

void GraphEncoder::EncodeTemplates(proto::Module* message) {
  for (const Graph* graph : module_.graphs()) {
    for (const Node* node : graph->nodes()) {
      const uint32_t id = FindTemplate(*node);
      ++templates_[id].count;
      template_of_node_.push_back(id);
      name_of_node_.push_back(UseOfName(*node));
    }
  }
  // Frequent templates come first, so that their index takes one byte.
  std::vector<const std::vector<uint64_t>*> keys(templates_.size());
  for (const auto& [key, id] : template_ids_) keys[id] = &key;
  std::vector<uint32_t> order(templates_.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [this](uint32_t a, uint32_t b) {
    return templates_[a].count > templates_[b].count;
  });
  for (uint32_t i = 0; i < order.size(); ++i) {
    templates_[order[i]].rank = i;
    for (const uint64_t value : *keys[order[i]]) message->add_templates(value);
  }
}

void GraphEncoder::EncodeGraphs(proto::Module* message) {
  for (const Graph* graph : module_.graphs()) EncodeGraph(*graph, message->add_graphs());
}

void GraphEncoder::EncodeOperands(const Node& node, uint64_t index, proto::Graph* message) {
  node.ForEachOperand([&](const Node* operand) {
    const uint64_t i = node_index_.at(operand);
    message->add_operands(i == next_placeholder_ && i < num_placeholders_ ? 0 : index - i);
    if (i >= next_placeholder_ && i < num_placeholders_) next_placeholder_ = i + 1;
  });
}

uint64_t GraphEncoder::EncodeName(const Node& node, TemplateUse& use, const NameUse& name,
                                  proto::Graph* message) {
  if (name.name != proto::NAME_BASE) return name.name;
  const uint32_t count = base_count_[name.base];
  const bool once = count == 1 && name.suffix == 0;
  if (once && !TargetIsLabel(node) && node.name() == node.target()) return proto::NAME_SAME;
  if (once && name.base.size() > kLongBase && !tables_.HasString(name.base)) {
    tables_.AddLabel(node.name());
    return proto::NAME_LABEL;
  }
  const uint64_t id = tables_.NameId(name.base);
  const uint64_t strings = tables_.num_strings();
  if (bases_.size() < strings) {
    bases_.resize(strings * 2);
    base_of_target_.resize(strings * 2);
  }
  Base& base = bases_[id];
  const uint64_t next = base.graph == graph_number_ ? NextSuffix(base.suffix) : 0;
  base = {name.suffix, graph_number_};
  uint64_t expected = 0;
  if (use.target_id != 0) {
    expected = use.last_base != 0 ? use.last_base : base_of_target_[use.target_id];
  }
  use.last_base = id;
  base_of_target_[use.target_id] = id;
  if (name.suffix == next) {
    return expected == id ? uint64_t{proto::NAME_EXPECTED} : proto::NAME_BASE + (id << 1);
  }
  message->add_suffixes(ZigZag(static_cast<int64_t>(name.suffix - next)));
  return proto::NAME_BASE + (id << 1 | 1);
}

void GraphEncoder::EncodeGraph(const Graph& graph, proto::Graph* message) {
  ++graph_number_;
  node_index_.clear();
  node_index_.reserve(graph.num_nodes());
  num_placeholders_ = 0;
  next_placeholder_ = 0;
  message->set_name(static_cast<uint32_t>(tables_.NameId(graph.name())));
  std::vector<uint64_t> names, metas, files, lines, columns, module_paths;
  int64_t line = 0;
  for (const Node* node : graph.nodes()) {
    const uint64_t index = node_index_.size();
    TemplateUse& use = templates_[template_of_node_[node_number_]];
    message->add_templates(use.rank);
    if (TargetIsLabel(*node)) tables_.AddLabel(node->target());
    EncodeOperands(*node, index, message);
    names.push_back(EncodeName(*node, use, name_of_node_[node_number_], message));
    metas.push_back(tables_.MetaId(node->meta()));
    const SourceLocation location = has_locations_ ? node->location() : SourceLocation();
    files.push_back(tables_.NameId(location.file));
    lines.push_back(ZigZag(int64_t{location.line} - line));
    columns.push_back(location.column);
    line = location.line;
    module_paths.push_back(tables_.NameId(node->module_path()));
    if (node->draw_spec() != nullptr) tables_.AddDraw(*node->draw_spec());

    tables_.Charge(use.cost);
    tables_.Charge(node->name().size());
    tables_.ChargeMeta(metas.back());
    if (node->is_placeholder() && num_placeholders_ == index) ++num_placeholders_;
    node_index_.emplace(node, index);
    ++node_number_;
  }
  WriteRuns(names, message->mutable_names());
  WriteRuns(metas, message->mutable_metas());
  WriteRuns(files, message->mutable_files());
  WriteRuns(lines, message->mutable_lines());
  WriteRuns(columns, message->mutable_columns());
  WriteRuns(module_paths, message->mutable_module_paths());
}

}  // namespace graphnet::proto_internal
