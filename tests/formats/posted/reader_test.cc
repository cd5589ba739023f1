#include "graphnet/formats/posted/reader.h"

#include <algorithm>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "graphnet/base/file.h"
#include "graphnet/base/limits.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/sample.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/ir/verifier.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"

namespace graphnet::posted {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kGraph[] =
    R"py(class GraphModule(torch.nn.Module):
    def forward(self, x: "f32[s0, 8][8, 1]cuda:0", n: "Sym(s0)"):
        # File: net.py:7 in forward, code: y = x * n
        mul: "f32[s0, 8][8, 1]cuda:0" = torch.ops.aten.mul.Tensor(x, n);  n = None

        # No stacktrace found for following nodes
        t: "f32[8, s0][1, 8]cuda:0" = torch.ops.aten.t.default(mul);  mul = None
        return (t,)
)py";

Sample Read(const std::string& text, std::vector<std::string>* notes = nullptr) {
  absl::StatusOr<Sample> sample = ReadGraph(text, "", notes);
  EXPECT_TRUE(sample.ok()) << sample.status();
  if (!sample.ok()) std::abort();
  EXPECT_TRUE(Verify(*sample->module).ok());
  return *std::move(sample);
}

std::string Text(const Sample& sample) { return PrintModule(*sample.module); }

TEST(PostedReaderTest, ReadsAnnotationsPlacesAndSymbols) {
  std::vector<std::string> notes;
  const Sample sample = Read(kGraph, &notes);
  EXPECT_EQ(sample.name, "graph_module");
  const std::string text = Text(sample);
  EXPECT_THAT(text, HasSubstr("%x : f32[s0, 8]@cuda:0 as torch.Tensor"));
  EXPECT_THAT(text, HasSubstr("%n as torch.SymInt {data = [4]}"));
  EXPECT_THAT(text, HasSubstr("%t = aten.t.default(%mul) : f32[8, s0]@cuda:0"));
  const graphnet::Graph& graph = *sample.module->main();
  EXPECT_EQ(graph.FindNode("mul")->location().file, "net.py");
  EXPECT_EQ(graph.FindNode("mul")->location().line, 7);
  EXPECT_EQ(graph.FindNode("t")->location().file, "");
  EXPECT_THAT(notes, ElementsAre(HasSubstr("these are taken: s0 = 4")));
}

TEST(PostedReaderTest, TakesOffWhatIsAround) {
  const std::string expected = Text(Read(kGraph));
  const auto with = [&](absl::string_view before) {
    return absl::StrCat(before, absl::StrReplaceAll(kGraph, {{"\n", absl::StrCat("\n", before)}}));
  };
  EXPECT_EQ(Text(Read(with("> "))), expected);
  EXPECT_EQ(Text(Read(with("> > "))), expected);
  EXPECT_EQ(Text(Read(with("        "))), expected);
  EXPECT_EQ(Text(Read(with("V1130 12:00:00.000000 12 torch/a.py:7] [0/0_1] [__graph_code] "))),
            expected);
  EXPECT_EQ(Text(Read(with("[rank1]:I0101 12:00:00.1 12 torch/a.py:7] [__aot_graphs] "))),
            expected);
  EXPECT_EQ(Text(Read(with("[2024-01-31 12:00:00,123] [0/0] torch.a.__graph_code: [DEBUG] "))),
            expected);
  EXPECT_EQ(Text(Read(absl::StrReplaceAll(kGraph, {{"\n", "\r\n"}}))), expected);
  EXPECT_EQ(Text(Read(absl::StrReplaceAll(kGraph, {{"mul:", "\x1b[31mmul\x1b[0m:"}}))), expected);
  EXPECT_EQ(Text(Read(absl::StrCat("It fails:\n```python\n", kGraph, "```\nWhy?\n"))), expected);
}

TEST(PostedReaderTest, ReadsTheStartOfAGraph) {
  const std::string text = kGraph;
  const std::string start = text.substr(0, text.find("        return"));
  for (const char* end : {"", "        ...\n", "        …\n"}) {
    std::vector<std::string> notes;
    const Sample sample = Read(start + end, &notes);
    EXPECT_THAT(Text(sample), HasSubstr("return (%t,)"));
    EXPECT_THAT(notes[0], HasSubstr("the text ends before the graph returns"));
  }
}

TEST(PostedReaderTest, NamesTheGraphsOfALog) {
  const std::string text =
      absl::StrCat("TRACED GRAPH\n ===== Forward graph 0 =====\n", kGraph,
                   "TRACED GRAPH\n ===== Forward graph 0 =====\n", kGraph, "\n", kGraph);
  EXPECT_THAT(ListGraphs(text),
              ElementsAre("forward_graph_0", "forward_graph_0_1", "graph_module"));
  std::vector<std::string> notes;
  EXPECT_EQ(Read(text, &notes).name, "forward_graph_0");
  EXPECT_THAT(notes.back(), HasSubstr("the first of 3 graphs is read"));
  EXPECT_EQ(ReadGraph(text, "graph_module", nullptr)->name, "graph_module");
  EXPECT_THAT(ReadGraph(text, "other", nullptr).status(),
              StatusIs(absl::StatusCode::kNotFound, "no graph is named other"));
}

TEST(PostedReaderTest, SkipsCodeThatIsNoGraph) {
  const std::string text = absl::StrCat(
      "class Net(torch.nn.Module):\n    def forward(self, x):\n        if x.sum() > 0:\n"
      "            return x\n        return x + 1\n\n",
      kGraph);
  EXPECT_THAT(ListGraphs(text), ElementsAre("graph_module"));
  std::vector<std::string> notes;
  EXPECT_EQ(Text(Read(text, &notes)), Text(Read(kGraph)));
  EXPECT_THAT(notes[0], HasSubstr("no graph, and left out: net (line 2)"));
}

TEST(PostedReaderTest, TellsGraphsFromCode) {
  EXPECT_TRUE(LooksLikePosted(kGraph, /*must_be_readable=*/true));
  const std::string wrong = absl::StrReplaceAll(kGraph, {{"(mul)", "(gone)"}});
  EXPECT_TRUE(LooksLikePosted(wrong, /*must_be_readable=*/false));
  EXPECT_FALSE(LooksLikePosted(wrong, /*must_be_readable=*/true));
  EXPECT_FALSE(LooksLikePosted(
      "class Net(torch.nn.Module):\n    def forward(self, x):\n        return self.linear(x)\n",
      /*must_be_readable=*/false));
  EXPECT_FALSE(LooksLikePosted("text = 'class GraphModule(torch.nn.Module): def forward(self)'",
                               /*must_be_readable=*/false));
}

TEST(PostedReaderTest, ReadsAttributesOfSelf) {
  const Sample sample = Read(
      R"py(def forward(self, x):
    w: "f32[4, 8]" = self.a.weight
    b = getattr(getattr(self.layers, "0"), "1").bias
    conv = self.conv(x)
    linear = torch._C._nn.linear(conv, w, b);  conv = w = b = None
    return pytree.tree_unflatten([linear], self._out_spec)
)py");
  const std::string text = Text(sample);
  EXPECT_THAT(text, HasSubstr("attribute a.weight : f32[4, 8]"));
  EXPECT_THAT(text, HasSubstr("%b = get_attr layers.0.1.bias"));
  EXPECT_THAT(text, HasSubstr("call_module conv(%x)"));
  EXPECT_THAT(text, HasSubstr("return (%linear,)"));
}

TEST(PostedReaderTest, ReadsRepros) {
  std::vector<std::string> notes;
  const Sample sample = Read(
      R"py(class Repro(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()

    def forward(self, s0, x_1):
        view = torch.ops.aten.view.default(x_1, [s0, 4]);  x_1 = s0 = None
        return (view,)

def load_args(reader):
    reader.symint(3)
    buf0 = reader.storage(None, 24, device=device(type='cuda', index=1), dtype_hint=torch.float16)
    reader.tensor(buf0, (4, 3), (1, 4), dtype=torch.float16, is_leaf=True)  # x_1
load_args._version = 0
)py",
      &notes);
  EXPECT_EQ(sample.name, "repro");
  EXPECT_THAT(Text(sample), HasSubstr("%s0 as torch.SymInt {data = [3]}"));
  EXPECT_THAT(Text(sample), HasSubstr("%x_1 : f16[4, 3]@cuda:1 as torch.Tensor"));
  EXPECT_THAT(notes, ElementsAre(HasSubstr("the strides of 1 input are left out")));
}

TEST(PostedReaderTest, SaysWhereAnErrorIs) {
  const auto error = [](const std::string& text) {
    return std::string(ReadGraph(text, "", nullptr).status().message());
  };
  EXPECT_EQ(error(absl::StrReplaceAll(kGraph, {{"(mul)", "(gone)"}})),
            "7:64: 'gone' is not defined");
  EXPECT_EQ(
      error(absl::StrCat("> ", absl::StrReplaceAll(kGraph, {{"(mul)", "(gone)"}, {"\n", "\n> "}}))),
      "7:66: 'gone' is not defined");
  EXPECT_EQ(error("nothing"), "no method forward of a torch.nn.Module is in the text");
  const std::string signature = absl::StrCat(
      "ExportedProgram:\n", kGraph, "\nGraph signature:\n    # inputs\n    y: USER_INPUT\n");
  EXPECT_EQ(error(signature), "13:5: signature: the graph has no input y");
}

TEST(PostedReaderTest, RefusesTooManyLines) {
  const std::string text = absl::StrCat(kGraph, std::string(kMaxTextLines, '\n'));
  EXPECT_FALSE(LooksLikePosted(text, /*must_be_readable=*/false));
  EXPECT_THAT(ListGraphs(text), IsEmpty());
  EXPECT_THAT(ReadGraph(text, "", nullptr).status(),
              StatusIs(absl::StatusCode::kResourceExhausted, "more than 4194304 lines"));
}

// Damaged texts are read or refused: they neither crash nor hang, and what is read can be verified.
TEST(PostedReaderTest, SurvivesDamage) {
  std::mt19937 random(7);
  const auto below = [&](size_t bound) { return random() % std::max<size_t>(bound, 1); };
  size_t read = 0;
  for (const char* name : {"branches.txt", "compile.log", "dynamo_repro.txt", "mlp.txt",
                           "module.txt", "readable.txt", "repro.txt", "training.txt"}) {
    const absl::StatusOr<std::string> whole =
        ReadFile(absl::StrCat("tests/formats/posted/testdata/", name), kMaxTextFileBytes);
    ASSERT_TRUE(whole.ok()) << whole.status();
    for (int i = 0; i < 500; ++i) {
      std::string text = *whole;
      for (size_t n = 1 + below(4); n > 0; --n) {
        const size_t at = below(text.size()), length = below(40);
        const std::string part = text.substr(at, length);
        switch (below(5)) {
          case 0: text.erase(at, length); break;
          case 1: text.insert(below(text.size()), part); break;
          case 2: text.resize(at); break;
          case 3: text[at] = "()[]{}:;,.='\"\n #\0\x1b>*-"[below(24)]; break;
          default: text.replace(at, length, text.substr(below(text.size()), length)); break;
        }
        if (text.empty()) break;
      }
      std::vector<std::string> notes;
      const absl::StatusOr<Sample> sample = ReadGraph(text, "", &notes);
      if (!sample.ok()) continue;
      ++read;
      Verify(*sample->module).IgnoreError();
    }
  }
  EXPECT_GT(read, 1000);
}

}  // namespace
}  // namespace graphnet::posted
