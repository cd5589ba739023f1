// The script that fetches files for a cache behind a URL, which is built into the program.
#ifndef GRAPHNET_EVALUATE_FETCH_TEXT_H_
#define GRAPHNET_EVALUATE_FETCH_TEXT_H_

#include "absl/strings/string_view.h"

namespace graphnet {

absl::string_view FetchPy();

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_FETCH_TEXT_H_
