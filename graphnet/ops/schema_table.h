// The operators of ATen and the Python functions around them. The tables are schemas.txt,
// signatures.txt and public.txt, which make_schemas.py writes, and callables.txt, fused.txt and
// words.txt, which are written by hand. FindSchemas and FindOverload also find the operators of
// libraries whose facts are known (foreign_operators.h).
#ifndef GRAPHNET_OPS_SCHEMA_TABLE_H_
#define GRAPHNET_OPS_SCHEMA_TABLE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/ops/schema.h"

namespace graphnet {

// Returns all overloads of the operator "conv2d" or "torchvision::roi_align", in the order in which
// PyTorch's Python argument parser tries them; empty if there is none of that name.
absl::Span<const Schema> FindSchemas(absl::string_view name);
// Returns the overload that a target names: "aten.conv2d.default", "torch.ops.aten.conv2d.default",
// or "aten.conv2d", which means the unnamed overload. Null if there is none.
const Schema* FindOverload(absl::string_view target);
// Returns all operators of ATen, sorted by name.
absl::Span<const Schema> AllSchemas();

// Like FindSchemas and AllSchemas, for Python functions: "torch.nn.functional.relu", "Tensor.to".
absl::Span<const Schema> FindFunctions(absl::string_view name);
absl::Span<const Schema> AllFunctions();

// Returns whether graphs may run the operator `name` ("aten::add") with `overload` ("Tensor"). It
// must only compute on the values that it is given, without files, processes, raw pointers or
// unchecked indices. An overload that no table has, such as those of TorchScript and those with
// `out`, may run if all others of its name may, or if its name is in torchscript.txt.
bool MayRun(absl::string_view name, absl::string_view overload);

// Returns whether a public module of PyTorch has this function, such as
// "torch.nn.functional.linear".
bool IsPublicFunction(absl::string_view name);

// Returns up to three names of operators and fused operators that are similar to `name`.
std::vector<std::string> NearMisses(absl::string_view name);

}  // namespace graphnet

#endif  // GRAPHNET_OPS_SCHEMA_TABLE_H_
