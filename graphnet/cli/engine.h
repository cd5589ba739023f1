// What of the tool needs LibTorch. It lies in a shared library, libgraphnet_engine.so, which is
// opened when a command first asks for it: LibTorch takes 0.3 s to load, and commands that run no
// operators do without.
#ifndef GRAPHNET_CLI_ENGINE_H_
#define GRAPHNET_CLI_ENGINE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/cli/costs.h"
#include "graphnet/cli/inputs.h"
#include "graphnet/cli/picture.h"
#include "graphnet/decompose/range_decomposer.h"
#include "graphnet/extract/bounds.h"
#include "graphnet/extract/folder.h"
#include "graphnet/formats/torch_functions.h"
#include "graphnet/inputs/draw.h"
#include "graphnet/ir/observed_values.h"
#include "graphnet/ir/sample.h"
#include "graphnet/shard/rank_output.h"
#include "graphnet/validate/report.h"

namespace graphnet {

namespace spmd {
struct ShardedSample;
}  // namespace spmd

// The options of the commands of the engine.
struct RunFlags {
  std::string in;
  InputOptions inputs;
  std::string outputs;
  std::string state;
  uint64_t seed = 0;
  std::string device = "cpu";
  Compat compat = Compat::kGraphNet;
  int repeat = 1;
  int threads = 0;
  int64_t max_memory_mib = 0;
  CallKey profile = CallKey::kNone;
  bool trust = false;
  bool json = false;
};

// Whose weights the two graphs of diff-run have.
enum class WeightsOf { kOwn, kA, kB };

struct DiffRunFlags {
  std::string a;
  std::string b;
  InputOptions inputs;
  WeightsOf weights = WeightsOf::kOwn;
  std::string picture;  // empty: none
  DrawingOptions drawing;
  uint64_t seed = 0;
  int threads = 0;
  bool trust = false;
  bool json = false;
};

struct ShapesFlags {
  std::string in;
  InputOptions inputs;
  uint64_t seed = 0;
  CallKey cost = CallKey::kNone;
  bool check = false;
  bool trust = false;
  bool json = false;
};

struct ExtractFlags {
  std::string in;
  std::string out;
  InputOptions inputs;
  std::vector<std::string> break_on;
  std::vector<std::string> dynamic;
  ExtractFormat format = ExtractFormat::kProtobuf;
  uint64_t seed = 0;
  int64_t max_unroll = kMaxUnroll;
  int64_t max_steps = kMaxSteps;
  int threads = 0;
  bool explain = false;
  bool check = false;
  bool cond = false;
  bool trust = false;
  bool json = false;
};

// Of lint: what is wrong, and whether it was set right.
struct LintFinding {
  std::string what;
  bool is_fixed = false;
};

class Engine : public TorchFunctions {
 public:
  // Commands: as CommandRunner has it.
  virtual absl::StatusOr<int> Run(const RunFlags& flags) const = 0;
  virtual absl::StatusOr<int> DiffRun(const DiffRunFlags& flags) const = 0;
  virtual absl::StatusOr<int> Shapes(const ShapesFlags& flags) const = 0;
  virtual absl::StatusOr<int> Extract(const ExtractFlags& flags) const = 0;
  // Answers a benchmark as backend nope or jit.
  virtual absl::StatusOr<int> ServeWorker(const std::string& backend) const = 0;

  // Returns what a module without inputs yields, o0, o1, … in order, for values of its attributes.
  virtual absl::StatusOr<std::map<std::string, TensorData>> RunConstants(
      const Module& module, const std::map<std::string, TensorData>& values) const = 0;
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
                                       Style style, uint64_t seed, int threads,
                                       ValidationReport* report) const = 0;
  // shard/validate_ranks.h.
  virtual absl::StatusOr<std::vector<RankOutput>> ValidateRanks(const Sample& original,
                                                                const spmd::ShardedSample& shards,
                                                                uint64_t seed,
                                                                int threads) const = 0;
  // interp/torch/operator_library.h.
  virtual absl::Status LoadOperatorLibrary(const std::string& path) const = 0;
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
