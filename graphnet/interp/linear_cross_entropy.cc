// The operators that torch.nn.functional.linear_cross_entropy exports; PyTorch defines them in
// Python (torch/nn/modules/linear_cross_entropy.py). They compute the loss of a linear layer one
// chunk of rows at a time, and its gradients in the same pass, so that the logits of all rows
// never exist at once. The steps, their order and their dtypes are PyTorch's on the CPU.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ATen/ATen.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "graphnet/interp/builtins.h"
#include "graphnet/interp/values.h"

namespace graphnet::interp {
namespace {

using at::ScalarType;
using at::Tensor;
using c10::IValue;
using Args = std::vector<IValue>;

class ChunkedLoss {
 public:
  struct Options {
    std::string reduction;
    int64_t ignore_index = 0;
    int64_t chunk_size = 0;
    std::string acc_policy;
    ScalarType acc_dtype = ScalarType::Float;
    bool input_grad = false;
    bool weight_grad = false;
    bool bias_grad = false;
  };

  ChunkedLoss(Tensor input, Tensor linear_weight, Tensor target, std::optional<Tensor> bias,
              std::optional<Tensor> weight, const Options& options)
      : options_(options),
        input_(std::move(input)),
        linear_weight_(std::move(linear_weight)),
        target_(std::move(target)),
        weight_(std::move(weight)) {
    Check(bias);
    dtype_ = input_.scalar_type();
    acc_dtype_ = options_.acc_dtype;
    accumulates_ = dtype_ != acc_dtype_;
    saves_memory_ = options_.acc_policy == "balanced" || options_.acc_policy == "compact";
    logits_dtype_ = dtype_ == ScalarType::Half && saves_memory_ ? dtype_ : acc_dtype_;
    linear_weight_cast_ = linear_weight_.to(logits_dtype_);
    if (bias.has_value()) bias_ = bias->to(logits_dtype_);
    rows_ = input_.size(0);
    const Tensor mask = target_ == options_.ignore_index;
    if (options_.ignore_index < 0 || options_.ignore_index >= linear_weight_.size(0)) {
      target_ = at::where(mask, 0, target_);
    }
    row_weights_ = RowWeights(mask);
    chunk_size_ = std::min(options_.chunk_size, std::max<int64_t>(rows_, 1));
    logits_ = at::empty({chunk_size_, linear_weight_.size(0)}, Of(logits_dtype_));
    column_ = at::empty({chunk_size_}, Of(logits_dtype_));
  }

  // Returns the loss of each row.
  Tensor LossPerRow() {
    Tensor result = at::empty({rows_}, Of(dtype_));
    ForEachChunk([&](const Chunk& chunk) {
      const Tensor target_logits =
          chunk.logits.gather(1, chunk.target.unsqueeze(1)).squeeze(1);  // before exp_()
      Tensor loss = SumExp(chunk.logits).log_();
      loss.sub_(target_logits.to(loss.scalar_type()));
      loss.mul_(chunk.weights.to(loss.scalar_type()));
      result.narrow(0, chunk.begin, chunk.size).copy_(loss);
    });
    return result;
  }

  // Returns the sum or mean of the losses and the gradients of input, weight and bias; gradients
  // that are not wanted are empty.
  Args LossAndGradients() {
    const ScalarType loss_dtype =
        accumulates_ && dtype_ == ScalarType::BFloat16 ? dtype_ : acc_dtype_;
    Tensor loss = at::zeros({}, Of(loss_dtype));
    if (options_.reduction == "mean" && rows_ == 0) {
      loss.fill_(std::numeric_limits<double>::quiet_NaN());
    }
    const ScalarType input_grad_dtype = accumulates_ && saves_memory_ ? dtype_ : acc_dtype_;
    Tensor input_grad = options_.input_grad ? at::empty(input_.sizes(), Of(input_grad_dtype))
                                            : at::empty({0, 0}, Of(input_grad_dtype));
    Tensor weight_grad = options_.weight_grad ? at::zeros(linear_weight_.sizes(), Of(dtype_))
                                              : at::zeros({0, 0}, Of(dtype_));
    Tensor bias_grad = at::zeros({options_.bias_grad ? linear_weight_.size(0) : 0}, Of(dtype_));
    const bool has_gradients = options_.input_grad || options_.weight_grad || options_.bias_grad;
    ForEachChunk([&](const Chunk& chunk) {
      loss.add_(chunk.weights.dot(chunk.logits.gather(1, chunk.target.unsqueeze(1))
                                      .squeeze(1)
                                      .to(chunk.weights.scalar_type())));
      Tensor sums = SumExp(chunk.logits);
      if (has_gradients) {
        Tensor factor = column_.narrow(0, 0, chunk.size);
        at::div_out(factor, chunk.weights, sums);
        Tensor logits = chunk.logits;
        at::mul_out(logits, chunk.logits, factor.unsqueeze(1));
      }
      loss.sub_(chunk.weights.to(sums.scalar_type()).dot(sums.log_()));
      if (options_.bias_grad) AddBiasGradient(chunk, &bias_grad);
      if (options_.input_grad) SetInputGradient(chunk, &input_grad);
      if (options_.weight_grad) AddWeightGradient(chunk, &weight_grad);
    });
    return {loss.to(dtype_), input_grad.to(dtype_), weight_grad, bias_grad};
  }

 private:
  struct Chunk {
    int64_t begin = 0, size = 0;
    Tensor input, target, weights;
    Tensor acc_input;  // in acc_dtype; `input` itself if that is its dtype
    Tensor logits;     // minus the largest of each row
  };

  at::TensorOptions Of(ScalarType dtype) const { return input_.options().dtype(dtype); }

  void Check(const std::optional<Tensor>& bias) const {
    TORCH_CHECK(input_.dim() == 2 && linear_weight_.dim() == 2,
                "linear_cross_entropy: input and weight must have two dimensions");
    TORCH_CHECK(input_.is_cpu(), "linear_cross_entropy runs on the CPU");
    TORCH_CHECK(target_.dim() == 1 && target_.size(0) == input_.size(0),
                "linear_cross_entropy: expected a target for each row of the input");
    TORCH_CHECK(target_.scalar_type() == ScalarType::Long,
                "linear_cross_entropy: target dtype must be torch.int64");
    TORCH_CHECK(!bias.has_value() || (bias->dim() == 1 && bias->size(0) == linear_weight_.size(0)),
                "linear_cross_entropy: expected a bias for each class");
    TORCH_CHECK(options_.chunk_size > 0, "linear_cross_entropy: batch_chunk_size must be above 0");
    const ScalarType dtype = input_.scalar_type();
    TORCH_CHECK(dtype == options_.acc_dtype ||
                    ((dtype == ScalarType::Half || dtype == ScalarType::BFloat16) &&
                     options_.acc_dtype == ScalarType::Float),
                "linear_cross_entropy: ", dtype, " is not accumulated in ", options_.acc_dtype);
  }

  // Returns 0 for rows without a target, else the weight of the row's class; it is negated for a
  // sum, and divided by the negated sum of the weights for a mean.
  Tensor RowWeights(const Tensor& mask) const {
    Tensor result;
    if (!weight_.has_value()) {
      result = mask.logical_not().to(acc_dtype_);
    } else if (target_.numel() > weight_->numel()) {
      result = at::where(mask, 0, weight_->to(acc_dtype_).index_select(0, target_));
    } else {
      result = at::where(mask, 0, weight_->index_select(0, target_).to(acc_dtype_));
    }
    if (options_.reduction == "mean") {
      const Tensor sum = result.sum();
      result.div_(at::where(sum == 0, std::numeric_limits<double>::quiet_NaN(), sum.neg()));
    } else if (options_.reduction == "sum") {
      result.neg_();
    }
    return result;
  }

  template <typename Fn>
  void ForEachChunk(Fn&& fn) {
    for (int64_t begin = 0; begin < rows_; begin += chunk_size_) {
      Chunk chunk;
      chunk.begin = begin;
      chunk.size = std::min(chunk_size_, rows_ - begin);
      chunk.input = input_.narrow(0, begin, chunk.size);
      chunk.target = target_.narrow(0, begin, chunk.size);
      chunk.weights = row_weights_.narrow(0, begin, chunk.size);
      chunk.acc_input = chunk.input.to(acc_dtype_);
      chunk.logits = logits_.narrow(0, 0, chunk.size);
      at::mm_out(chunk.logits, dtype_ == logits_dtype_ ? chunk.input : chunk.acc_input,
                 linear_weight_cast_.t());
      if (bias_.has_value()) chunk.logits.add_(*bias_);
      Tensor largest = column_.narrow(0, 0, chunk.size).unsqueeze(1);
      at::amax_out(largest, chunk.logits, {1}, /*keepdim=*/true);
      chunk.logits.sub_(largest);
      fn(chunk);
    }
  }

  // Writes exp(logits) over the logits. The sum is in acc_dtype, as one in float16 may underflow.
  Tensor SumExp(const Tensor& logits) const { return logits.exp_().sum({1}, false, acc_dtype_); }

  void AddBiasGradient(const Chunk& chunk, Tensor* gradient) const {
    Tensor sum = accumulates_ ? at::zeros(gradient->sizes(), Of(acc_dtype_)) : *gradient;
    sum.sub_(chunk.logits.sum({0}, false, acc_dtype_));
    sum.index_add_(0, chunk.target, chunk.weights);
    if (accumulates_) gradient->add_(sum.to(dtype_));
  }

  void SetInputGradient(const Chunk& chunk, Tensor* gradient) const {
    const Tensor part = gradient->narrow(0, chunk.begin, chunk.size);
    Tensor result =
        part.scalar_type() == logits_dtype_ ? part : at::empty(part.sizes(), Of(logits_dtype_));
    at::mul_out(result, at::index_select(linear_weight_cast_, 0, chunk.target),
                chunk.weights.to(logits_dtype_).unsqueeze(1));
    at::addmm_out(result, result, chunk.logits, linear_weight_cast_, 1, -1);
    if (!result.is_same(part)) part.copy_(result);
  }

  void AddWeightGradient(const Chunk& chunk, Tensor* gradient) const {
    const Tensor rows = chunk.acc_input * chunk.weights.unsqueeze(1);
    if (options_.acc_policy == "compact" && logits_dtype_ == dtype_) {
      gradient->addmm_(chunk.logits.t(), chunk.input, 1, -1);
      gradient->index_add_(0, chunk.target, rows.to(dtype_));
      return;
    }
    Tensor product = at::empty(linear_weight_.sizes(), Of(acc_dtype_));
    at::mm_out(product, chunk.logits.to(acc_dtype_).t(), chunk.acc_input);
    product.index_add_(0, chunk.target, rows, -1);
    gradient->sub_(product);
  }

  const Options options_;
  Tensor input_, linear_weight_, target_;
  std::optional<Tensor> weight_;  // of the classes
  ScalarType dtype_, acc_dtype_, logits_dtype_;
  bool accumulates_ = false;  // accumulates in another dtype than the input's
  bool saves_memory_ = false;
  int64_t rows_ = 0, chunk_size_ = 0;
  Tensor linear_weight_cast_, row_weights_;
  std::optional<Tensor> bias_;
  Tensor logits_, column_;  // reused by each chunk
};

IValue LossAndGradients(Args& a, c10::Device) {
  ChunkedLoss::Options options;
  options.reduction = a[5].toStringRef();
  options.ignore_index = a[6].toInt();
  TORCH_CHECK(a[7].toScalar().toDouble() <= 0,
              "linear_cross_entropy does not support label smoothing");
  options.chunk_size = a[8].toInt();
  options.acc_policy = a[9].toStringRef();
  options.acc_dtype = a[10].toScalarType();
  options.input_grad = a[12].toBool();
  options.weight_grad = a[13].toBool();
  options.bias_grad = a[14].toBool();
  TORCH_CHECK(options.reduction == "mean" || options.reduction == "sum",
              "linear_cross_entropy does not support reduction='", options.reduction, "'");
  ChunkedLoss loss(a[0].toTensor(), a[1].toTensor(), a[2].toTensor(), OptionalTensor(a[3]),
                   OptionalTensor(a[4]), options);
  return c10::ivalue::Tuple::create(loss.LossAndGradients());
}

IValue LossPerRow(Args& a, c10::Device) {
  ChunkedLoss::Options options;
  options.reduction = "none";
  options.ignore_index = a[5].toInt();
  options.chunk_size = a[6].toInt();
  options.acc_policy = a[7].toStringRef();
  options.acc_dtype = a[8].toScalarType();
  ChunkedLoss loss(a[0].toTensor(), a[1].toTensor(), a[2].toTensor(), OptionalTensor(a[3]),
                   OptionalTensor(a[4]), options);
  return loss.LossPerRow();
}

}  // namespace

Builtin FindLinearCrossEntropy(absl::string_view name) {
  constexpr absl::string_view kChunked = "torch.ops.torch_nn._linear_cross_entropy_batch_chunked";
  if (!absl::ConsumePrefix(&name, kChunked)) return Builtin();
  if (name == ".default") return {LossAndGradients, 15};
  if (name == "_no_reduction.default") return {LossPerRow, 9};
  return Builtin();
}

}  // namespace graphnet::interp
