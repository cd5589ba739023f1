// A folder that keeps what backends have compiled, for other processes and for later runs. An entry
// is found by all that it was made of, so that it never has to be invalidated.
//
//   FOLDER/entries/3f/3f0c…/entry.json   all that it was made of; size and SHA-256 of the other file
//   FOLDER/entries/3f/3f0c…/compiled     what the backend wrote; no pickles
//   FOLDER/locks/3f                      held by who compiles
//
// Entries appear whole or not at all. An entry that does not fit its size and digest, or that another
// user may have written, is not used.
#ifndef GRAPHNET_EVALUATE_COMPILE_CACHE_H_
#define GRAPHNET_EVALUATE_COMPILE_CACHE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace graphnet {

// Names and values of all that an entry depends on: {"backend", "openvino"}, {"program", digest}.
using CompileKey = std::vector<std::pair<std::string, std::string>>;

class CompileCache {
 public:
  struct Options {
    std::string folder;                     // made if it is missing, for its owner alone
    int64_t max_bytes = int64_t{10} << 30;  // the entries used longest ago go first
    // How long to wait for another process that compiles the same; then compile without the cache.
    absl::Duration patience = absl::Minutes(20);
    // Writes the compiled form of the entry of that name to a file, if somebody else has it; asked
    // before it is made here. Empty: nobody is asked.
    std::function<absl::Status(const std::string& name, const std::string& path)> fetch = nullptr;
  };
  // PermissionDenied if the folder belongs to another user or others may write to it.
  static absl::StatusOr<std::unique_ptr<CompileCache>> Open(Options options);

  // Calls `load` with the file of the entry, and returns true if it succeeds. Else calls `make`
  // with the path of a file to write, which becomes the entry if it is there afterwards; of several
  // processes that ask for one entry, one makes it and the others wait. Returns errors of `make`.
  absl::StatusOr<bool> LoadOrMake(const CompileKey& key,
                                  absl::FunctionRef<absl::Status(const std::string& path)> load,
                                  absl::FunctionRef<absl::Status(const std::string& path)> make);

 private:
  explicit CompileCache(Options options) : options_(std::move(options)) {}
  // NotFound unless there is an entry that can be used.
  absl::StatusOr<std::string> Find(const std::string& text, const std::string& folder) const;
  absl::Status Store(const std::string& text, const std::string& folder,
                     absl::FunctionRef<absl::Status(const std::string& path)> make);
  void Evict(const std::string& but) const;

  const Options options_;
};

// An entry of a cache, as it says of itself.
struct CacheEntry {
  std::string name;  // that it must have, by all that it was made of
  int64_t bytes = 0;
  std::string sha256;
};
// NotFound if the folder is no entry, or its file does not fit its size and digest.
absl::StatusOr<CacheEntry> DescribeCacheEntry(const std::string& folder);

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_COMPILE_CACHE_H_
