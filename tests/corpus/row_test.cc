#include "graphnet/corpus/row.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "graphnet/base/utf8.h"
#include "graphnet/formats/protobuf/sample_proto.h"
#include "graphnet/ir/canonical_hash.h"
#include "graphnet/ir/text/parser.h"
#include "graphnet/ops/foreign_operators.h"
#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

Sample SampleOf(const std::string& text) {
  Sample sample;
  auto module = ParseModule(text, "test");
  EXPECT_OK(module) << text;
  sample.module = module.ok() ? *std::move(module) : std::make_unique<Module>();
  return sample;
}

CorpusRow RowOf(const Sample& sample) {
  absl::StatusOr<CorpusRow> row = MakeRow(sample);
  EXPECT_OK(row);
  return row.ok() ? *std::move(row) : CorpusRow();
}

CorpusRow RowOf(const std::string& text) { return RowOf(SampleOf(text)); }

// A graph of one call of two values.
CorpusRow RowOfCall(const std::string& call) {
  return RowOf(absl::StrCat("graph @forward(%x, %y) {\n  %z = ", call, "\n  return %z\n}\n"));
}

TEST(RowTest, HasAllThatAnIndexNeeds) {
  const CorpusRow row = RowOf(R"(graph @forward(%x: f32[2, 3, 8, 8], %w: f32[4, 3, 3, 3]) {
  %a = torch.conv2d(%x, %w, None, (2, 2), groups = 1)  : f32[2, 4, 3, 3]
  %b = torch.conv2d(%a, %w, stride = 2, padding = "same")
  %c = torch.nn.functional.relu(%b, inplace = True)
  %d = .relu_(%c)  : f16[2, 4]
  %e = torch.cat([%d, %c, %d], dim = -1)
  return (%e, [%d, %c])
}
)");
  EXPECT_THAT(row.targets, ElementsAre("cat", "conv2d", "relu"));
  EXPECT_THAT(row.counts, ElementsAre(1, 2, 2));
  EXPECT_THAT(row.args, ElementsAre("cat.dim=-1", "conv2d.padding=\"same\"", "conv2d.stride=2",
                                    "relu.inplace=1"));
  EXPECT_THAT(row.edges, ElementsAre("conv2d>conv2d", "conv2d>relu", "relu>cat", "relu>relu"));
  EXPECT_THAT(row.dtypes, ElementsAre("float16", "float32"));
  EXPECT_THAT(row.ranks, ElementsAre(2, 4));
  EXPECT_EQ(row.nodes, 8);
  EXPECT_EQ(row.inputs, 2);
  EXPECT_EQ(row.outputs, 2);
  EXPECT_EQ(row.parameters, 0);
}

TEST(RowTest, NamesACallByItsMeaning) {
  for (const char* const call :
       {"torch.add(%x, %y)", ".add(%x, %y)", ".add_(%x, %y)", "operator.add(%x, %y)",
        "operator.iadd(%x, %y)", "torch.ops.aten.add.Tensor(%x, %y)", "aten.add_.Tensor(%x, %y)",
        ".__radd__(%y, %x)"}) {
    const CorpusRow row = RowOfCall(call);
    EXPECT_THAT(row.targets, ElementsAre("add")) << call;
    EXPECT_THAT(row.args, IsEmpty()) << call;
  }
}

TEST(RowTest, WritesEqualConstantsAlike) {
  for (const char* const stride : {"2", "2.0", "(2, 2)", "[2, 2]", "(2,)"}) {
    const CorpusRow row =
        RowOfCall(absl::StrCat("torch.conv2d(%x, %y, stride = ", stride, ", padding = (1, 2))"));
    EXPECT_THAT(row.args, ElementsAre("conv2d.padding=[1,2]", "conv2d.stride=2")) << stride;
  }
  // Defaults are not listed, however they are written.
  for (const char* const groups : {"1", "1.0", "True"}) {
    EXPECT_THAT(RowOfCall(absl::StrCat("torch.conv2d(%x, %y, groups = ", groups, ")")).args,
                IsEmpty())
        << groups;
  }
}

TEST(RowTest, HashesAreThoseOfTheTool) {
  const Sample sample = SampleOf("graph @forward(%x: f32[2, 3]) {\n  return %x\n}\n");
  const CorpusRow row = RowOf(sample);
  EXPECT_EQ(absl::BytesToHexString(row.hash), CanonicalHash(*sample.module, {.metas = true}));
  EXPECT_THAT(row.hash, SizeIs(32));
  EXPECT_THAT(row.shape_hash, SizeIs(32));
}

TEST(RowTest, ShapeHashIsBlindToSizesOnly) {
  const char kGraph[] = R"(graph @forward(%x: f32[2, 64]) {
  %a = torch.softmax(%x, 1)
  %b = .view(%a, 2, 8, 8)
  %c = torch.reshape(%b, (2, 64))
  %d = torch.zeros(2, 64)
  %e = torch.add(%c, %d)  : f32[2, 64]
  return %e
}
)";
  const CorpusRow row = RowOf(kGraph);
  const auto with = [&](const char* from, const char* to) {
    const std::string text = absl::StrReplaceAll(kGraph, {{from, to}});
    EXPECT_NE(text, kGraph);
    return RowOf(text);
  };
  for (const auto& [from, to] :
       std::vector<std::pair<const char*, const char*>>{{"f32[2, 64]", "f32[16, 64]"},
                                                        {"2, 8, 8)", "16, 8, 8)"},
                                                        {"(2, 64))", "(16, -1))"},
                                                        {"zeros(2, 64)", "zeros(16, 32)"}}) {
    const CorpusRow other = with(from, to);
    EXPECT_EQ(other.shape_hash, row.shape_hash) << to;
    EXPECT_NE(other.hash, row.hash) << to;
    EXPECT_EQ(other.features, row.features) << to;
  }
  for (const auto& [from, to] : std::vector<std::pair<const char*, const char*>>{
           {"f32[2, 64]", "f16[2, 64]"},            // a dtype
           {"%x: f32[2, 64]", "%x: f32[2, 8, 8]"},  // a rank
           {"softmax(%x, 1)", "softmax(%x, 0)"},    // a dimension is no size
           {"2, 8, 8)", "2, 64)"}}) {               // another rank
    EXPECT_NE(with(from, to).shape_hash, row.shape_hash) << to;
  }
}

TEST(RowTest, TheBlobDoesNotSayWhereTheGraphIsFrom) {
  Sample sample = SampleOf("graph @forward(%x) {\n  %y = torch.relu(%x)\n  return %y\n}\n");
  const CorpusRow plain = RowOf(sample);
  sample.name = "resnet18";
  sample.graph_net_json = "{\"model\": 1}";
  sample.provenance.push_back({"parent", "00", 3, 4});
  sample.module->main()->FindNode("y")->set_location({"model.py", 7, 2});
  const CorpusRow row = RowOf(sample);
  EXPECT_EQ(row.blob, plain.blob);
  EXPECT_EQ(row.hash, plain.hash);
  EXPECT_EQ(row.name, "resnet18");
  EXPECT_EQ(row.json, "{\"model\": 1}");
  const auto read = DeserializeSample(row.blob, "blob");
  ASSERT_OK(read);
  EXPECT_EQ(read->name, "");
  EXPECT_EQ(absl::HexStringToBytes(CanonicalHash(*read->module, {.metas = true})), row.hash);
  EXPECT_EQ(RowOf(*read).blob, row.blob);
}

// The columns are stored and read ever after. If this test fails, raise kCorpusFeatureVersion.
TEST(RowTest, FeaturesStayTheSame) {
  const CorpusRow row = RowOf(R"(graph @forward(%x, %w) {
  %a = torch.conv2d(%x, %w)
  %b = torch.relu(%a)
  return %b
}
)");
  EXPECT_EQ(kCorpusFeatureVersion, 1);
  std::vector<std::string> features;
  for (const uint64_t feature : row.features) features.push_back(absl::StrCat(absl::Hex(feature)));
  EXPECT_THAT(features, ElementsAre("3de3e83ba6a55d2e", "7de7cb4a9da0965f", "7df94642fd930a06",
                                    "bdf0fd4bfa6cccc7", "bef0b4caa0d06ed3", "bef679ddfa0ab84f",
                                    "fef73d2639b50a30", "fefc7dc3560bd20a", "ffd04136901f5da3",
                                    "fff04136901f5da3", "fff19da2a5de8a7d"));
}

TEST(RowTest, FeaturesKnowTheStructureOnly) {
  const CorpusRow row = RowOfCall("torch.softmax(%x, 1)");
  EXPECT_EQ(row.features, RowOfCall(".softmax(%x, -1, dtype = torch.float32)").features);
  EXPECT_NE(row.features, RowOfCall("torch.relu(%x)").features);
  EXPECT_TRUE(std::is_sorted(row.features.begin(), row.features.end()));
  // More than eight equal calls give no more features.
  const auto chain = [](int calls) {
    std::string text = "graph @forward(%x) {\n";
    for (int i = 0; i < calls; ++i) absl::StrAppend(&text, "  %c", i, " = torch.relu(%x)\n");
    return RowOf(absl::StrCat(text, "  return %c0\n}\n")).features;
  };
  EXPECT_EQ(chain(8), chain(50));
  EXPECT_NE(chain(7), chain(8));
}

TEST(RowTest, CountsTheDefaultsOfALibraryAsGiven) {
  AddForeignOperator("rowlib::gain(Tensor x, float factor=2.5) -> Tensor");
  EXPECT_THAT(RowOfCall("torch.ops.rowlib.gain.default(%x)").args, ElementsAre("gain.factor=2.5"));
}

TEST(RowTest, AllTextIsUtf8AndShort) {
  Sample sample;
  sample.name = "a\xff name";
  sample.graph_net_json = "\xff{}";
  sample.module = std::make_unique<Module>();
  Graph* const graph = sample.module->AddGraph("main");
  Node* const x = graph->Placeholder("x");
  const std::string longer(10'000, 'n');
  const std::vector<KwArg> words = {{"\xc3(", 1}, {"word", absl::string_view(longer)}};
  Node* const y = graph->CallFunction(longer, {x, "\xff\xfe"}, words);
  Node* const z = graph->CallFunction("lib.\xff\n", {y}, std::vector<KwArg>{{"text", "\xff"}});
  graph->Output(z);
  const CorpusRow row = RowOf(sample);
  EXPECT_EQ(row.name, "a\uFFFD name");
  for (const auto* const column : {&row.targets, &row.args, &row.edges}) {
    EXPECT_FALSE(column->empty());
    for (const std::string& word : *column) {
      EXPECT_TRUE(IsUtf8(word));
      EXPECT_LT(word.size(), 600);
    }
  }
  EXPECT_TRUE(IsUtf8(row.json));
}

TEST(RowTest, SharedConstantsAreNotWrittenOut) {
  Sample sample;
  sample.module = std::make_unique<Module>();
  Graph* const graph = sample.module->AddGraph("main");
  Node* value = graph->Placeholder("x");
  std::vector<Argument> elements(2000, Argument(7));
  const Argument list = Argument::List(elements);
  const std::vector<KwArg> keywords = {{"k", list}};
  for (int i = 0; i < 200; ++i) value = graph->CallFunction("lib.f", {value, list}, keywords);
  graph->Output(value);
  const CorpusRow row = RowOf(sample);
  EXPECT_THAT(row.args, ElementsAre("f.k=7"));
}

TEST(RowTest, WordsWithoutEndAreRefused) {
  Sample sample;
  sample.module = std::make_unique<Module>();
  Graph* const graph = sample.module->AddGraph("main");
  const std::string text(100, '\xff');  // four bytes each, as a word
  std::vector<std::string> names;
  for (int i = 0; i < 170'000; ++i) names.push_back(absl::StrCat("k", i));
  std::vector<KwArg> keywords;
  for (const std::string& name : names) keywords.push_back({name, absl::string_view(text)});
  graph->Output(graph->CallFunction("lib.f", {}, keywords));
  EXPECT_THAT(MakeRow(sample), StatusIs(absl::StatusCode::kResourceExhausted,
                                        "the words of its index are far larger than the graph"));
}

TEST(RowTest, AModuleThatDoesNotVerifyIsRefused) {
  Sample sample;
  EXPECT_THAT(MakeRow(sample), StatusIs(absl::StatusCode::kInvalidArgument));
  sample.module = std::make_unique<Module>();
  sample.module->AddGraph("main")->Placeholder("x");
  EXPECT_THAT(MakeRow(sample), Not(IsOk()));
}

}  // namespace
}  // namespace graphnet
