// Reads and writes symbolic sizes of a torch.export program in the form of SymPy's srepr. Before
// torch 2.6 programs use SymPy's str instead, which is read, too:
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

// Returns the expression over symbols of `module`, and declares new symbols there. Null for a
// well-formed text that the IR cannot express: fractions, conditions, functions that it lacks.
// InvalidArgument, "column 12: …", for a syntax error and for calls that nest deeper than
// kMaxNesting.
absl::StatusOr<const SymExpr*> ParseSympy(absl::string_view text, Module* module);

// Returns the text of an expression. Shared parts are written out: O(its Expansion). `symbol`
// returns the text of a symbol, which includes its properties.
std::string PrintSrepr(const SymExpr& expr,
                       absl::FunctionRef<std::string(absl::string_view name)> symbol);

}  // namespace graphnet::pt2

#endif  // GRAPHNET_FORMATS_PT2_EXPRESSIONS_H_
