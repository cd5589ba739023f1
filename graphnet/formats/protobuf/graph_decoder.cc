#include "graphnet/formats/protobuf/graph_decoder.h"

#include <limits>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/protobuf/names.h"
#include "graphnet/ir/unchecked_builder.h"

namespace graphnet::proto_internal {

GraphDecoder::GraphDecoder(const Module& module, TablesDecoder* tables, Budget* budget)
    : module_(module),
      tables_(*tables),
      budget_(*budget),
      bases_(tables->num_strings()),
      base_of_template_(tables->templates().size()),
      base_of_target_(tables->num_strings()) {}

bool GraphDecoder::PlaceOperands(const Template& t, size_t index, StreamReader& operands) {
  for (Argument* slot : t.operands) {
    const uint64_t code = operands.Next();
    size_t operand;
    if (code == 0) {
      operand = next_placeholder_;
    } else {
      if (code > index) [[unlikely]]
        return false;
      operand = index - code;
    }
    if (operand >= next_placeholder_ && operand < num_placeholders_) {
      next_placeholder_ = operand + 1;
    } else if (code == 0) [[unlikely]] {
      return false;
    }
    *slot = nodes_[operand];
  }
  return operands.ok();
}

bool GraphDecoder::DecodeName(uint64_t code, const Template& t, size_t template_index,
                              absl::string_view target, StreamReader& suffixes) {
  const auto fail = [this](absl::string_view error) {
    error_ = error;
    return false;
  };
  uint64_t base = 0;
  bool has_suffix = false;
  switch (code) {
    case proto::NAME_EXPECTED:
      if (t.target_id == 0) {
        name_ = SnakeCase(target, &snake_buffer_);
        return true;
      }
      base = base_of_template_[template_index];
      if (base == 0) base = base_of_target_[t.target_id];
      if (base == 0) return fail("no name is expected yet");
      break;
    case proto::NAME_LABEL: return tables_.NextLabel(&name_) || fail("no label is left");
    case proto::NAME_LOWER:
      name_buffer_.assign(target.data(), target.size());
      absl::AsciiStrToLower(&name_buffer_);
      name_ = name_buffer_;
      return true;
    case proto::NAME_SAME: name_ = target; return true;
    default: has_suffix = (code - proto::NAME_BASE) & 1; base = (code - proto::NAME_BASE) >> 1;
  }
  if (base == 0 || base >= bases_.size() || !tables_.Name(base, &name_)) {
    return fail("no such base");
  }
  Base& counter = bases_[base];
  uint64_t suffix = counter.graph == graph_number_ ? NextSuffix(counter.suffix) : 0;
  // A senseless number may wrap around, and is refused then.
  if (has_suffix) suffix += static_cast<uint64_t>(suffixes.NextNumber());
  if (suffix > kMaxSuffix || !suffixes.ok()) return fail("no such suffix");
  counter = {suffix, graph_number_};
  base_of_template_[template_index] = static_cast<uint32_t>(base);
  base_of_target_[t.target_id] = static_cast<uint32_t>(base);
  JoinName(name_, suffix, &name_buffer_);
  name_ = name_buffer_;
  return true;
}

absl::string_view GraphDecoder::CheckPlace(const Template& t, absl::string_view target,
                                           size_t index) const {
  if (seen_output_) return "comes after the output";
  if (target.empty()) return "has no target";
  if (t.op == Op::kPlaceholder && num_placeholders_ != index) {
    return "is a placeholder after another operation";
  }
  if (t.op == Op::kGetAttr && module_.FindAttribute(target) == nullptr) {
    return "names no attribute of the module";
  }
  return {};
}

absl::Status GraphDecoder::CheckTargets() {
  absl::flat_hash_set<absl::string_view> targets;
  for (size_t i = 0; i < num_placeholders_; ++i) {
    if (!targets.insert(nodes_[i]->target()).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("node ", i, ": its target is that of another placeholder"));
    }
  }
  return absl::OkStatus();
}

absl::Status GraphDecoder::Decode(const proto::Graph& message, Graph* graph) {
  ++graph_number_;
  seen_output_ = false;
  bool names_follow_targets = true;
  nodes_.clear();
  nodes_.reserve(static_cast<size_t>(message.templates_size()));
  names_.clear();
  names_.reserve(static_cast<size_t>(message.templates_size()));
  num_placeholders_ = 0;
  next_placeholder_ = 0;
  size_t index = 0;
  const auto fail = [&index](absl::string_view column, absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat("node ", index, ": ", column, ": ", what));
  };

  StreamReader operands(message.operands());
  StreamReader suffixes(message.suffixes());
  RunReader names(message.names());
  RunReader metas(message.metas());
  RunReader files(message.files());
  RunReader lines(message.lines());
  RunReader columns(message.columns());
  RunReader module_paths(message.module_paths());
  SourceLocation location;
  uint64_t file_id = 0;
  UncheckedBuilder builder(graph);
  for (const uint64_t template_index : Values(message.templates())) {
    if (template_index >= tables_.templates().size()) return fail("templates", "no such template");
    const Template& t = tables_.templates()[template_index];
    const absl::string_view* interned_target = t.interned_target;
    absl::string_view target = t.target;
    if (t.target_id == 0) {
      const absl::string_view* label = tables_.NextLabel();
      if (label == nullptr) return fail("labels", "no label is left");
      target = *label;
      // A placeholder's target need not be the module's only copy, so the label can be used as it
      // is.
      if (t.op == Op::kPlaceholder) interned_target = label;
    }
    if (const absl::string_view error = CheckPlace(t, target, index); !error.empty()) {
      return fail("templates", error);
    }
    if (!PlaceOperands(t, index, operands)) return fail("operands", "no such node");
    const uint64_t name_code = names.Next();
    if (!DecodeName(name_code, t, template_index, target, suffixes)) return fail("names", error_);
    if (name_.empty() || name_.size() > kMaxNameBytes) return fail("names", "empty or too long");

    const ValueMeta* meta = nullptr;
    uint64_t meta_cost = 0;
    if (!tables_.Meta(metas.Next(), &meta, &meta_cost)) return fail("metas", "no such meta");
    if (!budget_.Charge(AddCosts(t.cost, meta_cost)) || !budget_.Charge(name_.size())) {
      return fail("templates", "the graph is too large for a file of this size");
    }
    Node* node =
        interned_target != nullptr
            ? builder.CreateNodeFromInterned(t.op, interned_target, t.args, t.kwargs, name_)
            : builder.CreateNode(t.op, target, t.args, t.kwargs, name_);
    if (!names_.insert(node->name()).second) {
      return fail("names", absl::StrCat(Printable(node->name()), " is used twice"));
    }
    builder.SetMeta(node, meta);

    if (const uint64_t id = files.Next(); id != file_id) {
      if (!tables_.Name(id, &location.file)) return fail("files", "no such string");
      file_id = id;
    }
    const uint64_t line = location.line + static_cast<uint64_t>(UnZigZag(lines.Next()));
    const uint64_t column = columns.Next();
    if (line > std::numeric_limits<uint32_t>::max()) return fail("lines", "no such line");
    if (column > std::numeric_limits<uint16_t>::max()) return fail("columns", "no such column");
    location.line = static_cast<uint32_t>(line);
    location.column = static_cast<uint32_t>(column);
    node->set_location(location);

    if (!t.annotation.empty()) node->set_annotation(t.annotation);
    if (const uint64_t id = module_paths.Next(); id != 0) {
      absl::string_view path;
      if (!tables_.Name(id, &path)) return fail("module_paths", "no such string");
      node->set_module_path(path);
    }
    if (t.draw != nullptr) {
      DrawSpec spec;
      const absl::Status status = tables_.NextDrawSpec(*t.draw, &spec);
      if (!status.ok()) return fail("draw spec", status.message());
      if (t.draw->has_data) {
        const absl::Status fits =
            tables_.CheckDataSize(spec.data.elements().size(), node->tensor_meta());
        if (!fits.ok()) return fail("draw spec", fits.message());
      }
      node->set_draw_spec(spec);
    }
    if (t.op == Op::kPlaceholder) {
      ++num_placeholders_;
      names_follow_targets = names_follow_targets && name_code == proto::NAME_EXPECTED;
    }
    seen_output_ = t.op == Op::kOutput;
    for (const Graph* referred : t.graphs) references_.push_back({graph, referred});
    nodes_.push_back(node);
    ++index;
  }
  if (!seen_output_) return fail("templates", "the graph has no output");
  // If all names are unique and follow from targets by one rule, the targets are unique.
  if (!names_follow_targets) RETURN_IF_ERROR(CheckTargets());
  if (!operands.AtEnd()) return fail("operands", "some are left");
  if (!suffixes.AtEnd()) return fail("suffixes", "some are left");
  if (!names.Complete()) return fail("names", "not as many as nodes");
  if (!metas.Complete()) return fail("metas", "not as many as nodes");
  if (!files.Complete()) return fail("files", "not as many as nodes");
  if (!lines.Complete()) return fail("lines", "not as many as nodes");
  if (!columns.Complete()) return fail("columns", "not as many as nodes");
  if (!module_paths.Complete()) return fail("module_paths", "not as many as nodes");
  return absl::OkStatus();
}

absl::Status GraphDecoder::CheckReferences() const {
  // Takes away graphs that no remaining graph refers to, beginning with the main graph. If all can
  // be taken away, there is no cycle.
  absl::flat_hash_map<const Graph*, std::vector<const Graph*>> callees;
  absl::flat_hash_map<const Graph*, size_t> num_callers;
  for (const auto& [caller, callee] : references_) {
    callees[caller].push_back(callee);
    ++num_callers[callee];
  }
  std::vector<const Graph*> free;
  for (const Graph* graph : module_.graphs()) {
    if (num_callers[graph] > 0) continue;
    if (graph != module_.main()) {
      return absl::InvalidArgumentError(
          absl::StrCat("graph ", Printable(graph->name()), " is never referred to"));
    }
    free.push_back(graph);
  }
  size_t taken = 0;
  while (!free.empty()) {
    const Graph* graph = free.back();
    free.pop_back();
    ++taken;
    for (const Graph* callee : callees[graph]) {
      if (--num_callers[callee] == 0) free.push_back(callee);
    }
  }
  if (taken == module_.graphs().size()) return absl::OkStatus();
  return absl::InvalidArgumentError("a graph refers to itself, directly or through others");
}

}  // namespace graphnet::proto_internal
