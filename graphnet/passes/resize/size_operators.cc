// Follows calls of tensor operators.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graphnet/base/status.h"
#include "graphnet/facts/shapes/operator_name.h"
#include "graphnet/facts/shapes/result_rules.h"
#include "graphnet/ops/callable.h"
#include "graphnet/ops/schema_table.h"
#include "graphnet/passes/resize/size_follower.h"

namespace graphnet {
namespace {

using Names = absl::flat_hash_set<absl::string_view>;
Names Words(absl::string_view text) { return absl::StrSplit(text, ' '); }

int64_t NumberAt(const Argument* list, size_t i, int64_t otherwise) {
  if (list == nullptr || list->is_none()) return otherwise;
  if (list->is_int()) return list->integer();
  if (!list->is_sequence() || list->elements().empty()) return otherwise;
  const Argument& one = list->elements()[std::min(i, list->elements().size() - 1)];
  return one.is_int() ? one.integer() : otherwise;
}

}  // namespace

std::vector<Node*> SizeFollower::TensorOperands(const Node& node) const {
  std::vector<Node*> made;
  node.ForEachArgument([&](const Argument& a) {
    if (a.is_node() && Of(a).is_tensor() && !absl::c_linear_search(made, a.node()))
      made.push_back(a.node());
  });
  return made;
}

bool SizeFollower::IsPointwiseCall(const Node& node) const {
  const Callable callee = CalleeOf(node);
  const absl::string_view name =
      callee.python_operator == nullptr ? OperatorName(node) : callee.python_operator->aten;
  static const auto* const more = new Names(
      Words("dropout dropout1d dropout2d dropout3d alpha_dropout feature_dropout relu6 hardtanh "
            "mish silu gelu elu selu celu leaky_relu hardswish hardsigmoid softplus type_as iadd "
            "imul isub itruediv masked_fill where"));
  if (more->contains(absl::StripSuffix(name, "_"))) return true;
  return absl::c_any_of(FindSchemas(name), IsPointwise) ||
         absl::c_any_of(FindSchemas(absl::StripSuffix(name, "_")), IsPointwise);
}

bool SizeFollower::Fit(Node* node, Node* operand, size_t dim, const Size& want, bool may_expand) {
  if (Demand(operand, dim, want)) return true;
  const Size& now = values_[operand].dims[dim];
  if (!may_expand || now.base() != 1 || now.varies() || want.base() != 1) return false;
  if (is_trial_) return false;
  expands[node][operand][dim] = want;
  return true;
}

absl::Status SizeFollower::FollowTensor(Node* node, absl::string_view name, Extent* out) {
  const std::vector<Node*> operands = TensorOperands(*node);
  static const auto* const same = new Names(Words(
      "contiguous to float half double bfloat16 long int bool cpu cuda detach clone requires_grad "
      "softmax log_softmax softmin cumsum cumprod tril triu layer_norm rms_norm batch_norm "
      "group_norm instance_norm normalize prelu roll flip zeros_like ones_like full_like "
      "empty_like "
      "rand_like randn_like zero fill copy dropout masked_scatter local_response_norm bernoulli "
      "gumbel_softmax scatter scatter_add index_add index_fill index_copy lift_fresh alias "
      "_softmax _log_softmax index_put type logsumexp_ softsign logsigmoid scatter_reduce"));
  static const auto* const factories =
      new Names(Words("zeros ones full empty rand randn randint new_zeros new_ones new_full "
                      "new_empty normal"));
  if (name == "view" || name == "reshape" || name == "_unsafe_view" || name == "unflatten")
    return FollowView(node, name, out);
  if (name == "flatten") return FollowFlatten(*node, out);
  if (name == "expand" || name == "broadcast_to") return FollowExpand(node, out);
  if (name == "expand_as" || name == "view_as" || name == "reshape_as") {
    const Argument* other = node->FindArg("other", 1);
    if (other == nullptr || Of(*other).rank() != out->rank()) return FollowInferred(node, out);
    out->dims = Of(*other).dims;
    return absl::OkStatus();
  }
  if (factories->contains(name) || !CountsOf(*node, name).empty())
    return FollowFactory(node, name, out);
  if (name == "arange" || name == "range") return FollowRange(node, out);
  if (name == "repeat" || name == "tile") return FollowRepeat(node, name, out);
  if (name == "repeat_interleave") return FollowRepeatInterleave(node, out);
  if (name == "fold") return FollowFold(node, out);
  if (name == "pad" && out->is_tensor()) return FollowPad(node, out);
  if (name == "cat" || name == "concat" || name == "concatenate")
    return FollowCat(node, false, out);
  if (name == "stack") return FollowCat(node, true, out);
  if (name == "embedding") return FollowEmbedding(node, out);
  if (name == "interpolate" || name == "upsample") return FollowInterpolate(node, out);
  if (name == "split" || name == "split_with_sizes" || name == "narrow")
    return FollowSplit(node, out);
  if (name == "scaled_dot_product_attention") return FollowAttention(node, out);
  if ((name == "conv1d" || name == "conv2d" || name == "conv3d") && out->is_tensor())
    return FollowConvolution(node, out);
  if (absl::StrContains(name, "_pool") && out->is_tensor()) return FollowPool(node, name, out);
  if (name == "matmul" || name == "__matmul__" || name == "mm" || name == "bmm") {
    const absl::Span<const Argument> args = node->args();
    if (args.size() >= 2 && args[0].is_node() && args[1].is_node() && Of(args[0]).rank() > 1 &&
        Of(args[1]).rank() > 1) {
      return FollowMatmul(node, args[0].node(), args[1].node(), name != "bmm", out);
    }
  }
  if (name == "linear" && out->is_tensor()) {
    const Extent& in = First(*node);
    if (in.rank() == 0 || in.rank() != out->rank()) return FollowInferred(node, out);
    if (in.dims.back().varies()) {
      GiveUp(*node, "has a weight for the size that grows",
             [&](size_t p) { return in.dims.back().at(p) != in.dims.back().base(); });
    }
    std::copy(in.dims.begin(), in.dims.end() - 1, out->dims.begin());
    return absl::OkStatus();
  }
  if ((name == "transpose" || name == "swapaxes") && out->is_tensor()) {
    const Extent& in = First(*node);
    const auto a = DimIn(node->FindArg("dim0", 1), in.rank(), 0);
    const auto b = DimIn(node->FindArg("dim1", 2), in.rank(), 1);
    if (!a.has_value() || !b.has_value() || in.rank() != out->rank())
      return FollowInferred(node, out);
    out->dims = in.dims;
    std::swap(out->dims[*a], out->dims[*b]);
    return absl::OkStatus();
  }
  if (name == "permute" && out->is_tensor()) {
    const Extent& in = First(*node);
    const SizeList order = SizesOf(*node, 1, "dims");
    if (order.numbers.size() != in.rank() || in.rank() != out->rank())
      return FollowInferred(node, out);
    for (size_t i = 0; i < in.rank(); ++i) {
      int64_t from = order.numbers[i].number.base();
      if (from < 0) from += static_cast<int64_t>(in.rank());
      if (from < 0 || from >= static_cast<int64_t>(in.rank())) return FollowInferred(node, out);
      out->dims[i] = in.dims[static_cast<size_t>(from)];
    }
    return absl::OkStatus();
  }
  if (name == "unsqueeze" && out->is_tensor()) {
    const Extent& in = First(*node);
    const auto at = DimIn(node->FindArg("dim", 1), in.rank() + 1, 0);
    if (!at.has_value() || out->rank() != in.rank() + 1) return FollowInferred(node, out);
    out->dims = in.dims;
    out->dims.insert(out->dims.begin() + static_cast<ptrdiff_t>(*at), Size(1));
    return absl::OkStatus();
  }
  if (same->contains(name) && out->is_tensor() && First(*node).is_tensor() &&
      First(*node).rank() == out->rank()) {
    return FollowSame(node, name, out);
  }
  if (out->is_tensor() && IsPointwiseCall(*node)) {
    // By the sizes that were recorded, it may be another overload.
    size_t rank = 0;
    for (const Node* operand : operands) rank = std::max(rank, values_[operand].rank());
    bool fits = rank == out->rank();
    for (size_t i = 1; fits && i <= rank; ++i) {
      int64_t size = 1;
      for (const Node* operand : operands) {
        const Extent& of = values_[operand];
        if (i <= of.rank()) size = std::max(size, of.dims[of.rank() - i].base());
      }
      fits = size == out->dims[rank - i].base();
    }
    if (fits) return FollowBroadcast(node, operands, out);
  }
  return FollowInferred(node, out);
}

absl::Status SizeFollower::FollowSame(Node* node, absl::string_view name, Extent* out) {
  const Extent& in = First(*node);
  if (absl::StrContains(name, "_norm") && in.rank() > 0) {
    const Argument* shape =
        name == "layer_norm" || name == "rms_norm" ? node->FindArg("normalized_shape", 1) : nullptr;
    const auto is_given = [&](absl::string_view parameter, size_t position) {
      const Argument* given = node->FindArg(parameter, position);
      return given != nullptr && !given->is_none();
    };
    const bool has_weight = is_given("weight", 2) || (name == "layer_norm" && is_given("bias", 3));
    const auto sizes = shape == nullptr       ? absl::Span<const Argument>()
                       : shape->is_sequence() ? shape->elements()
                                              : absl::MakeConstSpan(shape, 1);
    for (size_t i = 0; i < sizes.size() && i < in.rank(); ++i) {
      const Size& dim = in.dims[in.rank() - 1 - i];
      if (!has_weight) {
        Record(node, &sizes[sizes.size() - 1 - i], dim);
        continue;
      }
      GiveUp(*node, "computes along the size that grows, with a weight for it",
             [&](size_t p) { return dim.at(p) != dim.base(); });
    }
  }
  out->dims = in.dims;
  return absl::OkStatus();
}

absl::Status SizeFollower::FollowBroadcast(Node* node, absl::Span<Node* const> operands,
                                           Extent* out) {
  for (size_t i = 1; i <= out->rank(); ++i) {
    Size& to = out->dims[out->rank() - i];
    const int64_t base = to.base();
    std::optional<Size> want;
    std::vector<Node*> with;
    for (Node* operand : operands) {
      const Extent& of = values_[operand];
      if (i > of.rank()) continue;
      with.push_back(operand);
      const Size& dim = of.dims[of.rank() - i];
      if (dim.varies() && dim.base() == base && !want.has_value()) want = dim;
    }
    if (!want.has_value()) want = Size(base);
    to = *want;
    for (Node* operand : with) {
      const size_t dim = values_[operand].rank() - i;
      const Size now = values_[operand].dims[dim];
      if (now == *want || (now.base() == 1 && !now.varies())) continue;
      if (now.base() == base && !now.varies() && Fit(node, operand, dim, *want, false)) continue;
      GiveUp(*node,
             now.varies() ? "joins two sizes that were equal and are not any more"
                          : "joins a size that grows with one that does not",
             [&](size_t p) { return now.at(p) != want->at(p) && now.at(p) != 1; });
    }
  }
  return absl::OkStatus();
}

absl::Status SizeFollower::FollowMatmul(Node* node, Node* a, Node* b, bool broadcasts,
                                        Extent* out) {
  const Extent x = values_[a], y = values_[b];
  if (!out->is_tensor() || out->rank() != std::max(x.rank(), y.rank()) || x.rank() < 2 ||
      y.rank() < 2) {
    return FollowInferred(node, out);
  }
  const size_t rank = out->rank();
  const auto meet = [&](Node* left, size_t i, Node* right, size_t j, bool one_is_wide) -> Size {
    Size p = values_[left].dims[i], q = values_[right].dims[j];
    if (p == q) return p;
    if (one_is_wide && p.base() == 1 && !p.varies()) return q;
    if (one_is_wide && q.base() == 1 && !q.varies()) return p;
    if (p.base() == q.base() && p.varies() != q.varies()) {
      if (p.varies() ? Fit(node, right, j, p, true) : Fit(node, left, i, q, true))
        return p.varies() ? p : q;
    }
    GiveUp(*node, "multiplies a size that grows with one that does not", [&](size_t at) {
      return p.at(at) != q.at(at) && !(one_is_wide && (p.at(at) == 1 || q.at(at) == 1));
    });
    return p.varies() ? p : q;
  };
  for (size_t i = 3; i <= rank; ++i) {
    if (i > x.rank()) {
      out->dims[rank - i] = y.dims[y.rank() - i];
    } else if (i > y.rank()) {
      out->dims[rank - i] = x.dims[x.rank() - i];
    } else {
      out->dims[rank - i] = meet(a, x.rank() - i, b, y.rank() - i, broadcasts);
    }
  }
  meet(a, x.rank() - 1, b, y.rank() - 2, false);
  out->dims[rank - 2] = x.dims[x.rank() - 2];
  out->dims[rank - 1] = y.dims[y.rank() - 1];
  return absl::OkStatus();
}

absl::Status SizeFollower::FollowAttention(Node* node, Extent* out) {
  const Argument* args[4] = {node->FindArg("query", 0), node->FindArg("key", 1),
                             node->FindArg("value", 2), node->FindArg("attn_mask", 3)};
  for (size_t k = 0; k < 3; ++k) {
    if (args[k] == nullptr || !args[k]->is_node() || !Of(*args[k]).is_tensor() ||
        Of(*args[k]).rank() != out->rank() || out->rank() < 3) {
      return FollowInferred(node, out);
    }
  }
  const size_t rank = out->rank();
  const auto dim_of = [&](size_t k, size_t i) -> const Size& { return Of(*args[k]).dims[i]; };
  for (size_t i = 0; i + 2 < rank; ++i) {
    Size want = dim_of(0, i);
    for (size_t k = 1; k < 3; ++k) {
      if (dim_of(k, i).varies() && !want.varies() && dim_of(k, i).base() == want.base())
        want = dim_of(k, i);
    }
    for (size_t k = 0; k < 3; ++k) {
      const Size now = Size(dim_of(k, i));
      if (now == want || (!want.varies() && !now.varies())) continue;
      if (!now.varies() && Fit(node, args[k]->node(), i, want, true)) continue;
      GiveUp(*node, "attends with a size that grows to one that does not",
             [&](size_t p) { return now.at(p) != want.at(p); });
    }
    out->dims[i] = want;
  }
  const Size length = Size(dim_of(0, rank - 2));
  Size keys = dim_of(1, rank - 2);
  if (!keys.varies() && dim_of(2, rank - 2).varies()) keys = dim_of(2, rank - 2);
  for (size_t k = 1; k < 3; ++k) {
    const Size now = Size(dim_of(k, rank - 2));
    if (now == keys) continue;
    if (!now.varies() && Fit(node, args[k]->node(), rank - 2, keys, true)) continue;
    GiveUp(*node, "attends with keys that grow to values that do not",
           [&](size_t p) { return now.at(p) != keys.at(p); });
  }
  out->dims[rank - 2] = length;
  out->dims[rank - 1] = dim_of(2, rank - 1);
  if (args[3] != nullptr && args[3]->is_node() && Of(*args[3]).is_tensor()) {
    const size_t mask_rank = Of(*args[3]).rank();
    for (size_t i = 1; i <= mask_rank && i <= rank; ++i) {
      const Size want = i == 1 ? keys : i == 2 ? length : out->dims[rank - i];
      const Size now = Of(*args[3]).dims[mask_rank - i];
      if (now == want || (now.base() == 1 && !now.varies())) continue;
      if (!now.varies() && now.base() == want.base() &&
          Fit(node, args[3]->node(), mask_rank - i, want, true)) {
        continue;
      }
      GiveUp(*node, "has a mask that does not grow",
             [&](size_t p) { return now.at(p) != want.at(p) && now.at(p) != 1; });
    }
  }
  return absl::OkStatus();
}

absl::Status SizeFollower::FollowHeads(Node* node, Extent* out) {
  const Extent query = First(*node);
  if (!query.is_tensor()) return absl::FailedPreconditionError("has unknown sizes");
  *out = Extent();
  out->kind = Extent::Kind::kTuple;
  out->elements = {query, Extent()};
  out->elements[0].most.reset();
  const Argument* mask = node->FindArg("attn_mask", 16);
  const Argument* key = node->FindArg("key", 1);
  if (mask == nullptr || !mask->is_node() || !Of(*mask).is_tensor() || key == nullptr ||
      query.rank() != 3 || Of(*key).rank() != 3) {
    return absl::OkStatus();
  }
  // Sequences stand before the batch; the mask has one for each head.
  const size_t rank = Of(*mask).rank();
  for (size_t i = 1; i <= rank && i <= 3; ++i) {
    const Size now = Of(*mask).dims[rank - i];
    const Size of = i == 1 ? Of(*key).dims[0] : query.dims[i == 2 ? 0 : 1];
    if (of.base() == 0 || now.base() % of.base() != 0) continue;
    const Size want = Map([&](size_t p) { return Times(now.base() / of.base(), of.at(p)); });
    if (now == want || (!now.varies() && Fit(node, mask->node(), rank - i, want, false))) continue;
    GiveUp(*node, "has a mask that does not grow",
           [&](size_t p) { return now.at(p) != want.at(p); });
  }
  return absl::OkStatus();
}

absl::Status SizeFollower::FollowCat(Node* node, bool stacks, Extent* out) {
  const Argument* list = node->FindArg("tensors", 0);
  const auto along = DimIn(DimArg(*node, 1), out->rank(), 0);
  if (list == nullptr || !list->is_sequence() || !along.has_value() || !out->is_tensor())
    return FollowInferred(node, out);
  std::vector<Node*> parts;
  for (const Argument& element : list->elements()) {
    if (!element.is_node() || !Of(element).is_tensor()) return FollowInferred(node, out);
    const Extent& of = Of(element);
    if (of.rank() == 1 && of.dims[0].base() == 0 && out->rank() > 1) continue;  // cat skips it
    if (of.rank() + (stacks ? 1 : 0) != out->rank()) return FollowInferred(node, out);
    parts.push_back(element.node());
  }
  for (size_t i = 0; i < out->rank(); ++i) {
    if (i == *along) continue;
    const size_t at = stacks && i > *along ? i - 1 : i;
    Size want = out->dims[i];
    for (const Node* part : parts) {
      if (values_[part].dims[at].varies() && !want.varies()) want = values_[part].dims[at];
    }
    for (Node* part : parts) {
      const Size now = values_[part].dims[at];
      if (now == want) continue;
      if (!now.varies() && Fit(node, part, at, want, true)) continue;
      GiveUp(*node,
             now.varies() ? "joins two sizes that were equal and are not any more"
                          : "joins a size that grows with one that does not",
             [&](size_t p) { return now.at(p) != want.at(p); });
    }
    out->dims[i] = want;
  }
  if (stacks) {
    out->dims[*along] = Size(static_cast<int64_t>(list->elements().size()));
  } else {
    out->dims[*along] = Map([&](size_t p) {
      int64_t sum = 0;
      for (const Node* part : parts) sum += values_[part].dims[*along].at(p);
      return sum;
    });
  }
  return absl::OkStatus();
}

absl::Status SizeFollower::FollowConvolution(Node* node, Extent* out) {
  const Argument* weight = node->FindArg("weight", 1);
  if (weight == nullptr || !Of(*weight).is_tensor()) return FollowInferred(node, out);
  const Extent& in = First(*node);
  const Extent& filter = Of(*weight);
  const Argument* padding = node->FindArg("padding", 4);
  if (in.rank() != out->rank() || filter.rank() != in.rank() || filter.varies() ||
      in.dims[1].varies() || (padding != nullptr && padding->is_string())) {
    return FollowInferred(node, out);
  }
  const Extent recorded = *out;
  out->dims[0] = in.dims[0];
  for (size_t i = 2; i < in.rank(); ++i) {
    const int64_t stride = NumberAt(node->FindArg("stride", 3), i - 2, 1);
    const int64_t pad = NumberAt(padding, i - 2, 0);
    const int64_t dilation = NumberAt(node->FindArg("dilation", 5), i - 2, 1);
    const int64_t span = dilation * (filter.dims[i].base() - 1) + 1;
    if (stride < 1) return FollowInferred(node, out);
    out->dims[i] = Map([&](size_t p) {
      const int64_t left = in.dims[i].at(p) + 2 * pad - span;
      return left < 0 ? 0 : left / stride + 1;
    });
    if (out->dims[i].base() != recorded.dims[i].base()) {
      *out = recorded;
      return FollowInferred(node, out);
    }
    const Size& made = out->dims[i];
    GiveUp(*node, "has a window that is larger than its operand",
           [&](size_t p) { return made.at(p) == 0; });
  }
  return absl::OkStatus();
}

absl::Status SizeFollower::FollowPool(Node* node, absl::string_view name, Extent* out) {
  const Extent in = First(*node);
  const size_t spatial = absl::EndsWith(name, "1d") ? 1 : absl::EndsWith(name, "3d") ? 3 : 2;
  if (in.rank() != out->rank() || in.rank() < spatial) return FollowInferred(node, out);
  const size_t first = in.rank() - spatial;
  Extent made = *out;
  std::copy(in.dims.begin(), in.dims.begin() + static_cast<ptrdiff_t>(first), made.dims.begin());
  const Argument* window = node->FindArg("kernel_size", 1);
  const Argument* stride = node->FindArg("stride", 2);
  const bool is_average = absl::StartsWith(name, "avg");
  const Argument* ceil = node->FindArg("ceil_mode", is_average ? 4 : 5);
  const bool rounds_up = ceil != nullptr && ceil->is_bool() && ceil->boolean();
  for (size_t i = first; i < in.rank(); ++i) {
    if (absl::StartsWith(name, "adaptive")) {
      const int64_t to = NumberAt(node->FindArg("output_size", 1), i - first, 0);
      made.dims[i] = to > 0 ? Size(to) : in.dims[i];
      continue;
    }
    const int64_t k = NumberAt(window, i - first, 0);
    const int64_t step = NumberAt(stride, i - first, k);
    const int64_t pad = NumberAt(node->FindArg("padding", 3), i - first, 0);
    const int64_t dilation = is_average ? 1 : NumberAt(node->FindArg("dilation", 4), i - first, 1);
    if (k < 1 || step < 1) return FollowInferred(node, out);
    made.dims[i] = Map([&](size_t p) {
      const int64_t left = in.dims[i].at(p) + 2 * pad - dilation * (k - 1) - 1;
      if (left < 0) return int64_t{0};
      const int64_t windows = (left + (rounds_up ? step - 1 : 0)) / step + 1;
      // A window begins inside of the operand or of its padding on the left.
      return rounds_up && (windows - 1) * step >= in.dims[i].at(p) + pad ? windows - 1 : windows;
    });
  }
  for (size_t i = 0; i < in.rank(); ++i) {
    if (made.dims[i].base() != out->dims[i].base()) return FollowInferred(node, out);
  }
  *out = std::move(made);
  for (const Size& dim : out->dims) {
    GiveUp(*node, "has a window that is larger than its operand",
           [&](size_t p) { return dim.at(p) == 0; });
  }
  return absl::OkStatus();
}

absl::Status SizeFollower::FollowEmbedding(Node* node, Extent* out) {
  if (node->args().size() < 2 || !node->args()[0].is_node() || !node->args()[1].is_node())
    return FollowInferred(node, out);
  Node* index = node->args()[0].node();
  Node* table = node->args()[1].node();
  const auto holds_integers = [](const Node* of) {
    const TensorMeta* meta = of->tensor_meta();
    return meta != nullptr && (meta->dtype == DType::kInt64 || meta->dtype == DType::kInt32);
  };
  if (!holds_integers(index)) std::swap(index, table);
  if (!holds_integers(index) || values_[table].rank() != 2 ||
      out->rank() != values_[index].rank() + 1) {
    return FollowInferred(node, out);
  }
  out->dims = values_[index].dims;
  out->dims.push_back(values_[table].dims[1]);
  NeedRows(node, {table, 0}, values_[index].most);
  return absl::OkStatus();
}

absl::Status SizeFollower::FollowInterpolate(Node* node, Extent* out) {
  const Argument* size = node->FindArg("size", 1);
  const Extent& in = First(*node);
  if (!in.is_tensor() || in.rank() != out->rank()) return FollowInferred(node, out);
  if (size == nullptr || size->is_none()) {
    const Argument* factor = node->FindArg("scale_factor", 2);
    if (factor == nullptr) return FollowInferred(node, out);
    Extent made = *out;
    for (size_t i = 0; i < in.rank(); ++i) {
      const Argument* one = factor;
      if (factor->is_sequence()) {
        if (i >= 2 && i - 2 >= factor->elements().size()) return FollowInferred(node, out);
        one = i < 2 ? nullptr : &factor->elements()[i - 2];
      }
      if (i >= 2 && !one->is_float() && !one->is_int()) return FollowInferred(node, out);
      const double by = i < 2             ? 1
                        : one->is_float() ? one->real()
                                          : static_cast<double>(one->integer());
      made.dims[i] = Map([&](size_t p) {
        return static_cast<int64_t>(std::floor(static_cast<double>(in.dims[i].at(p)) * by));
      });
      if (made.dims[i].base() != out->dims[i].base()) return FollowInferred(node, out);
    }
    *out = std::move(made);
    return absl::OkStatus();
  }
  const SizeList list = [&] {
    SizeList made;
    if (size->is_sequence()) {
      for (const Argument& one : size->elements()) made.places.push_back(&one);
    } else {
      made.places.push_back(size);
    }
    if (!size->is_sequence() && Of(*size).is_tuple()) {
      made.places.clear();
      made.numbers = Of(*size).elements;
      return made;
    }
    for (const Argument* place : made.places) {
      const Size* forced = ForcedOf(node, place);
      made.numbers.push_back(forced == nullptr ? ExtentOf(*place) : Extent::Number(*forced));
    }
    return made;
  }();
  out->dims[0] = in.dims[0];
  out->dims[1] = in.dims[1];
  for (size_t i = 2; i < in.rank(); ++i) {
    const size_t at = list.numbers.size() == 1 ? 0 : i - 2;
    if (at >= list.numbers.size() || !list.numbers[at].is_number())
      return absl::FailedPreconditionError("has sizes that are not known");
    Size made = list.numbers[at].number;
    if (!made.varies() && in.dims[i].varies() && !list.places.empty()) {
      // It is the size of something that grows, or in proportion to the operand.
      const auto seen = seen_.find(made.base());
      if (made.base() == in.dims[i].base()) {
        made = in.dims[i];
      } else if (seen != seen_.end()) {
        made = seen->second[0];
      } else {
        const int64_t to = made.base(), from = in.dims[i].base();
        bool is_whole = true;
        Size scaled = Map([&](size_t p) {
          is_whole &= !IsAlive(p) || Times(in.dims[i].at(p), to) % from == 0;
          return Times(in.dims[i].at(p), to) / from;
        });
        if (is_whole) made = std::move(scaled);
      }
    }
    if (!list.places.empty()) Record(node, list.places[at], made);
    out->dims[i] = std::move(made);
  }
  return absl::OkStatus();
}

absl::Status SizeFollower::FollowSplit(Node* node, Extent* out) {
  const absl::string_view name = OperatorName(*node);
  const Extent& in = First(*node);
  if (name == "narrow") {
    const auto dim = DimIn(node->FindArg("dim", 1), in.rank(), 0);
    const Argument* length = node->FindArg("length", 3);
    if (!dim.has_value() || length == nullptr || in.rank() != out->rank())
      return FollowInferred(node, out);
    const Size* forced = ForcedOf(node, length);
    Size made = forced == nullptr ? ExtentOf(*length).number : *forced;
    if (!made.varies() && in.dims[*dim].varies() && made.base() == in.dims[*dim].base())
      made = in.dims[*dim];
    out->dims = in.dims;
    out->dims[*dim] = made;
    Record(node, length, made);
    GiveUp(*node, "takes more than there is",
           [&](size_t p) { return made.at(p) > in.dims[*dim].at(p); });
    return absl::OkStatus();
  }
  const Argument* sizes =
      node->FindArg(name == "split" ? "split_size_or_sections" : "split_sizes", 1);
  const auto dim = DimIn(node->FindArg("dim", 2), in.rank(), 0);
  if (!out->is_tuple() || !dim.has_value() || sizes == nullptr) return FollowInferred(node, out);
  const Size whole = in.dims[*dim];
  if (!sizes->is_sequence()) {
    // A split into equal parts keeps their number.
    const auto parts = static_cast<int64_t>(out->elements.size());
    if (!whole.varies() || !sizes->is_int() || parts == 0 ||
        sizes->integer() * parts != whole.base())
      return FollowInferred(node, out);
    const Size part = Map([&](size_t p) { return whole.at(p) / parts; });
    GiveUp(*node, "splits a size that is not a multiple of the number of parts",
           [&](size_t p) { return whole.at(p) % parts != 0; });
    Record(node, sizes, part);
    for (Extent& element : out->elements) {
      if (element.rank() != in.rank()) return FollowInferred(node, out);
      element.dims = in.dims;
      element.dims[*dim] = part;
    }
    return absl::OkStatus();
  }
  std::vector<Size> made;
  for (const Argument& one : sizes->elements()) {
    const Size* forced = ForcedOf(node, &one);
    const Extent of = forced == nullptr ? ExtentOf(one) : Extent::Number(*forced);
    if (!of.is_number()) return FollowInferred(node, out);
    made.push_back(of.number);
  }
  if (whole.varies() && absl::c_none_of(made, [](const Size& s) { return s.varies(); })) {
    // The largest part takes what is added.
    size_t at = 0;
    for (size_t i = 0; i < made.size(); ++i) {
      if (made[i].base() > made[at].base()) at = i;
    }
    const int64_t others = whole.base() - made[at].base();
    made[at] = Map([&](size_t p) { return whole.at(p) - others; });
  }
  if (made.size() != out->elements.size()) return FollowInferred(node, out);
  for (size_t i = 0; i < made.size(); ++i) {
    Record(node, &sizes->elements()[i], made[i]);
    if (out->elements[i].rank() != in.rank()) return FollowInferred(node, out);
    out->elements[i].dims = in.dims;
    out->elements[i].dims[*dim] = made[i];
  }
  GiveUp(*node, "splits a size into parts that do not add up to it", [&](size_t p) {
    int64_t sum = 0;
    for (const Size& size : made) sum += size.at(p);
    return sum != whole.at(p);
  });
  return absl::OkStatus();
}

}  // namespace graphnet
