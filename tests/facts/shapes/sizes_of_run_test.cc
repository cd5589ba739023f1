// Runs programs on two sets of data, and compares the values whose sizes differ, and the numbers
// that differ, with facts/shapes/sizes_of_run.h.
#include "graphnet/facts/shapes/sizes_of_run.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "ATen/ATen.h"
#include "ATen/core/dispatch/Dispatcher.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graphnet/interp/executable.h"
#include "graphnet/ir/text/parser.h"

namespace graphnet {
namespace {

// Programs with x: f32[8, 4], n: i64[] (2, then 3), m: bool[8] (2 true, then 3). All nodes but x, n
// and m are named in the order of their lines.
constexpr const char* kPrograms[] = {
    "%i = .item(%n)\n%y = torch.zeros(2, %i)\n%s = .size(%y, 1)\n%z = torch.ones(%s)",
    "%i = .item(%n)\n%y = torch.zeros([2, %i])\n%s = .size(%y)\n%k = operator.getitem(%s, 1)",
    "%i = .item(%n)\n%k = operator.mul(%i, 2)\n%y = torch.narrow(%x, 0, 0, %k)",
    "%y = operator.getitem(%x, slice(None, %n, None))\n%z = torch.relu(%y)",
    "%y = operator.getitem(%x, (slice(None, None, None), slice(%n, None, None)))",
    "%y = torch._C._nn.pad(%x, (%n, 0))\n%s = builtins.getattr(%y, \"shape\")",
    "%y = .view(%x, 8, -1)\n%z = operator.getitem(%y, %m)\n%s = .size(%z, 0)",
    "%y = torch.masked_select(%x, %m2)\n%z = .numel(%y)",
    "%y = torch.nonzero(%m)\n%z = torch.add(%y, 1)\n%r = .sum(%z)",
    "%y = aten.index.Tensor(%x, [%m])",
    "%y = torch.repeat_interleave(%x, %counts, 0)",
    "%i = aten._local_scalar_dense.default(%n)\n%y = aten.constant_pad_nd.default(%x, [%i, 0])",
    "%i = aten.item.default(%n)\n%y = aten.slice.Tensor(%x, 0, 0, %i)\n%s = aten.sym_size.int(%y, "
    "0)",
    "%i = .item(%n)\n%y = torch.arange(%i)\n%z = torch.cat([%y, %y])",
    // Values that are computed from data, and sizes that are not.
    "%i = .item(%n)\n%y = operator.mul(%x, %i)\n%s = .size(%y, 0)\n%z = torch.zeros(%s)",
    "%y = torch.mul(%x, %n)\n%z = .view(%y, 4, 8)",
    "%y = operator.getitem(%x, %n)\n%s = .size(%y, 0)",
    "%y = operator.getitem(%x, (slice(None, None, None), %n))",
    "%y = torch.stack([%n, %n])\n%s = .size(%y, 0)",
    "%y = torch.full([2, 3], 1)\n%z = torch.where(%m2, %x, %n)",
    "%s = aten.size.int(%x, 0)\n%t = prim.NumToTensor.Scalar(%s)\n%u = torch.mul(%t, 2)\n"
    "%i = aten.Int.Tensor(%u)\n%y = aten.reshape.default(%x, [2, -1])\n%k = aten.size.int(%y, 1)",
    "%y = aten.mul.Scalar(%x, 2)\n%s = .dim(%y)",
};

class SizesOfRunTest : public testing::TestWithParam<const char*> {};

std::string SizesText(const c10::IValue& value) {
  if (value.isTensor()) return absl::StrCat("tensor ", c10::str(value.toTensor().sizes()));
  return c10::str(value);
}

TEST_P(SizesOfRunTest, AreThoseThatDiffer) {
  const auto module = ParseModule(
      absl::StrCat("graph @forward(%x : f32[8, 4], %n : i64[], %m : bool[8], %m2 : bool[8, 4], "
                   "%counts : i64[8]) {\n",
                   GetParam(), "\nreturn (%x,)\n}\n"),
      "test");
  ASSERT_TRUE(module.ok()) << module.status();
  const auto executable = Compile(**module);
  ASSERT_TRUE(executable.ok()) << executable.status();
  std::map<std::string, std::string> found[2];
  for (int run = 0; run < 2; ++run) {
    const at::Tensor mask = at::arange(8).lt(run + 2);
    RunOptions options;
    options.observer = [&](const Node& node, const c10::IValue& value) {
      if (node.is_call()) found[run][std::string(node.name())] = SizesText(value);
      return absl::OkStatus();
    };
    const auto outputs =
        (*executable)
            ->Run({at::ones({8, 4}), at::scalar_tensor(run + 2, at::kLong), mask,
                   mask.unsqueeze(1).expand({8, 4}), at::full({8}, run + 1, at::kLong)},
                  options);
    ASSERT_TRUE(outputs.ok()) << outputs.status();
  }
  // The metas are those of the first run, as in a captured program.
  for (Node* node : (*module)->main()->nodes()) {
    if (!node->is_call()) continue;
    const std::string text = found[0][std::string(node->name())];
    if (absl::StartsWith(text, "tensor [")) {
      TensorMeta meta{.dtype = DType::kFloat32, .has_shape = true};
      std::vector<Dim> dims;
      for (const auto part :
           absl::StrSplit(text.substr(8, text.size() - 9), ", ", absl::SkipEmpty()))
        dims.push_back(Dim(std::stoll(std::string(part))));
      meta.shape = dims;
      node->set_meta((*module)->InternValueMeta(meta));
    }
  }
  SizesOfRun sizes;
  sizes.AddAll(**module);
  for (const Node* node : (*module)->main()->nodes()) {
    if (!node->is_call()) continue;
    const std::string name(node->name());
    EXPECT_EQ(sizes.Has(*node), found[0][name] != found[1][name])
        << name << ": " << found[0][name] << " and " << found[1][name];
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, SizesOfRunTest, testing::ValuesIn(kPrograms));

// PyTorch tags the operators whose results have sizes that depend on data.
TEST(SizesOfRunTest, OperatorsThatPyTorchTags) {
  int tagged = 0;
  for (const c10::OperatorName& name : c10::Dispatcher::singleton().getAllOpNames()) {
    const auto handle = c10::Dispatcher::singleton().findOp(name);
    if (!handle || !handle->hasSchema() || !absl::StartsWith(name.name, "aten::") ||
        !handle->hasTag(at::Tag::dynamic_output_shape))
      continue;
    const std::string base = name.name.substr(6);
    // These depend on the data of some operands only; the programs above have those of them that
    // are common.
    if (base == "index" || base == "repeat_interleave" || base == "one_hot" ||
        base == "linalg_lstsq" || base == "_ctc_loss")
      continue;
    ++tagged;
    const auto module =
        ParseModule(absl::StrCat("graph @forward(%x : i64[8]) {\n%y = aten.", base, ".",
                                 name.overload_name.empty() ? "default" : name.overload_name,
                                 "(%x) : i64[2]\nreturn (%y,)\n}\n"),
                    "test");
    ASSERT_TRUE(module.ok()) << module.status();
    SizesOfRun sizes;
    sizes.AddAll(**module);
    EXPECT_TRUE(sizes.Has(*(*module)->main()->FindNode("y"))) << base;
  }
  EXPECT_GT(tagged, 5);
}

// A value that goes into a body comes out of it.
TEST(SizesOfRunTest, BodiesAreFollowed) {
  const auto module = ParseModule(
      "graph @forward(%x : f32[8, 4], %n : i64[]) {\n"
      "  %i = .item(%n)\n"
      "  %y = torch.narrow(%x, 0, 0, %i) : f32[2, 4]\n"
      "  %c = torch.gt(%n, 0) : bool[]\n"
      "  %z = torch.cond(%c, @a, @b, (%y, %x))\n"
      "  %v = operator.getitem(%z, 0) : f32[2, 4]\n"
      "  %w = torch.cond(%c, @a, @b, (%x, %x))\n"
      "  return (%v,)\n}\n"
      "graph @a(%p : f32[2, 4], %q : f32[8, 4]) {\n  %s = .size(%p, 0)\n  return (%p,)\n}\n"
      "graph @b(%p : f32[2, 4], %q : f32[8, 4]) {\n  %r = torch.relu(%p) : f32[2, 4]\n  return "
      "(%r,)\n}\n",
      "test");
  ASSERT_TRUE(module.ok()) << module.status();
  SizesOfRun sizes;
  sizes.AddAll(**module);
  std::set<std::string> found;
  for (const Graph* graph : (*module)->graphs()) {
    for (const Node* node : graph->nodes()) {
      if (sizes.Has(*node)) found.insert(absl::StrCat(graph->name(), ".", node->name()));
    }
  }
  // A body that is called with tensors of both kinds counts as called with those of one run.
  EXPECT_EQ(found, (std::set<std::string>{"forward.i", "forward.y", "forward.z", "forward.v",
                                          "forward.w", "a.p", "a.q", "a.s", "b.p", "b.q", "b.r"}));
}

}  // namespace
}  // namespace graphnet
