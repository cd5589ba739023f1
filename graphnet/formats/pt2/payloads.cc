#include "graphnet/formats/pt2/payloads.h"

#include <algorithm>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "graphnet/base/status.h"
#include "graphnet/base/strided_copy.h"
#include "graphnet/base/tensor_size.h"
#include "graphnet/formats/pt2/json.h"

namespace graphnet::pt2 {
namespace {

// True if the elements lie in row-major order; strides of dimensions of size 1 do not count.
bool IsRowMajor(const StoredTensor& tensor) {
  const std::vector<int64_t> strides = RowMajorStrides(tensor.sizes);
  for (size_t i = 0; i < strides.size(); ++i) {
    if (tensor.sizes[i] != 1 && tensor.strides[i] != strides[i]) return false;
  }
  return true;
}

absl::StatusOr<Payload> ReadPayload(Json meta) {
  Json path, is_pickled, tensor;
  RETURN_IF_ERROR(ReadFields(
      meta, {{"path_name", &path}, {"use_pickle", &is_pickled}, {"tensor_meta", &tensor, false}}));
  Payload payload;
  ASSIGN_OR_RETURN(const absl::string_view name, path.String());
  payload.record_name = std::string(name);
  ASSIGN_OR_RETURN(payload.is_pickled, is_pickled.Bool());
  payload.is_tensor = !tensor.is_null();
  if (payload.is_tensor) {
    ASSIGN_OR_RETURN(payload.tensor, ReadStoredTensor(tensor));
  } else if (!payload.is_pickled) {
    return absl::InvalidArgumentError("neither pickled nor described by tensor_meta");
  }
  return payload;
}

}  // namespace

absl::Status ReadPayloadConfig(const ZipReader* zip, absl::string_view root,
                               absl::string_view folder, std::string config, Payloads* payloads) {
  ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::Parse(std::move(config)));
  Json members;
  RETURN_IF_ERROR(ReadFields(document.root(), {{"config", &members}}));
  return members.ForEachMember([&](absl::string_view name, Json meta) -> absl::Status {
    absl::StatusOr<Payload> payload = ReadPayload(meta);
    if (!payload.ok()) return Annotate(payload.status(), Printable(name));
    payload->record_name = absl::StrCat(folder, payload->record_name);
    if (zip != nullptr) {
      payload->record = zip->Find(absl::StrCat(root, payload->record_name));
      if (payload->record != nullptr) payload->record_bytes = payload->record->size;
    }
    if (payloads->try_emplace(std::string(name), *std::move(payload)).second) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(absl::StrCat("two tensors are named ", Printable(name)));
  });
}

bool FindByteRange(const StoredTensor& tensor, ByteRange* range) {
  const auto width = static_cast<uint64_t>(DTypeBytes(tensor.dtype));
  uint64_t last = static_cast<uint64_t>(tensor.offset);
  for (size_t i = 0; i < tensor.sizes.size(); ++i) {
    if (tensor.sizes[i] == 0) {
      *range = {};
      return true;
    }
    uint64_t reach = 0;
    if (__builtin_mul_overflow(static_cast<uint64_t>(tensor.sizes[i] - 1),
                               static_cast<uint64_t>(tensor.strides[i]), &reach) ||
        __builtin_add_overflow(last, reach, &last)) {
      return false;
    }
  }
  if (__builtin_add_overflow(last, uint64_t{1}, &last) ||
      __builtin_mul_overflow(last, width, &range->last)) {
    return false;
  }
  range->first = static_cast<uint64_t>(tensor.offset) * width;
  return true;
}

bool Payload::lacks_values() const {
  if (is_fake) return true;
  return is_tensor && !is_pickled && record_bytes == uint64_t{0} &&
         NumElements(tensor.sizes).value_or(1) > 0;
}

bool Payload::can_be_shared() const {
  return !lacks_values() && (is_pickled || NumElements(tensor.sizes).value_or(1) > 0);
}

std::string Payload::Storage() const {
  return absl::StrCat(record_name, " ", static_cast<int>(tensor.dtype));
}

std::string Payload::Identity() const {
  return absl::StrCat(Storage(), is_pickled ? " pickled " : " ", tensor.offset, " ",
                      absl::StrJoin(tensor.sizes, ","), " ", absl::StrJoin(tensor.strides, ","));
}

absl::flat_hash_set<std::string> OverlappingStorages(const Payloads& payloads) {
  struct View {
    std::string storage;
    ByteRange range;
    std::string identity;
  };
  std::vector<View> views;
  for (const auto& [name, payload] : payloads) {
    ByteRange range;
    if (payload.is_pickled || !payload.is_tensor || payload.lacks_values() ||
        !FindByteRange(payload.tensor, &range)) {
      continue;
    }
    if (range.first < range.last) views.push_back({payload.Storage(), range, payload.Identity()});
  }
  std::sort(views.begin(), views.end(), [](const View& a, const View& b) {
    return std::tie(a.storage, a.range.first, a.identity) <
           std::tie(b.storage, b.range.first, b.identity);
  });
  absl::flat_hash_set<std::string> overlapping;
  uint64_t end = 0;  // end of the part of the storage seen so far
  for (size_t i = 0; i < views.size(); ++i) {
    if (i == 0 || views[i].storage != views[i - 1].storage) {
      end = 0;
    } else if (views[i].identity == views[i - 1].identity) {
      continue;
    }
    if (views[i].range.first < end) overlapping.insert(views[i].storage);
    end = std::max(end, views[i].range.last);
  }
  return overlapping;
}

absl::StatusOr<TensorData> ReadStorage(const StoredTensor& tensor, const SharedBytes& storage,
                                       uint64_t* spare) {
  const absl::string_view bytes = *storage;
  const auto width = static_cast<size_t>(DTypeBytes(tensor.dtype));
  ByteRange range;
  if (width == 0 || !FindByteRange(tensor, &range)) {
    return absl::InvalidArgumentError("its strides reach too far");
  }
  uint64_t count = 1;
  for (const int64_t size : tensor.sizes) count *= static_cast<uint64_t>(size);
  if (count > 0 && range.last > bytes.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("it needs ", range.last, " bytes of its storage, which has ", bytes.size()));
  }
  if (count * width > bytes.size()) {
    if (count * width - bytes.size() > *spare) {
      return absl::InvalidArgumentError(
          absl::StrCat("a storage of ", bytes.size(), " bytes is expanded to ", count * width));
    }
    *spare -= count * width - bytes.size();
  }
  TensorData data;
  data.dtype = tensor.dtype;
  data.shape = tensor.sizes;
  if (count == 0) {
    data.bytes = std::make_shared<const std::string>();
  } else if (IsRowMajor(tensor)) {
    const SharedBytes part = storage.Part(range.first, count * width);
    data.bytes =
        part.owner() != nullptr ? part : SharedBytes(std::make_shared<const std::string>(*part));
  } else {
    std::string gathered(count * width, '\0');
    StridedCopy(width, tensor.sizes, bytes.data() + range.first, tensor.strides, gathered.data(),
                RowMajorStrides(tensor.sizes));
    storage.Part(range.first, range.last - range.first).Release();
    data.bytes = std::make_shared<const std::string>(std::move(gathered));
  }
  // PyTorch chooses between layouts and kernels by strides, by those of dimensions of size 1, too.
  if (count > 0 && tensor.strides != RowMajorStrides(tensor.sizes) &&
      AreModestStrides(tensor.sizes, tensor.strides)) {
    data.strides = tensor.strides;
  }
  return data;
}

// Most bytes of a storage that no tensor of the program covers.
constexpr uint64_t kMaxGaps = uint64_t{1} << 30;

bool StorageContent::Add(const StoredTensor& tensor, const TensorData& data) {
  const auto width = static_cast<size_t>(DTypeBytes(tensor.dtype));
  ByteRange range;
  if (tensor.dtype != data.dtype || tensor.sizes != data.shape || width == 0 ||
      !FindByteRange(tensor, &range)) {
    return false;
  }
  if (data.bytes->empty()) return true;
  if (static_cast<uint64_t>(NumElements(tensor.sizes).value_or(0)) * width != data.bytes->size())
    return false;
  // Gaps between tensors take memory, too.
  if (range.last > kMaxGaps && range.last - kMaxGaps > bytes_ + data.bytes->size()) return false;
  size_ = std::max(size_, range.last);
  bytes_ += data.bytes->size();
  tensors_.push_back({tensor, range, data.bytes});
  return true;
}

std::vector<SharedBytes> StorageContent::Parts() const {
  std::vector<const Placed*> order;
  for (const Placed& placed : tensors_) order.push_back(&placed);
  std::stable_sort(order.begin(), order.end(), [](const Placed* a, const Placed* b) {
    return a->range.first < b->range.first;
  });
  std::vector<SharedBytes> parts;
  uint64_t end = 0;
  for (const Placed* placed : order) {
    if (placed->range.first < end || !IsRowMajor(placed->tensor)) return {Gathered()};
    if (placed->range.first > end)
      parts.emplace_back(std::make_shared<const std::string>(placed->range.first - end, '\0'));
    parts.push_back(placed->bytes);
    end = placed->range.last;
  }
  return parts;
}

SharedBytes StorageContent::Gathered() const {
  std::string bytes(size_, '\0');
  for (const Placed& placed : tensors_) {
    const StoredTensor& tensor = placed.tensor;
    StridedCopy(static_cast<size_t>(DTypeBytes(tensor.dtype)), tensor.sizes, placed.bytes->data(),
                RowMajorStrides(tensor.sizes), bytes.data() + placed.range.first, tensor.strides);
    placed.bytes.Release();
  }
  return std::make_shared<const std::string>(std::move(bytes));
}

}  // namespace graphnet::pt2
