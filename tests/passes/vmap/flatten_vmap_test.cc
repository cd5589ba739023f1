#include "graphnet/passes/vmap/flatten_vmap.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/ir/verifier.h"
#include "tests/base/status_matchers.h"
#include "tests/ir/text/parsed_module.h"
#include "tests/passes/vmap/spelled_vmap.h"

namespace graphnet {
namespace {

TEST(FlattenVmapTest, SharedBodiesTuplesAndNone) {
  const auto module = Parse(R"(
graph @forward(%x : f32[3,2], %y) {
  %v = torch.vmap(@body, (%x, %y), in_dims = (0, None), out_dims = (0, None))
  %w = torch.vmap(@body, (%y, %x), in_dims = 1, out_dims = 0, randomness = "same")
  %g = operator.getitem(%v, 1)
  return (%w, %g)
}
graph @body(%a, %b) {
  %s = torch.neg(%a)
  return (%s, %b)
}
)");
  const auto changed = FlattenVmap(module.get());
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_TRUE(Verify(*module).ok()) << Verify(*module);
  EXPECT_EQ(PrintModule(*module), PrintModule(*Parse(Spelled(R"(
graph @forward(%x : f32[3,2], %y) {
  %lazy_load_decompositions = LOAD()
  %_vmap_increment_nesting = INC(3, "error")
  %a = ADD(%x, 0, 1)
  %s = torch.neg(%a)
  %_remove_batch_dim = REM(%s, 1, 3, 0)
  %_vmap_decrement_nesting = DEC()
  %lazy_load_decompositions_1 = LOAD()
  %size = .size(%y, 1)
  %_vmap_increment_nesting_1 = INC(%size, "same")
  %a_1 = ADD(%y, 1, 1)
  %b = ADD(%x, 1, 1)
  %s_1 = torch.neg(%a_1)
  %_remove_batch_dim_1 = REM(%s_1, 1, %size, 0)
  %_remove_batch_dim_2 = REM(%b, 1, %size, 0)
  %_vmap_decrement_nesting_1 = DEC()
  return ((%_remove_batch_dim_1, %_remove_batch_dim_2), %y)
}
)",
                                                             true))));
}

TEST(FlattenVmapTest, RefusesUnsupportedCalls) {
  const auto refused = [](absl::string_view call, absl::string_view why) {
    const auto module =
        Parse(absl::StrCat("graph @f(%x, %p) {\n  %v = ", call,
                           "\n  return (%v,)\n}\ngraph @b(%a) {\n  return %a\n}\n"));
    const std::string before = PrintModule(*module);
    const auto changed = FlattenVmap(module.get());
    EXPECT_FALSE(changed.ok());
    EXPECT_TRUE(absl::StrContains(changed.status().message(), why)) << changed.status();
    EXPECT_EQ(PrintModule(*module), before);
  };
  refused("torch.vmap(@b, (%x,), chunk_size = 2, randomness = \"different\")", "chunk_size");
  refused("torch.vmap(@b, (%x,), chunk_size = 0)", "above 0");
  refused("torch.vmap(@b, (%x,), out_dims = None, chunk_size = 2)", "above 0");
  refused("torch.vmap(@b, (%x, %x))", "takes 1 values");
  refused("torch.vmap(@b, (%x,), in_dims = (None,))", "at least one");
  refused("torch.vmap(@b, (%x,), in_dims = ((0,),))", "in_dims");
  refused("torch.vmap(@b, (%x,), out_dims = (0, 1))", "out_dims");
  refused("torch.vmap(@b, (%x,), randomness = \"often\")", "randomness");
  // The verifier refuses such a body, too.
  const auto module = ParseModule(
      "graph @f(%x) {\n  %v = torch.vmap(@b, (%x,))\n  return (%v,)\n}\ngraph @b(%a) {\n}\n",
      "m.gn");
  ASSERT_OK(module);
  const auto changed = FlattenVmap(module->get());
  EXPECT_FALSE(changed.ok());
  EXPECT_EQ(changed.status().message(), "torch.vmap (node v): the body returns nothing");
}

// The body of another call is written once for each number of open levels.
TEST(FlattenVmapTest, BodiesOfOtherCalls) {
  const auto module = Parse(R"(
graph @forward(%p, %x : f32[3,3]) {
  %c = torch.cond(%p, @then, @else, (%x,))
  %d = torch.cond(%p, @else, @then, (%x,))
  %v = torch.vmap(@outer, (%x, %p), in_dims = (0, None))
  return (%c, %d, %v)
}
graph @then(%y : f32[3,3]) {
  %n = torch.vmap(@neg, (%y,))
  return (%n,)
}
graph @else(%y) {
  return (%y,)
}
graph @outer(%z, %p) {
  %c = torch.cond(%p, @then, @else, (%z,))
  %g = operator.getitem(%c, 0)
  return %g
}
graph @neg(%a) {
  %m = torch.neg(%a)
  return %m
}
)");
  const auto changed = FlattenVmap(module.get());
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_TRUE(Verify(*module).ok()) << Verify(*module);
  EXPECT_EQ(PrintModule(*module), PrintModule(*Parse(Spelled(R"(
graph @forward(%p, %x : f32[3,3]) {
  %c = torch.cond(%p, @then, @else, (%x,))
  %d = torch.cond(%p, @else, @then, (%x,))
  %lazy_load_decompositions = LOAD()
  %_vmap_increment_nesting = INC(3, "error")
  %z = ADD(%x, 0, 1)
  %c_1 = torch.cond(%p, @then_2, @else, (%z,))
  %g = operator.getitem(%c_1, 0)
  %v = REM(%g, 1, 3, 0)
  %_vmap_decrement_nesting = DEC()
  return (%c, %d, %v)
}
graph @else(%y) {
  return (%y,)
}
graph @then(%y : f32[3,3]) {
  %lazy_load_decompositions = LOAD()
  %_vmap_increment_nesting = INC(3, "error")
  %a = ADD(%y, 0, 1)
  %m = torch.neg(%a)
  %n = REM(%m, 1, 3, 0)
  %_vmap_decrement_nesting = DEC()
  return (%n,)
}
graph @then_2(%y : f32[3,3]) {
  %lazy_load_decompositions = LOAD()
  %_vmap_increment_nesting = INC(3, "error")
  %a = ADD(%y, 0, 2)
  %m = torch.neg(%a)
  %n = REM(%m, 2, 3, 0)
  %_vmap_decrement_nesting = DEC()
  return (%n,)
}
)",
                                                             true))));
}

// The body of a call may stand in a keyword, even of a nested call.
TEST(FlattenVmapTest, BodiesInKeywords) {
  constexpr absl::string_view kBodies =
      "\n  return (%v,)\n}\n"
      "graph @b(%a) {\n  $inner\n  return %r\n}\n"
      "graph @c(%a) {\n  %n = torch.neg(%a)\n  return %n\n}\n";
  const auto flattened = [&](absl::string_view outer, absl::string_view inner) {
    const auto module = Parse(
        absl::StrCat("graph @f(%x) {\n  %v = ", outer,
                     absl::StrReplaceAll(kBodies, {{"$inner", absl::StrCat("%r = ", inner)}})));
    const auto changed = FlattenVmap(module.get());
    EXPECT_TRUE(changed.ok() && *changed) << changed.status();
    return PrintModule(*module);
  };
  const std::string by_position = flattened("torch.vmap(@b, (%x,))", "torch.vmap(@c, (%a,))");
  EXPECT_FALSE(absl::StrContains(by_position, "torch.vmap("));
  EXPECT_EQ(flattened("torch.vmap(func = @b, operands = (%x,))",
                      "torch.vmap(operands = (%a,), func = @c)"),
            by_position);
}

// A body that doubles at each of many levels would fill the memory.
TEST(FlattenVmapTest, GrowthIsBounded) {
  std::string text = "graph @f(%x) {\n  %v = torch.vmap(@b0, (%x,))\n  return (%v,)\n}\n";
  for (int i = 0; i < 60; ++i) {
    absl::StrAppend(&text, "graph @b", i, "(%a) {\n");
    const std::string body =
        i == 59 ? "torch.neg(%a)" : absl::StrCat("torch.vmap(@b", i + 1, ", (%a,))");
    absl::StrAppend(&text, "  %v = ", body, "\n  %w = ", body, "\n  return (%v, %w)\n}\n");
  }
  const auto module = Parse(text);
  const auto changed = FlattenVmap(module.get());
  EXPECT_FALSE(changed.ok());
  EXPECT_TRUE(absl::StrContains(changed.status().message(), "more than")) << changed.status();
}

}  // namespace
}  // namespace graphnet
