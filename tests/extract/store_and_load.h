// Stores an extracted program in a folder and loads it again.
#ifndef GRAPHNET_TESTS_EXTRACT_STORE_AND_LOAD_H_
#define GRAPHNET_TESTS_EXTRACT_STORE_AND_LOAD_H_

#include "absl/status/statusor.h"
#include "graphnet/extract/folder.h"
#include "graphnet/extract/samples.h"

namespace graphnet {

// Writes `samples` to a folder in $TEST_TMPDIR, or /tmp, reads them from there, and removes
// the folder. Fails as WriteExtracted, ReadExtracted and LoadProgram do.
absl::StatusOr<LoadedProgram> StoreAndLoad(const ExtractedProgram& samples, ExtractFormat format,
                                           bool trust = false);

}  // namespace graphnet

#endif  // GRAPHNET_TESTS_EXTRACT_STORE_AND_LOAD_H_
