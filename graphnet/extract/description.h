// What the folder of an extracted program says of itself, to people and to Python.
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
  std::string weights;  // "subgraph_0.safetensors", or empty: none of its own
  std::string python;   // its class GraphModule, "subgraph_0.py"; empty: none
  std::string why_not;  // … as it cannot be written
  // Of the arguments of GraphModule.forward behind the subgraph's inputs.
  std::vector<std::string> attributes;
};

// stitch.json: the manifest with where each value comes from and lies; a row a line. The
// same bytes for the same program. docs/extraction.md says what it holds.
std::string StitchJson(const ExtractedProgram& program, const std::vector<SubgraphFiles>& files);

// README.md.
std::string StitchReadme(const ExtractedProgram& program, const std::vector<SubgraphFiles>& files);

// run_stitched.py, which reads stitch.json.
absl::string_view RunStitchedScript();

}  // namespace graphnet

#endif  // GRAPHNET_EXTRACT_DESCRIPTION_H_
