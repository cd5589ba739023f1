// The values that two samples are run on, to be compared.
#ifndef GRAPHNET_CLI_PAIRED_VALUES_H_
#define GRAPHNET_CLI_PAIRED_VALUES_H_

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "graphnet/cli/inputs.h"
#include "graphnet/interp/inputs/draw.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// Whose weights the two graphs of diff-run have.
enum class WeightsOf { kOwn, kA, kB };

struct PairedValues {
  using Values = std::map<std::string, TensorData>;
  // By the name in the first and the name in the second.
  using Names = std::vector<std::pair<std::string, std::string>>;

  Values first, second;
  Names weights;  // that both have: attributes, and inputs that stand for one
  Names inputs;   // all others
  // Weights of which one sample knows the values, and the other took them.
  size_t taken_by_first = 0;
  size_t taken_by_second = 0;
  // Values of the second that the first has none for.
  size_t unpaired = 0;
  // Inputs, by target, that stand for a parameter of the other sample.
  absl::flat_hash_set<std::string> parameters_of_first, parameters_of_second;
};

// Values belong together that have one name, or one name before a renaming pass.
//
// Each sample has its own weights, or both have those of `weights`, where it knows them and they
// have the dtype and sizes that the other one knows of them. One that does not know the values of a weight takes those of
// the other, if these have the dtype and sizes that it knows of the weight. What neither knows is
// drawn: one value for both where they describe it alike, or one of them says nothing of it.
//
// Inputs are the same for both, as the options say or the first sample does, unless the second
// says that they have another dtype. Then it has its own; or, of floats that the options describe,
// the same converted to its dtype.
//
// The samples are changed: they get the values that are known.
absl::StatusOr<PairedValues> PairValues(const InputOptions& options, WeightsOf weights,
                                        const DrawOptions& draw, Sample* first, Sample* second);

}  // namespace graphnet

#endif  // GRAPHNET_CLI_PAIRED_VALUES_H_
