// Real values of a sample (Sample::weights) beside what its graph says of them.
#ifndef GRAPHNET_INTERP_INPUTS_WEIGHTS_H_
#define GRAPHNET_INTERP_INPUTS_WEIGHTS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// OK if each weight is that of an attribute or input of the graph, or of what an input
// holds ("x.0"), has the dtype and sizes that are known of it (symbolic ones with the
// example values) and as many bytes as these take. Else FailedPrecondition names the
// first that does not.
absl::Status CheckWeights(const Sample& sample);

// As torch.Tensor.to converts between float16, bfloat16, float32 and float64: to the
// nearest, of two equally near ones to the even one, by way of float32 to the 16-bit
// ones. Unimplemented for other dtypes.
absl::StatusOr<TensorData> ConvertFloats(const TensorData& tensor, DType to);

// How values like these are drawn: mean and standard deviation of floats to three decimals, the
// least and greatest of integers, and, of what has fewer than 64 elements, all of them (floats to
// six decimals), which `elements` holds. Complex numbers and 8-bit floats have none of these.
void DescribeValues(const TensorData& values, DrawSpec* spec, std::vector<Argument>* elements);
// Says so of the attributes and inputs that have values and no draw spec, for forms of a sample
// that cannot hold the values.
void DescribeWeights(Sample* sample);

// What the graph says of the values it knows by name: attributes, and inputs of the main
// graph. Null where it says nothing.
std::map<std::string, const TensorMeta*> NamedMetas(const Module& module);

// Makes the weights of a sample follow a change of its graph. `renamed`: old names by new
// ones; `before`: NamedMetas of the graph as it was. Those whose dtype the graph changed
// are converted, those that nothing is called by any more go, and constraints are there if
// symbols are. Errors as of ConvertFloats.
absl::Status FollowGraph(const std::map<std::string, std::string>& renamed,
                         const std::map<std::string, const TensorMeta*>& before, Sample* sample);

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_INPUTS_WEIGHTS_H_
