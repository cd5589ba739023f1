// The arguments of calls that OpenVINO's translators need.
#ifndef GRAPHNET_EVALUATE_WORKERS_OPENVINO_ARGUMENTS_H_
#define GRAPHNET_EVALUATE_WORKERS_OPENVINO_ARGUMENTS_H_

#include <map>
#include <string>
#include <vector>

// torch.export leaves out arguments that are defaults. These calls need all of them, as other
// arguments may follow or as their translators count arguments.
inline const std::map<std::string, std::vector<std::string>>& ArgumentsOf() {
  static const auto* const arguments = [] {
    const std::vector<std::string> made = {"dtype", "layout", "device", "pin_memory"};
    const auto with = [&](std::vector<std::string> names, bool has_format = false) {
      names.insert(names.end(), made.begin(), made.end());
      if (has_format) names.push_back("memory_format");
      return names;
    };
    return new std::map<std::string, std::vector<std::string>>{
        {"arange.default", with({"end"})},
        {"arange.start", with({"start", "end"})},
        {"arange.start_step", with({"start", "end", "step"})},
        {"full.default", with({"size", "fill_value"})},
        {"zeros.default", with({"size"})},
        {"ones.default", with({"size"})},
        {"empty.memory_format", with({"size"}, true)},
        {"rand.default", with({"size"})},
        {"randn.default", with({"size"})},
        {"eye.default", with({"n"})},
        {"eye.m", with({"n", "m"})},
        {"linspace.default", with({"start", "end", "steps"})},
        {"scalar_tensor.default", with({"s"})},
        {"new_zeros.default", with({"self", "size"})},
        {"new_ones.default", with({"self", "size"})},
        {"new_empty.default", with({"self", "size"})},
        {"new_full.default", with({"self", "size", "fill_value"})},
        {"zeros_like.default", with({"self"}, true)},
        {"ones_like.default", with({"self"}, true)},
        {"empty_like.default", with({"self"}, true)},
        {"rand_like.default", with({"self"}, true)},
        {"full_like.default", with({"self", "fill_value"}, true)},
        {"clamp.default", {"self", "min", "max"}},
        {"clamp.Tensor", {"self", "min", "max"}},
        // The translators of these calls want all possible arguments.
        {"conv1d.default",
         {"input", "weight", "bias", "stride=[1]", "padding=[0]", "dilation=[1]", "groups=1"}},
        {"conv2d.default",
         {"input", "weight", "bias", "stride=[1,1]", "padding=[0,0]", "dilation=[1,1]",
          "groups=1"}},
        {"conv3d.default",
         {"input", "weight", "bias", "stride=[1,1,1]", "padding=[0,0,0]", "dilation=[1,1,1]",
          "groups=1"}},
        {"conv_transpose1d.default",
         {"input", "weight", "bias", "stride=[1]", "padding=[0]", "output_padding=[0]", "groups=1",
          "dilation=[1]"}},
        {"conv_transpose2d.input",
         {"input", "weight", "bias", "stride=[1,1]", "padding=[0,0]", "output_padding=[0,0]",
          "groups=1", "dilation=[1,1]"}},
        {"conv_transpose3d.input",
         {"input", "weight", "bias", "stride=[1,1,1]", "padding=[0,0,0]", "output_padding=[0,0,0]",
          "groups=1", "dilation=[1,1,1]"}},
        {"leaky_relu.default", {"self", "negative_slope=0.01"}},
        {"layer_norm.default", {"input", "normalized_shape", "weight", "bias", "eps=1e-05"}},
        {"group_norm.default", {"input", "num_groups", "weight", "bias", "eps=1e-05"}},
        {"mean.default", {"self", "dtype"}},
        {"argsort.default", {"self", "dim=-1", "descending=false"}},
        // These overloads are distinguished by their number of arguments.
        {"sum.dim_IntList", {"self", "dim", "keepdim=false", "dtype"}},
        {"mean.dim", {"self", "dim", "keepdim=false", "dtype"}},
        {"slice.Tensor", {"self", "dim=0", "start", "end", "step=1"}},
        {"max.dim", {"self", "dim", "keepdim=false"}},
        {"min.dim", {"self", "dim", "keepdim=false"}},
        {"any.dim", {"self", "dim", "keepdim=false"}},
        {"all.dim", {"self", "dim", "keepdim=false"}},
        {"amax.default", {"self", "dim", "keepdim=false"}},
        {"amin.default", {"self", "dim", "keepdim=false"}},
        {"logsumexp.default", {"self", "dim", "keepdim=false"}},
        {"topk.default", {"self", "k", "dim=-1", "largest=true", "sorted=true"}},
        {"sort.default", {"self", "dim=-1", "descending=false"}},
        {"addcmul.default", {"self", "tensor1", "tensor2", "value=1"}},
        {"addcdiv.default", {"self", "tensor1", "tensor2", "value=1"}},
        {"cat.default", {"tensors", "dim=0"}},
        {"stack.default", {"tensors", "dim=0"}},
        {"unbind.int", {"self", "dim=0"}},
        {"chunk.default", {"self", "chunks", "dim=0"}},
        {"split.Tensor", {"self", "split_size", "dim=0"}},
        {"split.sizes", {"self", "split_size", "dim=0"}},
        {"flatten.using_ints", {"self", "start_dim=0", "end_dim=-1"}},
        // The device is left out, as it does not matter here.
        {"to.dtype_layout", {"self", "dtype", "non_blocking", "copy", "memory_format"}},
        {"to.dtype", {"self", "dtype", "non_blocking", "copy", "memory_format"}},
        {"to.device", {"self", "dtype", "non_blocking", "copy", "memory_format"}},
        {"scaled_dot_product_attention.default",
         {"query", "key", "value", "attn_mask", "dropout_p", "is_causal", "scale"}},
        {"var.correction", {"self", "dim", "correction", "keepdim"}},
        {"std.correction", {"self", "dim", "correction", "keepdim"}},
    };
  }();
  return *arguments;
}

#endif  // GRAPHNET_EVALUATE_WORKERS_OPENVINO_ARGUMENTS_H_
