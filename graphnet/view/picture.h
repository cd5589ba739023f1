// Picture: the drawing of a module in a form that does not depend on who draws it: boxes, arrows
// between them and frames around them.
//
// Boxes are nodes in program order. They show what the call does, its constants and, for the arrows
// that leave it, the value's shape and dtype. Parameters and attributes are lines in the boxes of
// their users instead of boxes, so that the shape of the model stays visible. Frames are modules,
// by module paths or, if no node has one, by the names of parameters; a frame of one box would say
// little and is left out. Each body of a higher-order call has a frame of its own. Contracting any
// set of frames to boxes leaves no cycle: a module has several frames if other nodes stand between
// its parts.
#ifndef GRAPHNET_VIEW_PICTURE_H_
#define GRAPHNET_VIEW_PICTURE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"

namespace graphnet {

// The kinds of boxes, which colours show.
enum class BoxKind : uint8_t {
  kInput,
  kOutput,
  kWeights,    // a call that takes parameters
  kPointwise,  // a call that computes element by element
  kCompute,    // any other call
  kView,       // the value shares memory with an operand
  kWrite,      // writes to an operand
  kControl,    // has bodies
  kOutside,    // a value of a node that is not in the picture
  kModule,     // a module whose nodes are not in the picture
};
inline constexpr int kNumBoxKinds = static_cast<int>(BoxKind::kModule) + 1;

// The comparison of a value with the one of that name in another run (kEqual, kDifferent), or of a
// node with another graph (the marks from kSame on).
enum class Mark : uint8_t { kNone, kEqual, kDifferent, kSame, kRemoved, kAdded, kChanged };
inline constexpr int kNumMarks = static_cast<int>(Mark::kChanged) + 1;

// Options of MakePicture.
struct PictureOptions {
  std::string title;  // the name of the main graph if empty
  // The nodes to draw; at most one of these three may be set, and none means all nodes.
  // `range`: operators of the main graph by number, the end left out: "8:20".
  std::string range;
  // The nodes of a module and of all modules below it, by path: "layer1.0".
  std::string module;
  // The nodes within so many arrows of a node, by default 2: "relu_3" or "relu_3:5".
  std::string around;
  // The marks of nodes. If there are any, colours show marks instead of kinds.
  absl::flat_hash_map<const Node*, Mark> marks;

  bool is_part() const { return !range.empty() || !module.empty() || !around.empty(); }
};

// A node or a folded module. All text is printable UTF-8, cut to what fits the box.
struct Box {
  const Node* node = nullptr;  // null: a module
  BoxKind kind = BoxKind::kCompute;
  Mark mark = Mark::kNone;
  int frame = 0;
  std::string title;                    // "conv2d"
  std::string name;                     // "conv2d_3"; empty if the title has it
  std::vector<std::string> constants;   // "stride=(2, 2)"
  std::vector<std::string> parameters;  // "weight f32[64, 3, 7, 7]"
  std::string value;                    // "f32[2, 8]"; empty if unknown
  bool used_outside = false;            // by a node outside the picture
};

// A frame around boxes and other frames.
struct Frame {
  int parent = -1;
  int depth = 0;  // how many modules it is nested in, itself included
  std::string label;
  const Graph* body = nullptr;  // the body, if this is not the frame of a module
  int first_box = 0;            // the first in program order
  int num_boxes = 0;            // including those of the frames in it
};

// An arrow from a box to the user of its value.
struct Arrow {
  int from = 0;
  int to = 0;  // a box, or a frame if is_body
  bool is_body = false;
};

// A whole picture.
struct Picture {
  std::string title;
  bool marked = false;
  std::vector<Box> boxes;
  std::vector<Frame> frames;  // parents first; the first has no label and holds everything
  std::vector<Arrow> arrows;  // by `to` in program order, each once
};

// Makes the picture of a module, which must be verified and must neither change nor be destroyed
// while the picture is in use. O(size of the module). InvalidArgument or NotFound if `options` name
// a part that does not exist.
absl::StatusOr<Picture> MakePicture(const Module& module, const PictureOptions& options = {});

// Returns the picture with a box in place of each frame that is nested deeper than `depth`. With 0,
// all modules are boxes.
Picture CollapsedBelow(const Picture& picture, int depth);

}  // namespace graphnet

#endif  // GRAPHNET_VIEW_PICTURE_H_
