// Symbolic sizes of a torch.export program, as SymPy's srepr writes them, or its str before
// torch 2.6:
//
//   Add(Mul(Integer(2), Symbol('s77', positive=True, integer=True)), Integer(1))
//   2*s77 + 1
#ifndef GRAPHNET_FORMATS_PT2_EXPRESSIONS_H_
#define GRAPHNET_FORMATS_PT2_EXPRESSIONS_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/module.h"

namespace graphnet::pt2 {

// The expression over the symbols of `module`, which are declared as they are met. Null for
// what is well written and no expression of the IR: fractions, conditions, functions that
// it lacks. InvalidArgument, "column 12: …", for what is not written so, and for functions
// within each other deeper than kMaxNesting.
absl::StatusOr<const SymExpr*> ParseSympy(absl::string_view text, Module* module);

// The text of an expression, with what is shared in it written out: O(its Expansion). `symbol`
// says how a symbol is written, as its properties are part of it.
std::string PrintSrepr(const SymExpr& expr,
                       absl::FunctionRef<std::string(absl::string_view name)> symbol);

}  // namespace graphnet::pt2

#endif  // GRAPHNET_FORMATS_PT2_EXPRESSIONS_H_
