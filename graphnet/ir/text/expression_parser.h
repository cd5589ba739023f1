// Internal to the text form: reads expressions over symbols, "S0*2 + 1", and comparisons of them.
#ifndef GRAPHNET_IR_TEXT_EXPRESSION_PARSER_H_
#define GRAPHNET_IR_TEXT_EXPRESSION_PARSER_H_

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/tensor_meta.h"
#include "graphnet/ir/text/scanner.h"

namespace graphnet::text_internal {

// Like those of the scanner, the readers return false once something failed. The expressions
// belong to the module and nest at most kMaxNesting deep.
class ExpressionParser {
 public:
  ExpressionParser(Scanner* scanner, Module* module) : in_(*scanner), module_(*module) {}

  // Reads an expression that is not a comparison.
  bool ParseSum(const SymExpr** out);
  bool ParseSumOrComparison(const SymExpr** out);
  bool ParseComparison(const SymExpr** out);

 private:
  struct Expr {
    const SymExpr* expr = nullptr;
    int height = 0;
  };

  // One reader for each level of precedence. `depth` counts the nested calls.
  bool Comparison(int depth, Expr* out);
  bool Sum(int depth, Expr* out);
  bool Product(int depth, Expr* out);
  bool Unary(int depth, Expr* out);
  bool Primary(int depth, Expr* out);
  const SymExpr* Symbol(absl::string_view name);
  // Combines lhs and rhs into lhs.
  bool Combine(SymExpr::Kind kind, const char* where, Expr* lhs, const Expr& rhs);
  bool FailTooDeep(const char* where);

  Scanner& in_;
  Module& module_;
  absl::flat_hash_map<absl::string_view, const SymExpr*> symbols_;
};

}  // namespace graphnet::text_internal

#endif  // GRAPHNET_IR_TEXT_EXPRESSION_PARSER_H_
