// Calls that are no operation of PIR, as text of one attribute: `torch.f(%a0, [1, 2], @r0)`, whose
// operands are numbered, and so its bodies.
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
  std::vector<const Node*> operands;  // each once
  std::vector<const Graph*> bodies;   // each once
};

// Of a call, or of what an output node returns: "return (%a0,)".
CallText PrintCall(const Node& node);

// The node that such a text is of, made at the insertion point of `graph`. InvalidArgument if it
// is none, or uses other operands or bodies than these.
absl::StatusOr<Node*> ParseCall(absl::string_view text, absl::Span<Node* const> operands,
                                absl::Span<Graph* const> bodies, Graph* graph);

}  // namespace graphnet::pir

#endif  // GRAPHNET_PADDLE_PIR_CALL_TEXT_H_
