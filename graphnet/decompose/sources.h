// The origins of pieces, in the form of GraphNet's subgraph_sources.json: {"timm/resnet18": [[0, 8]]}.
#ifndef GRAPHNET_DECOMPOSE_SOURCES_H_
#define GRAPHNET_DECOMPOSE_SOURCES_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/decompose/range_decomposer.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// The name of the file in the folder of a piece. Beside X.pb it is X.subgraph_sources.json.
inline constexpr char kSubgraphSources[] = "subgraph_sources.json";

// By the path or the name of each original: the ranges of its operators that are this piece, rising
// and each once. They may overlap.
using SubgraphSources = std::map<std::string, std::vector<Range>>;

// Reads the file. InvalidArgument, with the name of the file, if it has another form, or if a range is
// empty, runs backwards or begins before 0.
absl::StatusOr<SubgraphSources> ParseSubgraphSources(absl::string_view text,
                                                     absl::string_view file);
// Returns the text of the file.
std::string SubgraphSourcesText(const SubgraphSources& sources);

// Returns the provenance of a sample in this form, with the names of its originals.
SubgraphSources ProvenanceOf(const Sample& sample);
// Returns the sources of a sample that was read from `path`: those of the file, else those of its
// provenance; empty if it was not cut. `name` is the path of the sample below the folder that was
// given: if it is "timm/resnet18_decomposed/subgraph_0" or "timm/resnet18/_decomposed/resnet18_0", an
// original that is called resnet18 gets the path timm/resnet18. The errors are those of
// ParseSubgraphSources.
absl::StatusOr<SubgraphSources> SourcesOf(const Sample& sample, absl::string_view path,
                                          absl::string_view name);
// Adds the ranges that are not there.
void MergeSources(const SubgraphSources& from, SubgraphSources* into);

}  // namespace graphnet

#endif  // GRAPHNET_DECOMPOSE_SOURCES_H_
