// Calls operators without boxing: arguments are read in place, not copied to a
// stack, for the signatures that most nodes of real graphs have.
#ifndef GRAPHNET_INTERP_DIRECT_CALL_H_
#define GRAPHNET_INTERP_DIRECT_CALL_H_

#include <cstddef>

#include "ATen/core/dispatch/Dispatcher.h"
#include "ATen/core/ivalue.h"

namespace graphnet::interp {

inline constexpr size_t kMaxDirectArguments = 10;

class DirectCall {
 public:
  virtual ~DirectCall() = default;
  // Calls the operator with arguments of the kinds in its schema; `result` must not be one of
  // them. Throws what the operator throws.
  virtual void Call(const c10::IValue* const* args, c10::IValue* result) const = 0;
};

// Returns null if there is no direct call for the signature of `op`. The result is never destroyed.
// Thread-safe.
const DirectCall* FindDirectCall(const c10::OperatorHandle& op);

}  // namespace graphnet::interp

#endif  // GRAPHNET_INTERP_DIRECT_CALL_H_
