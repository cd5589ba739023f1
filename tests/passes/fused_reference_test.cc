// The results of those fused operators that are more than a rule for existing calls, compared with
// loops that follow the description in docs/fused.md.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/interp/executable.h"
#include "graphnet/interp/torch/allowed_operators.h"
#include "graphnet/ir/text/parser.h"
#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<at::Tensor> ValueOf(const std::string& inputs, const std::string& call,
                                   const std::vector<at::Tensor>& values) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Module> module,
                   ParseModule(absl::StrCat("graph @forward(", inputs, ") {\n  %y = ", call,
                                            "\n  return (%y,)\n}\n"),
                               "case"));
  ASSIGN_OR_RETURN(const std::unique_ptr<Executable> executable, Compile(*module));
  ASSIGN_OR_RETURN(const std::vector<c10::IValue> outputs,
                   executable->Run({values.begin(), values.end()}));
  return outputs[0].toTensor();
}

void ExpectClose(const absl::StatusOr<at::Tensor>& value, const at::Tensor& expected) {
  ASSERT_OK(value);
  ASSERT_EQ(value->sizes(), expected.sizes());
  EXPECT_TRUE(at::allclose(*value, expected, 1e-5, 1e-5))
      << (*value - expected).abs().max().item<float>();
}

// Four sequences of 2, 0, 3 and 1 rows.
const std::vector<int64_t> kOffsets = {0, 2, 2, 5, 6};
at::Tensor Offsets() { return at::tensor(kOffsets); }

class FusedReferenceTest : public testing::Test {
 protected:
  void SetUp() override { at::manual_seed(3); }
};

TEST_F(FusedReferenceTest, LinearWithReluAndNorm) {
  const at::Tensor x = at::randn({3, 4}), w = at::randn({8, 4}), y = at::randn({3, 8});
  const at::Tensor b = at::randn({8}), scale = at::randn({8}), bias = at::randn({8});
  at::Tensor expected = at::empty({3, 8});
  for (int64_t i = 0; i < 3; ++i) {
    const at::Tensor sum = at::clamp_min(at::mv(w, x[i]) + b, 0) + y[i];
    const at::Tensor variance = (sum - sum.mean()).pow(2).mean();
    expected[i] = (sum - sum.mean()) / at::sqrt(variance + 1e-5) * scale + bias;
  }
  ExpectClose(ValueOf("%x, %w, %r, %b, %s, %c",
                      "fused.fused_fc_elementwise_layernorm(%x, %w, %r, [8], %b, %s, %c, "
                      "activation_type=\"relu\")",
                      {x, w, y, b, scale, bias}),
              expected);
}

TEST_F(FusedReferenceTest, WindowsOverSequencesOfRows) {
  const at::Tensor x = at::randn({6, 4}), filter = at::randn({5, 16}), bias = at::randn({5});
  x[2][0] = std::nanf("");  // It must not reach other sequences.
  at::Tensor expected = at::empty({6, 5});
  for (size_t s = 0; s + 1 < kOffsets.size(); ++s) {
    for (int64_t row = kOffsets[s]; row < kOffsets[s + 1]; ++row) {
      at::Tensor window = at::zeros({4, 4});
      for (int64_t k = 0; k < 4; ++k) {
        const int64_t at = row - 2 + k;
        if (at >= kOffsets[s] && at < kOffsets[s + 1]) window[k] = x[at];
      }
      expected[row] = at::relu(at::mv(filter, window.flatten()) + bias);
    }
  }
  const auto value =
      ValueOf("%x, %f, %b, %o",
              "fused.fusion_seqconv_eltadd_relu(%x, %f, %b, context_length=4, up_pad=2, "
              "down_pad=1, offsets=%o)",
              {x, filter, bias, Offsets()});
  ASSERT_OK(value);
  EXPECT_TRUE(at::allclose(*value, expected, 1e-5, 1e-5, /*equal_nan=*/true)) << *value << expected;
  EXPECT_FALSE(value->slice(0, 0, 2).isnan().any().item<bool>());
  EXPECT_TRUE(value->slice(0, 2, 5).isnan().any().item<bool>());
}

TEST_F(FusedReferenceTest, RowsRepeatedAlongSequences) {
  const at::Tensor ref = at::randn({6, 3}), u = at::randn({4, 2}), v = at::randn({4, 1});
  const at::Tensor w = at::randn({5, 6}), b = at::randn({5});
  at::Tensor expected = at::empty({6, 5});
  for (size_t s = 0; s + 1 < kOffsets.size(); ++s) {
    for (int64_t row = kOffsets[s]; row < kOffsets[s + 1]; ++row) {
      const auto i = static_cast<int64_t>(s);
      expected[row] = at::tanh(at::mv(w, at::cat({ref[row], u[i], v[i]})) + b);
    }
  }
  ExpectClose(ValueOf("%r, %u, %v, %w, %b, %o",
                      "fused.fusion_seqexpand_concat_fc(%r, [%u, %v], %w, %b, offsets=%o, "
                      "fc_activation=\"tanh\")",
                      {ref, u, v, w, b, Offsets()}),
              expected);
}

TEST_F(FusedReferenceTest, RecurrentUnitOverSequencesOfRows) {
  const at::Tensor x = at::randn({6, 3}), h0 = at::randn({4, 2});
  const at::Tensor wx = at::randn({6, 3}), wh = at::randn({6, 2}), b = at::randn({6});
  for (const bool origin : {false, true}) {
    at::Tensor expected = at::empty({6, 2});
    for (size_t s = 0; s + 1 < kOffsets.size(); ++s) {
      at::Tensor h = h0[static_cast<int64_t>(s)];
      for (int64_t row = kOffsets[s]; row < kOffsets[s + 1]; ++row) {
        const at::Tensor p = at::mv(wx, x[row]) + b;
        const at::Tensor u = at::sigmoid(p.slice(0, 0, 2) + at::mv(wh.slice(0, 0, 2), h));
        const at::Tensor r = at::sigmoid(p.slice(0, 2, 4) + at::mv(wh.slice(0, 2, 4), h));
        const at::Tensor c = at::tanh(p.slice(0, 4, 6) + at::mv(wh.slice(0, 4, 6), r * h));
        h = origin ? u * h + (1 - u) * c : (1 - u) * h + u * c;
        expected[row] = h;
      }
    }
    ExpectClose(ValueOf("%x, %h, %wx, %wh, %b, %o",
                        absl::StrCat("fused.fusion_gru(%x, %h, %wx, %wh, %b, origin_mode=",
                                     origin ? "True" : "False", ", offsets=%o)"),
                        {x, h0, wx, wh, b, Offsets()}),
                expected);
  }
}

// --- Quantised layers ---

struct Product {
  at::Tensor weight, bias, out_scale;
  double in_scale = 0;
};
Product RandomProduct(int64_t outputs, int64_t inputs, double in_scale) {
  return {at::randint(-127, 128, {outputs, inputs}, at::kChar), at::randn({outputs}),
          at::rand({outputs}) * 1e-3, in_scale};
}

at::Tensor Multiply(const at::Tensor& x, const Product& product) {
  const at::Tensor flat = x.reshape({-1, x.size(-1)});
  at::Tensor y = at::empty({flat.size(0), product.weight.size(0)});
  const at::Tensor weight = product.weight.to(at::kInt);
  for (int64_t i = 0; i < flat.size(0); ++i) {
    std::vector<int32_t> row;
    for (int64_t k = 0; k < flat.size(1); ++k) {
      float scaled = flat[i][k].item<float>() * static_cast<float>(product.in_scale) * 127.0F;
      scaled = std::min(127.0F, std::max(-127.0F, std::nearbyint(scaled)));
      row.push_back(static_cast<int32_t>(scaled));
    }
    for (int64_t j = 0; j < y.size(1); ++j) {
      int32_t sum = 0;
      for (int64_t k = 0; k < flat.size(1); ++k)
        sum += row[static_cast<size_t>(k)] * weight[j][k].item<int32_t>();
      y[i][j] = static_cast<float>(sum) * product.out_scale[j].item<float>() +
                product.bias[j].item<float>();
    }
  }
  std::vector<int64_t> sizes = x.sizes().vec();
  sizes.back() = y.size(1);
  return y.reshape(sizes);
}

struct Layer {
  at::Tensor norm_scale = at::rand({8}) + 0.5;
  Product qkv = RandomProduct(24, 8, 0.25), out = RandomProduct(8, 8, 0.5);
  Product ffn1 = RandomProduct(16, 8, 0.25), ffn2 = RandomProduct(8, 16, 0.5);
};

// Applies attention with two heads of size 4. Position i sees the positions up to i.
at::Tensor Apply(const Layer& layer, const at::Tensor& x, at::Tensor* keys_and_values) {
  const int64_t batch = x.size(0), length = x.size(1);
  const at::Tensor qkv = Multiply(at::layer_norm(x, {8}, layer.norm_scale), layer.qkv)
                             .reshape({batch, length, 3, 2, 4});
  *keys_and_values = qkv.slice(2, 1, 3).permute({2, 0, 3, 1, 4}).contiguous();
  at::Tensor attended = at::empty({batch, length, 2, 4});
  for (int64_t n = 0; n < batch; ++n) {
    for (int64_t head = 0; head < 2; ++head) {
      for (int64_t i = 0; i < length; ++i) {
        const at::Tensor q = qkv[n][i][0][head];
        const at::Tensor k = (*keys_and_values)[0][n][head].slice(0, 0, i + 1);
        const at::Tensor v = (*keys_and_values)[1][n][head].slice(0, 0, i + 1);
        attended[n][i][head] = at::mv(v.t(), at::softmax(at::mv(k, q) / 2.0, 0));
      }
    }
  }
  const at::Tensor s = x + Multiply(attended.reshape({batch, length, 8}), layer.out);
  return s + Multiply(at::gelu(Multiply(at::layer_norm(s, {8}), layer.ffn1)), layer.ffn2);
}

constexpr char kLayerInputs[] =
    "%x, %ls, %qw, %qb, %qs, %ow, %ob, %os, %v1, %b1, %s1, %v2, %b2, %s2";
std::vector<at::Tensor> InputsOf(const Layer& l, const at::Tensor& x) {
  return {x,           l.norm_scale,    l.qkv.weight,  l.qkv.bias,  l.qkv.out_scale,  l.out.weight,
          l.out.bias,  l.out.out_scale, l.ffn1.weight, l.ffn1.bias, l.ffn1.out_scale, l.ffn2.weight,
          l.ffn2.bias, l.ffn2.out_scale};
}
std::string CallOf(int64_t length, const std::string& more) {
  return absl::StrCat(
      "fused.fused_multi_transformer_int8(%x, [8], [2, ", length, ", 3, 2, 4], [2, ", length,
      ", 8], [%ls], [None], [%qw], [%qb], [%qs], [%ow], [%ob], [%os], [None], [None], [%v1], "
      "[%b1], [%s1], [%v2], [%b2], [%s2], [0.25], [0.5], [0.25], [0.5]",
      more, ")");
}

TEST_F(FusedReferenceTest, QuantisedLayer) {
  const Layer layer;
  const at::Tensor x = at::randn({2, 5, 8});
  at::Tensor cache;
  const at::Tensor expected = Apply(layer, x, &cache);
  ExpectClose(ValueOf(kLayerInputs, CallOf(5, ", is_causal=True"), InputsOf(layer, x)), expected);
}

// Runs three tokens, then two more that see the first ones through the cache.
TEST_F(FusedReferenceTest, QuantisedLayerWithCache) {
  const Layer layer;
  const at::Tensor x = at::randn({2, 5, 8});
  at::Tensor whole;
  const at::Tensor expected = Apply(layer, x, &whole);
  const at::Tensor cache = at::full({2, 2, 2, 7, 4}, 9.0);
  const std::string inputs = absl::StrCat(kLayerInputs, ", %mask, %cache");
  const at::Tensor mask = at::ones({5, 5}, at::kBool).tril();
  const auto run = [&](int64_t begin, int64_t end) {
    std::vector<at::Tensor> values = InputsOf(layer, x.slice(1, begin, end).contiguous());
    values.push_back(mask.slice(0, begin, end).slice(1, 0, end).contiguous());
    values.push_back(cache);
    return ValueOf(inputs,
                   CallOf(end - begin,
                          absl::StrCat(", attn_mask=%mask, cache_kv=[%cache], time_step=", begin)),
                   values);
  };
  ExpectClose(run(0, 3), expected.slice(1, 0, 3));
  ExpectClose(run(3, 5), expected.slice(1, 3, 5));
  EXPECT_TRUE(at::allclose(cache.slice(3, 0, 5), whole, 1e-5, 1e-5));
  EXPECT_TRUE(at::equal(cache.slice(3, 5, 7), at::full({2, 2, 2, 2, 4}, 9.0)));
}

TEST_F(FusedReferenceTest, FilesAreReadWhenTheyAreTrusted) {
  const std::string path = testing::TempDir() + "/read_file";
  std::ofstream(path) << "graph!";
  const auto read = [&](int size) {
    return ValueOf("%x", absl::StrCat("fused.read_file(\"", path, "\", size=", size, ")"),
                   {at::zeros({1})});
  };
  EXPECT_THAT(read(5).status().message(), HasSubstr("reads a file, which needs --trust-files"));
  TrustFiles();
  const auto bytes = read(5);
  ASSERT_OK(bytes);
  EXPECT_TRUE(at::equal(*bytes, at::tensor({'g', 'r', 'a', 'p', 'h'}, at::kByte)));
  EXPECT_THAT(read(7).status().message(), HasSubstr("has 6 bytes, too few for 7 elements"));
  const auto missing =
      ValueOf("%x", "fused.read_file(\"/no/such/file\", size=1)", {at::zeros({1})});
  EXPECT_THAT(missing.status().message(), HasSubstr("there is no file /no/such/file"));
  const auto device = ValueOf("%x", "fused.read_file(\"/dev/zero\", size=1)", {at::zeros({1})});
  EXPECT_THAT(device.status().message(), HasSubstr("there is no file /dev/zero"));
  // A shared file would be written to, so it is refused.
  const auto shared =
      ValueOf("%x", absl::StrCat("torch.from_file(\"", path, "\", True, 4, dtype=torch.uint8)"),
              {at::zeros({1})});
  EXPECT_THAT(shared.status().message(), HasSubstr("could be written to"));
}

}  // namespace
}  // namespace graphnet
