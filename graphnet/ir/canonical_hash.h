// A hash of what a module computes, by which equal graphs are found.
//
//   if (CanonicalHash(*a.module) == CanonicalHash(*b.module)) std::cout << "the same graph\n";
#ifndef GRAPHNET_IR_CANONICAL_HASH_H_
#define GRAPHNET_IR_CANONICAL_HASH_H_

#include <map>
#include <string>

#include "graphnet/ir/module.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

struct CanonicalHashOptions {
  bool metas = false;  // dtypes, shapes and devices count too
  // If it is set, the values count too of the attributes that nodes read and of the inputs:
  // dtypes, shapes and bytes, or that there are none. By name, as Sample::weights.
  const std::map<std::string, TensorData>* weights = nullptr;
};

// 64 lower-case hexadecimal digits, the same for a module on all machines and in
// all versions: SHA-256 over the structure of the main graph and the bodies that
// it reaches. What counts is the nodes in their order: operators, targets,
// arguments and keywords in the order they are written. What is a label does
// not: the names of nodes, graphs, attributes and symbols and the targets of
// placeholders are replaced by numbers in order of first use. Nor do locations,
// annotations, draw specs, the symbols' examples and relations, or attributes
// that no node reads. Time is linear in the size of the module as printed and of the values.
std::string CanonicalHash(const Module& module, const CanonicalHashOptions& options = {});

}  // namespace graphnet

#endif  // GRAPHNET_IR_CANONICAL_HASH_H_
