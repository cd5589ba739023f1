// Internal: the text of results.txt, which is built in.
#ifndef GRAPHNET_FACTS_SHAPES_RESULT_TEXT_H_
#define GRAPHNET_FACTS_SHAPES_RESULT_TEXT_H_

#include "absl/strings/string_view.h"

namespace graphnet {

absl::string_view ResultText();

}  // namespace graphnet

#endif  // GRAPHNET_FACTS_SHAPES_RESULT_TEXT_H_
