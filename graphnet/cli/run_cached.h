// `graphnet run --backend`: a TorchScript program, called again and again through captures of it
// whose subgraphs a backend runs.
#ifndef GRAPHNET_CLI_RUN_CACHED_H_
#define GRAPHNET_CLI_RUN_CACHED_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "graphnet/cli/engine.h"
#include "graphnet/cli/inputs.h"

namespace graphnet {

struct CachedRunFlags {
  std::string in;  // a TorchScript archive
  InputOptions inputs;
  std::string outputs;  // of the last call: a file, "-", or nowhere
  std::string backend;
  bool in_process = false;
  std::string cache;  // a folder that keeps what was compiled; empty: none
  int64_t cache_mib = 0;
  std::string cache_url;     // of a cache that is asked before something is compiled; empty: none
  std::string cache_digest;  // of its index
  uint64_t seed = 0;
  int calls = 1;
  bool check = false;
  bool trust = false;
  bool json = false;
};

// Prints what became of each call. Returns the exit code: 1 if a call was checked and is wrong.
absl::StatusOr<int> RunCached(const CachedRunFlags& options, const Engine& engine);

}  // namespace graphnet

#endif  // GRAPHNET_CLI_RUN_CACHED_H_
