#include "graphnet/evaluate/onnx_operators.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "graphnet/ir/text/parser.h"
#include "gtest/gtest.h"

namespace graphnet {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::unique_ptr<Module> Parse(const std::string& body) {
  return ParseModule(absl::StrCat("graphnet.module 1\n\ngraph @forward", body, "\nend\n"),
                     "test.gn")
      .value();
}

TEST(OnnxOperators, EachRowIsAnOverloadOfAten) {
  size_t direct = 0;
  absl::flat_hash_set<std::string> targets;
  for (absl::string_view line : absl::StrSplit(OnnxOperatorsText(), '\n', absl::SkipEmpty())) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
    ASSERT_GE(words.size(), 2U) << line;
    EXPECT_TRUE(targets.emplace(words[0]).second) << line;
    EXPECT_TRUE(words[1] == "r" || words[1] == "c" || words[1] == "rc" || words[1] == "d" ||
                words[1] == "u" || words[1] == "x")
        << line;
    if (words[1] != "d") {
      EXPECT_EQ(words.size(), 2U) << line;
    }
    direct += words[1] == "r" || words[1] == "rc" ? 1 : 0;
  }
  EXPECT_GT(direct, 300U);
}

TEST(OnnxOperators, AcceptsOperatorsThatAreRegisteredOrDecomposed) {
  const auto module = Parse(R"((%x : f32[2, 3]) {
  %a = aten.relu.default(%x) : f32[2, 3]
  %b = aten.add_.Tensor(%a, %x) : f32[2, 3]
  %c = aten.linear.default(%b, %x) : f32[2, 2]
  %d = operator.getitem((%c, %a), 0)
  return (%d,)
})");
  EXPECT_THAT(MissingInOnnx(*module), IsEmpty());
}

TEST(OnnxOperators, CountsAllThatIsMissing) {
  const auto module = Parse(R"((%x : f32[2, 3, 3]) {
  %a = aten.geqrf.default(%x)
  %b = aten.geqrf.default(%x)
  %c = aten.lgamma.default(%x) : f32[2, 3, 3]
  %d = mylib.f(%x)
  return (%a, %b, %c, %d)
})");
  const MissingCalls missing = MissingInOnnx(*module);
  ASSERT_THAT(missing, SizeIs(3));
  auto it = missing.begin();
  EXPECT_EQ(it->first.first, "aten.geqrf.default");
  EXPECT_EQ(it->second, 2U);
  EXPECT_EQ((++it)->first.first, "aten.lgamma.default");
  EXPECT_EQ((++it)->first.first, "mylib.f");
  EXPECT_THAT(it->first.second, HasSubstr("ATen's overloads only"));
}

TEST(OnnxOperators, KnowsComplexNumbers) {
  const auto module = Parse(R"((%x : c64[2, 3]) {
  %a = aten.abs.default(%x) : f32[2, 3]
  %b = aten.sinc.default(%x) : c64[2, 3]
  %c = aten.relu.default(%x) : c64[2, 3]
  return (%a, %c)
})");
  const MissingCalls missing = MissingInOnnx(*module);
  EXPECT_TRUE(missing.contains(
      {"aten.relu.default", "the exporter has no ONNX function for it on complex numbers"}));
  EXPECT_FALSE(missing.contains(
      {"aten.abs.default", "the exporter has no ONNX function for it on complex numbers"}));
}

TEST(OnnxOperators, KnowsWhichArgumentsStopTheExporter) {
  const auto module = Parse(R"((%x : f32[2], %i : i64[2], %n : i64[] as torch.SymInt) {
  %a = aten.clamp.default(%x, 0.5, 1.0) : f32[2]
  %b = aten.clamp.default(%a, 0.5, 1) : f32[2]
  %c = torch.sym_sum((-1, %n))
  %d = torch.sym_sum((-1, 4))
  %e = aten.rsub.Scalar(%i, 1.0) : f32[2]
  %f = aten.rsub.Scalar(%i, 1) : i64[2]
  %g = aten.sub.Tensor(1.0, %i) : f32[2]
  return (%b, %c, %d, %e, %f, %g)
})");
  const MissingCalls missing = MissingInOnnx(*module);
  ASSERT_THAT(missing, SizeIs(4));
  EXPECT_EQ(missing.begin()->first.first, "aten.clamp.default");
  EXPECT_EQ(missing.begin()->second, 1U);
  EXPECT_EQ(missing.rbegin()->first.first, "torch.sym_sum");
  EXPECT_EQ(missing.rbegin()->second, 1U);
}

TEST(OnnxOperators, OnnxRuntimeOnlyMovesBFloat16) {
  const auto module = Parse(R"((%x : bf16[2, 3], %y : f16[2, 3]) {
  %a = aten.permute.default(%x, (1, 0)) : bf16[3, 2]
  %b = aten.relu.default(%a) : bf16[3, 2]
  %c = aten.relu.default(%y) : f16[2, 3]
  return (%b, %c)
})");
  EXPECT_THAT(MissingInOnnx(*module), IsEmpty());
  const MissingCalls missing = MissingInOnnxRuntime(*module);
  ASSERT_THAT(missing, SizeIs(1));
  EXPECT_EQ(missing.begin()->first.first, "aten.relu.default");
  EXPECT_EQ(missing.begin()->second, 1U);
}

TEST(OnnxOperators, OnnxRuntimeSqueezesSizesOfOne) {
  const auto module = Parse(R"((%x : f32[1, 12]) {
  %a = aten.squeeze.dim(%x, 0) : f32[12]
  %b = aten.squeeze.dim(%x, -1) : f32[1, 12]
  return (%a, %b)
})");
  const MissingCalls missing = MissingInOnnxRuntime(*module);
  ASSERT_THAT(missing, SizeIs(1));
  EXPECT_EQ(missing.begin()->first.first, "aten.squeeze.dim");
  EXPECT_EQ(missing.begin()->second, 1U);
}

TEST(OnnxOperators, FloatsStayInTensors) {
  const auto module = Parse(R"((%x : f32[2], %e : f32[], %i : i64[]) {
  %n = aten.item.default(%e)
  %f = aten.full.default((2,), %n) : f32[2]
  %m = aten.item.default(%i)
  %g = aten.mul.Scalar(%x, %m) : f32[2]
  return (%f, %g)
})");
  EXPECT_THAT(MissingInOnnx(*module), IsEmpty());
  const auto lost = Parse(R"((%x : f32[2], %e : f32[]) {
  %n = aten.item.default(%e)
  %f = aten.mul.Scalar(%x, %n) : f32[2]
  return (%f,)
})");
  EXPECT_THAT(MissingInOnnx(*lost), SizeIs(1));
}

}  // namespace
}  // namespace graphnet
