// The normal form: what programs that compute the same are written as, whatever they came
// from, as far as rules that keep every value can tell (docs/hash.md).
#ifndef GRAPHNET_IDENTITY_NORMAL_FORM_H_
#define GRAPHNET_IDENTITY_NORMAL_FORM_H_

#include <memory>

#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"

namespace graphnet {

// A module of its own, verified, with the placeholders and attributes of `module`. Sizes and
// dtypes are believed from the metas of inputs and attributes. InvalidArgument names the first
// call that nothing resolves.
absl::StatusOr<std::unique_ptr<Module>> NormalForm(const Module& module);

}  // namespace graphnet

#endif  // GRAPHNET_IDENTITY_NORMAL_FORM_H_
