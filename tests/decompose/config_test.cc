#include "graphnet/decompose/config.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<DecomposeConfig> Examples() {
  std::vector<DecomposeConfig> examples;
  const auto add = [&](DecomposeMode mode, int64_t number = 0) {
    examples.emplace_back();
    examples.back().mode = mode;
    examples.back().number = number;
    return &examples.back();
  };
  add(DecomposeMode::kPositions)->split_positions = {8, 16, 32};
  add(DecomposeMode::kRanges)->subgraph_ranges = {{0, 8}, {9, 20}};
  add(DecomposeMode::kValues)->values = {{{"x", "y"}, {"z"}}, {{}, {"w"}}};
  add(DecomposeMode::kFixedSize, 64);
  add(DecomposeMode::kEqual, 2);
  add(DecomposeMode::kBalanced, 8)->cut.style = Style::kChain;
  add(DecomposeMode::kModulePath, 3)->group_head_and_tail = false;
  add(DecomposeMode::kSingleOp)->cut.all_inputs = false;
  DecomposeConfig* done = add(DecomposeMode::kBlocks);
  done->model_name = "resnet18 \"a\\b\"\n\x01\xc3\xa9";
  done->parent_hash = std::string(64, 'a');
  done->num_ops = 12;
  done->cut.style = Style::kChain;
  done->subgraphs = {{"subgraph_0", {0, 8}, {"x", "w"}, {}, {"x"}, {"y"}},
                     {"subgraph_1", {8, 12}, {}, {"y"}}};
  return examples;
}

TEST(DecomposeConfigTest, JsonRoundTrip) {
  for (const DecomposeConfig& config : Examples()) {
    const std::string text = WriteDecomposeConfigJson(config).value();
    const auto back = ParseDecomposeConfigJson(text, "c.json");
    ASSERT_OK(back) << text;
    EXPECT_TRUE(*back == config) << text;
    EXPECT_THAT(WriteDecomposeConfigJson(*back), IsOkAndHolds(text));
  }
}

TEST(DecomposeConfigTest, ProtobufRoundTrip) {
  for (const DecomposeConfig& config : Examples()) {
    const std::string bytes = SerializeDecomposeConfig(config);
    const auto back = DeserializeDecomposeConfig(bytes, "c.pb");
    ASSERT_OK(back) << WriteDecomposeConfigJson(config).value();
    EXPECT_TRUE(*back == config) << WriteDecomposeConfigJson(config).value();
  }
}

TEST(DecomposeConfigTest, JsonIsAsDocumented) {
  DecomposeConfig config;
  config.mode = DecomposeMode::kPositions;
  config.split_positions = {8};
  config.model_name = "resnet18";
  config.parent_hash = std::string(64, '0');
  config.num_ops = 69;
  config.cut.style = Style::kChain;
  config.subgraphs = {{"subgraph_0", {0, 8}, {"x", "w"}, {}, {"x"}, {"y"}},
                      {"subgraph_1", {8, 69}, {}, {"z"}}};
  EXPECT_EQ(WriteDecomposeConfigJson(config).value(), R"({
  "version": 2,
  "mode": "positions",
  "split_positions": [8],
  "chain_style": true,
  "group_head_and_tail": true,
  "use_all_inputs": true,
  "model_name": "resnet18",
  "parent_hash": "0000000000000000000000000000000000000000000000000000000000000000",
  "num_ops": 69,
  "num_subgraphs": 2,
  "subgraphs": [
    {"name": "subgraph_0", "start": 0, "end": 8, "num_ops": 8, "inputs": ["x", "w"], "drops": ["x"], "adds": ["y"]},
    {"name": "subgraph_1", "start": 8, "end": 69, "num_ops": 61, "outputs": ["z"]}
  ]
}
)");
}

TEST(DecomposeConfigTest, JsonMayBeShortAndInAnyOrder) {
  const auto config = ParseDecomposeConfigJson(
      "\t{ \"pieces\" : 3 ,\r\n\"mode\":\"equal\",\"version\":2}", "c.json");
  ASSERT_OK(config);
  EXPECT_EQ(config->number, 3);
  EXPECT_TRUE(config->group_head_and_tail);
}

// Returns the message with which a text is refused.
std::string Refusal(absl::string_view text) {
  const auto config = ParseDecomposeConfigJson(text, "c.json");
  return config.ok() ? "accepted" : std::string(config.status().message());
}

TEST(DecomposeConfigTest, JsonErrorsNameThePlace) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"", "c.json:1:1: malformed JSON"},
      {"[]", "c.json:1:1: expected a JSON object"},
      {"{\"version\": 2,\n \"mode\": \"equal\"} x", "c.json:2:19: malformed JSON"},
      {"{\"version\": 2,}", "c.json:1:15: malformed JSON"},
      {"{\"mode\": \"e\nq\"}", "c.json:1:12: malformed JSON"},
      {"{}", "c.json: version: the key is missing"},
      {"{\"version\": 2}", "c.json: mode: the key is missing"},
      {"{\"version\": 1, \"mode\": \"blocks\"}", "c.json: version: expected 2"},
      {"{\"version\": 2,\n \"colour\": 2}", "c.json: colour: unknown key"},
      {"{\"version\": 2, \"version\": 2}", "c.json: the key version is a duplicate"},
      {"{\"values\": [{\"inputs\": [], \"inputs\": []}]}", "c.json: the key inputs is a duplicate"},
      {"{\"version\": 2, \"mode\": \"odd\"}", "c.json: mode: unknown mode odd"},
      {"{\"version\": 2.5}", "c.json: version: expected an integer"},
      {"{\"version\": true}", "c.json: version: expected an integer"},
      {"{\"version\": 9223372036854775808}", "c.json: version: the number is too large"},
      {"{\"chain_style\": 1}", "c.json: chain_style: expected true or false"},
      {"{\"mode\": null}", "c.json: mode: expected a string"},
      {"{\"split_positions\": [1, \"2\"]}", "c.json: split_positions[1]: expected an integer"},
      {"{\"subgraph_ranges\": [[1]]}",
       "c.json: subgraph_ranges[0]: expected a list of two numbers"},
      {"{\"subgraph_ranges\": [[1, 2, 3]]}",
       "c.json: subgraph_ranges[0]: expected a list of two numbers"},
      {"{\"subgraphs\": [{\"odd\": 1}]}", "c.json: subgraphs[0].odd: unknown key"},
      {"{\"subgraphs\": {}}", "c.json: subgraphs: expected a list"},
      {"{\"values\": [{\"inputs\": []}, {\"odd\": 1}]}", "c.json: values[1].odd: unknown key"},
      {"{\"version\": 2, \"mode\": \"equal\"}", "c.json: \"pieces\" must be at least 1"},
      {"{\"version\": 2, \"mode\": \"equal\", \"size\": 3}", "c.json: size: mode equal takes none"},
      {"{\"version\": 2, \"mode\": \"equal\", \"pieces\": 1000001}",
       "c.json: \"pieces\" must be at most 1000000"},
      {"{\"version\": 2, \"mode\": \"blocks\", \"split_positions\": [1]}",
       "c.json: mode blocks needs no further key"},
      {"{\"version\": 2, \"mode\": \"ranges\"}",
       "c.json: mode ranges needs \"subgraph_ranges\" and no other"},
      {"{\"version\": 2, \"mode\": \"blocks\", \"num_ops\": 3}",
       "c.json: a decomposition that has been made needs its \"parent_hash\""},
      {"{\"version\": 2, \"mode\": \"blocks\", \"parent_hash\": \"ab\"}",
       "c.json: \"parent_hash\" must have 64 digits"},
  };
  for (const auto& [text, message] : cases) EXPECT_EQ(Refusal(text), message) << text;
}

// JSON is UTF-8; other readers would refuse a file with other bytes.
TEST(DecomposeConfigTest, JsonHoldsNoOtherBytes) {
  DecomposeConfig config = Examples().back();
  config.model_name = "\xff";
  EXPECT_THAT(WriteDecomposeConfigJson(config).status(),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("not UTF-8")));
}

// Neither deep nesting nor many keys take more time or stack than their size allows.
TEST(DecomposeConfigTest, HugeJsonIsRefused) {
  EXPECT_THAT(Refusal("{\"values\": " + std::string(100000, '[')), HasSubstr("deep"));
  std::string many = "{";
  for (int i = 0; i < 200000; ++i) many += "\"k" + std::to_string(i) + "\":0,";
  many.back() = '}';
  EXPECT_THAT(Refusal(many), HasSubstr("unknown key"));
}

TEST(DecomposeConfigTest, CountsMustAgree) {
  const std::string text = WriteDecomposeConfigJson(Examples().back()).value();
  const auto with = [&](absl::string_view from, absl::string_view to) {
    const std::string changed = absl::StrReplaceAll(text, {{from, to}});
    EXPECT_NE(changed, text) << from;
    return Refusal(changed);
  };
  EXPECT_THAT(with("\"num_subgraphs\": 2", "\"num_subgraphs\": 3"),
              HasSubstr("num_subgraphs: 3, but there are 2 subgraphs"));
  EXPECT_THAT(with("\"num_ops\": 8", "\"num_ops\": 9"),
              HasSubstr("subgraphs[0]: \"num_ops\" is missing or not \"end\" less"));
  EXPECT_THAT(with("\"end\": 12, \"num_ops\": 4", "\"end\": 13, \"num_ops\": 5"),
              HasSubstr("subgraph 1 is not a range of the 12 operators"));
  EXPECT_THAT(with("subgraph_1", "subgraph_2"),
              HasSubstr("subgraph 1 is called subgraph_2, not subgraph_1"));
}

TEST(DecomposeConfigTest, AChainSaysDifferences) {
  DecomposeConfig config = Examples().back();
  config.subgraphs = {{"subgraph_0", {0, 4}, {"x", "w", "v"}, {}, {"x"}, {"y"}},
                      {"subgraph_1", {4, 8}, {}, {}, {"w", "y"}, {}},
                      {"subgraph_2", {8, 12}, {}, {"z"}}};
  ASSERT_EQ(WhatIsWrong(config), "");
  PortNames ports(config);
  ports.Next();
  EXPECT_THAT(ports.inputs(), ElementsAre("x", "w", "v"));
  EXPECT_THAT(ports.outputs(), ElementsAre("w", "v", "y"));
  ports.Next();
  EXPECT_THAT(ports.inputs(), ElementsAre("w", "v", "y"));
  EXPECT_THAT(ports.outputs(), ElementsAre("v"));
  ports.Next();
  EXPECT_THAT(ports.inputs(), ElementsAre("v"));
  EXPECT_THAT(ports.outputs(), ElementsAre("z"));

  const auto wrong = [&](auto&& change) {
    DecomposeConfig changed = config;
    change(changed.subgraphs);
    return WhatIsWrong(changed);
  };
  using Subgraphs = std::vector<SubgraphConfig>;
  EXPECT_EQ(wrong([](Subgraphs& s) { s[1].inputs = {"w"}; }),
            "subgraph 1 has \"inputs\", but takes what the one before it returns");
  EXPECT_THAT(wrong([](Subgraphs& s) { s[1].outputs = {"w"}; }),
              HasSubstr("subgraph 1 has \"outputs\", but returns its inputs"));
  EXPECT_EQ(wrong([](Subgraphs& s) { s[2].adds = {"w"}; }),
            "subgraph 2 has \"adds\", but its outputs are listed");
  EXPECT_EQ(wrong([](Subgraphs& s) { s[1].drops = {"x"}; }),
            "subgraph 1 drops x, which it does not take");
  EXPECT_EQ(wrong([](Subgraphs& s) {
              s[1].drops = {"y", "w"};
            }),
            "subgraph 1 drops w, which comes before another that it drops");
}

TEST(DecomposeConfigTest, TruncatedOrFlippedIsRefusedOrAnotherConfig) {
  for (const DecomposeConfig& config : Examples()) {
    const std::string text = WriteDecomposeConfigJson(config).value();
    for (size_t size = 0; size + 2 < text.size(); ++size) {
      EXPECT_FALSE(ParseDecomposeConfigJson(text.substr(0, size), "c.json").ok())
          << text.substr(0, size);
    }
    const std::string bytes = SerializeDecomposeConfig(config);
    for (size_t i = 0; i < bytes.size(); ++i) {
      std::string flipped = bytes;
      flipped[i] = static_cast<char>(flipped[i] ^ 0x41);
      const auto back = DeserializeDecomposeConfig(flipped, "c.pb");
      EXPECT_FALSE(back.ok() && *back == config);
    }
  }
}

TEST(DecomposeConfigTest, ProtobufErrors) {
  EXPECT_THAT(DeserializeDecomposeConfig("", "c.pb").status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "c.pb: not the configuration of a decomposition"));
  const std::string bytes = SerializeDecomposeConfig(Examples()[4]);
  EXPECT_THAT(DeserializeDecomposeConfig(bytes + "\x98\x06\x01", "c.pb").status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "c.pb: holds fields that this program does not know"));
}

}  // namespace
}  // namespace graphnet
