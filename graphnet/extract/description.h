// The files that describe the folder of an extracted program, to people and to Python.
#ifndef GRAPHNET_EXTRACT_DESCRIPTION_H_
#define GRAPHNET_EXTRACT_DESCRIPTION_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "graphnet/extract/folder.h"

namespace graphnet {

// A subgraph's files, relative to the folder.
struct SubgraphFiles {
  std::string sample;   // "subgraph_0.pb", "subgraph_0"; ".": the folder itself
  std::string weights;  // "subgraph_0.safetensors"; empty if it has no weights of its own
  std::string python;   // "subgraph_0.py", which has its class GraphModule; empty if none
  std::string why_not;  // why there is no Python file
  // The arguments of GraphModule.forward that follow the subgraph's inputs: its attributes.
  std::vector<std::string> attributes;
};

// Returns stitch.json: the manifest, and where each value comes from and is stored, one row a line.
// The same program gives the same bytes. docs/extraction.md describes the contents.
std::string StitchJson(const ExtractedProgram& program, const std::vector<SubgraphFiles>& files);

// Returns README.md.
std::string StitchReadme(const ExtractedProgram& program, const std::vector<SubgraphFiles>& files);

// Returns run_stitched.py, which reads stitch.json.
absl::string_view RunStitchedScript();

}  // namespace graphnet

#endif  // GRAPHNET_EXTRACT_DESCRIPTION_H_
