// ResNet-18, ViT-B/16 and BERT-base, each written once. A backend either calls ATen, which is the
// hand-written sequence, or builds the graph of the same calls.
#ifndef GRAPHNET_BENCHMARKS_MODELS_H_
#define GRAPHNET_BENCHMARKS_MODELS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ATen/ATen.h"
#include "graphnet/ir/module.h"

namespace graphnet {

using Shape = std::vector<int64_t>;

class AtenBackend {
 public:
  using Value = at::Tensor;

  // Parameters are made by the first run and used again, in order, by later ones.
  void Start() { next_ = 0; }
  const std::vector<at::Tensor>& parameters() const { return parameters_; }
  const Value& Parameter(const Shape& shape) {
    if (next_ == parameters_.size()) parameters_.push_back(at::rand(shape).mul_(0.1).add_(0.01));
    return parameters_[next_++];
  }

  Value Conv2d(const Value& x, const Value& w, int64_t stride, int64_t padding) {
    return at::conv2d(x, w, {}, at::IntArrayRef{stride, stride}, at::IntArrayRef{padding, padding});
  }
  Value BatchNorm(const Value& x, const Value& w, const Value& b, const Value& mean,
                  const Value& var) {
    return at::batch_norm(x, w, b, mean, var, false, 0.1, 1e-5, true);
  }
  Value ReluInPlace(const Value& x) { return x.relu_(); }
  Value MaxPool(const Value& x) { return at::max_pool2d(x, {3, 3}, {2, 2}, {1, 1}); }
  Value AddInPlace(const Value& x, const Value& y) { return x.add_(y); }
  Value Add(const Value& x, const Value& y) { return at::add(x, y); }
  Value GlobalPool(const Value& x) { return at::adaptive_avg_pool2d(x, {1, 1}); }
  Value Flatten(const Value& x, int64_t from) { return at::flatten(x, from); }
  Value Linear(const Value& x, const Value& w, const Value& b) { return at::linear(x, w, b); }
  Value LayerNorm(const Value& x, const Value& w, const Value& b, int64_t size) {
    return at::layer_norm(x, {size}, w, b, 1e-6);
  }
  Value Gelu(const Value& x) { return at::gelu(x); }
  Value Attention(const Value& q, const Value& k, const Value& v) {
    return at::scaled_dot_product_attention(q, k, v);
  }
  Value Transpose(const Value& x, int64_t a, int64_t b) { return x.transpose(a, b); }
  Value Reshape(const Value& x, const Shape& shape) { return x.reshape(shape); }
  Value Embedding(const Value& ids, const Value& table) { return at::embedding(table, ids); }
  Value First(const Value& x) { return x.select(1, 0); }
  Value Concatenate(const Value& x, const Value& y) { return at::cat({x, y}, 1); }

 private:
  std::vector<at::Tensor> parameters_;
  size_t next_ = 0;
};

class GraphBackend {
 public:
  using Value = Node*;

  explicit GraphBackend(Graph* graph) : graph_(graph) {}
  Value Parameter(const Shape&) { return graph_->Placeholder("p" + std::to_string(next_++)); }

  Value Conv2d(Value x, Value w, int64_t stride, int64_t padding) {
    return Call("torch.conv2d",
                {x, w, Argument(), Ints({stride, stride}), Ints({padding, padding})});
  }
  Value BatchNorm(Value x, Value w, Value b, Value mean, Value var) {
    return Call("torch.nn.functional.batch_norm", {x, mean, var, w, b, false, 0.1, 1e-5});
  }
  Value ReluInPlace(Value x) { return Call("torch.nn.functional.relu", {x, true}); }
  Value MaxPool(Value x) {
    return Call("torch.max_pool2d", {x, Ints({3, 3}), Ints({2, 2}), Ints({1, 1})});
  }
  Value AddInPlace(Value x, Value y) { return Call("operator.iadd", {x, y}); }
  Value Add(Value x, Value y) { return Call("operator.add", {x, y}); }
  Value GlobalPool(Value x) {
    return Call("torch.nn.functional.adaptive_avg_pool2d", {x, Ints({1, 1})});
  }
  Value Flatten(Value x, int64_t from) { return Call("torch.flatten", {x, from}); }
  Value Linear(Value x, Value w, Value b) { return Call("torch._C._nn.linear", {x, w, b}); }
  Value LayerNorm(Value x, Value w, Value b, int64_t size) {
    return Call("torch.nn.functional.layer_norm", {x, Ints({size}), w, b, 1e-6});
  }
  Value Gelu(Value x) { return Call("torch._C._nn.gelu", {x}); }
  Value Attention(Value q, Value k, Value v) {
    return Call("torch._C._nn.scaled_dot_product_attention", {q, k, v});
  }
  Value Transpose(Value x, int64_t a, int64_t b) {
    return graph_->CallMethod("transpose", {x, a, b});
  }
  Value Reshape(Value x, const Shape& shape) {
    return graph_->CallMethod("reshape", {x, Ints(shape)});
  }
  Value Embedding(Value ids, Value table) {
    return Call("torch.nn.functional.embedding", {ids, table});
  }
  Value First(Value x) { return graph_->CallMethod("select", {x, 1, 0}); }
  Value Concatenate(Value x, Value y) { return Call("torch.cat", {Tuple({x, y}), 1}); }

 private:
  static Argument Tuple(const std::vector<Argument>& elements) {
    // Keeps the elements alive until the graph copies them.
    thread_local std::vector<std::vector<Argument>> kept;
    kept.push_back(elements);
    return Argument::Tuple(kept.back());
  }
  static Argument Ints(const Shape& sizes) {
    return Tuple(std::vector<Argument>(sizes.begin(), sizes.end()));
  }
  Node* Call(const char* target, std::initializer_list<Argument> args) {
    return graph_->CallFunction(target, absl::MakeConstSpan(args.begin(), args.size()));
  }

  Graph* graph_;
  int next_ = 0;
};

// x: float32[1,3,224,224]
template <typename B, typename V = typename B::Value>
V ResNet18(B& b, V x) {
  const auto norm = [&b](const V& v, int64_t channels) {
    const V w = b.Parameter({channels}), bias = b.Parameter({channels}),
            mean = b.Parameter({channels}), var = b.Parameter({channels});
    return b.BatchNorm(v, w, bias, mean, var);
  };
  x = b.ReluInPlace(norm(b.Conv2d(x, b.Parameter({64, 3, 7, 7}), 2, 3), 64));
  x = b.MaxPool(x);
  int64_t in = 64;
  for (const int64_t out : {64, 128, 256, 512}) {
    for (int block = 0; block < 2; ++block) {
      const int64_t stride = block == 0 && out != 64 ? 2 : 1;
      V y = b.ReluInPlace(norm(b.Conv2d(x, b.Parameter({out, in, 3, 3}), stride, 1), out));
      y = norm(b.Conv2d(y, b.Parameter({out, out, 3, 3}), 1, 1), out);
      if (in != out) x = norm(b.Conv2d(x, b.Parameter({out, in, 1, 1}), stride, 0), out);
      x = b.ReluInPlace(b.AddInPlace(y, x));
      in = out;
    }
  }
  x = b.Flatten(b.GlobalPool(x), 1);
  const V w = b.Parameter({1000, 512}), bias = b.Parameter({1000});
  return b.Linear(x, w, bias);
}

// A transformer layer of 768 features and 12 heads on x: float32[1,tokens,768].
template <typename B, typename V = typename B::Value>
V TransformerLayer(B& b, V x, int64_t tokens, bool norm_first) {
  const int64_t size = 768, heads = 12;
  const auto norm = [&](const V& v) {
    const V w = b.Parameter({size}), bias = b.Parameter({size});
    return b.LayerNorm(v, w, bias, size);
  };
  const auto linear = [&](const V& v, int64_t in, int64_t out) {
    const V w = b.Parameter({out, in}), bias = b.Parameter({out});
    return b.Linear(v, w, bias);
  };
  const auto attend = [&](const V& v) {
    const auto head = [&] {
      return b.Transpose(b.Reshape(linear(v, size, size), {1, tokens, heads, size / heads}), 1, 2);
    };
    const V q = head(), k = head(), value = head();
    V y = b.Transpose(b.Attention(q, k, value), 1, 2);
    return linear(b.Reshape(y, {1, tokens, size}), size, size);
  };
  const auto feed_forward = [&](const V& v) {
    return linear(b.Gelu(linear(v, size, 4 * size)), 4 * size, size);
  };
  if (norm_first) {
    x = b.Add(x, attend(norm(x)));
    return b.Add(x, feed_forward(norm(x)));
  }
  x = norm(b.Add(x, attend(x)));
  return norm(b.Add(x, feed_forward(x)));
}

// x: float32[1,3,224,224]
template <typename B, typename V = typename B::Value>
V VitBase(B& b, V x) {
  x = b.Transpose(b.Flatten(b.Conv2d(x, b.Parameter({768, 3, 16, 16}), 16, 0), 2), 1, 2);
  x = b.Concatenate(b.Parameter({1, 1, 768}), x);
  x = b.Add(x, b.Parameter({1, 197, 768}));
  for (int i = 0; i < 12; ++i) x = TransformerLayer(b, x, 197, true);
  const V w = b.Parameter({1000, 768}), bias = b.Parameter({1000});
  return b.Linear(b.First(x), w, bias);
}

// x: int64[1,128]
template <typename B, typename V = typename B::Value>
V BertBase(B& b, V x) {
  x = b.Embedding(x, b.Parameter({1000, 768}));
  x = b.Add(x, b.Parameter({1, 128, 768}));
  const V w = b.Parameter({768}), bias = b.Parameter({768});
  x = b.LayerNorm(x, w, bias, 768);
  for (int i = 0; i < 12; ++i) x = TransformerLayer(b, x, 128, false);
  return x;
}

}  // namespace graphnet

#endif  // GRAPHNET_BENCHMARKS_MODELS_H_
