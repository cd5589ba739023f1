// Captures as samples, and stored programs made ready to run.
#ifndef GRAPHNET_EXTRACT_SAMPLES_H_
#define GRAPHNET_EXTRACT_SAMPLES_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "graphnet/extract/capture.h"
#include "graphnet/extract/folder.h"
#include "graphnet/extract/stitched.h"

namespace graphnet {

// Complete samples called `name`: statistics and values of attributes as they were
// when the run began; variances of batch norms cannot be drawn below 0. The samples
// verify. Unimplemented for attributes that are sparse or quantised.
absl::StatusOr<ExtractedProgram> ToSamples(const Capture& capture, const std::string& name);

// A program that keeps what it needs.
struct LoadedProgram {
  ExtractedProgram stored;
  std::unique_ptr<StitchedProgram> program;
};
// Attributes of one name are one tensor in all subgraphs. To read objects of classes that are
// written in C++ is to run code of these: PermissionDenied unless `trust`.
absl::StatusOr<LoadedProgram> LoadProgram(ExtractedProgram stored, bool trust = false);

}  // namespace graphnet

#endif  // GRAPHNET_EXTRACT_SAMPLES_H_
