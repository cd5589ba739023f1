#include "graphnet/ir/argument.h"

#include <cstring>
#include <iterator>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "graphnet/base/check.h"
#include "graphnet/ir/tensor_meta.h"

namespace graphnet {
namespace {

// The pairs that must still be compared. Beyond the first few, each pair is taken once, however
// often it is referred to, so that comparing shared values does not take exponential time.
template <typename T>
class PairsToCompare {
 public:
  void Add(const T* a, const T* b) {
    if (a == b) return;
    if (++count_ > kFew && !seen_.emplace(a, b).second) return;
    pending_.emplace_back(a, b);
  }
  bool empty() const { return pending_.empty(); }
  std::pair<const T*, const T*> Take() {
    const auto next = pending_.back();
    pending_.pop_back();
    return next;
  }

 private:
  static constexpr size_t kFew = 64;
  size_t count_ = 0;
  absl::InlinedVector<std::pair<const T*, const T*>, 8> pending_;
  absl::flat_hash_set<std::pair<const T*, const T*>> seen_;
};

bool SameBits(double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0; }

// Indexed by Argument::Kind.
constexpr const char* kKindNames[] = {
    "None",     "a node",  "a bool",   "an int",   "a float",         "a complex",
    "a string", "a dtype", "a device", "a layout", "a memory format", "a list",
    "a tuple",  "a dict",  "a slice",  "...",      "a graph",         "a symbolic int"};
static_assert(std::size(kKindNames) == static_cast<size_t>(Argument::Kind::kSymInt) + 1);

}  // namespace

void Argument::WrongKind(Kind wanted) const { WrongKind(kKindNames[static_cast<size_t>(wanted)]); }
void Argument::WrongKind(const char* wanted) const {
  CHECK_SAYS(false, "the argument is %s, not %s", kKindNames[static_cast<size_t>(kind_)], wanted);
}

bool operator==(const Argument& a, const Argument& b) {
  using Kind = Argument::Kind;
  if (a.kind_ != b.kind_) return false;
  switch (a.kind_) {
    case Kind::kNone:
    case Kind::kEllipsis: return true;
    case Kind::kNode: return a.u_.node == b.u_.node;
    case Kind::kGraph: return a.u_.graph == b.u_.graph;
    case Kind::kFloat: return SameBits(a.u_.d, b.u_.d);
    case Kind::kComplex:
      return SameBits(a.u_.complex->real(), b.u_.complex->real()) &&
             SameBits(a.u_.complex->imag(), b.u_.complex->imag());
    case Kind::kString: return a.string() == b.string();
    case Kind::kSymInt: return *a.u_.sym == *b.u_.sym;
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kDict:
    case Kind::kSlice: break;
    default: return a.u_.i == b.u_.i;
  }
  if (a.size_ != b.size_) return false;
  if (a.u_.elements == b.u_.elements) return true;
  for (uint32_t i = 0; i < a.size_; ++i) {
    const Argument& element = a.u_.elements[i];
    if (element.is_aggregate()) return Argument::HaveEqualElements(a, b);
    if (element != b.u_.elements[i]) return false;
  }
  return true;
}

bool Argument::HaveEqualElements(const Argument& a, const Argument& b) {
  PairsToCompare<Argument> pairs;
  pairs.Add(&a, &b);
  while (!pairs.empty()) {
    const auto [x, y] = pairs.Take();
    if (x->u_.elements == y->u_.elements) continue;
    for (uint32_t i = 0; i < x->size_; ++i) {
      const Argument& p = x->u_.elements[i];
      const Argument& q = y->u_.elements[i];
      if (!p.is_aggregate()) {
        if (p != q) return false;
      } else {
        if (p.kind_ != q.kind_ || p.size_ != q.size_) return false;
        pairs.Add(&p, &q);
      }
    }
  }
  return true;
}

bool operator==(const SymExpr& a, const SymExpr& b) {
  PairsToCompare<SymExpr> pairs;
  pairs.Add(&a, &b);
  while (!pairs.empty()) {
    const auto [x, y] = pairs.Take();
    if (x->kind != y->kind || x->value != y->value || x->name != y->name) return false;
    if ((x->lhs == nullptr) != (y->lhs == nullptr)) return false;
    if ((x->rhs == nullptr) != (y->rhs == nullptr)) return false;
    if (x->lhs != nullptr) pairs.Add(x->lhs, y->lhs);
    if (x->rhs != nullptr) pairs.Add(x->rhs, y->rhs);
  }
  return true;
}

bool operator==(const Dim& a, const Dim& b) {
  if (a.is_static() != b.is_static()) return false;
  return a.is_static() ? a.value == b.value : *a.expr == *b.expr;
}

bool TensorMeta::is_static() const {
  if (!has_shape) return false;
  for (const Dim& dim : shape) {
    if (!dim.is_static()) return false;
  }
  return true;
}

bool operator==(const TensorMeta& a, const TensorMeta& b) {
  return a.dtype == b.dtype && a.has_device == b.has_device &&
         (!a.has_device || a.device == b.device) && a.has_shape == b.has_shape &&
         (!a.has_shape || a.shape == b.shape);
}

bool operator==(const ValueMeta& a, const ValueMeta& b) {
  if (&a == &b) return true;
  return a.is_tuple == b.is_tuple && EqualPointees(a.tensor, b.tensor) &&
         absl::c_equal(a.elements, b.elements, EqualPointees<ValueMeta>);
}

bool operator==(const DrawSpec& a, const DrawSpec& b) {
  return a.has_mean == b.has_mean && a.has_std == b.has_std && a.in_input_meta == b.in_input_meta &&
         (!a.has_mean || SameBits(a.mean, b.mean)) && (!a.has_std || SameBits(a.std, b.std)) &&
         a.min == b.min && a.max == b.max && a.data == b.data && a.original_name == b.original_name;
}

}  // namespace graphnet
