// GraphNet's files of ranges of operators, as its scripts hand them to each other.
//
//   subgraph_ranges.json      of one sample: {"subgraph_ranges": [[0, 8], [8, 20]], …}; of many: an
//                             object with the path of each and such an object
//   split_results.json        of many: {"timm/resnet18": {"split_positions": [8], …}, …}
//   cumsum_num_kernels.json   of one sample: {"num_subgraph_ops": [1, 2], "num_subgraph_kernels":
//                             [1, 1], "start_offset_in_original_graph": 0}
//
// Beside these keys there are "model_name" and "total_length", the number of operators.
#ifndef GRAPHNET_DECOMPOSE_RANGES_FILE_H_
#define GRAPHNET_DECOMPOSE_RANGES_FILE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/decompose/range_decomposer.h"

namespace graphnet {

// How many kernels the first operators of a sample take: prefix i has operators[i] operators, more
// than the prefix before it, and kernels[i] kernels.
struct KernelCounts {
  std::vector<int64_t> operators;
  std::vector<int64_t> kernels;
  int64_t first_operator = 0;  // in the original graph

  friend bool operator==(const KernelCounts& a, const KernelCounts& b) = default;
};

// Returns the ranges of at least two operators that are one kernel: the first of them adds a kernel,
// and the others add none that stays. A kernel that longer prefixes lack does not count.
std::vector<Range> FusedRanges(const KernelCounts& counts);

// Ranges of the operators of one sample.
struct SampleRanges {
  std::string model_name;
  std::vector<Range> ranges;
  int64_t total_length = 0;
  std::optional<KernelCounts> kernels = std::nullopt;  // that the ranges were found by
};
// By the path of the sample.
using RangesOfSamples = std::map<std::string, SampleRanges>;

// Writes FOLDER/PATH/subgraph_ranges.json for each sample, and subgraph_ranges.json and
// split_results.json of all in FOLDER. Split positions are the ends of the ranges. If its kernels are
// known, FOLDER/PATH/cumsum_num_kernels.json, too.
absl::Status WriteRanges(const RangesOfSamples& samples, const std::string& folder);

// What decompose --ranges reads: one of the files, or a folder as WriteRanges makes it. Counts of
// kernels are read as the ranges of one kernel.
class RangesFile {
 public:
  // InvalidArgument, with the name of the file, if it has another form, or if a range is empty, runs
  // backwards or begins before 0. Files below a folder are read by Of.
  static absl::StatusOr<RangesFile> Open(const std::string& path);

  // Returns the ranges of the sample at this path below what was given (NamedInput::name in
  // command/inputs.h). A file of one sample has them for all. Positions become the ranges between them,
  // from the first operator to the last, of which there are `num_operators`. NotFound if there is
  // nothing of the sample.
  absl::StatusOr<std::vector<Range>> Of(const std::string& name, int64_t num_operators) const;

 private:
  struct Entry {
    std::vector<Range> ranges;
    std::optional<std::vector<int64_t>> positions;
  };
  static absl::StatusOr<Entry> ReadEntry(absl::string_view text, const std::string& file);

  std::string path_;
  bool is_folder_ = false;
  std::optional<Entry> of_all_;
  std::map<std::string, Entry> of_sample_;
};

// Return and read the text of cumsum_num_kernels.json. InvalidArgument, with the name of the file, if it
// has another form or its prefixes do not grow.
std::string KernelCountsText(const KernelCounts& counts);
absl::StatusOr<KernelCounts> ParseKernelCounts(absl::string_view text, absl::string_view file);

}  // namespace graphnet

#endif  // GRAPHNET_DECOMPOSE_RANGES_FILE_H_
