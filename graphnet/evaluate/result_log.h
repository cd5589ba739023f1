// Where a benchmark puts what it finds, so that it can be stopped at any moment and go on: of each
// backend NAME.log, for people and `graphnet score`, and NAME.jsonl, an object a sample.
#ifndef GRAPHNET_EVALUATE_RESULT_LOG_H_
#define GRAPHNET_EVALUATE_RESULT_LOG_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graphnet/evaluate/ab_run.h"
#include "graphnet/evaluate/oracle.h"
#include "graphnet/evaluate/sample_result.h"

namespace graphnet {

// What the end of a benchmark tells of a sample.
struct ResultSummary {
  Outcome status = Outcome::kCorrect;
  bool is_right = false;  // at t = -5
  bool fluctuates = false;
  bool is_loaded = true;  // false: the sample could not be read at all
  double speedup = 0;
};

// The results of one backend. A sample's line in NAME.jsonl, which comes last, is what says that it
// is done: of what is in the files beyond the last whole one whose
// lines NAME.log has, nothing is taken.
class ResultLog {
 public:
  // Goes on with what is there. Not for two at once.
  static absl::StatusOr<std::unique_ptr<ResultLog>> Open(const std::string& folder,
                                                         const std::string& backend);
  ResultLog(const ResultLog&) = delete;
  ResultLog& operator=(const ResultLog&) = delete;
  ~ResultLog();

  bool Has(const std::string& path) const { return results_.contains(path); }
  const std::map<std::string, ResultSummary>& results() const { return results_; }
  const std::string& log_path() const { return log_path_; }

  // Both lines whole, or, if the disk is full, nothing.
  absl::Status Add(const SampleResult& result, const AbRun& ab_run,
                   const OracleFinding* oracle = nullptr);

 private:
  ResultLog() = default;
  absl::Status GoOn();

  std::string log_path_;
  std::string lines_path_;
  int log_ = -1;
  int lines_ = -1;
  int64_t log_bytes_ = 0;
  int64_t lines_bytes_ = 0;
  std::map<std::string, ResultSummary> results_;
};

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_RESULT_LOG_H_
