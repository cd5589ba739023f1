#include "graphnet/interp/meta_rules.h"

#include <utility>

#include "ATen/Functions.h"
#include "absl/container/flat_hash_map.h"
#include "graphnet/interp/checked.h"

namespace graphnet::interp {
namespace {

using c10::IValue;

// Returns element i of a list that may hold one number for all dimensions.
Checked At(const IValue& list, int64_t i) {
  const c10::List<int64_t> values = list.toIntList();
  return values.size() == 1 ? values.get(0) : values.get(static_cast<size_t>(i));
}

// convNd(input, weight, bias, stride, padding, dilation, groups)
at::Tensor Convolution(int64_t dims, const std::vector<IValue>& args) {
  const at::Tensor& input = args.at(0).toTensor();
  const at::Tensor& weight = args.at(1).toTensor();
  TORCH_CHECK(weight.dim() == dims + 2, "expected a weight of rank ", dims + 2, ", not ",
              weight.dim());
  TORCH_CHECK(input.dim() == dims + 2 || input.dim() == dims + 1, "expected an input of rank ",
              dims + 1, " or ", dims + 2, ", not ", input.dim());
  const int64_t first = input.dim() - dims;  // the first spatial dimension
  const Checked groups = args.at(6).toInt();
  const int64_t channels = (weight.size(1) * groups).value();
  TORCH_CHECK(groups > 0 && input.size(first - 1) == channels, "expected ", channels,
              " channels, not ", input.size(first - 1));
  std::vector<int64_t> sizes(input.sizes().begin(), input.sizes().end());
  sizes[static_cast<size_t>(first - 1)] = weight.size(0);
  for (int64_t i = 0; i < dims; ++i) {
    const Checked size = input.size(first + i);
    const Checked reach = At(args.at(5), i) * (weight.size(2 + i) - 1);
    Checked padding = 0;  // on both sides together
    if (!args.at(4).isString()) {
      padding = 2 * At(args.at(4), i);
    } else if (args[4].toStringRef() == "same") {
      padding = reach;
    }
    const Checked room = size + padding - reach - 1;
    const Checked stride = At(args.at(3), i);
    TORCH_CHECK(room >= 0, "the kernel is larger than the padded input");
    TORCH_CHECK(stride > 0, "expected a stride of 1 or more, not ", stride.value());
    sizes[static_cast<size_t>(first + i)] = (room / stride + 1).value();
  }
  return at::empty(sizes, input.options());
}

// conv_transposeNd(input, weight, bias, stride, padding, output_padding, groups, dilation)
at::Tensor TransposedConvolution(int64_t dims, const std::vector<IValue>& args) {
  const at::Tensor& input = args.at(0).toTensor();
  const at::Tensor& weight = args.at(1).toTensor();
  TORCH_CHECK(weight.dim() == dims + 2, "expected a weight of rank ", dims + 2, ", not ",
              weight.dim());
  TORCH_CHECK(input.dim() == dims + 2 || input.dim() == dims + 1, "expected an input of rank ",
              dims + 1, " or ", dims + 2, ", not ", input.dim());
  const int64_t first = input.dim() - dims;
  TORCH_CHECK(input.size(first - 1) == weight.size(0), "expected ", weight.size(0),
              " channels, not ", input.size(first - 1));
  std::vector<int64_t> sizes(input.sizes().begin(), input.sizes().end());
  sizes[static_cast<size_t>(first - 1)] = (Checked(weight.size(1)) * args.at(6).toInt()).value();
  for (int64_t i = 0; i < dims; ++i) {
    const Checked size = (input.size(first + i) - 1) * At(args.at(3), i) - 2 * At(args.at(4), i) +
                         At(args.at(7), i) * (weight.size(2 + i) - 1) + At(args.at(5), i) + 1;
    TORCH_CHECK(size > 0, "the output would be empty");
    sizes[static_cast<size_t>(first + i)] = size.value();
  }
  return at::empty(sizes, input.options());
}

// batch_norm, instance_norm(input, …): the result has the strides of the input.
at::Tensor LikeInput(const std::vector<IValue>& args) {
  const at::Tensor& input = args.at(0).toTensor();
  return at::empty_like(input, input.options(), input.suggest_memory_format());
}
at::Tensor Relu(const std::vector<IValue>& args) { return at::empty_like(args.at(0).toTensor()); }

// layer_norm(input, normalized_shape, …), group_norm(input, num_groups, …)
at::Tensor ContiguousLikeInput(const std::vector<IValue>& args) {
  const at::Tensor& input = args.at(0).toTensor();
  return at::empty(input.sizes(), input.options());
}
at::Tensor LayerNorm(const std::vector<IValue>& args) {
  const at::Tensor& input = args.at(0).toTensor();
  const std::vector<int64_t> shape = args.at(1).toIntVector();
  const auto n = static_cast<int64_t>(shape.size());
  TORCH_CHECK(
      n <= input.dim() && input.sizes().slice(static_cast<size_t>(input.dim() - n)) == shape,
      "expected an input whose last sizes are ", shape, ", not ", input.sizes());
  return ContiguousLikeInput(args);
}

// embedding(weight, indices, …)
at::Tensor Embedding(const std::vector<IValue>& args) {
  const at::Tensor& weight = args.at(0).toTensor();
  const at::Tensor& indices = args.at(1).toTensor();
  TORCH_CHECK(weight.dim() == 2, "expected a weight of rank 2, not ", weight.dim());
  std::vector<int64_t> sizes = indices.sizes().vec();
  sizes.push_back(weight.size(1));
  return at::empty(sizes, weight.options());
}

// scaled_dot_product_attention(query, key, value, attn_mask, dropout_p, …)
at::Tensor Attention(const std::vector<IValue>& args) {
  const at::Tensor& query = args.at(0).toTensor();
  const at::Tensor& key = args.at(1).toTensor();
  const at::Tensor& value = args.at(2).toTensor();
  TORCH_CHECK(query.dim() >= 2 && key.dim() >= 2 && value.dim() >= 2 &&
                  query.size(-1) == key.size(-1) && key.size(-2) == value.size(-2),
              "query, key and value do not fit each other: ", query.sizes(), ", ", key.sizes(),
              ", ", value.sizes());
  std::vector<int64_t> sizes = query.sizes().vec();
  sizes.back() = value.size(-1);
  // PyTorch's fused kernel for the CPU stores the heads next to the features.
  const bool is_fused = query.dim() == 4 && key.dim() == 4 && value.dim() == 4 &&
                        query.size(1) == key.size(1) && query.size(-1) == value.size(-1) &&
                        args.at(4).toDouble() == 0;
  if (!is_fused) return at::empty(sizes, query.options());
  std::swap(sizes[1], sizes[2]);
  return at::empty(sizes, query.options()).transpose(1, 2);
}

using Rule = at::Tensor (*)(const std::vector<IValue>&);

}  // namespace

std::optional<at::Tensor> MetaResult(const std::string& name, const std::vector<IValue>& args) {
  static const auto* const rules = new absl::flat_hash_map<std::string, Rule>{
      {"aten::conv1d", [](const std::vector<IValue>& a) { return Convolution(1, a); }},
      {"aten::conv2d", [](const std::vector<IValue>& a) { return Convolution(2, a); }},
      {"aten::conv3d", [](const std::vector<IValue>& a) { return Convolution(3, a); }},
      {"aten::conv_transpose1d",
       [](const std::vector<IValue>& a) { return TransposedConvolution(1, a); }},
      {"aten::conv_transpose2d",
       [](const std::vector<IValue>& a) { return TransposedConvolution(2, a); }},
      {"aten::conv_transpose3d",
       [](const std::vector<IValue>& a) { return TransposedConvolution(3, a); }},
      {"aten::batch_norm", LikeInput},
      {"aten::instance_norm", LikeInput},
      {"aten::layer_norm", LayerNorm},
      {"aten::group_norm", ContiguousLikeInput},
      {"aten::relu", Relu},
      {"aten::embedding", Embedding},
      {"aten::scaled_dot_product_attention", Attention},
  };
  const auto it = rules->find(name);
  if (it == rules->end()) return std::nullopt;
  return it->second(args);
}

IValue GradientsForShapes(std::vector<IValue>& args, c10::Device) {
  c10::List<at::Tensor> gradients;
  for (const at::Tensor& input : args.at(1).toTensorVector()) {
    gradients.push_back(at::empty_like(input, input.options().device(c10::kMeta)));
  }
  return gradients;
}

}  // namespace graphnet::interp
