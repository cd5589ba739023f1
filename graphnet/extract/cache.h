// CaptureCache: calls a module through captures of it.
//
// A call is replayed by the first capture whose guards hold; if there is none, the
// module is captured again, up to a limit; then it simply runs.
#ifndef GRAPHNET_EXTRACT_CACHE_H_
#define GRAPHNET_EXTRACT_CACHE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ATen/core/ivalue.h"
#include "absl/status/statusor.h"
#include "graphnet/extract/capture.h"
#include "graphnet/extract/stitched.h"

namespace graphnet {

class CaptureCache {
 public:
  struct Counters {
    int64_t hits = 0;    // calls that a capture has answered
    int64_t misses = 0;  // all others
    int64_t captures = 0;
    int64_t guard_failures = 0;  // captures that did not fit a call
    int64_t fallbacks = 0;       // calls whose capture was not kept: there were enough
  };

  explicit CaptureCache(torch::jit::Module module, CaptureOptions options = {},
                        size_t max_entries = 20);

  // What the module yields. No gradients are computed. Errors of capturing and of the
  // program itself.
  absl::StatusOr<c10::IValue> Call(const std::vector<c10::IValue>& inputs);

  const Counters& counters() const { return counters_; }
  // Why captures did not fit, the latest last; those of the last call.
  const std::vector<std::string>& reasons() const { return reasons_; }
  size_t num_entries() const { return entries_.size(); }
  const Capture& entry(size_t i) const { return *entries_[i].capture; }

 private:
  struct Entry {
    std::unique_ptr<Capture> capture;
    std::unique_ptr<StitchedProgram> program;
  };
  static absl::Status CheckAttributes(const Capture& capture);
  // FailedPrecondition if a guard of the entry does not hold.
  absl::StatusOr<c10::IValue> Replay(const Entry& entry,
                                     const std::vector<c10::IValue>& inputs) const;

  torch::jit::Module module_;
  CaptureOptions options_;
  const size_t max_entries_;
  std::vector<Entry> entries_;
  Counters counters_;
  std::vector<std::string> reasons_;
};

}  // namespace graphnet

#endif  // GRAPHNET_EXTRACT_CACHE_H_
