// Adapters of torch/nn/functional.py and torch/functional.py, and of Paddle's functions.
#include <cstdint>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/ops/adapters.h"

namespace graphnet {
namespace {

using Kind = ValueType::Kind;
using Result = absl::StatusOr<Argument>;

// --- torch.nn.functional -----------------------------------------------------

// Returns the index of the given word among those that parameter `name` accepts.
int64_t WordOf(const BoundCall& a, absl::string_view name) {
  const absl::Span<const absl::string_view> words = a.schema().FindArgument(name)->words;
  return absl::c_find(words, a[name].string()) - words.begin();
}

Result Embedding(Lowering& l, const BoundCall& a) {
  Argument padding = a["padding_idx"];
  if (padding.is_none()) padding = -1;
  if (padding.is_int() && padding.integer() < 0 && a.has("padding_idx")) {
    // Only the backward pass uses padding_idx, but there it must not be negative.
    ASSIGN_OR_RETURN(const Argument rows, l.Aten("size", {a["weight"], 0}));
    ASSIGN_OR_RETURN(padding, l.Operator("add", {rows, padding}));
  }
  Argument indices = a["input"];
  if (a.has("max_norm")) {
    ASSIGN_OR_RETURN(indices, l.Aten("contiguous", {indices}));
    RETURN_IF_ERROR(
        l.Aten("embedding_renorm_", {a["weight"], indices, a["max_norm"], a["norm_type"]})
            .status());
  }
  return l.Aten("embedding", {a["weight"], indices, padding, a["scale_grad_by_freq"], a["sparse"]});
}

Result EmbeddingBag(Lowering& l, const BoundCall& a) {
  if (!a["mode"].is_string()) return l.Error("mode must be a string");
  Argument indices = a["input"];
  Argument offsets = a["offsets"];
  Argument weights = a["per_sample_weights"];
  Argument last = a["include_last_offset"];
  if (offsets.is_none()) {
    // The input has two dimensions: each row is a bag.
    ASSIGN_OR_RETURN(const Argument count, l.Aten("numel", {indices}));
    ASSIGN_OR_RETURN(const Argument width, l.Aten("size", {indices, 1}));
    ASSIGN_OR_RETURN(const Argument begins, l.Aten("arange", {0, count, width}));
    ASSIGN_OR_RETURN(offsets, l.Aten("to", {begins, indices}));
    ASSIGN_OR_RETURN(indices, l.Aten("reshape", {indices, l.List({-1})}));
    if (!weights.is_none()) {
      ASSIGN_OR_RETURN(weights, l.Aten("reshape", {weights, l.List({-1})}));
    }
    last = false;
  }
  if (a.has("max_norm")) {
    RETURN_IF_ERROR(
        l.Aten("embedding_renorm_", {a["weight"], indices, a["max_norm"], a["norm_type"]})
            .status());
  }
  ASSIGN_OR_RETURN(
      const Argument all,
      l.Aten("embedding_bag", {a["weight"], indices, offsets, a["scale_grad_by_freq"],
                               WordOf(a, "mode"), a["sparse"], weights, last, a["padding_idx"]}));
  return l.Operator("getitem", {all, 0});
}

Result Dropout(Lowering& l, const BoundCall& a, absl::string_view name) {
  if (a.is_true("inplace")) name = l.Text(absl::StrCat(name, "_"));
  return l.Aten(name, {a["input"], a["p"], a["training"]});
}
Result PlainDropout(Lowering& l, const BoundCall& a) { return Dropout(l, a, "dropout"); }
Result FeatureDropout(Lowering& l, const BoundCall& a) { return Dropout(l, a, "feature_dropout"); }

Result Unfold(Lowering& l, const BoundCall& a) {
  return l.Aten("im2col", {a["input"], a["kernel_size"], a["dilation"], a["padding"], a["stride"]});
}
Result Fold(Lowering& l, const BoundCall& a) {
  return l.Aten("col2im", {a["input"], a["output_size"], a["kernel_size"], a["dilation"],
                           a["padding"], a["stride"]});
}

Result Normalize(Lowering& l, const BoundCall& a) {
  ASSIGN_OR_RETURN(const Argument norm,
                   l.Aten("linalg_vector_norm", {a["input"], a["p"], a["dim"], true}));
  ASSIGN_OR_RETURN(const Argument clamped, l.Aten("clamp_min", {norm, a["eps"]}));
  ASSIGN_OR_RETURN(const Argument expanded, l.Aten("expand_as", {clamped, a["input"]}));
  return l.Operator("truediv", {a["input"], expanded});
}

Result GridSample(Lowering& l, const BoundCall& a) {
  if (!a["mode"].is_string() || !a["padding_mode"].is_string())
    return l.Error("mode and padding_mode must be strings");
  return l.Aten("grid_sampler", {a["input"], a["grid"], WordOf(a, "mode"),
                                 WordOf(a, "padding_mode"), a.is_true("align_corners")});
}
Result AffineGrid(Lowering& l, const BoundCall& a) {
  return l.Aten("affine_grid_generator", {a["theta"], a["size"], a.is_true("align_corners")});
}

Result Softsign(Lowering& l, const BoundCall& a) {
  ASSIGN_OR_RETURN(const Argument abs, l.Aten("abs", {a["input"]}));
  ASSIGN_OR_RETURN(const Argument sum, l.Aten("add", {abs, 1}));
  return l.Aten("div", {a["input"], sum});
}
Result Tanhshrink(Lowering& l, const BoundCall& a) {
  ASSIGN_OR_RETURN(const Argument tanh, l.Aten("tanh", {a["input"]}));
  return l.Aten("sub", {a["input"], tanh});
}
Result Softmin(Lowering& l, const BoundCall& a) {
  ASSIGN_OR_RETURN(const Argument neg, l.Aten("neg", {a["input"]}));
  return l.Aten("softmax", {neg, a["dim"], a["dtype"]});
}

// Lowers max_pool2d and its kin; with indices they are another operator.
Result MaxPool(Lowering& l, const BoundCall& a, absl::string_view name) {
  if (a.is_true("return_indices")) name = l.Text(absl::StrCat(name, "_with_indices"));
  const Argument stride = a.has("stride") ? a["stride"] : l.List({});
  return l.Aten(
      name, {a["input"], a["kernel_size"], stride, a["padding"], a["dilation"], a["ceil_mode"]});
}
Result MaxPool1d(Lowering& l, const BoundCall& a) { return MaxPool(l, a, "max_pool1d"); }
Result MaxPool2d(Lowering& l, const BoundCall& a) { return MaxPool(l, a, "max_pool2d"); }
Result MaxPool3d(Lowering& l, const BoundCall& a) { return MaxPool(l, a, "max_pool3d"); }

// Lowers fractional_max_pool2d and its kin, which draw where the windows lie unless they are told.
Result FractionalMaxPool(Lowering& l, const BoundCall& a, int64_t num_dims, bool with_indices) {
  const Argument& input = a["input"];
  const auto size = [&](int64_t dim) { return l.Aten("size", {input, dim}); };
  Argument sizes = a["output_size"];
  if (sizes.is_none()) {
    const Argument& ratio = a["output_ratio"];
    if (ratio.is_none()) return l.Error("output_size or output_ratio must be given");
    if (ratio.is_sequence() && static_cast<int64_t>(ratio.elements().size()) != num_dims)
      return l.Error(absl::StrCat("output_ratio must have ", num_dims, " numbers"));
    std::vector<Argument> made;
    for (int64_t i = 0; i < num_dims; ++i) {
      ASSIGN_OR_RETURN(const Argument whole, size(i - num_dims));
      ASSIGN_OR_RETURN(
          const Argument part,
          l.Operator("mul", {whole, ratio.is_sequence() ? ratio.elements()[static_cast<size_t>(i)]
                                                        : ratio}));
      made.push_back(l.Builtin("builtins.int", {part}, Kind::kInt));
    }
    sizes = l.List(made);
  }
  Argument samples = a["_random_samples"];
  if (samples.is_none()) {
    // An input without a batch is one image. All else that the input has is the batch.
    ASSIGN_OR_RETURN(Argument batch, l.Aten("numel", {input}));
    for (int64_t i = -1 - num_dims; i < 0; ++i) {
      ASSIGN_OR_RETURN(const Argument part, size(i));
      ASSIGN_OR_RETURN(batch, l.Operator("floordiv", {batch, part}));
    }
    ASSIGN_OR_RETURN(const Argument channels, size(-1 - num_dims));
    ASSIGN_OR_RETURN(const Argument like,
                     l.Aten("new_empty", {input, l.List({batch, channels, num_dims})}));
    ASSIGN_OR_RETURN(samples, l.Aten("rand_like", {like}));
  }
  ASSIGN_OR_RETURN(const Argument both,
                   l.Aten(num_dims == 2 ? "fractional_max_pool2d" : "fractional_max_pool3d",
                          {input, a["kernel_size"], sizes, samples}));
  if (with_indices || a.is_true("return_indices")) return both;
  return l.Operator("getitem", {both, 0});
}
Result FractionalMaxPool2d(Lowering& l, const BoundCall& a) {
  return FractionalMaxPool(l, a, 2, false);
}
Result FractionalMaxPool3d(Lowering& l, const BoundCall& a) {
  return FractionalMaxPool(l, a, 3, false);
}
Result FractionalMaxPool2dWithIndices(Lowering& l, const BoundCall& a) {
  return FractionalMaxPool(l, a, 2, true);
}
Result FractionalMaxPool3dWithIndices(Lowering& l, const BoundCall& a) {
  return FractionalMaxPool(l, a, 3, true);
}

// Returns the sizes that an adaptive pool makes; None means the size of the input.
Result AdaptiveSizes(Lowering& l, const BoundCall& a) {
  const Argument& given = a["output_size"];
  const auto is_none = [](const Argument& size) { return size.is_none(); };
  if (!given.is_sequence() || absl::c_none_of(given.elements(), is_none)) return given;
  std::vector<Argument> sizes(given.elements().begin(), given.elements().end());
  const auto count = static_cast<int64_t>(sizes.size());
  for (int64_t i = 0; i < count; ++i) {
    Argument& size = sizes[static_cast<size_t>(i)];
    if (!size.is_none()) continue;
    ASSIGN_OR_RETURN(size, l.Aten("size", {a["input"], i - count}));
  }
  return l.List(sizes);
}

// Lowers the functions behind them, which always return values and indices.
Result WithIndices(Lowering& l, const BoundCall& a) {
  const absl::string_view name = a.schema().name.substr(a.schema().name.rfind('.') + 1);
  if (a.schema().IndexOf("stride") < 0) {
    ASSIGN_OR_RETURN(const Argument sizes, AdaptiveSizes(l, a));
    return l.Aten(absl::StripSuffix(name, "_with_indices"), {a["input"], sizes});
  }
  const Argument stride = a.has("stride") ? a["stride"] : l.List({});
  return l.Aten(
      name, {a["input"], a["kernel_size"], stride, a["padding"], a["dilation"], a["ceil_mode"]});
}

Result AdaptiveAvgPool(Lowering& l, const BoundCall& a, absl::string_view name) {
  ASSIGN_OR_RETURN(const Argument sizes, AdaptiveSizes(l, a));
  return l.Aten(name, {a["input"], sizes});
}
Result AdaptiveAvgPool2d(Lowering& l, const BoundCall& a) {
  return AdaptiveAvgPool(l, a, "adaptive_avg_pool2d");
}
Result AdaptiveAvgPool3d(Lowering& l, const BoundCall& a) {
  return AdaptiveAvgPool(l, a, "adaptive_avg_pool3d");
}
Result AdaptiveMaxPool(Lowering& l, const BoundCall& a, absl::string_view name) {
  ASSIGN_OR_RETURN(const Argument sizes, AdaptiveSizes(l, a));
  ASSIGN_OR_RETURN(const Argument both, l.Aten(name, {a["input"], sizes}));
  if (a.is_true("return_indices")) return both;
  return l.Operator("getitem", {both, 0});
}
Result AdaptiveMaxPool1d(Lowering& l, const BoundCall& a) {
  return AdaptiveMaxPool(l, a, "adaptive_max_pool1d");
}
Result AdaptiveMaxPool2d(Lowering& l, const BoundCall& a) {
  return AdaptiveMaxPool(l, a, "adaptive_max_pool2d");
}
Result AdaptiveMaxPool3d(Lowering& l, const BoundCall& a) {
  return AdaptiveMaxPool(l, a, "adaptive_max_pool3d");
}

// Returns what a parameter of a pool says about dimension `i` of `dims`.
Result OfDimension(Lowering& l, const Argument& value, size_t i, size_t dims) {
  if (!value.is_sequence()) return value;
  if (value.elements().size() == 1) return value.elements()[0];
  if (value.elements().size() != dims) {
    return l.Error(absl::StrCat("expected ", dims, " sizes, not ", value.elements().size()));
  }
  return value.elements()[i];
}

// Lowers max_unpool1d and its kin; in one dimension it is that of two, the second of size 1.
Result MaxUnpool(Lowering& l, const BoundCall& a, size_t dims) {
  Argument input = a["input"];
  Argument indices = a["indices"];
  const Argument& strides_given = a.has("stride") ? a["stride"] : a["kernel_size"];
  std::vector<Argument> sizes, strides, paddings;
  for (size_t i = 0; i < dims; ++i) {
    ASSIGN_OR_RETURN(const Argument kernel, OfDimension(l, a["kernel_size"], i, dims));
    ASSIGN_OR_RETURN(const Argument stride, OfDimension(l, strides_given, i, dims));
    ASSIGN_OR_RETURN(const Argument padding, OfDimension(l, a["padding"], i, dims));
    strides.push_back(stride);
    paddings.push_back(padding);
    if (a.has("output_size")) continue;
    const auto from_end = static_cast<int64_t>(i) - static_cast<int64_t>(dims);
    ASSIGN_OR_RETURN(Argument size, l.Aten("size", {input, from_end}));
    ASSIGN_OR_RETURN(size, l.Operator("sub", {size, 1}));
    ASSIGN_OR_RETURN(size, l.Operator("mul", {size, stride}));
    ASSIGN_OR_RETURN(size, l.Operator("add", {size, kernel}));
    ASSIGN_OR_RETURN(const Argument both, l.Operator("mul", {padding, 2}));
    ASSIGN_OR_RETURN(size, l.Operator("sub", {size, both}));
    sizes.push_back(size);
  }
  if (a.has("output_size")) {
    // The sizes of the first two dimensions may stand before those that count.
    const Argument& given = a["output_size"];
    const size_t count = given.is_sequence() ? given.elements().size() : 1;
    for (size_t i = 0; i < dims; ++i) {
      if (count == dims + 2) {
        sizes.push_back(given.elements()[i + 2]);
      } else {
        ASSIGN_OR_RETURN(sizes.emplace_back(), OfDimension(l, given, i, dims));
      }
    }
  }
  if (dims == 3) {
    return l.Aten("max_unpool3d",
                  {input, indices, l.List(sizes), l.List(strides), l.List(paddings)});
  }
  if (dims == 2) return l.Aten("max_unpool2d", {input, indices, l.List(sizes)});
  sizes.push_back(1);
  ASSIGN_OR_RETURN(input, l.Aten("unsqueeze", {input, -1}));
  ASSIGN_OR_RETURN(indices, l.Aten("unsqueeze", {indices, -1}));
  ASSIGN_OR_RETURN(const Argument result, l.Aten("max_unpool2d", {input, indices, l.List(sizes)}));
  return l.Aten("squeeze", {result, -1});
}
Result MaxUnpool1d(Lowering& l, const BoundCall& a) { return MaxUnpool(l, a, 1); }
Result MaxUnpool2d(Lowering& l, const BoundCall& a) { return MaxUnpool(l, a, 2); }
Result MaxUnpool3d(Lowering& l, const BoundCall& a) { return MaxUnpool(l, a, 3); }

// --- Losses ------------------------------------------------------------------

// Returns the number that stands for `reduction` in torch.ops.
Result Reduction(Lowering& l, const BoundCall& a) {
  if (!a["reduction"].is_string()) return l.Error("reduction must be a string");
  const absl::string_view word = a["reduction"].string();
  return Argument(word == "none" ? 0 : word == "mean" ? 1 : 2);
}
// The reduction "batchmean" is the sum divided by the number of rows.
Result KlDiv(Lowering& l, const BoundCall& a) {
  ASSIGN_OR_RETURN(const Argument reduction, Reduction(l, a));
  ASSIGN_OR_RETURN(const Argument loss, l.Aten("kl_div", {a["input"], a["target"], reduction},
                                               {{"log_target", a["log_target"]}}));
  if (a["reduction"].string() != "batchmean") return loss;
  ASSIGN_OR_RETURN(const Argument rows, l.Aten("size", {a["input"], 0}));
  return l.Operator("truediv", {loss, rows});
}
Result CrossEntropy(Lowering& l, const BoundCall& a) {
  ASSIGN_OR_RETURN(const Argument reduction, Reduction(l, a));
  return l.Aten("cross_entropy_loss", {a["input"], a["target"], a["weight"], reduction,
                                       a["ignore_index"], a["label_smoothing"]});
}
Result NllLoss(Lowering& l, const BoundCall& a) {
  ASSIGN_OR_RETURN(const Argument reduction, Reduction(l, a));
  return l.Aten("nll_loss_nd",
                {a["input"], a["target"], a["weight"], reduction, a["ignore_index"]});
}
// Lowers a loss of two tensors with the same shape.
Result PairLoss(Lowering& l, const BoundCall& a, absl::string_view name, absl::string_view extra) {
  ASSIGN_OR_RETURN(const Argument reduction, Reduction(l, a));
  ASSIGN_OR_RETURN(const Argument pair,
                   l.Aten("broadcast_tensors", {l.List({a["input"], a["target"]})}));
  ASSIGN_OR_RETURN(const Argument input, l.Operator("getitem", {pair, 0}));
  ASSIGN_OR_RETURN(const Argument target, l.Operator("getitem", {pair, 1}));
  if (extra.empty()) return l.Aten(name, {input, target, reduction});
  return l.Aten(name, {input, target, reduction, a[extra]});
}
Result MseLoss(Lowering& l, const BoundCall& a) {
  if (a.has("weight")) return l.Error("weight is not supported");
  return PairLoss(l, a, "mse_loss", "");
}
Result L1Loss(Lowering& l, const BoundCall& a) {
  if (a.has("weight")) return l.Error("weight is not supported");
  return PairLoss(l, a, "l1_loss", "");
}
Result SmoothL1Loss(Lowering& l, const BoundCall& a) {
  return PairLoss(l, a, "smooth_l1_loss", "beta");
}

Result MultilabelSoftMarginLoss(Lowering& l, const BoundCall& a) {
  if (!a["reduction"].is_string()) return l.Error("reduction must be a string");
  const Argument& input = a["input"];
  const Argument& target = a["target"];
  ASSIGN_OR_RETURN(const Argument yes, l.Aten("log_sigmoid", {input}));
  ASSIGN_OR_RETURN(const Argument hits, l.Operator("mul", {target, yes}));
  ASSIGN_OR_RETURN(const Argument rest, l.Operator("sub", {1, target}));
  ASSIGN_OR_RETURN(const Argument negative, l.Aten("neg", {input}));
  ASSIGN_OR_RETURN(const Argument no, l.Aten("log_sigmoid", {negative}));
  ASSIGN_OR_RETURN(const Argument misses, l.Operator("mul", {rest, no}));
  ASSIGN_OR_RETURN(const Argument both, l.Operator("add", {hits, misses}));
  ASSIGN_OR_RETURN(Argument loss, l.Aten("neg", {both}));
  if (a.has("weight")) {
    ASSIGN_OR_RETURN(loss, l.Operator("mul", {loss, a["weight"]}));
  }
  ASSIGN_OR_RETURN(const Argument classes, l.Aten("size", {input, -1}));
  ASSIGN_OR_RETURN(loss, l.Aten("sum", {loss, l.List({-1})}));
  ASSIGN_OR_RETURN(loss, l.Operator("truediv", {loss, classes}));
  const absl::string_view reduction = a["reduction"].string();
  return reduction == "none" ? loss : l.Aten(reduction, {loss});
}

// --- Steps that depend on ranks ----------------------------------------------

Result Interpolated(Lowering& l, const BoundCall& a, Argument mode, Argument align_corners) {
  return l.Builtin(
      "torch.nn.functional.interpolate",
      {a["input"], a["size"], a["scale_factor"], mode, align_corners, Argument(), false},
      Kind::kTensor);
}
Result Upsample(Lowering& l, const BoundCall& a) {
  return Interpolated(l, a, a["mode"], a["align_corners"]);
}
Result UpsampleBilinear(Lowering& l, const BoundCall& a) {
  return Interpolated(l, a, "bilinear", true);
}
Result UpsampleNearest(Lowering& l, const BoundCall& a) {
  return Interpolated(l, a, "nearest", Argument());
}
Result MultiHeadAttention(Lowering& l, const BoundCall& a) {
  static const ValueType* const results = new ValueType[2]{Kind::kTensor, Kind::kTensor};
  static const ValueType* const no_weights = new ValueType[2]{Kind::kTensor, Kind::kNone};
  return l.Builtin(
      "torch.nn.functional.multi_head_attention_forward", a.all(),
      ValueType(Kind::kTuple,
                absl::MakeConstSpan(a.is_true("need_weights") ? results : no_weights, 2)));
}

// --- torch.functional --------------------------------------------------------

Result Split(Lowering& l, const BoundCall& a) {
  return l.Aten("split", {a.self(), a[size_t{1}], a["dim"]});
}

Result Norm(Lowering& l, const BoundCall& a) {
  const Argument dim = a["dim"].is_int() ? l.List({a["dim"]}) : a["dim"];
  Argument p = a["p"];
  if (p.is_string()) {
    const size_t dims = dim.is_none() ? 0 : dim.elements().size();
    if (p.string() != "fro" || dims > 2) {
      if (dim.is_none()) return l.Error("a matrix norm without dim is not supported");
      return l.Aten("linalg_matrix_norm", {a.self(), p, dim, a["keepdim"]},
                    {{"dtype", a["dtype"]}});
    }
    p = 2;
  }
  if (p.is_none()) p = 2.0;
  return l.Aten("linalg_vector_norm", {a.self(), p, dim, a["keepdim"]}, {{"dtype", a["dtype"]}});
}

Result Einsum(Lowering& l, const BoundCall& a) {
  const absl::Span<const Argument> all = a.variadic();
  if (all.empty() || !all[0].is_string())
    return l.Error("einsum without an equation is not supported");
  const bool one_list = all.size() == 2 && !l.IsTensor(all[1]);
  return l.Aten("einsum", {all[0], one_list ? all[1] : l.List(all.subspan(1))});
}

// Returns the tensors of a call with *tensors or one list.
Argument TensorsOf(Lowering& l, const BoundCall& a) {
  const absl::Span<const Argument> all = a.variadic();
  return all.size() == 1 && l.TypeOf(all[0]).is_sequence() ? all[0] : l.List(all);
}
Result Meshgrid(Lowering& l, const BoundCall& a) {
  // The tensors come before the last parameter, `indexing`.
  const Argument tensors = a["tensors"];
  const bool one_list =
      tensors.elements().size() == 1 && l.TypeOf(tensors.elements()[0]).is_sequence();
  const Argument list = one_list ? tensors.elements()[0] : tensors;
  if (!a.has("indexing")) return l.Aten("meshgrid", {list});
  return l.Aten("meshgrid", {list}, {{"indexing", a["indexing"]}});
}
Result BroadcastTensors(Lowering& l, const BoundCall& a) {
  return l.Aten("broadcast_tensors", {TensorsOf(l, a)});
}
Result BlockDiag(Lowering& l, const BoundCall& a) {
  return l.Aten("block_diag", {TensorsOf(l, a)});
}
Result CartesianProd(Lowering& l, const BoundCall& a) {
  return l.Aten("cartesian_prod", {TensorsOf(l, a)});
}
// Returns a tensor for one tensor, a tuple for several.
Result AtLeast(Lowering& l, const BoundCall& a, absl::string_view name) {
  const absl::Span<const Argument> all = a.variadic();
  if (all.size() == 1 && l.IsTensor(all[0])) return l.Aten(name, {all[0]});
  return l.Aten(name, {TensorsOf(l, a)});
}
Result AtLeast1d(Lowering& l, const BoundCall& a) { return AtLeast(l, a, "atleast_1d"); }
Result AtLeast2d(Lowering& l, const BoundCall& a) { return AtLeast(l, a, "atleast_2d"); }
Result AtLeast3d(Lowering& l, const BoundCall& a) { return AtLeast(l, a, "atleast_3d"); }

Result Cdist(Lowering& l, const BoundCall& a) {
  const Argument& mode = a["compute_mode"];
  if (mode.is_none()) return l.Aten("cdist", {a["x1"], a["x2"], a["p"]});
  const int64_t code = mode.is_string() ? WordOf(a, "compute_mode") : 0;
  return l.Aten("cdist", {a["x1"], a["x2"], a["p"], code == 0 ? Argument() : Argument(code)});
}

Result Tensordot(Lowering& l, const BoundCall& a) {
  const Argument& dims = a["dims"];
  if (dims.is_int()) {
    // A number means the last n dimensions of a and the first n of b.
    if (dims.integer() < 0 || dims.integer() > kMaxRank) {
      return l.Error(absl::StrCat("dims must be from 0 to ", kMaxRank, ", not ", dims.integer()));
    }
    std::vector<Argument> last, first;
    for (int64_t i = 0; i < dims.integer(); ++i) {
      last.push_back(i - dims.integer());
      first.push_back(i);
    }
    return l.Aten("tensordot", {a["a"], a["b"], l.List(last), l.List(first)});
  }
  if ((!dims.is_list() && !dims.is_tuple()) || dims.elements().size() != 2) {
    return l.Error("dims must be a number or two lists");
  }
  const auto list = [&l](const Argument& d) { return d.is_int() ? l.List({d}) : d; };
  return l.Aten("tensordot", {a["a"], a["b"], list(dims.elements()[0]), list(dims.elements()[1])});
}

Result Lu(Lowering& l, const BoundCall& a) {
  const bool with_info = a.is_true("get_infos");
  ASSIGN_OR_RETURN(const Argument all,
                   l.Aten("linalg_lu_factor_ex", {a["A"]},
                          {{"pivot", a["pivot"]}, {"check_errors", !with_info}}));
  if (with_info) return all;
  ASSIGN_OR_RETURN(const Argument factors, l.Operator("getitem", {all, 0}));
  ASSIGN_OR_RETURN(const Argument pivots, l.Operator("getitem", {all, 1}));
  return l.Tuple({factors, pivots});
}

Result UnravelIndex(Lowering& l, const BoundCall& a) {
  const Argument& shape = a["shape"];
  if (shape.is_node() && l.TypeOf(shape).kind != Kind::kInt)
    return l.Error("the number of its sizes must be known");
  const std::vector<Argument> sizes =
      shape.is_sequence() ? std::vector<Argument>(shape.elements().begin(), shape.elements().end())
                          : std::vector<Argument>{shape};
  ASSIGN_OR_RETURN(const Argument indices, l.Aten("to", {a["indices"], DType::kInt64}));
  std::vector<Argument> parts(sizes.size());
  Argument stride = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    ASSIGN_OR_RETURN(const Argument whole, l.Aten("floor_divide", {indices, stride}));
    ASSIGN_OR_RETURN(parts[i], l.Aten("remainder", {whole, sizes[i]}));
    if (i > 0) {
      ASSIGN_OR_RETURN(stride, l.Operator("mul", {stride, sizes[i]}));
    }
  }
  return l.Tuple(parts);
}

// The sizes to which shapes broadcast. A size that is known to be other than 1 decides; sizes that
// only a run knows must be one and the same.
Result BroadcastShapes(Lowering& l, const BoundCall& a) {
  std::vector<Argument> result;  // the last size first
  for (const Argument& shape : a.variadic()) {
    if (shape.is_node() && l.TypeOf(shape).kind != Kind::kInt)
      return l.Error("the number of sizes of a shape must be known");
    const absl::Span<const Argument> sizes =
        shape.is_sequence() ? shape.elements() : absl::MakeConstSpan(&shape, 1);
    for (size_t i = 0; i < sizes.size(); ++i) {
      const Argument& size = sizes[sizes.size() - 1 - i];
      if (i == result.size()) result.push_back(1);
      const bool is_one = size.is_int() && size.integer() == 1;
      const bool was_one = result[i].is_int() && result[i].integer() == 1;
      if (is_one || size == result[i]) continue;
      if (was_one || (size.is_int() && !result[i].is_int())) {
        result[i] = size;
      } else if (size.is_int()) {
        return l.Error("its shapes do not broadcast");
      } else if (!result[i].is_int()) {
        return l.Error("it is not known whether sizes of its shapes are equal");
      }
    }
  }
  absl::c_reverse(result);
  return l.Tuple(result);
}

// --- Paddle ----------------------------------------------------------------------

Result Scale(Lowering& l, const BoundCall& a) {
  if (a.is_true("bias_after_scale")) {
    ASSIGN_OR_RETURN(const Argument scaled, l.Aten("mul", {a["x"], a["scale"]}));
    return l.Aten("add", {scaled, a["bias"]});
  }
  ASSIGN_OR_RETURN(const Argument sum, l.Aten("add", {a["x"], a["bias"]}));
  return l.Aten("mul", {sum, a["scale"]});
}

}  // namespace

absl::Span<const AdapterRow> FunctionalAdapters() {
  static constexpr AdapterRow kRows[] = {
      {"torch.nn.functional.adaptive_max_pool1d_with_indices", WithIndices},
      {"torch.nn.functional.adaptive_max_pool2d_with_indices", WithIndices},
      {"torch.nn.functional.adaptive_max_pool3d_with_indices", WithIndices},
      {"torch.nn.functional.max_pool1d_with_indices", WithIndices},
      {"torch.nn.functional.max_pool2d_with_indices", WithIndices},
      {"torch.nn.functional.max_pool3d_with_indices", WithIndices},
      {"Tensor.norm", Norm},
      {"Tensor.split", Split},
      {"paddle.scale", Scale},
      {"torch.functional.atleast_1d", AtLeast1d},
      {"torch.functional.atleast_2d", AtLeast2d},
      {"torch.functional.atleast_3d", AtLeast3d},
      {"torch.functional.block_diag", BlockDiag},
      {"torch.functional.broadcast_shapes", BroadcastShapes},
      {"torch.functional.broadcast_tensors", BroadcastTensors},
      {"torch.functional.cartesian_prod", CartesianProd},
      {"torch.functional.cdist", Cdist},
      {"torch.functional.einsum", Einsum},
      {"torch.functional.lu", Lu},
      {"torch.functional.meshgrid", Meshgrid},
      {"torch.functional.norm", Norm},
      {"torch.functional.split", Split},
      {"torch.functional.tensordot", Tensordot},
      {"torch.functional.unravel_index", UnravelIndex},
      {"torch.nn.functional.adaptive_avg_pool2d", AdaptiveAvgPool2d},
      {"torch.nn.functional.adaptive_avg_pool3d", AdaptiveAvgPool3d},
      {"torch.nn.functional.adaptive_max_pool1d", AdaptiveMaxPool1d},
      {"torch.nn.functional.adaptive_max_pool2d", AdaptiveMaxPool2d},
      {"torch.nn.functional.adaptive_max_pool3d", AdaptiveMaxPool3d},
      {"torch.nn.functional.affine_grid", AffineGrid},
      {"torch.nn.functional.cross_entropy", CrossEntropy},
      {"torch.nn.functional.dropout", PlainDropout},
      {"torch.nn.functional.dropout1d", FeatureDropout},
      {"torch.nn.functional.dropout2d", FeatureDropout},
      {"torch.nn.functional.dropout3d", FeatureDropout},
      {"torch.nn.functional.embedding", Embedding},
      {"torch.nn.functional.embedding_bag", EmbeddingBag},
      {"torch.nn.functional.fold", Fold},
      {"torch.nn.functional.fractional_max_pool2d", FractionalMaxPool2d},
      {"torch.nn.functional.fractional_max_pool2d_with_indices", FractionalMaxPool2dWithIndices},
      {"torch.nn.functional.fractional_max_pool3d", FractionalMaxPool3d},
      {"torch.nn.functional.fractional_max_pool3d_with_indices", FractionalMaxPool3dWithIndices},
      {"torch.nn.functional.grid_sample", GridSample},
      {"torch.nn.functional.kl_div", KlDiv},
      {"torch.nn.functional.l1_loss", L1Loss},
      {"torch.nn.functional.max_pool1d", MaxPool1d},
      {"torch.nn.functional.max_pool2d", MaxPool2d},
      {"torch.nn.functional.max_pool3d", MaxPool3d},
      {"torch.nn.functional.max_unpool1d", MaxUnpool1d},
      {"torch.nn.functional.max_unpool2d", MaxUnpool2d},
      {"torch.nn.functional.max_unpool3d", MaxUnpool3d},
      {"torch.nn.functional.mse_loss", MseLoss},
      {"torch.nn.functional.multi_head_attention_forward", MultiHeadAttention},
      {"torch.nn.functional.multilabel_soft_margin_loss", MultilabelSoftMarginLoss},
      {"torch.nn.functional.nll_loss", NllLoss},
      {"torch.nn.functional.normalize", Normalize},
      {"torch.nn.functional.smooth_l1_loss", SmoothL1Loss},
      {"torch.nn.functional.softmin", Softmin},
      {"torch.nn.functional.softsign", Softsign},
      {"torch.nn.functional.tanhshrink", Tanhshrink},
      {"torch.nn.functional.unfold", Unfold},
      {"torch.nn.functional.upsample", Upsample},
      {"torch.nn.functional.upsample_bilinear", UpsampleBilinear},
      {"torch.nn.functional.upsample_nearest", UpsampleNearest},
  };
  return kRows;
}

}  // namespace graphnet
