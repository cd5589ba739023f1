// A folder that keeps compiled programs for other processes and later runs. The key of an entry is
// everything that it was made from, so an entry never has to be invalidated.
//
//   FOLDER/entries/3f/3f0c…/entry.json   all that it was made of; size and SHA-256 of the other file
//   FOLDER/entries/3f/3f0c…/compiled     what the backend wrote; no pickles
//   FOLDER/locks/3f                      held by the process that compiles
//
// Entries appear whole or not at all. An entry whose size or digest is wrong, or that another user
// may have written, is not used.
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

// The names and values of everything that an entry depends on: {"backend", "openvino"}, {"program",
// digest}.
using CompileKey = std::vector<std::pair<std::string, std::string>>;

// A cache in a folder, which several processes may share.
class CompileCache {
 public:
  struct Options {
    std::string folder;                     // created if it is missing, for its owner alone
    int64_t max_bytes = int64_t{10} << 30;  // least recently used entries go first
    // The time to wait for another process that compiles the same; after it, the cache is not used.
    absl::Duration patience = absl::Minutes(20);
    // Writes the compiled form of the named entry to a file if another cache has it. Called before
    // the entry is compiled here; may be empty.
    std::function<absl::Status(const std::string& name, const std::string& path)> fetch = nullptr;
  };
  // Opens the cache, creating its folder if necessary. PermissionDenied if the folder belongs to
  // another user or others may write to it.
  static absl::StatusOr<std::unique_ptr<CompileCache>> Open(Options options);

  // Calls `load` with the file of the entry and returns true if it succeeds. Otherwise calls `make`
  // with the path of a file to write, or with "" if nothing can be stored, and returns false. The
  // file becomes the entry if it exists afterwards. If several processes ask for an entry, one
  // makes it and the others wait. Returns errors of `make`.
  absl::StatusOr<bool> LoadOrMake(const CompileKey& key,
                                  absl::FunctionRef<absl::Status(const std::string& path)> load,
                                  absl::FunctionRef<absl::Status(const std::string& path)> make);

 private:
  explicit CompileCache(Options options) : options_(std::move(options)) {}
  // Returns the compiled file of the entry. NotFound if there is no entry that can be used.
  absl::StatusOr<std::string> Find(const std::string& text, const std::string& folder) const;
  absl::Status Store(const std::string& text, const std::string& folder,
                     absl::FunctionRef<absl::Status(const std::string& path)> make);
  void Evict(const std::string& but) const;

  const Options options_;
};

// The description that an entry of a cache gives of itself.
struct CacheEntry {
  std::string name;  // the name that its key requires
  int64_t bytes = 0;
  std::string sha256;
};
// Reads an entry. NotFound if the folder is not an entry or its file has another size or digest.
absl::StatusOr<CacheEntry> DescribeCacheEntry(const std::string& folder);

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_COMPILE_CACHE_H_
