#include "graphnet/view/node_values.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "graphnet/ir/module.h"
#include "gtest/gtest.h"
#include "tests/ir/text/parsed_module.h"

namespace graphnet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kModule[] = R"(graphnet.module 1

graph @forward(%x) {
  %relu = aten.relu.default(%x)
  %relu_1 = aten.relu.default(%relu)
  return (%relu_1,)
}
end
)";

class NodeValuesTest : public testing::Test {
 protected:
  const ParsedModule module_ = graphnet::Parse(kModule);

  const Node* NodeOf(absl::string_view name) const {
    for (const Node* node : module_->main()->nodes()) {
      if (node->name() == name) return node;
    }
    ADD_FAILURE() << name;
    return nullptr;
  }
  // Returns the row of a node as JSON.
  std::string Row(const NodeValues& values, absl::string_view name) const {
    const auto it = values.rows.find(NodeOf(name));
    return it == values.rows.end() ? "none" : Json::List(it->second).Dump(-1);
  }
  NodeValues Parse(absl::string_view text) const {
    auto values = ParseNodeValues(text, "f", *module_);
    EXPECT_TRUE(values.ok()) << values.status().message();
    return values.ok() ? *std::move(values) : NodeValues();
  }
  std::string Error(absl::string_view text) const {
    const auto values = ParseNodeValues(text, "f", *module_);
    EXPECT_EQ(values.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(values.status().message());
  }
};

TEST_F(NodeValuesTest, Csv) {
  const NodeValues values = Parse(
      "path,node,shape,ms\r\na.pb,relu,\"[1,\"\"8\"\"]\",0.5\r\n\na.pb,%relu_1,,nan\nb.pb,other,,"
      "1");
  EXPECT_THAT(values.columns, ElementsAre("path", "shape", "ms"));
  EXPECT_EQ(Row(values, "relu"), R"(["a.pb","[1,\"8\"]",0.5])");
  EXPECT_EQ(Row(values, "relu_1"), R"(["a.pb",null,"nan"])");
  EXPECT_EQ(Row(values, "x"), "none");
  EXPECT_EQ(values.unknown, 1);
  EXPECT_EQ(values.first_unknown, "other");
}

TEST_F(NodeValuesTest, CsvWithoutAColumnOfThatName) {
  EXPECT_EQ(Row(Parse("\xEF\xBB\xBFwhich,mine\nrelu,3\nrelu,4\n"), "relu"), "[4.0]");
}

TEST_F(NodeValuesTest, Json) {
  EXPECT_EQ(Row(Parse(R"({"relu": 0.5, "x": null})"), "relu"), "[0.5]");
  const NodeValues named = Parse(R"({"relu": {"ms": 2, "why": [1]}, "%relu_1": {"us": true}})");
  EXPECT_THAT(named.columns, ElementsAre("ms", "why", "us"));
  EXPECT_EQ(Row(named, "relu"), R"([2,"[1]",null])");
  EXPECT_EQ(Row(named, "relu_1"), R"([null,null,"true"])");
}

TEST_F(NodeValuesTest, ReportsThatListNodes) {
  for (
      const char* text :
      {R"([{"node": "%relu = aten.relu.default", "ms": 2}])",
       R"({"samples": [{"outputs": [{"name": "o0"}], "profile": [{"node": "relu", "ms": 2}]}]})"}) {
    const NodeValues values = Parse(text);
    EXPECT_THAT(values.columns, ElementsAre("ms")) << text;
    EXPECT_EQ(Row(values, "relu"), "[2]") << text;
  }
}

TEST_F(NodeValuesTest, WhatIsNoTable) {
  EXPECT_THAT(Error("node,ms\nrelu\n"),
              HasSubstr("f: row 1 has another number of cells than the head: 1, not 2"));
  EXPECT_THAT(Error("node,ms\nrelu,\"2\n"), HasSubstr("f:2: the quotes"));
  EXPECT_THAT(Error("node,ms\nrulu,2\n"), HasSubstr("of rulu; did you mean relu?"));
  EXPECT_THAT(Error("{\"relu\": "), HasSubstr("f:1:"));
  std::string wide = "{\"relu\": {\"c0\": 0";
  for (int i = 1; i < 1000; ++i) absl::StrAppend(&wide, ", \"c", i, "\": 0");
  EXPECT_EQ(Parse(wide + "}}").columns.size(), 1000);
  EXPECT_THAT(Error(wide + ", \"more\": 0, \"most\": 0}}"), HasSubstr("f: more than 1000 columns"));
  for (const char* text : {"", "\n", "node,ms\n", "[]", "{}", "[[1]]", "[{\"nodes\": 1}]"})
    EXPECT_THAT(Error(text), HasSubstr("neither CSV nor JSON")) << text;
}

}  // namespace
}  // namespace graphnet
