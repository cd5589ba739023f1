#include "graphnet/passes/dead_code.h"

#include <gtest/gtest.h>

#include <string>

#include "graphnet/ir/text/parser.h"
#include "graphnet/ir/text/printer.h"

namespace graphnet {
namespace {

TEST(DeadCodeTest, PureCallsGoEffectsStay) {
  auto module = ParseModule(
      "graph @forward(%x, %unused) {\n"
      "  %a = torch.exp(%x)\n"
      "  %b = torch.neg(%a)\n"
      "  %c = .add_(%x, 1)\n"
      "  %r = torch.rand([2])\n"
      "  %d = torch.nn.functional.dropout(%x, 0.5, False, False)\n"
      "  %g = torch._C._set_grad_enabled(False)\n"
      "  %u = mylib.log(%x)\n"
      "  return (%x,)\n"
      "}\n",
      "test");
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ(EliminateDeadCode(module->get()), 3u);
  EXPECT_EQ(PrintModule(**module),
            "graphnet.module 1\n\ngraph @forward(%x, %unused) {\n"
            "  %c = .add_(%x, 1)\n"
            "  %r = torch.rand([2])\n"
            "  %g = torch._C._set_grad_enabled(False)\n"
            "  %u = mylib.log(%x)\n"
            "  return (%x,)\n"
            "}\nend\n");
  EXPECT_EQ(EliminateDeadCode(module->get()), 0u);
}

// A value without users may be seen through the value that it writes to.
TEST(DeadCodeTest, WritesThroughAViewStay) {
  auto module = ParseModule(
      "graph @forward(%x) {\n  %v = .view(%x, -1)\n  %z = .zero_(%v)\n  return (%x,)\n}\n", "test");
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ(EliminateDeadCode(module->get()), 0u);
}

TEST(DeadCodeTest, BodiesAreCleaned) {
  auto module = ParseModule(
      "graph @forward(%p, %x) {\n  %y = torch.cond(%p, @a, @a, [%x])\n  return (%y,)\n}\n"
      "graph @a(%v) {\n  %dead = torch.exp(%v)\n  %r = torch.relu(%v)\n  return (%r,)\n}\n",
      "test");
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ(EliminateDeadCode(module->get()), 1u);
}

}  // namespace
}  // namespace graphnet
