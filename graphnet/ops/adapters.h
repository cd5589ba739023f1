// Adapters lower Python functions and methods that do more than call the ATen operator of their
// name. Each is one small function that follows PyTorch's Python code (torch/nn/functional.py,
// torch/functional.py, torch/_tensor.py). Each file has one table of them. An adapter reads
// arguments by the names of their parameters, so it does not depend on how a call is written.
#ifndef GRAPHNET_OPS_ADAPTERS_H_
#define GRAPHNET_OPS_ADAPTERS_H_

#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/ops/lowering.h"

namespace graphnet {

using Adapter = absl::StatusOr<Argument> (*)(Lowering&, const BoundCall&);

// Returns the adapter for the name of a row of signatures.txt or callables.txt, such as
// "torch.nn.functional.embedding" or "Tensor.to". Null if there is none.
Adapter FindAdapter(absl::string_view name);

// The adapter of all fused operators (lower_fused.cc).
absl::StatusOr<Argument> LowerFused(Lowering& lowering, const BoundCall& call);

// The tables of the files.
using AdapterRow = std::pair<absl::string_view, Adapter>;
absl::Span<const AdapterRow> FunctionalAdapters();
absl::Span<const AdapterRow> PythonAdapters();
absl::Span<const AdapterRow> QuantizedAdapters();

}  // namespace graphnet

#endif  // GRAPHNET_OPS_ADAPTERS_H_
