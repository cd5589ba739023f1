// Compares two logs of one compiler, an earlier and a later one: which samples got faster or slower,
// which are no longer right and which are now.
//
//   ASSIGN_OR_RETURN(const Log before, ReadLog("before.log", {.jobs = 2}));
//   ASSIGN_OR_RETURN(const Log now, ReadLog("now.log", {.jobs = 2}));
//   const LogChange change = CompareLogs(before, now);
//   if (!Passes(change, /*min_speedup=*/0.95)) …
#ifndef GRAPHNET_EVALUATE_LOG_CHANGE_H_
#define GRAPHNET_EVALUATE_LOG_CHANGE_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "graphnet/base/report.h"
#include "graphnet/evaluate/log.h"
#include "graphnet/evaluate/sample_result.h"
#include "graphnet/evaluate/score.h"

namespace graphnet {

// A factor, and the interval that holds it in 95 % of cases. Both ends are equal if it is unknown.
struct Factor {
  double value = 1;
  Interval interval = {1, 1};
};

// A sample that is right at t = -5 in both logs.
struct SpeedChange {
  std::string path;
  double before = 0;  // speedup over eager
  double now = 0;
  Factor factor;  // now over before; its interval is as wide as those of both logs allow
};

// A sample that is right at t = -5 in one of the logs.
struct VerdictChange {
  std::string path;
  Outcome outcome = Outcome::kAccuracy;  // in the other log
  std::string reason;                    // there; may be empty
};

// How a later log differs from an earlier one. Each list is in the order of the later log, but those
// of speeds begin with the largest change.
struct LogChange {
  std::string before;  // the files
  std::string now;
  size_t in_both = 0;         // samples
  size_t right_in_both = 0;   // at t = -5, as everywhere here
  size_t as_fast = 0;         // of those right in both: the change is within the spread
  size_t without_spread = 0;  // of those right in both: a log does not say how far its times vary
  std::vector<SpeedChange> faster;  // beyond the spread: the interval of the factor excludes 1
  std::vector<SpeedChange> slower;
  std::vector<SpeedChange> speeds;  // all that are right in both and have a spread
  std::vector<VerdictChange> broke;
  std::vector<VerdictChange> mended;
  std::vector<std::string> only_before;  // paths
  std::vector<std::string> only_now;
  // The geometric mean of the factors of all samples right in both, and its interval if samples are
  // drawn anew and their times vary; nullopt if there is none.
  std::optional<Factor> overall;
  // Names the settings that both have with other values, as "trials: 5, then 20".
  std::vector<std::string> other_config;
};

LogChange CompareLogs(const Log& before, const Log& now);

// Returns whether both are logs of one compiler, as far as they say.
bool AreOfOneCompiler(const Log& before, const Log& now);

// Returns false if a sample broke, or if a sample, or all together, are certainly less than
// `min_speedup` times as fast as before: the whole interval is below it.
bool Passes(const LogChange& change, double min_speedup);

// Returns what changed, for people and as JSON: before, now, in_both, right_in_both, speedup,
// speedup_95, as_fast, without_spread, and lists faster, slower, broke, mended, only_before, only_now.
Report ReportOf(const LogChange& change);

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_LOG_CHANGE_H_
