// Finds the fields of weight_meta.py and input_meta.py in the text, so that code can edit or quote
// them.
#ifndef GRAPHNET_FORMATS_GRAPHNET_FOLDER_RECORD_PLACES_H_
#define GRAPHNET_FORMATS_GRAPHNET_FOLDER_RECORD_PLACES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace graphnet {

// The place of a field, as offsets into the text.
struct FieldPlace {
  absl::string_view field;  // "min_val"
  uint32_t line = 0;        // from 1
  size_t begin = 0;         // first byte of the field's name
  size_t value = 0;         // first byte of the value, parentheses included
  size_t end = 0;           // end of the value
};

// The places of a record's fields.
struct RecordPlace {
  std::string name;  // name of the tensor
  std::vector<FieldPlace> fields;

  // Returns null if the record does not have the field.
  const FieldPlace* Find(absl::string_view field) const;
};

// Returns the records in their order, as views of `text`. Values may have any spelling that Python
// allows: parentheses, several lines, strings in parts.
absl::StatusOr<std::vector<RecordPlace>> FindRecords(const std::string& text,
                                                     absl::string_view file_name);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_GRAPHNET_FOLDER_RECORD_PLACES_H_
