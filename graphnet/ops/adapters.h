// Adapters: Python functions and methods that do more than call the ATen
// operator of their name. One small function each, as PyTorch's Python code has
// it (torch/nn/functional.py, torch/functional.py, torch/_tensor.py), in one
// table a file.
#ifndef GRAPHNET_OPS_ADAPTERS_H_
#define GRAPHNET_OPS_ADAPTERS_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/ops/lowering.h"

namespace graphnet {

// Of a function with a signature (signatures.txt).
using SignatureAdapter = absl::StatusOr<Argument> (*)(Lowering&, const NamedArguments&);
// Of any other: the arguments as they are written; a method has its object first.
using CallAdapter = absl::StatusOr<Argument> (*)(Lowering&, absl::Span<const Argument>,
                                                 absl::Span<const KwArg>);

// By full name ("torch.nn.functional.embedding"); null when there is none.
SignatureAdapter FindSignatureAdapter(absl::string_view name);
// By name ("torch.tensor", "math.floor", "Tensor.to"); null when there is none.
CallAdapter FindCallAdapter(absl::string_view name);

}  // namespace graphnet

#endif  // GRAPHNET_OPS_ADAPTERS_H_
