#include "graphnet/extract/manifest.h"

#include "absl/strings/match.h"
#include "graphnet/base/file.h"
#include "graphnet/base/limits.h"
#include "graphnet/extract/break_reason.h"
#include "gtest/gtest.h"

namespace graphnet {
namespace {

ValueTree Tensor(int64_t number) { return {.kind = ValueTree::Kind::kTensor, .number = number}; }

StitchManifest Example() {
  StitchManifest manifest;
  manifest.name = "net";
  manifest.archive = "net.pt";
  manifest.inputs.push_back({"x", Tensor(0)});
  manifest.inputs.push_back({"n", {.kind = ValueTree::Kind::kInt, .number = -3}});
  manifest.states.push_back({"layer", "buf", Tensor(1)});
  manifest.constants[1] = "layer.buf";
  manifest.tensors[0] = {DType::kFloat32, "cpu", {2, 3}};
  manifest.subgraphs.push_back({"subgraph_0", "abc", -1, 4});
  StitchStep run;
  run.subgraph = 0;
  run.inputs = {0, 1};
  run.outputs = {2};
  manifest.steps.push_back(run);
  StitchStep item;
  item.op = "aten::item";
  item.operands = {Tensor(2)};
  item.results = {{.kind = ValueTree::Kind::kFloat, .real = 0.1}};
  item.reason = BreakReason::kNumberFromTensor;
  item.file = "net.py";
  item.line = 7;
  item.column = 4;
  item.source = "n = y.item()";
  manifest.steps.push_back(item);
  manifest.strides["w"] = {1, 4};
  ValueTree text{.kind = ValueTree::Kind::kString, .text = std::string("\xff\0z", 3)};
  manifest.result = {
      .kind = ValueTree::Kind::kDict, .text = "Dict(str, Tensor)", .elements = {text, Tensor(2)}};
  return manifest;
}

TEST(Manifest, RoundTrips) {
  const std::string bytes = SerializeManifest(Example());
  const absl::StatusOr<StitchManifest> back = ParseManifest(bytes, "m");
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(SerializeManifest(*back), bytes);
  EXPECT_EQ(back->archive, "net.pt");
  EXPECT_EQ(back->steps[1].reason, BreakReason::kNumberFromTensor);
  EXPECT_EQ(back->steps[1].results[0].real, 0.1);
  EXPECT_EQ(back->result.elements[0].text.size(), 3u);
  EXPECT_EQ(back->inputs[1].pattern.number, -3);
}

TEST(Manifest, RefusesWhatNoExtractionWrites) {
  const auto refused = [](const StitchManifest& manifest, absl::string_view why) {
    const absl::StatusOr<StitchManifest> back = ParseManifest(SerializeManifest(manifest), "m.pb");
    EXPECT_FALSE(back.ok()) << why;
    EXPECT_TRUE(absl::StrContains(back.status().message(), why)) << back.status();
    EXPECT_TRUE(absl::StartsWith(back.status().message(), "m.pb: ")) << back.status();
  };
  StitchManifest manifest = Example();
  manifest.result = Tensor(9);
  refused(manifest, "v9 is used before it is made");
  manifest.parameters = {12};
  refused(manifest, "v12 is used before it is made");
  manifest = Example();
  manifest.result = {.kind = ValueTree::Kind::kObject, .number = 8};
  refused(manifest, "v8 is used before it is made");
  manifest = Example();
  manifest.steps[0].inputs.push_back(2);
  refused(manifest, "v2 is used before it is made");
  manifest = Example();
  manifest.steps[0].outputs = {int64_t{1} << 40};
  refused(manifest, "v1099511627776");
  manifest = Example();
  manifest.inputs[0].pattern = Tensor(-1);
  refused(manifest, "out of range");
  manifest = Example();
  manifest.steps[0].subgraph = 1;
  refused(manifest, "do not run in order");
  manifest = Example();
  manifest.subgraphs[0].name = "../../etc/passwd";
  refused(manifest, "not a plain file name");
  manifest = Example();
  for (int i = 0; i < 70; ++i) {
    ValueTree outer{.kind = ValueTree::Kind::kTuple};
    outer.elements.push_back(manifest.result);
    manifest.result = outer;
  }
  refused(manifest, "nest too deep");
  manifest = Example();
  manifest.inputs[1].pattern = {.kind = ValueTree::Kind::kNumber, .number = 8};
  refused(manifest, "a number has no example");
  manifest.inputs[1].pattern.elements = {Tensor(0)};
  refused(manifest, "a number has no example");
  manifest = Example();
  manifest.result = {.kind = ValueTree::Kind::kNumber,
                     .number = 8,
                     .elements = {{.kind = ValueTree::Kind::kFloat, .real = 0.5}}};
  refused(manifest, "v8 is used before it is made");
}

TEST(Manifest, RefusesAHugeFile) {
  const std::string bytes(kMaxTextFileBytes + 1, ' ');
  EXPECT_EQ(ParseManifest(bytes, "m.pb").status().message(), "m.pb: the manifest is too large");
}

TEST(Manifest, RefusesEveryTruncation) {
  const std::string bytes = SerializeManifest(Example());
  size_t accepted = 0;
  for (size_t size = 0; size < bytes.size(); ++size) {
    // A prefix that ends between fields is a valid message, which lacks the later fields.
    const absl::StatusOr<StitchManifest> back = ParseManifest(bytes.substr(0, size), "m");
    accepted += back.ok() && SerializeManifest(*back) == bytes ? 1 : 0;
  }
  EXPECT_EQ(accepted, 0u);
}

TEST(BreakReasons, AreInTheDocs) {
  const absl::StatusOr<std::string> page = ReadFile("docs/extraction.md", size_t{1} << 20);
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_TRUE(absl::StrContains(*page, BreakReasonsMarkdown())) << BreakReasonsMarkdown();
}

}  // namespace
}  // namespace graphnet
