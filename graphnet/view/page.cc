#include "graphnet/view/page.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
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

void AddBox(const Picture& picture, const PictureLayout& layout, size_t b, size_t style,
            JsonWriter* json) {
  const Box& box = picture.boxes[b];
  const BoxLayout& place = layout.boxes[b];
  json->Open('[').Text(box.title).Text(box.name);
  for (const std::vector<std::string>* lines : {&box.constants, &box.parameters}) {
    json->Open('[');
    for (const std::string& line : *lines) json->Text(line);
    json->Close(']');
  }
  const double value_width = kBoxValueLeft + TextWidth(box.value, kTextSize);
  json->Text(box.value).Number(box.frame).Number(style).Number(place.width).Number(place.height);
  json->Number(place.shows_value ? std::max(place.width, place.width / 2 + value_width)
                                 : place.width);
  json->Number(place.height + (place.shows_value ? kValueHeight : 0));
  json->Number(box.used_outside ? 1 : 0);
  json->Text(box.node == nullptr ? "" : Printable(PrintNode(*box.node), kMaxLineBytes));
  json->Text(box.node == nullptr ? "" : PlaceOf(*box.node)).Close(']');
}

void AddFrame(const Frame& frame, const FrameLayout& layout, JsonWriter* json) {
  json->Open('{');
  json->Key("label").Text(frame.label);
  json->Key("parent").Number(frame.parent).Key("depth").Number(frame.depth);
  json->Key("body").Number(frame.body == nullptr ? 0 : 1).Key("size").Number(frame.num_boxes);
  json->Key("items").Open('[');
  for (const LayoutItem& item : layout.items) {
    json->Number(static_cast<int>(item.kind)).Number(item.index);
  }
  json->Close(']').Key("rows").Open('[');
  for (const std::vector<int>& row : layout.rows) {
    json->Open('[');
    for (const int item : row) json->Number(item);
    json->Close(']');
  }
  json->Close(']').Key("links").Open('[');
  for (const LayoutLink& link : layout.links) {
    json->Number(link.from).Number(link.to).Number(link.value).Number(link.far ? 1 : 0);
  }
  json->Close(']').Close('}');
}

std::string Data(const Picture& picture, const PictureLayout& layout, int depth) {
  JsonWriter json;
  json.Open('{').Key("title").Text(picture.title).Key("depth").Number(depth);
  json.Key("metrics").Open('{');
  const std::pair<const char*, double> metrics[] = {
      {"titleHeight", kTitleHeight},
      {"lineHeight", kLineHeight},
      {"boxPadding", kBoxPadding},
      {"valueHeight", kValueHeight},
      {"headerHeight", kHeaderHeight},
      {"framePadding", kFramePadding},
      {"boxGap", kBoxGap},
      {"bendGap", kBendGap},
      {"rowGap", kRowGap},
      {"maxRowGap", kMaxRowGap},
  };
  for (const auto& [name, value] : metrics) json.Key(name).Number(value);
  json.Close('}').Key("styles").Open('[');
  const std::vector<const BoxStyle*> styles = StylesIn(picture);
  for (const BoxStyle* style : styles) {
    json.Open('[').Text(style->meaning).Text(style->fill).Text(style->line).Text(style->dark_fill);
    json.Number(style == &StyleOf(BoxKind::kOutside) ? 1 : 0).Close(']');
  }
  json.Close(']').Key("boxes").Open('[');
  for (size_t b = 0; b < picture.boxes.size(); ++b) {
    const auto it = std::find(styles.begin(), styles.end(), &StyleOf(picture, picture.boxes[b]));
    AddBox(picture, layout, b, static_cast<size_t>(it - styles.begin()), &json);
  }
  json.Close(']').Key("frames").Open('[');
  for (size_t f = 0; f < picture.frames.size(); ++f) {
    AddFrame(picture.frames[f], layout.frames[f], &json);
  }
  json.Close(']').Key("arrows").Open('[');
  for (const Arrow& arrow : picture.arrows) {
    if (!arrow.is_body) json.Number(arrow.from).Number(arrow.to);
  }
  return json.Close(']').Close('}').Take();
}

}  // namespace

std::string WritePage(const Picture& picture, const PictureLayout& layout, int depth) {
  // The inserted text is not searched again.
  return absl::StrReplaceAll(PageText(), {{"@TITLE@", XmlText(picture.title)},
                                          {"@DATA@", Data(picture, layout, depth)},
                                          {"@SCRIPT@", ScriptText()}});
}

}  // namespace graphnet
