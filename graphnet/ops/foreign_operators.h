// Operators that graphnet's tables lack: a library or a declaration adds them to this process.
#ifndef GRAPHNET_OPS_FOREIGN_OPERATORS_H_
#define GRAPHNET_OPS_FOREIGN_OPERATORS_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/ops/schema.h"

namespace graphnet {

// Checks the name of an operator, such as "mylib::f". InvalidArgument unless it has a namespace
// that is neither PyTorch's nor graphnet's.
absl::Status CheckForeignName(absl::string_view name);

// Makes the operator known to FindCallable as Callable::Kind::kForeign. `schema` has PyTorch's
// form. For "torchvision::roi_align(Tensor input, …) -> Tensor" the targets are
// torchvision.roi_align and torchvision.roi_align.default. Any thread.
void AddForeignOperator(absl::string_view schema);

// Like AddForeignOperator, for an operator whose facts are known: FindSchemas, FindOverload and
// FindCallable then treat it like one of ATen. If it is another name for the operator `like` of
// ATen, its Schema has the name `like`, otherwise "torchvision::roi_align". Returns an error if the
// schema cannot be read, AlreadyExists if the operator is known already. Any thread.
absl::Status AddKnownOperator(absl::string_view schema, absl::string_view like);
// Returns all overloads of a known operator, such as "torchvision::roi_align". Any thread.
absl::Span<const Schema> FindKnownOperator(absl::string_view name);
// Returns the overload of a known operator. The target has no "torch.ops."; without an overload, it
// means the unnamed one. Null if there is none. Any thread.
const Schema* FindKnownOverload(absl::string_view target);
// Returns how many operators were added. Caches of look-ups are stale if it changes. Any thread.
int CountForeignOperators();

// Returns whether `target`, without "torch.ops.", is an operator that was added. Any thread.
bool IsForeignOperator(absl::string_view target);
// Returns the schema of an operator that was added, with the types that graphnet knows. Null if
// there is none, or if it could not be read. It is never destroyed. Any thread.
const Schema* FindForeignSchema(absl::string_view target);

}  // namespace graphnet

#endif  // GRAPHNET_OPS_FOREIGN_OPERATORS_H_
