#include "graphnet/validate/report.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "graphnet/base/status.h"

namespace graphnet {
namespace {

constexpr size_t kMaxListedPieces = 16;

int64_t Sum(const std::vector<int64_t>& counts) {
  int64_t sum = 0;
  for (const int64_t n : counts) sum += n;
  return sum;
}

}  // namespace

absl::string_view ErrorClassName(ErrorClass error) {
  switch (error) {
    case ErrorClass::kLayout: return "E1 layout";
    case ErrorClass::kConfig: return "E2 config";
    case ErrorClass::kCount: return "E3 operator count";
    case ErrorClass::kPort: return "E4 port";
    case ErrorClass::kOrder: return "E5 chain order";
    case ErrorClass::kNumbers: return "E6 numbers";
    case ErrorClass::kRuntime: return "E7 runtime";
    case ErrorClass::kGraph: return "E8 graph";
  }
  return "unknown";
}

std::string Finding::Text() const {
  return piece < 0 ? absl::StrCat(ErrorClassName(error), ": ", message)
                   : absl::StrCat(ErrorClassName(error), ": piece ", piece, ": ", message);
}

bool NumericReport::IsFlat() const {
  return std::all_of(line.begin(), line.end(),
                     [](const ToleranceScore& point) { return point.score == 1; });
}

absl::Status ValidationReport::status() const {
  if (ok()) return absl::OkStatus();
  std::string text = findings[0].Text();
  if (findings.size() > 1) absl::StrAppend(&text, " (and ", findings.size() - 1, " more)");
  return absl::FailedPreconditionError(text);
}

std::string ValidationReport::Counts() const {
  const int64_t sum = Sum(piece_operators);
  if (piece_operators.size() > kMaxListedPieces) {
    return absl::StrCat("original=", original_operators, " pieces(", piece_operators.size(),
                        ")=", sum);
  }
  return absl::StrCat("original=", original_operators,
                      " pieces=", absl::StrJoin(piece_operators, "+"),
                      piece_operators.size() > 1 ? absl::StrCat("=", sum) : "");
}

void ValidationReport::Add(ErrorClass error, int piece, absl::string_view where,
                           std::string message) {
  const auto same = std::count_if(findings.begin(), findings.end(),
                                  [&](const Finding& f) { return f.error == error; });
  if (static_cast<size_t>(same) >= kMaxFindings) return;
  findings.push_back({error, piece, std::string(where), std::move(message)});
}

void ValidationReport::ReadAsEqual(absl::string_view what, absl::string_view original,
                                   absl::string_view pieces) {
  for (Reading& reading : readings) {
    if (reading.what != what || reading.original != original || reading.pieces != pieces) continue;
    ++reading.times;
    return;
  }
  readings.push_back({std::string(what), std::string(original), std::string(pieces), 1});
}

std::string ValueName(absl::string_view name) { return absl::StrCat("%", Printable(name)); }

Report ReportOf(const ValidationReport& report) {
  Report made;
  made.Add("valid", report.ok());
  made.Add("original_operators", report.original_operators);
  made.Add("piece_operators", Json::List(report.piece_operators));
  made.Say(report.Counts());
  Table findings = {{"class"}, {"check"}, {"piece"}, {"where"}, {"message"}};
  for (const Finding& finding : report.findings) {
    const absl::string_view name = ErrorClassName(finding.error);
    findings.Add({name.substr(0, 2), name.substr(3),
                  finding.piece < 0 ? Cell(Json()) : Cell(finding.piece), Printable(finding.where),
                  finding.message});
  }
  made.Add("findings", std::move(findings));
  made.AddNotes(report.notes);
  Table readings = {{"what", "read as equal"},
                    {"original", "original"},
                    {"pieces", "pieces"},
                    {"times", "times"}};
  for (const Reading& reading : report.readings) {
    readings.Add(
        {reading.what, Cell(Printable(reading.original)).As(Printable(reading.original, 1000)),
         Cell(Printable(reading.pieces)).As(Printable(reading.pieces, 1000)), reading.times});
  }
  made.Add("read_as_equal", std::move(readings));
  for (const Finding& finding : report.findings) made.Say(finding.Text());
  if (report.numeric.has_value()) {
    const auto& [outputs, bit_equal, max_difference, line, blind] = *report.numeric;
    Report numeric;
    numeric.Add("outputs", outputs);
    numeric.Add("bit_equal", bit_equal);
    numeric.Add("max_difference", max_difference);
    numeric.Say(absl::StrCat(bit_equal, " of ", outputs, " outputs bit-equal"));
    Table answers = {{"output"}, {"answer"}};
    for (const auto& [output, answer] : blind) answers.Add({output, answer});
    numeric.Add("blind", std::move(answers));
    Table scores = {{"t"}, {"es"}};
    for (const ToleranceScore& point : line) scores.Add({point.t, point.score});
    numeric.Add(line.empty() ? "" : "es", std::move(scores));
    if (report.numeric->IsFlat()) {
      numeric.Say(absl::StrCat("ES(t) = 1 for t = ", line.front().t, " … ", line.back().t));
    } else {
      Table shown = {{"", "t"}};
      std::vector<Cell> row = {"ES(t)"};
      for (const ToleranceScore& point : line) {
        shown.AddColumn({"", absl::StrCat(point.t)});
        row.emplace_back(point.score);
      }
      shown.Add(std::move(row));
      numeric.Add("", std::move(shown));
    }
    made.Add("numeric", std::move(numeric));
  }
  made.Say(report.ok() ? "valid" : "INVALID", report.ok() ? Tone::kGood : Tone::kBad);
  return made;
}

std::string ScoreLineSvg(absl::string_view title, const NumericReport& report) {
  constexpr int kLeft = 48, kRight = 464, kTop = 40, kBottom = 196;
  const int first = report.line.front().t;
  const int last = report.line.back().t;
  const auto x = [&](double t) {
    return kLeft + (t - first) * (kRight - kLeft) / std::max(1, last - first);
  };
  const auto y = [&](double score) { return kBottom - score * (kBottom - kTop) / 1.1; };
  std::string svg =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"480\" height=\"240\" "
      "font-family=\"sans-serif\" "
      "font-size=\"11\">\n<rect width=\"480\" height=\"240\" fill=\"white\"/>\n";
  const std::string text =
      absl::StrReplaceAll(Printable(title, 70), {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}});
  absl::StrAppend(&svg, "<text x=\"240\" y=\"22\" text-anchor=\"middle\" font-size=\"13\">", text,
                  "</text>\n");
  for (const double score : {0.0, 0.1, 0.5, 1.0}) {
    absl::StrAppendFormat(&svg,
                          "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"#ddd\"/>"
                          "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
                          kLeft, y(score), kRight, y(score), kLeft - 6, y(score) + 4, score);
  }
  for (int t = first; t <= last; ++t) {
    absl::StrAppendFormat(&svg, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%d</text>\n",
                          x(t), kBottom + 16, t);
  }
  absl::StrAppendFormat(&svg,
                        "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">tolerance t</text>"
                        "<text x=\"14\" y=\"%d\" text-anchor=\"middle\" transform=\"rotate(-90 14 "
                        "%d)\">ES(t)</text>\n",
                        (kLeft + kRight) / 2, kBottom + 34, (kTop + kBottom) / 2,
                        (kTop + kBottom) / 2);
  // The line is a staircase: the score of t holds from t on.
  std::string points;
  double before = report.line.front().score;
  for (const ToleranceScore& point : report.line) {
    if (point.score != before) absl::StrAppendFormat(&points, "%.1f,%.1f ", x(point.t), y(before));
    absl::StrAppendFormat(&points, "%.1f,%.1f ", x(point.t), y(point.score));
    before = point.score;
  }
  absl::StrAppend(&svg, "<polyline points=\"", points, "\" fill=\"none\" stroke=\"",
                  report.IsFlat() ? "#2a7d2a" : "#c0392b", "\" stroke-width=\"2\"/>\n</svg>\n");
  return svg;
}

}  // namespace graphnet
