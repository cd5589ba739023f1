// Runs graphs that tests write as text.
#ifndef TESTS_INTERP_RUN_TEXT_H_
#define TESTS_INTERP_RUN_TEXT_H_

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "ATen/ATen.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/interp/executable.h"
#include "tests/ir/text/parsed_module.h"

namespace graphnet {

inline absl::StatusOr<std::vector<c10::IValue>> RunText(absl::string_view text,
                                                        std::vector<c10::IValue> inputs,
                                                        const RunOptions& options = {}) {
  const auto module = Parse(text);
  auto executable = Compile(*module);
  if (!executable.ok()) return executable.status();
  return (*executable)->Run(std::move(inputs), options);
}

inline at::Tensor Only(const absl::StatusOr<std::vector<c10::IValue>>& outputs) {
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return outputs.ok() && outputs->size() == 1 ? outputs->at(0).toTensor() : at::Tensor();
}

}  // namespace graphnet

#endif  // TESTS_INTERP_RUN_TEXT_H_
