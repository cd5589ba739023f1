// The normal form: what programs that compute the same are written as, whatever they came
// from, as far as rules that keep every value can tell (docs/hash.md).
#ifndef GRAPHNET_IDENTITY_NORMAL_FORM_H_
#define GRAPHNET_IDENTITY_NORMAL_FORM_H_

#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"

namespace graphnet {

struct NormalFormOptions {
  // Inputs that are fixed, by target: None, or a number. They are inputs no more.
  absl::flat_hash_map<std::string, Argument> constants;
};

// A module of its own, verified, with the inputs and attributes of `module`. Sizes and dtypes
// are believed from the metas of inputs and attributes. InvalidArgument names the first call
// that nothing resolves, NotFound a constant that is no input.
absl::StatusOr<std::unique_ptr<Module>> NormalForm(const Module& module,
                                                   const NormalFormOptions& options = {});

}  // namespace graphnet

#endif  // GRAPHNET_IDENTITY_NORMAL_FORM_H_
