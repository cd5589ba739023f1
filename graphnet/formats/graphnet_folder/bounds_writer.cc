#include "graphnet/formats/graphnet_folder/bounds_writer.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/graphnet_folder/record_places.h"
#include "graphnet/formats/graphnet_folder/writers.h"

namespace graphnet {
namespace {

// Replaces the bytes from `begin` to `end` by `text`.
struct Edit {
  size_t begin;
  size_t end;
  std::string text;
};

// Returns the field of a bound, or null. `old_field` is its name in older samples of Paddle.
const FieldPlace* FindBound(const RecordPlace& record, absl::string_view field,
                            absl::string_view old_field) {
  const FieldPlace* const place = record.Find(field);
  return place != nullptr ? place : record.Find(old_field);
}

// A new bound replaces an existing one. Otherwise, min_val goes before max_val, and both go after
// all other fields.
void AddEdits(const std::string& text, const RecordPlace& record, const RecordBounds& bounds,
              std::vector<Edit>* edits) {
  const FieldPlace& first = record.fields.front();
  const size_t line = text.rfind('\n', first.begin) + 1;
  const std::string indent = text.substr(line, first.begin - line);
  size_t end = std::min(text.find('\n', record.fields.back().end), text.size());
  const bool has_returns = end > 0 && text[end - 1] == '\r';
  const std::string newline = has_returns ? "\r\n" : "\n";
  if (has_returns) --end;
  const FieldPlace* const min = FindBound(record, "min_val", "low");
  const FieldPlace* const max = FindBound(record, "max_val", "high");
  const auto add = [&](absl::string_view field, const Argument& bound, const FieldPlace* there) {
    if (bound.is_none()) return;
    std::string value;
    AppendMetaNumber(bound, &value);
    if (there != nullptr) {
      edits->push_back({there->value, there->end, value});
    } else if (max != nullptr) {
      edits->push_back(
          {max->begin, max->begin, absl::StrCat(field, " = ", value, newline, indent)});
    } else {
      edits->push_back({end, end, absl::StrCat(newline, indent, field, " = ", value)});
    }
  };
  const auto set = [&](absl::string_view field, const Argument& value) {
    const FieldPlace* const there = record.Find(field);
    if (value.is_none()) return;
    std::string number;
    AppendMetaNumber(value, &number);
    if (there != nullptr) {
      edits->push_back({there->value, there->end, number});
    } else {
      edits->push_back({end, end, absl::StrCat(newline, indent, field, " = ", number)});
    }
  };
  set("mean", bounds.mean);
  set("std", bounds.std);
  add("min_val", bounds.min, min);
  add("max_val", bounds.max, max);
}

}  // namespace

absl::StatusOr<std::string> WithBounds(const std::string& text, absl::string_view file_name,
                                       const std::map<std::string, RecordBounds>& bounds) {
  ASSIGN_OR_RETURN(const std::vector<RecordPlace> records, FindRecords(text, file_name));
  std::set<std::string> written;
  std::vector<Edit> edits;
  for (const RecordPlace& record : records) {
    const auto it = bounds.find(record.name);
    if (it == bounds.end() || record.fields.empty()) continue;
    written.insert(record.name);
    AddEdits(text, record, it->second, &edits);
  }
  for (const auto& [name, unused] : bounds) {
    if (!written.contains(name))
      return absl::NotFoundError(absl::StrCat("no record is named ", Printable(name)));
  }
  absl::c_stable_sort(edits, [](const Edit& a, const Edit& b) { return a.begin < b.begin; });
  std::string out;
  size_t copied = 0;
  for (const Edit& edit : edits) {
    absl::StrAppend(&out, absl::string_view(text).substr(copied, edit.begin - copied), edit.text);
    copied = edit.end;
  }
  return absl::StrCat(out, absl::string_view(text).substr(copied));
}

}  // namespace graphnet
