// A hash of the computation of a module, which finds equal graphs.
//
//   if (CanonicalHash(*a.module) == CanonicalHash(*b.module)) std::cout << "the same graph\n";
#ifndef GRAPHNET_IR_CANONICAL_HASH_H_
#define GRAPHNET_IR_CANONICAL_HASH_H_

#include <map>
#include <string>

#include "absl/functional/function_ref.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// The version of the hash. Hashes of different versions do not compare.
inline constexpr int kCanonicalHashVersion = 2;

// Chooses what CanonicalHash takes into account beyond the structure.
struct CanonicalHashOptions {
  bool metas = false;  // If true, dtypes, shapes and devices count, too.
  // If it is not null, the values of the inputs and of the attributes that nodes read count, too:
  // dtypes, shapes and bytes, or that there are no values. They are found by name, as in
  // Sample::weights.
  const std::map<std::string, TensorData>* weights = nullptr;
  // If it is not null, sizes do not count. Of a shape, only the rank counts. An integer or a size
  // expression counts as "a size" if it is in an argument for which the function returns true. The
  // positions of keyword arguments follow those of the others.
  const absl::FunctionRef<bool(const Node& call, size_t position)>* is_size = nullptr;
};

// Returns 64 lower-case hexadecimal digits: the SHA-256 of the structure of the main graph and of
// the bodies that it reaches. It is the same on all machines and in all versions. The nodes count
// in their order, with their ops, targets, arguments and keywords as they are written. Labels do
// not count: the names of nodes, graphs, attributes and symbols and the targets of placeholders are
// replaced by numbers in order of first use. Locations, annotations, draw specs, the examples and
// relations of symbols, and attributes that no node reads do not count, either. Takes time linear
// in the size of the module as printed and of the values.
std::string CanonicalHash(const Module& module, const CanonicalHashOptions& options = {});

}  // namespace graphnet

#endif  // GRAPHNET_IR_CANONICAL_HASH_H_
