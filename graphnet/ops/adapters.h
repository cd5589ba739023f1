// Adapters: Python functions and methods that do more than call the ATen
// operator of their name. One small function each, as PyTorch's Python code has
// it (torch/nn/functional.py, torch/functional.py, torch/_tensor.py), in one
// table a file. They see arguments by the names of their parameters, never how a call
// is written.
#ifndef GRAPHNET_OPS_ADAPTERS_H_
#define GRAPHNET_OPS_ADAPTERS_H_

#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/ops/lowering.h"

namespace graphnet {

using Adapter = absl::StatusOr<Argument> (*)(Lowering&, const BoundCall&);

// By the name of a row of signatures.txt or callables.txt: "torch.nn.functional.embedding",
// "Tensor.to". Null when there is none.
Adapter FindAdapter(absl::string_view name);

// Of all fused operators (lower_fused.cc).
absl::StatusOr<Argument> LowerFused(Lowering& lowering, const BoundCall& call);

// Those of a file.
using AdapterRow = std::pair<absl::string_view, Adapter>;
absl::Span<const AdapterRow> FunctionalAdapters();
absl::Span<const AdapterRow> PythonAdapters();
absl::Span<const AdapterRow> QuantizedAdapters();

}  // namespace graphnet

#endif  // GRAPHNET_OPS_ADAPTERS_H_
