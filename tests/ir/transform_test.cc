#include "graphnet/ir/transform.h"

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "graphnet/ir/text/printer.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"
#include "tests/ir/text/parsed_module.h"

namespace graphnet {
namespace {

constexpr char kGraph[] = R"(graph @forward(%x) {
  %a = f(%x) : f32[2] in one
  %b = g(%a) : f32[3]
  %c = h(@body, %b)
  return (%c, %a)
}

graph @body(%x) {
  %y = f(%x)
  return %y
}
)";

std::string Print(const Module& module) { return PrintModule(module, {.header = false}); }

TEST(TransformTest, NewNodesKeepTheNameTheMetaAndTheModule) {
  const ParsedModule module = Parse(kGraph);
  const auto changed = Transform(*module, [](Node* call) -> absl::StatusOr<Argument> {
    if (!call->is_call_function("f")) return call;
    Node* const first = call->graph()->CallFunction("f", {call->args()[0]});  // not asked about
    return call->graph()->CallFunction("k", {first});
  });
  ASSERT_OK(changed);
  EXPECT_OK(Verify(**changed));
  EXPECT_EQ(Print(**changed), R"(graph @forward(%x) {
  %f = f(%x) in one
  %a = k(%f) : f32[2] in one
  %b = g(%a) : f32[3]
  %c = h(@body, %b)
  return (%c, %a)
}

graph @body(%x) {
  %f = f(%x)
  %y = k(%f)
  return %y
}
)");
  EXPECT_EQ(Print(*module), kGraph);  // the original
}

TEST(TransformTest, ACallCanBecomeItsOperandOrATuple) {
  const ParsedModule module = Parse(R"(graph @forward(%x) {
  %a = dropout(%x)
  %b = pair(%a)
  %c = operator.getitem(%b, 1)
  return (%c,)
}
)");
  const auto changed = Transform(*module, [](Node* call) -> absl::StatusOr<Argument> {
    if (call->is_call_function("dropout")) return call->args()[0];
    if (!call->is_call_function("pair")) return call;
    EXPECT_EQ(call->args()[0].node()->name(), "x");  // already replaced
    Node* const made = call->graph()->CallFunction("half", {call->args()[0]});
    return call->graph()->module()->CopyArgument(Argument::Tuple({call->args()[0], made}));
  });
  ASSERT_OK(changed);
  EXPECT_OK(Verify(**changed));
  EXPECT_EQ(Print(**changed), R"(graph @forward(%x) {
  %half = half(%x)
  return (%half,)
}
)");
}

TEST(TransformTest, AnErrorEndsIt) {
  const ParsedModule module = Parse(kGraph);
  const auto changed = Transform(*module, [](Node* call) -> absl::StatusOr<Argument> {
    if (call->is_call_function("g")) return absl::UnimplementedError("no g");
    return call;
  });
  EXPECT_THAT(changed.status(), StatusIs(absl::StatusCode::kUnimplemented, "no g"));
}

}  // namespace
}  // namespace graphnet
