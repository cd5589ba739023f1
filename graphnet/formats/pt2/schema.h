// Converts the smaller parts of torch.export's schema (torch/_export/serde/schema.py, version 8.20)
// to and from the IR's types.
#ifndef GRAPHNET_FORMATS_PT2_SCHEMA_H_
#define GRAPHNET_FORMATS_PT2_SCHEMA_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/formats/pt2/json.h"
#include "graphnet/ir/types.h"

namespace graphnet::pt2 {

// Reads {"name": "x"}.
absl::StatusOr<absl::string_view> ReadName(Json argument);
// Returns the name of an argument that is a value of the graph, {"as_tensor": {"name": "x"}}; empty
// for a constant.
absl::StatusOr<absl::string_view> NameOfArgument(Json argument);

// Read the schema's own numbers, which differ from PyTorch's. InvalidArgument for a number that the
// schema lacks, and for its UNKNOWN.
absl::StatusOr<DType> ReadScalarType(Json value);
absl::StatusOr<Layout> ReadLayout(Json value);
absl::StatusOr<MemoryFormat> ReadMemoryFormat(Json value);
// Reads {"type": "cuda", "index": 0}.
absl::StatusOr<Device> ReadDevice(Json value);

// Return the schema's number; 0, its UNKNOWN, for a value that it lacks.
int64_t ScalarTypeNumber(DType dtype);
int64_t LayoutNumber(Layout layout);
int64_t MemoryFormatNumber(MemoryFormat format);

// Reads a bound of a symbol's range; nullopt if there is none or it is infinite.
absl::StatusOr<std::optional<int64_t>> ReadBound(Json value);

// A tensor's place in its storage; sizes, strides and offset count elements.
struct StoredTensor {
  DType dtype = DType::kUnknown;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
  int64_t offset = 0;

  friend bool operator==(const StoredTensor&, const StoredTensor&) = default;
};
// Reads a TensorMeta without symbols. InvalidArgument also if sizes and strides differ in number or
// are negative, if the layout is not strided, and for more than kMaxRank dimensions or
// kMaxTensorElements elements.
absl::StatusOr<StoredTensor> ReadStoredTensor(Json meta);

}  // namespace graphnet::pt2

#endif  // GRAPHNET_FORMATS_PT2_SCHEMA_H_
