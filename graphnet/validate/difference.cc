#include "graphnet/validate/difference.h"

#include <cstddef>
#include <string>

#include "absl/strings/str_cat.h"
#include "graphnet/ir/graph.h"
#include "graphnet/text/printer.h"

namespace graphnet::validate_internal {
namespace {

constexpr size_t kMaxTextBytes = 500;

// All that a node says, uncut: equal for equal nodes of two modules.
std::string FullText(const Node& node) {
  std::string text = absl::StrCat(OpName(node.op()), "\n");
  AppendNode(node, &text);
  for (const Argument& arg : node.args()) {
    text += '\n';
    AppendArgument(arg, &text);
  }
  for (const KwArg& kwarg : node.kwargs()) {
    absl::StrAppend(&text, "\n", kwarg.name, "=");
    AppendArgument(kwarg.value, &text);
  }
  const SourceLocation at = node.location();
  absl::StrAppend(&text, "\n", node.module_path(), "\n", at.file, ":", at.line, ":", at.column);
  return text;
}

class Locator {
 public:
  Locator(const Sample& original, absl::Span<const Sample> pieces, const absl::Status& difference,
          Findings* findings)
      : original_(*original.module), pieces_(pieces), difference_(difference), findings_(findings) {}

  bool InOperators(absl::Span<const Node* const> original, absl::Span<const PieceOperator> pieces) {
    for (size_t i = 0; i < original.size() && i < pieces.size(); ++i) {
      if (CompareNodes(*original[i], *pieces[i].node, pieces[i].piece, "")) return true;
    }
    return false;
  }

  bool InOutput() {
    const int last = static_cast<int>(pieces_.size()) - 1;
    return CompareNodes(*original_.main()->output(), *pieces_[last].module->main()->output(), last, "");
  }

  bool InBodies() {
    for (size_t p = 0; p < pieces_.size(); ++p) {
      for (const Graph* body : pieces_[p].module->graphs().subspan(1)) {
        const Graph* original = original_.FindGraph(body->name());
        if (original == nullptr) continue;
        const std::string where = absl::StrCat(" of body ", Printable(body->name()));
        const Node* expected = original->first();
        const Node* found = body->first();
        for (; expected != nullptr && found != nullptr;
             expected = expected->next(), found = found->next()) {
          if (CompareNodes(*expected, *found, static_cast<int>(p), where)) return true;
        }
      }
    }
    return false;
  }

  bool InTables() {
    for (size_t p = 0; p < pieces_.size(); ++p) {
      for (const Symbol& symbol : pieces_[p].module->symbols()) {
        const Symbol* expected = original_.FindSymbol(symbol.name);
        if (expected != nullptr && expected->example == symbol.example) continue;
        Add(p, symbol.name, absl::StrCat("symbol ", Printable(symbol.name), " is not the original's"));
        return true;
      }
      for (const Attribute& attribute : pieces_[p].module->attributes()) {
        const Attribute* expected = original_.FindAttribute(attribute.name);
        if (expected != nullptr && Same(expected->meta, attribute.meta) &&
            expected->annotation == attribute.annotation &&
            Same(expected->draw_spec, attribute.draw_spec)) {
          continue;
        }
        Add(p, attribute.name,
            absl::StrCat("attribute ", Printable(attribute.name), " is not the original's"));
        return true;
      }
    }
    return false;
  }

  void Anywhere() { findings_->Add(ErrorClass::kGraph, -1, "", std::string(difference_.message())); }

 private:
  template <typename T>
  static bool Same(const T* a, const T* b) {
    return a == b || (a != nullptr && b != nullptr && *a == *b);
  }

  bool CompareNodes(const Node& expected, const Node& found, int piece, absl::string_view where) {
    if (FullText(expected) == FullText(found)) return false;
    const std::string a = PrintNode(expected);
    const std::string b = PrintNode(found);
    Add(static_cast<size_t>(piece), found.name(),
        a == b ? absl::StrCat(ValueName(found.name()), where, ": ", difference_.message())
               : absl::StrCat(ValueName(found.name()), where, " is '", Printable(b, kMaxTextBytes),
                              "', in the original '", Printable(a, kMaxTextBytes), "'"));
    return true;
  }

  void Add(size_t piece, absl::string_view where, std::string message) {
    findings_->Add(ErrorClass::kGraph, static_cast<int>(piece), where, std::move(message));
  }

  const Module& original_;
  absl::Span<const Sample> pieces_;
  const absl::Status& difference_;
  Findings* findings_;
};

}  // namespace

void ReportDifference(const Sample& original, absl::Span<const Sample> pieces,
                      absl::Span<const Node* const> original_operators,
                      absl::Span<const PieceOperator> piece_operators,
                      const absl::Status& difference, Findings* findings) {
  Locator locator(original, pieces, difference, findings);
  if (locator.InOperators(original_operators, piece_operators)) return;
  if (locator.InBodies() || locator.InOutput() || locator.InTables()) return;
  locator.Anywhere();
}

}  // namespace graphnet::validate_internal
