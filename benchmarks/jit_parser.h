// The baseline: LibTorch's C++ parser of TorchScript source.
#ifndef GRAPHNET_BENCHMARKS_JIT_PARSER_H_
#define GRAPHNET_BENCHMARKS_JIT_PARSER_H_

#include <string>

namespace graphnet {

// Builds LibTorch's syntax tree of the class in a model.py and drops it. Returns false if LibTorch
// refuses the text.
bool ParseWithLibTorch(const std::string& model_py);

}  // namespace graphnet

#endif  // GRAPHNET_BENCHMARKS_JIT_PARSER_H_
