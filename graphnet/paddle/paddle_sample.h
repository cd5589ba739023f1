// Converts samples of PyTorch to samples of Paddle (spec.md section 8, NO.128).
#ifndef GRAPHNET_PADDLE_PADDLE_SAMPLE_H_
#define GRAPHNET_PADDLE_PADDLE_SAMPLE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/sample.h"
#include "graphnet/paddle/to_paddle.h"

namespace graphnet {

// The passes that go before to-paddle, so that it finds public operators, no vmap, no autocast, no
// regions without effect, and dtypes that agree.
inline constexpr absl::string_view kPassesBeforePaddle =
    "inline-regions,stabilize,revert-vmap,expand-functions{keep_interpolate=true,fused=true},"
    "expand-vmap,explicit-autocast,inline-regions,explicit-operators";

struct PaddleSample {
  // Has "paddle" as framework in graph_net.json, Paddle's types as annotations, and the hash of the
  // new graph. If calls of PyTorch are left, it belongs to neither framework and must not be
  // written.
  Sample sample;
  PaddleCoverage coverage;

  bool is_whole() const { return coverage.left.empty(); }
};

// Returns a copy of `sample` after kPassesBeforePaddle and to-paddle. A sample of Paddle is only
// copied, and no calls are counted. Errors are those of the passes, and InvalidArgument for an
// unknown framework.
absl::StatusOr<PaddleSample> MakePaddleSample(const Sample& sample);

// Lists the calls that were not converted: "torch.f (Paddle has no dilation) 3 times, …".
std::string LeftCalls(const PaddleCoverage& coverage);

}  // namespace graphnet

#endif  // GRAPHNET_PADDLE_PADDLE_SAMPLE_H_
