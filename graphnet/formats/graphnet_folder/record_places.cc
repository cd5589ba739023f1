#include "graphnet/formats/graphnet_folder/record_places.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/graphnet_folder/scanner.h"

namespace graphnet {
namespace {

class RecordFinder {
 public:
  RecordFinder(const std::string& text, absl::string_view file_name)
      : text_(text), scanner_(text, file_name) {}

  absl::StatusOr<std::vector<RecordPlace>> Run() {
    std::vector<RecordPlace> records;
    while (scanner_.token().kind != TokenKind::kEnd) {
      ASSIGN_OR_RETURN(RecordPlace record, FindRecord());
      records.push_back(std::move(record));
    }
    return records;
  }

 private:
  size_t Offset() const { return static_cast<size_t>(scanner_.token().begin - text_.data()); }
  bool IsAtEndOfLine() const {
    const TokenKind kind = scanner_.token().kind;
    return kind == TokenKind::kNewline || kind == TokenKind::kEnd;
  }

  absl::Status Step() {
    if (scanner_.token().kind == TokenKind::kError) return scanner_.Expected("a token");
    scanner_.Next();
    return absl::OkStatus();
  }

  absl::StatusOr<RecordPlace> FindRecord() {
    if (!scanner_.IsName("class")) return scanner_.Expected("a class");
    while (!IsAtEndOfLine()) RETURN_IF_ERROR(Step());
    RETURN_IF_ERROR(scanner_.ExpectNewline("after the class name"));
    RecordPlace record;
    while (scanner_.token().kind == TokenKind::kName && scanner_.indent() > 0) {
      FieldPlace place = {
          .field = scanner_.token().text, .line = scanner_.line(), .begin = Offset()};
      RETURN_IF_ERROR(Step());
      RETURN_IF_ERROR(scanner_.Expect(Punct("="), "after the field name"));
      place.value = Offset();
      while (!IsAtEndOfLine()) {
        // Python joins adjacent strings.
        if (place.field == "name" && scanner_.token().kind == TokenKind::kString)
          absl::StrAppend(&record.name, scanner_.token().text);
        place.end = static_cast<size_t>(scanner_.token_end() - text_.data());
        RETURN_IF_ERROR(Step());
      }
      RETURN_IF_ERROR(scanner_.ExpectNewline("after the value"));
      record.fields.push_back(place);
    }
    return record;
  }

  const std::string& text_;
  Scanner scanner_;
};

}  // namespace

const FieldPlace* RecordPlace::Find(absl::string_view field) const {
  const auto it =
      absl::c_find_if(fields, [&](const FieldPlace& place) { return place.field == field; });
  return it == fields.end() ? nullptr : &*it;
}

absl::StatusOr<std::vector<RecordPlace>> FindRecords(const std::string& text,
                                                     absl::string_view file_name) {
  return RecordFinder(text, file_name).Run();
}

}  // namespace graphnet
