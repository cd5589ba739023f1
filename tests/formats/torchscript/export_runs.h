// Exports programs from TorchScript or the text form to a module in memory, and saves
// and loads it. All three must compute the same.
#ifndef TESTS_FORMATS_TORCHSCRIPT_EXPORT_RUNS_H_
#define TESTS_FORMATS_TORCHSCRIPT_EXPORT_RUNS_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "graphnet/formats/torchscript/archive_check.h"
#include "graphnet/formats/torchscript/exporter.h"
#include "graphnet/formats/torchscript/exporter_module.h"
#include "graphnet/formats/torchscript/import_graph.h"
#include "graphnet/formats/torchscript/importer.h"
#include "graphnet/ir/canonical_hash.h"
#include "graphnet/ir/sample.h"
#include "graphnet/ir/text/parser.h"
#include "graphnet/ir/text/printer.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"
#include "torch/script.h"

namespace graphnet {

// Returns whether types and values are equal; tensors and floats to the bit.
inline bool Same(const c10::IValue& a, const c10::IValue& b) {
  if (a.isTensor() && b.isTensor()) {
    const torch::Tensor x = a.toTensor().detach().contiguous();
    const torch::Tensor y = b.toTensor().detach().contiguous();
    return x.scalar_type() == y.scalar_type() && x.sizes() == y.sizes() &&
           std::memcmp(x.const_data_ptr(), y.const_data_ptr(), x.nbytes()) == 0;
  }
  if (a.isDouble() && b.isDouble()) {
    const double x = a.toDouble(), y = b.toDouble();
    return std::memcmp(&x, &y, sizeof x) == 0;
  }
  std::vector<c10::IValue> x, y;
  if (a.isTuple() && b.isTuple()) {
    x = a.toTupleRef().elements().vec();
    y = b.toTupleRef().elements().vec();
  } else if (a.isList() && b.isList()) {
    x = a.toListRef().vec();
    y = b.toListRef().vec();
  } else if (a.isGenericDict() && b.isGenericDict()) {
    for (const auto& entry : a.toGenericDict()) x.insert(x.end(), {entry.key(), entry.value()});
    for (const auto& entry : b.toGenericDict()) y.insert(y.end(), {entry.key(), entry.value()});
  } else {
    return a == b;
  }
  if (x.size() != y.size()) return false;
  for (size_t i = 0; i < x.size(); ++i) {
    if (!Same(x[i], y[i])) return false;
  }
  return true;
}

inline c10::IValue Tuple(std::vector<c10::IValue> elements) {
  return c10::ivalue::Tuple::create(std::move(elements));
}

inline torch::jit::Module Saved(const Sample& sample) {
  const absl::StatusOr<std::string> bytes = ExportTorchScriptToString(sample);
  EXPECT_OK(bytes);
  if (!bytes.ok()) return torch::jit::Module("None");
  EXPECT_OK(CheckTorchScriptArchive(*bytes, "test.pt"));
  std::istringstream in(*bytes);
  return torch::jit::load(in);
}

inline std::string Text(const Sample& sample) {
  return PrintModule(*sample.module, {.header = false, .locations = false});
}

// Returns a program's result and its inputs afterwards; "raises …" if it raises.
inline c10::IValue Run(torch::jit::Module module, const torch::jit::Stack& inputs) {
  torch::jit::Stack copy;
  for (const c10::IValue& input : inputs) copy.push_back(input.deepcopy());
  const torch::jit::Stack given = copy;
  try {
    const c10::IValue result = module.forward(copy);
    torch::jit::Stack all = {result};
    all.insert(all.end(), given.begin(), given.end());
    return Tuple(std::move(all));
  } catch (const std::exception& e) {
    const std::string what = e.what();
    const size_t at = what.find("RuntimeError: ");
    return absl::StrCat("raises ", at == std::string::npos ? "" : what.substr(at));
  }
}

// Runs `module` and its exported forms on each of the inputs, in turn.
inline void CheckSameResults(const torch::jit::Module& module,
                             const std::vector<torch::jit::Stack>& runs) {
  const absl::StatusOr<Sample> sample = ImportTorchScriptMethod(module, "forward");
  ASSERT_OK(sample);
  const absl::StatusOr<torch::jit::Module> exported = MakeTorchScriptModule(*sample);
  ASSERT_OK(exported) << Text(*sample);
  const torch::jit::Module saved = Saved(*sample);
  for (const torch::jit::Stack& inputs : runs) {
    const c10::IValue expected = Run(module, inputs);
    const c10::IValue from_memory = Run(*exported, inputs);
    const c10::IValue from_file = Run(saved, inputs);
    EXPECT_TRUE(Same(expected, from_memory)) << expected << "\n" << from_memory << Text(*sample);
    EXPECT_TRUE(Same(expected, from_file)) << expected << "\n" << from_file << Text(*sample);
  }
}

// Checks that the graph comes back unchanged.
inline void CheckSameGraph(const torch::jit::Module& module) {
  const absl::StatusOr<Sample> sample = ImportTorchScriptMethod(module, "forward");
  ASSERT_OK(sample);
  const absl::StatusOr<Sample> again = ImportTorchScriptMethod(Saved(*sample), "forward");
  ASSERT_OK(again);
  EXPECT_EQ(CanonicalHash(*sample->module), CanonicalHash(*again->module))
      << Text(*sample) << Text(*again);
}

// Like CheckSameResults, and the graph comes back unchanged.
inline void CheckRoundTrip(const torch::jit::Module& module,
                           const std::vector<torch::jit::Stack>& runs) {
  CheckSameResults(module, runs);
  CheckSameGraph(module);
}

inline torch::jit::Module Compile(const std::string& source) {
  torch::jit::Module module("M");
  module.define(source);
  return module;
}

inline Sample Parse(const std::string& text) {
  absl::StatusOr<Sample> sample = ParseSample(text, "test.gn");
  EXPECT_OK(sample);
  return sample.ok() ? *std::move(sample) : Sample{.module = std::make_unique<Module>()};
}

// Returns the result of the text's program, in memory and from a file.
inline c10::IValue RunText(const std::string& text, const torch::jit::Stack& inputs) {
  const Sample sample = Parse(text);
  const absl::StatusOr<torch::jit::Module> exported = MakeTorchScriptModule(sample);
  EXPECT_OK(exported);
  if (!exported.ok()) return c10::IValue();
  const c10::IValue result = Run(*exported, inputs);
  const c10::IValue from_file = Run(Saved(sample), inputs);
  EXPECT_TRUE(Same(result, from_file)) << result << "\n" << from_file;
  return result.isTuple() ? result.toTupleRef().elements()[0] : result;
}

inline absl::Status ErrorOf(const std::string& text) {
  return MakeTorchScriptModule(Parse(text)).status();
}

inline torch::Tensor Range(const std::vector<int64_t>& shape) {
  int64_t size = 1;
  for (const int64_t n : shape) size *= n;
  return torch::arange(size, torch::kFloat).reshape(shape) / 3 - 1;
}

}  // namespace graphnet

#endif  // TESTS_FORMATS_TORCHSCRIPT_EXPORT_RUNS_H_
