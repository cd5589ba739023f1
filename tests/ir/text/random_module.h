// Random modules, made from a seed, which use everything that a module can hold. They serve round
// trips through text, protobuf and clones, and comparisons of engines. The same seed yields the
// same module on every machine.
#ifndef GRAPHNET_TESTS_IR_TEXT_RANDOM_MODULE_H_
#define GRAPHNET_TESTS_IR_TEXT_RANDOM_MODULE_H_

#include <cstdint>
#include <memory>

#include "graphnet/ir/module.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

struct RandomModuleOptions {
  int max_graphs = 4;
  int max_nodes = 12;  // In each graph, besides its placeholders and its output.
  int max_argument_depth = 4;
  // Names, targets and strings may have any bytes, not only sensible ones.
  bool any_bytes = true;
  // Includes modules that the verifier refuses but a module can hold and the text form writes:
  // placeholders after other nodes, no output or several, draw specs on any node, comparisons as
  // arguments, undeclared symbols, unknown dtypes, …
  bool invalid = false;
};

// Returns a module that the verifier accepts unless `options.invalid`.
std::unique_ptr<Module> RandomModule(uint64_t seed, const RandomModuleOptions& options = {});

// Returns a sample. Every field but `weights` is set for some seeds.
Sample RandomSample(uint64_t seed, const RandomModuleOptions& options = {});

}  // namespace graphnet

#endif  // GRAPHNET_TESTS_IR_TEXT_RANDOM_MODULE_H_
