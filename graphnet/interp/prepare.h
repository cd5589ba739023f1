// Makes a graph and its values ready to run.
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

// Options of PrepareRun.
struct PrepareOptions {
  c10::Device device = c10::Device(c10::kCPU);  // The device that the graph runs on.
  // Refuses the run (ResourceExhausted) if the planned peak of its tensors, inputs included,
  // exceeds this; see PeakBytes (shapes.h). Nodes after a shape that depends on data are not
  // counted. If absent, there is no limit and no plan.
  std::optional<int64_t> max_bytes;
  // Targets of inputs that stand for parameters of another program, with which this one is
  // compared. They require gradients, as lifted parameters do.
  absl::flat_hash_set<std::string> parameters;
  // See CompileOptions::records_gradients.
  bool records_gradients = false;
  // See CompileOptions::backend.
  BodyBackend backend = nullptr;
};

// A compiled graph and the values to run it on.
struct PreparedRun {
  std::unique_ptr<Executable> executable;  // Refers to the module.
  std::vector<c10::IValue> inputs;         // The inputs for Executable::Run.
  // The attributes that runs read, and write to if the graph does.
  std::map<std::string, at::Tensor> attributes;
};

// Compiles `module`, which must outlive the executable. `values` are those of inputs and attributes
// by name, as DrawInputs returns them. Fails with errors of Compile and of the functions in
// tensors.h, and with NotFound for an input without a value.
absl::StatusOr<PreparedRun> PrepareRun(const Module& module,
                                       std::map<std::string, TensorData> values,
                                       const PrepareOptions& options = {});

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_PREPARE_H_
