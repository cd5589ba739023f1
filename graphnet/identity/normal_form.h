// The normal form of a program. Programs that compute the same get the same normal form, wherever
// they came from, as far as rewrites that keep every value can achieve it (docs/hash.md).
#ifndef GRAPHNET_IDENTITY_NORMAL_FORM_H_
#define GRAPHNET_IDENTITY_NORMAL_FORM_H_

#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"

namespace graphnet {

struct NormalFormOptions {
  // Inputs to replace by a constant, None or a number, by target. They are no longer inputs.
  absl::flat_hash_map<std::string, Argument> constants;
};

// Returns a new verified module with the inputs and attributes of `module`. The metas of inputs and
// attributes are trusted. InvalidArgument names the first call that cannot be resolved; NotFound
// names a constant that is not an input.
absl::StatusOr<std::unique_ptr<Module>> NormalForm(const Module& module,
                                                   const NormalFormOptions& options = {});

}  // namespace graphnet

#endif  // GRAPHNET_IDENTITY_NORMAL_FORM_H_
