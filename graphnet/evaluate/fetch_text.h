// The built-in script that fetches files for a cache behind a URL.
#ifndef GRAPHNET_EVALUATE_FETCH_TEXT_H_
#define GRAPHNET_EVALUATE_FETCH_TEXT_H_

#include "absl/strings/string_view.h"

namespace graphnet {

// Returns the text of workers/fetch.py.
absl::string_view FetchPy();

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_FETCH_TEXT_H_
