// Adapters of the operators of quantized_decomposed, with which programs of pt2e quantise. They
// have no kernels; PyTorch defines them in Python (torch/ao/quantization/fx/_decomposed.py), as
// here.
#include <cstdint>
#include <limits>

#include "absl/strings/match.h"
#include "graphnet/base/status.h"
#include "graphnet/ops/adapters.h"

namespace graphnet {
namespace {

using Result = absl::StatusOr<Argument>;

Result ToFloat(Lowering& l, const Argument& tensor) {
  return l.Aten("to", {tensor, DType::kFloat32});
}
// Returns 1.0 / scale for a number or tensor.
Result Inverse(Lowering& l, const Argument& scale) {
  if (scale.is_float() && scale.real() != 0) return Argument(1.0 / scale.real());
  return l.Operator("truediv", {1.0, scale});
}
Result Item(Lowering& l, const Argument& value) {
  return l.IsTensor(value) ? l.Aten("item", {value}) : Result(value);
}
// Checks that the tensor has the dtype that the call states.
absl::Status CheckDType(Lowering& l, const BoundCall& a) {
  return l.Aten("_assert_tensor_metadata", {a["input"]}, {{"dtype", a["dtype"]}}).status();
}
Argument WantedDType(const BoundCall& a) {
  return a.has("out_dtype") ? a["out_dtype"] : Argument(DType::kFloat32);
}
// Moves the channels to the last dimension, where scales with one dimension broadcast.
Result ChannelsLast(Lowering& l, const Argument& tensor, const Argument& axis) {
  return l.Aten("transpose", {tensor, axis, -1});
}

// Returns clamp(round(input * inverse) + zero_point, quant_min, quant_max).
Result Quantized(Lowering& l, const Argument& input, const Argument& inverse,
                 const Argument& zero_point, const Argument& low, const Argument& high) {
  ASSIGN_OR_RETURN(const Argument scaled, l.Operator("mul", {input, inverse}));
  ASSIGN_OR_RETURN(const Argument rounded, l.Aten("round", {scaled}));
  ASSIGN_OR_RETURN(const Argument moved, l.Operator("add", {rounded, zero_point}));
  return l.Aten("clamp", {moved, low, high});
}

Result QuantizePerTensor(Lowering& l, const BoundCall& a) {
  ASSIGN_OR_RETURN(const Argument scale, Item(l, a["scale"]));
  ASSIGN_OR_RETURN(const Argument zero_point, Item(l, a["zero_point"]));
  ASSIGN_OR_RETURN(const Argument low, Item(l, a["quant_min"]));
  ASSIGN_OR_RETURN(const Argument high, Item(l, a["quant_max"]));
  ASSIGN_OR_RETURN(const Argument input, ToFloat(l, a["input"]));
  ASSIGN_OR_RETURN(const Argument inverse, Inverse(l, scale));
  ASSIGN_OR_RETURN(const Argument made, Quantized(l, input, inverse, zero_point, low, high));
  return l.Aten("to", {made, a["dtype"]});
}

Result DequantizePerTensor(Lowering& l, const BoundCall& a) {
  RETURN_IF_ERROR(CheckDType(l, a));
  ASSIGN_OR_RETURN(const Argument scale, Item(l, a["scale"]));
  ASSIGN_OR_RETURN(const Argument zero_point, Item(l, a["zero_point"]));
  ASSIGN_OR_RETURN(const Argument input, l.Aten("to", {a["input"], WantedDType(a)}));
  ASSIGN_OR_RETURN(const Argument moved, l.Operator("sub", {input, zero_point}));
  return l.Operator("mul", {moved, scale});
}

Result QuantizePerChannel(Lowering& l, const BoundCall& a) {
  ASSIGN_OR_RETURN(const Argument real, ToFloat(l, a["input"]));
  ASSIGN_OR_RETURN(const Argument input, ChannelsLast(l, real, a["axis"]));
  ASSIGN_OR_RETURN(const Argument inverse, Inverse(l, a["scales"]));
  ASSIGN_OR_RETURN(const Argument made,
                   Quantized(l, input, inverse, a["zero_points"], a["quant_min"], a["quant_max"]));
  ASSIGN_OR_RETURN(const Argument placed, ChannelsLast(l, made, a["axis"]));
  return l.Aten("to", {placed, a["dtype"]});
}

Result DequantizePerChannel(Lowering& l, const BoundCall& a) {
  RETURN_IF_ERROR(CheckDType(l, a));
  ASSIGN_OR_RETURN(Argument value, ChannelsLast(l, a["input"], a["axis"]));
  if (a.has("zero_points")) {
    ASSIGN_OR_RETURN(value, l.Operator("sub", {value, a["zero_points"]}));
  }
  ASSIGN_OR_RETURN(value, l.Operator("mul", {value, a["scales"]}));
  ASSIGN_OR_RETURN(value, l.Aten("to", {value, WantedDType(a)}));
  return ChannelsLast(l, value, a["axis"]);
}

Result FakeQuantPerChannel(Lowering& l, const BoundCall& a) {
  ASSIGN_OR_RETURN(const Argument scales, ToFloat(l, a["scales"]));
  ASSIGN_OR_RETURN(const Argument zero_points, l.Aten("to", {a["zero_points"], DType::kInt32}));
  ASSIGN_OR_RETURN(const Argument input, ChannelsLast(l, a["input"], a["axis"]));
  ASSIGN_OR_RETURN(const Argument inverse, Inverse(l, scales));
  ASSIGN_OR_RETURN(const Argument made,
                   Quantized(l, input, inverse, zero_points, a["quant_min"], a["quant_max"]));
  ASSIGN_OR_RETURN(const Argument moved, l.Operator("sub", {made, zero_points}));
  ASSIGN_OR_RETURN(const Argument value, l.Operator("mul", {moved, scales}));
  return ChannelsLast(l, value, a["axis"]);
}

// --- Parameters of quantisation ------------------------------------------------------

// Returns min(value, 0) or max(value, 0).
Result WithZero(Lowering& l, absl::string_view name, const Argument& value) {
  ASSIGN_OR_RETURN(const Argument zeros, l.Aten("zeros_like", {value}));
  return l.Aten(name, {value, zeros});
}

Result ChooseQParams(Lowering& l, const BoundCall& a) {
  if (!a["quant_min"].is_int() || !a["quant_max"].is_int())
    return l.Error("quant_min and quant_max must be numbers");
  const int64_t low = a["quant_min"].integer(), high = a["quant_max"].integer();
  if (low >= high) return l.Error("quant_min must be below quant_max");
  const auto range = static_cast<double>(high - low);
  ASSIGN_OR_RETURN(const Argument both, l.Aten("aminmax", {a["input"]}));
  ASSIGN_OR_RETURN(Argument least, l.Operator("getitem", {both, 0}));
  ASSIGN_OR_RETURN(Argument most, l.Operator("getitem", {both, 1}));
  ASSIGN_OR_RETURN(least, WithZero(l, "minimum", least));
  ASSIGN_OR_RETURN(most, WithZero(l, "maximum", most));
  const bool is_symmetric = absl::StrContains(a.schema().name, "symmetric");
  Argument scale, zero_point;
  if (is_symmetric) {
    ASSIGN_OR_RETURN(const Argument negated, l.Aten("neg", {least}));
    ASSIGN_OR_RETURN(most, l.Aten("maximum", {negated, most}));
    ASSIGN_OR_RETURN(scale, l.Operator("truediv", {most, range / 2}));
  } else {
    ASSIGN_OR_RETURN(const Argument width, l.Operator("sub", {most, least}));
    ASSIGN_OR_RETURN(scale, l.Operator("truediv", {width, range}));
  }
  ASSIGN_OR_RETURN(const Argument eps,
                   l.Aten("full", {l.List({1}), a["eps"]}, {{"dtype", DType::kFloat32}}));
  ASSIGN_OR_RETURN(scale, l.Aten("maximum", {scale, eps}));
  if (is_symmetric) {
    const bool is_unsigned =
        a["dtype"].kind() == Argument::Kind::kDType && a["dtype"].dtype() == DType::kUInt8;
    ASSIGN_OR_RETURN(zero_point, l.Aten("full", {l.List({1}), is_unsigned ? 128 : 0},
                                        {{"dtype", DType::kInt64}}));
  } else {
    ASSIGN_OR_RETURN(const Argument steps, l.Operator("truediv", {least, scale}));
    ASSIGN_OR_RETURN(const Argument rounded, l.Aten("round", {steps}));
    ASSIGN_OR_RETURN(const Argument whole, l.Aten("to", {rounded, DType::kInt32}));
    ASSIGN_OR_RETURN(zero_point, l.Operator("sub", {low, whole}));
    ASSIGN_OR_RETURN(zero_point, l.Aten("clamp", {zero_point, low, high}));
  }
  ASSIGN_OR_RETURN(scale, l.Aten("to", {scale, DType::kFloat64}));
  ASSIGN_OR_RETURN(zero_point, l.Aten("to", {zero_point, DType::kInt64}));
  return l.Tuple({scale, zero_point});
}

Result ChooseQParamsPerToken(Lowering& l, const BoundCall& a) {
  constexpr int64_t kLow = -128, kHigh = 127;
  ASSIGN_OR_RETURN(Argument least, l.Aten("amin", {a["input"], l.List({-1}), true}));
  ASSIGN_OR_RETURN(Argument most, l.Aten("amax", {a["input"], l.List({-1}), true}));
  ASSIGN_OR_RETURN(least, WithZero(l, "minimum", least));
  ASSIGN_OR_RETURN(most, WithZero(l, "maximum", most));
  ASSIGN_OR_RETURN(const Argument width, l.Operator("sub", {most, least}));
  ASSIGN_OR_RETURN(Argument scale,
                   l.Operator("truediv", {width, static_cast<double>(kHigh - kLow)}));
  ASSIGN_OR_RETURN(scale, l.Aten("clamp", {scale, double{std::numeric_limits<float>::epsilon()}}));
  ASSIGN_OR_RETURN(const Argument down, l.Operator("truediv", {least, scale}));
  ASSIGN_OR_RETURN(const Argument up, l.Operator("truediv", {most, scale}));
  ASSIGN_OR_RETURN(const Argument down_error, l.Operator("add", {kLow, down}));
  ASSIGN_OR_RETURN(const Argument up_error, l.Operator("add", {kHigh, up}));
  ASSIGN_OR_RETURN(const Argument error, l.Operator("add", {down_error, up_error}));
  ASSIGN_OR_RETURN(const Argument is_down, l.Operator("gt", {error, 0}));
  ASSIGN_OR_RETURN(const Argument from_down, l.Operator("sub", {kLow, down}));
  ASSIGN_OR_RETURN(const Argument from_up, l.Operator("sub", {kHigh, up}));
  ASSIGN_OR_RETURN(Argument zero_point, l.Aten("where", {is_down, from_down, from_up}));
  ASSIGN_OR_RETURN(zero_point, l.Aten("clamp", {zero_point, kLow, kHigh}));
  ASSIGN_OR_RETURN(zero_point, l.Aten("round", {zero_point}));
  ASSIGN_OR_RETURN(scale, l.Aten("to", {scale, DType::kFloat64}));
  ASSIGN_OR_RETURN(zero_point, l.Aten("to", {zero_point, DType::kInt64}));
  return l.Tuple({scale, zero_point});
}

// --- Tokens and groups ---------------------------------------------------------------

// Returns clamp(round(input * (1 / scales) + zero_points), quant_min, quant_max).
Result QuantizedRows(Lowering& l, const BoundCall& a, const Argument& input, const Argument& scales,
                     const Argument& zero_points) {
  ASSIGN_OR_RETURN(const Argument inverse, Inverse(l, scales));
  ASSIGN_OR_RETURN(const Argument scaled, l.Operator("mul", {input, inverse}));
  ASSIGN_OR_RETURN(const Argument moved, l.Operator("add", {scaled, zero_points}));
  ASSIGN_OR_RETURN(const Argument rounded, l.Aten("round", {moved}));
  ASSIGN_OR_RETURN(const Argument made, l.Aten("clamp", {rounded, a["quant_min"], a["quant_max"]}));
  return l.Aten("to", {made, a["dtype"]});
}

Result QuantizePerToken(Lowering& l, const BoundCall& a) {
  return QuantizedRows(l, a, a["input"], a["scales"], a["zero_points"]);
}

Result DequantizePerToken(Lowering& l, const BoundCall& a) {
  ASSIGN_OR_RETURN(const Argument moved, l.Operator("sub", {a["input"], a["zero_points"]}));
  ASSIGN_OR_RETURN(const Argument value, l.Operator("mul", {moved, a["scales"]}));
  return l.Aten("to", {value, a["output_dtype"]});
}

Result AsColumn(Lowering& l, const Argument& tensor) {
  return l.Aten("reshape", {tensor, l.List({-1, 1})});
}

Result QuantizePerGroup(Lowering& l, const BoundCall& a) {
  ASSIGN_OR_RETURN(const Argument rows,
                   l.Aten("reshape", {a["input"], l.List({-1, a["group_size"]})}));
  ASSIGN_OR_RETURN(const Argument scales, AsColumn(l, a["scales"]));
  ASSIGN_OR_RETURN(const Argument zero_points, AsColumn(l, a["zero_points"]));
  ASSIGN_OR_RETURN(const Argument made, QuantizedRows(l, a, rows, scales, zero_points));
  return l.Aten("reshape_as", {made, a["input"]});
}

Result DequantizePerGroup(Lowering& l, const BoundCall& a) {
  ASSIGN_OR_RETURN(Argument value, l.Aten("reshape", {a["input"], l.List({-1, a["group_size"]})}));
  ASSIGN_OR_RETURN(const Argument scales, AsColumn(l, a["scales"]));
  Argument zero_points;
  if (a.has("zero_points")) {
    ASSIGN_OR_RETURN(zero_points, AsColumn(l, a["zero_points"]));
  } else {
    ASSIGN_OR_RETURN(zero_points, l.Aten("zeros", {l.List({})}, {{"dtype", DType::kInt32}}));
  }
  ASSIGN_OR_RETURN(value, l.Operator("sub", {value, zero_points}));
  ASSIGN_OR_RETURN(value, l.Operator("mul", {value, scales}));
  ASSIGN_OR_RETURN(value, l.Aten("reshape_as", {value, a["input"]}));
  return l.Aten("to", {value, a["output_dtype"]});
}

Result ConvertElementType(Lowering& l, const BoundCall& a) {
  return l.Aten("_to_copy", {a["input"]}, {{"dtype", a["dtype"]}});
}

}  // namespace

absl::Span<const AdapterRow> QuantizedAdapters() {
#define GRAPHNET_QUANTIZED(name) "torch.ops.quantized_decomposed." name
  static constexpr AdapterRow kRows[] = {
      {GRAPHNET_QUANTIZED("_choose_qparams_per_token_asymmetric_impl.default"),
       ChooseQParamsPerToken},
      {GRAPHNET_QUANTIZED("choose_qparams.tensor"), ChooseQParams},
      {GRAPHNET_QUANTIZED("choose_qparams_per_token_asymmetric.default"), ChooseQParamsPerToken},
      {GRAPHNET_QUANTIZED("choose_qparams_symmetric.tensor"), ChooseQParams},
      {GRAPHNET_QUANTIZED("convert_element_type.no_fuse"), ConvertElementType},
      {GRAPHNET_QUANTIZED("dequantize_per_channel.default"), DequantizePerChannel},
      {GRAPHNET_QUANTIZED("dequantize_per_channel_group.default"), DequantizePerGroup},
      {GRAPHNET_QUANTIZED("dequantize_per_tensor.default"), DequantizePerTensor},
      {GRAPHNET_QUANTIZED("dequantize_per_tensor.tensor"), DequantizePerTensor},
      {GRAPHNET_QUANTIZED("dequantize_per_tensor.tensor2"), DequantizePerTensor},
      {GRAPHNET_QUANTIZED("dequantize_per_token.default"), DequantizePerToken},
      {GRAPHNET_QUANTIZED("fake_quant_per_channel.default"), FakeQuantPerChannel},
      {GRAPHNET_QUANTIZED("quantize_per_channel.default"), QuantizePerChannel},
      {GRAPHNET_QUANTIZED("quantize_per_channel_group.default"), QuantizePerGroup},
      {GRAPHNET_QUANTIZED("quantize_per_tensor.default"), QuantizePerTensor},
      {GRAPHNET_QUANTIZED("quantize_per_tensor.tensor"), QuantizePerTensor},
      {GRAPHNET_QUANTIZED("quantize_per_tensor.tensor2"), QuantizePerTensor},
      {GRAPHNET_QUANTIZED("quantize_per_token.default"), QuantizePerToken},
  };
#undef GRAPHNET_QUANTIZED
  return kRows;
}

}  // namespace graphnet
