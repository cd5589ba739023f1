// The tensors beside a program: a configuration says of each name in which record of the
// archive its storage lies, and how it lies in it.
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

struct Payload {
  const ZipEntry* record = nullptr;  // null if the archive has none of that name
  std::optional<uint64_t> record_bytes;
  std::string record_name;  // "data/weights/weight_0", below the archive's root
  bool is_pickled = false;  // torch.save wrote it
  bool is_tensor = false;   // else an object of a class
  StoredTensor tensor;
  SharedBytes storage;  // where it is not `record`: within one

  // Of all that are the very same tensor, and no others: what is written to one shows in the
  // other.
  std::string Identity() const;
  // Of all tensors of one storage.
  std::string Storage() const;
};
// By name.
using Payloads = std::map<std::string, Payload, std::less<>>;

// Adds what `config`, the text of a configuration, says of the records in `folder`
// ("data/weights/"). `root` is that of the archive, "model/"; without one, records are not looked
// for. InvalidArgument names the tensor.
absl::Status ReadPayloadConfig(const ZipReader* zip, absl::string_view root,
                               absl::string_view folder, std::string config, Payloads* payloads);

// Storages of which tensors overlap that are not the same, by Payload::Storage.
absl::flat_hash_set<std::string> OverlappingStorages(const Payloads& payloads);

// What tensors may take beyond their storages, all together, as expanded ones do.
inline constexpr uint64_t kMaxExpandedBytes = uint64_t{256} << 20;

// The elements of a tensor of `storage`. What it takes beyond these is subtracted from
// `spare`. InvalidArgument if that is not enough, or it reaches beyond them.
// What is there in one piece is not copied where `storage` has an owner, who then lives as long.
absl::StatusOr<TensorData> ReadStorage(const StoredTensor& tensor, const SharedBytes& storage,
                                       uint64_t* spare);

// The bytes that a tensor spans in its storage, [first, last); empty for one without elements.
// False if these are too many to count.
struct ByteRange {
  uint64_t first = 0;
  uint64_t last = 0;
};
bool FindByteRange(const StoredTensor& tensor, ByteRange* range);

// The inverse of ReadStorage: what a storage is made of, tensors at their places in it.
class StorageContent {
 public:
  // `tensor` says where `data` goes. False if dtype, shape or number of bytes are others, there is
  // no such place, or it lies further off than any storage reaches.
  bool Add(const StoredTensor& tensor, const TensorData& data);
  uint64_t size() const { return size_; }  // of the storage: to the end of its last tensor
  // The bytes of the storage, one part after the other. What lies between tensors is 0; of those
  // that overlap, what was added later remains. Tensors that lie in row-major order, side by side,
  // are not copied.
  std::vector<SharedBytes> Parts() const;

 private:
  struct Placed {
    StoredTensor tensor;
    ByteRange range;
    SharedBytes bytes;  // in row-major order
  };

  // All in one piece.
  SharedBytes Gathered() const;

  std::vector<Placed> tensors_;
  uint64_t size_ = 0;
  uint64_t bytes_ = 0;  // of the tensors
};

}  // namespace graphnet::pt2

#endif  // GRAPHNET_FORMATS_PT2_PAYLOADS_H_
