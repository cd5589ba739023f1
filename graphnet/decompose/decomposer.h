// Decomposes a sample: chooses ranges as a configuration says, cuts them out, and
// completes the configuration, so that it describes and replays what was done.
//
//   DecomposeConfig config;
//   config.mode = DecomposeMode::kEqual;
//   config.number = 8;
//   ASSIGN_OR_RETURN(Decomposition made, Decompose(sample, config));
//   // made.pieces, made.config
#ifndef GRAPHNET_DECOMPOSE_DECOMPOSER_H_
#define GRAPHNET_DECOMPOSE_DECOMPOSER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graphnet/decompose/balance.h"
#include "graphnet/decompose/config.h"
#include "graphnet/ir/observed_values.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

struct Decomposition {
  DecomposeConfig config;  // is_done()
  std::vector<Sample> pieces;
  // What a person may want to know, a line each: cuts that were moved, blocks and
  // how often they occur, values of unknown size.
  std::vector<std::string> notes;
};

// Of a configuration that is done, the ranges are those it lists; what it says of
// the sample and the pieces must then hold.
//
// A cut that the configuration names (positions, ranges, values) is refused where it
// goes through a region; other modes move it behind (schemes.h).
//
// `observed` may be null: where to balance is decided by its metas, and ports say them (see
// CutRanges).
//
// Errors: those of the schemes and of CutRanges; FailedPrecondition if a done
// configuration is of another graph or says something else than comes of it.
absl::StatusOr<Decomposition> Decompose(const Sample& sample, const DecomposeConfig& config,
                                        const ObservedValues* observed = nullptr);

// Says in a configuration, which lists the ranges of these pieces, what their ports are.
void RecordPorts(absl::Span<const Sample> pieces, DecomposeConfig* config);

// The ranges that a configuration asks for, done or not, without empty ones. Errors of
// the schemes. The sample must verify.
absl::StatusOr<std::vector<Range>> PlanRanges(const Sample& sample, const DecomposeConfig& config);

// What goes between pieces: the values that pieces take and others return, each
// counted once for every piece that takes it; inputs of the graph and attributes do
// not count.
std::vector<Traffic> PieceTraffic(const Module& original, const std::vector<Sample>& pieces);

}  // namespace graphnet

#endif  // GRAPHNET_DECOMPOSE_DECOMPOSER_H_
