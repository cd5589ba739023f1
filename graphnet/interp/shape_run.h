// Runs of a graph on the meta device, for the shapes of its values. Others see shapes.h.
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

// Of a value that has a meta: its parts, and those of tuples in it wherever they are referred to.
inline constexpr uint64_t kMaxMetaParts = 1 << 16;

// What is known of the values of nodes without computing them.
struct SaidValues {
  absl::flat_hash_map<const Node*, const ValueMeta*> metas;
  // An int or a list of such. Those that have the name of a symbol here are what its example is.
  struct Number {
    c10::IValue value;
    std::vector<std::string> symbols;
  };
  absl::flat_hash_map<const Node*, Number> numbers;
};

// A tensor without data, or a tuple of such, of the sizes that the metas say for the example
// values of symbols; or numbers. `said` must outlive it.
Recover RecoverBy(const Module& module, const SaidValues& said);

struct ShapeRun {
  Observer observer;
  Recover recover;              // RunOptions
  bool recover_errors = false;  // RunOptions
  // The most bytes that were needed at once, as far as the run came.
  int64_t* peak = nullptr;
  // ShapeReport::alive_bytes, where the peak is asked for; null: not asked.
  absl::flat_hash_map<const Node*, int64_t>* alive = nullptr;
  bool* reads_data = nullptr;  // RunOptions
};

// Runs the main graph. Of `values`, inputs and attributes by name, small ones are computed with.
// InvalidArgument for an input whose shape is not known; other errors of Executable::Run.
absl::Status RunForShapes(const Module& module, const std::map<std::string, TensorData>& values,
                          const ShapeRun& options);

// As InferShapes (shapes.h), where `said`, and not the metas of the nodes, is what is known before.
// `run`: its observer, recover_errors, peak and reads_data count; the peak of the report stays 0.
absl::StatusOr<ShapeReport> InferShapesFrom(Module* module,
                                            const std::map<std::string, TensorData>& values,
                                            const SaidValues& said, const ShapeRun& run);

// The sizes of the tensors in a value, one after the other.
void AppendDims(const ValueMeta& meta, std::vector<Dim>* dims);
// The same meta with the sizes `dims`, from `*next` on.
const ValueMeta* WithDims(const ValueMeta& meta, const std::vector<Dim>& dims, size_t* next,
                          Module* module);

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_SHAPE_RUN_H_
