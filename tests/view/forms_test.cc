// Draws modules whose every name is an attack as SVG, page and Model Explorer's JSON: each result
// must stay one well-formed document. tests/tools/check_pages.py opens them in a browser.
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "graphnet/base/json.h"
#include "graphnet/ir/graph.h"
#include "graphnet/ir/module.h"
#include "graphnet/view/dot.h"
#include "graphnet/view/layout.h"
#include "graphnet/view/model_explorer.h"
#include "graphnet/view/page.h"
#include "graphnet/view/pair_page.h"
#include "graphnet/view/picture.h"
#include "graphnet/view/style.h"
#include "graphnet/view/svg.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/ir/text/parsed_module.h"

namespace graphnet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Picture PictureOf(const Module& module, const PictureOptions& options = {}) {
  auto picture = MakePicture(module, options);
  EXPECT_TRUE(picture.ok()) << picture.status().message();
  return picture.ok() ? *std::move(picture) : Picture();
}

// Returns the content of the element with the data.
std::string DataOf(const std::string& page) {
  const std::string open = "id=\"data\">";
  const size_t begin = page.find(open);
  const size_t end = page.find("</script>", begin);
  if (begin == std::string::npos || end == std::string::npos) {
    ADD_FAILURE() << "no data";
    return "{}";
  }
  return page.substr(begin + open.size(), end - begin - open.size());
}

size_t Count(absl::string_view text, absl::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != absl::string_view::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

// Returns whether elements close in the reverse order of opening, attributes are quoted, references
// are known and all characters are allowed in XML.
bool IsWellFormed(absl::string_view xml) {
  std::vector<std::string> open;
  for (size_t i = 0; i < xml.size(); ++i) {
    const char c = xml[i];
    if (static_cast<unsigned char>(c) < 0x20 && c != '\n') return false;
    if (c == '&') {
      const absl::string_view name = xml.substr(i, xml.find(';', i) - i + 1);
      if (name != "&amp;" && name != "&lt;" && name != "&gt;" && name != "&quot;" &&
          name != "&#39;")
        return false;
    }
    if (c != '<') continue;
    bool quoted = false;
    size_t end = i + 1;
    for (; end < xml.size() && (quoted || xml[end] != '>'); ++end) {
      if (xml[end] == '"') quoted = !quoted;
      if (xml[end] == '<') return false;
    }
    if (end == xml.size()) return false;
    const absl::string_view tag = xml.substr(i + 1, end - i - 1);
    const std::string name(tag.substr(0, tag.find_first_of(" /", 1)));
    if (tag[0] == '/') {
      if (open.empty() || open.back() != tag.substr(1)) return false;
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(name);
    }
    i = end;
  }
  return open.empty();
}

TEST(Forms, HostileNames) {
  const std::string attacks[] = {
      "</script><script>alert(1)</script>",
      "<!--<script>",
      "]]>",
      "\"'><img src=x onerror=alert(1)>",
      "&lt;&#60;&amp",
      "a\x01\x02\x7f\x1b[31m\r\n\t",
      "\xFF\xFE\x80",
      "\xEF\xBF\xBE\xEF\xBF\xBF",  // U+FFFE, U+FFFF
      "\xE2\x80\xA8\xE2\x80\xA9",  // line ends in JavaScript
      "\xE2\x80\xAE reversed",
      "@DATA@@SCRIPT@@TITLE@",
      "\\\"];\\N",
      "$&$1${x}`",
      std::string(1 << 20, 'x'),
      std::string(1 << 20, '<'),
      "\xF0\x9F\x98\x80",
  };
  for (const std::string& attack : attacks) {
    Module module;
    Graph* graph = module.AddGraph(attack);
    Node* x = graph->Placeholder(attack);
    Node* w = graph->GetAttr(attack);
    Node* y = graph->CallFunction(attack, {x, w, absl::string_view(attack)},
                                  {{"key", absl::string_view(attack)}});
    Node* z = graph->CallMethod(attack, {y, Argument::List({absl::string_view(attack), 1})});
    for (Node* node : {y, z}) {
      node->set_module_path(attack);
      node->set_location({attack, 3, 4});
    }
    graph->Output(z);
    const Picture picture = PictureOf(module);
    EXPECT_EQ(picture.boxes.size(), 4);
    const PictureLayout layout = LayOut(picture);
    const std::string svg = WriteSvg(picture, layout);
    EXPECT_TRUE(IsWellFormed(svg)) << svg.substr(0, 5000);
    EXPECT_LT(svg.size(), 20'000);
    EXPECT_FALSE(absl::StrContains(svg, "<script"));
    EXPECT_FALSE(absl::StrContains(svg, "<img"));
    const std::string page = WritePage(
        picture, layout,
        {.notes = {{y, {attack}}}, .values = {{attack}, {{y, {Json(attack)}}, {z, {Json(2)}}}}});
    // Otherwise browsers ignore the page's security policy.
    EXPECT_TRUE(absl::StartsWith(page, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"));
    EXPECT_EQ(Count(page, "<script"), 2);
    EXPECT_EQ(Count(page, "</script"), 2);
    EXPECT_FALSE(absl::StrContains(page, "<img"));
    EXPECT_LT(page.size(), 200'000);
    const std::string pair = WritePairPage({picture, {}}, {picture, {}}, {{y, y}, {w, z}});
    EXPECT_EQ(Count(pair, "<script"), 2);
    EXPECT_EQ(Count(pair, "</script"), 2);
    const auto both = nlohmann::json::parse(DataOf(pair), nullptr, /*allow_exceptions=*/false);
    ASSERT_FALSE(both.is_discarded()) << DataOf(pair).substr(0, 2000);
    EXPECT_EQ(both["pages"][0], WritePage(picture, layout));
    // The attribute has no box.
    EXPECT_EQ(both["pairs"], nlohmann::json::parse("[1, 1]"));
    const auto data = nlohmann::json::parse(DataOf(page), nullptr, /*allow_exceptions=*/false);
    EXPECT_FALSE(data.is_discarded()) << DataOf(page).substr(0, 2000);
    EXPECT_EQ(data["boxes"].size(), 4);
    EXPECT_EQ(data["notes"].size(), 1);
    EXPECT_EQ(data["values"].size(), 2);
    const std::string explorer = WriteModelExplorer(picture);
    EXPECT_FALSE(nlohmann::json::parse(explorer, nullptr, false).is_discarded());
    EXPECT_LT(explorer.size(), 200'000);
    EXPECT_LT(WriteDot(picture).size(), 5'000);
  }
}

TEST(Forms, TextOfABox) {
  const auto module = Parse(R"(
    graph @forward(
      %x : f32[1, 3, 8, 8]@cpu,
      %w "L_self_modules_stem_parameters_weight_" : f32[4, 3, 3, 3]@cpu
    ) {
      %conv2d = torch.conv2d(%x, %w, None, (2, 2), (1, 1), (1, 1), 1) : f32[1, 4, 4, 4]@cpu
      %relu = torch.nn.functional.relu(%conv2d, inplace = False)
      %mean = aten.mean.dim(%relu, [2, 3])
      %flat = .flatten(%mean, 1)
      %two = operator.mul(%flat, 2)
      return %two
    })");
  const Picture picture = PictureOf(*module);
  ASSERT_EQ(picture.boxes.size(), 7);
  const Box& conv = picture.boxes[1];
  EXPECT_EQ(conv.title, "conv2d");
  EXPECT_EQ(conv.name, "");
  EXPECT_EQ(conv.kind, BoxKind::kWeights);
  EXPECT_EQ(conv.value, "f32[1, 4, 4, 4]");
  // Defaults are not shown.
  EXPECT_THAT(conv.constants, ElementsAre("stride=(2, 2), padding=(1, 1)"));
  EXPECT_THAT(conv.parameters, ElementsAre("weight f32[4, 3, 3, 3]"));
  EXPECT_EQ(picture.boxes[2].kind, BoxKind::kPointwise);
  EXPECT_THAT(picture.boxes[2].constants, ElementsAre());
  EXPECT_EQ(picture.boxes[3].title, "mean.dim");
  EXPECT_EQ(picture.boxes[3].kind, BoxKind::kCompute);
  EXPECT_THAT(picture.boxes[3].constants, ElementsAre("dim=[2, 3]"));
  EXPECT_EQ(picture.boxes[4].title, ".flatten");
  EXPECT_EQ(picture.boxes[4].kind, BoxKind::kView);
  EXPECT_EQ(picture.boxes[5].kind, BoxKind::kPointwise);
  EXPECT_THAT(picture.boxes[5].constants, ElementsAre("2"));
}

TEST(Forms, ModulesFollowTheNamesOfParameters) {
  const auto module = Parse(R"(
    graph @forward(
      %x,
      %a "L_self_modules_layer_modules_0_modules_conv1_parameters_weight_",
      %b "L_self_modules_layer_modules_0_modules_conv2_parameters_weight_",
      %c "L_self_modules_head_parameters_weight_"
    ) {
      %1 = torch.conv2d(%x, %a)
      %2 = torch.relu(%1)
      %3 = torch.conv2d(%2, %b)
      %4 = torch.relu(%3)
      %5 = torch.nn.functional.linear(%4, %c)
      return %5
    })");
  const Picture picture = PictureOf(*module);
  ASSERT_EQ(picture.frames.size(), 2);
  EXPECT_EQ(picture.frames[1].label, "layer.0");
  EXPECT_EQ(picture.frames[1].num_boxes, 3);
  // The call between the block and the head belongs to neither.
  EXPECT_EQ(picture.boxes[4].frame, 0);
}

TEST(Forms, Parts) {
  const auto module = Parse(R"(
    graph @forward(%x) {
      %a = torch.relu(%x) in m
      %b = torch.relu(%a) in m.n
      %c = torch.relu(%b) in o
      %d = torch.relu(%c) in o
      return %d
    })");
  const auto names = [&](const PictureOptions& options) {
    std::string all;
    for (const Box& box : PictureOf(*module, options).boxes) {
      absl::StrAppend(&all, box.kind == BoxKind::kOutside ? "(" : "", box.node->name(),
                      box.kind == BoxKind::kOutside ? ") "
                      : box.used_outside            ? "> "
                                                    : " ");
    }
    return all;
  };
  EXPECT_EQ(names({.range = "1:3"}), "(a) b c> ");
  EXPECT_EQ(names({.module = "m"}), "(x) a b> ");
  EXPECT_EQ(names({.module = "m.n"}), "(a) b> ");
  EXPECT_EQ(names({.around = "b:1"}), "(x) a b c> ");
  EXPECT_EQ(names({.around = "%d:0"}), "(c) d> ");
  const auto error = [&](const PictureOptions& options) {
    return std::string(MakePicture(*module, options).status().message());
  };
  EXPECT_EQ(error({.range = "3:2"}), "range 3:2 is not START:END with START below END");
  EXPECT_EQ(error({.range = "1:9"}), "range 1:9: the graph has 4 operators");
  EXPECT_EQ(error({.module = "m.m"}), "no operator is of the module m.m; did you mean m.n?");
  EXPECT_EQ(error({.around = "nothing"}), "there is no node nothing");
  EXPECT_EQ(error({.around = "b:x"}),
            "around b:x is not NODE or NODE:RADIUS with a radius from 0 on");
  EXPECT_EQ(error({.range = "1:2", .module = "m"}),
            "only one of range, module and around may be set");
}

TEST(Forms, CollapsedModulesAreOneBox) {
  const auto module = Parse(R"(
    graph @forward(%x) {
      %a = torch.relu(%x) in m
      %b = torch.relu(%a) in m.n
      %c = torch.relu(%b) in m.n
      %d = torch.relu(%c)
      return %d
    })");
  const Picture all = PictureOf(*module);
  ASSERT_EQ(all.frames.size(), 3);
  const Picture one = CollapsedBelow(all, 1);
  ASSERT_EQ(one.boxes.size(), 5);
  EXPECT_EQ(one.boxes[2].title, "m.n");
  EXPECT_THAT(one.boxes[2].constants, ElementsAre("2 nodes"));
  EXPECT_EQ(one.frames.size(), 2);
  const Picture none = CollapsedBelow(all, 0);
  ASSERT_EQ(none.boxes.size(), 4);
  EXPECT_EQ(none.arrows.size(), 3);
}

TEST(Forms, MarksInsteadOfKinds) {
  const auto module = Parse(R"(
    graph @forward(%x) {
      %a = torch.relu(%x)
      %b = torch.relu(%a)
      return %b
    })");
  PictureOptions options;
  options.marks[module->main()->FindNode("a")] = Mark::kEqual;
  options.marks[module->main()->FindNode("b")] = Mark::kDifferent;
  const Picture picture = PictureOf(*module, options);
  std::vector<std::string> meanings;
  for (const Box& box : picture.boxes) meanings.push_back(StyleOf(picture, box).meaning);
  EXPECT_THAT(meanings, ElementsAre("not compared", "equal", "different", "not compared"));
  EXPECT_THAT(WriteSvg(picture, LayOut(picture)), HasSubstr(StyleOf(Mark::kDifferent).fill));
}

TEST(Forms, WhatAPageSaysOfNodes) {
  const ParsedModule module = Parse(R"(graphnet.module 1

graph @forward(%x, %w : f32[8] as torch.nn.parameter.Parameter) {
  %a = torch.add(%x, %w) in layer.norm
  %b = torch.relu(%a) in layer.norm
  %c = torch.neg(%b)
  return (%c,)
}
end
)");
  const auto node = [&](absl::string_view name) {
    for (const Node* found : module->main()->nodes()) {
      if (found->name() == name) return found;
    }
    return static_cast<const Node*>(nullptr);
  };
  const Picture picture = PictureOf(*module);
  const auto data = nlohmann::json::parse(DataOf(WritePage(
      picture, LayOut(picture),
      {.notes = {{node("w"), {"meta: f32[4] became f32[8]"}}, {node("b"), {"one", "two"}}},
       .values = {{"ms", "why"}, {{node("a"), {Json(0.5), Json()}}}}})));
  // Boxes: x, a, b, c, output. The parameter has none.
  EXPECT_EQ(data["notes"], nlohmann::json::parse(R"({"1": ["%w: meta: f32[4] became f32[8]"],
                                                     "2": ["one", "two"]})"));
  EXPECT_EQ(data["columns"], nlohmann::json::parse(R"(["ms", "why"])"));
  EXPECT_EQ(data["values"], nlohmann::json::parse(R"({"1": [0.5, null]})"));
}

TEST(Forms, ModelExplorer) {
  const auto module = Parse(R"(
    graph @forward(%x : f32[2]@cpu) {
      %a = torch.relu(%x) in m
      %b = torch.relu(%a) in m.n
      %c = torch.cond(%b, @body, @body, (%b,)) in m.n
      return %c
    }
    graph @body(%p) {
      %q = torch.relu(%p)
      return %q
    })");
  const auto json = nlohmann::json::parse(WriteModelExplorer(PictureOf(*module)));
  ASSERT_EQ(json["graphs"].size(), 2);
  const auto& nodes = json["graphs"][0]["nodes"];
  ASSERT_EQ(nodes.size(), 5);
  EXPECT_EQ(nodes[1]["namespace"], "m");
  EXPECT_EQ(nodes[2]["namespace"], "m/n");
  EXPECT_EQ(nodes[3]["subgraphIds"][0], json["graphs"][1]["id"]);
  EXPECT_EQ(nodes[1]["incomingEdges"][0]["sourceNodeId"], nodes[0]["id"]);
  EXPECT_EQ(nodes[0]["outputsMetadata"][0]["attrs"][0]["key"], "tensor_shape");
  EXPECT_EQ(nodes[0]["outputsMetadata"][0]["attrs"][0]["value"], "f32[2]");
  EXPECT_EQ(json["graphs"][1]["nodes"].size(), 3);
}

}  // namespace
}  // namespace graphnet
