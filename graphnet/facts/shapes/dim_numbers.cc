// Follows numbers, lists of numbers, and calls on numbers only.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "graphnet/facts/shapes/dim_propagation.h"
#include "graphnet/facts/shapes/result_rules.h"
#include "graphnet/ops/callable.h"

namespace graphnet {

namespace {

// Most elements of a tuple that are followed one by one. Lists of sizes are far shorter.
constexpr size_t kMaxFollowedElements = 10000;

}  // namespace

bool DimPropagation::FollowNumbers(const Node& node, absl::string_view name,
                                   const std::vector<Argument>& args, SymbolicSizes* out) const {
  // A tensor with dimensions is not a number.
  if (out->is_tensor() ? out->rank() > 0 : out->is_tuple()) return false;
  if (args.empty()) return false;
  const auto yields = [&](SymbolicSizes made) {
    if (!made.is_tuple()) {
      made.holds_number = out->is_tensor();
      made.kind = out->is_tensor() ? SymbolicSizes::Kind::kTensor : SymbolicSizes::Kind::kNumber;
    }
    *out = std::move(made);
    return true;
  };
  const Callable callee = CalleeOf(node);
  const absl::string_view base =
      callee.python_operator != nullptr ? callee.python_operator->base : CommonName(name);
  const SymbolicSizes first = SymbolicSizesOf(args[0]);
  static const auto* const copies = new Names(
      Words("Int Float IntImplicit FloatImplicit ScalarImplicit NumToTensor item "
            "_local_scalar_dense int float sym_int sym_float index pos clone detach to _to_copy "
            "lift_fresh lift_fresh_copy alias contiguous long double half bfloat16 tensor "
            "scalar_tensor as_tensor list tuple Size"));
  if (first.is_tuple()) {
    const SymbolicSizes second = args.size() > 1 ? SymbolicSizesOf(args[1]) : SymbolicSizes();
    if (base == "len")
      return yields(SymbolicSizes::Number(static_cast<int64_t>(first.elements.size())));
    if (base == "add" && second.is_tuple()) {
      // A list that is added to itself again and again must not grow without bound.
      if (first.elements.size() + second.elements.size() > kMaxFollowedElements) return false;
      SymbolicSizes both = first;
      both.elements.insert(both.elements.end(), second.elements.begin(), second.elements.end());
      return yields(std::move(both));
    }
    if (base == "slice") {
      const auto size = static_cast<int64_t>(first.elements.size());
      const auto at = [&](size_t i, int64_t otherwise) -> std::optional<int64_t> {
        if (i >= args.size() || args[i].is_none()) return otherwise;
        if (!args[i].is_int()) return std::nullopt;
        const int64_t place = args[i].integer();
        return place < 0 ? std::max<int64_t>(place + size, 0) : std::min(place, size);
      };
      const std::optional<int64_t> begin = at(1, 0), end = at(2, size);
      const bool steps = args.size() > 3 && !(args[3].is_int() && args[3].integer() == 1);
      if (!begin.has_value() || !end.has_value() || steps) return false;
      SymbolicSizes part = first;
      part.elements.assign(first.elements.begin() + *begin,
                           first.elements.begin() + std::max(*begin, *end));
      return yields(std::move(part));
    }
    return !out->is_tensor() && copies->contains(base) && yields(first);
  }
  if (first.is_tensor() && !first.is_number()) {
    if (out->is_tensor()) return false;
    if (base == "dim" || base == "ndimension") return yields(SymbolicSizes::Number(first.rank()));
    if (base == "len" && first.rank() > 0) {
      SymbolicSizes size = SymbolicSizes::Number(first.sizes[0]);
      size.number_grows = first.grows[0] != 0;
      return yields(std::move(size));
    }
    if (base == "numel" || base == "nelement" || base == "sym_numel") {
      SymbolicSizes all = SymbolicSizes::Number(1);
      for (size_t i = 0; i < first.sizes.size(); ++i) {
        SymbolicSizes size = SymbolicSizes::Number(first.sizes[i]);
        size.number_grows = first.grows[i] != 0;
        all = Arithmetic("mul", all, size);
      }
      return yields(std::move(all));
    }
    static const auto* const others =
        new Names(Words("stride storage_offset sym_stride sym_storage_offset"));
    static const auto* const data = new Names(
        Words("item tolist _local_scalar_dense len int float bool Int Float Bool sym_int "
              "sym_float is_floating_point is_complex is_nonzero IntImplicit FloatImplicit "
              "device dtype layout is_cuda requires_grad __is__ __isnot__ is_ is_not"));
    // Numbers from data are unknown. Properties of a tensor do not depend on its size.
    SymbolicSizes number = SymbolicSizes::Number(std::nullopt);
    number.number_varies = others->contains(base) && first.any();
    const bool is_method = node.op() == Op::kCallMethod;  // .float() returns a tensor.
    const bool converts = is_method && (base == "int" || base == "float" || base == "bool");
    return (others->contains(base) || (data->contains(base) && !converts)) &&
           yields(std::move(number));
  }
  // The rest is arithmetic.
  bool all = true, nodes = false;
  node.ForEachArgument([&](const Argument& argument) {
    if (!argument.is_node()) return;
    nodes = true;
    all &= Of(argument).is_number();
  });
  if (!all || !nodes || !first.is_number()) return false;
  SymbolicSizes second = args.size() > 1 ? SymbolicSizesOf(args[1]) : SymbolicSizes();
  if (copies->contains(base)) return yields(first);
  const bool is_binary = second.is_number();
  if (is_binary && (base == "rsub" ||
                    (callee.python_operator != nullptr && callee.python_operator->is_reflected))) {
    return yields(Arithmetic(base == "rsub" ? "sub" : base, second, first));
  }
  if (const Argument* alpha = node.kwarg("alpha");
      (args.size() > 2 && (base == "add" || base == "sub")) || alpha != nullptr) {
    const Argument& scale = alpha != nullptr ? *alpha : args[2];
    second = Arithmetic("mul", second, SymbolicSizesOf(scale));
  }
  // Any other call that returns a tensor may have any sizes.
  if (!out->is_tensor() && !callee.overloads.empty() && !is_binary && base != "neg" &&
      absl::c_all_of(callee.overloads, [](const Schema& schema) {
        return !schema.returns.empty() && schema.returns[0].kind == SchemaType::Kind::kTensor;
      })) {
    return false;
  }
  return yields(Arithmetic(base, first, second));
}

SymbolicSizes DimPropagation::Arithmetic(absl::string_view name, const SymbolicSizes& a,
                                         const SymbolicSizes& b) const {
  const bool is_fixed = !a.any() && !b.any();
  SymbolicSizes varies = SymbolicSizes::Number(std::nullopt);
  varies.number_varies = !is_fixed;
  const auto result = [&](std::optional<int64_t> value, bool grows) {
    SymbolicSizes made = SymbolicSizes::Number(value);
    made.is_computed = a.is_computed || b.is_computed;
    if (made.is_computed) made.multiple = 1;
    if (int64_t all = 0; name == "mul" && made.is_computed &&
                         !__builtin_mul_overflow(a.multiple, b.multiple, &all)) {
      made.multiple = all;
    }
    made.number_grows = grows && value != 0;
    return made;
  };
  if (a.number_varies || b.number_varies || !a.number.has_value()) return varies;
  const int64_t x = *a.number;
  int64_t made = 0;
  if (name == "neg") {
    return __builtin_sub_overflow(int64_t{0}, x, &made) ? varies : result(made, a.number_grows);
  }
  if (!b.number.has_value()) return varies;
  const int64_t y = *b.number;
  if (name == "mul") {
    if (a.number_grows && b.number_grows) return varies;
    return __builtin_mul_overflow(x, y, &made) ? varies : result(made, !is_fixed);
  }
  if (name == "add" || name == "sub") {
    const bool overflows =
        name == "add" ? __builtin_add_overflow(x, y, &made) : __builtin_sub_overflow(x, y, &made);
    const bool fits = is_fixed || ((a.number_grows || x == 0) && (b.number_grows || y == 0));
    return overflows || !fits ? varies : result(made, !is_fixed);
  }
  const bool floors = name == "floordiv" || name == "floor_divide";
  const bool divides = floors || name == "truediv" || name == "div" || name == "divide";
  const bool rests = name == "mod" || name == "remainder" || name == "fmod";
  if ((!divides && !rests) || x < 0 || y <= 0) return varies;
  if (is_fixed) return floors || x % y == 0 ? result(divides ? x / y : x % y, false) : varies;
  // Both are multiples of the symbol, so their factors are divided.
  if (a.number_grows && b.number_grows) {
    const int64_t p = x / example_, q = y / example_;
    if (p % q != 0 && !floors) return varies;
    return result(divides ? p / q : 0, false);
  }
  if (!a.number_grows || (x / example_) % y != 0) return varies;
  return divides ? result(x / y, true) : result(0, false);
}

absl::Status DimPropagation::FollowRange(Node* node, SymbolicSizes* out) {
  const absl::string_view name = OperatorName(*node);
  if (!out->is_tensor() || out->rank() != (name == "eye" ? 2 : 1)) return Fits(SymbolicSizes());
  const auto forced = forced_.find(node);
  if (forced != forced_.end()) {
    for (const size_t i : forced->second) out->grows[i] = 1;
  }
  const auto given = [&](absl::string_view parameter, size_t position) {
    return node->FindArg(parameter, position);
  };
  const auto of = [&](const Argument* argument, int64_t otherwise) {
    return argument == nullptr || argument->is_none() ? SymbolicSizes::Number(otherwise)
                                                      : SymbolicSizesOf(*argument);
  };
  if (name == "range") {
    bool any = out->any();
    node->ForEachOperand([&](const Node* operand) { any |= values_[operand].any(); });
    return any ? absl::FailedPreconditionError("has a size that does not grow in proportion")
               : absl::OkStatus();
  }
  if (name != "arange") {
    SizeList list;
    if (name == "eye") {
      const Argument* columns = given("m", 1);
      list.sizes = {given("n", 0), columns != nullptr && !columns->is_node() && !columns->is_int()
                                       ? given("n", 0)
                                       : columns};
      if (list.sizes[1] == nullptr) list.sizes[1] = list.sizes[0];
    } else if (name == "linspace" || name == "logspace") {
      list.sizes = {given("steps", 2)};
    } else {
      list.sizes = {given(name == "randperm" ? "n" : "window_length", 0)};
    }
    if (absl::c_linear_search(list.sizes, nullptr))
      return absl::FailedPreconditionError("has unexpected arguments");
    for (size_t i = 0; i < list.sizes.size(); ++i) {
      list.extents.push_back(SymbolicSizesOf(*list.sizes[i]));
      out->grows[i] |= list.extents[i].number_grows;
    }
    // One number is the size of both dimensions.
    if (name == "eye" && list.sizes[0] == list.sizes[1])
      out->grows[0] = out->grows[1] = out->grows[0] | out->grows[1];
    return WriteSizes(node, list, *out);
  }
  const size_t count = node->args().size();
  const bool ends_first = count == 1 && node->kwarg("end") == nullptr;
  const Argument* end = ends_first ? &node->args()[0] : given("end", 1);
  const Argument* begin = ends_first ? node->kwarg("start") : given("start", 0);
  const SymbolicSizes first = of(begin, 0), step = of(given("step", 2), 1), last = of(end, 0);
  const SymbolicSizes length = Arithmetic("div", Arithmetic("sub", last, first), step);
  if (!first.any() && !step.any() && !last.any()) {
    if (!out->grows[0]) return absl::OkStatus();
    // It has to grow although its end is a constant.
    if (end == nullptr || end->is_node() || !end->is_int() || first.number != 0 ||
        step.number != 1 || last.number != out->sizes[0]) {
      return absl::FailedPreconditionError("has a size that should grow but does not");
    }
    Edit(node, end, out->sizes[0]);
    return absl::OkStatus();
  }
  out->grows[0] |= length.number_grows;
  return length.number_varies || length.number.value_or(out->sizes[0]) != out->sizes[0] ||
                 (out->grows[0] && !length.number_grows)
             ? absl::FailedPreconditionError("has a size that does not grow in proportion")
             : absl::OkStatus();
}

}  // namespace graphnet
