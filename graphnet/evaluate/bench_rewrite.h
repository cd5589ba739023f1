// Rewrites of graphnet's own as backends: what a sample becomes runs in the interpreter.
//
//   pass:stabilize+check-stable          passes, one after the other
//   pass:change-dtype{from=f32;to=bf16}  an option ends with a semicolon, as commas part backends
//   decompose:pieces=3                   cut into pieces, and those put together again
#ifndef GRAPHNET_EVALUATE_BENCH_REWRITE_H_
#define GRAPHNET_EVALUATE_BENCH_REWRITE_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// Whether a backend of this name is a rewrite.
bool IsRewriteName(absl::string_view name);

using Rewriter = std::function<absl::Status(Sample*)>;
// What the name of a rewrite says. InvalidArgument if there is no such pass or scheme.
absl::StatusOr<Rewriter> RewriterOf(absl::string_view name);

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_BENCH_REWRITE_H_
