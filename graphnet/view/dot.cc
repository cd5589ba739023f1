#include "graphnet/view/dot.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graphnet/view/style.h"

namespace graphnet {
namespace {

// Escapes text for a quoted string. Graphviz replaces character references such as "&lt;" by the
// characters that they name.
std::string Escape(absl::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
    if (c == '&') out += "amp;";
  }
  return out;
}

class DotWriter {
 public:
  explicit DotWriter(const Picture& picture)
      : picture_(picture), boxes_in_(picture.frames.size()), frames_in_(picture.frames.size()) {}

  std::string Write() {
    absl::StrAppend(&out_, "digraph \"", Escape(picture_.title), "\" {\n");
    out_ +=
        "  graph [rankdir=TB, compound=true, fontname=\"Helvetica\", fontsize=11, nodesep=0.3, "
        "ranksep=0.35];\n"
        "  node [shape=box, style=\"filled,rounded\", fontname=\"Helvetica\", fontsize=10, "
        "height=0.3, margin=\"0.1,0.05\", color=\"#606060\"];\n"
        "  edge [color=\"#606060\", fontcolor=\"#505050\", fontname=\"Helvetica\", fontsize=9, "
        "arrowsize=0.6];\n";
    for (size_t b = 0; b < picture_.boxes.size(); ++b) {
      boxes_in_[static_cast<size_t>(picture_.boxes[b].frame)].push_back(b);
    }
    for (size_t f = 1; f < picture_.frames.size(); ++f) {
      frames_in_[static_cast<size_t>(picture_.frames[f].parent)].push_back(f);
    }
    WriteFrame(0, 1);
    for (const Arrow& arrow : picture_.arrows) WriteArrow(arrow);
    out_ += "}\n";
    return std::move(out_);
  }

 private:
  void Indent(int depth) { out_.append(static_cast<size_t>(2 * depth), ' '); }

  // Writes the content of a frame. Recurses as deep as frames nest.
  void WriteFrame(size_t f, int depth) {
    for (const size_t b : boxes_in_[f]) WriteBox(b, depth);
    for (const size_t inner : frames_in_[f]) {
      const Frame& frame = picture_.frames[inner];
      Indent(depth);
      absl::StrAppend(&out_, "subgraph cluster_", inner, " {\n");
      Indent(depth + 1);
      absl::StrAppend(&out_, "label=\"", Escape(frame.label), "\"; labeljust=l; ",
                      frame.body == nullptr
                          ? "style=\"rounded,filled\"; color=\"#b0b0b0\"; fillcolor=\"#00000008\";"
                          : "style=dashed; color=\"#404040\";",
                      "\n");
      WriteFrame(inner, depth + 1);
      Indent(depth);
      out_ += "}\n";
    }
  }

  void WriteBox(size_t b, int depth) {
    const Box& box = picture_.boxes[b];
    Indent(depth);
    absl::StrAppend(&out_, "n", b, " [label=\"", Escape(box.title));
    if (!box.name.empty()) absl::StrAppend(&out_, "\\n", Escape(box.name));
    for (const std::string& line : box.constants) absl::StrAppend(&out_, "\\n", Escape(line));
    // Parameters are set to the left, below the centred lines.
    if (!box.parameters.empty()) out_ += "\\n";
    for (const std::string& line : box.parameters) absl::StrAppend(&out_, Escape(line), "\\l");
    absl::StrAppend(&out_, "\", fillcolor=\"", StyleOf(picture_, box).fill, "\"",
                    box.kind == BoxKind::kOutside ? ", style=\"filled,dashed\"" : "", "];\n");
  }

  void WriteArrow(const Arrow& arrow) {
    if (arrow.is_body) {
      const Frame& body = picture_.frames[static_cast<size_t>(arrow.to)];
      absl::StrAppend(&out_, "  n", arrow.from, " -> n", body.first_box, " [lhead=cluster_",
                      arrow.to, ", style=dashed];\n");
      return;
    }
    absl::StrAppend(&out_, "  n", arrow.from, " -> n", arrow.to);
    const std::string& value = picture_.boxes[static_cast<size_t>(arrow.from)].value;
    if (!value.empty()) absl::StrAppend(&out_, " [label=\" ", Escape(value), "\"]");
    out_ += ";\n";
  }

  const Picture& picture_;
  std::string out_;
  std::vector<std::vector<size_t>> boxes_in_;
  std::vector<std::vector<size_t>> frames_in_;
};

}  // namespace

std::string WriteDot(const Picture& picture) { return DotWriter(picture).Write(); }

}  // namespace graphnet
