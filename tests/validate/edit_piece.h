// Damages a piece by changing its text.
#ifndef TESTS_VALIDATE_EDIT_PIECE_H_
#define TESTS_VALIDATE_EDIT_PIECE_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/text/printer.h"
#include "gtest/gtest.h"
#include "tests/decompose/chain_testing.h"

namespace graphnet {

// Replaces texts in a piece's text; the result must still verify.
inline void EditPiece(Sample* piece,
                      const std::vector<std::pair<absl::string_view, absl::string_view>>& changes) {
  std::string text = PrintModule(*piece->module);
  for (const auto& [from, to] : changes) {
    ASSERT_TRUE(absl::StrContains(text, from)) << from << "\n" << text;
    text = absl::StrReplaceAll(text, {{from, to}});
  }
  piece->module = ParseFragment(text).module;
}

}  // namespace graphnet

#endif  // TESTS_VALIDATE_EDIT_PIECE_H_
