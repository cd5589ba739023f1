// DecomposeConfig: how to cut a graph and, once it is cut, the result. It is stored as the file
// decompose_config.json beside the pieces, or as a protobuf message (config.proto) with the same
// content.
//
//   {
//     "version": 2,
//     "mode": "positions",
//     "split_positions": [8],
//     "chain_style": true,
//     "group_head_and_tail": true,
//     "use_all_inputs": true,
//     "model_name": "resnet18",
//     "parent_hash": "<64 hexadecimal digits>",
//     "num_ops": 69,
//     "num_subgraphs": 2,
//     "subgraphs": [
//       {"name": "subgraph_0", "start": 0, "end": 8, "num_ops": 8, "inputs": ["x", "w"],
//        "drops": ["x"], "adds": ["y"]},
//       {"name": "subgraph_1", "start": 8, "end": 69, "num_ops": 61, "outputs": ["z"]}
//     ]
//   }
//
// In a chain a subgraph takes what the one before it returns, and most of these values only pass
// through. So only the differences are written: the inputs that it drops, and the values that it
// adds behind the others. The subgraphs of a DAG list inputs and outputs. PortNames yields the full
// lists of both styles.
//
// A file without the keys from "model_name" on requests a decomposition; a file with them replays
// one. docs/decompose.md has all keys.
#ifndef GRAPHNET_DECOMPOSE_CONFIG_H_
#define GRAPHNET_DECOMPOSE_CONFIG_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/decompose/range_decomposer.h"

namespace graphnet {

// How the ranges are chosen. The numbers are part of the protobuf form.
enum class DecomposeMode {
  kPositions = 1,  // split_positions: the ranges between these cuts
  kRanges,         // subgraph_ranges: exactly these ranges, and no pieces in the gaps
  kFixedSize,      // size: this number of operators in each piece
  kEqual,          // pieces: this number of pieces of equal size
  kSingleOp,       // one operator in each piece
  kBalanced,       // pieces: this number of pieces with the least traffic (balance.h)
  kBlocks,         // cuts at the borders of repeated blocks (blocks.h)
  kModulePath,     // depth: cuts by the first components of module paths (schemes.h)
  kValues,         // values: the operators between named values (schemes.h)
};
// Returns the name of a mode in a configuration: "positions", "ranges", "fixed_size", …
absl::string_view DecomposeModeName(DecomposeMode mode);
// Returns the mode of that name; nullopt if there is none.
std::optional<DecomposeMode> ParseDecomposeMode(absl::string_view name);

// Largest number of pieces and largest depth that a configuration may ask for.
inline constexpr int64_t kMaxNumber = 1000000;

// A range of operators that is given by the names of the values at its ends.
struct ValueRange {
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;

  friend bool operator==(const ValueRange& a, const ValueRange& b) = default;
};

// The record of one piece.
struct SubgraphConfig {
  std::string name;  // name of the piece's folder or file: "subgraph_0"
  Range range;
  // Names of values, in the order of the ports. In a chain only the first subgraph has
  // inputs and only the last has outputs; all but the last have drops and adds.
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<std::string> drops = {};  // in the order of the inputs
  std::vector<std::string> adds = {};

  friend bool operator==(const SubgraphConfig& a, const SubgraphConfig& b) = default;
};

// A request to cut a graph and, once is_done(), the record of what was cut.
struct DecomposeConfig {
  DecomposeMode mode = DecomposeMode::kEqual;
  // The argument of the mode; the fields of other modes stay empty.
  std::vector<int64_t> split_positions;
  std::vector<Range> subgraph_ranges;
  std::vector<ValueRange> values;
  int64_t number = 0;  // size, pieces or depth

  CutOptions cut;
  // True if the operators before the first range and after the last one become pieces, too, in the
  // modes positions, ranges and values.
  bool group_head_and_tail = true;

  // The result; empty in a request.
  std::string model_name;
  std::string parent_hash;  // CanonicalHash of the graph
  int64_t num_ops = 0;
  std::vector<SubgraphConfig> subgraphs;

  // Returns whether the configuration records a decomposition that was made.
  bool is_done() const { return !parent_hash.empty(); }
  friend bool operator==(const DecomposeConfig& a, const DecomposeConfig& b) = default;
};

// Yields the names of the ports of the subgraphs, one subgraph after the other.
//
//   PortNames ports(config);
//   for (const SubgraphConfig& subgraph : config.subgraphs) {
//     ports.Next();
//     … ports.inputs(), ports.outputs() …
//   }
class PortNames {
 public:
  explicit PortNames(const DecomposeConfig& config) : config_(config) {}

  // Goes to the next subgraph; the first call goes to the first one. There must be one.
  void Next();
  // The ports of the current subgraph; valid until Next.
  absl::Span<const absl::string_view> inputs() const { return inputs_; }
  absl::Span<const absl::string_view> outputs() const { return outputs_; }

 private:
  const DecomposeConfig& config_;
  size_t next_ = 0;
  std::vector<absl::string_view> inputs_;
  std::vector<absl::string_view> outputs_;
};

// Returns the key of the mode's argument in the JSON form: "split_positions", "size", …; empty if
// the mode takes none.
absl::string_view ModeKey(DecomposeMode mode);
// Returns the first requirement of both forms that the configuration breaks; empty if none.
std::string WhatIsWrong(const DecomposeConfig& config);

// Returns the JSON form. Equal configurations give equal text. Unimplemented for names that are
// not UTF-8.
absl::StatusOr<std::string> WriteDecomposeConfigJson(const DecomposeConfig& config);
// Parses the JSON form. InvalidArgument with file, line and column if the text is not JSON, and
// with file and path of keys if it is not a configuration: unknown, duplicate or missing keys,
// values of the wrong kind, counts that do not agree. `file_name` appears in messages only.
absl::StatusOr<DecomposeConfig> ParseDecomposeConfigJson(absl::string_view text,
                                                         absl::string_view file_name);

// Returns the protobuf form. Equal configurations give equal bytes.
std::string SerializeDecomposeConfig(const DecomposeConfig& config);
// Parses the protobuf form. InvalidArgument as ParseDecomposeConfigJson has it.
absl::StatusOr<DecomposeConfig> DeserializeDecomposeConfig(absl::string_view bytes,
                                                           absl::string_view file_name);

// Reads a file of either form, which it recognises by the first two bytes.
absl::StatusOr<DecomposeConfig> ReadDecomposeConfig(const std::string& path);

}  // namespace graphnet

#endif  // GRAPHNET_DECOMPOSE_CONFIG_H_
