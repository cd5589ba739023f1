#include "graphnet/view/page.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/json.h"
#include "graphnet/base/markup.h"
#include "graphnet/base/status.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/view/page_text.h"
#include "graphnet/view/style.h"

namespace graphnet {
namespace {

constexpr size_t kMaxLineBytes = 2000;

std::string PlaceOf(const Node& node) {
  const SourceLocation place = node.location();
  if (place.line == 0) return "";
  std::string text = absl::StrCat(place.file, ":", place.line);
  if (place.column > 0) absl::StrAppend(&text, ":", place.column);
  return Printable(text);
}

// Returns the module of a box, unless the label of its frame says it.
std::string ModuleIn(const Picture& picture, const Box& box) {
  if (box.node == nullptr) return "";
  const Frame& frame = picture.frames[static_cast<size_t>(box.frame)];
  std::string path = Printable(box.node->module_path(), kMaxLineBytes);
  return frame.body == nullptr && path == frame.label ? "" : path;
}

Json JsonOf(const Picture& picture, const Box& box, const BoxLayout& place, size_t style) {
  const double value_width = kBoxValueLeft + TextWidth(box.value, kTextSize);
  const double width =
      place.shows_value ? std::max(place.width, place.width / 2 + value_width) : place.width;
  return Json::List({box.title, box.name, box.constants, box.parameters, box.value, box.frame,
                     style, Json::Rounded(place.width), Json::Rounded(place.height),
                     Json::Rounded(width),
                     Json::Rounded(place.height + (place.shows_value ? kValueHeight : 0)),
                     box.used_outside ? 1 : 0,
                     box.node == nullptr ? "" : Printable(PrintNode(*box.node), kMaxLineBytes),
                     box.node == nullptr ? "" : PlaceOf(*box.node), ModuleIn(picture, box)});
}

Json JsonOf(const Frame& frame, const FrameLayout& layout) {
  Json items = Json::List(), links = Json::List();
  for (const LayoutItem& item : layout.items) {
    items.push_back(static_cast<int>(item.kind));
    items.push_back(item.index);
  }
  for (const LayoutLink& link : layout.links) {
    for (const int value : {link.from, link.to, link.value, link.far ? 1 : 0})
      links.push_back(value);
  }
  return Json::Object({{"label", frame.label},
                       {"parent", frame.parent},
                       {"depth", frame.depth},
                       {"body", frame.body == nullptr ? 0 : 1},
                       {"size", frame.num_boxes},
                       {"items", std::move(items)},
                       {"rows", layout.rows},
                       {"links", std::move(links)}});
}

// Returns the notes by the number of a box.
Json Notes(const Picture& picture, const PageOptions& options) {
  Json made = Json::Object();
  if (options.notes.empty()) return made;
  absl::flat_hash_set<const Node*> drawn;
  for (const Box& box : picture.boxes) drawn.insert(box.node);
  for (size_t b = 0; b < picture.boxes.size(); ++b) {
    const Node* node = picture.boxes[b].node;
    if (node == nullptr) continue;
    Json lines = Json::List();
    const auto add = [&](const Node* noted, const std::string& start) {
      const auto it = options.notes.find(noted);
      if (it == options.notes.end()) return;
      for (const std::string& line : it->second)
        lines.push_back(Printable(absl::StrCat(start, line), kMaxLineBytes));
    };
    add(node, "");
    absl::flat_hash_set<const Node*> seen;
    node->ForEachOperand([&](const Node* operand) {
      if (!drawn.contains(operand) && seen.insert(operand).second)
        add(operand, absl::StrCat("%", operand->name(), ": "));
    });
    if (!lines.elements().empty()) made[absl::StrCat(b)] = std::move(lines);
  }
  return made;
}

Json Columns(const NodeValues& values) {
  Json made = Json::List();
  for (const std::string& column : values.columns) made.push_back(Printable(column, kMaxLineBytes));
  return made;
}

// Returns the rows of values by the number of a box.
Json Values(const Picture& picture, const NodeValues& values) {
  Json made = Json::Object();
  for (size_t b = 0; b < picture.boxes.size() && !values.rows.empty(); ++b) {
    const auto it = values.rows.find(picture.boxes[b].node);
    if (it == values.rows.end()) continue;
    Json& row = made[absl::StrCat(b)] = Json::List();
    for (const Json& cell : it->second)
      row.push_back(cell.text() == nullptr ? cell : Json(Printable(*cell.text(), kMaxLineBytes)));
  }
  return made;
}

std::string Data(const Picture& picture, const PictureLayout& layout, const PageOptions& options) {
  Json metrics = Json::Object({{"titleHeight", Json::Rounded(kTitleHeight)},
                               {"lineHeight", Json::Rounded(kLineHeight)},
                               {"boxPadding", Json::Rounded(kBoxPadding)},
                               {"valueHeight", Json::Rounded(kValueHeight)},
                               {"headerHeight", Json::Rounded(kHeaderHeight)},
                               {"framePadding", Json::Rounded(kFramePadding)},
                               {"boxGap", Json::Rounded(kBoxGap)},
                               {"bendGap", Json::Rounded(kBendGap)},
                               {"rowGap", Json::Rounded(kRowGap)},
                               {"maxRowGap", Json::Rounded(kMaxRowGap)}});
  const std::vector<const BoxStyle*> styles = StylesIn(picture);
  Json style_rows = Json::List(), arrows = Json::List();
  for (const BoxStyle* style : styles) {
    style_rows.push_back(Json::List({style->meaning, style->fill, style->line, style->dark_fill,
                                     style == &StyleOf(BoxKind::kOutside) ? 1 : 0}));
  }
  for (const Arrow& arrow : picture.arrows) {
    if (arrow.is_body) continue;
    arrows.push_back(arrow.from);
    arrows.push_back(arrow.to);
  }
  // Rows of large graphs become text one by one.
  std::vector<std::string> boxes, frames;
  for (size_t b = 0; b < picture.boxes.size(); ++b) {
    const auto it = std::find(styles.begin(), styles.end(), &StyleOf(picture, picture.boxes[b]));
    const size_t style = static_cast<size_t>(it - styles.begin());
    boxes.push_back(JsonOf(picture, picture.boxes[b], layout.boxes[b], style).DumpForScript());
  }
  for (size_t f = 0; f < picture.frames.size(); ++f)
    frames.push_back(JsonOf(picture.frames[f], layout.frames[f]).DumpForScript());
  return absl::StrCat(
      "{\"title\":", Json(picture.title).DumpForScript(), ",\"depth\":", options.depth,
      ",\"marked\":", picture.marked ? "true" : "false", ",\"metrics\":", metrics.Dump(-1),
      ",\"styles\":", style_rows.DumpForScript(), ",\"boxes\":[", absl::StrJoin(boxes, ","),
      "],\"frames\":[", absl::StrJoin(frames, ","), "],\"arrows\":", arrows.Dump(-1),
      ",\"notes\":", Notes(picture, options).DumpForScript(),
      ",\"columns\":", Columns(options.values).DumpForScript(),
      ",\"values\":", Values(picture, options.values).DumpForScript(), "}");
}

}  // namespace

std::string WritePage(const Picture& picture, const PictureLayout& layout,
                      const PageOptions& options) {
  // The inserted text is not searched again.
  return absl::StrReplaceAll(
      PageText(),
      {{"@TITLE@", XmlText(picture.title)},
       {"@DATA@", Data(picture, layout, options)},
       {"@SCRIPT@", absl::StrCat(ScriptText(), "\n", ValuesText(), "\n", ControlsText())}});
}

}  // namespace graphnet
