#include "graphnet/view/model_explorer.h"

#include <cstddef>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "graphnet/base/markup.h"
#include "graphnet/base/status.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/view/style.h"

namespace graphnet {
namespace {

constexpr size_t kMaxTextBytes = 2000;

class Writer {
 public:
  explicit Writer(const Picture& picture)
      : picture_(picture), boxes_in_(1), arrows_to_(picture.boxes.size()) {
    // Assign a graph to each frame, by number: a body has one of its own.
    graph_of_frame_.assign(picture.frames.size(), 0);
    ids_.push_back(picture.title);
    bool has_main = false;
    for (size_t f = 1; f < picture.frames.size(); ++f) {
      const Frame& frame = picture.frames[f];
      graph_of_frame_[f] = graph_of_frame_[static_cast<size_t>(frame.parent)];
      if (frame.body == nullptr) continue;
      if (has_main) {
        graph_of_frame_[f] = ids_.size();
        ids_.push_back(frame.label);
        boxes_in_.emplace_back();
      }
      has_main = true;
    }
    for (size_t b = 0; b < picture.boxes.size(); ++b) {
      boxes_in_[graph_of_frame_[static_cast<size_t>(picture.boxes[b].frame)]].push_back(b);
    }
    for (const Arrow& arrow : picture.arrows) {
      if (arrow.is_body) {
        bodies_[arrow.from].push_back(graph_of_frame_[static_cast<size_t>(arrow.to)]);
      } else {
        arrows_to_[static_cast<size_t>(arrow.to)].push_back(arrow.from);
      }
    }
  }

  std::string Write() {
    json_.Open('{').Key("label").Text(picture_.title).Key("graphs").Open('[');
    for (size_t g = 0; g < ids_.size(); ++g) {
      json_.Open('{').Key("id").Text(Id(g)).Key("nodes").Open('[');
      for (const size_t b : boxes_in_[g]) WriteNode(b);
      json_.Close(']').Close('}');
    }
    return json_.Close(']').Close('}').Take() + "\n";
  }

 private:
  // Labels may be cut and therefore equal, so ids have a number.
  std::string Id(size_t graph) const {
    return graph == 0 ? ids_[0] : absl::StrCat(ids_[graph], " #", graph);
  }

  std::string Namespace(int f) const {
    std::vector<std::string> parts;
    for (; f > 0; f = picture_.frames[static_cast<size_t>(f)].parent) {
      const Frame& frame = picture_.frames[static_cast<size_t>(f)];
      if (frame.body != nullptr) break;
      absl::string_view label = frame.label;
      absl::string_view below = label;
      const Frame& parent = picture_.frames[static_cast<size_t>(frame.parent)];
      if (parent.body == nullptr && absl::ConsumePrefix(&below, parent.label) &&
          absl::ConsumePrefix(&below, ".")) {
        label = below;
      }
      parts.push_back(absl::StrReplaceAll(label, {{"/", "∕"}}));
    }
    std::string out;
    for (size_t i = parts.size(); i-- > 0;) absl::StrAppend(&out, parts[i], i > 0 ? "/" : "");
    return out;
  }

  void Attribute(absl::string_view key, absl::string_view value) {
    if (value.empty()) return;
    json_.Open('{').Key("key").Text(key).Key("value").Text(value).Close('}');
  }

  void WriteNode(size_t b) {
    const Box& box = picture_.boxes[b];
    json_.Open('{').Key("id").Text(absl::StrCat(b)).Key("label").Text(box.title);
    json_.Key("namespace").Text(Namespace(box.frame));
    if (const auto it = bodies_.find(static_cast<int>(b)); it != bodies_.end()) {
      json_.Key("subgraphIds").Open('[');
      for (const size_t g : it->second) json_.Text(Id(g));
      json_.Close(']');
    }
    json_.Key("incomingEdges").Open('[');
    const std::vector<int>& inputs = arrows_to_[b];
    for (size_t i = 0; i < inputs.size(); ++i) {
      json_.Open('{').Key("sourceNodeId").Text(absl::StrCat(inputs[i]));
      json_.Key("sourceNodeOutputId").Text("0");
      json_.Key("targetNodeInputId").Text(absl::StrCat(i)).Close('}');
    }
    json_.Close(']').Key("attrs").Open('[');
    Attribute("name", box.name);
    if (box.node != nullptr) {
      Attribute("target", Printable(box.node->target(), kMaxTextBytes));
      Attribute("text", Printable(PrintNode(*box.node), kMaxTextBytes));
      const SourceLocation place = box.node->location();
      if (place.line > 0) {
        Attribute("place", Printable(absl::StrCat(place.file, ":", place.line)));
      }
    }
    for (const std::vector<std::string>* lines : {&box.constants, &box.parameters}) {
      for (const std::string& line : *lines) {
        Attribute(lines == &box.constants ? "constants" : "parameter", line);
      }
    }
    if (picture_.marked) Attribute("compared", StyleOf(box.mark).meaning);
    json_.Close(']').Key("outputsMetadata").Open('[');
    if (!box.value.empty()) {
      json_.Open('{').Key("id").Text("0").Key("attrs").Open('[');
      // Model Explorer writes the value of this key on edges.
      Attribute("tensor_shape", box.value);
      json_.Close(']').Close('}');
    }
    json_.Close(']');
    if (picture_.marked) {
      json_.Key("style").Open('{').Key("backgroundColor").Text(StyleOf(box.mark).fill);
      json_.Key("borderColor").Text(StyleOf(box.mark).line).Close('}');
    }
    json_.Close('}');
  }

  const Picture& picture_;
  JsonWriter json_;
  std::vector<std::string> ids_;  // of graphs
  std::vector<size_t> graph_of_frame_;
  std::vector<std::vector<size_t>> boxes_in_;  // by graph
  std::vector<std::vector<int>> arrows_to_;    // by box
  absl::flat_hash_map<int, std::vector<size_t>> bodies_;
};

}  // namespace

std::string WriteModelExplorer(const Picture& picture) { return Writer(picture).Write(); }

}  // namespace graphnet
