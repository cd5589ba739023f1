// Keeps the real values of a sample (Sample::weights) consistent with its graph.
#ifndef GRAPHNET_INTERP_INPUTS_WEIGHTS_H_
#define GRAPHNET_INTERP_INPUTS_WEIGHTS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// Returns OK if each weight belongs to an attribute or input of the graph, or to an element
// of an input ("x.0"), has its known dtype and sizes (symbolic ones with the example values),
// and has as many bytes as these take. Otherwise FailedPrecondition names the first weight that
// does not.
absl::Status CheckWeights(const Sample& sample);

// Converts between float16, bfloat16, float32 and float64 as torch.Tensor.to does: rounds to
// nearest, ties to even, by way of float32 to the 16-bit dtypes. Unimplemented for other dtypes.
absl::StatusOr<TensorData> ConvertFloats(const TensorData& tensor, DType to);

// Describes how to draw values like these: by mean and standard deviation of floats to three
// decimals, by the least and greatest integer, and by the elements themselves if there are fewer
// than 64 (floats to six decimals); `elements` owns them. Complex numbers and 8-bit floats get no
// description.
void DescribeValues(const TensorData& values, DrawSpec* spec, std::vector<Argument>* elements);
// Describes the attributes and inputs that have values but no draw spec, for forms of a sample
// that cannot hold the values.
void DescribeWeights(Sample* sample);

// Returns the metas of attributes and of inputs of the main graph, by name; null if there is no
// meta.
std::map<std::string, const TensorMeta*> NamedMetas(const Module& module);

// Updates the weights of a sample after its graph changed. `renamed` maps old names to new ones;
// `before` is NamedMetas of the old graph. Weights whose dtype the graph changed are converted, and
// weights of names that no longer exist are removed. has_constraints becomes true if there are
// symbols. Fails as ConvertFloats does.
absl::Status FollowGraph(const std::map<std::string, std::string>& renamed,
                         const std::map<std::string, const TensorMeta*>& before, Sample* sample);

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_INPUTS_WEIGHTS_H_
