// Structural equality of modules, with an account of the first difference.
#ifndef GRAPHNET_IR_EQUALITY_H_
#define GRAPHNET_IR_EQUALITY_H_

#include "absl/status/status.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// What counts beyond structure (ops, targets, arguments, order, the targets of
// placeholders, attributes).
struct EqualityOptions {
  bool names = false;         // node and graph names
  bool metas = true;          // metas, symbols, relations, annotations, draw specs
  bool locations = false;     // source locations and module paths
  bool attribute_names = true;  // targets of placeholders and get_attrs
};
// Everything a module holds.
inline constexpr EqualityOptions kExact = {.names = true, .metas = true, .locations = true,
                                           .attribute_names = true};

// OK if equal; else FailedPrecondition that names the first difference: graph,
// node, what was found in `a` and what in `b`.
absl::Status CheckEqual(const Module& a, const Module& b, const EqualityOptions& options = {});

// The modules, and every other field of the samples but `weights`.
absl::Status CheckEqual(const Sample& a, const Sample& b, const EqualityOptions& options = kExact);

}  // namespace graphnet

#endif  // GRAPHNET_IR_EQUALITY_H_
