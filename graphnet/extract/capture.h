// Capturing a TorchScript program: it is run on example inputs, and what it does
// to tensors is recorded as graphs (docs/extraction.md).
//
//   const torch::jit::Module module = torch::jit::load("net.pt");
//   ASSIGN_OR_RETURN(Capture capture, CaptureProgram(module, {x}));
//
// Tensors are captured; all other values are what they are in this run: branches
// are taken, loops are unrolled, calls are inlined. Where that is not possible the
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

struct Capture {
  struct Subgraph {
    std::unique_ptr<Module> module;
    std::map<std::string, at::Tensor> attributes;  // the live ones
  };
  // An attribute that the captured run took as a constant.
  struct AttributeGuard {
    c10::intrusive_ptr<c10::ivalue::Object> object;
    size_t slot;
    c10::IValue value;
    std::string name;  // "layer1.training"
  };

  StitchManifest manifest;
  std::vector<Subgraph> subgraphs;
  std::map<int64_t, at::Tensor> constants;  // StitchManifest::constants, the live ones
  // StitchManifest::objects, the live ones.
  std::map<int64_t, c10::IValue> objects;
  // Copies of them from when the run began, of those that can be copied.
  std::map<int64_t, c10::IValue> initial_objects;
  // Attributes that the run changed in place, as they were before.
  std::map<std::string, at::Tensor> initial;
  std::vector<AttributeGuard> attribute_guards;
  c10::IValue result;
  bool writes_inputs = false;  // in place
  // Operations on tensors that are in no graph, as they only led to numbers known while
  // capturing, such as sizes, or to nothing, or yielded what they took (`to` the same
  // dtype); how many by target.
  std::map<std::string, int64_t> folded;
  // What ended the run early: an error that the program raised, a limit. The
  // subgraphs up to there are whole; there is no result.
  absl::Status status;
};

// Runs the program for real: it prints, changes attributes and `inputs` as it
// would. InvalidArgument if there is no such method, or for inputs that do not fit
// its parameters; errors of the run itself are in Capture::status.
absl::StatusOr<Capture> CaptureProgram(const torch::jit::Module& module,
                                       std::vector<c10::IValue> inputs,
                                       const CaptureOptions& options = {});

}  // namespace graphnet

#endif  // GRAPHNET_EXTRACT_CAPTURE_H_
