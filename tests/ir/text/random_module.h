// Modules made at random from a seed, over everything a module can hold: for
// round trips through text, protobuf and clones, and for comparing engines. The
// same seed gives the same module on every machine.
#ifndef GRAPHNET_TESTS_IR_TEXT_RANDOM_MODULE_H_
#define GRAPHNET_TESTS_IR_TEXT_RANDOM_MODULE_H_

#include <cstdint>
#include <memory>

#include "graphnet/ir/module.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

struct RandomModuleOptions {
  int max_graphs = 4;
  int max_nodes = 12;  // a graph, besides its placeholders and its output
  int max_argument_depth = 4;
  // Names, targets and strings of any bytes, not only of sensible ones.
  bool any_bytes = true;
  // Also what the verifier refuses but a module can hold and the text form
  // writes: placeholders after other nodes, no output or several, draw specs on
  // any node, comparisons as arguments, undeclared symbols, unknown dtypes, …
  bool invalid = false;
};

// Passes the verifier unless `options.invalid`.
std::unique_ptr<Module> RandomModule(uint64_t seed, const RandomModuleOptions& options = {});

// All fields are set at times, but `weights` never.
Sample RandomSample(uint64_t seed, const RandomModuleOptions& options = {});

}  // namespace graphnet

#endif  // GRAPHNET_TESTS_IR_TEXT_RANDOM_MODULE_H_
