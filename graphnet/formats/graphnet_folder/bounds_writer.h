// Writes how inputs are drawn, bounds and statistics, into the records of an existing sample.
#ifndef GRAPHNET_FORMATS_GRAPHNET_FOLDER_BOUNDS_WRITER_H_
#define GRAPHNET_FORMATS_GRAPHNET_FOLDER_BOUNDS_WRITER_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/argument.h"

namespace graphnet {

struct RecordBounds {
  // If one of these is None, the record keeps its own.
  Argument min;
  Argument max;
  Argument mean;
  Argument std;
};

// Returns `text`, a weight_meta.py or input_meta.py that can be parsed, with these values as
// min_val, max_val, mean and std of the records of these names. All other bytes stay the same.
absl::StatusOr<std::string> WithBounds(const std::string& text, absl::string_view file_name,
                                       const std::map<std::string, RecordBounds>& bounds);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_GRAPHNET_FOLDER_BOUNDS_WRITER_H_
