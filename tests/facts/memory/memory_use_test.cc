#include "graphnet/facts/memory/memory_use.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/text/parser.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Finds the memory use of node %n in a graph of one line.
class Line {
 public:
  explicit Line(absl::string_view call, absl::string_view more = "") {
    absl::StatusOr<std::unique_ptr<Module>> module =
        ParseModule(absl::StrCat("graph @forward(%x, %y, %z) {\n  %n = ", call, "\n", more,
                                 "  return (%n,)\n}\n"),
                    "test");
    EXPECT_OK(module) << call;
    module_ = module.ok() ? *std::move(module) : std::make_unique<Module>();
    for (const Node* node : module_->main()->nodes()) {
      if (node->name() == "n") node_ = node;
    }
  }
  std::vector<std::string> Written() const { return Names(MemoryUseOf(*node_).written); }
  std::vector<std::string> Shared() const { return Names(MemoryUseOf(*node_).shared); }
  bool YieldsTuple() const { return graphnet::YieldsTuple(*node_); }

 private:
  static std::vector<std::string> Names(const absl::InlinedVector<Node*, 2>& nodes) {
    std::vector<std::string> names;
    for (const Node* node : nodes) {
      if (names.empty() || names.back() != node->name()) names.emplace_back(node->name());
    }
    return names;
  }
  std::unique_ptr<Module> module_;
  const Node* node_ = nullptr;
};

TEST(MemoryUseTest, PureOperatorsHaveNone) {
  for (const char* call :
       {"torch.matmul(%x, %y)", "torch.nn.functional.relu(%x, inplace = False)",
        "torch.nn.functional.relu(%x)", "operator.add(%x, %y)", ".sum(%x)", "aten.relu.default(%x)",
        "torch.nn.functional.batch_norm(%x, %y, %z, training = False)", "torch._C._nn.gelu(%x)",
        "torch.fft.rfft(%x)"}) {
    EXPECT_THAT(Line(call).Written(), IsEmpty()) << call;
    EXPECT_THAT(Line(call).Shared(), IsEmpty()) << call;
  }
}

TEST(MemoryUseTest, ViewsShareMemory) {
  for (const char* call : {".view(%x, -1)", ".transpose(%x, 0, 1)", "torch.reshape(%x, (1, 2))",
                           "operator.getitem(%x, 0)", "aten.view.default(%x, [1])",
                           ".contiguous(%x)", ".to(%x, torch.float16)", ".float(%x)",
                           "torch.functional.split(%x, 2)", "builtins.getattr(%x, \"T\")"}) {
    EXPECT_THAT(Line(call).Written(), IsEmpty()) << call;
    EXPECT_THAT(Line(call).Shared(), ElementsAre("x")) << call;
  }
}

TEST(MemoryUseTest, SomeReturnTheirArgumentThoughTheSchemaDoesNotSaySo) {
  EXPECT_THAT(Line("torch.nn.functional.dropout(%x, 0.1, False, False)").Shared(),
              ElementsAre("x"));
  EXPECT_THAT(Line(".type_as(%x, %y)").Shared(), ElementsAre("x", "y"));
}

TEST(MemoryUseTest, InPlaceOperatorsWrite) {
  for (const char* call :
       {".add_(%x, %y)", "aten.relu_.default(%x)", "operator.iadd(%x, %y)", "torch.relu_(%x)",
        "torch.nn.functional.relu(%x, inplace = True)", "torch.nn.functional.relu(%x, True)",
        "torch.nn.functional.dropout(%x, 0.1, False, True)"}) {
    EXPECT_THAT(Line(call).Written(), ElementsAre("x")) << call;
    EXPECT_THAT(Line(call).Shared(), ElementsAre("x")) << call;
  }
  EXPECT_THAT(Line("operator.setitem(%x, 0, %y)").Written(), ElementsAre("x"));
  EXPECT_THAT(Line("torch.add(%x, %y, out = %z)").Written(), ElementsAre("z"));
  EXPECT_THAT(Line("torch.add(%x, %y, out = %z)").Shared(), ElementsAre("z"));
  EXPECT_THAT(Line(".index_put_(%x, (%y,), %z)").Written(), ElementsAre("x"));
}

TEST(MemoryUseTest, BatchNormInTrainingWritesItsStatistics) {
  EXPECT_THAT(Line("torch.nn.functional.batch_norm(%x, %y, %z, None, None, True)").Written(),
              ElementsAre("y", "z"));
  EXPECT_THAT(
      Line("aten.batch_norm.default(%x, None, None, %y, %z, True, 0.1, 1e-05, False)").Written(),
      ElementsAre("y", "z"));
  EXPECT_THAT(
      Line("aten.batch_norm.default(%x, None, None, %y, %z, False, 0.1, 1e-05, False)").Written(),
      IsEmpty());
}

TEST(MemoryUseTest, TheUnknownMayDoAnything) {
  for (const char* call :
       {"torch.ops.mine.f(%x, [%y])", "mine.f(%x, %y)", "torch.no_such_function(%x, %y)"}) {
    EXPECT_THAT(Line(call).Written(), ElementsAre("x", "y")) << call;
    EXPECT_THAT(Line(call).Shared(), ElementsAre("x", "y")) << call;
  }
}

TEST(YieldsTupleTest, BySchema) {
  for (const char* call :
       {"torch.chunk(%x, 2)", ".split(%x, 1)", "torch.functional.split(%x, 2)", ".unbind(%x)",
        "torch.max(%x, 1)", ".max(%x, dim = 1)", ".topk(%x, 3)", "aten.max.dim(%x, 1)", ".size(%x)",
        "builtins.getattr(%x, \"shape\")", "torch.functional.meshgrid(%x, %y)"}) {
    EXPECT_TRUE(Line(call).YieldsTuple()) << call;
  }
  for (const char* call : {"torch.relu(%x)", "torch.max(%x)", "torch.max(%x, %y)",
                           "aten.max.default(%x)", ".size(%x, 0)", "operator.getitem(%x, 0)",
                           "operator.add(%x, %y)", "builtins.getattr(%x, \"T\")"}) {
    EXPECT_FALSE(Line(call).YieldsTuple()) << call;
  }
}

TEST(YieldsTupleTest, ByMetaFirst) {
  EXPECT_TRUE(Line("torch.relu(%x) : (f32[1],)").YieldsTuple());
  EXPECT_FALSE(Line("torch.chunk(%x, 2) : f32[1]").YieldsTuple());
}

TEST(YieldsTupleTest, ByUsersIfNothingElseIsKnown) {
  const auto of = [](absl::string_view more, absl::string_view returned) {
    auto module = ParseModule(
        absl::StrCat("graph @g(%x) {\n  %n = mine.f(%x)\n", more, "  return ", returned, "\n}\n"),
        "test");
    EXPECT_OK(module);
    return YieldsTuple(*(*module)->main()->FindNode("n"));
  };
  EXPECT_TRUE(of("  %a = operator.getitem(%n, 0)\n", "%a"));
  EXPECT_FALSE(of("  %a = operator.getitem(%n, 0)\n", "(%a, %n)"));
  EXPECT_FALSE(of("  %a = operator.getitem(%n, %x)\n", "%a"));
  EXPECT_FALSE(of("", "%x"));
}

}  // namespace
}  // namespace graphnet
