#include "graphnet/view/svg.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/markup.h"
#include "graphnet/base/status.h"
#include "graphnet/view/style.h"

namespace graphnet {
namespace {

constexpr double kMargin = 16;
constexpr double kLegendHeight = 26;
constexpr size_t kMaxTitleBytes = 300;

constexpr char kCss[] = R"(
text { font-family: Helvetica, Arial, "Liberation Sans", "DejaVu Sans", sans-serif; font-size: 10px; fill: #222; }
.t { font-size: 12px; font-weight: bold; text-anchor: middle; }
.n { text-anchor: middle; fill: #666; }
.c { text-anchor: middle; }
.p { fill: #335; }
.v { fill: #555; paint-order: stroke; stroke: #fff; stroke-width: 3px; }
.f { fill: #000; fill-opacity: .035; stroke: #b5b5b5; }
.g { fill: none; stroke: #555; stroke-dasharray: 5 3; }
.h { fill: #555; font-weight: bold; }
.e { fill: none; stroke: #777; }
.b { fill: none; stroke: #7659ad; stroke-dasharray: 4 3; }
.o { fill: none; stroke: #ccc; }
.a { fill: #777; }
)";

// Writes a number with at most one decimal.
std::string Number(double value) {
  std::string text = absl::StrFormat("%.1f", value);
  if (text.back() == '0') text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

class SvgWriter {
 public:
  SvgWriter(const Picture& picture, const PictureLayout& layout)
      : picture_(picture), layout_(layout) {}

  std::string Write() {
    const FrameLayout& all = layout_.frames[0];
    const double legend = LegendWidth();
    const double width = std::max(all.width, legend) + 2 * kMargin;
    // A picture narrower than the legend is centred.
    left_ = (width - all.width) / 2;
    top_ = kMargin + kLegendHeight;
    const double height = all.height + top_ + kMargin;
    absl::StrAppend(&out_, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", Number(width),
                    "\" height=\"", Number(height), "\" viewBox=\"0 0 ", Number(width), " ",
                    Number(height), "\">\n<title>", XmlText(picture_.title), "</title>\n<style>",
                    kCss);
    const std::vector<const BoxStyle*> styles = StylesIn(picture_);
    for (size_t i = 0; i < styles.size(); ++i) {
      absl::StrAppend(&out_, ".k", i, " { fill: ", styles[i]->fill, "; stroke: ", styles[i]->line,
                      styles[i] == &StyleOf(BoxKind::kOutside) ? "; stroke-dasharray: 4 3" : "",
                      "; }\n");
    }
    out_ += "</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n";
    WriteLegend(styles);
    absl::StrAppend(&out_, "<g transform=\"translate(", Number(left_), " ", Number(top_), ")\">\n");
    for (size_t f = 1; f < picture_.frames.size(); ++f) WriteFrame(f);
    for (size_t f = 0; f < picture_.frames.size(); ++f) WriteLinks(f);
    for (size_t b = 0; b < picture_.boxes.size(); ++b) {
      const BoxStyle* style = &StyleOf(picture_, picture_.boxes[b]);
      WriteBox(
          b, static_cast<size_t>(std::find(styles.begin(), styles.end(), style) - styles.begin()));
    }
    out_ += "</g>\n</svg>\n";
    return std::move(out_);
  }

 private:
  static double SwatchWidth(const BoxStyle& style) {
    return 16 + TextWidth(style.meaning, kTextSize) + 14;
  }

  double LegendWidth() const {
    double width = 0;
    for (const BoxStyle* style : StylesIn(picture_)) width += SwatchWidth(*style);
    return width;
  }

  void WriteLegend(const std::vector<const BoxStyle*>& styles) {
    double x = kMargin;
    for (size_t i = 0; i < styles.size(); ++i) {
      absl::StrAppend(&out_, "<rect class=\"k", i, "\" x=\"", Number(x),
                      "\" y=\"12\" width=\"11\" height=\"11\" rx=\"2\"/>");
      Text("", x + 16, 21, styles[i]->meaning);
      out_ += '\n';
      x += SwatchWidth(*styles[i]);
    }
  }

  void Text(absl::string_view style, double x, double y, absl::string_view text) {
    absl::StrAppend(&out_, "<text");
    if (!style.empty()) absl::StrAppend(&out_, " class=\"", style, "\"");
    absl::StrAppend(&out_, " x=\"", Number(x), "\" y=\"", Number(y), "\">", XmlText(text),
                    "</text>");
  }

  void WriteFrame(size_t f) {
    const FrameLayout& frame = layout_.frames[f];
    absl::StrAppend(&out_, "<rect class=\"", picture_.frames[f].body != nullptr ? "g" : "f",
                    "\" x=\"", Number(frame.x), "\" y=\"", Number(frame.y), "\" width=\"",
                    Number(frame.width), "\" height=\"", Number(frame.height), "\" rx=\"6\"/>\n");
    Text("h", frame.x + 8, frame.y + 13, picture_.frames[f].label);
    out_ += '\n';
  }

  void WriteLinks(size_t f) {
    const FrameLayout& frame = layout_.frames[f];
    const double left = frame.x + (f > 0 ? kFramePadding : 0);
    std::string lines[3];  // of values, of bodies, of far links
    std::string heads;
    const int num_boxes = static_cast<int>(picture_.boxes.size());
    const auto vertical = [](double x, double from, double to, std::string* out) {
      absl::StrAppend(out, "M", Number(x), " ", Number(from), "V", Number(to));
    };
    for (const LayoutLink& link : frame.links) {
      const LayoutItem& from = frame.items[static_cast<size_t>(link.from)];
      const LayoutItem& to = frame.items[static_cast<size_t>(link.to)];
      std::string& out = lines[link.far ? 2 : link.value >= num_boxes ? 1 : 0];
      const auto row = static_cast<size_t>(from.row);
      double start = frame.y + frame.row_y[row];
      if (from.kind == LayoutItem::kBox) {
        start += layout_.boxes[static_cast<size_t>(from.index)].height;
      } else if (from.kind == LayoutItem::kFrame) {
        start += from.height;
      } else if (from.kind == LayoutItem::kEntry) {
        start = frame.y;
      }
      const double bottom = frame.y + frame.row_y[row] + frame.row_height[row];
      if (from.kind == LayoutItem::kBend)
        start = bottom;  // the part above belongs to the link that ends at the bend
      const double x1 = left + from.x + link.from_x;
      const double x2 = left + to.x + link.to_x;
      const double end = frame.y + frame.row_y[static_cast<size_t>(to.row)];
      const bool head = to.kind == LayoutItem::kBox || link.value >= num_boxes;
      const double stop = head ? end - 4 : end;
      absl::StrAppend(&out, "M", Number(x1), " ", Number(start));
      if (bottom > start) absl::StrAppend(&out, "V", Number(bottom));
      if (x1 == x2) {
        absl::StrAppend(&out, "V", Number(stop));
      } else {
        const double middle = (bottom + stop) / 2;
        absl::StrAppend(&out, "C", Number(x1), " ", Number(middle), " ", Number(x2), " ",
                        Number(middle), " ", Number(x2), " ", Number(stop));
      }
      if (head) {
        absl::StrAppend(&heads, "M", Number(x2 - 3), " ", Number(end - 6), "h6l-3 6z");
      } else if (to.kind == LayoutItem::kBend) {
        const auto below = static_cast<size_t>(to.row);
        if (frame.row_height[below] > 0) vertical(x2, end, end + frame.row_height[below], &out);
      } else if (to.kind == LayoutItem::kExit) {
        vertical(x2, end, frame.y + frame.height, &out);
      }
    }
    // Draw lines for values that leave the picture.
    for (const LayoutItem& item : frame.items) {
      if (item.kind != LayoutItem::kBox) continue;
      const auto b = static_cast<size_t>(item.index);
      if (!picture_.boxes[b].used_outside) continue;
      const BoxLayout& box = layout_.boxes[b];
      vertical(box.x + box.width / 2, box.y + box.height, box.y + box.height + kValueHeight,
               &lines[0]);
    }
    constexpr const char* kClasses[] = {"e", "b", "o"};
    for (size_t i = 3; i-- > 0;) {
      if (lines[i].empty()) continue;
      absl::StrAppend(&out_, "<path class=\"", kClasses[i], "\" d=\"", lines[i], "\"/>\n");
    }
    if (!heads.empty()) absl::StrAppend(&out_, "<path class=\"a\" d=\"", heads, "\"/>\n");
  }

  void WriteBox(size_t b, size_t style) {
    const Box& box = picture_.boxes[b];
    const BoxLayout& place = layout_.boxes[b];
    out_ += "<g>";
    if (box.node != nullptr) {
      absl::StrAppend(&out_, "<title>",
                      XmlText(Printable(absl::StrCat(box.node->name(), " = ", box.node->target()),
                                        kMaxTitleBytes)),
                      "</title>");
    }
    absl::StrAppend(&out_, "<rect class=\"k", style, "\" x=\"", Number(place.x), "\" y=\"",
                    Number(place.y), "\" width=\"", Number(place.width), "\" height=\"",
                    Number(place.height), "\" rx=\"4\"/>");
    const double middle = place.x + place.width / 2;
    double y = place.y + kBoxPadding / 2 + kTitleHeight - 4;
    Text("t", middle, y, box.title);
    const auto line = [&](absl::string_view css, absl::string_view text) {
      y += kLineHeight;
      Text(css, css == "p" ? place.x + kBoxPadding : middle, y, text);
    };
    if (!box.name.empty()) line("n", box.name);
    for (const std::string& text : box.constants) line("c", text);
    for (const std::string& text : box.parameters) line("p", text);
    if (place.shows_value)
      Text("v", middle + kBoxValueLeft, place.y + place.height + 11, box.value);
    out_ += "</g>\n";
  }

  const Picture& picture_;
  const PictureLayout& layout_;
  std::string out_;
  double left_ = 0;
  double top_ = 0;
};

}  // namespace

std::string WriteSvg(const Picture& picture, const PictureLayout& layout) {
  return SvgWriter(picture, layout).Write();
}

}  // namespace graphnet
