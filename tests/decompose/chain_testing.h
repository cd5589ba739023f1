// Helpers for tests of chains.
#ifndef TESTS_DECOMPOSE_CHAIN_TESTING_H_
#define TESTS_DECOMPOSE_CHAIN_TESTING_H_

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "graphnet/decompose/compose.h"
#include "graphnet/ir/sample.h"
#include "graphnet/ir/text/equality.h"
#include "graphnet/ir/text/parser.h"
#include "graphnet/ir/verifier.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"

namespace graphnet {

// Returns a sample named "net" with the module of the text, which must be valid.
inline Sample ParseFragment(absl::string_view text) {
  Sample sample;
  sample.name = "net";
  absl::StatusOr<std::unique_ptr<Module>> module = ParseModule(text, "test");
  EXPECT_OK(module);
  sample.module = module.ok() ? *std::move(module) : std::make_unique<Module>();
  EXPECT_OK(Verify(*sample.module));
  return sample;
}

// Expects that the pieces verify and compose to exactly `sample`.
inline void ExpectComposesTo(const std::vector<Sample>& pieces, const Sample& sample) {
  for (const Sample& piece : pieces) EXPECT_OK(Verify(*piece.module)) << piece.name;
  const absl::StatusOr<std::unique_ptr<Module>> composed =
      ComposeChain(pieces, sample.module.get());
  ASSERT_OK(composed);
  EXPECT_OK(Verify(**composed));
  EXPECT_OK(CheckEqual(*sample.module, **composed, kExact));
}

}  // namespace graphnet

#endif  // TESTS_DECOMPOSE_CHAIN_TESTING_H_
