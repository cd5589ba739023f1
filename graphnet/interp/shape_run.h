// Internal: runs a graph on the meta device, for the shapes of its values (shapes.h).
#ifndef GRAPHNET_INTERP_SHAPE_RUN_H_
#define GRAPHNET_INTERP_SHAPE_RUN_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graphnet/interp/executable.h"
#include "graphnet/interp/shapes.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// Parts that a value with a meta may have. Parts of a tuple count once for each reference to it.
inline constexpr uint64_t kMaxMetaParts = 1 << 16;

// Facts about the values of nodes that are known without computing them.
struct SaidValues {
  absl::flat_hash_map<const Node*, const ValueMeta*> metas;
  // An int or a list of ints. An int with the name of a symbol has the value of the symbol's
  // example.
  struct Number {
    c10::IValue value;
    std::vector<std::string> symbols;
  };
  absl::flat_hash_map<const Node*, Number> numbers;
};

// Returns a function that makes numbers, or tensors without data and tuples of them. Their sizes
// are those of the metas for the example values of symbols. `said` must outlive it.
Recover RecoverBy(const Module& module, const SaidValues& said);

struct ShapeRun {
  Observer observer;
  Recover recover;              // RunOptions
  bool recover_errors = false;  // RunOptions
  // Unless null, gets the most bytes that were needed at once, up to the point where the run ended.
  int64_t* peak = nullptr;
  // Unless null, gets ShapeReport::alive_bytes; only together with `peak`.
  absl::flat_hash_map<const Node*, int64_t>* alive = nullptr;
  bool* reads_data = nullptr;  // RunOptions
};

// Runs the main graph. `values` are those of inputs and attributes by name; small ones keep their
// data. InvalidArgument for an input whose shape is not known; otherwise fails as Executable::Run
// does.
absl::Status RunForShapes(const Module& module, const std::map<std::string, TensorData>& values,
                          const ShapeRun& options);

// Does what InferShapes (shapes.h) does, but takes `said` for the facts known before, and not the
// metas of the nodes. Of `run`, observer, recover_errors, peak and reads_data count. The peak of
// the report stays 0.
absl::StatusOr<ShapeReport> InferShapesFrom(Module* module,
                                            const std::map<std::string, TensorData>& values,
                                            const SaidValues& said, const ShapeRun& run);

// Appends the sizes of the tensors in a value, one after the other.
void AppendDims(const ValueMeta& meta, std::vector<Dim>* dims);
// Returns the same meta with the sizes in `dims` from `*next` on, and advances `*next`.
const ValueMeta* WithDims(const ValueMeta& meta, const std::vector<Dim>& dims, size_t* next,
                          Module* module);

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_SHAPE_RUN_H_
