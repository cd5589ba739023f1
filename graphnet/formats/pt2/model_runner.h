// ModelRunner loads a program once and runs it from any number of threads:
//
//   ASSIGN_OR_RETURN(Sample sample, Load("model.pt2", {.weights = true}));
//   ASSIGN_OR_RETURN(const auto model, ModelRunner::Make(std::move(sample)));
//   ASSIGN_OR_RETURN(c10::IValue result, model->Call({image}, {{"scale", 2.0}}));
#ifndef GRAPHNET_FORMATS_PT2_MODEL_RUNNER_H_
#define GRAPHNET_FORMATS_PT2_MODEL_RUNNER_H_

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ATen/core/ivalue.h"
#include "absl/status/statusor.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// A program that is ready to run. All functions may be called from any number of threads.
class ModelRunner {
 public:
  // Compiles a program, and takes the values of attributes from `sample`. Calls that change nothing,
  // such as dropouts outside of training, and calls that depend on weights alone do not run again in
  // each call; no bit of a result changes. Returns the errors of Compile (executable.h).
  static absl::StatusOr<std::unique_ptr<ModelRunner>> Make(
      Sample sample, c10::Device device = c10::Device(c10::kCPU));
  virtual ~ModelRunner() = default;

  // Calls the program as Python calls the module. The result is a tensor, or a list, tuple or dict
  // of results, as the module returns it. A program of torch.export takes the lists, tuples and
  // dicts with which it was exported; any other program takes one argument for each placeholder.
  // InvalidArgument if the arguments do not fit: their structure, and for a program of torch.export
  // their dtypes, sizes and guards (formats/pt2/input_check.h).
  virtual absl::StatusOr<c10::IValue> Call(std::vector<c10::IValue> args,
                                           const std::map<std::string, c10::IValue>& kwargs) = 0;
  // Calls the program without keyword arguments.
  absl::StatusOr<c10::IValue> Call(std::vector<c10::IValue> args) {
    return Call(std::move(args), {});
  }

  // Like Call, but takes one value for each name of inputs(), and returns the outputs in order.
  virtual absl::StatusOr<std::vector<c10::IValue>> Run(std::vector<c10::IValue> inputs) = 0;
  // Returns the names of the values that Run takes, in order.
  virtual const std::vector<std::string>& inputs() const = 0;

  // Returns the parameters and buffers by name, with the values that runs have left.
  virtual absl::StatusOr<std::map<std::string, TensorData>> State() = 0;

  // True if runs write to the state. Such runs take place one after the other; all others need no
  // lock.
  virtual bool writes_state() const = 0;
};

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_PT2_MODEL_RUNNER_H_
