// Stores the results of a benchmark so that it can be stopped at any moment and resumed. Each
// backend has NAME.log, for people and `graphnet score`, and NAME.jsonl, with one object for each
// sample.
#ifndef GRAPHNET_EVALUATE_RESULT_LOG_H_
#define GRAPHNET_EVALUATE_RESULT_LOG_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graphnet/evaluate/ab_run.h"
#include "graphnet/evaluate/oracle.h"
#include "graphnet/evaluate/sample_result.h"

namespace graphnet {

// The summary of a sample's result at the end of a benchmark.
struct ResultSummary {
  Outcome outcome = Outcome::kCorrect;  // SampleResult::Verdict
  bool fluctuates = false;
  bool is_loaded = true;  // false: the sample could not be read at all
  double speedup = 0;
  std::optional<RoundingVerdict> rounding;  // SampleRounding::verdict

  // By rounding if its verdict is known, else at t = -5.
  bool is_right() const {
    return rounding.has_value() ? IsExplained(*rounding) : outcome == Outcome::kCorrect;
  }
  // A wrong answer would be right, too.
  bool is_blind() const {
    return rounding.has_value() ? *rounding == RoundingVerdict::kBlind : outcome == Outcome::kBlind;
  }
};

// The results of one backend. A sample is done once its line is in NAME.jsonl, which is written
// last. Open removes everything after the last whole line of NAME.jsonl whose lines are also in
// NAME.log.
class ResultLog {
 public:
  // Opens the results and goes on after those that exist. Only one process may have them open.
  static absl::StatusOr<std::unique_ptr<ResultLog>> Open(const std::string& folder,
                                                         const std::string& backend);
  ResultLog(const ResultLog&) = delete;
  ResultLog& operator=(const ResultLog&) = delete;
  ~ResultLog();

  // True if the sample is done.
  bool Has(const std::string& path) const { return results_.contains(path); }
  // The results by the paths of the samples.
  const std::map<std::string, ResultSummary>& results() const { return results_; }
  const std::string& log_path() const { return log_path_; }

  // Appends a result to both files, or to neither if the disk is full.
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
