// Values of attributes that the file of a sample lacks: those that lie beside it, and whether the
// rest may be drawn.
#ifndef GRAPHNET_FORMATS_FIND_VALUES_H_
#define GRAPHNET_FORMATS_FIND_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graphnet/formats/missing_values.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// Lets all later calls of Load do without values that files should have and lack, as
// MissingValues::kDrawn does, or no longer: for a program whose option holds for all that it loads.
void DrawMissingValues(bool draws);
// Returns the looser one of `asked` and of what DrawMissingValues says.
MissingValues AllowedToMiss(MissingValues asked);

// Adds the values that the sample lacks and that lie in the safetensors file `beside`, as a
// protobuf of `convert --strip-weights` lies beside the file of its weights. A file that is not
// there, or that has no tensor of such a name, such as the outputs of a run, changes nothing.
// Otherwise it must have all values that the sample lacks, in their dtypes and sizes, unless missing
// ones may be drawn: InvalidArgument names the first that is not as it should be.
absl::Status AddValuesBeside(const std::string& beside, MissingValues allowed, Sample* sample);

// Draws the values that attributes lack, as a run with the seed 0 does, if DrawMissingValues lets them
// lack. Returns how many it has drawn. Fails as DrawTensor does.
absl::StatusOr<size_t> DrawLacking(Sample* sample);

// Most bytes of the inputs that WithExampleInputs draws: a program of a GraphNet folder takes all its
// weights as inputs.
inline constexpr int64_t kMaxDrawnExampleBytes = int64_t{8} << 20;
// Returns a copy of the sample that has a value of each input; those that are not known are drawn as a run
// with this seed does. nullopt if all are known, if one cannot be drawn, or if they would take too many
// bytes. `drawn` receives the number of values that were drawn.
std::optional<Sample> WithExampleInputs(const Sample& sample, uint64_t seed, size_t* drawn);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_FIND_VALUES_H_
