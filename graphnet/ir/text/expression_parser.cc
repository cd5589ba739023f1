#include "graphnet/ir/text/expression_parser.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "graphnet/base/limits.h"
#include "graphnet/ir/text/literal.h"

namespace graphnet::text_internal {

using literal_internal::Is;
using literal_internal::kDigit;

bool ExpressionParser::ParseSum(const SymExpr** out) {
  Expr expr;
  if (!Sum(0, &expr)) return false;
  *out = expr.expr;
  return true;
}

bool ExpressionParser::ParseSumOrComparison(const SymExpr** out) {
  Expr expr;
  if (!Comparison(0, &expr)) return false;
  *out = expr.expr;
  return true;
}

bool ExpressionParser::ParseComparison(const SymExpr** out) {
  const char* const where = in_.Here();
  if (!ParseSumOrComparison(out)) return false;
  return (*out)->is_relation() || in_.FailAt(where, "expected a comparison, such as S0 < S1");
}

bool ExpressionParser::FailTooDeep(const char* where) {
  return in_.FailAt(where, absl::StrCat("nested deeper than ", kMaxNesting));
}

bool ExpressionParser::Combine(SymExpr::Kind kind, const char* where, Expr* lhs, const Expr& rhs) {
  const int height = (lhs->height > rhs.height ? lhs->height : rhs.height) + 1;
  if (height > kMaxNesting) return FailTooDeep(where);
  *lhs = {module_.SymBinary(kind, lhs->expr, rhs.expr), height};
  return true;
}

bool ExpressionParser::Comparison(int depth, Expr* out) {
  if (!Sum(depth, out)) return false;
  static constexpr struct {
    absl::string_view text;
    SymExpr::Kind kind;
  } kOperators[] = {{"==", SymExpr::Kind::kEq}, {"!=", SymExpr::Kind::kNe},
                    {"<=", SymExpr::Kind::kLe}, {">=", SymExpr::Kind::kGe},
                    {"<", SymExpr::Kind::kLt},  {">", SymExpr::Kind::kGt}};
  const char* const where = in_.Here();
  for (const auto& op : kOperators) {
    Expr rhs;
    if (in_.TryText(op.text)) return Sum(depth, &rhs) && Combine(op.kind, where, out, rhs);
  }
  return true;
}

bool ExpressionParser::Sum(int depth, Expr* out) {
  if (!Product(depth, out)) return false;
  while (true) {
    const char* const where = in_.Here();
    const char c = in_.Peek();
    if (c != '+' && c != '-') return true;
    in_.TryChar(c);
    Expr rhs;
    if (!Product(depth, &rhs)) return false;
    if (!Combine(c == '+' ? SymExpr::Kind::kAdd : SymExpr::Kind::kSub, where, out, rhs))
      return false;
  }
}

bool ExpressionParser::Product(int depth, Expr* out) {
  if (!Unary(depth, out)) return false;
  while (true) {
    const char* const where = in_.Here();
    SymExpr::Kind kind;
    if (in_.TryText("//")) {
      kind = SymExpr::Kind::kFloorDiv;
    } else if (in_.TryChar('*')) {
      kind = SymExpr::Kind::kMul;
    } else if (in_.TryChar('%')) {
      kind = SymExpr::Kind::kMod;
    } else {
      return true;
    }
    Expr rhs;
    if (!Unary(depth, &rhs) || !Combine(kind, where, out, rhs)) return false;
  }
}

// Reads a negation, a negative number or a power.
bool ExpressionParser::Unary(int depth, Expr* out) {
  const char* const where = in_.Here();
  if (depth > 2 * kMaxNesting) return FailTooDeep(where);
  if (in_.TryChar('-')) {
    if (Is(in_.Peek(), kDigit) && in_.Here() == where + 1) {
      int64_t value = 0;
      in_.MoveTo(where);
      if (!in_.ReadInteger("an integer", &value)) return false;
      *out = {module_.SymInt(value), 0};
      // Python reads -2**n as -(2**n), which few people expect.
      if (!in_.TryText("**")) return true;
      return in_.FailAt(where, "put the base of the power in parentheses");
    }
    if (!Unary(depth + 1, out)) return false;
    if (out->height >= kMaxNesting) return FailTooDeep(where);
    *out = {module_.SymNeg(out->expr), out->height + 1};
    return true;
  }
  if (!Primary(depth, out)) return false;
  const char* const power = in_.Here();
  if (!in_.TryText("**")) return true;
  Expr exponent;
  return Unary(depth + 1, &exponent) && Combine(SymExpr::Kind::kPow, power, out, exponent);
}

bool ExpressionParser::Primary(int depth, Expr* out) {
  const char* const where = in_.Here();
  const char c = in_.Peek();
  if (c == '(') {
    in_.TryChar('(');
    return Sum(depth + 1, out) && in_.Expect(')');
  }
  if (Is(c, kDigit)) {
    int64_t value = 0;
    if (!in_.ReadInteger("an integer", &value)) return false;
    *out = {module_.SymInt(value), 0};
    return true;
  }
  if (c != '"') {
    const absl::string_view word = in_.PeekWord();
    if (word == "min" || word == "max") {
      in_.MoveTo(word.data() + word.size());
      Expr rhs;
      return in_.Expect('(') && Sum(depth + 1, out) && in_.Expect(',') && Sum(depth + 1, &rhs) &&
             in_.Expect(')') &&
             Combine(word == "min" ? SymExpr::Kind::kMin : SymExpr::Kind::kMax, where, out, rhs);
    }
  }
  absl::string_view name;
  if (!in_.ReadNonemptyName("an expression", &name)) return false;
  *out = {Symbol(name), 0};
  return true;
}

const SymExpr* ExpressionParser::Symbol(absl::string_view name) {
  const auto it = symbols_.find(name);
  if (it != symbols_.end()) return it->second;
  const SymExpr* symbol = module_.SymSymbol(name);
  symbols_.emplace(symbol->name, symbol);
  return symbol;
}

}  // namespace graphnet::text_internal
