#include "graphnet/formats/safetensors/safetensors.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/mapped_file.h"
#include "graphnet/base/status.h"
#include "graphnet/base/strided_copy.h"
#include "graphnet/base/tensor_size.h"
#include "nlohmann/json.hpp"

namespace graphnet {
namespace {

struct DTypeEntry {
  DType dtype;
  absl::string_view name;
};
constexpr std::array kDTypes = {
    DTypeEntry{DType::kBool, "BOOL"},
    DTypeEntry{DType::kUInt8, "U8"},
    DTypeEntry{DType::kInt8, "I8"},
    DTypeEntry{DType::kFloat8E5M2, "F8_E5M2"},
    DTypeEntry{DType::kFloat8E4M3FN, "F8_E4M3"},
    DTypeEntry{DType::kFloat8E8M0FNU, "F8_E8M0"},
    DTypeEntry{DType::kFloat8E4M3FNUZ, "F8_E4M3FNUZ"},
    DTypeEntry{DType::kFloat8E5M2FNUZ, "F8_E5M2FNUZ"},
    DTypeEntry{DType::kInt16, "I16"},
    DTypeEntry{DType::kUInt16, "U16"},
    DTypeEntry{DType::kFloat16, "F16"},
    DTypeEntry{DType::kBFloat16, "BF16"},
    DTypeEntry{DType::kInt32, "I32"},
    DTypeEntry{DType::kUInt32, "U32"},
    DTypeEntry{DType::kFloat32, "F32"},
    DTypeEntry{DType::kComplex64, "C64"},
    DTypeEntry{DType::kFloat64, "F64"},
    DTypeEntry{DType::kInt64, "I64"},
    DTypeEntry{DType::kUInt64, "U64"},
};

constexpr absl::string_view kMetadata = "__metadata__";
// The metadata have an entry of this name with the tensor's behind it, "1,3", if a tensor has strides.
constexpr absl::string_view kStrides = "graphnet.strides.";
// The metadata have an entry of this name with the tensor's behind it, and one of these dtypes, if a
// tensor's pairs of real and imaginary parts are its elements.
constexpr absl::string_view kPairs = "graphnet.dtype.";
constexpr std::pair<DType, DType> kPairTypes[] = {{DType::kComplex32, DType::kFloat16},
                                                  {DType::kComplex128, DType::kFloat64}};
constexpr size_t kSizeBytes = 8;
constexpr size_t kAlignment = 8;                     // Spaces after the header align the data.
constexpr uint64_t kLargeFile = uint64_t{64} << 20;  // Larger files are mapped.

// Returns the dtype of the parts of a complex number for which the format has no dtype.
std::optional<DType> PartOf(DType dtype) {
  for (const auto& [complex, part] : kPairTypes) {
    if (complex == dtype) return part;
  }
  return std::nullopt;
}

std::optional<absl::string_view> FormatName(DType dtype) {
  for (const DTypeEntry& entry : kDTypes) {
    if (entry.dtype == dtype) return entry.name;
  }
  return std::nullopt;
}

std::optional<DType> ParseFormatName(absl::string_view name) {
  for (const DTypeEntry& entry : kDTypes) {
    if (entry.name == name) return entry.dtype;
  }
  return std::nullopt;
}

// Returns the bytes of a tensor; nullopt beyond the limits.
std::optional<uint64_t> ByteSize(DType dtype, const std::vector<int64_t>& shape) {
  if (shape.size() > kMaxRank) return std::nullopt;
  const std::optional<int64_t> elements = NumElements(shape);
  if (!elements.has_value()) return std::nullopt;
  return static_cast<uint64_t>(*elements) * static_cast<uint64_t>(DTypeBytes(dtype));
}

// --- Reading -----------------------------------------------------------------

struct Entry {
  std::string name;
  std::string dtype;
  std::vector<int64_t> shape;
  std::vector<int64_t> offsets;
  bool has_dtype = false, has_shape = false, has_offsets = false;
};

// Collects the entries while the header is parsed, without building a tree. Nesting that the format
// does not have ends the parse at once. Each function returns whether to go on.
class HeaderHandler : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return Unexpected("null"); }
  bool boolean(bool) override { return Unexpected("a truth value"); }
  bool number_float(double, const std::string&) override { return Unexpected("a float"); }
  bool binary(binary_t&) override { return Unexpected("binary data"); }
  bool number_integer(int64_t) override { return Unexpected("a negative number"); }

  bool number_unsigned(uint64_t value) override {
    if (place_ != Place::kList) return Unexpected("a number");
    if (value > static_cast<uint64_t>(INT64_MAX)) return Unexpected("a number beyond int64");
    // No shape is longer. The length of data_offsets is checked later.
    if (list_->size() > kMaxRank) return Unexpected("a list that is too long");
    list_->push_back(static_cast<int64_t>(value));
    return true;
  }

  bool string(std::string& value) override {
    if (place_ == Place::kMetadata) {
      if (absl::StartsWith(key_, kStrides)) {
        strides_.emplace_back(key_.substr(kStrides.size()), std::move(value));
      } else if (absl::StartsWith(key_, kPairs)) {
        pairs_.emplace_back(key_.substr(kPairs.size()), std::move(value));
      }
      return true;
    }
    if (place_ != Place::kTensor || key_ != "dtype") return Unexpected("a string");
    entries_.back().dtype = std::move(value);
    return true;
  }

  bool start_object(size_t) override {
    switch (place_) {
      case Place::kOutside: place_ = Place::kTop; return true;
      case Place::kTop:
        place_ = key_ == kMetadata ? Place::kMetadata : Place::kTensor;
        if (place_ == Place::kTensor) entries_.emplace_back().name = key_;
        return true;
      default: return Unexpected("an object");
    }
  }

  bool end_object() override {
    if (place_ == Place::kTensor) {
      const Entry& entry = entries_.back();
      if (!entry.has_dtype || !entry.has_shape || !entry.has_offsets) {
        return Fail(absl::StrCat("tensor ", Printable(entry.name),
                                 " lacks its dtype, shape or data_offsets"));
      }
    }
    place_ = place_ == Place::kTop ? Place::kOutside : Place::kTop;
    return true;
  }

  bool start_array(size_t) override {
    if (place_ != Place::kTensor || (key_ != "shape" && key_ != "data_offsets")) {
      return Unexpected("a list");
    }
    list_ = key_ == "shape" ? &entries_.back().shape : &entries_.back().offsets;
    place_ = Place::kList;
    return true;
  }

  bool end_array() override {
    place_ = Place::kTensor;
    return true;
  }

  bool key(std::string& value) override {
    key_ = std::move(value);
    if (place_ == Place::kTop) {
      if (key_.size() > kMaxNameBytes) return Fail("a name is too long");
      if (key_ != kMetadata) return true;  // The caller finds equal names.
      if (has_metadata_) return Fail("__metadata__ comes twice");
      has_metadata_ = true;
    } else if (place_ == Place::kTensor) {
      Entry& entry = entries_.back();
      bool* seen = key_ == "dtype"          ? &entry.has_dtype
                   : key_ == "shape"        ? &entry.has_shape
                   : key_ == "data_offsets" ? &entry.has_offsets
                                            : nullptr;
      if (seen == nullptr) return Fail(absl::StrCat("no such field: ", Printable(key_)));
      if (*seen) return Fail(absl::StrCat(key_, " comes twice"));
      *seen = true;
    }
    return true;
  }

  bool parse_error(size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    return Fail(absl::StrCat("not JSON at byte ", position));
  }

  std::vector<Entry>& entries() { return entries_; }
  // The names of tensors with their strides as text.
  std::vector<std::pair<std::string, std::string>>& strides() { return strides_; }
  // The names of tensors whose elements are pairs, with their dtypes.
  std::vector<std::pair<std::string, std::string>>& pairs() { return pairs_; }
  const std::string& error() const { return error_; }

 private:
  enum class Place { kOutside, kTop, kMetadata, kTensor, kList };

  bool Fail(std::string error) {
    if (error_.empty()) error_ = std::move(error);
    return false;
  }
  bool Unexpected(absl::string_view what) {
    return Fail(absl::StrCat(what, " where the format allows none", key_.empty() ? "" : ", after ",
                             Printable(key_)));
  }

  Place place_ = Place::kOutside;
  std::string key_;
  std::vector<int64_t>* list_ = nullptr;
  bool has_metadata_ = false;
  std::vector<Entry> entries_;
  std::vector<std::pair<std::string, std::string>> strides_;
  std::vector<std::pair<std::string, std::string>> pairs_;
  std::string error_;
};

// Checks that the entries fill `data_bytes` exactly. Sorts them by offset.
absl::Status CheckEntries(std::vector<Entry>& entries, uint64_t data_bytes) {
  for (const Entry& entry : entries) {
    const auto fail = [&entry](absl::string_view what) {
      return absl::InvalidArgumentError(absl::StrCat("tensor ", Printable(entry.name), ": ", what));
    };
    const std::optional<DType> dtype = ParseFormatName(entry.dtype);
    if (!dtype) return fail(absl::StrCat("unknown dtype ", Printable(entry.dtype)));
    if (entry.offsets.size() != 2) return fail("data_offsets is not a pair");
    const std::optional<uint64_t> bytes = ByteSize(*dtype, entry.shape);
    if (!bytes) return fail("its shape is too large");
    if (entry.offsets[1] < entry.offsets[0] ||
        static_cast<uint64_t>(entry.offsets[1] - entry.offsets[0]) != *bytes) {
      return fail(absl::StrCat("data_offsets ", entry.offsets[0], " to ", entry.offsets[1], " for ",
                               *bytes, " bytes"));
    }
  }
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.offsets < b.offsets; });
  int64_t end = 0;
  for (const Entry& entry : entries) {
    if (entry.offsets[0] != end) {
      return absl::InvalidArgumentError(absl::StrCat("tensor ", Printable(entry.name),
                                                     ": begins at ", entry.offsets[0],
                                                     ", but the tensor before it ends at ", end));
    }
    end = entry.offsets[1];
  }
  if (static_cast<uint64_t>(end) == data_bytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the tensors take ", end, " bytes, the file has ", data_bytes));
}

absl::Status SetPairs(absl::string_view text, TensorData* tensor) {
  for (const auto& [complex, part] : kPairTypes) {
    if (DTypeName(complex) != text) continue;
    if (tensor->dtype != part || tensor->shape.empty() || tensor->shape.back() != 2)
      return absl::InvalidArgumentError("it has no pairs of that dtype's parts");
    tensor->dtype = complex;
    tensor->shape.pop_back();
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError("no dtype of pairs");
}

absl::Status SetStrides(absl::string_view text, TensorData* tensor) {
  std::vector<int64_t> strides;
  for (const absl::string_view word : absl::StrSplit(text, absl::MaxSplits(',', kMaxRank))) {
    int64_t stride = 0;
    if (!absl::SimpleAtoi(word, &stride)) return absl::InvalidArgumentError("they are no numbers");
    strides.push_back(stride);
  }
  if (tensor->bytes->empty() || !AreModestStrides(tensor->shape, strides))
    return absl::InvalidArgumentError("they do not fit its shape");
  if (strides != RowMajorStrides(tensor->shape)) tensor->strides = std::move(strides);
  return absl::OkStatus();
}

// read(offset, n) returns the `n` bytes from `offset` on, out of `size` in all. It is called in
// ascending order, so that at most one tensor is in memory twice.
using ReadRange = absl::FunctionRef<absl::StatusOr<SharedBytes>(uint64_t offset, uint64_t n)>;

absl::StatusOr<std::map<std::string, TensorData>> Parse(uint64_t size, ReadRange read) {
  const auto fail = [](absl::string_view what) { return absl::InvalidArgumentError(what); };
  constexpr absl::string_view kNone = "not a safetensors file: ";
  if (size < kSizeBytes) return fail(absl::StrCat(kNone, "too short for the size of its header"));
  ASSIGN_OR_RETURN(const SharedBytes size_bytes, read(0, kSizeBytes));
  uint64_t header_bytes = 0;
  for (size_t i = 0; i < kSizeBytes; ++i) {
    header_bytes |= static_cast<uint64_t>(static_cast<unsigned char>((*size_bytes)[i])) << (8 * i);
  }
  if (header_bytes > kMaxSafetensorsHeaderBytes) {
    return fail(absl::StrCat(kNone, "a header of ", header_bytes, " bytes, over the limit of ",
                             kMaxSafetensorsHeaderBytes));
  }
  if (header_bytes > size - kSizeBytes) {
    return fail(
        absl::StrCat("truncated: a header of ", header_bytes, " bytes in a file of ", size));
  }
  ASSIGN_OR_RETURN(const SharedBytes header_part, read(kSizeBytes, header_bytes));
  const absl::string_view header = *header_part;
  if (header.empty() || header[0] != '{')
    return fail(absl::StrCat(kNone, "the header does not begin with {"));
  HeaderHandler handler;
  if (!nlohmann::json::sax_parse(header.begin(), header.end(), &handler)) {
    return fail(absl::StrCat("header: ", handler.error().empty() ? "not JSON" : handler.error()));
  }
  const uint64_t data = kSizeBytes + header_bytes;
  RETURN_IF_ERROR(CheckEntries(handler.entries(), size - data));
  std::map<std::string, TensorData> tensors;
  for (Entry& entry : handler.entries()) {
    const auto [it, inserted] = tensors.try_emplace(std::move(entry.name));
    if (!inserted) return fail(absl::StrCat("two tensors are named ", Printable(it->first)));
    it->second.dtype = *ParseFormatName(entry.dtype);
    it->second.shape = std::move(entry.shape);
    const uint64_t begin = static_cast<uint64_t>(entry.offsets[0]);
    ASSIGN_OR_RETURN(it->second.bytes,
                     read(data + begin, static_cast<uint64_t>(entry.offsets[1]) - begin));
  }
  const auto apply = [&](absl::string_view what, const auto& entries, auto set) -> absl::Status {
    for (const auto& [name, text] : entries) {
      const auto tensor = tensors.find(name);
      const absl::Status status = tensor == tensors.end()
                                      ? absl::InvalidArgumentError("there is no such tensor")
                                      : set(text, &tensor->second);
      if (!status.ok())
        return fail(absl::StrCat(what, " of ", Printable(name), ": ", status.message()));
    }
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(apply("dtype", handler.pairs(), SetPairs));
  RETURN_IF_ERROR(apply("strides", handler.strides(), SetStrides));
  return tensors;
}

absl::StatusOr<std::map<std::string, TensorData>> ParseNamed(absl::string_view name, uint64_t size,
                                                             ReadRange read) {
  absl::StatusOr<std::map<std::string, TensorData>> tensors = Parse(size, read);
  if (!absl::IsInvalidArgument(tensors.status())) return tensors;
  return ErrorAt(name, 0, 0, tensors.status().message());
}

}  // namespace

absl::StatusOr<std::map<std::string, TensorData>> ParseSafetensors(absl::string_view bytes,
                                                                   absl::string_view name) {
  return ParseNamed(name, bytes.size(), [&](uint64_t offset, uint64_t n) {
    return std::make_shared<const std::string>(bytes.substr(offset, n));
  });
}

absl::StatusOr<std::map<std::string, TensorData>> ReadSafetensorsFile(
    const std::string& path, absl::FunctionRef<void(absl::string_view)> see) {
  ASSIGN_OR_RETURN(const InputFile file, InputFile::Open(path));
  if (file.size() > static_cast<uint64_t>(kMaxSampleBytes)) {
    return ErrorAt(path, 0, 0,
                   absl::StrCat(file.size(), " bytes, over the limit of ", kMaxSampleBytes));
  }
  if (file.size() > kLargeFile) {
    ASSIGN_OR_RETURN(MappedFile opened,
                     MappedFile::Open(path, static_cast<size_t>(kMaxSampleBytes)));
    const SharedBytes mapped = std::make_shared<const MappedFile>(std::move(opened));
    return ParseNamed(path, mapped->size(), [&](uint64_t offset, uint64_t n) {
      SharedBytes bytes = mapped.Part(offset, n);
      see(*bytes);
      bytes.Release();
      return bytes;
    });
  }
  const auto read = [&](uint64_t offset, uint64_t n) -> absl::StatusOr<SharedBytes> {
    ASSIGN_OR_RETURN(std::string bytes, file.Read(offset, n));
    if (bytes.size() < n) return absl::InvalidArgumentError("truncated while it was read");
    see(bytes);
    return std::make_shared<const std::string>(std::move(bytes));
  };
  return ParseNamed(path, file.size(), read);
}

// --- Writing -----------------------------------------------------------------

namespace {

struct Arrangement {
  std::string head;  // the header and its size
  std::vector<const std::pair<const std::string, TensorData>*> order;
  uint64_t data_bytes = 0;
};

absl::StatusOr<Arrangement> Arrange(const std::map<std::string, TensorData>& tensors) {
  Arrangement arranged;
  auto& order = arranged.order;
  order.reserve(tensors.size());
  for (const auto& entry : tensors) {
    const auto fail = [&entry](absl::string_view what) {
      return absl::InvalidArgumentError(
          absl::StrCat("tensor ", Printable(entry.first), ": ", what));
    };
    const TensorData& tensor = entry.second;
    if (entry.first == kMetadata) return fail("the format uses this name itself");
    if (entry.first.size() > kMaxNameBytes) return fail("the name is too long");
    if (!FormatName(PartOf(tensor.dtype).value_or(tensor.dtype))) {
      return fail(absl::StrCat("safetensors has no dtype ", DTypeName(tensor.dtype)));
    }
    const std::optional<uint64_t> bytes = ByteSize(tensor.dtype, tensor.shape);
    if (!bytes) return fail("its shape is too large");
    if (tensor.bytes == nullptr || tensor.bytes->size() != *bytes) {
      return fail(absl::StrCat("has ", tensor.bytes == nullptr ? 0 : tensor.bytes->size(),
                               " bytes, but its shape needs ", *bytes));
    }
    arranged.data_bytes += *bytes;
    order.push_back(&entry);
  }
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return DTypeBytes(a->second.dtype) > DTypeBytes(b->second.dtype);
  });

  std::string header = "{";
  std::string metadata;
  const auto add = [&metadata](absl::string_view key, const std::string& name,
                               absl::string_view value) {
    absl::StrAppend(&metadata, metadata.empty() ? "" : ",",
                    nlohmann::json(absl::StrCat(key, name)).dump(), ":\"", value, "\"");
  };
  uint64_t offset = 0;
  for (const auto* entry : order) {
    const DType dtype = entry->second.dtype;
    const std::optional<DType> part = PartOf(dtype);
    std::string name;
    try {
      name = nlohmann::json(entry->first).dump();
      if (part.has_value()) add(kPairs, entry->first, DTypeName(dtype));
      if (!entry->second.strides.empty())
        add(kStrides, entry->first, absl::StrJoin(entry->second.strides, ","));
    } catch (const nlohmann::json::exception&) {
      return absl::InvalidArgumentError(
          absl::StrCat("tensor ", Printable(entry->first), ": its name is not UTF-8"));
    }
    const uint64_t end = offset + entry->second.bytes->size();
    std::vector<int64_t> shape = entry->second.shape;
    if (part.has_value()) shape.push_back(2);
    absl::StrAppend(&header, header.size() == 1 ? "" : ",", name, ":{\"dtype\":\"",
                    *FormatName(part.value_or(dtype)), "\",\"shape\":[", absl::StrJoin(shape, ","),
                    "],\"data_offsets\":[", offset, ",", end, "]}");
    offset = end;
  }
  if (!metadata.empty()) {
    absl::StrAppend(&header, header.size() == 1 ? "" : ",", "\"", kMetadata, "\":{", metadata, "}");
  }
  header += '}';
  header.append((kAlignment - header.size() % kAlignment) % kAlignment, ' ');
  if (header.size() > kMaxSafetensorsHeaderBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a safetensors header of ", header.size(), " bytes is over the limit"));
  }

  for (size_t i = 0; i < kSizeBytes; ++i) {
    arranged.head.push_back(static_cast<char>(uint64_t{header.size()} >> (8 * i)));
  }
  arranged.head += header;
  return arranged;
}

}  // namespace

absl::StatusOr<std::string> SerializeSafetensors(const std::map<std::string, TensorData>& tensors) {
  ASSIGN_OR_RETURN(const Arrangement arranged, Arrange(tensors));
  std::string out = arranged.head;
  out.reserve(arranged.head.size() + arranged.data_bytes);
  for (const auto* entry : arranged.order) absl::StrAppend(&out, *entry->second.bytes);
  return out;
}

absl::Status StreamSafetensors(const std::map<std::string, TensorData>& tensors,
                               const ByteSink& sink) {
  ASSIGN_OR_RETURN(const Arrangement arranged, Arrange(tensors));
  RETURN_IF_ERROR(sink(arranged.head));
  for (const auto* entry : arranged.order) {
    RETURN_IF_ERROR(sink(*entry->second.bytes));
    entry->second.bytes.Release();
  }
  return absl::OkStatus();
}

absl::Status WriteSafetensorsFile(const std::map<std::string, TensorData>& tensors,
                                  const std::string& path) {
  return WriteFileAtomic(path,
                         [&](const ByteSink& sink) { return StreamSafetensors(tensors, sink); });
}

}  // namespace graphnet
