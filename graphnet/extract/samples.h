// Turns captures into samples, and stored programs into programs that run.
#ifndef GRAPHNET_EXTRACT_SAMPLES_H_
#define GRAPHNET_EXTRACT_SAMPLES_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "graphnet/extract/capture.h"
#include "graphnet/extract/folder.h"
#include "graphnet/extract/stitched.h"

namespace graphnet {

// Makes complete samples called `name`. Attributes have the values and statistics that they had
// when the run began; variances of batch norms cannot be drawn below 0. The verifier accepts the
// samples. Unimplemented for attributes that are sparse or quantised.
absl::StatusOr<ExtractedProgram> ToSamples(const Capture& capture, const std::string& name);

// A program together with the samples that it refers to.
struct LoadedProgram {
  ExtractedProgram stored;
  std::unique_ptr<StitchedProgram> program;
};
// Prepares a stored program. Attributes with the same name are one tensor in all subgraphs. Reading
// objects of classes that are written in C++ runs code of these classes: PermissionDenied unless
// `trust`.
absl::StatusOr<LoadedProgram> LoadProgram(ExtractedProgram stored, bool trust = false);

}  // namespace graphnet

#endif  // GRAPHNET_EXTRACT_SAMPLES_H_
