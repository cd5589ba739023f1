// DecomposeConfig: how a graph is to be cut and, once it is, what came of it. The
// file decompose_config.json beside the pieces; also a protobuf message (config.proto)
// with the same content.
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
// In a chain a subgraph takes what the one before returns, and most of that only passes
// through. So only the differences are said: what it drops of its inputs, and what it adds
// behind the others. Those of a DAG have inputs and outputs. PortNames knows all of them.
//
// A file without the keys from "model_name" on asks for a decomposition; one with
// them replays it. docs/decompose.md has all keys.
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
  kPositions = 1,  // split_positions: between these cuts
  kRanges,         // subgraph_ranges: these, and nothing in gaps between them
  kFixedSize,      // size: that many operators each
  kEqual,          // pieces: so many, of equal size
  kSingleOp,       // one operator each
  kBalanced,       // pieces: so many, with least traffic (balance.h)
  kBlocks,         // at the borders of repeated blocks (blocks.h)
  kModulePath,     // depth: by the first components of module paths (schemes.h)
  kValues,         // values: what lies between them (schemes.h)
};
// "positions", "ranges", "fixed_size", …
absl::string_view DecomposeModeName(DecomposeMode mode);
std::optional<DecomposeMode> ParseDecomposeMode(absl::string_view name);

// The most pieces or components of a path that a mode may ask for.
inline constexpr int64_t kMaxNumber = 1000000;

// From values to values, by name.
struct ValueRange {
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;

  friend bool operator==(const ValueRange& a, const ValueRange& b) = default;
};

struct SubgraphConfig {
  std::string name;  // of the piece's folder or file: "subgraph_0"
  Range range;
  // Names of values, in the order of the ports. Of a chain only the first subgraph has
  // inputs, only the last has outputs, and the others drop and add.
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<std::string> drops = {};  // in the order of the inputs
  std::vector<std::string> adds = {};

  friend bool operator==(const SubgraphConfig& a, const SubgraphConfig& b) = default;
};

struct DecomposeConfig {
  DecomposeMode mode = DecomposeMode::kEqual;
  // What the mode asks for; the others stay empty.
  std::vector<int64_t> split_positions;
  std::vector<Range> subgraph_ranges;
  std::vector<ValueRange> values;
  int64_t number = 0;  // size, pieces or depth

  CutOptions cut;
  // Whether the operators before the first and after the last range of the modes
  // positions, ranges and values become pieces, too.
  bool group_head_and_tail = true;

  // What came of it; empty before.
  std::string model_name;
  std::string parent_hash;  // CanonicalHash of the graph
  int64_t num_ops = 0;
  std::vector<SubgraphConfig> subgraphs;

  bool is_done() const { return !parent_hash.empty(); }
  friend bool operator==(const DecomposeConfig& a, const DecomposeConfig& b) = default;
};

// The names of the ports of the subgraphs, one subgraph after the other.
//
//   PortNames ports(config);
//   for (const SubgraphConfig& subgraph : config.subgraphs) {
//     ports.Next();
//     … ports.inputs(), ports.outputs() …
//   }
class PortNames {
 public:
  explicit PortNames(const DecomposeConfig& config) : config_(config) {}

  // Goes to the next subgraph, the first to begin with. There must be one.
  void Next();
  // Of the subgraph that it is at; valid until Next.
  absl::Span<const absl::string_view> inputs() const { return inputs_; }
  absl::Span<const absl::string_view> outputs() const { return outputs_; }

 private:
  const DecomposeConfig& config_;
  size_t next_ = 0;
  std::vector<absl::string_view> inputs_;
  std::vector<absl::string_view> outputs_;
};

// The key of the JSON form that the mode takes: "split_positions", "size", …; empty if
// none.
absl::string_view ModeKey(DecomposeMode mode);
// What either form has to hold and this one does not; empty if nothing.
std::string WhatIsWrong(const DecomposeConfig& config);

// Equal configurations give equal text. Unimplemented for names that are not UTF-8.
absl::StatusOr<std::string> WriteDecomposeConfigJson(const DecomposeConfig& config);
// InvalidArgument with file, line and column for what is no JSON, with file and the keys
// that lead there for what is no such text: unknown, double or missing keys, values of
// another kind, counts that do not agree. `file_name` serves messages.
absl::StatusOr<DecomposeConfig> ParseDecomposeConfigJson(absl::string_view text,
                                                         absl::string_view file_name);

// The protobuf form. Equal configurations give equal bytes.
std::string SerializeDecomposeConfig(const DecomposeConfig& config);
absl::StatusOr<DecomposeConfig> DeserializeDecomposeConfig(absl::string_view bytes,
                                                           absl::string_view file_name);

// Of either form, told apart by the first byte.
absl::StatusOr<DecomposeConfig> ReadDecomposeConfig(const std::string& path);

}  // namespace graphnet

#endif  // GRAPHNET_DECOMPOSE_CONFIG_H_
