// Operators that no table of ours has and that a library brought into this process.
#ifndef GRAPHNET_OPS_FOREIGN_OPERATORS_H_
#define GRAPHNET_OPS_FOREIGN_OPERATORS_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/ops/schema.h"

namespace graphnet {

// InvalidArgument unless the name of an operator, such as "mylib::f", has a namespace, and one that
// is neither PyTorch's nor graphnet's.
absl::Status CheckForeignName(absl::string_view name);

// From now on FindCallable knows calls of the operator, as Callable::Kind::kForeign. `schema`, as
// PyTorch writes it, is "torchvision::roi_align(Tensor input, …) -> Tensor": targets of it are
// torchvision.roi_align and torchvision.roi_align.default. Any thread.
void AddForeignOperator(absl::string_view schema);

// Like AddForeignOperator, for an operator whose facts are known: FindSchemas, FindOverload and
// FindCallable know it as they know those of ATen. The name of its schema is that of `like`, the
// operator of ATen that it is another name of; if that is empty, "torchvision::roi_align". An error
// if the schema cannot be read, or the operator is known already. Any thread.
absl::Status AddKnownOperator(absl::string_view schema, absl::string_view like);
// Finds all overloads of the known operator "torchvision::roi_align". Any thread.
absl::Span<const Schema> FindKnownOperator(absl::string_view name);
// Finds the overload of a known operator by a target without "torch.ops."; a target that names no
// overload means the one without a name. Null if there is none. Any thread.
const Schema* FindKnownOverload(absl::string_view target);
// How many operators were added, for those who remember what they found. Any thread.
int CountForeignOperators();

// Of a target without "torch.ops.". Any thread.
bool IsForeignOperator(absl::string_view target);
// Its schema, with types as far as graphnet knows them; null if there is no such operator, or
// its schema cannot be read. It lives for good. Any thread.
const Schema* FindForeignSchema(absl::string_view target);

}  // namespace graphnet

#endif  // GRAPHNET_OPS_FOREIGN_OPERATORS_H_
