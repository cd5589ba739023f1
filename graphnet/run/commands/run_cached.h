// `graphnet run --backend`: calls a TorchScript program several times through its captures, whose
// subgraphs a backend runs.
#ifndef GRAPHNET_RUN_COMMANDS_RUN_CACHED_H_
#define GRAPHNET_RUN_COMMANDS_RUN_CACHED_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "graphnet/evaluate/input_values.h"
#include "graphnet/run/engine.h"

namespace graphnet {

// The options of `run` that count with --backend.
struct CachedRunFlags {
  std::string in;  // the one sample; here a TorchScript archive
  InputOptions inputs;
  std::string outputs;  // of the last call: a file or "-"; empty: not written
  std::string backend;
  std::string cache;  // folder of compiled subgraphs; empty: none
  int64_t cache_mib = 10240;
  std::string cache_url;     // remote cache to look in before compiling; empty: none
  std::string cache_digest;  // of the remote cache's index
  uint64_t seed = 0;
  int repeat = 1;  // calls
  bool check = false;
  bool trust = false;
};

// Returns the result of each call. The exit code is 1 if a check found a wrong call.
absl::StatusOr<CommandResult> RunCached(const CachedRunFlags& options, const Engine& engine);

}  // namespace graphnet

#endif  // GRAPHNET_RUN_COMMANDS_RUN_CACHED_H_
