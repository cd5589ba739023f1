// Decomposes a sample: chooses ranges as a configuration says, cuts them out, and completes the
// configuration, so that it records the result and can replay it.
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

// The pieces of a sample and the record of how they were cut.
struct Decomposition {
  DecomposeConfig config;      // is_done()
  std::vector<Sample> pieces;  // in the order of config.subgraphs
  // Remarks for a person, one line each: cuts that were moved, blocks and how often they
  // occur, values of unknown size.
  std::vector<std::string> notes;
};

// Cuts `sample` as `config` says. If the configuration is done, its ranges are used, and everything
// that it says of the sample and the pieces must hold.
//
// A cut that the configuration names (positions, ranges, values) is refused if it goes through a
// region. Other modes move such a cut to the end of the region (schemes.h).
//
// `observed` may be null. Its metas supply sizes for balancing and are written at ports (see
// CutRanges).
//
// Errors: those of the schemes and of CutRanges; FailedPrecondition if a done configuration belongs
// to another graph or does not agree with the pieces.
absl::StatusOr<Decomposition> Decompose(const Sample& sample, const DecomposeConfig& config,
                                        const ObservedValues* observed = nullptr);

// Writes the ports of the pieces into a configuration, which must list their ranges.
void RecordPorts(absl::Span<const Sample> pieces, DecomposeConfig* config);

// Returns the ranges that a configuration, done or not, asks for, without empty ones. Errors are
// those of the schemes. The sample must verify.
absl::StatusOr<std::vector<Range>> PlanRanges(const Sample& sample, const DecomposeConfig& config);

// Returns the traffic into each piece: the values that it takes from other pieces. A value that
// several pieces take counts for each. Inputs of the graph and attributes do not count.
std::vector<Traffic> PieceTraffic(const Module& original, const std::vector<Sample>& pieces);

}  // namespace graphnet

#endif  // GRAPHNET_DECOMPOSE_DECOMPOSER_H_
