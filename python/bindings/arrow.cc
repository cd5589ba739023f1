#include "python/bindings/arrow.h"

#include <limits>
#include <memory>

#include "absl/strings/str_cat.h"

// The structs of Arrow's C data interface, as its specification has them.
extern "C" {
struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema** children;
  struct ArrowSchema* dictionary;
  void (*release)(struct ArrowSchema*);
  void* private_data;
};
struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  struct ArrowArray** children;
  struct ArrowArray* dictionary;
  void (*release)(struct ArrowArray*);
  void* private_data;
};
}

namespace graphnet {
namespace {

constexpr int64_t kNullable = 2;  // ARROW_FLAG_NULLABLE

struct ArrowObject {
  std::shared_ptr<const ArrowColumn> column;
};

// The memory that an exported struct owns. A consumer may move the children elsewhere, so that each has an
// owner of its own, which all share the column.
template <typename Exported>
struct Owner {
  std::shared_ptr<const ArrowColumn> root;
  std::vector<const void*> buffers;
  std::vector<std::unique_ptr<Exported>> children;
  std::vector<Exported*> pointers;
};

template <typename Exported>
void Release(Exported* exported) {
  auto* const owner = static_cast<Owner<Exported>*>(exported->private_data);
  // A child that was moved has no release any more.
  for (const std::unique_ptr<Exported>& child : owner->children) {
    if (child->release != nullptr) child->release(child.get());
  }
  exported->release = nullptr;
  delete owner;
}

void Export(const std::shared_ptr<const ArrowColumn>& root, const ArrowColumn& column,
            ArrowSchema* out) {
  auto owner = std::make_unique<Owner<ArrowSchema>>();
  owner->root = root;
  for (const ArrowColumn& child : column.children()) {
    owner->children.push_back(std::make_unique<ArrowSchema>());
    Export(root, child, owner->children.back().get());
    owner->pointers.push_back(owner->children.back().get());
  }
  *out = {.format = column.format().c_str(),
          .name = column.name().c_str(),
          .metadata = nullptr,
          .flags = kNullable,
          .n_children = static_cast<int64_t>(owner->pointers.size()),
          .children = owner->pointers.data(),
          .dictionary = nullptr,
          .release = Release<ArrowSchema>,
          .private_data = nullptr};
  out->private_data = owner.release();
}

void Export(const std::shared_ptr<const ArrowColumn>& root, const ArrowColumn& column,
            ArrowArray* out) {
  auto owner = std::make_unique<Owner<ArrowArray>>();
  owner->root = root;
  owner->buffers = column.buffers();
  for (const ArrowColumn& child : column.children()) {
    owner->children.push_back(std::make_unique<ArrowArray>());
    Export(root, child, owner->children.back().get());
    owner->pointers.push_back(owner->children.back().get());
  }
  *out = {.length = column.length(),
          .null_count = column.nulls(),
          .offset = 0,
          .n_buffers = static_cast<int64_t>(owner->buffers.size()),
          .n_children = static_cast<int64_t>(owner->pointers.size()),
          .buffers = owner->buffers.data(),
          .children = owner->pointers.data(),
          .dictionary = nullptr,
          .release = Release<ArrowArray>,
          .private_data = nullptr};
  out->private_data = owner.release();
}

// The names of the capsules, as the specification has them.
template <typename Exported>
constexpr const char* kCapsule = nullptr;
template <>
constexpr const char* kCapsule<ArrowSchema> = "arrow_schema";
template <>
constexpr const char* kCapsule<ArrowArray> = "arrow_array";

template <typename Exported>
nb::object Capsule(const std::shared_ptr<const ArrowColumn>& column) {
  auto exported = std::make_unique<Exported>();
  Export(column, *column, exported.get());
  // The consumer takes the content and leaves release as null; else the capsule releases it.
  PyObject* const capsule = PyCapsule_New(exported.get(), kCapsule<Exported>, [](PyObject* object) {
    auto* const kept = static_cast<Exported*>(PyCapsule_GetPointer(object, kCapsule<Exported>));
    if (kept->release != nullptr) kept->release(kept);
    delete kept;
  });
  if (capsule == nullptr) {
    exported->release(exported.get());
    throw nb::python_error();
  }
  (void)exported.release();  // NOLINT: the capsule owns it
  return nb::steal(capsule);
}

}  // namespace

ArrowColumn::ArrowColumn(std::string name, std::string format, std::vector<ArrowColumn> children)
    : name_(std::move(name)), format_(std::move(format)), children_(std::move(children)) {
  if (has_offsets()) offsets_.push_back(0);
}

bool ArrowColumn::has_offsets() const {
  return format_ == kText || format_ == kBytes || format_ == kList;
}

std::vector<const void*> ArrowColumn::buffers() const {
  // Some consumers do not take null for a buffer without bytes.
  alignas(64) static const char kEmpty[64] = {};
  std::vector<const void*> all = {nulls_ == 0 ? nullptr : validity_.data()};
  if (has_offsets()) all.push_back(offsets_.data());
  if (format_ != kList && format_ != kStruct)
    all.push_back(data_.empty() ? kEmpty : static_cast<const void*>(data_.data()));
  return all;
}

void ArrowColumn::AppendRaw(const void* bytes, size_t size) {
  const char* const begin = static_cast<const char*>(bytes);
  data_.insert(data_.end(), begin, begin + size);
}

void ArrowColumn::AppendOffset(size_t offset) {
  is_too_large_ |= offset > static_cast<size_t>(std::numeric_limits<int32_t>::max());
  offsets_.push_back(static_cast<int32_t>(offset));
}

void ArrowColumn::EndOne(bool is_null) {
  if (length_ % 8 == 0) validity_.push_back(0);
  if (!is_null) validity_.back() |= static_cast<uint8_t>(1U << (length_ % 8));
  nulls_ += is_null ? 1 : 0;
  ++length_;
}

void ArrowColumn::Append(absl::string_view bytes) {
  AppendRaw(bytes.data(), bytes.size());
  if (has_offsets()) AppendOffset(data_.size());
  EndOne(/*is_null=*/false);
}

void ArrowColumn::EndEntry() {
  if (format_ == kList) AppendOffset(static_cast<size_t>(children_[0].length()));
  EndOne(/*is_null=*/false);
}

void ArrowColumn::AppendNull() {
  if (format_ == kList) {
    AppendOffset(static_cast<size_t>(children_[0].length()));
  } else if (has_offsets()) {
    AppendOffset(data_.size());
  } else if (format_ == kStruct) {
    for (ArrowColumn& child : children_) child.AppendNull();
  } else {
    const size_t size = format_ == kHash ? 32 : format_ == kInt32 ? 4 : 8;
    data_.insert(data_.end(), size, '\0');
  }
  EndOne(/*is_null=*/true);
}

absl::Status ArrowColumn::Check() const {
  if (is_too_large_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the column ", name_, " has more than 2 GiB; ask for fewer rows at once"));
  }
  for (const ArrowColumn& child : children_) {
    if (absl::Status status = child.Check(); !status.ok()) return status;
  }
  return absl::OkStatus();
}

nb::object ToArrow(ArrowColumn column) {
  RaiseIfError(column.Check());
  return nb::cast(ArrowObject{std::make_shared<const ArrowColumn>(std::move(column))});
}

void ReadArrowLists(nb::handle column,
                    absl::FunctionRef<void(absl::Span<const uint64_t> list)> use) {
  const nb::tuple capsules = nb::cast<nb::tuple>(column.attr("__arrow_c_array__")());
  // The capsules keep what they hold, and release it when they are destroyed.
  const nb::object schema_capsule = capsules[0], array_capsule = capsules[1];
  const auto* const schema = static_cast<const ArrowSchema*>(
      PyCapsule_GetPointer(schema_capsule.ptr(), kCapsule<ArrowSchema>));
  const auto* const array = static_cast<const ArrowArray*>(
      PyCapsule_GetPointer(array_capsule.ptr(), kCapsule<ArrowArray>));
  if (schema == nullptr || array == nullptr) throw nb::python_error();
  const absl::string_view format = schema->format;
  const absl::string_view item = schema->n_children == 1 ? schema->children[0]->format : "";
  const bool is_large = format == "+L";
  if ((format != "+l" && !is_large) || (item != "L" && item != "l"))
    Raise(PyExc_TypeError, "the features must be a column of lists of 64-bit integers");
  const ArrowArray& items = *array->children[0];
  const auto* const values = static_cast<const uint64_t*>(items.buffers[1]) + items.offset;
  const auto* const validity = static_cast<const uint8_t*>(array->buffers[0]);
  const auto offset = [&](int64_t i) {
    return is_large ? static_cast<const int64_t*>(array->buffers[1])[i]
                    : int64_t{static_cast<const int32_t*>(array->buffers[1])[i]};
  };
  for (int64_t i = array->offset; i < array->offset + array->length; ++i) {
    const bool is_null = validity != nullptr && (validity[i / 8] >> (i % 8) & 1) == 0;
    const int64_t begin = offset(i);
    const int64_t size = is_null ? 0 : offset(i + 1) - begin;
    if (size == 0) {
      use({});
    } else {
      use({values + begin, static_cast<size_t>(size)});
    }
  }
}

void BindArrow(nb::module_& m) {
  nb::class_<ArrowObject> cls(
      m, "_ArrowArray",
      "A table or column in Arrow's memory layout; pyarrow.record_batch(x) or pyarrow.array(x) "
      "takes it without a copy.");
  cls.def("__len__", [](const ArrowObject& self) { return self.column->length(); });
  cls.def("__arrow_c_schema__",
          [](const ArrowObject& self) { return Capsule<ArrowSchema>(self.column); });
  cls.def(
      "__arrow_c_array__",
      [](const ArrowObject& self, nb::handle /*requested*/) {
        return nb::make_tuple(Capsule<ArrowSchema>(self.column), Capsule<ArrowArray>(self.column));
      },
      nb::arg("requested_schema").none() = nb::none());
}

}  // namespace graphnet
