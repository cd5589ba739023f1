#include "graphnet/formats/pt2/guards.h"

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "graphnet/base/limits.h"

namespace graphnet::pt2 {
namespace {

using python::Number;
using Value = std::optional<Number>;

// Names of functions in guards, and in the tables of Python's functions.
constexpr std::pair<absl::string_view, absl::string_view> kFunctions[] = {
    {"CeilToInt", "math.ceil"},
    {"CleanDiv", "operator.floordiv"},
    {"FloatTrueDiv", "operator.truediv"},
    {"FloorDiv", "operator.floordiv"},
    {"FloorToInt", "math.floor"},
    {"IntTrueDiv", "operator.truediv"},
    {"Max", "torch.sym_max"},
    {"Min", "torch.sym_min"},
    {"Mod", "operator.mod"},
    {"PythonMod", "operator.mod"},
    {"ToFloat", "builtins.float"},
    {"TruncToInt", "math.trunc"},
    {"abs", "builtins.abs"},
    {"float", "builtins.float"},
    {"int", "builtins.int"},
    {"max", "torch.sym_max"},
    {"min", "torch.sym_min"},
    {"math.ceil", "math.ceil"},
    {"math.floor", "math.floor"},
    {"math.trunc", "math.trunc"},
    {"math.sqrt", "math.sqrt"},
};

class Evaluator {
 public:
  Evaluator(absl::string_view text, ResolveName resolve) : text_(text), resolve_(resolve) {}

  Value Run() {
    const Value value = Or(0);
    SkipSpace();
    return failed_ || at_ < text_.size() ? std::nullopt : value;
  }

 private:
  // Marks the guard as not understood; the rest is not read.
  Value Fail() {
    failed_ = true;
    at_ = text_.size();
    return std::nullopt;
  }
  void SkipSpace() {
    while (at_ < text_.size() && absl::ascii_isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  bool Take(absl::string_view token) {
    SkipSpace();
    if (!absl::StartsWith(text_.substr(at_), token)) return false;
    at_ += token.size();
    return true;
  }
  static bool IsNamePart(char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
  }
  bool TakeWord(absl::string_view word) {
    SkipSpace();
    const absl::string_view rest = text_.substr(at_);
    if (!absl::StartsWith(rest, word)) return false;
    if (rest.size() > word.size() && IsNamePart(rest[word.size()])) return false;
    at_ += word.size();
    return true;
  }
  static Value Call(absl::string_view function, absl::Span<const Number> args) {
    const python::Function* const known = python::FindFunction(function);
    if (known == nullptr || static_cast<int>(args.size()) < known->min_args ||
        static_cast<int>(args.size()) > known->max_args) {
      return std::nullopt;
    }
    const absl::StatusOr<Number> result = known->call(args);
    return result.ok() ? Value(*result) : std::nullopt;
  }
  static Value Call(absl::string_view function, const Value& a, const Value& b) {
    if (!a || !b) return std::nullopt;
    return Call(function, {*a, *b});
  }

  Value Or(int depth) {
    Value value = And(depth);
    while (TakeWord("or")) {
      const Value next = And(depth);
      value = value && next ? Value(python::Truth(*value) || python::Truth(*next)) : std::nullopt;
    }
    return value;
  }
  Value And(int depth) {
    Value value = Not(depth);
    while (TakeWord("and")) {
      const Value next = Not(depth);
      value = value && next ? Value(python::Truth(*value) && python::Truth(*next)) : std::nullopt;
    }
    return value;
  }
  Value Not(int depth) {
    bool negate = false, any = false;
    while (TakeWord("not")) {
      negate = !negate;
      any = true;
    }
    const Value value = Comparison(depth);
    if (!any || !value) return value;
    return Value(python::Truth(*value) != negate);
  }
  // a < b <= c
  Value Comparison(int depth) {
    Value left = Sum(depth);
    Value all;
    bool any = false;
    while (true) {
      const absl::string_view op = Take("==")   ? "=="
                                   : Take("!=") ? "!="
                                   : Take("<=") ? "<="
                                   : Take(">=") ? ">="
                                   : Take("<")  ? "<"
                                   : Take(">")  ? ">"
                                                : "";
      if (op.empty()) return any ? all : left;
      const Value right = Sum(depth);
      Value holds;
      if (left && right) {
        const std::partial_ordering order = python::Compare(*left, *right);
        holds = op == "=="   ? std::is_eq(order)
                : op == "!=" ? std::is_neq(order)
                : op == "<=" ? std::is_lteq(order)
                : op == ">=" ? std::is_gteq(order)
                : op == "<"  ? std::is_lt(order)
                             : std::is_gt(order);
      }
      if (!any) {
        all = holds;
      } else {
        all = all && holds ? Value(python::Truth(*all) && python::Truth(*holds)) : std::nullopt;
      }
      any = true;
      left = right;
    }
  }
  Value Sum(int depth) {
    Value value = Product(depth);
    while (true) {
      if (Take("+")) {
        value = Call("operator.add", value, Product(depth));
      } else if (Take("-")) {
        value = Call("operator.sub", value, Product(depth));
      } else {
        return value;
      }
    }
  }
  Value Product(int depth) {
    Value value = Factor(depth);
    while (true) {
      SkipSpace();
      if (absl::StartsWith(text_.substr(at_), "**")) return Fail();
      if (Take("//")) {
        value = Call("operator.floordiv", value, Factor(depth));
      } else if (Take("*")) {
        value = Call("operator.mul", value, Factor(depth));
      } else if (Take("/")) {
        value = Call("operator.truediv", value, Factor(depth));
      } else if (Take("%")) {
        value = Call("operator.mod", value, Factor(depth));
      } else {
        return value;
      }
    }
  }
  Value Factor(int depth) {
    bool negate = false, any = false;
    while (true) {
      if (Take("-")) {
        negate = !negate;
      } else if (!Take("+")) {
        break;
      }
      any = true;
    }
    Value value = Primary(depth);
    if (Take("**")) {
      if (depth >= kMaxNesting) return Fail();
      value = Call("operator.pow", value, Factor(depth + 1));
    }
    if (!any || !value || !negate) return value;
    return Call("operator.neg", {*value});
  }

  Value Primary(int depth) {
    SkipSpace();
    if (depth >= kMaxNesting || at_ == text_.size()) return Fail();
    if (Take("(")) {
      const Value value = Or(depth + 1);
      return Take(")") ? value : Fail();
    }
    const char c = text_[at_];
    if (absl::ascii_isdigit(static_cast<unsigned char>(c)) || c == '.') return Literal();
    if (!IsNamePart(c)) return Fail();
    const size_t begin = at_;
    while (at_ < text_.size() && (IsNamePart(text_[at_]) || text_[at_] == '.')) ++at_;
    const absl::string_view name = text_.substr(begin, at_ - begin);
    if (name == "True" || name == "False") return Number(name == "True");
    if (name == "inf" || name == "math.inf") return Number(std::numeric_limits<double>::infinity());
    if (at_ < text_.size() && text_[at_] == '(') {
      for (const auto& [spelling, function] : kFunctions) {
        if (spelling == name) return Function(function, depth);
      }
    }
    if (!SkipTrailers()) return Fail();
    return resolve_(text_.substr(begin, at_ - begin));
  }

  Value Function(absl::string_view function, int depth) {
    ++at_;  // (
    std::vector<Number> args;
    bool known = true;
    if (!Take(")")) {
      do {
        const Value arg = Or(depth + 1);
        known = known && arg.has_value();
        if (known) args.push_back(*arg);
      } while (Take(","));
      if (!Take(")")) return Fail();
    }
    return known ? Call(function, args) : std::nullopt;
  }

  Value Literal() {
    const size_t begin = at_;
    while (at_ < text_.size() &&
           (IsNamePart(text_[at_]) || text_[at_] == '.' ||
            ((text_[at_] == '-' || text_[at_] == '+') &&
             absl::ascii_tolower(static_cast<unsigned char>(text_[at_ - 1])) == 'e'))) {
      ++at_;
    }
    const absl::string_view text = text_.substr(begin, at_ - begin);
    int64_t whole = 0;
    double real = 0;
    if (absl::SimpleAtoi(text, &whole)) return Number(whole);
    if (absl::SimpleAtod(text, &real)) return Number(real);
    return Fail();
  }

  // Skips the trailers of a name: [0], ['key'], .name, ().
  bool SkipTrailers() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '.' || IsNamePart(c)) {
        ++at_;
      } else if (c == '(') {
        if (!absl::StartsWith(text_.substr(at_), "()")) return false;
        at_ += 2;
      } else if (c == '[') {
        if (!SkipSubscript()) return false;
      } else {
        return true;
      }
    }
    return true;
  }
  bool SkipSubscript() {
    ++at_;
    if (at_ < text_.size() && (text_[at_] == '\'' || text_[at_] == '"')) {
      const char quote = text_[at_++];
      while (at_ < text_.size() && text_[at_] != quote && text_[at_] != '\\') ++at_;
      if (at_ == text_.size() || text_[at_] != quote) return false;
      ++at_;
    } else {
      while (at_ < text_.size() && (IsNamePart(text_[at_]) || text_[at_] == '-')) ++at_;
    }
    if (at_ == text_.size() || text_[at_] != ']') return false;
    ++at_;
    return true;
  }

  const absl::string_view text_;
  const ResolveName resolve_;
  size_t at_ = 0;
  bool failed_ = false;
};

}  // namespace

std::optional<Number> EvaluateGuard(absl::string_view text, ResolveName resolve) {
  return Evaluator(text, resolve).Run();
}

}  // namespace graphnet::pt2
