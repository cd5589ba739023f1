#include "graphnet/passes/call_query.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/passes/pattern.h"

namespace graphnet {
namespace {

// What stands in the text form before a parenthesis without being a call.
constexpr absl::string_view kLiterals[] = {"slice", "device"};

bool IsName(char c) { return absl::ascii_isalnum(c) || c == '_'; }

// "relu" of "torch.relu", "torch.ops.aten.relu.default" and the method relu.
absl::string_view LastName(absl::string_view target) {
  const std::vector<absl::string_view> parts = absl::StrSplit(target, '.');
  const bool has_overload = (parts[0] == "aten" && parts.size() == 3) ||
                            (absl::StartsWith(target, "torch.ops.") && parts.size() == 5);
  return parts[parts.size() - (has_overload ? 2 : 1)];
}

bool HasName(const Node& node, absl::string_view name) {
  if (absl::StartsWith(name, "."))
    return node.op() == Op::kCallMethod && node.target() == name.substr(1);
  if (!absl::StrContains(name, '.')) return LastName(node.target()) == name;
  if (node.op() != Op::kCallFunction) return false;
  absl::string_view target = node.target();
  if (target == name) return true;
  // Without its overload.
  return absl::ConsumePrefix(&target, name) && absl::StartsWith(target, ".") &&
         LastName(node.target()) == LastName(absl::StrCat(name, ".default"));
}

}  // namespace

// Reads a query; what stands between calls goes as it is to the parser of patterns.
class CallQuery::Reader {
 public:
  Reader(absl::string_view text, CallQuery* query) : text_(text), query_(*query) {}

  absl::Status Read() {
    SkipBlanks();
    if (!AtName()) return Error("expected the name of a function or method");
    RETURN_IF_ERROR(ReadCall(ReadNames(), /*depth=*/1).status());
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

  // Behind its name; yields its number.
  absl::StatusOr<size_t> ReadCall(absl::string_view names, size_t depth) {
    if (depth > kMaxNesting) return Error("nested deeper than ", kMaxNesting);
    Call call;
    call.names = absl::StrSplit(names, '|');
    if (absl::c_linear_search(call.names, "")) return Error("expected a name beside |");
    SkipBlanks();
    if (Next() == '(') {
      ++at_;
      RETURN_IF_ERROR(ReadUntil(')', depth, &call.arguments));
    }
    query_.calls_.push_back(std::move(call));
    return query_.calls_.size() - 1;
  }

  // Up to the bracket that closes, which is not part of it.
  absl::Status ReadUntil(char closing, size_t depth, std::string* out) {
    if (depth > kMaxNesting) return Error("nested deeper than ", kMaxNesting);
    for (SkipBlanks(); Next() != closing;) {
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
        // A number with its dot and exponent, so that these are no names.
        const size_t begin = at_++;
        if (absl::ascii_isdigit(c)) {
          while (IsName(Next()) || Next() == '.') ++at_;
        }
        absl::StrAppend(out, text_.substr(begin, at_ - begin));
      }
    }
    ++at_;
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

absl::StatusOr<CallQuery> CallQuery::Parse(absl::string_view text) {
  CallQuery query;
  RETURN_IF_ERROR(Reader(text, &query).Read());
  // Whether arguments are in the text form does not depend on what is called.
  const std::vector<std::string> targets(query.calls_.size(), "torch.any");
  if (const absl::Status status = query.PatternOf(targets).status(); !status.ok()) {
    // Line and column are of what was made of it.
    const std::vector<absl::string_view> parts =
        absl::StrSplit(status.message(), absl::MaxSplits(": ", 1));
    return absl::InvalidArgumentError(absl::StrCat("query: ", parts.back()));
  }
  return query;
}

absl::StatusOr<RewriteRule> CallQuery::PatternOf(const std::vector<std::string>& targets) const {
  std::string parameters = absl::StrJoin(parameters_, ", ");
  std::string calls;
  for (size_t i = 0; i < calls_.size(); ++i) {
    // Whatever else it has: of what is said by position nothing is left out in between.
    std::string rest = absl::StrCat("**%rest_", i);
    absl::StrAppend(&parameters, parameters.empty() ? "" : ", ", "%rest_", i, " as keywords");
    if (calls_[i].arguments.empty()) {
      absl::StrAppend(&parameters, ", %more_", i, " as variadic");
      rest = absl::StrCat("*%more_", i, ", ", rest);
    }
    absl::StrAppend(&calls, "  %call_", i, " = ", targets[i], "(", calls_[i].arguments,
                    calls_[i].arguments.empty() ? "" : ", ", rest, ")\n");
  }
  return ParsePattern(absl::StrCat("graph @pattern(", parameters, ") {\n", calls, "  return %call_",
                                   calls_.size() - 1, "\n}\n"),
                      "query");
}

absl::StatusOr<std::vector<Node*>> CallQuery::Find(Module* module) const {
  std::vector<std::vector<std::string>> found(calls_.size());
  for (Graph* graph : module->graphs()) {
    for (Node* node : graph->nodes()) {
      if (node->op() != Op::kCallFunction && node->op() != Op::kCallMethod) continue;
      for (size_t i = 0; i < calls_.size(); ++i) {
        const auto is_named = [node](absl::string_view name) { return HasName(*node, name); };
        if (!absl::c_any_of(calls_[i].names, is_named)) continue;
        std::string target = absl::StrCat(node->op() == Op::kCallMethod ? "." : "", node->target());
        if (!absl::c_linear_search(found[i], target)) found[i].push_back(std::move(target));
      }
    }
  }
  std::vector<Node*> calls;
  std::vector<std::string> targets;
  for (const std::vector<std::string>& any : found) {
    if (any.empty()) return calls;
    targets.push_back(absl::StrJoin(any, "|"));
  }
  ASSIGN_OR_RETURN(const RewriteRule pattern, PatternOf(targets));
  for (Graph* graph : module->graphs()) {
    for (const PatternMatch& match : FindOccurrences(pattern, graph))
      calls.push_back(match.nodes[0]);
  }
  return calls;
}

}  // namespace graphnet
