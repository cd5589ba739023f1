// Follows calls that compute numbers, and lists of numbers.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_split.h"
#include "graphnet/ops/callable.h"
#include "graphnet/passes/resize/size_follower.h"

namespace graphnet {
namespace {

constexpr int64_t kMaxNumber = int64_t{1} << 40;
// Most elements of a list that are followed one by one. Lists of sizes are far shorter.
constexpr size_t kMaxListElements = 10'000;

using Names = absl::flat_hash_set<absl::string_view>;

int64_t FloorDiv(int64_t a, int64_t b) {
  if (b == 0) return 0;
  return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}

// Returns the result of an operation of Python on two ints; nullopt for an unknown one.
std::optional<int64_t> Compute(absl::string_view name, int64_t a, int64_t b) {
  const auto small = [](int64_t n) { return n > -kMaxNumber && n < kMaxNumber; };
  if (!small(a) || !small(b)) return std::nullopt;
  if (name == "add") return a + b;
  if (name == "sub") return a - b;
  if (name == "mul")
    return small(b == 0 ? 0 : a) &&
                   (b == 0 || std::abs(a) < kMaxNumber / std::max<int64_t>(1, std::abs(b)))
               ? std::optional(a * b)
               : std::nullopt;
  if (name == "floordiv" || name == "floor_divide")
    return b == 0 ? std::nullopt : std::optional(FloorDiv(a, b));
  if (name == "mod" || name == "remainder")
    return b == 0 ? std::nullopt : std::optional(a - b * FloorDiv(a, b));
  if (name == "max" || name == "sym_max") return std::max(a, b);
  if (name == "min" || name == "sym_min") return std::min(a, b);
  if (name == "truediv" || name == "div" || name == "divide")
    return b != 0 && a % b == 0 ? std::optional(a / b) : std::nullopt;
  return std::nullopt;
}

}  // namespace

bool SizeFollower::FollowNumbers(const Node& node, absl::string_view name, Extent* out) const {
  const absl::Span<const Argument> args = node.args();
  if (args.empty()) return false;
  if (FollowLists(node, name, out)) return true;
  // A tensor with dimensions is not a number.
  if (out->is_tensor() && out->rank() > 0) return false;
  const auto yields = [&](Size number) {
    if (out->is_tensor()) {
      out->number = std::move(number);
      out->holds_number = true;
    } else {
      *out = Extent::Number(std::move(number));
    }
    return true;
  };
  const Extent& first = Of(args[0]);
  if (first.is_tensor() && !first.holds_number && !out->is_tensor()) {
    if (name == "dim" || name == "ndimension")
      return yields(Size(static_cast<int64_t>(first.rank())));
    if (name == "len" && first.rank() > 0) return yields(first.dims[0]);
    if (name == "numel" || name == "nelement" || name == "sym_numel") {
      return yields(Map([&](size_t p) {
        int64_t product = 1;
        for (const Size& dim : first.dims) product = Times(product, dim.at(p));
        return product;
      }));
    }
    return false;
  }
  // The rest is arithmetic.
  static const auto* const copies = new Names(absl::StrSplit(
      "Int IntImplicit ScalarImplicit NumToTensor item local_scalar_dense _local_scalar_dense int "
      "sym_int index pos clone detach to to_copy _to_copy lift_fresh lift_fresh_copy alias "
      "contiguous long tensor scalar_tensor as_tensor",
      ' '));
  if (copies->contains(name) && first.is_number()) return yields(first.number);
  return FollowArithmetic(node, name, out);
}

bool SizeFollower::FollowLists(const Node& node, absl::string_view name, Extent* out) const {
  const absl::Span<const Argument> args = node.args();
  const Extent first = ExtentOf(args[0]);
  const auto yields_sizes = [&] {
    *out = Extent();
    out->kind = Extent::Kind::kTuple;
    for (const Size& dim : first.dims) out->elements.push_back(Extent::Number(dim));
    return true;
  };
  if (first.is_tensor()) {
    if (name == "getattr" && args.size() > 1 && args[1].is_string()) {
      if (args[1].string() == "shape") return yields_sizes();
      if (args[1].string() != "ndim") return false;
      *out = Extent::Number(Size(static_cast<int64_t>(first.rank())));
      return true;
    }
    if (name != "size" && name != "sym_size" && name != "shape") return false;
    const Argument* dim = node.FindArg("dim", 1);
    if (dim == nullptr) return yields_sizes();
    const auto at = DimIn(dim, first.rank(), 0);
    if (!at.has_value()) return false;
    *out = Extent::Number(first.dims[*at]);
    return true;
  }
  if (!first.is_tuple()) return false;
  const std::vector<Extent>& elements = first.elements;
  const auto size = static_cast<int64_t>(elements.size());
  const auto yields_part = [&](const Argument* from, const Argument* to) {
    const auto at = [&](const Argument* a, int64_t otherwise) {
      if (a == nullptr || !a->is_int()) return otherwise;
      return std::clamp<int64_t>(a->integer() + (a->integer() < 0 ? size : 0), 0, size);
    };
    const int64_t begin = at(from, 0), end = std::max(begin, at(to, size));
    *out = Extent();
    out->kind = Extent::Kind::kTuple;
    out->elements.assign(elements.begin() + begin, elements.begin() + end);
    return true;
  };
  if ((name == "getitem" || name == "__getitem__") && args.size() == 2) {
    if (args[1].kind() == Argument::Kind::kSlice)
      return yields_part(&args[1].elements()[0], &args[1].elements()[1]);
    if (!args[1].is_int()) return false;
    const int64_t i = args[1].integer() + (args[1].integer() < 0 ? size : 0);
    if (i < 0 || i >= size) return false;
    *out = elements[static_cast<size_t>(i)];
    return true;
  }
  if (name == "slice" && args.size() <= 3)
    return yields_part(args.size() > 1 ? &args[1] : nullptr, args.size() > 2 ? &args[2] : nullptr);
  if (name == "len") {
    *out = Extent::Number(Size(size));
    return true;
  }
  if (name == "list" || name == "tuple" || name == "Size") {
    *out = first;
    return true;
  }
  if ((name == "add" || name == "iadd") && args.size() == 2) {
    const Extent second = ExtentOf(args[1]);
    // A list that is added to itself again and again must not grow without bound.
    if (!second.is_tuple() || out->is_tensor() ||
        elements.size() + second.elements.size() > kMaxListElements)
      return false;
    Extent both = first;
    both.elements.insert(both.elements.end(), second.elements.begin(), second.elements.end());
    *out = std::move(both);
    return true;
  }
  if (name != "sym_sum" || !absl::c_all_of(elements, [](const Extent& e) { return e.is_number(); }))
    return false;
  *out = Extent::Number(Map([&](size_t p) {
    int64_t sum = 0;
    for (const Extent& element : elements) sum += element.number.at(p);
    return sum;
  }));
  return true;
}

bool SizeFollower::FollowArithmetic(const Node& node, absl::string_view name, Extent* out) const {
  const absl::Span<const Argument> args = node.args();
  bool takes_numbers = true;
  node.ForEachOperand([&](const Node* operand) { takes_numbers &= values_[operand].is_number(); });
  if (!takes_numbers || node.kwarg("alpha") != nullptr) return false;
  const auto yields = [&](Size number) {
    if (out->is_tensor()) {
      out->number = std::move(number);
      out->holds_number = true;
    } else {
      *out = Extent::Number(std::move(number));
    }
    return true;
  };
  Extent a = ExtentOf(args[0]);
  if (name == "neg" && args.size() == 1 && a.is_number())
    return yields(Map([&](size_t p) { return -a.number.at(p); }));
  if (args.size() != 2) return false;
  if (name == "mul" && args[1].is_float() && a.is_number()) {
    // A factor such as 2.0.
    return yields(Map([&](size_t p) {
      const double product = std::floor(static_cast<double>(a.number.at(p)) * args[1].real());
      return std::abs(product) < static_cast<double>(kMaxNumber) ? static_cast<int64_t>(product)
                                                                 : int64_t{0};
    }));
  }
  Extent b = ExtentOf(args[1]);
  if (!a.is_number() || !b.is_number()) return false;
  const Callable callee = CalleeOf(node);
  absl::string_view plain = name;
  if (callee.python_operator != nullptr) {
    plain = callee.python_operator->base;
    if (callee.python_operator->is_reflected) std::swap(a, b);
  }
  bool is_known = true;
  Size made = Map([&](size_t p) {
    const auto one = Compute(plain, a.number.at(p), b.number.at(p));
    is_known &= one.has_value() || p > 0;
    return one.value_or(0);
  });
  return is_known && yields(std::move(made));
}

}  // namespace graphnet
