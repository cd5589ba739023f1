#include "graphnet/ir/text/equality.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/ir/text/value_printer.h"

namespace graphnet {
namespace {

using text_internal::ValuePrinter;

// Returns what `print` prints in the text form.
std::string Text(absl::FunctionRef<void(ValuePrinter&)> print) {
  std::string out;
  ValuePrinter printer(&out);
  print(printer);
  return out;
}
std::string Text(const Argument& argument) {
  return Text([&](ValuePrinter& printer) { printer.Value(argument); });
}
std::string Text(const ValueMeta* meta) {
  return Text([&](ValuePrinter& printer) { printer.Meta(meta); });
}
std::string Text(const TensorMeta* meta) {
  const ValueMeta value = {.tensor = meta};
  return Text(&value);
}
std::string Text(const DrawSpec* spec) {
  return spec == nullptr ? "none" : Text([&](ValuePrinter& printer) { printer.Draw(*spec); });
}
std::string Text(const SymExpr& expr) {
  return Text([&](ValuePrinter& printer) { printer.Expr(expr); });
}
std::string Text(const SourceLocation& location) {
  return absl::StrCat(location.file, ":", location.line, ":", location.column);
}

// Returns the name of a field in which two metas differ.
absl::string_view FieldOf(const TensorMeta* a, const TensorMeta* b) {
  if (a == nullptr || b == nullptr) return "meta";
  if (a->dtype != b->dtype) return "dtype";
  return a->has_shape != b->has_shape || a->shape != b->shape ? "shape" : "device";
}
absl::string_view FieldOf(const ValueMeta* a, const ValueMeta* b) {
  return a == nullptr || b == nullptr ? "meta" : FieldOf(a->tensor, b->tensor);
}

// Cuts most of the common start of two long texts, so that a message shows where they differ.
void CutCommonStart(absl::string_view* a, absl::string_view* b) {
  constexpr size_t kShort = 150;  // A shorter text fits in a message.
  constexpr size_t kKept = 20;
  if (a->size() < kShort && b->size() < kShort) return;
  size_t same = 0;
  while (same < a->size() && same < b->size() && (*a)[same] == (*b)[same]) ++same;
  if (same <= kKept) return;
  a->remove_prefix(same - kKept);
  b->remove_prefix(same - kKept);
}

absl::Status Differ(absl::string_view where, absl::string_view what, absl::string_view a,
                    absl::string_view b) {
  const size_t size = a.size();
  CutCommonStart(&a, &b);
  const absl::string_view cut = a.size() < size ? "..." : "";
  return absl::FailedPreconditionError(absl::StrCat(where, where.empty() ? "" : ": ", what,
                                                    " differs: ", cut, Printable(a), " against ",
                                                    cut, Printable(b)));
}

}  // namespace

bool NodeComparison::Pair(const Graph* a, const Graph* b) {
  const auto [it, inserted] = graphs_.try_emplace(a, b);
  if (!inserted) return it->second == b;
  queue_.push_back({a, b});
  return partners_.insert(b).second;
}

absl::Status NodeComparison::CompareBodies() {
  for (; compared_ < queue_.size(); ++compared_) {
    RETURN_IF_ERROR(CompareGraphs(*queue_[compared_].first, *queue_[compared_].second));
  }
  return absl::OkStatus();
}

absl::Status NodeComparison::Compare(const Node& a, const Node& b, bool name) {
  Map(&a, &b);
  return CompareFields(a, b, name);
}

absl::Status NodeComparison::CompareGraphs(const Graph& a, const Graph& b) {
  const std::string graph = absl::StrCat("graph ", Printable(a.name()));
  if (options_.names && a.name() != b.name()) return Differ("", "graph name", a.name(), b.name());
  if (a.num_nodes() != b.num_nodes()) {
    return Differ(graph, "number of nodes", absl::StrCat(a.num_nodes()),
                  absl::StrCat(b.num_nodes()));
  }
  nodes_.clear();
  nodes_.reserve(a.num_nodes());
  Node* y = b.first();
  for (Node* x : a.nodes()) {
    RETURN_IF_ERROR(Compare(*x, *y));
    y = y->next();
  }
  return absl::OkStatus();
}

absl::Status NodeComparison::CompareFields(const Node& x, const Node& y, bool name) {
  const auto differ = [&](absl::string_view what, absl::string_view p, absl::string_view q) {
    return Differ(
        absl::StrCat("graph ", Printable(x.graph()->name()), ", node ", Printable(x.name())), what,
        p, q);
  };
  if (x.op() != y.op()) return differ("op", OpName(x.op()), OpName(y.op()));
  const bool target_is_label = x.is_placeholder() || x.op() == Op::kGetAttr;
  if (x.target() != y.target() && (!target_is_label || options_.attribute_names)) {
    return differ("target", x.target(), y.target());
  }
  // Nothing refers to an output by its name, and no text holds it.
  if (name && options_.names && !x.is_output() && x.name() != y.name())
    return differ("name", x.name(), y.name());
  if (x.args().size() != y.args().size()) {
    return differ("number of arguments", absl::StrCat(x.args().size()),
                  absl::StrCat(y.args().size()));
  }
  for (size_t i = 0; i < x.args().size(); ++i) {
    if (!Same(x.args()[i], y.args()[i])) {
      return differ(absl::StrCat("argument ", i), Text(x.args()[i]), Text(y.args()[i]));
    }
  }
  if (x.kwargs().size() != y.kwargs().size()) {
    return differ("number of keyword arguments", absl::StrCat(x.kwargs().size()),
                  absl::StrCat(y.kwargs().size()));
  }
  for (size_t i = 0; i < x.kwargs().size(); ++i) {
    const KwArg& p = x.kwargs()[i];
    const KwArg& q = y.kwargs()[i];
    if (p.name != q.name) return differ("keyword", p.name, q.name);
    if (!Same(p.value, q.value)) {
      return differ(absl::StrCat("keyword argument ", Printable(p.name)), Text(p.value),
                    Text(q.value));
    }
  }
  if (options_.metas) {
    if (!EqualPointees(x.meta(), y.meta())) {
      return differ(FieldOf(x.meta(), y.meta()), Text(x.meta()), Text(y.meta()));
    }
    if (x.annotation() != y.annotation()) {
      return differ("annotation", x.annotation(), y.annotation());
    }
    if (!EqualPointees(x.draw_spec(), y.draw_spec())) {
      return differ("draw spec", Text(x.draw_spec()), Text(y.draw_spec()));
    }
  }
  if (options_.locations) {
    const SourceLocation p = x.location();
    const SourceLocation q = y.location();
    if (p.file != q.file || p.line != q.line || p.column != q.column) {
      return differ("location", Text(p), Text(q));
    }
    if (x.module_path() != y.module_path()) {
      return differ("module path", x.module_path(), y.module_path());
    }
  }
  return absl::OkStatus();
}

bool NodeComparison::Same(const Argument& a, const Argument& b) {
  if (a.kind() != b.kind()) return false;
  if (a.is_node()) {
    // Operands are defined before their users. A forward reference in a broken graph compares
    // unequal.
    const auto it = nodes_.find(b.node());
    return it != nodes_.end() && it->second == a.node();
  }
  if (a.is_graph()) return Pair(a.graph(), b.graph());
  if (a.is_aggregate()) {
    if (a.elements().size() != b.elements().size()) return false;
    for (size_t i = 0; i < a.elements().size(); ++i) {
      if (!Same(a.elements()[i], b.elements()[i])) return false;
    }
    return true;
  }
  return a == b;
}

// Compares the whole content of two modules.
class ModuleComparison {
 public:
  ModuleComparison(const Module& a, const Module& b, const EqualityOptions& options)
      : a_(a), b_(b), options_(options), nodes_(options) {}

  absl::Status Run() {
    if (a_.graphs().size() != b_.graphs().size()) {
      return Differ("", "number of graphs", absl::StrCat(a_.graphs().size()),
                    absl::StrCat(b_.graphs().size()));
    }
    if (options_.metas) RETURN_IF_ERROR(CompareSymbols());
    RETURN_IF_ERROR(CompareAttributes());
    if (a_.graphs().empty()) return absl::OkStatus();
    nodes_.Pair(a_.main(), b_.main());
    RETURN_IF_ERROR(nodes_.CompareBodies());
    // In a module that does not verify, graphs without references are paired by their order.
    size_t j = 0;
    for (const Graph* graph : a_.graphs()) {
      if (nodes_.graphs_.contains(graph)) continue;
      while (nodes_.partners_.contains(b_.graphs()[j])) ++j;
      nodes_.Pair(graph, b_.graphs()[j]);
      RETURN_IF_ERROR(nodes_.CompareBodies());
    }
    return absl::OkStatus();
  }

 private:
  absl::Status CompareSymbols() {
    if (a_.symbols().size() != b_.symbols().size()) {
      return Differ("", "number of symbols", absl::StrCat(a_.symbols().size()),
                    absl::StrCat(b_.symbols().size()));
    }
    for (size_t i = 0; i < a_.symbols().size(); ++i) {
      const Symbol& x = a_.symbols()[i];
      const Symbol& y = b_.symbols()[i];
      if (x.name != y.name) return Differ("", "symbol", x.name, y.name);
      if (x.example != y.example) {
        const auto text = [](const Symbol& symbol) {
          return symbol.example ? absl::StrCat(*symbol.example) : "none";
        };
        return Differ("", absl::StrCat("example of symbol ", Printable(x.name)), text(x), text(y));
      }
    }
    if (a_.relations().size() != b_.relations().size()) {
      return Differ("", "number of relations", absl::StrCat(a_.relations().size()),
                    absl::StrCat(b_.relations().size()));
    }
    for (size_t i = 0; i < a_.relations().size(); ++i) {
      if (!(*a_.relations()[i] == *b_.relations()[i])) {
        return Differ("", absl::StrCat("relation ", i), Text(*a_.relations()[i]),
                      Text(*b_.relations()[i]));
      }
    }
    return absl::OkStatus();
  }

  absl::Status CompareAttributes() {
    if (a_.attributes().size() != b_.attributes().size()) {
      return Differ("", "number of attributes", absl::StrCat(a_.attributes().size()),
                    absl::StrCat(b_.attributes().size()));
    }
    for (size_t i = 0; i < a_.attributes().size(); ++i) {
      const Attribute& x = a_.attributes()[i];
      const Attribute& y = b_.attributes()[i];
      if (options_.attribute_names && x.name != y.name) {
        return Differ("", "attribute", x.name, y.name);
      }
      if (!options_.metas) continue;
      const std::string where = absl::StrCat("attribute ", Printable(x.name));
      if (!EqualPointees(x.meta, y.meta)) {
        return Differ(where, FieldOf(x.meta, y.meta), Text(x.meta), Text(y.meta));
      }
      if (x.annotation != y.annotation) {
        return Differ(where, "annotation", x.annotation, y.annotation);
      }
      if (!EqualPointees(x.draw_spec, y.draw_spec)) {
        return Differ(where, "draw spec", Text(x.draw_spec), Text(y.draw_spec));
      }
    }
    return absl::OkStatus();
  }

  const Module& a_;
  const Module& b_;
  const EqualityOptions& options_;
  NodeComparison nodes_;
};

absl::Status CheckEqual(const Module& a, const Module& b, const EqualityOptions& options) {
  return ModuleComparison(a, b, options).Run();
}

absl::Status CheckEqual(const Sample& a, const Sample& b, const EqualityOptions& options) {
  const auto differ = [](absl::string_view field) {
    return absl::FailedPreconditionError(absl::StrCat("sample field ", field, " differs"));
  };
  if (a.name != b.name) return differ("name");
  if (a.graph_net_json != b.graph_net_json) return differ("graph_net_json");
  if (a.graph_hash != b.graph_hash) return differ("graph_hash");
  if (a.has_constraints != b.has_constraints) return differ("has_constraints");
  if (a.constraint_order != b.constraint_order) return differ("constraint_order");
  if (a.extra_files != b.extra_files) return differ("extra_files");
  if (a.provenance.size() != b.provenance.size()) return differ("provenance");
  for (size_t i = 0; i < a.provenance.size(); ++i) {
    const Provenance& p = a.provenance[i];
    const Provenance& q = b.provenance[i];
    if (p.parent != q.parent || p.parent_hash != q.parent_hash || p.start != q.start ||
        p.end != q.end) {
      return differ("provenance");
    }
  }
  if ((a.module == nullptr) != (b.module == nullptr)) return differ("module");
  return a.module == nullptr ? absl::OkStatus() : CheckEqual(*a.module, *b.module, options);
}

bool SameData(const TensorData& a, const TensorData& b) {
  return a.dtype == b.dtype && a.shape == b.shape &&
         (a.bytes == b.bytes || (a.bytes != nullptr && b.bytes != nullptr && *a.bytes == *b.bytes));
}

}  // namespace graphnet
