// The text of a call that is not an operation of PIR, which one attribute holds:
// `torch.f(%a0, [1, 2], @r0)`. Operands and bodies are numbered.
#ifndef GRAPHNET_PADDLE_PIR_CALL_TEXT_H_
#define GRAPHNET_PADDLE_PIR_CALL_TEXT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/ir/graph.h"

namespace graphnet::pir {

struct CallText {
  std::string text;
  std::vector<const Node*> operands;  // without repeats
  std::vector<const Graph*> bodies;   // without repeats
};

// Prints a call, or an output node as "return (%a0,)".
CallText PrintCall(const Node& node);

// Makes the node that the text describes, at the insertion point of `graph`. InvalidArgument if the
// text is not a call, or uses other operands or bodies than these.
absl::StatusOr<Node*> ParseCall(absl::string_view text, absl::Span<Node* const> operands,
                                absl::Span<Graph* const> bodies, Graph* graph);

}  // namespace graphnet::pir

#endif  // GRAPHNET_PADDLE_PIR_CALL_TEXT_H_
