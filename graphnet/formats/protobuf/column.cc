#include "graphnet/formats/protobuf/column.h"

#include <algorithm>

namespace graphnet::proto_internal {

void WriteRuns(absl::Span<const uint64_t> values, Column* column) {
  if (std::all_of(values.begin(), values.end(), [](uint64_t v) { return v == 0; })) return;
  for (size_t i = 0; i < values.size();) {
    size_t end = i + 1;
    while (end < values.size() && values[end] == values[i]) ++end;
    column->Add(values[i]);
    if (end - i >= 2) {
      column->Add(values[i]);
      column->Add(end - i - 2);
    }
    i = end;
  }
}

}  // namespace graphnet::proto_internal
