#include "graphnet/view/page.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

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

Json JsonOf(const Box& box, const BoxLayout& place, size_t style) {
  const double value_width = kBoxValueLeft + TextWidth(box.value, kTextSize);
  const double width =
      place.shows_value ? std::max(place.width, place.width / 2 + value_width) : place.width;
  return Json::List({box.title, box.name, box.constants, box.parameters, box.value, box.frame,
                     style, Json::Rounded(place.width), Json::Rounded(place.height),
                     Json::Rounded(width),
                     Json::Rounded(place.height + (place.shows_value ? kValueHeight : 0)),
                     box.used_outside ? 1 : 0,
                     box.node == nullptr ? "" : Printable(PrintNode(*box.node), kMaxLineBytes),
                     box.node == nullptr ? "" : PlaceOf(*box.node)});
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

std::string Data(const Picture& picture, const PictureLayout& layout, int depth) {
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
    boxes.push_back(JsonOf(picture.boxes[b], layout.boxes[b], style).DumpForScript());
  }
  for (size_t f = 0; f < picture.frames.size(); ++f)
    frames.push_back(JsonOf(picture.frames[f], layout.frames[f]).DumpForScript());
  return absl::StrCat("{\"title\":", Json(picture.title).DumpForScript(), ",\"depth\":", depth,
                      ",\"metrics\":", metrics.Dump(-1), ",\"styles\":", style_rows.DumpForScript(),
                      ",\"boxes\":[", absl::StrJoin(boxes, ","), "],\"frames\":[",
                      absl::StrJoin(frames, ","), "],\"arrows\":", arrows.Dump(-1), "}");
}

}  // namespace

std::string WritePage(const Picture& picture, const PictureLayout& layout, int depth) {
  // The inserted text is not searched again.
  return absl::StrReplaceAll(PageText(),
                             {{"@TITLE@", XmlText(picture.title)},
                              {"@DATA@", Data(picture, layout, depth)},
                              {"@SCRIPT@", absl::StrCat(ScriptText(), "\n", ControlsText())}});
}

}  // namespace graphnet
