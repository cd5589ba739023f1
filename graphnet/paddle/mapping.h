// What each call of PyTorch is in Paddle, for people to read: written from paddle_rules.txt.
#ifndef GRAPHNET_PADDLE_MAPPING_H_
#define GRAPHNET_PADDLE_MAPPING_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/paddle/rules.h"

namespace graphnet {

// "direct", "composite", …, of classes 1 to 7.
absl::string_view MappingClassName(int mapping_class);

// A call and what it is in Paddle, which has been run there: a line of paddle_examples.txt,
// "<name> | <graph in the text form> | <its calls in Paddle> ; …; return …". Views into the table.
struct PaddleExample {
  absl::string_view name;   // of rules
  absl::string_view graph;  // "graph @forward(%a : f32[3]) { %r = torch.abs(%a) return (%r,) }"
  std::vector<absl::string_view> converted;  // "%r = paddle.abs(x = %a)", "return (%r,)"
};
// By name; rows of names that no example has been found for are without.
const std::vector<PaddleExample>& AllPaddleExamples();

// "paddle.cast(x=self, dtype=dtype)", as a row has it.
std::string PaddleCallText(const PaddleTerm& call);

// The page: a section a name, with the signatures that PyTorch has, the class and the call of
// each row, which argument is which, and examples.
std::string PaddleMappingPage();
// The rules of a call, and how it is spelled where that is not the name of the rules.
struct FoundPaddleRules {
  absl::Span<const PaddleRule> rules;
  std::string spelling;  // "torch.Tensor.addmm_" for the rules of addmm; empty: their name
};
// The rules of one call, those of a name together: of the name itself, as in "Tensor.size", of what
// the tables of ops say that a spelling is, as in "torch.Tensor.addmm_" or "torch.addmm", or of all
// names that end as it does, as in "gelu"; of all calls for "". NotFound, with names that are near,
// if there is none.
absl::StatusOr<std::vector<FoundPaddleRules>> FindPaddleRules(absl::string_view api);
// The section of a name, or of a spelling.
std::string PaddleMappingSection(const FoundPaddleRules& found);

}  // namespace graphnet

#endif  // GRAPHNET_PADDLE_MAPPING_H_
