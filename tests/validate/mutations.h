// Damages decompositions in many ways and checks whether the validator notices.
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
  std::string what;  // empty: not possible in this decomposition
  int piece = -1;    // -1: not in a single piece
};

// A kind of damage. Exactly one of `in_memory` and `on_disk` is set.
struct MutationKind {
  std::string name;
  // `other` is a decomposition of another model, or empty.
  std::function<Damage(std::mt19937_64& random, const Decomposition& other, Decomposition* made)>
      in_memory;
  std::function<Damage(std::mt19937_64& random, const std::string& folder)> on_disk;
};
const std::vector<MutationKind>& MutationKinds();

struct MutationTotal {
  int64_t applied = 0;  // damage with an effect on the decomposition that is read
  int64_t detected = 0;
  int64_t placed = 0;     // a finding names the piece or a neighbour
  int64_t no_effect = 0;  // the same is read, as after a flipped byte in a comment
};

// Applies each kind once to a decomposition of `original` and validates the result, through files
// below `scratch`. Adds to `totals`, by kind; damage that was missed goes into `misses`.
void TryMutations(const Sample& original, const DecomposeConfig& config,
                  const DecompositionFolderOptions& folder, const Decomposition& other,
                  uint64_t seed, const std::string& scratch,
                  std::map<std::string, MutationTotal>* totals, std::vector<std::string>* misses);

std::string MutationTable(const std::map<std::string, MutationTotal>& totals);

}  // namespace graphnet

#endif  // TESTS_VALIDATE_MUTATIONS_H_
