// Finds out why samples of a benchmark fail, and groups them by cause. A failing sample is reduced (reduce.h)
// to the smallest one that a backend fails on in the same way. Samples have one cause if the backend, the way to
// fail, and the operators and dtypes of their smallest samples are the same.
#ifndef GRAPHNET_EVALUATE_BENCH_LOCATE_H_
#define GRAPHNET_EVALUATE_BENCH_LOCATE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graphnet/base/report.h"
#include "graphnet/evaluate/bench.h"

namespace graphnet {

struct Cause {
  std::string backend;
  std::string log;                   // the name of its log in the folder
  std::string failure;               // DescribeFailure of its kind: "compile_fail: no kernel for #"
  std::string operators;             // of the smallest sample, in order: "aten.gelu, aten.mm"
  std::string dtypes;                // of its inputs: "f32, i64"
  std::vector<std::string> samples;  // paths
  int64_t size = 0;                  // operators of the smallest sample
  std::string reduced;               // the file of the smallest sample
  std::string test;                  // CausePython's file; empty if there is none
  std::string why_no_test;

  bool IsLike(const Cause& other) const {
    return backend == other.backend && failure == other.failure && operators == other.operators &&
           dtypes == other.dtypes;
  }
};

struct Causes {
  std::vector<Cause> causes;
  // Samples whose cause was not found: the backend, the path, and why.
  struct Unknown {
    std::string backend;
    std::string path;
    std::string why;
  };
  std::vector<Unknown> unknown;
};

// Reads the causes of a benchmark's folder; none if there are none yet. InvalidArgument if its file is not one
// that this version writes.
absl::StatusOr<Causes> ReadCauses(const std::string& folder);

// Locates the failures that the folder of `run` has no cause for yet, and writes its causes: causes.json, and
// for each one a folder causes/N with the smallest sample and a test. Takes at most `seconds` for each sample and
// one comparison beyond. `say` gets a line for each.
absl::StatusOr<Causes> LocateCauses(const BenchRun& run, const BenchResults& results,
                                    double seconds,
                                    const std::function<void(const std::string& line)>& say);

// Reports "14 samples fail for 3 causes", and the causes.
Report ReportOf(const Causes& causes);

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_BENCH_LOCATE_H_
