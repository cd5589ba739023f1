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

// Returns the index of the given word among those that parameter `name` accepts.
int64_t WordOf(const BoundCall& a, absl::string_view name) {
  const absl::Span<const absl::string_view> words = a.schema().FindArgument(name)->words;
  return absl::c_find(words, a[name].string()) - words.begin();
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

// Lowers the functions behind them, which always return values and indices.
Result WithIndices(Lowering& l, const BoundCall& a) {
  const absl::string_view name = a.schema().name.substr(a.schema().name.rfind('.') + 1);
  if (a.schema().IndexOf("stride") < 0) {
    return l.Aten(absl::StripSuffix(name, "_with_indices"), {a["input"], a["output_size"]});
  }
  const Argument stride = a.has("stride") ? a["stride"] : l.List({});
  return l.Aten(
      name, {a["input"], a["kernel_size"], stride, a["padding"], a["dilation"], a["ceil_mode"]});
}

Result AdaptiveMaxPool(Lowering& l, const BoundCall& a, absl::string_view name) {
  ASSIGN_OR_RETURN(const Argument both, l.Aten(name, {a["input"], a["output_size"]}));
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

// --- Steps that depend on ranks ----------------------------------------------

Result Upsample(Lowering& l, const BoundCall& a) {
  return l.Builtin(
      "torch.nn.functional.interpolate",
      {a["input"], a["size"], a["scale_factor"], a["mode"], a["align_corners"], Argument(), false},
      Kind::kTensor);
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
      {"torch.functional.broadcast_tensors", BroadcastTensors},
      {"torch.functional.cartesian_prod", CartesianProd},
      {"torch.functional.cdist", Cdist},
      {"torch.functional.einsum", Einsum},
      {"torch.functional.meshgrid", Meshgrid},
      {"torch.functional.norm", Norm},
      {"torch.functional.split", Split},
      {"torch.functional.tensordot", Tensordot},
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
      {"torch.nn.functional.fold", Fold},
      {"torch.nn.functional.grid_sample", GridSample},
      {"torch.nn.functional.kl_div", KlDiv},
      {"torch.nn.functional.l1_loss", L1Loss},
      {"torch.nn.functional.max_pool1d", MaxPool1d},
      {"torch.nn.functional.max_pool2d", MaxPool2d},
      {"torch.nn.functional.max_pool3d", MaxPool3d},
      {"torch.nn.functional.mse_loss", MseLoss},
      {"torch.nn.functional.multi_head_attention_forward", MultiHeadAttention},
      {"torch.nn.functional.nll_loss", NllLoss},
      {"torch.nn.functional.normalize", Normalize},
      {"torch.nn.functional.smooth_l1_loss", SmoothL1Loss},
      {"torch.nn.functional.softmin", Softmin},
      {"torch.nn.functional.softsign", Softsign},
      {"torch.nn.functional.tanhshrink", Tanhshrink},
      {"torch.nn.functional.unfold", Unfold},
      {"torch.nn.functional.upsample", Upsample},
  };
  return kRows;
}

}  // namespace graphnet
