// Where the fields of weight_meta.py and input_meta.py stand, for those who edit or quote them.
#ifndef GRAPHNET_FORMATS_GRAPHNET_FOLDER_RECORD_PLACES_H_
#define GRAPHNET_FORMATS_GRAPHNET_FOLDER_RECORD_PLACES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace graphnet {

// Offsets of a field and of its value, parentheses included.
struct FieldPlace {
  absl::string_view field;  // "min_val"
  uint32_t line = 0;        // from 1
  size_t begin = 0;
  size_t value = 0;
  size_t end = 0;  // behind the value
};

struct RecordPlace {
  std::string name;  // of the tensor
  std::vector<FieldPlace> fields;

  // Null if the record has no such field.
  const FieldPlace* Find(absl::string_view field) const;
};

// The records in their order; views of `text`. Values may be spelled in any way: in parentheses,
// over several lines, strings in parts.
absl::StatusOr<std::vector<RecordPlace>> FindRecords(const std::string& text,
                                                     absl::string_view file_name);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_GRAPHNET_FOLDER_RECORD_PLACES_H_
