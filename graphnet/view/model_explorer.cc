#include "graphnet/view/model_explorer.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "graphnet/base/json.h"
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

  std::string Write() const {
    std::string graphs;
    for (size_t g = 0; g < ids_.size(); ++g) {
      std::string nodes;
      for (const size_t b : boxes_in_[g])
        absl::StrAppend(&nodes, nodes.empty() ? "" : ",", NodeJson(b).DumpForScript());
      absl::StrAppend(&graphs, g == 0 ? "" : ",", "{\"id\":", Json(Id(g)).DumpForScript(),
                      ",\"nodes\":[", nodes, "]}");
    }
    return absl::StrCat("{\"label\":", Json(picture_.title).DumpForScript(), ",\"graphs\":[",
                        graphs, "]}\n");
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

  static void AddAttribute(absl::string_view key, absl::string_view value, Json* attributes) {
    if (!value.empty()) attributes->push_back(Json::Object({{"key", key}, {"value", value}}));
  }

  Json NodeJson(size_t b) const {
    const Box& box = picture_.boxes[b];
    Json json = Json::Object(
        {{"id", absl::StrCat(b)}, {"label", box.title}, {"namespace", Namespace(box.frame)}});
    if (const auto it = bodies_.find(static_cast<int>(b)); it != bodies_.end()) {
      for (const size_t g : it->second) json["subgraphIds"].push_back(Id(g));
    }
    Json& edges = json["incomingEdges"] = Json::List();
    const std::vector<int>& inputs = arrows_to_[b];
    for (size_t i = 0; i < inputs.size(); ++i) {
      edges.push_back(Json::Object({{"sourceNodeId", absl::StrCat(inputs[i])},
                                    {"sourceNodeOutputId", "0"},
                                    {"targetNodeInputId", absl::StrCat(i)}}));
    }
    Json& attributes = json["attrs"] = Json::List();
    AddAttribute("name", box.name, &attributes);
    if (box.node != nullptr) {
      AddAttribute("target", Printable(box.node->target(), kMaxTextBytes), &attributes);
      AddAttribute("text", Printable(PrintNode(*box.node), kMaxTextBytes), &attributes);
      const SourceLocation place = box.node->location();
      if (place.line > 0) {
        AddAttribute("place", Printable(absl::StrCat(place.file, ":", place.line)), &attributes);
      }
    }
    for (const std::string& line : box.constants) AddAttribute("constants", line, &attributes);
    for (const std::string& line : box.parameters) AddAttribute("parameter", line, &attributes);
    if (picture_.marked) AddAttribute("compared", StyleOf(box.mark).meaning, &attributes);
    Json& outputs = json["outputsMetadata"] = Json::List();
    if (!box.value.empty()) {
      Json output = Json::Object({{"id", "0"}});
      // Model Explorer writes the value of this key on edges.
      AddAttribute("tensor_shape", box.value, &output["attrs"]);
      outputs.push_back(std::move(output));
    }
    if (picture_.marked) {
      json["style"] = Json::Object(
          {{"backgroundColor", StyleOf(box.mark).fill}, {"borderColor", StyleOf(box.mark).line}});
    }
    return json;
  }

  const Picture& picture_;
  std::vector<std::string> ids_;  // of graphs
  std::vector<size_t> graph_of_frame_;
  std::vector<std::vector<size_t>> boxes_in_;  // by graph
  std::vector<std::vector<int>> arrows_to_;    // by box
  absl::flat_hash_map<int, std::vector<size_t>> bodies_;
};

}  // namespace

std::string WriteModelExplorer(const Picture& picture) { return Writer(picture).Write(); }

}  // namespace graphnet
