// Capturing a TorchScript program: it is run on example inputs, and what it does
// to tensors is recorded as graphs (docs/extraction.md).
//
//   const torch::jit::Module module = torch::jit::load("net.pt");
//   ASSIGN_OR_RETURN(Capture capture, CaptureProgram(module, {x}));
//
// Tensors are captured. All other values stay what they are in this run: branches
// are taken, loops are unrolled, calls are inlined. Where that is not possible, the
// graph ends, the operation runs, and a new graph begins.
#ifndef GRAPHNET_EXTRACT_CAPTURE_H_
#define GRAPHNET_EXTRACT_CAPTURE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ATen/core/ivalue.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graphnet/extract/capture_options.h"
#include "graphnet/extract/manifest.h"
#include "graphnet/ir/module.h"
#include "torch/csrc/jit/api/module.h"

namespace graphnet {

// The graphs that one run of a program produced, and everything that happened between them.
struct Capture {
  // One graph, with the values of its attributes.
  struct Subgraph {
    std::unique_ptr<Module> module;                // The graph.
    std::map<std::string, at::Tensor> attributes;  // The program's own tensors, by name.
  };
  // An attribute that the captured run took as a constant.
  struct AttributeGuard {
    c10::intrusive_ptr<c10::ivalue::Object> object;  // The object that has the attribute.
    size_t slot;                                     // The attribute's slot in the object.
    c10::IValue value;                               // The value in the captured run.
    std::string name;                                // "layer1.training"
  };

  StitchManifest manifest;          // How the subgraphs make up the program.
  std::vector<Subgraph> subgraphs;  // By the index that the manifest uses.
  // The tensors that StitchManifest::constants names: the program's own, not copies.
  std::map<int64_t, at::Tensor> constants;
  // The objects that StitchManifest::objects names: the program's own, not copies.
  std::map<int64_t, c10::IValue> objects;
  // Copies of these objects from before the run; objects that cannot be copied are missing.
  std::map<int64_t, c10::IValue> initial_objects;
  // Attributes that the run changed in place, as they were before.
  std::map<std::string, at::Tensor> initial;
  std::vector<AttributeGuard> attribute_guards;  // A replay is valid only if all hold.
  c10::IValue result;                            // The result of the program in this run.
  bool writes_inputs = false;                    // True if the run changed `inputs` in place.
  // Numbers of operations on tensors that are in no graph, by target. They led only to numbers
  // that were known while capturing, such as sizes, or to nothing, or they returned their operand
  // (`to` the same dtype).
  std::map<std::string, int64_t> folded;
  // Why the run ended early: an error that the program raised, or a limit. The subgraphs up to
  // there are complete, but there is no result.
  absl::Status status;
};

// Runs a method of the program on `inputs` and captures its graphs. The run is real: it prints, and
// it changes attributes and `inputs`. InvalidArgument if there is no such method, if the inputs do
// not fit its parameters, or for wrong options; errors of the run itself are in Capture::status.
absl::StatusOr<Capture> CaptureProgram(const torch::jit::Module& module,
                                       std::vector<c10::IValue> inputs,
                                       const CaptureOptions& options = {});

}  // namespace graphnet

#endif  // GRAPHNET_EXTRACT_CAPTURE_H_
