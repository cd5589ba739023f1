// The built-in texts of the page.
#ifndef GRAPHNET_VIEW_PAGE_TEXT_H_
#define GRAPHNET_VIEW_PAGE_TEXT_H_

#include "absl/strings/string_view.h"

namespace graphnet {

// Return the files of this folder.
absl::string_view PageText();        // page.html
absl::string_view ScriptText();      // page.js
absl::string_view ValuesText();      // page_values.js, which follows it
absl::string_view ControlsText();    // page_controls.js, which is the last
absl::string_view PairPageText();    // pair_page.html
absl::string_view PairScriptText();  // pair_page.js

}  // namespace graphnet

#endif  // GRAPHNET_VIEW_PAGE_TEXT_H_
