// Reads the tensors of a program. A configuration maps each name to the record of the archive that
// holds its storage, and describes the tensor's place in it.
//
//   data/weights/model_weights_config.json      {"config": {"l.weight": {"path_name": "weight_0", …}}}
//   data/weights/weight_0                       the bytes of a storage, little-endian
#ifndef GRAPHNET_FORMATS_PT2_PAYLOADS_H_
#define GRAPHNET_FORMATS_PT2_PAYLOADS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/formats/archive/zip_reader.h"
#include "graphnet/formats/pt2/schema.h"
#include "graphnet/ir/sample.h"

namespace graphnet::pt2 {

// A tensor, or another object, in an archive.
struct Payload {
  const ZipEntry* record = nullptr;  // null if the archive has none of that name
  std::optional<uint64_t> record_bytes;
  std::string record_name;  // "data/weights/weight_0", below the archive's root
  bool is_pickled = false;  // true if torch.save wrote it
  bool is_tensor = false;   // false for an object of a class
  StoredTensor tensor;
  SharedBytes storage;   // the storage if it is only a part of a record
  bool is_fake = false;  // true for a tensor of which only the description was saved

  // True if the archive says that the tensor has no values: it was saved on meta or as a fake.
  bool lacks_values() const;
  // True if tensors of this place are one tensor. Those without elements or values have no place.
  bool can_be_shared() const;

  // Returns a key that two payloads share if and only if they are the same tensor, so that a write
  // to one shows in the other.
  std::string Identity() const;
  // Returns a key that all tensors of one storage and dtype share.
  std::string Storage() const;
};
// Payloads by name.
using Payloads = std::map<std::string, Payload, std::less<>>;

// Adds the payloads that `config`, the text of a configuration, lists for the records in `folder`
// ("data/weights/"). `root` is the archive's folder, such as "model/". If `zip` is null, records
// are not looked up. InvalidArgument names the tensor.
absl::Status ReadPayloadConfig(const ZipReader* zip, absl::string_view root,
                               absl::string_view folder, std::string config, Payloads* payloads);

// Returns the storages (Payload::Storage) in which different tensors overlap.
absl::flat_hash_set<std::string> OverlappingStorages(const Payloads& payloads);

// Most bytes that all tensors together may take beyond their storages; expanded tensors do so.
inline constexpr uint64_t kMaxExpandedBytes = uint64_t{256} << 20;

// Returns the elements of a tensor in `storage`. Bytes beyond the storage's size are subtracted
// from `spare`. InvalidArgument if `spare` does not suffice, or the tensor reaches beyond the
// storage. A row-major tensor is not copied if `storage` has an owner; the result then shares that
// owner.
absl::StatusOr<TensorData> ReadStorage(const StoredTensor& tensor, const SharedBytes& storage,
                                       uint64_t* spare);

// The bytes [first, last) that a tensor spans in its storage; empty for one without elements.
struct ByteRange {
  uint64_t first = 0;
  uint64_t last = 0;
};
// Sets `range`; returns false if the end does not fit 64 bits.
bool FindByteRange(const StoredTensor& tensor, ByteRange* range);

// Builds a storage from the tensors at their places in it; the inverse of ReadStorage().
class StorageContent {
 public:
  // Adds `data` at the place that `tensor` describes. Returns false if dtype, shape or number of
  // bytes differ, the place cannot be addressed, or the storage would have more than 1 GiB of gaps.
  bool Add(const StoredTensor& tensor, const TensorData& data);
  uint64_t size() const { return size_; }  // bytes up to the end of the last tensor
  // Returns the storage's bytes in consecutive parts. Gaps between tensors are 0; where tensors
  // overlap, the one added later wins. Row-major tensors that do not overlap are not copied.
  std::vector<SharedBytes> Parts() const;

 private:
  struct Placed {
    StoredTensor tensor;
    ByteRange range;
    SharedBytes bytes;  // in row-major order
  };

  // Returns the whole storage in one piece.
  SharedBytes Gathered() const;

  std::vector<Placed> tensors_;
  uint64_t size_ = 0;
  uint64_t bytes_ = 0;  // of the tensors
};

}  // namespace graphnet::pt2

#endif  // GRAPHNET_FORMATS_PT2_PAYLOADS_H_
