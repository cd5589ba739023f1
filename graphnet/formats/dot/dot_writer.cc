#include "graphnet/formats/dot/dot_writer.h"

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/status.h"
#include "graphnet/ir/annotation.h"
#include "graphnet/text/printer.h"

namespace graphnet {
namespace {

// What a box shows at most.
constexpr size_t kMaxNameBytes = 60;
constexpr size_t kMaxMetaBytes = 60;
constexpr size_t kMaxParameterBytes = 40;
constexpr size_t kMaxParameters = 6;
// Frames nest no deeper; the rest of a path is taken as one part.
constexpr int kMaxFrameDepth = 16;

absl::string_view FillColor(Op op) {
  switch (op) {
    case Op::kPlaceholder: return "#d4e6f6";
    case Op::kGetAttr: return "#f5e3cf";
    case Op::kCallFunction: return "#fdf5cc";
    case Op::kCallMethod: return "#dbefd6";
    case Op::kCallModule: return "#e6dbf3";
    case Op::kOutput: return "#f6d5d5";
  }
  return "white";
}

// `text` as a part of a quoted string. Graphviz takes character references such
// as "&lt;" for what they name, and drops control characters or breaks at them.
std::string Escape(absl::string_view text, size_t max_bytes = kMaxNameBytes) {
  std::string out;
  for (char c : Printable(text, max_bytes)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
    if (c == '&') out += "amp;";
  }
  return out;
}

// The end of a long name tells more than its start.
std::string EscapeEnd(absl::string_view text, size_t max_bytes) {
  if (text.size() <= max_bytes) return Escape(text, max_bytes);
  size_t begin = text.size() - max_bytes;
  while (begin < text.size() && (text[begin] & 0xC0) == 0x80) ++begin;  // a whole character
  return absl::StrCat("…", Escape(text.substr(begin), max_bytes));
}

// Whether the value is a part of the model rather than of its input. Besides the
// annotation this goes by the names that torch.compile gives.
bool IsParameter(const Node& node) {
  if (node.op() == Op::kGetAttr) return true;
  if (!node.is_placeholder()) return false;
  return node.annotation() == kParameterAnnotation || absl::StrContains(node.target(), "_self_") ||
         absl::StrContains(node.target(), "_instance_modules_");
}

// A module path with the nodes right in it and the paths below.
struct Frame {
  absl::string_view path;
  std::vector<const Node*> nodes;
  std::vector<std::unique_ptr<Frame>> frames;  // by first appearance
  absl::flat_hash_map<absl::string_view, Frame*> index;
  size_t num_nodes = 0;  // those of the frames below included

  Frame* Below(absl::string_view below) {
    Frame*& frame = index[below];
    if (frame == nullptr) {
      frames.push_back(std::make_unique<Frame>());
      frame = frames.back().get();
      frame->path = below;
    }
    return frame;
  }
  void Add(const Node* node) {
    const absl::string_view path = node->module_path();
    Frame* frame = this;
    ++frame->num_nodes;
    size_t end = 0;
    for (int depth = 1; !path.empty() && end != absl::string_view::npos; ++depth) {
      end =
          depth < kMaxFrameDepth ? path.find('.', end == 0 ? 0 : end + 1) : absl::string_view::npos;
      frame = frame->Below(path.substr(0, end));
      ++frame->num_nodes;
    }
    frame->nodes.push_back(node);
  }
};

class DotWriter {
 public:
  explicit DotWriter(const Module& module) : module_(module) {}

  std::string Write() {
    const Graph* main = module_.main();
    absl::StrAppend(&out_, "digraph \"", main == nullptr ? "" : Escape(main->name()), "\" {\n");
    out_ +=
        "  graph [rankdir=TB, compound=true, fontname=\"Helvetica\", fontsize=11, nodesep=0.3, "
        "ranksep=0.35];\n"
        "  node [shape=box, style=\"filled,rounded\", fontname=\"Helvetica\", fontsize=10, "
        "height=0.3, margin=\"0.1,0.05\", color=\"#606060\"];\n"
        "  edge [color=\"#606060\", arrowsize=0.6];\n";
    for (const Graph* graph : module_.graphs()) {
      for (const Node* node : graph->nodes()) {
        if (!IsFolded(*node)) ids_.emplace(node, ids_.size());
      }
    }
    for (const Graph* graph : module_.graphs()) WriteGraph(*graph);
    for (const Graph* graph : module_.graphs()) WriteEdges(*graph);
    out_ += "}\n";
    return std::move(out_);
  }

 private:
  // Whether the node is shown in the boxes of its users only.
  static bool IsFolded(const Node& node) {
    if (!IsParameter(node)) return false;
    for (const Use& use : node.uses()) {
      if (use.user->is_output()) return false;
    }
    return true;
  }

  void Indent(int depth) { out_.append(static_cast<size_t>(2 * depth), ' '); }

  void OpenCluster(absl::string_view id, const std::string& label, absl::string_view style,
                   int depth) {
    Indent(depth);
    absl::StrAppend(&out_, "subgraph cluster_", id, " {\n");
    Indent(depth + 1);
    absl::StrAppend(&out_, "label=\"", label, "\"; labeljust=l; ", style, "\n");
  }
  void CloseCluster(int depth) {
    Indent(depth);
    out_ += "}\n";
  }

  void WriteGraph(const Graph& graph) {
    Frame root;
    for (const Node* node : graph.nodes()) {
      if (ids_.contains(node)) root.Add(node);
    }
    const bool is_main = &graph == module_.main();
    // The only graph needs no frame.
    const bool framed = !is_main || module_.graphs().size() > 1;
    const size_t number = graph_numbers_.size();
    graph_numbers_[&graph] = number;
    if (framed) {
      OpenCluster(absl::StrCat("g", number), Escape(graph.name()),
                  is_main ? "style=solid; color=\"#404040\";" : "style=dashed; color=\"#404040\";",
                  1);
    }
    const int depth = framed ? 2 : 1;
    for (const Node* node : root.nodes) WriteNode(*node, depth);
    for (const auto& frame : root.frames) WriteFrame(*frame, depth);
    if (framed) CloseCluster(1);
  }

  // At most kMaxFrameDepth deep.
  void WriteFrame(const Frame& frame, int depth) {
    // No frame around one node, nor around nothing but another frame.
    const bool framed = frame.num_nodes > 1 && (!frame.nodes.empty() || frame.frames.size() > 1);
    if (framed) {
      OpenCluster(absl::StrCat("m", num_frames_++), EscapeEnd(frame.path, kMaxNameBytes),
                  "style=\"rounded,filled\"; color=\"#b0b0b0\"; fillcolor=\"#00000008\";", depth);
    }
    const int below = framed ? depth + 1 : depth;
    for (const Node* node : frame.nodes) WriteNode(*node, below);
    for (const auto& child : frame.frames) WriteFrame(*child, below);
    if (framed) CloseCluster(depth);
  }

  void WriteNode(const Node& node, int depth) {
    Indent(depth);
    absl::StrAppend(&out_, "n", ids_.at(&node), " [label=\"",
                    EscapeEnd(node.name(), kMaxNameBytes));
    if (node.is_placeholder() ? node.target() != node.name() : !node.is_output()) {
      absl::StrAppend(&out_, "\\n", node.op() == Op::kCallMethod ? "." : "",
                      EscapeEnd(node.target(), kMaxNameBytes));
    }
    if (node.meta() != nullptr) {
      absl::StrAppend(&out_, "\\n", Escape(PrintMeta(*node.meta()), kMaxMetaBytes));
    }
    size_t num_parameters = 0;
    absl::flat_hash_set<const Node*> seen;
    node.ForEachOperand([&](const Node* operand) {
      if (ids_.contains(operand) || !seen.insert(operand).second) return;
      if (++num_parameters > kMaxParameters) return;
      // The lines of parameters are set to the left, below the centred others.
      absl::StrAppend(&out_, num_parameters == 1 ? "\\n" : "",
                      EscapeEnd(operand->target(), kMaxParameterBytes));
      if (operand->meta() != nullptr) {
        absl::StrAppend(&out_, " : ", Escape(PrintMeta(*operand->meta()), kMaxMetaBytes));
      }
      out_ += "\\l";
    });
    if (num_parameters > kMaxParameters) {
      absl::StrAppend(&out_, "+ ", num_parameters - kMaxParameters, " more\\l");
    }
    absl::StrAppend(&out_, "\", fillcolor=\"", FillColor(node.op()), "\"];\n");
  }

  void WriteEdges(const Graph& graph) {
    for (const Node* node : graph.nodes()) {
      const auto user = ids_.find(node);
      if (user == ids_.end()) continue;
      absl::flat_hash_set<const void*> drawn;
      node->ForEachOperand([&](const Node* operand) {
        const auto value = ids_.find(operand);
        if (value == ids_.end() || !drawn.insert(operand).second) return;
        absl::StrAppend(&out_, "  n", value->second, " -> n", user->second, ";\n");
      });
      node->ForEachArgument([&](const Argument& a) {
        if (!a.is_graph() || !drawn.insert(a.graph()).second) return;
        const Node* const first = FirstDrawn(*a.graph());
        if (first == nullptr) return;
        absl::StrAppend(&out_, "  n", user->second, " -> n", ids_.at(first), " [lhead=cluster_g",
                        graph_numbers_.at(a.graph()), ", style=dashed];\n");
      });
    }
  }

  const Node* FirstDrawn(const Graph& graph) const {
    for (const Node* node : graph.nodes()) {
      if (ids_.contains(node)) return node;
    }
    return nullptr;
  }

  const Module& module_;
  std::string out_;
  absl::flat_hash_map<const Node*, size_t> ids_;  // of the nodes that have a box
  absl::flat_hash_map<const Graph*, size_t> graph_numbers_;
  size_t num_frames_ = 0;
};

}  // namespace

std::string WriteDot(const Module& module) { return DotWriter(module).Write(); }

}  // namespace graphnet
