// Runs a captured program: its subgraphs, and the operations between them.
#ifndef GRAPHNET_EXTRACT_STITCHED_H_
#define GRAPHNET_EXTRACT_STITCHED_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ATen/core/ivalue.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graphnet/extract/manifest.h"
#include "graphnet/interp/executable.h"
#include "graphnet/ir/module.h"

namespace graphnet {
namespace extract {
class TensorTable;
}

// Attributes of modules that a program assigns.
class AttributeStore {
 public:
  virtual ~AttributeStore() = default;
  // May throw c10::Error.
  virtual c10::IValue Get(const std::string& path, const std::string& name) = 0;
  virtual void Set(const std::string& path, const std::string& name, c10::IValue value) = 0;
};

// Returns the leaves of a result, in order: tensors, numbers, None.
std::vector<c10::IValue> FlattenResult(const c10::IValue& value);

class StitchedProgram {
 public:
  struct Subgraph {
    const Module* module;  // must outlive the program
    std::map<std::string, at::Tensor> attributes;
    std::shared_ptr<Executable> executable = nullptr;  // null: the interpreter runs the module
  };
  struct RunOptions {
    std::function<void(const std::string&)> print;  // default: standard output
    bool custom_operators = false;                  // CaptureOptions::custom_operators
    Observer observer;                              // of the nodes of the subgraphs
  };

  // Prepares a program. `constants` and `objects` are those that the manifest numbers. Without
  // `store`, the program keeps its state itself from one run to the next. Fails with errors of
  // Compile, and with FailedPrecondition if an object is missing.
  static absl::StatusOr<std::unique_ptr<StitchedProgram>> Make(
      StitchManifest manifest, std::vector<Subgraph> subgraphs,
      std::map<int64_t, at::Tensor> constants, std::map<int64_t, c10::IValue> objects = {},
      std::unique_ptr<AttributeStore> store = nullptr);

  ~StitchedProgram();

  // Returns the result on `inputs`. FailedPrecondition, with the guard that failed, if the inputs
  // or the result of an operation on the way do not fit the capture. Other errors are those of
  // the operations.
  absl::StatusOr<c10::IValue> Run(const std::vector<c10::IValue>& inputs,
                                  const RunOptions& options);
  // Checks the guards of inputs and attributes alone.
  absl::Status CheckGuards(const std::vector<c10::IValue>& inputs);

  const StitchManifest& manifest() const { return manifest_; }
  // Returns the number of conditions that CheckGuards checks.
  size_t num_guards() const;
  // Returns true if a guard can fail after the run has begun.
  bool has_guard_on_the_way() const { return has_guard_on_the_way_; }
  // Returns true if a guard of the program can fail after a step with an effect outside the run,
  // or, with `from_start`, at any step: then a run cannot be abandoned half-way.
  static bool HasGuardAfterEffect(const StitchManifest& manifest, bool from_start);

  // Returns arguments of Run that hold these tensors, by number, at their places.
  absl::StatusOr<std::vector<c10::IValue>> MakeInputs(const std::map<int64_t, at::Tensor>& tensors);

 private:
  StitchedProgram();
  absl::StatusOr<std::vector<c10::IValue>> RunOperation(const StitchStep& step,
                                                        const RunOptions& options);
  absl::StatusOr<std::vector<c10::IValue>> RunMethod(std::vector<c10::IValue> operands,
                                                     const StitchStep& step,
                                                     const RunOptions& options);

  StitchManifest manifest_;
  std::vector<std::shared_ptr<Executable>> executables_;
  bool records_gradients_ = false;  // a subgraph asks for gradients
  std::map<int64_t, at::Tensor> constants_;
  std::map<int64_t, c10::IValue> objects_;
  std::unique_ptr<AttributeStore> store_;
  bool has_guard_on_the_way_ = false;
  std::unique_ptr<extract::TensorTable> tensors_;
};

}  // namespace graphnet

#endif  // GRAPHNET_EXTRACT_STITCHED_H_
