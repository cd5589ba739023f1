// Functions of torch/nn/functional.py whose steps depend on the ranks of their
// inputs. They take arguments by position, in the order of adapters_functional.cc.
#include <cmath>
#include <string>

#include "ATen/ATen.h"
#include "absl/container/flat_hash_map.h"
#include "graphnet/interp/builtins.h"
#include "graphnet/interp/checked.h"
#include "graphnet/interp/values.h"

namespace graphnet::interp {
namespace {

using at::Tensor;
using c10::IValue;
using Args = std::vector<IValue>;

// Truncates a number as Python's int(value) does.
int64_t Truncated(double value) {
  std::vector<IValue> args = {value};
  return FindBuiltin("builtins.int")(args, c10::kCPU).toInt();
}

// --- interpolate(input, size, scale_factor, mode, align_corners, recompute, antialias)

// Returns a number for each of `dims` dimensions.
std::vector<IValue> PerDimension(const IValue& value, int64_t dims) {
  TORCH_CHECK(dims >= 0, "expected an input of rank 2 or more");
  if (!value.isList() && !value.isTuple()) {
    return std::vector<IValue>(static_cast<size_t>(dims), value);
  }
  std::vector<IValue> all = Elements(value);
  TORCH_CHECK(static_cast<int64_t>(all.size()) == dims, "expected ", dims,
              " spatial dimensions, not ", all.size());
  return all;
}

IValue Interpolate(Args& a, c10::Device) {
  const Tensor input = a[0].toTensor();
  const std::string& mode = a[3].toStringRef();
  const int64_t dims = input.dim() - 2;
  const bool has_size = !a[1].isNone();
  const bool has_scale = !a[2].isNone();
  TORCH_CHECK(has_size != has_scale, "either size or scale_factor must be given");
  const bool plain = mode == "nearest" || mode == "area" || mode == "nearest-exact";
  TORCH_CHECK(!plain || a[4].isNone(), "align_corners has no meaning in mode ", mode);
  const bool align = !a[4].isNone() && a[4].toBool();
  const bool antialias = a[6].toBool();
  std::vector<int64_t> sizes;
  std::vector<double> factors;
  if (has_size) {
    for (IValue& v : PerDimension(a[1], dims)) {
      Convert({.want = Want::kInt}, &v);
      sizes.push_back(v.toInt());
    }
  } else {
    for (IValue& v : PerDimension(a[2], dims)) {
      Convert({.want = Want::kFloat}, &v);
      factors.push_back(v.toDouble());
    }
  }
  const bool recompute = mode == "area" || (!a[5].isNone() && a[5].toBool());
  if (has_scale && recompute) {
    for (int64_t i = 0; i < dims; ++i) {
      sizes.push_back(
          Truncated(static_cast<double>(input.size(i + 2)) * factors[static_cast<size_t>(i)]));
    }
    factors.clear();
  }
  const at::OptionalIntArrayRef size =
      sizes.empty() ? at::OptionalIntArrayRef() : at::OptionalIntArrayRef(sizes);
  const std::optional<at::ArrayRef<double>> scale =
      factors.empty() ? std::nullopt : std::optional<at::ArrayRef<double>>(factors);
  if (mode == "nearest") {
    if (dims == 1) return at::upsample_nearest1d(input, size, scale);
    if (dims == 2) return at::upsample_nearest2d(input, size, scale);
    if (dims == 3) return at::upsample_nearest3d(input, size, scale);
  } else if (mode == "nearest-exact") {
    if (dims == 1) return at::_upsample_nearest_exact1d(input, size, scale);
    if (dims == 2) return at::_upsample_nearest_exact2d(input, size, scale);
    if (dims == 3) return at::_upsample_nearest_exact3d(input, size, scale);
  } else if (mode == "area") {
    if (dims == 1) return at::adaptive_avg_pool1d(input, sizes);
    if (dims == 2) return at::adaptive_avg_pool2d(input, sizes);
    if (dims == 3) return at::adaptive_avg_pool3d(input, sizes);
  } else if (mode == "linear" && dims == 1) {
    return at::upsample_linear1d(input, size, align, scale);
  } else if (mode == "bilinear" && dims == 2) {
    return antialias ? at::_upsample_bilinear2d_aa(input, size, align, scale)
                     : at::upsample_bilinear2d(input, size, align, scale);
  } else if (mode == "bicubic" && dims == 2) {
    return antialias ? at::_upsample_bicubic2d_aa(input, size, align, scale)
                     : at::upsample_bicubic2d(input, size, align, scale);
  } else if (mode == "trilinear" && dims == 3) {
    return at::upsample_trilinear3d(input, size, align, scale);
  }
  TORCH_CHECK(false, "mode ", mode, " does not fit an input of rank ", input.dim());
}

// --- local_response_norm(input, size, alpha, beta, k)

IValue LocalResponseNorm(Args& a, c10::Device) {
  const Tensor input = a[0].toTensor();
  const int64_t size = a[1].toInt();
  TORCH_CHECK(input.dim() >= 3, "expected rank 3 or more, not ", input.dim());
  TORCH_CHECK(size > 0, "expected a size of 1 or more, not ", size);
  if (input.numel() == 0) return input;
  Tensor div = input.mul(input);
  if (input.dim() == 3) {
    div = at::pad(div.unsqueeze(1), {0, 0, size / 2, (size - 1) / 2});
    div = at::avg_pool2d(div, {size, 1}, 1).squeeze(1);
  } else {
    const auto sizes = input.sizes();
    div = div.view({sizes[0], 1, sizes[1], sizes[2], -1});
    div = at::pad(div, {0, 0, 0, 0, size / 2, (size - 1) / 2});
    div = at::avg_pool3d(div, {size, 1, 1}, 1).squeeze(1).view(sizes);
  }
  return input / div.mul(a[2].toScalar()).add(a[4].toScalar()).pow(a[3].toScalar());
}

// --- multi_head_attention_forward

// Follows torch.nn.functional._canonical_mask: a bool mask becomes one of 0 and -inf.
std::optional<Tensor> FloatMask(const std::optional<Tensor>& mask, c10::ScalarType type) {
  if (!mask.has_value() || at::isFloatingType(mask->scalar_type())) return mask;
  TORCH_CHECK(mask->scalar_type() == c10::kBool, "a mask must be of bools or floats");
  return at::zeros_like(*mask, mask->options().dtype(type))
      .masked_fill_(*mask, -std::numeric_limits<double>::infinity());
}

struct Projections {
  Tensor q, k, v;
};

// Splits a weight or bias into the parts for queries, keys and values.
std::vector<Tensor> ThreeParts(const Tensor& packed) {
  std::vector<Tensor> parts = packed.chunk(3);
  TORCH_CHECK(parts.size() == 3, "expected rows for queries, keys and values, not ",
              packed.size(0));
  return parts;
}
std::vector<std::optional<Tensor>> ThreeParts(const std::optional<Tensor>& packed) {
  std::vector<std::optional<Tensor>> parts(3);
  if (packed.has_value()) {
    const std::vector<Tensor> given = ThreeParts(*packed);
    parts.assign(given.begin(), given.end());
  }
  return parts;
}

// Follows _in_projection_packed, which checks whether tensors are the same Python objects.
Projections ProjectPacked(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& w,
                          const std::optional<Tensor>& b) {
  const bool same_key = q.is_same(k), same_value = k.is_same(v);
  const int64_t e = q.size(-1);
  const auto unpack = [e](const Tensor& packed, int64_t parts) {
    return packed.unflatten(-1, {parts, e}).unsqueeze(0).transpose(0, -2).squeeze(-2).contiguous();
  };
  if (same_value && same_key) {
    const Tensor all = unpack(at::linear(q, w, b), 3);
    return {all[0], all[1], all[2]};
  }
  if (same_value) {
    const int64_t two = (2 * Checked(e)).value();
    const auto ws = w.split_with_sizes({e, two});
    std::optional<Tensor> bq, bkv;
    if (b.has_value()) {
      const auto bs = b->split_with_sizes({e, two});
      bq = bs[0];
      bkv = bs[1];
    }
    const Tensor projected = at::linear(q, ws[0], bq);
    const Tensor both = unpack(at::linear(k, ws[1], bkv), 2);
    return {projected, both[0], both[1]};
  }
  const auto ws = ThreeParts(w);
  const auto bs = ThreeParts(b);
  return {at::linear(q, ws[0], bs[0]), at::linear(k, ws[1], bs[1]), at::linear(v, ws[2], bs[2])};
}

IValue MultiHeadAttention(Args& a, c10::Device) {
  Tensor query = a[0].toTensor(), key = a[1].toTensor(), value = a[2].toTensor();
  const int64_t num_heads = a[4].toInt();
  const auto in_bias = OptionalTensor(a[6]);
  const auto bias_k = OptionalTensor(a[7]), bias_v = OptionalTensor(a[8]);
  const bool training = a[13].toBool();
  const bool need_weights = a[15].toBool();
  bool is_causal = a[24].toBool();
  const bool is_batched = query.dim() == 3;
  TORCH_CHECK(is_batched || query.dim() == 2, "query must be of rank 2 or 3");
  std::optional<Tensor> padding = OptionalTensor(a[14]);
  if (!is_batched) {
    query = query.unsqueeze(1);
    key = key.unsqueeze(1);
    value = value.unsqueeze(1);
    if (padding.has_value()) padding = padding->unsqueeze(0);
  }
  const int64_t targets = query.size(0), batch = query.size(1), embed = query.size(2);
  TORCH_CHECK(embed == a[3].toInt(), "expected an embedding of ", a[3].toInt(), ", not ", embed);
  padding = FloatMask(padding, query.scalar_type());
  std::optional<Tensor> mask = OptionalTensor(a[16]);
  TORCH_CHECK(!is_causal || mask.has_value(), "is_causal needs attn_mask");
  if (is_causal && !padding.has_value() && !need_weights) {
    mask.reset();
  } else {
    mask = FloatMask(mask, query.scalar_type());
    if (padding.has_value()) is_causal = false;
  }
  TORCH_CHECK(num_heads > 0 && embed % num_heads == 0, "an embedding of ", embed,
              " is not divisible by ", num_heads, " heads");
  const int64_t head = embed / num_heads, rows = (Checked(targets) * batch).value();
  const int64_t heads = (Checked(batch) * num_heads).value();

  Projections p;
  if (!a[17].toBool()) {
    p = ProjectPacked(query, key, value, a[5].toTensor(), in_bias);
  } else {
    const auto bs = ThreeParts(in_bias);
    p = {at::linear(query, a[18].toTensor(), bs[0]), at::linear(key, a[19].toTensor(), bs[1]),
         at::linear(value, a[20].toTensor(), bs[2])};
  }
  if (mask.has_value() && mask->dim() == 2) mask = mask->unsqueeze(0);
  const auto pad_masks = [&] {
    if (mask.has_value()) mask = at::pad(*mask, {0, 1});
    if (padding.has_value()) padding = at::pad(*padding, {0, 1});
  };
  if (bias_k.has_value() && bias_v.has_value()) {
    p.k = at::cat({p.k, bias_k->repeat({1, batch, 1})});
    p.v = at::cat({p.v, bias_v->repeat({1, batch, 1})});
    pad_masks();
  }
  const auto split_heads = [&](const Tensor& t) {
    return t.view({t.size(0), heads, head}).transpose(0, 1);
  };
  Tensor q = split_heads(p.q);
  Tensor k = a[21].isNone() ? split_heads(p.k) : a[21].toTensor();
  Tensor v = a[22].isNone() ? split_heads(p.v) : a[22].toTensor();
  if (a[9].toBool()) {  // add_zero_attn
    const std::vector<int64_t> shape = {heads, 1, head};
    k = at::cat({k, at::zeros(shape, k.options())}, 1);
    v = at::cat({v, at::zeros(shape, v.options())}, 1);
    pad_masks();
  }
  const int64_t sources = k.size(1);
  if (padding.has_value()) {
    const Tensor spread = padding->view({batch, 1, 1, sources})
                              .expand({-1, num_heads, -1, -1})
                              .reshape({heads, 1, sources});
    mask = mask.has_value() ? *mask + spread : spread;
  }
  const double dropout = training ? a[10].toScalar().toDouble() : 0.0;
  const Tensor out_weight = a[11].toTensor();
  const auto out_bias = OptionalTensor(a[12]);

  if (need_weights) {
    const Tensor scaled = q * std::sqrt(1.0 / static_cast<double>(q.size(2)));
    Tensor weights = mask.has_value() ? at::baddbmm(*mask, scaled, k.transpose(-2, -1))
                                      : at::bmm(scaled, k.transpose(-2, -1));
    weights = weights.softmax(-1);
    if (dropout > 0) weights = at::dropout(weights, dropout, true);
    Tensor output = at::bmm(weights, v).transpose(0, 1).reshape({rows, embed});
    output = at::linear(output, out_weight, out_bias);
    output = output.view({targets, batch, output.size(1)});
    weights = weights.view({batch, num_heads, targets, sources});
    if (a[23].toBool()) weights = weights.mean(1);
    if (!is_batched) {
      output = output.squeeze(1);
      weights = weights.squeeze(0);
    }
    return c10::ivalue::Tuple::create(Args{output, weights});
  }
  if (mask.has_value()) {
    mask = mask->size(0) == 1 && mask->dim() == 3 ? mask->unsqueeze(0)
                                                  : mask->view({batch, num_heads, -1, sources});
  }
  Tensor output = at::scaled_dot_product_attention(
      q.view({batch, num_heads, targets, head}), k.view({batch, num_heads, sources, head}),
      v.view({batch, num_heads, sources, head}), mask, dropout, is_causal);
  output = output.permute({2, 0, 1, 3}).reshape({rows, embed});
  output = at::linear(output, out_weight, out_bias);
  output = output.view({targets, batch, output.size(1)});
  if (!is_batched) output = output.squeeze(1);
  return c10::ivalue::Tuple::create(Args{output, IValue()});
}

}  // namespace

Builtin FindFunction(absl::string_view name) {
  if (name == "torch.nn.functional.interpolate") return {Interpolate, 7};
  if (name == "torch.nn.functional.local_response_norm") return {LocalResponseNorm, 5};
  if (name == "torch.nn.functional.multi_head_attention_forward") return {MultiHeadAttention, 25};
  return Builtin();
}

}  // namespace graphnet::interp
