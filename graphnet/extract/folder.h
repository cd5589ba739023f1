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

// A program as samples: `subgraphs[i]` is that of the manifest, with its attributes;
// `tensors` are the values of all attributes and constants by name.
struct ExtractedProgram {
  StitchManifest manifest;
  std::vector<Sample> subgraphs;
  std::map<std::string, TensorData> tensors;
  // A TorchScript archive whose attribute object_<number> is that object; empty if there
  // are none, or none that says how it is stored.
  std::string objects;
};

// The folder appears whole or not at all. With `complete` false, as after a run that
// failed, no manifest is written. What an earlier extraction left in the folder is
// replaced; AlreadyExists if it holds anything else. Unimplemented, with the reason,
// for what a GraphNet folder cannot hold.
absl::Status WriteExtracted(const ExtractedProgram& program, const std::string& folder,
                            ExtractFormat format, bool complete = true);

bool IsExtracted(const std::string& folder);
// FailedPrecondition if a subgraph is missing.
absl::StatusOr<ExtractedProgram> ReadExtracted(const std::string& folder);

}  // namespace graphnet

#endif  // GRAPHNET_EXTRACT_FOLDER_H_
