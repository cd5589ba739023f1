// Tests the description of a folder: stitch.json and README.md.
#include "graphnet/extract/description.h"

#include <cstdlib>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graphnet/ir/annotation.h"
#include "graphnet/ir/text/parser.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace graphnet {
namespace {

using nlohmann::json;

ValueTree Tensor(int64_t number) { return {.kind = ValueTree::Kind::kTensor, .number = number}; }

// Makes a program of `count` subgraphs, each followed by a print.
ExtractedProgram Example(int count) {
  ExtractedProgram program;
  StitchManifest& manifest = program.manifest;
  manifest.name = "net";
  manifest.archive = "net.pt";
  manifest.inputs.push_back({"x", Tensor(0)});
  manifest.inputs.push_back({"n", {.kind = ValueTree::Kind::kInt, .number = 2}});
  manifest.tensors[0] = {DType::kFloat32, "cpu", {8, 3}, {"batch", ""}};
  manifest.symbols.push_back({"batch", 8});
  manifest.relations.push_back({"batch >= 2", "", 0});
  for (int i = 0; i < count; ++i) {
    absl::StatusOr<std::unique_ptr<Module>> module = ParseModule(
        "symbol batch = 8\nattribute w : f32[3]@cpu\n"
        "graph @forward(%x : f32[batch, 3]@cpu) {\n  %w = get_attr w : f32[3]@cpu\n"
        "  %y = aten.mul.Tensor(%x, %w) : f32[batch, 3]@cpu\n  return (%y,)\n}\n",
        "m");
    if (!module.ok()) {
      ADD_FAILURE() << module.status();
      std::abort();
    }
    (*module)->AddAttribute({.name = "w",
                             .meta = (*module)->FindAttribute("w")->meta,
                             .annotation = kParameterAnnotation});
    Sample sample;
    sample.name = "net";
    sample.module = *std::move(module);
    sample.weights["w"] = {DType::kFloat32, {3}, std::make_shared<std::string>(12, 'x')};
    program.subgraphs.push_back(std::move(sample));
    manifest.subgraphs.push_back({absl::StrCat("subgraph_", i), "hash", i > 0 ? 0 : -1, 1});
    StitchStep run;
    run.subgraph = i;
    run.inputs = {i};
    run.outputs = {i + 1};
    manifest.steps.push_back(run);
    if (i + 1 == count) break;
    StitchStep print;
    print.op = "prim::Print";
    print.operands = {Tensor(i + 1)};
    print.reason = BreakReason::kPrint;
    print.file = "net.py";
    print.line = 7;
    print.column = 4;
    print.source = "    print(a | b)";
    manifest.steps.push_back(print);
  }
  manifest.result = Tensor(count);
  return program;
}

std::vector<SubgraphFiles> Files(int count) {
  std::vector<SubgraphFiles> files;
  for (int i = 0; i < count; ++i) {
    const std::string name = absl::StrCat("subgraph_", i);
    files.push_back({name + ".pb", name + ".safetensors", name + ".py", "", {"w"}});
  }
  return files;
}

void ExpectJson(const json& found, const char* expected) {
  EXPECT_EQ(found, json::parse(expected)) << found;
}

TEST(Json, IsCompleteAndKeepsNumbersAsNumbers) {
  const std::string text = StitchJson(Example(2), Files(2));
  EXPECT_EQ(text, StitchJson(Example(2), Files(2)));
  const json out = json::parse(text);
  EXPECT_EQ(out["version"], 1);
  EXPECT_EQ(out["name"], "net");
  EXPECT_EQ(out["archive"], "net.pt");
  ExpectJson(out["inputs"][0], R"({"name": "x", "value": {"tensor": 0}, "after": null})");
  EXPECT_EQ(out["inputs"][1]["value"], 2);
  ExpectJson(out["tensors"][0], R"({"tensor": 0, "from": {"input": "x"}, "dtype":
      "float32", "device": "cpu", "shape": ["batch", 3], "example": [8, 3]})");
  ExpectJson(out["tensors"][1], R"({"tensor": 1, "from": {"step": 0}, "dtype":
      "float32", "device": "cpu", "shape": ["batch", 3], "example": [8, 3]})");
  ExpectJson(out["attributes"], R"([{"name": "w", "file": "subgraph_0.safetensors",
      "dtype": "float32", "shape": [3], "strides": null, "requires_grad": true}])");
  ExpectJson(out["steps"][0], R"({"subgraph": 0, "inputs": [{"tensor": 0}],
      "outputs": [{"tensor": 1}]})");
  ExpectJson(out["steps"][1], R"j({"operation": "prim::Print", "overload": "",
      "inputs": [{"tensor": 1}], "outputs": [], "reason": "print", "file": "net.py", "line": 7,
      "column": 4, "source": "    print(a | b)"})j");
  ExpectJson(out["subgraphs"][1], R"({"name": "subgraph_1", "hash": "hash",
      "duplicate_of": 0, "calls": 1, "sample": "subgraph_1.pb", "python": "subgraph_1.py",
      "why_not": null, "attributes": ["w"]})");
  EXPECT_EQ(out["relations"][0]["line"], nullptr);
}

TEST(Json, DescribesEachValue) {
  using Kind = ValueTree::Kind;
  const std::pair<ValueTree, const char*> values[] = {
      {{}, "null"},
      {{.kind = Kind::kBool, .number = 1}, "true"},
      {{.kind = Kind::kInt, .number = -9223372036854775807 - 1}, "-9223372036854775808"},
      {{.kind = Kind::kFloat, .real = 0.1}, "0.1"},
      {{.kind = Kind::kFloat, .real = 3}, "3.0"},
      {{.kind = Kind::kFloat, .real = -0.0}, "-0.0"},
      {{.kind = Kind::kFloat, .real = std::numeric_limits<double>::quiet_NaN()},
       R"({"float":"nan"})"},
      {{.kind = Kind::kFloat, .real = -std::numeric_limits<double>::infinity()},
       R"({"float":"-inf"})"},
      {{.kind = Kind::kComplex, .real = 1, .imaginary = 2}, R"({"complex":[1.0,2.0]})"},
      {{.kind = Kind::kString, .text = "a\"ü"}, R"("a\"ü")"},
      {{.kind = Kind::kString, .text = std::string("\xff\0", 2)}, R"({"bytes":[255,0]})"},
      {{.kind = Kind::kDevice, .text = "cuda:0"}, R"({"device":"cuda:0"})"},
      {{.kind = Kind::kSize, .text = "2*batch"}, R"({"size":"2*batch"})"},
      {{.kind = Kind::kObject, .number = 4}, R"({"object":4})"},
      {{.kind = Kind::kTuple, .elements = {Tensor(0), {}}}, R"({"tuple":[{"tensor":0},null]})"},
      {{.kind = Kind::kList, .text = "List[int]"}, R"({"list":[],"type":"List[int]"})"},
      {{.kind = Kind::kDict, .text = "Dict[int, Tensor]", .elements = {{}, Tensor(0)}},
       R"({"dict":[[null,{"tensor":0}]],"type":"Dict[int, Tensor]"})"},
  };
  for (const auto& [tree, text] : values) {
    ExtractedProgram program = Example(1);
    program.manifest.result = tree;
    EXPECT_TRUE(absl::StrContains(StitchJson(program, Files(1)),
                                  absl::StrCat("\n \"result\": ", text, "\n}\n")))
        << text;
  }
}

TEST(Readme, SaysWhatRuns) {
  const std::string one = StitchReadme(Example(1), Files(1));
  for (const char* part :
       {"# net\n", "`net.pt`", "as 1 graph and 0 operations", "- `x`: `f32[batch, 3]`\n",
        "- `n`: `2`\n", "- `batch >= 2`\n", "graphnet run . ", "python run_stitched.py ",
        "result = program(x, n)",
        "| subgraph_0 | `subgraph_0.pb` | 1 | 1: f32[batch, 3] | 1: f32[batch, 3] | the end |"}) {
    EXPECT_TRUE(absl::StrContains(one, part)) << part << " in " << one;
  }
  EXPECT_FALSE(absl::StrContains(one, "## Between them"));
  const std::string many = StitchReadme(Example(100), Files(100));
  EXPECT_TRUE(absl::StrContains(many, "as 100 graphs and 99 operations"));
  EXPECT_TRUE(absl::StrContains(many, "| print `net.py:7` `print(a \\| b)`"));
  EXPECT_TRUE(absl::StrContains(many, "| subgraph_98 | `prim::Print(v99)` |"));
  for (const absl::string_view line : absl::StrSplit(many, '\n')) EXPECT_LT(line.size(), 300u);
}

TEST(Readme, SaysWhatPythonCannotRun) {
  std::vector<SubgraphFiles> files = Files(1);
  files[0].python = "";
  files[0].why_not = "a method that Python cannot spell";
  EXPECT_TRUE(
      absl::StrContains(StitchReadme(Example(1), files),
                        "Python cannot run subgraph_0: a method that Python cannot spell."));
  EXPECT_EQ(json::parse(StitchJson(Example(1), files))["subgraphs"][0]["python"], nullptr);
}

}  // namespace
}  // namespace graphnet
