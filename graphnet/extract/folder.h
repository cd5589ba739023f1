// Extracted programs on disk.
//
//   one subgraph:   protobuf  DIR/subgraph_0.pb       graphnet  DIR/model.py …
//   several:        protobuf  DIR/subgraph_<i>.pb …   graphnet  DIR/subgraph_<i>/model.py …
//   beside them:    subgraph_<i>.py (protobuf: the same graph for PyTorch),
//                   stitch.safetensors (attributes and constants), stitch.pt (objects of
//                   classes that are written in C++, if any), run_stitched.py, README.md,
//                   stitch.json (the manifest for people and Python), stitch.pb
//
// stitch.pb comes last: a folder that has it is complete.
#ifndef GRAPHNET_EXTRACT_FOLDER_H_
#define GRAPHNET_EXTRACT_FOLDER_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graphnet/extract/manifest.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

enum class ExtractFormat { kProtobuf, kGraphNetFolder };

// A program as samples.
struct ExtractedProgram {
  StitchManifest manifest;
  std::vector<Sample> subgraphs;              // as the manifest lists them, with their attributes
  std::map<std::string, TensorData> tensors;  // of all attributes and constants, by name
  // A TorchScript archive whose attribute object_<number> is the object of that number; empty if
  // no object can be stored.
  std::string objects;
};

// Writes a program to a folder, which appears whole or not at all. If `complete` is false, as after
// a run that failed, no manifest is written. Files of an earlier extraction are replaced;
// AlreadyExists if the folder holds anything else. Unimplemented, with the reason, if a GraphNet
// folder cannot hold the program.
absl::Status WriteExtracted(const ExtractedProgram& program, const std::string& folder,
                            ExtractFormat format, bool complete = true);

// Returns true if the folder holds a complete extracted program.
bool IsExtracted(const std::string& folder);
// Reads a folder that WriteExtracted wrote; FailedPrecondition if a subgraph is missing.
absl::StatusOr<ExtractedProgram> ReadExtracted(const std::string& folder);

}  // namespace graphnet

#endif  // GRAPHNET_EXTRACT_FOLDER_H_
