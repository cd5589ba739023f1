#include "graphnet/interp/comparison_report.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/status.h"
#include "graphnet/ir/node.h"

namespace graphnet {
namespace {

// Adds whether rounding explains a difference.
void AddExplanation(const RoundingFinding& finding, Report* made) {
  Report explained;
  explained.Add("verdict", RoundingVerdictName(finding.verdict));
  explained.Add("ratio", finding.ratio);
  explained.Add("beyond", finding.beyond);
  if (!finding.decision.empty()) explained.Add("decision", finding.decision);
  if (!finding.first.empty()) explained.Add("first", finding.first);
  made->Add("explained", std::move(explained));
}

// Reports on the i-th output.
Report ReportOf(size_t i, const OutputDifference& output) {
  Report made;
  made.Add("name", absl::StrCat("o", i));
  made.Add("equal", output.equal);
  if (output.close) made.Add("close", true);
  if (!output.blind.empty()) made.Add("blind", output.blind);
  if (output.explained.has_value()) AddExplanation(*output.explained, &made);
  const bool is_explained = output.explained.has_value() && output.explained->is_explained();
  const bool is_right = output.equal || output.close || is_explained;
  const auto said = [&](const std::string& text) {
    made.Say(
        absl::StrFormat("o%-3d %s%s%s", i,
                        output.equal   ? ""
                        : output.close ? "close"
                        : is_explained ? "explained"
                                       : "DIFFERENT",
                        text,
                        output.blind.empty() || !is_right
                            ? ""
                            : absl::StrCat(", but blind: ", output.blind, " would have passed")) +
            (output.explained.has_value() && !output.equal
                 ? absl::StrCat("; ", output.explained->Text())
                 : ""),
        is_right ? Tone::kGood : Tone::kBad);
    return made;
  };
  if (output.equal) return said(output.are_tensors ? "bit-equal" : "equal");
  if (!output.are_tensors) {
    made.Add("difference", "not tensors");
    return said(", not tensors");
  }
  std::string text;
  if (output.same_dtype && output.same_shape) {
    made.Add("difference", "values");
  } else {
    const char* const what = output.same_shape   ? "dtype"
                             : output.same_dtype ? "shape"
                                                 : "shape and dtype";
    made.Add("difference", what);
    made.Add("forms", Json::List(std::vector<std::string>{output.form_a, output.form_b}));
    text = absl::StrCat(" in ", what, ", ", output.form_a, " and ", output.form_b);
    if (!output.same_shape) return said(text);
  }
  const TensorDifference& difference = output.difference;
  made.Add("max_difference", difference.largest);
  made.Add("mean_difference", difference.mean);
  made.Add("different_elements", difference.elements);
  made.Add("elements", output.elements);
  made.Add("relative_difference", difference.relative());
  if (difference.elements == 0)
    return said(absl::StrCat(text, ": in no number", output.same_dtype ? ", in bits alone" : ""));
  return said(absl::StrFormat("%s: at most %.3g, on average %.3g, in %d of %d elements", text,
                              difference.largest, difference.mean, difference.elements,
                              output.elements));
}

constexpr absl::string_view kPairedBy[kNumPairedBy] = {"what computes them", "module and shape",
                                                       "name"};
constexpr absl::string_view kPairedByInJson[kNumPairedBy] = {"computation", "module", "name"};

// Returns "at most 0.0031, on average 0.0008, 0.00071 of the largest element".
std::string SizeOf(const ComparedValue& value) {
  if (!value.difference.has_value()) return "";
  return absl::StrFormat("at most %.3g, on average %.3g, %.3g of the largest element",
                         value.difference->largest, value.difference->mean,
                         value.difference->relative());
}

std::string PlaceOf(const Node& node) {
  std::string place;
  if (!node.module_path().empty()) absl::StrAppend(&place, " in ", Printable(node.module_path()));
  const SourceLocation location = node.location();
  if (location.line > 0)
    absl::StrAppend(&place, " at ", Printable(location.file, 300), ":", location.line);
  return place;
}

std::string DescribeValue(const ComparedValue& value) {
  std::string text = absl::StrCat(Printable(value.b->name()), " = ", Printable(value.b->target()),
                                  PlaceOf(*value.b));
  if (const std::string size = SizeOf(value); !size.empty()) absl::StrAppend(&text, ": ", size);
  if (value.a->name() != value.b->name())
    absl::StrAppend(&text, "; it is ", Printable(value.a->name()), " in A");
  return text;
}

const std::vector<Column>& ValueColumns() {
  static const auto* const columns = new std::vector<Column>{{"name", "value"},
                                                             {"target"},
                                                             {"name_in_a", "in A"},
                                                             {"paired_by"},
                                                             {"equal"},
                                                             {"module"},
                                                             {"place"},
                                                             {"max_difference", "at most"},
                                                             {"mean_difference", "on average"},
                                                             {"relative_difference", "relative"},
                                                             {"", "paired by"},
                                                             {"", "computed by"}};
  return *columns;
}

std::vector<Cell> CellsOf(const ComparedValue& value) {
  const size_t by = static_cast<size_t>(value.by);
  const Node& node = *value.b;
  const SourceLocation location = node.location();
  std::vector<Cell> cells = {
      node.name(),
      node.target(),
      value.a->name(),
      kPairedByInJson[by],
      value.equal,
      node.module_path().empty() ? Cell() : Cell(node.module_path()),
      location.line > 0
          ? Cell::Place({std::string(location.file), static_cast<size_t>(location.line), 0})
          : Cell()};
  if (value.difference.has_value()) {
    for (const double size :
         {value.difference->largest, value.difference->mean, value.difference->relative()})
      cells.push_back(Cell(size).As(absl::StrFormat("%.3g", size)));
  } else {
    cells.insert(cells.end(), 3, Cell().As(value.equal ? "0" : "?"));
  }
  cells.insert(cells.end(),
               {kPairedBy[by], Cell("").As(absl::StrCat(Printable(node.target()), PlaceOf(node)))});
  return cells;
}

// Returns "52 values compared, 0 of them different; paired by what computes them: 50, by name: 2".
std::string TextOf(const RunComparison& compared) {
  std::string text = absl::StrCat(compared.values.size(), " values compared, ", compared.different,
                                  " of them different");
  const char* separator = "; paired by ";
  for (size_t i = 0; i < kNumPairedBy; ++i) {
    if (compared.paired[i] == 0) continue;
    absl::StrAppend(&text, separator, kPairedBy[i], ": ", compared.paired[i]);
    separator = ", by ";
  }
  if (compared.unpaired > 0)
    absl::StrAppend(&text, "; ", compared.unpaired, " of B have no partner in A");
  return text;
}

}  // namespace

Report ReportOf(const RunComparison& compared, bool lists_values) {
  const ComparedValue* const first = compared.first_difference();
  Report report;
  report.Add("values", compared.values.size());
  Report paired;
  for (size_t i = 0; i < kNumPairedBy; ++i) paired.Add(kPairedByInJson[i], compared.paired[i]);
  report.Add("paired_by", std::move(paired));
  report.Add("unpaired_values", compared.unpaired);
  report.Add("different_values", compared.different);
  if (first != nullptr) {
    report.Add("first_difference", DescribeValue(*first));
    Report value;
    const std::vector<Cell> cells = CellsOf(*first);
    for (size_t c = 0; c < cells.size(); ++c) value.Add(ValueColumns()[c].key, cells[c]);
    report.Add("first_different_value", std::move(value));
  }
  if (lists_values) {
    Table values_table = {};
    for (const Column& column : ValueColumns()) values_table.AddColumn(column);
    for (const ComparedValue& value : compared.values) values_table.Add(CellsOf(value));
    report.Add("compared_values", std::move(values_table));
  }
  report.Say(TextOf(compared));
  if (first != nullptr) report.Say(absl::StrCat("first difference: ", DescribeValue(*first)));
  if (compared.outputs_a != compared.outputs_b)
    report.Say(absl::StrCat(compared.outputs_a, " outputs and ", compared.outputs_b));
  std::vector<Report> outputs;
  for (size_t i = 0; i < compared.outputs.size(); ++i)
    outputs.push_back(ReportOf(i, compared.outputs[i]));
  report.Add("outputs", std::move(outputs));
  report.Add("num_outputs",
             Json::List(std::vector<size_t>{compared.outputs_a, compared.outputs_b}));
  return report;
}

}  // namespace graphnet
