#include "graphnet/formats/graphnet_folder/bounds_writer.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/graphnet_folder/scanner.h"
#include "graphnet/formats/graphnet_folder/writers.h"

namespace graphnet {
namespace {

// Offsets of a field, its value, and what is behind that.
struct FieldPlace {
  absl::string_view name;
  size_t begin = 0;
  size_t value = 0;
  size_t end = 0;
};

// These bytes are to be that.
struct Edit {
  size_t begin;
  size_t end;
  std::string text;
};

class BoundsWriter {
 public:
  BoundsWriter(const std::string& text, absl::string_view file_name,
               const std::map<std::string, RecordBounds>& bounds)
      : text_(text), scanner_(text, file_name), bounds_(bounds) {}

  absl::StatusOr<std::string> Run() {
    while (scanner_.token().kind != TokenKind::kEnd) RETURN_IF_ERROR(ScanRecord());
    for (const auto& [name, unused] : bounds_) {
      if (!written_.contains(name))
        return absl::NotFoundError(absl::StrCat("there is no record of ", Printable(name)));
    }
    absl::c_stable_sort(edits_, [](const Edit& a, const Edit& b) { return a.begin < b.begin; });
    std::string out;
    size_t copied = 0;
    for (const Edit& edit : edits_) {
      absl::StrAppend(&out, absl::string_view(text_).substr(copied, edit.begin - copied),
                      edit.text);
      copied = edit.end;
    }
    return absl::StrCat(out, absl::string_view(text_).substr(copied));
  }

 private:
  size_t Offset() const { return static_cast<size_t>(scanner_.token().begin - text_.data()); }
  bool IsAtEndOfLine() const {
    const TokenKind kind = scanner_.token().kind;
    return kind == TokenKind::kNewline || kind == TokenKind::kEnd;
  }

  absl::Status ScanRecord() {
    if (!scanner_.IsName("class")) return scanner_.Expected("a class");
    while (!IsAtEndOfLine()) RETURN_IF_ERROR(Step());
    RETURN_IF_ERROR(scanner_.ExpectNewline("after the class name"));
    std::vector<FieldPlace> fields;
    std::string name;
    while (scanner_.token().kind == TokenKind::kName && scanner_.indent() > 0) {
      FieldPlace field = {.name = scanner_.token().text, .begin = Offset()};
      RETURN_IF_ERROR(Step());
      RETURN_IF_ERROR(scanner_.Expect(Punct("="), "after the field name"));
      field.value = Offset();
      if (field.name == "name") name = std::string(scanner_.token().text);
      while (!IsAtEndOfLine()) {
        field.end = static_cast<size_t>(scanner_.token_end() - text_.data());
        RETURN_IF_ERROR(Step());
      }
      RETURN_IF_ERROR(scanner_.ExpectNewline("after the value"));
      fields.push_back(field);
    }
    const auto it = bounds_.find(name);
    if (it == bounds_.end() || fields.empty()) return absl::OkStatus();
    written_.insert(name);
    Write(fields, it->second);
    return absl::OkStatus();
  }

  absl::Status Step() {
    if (scanner_.token().kind == TokenKind::kError) return scanner_.Expected("a token");
    scanner_.Next();
    return absl::OkStatus();
  }

  // In the place of a bound that is there; else min_val before max_val, both behind all others.
  void Write(const std::vector<FieldPlace>& fields, const RecordBounds& bounds) {
    const FieldPlace& first = fields.front();
    const size_t line = text_.rfind('\n', first.begin) + 1;
    const std::string indent = text_.substr(line, first.begin - line);
    size_t end = std::min(text_.find('\n', fields.back().end), text_.size());
    const bool has_returns = end > 0 && text_[end - 1] == '\r';
    const std::string newline = has_returns ? "\r\n" : "\n";
    if (has_returns) --end;
    for (const auto& [name, bound] :
         {std::pair<absl::string_view, Argument>{"min_val", bounds.min}, {"max_val", bounds.max}}) {
      if (bound.is_none()) continue;
      std::string value;
      AppendMetaNumber(bound, &value);
      const auto find = [&](absl::string_view field) {
        return absl::c_find_if(fields,
                               [&](const FieldPlace& place) { return place.name == field; });
      };
      const auto there = find(name);
      const auto max = find("max_val");
      if (there != fields.end()) {
        edits_.push_back({there->value, there->end, value});
      } else if (max != fields.end()) {
        edits_.push_back(
            {max->begin, max->begin, absl::StrCat(name, " = ", value, newline, indent)});
      } else {
        edits_.push_back({end, end, absl::StrCat(newline, indent, name, " = ", value)});
      }
    }
  }

  const std::string& text_;
  Scanner scanner_;
  const std::map<std::string, RecordBounds>& bounds_;
  std::set<std::string> written_;
  std::vector<Edit> edits_;
};

}  // namespace

absl::StatusOr<std::string> WithBounds(const std::string& text, absl::string_view file_name,
                                       const std::map<std::string, RecordBounds>& bounds) {
  return BoundsWriter(text, file_name, bounds).Run();
}

}  // namespace graphnet
