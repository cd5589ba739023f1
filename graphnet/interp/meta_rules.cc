#include "graphnet/interp/meta_rules.h"

#include "ATen/Functions.h"
#include "absl/strings/match.h"

namespace graphnet::interp {
namespace {

using c10::IValue;

// The i-th of a list that may hold one number for all dimensions.
int64_t At(const IValue& list, int64_t i) {
  const c10::List<int64_t> values = list.toIntList();
  return values.size() == 1 ? values.get(0) : values.get(static_cast<size_t>(i));
}

// convNd(input, weight, bias, stride, padding, dilation, groups)
at::Tensor Convolution(int64_t dims, const std::vector<IValue>& args) {
  const at::Tensor& input = args.at(0).toTensor();
  const at::Tensor& weight = args.at(1).toTensor();
  TORCH_CHECK(weight.dim() == dims + 2, "expected a weight of rank ", dims + 2, ", not ", weight.dim());
  TORCH_CHECK(input.dim() == dims + 2 || input.dim() == dims + 1, "expected an input of rank ",
              dims + 1, " or ", dims + 2, ", not ", input.dim());
  const int64_t first = input.dim() - dims;  // the first spatial dimension
  const int64_t groups = args.at(6).toInt();
  TORCH_CHECK(groups > 0 && input.size(first - 1) == weight.size(1) * groups, "expected ",
              weight.size(1) * groups, " channels, not ", input.size(first - 1));
  std::vector<int64_t> sizes(input.sizes().begin(), input.sizes().end());
  sizes[static_cast<size_t>(first - 1)] = weight.size(0);
  for (int64_t i = 0; i < dims; ++i) {
    const int64_t size = input.size(first + i);
    const int64_t reach = At(args.at(5), i) * (weight.size(2 + i) - 1);
    int64_t padding = 0;  // on both sides together
    if (!args.at(4).isString()) {
      padding = 2 * At(args.at(4), i);
    } else if (args[4].toStringRef() == "same") {
      padding = reach;
    }
    const int64_t room = size + padding - reach - 1;
    TORCH_CHECK(room >= 0, "the kernel is larger than the padded input");
    sizes[static_cast<size_t>(first + i)] = room / At(args.at(3), i) + 1;
  }
  return at::empty(sizes, input.options());
}

// conv_transposeNd(input, weight, bias, stride, padding, output_padding, groups, dilation)
at::Tensor TransposedConvolution(int64_t dims, const std::vector<IValue>& args) {
  const at::Tensor& input = args.at(0).toTensor();
  const at::Tensor& weight = args.at(1).toTensor();
  TORCH_CHECK(weight.dim() == dims + 2, "expected a weight of rank ", dims + 2, ", not ", weight.dim());
  TORCH_CHECK(input.dim() == dims + 2 || input.dim() == dims + 1, "expected an input of rank ",
              dims + 1, " or ", dims + 2, ", not ", input.dim());
  const int64_t first = input.dim() - dims;
  TORCH_CHECK(input.size(first - 1) == weight.size(0), "expected ", weight.size(0), " channels, not ",
              input.size(first - 1));
  std::vector<int64_t> sizes(input.sizes().begin(), input.sizes().end());
  sizes[static_cast<size_t>(first - 1)] = weight.size(1) * args.at(6).toInt();
  for (int64_t i = 0; i < dims; ++i) {
    const int64_t size = (input.size(first + i) - 1) * At(args.at(3), i) - 2 * At(args.at(4), i) +
                         At(args.at(7), i) * (weight.size(2 + i) - 1) + At(args.at(5), i) + 1;
    TORCH_CHECK(size > 0, "the output would be empty");
    sizes[static_cast<size_t>(first + i)] = size;
  }
  return at::empty(sizes, input.options());
}

}  // namespace

std::optional<at::Tensor> MetaResult(const std::string& name, const std::vector<IValue>& args) {
  if (!absl::StartsWith(name, "aten::conv") || name.size() < 12 || name.back() != 'd') {
    return std::nullopt;
  }
  const int64_t dims = name[name.size() - 2] - '0';
  if (dims < 1 || dims > 3) return std::nullopt;
  if (name.size() == 12) return Convolution(dims, args);  // aten::conv2d
  if (absl::StartsWith(name, "aten::conv_transpose")) return TransposedConvolution(dims, args);
  return std::nullopt;
}

}  // namespace graphnet::interp
