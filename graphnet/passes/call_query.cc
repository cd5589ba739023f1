#include "graphnet/passes/call_query.h"

#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/near_miss.h"
#include "graphnet/base/status.h"
#include "graphnet/ir/text/parser.h"
#include "graphnet/ops/callable.h"
#include "graphnet/ops/python_operator.h"
#include "graphnet/ops/schema_table.h"
#include "graphnet/passes/call_meaning.h"
#include "graphnet/passes/pattern.h"

namespace graphnet {
namespace {

// A call with more names gives no required call, since an index need not know so many meanings.
constexpr size_t kMaxRequiredNames = 100;

// Names that stand before a parenthesis in the text form without being a call.
constexpr absl::string_view kLiterals[] = {"slice", "device"};

bool IsName(char c) { return absl::ascii_isalnum(c) || c == '_'; }

// Returns whether a call has the name. A name with a dot is a spelling. Without one it is a meaning,
// of which the name may ask for more: relu_ for calls in place, rsub for reflected ones.
bool HasName(const Node& node, const CallMeaning& meaning, absl::string_view name) {
  if (absl::StartsWith(name, "."))
    return node.op() == Op::kCallMethod && node.target() == name.substr(1);
  if (!absl::StrContains(name, '.')) {
    if (LastPart(node.target()) == name) return true;
    const CallMeaning wanted = MeaningOfName(name);
    return meaning.name == wanted.name && (meaning.is_in_place || !wanted.is_in_place) &&
           (meaning.is_reflected || !wanted.is_reflected);
  }
  if (node.op() != Op::kCallFunction) return false;
  absl::string_view target = node.target();
  if (target == name) return true;
  // Compare without the overload.
  return absl::ConsumePrefix(&target, name) && absl::StartsWith(target, ".") &&
         LastPart(node.target()) == LastPart(absl::StrCat(name, ".default"));
}

// Returns the meanings of all targets for which HasName is true.
std::vector<std::string> MeaningsNamed(absl::string_view name) {
  std::vector<std::string> meanings;
  const auto add = [&meanings](const CallMeaning& meaning) {
    if (!absl::c_linear_search(meanings, meaning.name)) meanings.emplace_back(meaning.name);
  };
  if (absl::StartsWith(name, ".")) {
    add(MeaningOf(Op::kCallMethod, name.substr(1)));
  } else if (absl::StrContains(name, '.')) {
    add(MeaningOf(Op::kCallFunction, name));
    add(MeaningOf(Op::kCallFunction, absl::StrCat(name, ".default")));  // and all other overloads
  } else {
    // The last part of a target is the name of a method, an operator of Python, or any function.
    add(MeaningOfName(name));
    add(MeaningOf(Op::kCallMethod, name));
    add(MeaningOf(Op::kCallFunction, absl::StrCat("operator.", name)));
    add(MeaningOf(Op::kCallFunction, absl::StrCat("library.", name)));
  }
  return meanings;
}

// Returns the overloads of all operators, functions and methods of that name, in any spelling.
std::vector<const Schema*> OverloadsOf(absl::string_view name) {
  std::vector<const Schema*> found;
  absl::ConsumePrefix(&name, ".");
  if (absl::StrContains(name, '.')) {
    for (const Schema& schema : FindCallable(Op::kCallFunction, name).overloads)
      found.push_back(&schema);
    return found;
  }
  const CallMeaning meaning = MeaningOfName(name);
  for (const Schema& schema : FindSchemas(name)) found.push_back(&schema);
  if (meaning.name != name) {
    for (const Schema& schema : FindSchemas(meaning.name)) found.push_back(&schema);
  }
  for (const Schema& schema : AllFunctions()) {
    if (LastPart(schema.name) == name) found.push_back(&schema);
  }
  return found;
}

// Reports an error in the text that was made from a query. Its line and column belong to that text,
// so they are dropped.
absl::Status QueryError(const absl::Status& status) {
  const std::vector<absl::string_view> parts =
      absl::StrSplit(status.message(), absl::MaxSplits(": ", 1));
  return absl::InvalidArgumentError(absl::StrCat("query: ", parts.back()));
}

}  // namespace

// Reads a query. The text between calls goes unchanged to the parser of patterns.
class CallQuery::Reader {
 public:
  Reader(absl::string_view text, CallQuery* query) : text_(text), query_(*query) {}

  absl::Status Read() {
    SkipBlanks();
    if (!AtName()) return Error("expected the name of a function or method");
    ASSIGN_OR_RETURN(const size_t call, ReadCall(ReadNames(), /*depth=*/1));
    ReadType(absl::StrCat("%call_", call), /*closing=*/'\0');
    SkipBlanks();
    return at_ == text_.size() ? absl::OkStatus() : Error("expected the end");
  }

 private:
  template <typename... Parts>
  absl::Status Error(const Parts&... parts) const {
    return absl::InvalidArgumentError(
        absl::StrCat("query:", at_ + 1, ": ", absl::StrCat(parts...)));
  }
  char Next() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void SkipBlanks() {
    while (absl::ascii_isspace(Next())) ++at_;
  }
  bool AtName() const {
    const char c = Next();
    if (absl::ascii_isalpha(c) || c == '_') return true;
    return c == '.' && at_ + 1 < text_.size() && absl::ascii_isalpha(text_[at_ + 1]);
  }
  absl::string_view ReadNames() {
    const size_t begin = at_;
    while (IsName(Next()) || Next() == '.' || Next() == '|') ++at_;
    return text_.substr(begin, at_ - begin);
  }

  // Reads a call from behind its name; returns its number.
  absl::StatusOr<size_t> ReadCall(absl::string_view names, size_t depth) {
    if (depth > kMaxNesting) return Error("nested deeper than ", kMaxNesting);
    Call call;
    call.names = absl::StrSplit(names, '|');
    if (absl::c_linear_search(call.names, "")) return Error("expected a name beside |");
    SkipBlanks();
    if (Next() == '(') {
      ++at_;
      RETURN_IF_ERROR(ReadArguments(depth, &call));
    }
    query_.calls_.push_back(std::move(call));
    return query_.calls_.size() - 1;
  }

  absl::Status ReadArguments(size_t depth, Call* call) {
    for (SkipBlanks(); Next() != ')'; SkipBlanks()) {
      const size_t begin = at_;
      std::string name;
      std::optional<ArgumentCondition::Relation> relation;
      if (AtName()) {
        name = std::string(ReadNames());
        relation = ReadRelation();
      }
      if (!relation.has_value()) {
        name.clear();
        at_ = begin;
      }
      const size_t parameters = query_.parameters_.size();
      const size_t calls = query_.calls_.size();
      const size_t at = at_;
      std::string value;
      RETURN_IF_ERROR(ReadValue(depth, &value));
      if (value.empty()) return Error("expected an argument");
      const bool is_constant = query_.parameters_.size() == parameters &&
                               query_.calls_.size() == calls &&
                               !absl::StrContains(text_.substr(at, at_ - at), '%');
      if (relation.has_value()) call->keywords.push_back(name);
      if (relation.has_value() && is_constant) {
        RETURN_IF_ERROR(AddCondition(name, *relation, value, call));
      } else if (relation.value_or(ArgumentCondition::Relation::kEqual) !=
                 ArgumentCondition::Relation::kEqual) {
        at_ = at;
        return Error("expected a constant to compare ", name, " with");
      } else {
        absl::StrAppend(&call->arguments, call->arguments.empty() ? "" : ", ", name,
                        name.empty() ? "" : " = ", value);
      }
      SkipBlanks();
      if (Next() == ',') {
        ++at_;
      } else if (Next() != ')') {
        return Error("expected )");
      }
    }
    ++at_;
    return absl::OkStatus();
  }

  std::optional<ArgumentCondition::Relation> ReadRelation() {
    using Relation = ArgumentCondition::Relation;
    // A sign that begins with another one must come before it.
    static constexpr std::pair<absl::string_view, Relation> kRelations[] = {
        {"!=", Relation::kNotEqual}, {"<=", Relation::kLessEqual}, {">=", Relation::kGreaterEqual},
        {"==", Relation::kEqual},    {"<", Relation::kLess},       {">", Relation::kGreater},
        {"=", Relation::kEqual},     {"in ", Relation::kIn},       {"in[", Relation::kIn},
        {"in(", Relation::kIn}};
    SkipBlanks();
    for (const auto& [sign, relation] : kRelations) {
      if (!absl::StartsWith(text_.substr(at_), sign)) continue;
      at_ += relation == Relation::kIn ? 2 : sign.size();
      return relation;
    }
    return std::nullopt;
  }

  absl::Status AddCondition(const std::string& name, ArgumentCondition::Relation relation,
                            const std::string& value, Call* call) {
    absl::StatusOr<std::unique_ptr<Module>> module = ParseModule(
        absl::StrCat("graph @value() {\n  %v = torch.any(", value, ")\n  return %v\n}\n"), "query");
    if (!module.ok()) {
      return QueryError(module.status());
    }
    const Node* const holder = (*module)->main()->first();
    if (!holder->is_call() || holder->args().size() != 1 || !holder->kwargs().empty())
      return Error("expected a constant for ", name);
    call->conditions.push_back({name, relation, holder->args()[0]});
    query_.values_.push_back(*std::move(module));
    return absl::OkStatus();
  }

  // Reads ": f32[*, 64]" behind a value.
  void ReadType(const std::string& value, char closing) {
    const size_t behind = at_;
    SkipBlanks();
    if (Next() != ':') {
      at_ = behind;
      return;
    }
    const size_t begin = ++at_;
    int open = 0;
    while (at_ < text_.size()) {
      const char c = Next();
      if (open == 0 && (c == ',' || c == closing)) break;
      open += c == '[' ? 1 : c == ']' ? -1 : 0;
      ++at_;
    }
    query_.types_.push_back(absl::StrCat(value, ":", text_.substr(begin, at_ - begin)));
  }

  // Reads an argument, up to the comma or parenthesis behind it.
  absl::Status ReadValue(size_t depth, std::string* out) {
    SkipBlanks();
    while (Next() != ',' && Next() != ')') {
      const size_t before = query_.calls_.size();
      const bool is_value = Next() == '%' || Next() == '?';
      RETURN_IF_ERROR(ReadPart(')', depth, out));
      if (is_value || query_.calls_.size() != before) ReadType(*out, ')');
    }
    return absl::OkStatus();
  }

  // Reads up to the closing bracket, which it leaves.
  absl::Status ReadUntil(char closing, size_t depth, std::string* out) {
    if (depth > kMaxNesting) return Error("nested deeper than ", kMaxNesting);
    for (SkipBlanks(); Next() != closing;) RETURN_IF_ERROR(ReadPart(closing, depth, out));
    ++at_;
    return absl::OkStatus();
  }

  // Reads a word, a number, a string, a value, a bracket with its contents, or a sign.
  absl::Status ReadPart(char closing, size_t depth, std::string* out) {
    const char c = Next();
    if (c == '\0') return Error("expected ", std::string(1, closing));
    if (c == '"') {
      const size_t begin = at_++;
      while (Next() != '"' && at_ < text_.size()) at_ += Next() == '\\' ? 2 : 1;
      if (at_ >= text_.size()) return Error("the text does not end");
      ++at_;
      absl::StrAppend(out, text_.substr(begin, at_ - begin));
    } else if (c == '%') {
      const size_t begin = at_++;
      while (IsName(Next())) ++at_;
      AppendParameter(text_.substr(begin, at_ - begin), out);
    } else if (c == '?') {
      ++at_;
      absl::StrAppend(out, "%any_", query_.parameters_.size());
      query_.parameters_.push_back(absl::StrCat("%any_", query_.parameters_.size(), " as any"));
    } else if (AtName()) {
      const absl::string_view names = ReadNames();
      SkipBlanks();
      if (Next() != '(' || absl::c_linear_search(kLiterals, names)) {
        absl::StrAppend(out, names);
      } else {
        ASSIGN_OR_RETURN(const size_t inner, ReadCall(names, depth + 1));
        absl::StrAppend(out, "%call_", inner);
      }
    } else if (c == '(' || c == '[' || c == '{') {
      out->push_back(c);
      ++at_;
      const char closes = c == '(' ? ')' : c == '[' ? ']' : '}';
      RETURN_IF_ERROR(ReadUntil(closes, depth + 1, out));
      out->push_back(closes);
    } else if (absl::ascii_iscntrl(c) || c == '\n') {
      return Error("a line of a query is all there is of it");
    } else {
      // Reads a number with its dot and exponent, so that these are not taken for names.
      const size_t begin = at_++;
      if (absl::ascii_isdigit(c)) {
        while (IsName(Next()) || Next() == '.') ++at_;
      }
      absl::StrAppend(out, text_.substr(begin, at_ - begin));
    }
    return absl::OkStatus();
  }

  void AppendParameter(absl::string_view said, std::string* out) {
    std::string name =
        said == "%" ? absl::StrCat("%value_", query_.parameters_.size()) : std::string(said);
    absl::StrAppend(out, name);
    if (!absl::c_linear_search(query_.parameters_, name))
      query_.parameters_.push_back(std::move(name));
  }

  const absl::string_view text_;
  size_t at_ = 0;
  CallQuery& query_;
};

std::vector<std::string> CallQuery::Doubts(bool names) const {
  std::vector<std::string> doubts;
  for (const Call& call : calls_) {
    for (const std::string& name : call.names) {
      const std::vector<const Schema*> overloads = OverloadsOf(name);
      if (overloads.empty()) {
        // Python's own operators, such as getitem, have no overloads.
        if (FindPythonOperator(name) != nullptr) continue;
        // An operator of a library may have any name.
        if (!names || absl::StrContains(name, '.')) continue;
        const std::vector<std::string> near = NearMisses(name);
        doubts.push_back(
            absl::StrCat("PyTorch has nothing that is called ", name,
                         near.empty() ? "" : absl::StrCat("; did you mean ", near[0], "?")));
        continue;
      }
      for (const std::string& keyword : call.keywords) {
        std::vector<absl::string_view> known;
        for (const Schema* schema : overloads) {
          for (const SchemaArgument& argument : schema->arguments) known.push_back(argument.name);
        }
        if (!absl::c_linear_search(known, keyword))
          doubts.push_back(absl::StrCat(name, " takes no ", keyword, NearMissHint(keyword, known)));
      }
    }
  }
  return doubts;
}

absl::StatusOr<CallQuery> CallQuery::Parse(absl::string_view text) {
  CallQuery query;
  RETURN_IF_ERROR(Reader(text, &query).Read());
  // The arguments can be checked without the real targets.
  const std::vector<std::string> targets(query.calls_.size(), "torch.any");
  if (const absl::Status status = query.PatternOf(targets).status(); !status.ok()) {
    return QueryError(status);
  }
  return query;
}

absl::StatusOr<RewriteRule> CallQuery::PatternOf(const std::vector<std::string>& targets) const {
  std::string parameters = absl::StrJoin(parameters_, ", ");
  std::string calls;
  for (size_t i = 0; i < calls_.size(); ++i) {
    // The call may have further arguments, but none between those that are given by position.
    std::string rest = absl::StrCat("**%rest_", i);
    absl::StrAppend(&parameters, parameters.empty() ? "" : ", ", "%rest_", i, " as keywords");
    if (calls_[i].arguments.empty()) {
      absl::StrAppend(&parameters, ", %more_", i, " as variadic");
      rest = absl::StrCat("*%more_", i, ", ", rest);
    }
    absl::StrAppend(&calls, "  %call_", i, " = ", targets[i], "(", calls_[i].arguments,
                    calls_[i].arguments.empty() ? "" : ", ", rest, ")\n");
  }
  ASSIGN_OR_RETURN(RewriteRule rule,
                   ParsePattern(absl::StrCat("graph @pattern(", parameters, ") {\n", calls,
                                             "  return %call_", calls_.size() - 1, "\n}\n"),
                                "query", types_));
  rule.is_query = true;
  for (size_t i = 0; i < calls_.size(); ++i) {
    const Node* const node = rule.pattern->FindNode(absl::StrCat("call_", i));
    const auto asks_for_order = [](absl::string_view name) {
      return absl::StrContains(name, '.') || MeaningOfName(name).is_reflected;
    };
    if (!absl::c_any_of(calls_[i].names, asks_for_order)) rule.turning.insert(node);
    for (const Condition& condition : calls_[i].conditions)
      rule.arguments.push_back({node, condition.name, condition.relation, condition.value});
  }
  return rule;
}

CallQuery::Requirements CallQuery::Required() const {
  Requirements required;
  // Parse has checked that this pattern is right.
  const absl::StatusOr<RewriteRule> rule =
      PatternOf(std::vector<std::string>(calls_.size(), "torch.any"));
  if (!rule.ok()) return required;
  absl::flat_hash_map<const Node*, size_t> places;
  for (size_t i = 0; i < calls_.size(); ++i) {
    RequiredCall& call = required.calls.emplace_back();
    for (const std::string& name : calls_[i].names) {
      if (calls_[i].names.size() > kMaxRequiredNames) break;
      for (std::string& meaning : MeaningsNamed(name)) {
        if (!absl::c_linear_search(call.meanings, meaning))
          call.meanings.push_back(std::move(meaning));
      }
    }
    call.conditions = calls_[i].conditions;
    const Node* const node = rule->pattern->FindNode(absl::StrCat("call_", i));
    node->ForEachOperand([&](const Node* operand) {
      if (const auto it = places.find(operand); it != places.end())
        call.operands.push_back(it->second);
    });
    places[node] = i;
  }
  required.types = rule->types;
  for (TypeCondition& type : required.types) type.value = nullptr;
  return required;
}

absl::StatusOr<std::vector<Node*>> CallQuery::Find(Module* module) const {
  ASSIGN_OR_RETURN(const std::vector<std::vector<Node*>> matches, FindWhole(module));
  std::vector<Node*> calls;
  for (const std::vector<Node*>& match : matches) calls.push_back(match[0]);
  return calls;
}

absl::StatusOr<std::vector<std::vector<Node*>>> CallQuery::FindWhole(Module* module) const {
  std::vector<std::vector<std::string>> found(calls_.size());
  absl::flat_hash_set<std::pair<Op, absl::string_view>> seen;
  for (Graph* graph : module->graphs()) {
    for (Node* node : graph->nodes()) {
      if (node->op() != Op::kCallFunction && node->op() != Op::kCallMethod) continue;
      if (!seen.insert({node->op(), node->target()}).second) continue;
      const CallMeaning meaning = MeaningOf(node->op(), node->target());
      for (size_t i = 0; i < calls_.size(); ++i) {
        const auto is_named = [&](absl::string_view name) { return HasName(*node, meaning, name); };
        if (!absl::c_any_of(calls_[i].names, is_named)) continue;
        found[i].push_back(absl::StrCat(node->op() == Op::kCallMethod ? "." : "", node->target()));
      }
    }
  }
  std::vector<std::vector<Node*>> matches;
  std::vector<std::string> targets;
  for (const std::vector<std::string>& any : found) {
    if (any.empty()) return matches;
    targets.push_back(absl::StrJoin(any, "|"));
  }
  ASSIGN_OR_RETURN(const RewriteRule pattern, PatternOf(targets));
  for (Graph* graph : module->graphs()) {
    for (PatternMatch& match : FindOccurrences(pattern, graph))
      matches.push_back(std::move(match.nodes));
  }
  return matches;
}

}  // namespace graphnet
