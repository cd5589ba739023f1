// Follows calls of tensor operators.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "graphnet/base/status.h"
#include "graphnet/facts/shapes/dim_propagation.h"
#include "graphnet/facts/shapes/result_rules.h"
#include "graphnet/facts/shapes/tensor_facts.h"
#include "graphnet/ops/binder.h"
#include "graphnet/ops/callable.h"
#include "graphnet/ops/schema_table.h"

namespace graphnet {

absl::Status DimPropagation::FollowTensor(Node* node, absl::string_view name, SymbolicSizes* out) {
  const std::vector<Argument> args = PositionalArgs(*node);
  // These are in addition to those of results.txt.
  static const auto* const same = new Names(Words(
      "dropout1d dropout2d dropout3d feature_dropout alpha_dropout feature_alpha_dropout softmin "
      "detach_copy float half double bfloat16 type long int bool short byte char cpu cuda "
      "normalize requires_grad softsign logsigmoid masked_scatter scatter_reduce "
      "local_response_norm expand_copy bernoulli gumbel_softmax checkpoint"));
  static const auto* const batch_first = new Names(Words(
      "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d max_pool1d "
      "max_pool2d max_pool3d avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d "
      "adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d "
      "batch_norm group_norm instance_norm pixel_shuffle pixel_unshuffle channel_shuffle unfold "
      "fold grid_sample affine_grid lp_pool2d prelu convolution _convolution "
      "max_pool2d_with_indices "
      "max_pool3d_with_indices _adaptive_avg_pool2d _adaptive_avg_pool3d"));
  static const auto* const reshapes =
      new Names(Words("view reshape flatten unflatten view_as reshape_as"));
  static const auto* const reductions = new Names(
      Words("mean sum amax amin max min prod std var norm vector_norm linalg_vector_norm "
            "linalg_norm argmax argmin all any logsumexp median count_nonzero std_mean var_mean"));
  const SymbolicSizes& in = args.empty() ? Of(Argument()) : Of(args[0]);
  if (name == "expand_as" && args.size() == 2) {
    out->grows = Of(args[1]).grows;
    return Fits(*out);
  }

  const absl::string_view rule = ResultRuleOf(name).sizes;
  if (rule == "expand") return FollowExpand(node, in, out);
  if (rule == "view" || reshapes->contains(name)) return FollowReshape(node, name, in, out);
  if (CallsPointwise(*node)) return FollowPointwise(node, out);
  if (batch_first->contains(name)) {
    std::vector<SymbolicSizes*> parts = {out};
    if (out->is_tuple()) {
      parts.clear();
      for (SymbolicSizes& element : out->elements) parts.push_back(&element);
    }
    if (!in.is_tensor() || in.rank() < 2 || parts.empty() ||
        absl::c_any_of(parts, [](const SymbolicSizes* of) { return of->rank() == 0; }) ||
        absl::c_linear_search(absl::MakeConstSpan(in.grows).subspan(1), uint8_t{1})) {
      return absl::FailedPreconditionError("may compute along the dimension");
    }
    for (size_t i = 1; i < args.size(); ++i) {
      if (name != "grid_sample" && Of(args[i]).any())
        return absl::FailedPreconditionError("has weights that grow");
    }
    for (SymbolicSizes* part : parts) {
      part->grows[0] = in.grows[0];
      if (in.grows[0] && part->sizes[0] != in.sizes[0])
        return absl::FailedPreconditionError("changes the size of the dimension");
    }
    return absl::OkStatus();
  }
  if (same->contains(name) || (out->is_tensor() && ResultRuleOf(name).sizes == "same")) {
    if (!in.is_tensor() || in.sizes != out->sizes)
      return absl::FailedPreconditionError("returns other sizes than those of its operand");
    if (absl::StrContains(name, "_norm") && in.rank() > 0 && in.grows.back())
      return absl::FailedPreconditionError("computes along the dimension");
    out->grows = in.grows;
    return absl::OkStatus();
  }
  if (out->is_tuple() && rule == "same" && in.is_tensor()) return FollowNorm(node, in, out);
  if (reductions->contains(name)) return FollowReduction(*node, in, out);
  if (name == "linear") {
    if (!in.is_tensor() || in.rank() == 0 || in.grows.back() || args.size() < 2 ||
        Of(args[1]).any())
      return absl::FailedPreconditionError("sums products over the dimension");
    if (out->rank() != in.rank()) return Fits(SymbolicSizes());
    std::copy(in.grows.begin(), in.grows.end() - 1, out->grows.begin());
    return absl::OkStatus();
  }
  if (name == "matmul" || name == "bmm" || name == "mm" || name == "__matmul__" || name == "mv")
    return FollowMatmul(node, 0, out);
  if (name == "baddbmm" || name == "addmm") return FollowMatmul(node, 1, out);
  if (name == "scaled_dot_product_attention") return FollowAttention(node, out);
  if (name == "einsum") return FollowEinsum(*node, out);
  if (name == "transpose" || name == "swapaxes" || name == "swapdims" || name == "permute" ||
      name == "t" || name == "movedim" || name == "moveaxis") {
    return FollowPermute(*node, name, in, out);
  }
  if (name == "unsqueeze" || name == "squeeze") return FollowSqueeze(*node, name, in, out);
  if (name == "cat" || name == "concat" || name == "concatenate" || name == "stack")
    return FollowCat(node, name == "stack", out);
  if (name == "chunk" || name == "split" || name == "tensor_split" || name == "split_with_sizes" ||
      name == "unbind" || name == "topk" || name == "sort" || name == "topk") {
    const std::optional<int> dim =
        DimIn(node->FindArg("dim", name == "unbind" ? 1
                                   : name == "sort" ? 1
                                                    : 2),
              in.rank(), name == "topk" || name == "sort" ? in.rank() - 1 : 0);
    if (!in.is_tensor() || !dim.has_value() || in.grows[static_cast<size_t>(*dim)])
      return absl::FailedPreconditionError("splits the dimension up");
    for (SymbolicSizes& element : out->elements) {
      std::vector<uint8_t> grows = in.grows;
      if (name == "unbind") grows.erase(grows.begin() + *dim);
      if (grows.size() != element.sizes.size())
        return absl::FailedPreconditionError("returns an unknown value");
      element.grows = std::move(grows);
    }
    return absl::OkStatus();
  }
  if (name == "select" || name == "narrow" || name == "index_select" || name == "gather") {
    const Argument* index = node->FindArg("index", 2);
    if (name != "select" && name != "narrow" && index == nullptr)
      return absl::FailedPreconditionError("has unexpected arguments");
    if (name == "gather") {
      out->grows = Of(*index).grows;
      return Fits(*out);
    }
    const std::optional<int> dim = DimIn(node->FindArg("dim", 1), in.rank(), 0);
    if (!in.is_tensor() || !dim.has_value())
      return absl::FailedPreconditionError("takes an unknown part");
    out->grows = in.grows;
    if (name == "select") {
      out->grows.erase(out->grows.begin() + *dim);
    } else if (name == "index_select") {
      out->grows[static_cast<size_t>(*dim)] = Of(*index).any();
    } else if (in.grows[static_cast<size_t>(*dim)]) {
      return absl::FailedPreconditionError("slices the dimension");
    }
    return Fits(*out);
  }
  if (name == "embedding" || name == "one_hot") {
    // torch's function takes the indices first, ATen's the weight.
    const SymbolicSizes& index =
        name == "embedding" && !in.any() && args.size() > 1 ? Of(args[1]) : in;
    out->grows = index.grows;
    out->grows.push_back(0);
    return Fits(*out);
  }
  if (name == "interpolate" || name == "upsample") return FollowInterpolate(*node, in, out);
  if (name == "repeat" || name == "tile") {
    if (!in.is_tensor() || out->rank() < in.rank()) return Fits(SymbolicSizes());
    const size_t lead = out->sizes.size() - in.sizes.size();
    for (size_t i = 0; i < in.grows.size(); ++i) out->grows[lead + i] = in.grows[i];
    return MarkNumbers(node, out);
  }
  if (name == "repeat_interleave") {
    const std::optional<int> dim = DimIn(node->FindArg("dim", 2), in.rank(), -1);
    if (!in.is_tensor() || !dim.has_value() || *dim < 0 || args.size() < 2 || !args[1].is_int())
      return absl::FailedPreconditionError("repeats an unknown number of times");
    out->grows = in.grows;
    return Fits(*out);
  }
  if (name == "pad" || name == "constant_pad_nd") {
    const Argument* pad = node->FindArg("pad", 1);
    const absl::Span<const Argument> amounts = ListOf(pad);
    const size_t padded = (amounts.size() + 1) / 2;
    out->grows = in.grows;
    for (size_t i = in.grows.size() - std::min(padded, in.grows.size()); i < in.grows.size(); ++i) {
      const size_t at = 2 * (in.grows.size() - 1 - i);
      const auto is_zero = [&](size_t k) {
        return k < amounts.size() && amounts[k].is_int() && amounts[k].integer() == 0;
      };
      if (in.grows[i] && !(is_zero(at) && is_zero(at + 1)))
        return absl::FailedPreconditionError("pads the dimension");
    }
    return Fits(*out);
  }
  if (name == "multi_head_attention_forward") {
    if (!in.is_tensor() || out->elements.empty() || in.rank() != 3 || in.grows[0] || in.grows[2])
      return absl::FailedPreconditionError("may attend over the dimension");
    out->elements[0].grows = in.grows;
    if (out->elements.size() > 1 && out->elements[1].rank() > 0) out->elements[1].grows[0] = 1;
    return absl::OkStatus();
  }
  if (const auto forced = forced_.find(node); name == "slice" && forced != forced_.end()) {
    RETURN_IF_ERROR(FollowProbes(*node, out));
    for (const size_t i : forced->second) {
      if (!out->grows[i]) Edit(node, node->FindArg("end", 3), out->sizes[i]);
      out->grows[i] = 1;
    }
    return absl::OkStatus();
  }
  if (rule == "listed") return FollowFactory(node, name, out);
  static const auto* const ranges =
      new Names(Words("arange range linspace logspace eye randperm bartlett_window blackman_window "
                      "hann_window hamming_window kaiser_window"));
  if (ranges->contains(name)) return FollowRange(node, out);
  return FollowProbes(*node, out);
}

absl::Status DimPropagation::FollowAttention(Node* node, SymbolicSizes* out) {
  const std::vector<Argument> args = PositionalArgs(*node);
  if (args.size() < 3 || !out->is_tensor() || out->rank() < 2) return Fits(SymbolicSizes());
  const auto rank = out->sizes.size();
  std::vector<uint8_t> wanted(rank, 0);  // the scores: batches, queries, keys
  for (size_t k = 0; k < 3; ++k) {
    const SymbolicSizes& of = Of(args[k]);
    if (!of.is_tensor() || of.sizes.size() != rank) return Fits(SymbolicSizes());
    for (size_t i = 0; i + 2 < rank; ++i) wanted[i] |= of.grows[i];
    if (of.grows.back()) return absl::FailedPreconditionError("sums products over the dimension");
  }
  wanted[rank - 2] = Of(args[0]).grows[rank - 2];
  wanted[rank - 1] = Of(args[1]).grows[rank - 2] | Of(args[2]).grows[rank - 2];
  for (size_t i = 0; i + 1 < rank; ++i) out->grows[i] = wanted[i];
  const auto make = [&](const Argument& operand, size_t i, bool grows, bool broadcasts) {
    const SymbolicSizes& of = Of(operand);
    return of.grows[i] == uint8_t{grows} ||
           (grows && ((broadcasts && of.sizes[i] == 1) || Force(operand, i) ||
                      (!broadcasts && Expand(node, operand, i))));
  };
  bool fits = true;
  for (size_t k = 0; k < 3; ++k) {
    for (size_t i = 0; i + 2 < rank; ++i) fits &= make(args[k], i, wanted[i] != 0, false);
    if (k > 0) fits &= make(args[k], rank - 2, wanted[rank - 1] != 0, false);
  }
  if (args.size() > 3 && Of(args[3]).is_tensor() && Of(args[3]).sizes.size() <= rank) {
    const size_t lead = rank - Of(args[3]).sizes.size();
    for (size_t i = lead; i < rank; ++i) fits &= make(args[3], i - lead, wanted[i] != 0, true);
  }
  return fits ? absl::OkStatus()
              : absl::FailedPreconditionError("has operands that do not all grow");
}

absl::Status DimPropagation::FollowInterpolate(const Node& node, const SymbolicSizes& in,
                                               SymbolicSizes* out) {
  if (!in.is_tensor() || !out->is_tensor() || in.rank() < 3 || in.rank() != out->rank())
    return Fits(SymbolicSizes());
  const Argument* size = node.FindArg("size", 1);
  const Argument* factor = node.FindArg("scale_factor", 2);
  const bool is_given = size != nullptr && !size->is_none();
  for (size_t i = 0; i < in.sizes.size(); ++i) {
    if (i < 2) {
      out->grows[i] = in.grows[i];
      continue;
    }
    // Each is one number, or one for each dimension.
    if (is_given) {
      const SymbolicSizes all = SymbolicSizesOf(*size);
      if (all.is_tuple() && all.elements.size() != in.sizes.size() - 2)
        return absl::FailedPreconditionError("has unknown sizes");
      const SymbolicSizes& one = all.is_tuple() ? all.elements[i - 2] : all;
      if (!one.is_number() || one.number_varies)
        return absl::FailedPreconditionError("has unknown sizes");
      out->grows[i] = one.number_grows;
    } else if (in.grows[i]) {
      const auto factors = ListOf(factor);
      if (factors.empty() || (factors.size() > 1 && factors.size() != in.sizes.size() - 2))
        return absl::FailedPreconditionError("has unknown factors");
      const Argument& by = factors[factors.size() == 1 ? 0 : i - 2];
      const bool is_whole = by.is_int() || (by.is_float() && std::isfinite(by.real()) &&
                                            by.real() == std::floor(by.real()));
      if (!is_whole) return absl::FailedPreconditionError("rounds the dimension");
      out->grows[i] = 1;
    }
  }
  return absl::OkStatus();
}

absl::Status DimPropagation::FollowNorm(Node* node, const SymbolicSizes& in, SymbolicSizes* out) {
  if (out->elements.empty() || out->elements[0].sizes != in.sizes || in.grows.back())
    return absl::FailedPreconditionError("computes along the dimension");
  out->elements[0].grows = in.grows;
  if (OperatorName(*node) == "native_group_norm") {
    // It has the sizes as arguments. Only the batch may grow.
    const Argument* batch = node->FindArg("N", 3);
    if (absl::c_linear_search(absl::MakeConstSpan(in.grows).subspan(1), uint8_t{1}) ||
        batch == nullptr) {
      return absl::FailedPreconditionError("computes along the dimension");
    }
    SizeList list;
    list.sizes = {batch};
    list.extents = {SymbolicSizesOf(*batch)};
    RETURN_IF_ERROR(WriteSizes(node, list, in));
  }
  // Dimensions of the statistics that are as large as the input's grow with them.
  for (size_t k = 1; k < out->elements.size(); ++k) {
    SymbolicSizes& part = out->elements[k];
    const bool is_used = absl::c_any_of(node->uses(), [&](const Use& use) {
      return use.user->args().size() != 2 || !use.user->args()[1].is_int() ||
             use.user->args()[1].integer() == static_cast<int64_t>(k);
    });
    if (is_used && part.sizes.size() != in.sizes.size() && in.any() && part.rank() > 0)
      return absl::FailedPreconditionError("returns statistics of unknown sizes");
    for (size_t i = 0; i < part.sizes.size() && part.sizes.size() == in.sizes.size(); ++i)
      part.grows[i] = in.grows[i] && part.sizes[i] == in.sizes[i];
  }
  return absl::OkStatus();
}

bool DimPropagation::CallsPointwise(const Node& node) const {
  const Callable callee = CalleeOf(node);
  if (const Schema* schema = callee.named_operator()) return IsPointwise(*schema);
  const absl::string_view name =
      callee.python_operator == nullptr ? OperatorName(node) : callee.python_operator->aten;
  const absl::Span<const Schema> schemas = FindSchemas(name);
  const auto num_pointwise = static_cast<size_t>(absl::c_count_if(schemas, IsPointwise));
  if (num_pointwise == 0 || num_pointwise == schemas.size()) return num_pointwise > 0;
  const auto bound =
      Bind(callee, node.args(), node.kwargs(), [&](const Node* operand) -> ValueType {
        const SymbolicSizes& of = values_[operand];
        if (of.kind == SymbolicSizes::Kind::kNumber) return ValueType::Kind::kNumber;
        return of.is_tensor() ? ValueType::Kind::kTensor : ValueType::Kind::kUnknown;
      });
  return bound.ok() && IsPointwise(bound->schema());
}

absl::Status DimPropagation::Fits(const SymbolicSizes& out) const {
  if (out.is_tensor() && out.grows.size() == out.sizes.size()) return absl::OkStatus();
  return absl::FailedPreconditionError("returns unknown sizes");
}

absl::Status DimPropagation::FollowPointwise(Node* node, SymbolicSizes* out) {
  if (!out->is_tensor()) return Fits(*out);
  const auto each = [&](const auto& fn) {
    node->ForEachArgument([&](const Argument& a) {
      if (a.is_node() && Of(a).is_tensor()) fn(a, Of(a));
    });
  };
  each([&](const Argument&, const SymbolicSizes& of) {
    for (int i = 0; i < of.rank() && i < out->rank(); ++i) {
      out->grows[static_cast<size_t>(out->rank() - 1 - i)] |=
          of.grows[static_cast<size_t>(of.rank() - 1 - i)];
    }
  });
  // An operand that does not grow must have size 1 there.
  absl::Status status;
  each([&](const Argument& a, const SymbolicSizes& of) {
    for (int i = 0; i < of.rank() && i < out->rank(); ++i) {
      const auto at = static_cast<size_t>(of.rank() - 1 - i);
      if (!out->grows[static_cast<size_t>(out->rank() - 1 - i)] || of.grows[at]) continue;
      if (of.sizes[at] == 1 && !WritesTo(*node, a)) continue;
      if (!Force(a, at))
        status = absl::FailedPreconditionError("has operands that do not all grow");
    }
  });
  return status;
}

bool DimPropagation::WritesTo(const Node& node, const Argument& argument) {
  if (node.args().empty()) return false;
  const bool in_place =
      absl::EndsWith(node.target(), "_") || absl::StartsWith(node.target(), "operator.i");
  return in_place && node.args()[0] == argument;
}

absl::Status DimPropagation::FollowReduction(const Node& node, const SymbolicSizes& in,
                                             SymbolicSizes* out) {
  const std::vector<Argument> args = PositionalArgs(node);
  if (!in.is_tensor()) return Fits(*out);
  if (args.size() > 1 && Of(args[1]).is_tensor())
    return FollowPointwise(const_cast<Node*>(&node), out);  // max(x, y)
  const absl::string_view name = OperatorName(node);
  const bool has_order = name == "norm" || name == "vector_norm" || name == "linalg_vector_norm" ||
                         name == "linalg_norm";
  const Argument* dims = node.FindArg("dim", has_order ? 2 : 1);
  if (dims == nullptr) dims = node.kwarg("axis");
  // An empty list means all dimensions, except for any() and all().
  const bool is_whole =
      dims == nullptr || dims->is_none() ||
      (dims->is_aggregate() && dims->elements().empty() && name != "any" && name != "all");
  std::vector<uint8_t> reduced(in.sizes.size(), is_whole);
  if (dims != nullptr && !dims->is_none()) {
    for (const Argument& one : ListOf(dims)) {
      const std::optional<int> dim = DimIn(&one, in.rank(), 0);
      if (!dim.has_value()) return absl::FailedPreconditionError("reduces unknown dimensions");
      reduced[static_cast<size_t>(*dim)] = 1;
    }
  }
  std::vector<uint8_t> kept, left;
  for (size_t i = 0; i < in.sizes.size(); ++i) {
    kept.push_back(reduced[i] ? 0 : in.grows[i]);
    if (!reduced[i]) left.push_back(in.grows[i]);
  }
  const auto set = [&](SymbolicSizes* of) {
    if (!of->is_tensor()) return false;
    if (of->sizes.size() == kept.size()) {
      of->grows = kept;
    } else if (of->sizes.size() == left.size()) {
      of->grows = left;
    } else {
      return false;
    }
    return true;
  };
  if (out->kind == SymbolicSizes::Kind::kTuple) {
    for (SymbolicSizes& element : out->elements) {
      if (!set(&element)) return Fits(element);
    }
    return absl::OkStatus();
  }
  return set(out) ? absl::OkStatus() : Fits(SymbolicSizes());
}

absl::Status DimPropagation::FollowMatmul(Node* node, size_t first, SymbolicSizes* out) {
  const std::vector<Argument> args = PositionalArgs(*node);
  if (args.size() < first + 2) return absl::FailedPreconditionError("has unexpected arguments");
  const SymbolicSizes& a = Of(args[first]);
  const SymbolicSizes& b = Of(args[first + 1]);
  if (!a.is_tensor() || !b.is_tensor() || a.rank() == 0 || b.rank() == 0 || !out->is_tensor())
    return absl::FailedPreconditionError("multiplies unknown values");
  const uint8_t inner_a = a.grows.back();
  const uint8_t inner_b = b.grows[b.grows.size() - (b.rank() > 1 ? 2 : 1)];
  if (inner_a != inner_b) {
    const size_t at = inner_a ? b.grows.size() - (b.rank() > 1 ? 2 : 1) : a.grows.size() - 1;
    if (!Force(args[inner_a ? first + 1 : first], at))
      return absl::FailedPreconditionError("sums products over the dimension");
  }
  if (a.rank() < 2 || b.rank() < 2) {
    if (a.rank() >= 2 && out->rank() == a.rank() - 1)
      std::copy(a.grows.begin(), a.grows.end() - 1, out->grows.begin());
    return b.any() && a.rank() < 2 ? absl::FailedPreconditionError("multiplies unknown sizes")
                                   : absl::OkStatus();
  }
  const auto n = out->sizes.size();
  if (n < 2) return Fits(SymbolicSizes());
  out->grows[n - 2] = a.grows[a.grows.size() - 2];
  out->grows[n - 1] = b.grows.back();
  absl::Status status;
  for (size_t i = 0; i + 2 < n; ++i) {
    const auto of = [&](const SymbolicSizes& e) -> std::optional<size_t> {
      const size_t back = n - i;
      if (e.sizes.size() < back) return std::nullopt;
      return e.sizes.size() - back;
    };
    const auto at_a = of(a), at_b = of(b);
    const bool grows = (at_a && a.grows[*at_a]) || (at_b && b.grows[*at_b]);
    out->grows[i] = grows;
    if (!grows) continue;
    const bool broadcasts = absl::StrContains(OperatorName(*node), "matmul");
    for (size_t k = 0; k < 2; ++k) {
      const auto at = k == 0 ? at_a : at_b;
      const SymbolicSizes& e = k == 0 ? a : b;
      if (!at || e.grows[*at] || (broadcasts && e.sizes[*at] == 1)) continue;
      if (!Force(args[first + k], *at) && !Expand(node, args[first + k], *at))
        status = absl::FailedPreconditionError("multiplies sizes that grow with sizes that do not");
    }
  }
  return status;
}

absl::Status DimPropagation::FollowEinsum(const Node& node, SymbolicSizes* out) {
  const std::vector<Argument> args = PositionalArgs(node);
  if (args.empty() || !args[0].is_string())
    return absl::FailedPreconditionError("has unexpected arguments");
  std::string equation(args[0].string());
  equation.erase(std::remove(equation.begin(), equation.end(), ' '), equation.end());
  if (absl::StrContains(equation, "..."))
    return absl::FailedPreconditionError("has an ellipsis in its equation");
  const std::string output = OutputOfEinsum(equation);
  const std::vector<std::string> terms =
      absl::StrSplit(equation.substr(0, equation.find("->")), ',');
  if (args.size() < 2) return absl::FailedPreconditionError("has unexpected arguments");
  std::vector<Argument> operands(args.begin() + 1, args.end());
  if (operands.size() == 1 && operands[0].is_aggregate())
    operands.assign(operands[0].elements().begin(), operands[0].elements().end());
  std::map<char, std::pair<bool, bool>> letters;  // grows in one operand, does not grow in one
  for (size_t i = 0; i < terms.size() && i < operands.size(); ++i) {
    const SymbolicSizes& of = Of(operands[i]);
    if (!of.is_tensor() || of.sizes.size() != terms[i].size())
      return absl::FailedPreconditionError("has unexpected arguments");
    for (size_t d = 0; d < of.sizes.size(); ++d)
      (of.grows[d] ? letters[terms[i][d]].first : letters[terms[i][d]].second) = true;
  }
  for (size_t d = 0; d < output.size() && d < out->grows.size(); ++d)
    out->grows[d] = letters[output[d]].first;
  for (const auto& [letter, how] : letters) {
    if (how.first && how.second)
      return absl::FailedPreconditionError("has operands that do not all grow");
  }
  return absl::OkStatus();
}

absl::Status DimPropagation::FollowPermute(const Node& node, absl::string_view name,
                                           const SymbolicSizes& in, SymbolicSizes* out) {
  const std::vector<Argument> args = PositionalArgs(node);
  if (!in.is_tensor()) return Fits(*out);
  out->grows = in.grows;
  if (name == "t") {
    if (in.rank() == 2) std::swap(out->grows[0], out->grows[1]);
    return Fits(*out);
  }
  if (name == "permute") {
    const Argument* dims = node.FindArg("dims", 1);
    const auto list =
        dims != nullptr && dims->is_int() ? absl::MakeConstSpan(args).subspan(1) : ListOf(dims);
    if (list.size() != in.sizes.size())
      return absl::FailedPreconditionError("permutes unknown dimensions");
    for (size_t i = 0; i < list.size(); ++i) {
      const std::optional<int> dim = DimIn(&list[i], in.rank(), 0);
      if (!dim.has_value()) return absl::FailedPreconditionError("permutes unknown dimensions");
      out->grows[i] = in.grows[static_cast<size_t>(*dim)];
    }
    return Fits(*out);
  }
  const bool moves = name == "movedim" || name == "moveaxis";
  const Argument* from = node.FindArg(moves ? "source" : "dim0", 1);
  const Argument* to = node.FindArg(moves ? "destination" : "dim1", 2);
  if (from == nullptr) from = node.kwarg("axis0");
  if (to == nullptr) to = node.kwarg("axis1");
  if (from == nullptr || to == nullptr)
    return absl::FailedPreconditionError("permutes unknown dimensions");
  const std::optional<int> a = DimIn(from, in.rank(), 0), b = DimIn(to, in.rank(), 0);
  if (!a.has_value() || !b.has_value())
    return absl::FailedPreconditionError("permutes unknown dimensions");
  if (moves) {
    const uint8_t grows = out->grows[static_cast<size_t>(*a)];
    out->grows.erase(out->grows.begin() + *a);
    out->grows.insert(out->grows.begin() + *b, grows);
  } else {
    std::swap(out->grows[static_cast<size_t>(*a)], out->grows[static_cast<size_t>(*b)]);
  }
  return Fits(*out);
}

absl::Status DimPropagation::FollowSqueeze(const Node& node, absl::string_view name,
                                           const SymbolicSizes& in, SymbolicSizes* out) {
  if (!in.is_tensor()) return Fits(*out);
  out->grows = in.grows;
  const Argument* given = node.FindArg("dim", 1);
  if (name == "unsqueeze") {
    const std::optional<int> dim = DimIn(given, in.rank() + 1, 0);
    if (!dim.has_value()) return absl::FailedPreconditionError("adds an unknown dimension");
    out->grows.insert(out->grows.begin() + *dim, 0);
    return Fits(*out);
  }
  std::vector<size_t> gone;
  for (size_t i = 0; i < in.sizes.size(); ++i) {
    bool named = given == nullptr || given->is_none();
    if (!named) {
      for (const Argument& one : ListOf(given))
        named |= DimIn(&one, in.rank(), 0) == static_cast<int>(i);
    }
    if (!named || in.sizes[i] != 1) continue;
    if (in.grows[i])
      return absl::FailedPreconditionError("takes the dimension away where its size is 1");
    gone.push_back(i);
  }
  for (auto i = gone.rbegin(); i != gone.rend(); ++i)
    out->grows.erase(out->grows.begin() + static_cast<ptrdiff_t>(*i));
  return Fits(*out);
}

absl::Status DimPropagation::FollowCat(Node* node, bool stacks, SymbolicSizes* out) {
  const std::vector<Argument> args = PositionalArgs(*node);
  const Argument list = args.empty() ? Argument() : args[0];
  if (!list.is_aggregate() || !out->is_tensor())
    return absl::FailedPreconditionError("joins an unknown list");
  const std::optional<int> dim =
      DimIn(node->FindArg("dim", 1) != nullptr ? node->FindArg("dim", 1) : node->kwarg("axis"),
            out->rank(), 0);
  if (!dim.has_value()) return absl::FailedPreconditionError("joins along an unknown dimension");
  const auto along = static_cast<size_t>(*dim);
  const auto place = [&](size_t i) { return stacks && i >= along ? i + 1 : i; };
  size_t grows_along = 0;
  for (const Argument& element : list.elements()) {
    const SymbolicSizes& of = Of(element);
    if (!of.is_tensor()) return absl::FailedPreconditionError("joins unknown values");
    if (of.sizes.size() != out->sizes.size() - (stacks ? 1 : 0)) continue;  // an empty tensor
    for (size_t i = 0; i < of.sizes.size(); ++i) out->grows[place(i)] |= of.grows[i];
    grows_along += !stacks && of.grows[along] ? 1 : 0;
  }
  if (grows_along != 0 && grows_along != list.elements().size())
    return absl::FailedPreconditionError("joins sizes that grow with sizes that do not");
  absl::Status status;
  for (const Argument& element : list.elements()) {
    const SymbolicSizes& of = Of(element);
    for (size_t i = 0; i < of.sizes.size(); ++i) {
      if (of.sizes.size() != out->sizes.size() - (stacks ? 1 : 0)) continue;
      if (!out->grows[place(i)] || of.grows[i]) continue;
      if (!Force(element, i) && !Expand(node, element, i))
        status = absl::FailedPreconditionError("joins sizes that grow with sizes that do not");
    }
  }
  return status;
}

}  // namespace graphnet
