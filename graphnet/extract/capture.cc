#include "graphnet/extract/capture.h"

#include <utility>

#include "c10/core/InferenceMode.h"
#include "graphnet/base/status.h"
#include "graphnet/extract/plan.h"
#include "graphnet/extract/session.h"
#include "graphnet/formats/torchscript/import_graph.h"
#include "graphnet/interp/torch/status.h"

namespace graphnet {

absl::StatusOr<Capture> CaptureProgram(const torch::jit::Module& module,
                                       std::vector<c10::IValue> inputs,
                                       const CaptureOptions& options) {
  return Guarded([&]() -> absl::StatusOr<Capture> {
    ASSIGN_OR_RETURN(torch::jit::GraphFunction* const function,
                     FindTorchScriptMethod(module, options.method, "capture"));
    if (options.max_unroll < 1) return absl::InvalidArgumentError("max_unroll must be at least 1");
    if (options.cond && !options.dynamic.empty())
      return absl::InvalidArgumentError(
          "cond (--cond) and dynamic sizes (--dynamic) cannot be combined");
    function->ensure_defined();
    std::vector<c10::IValue> stack = {module._ivalue()};
    stack.insert(stack.end(), inputs.begin(), inputs.end());
    function->getSchema().checkAndNormalizeInputs(stack);
    stack.erase(stack.begin());
    const bool asks_for_gradients = extract::AsksForGradients(*function);
    const c10::InferenceMode inference(!asks_for_gradients);
    Capture capture;
    capture.manifest.name = options.method;
    extract::Session session(options, asks_for_gradients, &capture);
    RETURN_IF_ERROR(session.Run(module, *function, std::move(stack)));
    return capture;
  });
}

}  // namespace graphnet
