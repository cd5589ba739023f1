#include "graphnet/interp/domain.h"

#include <gtest/gtest.h>

#include <string>

#include "graphnet/interp/inputs/draw.h"
#include "graphnet/ir/text/parser.h"
#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

using ::testing::HasSubstr;

Sample SampleOf(const std::string& text) {
  Sample sample;
  auto module = ParseModule(text, "test");
  EXPECT_OK(module);
  sample.module = *std::move(module);
  return sample;
}

std::string FirstNonFinite(const Sample& sample) {
  const auto values = DrawInputs(sample, {});
  EXPECT_OK(values);
  const auto found = FindNonFinite(*sample.module, *values);
  EXPECT_OK(found);
  if (!found.ok() || !found->has_value()) return "";
  return std::string((*found)->node->name()) + ((*found)->is_nan ? " nan" : " inf");
}

constexpr char kRoot[] =
    "graph @forward(%x : f32[64] {mean = 0.0, std = 1.0}, %y : f32[64] {mean = 0.0, std = 1.0}) {\n"
    "  %m = torch.nn.functional.relu(%y)\n  %s = torch.sqrt(%x)\n  %z = torch.add(%s, %m)\n  "
    "return (%z,)\n}\n";

TEST(FindNonFiniteTest, NamesTheFirstNodeAtFault) {
  EXPECT_EQ(FirstNonFinite(SampleOf(kRoot)), "s nan");
  // An infinity in a mask does not count.
  EXPECT_EQ(FirstNonFinite(SampleOf("graph @forward(%x : f32[4] {mean = 0.0, std = 1.0}) {\n"
                                    "  %f = torch.full([4], -inf)\n  %m = torch.maximum(%x, %f)\n"
                                    "  return (%m,)\n}\n")),
            "");
  EXPECT_EQ(FirstNonFinite(SampleOf("graph @forward(%x : f32[4] {mean = 0.0, std = 0.0}) {\n"
                                    "  %d = torch.reciprocal(%x)\n  return (%d,)\n}\n")),
            "d inf");
}

// Inside open levels of vmap, values have no numbers of their own.
TEST(FindNonFiniteTest, FlatNesting) {
  const std::string flat = "torch._functorch.predispatch.";
  EXPECT_EQ(
      FirstNonFinite(SampleOf("graph @forward(%x : f32[2,3] {mean = 0.0, std = 1.0}) {\n  %i = " +
                              flat + "_vmap_increment_nesting(2, \"error\")\n  %a = " + flat +
                              "_add_batch_dim(%x, 0, 1)\n  %s = torch.sqrt(%a)\n  %r = " + flat +
                              "_remove_batch_dim(%s, 1, 2, 0)\n  %d = " + flat +
                              "_vmap_decrement_nesting()\n  return (%r,)\n}\n")),
      "r nan");
}

TEST(RepairDomainsTest, TheNearestInputGetsTheNarrowestBound) {
  Sample sample = SampleOf(kRoot);
  const auto repair = RepairDomains(&sample);
  ASSERT_OK(repair);
  EXPECT_TRUE(repair->finite);
  ASSERT_EQ(repair->notes.size(), 1u);
  EXPECT_THAT(repair->notes[0], HasSubstr("x is drawn at least 0: %s = torch.sqrt was not finite"));
  EXPECT_EQ(sample.module->main()->first()->draw_spec()->min, Argument(int64_t{0}));
  EXPECT_TRUE(sample.module->main()->first()->next()->draw_spec()->min.is_none());
  EXPECT_EQ(FirstNonFinite(sample), "");
}

TEST(RepairDomainsTest, RootsInDenominatorsNeedMoreThanZero) {
  Sample sample = SampleOf(
      "graph @forward(%x : f32[64] {mean = 0.0, std = 1.0}) {\n  %r = torch.log(%x)\n  return "
      "(%r,)\n}\n");
  const auto repair = RepairDomains(&sample);
  ASSERT_OK(repair);
  EXPECT_TRUE(repair->finite);
  EXPECT_EQ(sample.module->main()->first()->draw_spec()->min, Argument(1e-6));
}

TEST(RepairDomainsTest, ExplainsWhyNoBoundHelps) {
  Sample sample = SampleOf(
      "graph @forward(%x : f32[4] {mean = 0.0, std = 1.0}) {\n  %a = torch.sub(%x, %x)\n  %r = "
      "torch.log(%a)\n"
      "  return (%r,)\n}\n");
  const auto repair = RepairDomains(&sample);
  ASSERT_OK(repair);
  EXPECT_FALSE(repair->finite);
  EXPECT_FALSE(repair->changed);
  ASSERT_EQ(repair->notes.size(), 1u);
  EXPECT_THAT(repair->notes[0], HasSubstr("no bound on one input helps"));
  EXPECT_TRUE(sample.module->main()->first()->draw_spec()->min.is_none());
}

}  // namespace
}  // namespace graphnet
