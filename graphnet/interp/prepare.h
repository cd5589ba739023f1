// A graph and the values it is run on, made ready together.
//
//   ASSIGN_OR_RETURN(PreparedRun run, PrepareRun(*sample.module, values));
//   ASSIGN_OR_RETURN(const auto outputs, run.executable->Run(run.inputs));
#ifndef GRAPHNET_INTERP_PREPARE_H_
#define GRAPHNET_INTERP_PREPARE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ATen/core/ivalue.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "graphnet/interp/executable.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

struct PrepareOptions {
  c10::Device device = c10::Device(c10::kCPU);
  // The run is refused (ResourceExhausted) if the planned peak of its tensors,
  // inputs included, is above: see PeakBytes (shapes.h). What comes after a shape that depends on
  // data is not counted. Absent: no plan is made.
  std::optional<int64_t> max_bytes;
  // Inputs, by target, that stand for parameters of another program that this one is compared
  // with: they ask for gradients, as lifted ones do.
  absl::flat_hash_set<std::string> parameters;
  // CompileOptions::records_gradients.
  bool records_gradients = false;
};

struct PreparedRun {
  std::unique_ptr<Executable> executable;
  std::vector<c10::IValue> inputs;               // of Executable::Run
  std::map<std::string, at::Tensor> attributes;  // that runs read, and write where the graph does
};

// `values`: of inputs and attributes by name, as DrawInputs yields them. `module`
// must outlive the executable. Errors of Compile, of tensors.h, and NotFound for
// an input without a value.
absl::StatusOr<PreparedRun> PrepareRun(const Module& module,
                                       std::map<std::string, TensorData> values,
                                       const PrepareOptions& options = {});

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_PREPARE_H_
