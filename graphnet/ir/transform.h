// Makes a changed copy of a module, call by call:
//
//   const auto gelu_for_relu = [](Node* call) -> absl::StatusOr<Argument> {
//     if (!call->is_call_function("torch.relu")) return call;  // stays
//     return call->graph()->CallFunction("torch.nn.functional.gelu", {call->args()[0]});
//   };
//   ASSIGN_OR_RETURN(std::unique_ptr<Module> changed, Transform(*module, gelu_for_relu));
#ifndef GRAPHNET_IR_TRANSFORM_H_
#define GRAPHNET_IR_TRANSFORM_H_

#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"

namespace graphnet {

// Copies a module and asks `replace` for each call of the copy, those of bodies, too, in program order.
// `replace` returns the call itself, or what stands in its place: a node, a constant, or a tuple or list
// of them, which Module::CopyArgument makes live long enough. The operands that it sees are those of the
// copy, already replaced. New nodes go before the call, where the insertion point is, and are not asked
// about.
//
// The nodes that `replace` makes have the location and module path of the call, and a node that it returns
// has its name and, if it has none of its own, its meta. The first error of `replace` is returned.
absl::StatusOr<std::unique_ptr<Module>> Transform(
    const Module& module, absl::FunctionRef<absl::StatusOr<Argument>(Node* call)> replace);

}  // namespace graphnet

#endif  // GRAPHNET_IR_TRANSFORM_H_
