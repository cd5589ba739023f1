// Tests the layout on random graphs of many shapes: every node has a place, no two boxes overlap,
// the content of a frame lies inside it, and arrows go downwards.
#include "graphnet/view/layout.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "graphnet/ir/graph.h"
#include "graphnet/ir/module.h"
#include "graphnet/view/picture.h"
#include "gtest/gtest.h"

namespace graphnet {
namespace {

Picture PictureOf(const Module& module, const PictureOptions& options = {}) {
  auto picture = MakePicture(module, options);
  EXPECT_TRUE(picture.ok()) << picture.status().message();
  return picture.ok() ? *std::move(picture) : Picture();
}

struct Rectangle {
  double left, top, right, bottom;
};
Rectangle Of(const BoxLayout& box) { return {box.x, box.y, box.x + box.width, box.y + box.height}; }
Rectangle Of(const FrameLayout& frame) {
  return {frame.x, frame.y, frame.x + frame.width, frame.y + frame.height};
}
bool Overlap(const Rectangle& a, const Rectangle& b) {
  constexpr double kSlack = 0.01;
  return a.left + kSlack < b.right && b.left + kSlack < a.right && a.top + kSlack < b.bottom &&
         b.top + kSlack < a.bottom;
}
bool Contains(const Rectangle& outer, const Rectangle& inner) {
  constexpr double kSlack = 0.01;
  return outer.left <= inner.left + kSlack && outer.top <= inner.top + kSlack &&
         inner.right <= outer.right + kSlack && inner.bottom <= outer.bottom + kSlack;
}

void CheckLayout(const Picture& picture, const PictureLayout& layout) {
  ASSERT_EQ(layout.boxes.size(), picture.boxes.size());
  ASSERT_EQ(layout.frames.size(), picture.frames.size());
  // Sort the boxes by their tops: only neighbours can overlap.
  std::vector<Rectangle> boxes;
  for (size_t b = 0; b < picture.boxes.size(); ++b) {
    boxes.push_back(Of(layout.boxes[b]));
    EXPECT_GT(layout.boxes[b].width, 0);
    EXPECT_GT(layout.boxes[b].height, 0);
    EXPECT_TRUE(
        Contains(Of(layout.frames[static_cast<size_t>(picture.boxes[b].frame)]), boxes.back()))
        << b;
  }
  // For larger pictures, the check of rows below must suffice.
  if (boxes.size() > 2000) boxes.clear();
  absl::c_sort(boxes, [](const Rectangle& a, const Rectangle& b) { return a.top < b.top; });
  for (size_t i = 0; i < boxes.size(); ++i) {
    for (size_t k = i + 1; k < boxes.size() && boxes[k].top < boxes[i].bottom; ++k) {
      EXPECT_FALSE(Overlap(boxes[i], boxes[k]));
    }
  }
  for (size_t f = 1; f < picture.frames.size(); ++f) {
    const auto parent = static_cast<size_t>(picture.frames[f].parent);
    EXPECT_LT(parent, f);
    EXPECT_TRUE(Contains(Of(layout.frames[parent]), Of(layout.frames[f]))) << f;
  }
  size_t items_of_boxes = 0;
  for (const FrameLayout& frame : layout.frames) {
    for (size_t r = 0; r < frame.rows.size(); ++r) {
      for (size_t k = 0; k < frame.rows[r].size(); ++k) {
        const LayoutItem& item = frame.items[static_cast<size_t>(frame.rows[r][k])];
        EXPECT_EQ(item.row, static_cast<int>(r));
        items_of_boxes += item.kind == LayoutItem::kBox ? 1 : 0;
        if (k == 0) continue;
        const LayoutItem& left = frame.items[static_cast<size_t>(frame.rows[r][k - 1])];
        EXPECT_LE(left.x + left.width, item.x + 0.01);
      }
    }
    for (const LayoutLink& link : frame.links) {
      const int from = frame.items[static_cast<size_t>(link.from)].row;
      const int to = frame.items[static_cast<size_t>(link.to)].row;
      EXPECT_LT(from, to);
      if (!link.far) {
        EXPECT_EQ(from + 1, to);
      }
    }
  }
  EXPECT_EQ(items_of_boxes, picture.boxes.size());
  for (const Arrow& arrow : picture.arrows) {
    if (arrow.is_body) continue;
    const BoxLayout& from = layout.boxes[static_cast<size_t>(arrow.from)];
    EXPECT_LT(from.y + from.height, layout.boxes[static_cast<size_t>(arrow.to)].y);
  }
}

// Fills a graph with calls that take up to three of the last `reach` values. Modules come and go.
void Fill(Graph* graph, size_t size, size_t reach, const std::vector<std::string>& paths,
          unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Node*> values = {graph->Placeholder("x"), graph->Placeholder("y")};
  for (size_t i = 0; i < size; ++i) {
    std::vector<Argument> args;
    for (size_t k = 0; k <= random() % 3; ++k) {
      args.emplace_back(values[values.size() - 1 - random() % std::min(reach, values.size())]);
    }
    Node* node = graph->CallFunction("torch.cat", {Argument::List(args)});
    if (!paths.empty()) node->set_module_path(paths[random() % paths.size()]);
    values.push_back(node);
  }
  graph->Output(values.back());
}

TEST(Layout, RandomGraphs) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    Module module;
    // Modules are entered repeatedly, so that each would lie on a cycle if it were one frame.
    Fill(module.AddGraph("forward"), 1 + seed * 5, 1 + seed % 12,
         seed % 2 == 0 ? std::vector<std::string>{}
                       : std::vector<std::string>{"a", "a.b", "a.b.c", "a.d", "e", "e.f", ""},
         seed);
    const Picture picture = PictureOf(module);
    EXPECT_EQ(picture.boxes.size(), module.main()->num_nodes());
    CheckLayout(picture, LayOut(picture));
    for (const int depth : {0, 1, 2}) {
      const Picture less = CollapsedBelow(picture, depth);
      CheckLayout(less, LayOut(less));
    }
  }
}

TEST(Layout, PartsOfAGraph) {
  Module module;
  Fill(module.AddGraph("forward"), 200, 6, {"a", "a.b", "c"}, 1);
  for (const PictureOptions& options :
       {PictureOptions{.range = "20:50"}, PictureOptions{.module = "a"},
        PictureOptions{.around = "cat_50:3"}, PictureOptions{.around = "cat_50:0"}}) {
    const Picture picture = PictureOf(module, options);
    EXPECT_LT(picture.boxes.size(), module.main()->num_nodes());
    CheckLayout(picture, LayOut(picture));
  }
}

TEST(Layout, Bodies) {
  Module module;
  Graph* graph = module.AddGraph("forward");
  Graph* body = module.AddGraph("body");
  Fill(body, 20, 3, {"m", "n"}, 1);
  Node* x = graph->Placeholder("x");
  Node* call = graph->CallFunction("torch.cond", {x, body, body, Argument::Tuple({x, x})});
  call->set_module_path("deep.down");
  graph->Output(call);
  const Picture picture = PictureOf(module);
  EXPECT_EQ(absl::c_count_if(picture.arrows, [](const Arrow& a) { return a.is_body; }), 1);
  CheckLayout(picture, LayOut(picture));
}

TEST(Layout, EmptyPictures) {
  EXPECT_TRUE(LayOut(PictureOf(Module())).boxes.empty());
  Module module;
  module.AddGraph("forward");
  EXPECT_TRUE(LayOut(PictureOf(module)).boxes.empty());
}

// A layout in quadratic time would take minutes.
TEST(Layout, ManyNodesTakeLinearTime) {
  constexpr size_t kNodes = 10'000;
  const auto timed = [](const Module& module) {
    const Picture picture = PictureOf(module);
    const auto start = std::chrono::steady_clock::now();
    const PictureLayout layout = LayOut(picture);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    CheckLayout(picture, layout);
    EXPECT_LT(took.count(), 5);
    size_t items = 0;
    for (const FrameLayout& frame : layout.frames) items += frame.items.size();
    EXPECT_LT(items, 10 * kNodes);
    return took.count();
  };
  {
    Module module;
    Fill(module.AddGraph("forward"), kNodes, 8, {}, 1);
    RecordProperty("near", absl::StrCat(timed(module)));
  }
  {
    // Arrows pass thousands of rows.
    Module module;
    Fill(module.AddGraph("forward"), kNodes, kNodes, {}, 1);
    RecordProperty("far", absl::StrCat(timed(module)));
  }
  {
    // All calls are in one row.
    Module module;
    Graph* graph = module.AddGraph("forward");
    Node* x = graph->Placeholder("x");
    std::vector<Argument> all;
    for (size_t i = 0; i < kNodes; ++i) all.emplace_back(graph->CallFunction("torch.relu", {x}));
    graph->Output(Argument::Tuple(all));
    RecordProperty("wide", absl::StrCat(timed(module)));
  }
  {
    // Every value of a chain is returned.
    Module module;
    Graph* graph = module.AddGraph("forward");
    std::vector<Argument> all = {graph->Placeholder("x")};
    for (size_t i = 0; i < kNodes; ++i) {
      all.emplace_back(graph->CallFunction("torch.relu", {all.back()}));
    }
    graph->Output(Argument::Tuple(all));
    RecordProperty("long", absl::StrCat(timed(module)));
  }
}

TEST(Layout, AChainIsStraight) {
  Module module;
  Graph* graph = module.AddGraph("forward");
  Node* value = graph->Placeholder("x");
  for (int i = 0; i < 50; ++i) value = graph->CallFunction("torch.relu", {value});
  graph->Output(value);
  const Picture picture = PictureOf(module);
  const PictureLayout layout = LayOut(picture);
  for (const BoxLayout& box : layout.boxes) {
    EXPECT_NEAR(box.x + box.width / 2, layout.boxes[0].x + layout.boxes[0].width / 2, 1);
  }
}

}  // namespace
}  // namespace graphnet
