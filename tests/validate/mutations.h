// Kinds of damage to a decomposition, and whether the validator sees them.
#ifndef TESTS_VALIDATE_MUTATIONS_H_
#define TESTS_VALIDATE_MUTATIONS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "graphnet/decompose/decomposer.h"
#include "graphnet/decompose/folder.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

struct Damage {
  std::string what;  // empty: not possible here
  int piece = -1;    // -1: not one piece's
};

// One of `in_memory` and `on_disk` is set.
struct MutationKind {
  std::string name;
  // `other` is a decomposition of another model, or empty.
  std::function<Damage(std::mt19937_64& random, const Decomposition& other, Decomposition* made)>
      in_memory;
  std::function<Damage(std::mt19937_64& random, const std::string& folder)> on_disk;
};
const std::vector<MutationKind>& MutationKinds();

struct MutationTotal {
  int64_t applied = 0;  // with an effect on what is read
  int64_t detected = 0;
  int64_t placed = 0;     // by a finding that names the piece or one beside it
  int64_t no_effect = 0;  // what is read is the same, as of a flipped byte in a comment
};

// Applies every kind once to a decomposition of `original` and validates what comes of
// it, through files below `scratch`. Adds to `totals`, by kind; what was missed goes
// into `misses`.
void TryMutations(const Sample& original, const DecomposeConfig& config,
                  const DecompositionFolderOptions& folder, const Decomposition& other,
                  uint64_t seed, const std::string& scratch,
                  std::map<std::string, MutationTotal>* totals, std::vector<std::string>* misses);

std::string MutationTable(const std::map<std::string, MutationTotal>& totals);

}  // namespace graphnet

#endif  // TESTS_VALIDATE_MUTATIONS_H_
