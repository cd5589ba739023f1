#include "graphnet/evaluate/plot.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/markup.h"
#include "graphnet/base/status.h"
#include "graphnet/evaluate/violin.h"

namespace graphnet {
namespace {

constexpr double kWidth = 1080;
constexpr double kMargin = 16;
constexpr double kPanelHeight = 330;
constexpr double kViolinHeight = 300;
constexpr double kLegendLine = 20;
constexpr double kAxisLeft = 54;  // of a panel, for the labels
constexpr double kAxisBottom = 44;
constexpr double kPanelTop = 34;  // for its heading
constexpr size_t kMaxNameBytes = 40;
constexpr size_t kMaxLegend = 40;

constexpr char kCss[] = R"(
.scores text { font-family: Helvetica, Arial, "Liberation Sans", "DejaVu Sans", sans-serif; font-size: 11px; fill: #222; }
.scores .head { font-size: 13px; font-weight: bold; }
.scores .dim { fill: #666; }
.scores .mid { text-anchor: middle; }
.scores .end { text-anchor: end; }
.scores .ground { fill: #fff; }
.scores .grid { stroke: #e3e3e3; fill: none; }
.scores .axis { stroke: #888; fill: none; }
.scores .line { fill: none; stroke-width: 2; stroke-linejoin: round; }
.scores .macro { fill: none; stroke-dasharray: 2 1.5; }
.scores .band { fill-opacity: .13; stroke: none; }
.scores .body { fill-opacity: .35; }
.scores .box { stroke-width: 4; }
.scores .median { fill: #fff; stroke-width: 1.5; }
)";

// The colours of Okabe and Ito, which are safe for colour-blind readers; the second eight are
// dashed.
constexpr const char* kColors[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                   "#e69f00", "#56b4e9", "#8a6d3b", "#555555"};
constexpr size_t kNumColors = std::size(kColors);

std::string Number(double value) {
  std::string text = absl::StrFormat("%.1f", value);
  if (text.back() == '0') text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

std::string DashOf(size_t curve) {
  return curve / kNumColors % 2 == 1 ? " stroke-dasharray=\"7 3\"" : "";
}

// Returns the distance between at most `most` round marks up to `span`: 1, 2 or 5 times a power of
// ten.
double Step(double span, int most) {
  double step = std::pow(10, std::floor(std::log10(span / most)));
  for (const double factor : {2.0, 2.5, 2.0}) {
    if (span / step <= most) break;
    step *= factor;
  }
  return step;
}

// A part of the drawing with scales in x and y.
struct Panel {
  double left, top, right, bottom;
  double x_from, x_to, y_from, y_to;

  double X(double x) const { return left + (x - x_from) / (x_to - x_from) * (right - left); }
  double Y(double y) const {
    const double part = std::clamp((y - y_from) / (y_to - y_from), -0.02, 1.02);
    return bottom - part * (bottom - top);
  }
};

using Points = std::vector<std::pair<double, double>>;

class PlotWriter {
 public:
  explicit PlotWriter(absl::Span<const Curve> curves) : curves_(curves) {}

  std::string Write() {
    const double legend = Legend();
    const double violins = legend + kPanelHeight + kMargin;
    const double height = violins + kViolinHeight + kMargin;
    const double half = (kWidth - kMargin) / 2;
    const double top = legend + kPanelTop;
    const double bottom = legend + kPanelHeight - kAxisBottom;
    Levels({.left = kAxisLeft, .top = top, .right = half, .bottom = bottom},
           {.name = "ES(t)",
            .what = "failures are forgiven step by step; bands: 95 %, squares: from the parameters",
            .value = &LevelScores::es,
            .macro = &LevelScores::macro_es,
            .interval = &LevelScores::es_interval,
            .steps = true});
    Levels({.left = half + kMargin + kAxisLeft,
            .top = top,
            .right = kWidth - kMargin,
            .bottom = bottom},
           {.name = "S(t)",
            .what = "outputs within the tolerances of t count as right",
            .value = &LevelScores::s,
            .macro = &LevelScores::macro_s,
            .interval = &LevelScores::s_interval});
    Violins({.left = kAxisLeft,
             .top = violins + kPanelTop,
             .right = kWidth - kMargin,
             .bottom = violins + kViolinHeight - kAxisBottom});
    return absl::StrCat("<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"scores\" width=\"",
                        Number(kWidth), "\" height=\"", Number(height), "\" viewBox=\"0 0 ",
                        Number(kWidth), " ", Number(height), "\">\n<title>Scores</title>\n<style>",
                        kCss, "</style>\n<rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n",
                        out_, "</svg>\n");
  }

 private:
  void Text(absl::string_view style, double x, double y, absl::string_view text) {
    absl::StrAppend(&out_, "<text class=\"", style, "\" x=\"", Number(x), "\" y=\"", Number(y),
                    "\">", XmlText(text), "</text>\n");
  }

  void Line(absl::string_view style, double x1, double y1, double x2, double y2) {
    absl::StrAppend(&out_, "<path class=\"", style, "\" d=\"M", Number(x1), " ", Number(y1), "L",
                    Number(x2), " ", Number(y2), "\"/>\n");
  }

  static std::string Path(const Panel& panel, const Points& points) {
    std::string path;
    for (const auto& [x, y] : points) {
      absl::StrAppend(&path, path.empty() ? "M" : "L", Number(panel.X(x)), " ", Number(panel.Y(y)));
    }
    return path;
  }

  // Draws the legend and returns its lower end.
  double Legend() {
    double x = kMargin;
    double y = kMargin + 8;
    for (size_t i = 0; i < curves_.size(); ++i) {
      const std::string name = i < kMaxLegend
                                   ? absl::StrCat(Printable(curves_[i].log.name, kMaxNameBytes),
                                                  " (", curves_[i].log.samples.size(), ")")
                                   : absl::StrCat("and ", curves_.size() - i, " more");
      const double width = 34 + 6.2 * static_cast<double>(name.size());
      if (x > kMargin && x + width > kWidth - kMargin) {
        x = kMargin;
        y += kLegendLine;
      }
      if (i < kMaxLegend) {
        absl::StrAppend(&out_, "<path class=\"line\" stroke=\"", CurveColor(i), "\"", DashOf(i),
                        " d=\"M", Number(x), " ", Number(y - 4), "h20\"/>\n");
      }
      Text("name", x + 26, y, name);
      if (i == kMaxLegend) break;
      x += width + 10;
    }
    return y + kLegendLine / 2;
  }

  void Heading(const Panel& panel, absl::string_view name, absl::string_view what) {
    Text("head", panel.left, panel.top - 14, name);
    Text("dim", panel.left + 9.6 * static_cast<double>(name.size()) + 8, panel.top - 14, what);
  }

  // The quantity that a panel of levels shows.
  struct Quantity {
    absl::string_view name;
    absl::string_view what;
    double LevelScores::*value;
    double LevelScores::*macro;
    Interval LevelScores::*interval;
    bool steps = false;  // from t = 1 on, each value holds until the next
  };

  void Levels(Panel panel, const Quantity& q) {
    double highest = 1;
    for (const Curve& curve : curves_) {
      for (const LevelScores& level : curve.scores.levels) {
        highest = std::max({highest, level.*q.value, (level.*q.interval).high});
      }
    }
    // A curve far above all others must not make them unreadably flat.
    highest = std::isfinite(highest) ? std::min(highest, 1e6) : 1e6;
    panel.x_from = kMinToleranceLevel - 0.3;
    panel.x_to = curves_[0].scores.levels.back().t + 0.5;
    panel.y_from = 0;
    panel.y_to = highest * 1.06;
    Heading(panel, q.name, q.what);
    const double step = Step(panel.y_to, 8);
    for (int i = 0; step * i <= panel.y_to; ++i) {
      const double y = panel.Y(step * i);
      Line(i == 0 ? "axis" : "grid", panel.left, y, panel.right, y);
      Text("end", panel.left - 6, y + 4, absl::StrFormat("%g", step * i));
    }
    for (const LevelScores& level : curves_[0].scores.levels) {
      const double x = panel.X(level.t);
      Line(level.t == 0 ? "axis" : "grid", x, panel.top, x, panel.bottom);
      Text("mid", x, panel.bottom + 16, absl::StrCat(level.t));
    }
    Text("mid dim", (panel.left + panel.right) / 2, panel.bottom + 34,
         "tolerance t, from strict to lenient");
    for (size_t i = 0; i < curves_.size(); ++i) {
      const std::vector<LevelScores>& levels = curves_[i].scores.levels;
      Points line;
      Points upper;
      Points lower;
      const auto add = [&](Points* points, int t, double y) {
        if (q.steps && t >= 1) points->push_back({t, points->back().second});
        points->push_back({t, y});
      };
      for (const LevelScores& level : levels) {
        add(&line, level.t, level.*q.value);
        add(&upper, level.t, (level.*q.interval).high);
        add(&lower, level.t, (level.*q.interval).low);
      }
      for (Points* points : {&line, &upper, &lower}) {
        if (q.steps) points->push_back({panel.x_to, points->back().second});
      }
      upper.insert(upper.end(), lower.rbegin(), lower.rend());
      absl::StrAppend(&out_, "<path class=\"band\" fill=\"", CurveColor(i), "\" d=\"",
                      Path(panel, upper), "Z\"/>\n<path class=\"line\" stroke=\"", CurveColor(i),
                      "\"", DashOf(i), " d=\"", Path(panel, line), "\"/>\n");
      for (const LevelScores& level : levels) {
        absl::StrAppend(
            &out_, "<rect class=\"macro\" pointer-events=\"all\" stroke=\"", CurveColor(i),
            "\" x=\"", Number(panel.X(level.t) - 4), "\" y=\"", Number(panel.Y(level.*q.macro) - 4),
            "\" width=\"8\" height=\"8\"><title>",
            XmlText(absl::StrFormat(
                "%s, t = %d: %s %.4g (95 %%: %.4g … %.4g), from the parameters %.4g",
                Printable(curves_[i].log.name, kMaxNameBytes), level.t, q.name, level.*q.value,
                (level.*q.interval).low, (level.*q.interval).high, level.*q.macro)),
            "</title></rect>\n");
      }
    }
  }

  void Violins(Panel panel) {
    std::vector<std::vector<double>> logs;
    double low = -1;
    double high = 1;
    size_t beyond = 0;
    for (const Curve& curve : curves_) {
      logs.push_back(LogSpeedups(curve.log.samples));
      if (logs.back().empty()) continue;
      // A few outliers must not flatten the rest.
      const size_t out = logs.back().size() / 200;
      low = std::min(low, logs.back()[out]);
      high = std::max(high, logs.back()[logs.back().size() - 1 - out]);
    }
    for (const std::vector<double>& all : logs) {
      beyond += static_cast<size_t>(std::count_if(
          all.begin(), all.end(), [&](double log) { return log < low || log > high; }));
    }
    const double space = 0.06 * (high - low);
    panel.x_from = 0;
    panel.x_to = static_cast<double>(curves_.size());
    panel.y_from = low - space;
    panel.y_to = high + space;
    Heading(panel, "Speedup",
            absl::StrCat("of the samples that are correct at some t, logarithmic; bar: from "
                         "quartile to quartile, dot: median",
                         beyond == 0 ? "" : absl::StrCat("; beyond the drawing: ", beyond)));
    const double step = std::max(1.0, Step(high - low, 9));
    for (double y = std::ceil(panel.y_from / step) * step; y <= panel.y_to; y += step) {
      Line(y == 0 ? "axis" : "grid", panel.left, panel.Y(y), panel.right, panel.Y(y));
      Text("end", panel.left - 6, panel.Y(y) + 4, absl::StrFormat("%gx", std::exp2(y)));
    }
    const double wide = std::min(70.0, 0.42 * (panel.right - panel.left) / panel.x_to);
    const auto letters = static_cast<size_t>((panel.right - panel.left) / panel.x_to / 6.5);
    for (size_t i = 0; i < curves_.size(); ++i) {
      const double x = panel.X(static_cast<double>(i) + 0.5);
      const Violin violin = MakeViolin(logs[i], panel.y_from, panel.y_to);
      if (letters >= 3) {
        Text("mid", x, panel.bottom + 16,
             Printable(curves_[i].log.name, std::min(letters, kMaxNameBytes)));
        Text("mid dim", x, panel.bottom + 31, absl::StrCat(violin.samples));
      }
      if (violin.widths.empty()) continue;
      std::string right;
      std::string left;
      const size_t n = violin.widths.size();
      for (size_t k = 0; k < n; ++k) {
        const double y =
            panel.Y(panel.y_from + (panel.y_to - panel.y_from) * static_cast<double>(k) /
                                       static_cast<double>(n - 1));
        const double width = wide * violin.widths[k];
        if (width < 0.3) continue;
        absl::StrAppend(&right, right.empty() ? "M" : "L", Number(x + width), " ", Number(y));
        left = absl::StrCat("L", Number(x - width), " ", Number(y), left);
      }
      const std::string color = CurveColor(i);
      absl::StrAppend(&out_, "<path class=\"body\" fill=\"", color, "\" stroke=\"", color,
                      "\" d=\"", right, left, "Z\"><title>",
                      XmlText(absl::StrFormat(
                          "%s: %d samples, median %.4gx, quartiles %.4gx and %.4gx",
                          Printable(curves_[i].log.name, kMaxNameBytes), violin.samples,
                          std::exp2(violin.median), std::exp2(violin.low), std::exp2(violin.high))),
                      "</title></path>\n<path class=\"box\" stroke=\"", color, "\" d=\"M",
                      Number(x), " ", Number(panel.Y(violin.low)), "V",
                      Number(panel.Y(violin.high)), "\"/>\n<circle class=\"median\" stroke=\"",
                      color, "\" cx=\"", Number(x), "\" cy=\"", Number(panel.Y(violin.median)),
                      "\" r=\"4\"/>\n");
    }
  }

  absl::Span<const Curve> curves_;
  std::string out_;
};

}  // namespace

std::string CurveColor(size_t i) { return kColors[i % kNumColors]; }

std::string WritePlots(absl::Span<const Curve> curves) { return PlotWriter(curves).Write(); }

}  // namespace graphnet
