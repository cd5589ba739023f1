#include "graphnet/passes/call_query.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "graphnet/ir/text/parser.h"
#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kGraph[] = R"(graph @forward(%x, %m) {
  %conv = torch.conv2d(%x, %m, None, (2, 2), (1, 1), (1, 1), 1)
  %conv_1 = torch.conv2d(%conv, %m, stride = 1, groups = 1)
  %relu = torch.nn.functional.relu(%conv_1, inplace = False)
  %relu_1 = .relu(%conv)
  %relu_2 = torch.ops.aten.relu.default(%relu_1)
  %masked = torch.nn.functional.scaled_dot_product_attention(%x, %x, %relu, attn_mask = %m, scale = 0.5)
  %by_place = torch.nn.functional.scaled_dot_product_attention(%x, %relu, %x, %m)
  %plain = torch.nn.functional.scaled_dot_product_attention(%x, %x, %x, attn_mask = None)
  %cat = torch.cat([%relu, %relu_2], -1)
  %own = mylib.op(%cat, 3)
  %sum = torch.add(%own, %own, alpha = 2)
  return (%conv, %masked, %by_place, %plain, %sum)
}
)";

std::vector<std::string> FoundIn(absl::string_view graph, const std::string& text) {
  const auto module = ParseModule(graph, "test");
  EXPECT_OK(module);
  const auto query = CallQuery::Parse(text);
  EXPECT_OK(query);
  if (!module.ok() || !query.ok()) return {"error"};
  const auto nodes = query->Find(module->get());
  EXPECT_OK(nodes);
  std::vector<std::string> names;
  if (nodes.ok()) {
    for (const Node* node : *nodes) names.emplace_back(node->name());
  }
  return names;
}

std::vector<std::string> Found(const std::string& text) { return FoundIn(kGraph, text); }

TEST(CallQueryTest, NamesMatchFunctionsMethodsAndOverloads) {
  EXPECT_THAT(Found("relu"), ElementsAre("relu", "relu_1", "relu_2"));
  EXPECT_THAT(Found("relu(%)"), ElementsAre("relu", "relu_1", "relu_2"));
  EXPECT_THAT(Found(".relu"), ElementsAre("relu_1"));
  EXPECT_THAT(Found("torch.nn.functional.relu|.relu"), ElementsAre("relu", "relu_1"));
  EXPECT_THAT(Found("torch.ops.aten.relu"), ElementsAre("relu_2"));
  EXPECT_THAT(Found("torch.ops.aten.relu.default"), ElementsAre("relu_2"));
  EXPECT_THAT(Found("torch.relu"), IsEmpty());
  EXPECT_THAT(Found("mylib.op"), ElementsAre("own"));
}

constexpr char kSpellings[] = R"(graph @forward(%x, %m) {
  %torch_add = torch.add(%x, %m)
  %method_add = .add(%x, %m)
  %plus = operator.add(%x, %m)
  %aten_add = aten.add.Tensor(%x, %m)
  %in_place = .add_(%x, %m)
  %iadd = operator.iadd(%x, %m)
  %radd = .__radd__(%m, %x)
  %divide = torch.true_divide(%x, %m)
  %over = operator.truediv(%x, %m)
  %over_two = .div(%x, 2, rounding_mode = "floor")
  %idiv = operator.itruediv(%x, 3)
  %minus = torch.sub(1, %x)
  %rsub = torch.rsub(%x, 1)
  %rsub_keyword = torch.rsub(%x, other = 1)
  %aten_rsub = aten.rsub.Scalar(%m, 1)
  %masked = operator.and_(%x, %m)
  %bits = torch.bitwise_and(%x, %m)
  %rand = torch.rand(2, 3)
  %item = operator.getitem(%x, 0)
  %view = .view(%x, 2, 3, 4)
  %view_list = .view(%x, (2, 3, 4))
  %joined = torch.concat((%x, %m), 1)
  %cat = aten.cat.default([%x, %m], 1)
  %soft = torch.nn.functional.softmax(%over, dim = -1)
  return (%soft,)
}
)";

std::vector<std::string> FoundSpellings(const std::string& text) {
  return FoundIn(kSpellings, text);
}

TEST(CallQueryTest, ACallHasOneMeaningWhateverItsSpelling) {
  const std::vector<std::string> adds = {"torch_add", "method_add", "plus", "aten_add",
                                         "in_place",  "iadd",       "radd"};
  // Fewer arguments match the same calls.
  for (const char* query : {"add", "add(%)", "add(?)", "add(%, %)", "add(%x, ?)", "__add__"})
    EXPECT_EQ(FoundSpellings(query), adds) << query;
  EXPECT_EQ(FoundSpellings("add(%, other=%)"), adds);
  EXPECT_THAT(FoundSpellings("add_"), ElementsAre("in_place", "iadd"));
  EXPECT_THAT(FoundSpellings("iadd(%)"), ElementsAre("in_place", "iadd"));
  EXPECT_THAT(FoundSpellings("radd"), ElementsAre("radd"));
  EXPECT_THAT(FoundSpellings("operator.add(%)"), ElementsAre("plus"));
  EXPECT_THAT(FoundSpellings("torch.add(%)"), ElementsAre("torch_add"));
  EXPECT_THAT(FoundSpellings(".add(%)"), ElementsAre("method_add"));
  for (const char* query : {"div", "truediv", "div(%)", "true_divide(%)", "divide"}) {
    EXPECT_THAT(FoundSpellings(query), ElementsAre("divide", "over", "over_two", "idiv")) << query;
  }
  EXPECT_THAT(FoundSpellings("div(%, 2)"), ElementsAre("over_two"));
  EXPECT_THAT(FoundSpellings("and_"), ElementsAre("masked", "bits"));
  EXPECT_THAT(FoundSpellings("bitwise_and(%)"), ElementsAre("masked", "bits"));
  EXPECT_THAT(FoundSpellings("rand"), ElementsAre("rand"));
  EXPECT_THAT(FoundSpellings("getitem(%)"), ElementsAre("item"));
  EXPECT_THAT(FoundSpellings("view(%x)"), ElementsAre("view", "view_list"));
  EXPECT_THAT(FoundSpellings("view(%x, 2)"), ElementsAre("view"));
  EXPECT_THAT(FoundSpellings("cat"), ElementsAre("joined", "cat"));
  EXPECT_THAT(FoundSpellings("concat([%, %])"), ElementsAre("joined", "cat"));
  EXPECT_THAT(FoundSpellings("softmax(truediv(%x))"), ElementsAre("soft"));
}

// The operands of a reflected call are those of the call that it stands for, in the other order.
TEST(CallQueryTest, ReflectedCallsAreTurned) {
  EXPECT_THAT(FoundSpellings("sub(1, %)"),
              ElementsAre("minus", "rsub", "rsub_keyword", "aten_rsub"));
  EXPECT_THAT(FoundSpellings("sub(?)"), ElementsAre("minus", "rsub", "rsub_keyword", "aten_rsub"));
  EXPECT_THAT(FoundSpellings("sub(%, 1)"), IsEmpty());
  EXPECT_THAT(FoundSpellings("rsub(%, 1)"), ElementsAre("rsub", "rsub_keyword", "aten_rsub"));
  EXPECT_THAT(FoundSpellings("torch.rsub(%, 1)"), ElementsAre("rsub", "rsub_keyword"));
}

TEST(CallQueryTest, ArgumentsAreFoundByPositionAndKeywordAndOthersMayBeThere) {
  EXPECT_THAT(Found("scaled_dot_product_attention(attn_mask=%)"),
              ElementsAre("masked", "by_place"));
  EXPECT_THAT(Found("scaled_dot_product_attention(attn_mask=?)"),
              ElementsAre("masked", "by_place", "plain"));
  EXPECT_THAT(Found("scaled_dot_product_attention(attn_mask=None)"), ElementsAre("plain"));
  EXPECT_THAT(Found("scaled_dot_product_attention(scale=?)"), ElementsAre("masked"));
  EXPECT_THAT(Found("conv2d(stride=(2, 2))"), ElementsAre("conv"));
  EXPECT_THAT(Found("conv2d(groups = 1)"), ElementsAre("conv", "conv_1"));
  EXPECT_THAT(Found("cat(?, -1)"), ElementsAre("cat"));
  EXPECT_THAT(Found("cat([%, %], dim=-1)"), ElementsAre("cat"));
  EXPECT_THAT(Found("cat(dim=1)"), IsEmpty());
}

TEST(CallQueryTest, DefaultsCountAsGiven) {
  EXPECT_THAT(Found("conv2d(groups=1)"), ElementsAre("conv", "conv_1"));
  EXPECT_THAT(Found("conv2d(dilation=1)"), ElementsAre("conv", "conv_1"));
  EXPECT_THAT(Found("conv2d(padding=0)"), ElementsAre("conv_1"));
  EXPECT_THAT(Found("conv2d(bias=None)"), ElementsAre("conv", "conv_1"));
  EXPECT_THAT(Found("conv2d(%, %, None)"), ElementsAre("conv", "conv_1"));
  EXPECT_THAT(Found("conv2d(stride=2)"), ElementsAre("conv"));
  EXPECT_THAT(Found("conv2d(stride=(1, 1))"), ElementsAre("conv_1"));
  EXPECT_THAT(Found("scaled_dot_product_attention(is_causal=False)"),
              ElementsAre("masked", "by_place", "plain"));
  EXPECT_THAT(Found("relu(inplace=False)"),
              ElementsAre("relu"));  // The other calls have no such argument.
  EXPECT_THAT(Found("op(nosuch=1)"), IsEmpty());
}

TEST(CallQueryTest, ConstantsAreCompared) {
  EXPECT_THAT(Found("conv2d(groups>1)"), IsEmpty());
  EXPECT_THAT(Found("conv2d(groups >= 1)"), ElementsAre("conv", "conv_1"));
  EXPECT_THAT(Found("conv2d(stride>1)"), ElementsAre("conv"));
  EXPECT_THAT(Found("conv2d(stride<=1)"), ElementsAre("conv_1"));
  EXPECT_THAT(Found("conv2d(stride!=(2, 2))"), ElementsAre("conv_1"));
  EXPECT_THAT(Found("conv2d(stride!=2)"), ElementsAre("conv_1"));
  EXPECT_THAT(Found("conv2d(stride in [2, 3])"), ElementsAre("conv"));
  EXPECT_THAT(Found("conv2d(padding in[0, (1, 1)])"), ElementsAre("conv", "conv_1"));
  EXPECT_THAT(Found("add(alpha==2)"), ElementsAre("sum"));
  EXPECT_THAT(Found("add(alpha<1.5)"), IsEmpty());
  EXPECT_THAT(Found("scaled_dot_product_attention(scale!=None)"), ElementsAre("masked"));
  EXPECT_THAT(Found("relu(conv2d(stride>1))"), ElementsAre("relu_1"));
}

TEST(CallQueryTest, ValuesHaveTypes) {
  const auto found = [](const std::string& text) {
    const auto module = ParseModule(
        "graph @forward(%x : f32[2, 64]@cpu, %y : f16[64, 3]@cpu, %n) {\n"
        "  %a = torch.relu(%x) : f32[2, 64]@cpu\n"
        "  %b = torch.relu(%y) : f16[64, 3]@cpu\n"
        "  %c = torch.relu(%n)\n"
        "  return (%a, %b, %c)\n}\n",
        "test");
    EXPECT_OK(module);
    const auto query = CallQuery::Parse(text);
    EXPECT_OK(query);
    std::vector<std::string> names;
    const auto nodes = query->Find(module->get());
    EXPECT_OK(nodes);
    for (const Node* node : *nodes) names.emplace_back(node->name());
    return names;
  };
  EXPECT_THAT(found("relu(%: f32)"), ElementsAre("a"));
  EXPECT_THAT(found("relu(% : f16|f32[*, *])"), ElementsAre("a", "b"));
  EXPECT_THAT(found("relu(%): ?[..., 3]"), ElementsAre("b"));
  EXPECT_THAT(found("relu(%x: ?[*, *, *])"), IsEmpty());
  EXPECT_THAT(std::string(CallQuery::Parse("relu(%: f99)").status().message()),
              HasSubstr("query: expected a dtype, as f32, or ?"));
}

TEST(CallQueryTest, DoubtsNameUnknownFunctionsAndParameters) {
  const auto doubts = [](const std::string& text, bool names) {
    const auto query = CallQuery::Parse(text);
    EXPECT_OK(query);
    return query->Doubts(names);
  };
  EXPECT_THAT(doubts("linear(nosuch=1)", false), ElementsAre("linear takes no nosuch"));
  EXPECT_THAT(doubts("conv2d(group>1)", false),
              ElementsAre("conv2d takes no group; did you mean groups?"));
  EXPECT_THAT(doubts("truediv(getitem(iadd(__add__())))", true), IsEmpty());
  EXPECT_THAT(doubts("lineer", true),
              ElementsAre("PyTorch has nothing that is called lineer; did you mean linear?"));
  EXPECT_THAT(doubts("lineer", false), IsEmpty());
  EXPECT_THAT(doubts("mylib.op(x=1)", true), IsEmpty());
  EXPECT_THAT(doubts("relu(inplace=True)", true), IsEmpty());
  EXPECT_THAT(doubts("scaled_dot_product_attention(attn_mask=%)", true), IsEmpty());
}

TEST(CallQueryTest, AValueMayBeNamedOrACall) {
  EXPECT_THAT(Found("scaled_dot_product_attention(%a, %a, %a)"), ElementsAre("plain"));
  EXPECT_THAT(Found("scaled_dot_product_attention(%a, %a)"), ElementsAre("masked", "plain"));
  EXPECT_THAT(Found("add(%a, %a)"), ElementsAre("sum"));
  EXPECT_THAT(Found("conv2d(conv2d(%))"), ElementsAre("conv_1"));
  // The inner call may have other users and other operands.
  EXPECT_THAT(Found("relu(conv2d())"), ElementsAre("relu", "relu_1"));
  EXPECT_THAT(Found("relu(relu(conv2d(stride=(2, 2))))"), ElementsAre("relu_2"));
}

TEST(CallQueryTest, ErrorsNameTheColumn) {
  const auto error = [](const std::string& text) {
    return std::string(CallQuery::Parse(text).status().message());
  };
  EXPECT_THAT(error(""), HasSubstr("query:1: expected the name"));
  EXPECT_THAT(error("relu("), HasSubstr("query:6: expected )"));
  EXPECT_THAT(error("relu(%))"), HasSubstr("query:8: expected the end"));
  EXPECT_THAT(error("a||b"), HasSubstr("beside |"));
  EXPECT_THAT(error("f(\"text)"), HasSubstr("does not end"));
  EXPECT_THAT(error("f(%\n, 1)"), HasSubstr("a line"));
  EXPECT_EQ(error("relu(conv2d)"), "query: expected a value, found 'conv2d'");
  EXPECT_THAT(error("f(1 2)"), HasSubstr("query: expected"));
  EXPECT_THAT(error("f(**%x)"), HasSubstr("query"));
  EXPECT_THAT(error("f(n>%)"), HasSubstr("query:5: expected a constant to compare n with"));
  EXPECT_THAT(error("f(n>)"), HasSubstr("query:5: expected an argument"));
  EXPECT_THAT(error("f(n>1 2)"), HasSubstr("query"));
  EXPECT_THAT(error("f(, 1)"), HasSubstr("query:3: expected an argument"));
  EXPECT_THAT(error(std::string(100000, '(')), HasSubstr("expected the name"));
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "f(";
  EXPECT_THAT(error(deep), HasSubstr("nested deeper"));
  EXPECT_THAT(error("f(" + std::string(100000, '[')), HasSubstr("nested deeper"));
}

}  // namespace
}  // namespace graphnet
