// A sample as a benchmark runs it: values drawn, programs written in the forms that workers read.
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
#include "graphnet/evaluate/worker.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// Names of inputs and attributes that a program writes to.
struct WrittenNames {
  std::vector<std::string> values;  // which functionalize{outputs=true} returns, in its order
  // Those that it leaves, as what is written to may be a view of them or not.
  std::vector<std::string> left;
};

struct BenchSampleOptions {
  uint64_t seed = 0;
  std::string device = "cpu";
  int fresh_inputs = 0;  // further files of inputs, of other seeds
  bool trust = false;
};

class BenchSample {
 public:
  // Files go to `folder`, which is there.
  static absl::StatusOr<std::unique_ptr<BenchSample>> Load(const std::string& path,
                                                           const std::string& folder,
                                                           const BenchSampleOptions& options);

  // What it is called in logs.
  const std::string& model() const { return model_; }
  AbInputs inputs();
  // For a worker that reads this form; an error says why the sample has none.
  absl::StatusOr<PrepareRequest> RequestFor(ProgramForm form);
  // For the worker of a backend: in the form that it reads, or rewritten (bench_rewrite.h).
  absl::StatusOr<PrepareRequest> RequestFor(const Backend& backend);
  // For graphnet's interpreter: the same on the same values, all floats being float64.
  absl::StatusOr<PrepareRequest> ReferenceRequest() const;

 private:
  BenchSample() = default;
  absl::Status Draw(const Sample& sample);
  absl::Status WriteInputs() const;
  absl::StatusOr<Sample> LoadDrawn() const;
  absl::StatusOr<PrepareRequest> RewrittenRequest(const Backend& backend) const;
  absl::StatusOr<WrittenNames> Specialize();
  absl::Status MakeFunctional();
  absl::Status WriteProgram(ProgramForm form);

  std::string path_;
  std::string folder_;
  BenchSampleOptions options_;
  std::string model_;
  Sample program_;
  std::optional<absl::StatusOr<WrittenNames>> specialized_;  // of program_, once it is
  absl::Status functional_;
  bool is_functional_ = false;
  std::vector<std::map<std::string, TensorData>> values_;  // a map a file
  std::vector<std::string> files_;
  std::string weights_;
  PrepareRequest request_;  // what all forms have in common
  std::array<std::optional<absl::Status>, kNumProgramForms> written_;
  std::vector<std::string> constants_;  // arguments of kMlir behind the inputs
};

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_BENCH_SAMPLE_H_
