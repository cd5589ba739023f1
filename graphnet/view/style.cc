#include "graphnet/view/style.h"

#include <cstddef>

#include "absl/algorithm/container.h"

namespace graphnet {

const BoxStyle& StyleOf(BoxKind kind) {
  static constexpr BoxStyle kStyles[kNumBoxKinds] = {
      {"input", "#d5ead0", "#5b8a4f", "#2c4a27"},
      {"output", "#f3d3d0", "#a35a53", "#5a2d29"},
      {"takes parameters", "#cfe1f5", "#4a78ad", "#1f4064"},
      {"element by element", "#fcf0c3", "#a58b2e", "#4f451b"},
      {"other computation", "#f7ddc0", "#ad7433", "#56391a"},
      {"view of an operand", "#ececec", "#8a8a8a", "#3c3c3c"},
      {"writes to an operand", "#f5cfe3", "#a8508a", "#57244a"},
      {"has a body", "#e0d5f3", "#7659ad", "#3b2a5f"},
      {"from outside", "#ffffff", "#9a9a9a", "#262626"},
      {"module", "#d8e4e8", "#5e7f8a", "#2b4048"},
  };
  return kStyles[static_cast<size_t>(kind)];
}

const BoxStyle& StyleOf(Mark mark) {
  static constexpr BoxStyle kStyles[kNumMarks] = {
      {"not compared", "#ececec", "#8a8a8a", "#3c3c3c"},
      {"equal", "#cfe9cc", "#4c8a45", "#24491f"},
      {"different", "#f6b5ae", "#b3362a", "#7a231b"},
      {"in both", "#ececec", "#8a8a8a", "#3c3c3c"},
      {"removed", "#f6b5ae", "#b3362a", "#7a231b"},
      {"added", "#cfe9cc", "#4c8a45", "#24491f"},
      {"changed", "#fcf0c3", "#a58b2e", "#4f451b"},
  };
  return kStyles[static_cast<size_t>(mark)];
}

const BoxStyle& StyleOf(const Picture& picture, const Box& box) {
  return picture.marked ? StyleOf(box.mark) : StyleOf(box.kind);
}

std::vector<const BoxStyle*> StylesIn(const Picture& picture) {
  std::vector<const BoxStyle*> styles;
  for (const Box& box : picture.boxes) {
    const BoxStyle* style = &StyleOf(picture, box);
    if (!absl::c_linear_search(styles, style)) styles.push_back(style);
  }
  absl::c_sort(styles);
  return styles;
}

}  // namespace graphnet
