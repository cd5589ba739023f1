// The drawing of small modules, given as text, line by line. The preamble with
// fonts and styles is left out.
#include "graphnet/formats/dot/dot_writer.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/graph.h"
#include "graphnet/ir/module.h"
#include "graphnet/text/parser.h"
#include "gtest/gtest.h"

namespace graphnet {
namespace {

// What follows the preamble, with colours named after the ops.
std::string Body(const Module& module) {
  std::string dot = WriteDot(module);
  const size_t preamble = dot.find("arrowsize=0.6];\n");
  if (preamble == std::string::npos) return dot;
  dot.erase(0, preamble + sizeof("arrowsize=0.6];\n") - 1);
  return absl::StrReplaceAll(dot, {{", fillcolor=\"#d4e6f6\"", " placeholder"},
                                   {", fillcolor=\"#f5e3cf\"", " get_attr"},
                                   {", fillcolor=\"#fdf5cc\"", " function"},
                                   {", fillcolor=\"#dbefd6\"", " method"},
                                   {", fillcolor=\"#e6dbf3\"", " module"},
                                   {", fillcolor=\"#f6d5d5\"", " output"}});
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
            R"(  n0 [label="x\nf32[2, 8]@cpu" placeholder];
  n1 [label="relu\ntorch.relu\nf32[2, 8]@cpu" function];
  n2 [label="view\n.view" method];
  n3 [label="mul\noperator.mul" function];
  n4 [label="output" output];
  n0 -> n1;
  n1 -> n2;
  n2 -> n3;
  n3 -> n4;
  n1 -> n4;
}
)");
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
            R"(  n0 [label="x" placeholder];
  n1 [label="y\ntorch.linear\nw : f32[4, 8]@cpu\lfc.bias\l" function];
  n2 [label="z\ntorch.sub\nL_self_buffers_mean_\l" function];
  n3 [label="output" output];
  n0 -> n1;
  n1 -> n2;
  n2 -> n3;
}
)");
}

TEST(DotWriter, AReturnedParameterHasABox) {
  EXPECT_EQ(Draw("graph @forward(%w as torch.nn.parameter.Parameter) {\n  return %w\n}\n"),
            R"(  n0 [label="w" placeholder];
  n1 [label="output" output];
  n0 -> n1;
}
)");
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
  EXPECT_TRUE(
      absl::StrContains(Body(module), "torch.lstm\\nw0\\lw1\\lw2\\lw3\\lw4\\lw5\\l+ 3 more\\l\""))
      << Body(module);
}

TEST(DotWriter, FramesAfterModulePaths) {
  // "stem.conv" is a frame of one node and "a.b" is nothing but "a.b.c".
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
            R"(  n0 [label="x" placeholder];
  n7 [label="output" output];
  n1 [label="1\nf.f" function];
  subgraph cluster_m0 {
    label="a.b.c"; labeljust=l; style="rounded,filled"; color="#b0b0b0"; fillcolor="#00000008";
    n2 [label="2\nf.f" function];
    n3 [label="3\nf.f" function];
  }
  subgraph cluster_m1 {
    label="layer"; labeljust=l; style="rounded,filled"; color="#b0b0b0"; fillcolor="#00000008";
    n4 [label="4\nf.f" function];
    subgraph cluster_m2 {
      label="layer.0"; labeljust=l; style="rounded,filled"; color="#b0b0b0"; fillcolor="#00000008";
      n5 [label="5\nf.f" function];
      n6 [label="6\nf.f" function];
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
)");
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

TEST(DotWriter, ADeepPathNestsToALimit) {
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
            R"(  subgraph cluster_g0 {
    label="forward"; labeljust=l; style=solid; color="#404040";
    n0 [label="x" placeholder];
    n1 [label="y\ntorch.cond" function];
    n2 [label="output" output];
  }
  subgraph cluster_g1 {
    label="body"; labeljust=l; style=dashed; color="#404040";
    n3 [label="a" placeholder];
    n4 [label="b\ntorch.relu" function];
    n5 [label="output" output];
  }
  n0 -> n1;
  n1 -> n3 [lhead=cluster_g1, style=dashed];
  n1 -> n2;
  n3 -> n4;
  n4 -> n5;
}
)");
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
  const std::string dot = WriteDot(module);
  EXPECT_TRUE(absl::StartsWith(dot, "digraph \"for\\\"ward\\\\\" {\n")) << dot;
  EXPECT_EQ(Body(module), R"(  n0 [label="x\nx\"];\\n\\N&amp;lt;\\x01\\xff" placeholder];
  n3 [label="output" output];
  subgraph cluster_m0 {
    label="\"p\""; labeljust=l; style="rounded,filled"; color="#b0b0b0"; fillcolor="#00000008";
    n1 [label="y\na.b\" [label=\"" function];
    n2 [label="z\na.b" function];
  }
  n0 -> n1;
  n1 -> n2;
  n2 -> n3;
}
)");
}

TEST(DotWriter, OfALongNameTheEndIsShown) {
  Module module;
  Graph* g = module.AddGraph("forward");
  // Cut inside the two bytes of a character, the cut moves behind it.
  g->Placeholder(absl::StrCat(std::string(100, 'a'), "é", std::string(59, 'b')))->set_name("x");
  g->Output(Argument());
  EXPECT_TRUE(absl::StrContains(Body(module), absl::StrCat("\"x\\n…", std::string(59, 'b'), "\"")))
      << Body(module);
}

TEST(DotWriter, EmptyModule) { EXPECT_EQ(Body(Module()), "}\n"); }

}  // namespace
}  // namespace graphnet
