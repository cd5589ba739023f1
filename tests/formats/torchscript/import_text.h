// Imports TorchScript and shows it as text.
#ifndef TESTS_FORMATS_TORCHSCRIPT_IMPORT_TEXT_H_
#define TESTS_FORMATS_TORCHSCRIPT_IMPORT_TEXT_H_

#include <sstream>
#include <string>

#include "absl/status/statusor.h"
#include "graphnet/formats/torchscript/import_graph.h"
#include "graphnet/formats/torchscript/importer.h"
#include "graphnet/ir/sample.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/ir/verifier.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"
#include "torch/script.h"

namespace graphnet {

// Returns the module's text without locations, blank lines and attributes, which have
// their own test. The inputs of each graph are on one line.
inline std::string Text(const absl::StatusOr<Sample>& sample) {
  EXPECT_OK(sample);
  if (!sample.ok()) return "";
  EXPECT_OK(Verify(*sample->module));
  std::string out;
  bool in_inputs = false;
  std::istringstream lines(PrintModule(*sample->module, {.header = false, .locations = false}));
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.rfind("attribute ", 0) == 0) continue;
    if (in_inputs) line.erase(0, line.find_first_not_of(' '));
    if (line == ") {") out.pop_back();
    in_inputs = line.back() == '(' || (in_inputs && line != ") {");
    out += line;
    out += in_inputs ? (line.back() == '(' ? "" : " ") : "\n";
  }
  return out;
}

inline absl::StatusOr<Sample> Import(const torch::jit::Module& module) {
  return ImportTorchScriptMethod(module, "forward");
}

inline absl::StatusOr<Sample> Import(const std::string& source) {
  torch::jit::Module module("M");
  module.define(source);
  return Import(module);
}

}  // namespace graphnet

#endif  // TESTS_FORMATS_TORCHSCRIPT_IMPORT_TEXT_H_
