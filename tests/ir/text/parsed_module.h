// Modules for tests, made from text. A module is verified again when the test destroys it, so the
// changes of the test must leave a valid module.
#ifndef TESTS_IR_TEXT_PARSED_MODULE_H_
#define TESTS_IR_TEXT_PARSED_MODULE_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/text/parser.h"
#include "graphnet/ir/verifier.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"

namespace graphnet {

struct VerifyAndDelete {
  void operator()(Module* module) const {
    EXPECT_OK(Verify(*module));
    delete module;
  }
};
using ParsedModule = std::unique_ptr<Module, VerifyAndDelete>;

// Parses a module. A text that is wrong fails the test and yields an empty module.
inline ParsedModule Parse(absl::string_view text) {
  absl::StatusOr<std::unique_ptr<Module>> module = ParseModule(std::string(text), "test");
  EXPECT_OK(module) << text;
  return ParsedModule(module.ok() ? module->release() : new Module);
}

}  // namespace graphnet

#endif  // TESTS_IR_TEXT_PARSED_MODULE_H_
