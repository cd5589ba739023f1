// The smaller pieces of torch.export's schema (torch/_export/serde/schema.py, version 8.20)
// in the IR's terms.
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

// {"name": "x"}
absl::StatusOr<absl::string_view> ReadName(Json argument);
// The name in an argument that is a value of the graph, {"as_tensor": {"name": "x"}}; empty if
// it is a constant.
absl::StatusOr<absl::string_view> NameOfArgument(Json argument);

// The schema numbers these itself, otherwise than PyTorch does. InvalidArgument for
// numbers that it does not have; its UNKNOWN is one.
absl::StatusOr<DType> ReadScalarType(Json value);
absl::StatusOr<Layout> ReadLayout(Json value);
absl::StatusOr<MemoryFormat> ReadMemoryFormat(Json value);
// {"type": "cuda", "index": 0}
absl::StatusOr<Device> ReadDevice(Json value);

// The schema's numbers; 0, its UNKNOWN, for what it lacks.
int64_t ScalarTypeNumber(DType dtype);
int64_t LayoutNumber(Layout layout);
int64_t MemoryFormatNumber(MemoryFormat format);

// A bound of a symbol's range; nullopt: there is none, or it is infinite.
absl::StatusOr<std::optional<int64_t>> ReadBound(Json value);

// How a tensor lies in its storage; sizes, strides and offset count elements.
struct StoredTensor {
  DType dtype = DType::kUnknown;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
  int64_t offset = 0;

  friend bool operator==(const StoredTensor&, const StoredTensor&) = default;
};
// Of a TensorMeta without symbols. Besides what the fields say, InvalidArgument for sizes
// and strides of different numbers, negative ones, other layouts than strided, and more than
// kMaxRank dimensions or kMaxTensorElements elements.
absl::StatusOr<StoredTensor> ReadStoredTensor(Json meta);

}  // namespace graphnet::pt2

#endif  // GRAPHNET_FORMATS_PT2_SCHEMA_H_
