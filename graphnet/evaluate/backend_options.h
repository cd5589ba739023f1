// Backends with options: inductor{mode=max-autotune;dynamic=true}. Semicolons separate options, as
// commas separate backends.
#ifndef GRAPHNET_EVALUATE_BACKEND_OPTIONS_H_
#define GRAPHNET_EVALUATE_BACKEND_OPTIONS_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/evaluate/backend_table.h"

namespace graphnet {

// Returns the row of the backend that the text names, with the options that it has in braces. `text`
// must outlive the row, whose label it is. InvalidArgument if there is no such backend or option, if
// the backend does not take the value, or if an option is given twice.
absl::StatusOr<Backend> BackendOfText(absl::string_view text);

// Returns "mode=max-autotune;dynamic=true"; empty without options.
std::string OptionsText(const Backend& backend);

// Returns what an option takes: "default|max-autotune", or "a whole number from 1 on".
std::string ValuesText(const BackendOption& option);

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_BACKEND_OPTIONS_H_
