// Samples of PyTorch as samples of Paddle (spec.md section 8, NO.128).
#ifndef GRAPHNET_PADDLE_PADDLE_SAMPLE_H_
#define GRAPHNET_PADDLE_PADDLE_SAMPLE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/sample.h"
#include "graphnet/paddle/to_paddle.h"

namespace graphnet {

// The passes that go before to-paddle, so that it finds public operators, no vmap, no regions
// without effect, and dtypes that agree.
inline constexpr absl::string_view kPassesBeforePaddle =
    "inline-regions,stabilize,revert-vmap,expand-functions{keep_interpolate=true,fused=true},"
    "expand-vmap,explicit-"
    "operators";

struct PaddleSample {
  // With "paddle" as framework in graph_net.json and Paddle's types as annotations; the hash is
  // that of the new graph. Where calls are left it is of neither framework and not to be written.
  Sample sample;
  PaddleCoverage coverage;

  bool is_whole() const { return coverage.left.empty(); }
};

// A copy of `sample` by kPassesBeforePaddle and to-paddle; of a sample of Paddle just the copy,
// with no calls counted. Errors are those of the passes, and what is no framework at all.
absl::StatusOr<PaddleSample> MakePaddleSample(const Sample& sample);

// "torch.f (Paddle has no dilation) 3 times, …", what is left of a sample that is not whole.
std::string LeftCalls(const PaddleCoverage& coverage);

}  // namespace graphnet

#endif  // GRAPHNET_PADDLE_PADDLE_SAMPLE_H_
