#include <complex>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "ATen/Functions.h"
#include "c10/core/DefaultDtype.h"
#include "gmock/gmock.h"
#include "graphnet/interp/torch/tensors.h"
#include "graphnet/interp/torch/types.h"
#include "graphnet/interp/torch/values.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// LibTorch and Python use the same names.
TEST(TypesTest, DTypesMatchTheirNames) {
  std::set<c10::ScalarType> seen;
  for (int i = 1; i < kNumDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    const c10::ScalarType type = ScalarTypeOf(dtype);
    EXPECT_EQ(DTypeOf(type), dtype);
    EXPECT_TRUE(seen.insert(type).second) << DTypeName(dtype);
    const auto names = c10::getDtypeNames(type);
    const std::string name(DTypeName(dtype));
    EXPECT_TRUE(name == names.first || name == names.second) << name << " " << names.first;
    if (DTypeBytes(dtype) != 0) {
      EXPECT_EQ(static_cast<size_t>(DTypeBytes(dtype)), c10::elementSize(type)) << name;
    }
  }
  EXPECT_EQ(DTypeOf(c10::ScalarType::Undefined), DType::kUnknown);
  EXPECT_EQ(DTypeOf(c10::ScalarType::Float4_e2m1fn_x2), DType::kUnknown);
  EXPECT_THROW(ScalarTypeOf(DType::kUnknown), c10::Error);
}

TEST(TypesTest, Layouts) {
  for (int i = 0; i < kNumLayouts; ++i) {
    const auto layout = static_cast<Layout>(i);
    EXPECT_EQ(LayoutOf(LayoutOf(layout)), layout);
  }
  EXPECT_EQ(LayoutOf(at::ones({2}).to_sparse().layout()), Layout::kSparseCoo);
  EXPECT_EQ(LayoutOf(at::ones({2, 2}).to_sparse_csc().layout()), Layout::kSparseCsc);
  EXPECT_EQ(LayoutOf(at::ones({2, 2}).to_sparse_bsr({1, 1}).layout()), Layout::kSparseBsr);
}

TEST(TypesTest, Devices) {
  for (const std::string text : {"cpu", "cuda", "cuda:3", "meta", "xpu:1", "mps", "hpu:0"}) {
    EXPECT_EQ(DeviceName(DeviceOf(c10::Device(text))), text);
  }
}

TEST(ValuesTest, ConstantsRoundTrip) {
  const std::complex<double> number(1, -2);
  for (const Argument& argument :
       {Argument::None(), Argument(true), Argument(-7), Argument(0.5), Argument(&number),
        Argument(absl::string_view("word")), Argument(Device{DeviceType::kCuda, 1})}) {
    const std::optional<c10::IValue> value = ConstantOf(argument);
    ASSERT_TRUE(value.has_value());
    std::complex<double> complex;
    EXPECT_EQ(ArgumentOf(*value, &complex), argument);
  }
  std::complex<double> complex;
  EXPECT_EQ(ArgumentOf(c10::List<int64_t>({1}), &complex), std::nullopt);
  EXPECT_EQ(ArgumentOf(at::ones({}), &complex), std::nullopt);
  EXPECT_EQ(ConstantOf(Argument::Ellipsis()), std::nullopt);
  EXPECT_EQ(ConstantOf(Argument(DType::kUnknown)), std::nullopt);
}

TEST(ValuesTest, IntsOfSchemas) {
  for (const Argument& argument :
       {Argument(DType::kFloat8E5M2), Argument(Layout::kSparseBsc), Argument(Layout::kMkldnn),
        Argument(MemoryFormat::kChannelsLast3d)}) {
    const c10::TypeKind kind =
        argument.kind() == Argument::Kind::kDType    ? c10::TypeKind::ScalarTypeType
        : argument.kind() == Argument::Kind::kLayout ? c10::TypeKind::LayoutType
                                                     : c10::TypeKind::MemoryFormatType;
    const Argument number(ConstantOf(argument)->toInt());
    EXPECT_EQ(AsFormal(number, kind), argument);
    EXPECT_EQ(AsFormal(number, c10::TypeKind::IntType), number);
    for (const Argument& odd : {Argument(-1), Argument(1000), Argument(INT64_MIN)}) {
      EXPECT_EQ(AsFormal(odd, kind), odd);
    }
  }
}

// Tests each dtype except those that need a scale.
TEST(TensorsTest, DataRoundTrips) {
  for (int i = 1; i < kNumDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    const c10::ScalarType type = ScalarTypeOf(dtype);
    TensorData data{.dtype = dtype, .shape = {3, 1}, .bytes = nullptr, .strides = {}};
    std::string bytes(3 * c10::elementSize(type), '\0');
    bytes[0] = 1;
    data.bytes = std::make_shared<const std::string>(bytes);
    const absl::StatusOr<at::Tensor> tensor = ToTensor(data, c10::kCPU);
    if (c10::isQIntType(type)) {
      EXPECT_THAT(tensor.status(), StatusIs(absl::StatusCode::kInvalidArgument,
                                            HasSubstr(std::string(DTypeName(dtype)))));
      continue;
    }
    ASSERT_TRUE(tensor.ok()) << tensor.status();
    EXPECT_EQ(tensor->scalar_type(), type);
    const absl::StatusOr<TensorData> again = ToTensorData(*tensor);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->dtype, dtype);
    EXPECT_EQ(again->shape, data.shape);
    EXPECT_EQ(*again->bytes, bytes);
  }
}

TEST(TensorsTest, ViewsAreWrittenOut) {
  const at::Tensor x = at::complex(at::arange(6, at::kFloat), at::ones({6})).reshape({2, 3});
  const absl::StatusOr<TensorData> data = ToTensorData(x.conj().t());
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_THAT(data->strides, IsEmpty());
  const absl::StatusOr<at::Tensor> tensor = ToTensor(*data, c10::kCPU);
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_TRUE(at::equal(*tensor, x.conj().t()));
  EXPECT_FALSE(ToTensorData(at::quantize_per_tensor(at::ones({2}), 0.1, 0, c10::kQInt8)).ok());
}

// Kernels choose their order of sums by strides.
TEST(TensorsTest, StridesAreThoseOfTheData) {
  const at::Tensor x = at::arange(1, 25, at::kFloat).reshape({2, 3, 4});
  for (const at::Tensor& view :
       {x.permute({2, 0, 1}), x.slice(2, 0, 4, 2), x.select(1, 1).unsqueeze(0).expand({3, 2, 4}),
        x.flatten().unfold(0, 3, 1), x.select(2, 0)}) {
    TensorData data = *ToTensorData(view);
    data.strides = view.strides().vec();
    const absl::StatusOr<at::Tensor> tensor = ToTensor(data, c10::kCPU);
    ASSERT_TRUE(tensor.ok()) << tensor.status();
    EXPECT_EQ(tensor->strides(), view.strides());
    EXPECT_TRUE(at::equal(*tensor, view));
  }
  TensorData data = *ToTensorData(x);
  for (const std::vector<int64_t>& strides : std::vector<std::vector<int64_t>>{
           {1}, {-1, 1, 1}, {int64_t{1} << 40, 4, 1}, {INT64_MAX, INT64_MAX, INT64_MAX}}) {
    data.strides = strides;
    EXPECT_THAT(ToTensor(data, c10::kCPU).status(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("its strides do not fit its sizes")));
  }
}

TEST(TensorsTest, RefusesShapesThatDoNotFit) {
  TensorData data{
      .dtype = DType::kFloat32, .shape = {int64_t{1} << 39}, .bytes = nullptr, .strides = {}};
  EXPECT_THAT(
      ToTensor(data, c10::kCPU).status(),
      StatusIs(absl::StatusCode::kInvalidArgument, "the number of bytes does not fit the shape"));
  data.shape = std::vector<int64_t>(65, 0);
  EXPECT_THAT(ToTensor(data, c10::kCPU).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, "its rank is too large"));
}

}  // namespace
}  // namespace graphnet
