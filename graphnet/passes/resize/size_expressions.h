// Internal: writes sizes that are known at several points as expressions of symbols.
#ifndef GRAPHNET_PASSES_RESIZE_SIZE_EXPRESSIONS_H_
#define GRAPHNET_PASSES_RESIZE_SIZE_EXPRESSIONS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graphnet/ir/module.h"
#include "graphnet/passes/resize/extent.h"

namespace graphnet {

// Finds the simplest expression that has the right value at all points: a multiple of symbols, a
// linear one, a quotient that is rounded down, as convolutions make it, or a sum or product of sizes
// that were written before.
class SizeExpressions {
 public:
  // Each symbol has a name and its values. `points` are those that count, point 0 among them.
  SizeExpressions(Module* module, std::vector<std::pair<std::string, Size>> symbols,
                  std::vector<size_t> points);

  // Returns the expression of a size; null if none is found. A size that does not vary is a number.
  const SymExpr* Of(const Size& size);

 private:
  struct Known {
    Size size;
    const SymExpr* expr;
  };
  const SymExpr* Find(const Size& size);
  // Returns the expression of a·m, rounded down to a multiple of b, divided by b.
  const SymExpr* Ratio(int64_t a, const SymExpr* m, int64_t b);
  const SymExpr* Plus(const SymExpr* expr, int64_t number);
  const SymExpr* Proportional(const Size& size);
  const SymExpr* Linear(const Size& size);
  const SymExpr* RoundedDown(const Size& size);
  const SymExpr* Composed(const Size& size);

  Module& module_;
  const std::vector<size_t> points_;
  std::vector<Known> symbols_;
  std::vector<Known> products_;  // symbols, and products of two and three
  std::vector<Known> known_;     // what Of has found
};

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_RESIZE_SIZE_EXPRESSIONS_H_
