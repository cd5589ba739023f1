// CaptureCache: calls a module through captures of it.
//
//   CaptureCache cache(module, {}, {.compile = compile});   // compiled_subgraph.h
//   ASSIGN_OR_RETURN(c10::IValue y, cache.Call({x}));       // a miss: captured, compiled
//   ASSIGN_OR_RETURN(y, cache.Call({x}));                   // a hit
//
// The first capture whose guards hold replays a call. If there is none, the module is captured
// again and its subgraphs are compiled; beyond a limit of captures, it only runs.
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

// A module and the captures of it. Not thread-safe.
class CaptureCache {
 public:
  struct Options {
    size_t max_entries = 20;  // captures that are kept, at most
    // Compiles the subgraphs of captures. Null: the interpreter runs them.
    SubgraphCompiler compile = nullptr;
  };
  struct Counters {
    int64_t hits = 0;    // calls that a capture answered
    int64_t misses = 0;  // all others
    int64_t captures = 0;
    int64_t guard_failures = 0;  // captures that did not fit a call
    int64_t fallbacks = 0;       // calls beyond the limit of captures
    int64_t compilations = 0;    // subgraphs that the compiler accepted
    double compile_ms = 0;       // time in the compiler, refused subgraphs included
  };
  // A subgraph that the interpreter runs although there is a compiler, and why.
  struct Interpreted {
    std::string subgraph;  // "subgraph_0"
    std::string why;
  };

  explicit CaptureCache(torch::jit::Module module, CaptureOptions options = {});
  CaptureCache(torch::jit::Module module, CaptureOptions options, Options cache_options);

  // Returns the result of the module on `inputs`. Computes no gradients. Fails with errors of
  // capturing and of the program itself.
  absl::StatusOr<c10::IValue> Call(const std::vector<c10::IValue>& inputs);

  const Counters& counters() const { return counters_; }
  // The reasons why captures did not fit the last call, the latest last.
  const std::vector<std::string>& reasons() const { return reasons_; }
  size_t num_entries() const { return entries_.size(); }
  const Capture& entry(size_t i) const { return *entries_[i].capture; }
  const std::vector<Interpreted>& interpreted(size_t i) const { return entries_[i].interpreted; }

 private:
  // A compiled subgraph. Its attributes became constants, so it is valid only while they keep
  // their versions.
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
  // Forgets entries whose constants were written to: they can never fit again.
  void ForgetStale();
  // Sets the executables of `subgraphs`, which are those of the entry's capture.
  absl::Status CompileSubgraphs(Entry* entry, std::vector<StitchedProgram::Subgraph>* subgraphs);
  // Returns an equal compiled subgraph of an entry, or compiles it.
  absl::StatusOr<std::shared_ptr<const Compiled>> CompileSubgraph(
      const std::string& hash, std::vector<Compiled::Weight> weights, const Sample& sample);
  // Runs the entry's program; FailedPrecondition if a guard does not hold.
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
