#include "graphnet/base/report.h"

#include <algorithm>
#include <optional>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "graphnet/base/check.h"
#include "graphnet/base/wrapped_text.h"

namespace graphnet {
namespace {

constexpr size_t kMaxBytesOfNote = 4000;
constexpr size_t kMinWrappedColumns = 30;  // Narrower columns are not wrapped.

// The columns that UTF-8 text takes on a terminal, if no character is wide.
size_t ShownColumns(absl::string_view text) {
  return static_cast<size_t>(
      absl::c_count_if(text, [](char c) { return (static_cast<unsigned char>(c) >> 6) != 2; }));
}

// Spreadsheets compute a cell that begins so, and what it says may run a program.
bool IsFormula(absl::string_view cell) {
  double number = 0;
  return !cell.empty() && absl::StrContains("=+-@\t\r", cell.substr(0, 1)) &&
         !absl::SimpleAtod(cell, &number);
}

std::string CsvText(const Cell& cell) {
  if (const std::string* const raw = cell.value().text()) return *raw;
  if (cell.kind() == Cell::Kind::kAbsent) return "";
  return cell.kind() == Cell::Kind::kPlace ? cell.text() : cell.value().Dump(-1);
}

// Returns the cell of a column; an absent one if the row ends before it.
const Cell& At(const std::vector<Cell>& row, size_t column) {
  static const auto* const kAbsent = new Cell();
  return column < row.size() ? row[column] : *kAbsent;
}

// Returns whether a column has texts, be it beside numbers.
bool HasTexts(const std::vector<std::vector<Cell>>& rows, size_t column) {
  return absl::c_any_of(rows, [&](const std::vector<Cell>& row) {
    const Cell::Kind kind = At(row, column).kind();
    return kind == Cell::Kind::kText || kind == Cell::Kind::kPlace || kind == Cell::Kind::kFlag;
  });
}

// Returns the indices of the columns that have this text: a key or a title.
std::vector<size_t> ColumnsWith(std::string Column::*text, const std::vector<Column>& columns) {
  std::vector<size_t> found;
  for (size_t c = 0; c < columns.size(); ++c) {
    if (!(columns[c].*text).empty()) found.push_back(c);
  }
  return found;
}

}  // namespace

Cell::Cell(double ratio) : Cell(Kind::kRatio, ratio, absl::StrFormat("%.4g", ratio)) {}
Cell::Cell(absl::string_view text) : Cell(Kind::kText, text, Printable(text)) {}
Cell::Cell(Json value) : Cell(Kind::kJson, std::move(value), "") {}

Cell Cell::Count(int64_t count) {
  std::string digits = absl::StrCat(count);
  const size_t sign = count < 0 ? 1 : 0;
  for (size_t i = digits.size(); i > sign + 3;) digits.insert(i -= 3, ",");
  return {Kind::kCount, count, std::move(digits)};
}

Cell Cell::Bytes(int64_t bytes) { return {Kind::kBytes, bytes, BytesText(bytes)}; }

Cell Cell::Ms(double ms) { return {Kind::kMs, ms, absl::StrFormat("%.2f", ms)}; }

Cell Cell::Place(const ErrorPlace& place) {
  if (place.file.empty()) return {};
  Json json;
  json["file"] = place.file;
  std::string text = Printable(place.file, 300);
  for (const auto& [name, number] :
       {std::pair{"line", place.line}, std::pair{"column", place.column}}) {
    if (number == 0) break;
    json[name] = number;
    absl::StrAppend(&text, ":", number);
  }
  return {Kind::kPlace, std::move(json), std::move(text)};
}

Cell Cell::As(std::string text) && {
  text_ = std::move(text);
  return std::move(*this);
}

void Cell::AddTo(absl::string_view key, Json* object) const {
  if (kind_ == Kind::kPlace) {
    object->Merge(value_);
  } else if (kind_ != Kind::kAbsent && !key.empty()) {
    (*object)[key] = value_;
  }
}

std::string Table::ToText(size_t width) const {
  const std::vector<size_t> shown = ColumnsWith(&Column::title, columns_);
  if (shown.empty() || rows_.size() + totals_.size() == 0) return "";
  std::vector<std::vector<std::string>> lines;
  std::vector<size_t> widths(shown.size());
  const auto add = [&](const std::vector<Cell>& row) {
    std::vector<std::string>& line = lines.emplace_back();
    for (size_t i = 0; i < shown.size(); ++i) {
      line.push_back(At(row, shown[i]).text());
      widths[i] = std::max(widths[i], ShownColumns(line.back()));
    }
  };
  if (form_.has_head) {
    std::vector<Cell> head;
    for (const Column& column : columns_) head.emplace_back(column.title);
    add(head);
  }
  const size_t count = std::min(form_.shown, rows_.size());
  for (size_t r = 0; r < count; ++r) add(rows_[r]);
  for (const std::vector<Cell>& total : totals_) add(total);

  std::vector<bool> is_text;
  for (const size_t c : shown) is_text.push_back(HasTexts(rows_, c));
  const std::string indent = form_.has_head ? "" : "  ";
  size_t begin = indent.size();  // of the last column
  for (size_t i = 0; i + 1 < shown.size(); ++i) begin += widths[i] + 2;
  const bool wraps = is_text.back() && begin + kMinWrappedColumns <= width;
  std::string text;
  for (const std::vector<std::string>& line : lines) {
    std::string made = indent;
    for (size_t i = 0; i + 1 < line.size(); ++i) {
      const std::string blanks(widths[i] - ShownColumns(line[i]), ' ');
      absl::StrAppend(&made, is_text[i] ? "" : blanks, line[i], is_text[i] ? blanks : "", "  ");
    }
    if (!is_text.back()) made.append(widths.back() - ShownColumns(line.back()), ' ');
    made += wraps ? absl::StrReplaceAll(WrapText(line.back(), width - begin),
                                        {{"\n", absl::StrCat("\n", std::string(begin, ' '))}})
                  : line.back();
    absl::StrAppend(&text, absl::StripTrailingAsciiWhitespace(made), "\n");
  }
  if (count < rows_.size()) absl::StrAppend(&text, indent, "… ", rows_.size() - count, " more\n");
  return text;
}

bool Table::has_keys() const { return !ColumnsWith(&Column::key, columns_).empty(); }

Json Table::ToJson() const {
  const std::vector<size_t> keyed = ColumnsWith(&Column::key, columns_);
  Json all = form_.by_name ? Json::Object() : Json::List();
  for (const std::vector<Cell>& row : rows_) {
    Json object = Json::Object();
    for (size_t i = form_.by_name ? 1 : 0; i < keyed.size(); ++i)
      At(row, keyed[i]).AddTo(columns_[keyed[i]].key, &object);
    if (form_.by_name) {
      const std::string* const name = At(row, keyed[0]).value().text();
      CHECK(name != nullptr);
      if (keyed.size() == 2) object = At(row, keyed[1]).value();
      all[*name] = std::move(object);
    } else {
      all.push_back(std::move(object));
    }
  }
  return all;
}

std::string Table::ToCsv() const {
  const std::vector<size_t> keyed = ColumnsWith(&Column::key, columns_);
  std::vector<std::string> line;
  for (const size_t c : keyed) line.push_back(columns_[c].key);
  std::string text = CsvLine(line);
  for (const std::vector<Cell>& row : rows_) {
    line.clear();
    for (const size_t c : keyed) line.push_back(CsvText(At(row, c)));
    text += CsvLine(line);
  }
  return text;
}

void Report::Add(absl::string_view key, absl::string_view title, Cell value,
                 absl::string_view remark) {
  value.AddTo(key, &json_);
  if (title.empty()) return;
  if (!ends_with_fields_) {
    Table fields = {{"", "field"}, {"", "value"}, {"", "remark"}};
    fields.set_form({.has_head = false});
    shown_.emplace_back(std::move(fields));
    ends_with_fields_ = true;
  }
  std::get<Table>(shown_.back()).Add({title, std::move(value), remark});
}

void Report::Add(absl::string_view key, Table table) {
  if (!key.empty()) json_[key] = table.ToJson();
  shown_.emplace_back(std::move(table));
  ends_with_fields_ = false;
}

void Report::Add(absl::string_view key, Report part) {
  if (!key.empty()) json_[key] = std::move(part.json_);
  Show(std::move(part));
}

void Report::Add(absl::string_view key, std::vector<Report> parts) {
  Json list = Json::List();
  for (Report& part : parts) {
    list.push_back(std::move(part.json_));
    Show(std::move(part));
  }
  if (!key.empty()) json_[key] = std::move(list);
}

void Report::Append(Report other) {
  json_.Merge(std::move(other.json_));
  Show(std::move(other));
}

void Report::Show(Report other) {
  for (auto& item : other.shown_) shown_.push_back(std::move(item));
  ends_with_fields_ = false;
}

void Report::Say(absl::string_view lines, Tone tone) {
  shown_.emplace_back(Lines{std::string(lines), tone});
  ends_with_fields_ = false;
}

void Report::AddNotes(const std::vector<std::string>& notes) {
  Add("notes", Json::List(notes));
  for (const std::string& note : notes)
    Say(absl::StrCat("note: ", Printable(note, kMaxBytesOfNote)));
}

std::string Report::ToText(size_t width, bool coloured) const {
  std::string text;
  for (const auto& item : shown_) {
    if (const auto* table = std::get_if<Table>(&item)) {
      text += table->ToText(width);
      continue;
    }
    const auto& [lines, tone] = std::get<Lines>(item);
    const bool plain = tone == Tone::kPlain || !coloured;
    for (const absl::string_view line : absl::StrSplit(lines, '\n')) {
      absl::StrAppend(&text,
                      plain                 ? ""
                      : tone == Tone::kGood ? "\x1b[32m"
                                            : "\x1b[31m",
                      line, plain ? "\n" : "\x1b[0m\n");
    }
  }
  return text;
}

std::string Report::ToCsv() const {
  for (const auto& item : shown_) {
    const auto* const table = std::get_if<Table>(&item);
    if (table != nullptr && table->has_keys()) return table->ToCsv();
  }
  return "";
}

std::string BytesText(int64_t bytes) {
  static constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return absl::StrCat(bytes, " bytes");
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; value >= 1024; value /= 1024) ++unit;
  return absl::StrFormat("%.1f %s", value, kUnits[unit]);
}

std::string CsvLine(const std::vector<std::string>& cells) {
  std::string line;
  for (const std::string& text : cells) {
    if (&text != cells.data()) line += ',';
    const std::string cell = IsFormula(text) ? absl::StrCat("'", text) : text;
    if (cell.find_first_of(",\"\r\n") == std::string::npos) {
      line += cell;
    } else {
      absl::StrAppend(&line, "\"", absl::StrReplaceAll(cell, {{"\"", "\"\""}}), "\"");
    }
  }
  return line + "\n";
}

}  // namespace graphnet
