// A folder of compiled programs (compile_cache.h) that a web server offers for reading. They are
// code, so the user supplies the digest of the index, and the index holds the digest of each entry.
//
//   URL/index.json                   {"version": 1, "entries": {NAME: {"bytes", "sha256"}}}
//   URL/entries/3f/3f0c…/compiled    as in the folder
#ifndef GRAPHNET_EVALUATE_REMOTE_CACHE_H_
#define GRAPHNET_EVALUATE_REMOTE_CACHE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "graphnet/evaluate/scratch_folder.h"
#include "graphnet/evaluate/worker_process.h"

namespace graphnet {

// The client of such a server. Not thread-safe.
class RemoteCache {
 public:
  struct Options {
    std::string url;                             // "http://host/folder" or https
    std::string digest;                          // SHA-256 of the index, 64 hexadecimal digits
    std::string python;                          // the Python 3 that fetches
    absl::Duration patience = absl::Minutes(2);  // for each file
    // Receives one line if the server fails, which is not contacted again, or if an entry is wrong.
    std::function<void(const std::string&)> note;
  };
  // Fetches the index. InvalidArgument if the URL or the digest is malformed; FailedPrecondition if
  // the index has another digest or cannot be read. If the server cannot be reached, `note` is
  // called and the cache is empty.
  static absl::StatusOr<std::unique_ptr<RemoteCache>> Open(Options options);

  // Writes the compiled form of the entry `name` to the file `path`. NotFound if it is not in the
  // index; DataLoss if the server sends other bytes than the index describes; Unavailable if it
  // fails.
  absl::Status Fetch(const std::string& name, const std::string& path);

 private:
  struct Entry {
    int64_t bytes;
    std::string sha256;
  };
  explicit RemoteCache(Options options) : options_(std::move(options)) {}
  absl::Status Download(const std::string& url, const std::string& path, int64_t max_bytes);
  absl::Status ReadIndex(const std::string& text);

  const Options options_;
  std::unique_ptr<ScratchFolder> folder_;
  std::unique_ptr<WorkerProcess> process_;  // null once the server has failed
  std::map<std::string, Entry> entries_;
};

// Writes index.json for the entries of the cache in `folder` and returns its SHA-256. Damaged
// entries are left out. NotFound if there is no cache in the folder.
absl::StatusOr<std::string> WriteCacheIndex(const std::string& folder);

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_REMOTE_CACHE_H_
