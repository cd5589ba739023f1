// The functions that need LibTorch. They lie in a shared library, libgraphnet_engine.so, which is
// opened when something first asks for it: LibTorch takes 0.3 s to load, and commands that run no
// operators do without.
#ifndef GRAPHNET_CLI_ENGINE_H_
#define GRAPHNET_CLI_ENGINE_H_

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
#include "graphnet/ir/observed_values.h"
#include "graphnet/ir/sample.h"
#include "graphnet/shard/rank_output.h"
#include "graphnet/validate/report.h"

namespace graphnet {

namespace spmd {
struct ShardedSample;
}  // namespace spmd

using TensorValues = std::map<std::string, TensorData>;  // by name

// A graph, or an extracted program, with the values it is run on.
class ReadyProgram {
 public:
  virtual ~ReadyProgram() = default;
  // Runs the program; its state goes on from one run to the next. `observer`, which may be null,
  // sees each node as soon as it has run, and ends the run with its error.
  virtual absl::Status Run(const std::function<absl::Status(const Node&)>& observer) = 0;
  // Runs a graph and puts its state back.
  virtual absl::Status WarmUp() = 0;
  // Returns what the last run yielded: o0, o1, … in order.
  virtual absl::StatusOr<TensorValues> Outputs() const = 0;
  // Returns the parameters and buffers of a graph, as runs have left them. Unimplemented for an
  // extracted program.
  virtual absl::StatusOr<TensorValues> State() const = 0;
  virtual size_t num_instructions() const = 0;  // of a graph
};

struct RunSettings {
  // Operators draw by this seed. Without one the generator goes on from where it is.
  std::optional<uint64_t> seed = 0;
  std::string device = "cpu";
  std::optional<int64_t> max_bytes;  // PrepareOptions::max_bytes
  // Inputs that ask for gradients, by name. None are computed, but PyTorch computes products of
  // matrices in another way then.
  std::vector<std::string> requires_grad = {};
};

// A program as far as it was captured. `status` says why that ended early, if it did; the
// subgraphs up to there are whole.
struct CapturedProgram {
  ExtractedProgram program;
  absl::Status status;
};

// A subgraph that takes values by the names of its placeholders and yields its results in order.
using SubgraphFunction =
    std::function<absl::StatusOr<std::vector<TensorData>>(const TensorValues& inputs)>;

// The compiler that runs the subgraphs of a program that is called again and again.
struct RunBackend {
  std::string name;  // "nope" and "jit" run in this process
  // Compiles a subgraph for any other backend.
  std::function<absl::StatusOr<SubgraphFunction>(const Sample& sample)> compile;
};

// A program that is called through captures of it (extract/cache.h), on the same inputs each time.
class CachedProgram {
 public:
  virtual ~CachedProgram() = default;

  struct CallReport {
    bool is_hit = false;         // else the call was captured
    int64_t guard_failures = 0;  // captures that did not fit
    int64_t compilations = 0;    // subgraphs that the backend compiled
    double compile_ms = 0;
    double run_ms = 0;  // all else
  };
  // Returns the errors of the program itself, too.
  virtual absl::StatusOr<CallReport> Call() = 0;
  // Returns what the last call yielded: o0, o1, … in order.
  virtual absl::StatusOr<TensorValues> Outputs() const = 0;
  // Calls the program by LibTorch, which follows its own state, and returns what that yields.
  virtual absl::StatusOr<TensorValues> CallByLibTorch() = 0;

  struct Capture {
    size_t subgraphs = 0;
    size_t operations = 0;  // between them
    // Subgraphs that the interpreter runs in place of the backend: "subgraph_0", and why.
    std::vector<std::pair<std::string, std::string>> interpreted;
  };
  virtual std::vector<Capture> captures() const = 0;
};

// A TorchScript program that can be captured.
class TorchScriptProgram {
 public:
  virtual ~TorchScriptProgram() = default;
  // The functions of extract/program_inputs.h; without words, those of the archive count.
  virtual const std::vector<std::string>& names_of_inputs() const = 0;
  virtual absl::Status SetInputs(const TensorValues& given, const std::vector<std::string>& words,
                                 uint64_t seed) = 0;
  // extract/capture.h; the samples are called `name`. May be called once.
  virtual absl::StatusOr<CapturedProgram> Capture(const CaptureOptions& options,
                                                  const std::string& name) = 0;
  // extract/foretell.h; needs no inputs.
  virtual absl::StatusOr<ForetoldBreaks> Foretell(const CaptureOptions& options) = 0;
  // Runs the program in `folder` and, by LibTorch, the archive on the same inputs. Says how they
  // differ; empty if they do not.
  virtual absl::StatusOr<std::string> CompareWithLibTorch(const std::string& folder) = 0;
  // The program on the inputs that were set. What is returned must not outlive this.
  virtual absl::StatusOr<std::unique_ptr<CachedProgram>> Cache(const CaptureOptions& options,
                                                               const RunBackend& backend) = 0;
};

// Of lint: what is wrong, and whether it was set right.
struct LintFinding {
  std::string what;
  bool is_fixed = false;
};

class Engine : public TorchFunctions {
 public:
  // How many threads LibTorch computes with from now on; 0: as many as it likes.
  virtual void SetNumThreads(int threads) const = 0;

  // interp/prepare.h. The module must outlive what is returned.
  virtual absl::StatusOr<std::unique_ptr<ReadyProgram>> Prepare(
      const Module& module, TensorValues values, const RunSettings& settings) const = 0;
  // extract/stitched_inputs.h. `print` takes what the program prints.
  virtual absl::StatusOr<std::unique_ptr<ReadyProgram>> PrepareExtracted(
      ExtractedProgram program, const TensorValues& given, const DrawOptions& draw, bool trust,
      std::function<void(const std::string&)> print) const = 0;
  // `trust` lets the archive in without a check.
  virtual absl::StatusOr<std::unique_ptr<TorchScriptProgram>> OpenTorchScript(
      const std::string& path, bool trust) const = 0;
  // interp/compare_runs.h.
  virtual absl::StatusOr<RunComparison> CompareRuns(RunSide a, RunSide b, uint64_t seed,
                                                    const std::string& name_of_b) const = 0;
  virtual absl::StatusOr<TensorDifference> DifferenceOf(const TensorData& a,
                                                        const TensorData& b) const = 0;
  // interp/shapes.h.
  virtual absl::StatusOr<ShapeReport> InferShapesOf(Module* module,
                                                    const TensorValues& values) const = 0;
  virtual absl::StatusOr<ShapeCheck> CheckShapes(const Module& module,
                                                 TensorValues values) const = 0;
  // Answers a benchmark as backend nope or jit.
  virtual absl::StatusOr<int> ServeWorker(const std::string& backend) const = 0;

  // interp/observe.h.
  virtual absl::Status InferValues(const Sample& sample, bool name_sizes,
                                   ObservedValues* found) const = 0;
  virtual absl::Status MeasureValues(const Sample& sample, const DrawOptions& draw,
                                     ObservedValues* found) const = 0;
  // interp/domain.h: what makes an output nan or infinite, with `repairs` set right if possible.
  virtual absl::StatusOr<std::vector<LintFinding>> LintFinite(Sample* sample, uint64_t seed,
                                                              bool repairs) const = 0;
  // validate/numeric.h.
  virtual absl::Status ValidateNumbers(const Sample& original, absl::Span<const Sample> pieces,
                                       Style style, uint64_t seed,
                                       ValidationReport* report) const = 0;
  // shard/validate_ranks.h.
  virtual absl::StatusOr<std::vector<RankOutput>> ValidateRanks(const Sample& original,
                                                                const spmd::ShardedSample& shards,
                                                                uint64_t seed) const = 0;
  // interp/torch/operator_library.h.
  virtual absl::Status LoadOperatorLibrary(const std::string& path) const = 0;
  // interp/torch/allowed_operators.h.
  virtual void TrustFiles() const = 0;
  // interp/declared_operator.h.
  virtual absl::Status DeclareOperator(const std::string& schema, bool is_identity,
                                       std::shared_ptr<const Module> body) const = 0;
  virtual std::string LibTorchVersion() const = 0;

 protected:
  ~Engine() = default;  // there is one, for good
};

// FailedPrecondition, with what helps, if there is no LibTorch that it fits.
absl::StatusOr<const Engine*> OpenEngine();

}  // namespace graphnet

#endif  // GRAPHNET_CLI_ENGINE_H_
