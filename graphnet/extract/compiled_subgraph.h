// Subgraphs of a captured program that a compiler runs in place of the interpreter.
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

// Compiles a graph with the values of its attributes, which are in Sample::weights. The sample need
// not outlive the executable, which takes tensors, leaves them as they are, and yields tensors in
// new memory. An error says why the backend cannot run the graph.
using SubgraphCompiler =
    std::function<absl::StatusOr<std::shared_ptr<Executable>>(const Sample& sample)>;

// Says of each subgraph of a program why only the interpreter can run it, if what the program does
// shall stay the same: the graph writes to what it is given, draws random numbers, takes numbers, or
// yields a tensor that somebody may write to later and that may share memory with another one. Empty
// if a compiler can run it.
std::vector<std::string> WhyInterpreted(const StitchManifest& manifest,
                                        const std::vector<const Module*>& subgraphs);

}  // namespace graphnet

#endif  // GRAPHNET_EXTRACT_COMPILED_SUBGRAPH_H_
