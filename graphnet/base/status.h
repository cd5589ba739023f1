// Status helpers in the shape of newer Abseil: the macros RETURN_IF_ERROR and
// ASSIGN_OR_RETURN, and errors that carry a position in the offending input.
//
//   ASSIGN_OR_RETURN(const Sample sample, Load("model.gn"));
//   RETURN_IF_ERROR(Annotate(Save(sample, "model.pb"), "while it is copied"));
//
// Debian's Abseil (20220623) has none of these. Delete those that a newer Abseil has.
#ifndef GRAPHNET_BASE_STATUS_H_
#define GRAPHNET_BASE_STATUS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace graphnet {

// The place in an input that an error is about.
struct ErrorPlace {
  std::string file;   // as in the message
  size_t line = 0;    // from 1; 0: unknown
  size_t column = 0;  // from 1, in bytes; 0: unknown
};
// Returns no place if the status is OK or its error names none.
std::optional<ErrorPlace> PlaceOf(const absl::Status& status);
// Records the place of an error for PlaceOf, and leaves the message unchanged. Does nothing to an
// OK status.
void SetPlace(const ErrorPlace& place, absl::Status* status);

// Returns `InvalidArgument("<file>:<line>:<column>: <message>")`, with that place. A column of 0 or
// a line of 0 is left out. File name and message are escaped so that the result is always one clean
// line.
absl::Status ErrorAt(absl::string_view file, size_t line, size_t column, absl::string_view message);

// Prefixes the message of a non-OK status with "<context>: ", and keeps its place.
absl::Status Annotate(const absl::Status& status, absl::string_view context);

// Renders untrusted bytes for a message, as one line: bytes that are not UTF-8
// and characters that control a terminal or the direction of writing are
// escaped, and what follows the first `max_bytes` is cut with "...".
std::string Printable(absl::string_view text, size_t max_bytes = 200);

}  // namespace graphnet

#define GRAPHNET_CONCAT_INNER_(a, b) a##b
#define GRAPHNET_CONCAT_(a, b) GRAPHNET_CONCAT_INNER_(a, b)

// Returns from the enclosing function if `expr` is not OK.
#define RETURN_IF_ERROR(expr)                                                                 \
  do {                                                                                        \
    if (absl::Status graphnet_status = (expr); !graphnet_status.ok()) return graphnet_status; \
  } while (false)

// Evaluates `expr` (a StatusOr), returns its status if not OK, else assigns the
// value to `lhs`, which may be a declaration.
#define ASSIGN_OR_RETURN(lhs, expr) \
  GRAPHNET_ASSIGN_OR_RETURN_(GRAPHNET_CONCAT_(graphnet_or_, __LINE__), lhs, expr)
// NOLINTBEGIN(bugprone-macro-parentheses): a declaration takes none.
#define GRAPHNET_ASSIGN_OR_RETURN_(tmp, lhs, expr) \
  auto tmp = (expr);                               \
  if (!tmp.ok()) return std::move(tmp).status();   \
  lhs = *std::move(tmp)
// NOLINTEND(bugprone-macro-parentheses)

#endif  // GRAPHNET_BASE_STATUS_H_
