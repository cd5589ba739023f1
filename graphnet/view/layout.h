// Places the boxes of a picture without Graphviz: in rows, so that arrows lead downwards.
//
// Each frame is laid out by itself, inner ones first, and is then one item of the frame around it.
// The number of an item's row is the length of the longest path to it. Within a row, items are
// placed so that few arrows cross (barycentres, some sweeps) and arrows are straight (least squares
// under the order). An arrow passes a row through a bend, an item of no width; the arrows of one
// value share their bends. A value enters a frame through an entry in the first row and leaves it
// through an exit in the last. When modules are folded, the page (page.js) repeats the last step,
// which computes places from rows.
#ifndef GRAPHNET_VIEW_LAYOUT_H_
#define GRAPHNET_VIEW_LAYOUT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "graphnet/view/picture.h"

namespace graphnet {

// Sizes in pixels. page.js is given the ones that it needs.
inline constexpr double kTitleSize = 12;  // bold
inline constexpr double kTextSize = 10;   // all other text
inline constexpr double kTitleHeight = 15;
inline constexpr double kLineHeight = 12;
inline constexpr double kBoxPadding = 8;     // left and right; half of it above and below
inline constexpr double kValueHeight = 14;   // below a box, for the value that its arrows carry
inline constexpr double kBoxValueLeft = 5;   // of that value, from the middle of the box
inline constexpr double kHeaderHeight = 18;  // of a frame, for its label
inline constexpr double kFramePadding = 10;
inline constexpr double kBoxGap = 22;  // between boxes of a row
inline constexpr double kBendGap = 9;  // between neighbours of which one is not a box
inline constexpr double kRowGap = 18;
inline constexpr double kMaxRowGap = 70;  // where arrows lead far to the side

// Returns an upper bound of the width of a text in the usual sans-serif fonts.
double TextWidth(absl::string_view text, double size, bool bold = false);

// An item of a row.
struct LayoutItem {
  enum Kind : uint8_t { kBox, kFrame, kEntry, kExit, kBend };
  Kind kind = kBend;
  int index = 0;  // of the box or frame, or the value (LayoutLink) that passes through
  int row = 0;
  double x = 0;       // left, within the content of the frame
  double width = 0;   // including the text of its value, which may be wider than the box
  double height = 0;  // including that text
};

// A part of an arrow, from a row to the next one. A `far` link crosses several rows without bends.
struct LayoutLink {
  int from = 0;  // items of the frame
  int to = 0;
  int value = 0;  // its origin's box; plus the number of boxes if it leads to a body
  bool far = false;
  double from_x = 0;  // where it leaves, from the item's left edge
  double to_x = 0;
};

// The layout of a frame.
struct FrameLayout {
  double x = 0;  // in the picture
  double y = 0;
  double width = 0;
  double height = 0;
  std::vector<LayoutItem> items;
  std::vector<LayoutLink> links;  // by the row that they come from
  std::vector<std::vector<int>> rows;
  std::vector<double> row_y;  // from the top of the frame; one more entry at the end
  std::vector<double> row_height;
};

// The place of a box.
struct BoxLayout {
  double x = 0;  // in the picture
  double y = 0;
  double width = 0;  // of the box without the text below it
  double height = 0;
  bool shows_value = false;  // below the box
};

// The layout of a picture.
struct PictureLayout {
  std::vector<BoxLayout> boxes;
  std::vector<FrameLayout> frames;  // like those of the picture; the first is the whole picture
};

// Lays out a picture. O(n log n) in boxes and arrows.
PictureLayout LayOut(const Picture& picture);

}  // namespace graphnet

#endif  // GRAPHNET_VIEW_LAYOUT_H_
