// PyTorch is the judge of how floats of eight bits are rounded.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "ATen/ATen.h"
#include "graphnet/interp/inputs/draw.h"
#include "graphnet/ir/module.h"
#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

TEST(DrawTest, FloatsOfEightBits) {
  const struct {
    DType dtype;
    at::ScalarType torch;
    float largest;
  } cases[] = {{DType::kFloat8E4M3FN, at::kFloat8_e4m3fn, 448},
               {DType::kFloat8E5M2, at::kFloat8_e5m2, 57344},
               {DType::kFloat8E4M3FNUZ, at::kFloat8_e4m3fnuz, 240},
               {DType::kFloat8E5M2FNUZ, at::kFloat8_e5m2fnuz, 57344},
               {DType::kFloat8E8M0FNU, at::kFloat8_e8m0fnu, 1e38}};
  for (const auto& test : cases) {
    SCOPED_TRACE(DTypeName(test.dtype));
    // All values, the midpoints between them, and what lies beside these.
    const at::Tensor all = at::arange(256, at::kInt).to(at::kByte).view(test.torch).to(at::kFloat);
    std::vector<Argument> numbers;
    std::vector<float> floats;
    const auto add = [&](float value) {
      if (!std::isfinite(value)) return;
      numbers.emplace_back(double{value});
      floats.push_back(value);
    };
    std::vector<float> values;
    for (int i = 0; i < 256; ++i) {
      const float value = all[i].item<float>();
      if (std::isfinite(value)) values.push_back(value);
    }
    std::sort(values.begin(), values.end());
    for (size_t i = 0; i < values.size(); ++i) {
      add(values[i]);
      if (i == 0) continue;
      const float middle = values[i - 1] / 2 + values[i] / 2;
      add(middle);
      add(std::nextafter(middle, 0.f));
      add(std::nextafter(middle, 3e38f));
    }
    for (const float factor : {1.01f, 1.03f, 1.05f, 1.07f, 2.f}) add(test.largest * factor);
    DrawSpec spec;
    spec.data = Argument::List(numbers);
    const Dim size(static_cast<int64_t>(numbers.size())), many(1000);
    const auto drawn =
        DrawTensor({.dtype = test.dtype, .has_shape = true, .shape = {&size, 1}}, &spec, "x", {});
    ASSERT_OK(drawn);
    const at::Tensor expected = at::tensor(floats).to(test.torch);
    const auto* bits = static_cast<const uint8_t*>(expected.const_data_ptr());
    const at::Tensor back = expected.to(at::kFloat);
    for (size_t i = 0; i < floats.size(); ++i) {
      if (test.dtype == DType::kFloat8E8M0FNU && floats[i] < 0) continue;
      const auto made = static_cast<uint8_t>((*drawn->bytes)[i]);
      if (std::isnan(back[static_cast<int64_t>(i)].item<float>())) {
        EXPECT_TRUE((made & 0x7f) == 0x7f || made == 0x80) << floats[i];
      } else {
        EXPECT_EQ(made, bits[i]) << floats[i];
      }
    }
    // Without data, all kinds of values are drawn, and none is a nan.
    const auto random =
        DrawTensor({.dtype = test.dtype, .has_shape = true, .shape = {&many, 1}}, nullptr, "x", {});
    ASSERT_OK(random);
    const at::Tensor made =
        at::from_blob(const_cast<char*>(random->bytes->data()), {1000}, at::kByte)
            .clone()
            .view(test.torch)
            .to(at::kFloat);
    EXPECT_FALSE(made.isnan().any().item<bool>());
    EXPECT_GT(std::set<char>(random->bytes->begin(), random->bytes->end()).size(), 5);
  }
}

}  // namespace
}  // namespace graphnet
