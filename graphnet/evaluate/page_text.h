// The built-in texts of the report page.
#ifndef GRAPHNET_EVALUATE_PAGE_TEXT_H_
#define GRAPHNET_EVALUATE_PAGE_TEXT_H_

#include "absl/strings/string_view.h"

namespace graphnet {

// Return the files of this folder.
absl::string_view ReportPageText();    // page.html
absl::string_view ReportScriptText();  // page.js

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_PAGE_TEXT_H_
