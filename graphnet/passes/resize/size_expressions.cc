#include "graphnet/passes/resize/size_expressions.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>

#include "absl/algorithm/container.h"

namespace graphnet {
namespace {

constexpr size_t kMaxKnown = 64;
constexpr int64_t kMaxFactor = 4096;

int64_t RoundedQuotient(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

}  // namespace

SizeExpressions::SizeExpressions(Module* module, std::vector<std::pair<std::string, Size>> symbols,
                                 std::vector<size_t> points)
    : module_(*module), points_(std::move(points)) {
  for (auto& [name, size] : symbols) symbols_.push_back({std::move(size), module_.SymSymbol(name)});
  const auto times = [&](const Known& a, const Known& b) -> Known {
    std::vector<int64_t> at;
    for (size_t p = 0; p <= points_.back(); ++p) at.push_back(Times(a.size.at(p), b.size.at(p)));
    return {Size(std::move(at)), module_.SymBinary(SymExpr::Kind::kMul, a.expr, b.expr)};
  };
  products_ = symbols_;
  const size_t n = symbols_.size();
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = i; j < n; ++j) products_.push_back(times(symbols_[i], symbols_[j]));
  }
  for (size_t i = 0; i < n; ++i) {
    for (size_t k = i + 1; k < n; ++k) {
      for (size_t j = k; j < n; ++j)
        products_.push_back(times(times(symbols_[i], symbols_[k]), symbols_[j]));
    }
  }
}

const SymExpr* SizeExpressions::Of(const Size& size) {
  if (absl::c_all_of(points_, [&](size_t p) { return size.at(p) == size.base(); }))
    return module_.SymInt(size.base());
  for (const Known& known : known_) {
    if (absl::c_all_of(points_, [&](size_t p) { return known.size.at(p) == size.at(p); }))
      return known.expr;
  }
  const SymExpr* expr = Find(size);
  if (expr != nullptr && known_.size() < kMaxKnown) known_.push_back({size, expr});
  return expr;
}

const SymExpr* SizeExpressions::Find(const Size& size) {
  for (const auto way : {&SizeExpressions::Proportional, &SizeExpressions::Linear,
                         &SizeExpressions::RoundedDown, &SizeExpressions::Composed}) {
    if (const SymExpr* expr = (this->*way)(size)) return expr;
  }
  return nullptr;
}

const SymExpr* SizeExpressions::Ratio(int64_t a, const SymExpr* m, int64_t b) {
  const SymExpr* product =
      a == 1 ? m : module_.SymBinary(SymExpr::Kind::kMul, module_.SymInt(a), m);
  return b == 1 ? product : module_.SymBinary(SymExpr::Kind::kFloorDiv, product, module_.SymInt(b));
}

const SymExpr* SizeExpressions::Plus(const SymExpr* expr, int64_t number) {
  if (number == 0) return expr;
  const auto kind = number < 0 ? SymExpr::Kind::kSub : SymExpr::Kind::kAdd;
  return module_.SymBinary(kind, expr, module_.SymInt(std::abs(number)));
}

const SymExpr* SizeExpressions::Proportional(const Size& size) {
  for (const Known& m : products_) {
    const int64_t divisor = std::gcd(size.base(), m.size.base());
    if (divisor == 0) continue;
    const int64_t a = size.base() / divisor, b = m.size.base() / divisor;
    const auto fits = [&](size_t p) { return Times(size.at(p), b) == Times(m.size.at(p), a); };
    if (a != 0 && absl::c_all_of(points_, fits)) return Ratio(a, m.expr, b);
  }
  return nullptr;
}

const SymExpr* SizeExpressions::Linear(const Size& size) {
  for (const Known& m : products_) {
    // The slope, from the first point at which m differs.
    const auto other =
        absl::c_find_if(points_, [&](size_t p) { return m.size.at(p) != m.size.base(); });
    if (other == points_.end()) continue;
    const int64_t rise = size.at(*other) - size.base(), run = m.size.at(*other) - m.size.base();
    if (rise == 0 || rise % run != 0) continue;
    const int64_t a = rise / run, offset = size.base() - Times(a, m.size.base());
    const auto fits = [&](size_t p) { return size.at(p) == Times(a, m.size.at(p)) + offset; };
    if (absl::c_all_of(points_, fits)) return Plus(Ratio(a, m.expr, 1), offset);
  }
  return nullptr;
}

const SymExpr* SizeExpressions::RoundedDown(const Size& size) {
  for (const Known& m : symbols_) {
    // The slope, from the point at which m differs most.
    size_t far = 0;
    for (const size_t p : points_) {
      if (std::abs(m.size.at(p) - m.size.base()) > std::abs(m.size.at(far) - m.size.base()))
        far = p;
    }
    int64_t rise = size.at(far) - size.base(), run = m.size.at(far) - m.size.base();
    if (far == 0 || rise == 0) continue;
    const int64_t divisor = std::gcd(rise, run);
    rise /= divisor;
    run /= divisor;
    if (run < 0) {
      rise = -rise;
      run = -run;
    }
    if (run > kMaxFactor || std::abs(rise) > kMaxFactor) continue;
    // floor((rise · m + c) / run) is the size if c is between these.
    int64_t low = std::numeric_limits<int64_t>::min(), high = std::numeric_limits<int64_t>::max();
    for (const size_t p : points_) {
      const int64_t from = Times(size.at(p), run) - Times(rise, m.size.at(p));
      low = std::max(low, from);
      high = std::min(high, from + run - 1);
    }
    if (low > high) continue;
    // As little as possible is added: before the division, and behind it.
    const int64_t whole = RoundedQuotient(low + run - 1, run);
    const int64_t c = Times(whole, run) <= high ? 0 : high - Times(whole - 1, run);
    const int64_t behind = c == 0 ? whole : whole - 1;
    const SymExpr* top = Plus(Ratio(rise, m.expr, 1), c);
    return Plus(
        run == 1 ? top : module_.SymBinary(SymExpr::Kind::kFloorDiv, top, module_.SymInt(run)),
        behind);
  }
  return nullptr;
}

const SymExpr* SizeExpressions::Composed(const Size& size) {
  for (const Known& a : known_) {
    // A known size, times or plus a number.
    const int64_t offset = size.base() - a.size.base();
    if (absl::c_all_of(points_, [&](size_t p) { return size.at(p) == a.size.at(p) + offset; }))
      return Plus(a.expr, offset);
    if (a.size.base() == 0 || size.base() % a.size.base() != 0) continue;
    const int64_t factor = size.base() / a.size.base();
    if (absl::c_all_of(points_,
                       [&](size_t p) { return size.at(p) == Times(factor, a.size.at(p)); }))
      return Ratio(factor, a.expr, 1);
  }
  for (size_t i = 0; i < known_.size(); ++i) {
    for (size_t j = i; j < known_.size(); ++j) {
      const Known& a = known_[i];
      const Known& b = known_[j];
      const auto sum = [&](size_t p) { return size.at(p) == a.size.at(p) + b.size.at(p); };
      if (absl::c_all_of(points_, sum))
        return module_.SymBinary(SymExpr::Kind::kAdd, a.expr, b.expr);
      const int64_t product = Times(a.size.base(), b.size.base());
      if (product == 0) continue;
      // A product, times or plus a number.
      const int64_t factor = size.base() % product == 0 ? size.base() / product : 1;
      const int64_t offset = size.base() - Times(factor, product);
      const auto fits = [&](size_t p) {
        return size.at(p) == Times(factor, Times(a.size.at(p), b.size.at(p))) + offset;
      };
      if (absl::c_all_of(points_, fits)) {
        const SymExpr* both = module_.SymBinary(SymExpr::Kind::kMul, a.expr, b.expr);
        return Plus(Ratio(factor, both, 1), offset);
      }
    }
  }
  return nullptr;
}

}  // namespace graphnet
