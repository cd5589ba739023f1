// The operators of ATen and the Python functions around them, from schemas.txt,
// signatures.txt and public.txt, which make_schemas.py writes, and from callables.txt and
// words.txt, which are written by hand. FindSchemas and FindOverload know operators of libraries,
// too, whose facts were given (foreign_operators.h).
#ifndef GRAPHNET_OPS_SCHEMA_TABLE_H_
#define GRAPHNET_OPS_SCHEMA_TABLE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/ops/schema.h"

namespace graphnet {

// All overloads of the operator "conv2d", in the order in which PyTorch's Python
// argument parser tries them, or of "torchvision::roi_align"; empty when there is none of that
// name.
absl::Span<const Schema> FindSchemas(absl::string_view name);
// By the target of a node: "aten.conv2d.default" and "torch.ops.aten.conv2d.default";
// without an overload, the one without a name. Null when there is none.
const Schema* FindOverload(absl::string_view target);
// All operators of ATen, by name.
absl::Span<const Schema> AllSchemas();

// Ditto of the functions of Python: "torch.nn.functional.relu", "Tensor.to".
absl::Span<const Schema> FindFunctions(absl::string_view name);
absl::Span<const Schema> AllFunctions();

// Whether graphs may run the operator "aten::add.Tensor": whether it only computes on the
// values that it is given, with no file, process, raw pointer or unchecked index. An
// overload that no table has, as those of TorchScript and those with `out`, may if all
// others of its name may, or if it is in torchscript.txt.
bool MayRun(absl::string_view name, absl::string_view overload);

// Whether one of PyTorch's public modules has a function of that name:
// "torch.nn.functional.linear".
bool IsPublicFunction(absl::string_view name);

// Up to three names of operators and functions that look like `name`.
std::vector<std::string> NearMisses(absl::string_view name);

}  // namespace graphnet

#endif  // GRAPHNET_OPS_SCHEMA_TABLE_H_
