#include "graphnet/interp/rounding_rules.h"

#include <algorithm>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"

namespace graphnet::interp {
namespace {

using RoundingTable = absl::flat_hash_map<absl::string_view, RoundingRule>;

RoundingTable MakeRoundingTable() {
  RoundingTable table;
  const auto add = [&](std::initializer_list<absl::string_view> names, RoundingRule rule) {
    for (const absl::string_view name : names) table[name] = rule;
  };
  // Copies and selections of elements.
  add({"clone",
       "contiguous",
       "cat",
       "stack",
       "index",
       "_unsafe_index",
       "index_select",
       "gather",
       "take",
       "take_along_dim",
       "embedding",
       "constant_pad_nd",
       "reflection_pad1d",
       "reflection_pad2d",
       "reflection_pad3d",
       "replication_pad1d",
       "replication_pad2d",
       "replication_pad3d",
       "roll",
       "flip",
       "repeat",
       "where",
       "masked_fill",
       "masked_select",
       "masked_scatter",
       "scatter",
       "slice_scatter",
       "select_scatter",
       "diagonal_scatter",
       "as_strided_scatter",
       "index_fill",
       "index_copy",
       "put",
       "relu",
       "neg",
       "abs",
       "clamp",
       "clamp_min",
       "clamp_max",
       "minimum",
       "maximum",
       "fmin",
       "fmax",
       "amax",
       "amin",
       "aminmax",
       "max_pool2d_with_indices",
       "max_pool3d_with_indices",
       "max_pool2d",
       "mkldnn_max_pool2d",
       "adaptive_max_pool2d",
       "adaptive_max_pool3d",
       "fractional_max_pool2d",
       "max_unpool2d",
       "cummax",
       "cummin",
       "_cummax_helper",
       "_cummin_helper",
       "hardtanh",
       "threshold",
       "tril",
       "triu",
       "diag_embed",
       "pixel_shuffle",
       "pixel_unshuffle",
       "channel_shuffle",
       "im2col",
       "unfold_copy",
       "upsample_nearest1d",
       "upsample_nearest2d",
       "upsample_nearest3d",
       "_upsample_nearest_exact1d",
       "_upsample_nearest_exact2d",
       "complex",
       "real",
       "imag",
       "view_as_real",
       "view_as_complex",
       "nan_to_num",
       "copysign",
       "lift_fresh",
       "set",
       "resize",
       "detach",
       "alias",
       "_conj_physical",
       "conj_physical",
       "fmod",
       "remainder",
       "_local_scalar_dense",
       "zero",
       "fill",
       "max",
       "min",
       "median",
       "nanmedian",
       "mode",
       "kthvalue",
       "_reshape_alias",
       "expand",
       "_nested_from_padded",
       "nested_to_padded_tensor",
       "ldexp",
       "frexp",
       "nextafter"},
      {RoundingKind::kExact});
  // New values: constants, and random ones, which the generator of both sides draws alike.
  add({"zeros",
       "ones",
       "full",
       "empty",
       "empty_like",
       "empty_strided",
       "new_empty",
       "new_zeros",
       "new_ones",
       "new_full",
       "new_empty_strided",
       "zeros_like",
       "ones_like",
       "full_like",
       "eye",
       "scalar_tensor",
       "arange",
       "rand",
       "randn",
       "rand_like",
       "randn_like",
       "normal",
       "uniform",
       "bernoulli",
       "exponential",
       "geometric",
       "cauchy",
       "log_normal",
       "random",
       "randint",
       "randperm",
       "multinomial",
       "tensor",
       "_efficientzerotensor"},
      {RoundingKind::kExact});
  add({"_to_copy", "copy", "to", "_to_dense"}, {RoundingKind::kConverts});
  add({"floor",     "ceil",
       "round",     "trunc",
       "sign",      "sgn",
       "heaviside", "floor_divide",
       "bucketize", "searchsorted",
       "eq",        "ne",
       "lt",        "le",
       "gt",        "ge",
       "isclose",   "argmax",
       "argmin",    "topk",
       "sort",      "argsort",
       "nonzero",   "unique_consecutive",
       "_unique2",  "fake_quantize_per_tensor",
       "signbit",   "histc",
       "bincount"},
      {RoundingKind::kDecides});
  add({"gelu"}, {RoundingKind::kCancels});
  add({"mm", "bmm", "mv", "dot", "vdot", "inner", "_int_mm", "mkldnn_linear",
       "_addmm_activation_input"},
      {RoundingKind::kAccumulates, TermsOf::kLastDim, 0});
  add({"addmm", "addmv", "baddbmm", "addbmm", "_addmm_activation", "addr"},
      {RoundingKind::kAccumulates, TermsOf::kLastDim, 1});
  add({"linear"}, {RoundingKind::kAccumulates, TermsOf::kLastDim, 0});
  add({"convolution", "_convolution", "mkldnn_convolution", "_slow_conv2d_forward",
       "slow_conv3d_forward", "thnn_conv2d", "_conv_depthwise2d", "conv_depthwise3d",
       "slow_conv_dilated2d", "slow_conv_dilated3d", "slow_conv_transpose2d",
       "slow_conv_transpose3d", "convolution_overrideable", "_nnpack_spatial_convolution"},
      {RoundingKind::kAccumulates, TermsOf::kWeight, 0});
  add({"sum",
       "nansum",
       "mean",
       "nanmean",
       "var",
       "std",
       "var_mean",
       "std_mean",
       "prod",
       "norm",
       "linalg_vector_norm",
       "logsumexp",
       "cumsum",
       "cumprod",
       "logcumsumexp",
       "_softmax",
       "_log_softmax",
       "_logcumsumexp",
       "trace",
       "_safe_softmax"},
      {RoundingKind::kAccumulates, TermsOf::kDim, 0});
  // Some compilers write a transform as a product with a matrix.
  add({"_fft_r2c", "_fft_c2r", "_fft_c2c"}, {RoundingKind::kAccumulates, TermsOf::kDim, 0});
  add({"native_layer_norm", "_fused_rms_norm", "rms_norm"},
      {RoundingKind::kAccumulates, TermsOf::kNormalized, 0});
  add({"native_group_norm"}, {RoundingKind::kAccumulates, TermsOf::kGroup, 0});
  add({"native_batch_norm", "_native_batch_norm_legit", "_native_batch_norm_legit_no_training",
       "_batch_norm_with_update", "batch_norm_update_stats"},
      {RoundingKind::kAccumulates, TermsOf::kBatch, 0});
  add({"avg_pool2d", "avg_pool3d"}, {RoundingKind::kAccumulates, TermsOf::kKernel, 0});
  add({"_adaptive_avg_pool2d", "_adaptive_avg_pool3d", "mkldnn_adaptive_avg_pool2d"},
      {RoundingKind::kAccumulates, TermsOf::kOutputSize, 0});
  add({"_scaled_dot_product_flash_attention_for_cpu", "_scaled_dot_product_flash_attention",
       "_scaled_dot_product_efficient_attention", "_scaled_dot_product_cudnn_attention",
       "_scaled_dot_product_fused_attention_overrideable", "_flash_attention_forward"},
      {RoundingKind::kAccumulates, TermsOf::kAttention, 0});
  add({"mkldnn_rnn_layer", "lstm", "gru", "rnn_tanh", "rnn_relu", "_thnn_fused_lstm_cell"},
      {RoundingKind::kAccumulates, TermsOf::kSequence, 0});
  add({"upsample_linear1d",
       "upsample_bilinear2d",
       "upsample_trilinear3d",
       "upsample_bicubic2d",
       "_upsample_bilinear2d_aa",
       "_upsample_bicubic2d_aa",
       "grid_sampler_2d",
       "grid_sampler_3d",
       "cdist",
       "_cdist_forward",
       "_euclidean_dist",
       "_embedding_bag",
       "_embedding_bag_forward_only",
       "scatter_add",
       "index_add",
       "scatter_reduce",
       "index_reduce",
       "col2im",
       "unfold_backward",
       "linalg_inv_ex",
       "linalg_solve_ex",
       "_linalg_solve_ex",
       "linalg_cholesky_ex",
       "linalg_qr",
       "_linalg_svd",
       "_linalg_eigh",
       "linalg_lu_factor_ex",
       "linalg_lu",
       "_linalg_det",
       "linalg_cross",
       "_linalg_slogdet",
       "_trilinear"},
      {RoundingKind::kAccumulates, TermsOf::kFew, 0});
  return table;
}

std::optional<size_t> IndexOfArgument(const c10::FunctionSchema& schema, absl::string_view name) {
  for (size_t i = 0; i < schema.arguments().size(); ++i) {
    if (schema.arguments()[i].name() == name) return i;
  }
  return std::nullopt;
}

int64_t ProductOf(const c10::IValue& sizes) {
  int64_t product = 1;
  if (sizes.isInt()) return std::max<int64_t>(sizes.toInt(), 1);
  if (!sizes.isIntList()) return 1;
  for (const int64_t size : sizes.toIntVector()) product *= std::max<int64_t>(size, 1);
  return product;
}

int64_t SizeOf(const at::Tensor& tensor, int64_t dim) {
  if (dim < 0) dim += tensor.dim();
  return dim >= 0 && dim < tensor.dim() ? tensor.size(dim) : 1;
}

// The elements of the dimensions that `dim` names; all if it names none.
int64_t ElementsOfDims(const at::Tensor& tensor, const c10::IValue* dims) {
  if (dims == nullptr || dims->isNone()) return tensor.numel();
  if (dims->isInt()) return SizeOf(tensor, dims->toInt());
  if (!dims->isIntList() || dims->toIntVector().empty()) return tensor.numel();
  int64_t elements = 1;
  for (const int64_t dim : dims->toIntVector()) elements *= SizeOf(tensor, dim);
  return elements;
}

}  // namespace

RoundingRule RoundingRuleOf(absl::string_view name) {
  static const auto* const table = new RoundingTable(MakeRoundingTable());
  auto it = table->find(name);
  if (it == table->end() && absl::ConsumeSuffix(&name, "_")) it = table->find(name);
  if (it == table->end() && absl::ConsumeSuffix(&name, "_copy")) return {RoundingKind::kExact};
  return it == table->end() ? RoundingRule{} : it->second;
}

int64_t TermsOfCall(const RoundingRule& rule, const c10::FunctionSchema& schema,
                    c10::ArrayRef<c10::IValue> arguments) {
  if (rule.operand >= arguments.size() || !arguments[rule.operand].isTensor()) return 1;
  const at::Tensor& x = arguments[rule.operand].toTensor();
  if (!x.defined() || x.is_nested()) return 1;
  const auto named = [&](absl::string_view name) -> const c10::IValue* {
    const std::optional<size_t> i = IndexOfArgument(schema, name);
    return i.has_value() && *i < arguments.size() ? &arguments[*i] : nullptr;
  };
  const auto tensor_at = [&](size_t i) -> const at::Tensor* {
    const bool is_there = i < arguments.size() && arguments[i].isTensor();
    return is_there && arguments[i].toTensor().defined() ? &arguments[i].toTensor() : nullptr;
  };
  int64_t terms = 1;
  switch (rule.terms) {
    case TermsOf::kOne: break;
    case TermsOf::kFew: terms = 16; break;
    case TermsOf::kLastDim: terms = SizeOf(x, -1); break;
    case TermsOf::kWeight:
      if (const at::Tensor* weight = tensor_at(rule.operand + size_t{1}); weight != nullptr)
        terms = weight->numel() / std::max<int64_t>(SizeOf(*weight, 0), 1);
      break;
    case TermsOf::kDim: terms = ElementsOfDims(x, named("dim")); break;
    case TermsOf::kNormalized:
      if (const c10::IValue* sizes = named("normalized_shape"); sizes != nullptr)
        terms = ProductOf(*sizes);
      break;
    case TermsOf::kGroup: {
      const c10::IValue* n = named("N");
      const c10::IValue* groups = named("group");
      if (n != nullptr && groups != nullptr && n->isInt() && groups->isInt())
        terms = x.numel() / std::max<int64_t>(n->toInt() * groups->toInt(), 1);
      break;
    }
    case TermsOf::kBatch:
      if (const c10::IValue* training = named("training");
          training != nullptr && training->isBool() && training->toBool())
        terms = x.numel() / std::max<int64_t>(SizeOf(x, 1), 1);
      break;
    case TermsOf::kKernel:
      if (const c10::IValue* sizes = named("kernel_size"); sizes != nullptr)
        terms = ProductOf(*sizes);
      break;
    case TermsOf::kOutputSize:
      if (const c10::IValue* sizes = named("output_size"); sizes != nullptr && x.dim() > 2)
        terms = x.numel() / std::max<int64_t>(SizeOf(x, 0) * SizeOf(x, 1) * ProductOf(*sizes), 1);
      break;
    case TermsOf::kAttention:
      if (const at::Tensor* keys = tensor_at(1); keys != nullptr)
        terms = SizeOf(x, -1) + SizeOf(*keys, -2);
      break;
    case TermsOf::kSequence: terms = x.numel() / std::max<int64_t>(SizeOf(x, 1), 1); break;
  }
  return std::max<int64_t>(terms, 1);
}

}  // namespace graphnet::interp
