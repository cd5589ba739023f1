// Internal to the lowering: the $helpers of rules.txt.
#ifndef GRAPHNET_PADDLE_PIR_LOWER_HELPERS_H_
#define GRAPHNET_PADDLE_PIR_LOWER_HELPERS_H_

#include <optional>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/paddle/pir/emitter.h"

namespace graphnet::pir {

// What $name(args) is; none if the arguments are not such that it can be told. `meta` is that of
// the whole call.
std::optional<Value> CallHelper(Emitter& out, absl::string_view name, absl::Span<const Value> args,
                                const ValueMeta* meta);
// Whether there is a helper of that name.
bool IsHelper(absl::string_view name);

}  // namespace graphnet::pir

#endif  // GRAPHNET_PADDLE_PIR_LOWER_HELPERS_H_
