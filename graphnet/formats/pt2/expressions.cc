#include "graphnet/formats/pt2/expressions.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"

namespace graphnet::pt2 {
namespace {

using Kind = SymExpr::Kind;

// The greatest depth of an IR expression. A deeper one is not made: its value is unknown.
constexpr int kMaxDepth = kMaxNesting / 4;

struct Term {
  const SymExpr* expr = nullptr;  // null: no expression of the IR
  int depth = 0;
  std::optional<int64_t> literal;  // value of a bare number, as in Integer(2)
  absl::string_view text;          // content of a string, as in Symbol('s0')
  bool is_keyword = false;         // integer=True, which says nothing of the value
};

class Parser {
 public:
  Parser(absl::string_view text, Module* module) : text_(text), module_(*module) {}

  absl::StatusOr<const SymExpr*> Run() {
    ASSIGN_OR_RETURN(const Term term, Parse(0));
    SkipSpace();
    if (at_ < text_.size()) return Error("unexpected text after the expression");
    if (term.text.data() != nullptr) return Error("a string is no expression");
    return term.expr;
  }

 private:
  absl::Status Error(absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat("column ", at_ + 1, ": ", what));
  }
  void SkipSpace() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool Take(char c) {
    SkipSpace();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  template <typename Fn>
  absl::string_view TakeWhile(Fn&& is_part) {
    const size_t begin = at_;
    while (at_ < text_.size() && is_part(static_cast<unsigned char>(text_[at_]))) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  // True if `text` comes next, after any blanks.
  bool IsNext(absl::string_view text) {
    SkipSpace();
    return absl::StartsWith(text_.substr(at_), text);
  }
  bool TakeText(absl::string_view text) {
    if (!IsNext(text)) return false;
    at_ += text.size();
    return true;
  }

  absl::StatusOr<Term> Parse(int depth) {
    ASSIGN_OR_RETURN(const Term term, ParseSum(depth));
    for (const absl::string_view relation : {"<=", ">=", "==", "!=", "<", ">"}) {
      if (!TakeText(relation)) continue;
      RETURN_IF_ERROR(ParseSum(depth).status());
      return Term();  // That is not a size.
    }
    return term;
  }

  absl::StatusOr<Term> ParseSum(int depth) {
    std::vector<Term> terms(1);
    ASSIGN_OR_RETURN(terms[0], ParseProduct(depth));
    for (;;) {
      if (Take('+')) {
        ASSIGN_OR_RETURN(terms.emplace_back(), ParseProduct(depth));
      } else if (Take('-')) {
        ASSIGN_OR_RETURN(const Term term, ParseProduct(depth));
        terms.push_back(Unary(term));
      } else {
        return terms.size() == 1 ? terms[0] : Joined(Kind::kAdd, terms);
      }
    }
  }

  absl::StatusOr<Term> ParseProduct(int depth) {
    ASSIGN_OR_RETURN(Term term, ParsePower(depth));
    for (;;) {
      if (TakeText("//")) {
        ASSIGN_OR_RETURN(const Term by, ParsePower(depth));
        term = Binary(Kind::kFloorDiv, term, by);
      } else if (Take('*')) {
        ASSIGN_OR_RETURN(const Term by, ParsePower(depth));
        term = Binary(Kind::kMul, term, by);
      } else if (Take('%')) {
        ASSIGN_OR_RETURN(const Term by, ParsePower(depth));
        term = Binary(Kind::kMod, term, by);
      } else if (Take('/')) {
        RETURN_IF_ERROR(ParsePower(depth).status());
        term = Term();
      } else {
        return term;
      }
    }
  }

  absl::StatusOr<Term> ParsePower(int depth) {
    if (depth > kMaxNesting) return Error(absl::StrCat("nests deeper than ", kMaxNesting));
    SkipSpace();
    const bool is_number =
        at_ + 1 < text_.size() && absl::ascii_isdigit(static_cast<unsigned char>(text_[at_ + 1]));
    if (IsNext("-") && !is_number) {
      ++at_;
      ASSIGN_OR_RETURN(const Term term, ParsePower(depth + 1));
      return Unary(term);
    }
    const bool is_negative = IsNext("-");
    ASSIGN_OR_RETURN(const Term base, ParsePrimary(depth));
    if (!TakeText("**")) return base;
    ASSIGN_OR_RETURN(const Term exponent, ParsePower(depth + 1));
    // -2**n is the negative of a power.
    return is_negative ? Term() : Call("Pow", {base, exponent});
  }

  absl::StatusOr<Term> ParsePrimary(int depth) {
    SkipSpace();
    if (at_ == text_.size()) return Error("an expression is missing");
    const char c = text_[at_];
    if (c == '\'' || c == '"') return ParseString(c);
    if (c == '-' || absl::ascii_isdigit(static_cast<unsigned char>(c))) return ParseNumber();
    if (Take('(')) {
      ASSIGN_OR_RETURN(const Term term, Parse(depth + 1));
      return Take(')') ? absl::StatusOr<Term>(term) : Error("expected )");
    }
    const absl::string_view name =
        TakeWhile([](unsigned char b) { return absl::ascii_isalnum(b) || b == '_' || b == '.'; });
    if (name.empty()) return Error("expected a name, a number or a string");
    if (!Take('(')) {
      if (!IsNext("==") && Take('=')) {
        RETURN_IF_ERROR(Parse(depth + 1).status());
        return Term{.is_keyword = true};
      }
      for (const absl::string_view constant :
           {"true", "false", "True", "False", "None", "oo", "int_oo", "zoo", "nan", "pi", "E"}) {
        if (name == constant) return Term();
      }
      return Symbol(name);
    }
    std::vector<Term> args;
    if (!Take(')')) {
      do {
        ASSIGN_OR_RETURN(const Term arg, Parse(depth + 1));
        if (!arg.is_keyword) args.push_back(arg);
      } while (Take(','));
      if (!Take(')')) return Error("expected , or )");
    }
    return Call(name, args);
  }

  absl::StatusOr<Term> ParseString(char quote) {
    ++at_;
    Term term;
    const auto end = static_cast<unsigned char>(quote);
    term.text = TakeWhile([&](unsigned char b) { return b != end && b != '\\'; });
    if (at_ == text_.size() || text_[at_] == '\\') return Error("unterminated string");
    ++at_;
    return term;
  }

  absl::StatusOr<Term> ParseNumber() {
    const size_t begin = at_;
    if (text_[at_] == '-') ++at_;
    TakeWhile([](unsigned char b) { return absl::ascii_isalnum(b) || b == '.' || b == '_'; });
    Term term;
    int64_t value = 0;
    if (absl::SimpleAtoi(text_.substr(begin, at_ - begin), &value)) {
      term = Number(value);
      term.literal = value;
    }
    return term;
  }

  Term Made(const SymExpr* expr, int depth) const {
    if (depth > kMaxDepth) return {};
    return {.expr = expr, .depth = depth};
  }
  Term Number(int64_t value) const { return Made(module_.SymInt(value), 1); }
  Term Unary(const Term& operand) const {
    if (operand.expr == nullptr) return {};
    if (operand.expr->kind == Kind::kNeg) return Made(operand.expr->lhs, operand.depth - 1);
    return Made(module_.SymNeg(operand.expr), operand.depth + 1);
  }
  Term Binary(Kind kind, const Term& lhs, const Term& rhs) const {
    if (lhs.expr == nullptr || rhs.expr == nullptr) return {};
    const int depth = std::max(lhs.depth, rhs.depth) + 1;
    // a + -b is a - b.
    if (kind == Kind::kAdd && rhs.expr->kind == Kind::kNeg) {
      return Made(module_.SymBinary(Kind::kSub, lhs.expr, rhs.expr->lhs), depth);
    }
    return Made(module_.SymBinary(kind, lhs.expr, rhs.expr), depth);
  }
  // Joins many terms in a tree of the least depth.
  Term Joined(Kind kind, absl::Span<const Term> terms) const {
    if (terms.empty()) return {};
    if (terms.size() <= 8) {
      Term all = terms[0];
      for (const Term& term : terms.subspan(1)) all = Binary(kind, all, term);
      return all;
    }
    const size_t half = terms.size() / 2;
    return Binary(kind, Joined(kind, terms.subspan(0, half)), Joined(kind, terms.subspan(half)));
  }

  absl::StatusOr<Term> Symbol(absl::string_view name) {
    if (name.empty()) return Error("a symbol without a name");
    if (name.size() > kMaxNameBytes) return Error("the name of a symbol is too long");
    if (module_.FindSymbol(name) == nullptr) module_.AddSymbol(name, std::nullopt);
    return Made(module_.SymSymbol(name), 1);
  }

  // PyTorch evaluates the text as Python. Classes of SymPy have names with capitals and compute with
  // numbers; some, such as S, evaluate a string, too.
  absl::Status CheckCall(absl::string_view name, absl::Span<const Term> args) const {
    constexpr absl::string_view kOthers[] = {"floor", "ceiling", "sqrt", "log",  "exp",  "sin",
                                             "cos",   "tan",     "asin", "acos", "atan", "sinh",
                                             "cosh",  "tanh",    "erf",  "sign"};
    if (!absl::ascii_isupper(static_cast<unsigned char>(name[0])) &&
        !absl::c_linear_search(kOthers, name)) {
      return Error("a function that SymPy does not have");
    }
    if (absl::StrContains(name, '.')) return Error("a function of another module");
    for (const Term& arg : args) {
      if (arg.text.data() == nullptr || name == "Symbol" || name == "Dummy") continue;
      const bool is_real = name == "Float" && absl::c_all_of(arg.text, [](char c) {
                             return absl::ascii_isdigit(c) || absl::StrContains(".+-e", c);
                           });
      if (!is_real) return Error("a string where a number is expected");
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Term> Call(absl::string_view name, absl::Span<const Term> args) {
    RETURN_IF_ERROR(CheckCall(name, args));
    if (name == "Symbol" || name == "Dummy")
      return Symbol(args.empty() ? absl::string_view() : args[0].text);
    if (name == "Integer") {
      if (args.size() != 1) return Error("Integer takes one number");
      return args[0].literal ? Number(*args[0].literal) : Term();
    }
    if (name == "Add") return Joined(Kind::kAdd, args);
    if (name == "Mul") {
      if (args.size() > 1 && args[0].expr != nullptr && args[0].expr->kind == Kind::kInt &&
          args[0].expr->value == -1) {
        return Unary(Joined(Kind::kMul, args.subspan(1)));
      }
      return Joined(Kind::kMul, args);
    }
    if (name == "Max") return Joined(Kind::kMax, args);
    if (name == "Min") return Joined(Kind::kMin, args);
    if (name == "Identity" && args.size() == 1) return args[0];
    if (args.size() != 2) return Term();
    if (name == "Pow" || name == "PowByNatural") {
      const SymExpr* const exponent = args[1].expr;
      const bool is_whole =
          exponent != nullptr && exponent->kind == Kind::kInt && exponent->value >= 0;
      return is_whole || name == "PowByNatural" ? Binary(Kind::kPow, args[0], args[1]) : Term();
    }
    if (name == "FloorDiv" || name == "CleanDiv") return Binary(Kind::kFloorDiv, args[0], args[1]);
    if (name == "Mod" || name == "PythonMod") return Binary(Kind::kMod, args[0], args[1]);
    if (name == "CeilDiv") return Unary(Binary(Kind::kFloorDiv, Unary(args[0]), args[1]));
    return Term();
  }

  const absl::string_view text_;
  Module& module_;
  size_t at_ = 0;
};

}  // namespace

absl::StatusOr<const SymExpr*> ParseSympy(absl::string_view text, Module* module) {
  return Parser(text, module).Run();
}

std::string PrintSrepr(const SymExpr& expr,
                       absl::FunctionRef<std::string(absl::string_view name)> symbol) {
  std::string out;
  // Expressions and text still to be written; the next one is last.
  struct Part {
    const SymExpr* expr = nullptr;
    absl::string_view text;
  };
  std::vector<Part> pending = {{&expr, {}}};
  const auto add = [&](std::initializer_list<Part> parts) {
    pending.insert(pending.end(), std::rbegin(parts), std::rend(parts));
  };
  while (!pending.empty()) {
    const Part next = pending.back();
    pending.pop_back();
    if (next.expr == nullptr) {
      absl::StrAppend(&out, next.text);
      continue;
    }
    const Part lhs = {next.expr->lhs, {}}, rhs = {next.expr->rhs, {}};
    const auto call = [&](absl::string_view function) {
      absl::StrAppend(&out, function, "(");
      add({lhs, {nullptr, ", "}, rhs, {nullptr, ")"}});
    };
    switch (next.expr->kind) {
      case Kind::kInt: absl::StrAppend(&out, "Integer(", next.expr->value, ")"); break;
      case Kind::kSymbol: out += symbol(next.expr->name); break;
      case Kind::kNeg: add({{nullptr, "Mul(Integer(-1), "}, lhs, {nullptr, ")"}}); break;
      case Kind::kAdd: call("Add"); break;
      case Kind::kSub:
        add({{nullptr, "Add("}, lhs, {nullptr, ", Mul(Integer(-1), "}, rhs, {nullptr, "))"}});
        break;
      case Kind::kMul: call("Mul"); break;
      case Kind::kFloorDiv: call("FloorDiv"); break;
      case Kind::kMod: call("PythonMod"); break;
      case Kind::kPow: call("Pow"); break;
      case Kind::kMin: call("Min"); break;
      case Kind::kMax: call("Max"); break;
      case Kind::kEq: call("Equality"); break;
      case Kind::kNe: call("Unequality"); break;
      case Kind::kLt: call("StrictLessThan"); break;
      case Kind::kLe: call("LessThan"); break;
      case Kind::kGt: call("StrictGreaterThan"); break;
      case Kind::kGe: call("GreaterThan"); break;
    }
  }
  return out;
}

}  // namespace graphnet::pt2
