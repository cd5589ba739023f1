// graphnet's own rewrites as backends: the interpreter runs the rewritten sample.
//
//   pass:stabilize+check-stable          passes, one after the other
//   pass:change-dtype{from=f32;to=bf16}  semicolons separate options, as commas separate backends
//   decompose:pieces=3                   cuts into pieces and puts them together again
#ifndef GRAPHNET_EVALUATE_BENCH_REWRITE_H_
#define GRAPHNET_EVALUATE_BENCH_REWRITE_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// Returns whether a backend of this name is a rewrite: "pass:…" or "decompose:…".
bool IsRewriteName(absl::string_view name);

// Rewrites a sample in place.
using Rewriter = std::function<absl::Status(Sample*)>;
// Returns the rewrite of that name. InvalidArgument if there is no such pass or scheme.
absl::StatusOr<Rewriter> RewriterOf(absl::string_view name);

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_BENCH_REWRITE_H_
