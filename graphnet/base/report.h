// What a command has found, as a value: it is built once, and shown as text, as JSON and as CSV.
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
  enum class Kind : uint8_t { kAbsent, kFlag, kCount, kBytes, kMs, kRatio, kText, kPlace, kJson };

  Cell() = default;  // shown as "-", and not in JSON
  template <std::same_as<bool> T>
  Cell(T flag) : Cell(Kind::kFlag, flag, flag ? "yes" : "no") {}  // NOLINT: implicit
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  Cell(T count) : Cell(Count(static_cast<int64_t>(count))) {}       // NOLINT: implicit
  Cell(double ratio);                                               // NOLINT: implicit
  Cell(absl::string_view text);                                     // NOLINT: implicit
  Cell(const char* text) : Cell(absl::string_view(text)) {}         // NOLINT: implicit
  Cell(const std::string& text) : Cell(absl::string_view(text)) {}  // NOLINT: implicit
  Cell(Json value);  // NOLINT: implicit; its text is empty

  static Cell Count(int64_t count);  // "1,234,567"
  static Cell Bytes(int64_t bytes);  // "97.5 MiB"
  static Cell Ms(double ms);         // "12.34"
  // Shown as "file:line:column". JSON has the known ones of the members "file", "line" and
  // "column", whatever the key is.
  static Cell Place(const ErrorPlace& place);
  // Returns the cell with another text.
  Cell As(std::string text) &&;

  Kind kind() const { return kind_; }
  const Json& value() const { return value_; }
  const std::string& text() const { return text_; }  // one clean line
  // Adds the value to an object, unless it is absent.
  void AddTo(absl::string_view key, Json* object) const;

 private:
  Cell(Kind kind, Json value, std::string text)
      : kind_(kind), value_(std::move(value)), text_(std::move(text)) {}

  Kind kind_ = Kind::kAbsent;
  Json value_;
  std::string text_ = "-";
};

struct Column {
  std::string key;
  std::string title = "";
};

struct TableForm {
  // JSON is an object instead of a list. The first column with a key has the names of the members.
  // Their values are those of the other column with a key, or objects if there are several.
  bool by_name = false;
  bool has_head = true;     // without it, the lines are indented
  size_t shown = SIZE_MAX;  // rows that the text shows; it counts the others
};

class Table {
 public:
  Table(std::initializer_list<Column> columns) : columns_(columns) {}
  void AddColumn(Column column) { columns_.push_back(std::move(column)); }
  void set_form(const TableForm& form) { form_ = form; }
  bool has_keys() const;

  // Adds a row. Cells that it lacks at its end are absent.
  void Add(std::vector<Cell> row) { rows_.push_back(std::move(row)); }
  // Adds a row that stands below all others, in the text alone.
  void AddTotal(std::vector<Cell> row) { totals_.push_back(std::move(row)); }

  // Columns with texts are aligned to the left, others to the right. If `width` is not 0, texts in the
  // last column are wrapped to it. Without rows there is no text.
  std::string ToText(size_t width = 0) const;
  Json ToJson() const;
  std::string ToCsv() const;

 private:
  std::vector<Column> columns_;
  TableForm form_;
  std::vector<std::vector<Cell>> rows_;
  std::vector<std::vector<Cell>> totals_;
};

// What a line says, which colours it.
enum class Tone : uint8_t { kPlain, kGood, kBad };

class Report {
 public:
  // Adds a field. Fields that follow each other are aligned. `remark` is text behind the value.
  void Add(absl::string_view key, Cell value) { Add(key, "", std::move(value)); }
  void Add(absl::string_view key, absl::string_view title, Cell value,
           absl::string_view remark = "");
  void Add(absl::string_view key, Table table);
  // Adds another report: an object, or a list of objects.
  void Add(absl::string_view key, Report part);
  void Add(absl::string_view key, std::vector<Report> parts);
  // Adds lines, in the text alone.
  void Say(absl::string_view lines, Tone tone = Tone::kPlain);
  // Adds notes, which are the list "notes" in JSON.
  void AddNotes(const std::vector<std::string>& notes);
  // Adds all that another report has, as if it had been added to this one.
  void Append(Report other);

  std::string ToText(size_t width = 0, bool coloured = false) const;
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
