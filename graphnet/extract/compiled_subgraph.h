// Running subgraphs of a captured program by a compiler instead of the interpreter.
#ifndef GRAPHNET_EXTRACT_COMPILED_SUBGRAPH_H_
#define GRAPHNET_EXTRACT_COMPILED_SUBGRAPH_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graphnet/extract/manifest.h"
#include "graphnet/interp/executable.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// Compiles a graph with the values of its attributes, which are in Sample::weights. The executable
// takes tensors and, for placeholders without the meta of a tensor, numbers. It does not change
// them, and returns tensors in new memory. The sample need not outlive it. An error says why the
// backend cannot run the graph.
using SubgraphCompiler =
    std::function<absl::StatusOr<std::shared_ptr<Executable>>(const Sample& sample)>;

// Returns for each subgraph the reason why only the interpreter can run it without changing what
// the program does; empty if a compiler can run it. The reasons: the graph writes to its inputs,
// draws random numbers, or returns a tensor that may share memory with another one and may be
// written to later.
std::vector<std::string> WhyInterpreted(const StitchManifest& manifest,
                                        const std::vector<const Module*>& subgraphs);

}  // namespace graphnet

#endif  // GRAPHNET_EXTRACT_COMPILED_SUBGRAPH_H_
