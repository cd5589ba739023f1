// Encodes the strings of a sample by the parts that they share with earlier ones (message
// StringTable). Names of parameters are long, but differ from a neighbour only in a number or in
// their last part, so each takes three to four bytes.
#ifndef GRAPHNET_FORMATS_PROTOBUF_STRING_TABLE_H_
#define GRAPHNET_FORMATS_PROTOBUF_STRING_TABLE_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/base/arena.h"
#include "graphnet/formats/protobuf/graphnet.pb.h"

namespace graphnet::proto_internal {

void EncodeStrings(absl::Span<const absl::string_view> strings, proto::StringTable* table);

// The strings of a table. They lie in an arena.
class StringTable {
 public:
  // Refuses strings whose total length exceeds `max_bytes`.
  absl::Status Decode(const proto::StringTable& table, uint64_t max_bytes, Arena* arena);

  size_t size() const { return strings_.size(); }
  const absl::string_view& operator[](size_t i) const { return strings_[i]; }
  size_t total_bytes() const { return total_bytes_; }

 private:
  size_t total_bytes_ = 0;
  absl::Span<const absl::string_view> strings_;
};

}  // namespace graphnet::proto_internal

#endif  // GRAPHNET_FORMATS_PROTOBUF_STRING_TABLE_H_
