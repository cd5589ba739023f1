// The documentation of passes, read from their headers, which are built into the library.
//
// The block of comments above the function of a pass reads, parts in this order:
//
//   One sentence that sums it up.
//
//   Tier: core                               (or experimental; without, it is supported)
//
//   Applicable in scenarios where …
//
//   When applied, this pass will …
//
//   Options:                                 (when it has some)
//   - name: what it means
//
//   Performance impact: …
//
//   Risks and limitations: …
//
//   Example: what it shows                   (one or more; those of graphnet show two)
//     option=value,other=value               (optional)
//     graph … in the text form
//     becomes
//     graph …
//
//   Counter-example: why nothing changes     (one or more)
//     graph …
//     refused: part of the message           (when it is an error)
//
// Further text, such as "Returns …", is for the reader of the header.
#ifndef GRAPHNET_PASSES_DOCUMENTATION_H_
#define GRAPHNET_PASSES_DOCUMENTATION_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/base/tier.h"
#include "graphnet/passes/pass.h"

namespace graphnet {

struct PassExample {
  bool is_counter_example = false;
  std::string title;
  std::string options;  // as in a pipeline, without the braces
  std::string before;   // text form
  std::string after;    // equals `before` in a counter-example
  std::string refused;  // part of the expected error; empty if there is none
};

struct PassDocumentation {
  Tier tier = Tier::kSupported;
  std::string summary;   // "Erases computations of unused values."
  std::string scenario;  // "Applicable in scenarios where …"
  std::string change;    // "When applied, this pass will …"
  std::string options;   // a list in Markdown, or empty
  std::string performance;
  std::string risks;
  std::vector<PassExample> examples;
};

// A header of this folder, built in.
struct HeaderText {
  absl::string_view name;  // "dead_code.h"
  absl::string_view text;
};
absl::Span<const HeaderText> HeaderTexts();

// Parses the text of a header. InvalidArgument names the missing or wrong part.
absl::StatusOr<PassDocumentation> ParsePassDocumentation(absl::string_view header);
// Returns the documentation of a pass. NotFound if its header is not built in.
absl::StatusOr<PassDocumentation> DocumentationOf(const Pass& pass);

// Returns a pass's section in Markdown, as in docs/passes.md and `graphnet passes NAME`.
std::string PassSection(const Pass& pass, const PassDocumentation& documentation);
// Returns the whole of docs/passes.md.
std::string PassesPage();

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_DOCUMENTATION_H_
