// GoogleMock matchers for absl::Status and absl::StatusOr, under the names that
// newer Abseil gives them (absl/status/status_matchers.h).
#ifndef TESTS_BASE_STATUS_MATCHERS_H_
#define TESTS_BASE_STATUS_MATCHERS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"

namespace graphnet {

inline const absl::Status& StatusOf(const absl::Status& status) { return status; }
template <typename T>
const absl::Status& StatusOf(const absl::StatusOr<T>& status_or) {
  return status_or.status();
}

MATCHER(IsOk, negation ? "is not OK" : "is OK") {
  *result_listener << StatusOf(arg);
  return arg.ok();
}

// `message` is a string or a matcher of one.
MATCHER_P2(StatusIs, code, message,
           "has code " + absl::StatusCodeToString(code) + " and a message that " +
               testing::DescribeMatcher<std::string>(message, negation)) {
  *result_listener << StatusOf(arg);
  return StatusOf(arg).code() == code &&
         testing::Matches(message)(std::string(StatusOf(arg).message()));
}
inline auto StatusIs(absl::StatusCode code) { return StatusIs(code, testing::_); }

MATCHER_P(IsOkAndHolds, value,
          "is OK and its value " +
              testing::PrintToString(
                  testing::DescribeMatcher<typename std::decay_t<arg_type>::value_type>(value))) {
  if (!arg.ok()) {
    *result_listener << arg.status();
    return false;
  }
  return testing::ExplainMatchResult(value, *arg, result_listener);
}

}  // namespace graphnet

#define ASSERT_OK(expr) ASSERT_THAT(expr, ::graphnet::IsOk())
#define EXPECT_OK(expr) EXPECT_THAT(expr, ::graphnet::IsOk())

#endif  // TESTS_BASE_STATUS_MATCHERS_H_
