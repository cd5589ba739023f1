// CaptureCache: calls a module through captures of it.
//
//   CaptureCache cache(module, {}, {.compile = compile});   // compiled_subgraph.h
//   ASSIGN_OR_RETURN(c10::IValue y, cache.Call({x}));       // a miss: captured, compiled
//   ASSIGN_OR_RETURN(y, cache.Call({x}));                   // a hit
//
// A call is replayed by the first capture whose guards hold. If there is none, the module is
// captured again, up to a limit, and its subgraphs are compiled; beyond the limit it simply runs.
#ifndef GRAPHNET_EXTRACT_CACHE_H_
#define GRAPHNET_EXTRACT_CACHE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ATen/core/ivalue.h"
#include "absl/status/statusor.h"
#include "graphnet/extract/capture.h"
#include "graphnet/extract/compiled_subgraph.h"
#include "graphnet/extract/stitched.h"

namespace graphnet {

class CaptureCache {
 public:
  struct Options {
    size_t max_entries = 20;
    // Compiles the subgraphs of captures. Null: the interpreter runs them.
    SubgraphCompiler compile = nullptr;
  };
  struct Counters {
    int64_t hits = 0;    // calls that a capture has answered
    int64_t misses = 0;  // all others
    int64_t captures = 0;
    int64_t guard_failures = 0;  // captures that did not fit a call
    int64_t fallbacks = 0;       // calls whose capture was not kept: there were enough
    int64_t compilations = 0;    // subgraphs that the compiler has taken
    double compile_ms = 0;       // the time that it took, also for those that it refused
  };
  // A subgraph that the interpreter runs though there is a compiler, and why.
  struct Interpreted {
    std::string subgraph;  // "subgraph_0"
    std::string why;
  };

  explicit CaptureCache(torch::jit::Module module, CaptureOptions options = {});
  CaptureCache(torch::jit::Module module, CaptureOptions options, Options cache_options);

  // What the module yields. No gradients are computed. Errors of capturing and of the
  // program itself.
  absl::StatusOr<c10::IValue> Call(const std::vector<c10::IValue>& inputs);

  const Counters& counters() const { return counters_; }
  // Why captures did not fit, the latest last; those of the last call.
  const std::vector<std::string>& reasons() const { return reasons_; }
  size_t num_entries() const { return entries_.size(); }
  const Capture& entry(size_t i) const { return *entries_[i].capture; }
  const std::vector<Interpreted>& interpreted(size_t i) const { return entries_[i].interpreted; }

 private:
  // A subgraph as it was compiled. Its attributes became constants, so it holds while these have
  // the versions that they had.
  struct Compiled {
    struct Weight {
      std::string name;
      at::Tensor tensor;
      uint32_t version;
    };
    std::string hash;  // of the subgraph
    std::vector<Weight> weights;
    std::shared_ptr<Executable> executable;
  };
  struct Entry {
    std::unique_ptr<Capture> capture;
    std::unique_ptr<StitchedProgram> program;
    std::vector<std::shared_ptr<const Compiled>> compiled;
    std::vector<Interpreted> interpreted;
  };

  static absl::Status CheckAttributes(const Capture& capture);
  // Forgets entries with constants that were written to, which never fit again.
  void ForgetStale();
  // Sets executables of `subgraphs`, those of the entry's capture.
  absl::Status CompileSubgraphs(Entry* entry, std::vector<StitchedProgram::Subgraph>* subgraphs);
  // One that there is already, or a new one.
  absl::StatusOr<std::shared_ptr<const Compiled>> CompileSubgraph(
      const std::string& hash, std::vector<Compiled::Weight> weights, const Sample& sample);
  // FailedPrecondition if a guard of the entry does not hold.
  absl::StatusOr<c10::IValue> Replay(const Entry& entry,
                                     const std::vector<c10::IValue>& inputs) const;

  torch::jit::Module module_;
  CaptureOptions options_;
  const Options cache_options_;
  std::vector<Entry> entries_;
  Counters counters_;
  std::vector<std::string> reasons_;
};

}  // namespace graphnet

#endif  // GRAPHNET_EXTRACT_CACHE_H_
