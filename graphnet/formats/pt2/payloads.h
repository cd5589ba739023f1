// The tensors beside a program: a configuration says of each name in which record of the
// archive its storage lies, and how it lies in it.
//
//   data/weights/model_weights_config.json      {"config": {"l.weight": {"path_name": "weight_0", …}}}
//   data/weights/weight_0                       the bytes of a storage, little-endian
#ifndef GRAPHNET_FORMATS_PT2_PAYLOADS_H_
#define GRAPHNET_FORMATS_PT2_PAYLOADS_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/formats/archive/zip_reader.h"
#include "graphnet/formats/pt2/schema.h"
#include "graphnet/ir/sample.h"

namespace graphnet::pt2 {

struct Payload {
  const ZipEntry* record = nullptr;  // null if the archive has none of that name
  std::string record_name;           // "data/weights/weight_0", below the archive's root
  bool is_pickled = false;           // torch.save wrote it
  bool is_tensor = false;            // else an object of a class
  StoredTensor tensor;

  // Whether it is the very same tensor: what is written to one shows in the other.
  bool IsSameAs(const Payload& other) const {
    return record_name == other.record_name && is_pickled == other.is_pickled &&
           tensor == other.tensor;
  }
};
// By name.
using Payloads = std::map<std::string, Payload, std::less<>>;

// Adds what `config`, the text of a configuration, says of the records in `folder`
// ("data/weights/"). `root` is that of the archive, "model/". InvalidArgument names the
// tensor.
absl::Status ReadPayloadConfig(const ZipReader& zip, absl::string_view root,
                               absl::string_view folder, std::string config, Payloads* payloads);

// The elements of a tensor of the storage `bytes`. Its memory is bounded by them, save that a
// tensor may be expanded to 256 MiB. InvalidArgument if it reaches beyond them.
absl::StatusOr<TensorData> ReadStorage(const StoredTensor& tensor, absl::string_view bytes);

// The bytes that a tensor spans in its storage, [first, last); empty for one without elements.
// False if these are too many to count.
struct ByteRange {
  uint64_t first = 0;
  uint64_t last = 0;
};
bool FindByteRange(const StoredTensor& tensor, ByteRange* range);

}  // namespace graphnet::pt2

#endif  // GRAPHNET_FORMATS_PT2_PAYLOADS_H_
