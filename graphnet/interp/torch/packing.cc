#include "graphnet/interp/torch/packing.h"

#include "c10/core/QScheme.h"
#include "c10/util/Exception.h"

namespace graphnet {
namespace {

// No layer of a model has more; products of a few of them do not overflow.
constexpr int64_t kMost = 1 << 15;

void CheckBias(const std::optional<at::Tensor>& bias, int64_t channels) {
  if (!bias.has_value() || !bias->defined()) return;
  TORCH_CHECK(bias->dim() == 1 && bias->numel() == channels, "expected a bias of ", channels,
              " elements");
  TORCH_CHECK(
      bias->scalar_type() == at::kFloat && bias->layout() == at::kStrided && !bias->is_meta(),
      "expected a bias of type float32");
}

// Checks a quantised tensor. Its scales lie along `axis`, if there is one for each channel.
void CheckWeight(const at::Tensor& weight, int64_t rank, int64_t axis) {
  TORCH_CHECK(weight.defined() && weight.is_quantized() && weight.device().is_cpu(),
              "expected a quantised weight");
  TORCH_CHECK(weight.dim() == rank, "expected a weight of ", rank, " dimensions, not ",
              weight.dim());
  for (const int64_t size : weight.sizes()) TORCH_CHECK(size > 0, "the weight has no elements");
  if (weight.qscheme() == at::kPerTensorAffine) return;
  TORCH_CHECK(weight.q_per_channel_axis() == axis &&
                  weight.q_per_channel_scales().numel() == weight.size(axis) &&
                  weight.q_per_channel_zero_points().numel() == weight.size(axis),
              "expected a scale for each of ", weight.size(axis), " channels");
}

void CheckInts(const std::vector<int64_t>& values, const char* name, int dims, int64_t least) {
  TORCH_CHECK(values.size() == static_cast<size_t>(dims), "expected ", dims, " numbers in ", name);
  for (const int64_t value : values) {
    TORCH_CHECK(value >= least && value <= kMost, name, " is ", value, ", not within ", least,
                " and ", kMost);
  }
}

}  // namespace

void CheckPacking(const ConvPacking& p) {
  CheckWeight(p.weight, p.dims + 2, p.transposed ? 1 : 0);
  TORCH_CHECK(p.weight.scalar_type() == at::kQInt8, "expected a weight of type qint8");
  CheckInts(p.stride, "stride", p.dims, 1);
  CheckInts(p.padding, "padding", p.dims, 0);
  CheckInts(p.dilation, "dilation", p.dims, 1);
  if (p.transposed) CheckInts(p.output_padding, "output_padding", p.dims, 0);
  TORCH_CHECK(p.groups > 0 && p.groups <= p.weight.size(0) && p.weight.size(0) % p.groups == 0,
              p.weight.size(0), " channels do not make ", p.groups, " groups");
  CheckBias(p.bias, p.transposed ? p.weight.size(1) * p.groups : p.weight.size(0));
}

void CheckLinearPacking(const at::Tensor& weight, const std::optional<at::Tensor>& bias) {
  CheckWeight(weight, 2, 0);
  TORCH_CHECK(weight.scalar_type() == at::kQInt8, "expected a weight of type qint8");
  CheckBias(bias, weight.size(0));
}

void CheckEmbeddingPacking(const at::Tensor& weight) {
  CheckWeight(weight, 2, 0);
  TORCH_CHECK(
      weight.qscheme() == at::kPerChannelAffineFloatQParams && weight.scalar_type() == at::kQUInt8,
      "expected a weight of type quint8 with scales and zero points of type float32");
}

}  // namespace graphnet
