// Internal to the lowering: the $helpers of rules.txt.
#ifndef GRAPHNET_PADDLE_PIR_LOWER_HELPERS_H_
#define GRAPHNET_PADDLE_PIR_LOWER_HELPERS_H_

#include <optional>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/paddle/pir/emitter.h"

namespace graphnet::pir {

// Returns the value of $name(args); nullopt if it cannot be determined from the arguments. `meta`
// is that of the whole call.
std::optional<Value> CallHelper(Emitter& out, absl::string_view name, absl::Span<const Value> args,
                                const ValueMeta* meta);

// Returns whether two constants are the same value; 1 and 1.0 are.
bool SameConstant(const Argument& a, const Argument& b);

}  // namespace graphnet::pir

#endif  // GRAPHNET_PADDLE_PIR_LOWER_HELPERS_H_
