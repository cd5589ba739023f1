// Every public header opens with an example, and examples compile.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ATen/core/Tensor.h"
#include "graphnet/base/report.h"
#include "graphnet/base/status.h"
#include "graphnet/cli/call.h"
#include "graphnet/graphnet.h"
#include "graphnet/graphnet_torch.h"
#include "graphnet/paddle/formats.h"
#include "torch/script.h"

namespace graphnet {
namespace {

// A module that is a pointer in some examples and a reference in others.
struct ModuleOfExamples : std::unique_ptr<Module> {
  using unique_ptr::unique_ptr;
  using unique_ptr::operator=;
  operator const Module&() const { return **this; }  // NOLINT(google-explicit-constructor)
};

// Examples use these variables.
Sample sample, original, a, b;
std::vector<Sample> pieces;
ModuleOfExamples module;
Graph* graph = nullptr;
std::vector<Node*> nodes;
Node *node = nullptr, *operand = nullptr;
std::string text;
std::map<std::string, TensorData> values;
DecomposeConfig config;
Decomposition made;
ValidationReport report;
std::vector<c10::IValue> inputs;
at::Tensor x, image;

#include "tests/headers/examples.inc"

TEST(PublicHeadersTest, EachOpensWithAnExample) {
  std::ifstream page("docs/library.md");
  ASSERT_TRUE(page.good());
  int count = 0;
  for (std::string line; std::getline(page, line);) {
    constexpr char kBegin[] = "| `graphnet/";
    if (line.rfind(kBegin, 0) != 0) continue;
    std::string name = line.substr(sizeof kBegin - 1);
    name.resize(name.find('`'));
    for (char& c : name) {
      if (c == '/' || c == '.') c = '_';
    }
    EXPECT_EQ(std::count(std::begin(kExamples), std::end(kExamples), name), 1) << line;
    ++count;
  }
  EXPECT_EQ(count, std::end(kExamples) - std::begin(kExamples));
}

}  // namespace
}  // namespace graphnet
