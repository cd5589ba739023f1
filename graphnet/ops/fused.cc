#include "graphnet/ops/fused.h"

#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graphnet/base/check.h"
#include "graphnet/base/status.h"
#include "graphnet/ir/text/parser.h"
#include "graphnet/ops/callable.h"
#include "graphnet/ops/schema_text.h"

namespace graphnet {
namespace {

// Reads the rules that follow an `operator` line.
class Reader {
 public:
  Reader(absl::string_view text, absl::string_view file) : text_(text), file_(file) {}

  absl::StatusOr<std::vector<FusedOperator>> Read() {
    for (absl::string_view line : absl::StrSplit(text_, '\n')) {
      ++line_;
      absl::string_view rest = line;
      if (absl::ConsumePrefix(&rest, "operator ")) {
        RETURN_IF_ERROR(FinishRule());
        FusedOperator& made = operators_.emplace_back();
        made.signature = rest;
        made.name = rest.substr(0, rest.find('('));
        for (const FusedOperator& other :
             absl::MakeConstSpan(operators_).first(operators_.size() - 1)) {
          if (other.name == made.name)
            return ErrorAt(file_, line_, 1, absl::StrCat(made.name, " is declared twice"));
        }
      } else if (absl::ConsumePrefix(&rest, "rule ")) {
        RETURN_IF_ERROR(FinishRule());
        if (operators_.empty()) return ErrorAt(file_, line_, 1, "expected operator NAME(…)");
        rule_.emplace();
        rule_->name = std::string(absl::StripAsciiWhitespace(rest));
        rule_->text = absl::StrCat(std::string(line_ - 1, '\n'), line, "\n");
        rule_line_ = line_;
        graphs_.assign(line_, '\n');
        in_graphs_ = false;
      } else {
        RETURN_IF_ERROR(TakeLine(line));
      }
    }
    RETURN_IF_ERROR(FinishRule());
    return std::move(operators_);
  }

 private:
  absl::Status TakeLine(absl::string_view line) {
    const absl::string_view word = absl::StripAsciiWhitespace(line);
    if (!rule_.has_value()) {
      if (!word.empty() && word[0] != '#')
        return ErrorAt(file_, line_, 1, "expected operator NAME(…) or rule NAME");
      if (!operators_.empty() && !word.empty()) {
        absl::StrAppend(&operators_.back().description,
                        absl::StripPrefix(absl::StripPrefix(word, "#"), " "), "\n");
      }
      return absl::OkStatus();
    }
    in_graphs_ |= absl::StartsWith(word, "graph ");
    absl::StrAppend(&rule_->text, line, "\n");
    absl::StrAppend(&graphs_, in_graphs_ ? line : "", "\n");
    return absl::OkStatus();
  }

  absl::Status FinishRule() {
    if (!rule_.has_value()) return absl::OkStatus();
    FusedRule rule = *std::move(rule_);
    rule_.reset();
    ASSIGN_OR_RETURN(rule.module, ParseModule(graphs_, file_));
    const auto error = [&](absl::string_view what) {
      return ErrorAt(file_, rule_line_, 1, absl::StrCat("rule ", rule.name, ": ", what));
    };
    rule.definition = rule.module->FindGraph("pattern");
    const Graph* const replacement = rule.module->FindGraph("replacement");
    if (rule.definition == nullptr || replacement == nullptr)
      return error("expected @pattern and @replacement");
    for (const Graph* graph : {rule.definition, replacement}) {
      if (graph->output() == nullptr || graph->output()->args().size() != 1 ||
          !graph->output()->args()[0].is_node() || !graph->output()->args()[0].node()->is_call()) {
        return error(absl::StrCat("@", graph->name(), " must return the value of a call"));
      }
    }
    rule.call = replacement->output()->args()[0].node();
    if (rule.call->target() != operators_.back().name ||
        replacement->num_nodes() != replacement->placeholders().size() + 2) {
      return error(absl::StrCat("@replacement must be one call of ", operators_.back().name));
    }
    for (const Node* parameter : replacement->placeholders()) {
      const Node* const meant = rule.definition->FindNode(parameter->name());
      if (meant == nullptr || !meant->is_placeholder())
        return error(absl::StrCat("@pattern has no parameter %", parameter->name()));
    }
    for (const Node* parameter : rule.definition->placeholders()) {
      if (replacement->FindNode(parameter->name()) == nullptr)
        return error(absl::StrCat("@replacement has no parameter %", parameter->name()));
    }
    rule.each = EachNodesOf(*rule.definition);
    operators_.back().rules.push_back(std::move(rule));
    return absl::OkStatus();
  }

  const absl::string_view text_;
  const absl::string_view file_;
  std::vector<FusedOperator> operators_;
  std::optional<FusedRule> rule_;  // the rule that is being read
  std::string graphs_;             // the text of its graphs
  size_t line_ = 0;
  size_t rule_line_ = 0;
  bool in_graphs_ = false;
};

// Matches the parameters of a rule with the arguments of a call.
class Fit {
 public:
  Fit(const FusedRule& rule, FusedCall* fused) : rule_(rule), fused_(*fused) {}

  bool Takes(const BoundCall& call) {
    const Schema& schema = call.schema();
    for (size_t i = 0; i < schema.arguments.size(); ++i) {
      const Argument* const pattern = schema.Given(*rule_.call, i);
      if (pattern == nullptr ? !schema.arguments[i].IsDefault(call[i])
                             : !TakesOne(*pattern, call[i])) {
        return false;
      }
    }
    return true;
  }

 private:
  // Returns the parameter of the definition that `pattern` stands for; null if it stands for none.
  Node* ParameterOf(const Argument& pattern) const {
    return pattern.is_node() ? rule_.definition->FindNode(pattern.node()->name()) : nullptr;
  }

  bool TakesOne(const Argument& pattern, const Argument& value) {
    if (const Node* parameter = ParameterOf(pattern)) {
      const Wildcard kind = WildcardOf(*parameter);
      if ((kind == Wildcard::kValue || kind == Wildcard::kLiteral) && value.is_none()) return false;
      return Bind(*parameter, absl::MakeConstSpan(&value, 1));
    }
    if (!pattern.is_sequence()) return pattern == value;
    return value.is_sequence() && TakesAll(pattern.elements(), value.elements());
  }

  // Matches a list. At most one of the patterns stands for several values.
  bool TakesAll(absl::Span<const Argument> patterns, absl::Span<const Argument> values) {
    const auto is_spread = [this](const Argument& pattern) {
      Node* const parameter = ParameterOf(pattern);
      return parameter != nullptr && IsSpread(parameter, rule_.each);
    };
    const auto spread = absl::c_find_if(patterns, is_spread);
    if (spread == patterns.end() ? values.size() != patterns.size()
                                 : values.size() + 1 < patterns.size()) {
      return false;
    }
    for (size_t i = 0, at = 0; i < patterns.size(); ++i) {
      if (&patterns[i] == &*spread) {
        const size_t count = values.size() - (patterns.size() - 1);
        const Node& parameter = *ParameterOf(patterns[i]);
        if (count == 0 && WildcardOf(parameter) == Wildcard::kEach) return false;
        if (!Bind(parameter, values.subspan(at, count))) return false;
        at += count;
      } else if (!TakesOne(patterns[i], values[at++])) {
        return false;
      }
    }
    return true;
  }

  bool Bind(const Node& parameter, absl::Span<const Argument> values) {
    const auto [known, is_new] = fused_.parameters.try_emplace(parameter.name(), values);
    return is_new || absl::c_equal(known->second, values);
  }

  const FusedRule& rule_;
  FusedCall& fused_;
};

}  // namespace

absl::StatusOr<std::vector<FusedOperator>> ParseFusedOperators(absl::string_view text,
                                                               absl::string_view file_name) {
  return Reader(text, file_name).Read();
}

absl::Span<const FusedOperator> FusedOperators() {
  static const auto* const operators = [] {
    absl::StatusOr<std::vector<FusedOperator>> read =
        ParseFusedOperators(FusedText(), "graphnet/ops/fused.txt");
    CHECK(read.ok());  // A test reads it.
    return new std::vector<FusedOperator>(*std::move(read));
  }();
  return *operators;
}

const FusedOperator* FindFusedOperator(absl::string_view name) {
  for (const FusedOperator& fused : FusedOperators()) {
    if (fused.name == name) return &fused;
  }
  return nullptr;
}

bool IsFused(const Schema& schema) { return absl::StartsWith(schema.name, "fused."); }

bool IsFusedCall(const Node& node) {
  const Callable callee = CalleeOf(node);
  return callee.kind == Callable::Kind::kFunction && IsFused(callee.overloads[0]);
}

absl::StatusOr<FusedCall> FindDefinition(const BoundCall& call) {
  const FusedOperator* const fused = FindFusedOperator(call.schema().name);
  CHECK(fused != nullptr);  // The caller has a call of a fused operator.
  for (size_t i = 0; i < call.schema().arguments.size(); ++i) {
    if (call[i].is_sequence() && call[i].elements().size() > kMaxFusedElements) {
      return absl::InvalidArgumentError(absl::StrCat(call.schema().arguments[i].name, " has ",
                                                     call[i].elements().size(),
                                                     " elements, more than ", kMaxFusedElements));
    }
  }
  for (const FusedRule& rule : fused->rules) {
    FusedCall made;
    made.rule = &rule;
    if (Fit(rule, &made).Takes(call)) return made;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("its arguments fit none of its forms: ",
                   absl::StrJoin(fused->rules, ", ", [](std::string* out, const FusedRule& rule) {
                     absl::StrAppend(out, rule.name);
                   })));
}

}  // namespace graphnet
