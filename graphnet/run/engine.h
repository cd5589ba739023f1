// The functions that need LibTorch. They are in a shared library, libgraphnet_engine.so, which is
// opened on first use: LibTorch takes 0.3 s to load, and commands that run no operators do not need
// it.
#ifndef GRAPHNET_RUN_ENGINE_H_
#define GRAPHNET_RUN_ENGINE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graphnet/decompose/range_decomposer.h"
#include "graphnet/extract/capture_options.h"
#include "graphnet/extract/folder.h"
#include "graphnet/extract/foretold_break.h"
#include "graphnet/formats/torch_functions.h"
#include "graphnet/interp/inputs/draw.h"
#include "graphnet/interp/run_report.h"
#include "graphnet/interp/stability.h"
#include "graphnet/interp/value_statistics.h"
#include "graphnet/ir/observed_values.h"
#include "graphnet/ir/sample.h"
#include "graphnet/shard/rank_output.h"
#include "graphnet/validate/report.h"

namespace graphnet {

namespace spmd {
struct ShardedSample;
}  // namespace spmd

using TensorValues = std::map<std::string, TensorData>;  // by name

// A tensor that a node has returned. The program owns the node.
struct MeasuredValue {
  const Node* node = nullptr;
  ValueStatistics statistics;
};

// A graph, or an extracted program, with the values that it runs on.
class ReadyProgram {
 public:
  virtual ~ReadyProgram() = default;
  // Runs the program, which keeps its state between runs. `observer`, which may be null, is called
  // after each node; if it returns an error, the run ends with that error.
  virtual absl::Status Run(const std::function<absl::Status(const Node&)>& observer) = 0;
  // Runs the program, and measures each tensor when it is there, in the order of the run.
  virtual absl::StatusOr<std::vector<MeasuredValue>> Measure() = 0;
  // Measures how many digits of each value of a graph survive rounding (interp/measure_stability.h),
  // and restores its state. Unimplemented for an extracted program.
  virtual absl::StatusOr<Stability> MeasureDigits() = 0;
  // Runs a graph and restores its state.
  virtual absl::Status WarmUp() = 0;
  // Returns the outputs of the last run: o0, o1, … in order.
  virtual absl::StatusOr<TensorValues> Outputs() const = 0;
  // Returns the parameters and buffers of a graph after the last run. Unimplemented for an
  // extracted program.
  virtual absl::StatusOr<TensorValues> State() const = 0;
  virtual size_t num_instructions() const = 0;  // for graphs only
};

struct RunSettings {
  // Seed of the operators that draw random numbers. Without one, the generator keeps its state.
  std::optional<uint64_t> seed = 0;
  std::string device = "cpu";
  std::optional<int64_t> max_bytes;  // as in PrepareOptions
  // Names of inputs with requires_grad. No gradients are computed, but PyTorch then computes matrix
  // products in another way.
  std::vector<std::string> requires_grad = {};
};

// A captured program. If `status` is an error, the capture ended early for that reason; the
// subgraphs up to there are complete.
struct CapturedProgram {
  ExtractedProgram program;
  absl::Status status;
};

// A compiled subgraph. It takes values by the names of its placeholders and returns its results in
// order.
using SubgraphFunction =
    std::function<absl::StatusOr<std::vector<TensorData>>(const TensorValues& inputs)>;

// The compiler that runs the subgraphs of a program that is called again and again.
struct RunBackend {
  std::string name;  // "nope" and "jit" run in this process
  // Compiles a subgraph; used for all other backends.
  std::function<absl::StatusOr<SubgraphFunction>(const Sample& sample)> compile;
};

// A program that is called through its captures (extract/cache.h), each time on the same inputs.
class CachedProgram {
 public:
  virtual ~CachedProgram() = default;

  struct CallReport {
    bool is_hit = false;         // false: the call was captured
    int64_t guard_failures = 0;  // captures that did not fit
    int64_t compilations = 0;    // subgraphs that the backend compiled
    double compile_ms = 0;
    double run_ms = 0;  // the rest of the call
  };
  // Calls the program. The errors include those that the program itself raises.
  virtual absl::StatusOr<CallReport> Call() = 0;
  // Returns the outputs of the last call: o0, o1, … in order.
  virtual absl::StatusOr<TensorValues> Outputs() const = 0;
  // Calls the program in LibTorch, which has its own copy of the state, and returns the outputs.
  virtual absl::StatusOr<TensorValues> CallByLibTorch() = 0;

  struct Capture {
    size_t subgraphs = 0;
    size_t operations = 0;  // between them
    // Subgraphs that the interpreter runs instead of the backend: "subgraph_0", and the reason.
    std::vector<std::pair<std::string, std::string>> interpreted;
  };
  virtual std::vector<Capture> captures() const = 0;
};

// A TorchScript program that can be captured.
class TorchScriptProgram {
 public:
  virtual ~TorchScriptProgram() = default;
  // The next two are functions of extract/program_inputs.h. If `words` is empty, the inputs that
  // the archive describes are used.
  virtual const std::vector<std::string>& names_of_inputs() const = 0;
  virtual absl::Status SetInputs(const TensorValues& given, const std::vector<std::string>& words,
                                 uint64_t seed) = 0;
  // Captures the program (extract/capture.h). `name` is the name of the samples. Call it only once.
  virtual absl::StatusOr<CapturedProgram> Capture(const CaptureOptions& options,
                                                  const std::string& name) = 0;
  // Lists the breaks without a run (extract/foretell.h). Needs no inputs.
  virtual absl::StatusOr<ForetoldBreaks> Foretell(const CaptureOptions& options) = 0;
  struct Compared {
    std::string difference;  // a description; empty if there is none
    std::string blind;       // the wrong results that would have been equal, too
  };
  // Runs the stored program in `folder`, and the archive in LibTorch, on the same inputs.
  virtual absl::StatusOr<Compared> CompareWithLibTorch(const std::string& folder) = 0;
  // Returns the program for the inputs that were set. The result must not outlive this object.
  virtual absl::StatusOr<std::unique_ptr<CachedProgram>> Cache(const CaptureOptions& options,
                                                               const RunBackend& backend) = 0;
};

// A problem that lint found, and whether it was fixed.
struct LintFinding {
  std::string what;
  bool is_fixed = false;
};

class Engine : public TorchFunctions {
 public:
  // Sets the number of threads that LibTorch uses; 0 is its default.
  virtual void SetNumThreads(int threads) const = 0;

  // See interp/prepare.h. The module must outlive the result.
  virtual absl::StatusOr<std::unique_ptr<ReadyProgram>> Prepare(
      const Module& module, TensorValues values, const RunSettings& settings) const = 0;
  // See extract/stitched_inputs.h. `print` receives the lines that the program prints.
  virtual absl::StatusOr<std::unique_ptr<ReadyProgram>> PrepareExtracted(
      ExtractedProgram program, const TensorValues& given, const DrawOptions& draw, bool trust,
      std::function<void(const std::string&)> print) const = 0;
  // With `trust`, the archive is not checked.
  virtual absl::StatusOr<std::unique_ptr<TorchScriptProgram>> OpenTorchScript(
      const std::string& path, bool trust) const = 0;
  // See interp/compare_runs.h.
  virtual absl::StatusOr<RunComparison> CompareRuns(RunSide a, RunSide b,
                                                    const CompareOptions& options,
                                                    const std::string& name_of_b) const = 0;
  virtual absl::StatusOr<TensorDifference> DifferenceOf(const TensorData& a,
                                                        const TensorData& b) const = 0;
  // See interp/shapes.h.
  virtual absl::StatusOr<ShapeReport> InferShapesOf(Module* module,
                                                    const TensorValues& values) const = 0;
  virtual absl::StatusOr<ShapeCheck> CheckShapes(const Module& module,
                                                 TensorValues values) const = 0;
  // Serves a benchmark as backend nope or jit. Returns the exit code.
  virtual absl::StatusOr<int> ServeWorker(const std::string& backend) const = 0;

  // See interp/observe.h.
  virtual absl::Status InferValues(const Sample& sample, bool name_sizes,
                                   ObservedValues* found) const = 0;
  virtual absl::Status MeasureValues(const Sample& sample, const DrawOptions& draw,
                                     ObservedValues* found) const = 0;
  // Finds the causes of outputs that are nan or infinite (interp/domain.h). With `repairs`, fixes
  // them if possible.
  virtual absl::StatusOr<std::vector<LintFinding>> LintFinite(Sample* sample, uint64_t seed,
                                                              bool repairs) const = 0;
  // Finds outputs as which wrong answers pass, and outputs that are not finite, if values are drawn
  // (interp/blind_outputs.h). With `repairs`, draws weights otherwise if this helps
  // (interp/inputs/scale_weights.h).
  virtual absl::StatusOr<std::vector<LintFinding>> LintVanishing(Sample* sample, uint64_t seed,
                                                                 bool repairs) const = 0;
  // See validate/numeric.h.
  virtual absl::Status ValidateNumbers(const Sample& original, absl::Span<const Sample> pieces,
                                       Style style, uint64_t seed,
                                       ValidationReport* report) const = 0;
  // See shard/validate_ranks.h.
  virtual absl::StatusOr<std::vector<RankOutput>> ValidateRanks(const Sample& original,
                                                                const spmd::ShardedSample& shards,
                                                                uint64_t seed) const = 0;
  // See interp/torch/operator_library.h.
  virtual absl::Status LoadOperatorLibrary(const std::string& path) const = 0;
  // See interp/torch/allowed_operators.h.
  virtual void TrustFiles() const = 0;
  // See interp/declared_operator.h.
  virtual absl::Status DeclareOperator(const std::string& schema, bool is_identity,
                                       std::shared_ptr<const Module> body) const = 0;
  virtual std::string LibTorchVersion() const = 0;

 protected:
  ~Engine() = default;  // the only one is never destroyed
};

// Opens the engine. FailedPrecondition, with advice, if there is no LibTorch of the right version.
absl::StatusOr<const Engine*> OpenEngine();

}  // namespace graphnet

#endif  // GRAPHNET_RUN_ENGINE_H_
