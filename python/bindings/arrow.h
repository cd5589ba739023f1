// Tables for other Python packages in the form of Arrow's C data interface, which pyarrow, polars,
// DuckDB and others take without a copy. Nothing of Arrow is needed to build or to import this.
#ifndef GRAPHNET_PYTHON_BINDINGS_ARROW_H_
#define GRAPHNET_PYTHON_BINDINGS_ARROW_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "nanobind/nanobind.h"
#include "python/bindings/errors.h"

namespace graphnet {

// A column of Arrow's memory layout, to which entries are appended.
//
//   ArrowColumn names("names", ArrowColumn::kList, {ArrowColumn("item", ArrowColumn::kText)});
//   names.child(0).Append("x");
//   names.EndEntry();  // ["x"]
class ArrowColumn {
 public:
  // The formats of the C data interface.
  static constexpr const char* kInt32 = "i";
  static constexpr const char* kInt64 = "l";
  static constexpr const char* kUInt64 = "L";
  static constexpr const char* kDouble = "g";
  static constexpr const char* kText = "u";
  static constexpr const char* kBytes = "z";
  static constexpr const char* kHash = "w:32";
  static constexpr const char* kList = "+l";
  static constexpr const char* kStruct = "+s";

  ArrowColumn(std::string name, std::string format, std::vector<ArrowColumn> children = {});

  const std::string& name() const { return name_; }
  const std::string& format() const { return format_; }
  int64_t length() const { return length_; }
  int64_t nulls() const { return nulls_; }
  const std::vector<ArrowColumn>& children() const { return children_; }
  ArrowColumn& child(size_t i) { return children_[i]; }
  // The addresses of the buffers in the order of the format. They live as long as the column is
  // not changed.
  std::vector<const void*> buffers() const;

  // Appends a number, whose type must be that of the format.
  template <typename T>
  void AppendNumber(T value) {
    AppendRaw(&value, sizeof value);
    EndOne(/*is_null=*/false);
  }
  // Appends a text, bytes or a hash.
  void Append(absl::string_view bytes);
  // Ends an entry of a list or struct after its parts were appended to the children.
  void EndEntry();
  // Appends an entry that is not there.
  void AppendNull();
  // ResourceExhausted if the column has more bytes or elements than Arrow's 32-bit offsets reach.
  absl::Status Check() const;

 private:
  void AppendRaw(const void* bytes, size_t size);
  void AppendOffset(size_t offset);
  void EndOne(bool is_null);
  bool has_offsets() const;

  std::string name_;
  std::string format_;
  std::vector<ArrowColumn> children_;
  std::vector<uint8_t> validity_;  // a bit for each entry
  std::vector<int32_t> offsets_;
  std::vector<char> data_;
  int64_t length_ = 0;
  int64_t nulls_ = 0;
  bool is_too_large_ = false;
};

// Returns a Python object with __arrow_c_array__. Raises Error if the column is too large.
nb::object ToArrow(ArrowColumn column);

// Calls use(list) for each entry of a column of lists of 64-bit integers, an object that has
// __arrow_c_array__; an entry that is not there is empty. Raises TypeError for another column.
void ReadArrowLists(nb::handle column,
                    absl::FunctionRef<void(absl::Span<const uint64_t> list)> use);

// Adds the class of those objects.
void BindArrow(nb::module_& m);

}  // namespace graphnet

#endif  // GRAPHNET_PYTHON_BINDINGS_ARROW_H_
