// A Report is a value that holds what a command has found. It is built once, and can be shown as
// text, as JSON and as CSV.
//
//   Table pieces = {{"name", "piece"}, {"start"}, {"bytes", "size"}};
//   pieces.Add({"encoder", 0, Cell::Bytes(2048)});
//   Report found;
//   found.Add("num_nodes", "nodes", 1234);
//   found.Add("pieces", pieces);
//   found.Say("1 piece");
//   std::cout << found.ToText() << found.ToJson().Dump();
//
// The text has the lines "  nodes  1,234", "piece       size", "encoder  2.0 KiB" and "1 piece"; the
// JSON is {"num_nodes": 1234, "pieces": [{"name": "encoder", "start": 0, "bytes": 2048}]}.
//
// Everywhere, what has no key is not in JSON, and what has no title is not in the text.
#ifndef GRAPHNET_BASE_REPORT_H_
#define GRAPHNET_BASE_REPORT_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "graphnet/base/json.h"
#include "graphnet/base/status.h"

namespace graphnet {

// One value. The conversions from numbers and texts are implicit, so that rows are easy to write.
class Cell {
 public:
  // Kinds of values. The kind decides how a value is aligned.
  enum class Kind : uint8_t { kAbsent, kFlag, kCount, kBytes, kMs, kRatio, kText, kPlace, kJson };

  Cell() = default;  // shown as "-", and not in JSON
  // A flag, shown as "yes" or "no".
  template <std::same_as<bool> T>
  Cell(T flag) : Cell(Kind::kFlag, flag, flag ? "yes" : "no") {}  // NOLINT: implicit
  // A count, as Count makes it.
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  Cell(T count) : Cell(Count(static_cast<int64_t>(count))) {}  // NOLINT: implicit
  // A ratio.
  Cell(double ratio);  // NOLINT: implicit
  // A text, of which one clean line is shown.
  Cell(absl::string_view text);  // NOLINT: implicit
  // The same.
  Cell(const char* text) : Cell(absl::string_view(text)) {}  // NOLINT: implicit
  // The same.
  Cell(const std::string& text) : Cell(absl::string_view(text)) {}  // NOLINT: implicit
  // A value that is in JSON alone: its text is empty.
  Cell(Json value);  // NOLINT: implicit

  static Cell Count(int64_t count);  // "1,234,567"
  static Cell Bytes(int64_t bytes);  // "97.5 MiB"
  static Cell Ms(double ms);         // "12.34"
  // Shown as "file:line:column". JSON has the known ones of the members "file", "line" and
  // "column", whatever the key is.
  static Cell Place(const ErrorPlace& place);
  // Returns the cell with another text.
  Cell As(std::string text) &&;

  // Returns what the value is.
  Kind kind() const { return kind_; }
  // Returns the value as JSON has it.
  const Json& value() const { return value_; }
  // Returns the value as the text has it, which is one clean line.
  const std::string& text() const { return text_; }
  // Adds the value to an object, unless it is absent.
  void AddTo(absl::string_view key, Json* object) const;

 private:
  Cell(Kind kind, Json value, std::string text)
      : kind_(kind), value_(std::move(value)), text_(std::move(text)) {}

  Kind kind_ = Kind::kAbsent;
  Json value_;
  std::string text_ = "-";
};

// A column of a table.
struct Column {
  std::string key;         // in JSON and CSV
  std::string title = "";  // in the text
};

// How a table is shown.
struct TableForm {
  // JSON is an object instead of a list. The first column with a key has the names of the members.
  // Their values are those of the other column with a key, or objects if there are several.
  bool by_name = false;
  bool has_head = true;     // without it, the lines are indented
  size_t shown = SIZE_MAX;  // rows that the text shows; it counts the others
};

// Rows of cells below named columns.
class Table {
 public:
  // Makes a table without rows.
  Table(std::initializer_list<Column> columns) : columns_(columns) {}
  // Adds a column behind the others, before rows are added.
  void AddColumn(Column column) { columns_.push_back(std::move(column)); }
  // Sets how the table is shown.
  void set_form(const TableForm& form) { form_ = form; }
  // Returns whether a column has a key, so that the table is in JSON.
  bool has_keys() const;

  // Adds a row. Cells that it lacks at its end are absent.
  void Add(std::vector<Cell> row) { rows_.push_back(std::move(row)); }
  // Adds a row that stands below all others, in the text alone.
  void AddTotal(std::vector<Cell> row) { totals_.push_back(std::move(row)); }

  // Columns with texts are aligned to the left, others to the right. If `width` is not 0, texts in the
  // last column are wrapped to it. Without rows there is no text.
  std::string ToText(size_t width = 0) const;
  // Returns a list of objects, or what TableForm::by_name says.
  Json ToJson() const;
  // Returns a line of keys and a line for each row.
  std::string ToCsv() const;

 private:
  std::vector<Column> columns_;
  TableForm form_;
  std::vector<std::vector<Cell>> rows_;
  std::vector<std::vector<Cell>> totals_;
};

// Whether a line says something good or bad. A terminal shows the first in green, the other in red.
enum class Tone : uint8_t { kPlain, kGood, kBad };

// Fields, tables, lines and notes in the order in which they are shown.
class Report {
 public:
  // Adds a field without a title, which is in JSON alone.
  void Add(absl::string_view key, Cell value) { Add(key, "", std::move(value)); }
  // Adds a field. Fields that follow each other are aligned. `remark` is text behind the value.
  void Add(absl::string_view key, absl::string_view title, Cell value,
           absl::string_view remark = "");
  // Adds a table.
  void Add(absl::string_view key, Table table);
  // Adds another report, which is an object in JSON.
  void Add(absl::string_view key, Report part);
  // Adds reports, which are a list of objects in JSON.
  void Add(absl::string_view key, std::vector<Report> parts);
  // Adds lines, in the text alone.
  void Say(absl::string_view lines, Tone tone = Tone::kPlain);
  // Adds notes, which are the list "notes" in JSON.
  void AddNotes(const std::vector<std::string>& notes);
  // Adds all that another report has, as if it had been added to this one.
  void Append(Report other);

  // Returns lines of text. If `width` is not 0, tables are wrapped to it. `coloured` adds the codes of
  // a terminal to lines that are good or bad.
  std::string ToText(size_t width = 0, bool coloured = false) const;
  // Returns an object with all that has a key.
  const Json& ToJson() const { return json_; }
  // Returns the first table that has keys.
  std::string ToCsv() const;

 private:
  struct Lines {
    std::string text;
    Tone tone = Tone::kPlain;
  };

  // Adds the text of another report.
  void Show(Report other);

  Json json_ = Json::Object();
  std::vector<std::variant<Lines, Table>> shown_;
  bool ends_with_fields_ = false;  // The last table has the fields that came last.
};

// Returns "97.5 MiB", or "97 bytes" below 1 KiB.
std::string BytesText(int64_t bytes);
// Returns the cells as a line of CSV (RFC 4180, but the line ends with a newline only). A cell that
// a spreadsheet would take for a formula, such as =1+1, gets a ' before it.
std::string CsvLine(const std::vector<std::string>& cells);

}  // namespace graphnet

#endif  // GRAPHNET_BASE_REPORT_H_
