#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/decompose/regions.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/validate/meaning.h"
#include "graphnet/validate/structure_checks.h"

namespace graphnet::validate_internal {
namespace {

constexpr size_t kMaxTextBytes = 500;

class Composition {
 public:
  using Inputs = absl::flat_hash_map<absl::string_view, const Node*>;

  Composition(const Sample& original, const Inputs& inputs, absl::Span<const Sample> pieces,
              Style style, const EqualityOptions& equality, bool by_meaning,
              ValidationReport* report)
      : original_(*original.module),
        inputs_(inputs),
        pieces_(pieces),
        chain_(style == Style::kChain),
        equality_(equality),
        by_meaning_(by_meaning),
        report_(report) {}

  void Run() {
    for (const Node* node : original_.main()->nodes()) {
      if (node->op() == Op::kGetAttr) reads_.try_emplace(node->name(), node);
    }
    next_ = original_.main()->first();
    while (!IsWalked(*next_)) next_ = next_->next();
    for (size_t i = 0; i < pieces_.size(); ++i) Walk(i);
    if (equality_.metas) CheckSymbols();
    CheckAttributes();
  }

 private:
  void Add(size_t piece, absl::string_view where, std::string message) {
    report_->Add(ErrorClass::kGraph, static_cast<int>(piece), where, std::move(message));
  }

  void Walk(size_t i) {
    NodeComparison nodes(equality_);
    nodes.Reserve(pieces_[i].module->main()->num_nodes());
    const bool last = i + 1 == pieces_.size();
    size_t port = 0;
    for (const Node* node : pieces_[i].module->main()->nodes()) {
      if (node->is_placeholder()) {
        Bind(i, port++, *node, &nodes);
      } else if (node->op() == Op::kGetAttr) {
        CompareRead(i, *node, &nodes);
      } else if (!node->is_output()) {
        const absl::Status difference = nodes.Compare(*next_, *node);
        if (difference.ok() || !by_meaning_ || !ReadAsEqual(*next_, *node, nodes))
          Report(i, *next_, *node, difference);
        do next_ = next_->next();
        while (!IsWalked(*next_));
      } else if (last) {
        // An output's name is not compared: nothing can refer to it, and a folder does not keep it.
        Report(i, *next_, *node, nodes.Compare(*next_, *node, /*name=*/false));
      } else {
        Return(i, *node, nodes);
      }
    }
    if (const absl::Status status = nodes.CompareBodies(); !status.ok())
      Add(i, "", std::string(status.message()));
  }

  // True for operators and the output, which come in the order of the original.
  static bool IsWalked(const Node& node) { return IsOperator(node) || node.is_output(); }

  // Compares a get_attr. Each piece that uses an attribute has one of its own.
  void CompareRead(size_t i, const Node& node, NodeComparison* nodes) {
    const auto read = reads_.find(node.name());
    if (read == reads_.end()) {
      return Add(i, node.name(),
                 absl::StrCat(ValueName(node.name()), " is not a get_attr of the original"));
    }
    Report(i, *read->second, node, nodes->Compare(*read->second, node));
  }

  // Returns whether the call of a piece means what the original's does. If it does, the report says
  // so.
  bool ReadAsEqual(const Node& expected, const Node& found, const NodeComparison& nodes) {
    if (!MeansTheSame(expected, found,
                      [&](const Node* operand) { return nodes.MappedTo(operand); }))
      return false;
    if (expected.target() != found.target() || expected.op() != found.op()) {
      report_->ReadAsEqual("call", expected.target(), found.target());
    } else {
      report_->ReadAsEqual("arguments", TextOfCall(expected), TextOfCall(found));
    }
    return true;
  }

  static std::string TextOfCall(const Node& node) {
    return Printable(PrintNode(node), kMaxTextBytes);
  }

  void Bind(size_t i, size_t port, const Node& node, NodeComparison* nodes) {
    const bool by_position = chain_ && i > 0;
    const Node* value = nullptr;
    if (by_position) {
      value = port < returned_.size() ? returned_[port] : nullptr;
    } else if (const auto it = values_.find(node.name()); it != values_.end()) {
      value = it->second;
    } else if (const auto input = inputs_.find(node.name()); input != inputs_.end()) {
      value = input->second;
    }
    if (value == nullptr)
      return Add(i, node.name(),
                 absl::StrCat(ValueName(node.name()), " is not a value of the original"));
    nodes->Map(value, &node);
    if (by_position || !value->is_placeholder()) return;
    EqualityOptions equality = equality_;
    equality.metas &= !IsSaidLater(*value);  // E4 has compared them
    Report(i, *value, node, NodeComparison(equality).Compare(*value, node));
  }

  void Return(size_t i, const Node& output, const NodeComparison& nodes) {
    returned_.clear();
    const Argument& value = output.args()[0];
    if (!value.is_tuple()) return Add(i, output.name(), "does not return a tuple");
    for (const Argument& element : value.elements()) {
      if (!element.is_node()) {
        Add(i, output.name(),
            absl::StrCat("returns something other than a value at position ", returned_.size()));
        returned_.push_back(nullptr);
        continue;
      }
      returned_.push_back(nodes.MappedTo(element.node()));
      if (!chain_) values_[element.node()->name()] = returned_.back();
    }
  }

  void Report(size_t i, const Node& expected, const Node& found, const absl::Status& difference) {
    if (difference.ok()) return;
    const std::string a = PrintNode(expected);
    const std::string b = PrintNode(found);
    const std::string name = ValueName(found.name());
    Add(i, found.name(),
        a == b ? absl::StrCat(name, ": ", difference.message())
               : absl::StrCat(name, " is '", Printable(b, kMaxTextBytes), "', in the original '",
                              Printable(a, kMaxTextBytes), "'"));
  }

  // The pieces together declare what the original declares, and no more. A symbol that the original
  // lacks or has no example of is a size that depends on data; it has the same example in all
  // pieces.
  void CheckSymbols() {
    absl::flat_hash_set<absl::string_view> symbols;
    absl::flat_hash_map<absl::string_view, std::optional<int64_t>> of_data;
    absl::flat_hash_set<std::string> relations;
    absl::flat_hash_set<std::string> expected;
    for (const SymExpr* relation : original_.relations()) expected.insert(PrintSymExpr(*relation));
    for (size_t i = 0; i < pieces_.size(); ++i) {
      for (const Symbol& symbol : pieces_[i].module->symbols()) {
        symbols.insert(symbol.name);
        const Symbol* other = original_.FindSymbol(symbol.name);
        const std::optional<int64_t> example =
            other != nullptr && other->example.has_value()
                ? other->example
                : of_data.try_emplace(symbol.name, symbol.example).first->second;
        if (example == symbol.example) continue;
        Add(i, symbol.name,
            absl::StrCat("symbol ", Printable(symbol.name), " is not the original's"));
      }
      for (const SymExpr* relation : pieces_[i].module->relations()) {
        std::string text = PrintSymExpr(*relation);
        if (!expected.contains(text)) {
          Add(i, text, absl::StrCat("relation ", Printable(text), " is not the original's"));
        }
        relations.insert(std::move(text));
      }
    }
    for (const Symbol& symbol : original_.symbols()) {
      if (symbols.contains(symbol.name)) continue;
      report_->Add(ErrorClass::kGraph, -1, symbol.name,
                   absl::StrCat("no piece has the original's symbol ", Printable(symbol.name)));
    }
    for (const SymExpr* expression : original_.relations()) {
      const std::string relation = PrintSymExpr(*expression);
      if (!relations.insert(relation).second) continue;
      report_->Add(ErrorClass::kGraph, -1, relation,
                   absl::StrCat("no piece has the original's relation ", Printable(relation)));
    }
  }

  void CheckAttributes() {
    absl::flat_hash_set<absl::string_view> present;
    for (size_t i = 0; i < pieces_.size(); ++i) {
      for (const Attribute& attribute : pieces_[i].module->attributes()) {
        present.insert(attribute.name);
        const Attribute* other = original_.FindAttribute(attribute.name);
        const bool same =
            other != nullptr &&
            (!equality_.metas || (EqualPointees(other->meta, attribute.meta) &&
                                  other->annotation == attribute.annotation &&
                                  EqualPointees(other->draw_spec, attribute.draw_spec)));
        if (same) continue;
        Add(i, attribute.name,
            absl::StrCat("attribute ", Printable(attribute.name), " is not the original's"));
      }
    }
    for (const Attribute& attribute : original_.attributes()) {
      if (present.contains(attribute.name)) continue;
      report_->Add(
          ErrorClass::kGraph, -1, attribute.name,
          absl::StrCat("no piece has the original's attribute ", Printable(attribute.name)));
    }
  }

  const Module& original_;
  const Inputs& inputs_;
  const absl::Span<const Sample> pieces_;
  const bool chain_;
  const EqualityOptions& equality_;
  const bool by_meaning_;
  ValidationReport* report_;
  const Node* next_ = nullptr;                                 // of the original
  absl::flat_hash_map<absl::string_view, const Node*> reads_;  // its get_attrs, by name
  // The values of the original that pieces return: by name for all pieces, by position for the
  // piece before.
  absl::flat_hash_map<absl::string_view, const Node*> values_;
  std::vector<const Node*> returned_;
};

}  // namespace

void CheckComposition(const Sample& original,
                      const absl::flat_hash_map<absl::string_view, const Node*>& inputs,
                      absl::Span<const Sample> pieces, Style style, const EqualityOptions& equality,
                      bool by_meaning, ValidationReport* report) {
  Composition(original, inputs, pieces, style, equality, by_meaning, report).Run();
}

}  // namespace graphnet::validate_internal
