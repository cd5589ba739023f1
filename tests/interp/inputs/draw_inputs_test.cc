// The inputs and attributes of samples.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graphnet/interp/inputs/draw.h"
#include "graphnet/ir/module.h"
#include "tests/base/status_matchers.h"
#include "tests/interp/inputs/draw_testing.h"

namespace graphnet {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::Le;

class DrawInputsTest : public testing::Test {
 protected:
  DrawInputsTest() {
    sample_.module = std::make_unique<Module>();
    graph_ = module().AddGraph("forward");
  }

  Module& module() { return *sample_.module; }

  const TensorMeta* Meta(DType dtype, const std::vector<Dim>& shape) {
    TensorMeta meta;
    meta.dtype = dtype;
    meta.has_shape = true;
    meta.shape = shape;
    return module().InternMeta(meta);
  }

  Node* AddPlaceholder(absl::string_view target, const TensorMeta* meta,
                       absl::string_view annotation = "") {
    Node* node = graph_->Placeholder(target);
    if (meta != nullptr) node->set_meta(module().InternValueMeta(*meta));
    node->set_annotation(annotation);
    return node;
  }

  void AddData(Node* node, Argument element) {
    DrawSpec spec;
    spec.data = Argument::List({&element, 1});
    node->set_draw_spec(spec);
  }

  absl::StatusOr<std::map<std::string, TensorData>> Run(const DrawOptions& options = {.seed = 1}) {
    return DrawInputs(sample_, options);
  }

  std::string RunError() { return std::string(Run().status().message()); }

  Sample sample_;
  Graph* graph_;
};

TEST_F(DrawInputsTest, PlaceholdersByTargetAndAttributesByName) {
  Node* x = graph_->Placeholder("L_x_", "l_x_");
  x->set_meta(module().InternValueMeta(*Meta(DType::kFloat32, {2, 3})));
  x->set_draw_spec(MeanStd(7, 0));
  module().AddAttribute({.name = "fc.weight", .meta = Meta(DType::kFloat16, {4})});
  const auto values = Run();
  ASSERT_OK(values);
  EXPECT_THAT(*values, ElementsAre(Key("L_x_"), Key("fc.weight")));
  EXPECT_THAT(Elements<float>(values->at("L_x_")), Each(7.f));
  EXPECT_THAT(values->at("L_x_").shape, ElementsAre(2, 3));
  EXPECT_EQ(values->at("fc.weight").dtype, DType::kFloat16);
}

TEST_F(DrawInputsTest, IntegersThatNothingDescribesKeepTheirDType) {
  const DType dtypes[] = {DType::kInt64,  DType::kInt32,  DType::kInt16,  DType::kInt8,
                          DType::kUInt64, DType::kUInt32, DType::kUInt16, DType::kUInt8};
  for (const DType dtype : dtypes) {
    AddPlaceholder(absl::StrCat("x", DTypeName(dtype)), Meta(dtype, {1000}));
    module().AddAttribute(
        {.name = absl::StrCat("w", DTypeName(dtype)), .meta = Meta(dtype, {2, 3})});
  }
  // GraphNet's folders describe their inputs, if only with an empty record: its rule stays.
  AddPlaceholder("of_folder", Meta(DType::kInt64, {4}))->set_draw_spec(DrawSpec());
  const auto values = Run();
  ASSERT_OK(values);
  for (const DType dtype : dtypes) {
    EXPECT_EQ(values->at(absl::StrCat("x", DTypeName(dtype))).dtype, dtype);
    EXPECT_EQ(values->at(absl::StrCat("w", DTypeName(dtype))).dtype, dtype);
  }
  const std::vector<int64_t> drawn = Elements<int64_t>(values->at("xint64"));
  EXPECT_THAT(drawn, AllOf(Each(AllOf(Ge(0), Le(1))), Contains(0), Contains(1)));
  EXPECT_EQ(values->at("of_folder").dtype, DType::kFloat32);
}

TEST_F(DrawInputsTest, RealValuesAreShared) {
  // Nothing is known about them, so they could not be drawn.
  AddPlaceholder("x", nullptr);
  module().AddAttribute({.name = "w"});
  const auto bytes = std::make_shared<const std::string>("abcd");
  sample_.weights["x"] = {DType::kInt32, {1}, bytes};
  sample_.weights["w"] = {DType::kInt16, {2}, bytes};
  sample_.weights["other"] = {DType::kInt16, {2}, bytes};
  const auto values = Run({.max_bytes = 0});
  ASSERT_OK(values);
  EXPECT_THAT(*values, ElementsAre(Key("w"), Key("x")));
  EXPECT_EQ(values->at("x").bytes, bytes);
  EXPECT_EQ(values->at("w").bytes, bytes);
  EXPECT_EQ(values->at("w").dtype, DType::kInt16);
}

TEST_F(DrawInputsTest, AValueDoesNotDependOnTheOthers) {
  AddPlaceholder("x", Meta(DType::kFloat32, {100}));
  const auto alone = Run();
  AddPlaceholder("a", Meta(DType::kFloat32, {7}));
  AddPlaceholder("y", Meta(DType::kFloat32, {100}));
  module().AddAttribute({.name = "w", .meta = Meta(DType::kFloat32, {9})});
  const auto together = Run();
  ASSERT_OK(alone);
  ASSERT_OK(together);
  EXPECT_EQ(*together->at("x").bytes, *alone->at("x").bytes);
  EXPECT_NE(*together->at("y").bytes, *alone->at("x").bytes);
}

TEST_F(DrawInputsTest, ARenamedInputKeepsItsValue) {
  AddPlaceholder("w_0", Meta(DType::kFloat32, {100}));
  DrawSpec spec;
  spec.original_name = "L_weight_";
  graph_->placeholders()[0]->set_draw_spec(spec);
  AddPlaceholder("L_weight_", Meta(DType::kFloat32, {100}));
  module().AddAttribute({.name = "a", .meta = Meta(DType::kFloat32, {100}), .draw_spec = &spec});
  const auto values = Run();
  ASSERT_OK(values);
  EXPECT_EQ(*values->at("w_0").bytes, *values->at("L_weight_").bytes);
  EXPECT_EQ(*values->at("a").bytes, *values->at("L_weight_").bytes);
}

TEST_F(DrawInputsTest, SymbolicSizesTakeTheExampleValues) {
  module().AddSymbol("S0", 3);
  const SymExpr* symbol = module().SymSymbol("S0");
  const SymExpr* twice = module().SymBinary(SymExpr::Kind::kMul, module().SymInt(2), symbol);
  AddPlaceholder("x", Meta(DType::kFloat32, {symbol, 5, twice}));
  const auto values = Run();
  ASSERT_OK(values);
  EXPECT_THAT(values->at("x").shape, ElementsAre(3, 5, 6));
  EXPECT_EQ(values->at("x").bytes->size(), 4u * 90);
  module().AddSymbol("S0", std::nullopt);
  EXPECT_EQ(RunError(), "input x: a size has no value: its symbols lack examples");
}

TEST_F(DrawInputsTest, SymbolicIntegersAreData) {
  AddData(AddPlaceholder("s0", Meta(DType::kInt64, {}), "torch.SymInt"), 4);
  AddData(AddPlaceholder("s1", nullptr, "torch.SymInt"), 0);
  module().AddSymbol("s0", 9);  // the data wins
  for (const DrawOptions& options : {kGraphNet, kBench}) {
    const auto values = Run(options);
    ASSERT_OK(values);
    for (const char* name : {"s0", "s1"}) {
      EXPECT_EQ(values->at(name).dtype, DType::kInt64);
      EXPECT_TRUE(values->at(name).shape.empty());
    }
    EXPECT_THAT(Elements<int64_t>(values->at("s0")), ElementsAre(4));
    EXPECT_THAT(Elements<int64_t>(values->at("s1")), ElementsAre(0));
  }
}

TEST_F(DrawInputsTest, SymbolicIntegersWithoutDataAreTheExampleValue) {
  AddPlaceholder("s0", Meta(DType::kInt64, {}), "torch.SymInt");
  EXPECT_EQ(RunError(), "input s0: its value is not known");
  module().AddSymbol("s0", std::nullopt);
  EXPECT_EQ(RunError(), "input s0: its value is not known");
  module().AddSymbol("s0", -9);
  const auto values = Run();
  ASSERT_OK(values);
  EXPECT_EQ(values->at("s0").dtype, DType::kInt64);
  EXPECT_THAT(Elements<int64_t>(values->at("s0")), ElementsAre(-9));
}

TEST_F(DrawInputsTest, SymbolicIntegersBetweenBounds) {
  AddPlaceholder("s0", Meta(DType::kInt64, {}), "torch.SymInt")->set_draw_spec(Bounds(5, 5));
  const auto values = Run();
  ASSERT_OK(values);
  EXPECT_THAT(Elements<int64_t>(values->at("s0")), ElementsAre(5));
}

TEST_F(DrawInputsTest, NumbersAreTensorsWithoutDimensions) {
  AddData(AddPlaceholder("i", nullptr, "int"), 3);
  AddData(AddPlaceholder("f", nullptr, "float"), 0.1);
  AddData(AddPlaceholder("b", nullptr, "bool"), true);
  const auto values = Run();
  ASSERT_OK(values);
  for (const auto& [name, value] : *values) EXPECT_TRUE(value.shape.empty()) << name;
  EXPECT_EQ(values->at("i").dtype, DType::kInt64);
  EXPECT_THAT(Elements<int64_t>(values->at("i")), ElementsAre(3));
  EXPECT_EQ(values->at("f").dtype, DType::kFloat64);
  EXPECT_THAT(Elements<double>(values->at("f")), ElementsAre(0.1));
  EXPECT_EQ(values->at("b").dtype, DType::kBool);
  EXPECT_THAT(Elements<uint8_t>(values->at("b")), ElementsAre(1));
}

TEST_F(DrawInputsTest, ANumberWithoutAValueIsAnError) {
  AddPlaceholder("f", nullptr, "float");
  module().AddSymbol("f", 3);  // symbols are integers
  EXPECT_EQ(RunError(), "input f: its value is not known");
}

TEST_F(DrawInputsTest, MaxBytesLimitsTheTotal) {
  AddPlaceholder("x", Meta(DType::kFloat32, {10}));
  AddPlaceholder("y", Meta(DType::kFloat32, {10}));
  EXPECT_OK(Run({.max_bytes = 80}));
  EXPECT_THAT(Run({.max_bytes = 79}),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("input y: ")));
  EXPECT_THAT(Run({.max_bytes = 39}),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("input x: ")));
}

TEST_F(DrawInputsTest, ErrorsNameTheInput) {
  AddPlaceholder("x", nullptr);
  EXPECT_EQ(RunError(), "input x: its shape is not known");
}

TEST_F(DrawInputsTest, ASharedNameIsAnError) {
  AddPlaceholder("x", Meta(DType::kFloat32, {1}));
  module().AddAttribute({.name = "x", .meta = Meta(DType::kFloat32, {1})});
  EXPECT_EQ(RunError(), "input x: a placeholder and an attribute have this name");
}

TEST_F(DrawInputsTest, OnlyTheMainGraphHasInputs) {
  AddPlaceholder("x", Meta(DType::kFloat32, {1}));
  module().AddGraph("body")->Placeholder("y");
  const auto values = Run();
  ASSERT_OK(values);
  EXPECT_THAT(*values, ElementsAre(Key("x")));
}

TEST_F(DrawInputsTest, ASampleWithoutAGraphIsAnError) {
  Sample sample;
  sample.name = "s";
  EXPECT_EQ(DrawInputs(sample, {}).status().message(), "sample s has no graph");
  sample.module = std::make_unique<Module>();
  EXPECT_EQ(DrawInputs(sample, {}).status().message(), "sample s has no graph");
}

}  // namespace
}  // namespace graphnet
