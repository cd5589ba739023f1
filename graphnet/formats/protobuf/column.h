// Reads and writes the integers in the columns of graphnet.proto: numbers (zigzag) and runs.
#ifndef GRAPHNET_FORMATS_PROTOBUF_COLUMN_H_
#define GRAPHNET_FORMATS_PROTOBUF_COLUMN_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "google/protobuf/repeated_field.h"

namespace graphnet::proto_internal {

using Column = google::protobuf::RepeatedField<uint64_t>;

inline absl::Span<const uint64_t> Values(const Column& column) {
  return {column.data(), static_cast<size_t>(column.size())};
}

inline uint64_t ZigZag(int64_t value) {
  return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}
inline int64_t UnZigZag(uint64_t value) {
  return static_cast<int64_t>((value >> 1) ^ (~(value & 1) + 1));
}

// Reads a stream of integers. Past the end, it yields 0, and ok() becomes false.
class StreamReader {
 public:
  StreamReader() = default;
  explicit StreamReader(absl::Span<const uint64_t> values) : values_(values) {}
  explicit StreamReader(const Column& column) : values_(Values(column)) {}

  uint64_t Next() {
    if (position_ == values_.size()) [[unlikely]] {
      ok_ = false;
      return 0;
    }
    return values_[position_++];
  }
  int64_t NextNumber() { return UnZigZag(Next()); }

  bool ok() const { return ok_; }
  size_t position() const { return position_; }
  size_t left() const { return values_.size() - position_; }
  bool AtEnd() const { return position_ == values_.size(); }

 private:
  absl::Span<const uint64_t> values_;
  size_t position_ = 0;
  bool ok_ = true;
};

// Reads runs in constant memory, however long they are.
class RunReader {
 public:
  explicit RunReader(const Column& column) : values_(Values(column)) {}

  uint64_t Next() {
    if (repeats_ > 0) {
      --repeats_;
      return last_;
    }
    if (position_ == values_.size()) [[unlikely]] {
      if (position_ > 0) ok_ = false;
      return 0;
    }
    const uint64_t value = values_[position_++];
    if (value != last_ || !comparable_) {
      last_ = value;
      comparable_ = true;
      return value;
    }
    comparable_ = false;  // The value after a run is not compared with the run.
    if (position_ == values_.size()) [[unlikely]] {
      ok_ = false;
      return 0;
    }
    repeats_ = values_[position_++];
    return value;
  }

  // True if there was a value for each call of Next and none is left.
  bool Complete() const { return ok_ && position_ == values_.size() && repeats_ == 0; }

 private:
  absl::Span<const uint64_t> values_;
  size_t position_ = 0;
  uint64_t last_ = 0;
  uint64_t repeats_ = 0;
  bool comparable_ = false;  // True if `last_` is a single value, not a run.
  bool ok_ = true;
};

// Writes `values` as runs, or nothing if all are 0.
void WriteRuns(absl::Span<const uint64_t> values, Column* column);

}  // namespace graphnet::proto_internal

#endif  // GRAPHNET_FORMATS_PROTOBUF_COLUMN_H_
