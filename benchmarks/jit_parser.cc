#include "benchmarks/jit_parser.h"

#include <exception>
#include <memory>

#include "torch/csrc/jit/frontend/parser.h"
#include "torch/csrc/jit/frontend/source_range.h"

namespace graphnet {

bool ParseWithLibTorch(const std::string& model_py) {
  // The parser does not know imports.
  const size_t begin = model_py.find("class ");
  if (begin == std::string::npos) return false;
  try {
    torch::jit::Parser parser(std::make_shared<torch::jit::Source>(model_py.substr(begin)));
    return parser.parseClass() != nullptr;
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace graphnet
