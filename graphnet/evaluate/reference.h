// The results of a benchmark as a folder that can be copied, so that another machine, library version
// or number of threads is compared with them:
//
//   ASSIGN_OR_RETURN(const Reference reference, Reference::Read("ref"));
//   const ReferenceSample* const known = reference.Find("samples/resnet.pb", "resnet");
//   ASSIGN_OR_RETURN(const Outputs expected, reference.OutputsOf(*known));
//
// docs/evaluation_reference.md has the format.
#ifndef GRAPHNET_EVALUATE_REFERENCE_H_
#define GRAPHNET_EVALUATE_REFERENCE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/evaluate/ab_run.h"
#include "graphnet/evaluate/compare_outputs.h"

namespace graphnet {

// The version of the format. Newer ones are refused.
inline constexpr int kReferenceVersion = 1;

// Tells a sample from others by canonical hashes (ir/canonical_hash.h).
struct SampleDigests {
  std::string graph;
  std::string values;  // of the graph with all its weights and inputs
};

// The eager side of one sample.
struct ReferenceSample {
  std::string path;  // where it was recorded
  std::string name;  // its path below the folder that was given there
  SampleDigests digests;
  bool is_scaled = false;  // weights were drawn so that outputs neither vanish nor explode
  std::string failure;     // why there are no outputs; empty if there are
  // The times of the eager side, measured in turns with each backend, by the names of its logs.
  std::map<std::string, EagerTimes> eager;
};

// Says with what a benchmark was recorded, by "graphnet", "hardware" and the like.
using ReferenceEnvironment = std::map<std::string, std::string>;

// Writes a reference. Its functions may be called by several threads.
class ReferenceWriter {
 public:
  // Writes into `folder`, which exists and is empty.
  explicit ReferenceWriter(std::string folder) : folder_(std::move(folder)) {}

  // Adds a sample, and its outputs unless it has failed.
  absl::Status Add(const ReferenceSample& sample, const Outputs& outputs);
  // Adds the settings and logs of a benchmark, which `bench_folder` has, and the digests of all files.
  absl::Status Finish(const std::string& bench_folder, const std::vector<std::string>& backends,
                      const ReferenceEnvironment& environment);

 private:
  absl::Status AddFile(const std::string& name);

  const std::string folder_;
  std::mutex mutex_;
  std::vector<ReferenceSample> samples_;
  std::map<std::string, std::pair<uint64_t, std::string>> files_;  // size and SHA-256 by name
};

// A reference that was read.
class Reference {
 public:
  // Reads a folder. NotFound if there is no reference, InvalidArgument for one that is not whole or
  // of a newer version. The outputs are checked when they are read.
  static absl::StatusOr<Reference> Read(const std::string& folder);

  const std::string& folder() const { return folder_; }
  const std::vector<ReferenceSample>& samples() const { return samples_; }
  const ReferenceEnvironment& environment() const { return environment_; }
  // Returns the sample of this name; of several, the one of this path. Null if there is none.
  const ReferenceSample* Find(absl::string_view path, absl::string_view name) const;
  // Returns the log of a backend, by the name of its logs; empty if it was not recorded.
  std::string LogOf(const std::string& backend) const;
  // Returns InvalidArgument if these are the digests of another sample, or of other weights.
  static absl::Status CheckSame(const ReferenceSample& sample, const SampleDigests& now);
  // Returns the outputs of the eager side, which has not failed. InvalidArgument if the file has been
  // changed.
  absl::StatusOr<Outputs> OutputsOf(const ReferenceSample& sample) const;

 private:
  absl::Status CheckFile(const std::string& name, bool whole) const;

  std::string folder_;
  ReferenceEnvironment environment_;
  std::vector<ReferenceSample> samples_;
  std::map<std::string, std::pair<uint64_t, std::string>> files_;
};

// Returns the eager times that were measured with a backend, or with the first one if there are none.
EagerTimes EagerTimesOf(const ReferenceSample& sample, const std::string& backend);

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_REFERENCE_H_
