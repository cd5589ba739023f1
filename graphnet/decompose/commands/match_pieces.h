// `graphnet subgraph --match`: the calls of many samples that match a query, each kind of them as a
// sample.
#ifndef GRAPHNET_DECOMPOSE_COMMANDS_MATCH_PIECES_H_
#define GRAPHNET_DECOMPOSE_COMMANDS_MATCH_PIECES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graphnet/command/command.h"
#include "graphnet/command/inputs.h"
#include "graphnet/command/save.h"
#include "graphnet/decompose/commands/ports.h"
#include "graphnet/passes/call_query.h"

namespace graphnet {

struct MatchOptions {
  Output out;  // the folder for all pieces; without a path nothing is written
  PortOptions ports;
  int jobs = 0;  // samples at once; 0: one per CPU
  bool trust = false;
};

// Cuts the calls of each match out of each input, as GatherNodes (decompose/gather.h) and CutRanges
// (decompose/range_decomposer.h) do. Of pieces with one CanonicalHash, with metas, the first in the
// order of the inputs is written, as OUT/NAME/match_K for the K-th match of the sample NAME, in the
// format of --to or else as a folder if the sample is one, as protobuf if it is not. Beside it are its
// sources (decompose/sources.h): for each match, the range of the operators from the first to the last
// of them. OUT appears whole or not at all.
//
// Matches in bodies, and those that cannot be cut out, are counted by cause. A sample that cannot be
// read does not end the others. The exit code is 1 if nothing matches. InvalidArgument if two inputs
// have one name; AlreadyExists if OUT is there and is not empty.
absl::StatusOr<CommandResult> CutMatches(const CallQuery& query,
                                         const std::vector<NamedInput>& inputs,
                                         const MatchOptions& options);

}  // namespace graphnet

#endif  // GRAPHNET_DECOMPOSE_COMMANDS_MATCH_PIECES_H_
