// Executable: a graph made ready to run through ATen's dispatcher.
//
//   ASSIGN_OR_RETURN(auto executable, Compile(*sample.module));
//   ASSIGN_OR_RETURN(std::vector<c10::IValue> outputs, executable->Run(inputs));
//
// Operators, overloads, constant arguments and the last use of every value are
// resolved once. Only ATen operators from a closed set run: none that reads or
// writes files, processes or the network (docs/execution.md).
#ifndef GRAPHNET_INTERP_EXECUTABLE_H_
#define GRAPHNET_INTERP_EXECUTABLE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ATen/core/ivalue.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"

namespace graphnet {

// Turns of all loops together in a run on the meta device.
inline constexpr int64_t kMaxIterationsForShapes = 100'000;

struct CompileOptions {
  // Takes the place of every device in the graph that is not the CPU; the meta
  // device of all: then only shapes and dtypes are computed.
  c10::Device device = c10::Device(c10::kCPU);
  // Records what gradients need though the graph does not ask for them: it is a part of a
  // program that does.
  bool records_gradients = false;
  // Values of attributes, which get_attr nodes yield.
  std::map<std::string, at::Tensor> attributes;
};

// Called after each node of the graph (not of its nested graphs) with its value.
// An error ends the run and is returned by it.
using Observer = std::function<absl::Status(const Node& node, const c10::IValue& value)>;

// In a run on the meta device: what is known otherwise of the value of a node that cannot be
// computed, such as a tensor of the sizes that its meta names; nullopt: nothing.
using Recover = std::function<std::optional<c10::IValue>(const Node& node)>;

// A run on the meta device goes on without a value that is not known and that `recover` does not
// know either. It ends with FailedPrecondition then, which names the first such node.
struct RunOptions {
  // Seeds PyTorch's default generator of the device before the first operator, as
  // torch.manual_seed does; not touched when absent.
  std::optional<uint64_t> seed;
  Observer observer;
  Recover recover;  // of nodes of the graph, not of its nested graphs
  // Whether a value is not known either where the call that makes it fails, as calls may in a
  // graph that holds for some sizes only.
  bool recover_errors = false;
  // Unless null, becomes true where a run on the meta device computes a number, or a size, from
  // the data of a tensor.
  bool* reads_data = nullptr;
};

class Executable {
 public:
  virtual ~Executable() = default;
  // `inputs`: one a placeholder of the main graph, in order: tensors, or numbers
  // for SymInts. They are modified where the graph writes to them. The outputs
  // are what the output node returns, flattened in order: tensors, numbers and
  // None. Nothing is recorded for gradients, as under torch.no_grad, and what is
  // returned may take part in what is; a graph that asks for gradients records what it runs. Errors name the node and its line. An observer
  // may run other executables.
  // NOLINTNEXTLINE(google-default-arguments): overrides give none.
  virtual absl::StatusOr<std::vector<c10::IValue>> Run(std::vector<c10::IValue> inputs,
                                                       const RunOptions& options = {}) = 0;
  // Operators and calls that a run takes, nested graphs not counted.
  virtual size_t num_instructions() const = 0;
};

// `module` must outlive the executable. Not thread-safe: one run at a time.
absl::StatusOr<std::unique_ptr<Executable>> Compile(const Module& module,
                                                    const CompileOptions& options = {});

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_EXECUTABLE_H_
