// Where the boxes of a picture go, without Graphviz: in rows, so that arrows lead downwards.
//
// Each frame is laid out by itself, inner ones first, and is then one item of the frame
// around it. A row is as long as the longest path to it; within a row, items stand where
// few arrows cross (barycentres, some sweeps) and arrows are straight (least squares under
// the order). What passes a row does so in an item of no width, a bend; the arrows of one
// value share their bends. A value that comes into a frame does so by an entry in the first
// row, one that leaves it by an exit in the last. The page (page.js) does the last step, places
// from rows, again when modules are folded.
#ifndef GRAPHNET_VIEW_LAYOUT_H_
#define GRAPHNET_VIEW_LAYOUT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "graphnet/view/picture.h"

namespace graphnet {

// In pixels. page.js is given those that it needs.
inline constexpr double kTitleSize = 12;  // bold
inline constexpr double kTextSize = 10;   // all other text
inline constexpr double kTitleHeight = 15;
inline constexpr double kLineHeight = 12;
inline constexpr double kBoxPadding = 8;     // left and right; half of it above and below
inline constexpr double kValueHeight = 14;   // below a box, for what its arrows carry
inline constexpr double kBoxValueLeft = 5;   // of it, from the middle of the box
inline constexpr double kHeaderHeight = 18;  // of a frame, for its label
inline constexpr double kFramePadding = 10;
inline constexpr double kBoxGap = 22;  // between boxes of a row
inline constexpr double kBendGap = 9;  // where one of two neighbours is no box
inline constexpr double kRowGap = 18;
inline constexpr double kMaxRowGap = 70;  // where arrows lead far to the side

// An upper bound for the usual sans-serif fonts.
double TextWidth(absl::string_view text, double size, bool bold = false);

struct LayoutItem {
  enum Kind : uint8_t { kBox, kFrame, kEntry, kExit, kBend };
  Kind kind = kBend;
  int index = 0;  // of the box or frame, or the value (LayoutLink) that goes through
  int row = 0;
  double x = 0;       // left, within the content of the frame
  double width = 0;   // with the text of what its arrows carry, which may stand out
  double height = 0;  // ditto
};

// From a row to the next, except for those that are `far`, which are drawn as they can.
struct LayoutLink {
  int from = 0;  // items of the frame
  int to = 0;
  int value = 0;  // the box that it comes from; plus the number of boxes: to a body
  bool far = false;
  double from_x = 0;  // where it leaves, from the left of the item
  double to_x = 0;
};

struct FrameLayout {
  double x = 0;  // in the picture
  double y = 0;
  double width = 0;
  double height = 0;
  std::vector<LayoutItem> items;
  std::vector<LayoutLink> links;  // by the row they come from
  std::vector<std::vector<int>> rows;
  std::vector<double> row_y;  // from the top of the frame; one more at the end
  std::vector<double> row_height;
};

struct BoxLayout {
  double x = 0;  // in the picture
  double y = 0;
  double width = 0;  // of the box alone
  double height = 0;
  bool shows_value = false;  // below it
};

struct PictureLayout {
  std::vector<BoxLayout> boxes;
  std::vector<FrameLayout> frames;  // as those of the picture; the first is all of it
};

// O(n log n) in boxes and arrows.
PictureLayout LayOut(const Picture& picture);

}  // namespace graphnet

#endif  // GRAPHNET_VIEW_LAYOUT_H_
