// A program, loaded once and run from any number of threads:
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

class ModelRunner {
 public:
  // Takes the values of attributes from `sample`. Errors of Compile (executable.h).
  static absl::StatusOr<std::unique_ptr<ModelRunner>> Make(
      Sample sample, c10::Device device = c10::Device(c10::kCPU));
  virtual ~ModelRunner() = default;

  // As Python calls the module: the result is a tensor, or a list, tuple or dict of such as it
  // returns. Of a program of torch.export the arguments are lists, tuples and dicts as it was
  // exported with; of others, one a placeholder. InvalidArgument for arguments that do not fit:
  // their structure, and for a program of torch.export what it was exported for
  // (formats/pt2/input_check.h).
  virtual absl::StatusOr<c10::IValue> Call(std::vector<c10::IValue> args,
                                           const std::map<std::string, c10::IValue>& kwargs) = 0;
  absl::StatusOr<c10::IValue> Call(std::vector<c10::IValue> args) {
    return Call(std::move(args), {});
  }

  // Ditto, flat: one value for each of `inputs()`; outputs in order.
  virtual absl::StatusOr<std::vector<c10::IValue>> Run(std::vector<c10::IValue> inputs) = 0;
  virtual const std::vector<std::string>& inputs() const = 0;

  // Parameters and buffers by name, as runs have left them.
  virtual absl::StatusOr<std::map<std::string, TensorData>> State() = 0;

  // Whether runs write to the state. They then take place one after the other; else there is no
  // lock around them.
  virtual bool writes_state() const = 0;
};

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_PT2_MODEL_RUNNER_H_
