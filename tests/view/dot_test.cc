// Compares the drawings of small modules, given as text, line by line, without the preamble of
// fonts and styles.
#include "graphnet/view/dot.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/graph.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/text/parser.h"
#include "graphnet/view/picture.h"
#include "graphnet/view/style.h"
#include "gtest/gtest.h"

namespace graphnet {
namespace {

// Returns the drawing after the preamble, with colours replaced by their meanings.
std::string Body(const Module& module) {
  const auto picture = MakePicture(module);
  if (!picture.ok()) return std::string(picture.status().message());
  std::string dot = WriteDot(*picture);
  const size_t preamble = dot.find("arrowsize=0.6];\n");
  if (preamble == std::string::npos) return dot;
  dot.erase(0, preamble + sizeof("arrowsize=0.6];\n") - 1);
  // Replace colours by their meanings.
  std::vector<std::pair<std::string, std::string>> meanings;
  for (int kind = 0; kind < kNumBoxKinds; ++kind) {
    const BoxStyle& style = StyleOf(static_cast<BoxKind>(kind));
    meanings.push_back(
        {absl::StrCat(", fillcolor=\"", style.fill, "\""), absl::StrCat(" ", style.meaning)});
  }
  return absl::StrReplaceAll(dot, meanings);
}

std::string Draw(absl::string_view text) {
  const auto module = ParseModule(text, "test");
  if (!module.ok()) {
    ADD_FAILURE() << module.status().message();
    return "";
  }
  return Body(**module);
}

TEST(DotWriter, NodesAndUses) {
  EXPECT_EQ(Draw(R"(
    graph @forward(%x : f32[2, 8]@cpu) {
      %relu = torch.relu(%x) : f32[2, 8]@cpu
      %view = .view(%relu, (16,))
      %mul = operator.mul(%view, %view)
      return (%mul, %relu)
    })"),
            R"dot(  n0 [label="x" input];
  n1 [label="relu" element by element];
  n2 [label=".view\nview\n(16,)" view of an operand];
  n3 [label="mul" element by element];
  n4 [label="output" output];
  n0 -> n1 [label=" f32[2, 8]"];
  n1 -> n2 [label=" f32[2, 8]"];
  n2 -> n3;
  n3 -> n4;
  n1 -> n4 [label=" f32[2, 8]"];
}
)dot");
}

TEST(DotWriter, ParametersAreLinesInTheBoxesOfTheirUsers) {
  EXPECT_EQ(Draw(R"(
    attribute fc.bias : f32[4]@cpu
    graph @forward(
      %x,
      %w : f32[4, 8]@cpu as torch.nn.parameter.Parameter,
      %m "L_self_buffers_mean_",
      %unused as torch.nn.parameter.Parameter
    ) {
      %b = get_attr fc.bias
      %y = torch.linear(%x, %w, %b)
      %z = torch.sub(%y, %m, %m)
      return %z
    })"),
            R"dot(  n0 [label="x" input];
  n1 [label="linear\ny\nw f32[4, 8]\lbias\l" takes parameters];
  n2 [label="sub\nz\nmean\l" takes parameters];
  n3 [label="output" output];
  n0 -> n1;
  n1 -> n2;
  n2 -> n3;
}
)dot");
}

TEST(DotWriter, AReturnedParameterHasABox) {
  EXPECT_EQ(Draw("graph @forward(%w as torch.nn.parameter.Parameter) {\n  return %w\n}\n"),
            R"dot(  n0 [label="w" input];
  n1 [label="output" output];
  n0 -> n1;
}
)dot");
}

TEST(DotWriter, ManyParametersAreCut) {
  Module module;
  Graph* g = module.AddGraph("forward");
  std::vector<Argument> weights;
  for (int i = 0; i < 9; ++i) {
    weights.push_back(g->Placeholder(absl::StrCat("w", i)));
    weights.back().node()->set_annotation("torch.nn.parameter.Parameter");
  }
  g->Output(g->CallFunction("torch.lstm", {Argument::List(weights)}));
  EXPECT_TRUE(absl::StrContains(Body(module), "lstm\\nw0\\lw1\\lw2\\lw3\\lw4\\lw5\\l+ 3 more\\l\""))
      << Body(module);
}

TEST(DotWriter, FramesFollowModulePaths) {
  // "stem.conv" would be a frame of one node, and "a.b" contains nothing but "a.b.c".
  EXPECT_EQ(Draw(R"(
    graph @forward(%x) {
      %1 = f.f(%x) in stem.conv
      %2 = f.f(%1) in a.b.c
      %3 = f.f(%2) in a.b.c
      %4 = f.f(%3) in layer
      %5 = f.f(%4) in layer.0
      %6 = f.f(%5) in layer.0
      return %6
    })"),
            R"dot(  n0 [label="x" input];
  n1 [label="f\n1" other computation];
  n7 [label="output" output];
  subgraph cluster_1 {
    label="a.b.c"; labeljust=l; style="rounded,filled"; color="#b0b0b0"; fillcolor="#00000008";
    n2 [label="f\n2" other computation];
    n3 [label="f\n3" other computation];
  }
  subgraph cluster_2 {
    label="layer"; labeljust=l; style="rounded,filled"; color="#b0b0b0"; fillcolor="#00000008";
    n4 [label="f\n4" other computation];
    subgraph cluster_3 {
      label="layer.0"; labeljust=l; style="rounded,filled"; color="#b0b0b0"; fillcolor="#00000008";
      n5 [label="f\n5" other computation];
      n6 [label="f\n6" other computation];
    }
  }
  n0 -> n1;
  n1 -> n2;
  n2 -> n3;
  n3 -> n4;
  n4 -> n5;
  n5 -> n6;
  n6 -> n7;
}
)dot");
}

TEST(DotWriter, OddPaths) {
  for (const char* path : {".", "..", ".a", "a.", "a..b"}) {
    Module module;
    Graph* g = module.AddGraph("forward");
    Node* x = g->Placeholder("x");
    Node* y = g->CallFunction("f.f", {x});
    Node* z = g->CallFunction("f.f", {y});
    y->set_module_path(path);
    z->set_module_path(path);
    g->Output(z);
    EXPECT_TRUE(absl::StrContains(Body(module), absl::StrCat("label=\"", path, "\"; labeljust")))
        << path;
  }
}

TEST(DotWriter, NestingOfDeepPathsIsLimited) {
  Module module;
  Graph* g = module.AddGraph("forward");
  Node* value = g->Placeholder("x");
  std::string path = "m";
  for (int i = 0; i < 5000; ++i) {
    for (int k = 0; k < 2; ++k) {
      value = g->CallFunction("f.f", {value});
      value->set_module_path(path);
    }
    absl::StrAppend(&path, ".m");
  }
  g->Output(value);
  const std::string body = Body(module);
  EXPECT_TRUE(absl::StrContains(body, absl::StrCat("\n", std::string(2 * 16, ' '), "subgraph")));
  EXPECT_FALSE(absl::StrContains(body, absl::StrCat("\n", std::string(2 * 17, ' '), "subgraph")));
}

TEST(DotWriter, BodiesHaveFramesOfTheirOwn) {
  EXPECT_EQ(Draw(R"(
    graph @forward(%x) {
      %y = torch.cond(%x, @body, @body, (%x,))
      return %y
    }
    graph @body(%a) {
      %b = torch.relu(%a)
      return %b
    })"),
            R"dot(  subgraph cluster_1 {
    label="forward"; labeljust=l; style=dashed; color="#404040";
    n0 [label="x" input];
    n1 [label="cond\ny" has a body];
    n2 [label="output" output];
  }
  subgraph cluster_2 {
    label="body"; labeljust=l; style=dashed; color="#404040";
    n3 [label="a" input];
    n4 [label="relu\nb" element by element];
    n5 [label="output" output];
  }
  n0 -> n1;
  n1 -> n2;
  n3 -> n4;
  n4 -> n5;
  n1 -> n3 [lhead=cluster_2, style=dashed];
}
)dot");
}

TEST(DotWriter, LabelsAreEscaped) {
  Module module;
  Graph* g = module.AddGraph("for\"ward\\");
  Node* x = g->Placeholder("x\"];\n\\N&lt;\x01\xFF");
  x->set_name("x");
  Node* y = g->CallFunction("a.b\" [label=\"", {x});
  y->set_name("y");
  y->set_module_path("\"p\".q");
  Node* z = g->CallFunction("a.b", {y});
  z->set_name("z");
  z->set_module_path("\"p\".r");
  g->Output(z);
  const auto picture = MakePicture(module);
  ASSERT_TRUE(picture.ok());
  const std::string dot = WriteDot(*picture);
  EXPECT_TRUE(absl::StartsWith(dot, "digraph \"for\\\"ward\\\\\" {\n")) << dot;
  EXPECT_EQ(Body(module), R"dot(  n0 [label="x\"];\\n\\N&amp;lt;\\x01\\xff\nx" input];
  n3 [label="output" output];
  subgraph cluster_1 {
    label="\"p\""; labeljust=l; style="rounded,filled"; color="#b0b0b0"; fillcolor="#00000008";
    n1 [label="b\" [label=\"\ny" other computation];
    n2 [label="b\nz" other computation];
  }
  n0 -> n1;
  n1 -> n2;
  n2 -> n3;
}
)dot");
}

TEST(DotWriter, ShowsTheEndOfALongName) {
  Module module;
  Graph* g = module.AddGraph("forward");
  // A cut inside the two bytes of a character moves behind it.
  g->Placeholder(absl::StrCat(std::string(100, 'a'), "é", std::string(47, 'b')))->set_name("x");
  g->Output(Argument());
  EXPECT_TRUE(absl::StrContains(Body(module), absl::StrCat("\"…", std::string(47, 'b'), "\\nx\"")))
      << Body(module);
}

TEST(DotWriter, EmptyModule) { EXPECT_EQ(Body(Module()), "}\n"); }

}  // namespace
}  // namespace graphnet
