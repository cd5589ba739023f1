// Makes an archive whose entries are all stored, as PyTorch writes them, of one that another tool has
// deflated. Then contents can be used where they lie.
#ifndef GRAPHNET_FORMATS_ARCHIVE_STORED_ARCHIVE_H_
#define GRAPHNET_FORMATS_ARCHIVE_STORED_ARCHIVE_H_

#include <string>

#include "absl/status/statusor.h"
#include "graphnet/base/shared_bytes.h"

namespace graphnet {

// Returns `archive` itself if it has no deflated entry, and otherwise one in memory with the same
// entries in the same order. Contents that are deflated are checked. Each message starts with
// `name_for_messages`. InvalidArgument if ZipReader refuses the archive or its InflatedBytes.
absl::StatusOr<SharedBytes> StoredArchive(const SharedBytes& archive,
                                          const std::string& name_for_messages);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_ARCHIVE_STORED_ARCHIVE_H_
