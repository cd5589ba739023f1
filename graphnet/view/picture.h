// Picture: what is drawn of a module, whoever draws it: boxes, arrows between them and
// frames around them.
//
// Boxes are nodes in program order, with what the call does, its constants and, for the
// arrows that leave it, shape and dtype of the value. Parameters and attributes are lines in
// the boxes of their users instead of boxes, so that the shape of the model stays visible.
// Frames are modules, after module paths or, if no node has one, after the names of
// parameters; a frame of one box would say little and is left out. A body of a higher-order
// call has a frame of its own. Contracting any set of frames to boxes leaves no cycle: a
// module whose parts other nodes stand between has several frames.
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

// What colours tell.
enum class BoxKind : uint8_t {
  kInput,
  kOutput,
  kWeights,    // a call that takes parameters
  kPointwise,  // element by element
  kCompute,    // any other call
  kView,       // the value shares memory with an operand
  kWrite,      // writes to an operand
  kControl,    // has bodies
  kOutside,    // a value of a node that is not in the picture
  kModule,     // a module whose nodes are not in the picture
};
inline constexpr int kNumBoxKinds = static_cast<int>(BoxKind::kModule) + 1;

// How a value compares with the one of that name in another run, or a node with another graph.
enum class Mark : uint8_t { kNone, kEqual, kDifferent, kSame, kRemoved, kAdded, kChanged };
inline constexpr int kNumMarks = static_cast<int>(Mark::kChanged) + 1;

struct PictureOptions {
  std::string title;  // the name of the main graph if empty
  // Which nodes, if not all: at most one of these three.
  // Operators of the main graph by number, the end left out: "8:20".
  std::string range;
  // Those of a module and of all below it, by path: "layer1.0".
  std::string module;
  // Those within some arrows of a node, 2 if not said: "relu_3" or "relu_3:5".
  std::string around;
  // Colours by mark instead of kind, if not empty.
  absl::flat_hash_map<const Node*, Mark> marks;

  bool is_part() const { return !range.empty() || !module.empty() || !around.empty(); }
};

// All text is printable UTF-8, cut to what fits a box.
struct Box {
  const Node* node = nullptr;  // null: a module
  BoxKind kind = BoxKind::kCompute;
  Mark mark = Mark::kNone;
  int frame = 0;
  std::string title;                    // "conv2d"
  std::string name;                     // "conv2d_3"; empty if the title says it
  std::vector<std::string> constants;   // "stride=(2, 2)"
  std::vector<std::string> parameters;  // "weight f32[64, 3, 7, 7]"
  std::string value;                    // "f32[2, 8]"; empty if not known
  bool used_outside = false;            // by a node that is not in the picture
};

struct Frame {
  int parent = -1;
  int depth = 0;  // how many modules it is nested in, itself included
  std::string label;
  const Graph* body = nullptr;  // the frame of a graph, if not of a module
  int first_box = 0;            // the first in program order
  int num_boxes = 0;            // those of the frames in it included
};

struct Arrow {
  int from = 0;
  int to = 0;  // a box, or for the body of a call a frame
  bool is_body = false;
};

struct Picture {
  std::string title;
  bool marked = false;
  std::vector<Box> boxes;
  std::vector<Frame> frames;  // parents first; the first has no label and is around all
  std::vector<Arrow> arrows;  // by `to` in program order, each once
};

// `module` must be verified, and live and stay as it is while the picture is in use. O(size
// of the module). InvalidArgument or NotFound for a part that there is not.
absl::StatusOr<Picture> MakePicture(const Module& module, const PictureOptions& options = {});

// With a box in the place of each frame that is nested deeper: all modules for 0.
Picture CollapsedBelow(const Picture& picture, int depth);

}  // namespace graphnet

#endif  // GRAPHNET_VIEW_PICTURE_H_
