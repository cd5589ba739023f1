// What kinds of damage are made of (mutations.h).
#ifndef TESTS_VALIDATE_DAMAGE_H_
#define TESTS_VALIDATE_DAMAGE_H_

#include <cstddef>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "graphnet/decompose/decomposer.h"
#include "graphnet/ir/graph.h"
#include "graphnet/ir/sample.h"
#include "tests/validate/mutations.h"

namespace graphnet {

using Random = std::mt19937_64;

inline size_t Below(Random& random, size_t n) { return static_cast<size_t>(random() % n); }

template <typename T>
const T& Any(Random& random, const std::vector<T>& of) {
  return of[Below(random, of.size())];
}

template <typename T>
void Erase(std::vector<T>* from, size_t i) {
  from->erase(from->begin() + static_cast<ptrdiff_t>(i));
}

Sample CopySample(const Sample& sample);

inline Graph* GraphOf(Decomposition* made, size_t i) { return made->pieces[i].module->main(); }

// Damage that is done to the pieces in memory.
inline MutationKind OnPieces(
    const std::string& name,
    std::function<Damage(Random&, const Decomposition&, Decomposition*)> change) {
  return {name, std::move(change), nullptr};
}

// The kinds of damage, in the order in which they are tried.
std::vector<MutationKind> PieceDamage();
std::vector<MutationKind> OperatorDamage();
std::vector<MutationKind> PortDamage();
std::vector<MutationKind> RecordDamage();
std::vector<MutationKind> ConfigurationDamage();
std::vector<MutationKind> FileDamage();

// The kind that makes a chain of a DAG in the configuration, or the reverse.
inline constexpr char kStyleKind[] = "configuration: style";

}  // namespace graphnet

#endif  // TESTS_VALIDATE_DAMAGE_H_
