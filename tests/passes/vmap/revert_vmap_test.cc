#include "graphnet/passes/vmap/revert_vmap.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/canonical_hash.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/passes/vmap/flatten_vmap.h"
#include "tests/ir/text/parsed_module.h"
#include "tests/passes/vmap/spelled_vmap.h"

namespace graphnet {
namespace {

// Expects that `flat` becomes `expected` in both spellings, and that flattening and reverting
// `expected` yields it again.
void ExpectReverted(absl::string_view flat, absl::string_view expected) {
  for (const bool predispatch : {false, true}) {
    const auto module = Parse(Spelled(flat, predispatch));
    const auto changed = RevertVmap(module.get());
    ASSERT_TRUE(changed.ok()) << changed.status();
    EXPECT_TRUE(*changed);
    EXPECT_TRUE(Verify(*module).ok()) << Verify(*module);
    EXPECT_EQ(PrintModule(*module), PrintModule(*Parse(expected)));
    const std::string once = PrintModule(*module);
    EXPECT_FALSE(*RevertVmap(module.get()));
    EXPECT_EQ(PrintModule(*module), once);
    const std::string hash = CanonicalHash(*module);
    const auto flattened = FlattenVmap(module.get());
    ASSERT_TRUE(flattened.ok()) << flattened.status();
    EXPECT_EQ(*flattened, absl::StrContains(expected, "torch.vmap"));
    EXPECT_TRUE(Verify(*module).ok()) << Verify(*module);
    EXPECT_FALSE(absl::StrContains(PrintModule(*module), "torch.vmap"));
    EXPECT_FALSE(*FlattenVmap(module.get()));
    ASSERT_TRUE(RevertVmap(module.get()).ok());
    EXPECT_EQ(CanonicalHash(*module), hash) << PrintModule(*module);
  }
}

void ExpectRefused(absl::string_view flat, absl::string_view node, absl::string_view why) {
  const auto module = Parse(Spelled(flat, true));
  const std::string before = PrintModule(*module);
  const auto changed = RevertVmap(module.get());
  EXPECT_FALSE(changed.ok()) << PrintModule(*module);
  EXPECT_TRUE(absl::StrContains(changed.status().message(), absl::StrCat("(node ", node, ")")))
      << changed.status();
  EXPECT_TRUE(absl::StrContains(changed.status().message(), why)) << changed.status();
  EXPECT_EQ(PrintModule(*module), before);
}

// Models like Whisper have this: dead levels, a capture from the outermost one, and two removals of
// a value that is not batched there.
TEST(RevertVmapTest, FourLevels) {
  ExpectReverted(R"(
graph @forward(%b, %h, %q, %k, %mask) {
  %l = LOAD()
  %i = INC(1, "error")
  %child = ADD(%b, 0, 1)
  %l_1 = LOAD()
  %i_1 = INC(1, "error")
  %child_1 = ADD(%h, 0, 2)
  %l_2 = LOAD()
  %i_2 = INC(5, "error")
  %child_2 = ADD(%q, 0, 3)
  %l_3 = LOAD()
  %i_3 = INC(5, "error")
  %child_3 = ADD(%k, 0, 4)
  %ctx = torch.autograd.function.FunctionCtx()
  %ones = .new_ones(%child_1, (), dtype = torch.bool)
  %le = .le(%child_3, %child_2)
  %index = torch.ops.aten.index(%mask, [%child, %child_3])
  %and = .__and__(%le, %index)
  %r = REM(%and, 4, 5, 0)
  %d = DEC()
  %r_1 = REM(%r, 3, 5, 0)
  %d_1 = DEC()
  %r_2 = REM(%r_1, 2, 1, 0)
  %d_2 = DEC()
  %r_3 = REM(%r_2, 1, 1, 0)
  %d_3 = DEC()
  return (%r_3,)
}
)",
                 R"(
graph @forward(%b, %h, %q, %k, %mask) {
  %r_3 = torch.vmap(@vmap_body, (%b, %h, %q, %k, %mask), in_dims = (0, None, None, None, None), out_dims = 0, randomness = "error")
  return (%r_3,)
}
graph @vmap_body(%child, %h, %q, %k, %mask) {
  %r_2 = torch.vmap(@vmap_body_1, (%h, %q, %k, %mask, %child), in_dims = (0, None, None, None, None), out_dims = 0, randomness = "error")
  return %r_2
}
graph @vmap_body_1(%child_1, %q, %k, %mask, %child) {
  %r_1 = torch.vmap(@vmap_body_2, (%q, %k, %child_1, %mask, %child), in_dims = (0, None, None, None, None), out_dims = 0, randomness = "error")
  return %r_1
}
graph @vmap_body_2(%child_2, %k, %child_1, %mask, %child) {
  %r = torch.vmap(@vmap_body_3, (%k, %child_1, %child_2, %mask, %child), in_dims = (0, None, None, None, None), out_dims = 0, randomness = "error")
  return %r
}
graph @vmap_body_3(%child_3, %child_1, %child_2, %mask, %child) {
  %ones = .new_ones(%child_1, (), dtype = torch.bool)
  %le = .le(%child_3, %child_2)
  %index = torch.ops.aten.index(%mask, [%child, %child_3])
  %and = .__and__(%le, %index)
  return %and
}
)");
}

TEST(RevertVmapTest, SeveralDimensionsOneTensorTwiceAndSeveralResults) {
  ExpectReverted(R"(
graph @forward(%x, %y) {
  %i = INC(3, "error")
  %a = ADD(%x, 0, 1)
  %b = ADD(%x, -1, 1)
  %c = ADD(%y, 2, 1)
  %s = torch.add(%a, %b)
  %r = REM(%s, 1, 3, 0)
  %r_1 = REM(%s, 1, 3, 1)
  %r_2 = REM(%y, 1, 3, -1)
  %d = DEC()
  %z = torch.add(%r, %r_1)
  return (%z, %r_2)
}
)",
                 R"(
graph @forward(%x, %y) {
  %vmap = torch.vmap(@vmap_body, (%x, %x, %y, %y), in_dims = (0, -1, 2, None), out_dims = (0, 1, -1), randomness = "error")
  %r = operator.getitem(%vmap, 0)
  %r_1 = operator.getitem(%vmap, 1)
  %r_2 = operator.getitem(%vmap, 2)
  %z = torch.add(%r, %r_1)
  return (%z, %r_2)
}
graph @vmap_body(%a, %b, %c, %y) {
  %s = torch.add(%a, %b)
  return (%s, %s, %y)
}
)");
}

TEST(RevertVmapTest, LevelsInSequenceReuseNumbersOrNameTheirNode) {
  ExpectReverted(R"(
graph @forward(%x) {
  %i = INC(3, "different")
  %a = ADD(%x, 0, %i)
  %n = torch.rand_like(%a)
  %r = REM(%n, %i, 3, 0)
  %d = DEC()
  %m = torch.neg(%r)
  %i_1 = INC(3, "same")
  %a_1 = ADD(%m, 0, 1)
  %n_1 = torch.sin(%a_1)
  %r_1 = REM(%n_1, 1, 3, 0)
  %d_1 = DEC()
  return (%r_1,)
}
)",
                 R"(
graph @forward(%x) {
  %r = torch.vmap(@vmap_body, (%x,), in_dims = (0,), out_dims = 0, randomness = "different")
  %m = torch.neg(%r)
  %r_1 = torch.vmap(@vmap_body_1, (%m,), in_dims = (0,), out_dims = 0, randomness = "same")
  return (%r_1,)
}
graph @vmap_body(%a) {
  %n = torch.rand_like(%a)
  return %n
}
graph @vmap_body_1(%a_1) {
  %n_1 = torch.sin(%a_1)
  return %n_1
}
)");
}

// The second level takes results of the first: as a batched tensor, as a captured one, inside a
// level of its own, and between the levels.
TEST(RevertVmapTest, LevelsTakeTheResultsOfEarlierLevels) {
  ExpectReverted(R"(
graph @forward(%x) {
  %i = INC(3, "error")
  %a = ADD(%x, 0, 1)
  %s = torch.add(%a, 1)
  %r = REM(%s, 1, 3, 0)
  %r_1 = REM(%a, 1, 3, 1)
  %d = DEC()
  %i_1 = INC(3, "error")
  %a_1 = ADD(%r, 0, 1)
  %i_2 = INC(4, "error")
  %b = ADD(%r, 1, 2)
  %t = torch.mul(%b, %r_1)
  %q = REM(%t, 2, 4, 0)
  %d_2 = DEC()
  %u = torch.sub(%q, %a_1)
  %q_1 = REM(%u, 1, 3, 0)
  %d_1 = DEC()
  %v = torch.neg(%q_1)
  %i_3 = INC(4, "error")
  %a_3 = ADD(%v, -1, 1)
  %w = torch.add(%a_3, %q_1)
  %q_3 = REM(%w, 1, 4, 0)
  %d_3 = DEC()
  return (%q_3, %r)
}
)",
                 R"(
graph @forward(%x) {
  %vmap = torch.vmap(@vmap_body, (%x,), in_dims = (0,), out_dims = (0, 1), randomness = "error")
  %r = operator.getitem(%vmap, 0)
  %r_1 = operator.getitem(%vmap, 1)
  %q_1 = torch.vmap(@vmap_body_1, (%r, %r, %r_1), in_dims = (0, None, None), out_dims = 0, randomness = "error")
  %v = torch.neg(%q_1)
  %q_3 = torch.vmap(@vmap_body_3, (%v, %q_1), in_dims = (-1, None), out_dims = 0, randomness = "error")
  return (%q_3, %r)
}
graph @vmap_body(%a) {
  %s = torch.add(%a, 1)
  return (%s, %a)
}
graph @vmap_body_1(%a_1, %r, %r_1) {
  %q = torch.vmap(@vmap_body_2, (%r, %r_1), in_dims = (1, None), out_dims = 0, randomness = "error")
  %u = torch.sub(%q, %a_1)
  return %u
}
graph @vmap_body_2(%b, %r_1) {
  %t = torch.mul(%b, %r_1)
  return %t
}
graph @vmap_body_3(%a_3, %q_1) {
  %w = torch.add(%a_3, %q_1)
  return %w
}
)");
}

// A tracer writes `vmap(lambda b, c: (b, c), (0, None), out_dims=(-2, 0))(a, a)` like this: a
// tensor that enters and leaves at the same dimension is the same tensor, and the tracer also finds
// the other operand by it.
TEST(RevertVmapTest, UnchangedTensorsLeaveAsThemselves) {
  ExpectReverted(R"(
graph @forward(%x : f32[4, 2, 3], %y) {
  %i = INC(4, "error")
  %a = ADD(%x, 0, 1) : f32[2, 3]
  %i_1 = INC(2, "same")
  %b = ADD(%a, 0, 2) : f32[3]
  %r = REM(%b, 2, 2, -2) : f32[2, 3]
  %r_1 = REM(%r, 2, 2, 0) : f32[2, 2, 3]
  %d_1 = DEC()
  %s = torch.sin(%r)
  %q = REM(%r_1, 1, 4, 0) : f32[4, 2, 2, 3]
  %q_1 = REM(%s, 1, 4, 0) : f32[4, 2, 3]
  %d = DEC()
  return (%q, %q_1)
}
)",
                 R"(
graph @forward(%x : f32[4, 2, 3], %y) {
  %vmap = torch.vmap(@vmap_body, (%x,), in_dims = (0,), out_dims = (0, 0), randomness = "error")
  %q = operator.getitem(%vmap, 0) : f32[4, 2, 2, 3]
  %q_1 = operator.getitem(%vmap, 1) : f32[4, 2, 3]
  return (%q, %q_1)
}
graph @vmap_body(%a : f32[2, 3]) {
  %vmap = torch.vmap(@vmap_body_1, (%a, %a), in_dims = (0, None), out_dims = (-2, 0), randomness = "same")
  %r = operator.getitem(%vmap, 0) : f32[2, 3]
  %r_1 = operator.getitem(%vmap, 1) : f32[2, 2, 3]
  %s = torch.sin(%r)
  return (%r_1, %s)
}
graph @vmap_body_1(%b : f32[3], %a : f32[2, 3]) {
  return (%b, %a)
}
)");
  // Results of the level are used before all of them exist.
  ExpectRefused(
      "graph @f(%x : f32[3,4]) {\n  %i = INC(3, \"error\")\n  %a = ADD(%x, 0, 1)\n"
      "  %b = torch.sin(%a)\n  %q = REM(%b, 1, 3, 0)\n  %r = REM(%q, 1, 3, 0)\n  %d = DEC()\n"
      "  return (%r,)\n}\n",
      "r", "inside of it");
}

// The same for levels inside another one, in a body, where the size is a value.
TEST(RevertVmapTest, LevelsInBodiesContinueTheNumbersOfTheCall) {
  ExpectReverted(R"(
graph @forward(%p, %x) {
  %i = INC(3, "error")
  %a = ADD(%x, 0, 1)
  %c = torch.cond(%p, @then, @else, (%a,))
  %g = operator.getitem(%c, 0)
  %r = REM(%g, 1, 3, 0)
  %d = DEC()
  %e = torch.ops.higher_order.wrap_with_set_grad_enabled(False, @region, %r)
  return (%e,)
}
graph @then(%y) {
  %n = .size(%y, 0)
  %i = INC(%n, "same")
  %b = ADD(%y, 0, 2)
  %t = torch.neg(%b)
  %q = REM(%t, 2, %n, 0)
  %d = DEC()
  %i_1 = INC(%n, "same")
  %b_1 = ADD(%q, 0, 2)
  %t_1 = torch.sin(%b_1)
  %q_1 = REM(%t_1, 2, %n, 0)
  %d_1 = DEC()
  return (%q_1,)
}
graph @else(%y) {
  return (%y,)
}
graph @region(%z) {
  %i = INC(3, "error")
  %b = ADD(%z, 0, 1)
  %t = torch.cos(%b)
  %q = REM(%t, 1, 3, 0)
  %d = DEC()
  return %q
}
)",
                 R"(
graph @forward(%p, %x) {
  %r = torch.vmap(@vmap_body, (%x, %p), in_dims = (0, None), out_dims = 0, randomness = "error")
  %e = torch.ops.higher_order.wrap_with_set_grad_enabled(False, @region, %r)
  return (%e,)
}
graph @then(%y) {
  %q = torch.vmap(@vmap_body_1, (%y,), in_dims = (0,), out_dims = 0, randomness = "same")
  %q_1 = torch.vmap(@vmap_body_2, (%q,), in_dims = (0,), out_dims = 0, randomness = "same")
  return (%q_1,)
}
graph @else(%y) {
  return (%y,)
}
graph @region(%z) {
  %q = torch.vmap(@vmap_body_3, (%z,), in_dims = (0,), out_dims = 0, randomness = "error")
  return %q
}
graph @vmap_body(%a, %p) {
  %c = torch.cond(%p, @then, @else, (%a,))
  %g = operator.getitem(%c, 0)
  return %g
}
graph @vmap_body_1(%b) {
  %t = torch.neg(%b)
  return %t
}
graph @vmap_body_2(%b_1) {
  %t_1 = torch.sin(%b_1)
  return %t_1
}
graph @vmap_body_3(%b) {
  %t = torch.cos(%b)
  return %t
}
)");
}

TEST(RevertVmapTest, BatchSizeFromASymbol) {
  ExpectReverted(R"(
graph @forward(%n as torch.SymInt, %x) {
  %i = INC(%n, "error")
  %a = ADD(%x, 0, 1)
  %v = .view(%a, %n)
  %r = REM(%v, 1, %n, 0)
  %d = DEC()
  return (%r,)
}
)",
                 R"(
graph @forward(%n as torch.SymInt, %x) {
  %r = torch.vmap(@vmap_body, (%x, %n), in_dims = (0, None), out_dims = 0, randomness = "error")
  return (%r,)
}
graph @vmap_body(%a, %n as torch.SymInt) {
  %v = .view(%a, %n)
  return %v
}
)");
}

// Nodes that stand inside a level but belong elsewhere move out, in their order.
TEST(RevertVmapTest, UnrelatedNodesMoveOut) {
  ExpectReverted(R"(
attribute weight
graph @forward(%x, %y, %w) {
  %i = INC(3, "error")
  %p = torch.relu(%y)
  %a = ADD(%x, 0, 1)
  %i_1 = INC(4, "error")
  %g = get_attr weight
  %u = torch.add(%p, %w)
  %b = ADD(%u, 0, 2)
  %t = torch.tensor(True)
  %s = torch.mul(%a, %b)
  %k = torch.mul(%s, %g)
  %r = REM(%k, 2, 4, 0)
  %f = torch.neg(%u)
  %after = torch.exp(%r)
  %d = DEC()
  %r_1 = REM(%after, 1, 3, 0)
  %z = torch.add(%r_1, %f)
  %d_1 = DEC()
  return (%z, %u)
}
)",
                 R"(
attribute weight
graph @forward(%x, %y, %w) {
  %p = torch.relu(%y)
  %g = get_attr weight
  %u = torch.add(%p, %w)
  %f = torch.neg(%u)
  %r_1 = torch.vmap(@vmap_body, (%x, %u, %g), in_dims = (0, None, None), out_dims = 0, randomness = "error")
  %z = torch.add(%r_1, %f)
  return (%z, %u)
}
graph @vmap_body(%a, %u, %g) {
  %r = torch.vmap(@vmap_body_1, (%u, %a, %g), in_dims = (0, None, None), out_dims = 0, randomness = "error")
  %after = torch.exp(%r)
  return %after
}
graph @vmap_body_1(%b, %a, %g) {
  %t = torch.tensor(True)
  %s = torch.mul(%a, %b)
  %k = torch.mul(%s, %g)
  return %k
}
)");
}

TEST(RevertVmapTest, LevelsMayBatchNothing) {
  const auto module = Parse(Spelled(R"(
graph @forward(%x) {
  %i = INC(3, "error")
  %s = torch.neg(%x)
  %r = REM(%s, 1, 3, 0)
  %d = DEC()
  return (%r,)
}
)",
                                    true));
  ASSERT_TRUE(RevertVmap(module.get()).ok());
  EXPECT_EQ(PrintModule(*module), PrintModule(*Parse(R"(
graph @forward(%x) {
  %batch_index = torch.arange(3)
  %r = torch.vmap(@vmap_body, (%batch_index, %x), in_dims = (0, None), out_dims = 0, randomness = "error")
  return (%r,)
}
graph @vmap_body(%batch_index, %x) {
  %s = torch.neg(%x)
  return %s
}
)")));
}

TEST(RevertVmapTest, WritesKeepTheirOrder) {
  // %p is read outside after a write inside, so it cannot move.
  ExpectRefused(R"(
graph @forward(%x, %y) {
  %i = INC(3, "error")
  %a = ADD(%x, 0, 1)
  %w = .add_(%y, 1)
  %p = torch.neg(%y)
  %s = torch.mul(%a, %y)
  %r = REM(%s, 1, 3, 0)
  %d = DEC()
  return (%r, %p)
}
)",
                "p", "cannot be moved out");
  // Nodes without users outside stay where they are.
  ExpectReverted(R"(
graph @forward(%x, %y) {
  %i = INC(3, "error")
  %a = ADD(%x, 0, 1)
  %w = .add_(%y, 1)
  %s = torch.mul(%a, %y)
  %r = REM(%s, 1, 3, 0)
  %d = DEC()
  return (%r,)
}
)",
                 R"(
graph @forward(%x, %y) {
  %r = torch.vmap(@vmap_body, (%x, %y), in_dims = (0, None), out_dims = 0, randomness = "error")
  return (%r,)
}
graph @vmap_body(%a, %y) {
  %w = .add_(%y, 1)
  %s = torch.mul(%a, %y)
  return %s
}
)");
}

TEST(RevertVmapTest, MalformedNestingIsRefused) {
  ExpectRefused("graph @f(%x) {\n  %i = INC(3, \"error\")\n  return (%x,)\n}\n", "i",
                "nothing closes");
  ExpectRefused("graph @f(%x) {\n  %d = DEC()\n  return (%x,)\n}\n", "d", "no vmap level is open");
  ExpectRefused("graph @f(%x) {\n  %a = ADD(%x, 0, 1)\n  return (%a,)\n}\n", "a",
                "no vmap level is open");
  const auto with = [](absl::string_view body, absl::string_view result = "%r") {
    return absl::StrCat("graph @f(%x : f32[3,4], %n as torch.SymInt) {\n  %i = INC(3, \"error\")\n",
                        body, "  return (", result, ",)\n}\n");
  };
  ExpectRefused(with("  %a = ADD(%x, 0, 2)\n  %d = DEC()\n", "%x"), "a", "another vmap level");
  ExpectRefused(with("  %a = ADD(%x, 1, 1)\n  %d = DEC()\n", "%x"), "a", "size 4");
  ExpectRefused(with("  %a = ADD(%x, 0, 1)\n  %b = ADD(%a, 0, 1)\n  %d = DEC()\n", "%x"), "b",
                "already");
  ExpectRefused(with("  %a = ADD(%x, 0, 1)\n  %r = REM(%a, 1, 4, 0)\n  %d = DEC()\n"), "r",
                "batch size");
  ExpectRefused(with("  %a = ADD(%x, 0, 1)\n  %r = REM(%a, 1, %n, 0)\n  %d = DEC()\n"), "r",
                "batch size");
  ExpectRefused(with("  %a = ADD(%x, 0, 1)\n  %r = REM(%a, 2, 3, 0)\n  %d = DEC()\n"), "r",
                "another vmap level");
  ExpectRefused(with("  %a = ADD(%x, 0, 1)\n  %r = torch.neg(%a)\n  %d = DEC()\n"), "output",
                "batched at");
  ExpectRefused(with("  %a = ADD(%x, 0, 1)\n  %d = DEC()\n  %r = torch.neg(%a)\n"), "r",
                "batched at");
  ExpectRefused(with("  %a = ADD(%x, 0, 1)\n  %e = torch.exp(%a)\n  %q = REM(%e, 1, 3, 0)\n  %s = "
                     "torch.add(%q, %a)\n"
                     "  %r = REM(%s, 1, 3, 0)\n  %d = DEC()\n"),
                "s", "inside of it");
  ExpectRefused(with("  %r = torch.add(%x, %i)\n  %d = DEC()\n"), "r", "level number");
  ExpectRefused(with("  %d = DEC()\n  %r = torch.add(%x, %d)\n"), "r", "uses the value of node d");
  ExpectRefused("graph @f(%x) {\n  %i = INC(3, \"sometimes\")\n  %d = DEC()\n  return (%x,)\n}\n",
                "i", "randomness");
  ExpectRefused("graph @f(%x) {\n  %i = INC(3)\n  %d = DEC()\n  return (%x,)\n}\n", "i",
                "randomness is missing");
}

TEST(RevertVmapTest, ABodyWithLevelsIsCalledAtOneDepth) {
  ExpectRefused(
      "graph @f(%p, %x) {\n  %c = torch.cond(%p, @b, @b, [%x])\n  %i = INC(3, \"error\")\n"
      "  %e = torch.cond(%p, @b, @b, [%x])\n  %d = DEC()\n  return (%c, %e)\n}\n"
      "graph @b(%y) {\n  %i = INC(3, \"error\")\n  %a = ADD(%y, 0, 1)\n"
      "  %r = REM(%a, 1, 3, 0)\n  %d = DEC()\n  return (%r,)\n}\n",
      "i", "with 0 and with 1 vmap levels open");
}

TEST(RevertVmapTest, AcceptsAsManyLevelsAsPyTorch) {
  const auto nest = [](int depth) {
    std::string text = "graph @f(%x) {\n";
    for (int i = 1; i <= depth; ++i) {
      absl::StrAppend(&text, "  %i", i, " = INC(2, \"error\")\n  %a", i, " = ADD(%x, 0, ", i,
                      ")\n");
    }
    absl::StrAppend(&text, "  %r", depth + 1, " = torch.neg(%a1)\n");
    for (int i = depth; i >= 1; --i) {
      absl::StrAppend(&text, "  %r", i, " = REM(%r", i + 1, ", ", i, ", 2, 0)\n  %d", i,
                      " = DEC()\n");
    }
    return absl::StrCat(text, "  return (%r1,)\n}\n");
  };
  const auto module = Parse(Spelled(nest(63), false));
  ASSERT_TRUE(RevertVmap(module.get()).ok());
  EXPECT_EQ(module->graphs().size(), 64u);
  EXPECT_TRUE(Verify(*module).ok());
  ExpectRefused(nest(64), "i64", "more than 63");
}

}  // namespace
}  // namespace graphnet
