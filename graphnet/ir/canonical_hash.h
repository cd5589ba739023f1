// A hash of what a module computes, by which equal graphs are found.
#ifndef GRAPHNET_IR_CANONICAL_HASH_H_
#define GRAPHNET_IR_CANONICAL_HASH_H_

#include <string>

#include "graphnet/ir/module.h"

namespace graphnet {

struct CanonicalHashOptions {
  bool metas = false;  // dtypes, shapes and devices count too
};

// 64 lower-case hexadecimal digits, the same for a module on all machines and in
// all versions: SHA-256 over the structure of the main graph and the bodies that
// it reaches. What counts is the nodes in their order: operators, targets,
// arguments and keywords in the order they are written. What is a label does
// not: the names of nodes, graphs, attributes and symbols and the targets of
// placeholders are replaced by numbers in order of first use. Nor do locations,
// annotations, draw specs, the symbols' examples and relations, or attributes
// that no node reads. Time is linear in the size of the module as printed.
std::string CanonicalHash(const Module& module, const CanonicalHashOptions& options = {});

}  // namespace graphnet

#endif  // GRAPHNET_IR_CANONICAL_HASH_H_
