// A sample as a benchmark runs it: its values are drawn, and its program is written in the forms
// that workers read.
#ifndef GRAPHNET_EVALUATE_BENCH_SAMPLE_H_
#define GRAPHNET_EVALUATE_BENCH_SAMPLE_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graphnet/evaluate/ab_run.h"
#include "graphnet/evaluate/backend_table.h"
#include "graphnet/evaluate/reference.h"
#include "graphnet/evaluate/worker.h"
#include "graphnet/interp/inputs/wrong_answers.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// The names of the inputs and attributes that a program writes to.
struct WrittenNames {
  std::vector<std::string> values;  // functionalize{outputs=true} returns them, in this order
  // The names that functionalize cannot return, because a write through a view may or may not reach
  // them.
  std::vector<std::string> left;
};

// Options for loading a sample and drawing its values.
struct BenchSampleOptions {
  uint64_t seed = 0;
  std::string device = "cpu";
  int fresh_inputs = 0;  // number of further input files, each with another seed
  // Draw weights so that the sample neither vanishes nor explodes
  // (interp/inputs/scale_weights.h).
  bool scale_weights = false;
  bool trust = false;
  bool digests = false;  // compute digests()
};

// One loaded sample. Not thread-safe.
class BenchSample {
 public:
  // Loads the sample at `path` and draws its inputs. Files go to `folder`, which must exist.
  static absl::StatusOr<std::unique_ptr<BenchSample>> Load(const std::string& path,
                                                           const std::string& folder,
                                                           const BenchSampleOptions& options);

  // The name of the model, for logs.
  const std::string& model() const { return model_; }
  // Returns what tells the sample with its values from others, as BenchSampleOptions::digests asks.
  const SampleDigests& digests() const { return digests_; }
  // The files of its inputs. `restore` may be called only while this lives.
  AbInputs inputs();
  // Returns the outputs of the sample as which a wrong answer passes at t = -5 or below.
  std::vector<BlindOutput> BlindAmong(const Outputs& outputs) const;
  // Returns the number of weights that are drawn otherwise than by GraphNet's rule.
  size_t num_scaled() const { return num_scaled_; }
  // True if it draws random numbers, which are others in float64.
  bool is_random() const;
  // Returns the request for a worker that reads this form, and writes the program at the first
  // call. The error says why the sample cannot be written in that form.
  absl::StatusOr<PrepareRequest> RequestFor(ProgramForm form);
  // Returns the request for the worker of a backend: in the form that it reads, or rewritten
  // (bench_rewrite.h).
  absl::StatusOr<PrepareRequest> RequestFor(const Backend& backend);
  // Returns the request for graphnet's interpreter to run the same program on the same values with
  // all floats as float64.
  absl::StatusOr<PrepareRequest> ReferenceRequest() const;

 private:
  BenchSample() = default;
  absl::Status Draw(const Sample& sample);
  absl::Status WriteInputs() const;
  absl::StatusOr<Sample> LoadDrawn() const;
  absl::StatusOr<PrepareRequest> RewrittenRequest(const Backend& backend) const;
  absl::StatusOr<WrittenNames> Specialize();
  absl::Status MakeFunctional();
  absl::Status Functional();  // calls that once
  absl::StatusOr<Sample> FunctionalAsItIs();
  absl::Status WriteProgram(ProgramForm form);
  absl::Status WritePaddle(const std::string& path);

  std::string path_;
  std::string folder_;
  BenchSampleOptions options_;
  std::string model_;
  Sample program_;
  std::optional<absl::StatusOr<WrittenNames>> specialized_;  // set once program_ is specialized
  absl::Status functional_;
  bool is_functional_ = false;
  std::vector<std::map<std::string, TensorData>> values_;  // one map for each file
  std::vector<std::string> files_;
  std::vector<OutputForm> forms_;  // of the outputs, and of the inputs that are written to
  size_t num_scaled_ = 0;
  SampleDigests digests_;
  std::string weights_;
  PrepareRequest request_;  // the part that all forms have in common
  std::array<std::optional<absl::Status>, kNumProgramForms> written_;
  // The arguments of kMlir and of kPaddle after the inputs.
  std::array<std::vector<std::string>, kNumProgramForms> constants_;
};

// Returns whether a program draws random numbers.
bool DrawsRandomNumbers(const Module& module);

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_BENCH_SAMPLE_H_
