// Executable: a graph made ready to run through ATen's dispatcher.
//
//   ASSIGN_OR_RETURN(auto executable, Compile(*sample.module));
//   ASSIGN_OR_RETURN(std::vector<c10::IValue> outputs, executable->Run(inputs));
//
// Operators, overloads, constant arguments and the last use of every value are
// resolved once. Only ATen operators from a closed set run: no operator reads or
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

// Iterations of all loops together that a run on the meta device may take.
inline constexpr int64_t kMaxIterationsForShapes = 100'000;

// Runs a body in place of the interpreter. `inputs` has a value for each of its placeholders, in order.
// Returns the values that the body returns, in order. An error ends the run, which returns it with the
// node of the call.
using BodyRunner =
    std::function<absl::StatusOr<std::vector<c10::IValue>>(absl::Span<const c10::IValue> inputs)>;
// Returns the runner of a body, such as what a compiler made of it, or null if the interpreter is to
// run it. An error is returned by Compile.
using BodyBackend = std::function<absl::StatusOr<BodyRunner>(const Graph& body)>;

// Options of Compile.
struct CompileOptions {
  // Replaces every device in the graph other than the CPU. The meta device replaces all devices,
  // and only shapes and dtypes are computed.
  c10::Device device = c10::Device(c10::kCPU);
  // Records for gradients although the graph does not ask for gradients. For a graph that is part
  // of a program that does.
  bool records_gradients = false;
  // Values of attributes by name, for get_attr nodes.
  std::map<std::string, at::Tensor> attributes;
  // Called once for the body of each call of torch.ops.higher_order.wrap, which is what Outline makes
  // of a group of nodes (ir/outline.h); may be empty. Not used for runs on the meta device.
  BodyBackend backend;
};

// Called after each node of the graph (not of its nested graphs) with its value. An error ends the
// run, which returns it.
using Observer = std::function<absl::Status(const Node& node, const c10::IValue& value)>;

// Called in a run on the meta device for a node whose value cannot be computed. Returns a value
// that is known by other means, such as a tensor of the sizes in the node's meta; nullopt if
// nothing is known.
using Recover = std::function<std::optional<c10::IValue>(const Node& node)>;

// Options of Executable::Run. A run on the meta device continues without a value that is unknown
// and that `recover` does not know either; at its end it returns FailedPrecondition, which names
// the first such node.
struct RunOptions {
  // Seeds PyTorch's default generator before the first operator, as torch.manual_seed does. If
  // absent, the generator is left as it is.
  std::optional<uint64_t> seed;
  Observer observer;  // Sees the value of each node; may be empty.
  Recover recover;    // Called for nodes of the graph, not of its nested graphs; may be empty.
  // True if a value counts as unknown when the call that makes it fails, as calls may in a graph
  // that is valid for some sizes only.
  bool recover_errors = false;
  // Unless null, becomes true if a run on the meta device computes a number or a size from the
  // data of a tensor.
  bool* reads_data = nullptr;
};

// A compiled graph. Not thread-safe: one run at a time.
class Executable {
 public:
  virtual ~Executable() = default;
  // Runs the main graph. `inputs` has one value for each placeholder, in order: a tensor, or a
  // number for a SymInt. The graph may write to them in place. Returns the values of the output
  // node, flattened in order: tensors, numbers and None. Nothing is recorded for gradients, as
  // under torch.no_grad, but the results may be used where gradients are recorded; a graph that
  // asks for gradients records the calls that it runs. Errors name the node and its line. An
  // observer may run other executables.
  // NOLINTNEXTLINE(google-default-arguments): overrides give none.
  virtual absl::StatusOr<std::vector<c10::IValue>> Run(std::vector<c10::IValue> inputs,
                                                       const RunOptions& options = {}) = 0;
  // Returns the number of operators and calls in a run, without those of nested graphs.
  virtual size_t num_instructions() const = 0;
};

// Compiles the main graph of `module`, which must outlive the executable. Fails if the graph has a
// call that the interpreter does not know or may not run; errors name the node.
absl::StatusOr<std::unique_ptr<Executable>> Compile(const Module& module,
                                                    const CompileOptions& options = {});

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_EXECUTABLE_H_
