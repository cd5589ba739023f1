// Bounds on how inputs are drawn, written into the records of a sample that is there.
#ifndef GRAPHNET_FORMATS_GRAPHNET_FOLDER_BOUNDS_WRITER_H_
#define GRAPHNET_FORMATS_GRAPHNET_FOLDER_BOUNDS_WRITER_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/argument.h"

namespace graphnet {

struct RecordBounds {
  // None leaves what the record has.
  Argument min;
  Argument max;
};

// weight_meta.py or input_meta.py, one that was read before, with min_val and max_val of the records
// of these names. All other bytes stay.
absl::StatusOr<std::string> WithBounds(const std::string& text, absl::string_view file_name,
                                       const std::map<std::string, RecordBounds>& bounds);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_GRAPHNET_FOLDER_BOUNDS_WRITER_H_
