// A reference for people of how each call of PyTorch is written in Paddle, made from
// paddle_rules.txt.
#ifndef GRAPHNET_PADDLE_MAPPING_H_
#define GRAPHNET_PADDLE_MAPPING_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/paddle/rules.h"

namespace graphnet {

// Returns the name of a mapping class from 1 to 7: "direct", "composite", ….
absl::string_view MappingClassName(int mapping_class);

// A call and its form in Paddle, which has been run there: a line of paddle_examples.txt,
// "<name> | <graph in the text form> | <its calls in Paddle> ; …; return …". Views into the table.
struct PaddleExample {
  absl::string_view name;   // name of the rules
  absl::string_view graph;  // "graph @forward(%a : f32[3]) { %r = torch.abs(%a) return (%r,) }"
  std::vector<absl::string_view> converted;  // "%r = paddle.abs(x = %a)", "return (%r,)"
};
// Returns all examples, by name. Some names have none.
const std::vector<PaddleExample>& AllPaddleExamples();

// Returns the call of a row as the row writes it: "paddle.cast(x=self, dtype=dtype)".
std::string PaddleCallText(const PaddleTerm& call);

// Returns the whole page. Each name has a section with the signatures in PyTorch, the class and the
// call of each row, the correspondence of arguments, and examples.
std::string PaddleMappingPage();
// The rules of one name, and the spelling that they were found by.
struct FoundPaddleRules {
  absl::Span<const PaddleRule> rules;
  std::string spelling;  // "torch.Tensor.addmm_" for the rules of addmm; empty if it is their name
};
// Finds rules by the name of rules ("Tensor.size"), by a spelling that the tables of ops know
// ("torch.Tensor.addmm_", "torch.addmm"), or by the last component of names ("gelu"). Rules of one
// name come together; "" finds all. NotFound, with similar names, if there are none.
absl::StatusOr<std::vector<FoundPaddleRules>> FindPaddleRules(absl::string_view api);
// Returns the section of a name or a spelling.
std::string PaddleMappingSection(const FoundPaddleRules& found);

}  // namespace graphnet

#endif  // GRAPHNET_PADDLE_MAPPING_H_
