#include "tests/validate/mutations.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graphnet/base/file.h"
#include "graphnet/decompose/folder.h"
#include "graphnet/ir/text/equality.h"
#include "graphnet/validate/folder.h"
#include "tests/validate/damage.h"

namespace graphnet {

namespace {

Decomposition CopyOf(const Decomposition& made) {
  Decomposition copy;
  copy.config = made.config;
  for (const Sample& piece : made.pieces) copy.pieces.push_back(CopySample(piece));
  return copy;
}

std::vector<MutationKind> MakeKinds() {
  std::vector<MutationKind> kinds;
  for (const auto make :
       {PieceDamage, OperatorDamage, PortDamage, RecordDamage, ConfigurationDamage, FileDamage}) {
    for (MutationKind& kind : make()) kinds.push_back(std::move(kind));
  }
  return kinds;
}

// The content of a decomposition, by which it is seen whether damage has an effect.
struct Read {
  DecompositionFiles files;
  absl::StatusOr<DecomposeConfig> config = absl::NotFoundError("none");
  std::vector<absl::StatusOr<Sample>> pieces;
};

absl::StatusOr<Read> ReadAll(const std::string& folder) {
  Read read;
  absl::StatusOr<DecompositionFiles> files = FindDecomposition(folder);
  if (!files.ok()) return files.status();
  read.files = *files;
  if (!files->config.empty()) read.config = ReadDecomposeConfig(files->config);
  for (const auto& [number, name] : files->pieces) {
    read.pieces.push_back(ReadPiece(JoinPath(files->folder, name), /*with_weights=*/true));
  }
  return read;
}

bool SameWeights(const Sample& a, const Sample& b) {
  return std::equal(a.weights.begin(), a.weights.end(), b.weights.begin(), b.weights.end(),
                    [](const auto& x, const auto& y) {
                      return x.first == y.first && x.second.dtype == y.second.dtype &&
                             x.second.shape == y.second.shape && *x.second.bytes == *y.second.bytes;
                    });
}

bool SameRead(const absl::StatusOr<Read>& a, const absl::StatusOr<Read>& b, bool locations) {
  if (!a.ok() || !b.ok()) return false;
  if (a->files.pieces != b->files.pieces || a->config.ok() != b->config.ok()) return false;
  if (a->config.ok() && !(*a->config == *b->config)) return false;
  EqualityOptions equality = kExact;
  equality.locations = locations;
  for (size_t i = 0; i < a->pieces.size(); ++i) {
    if (!a->pieces[i].ok() || !b->pieces[i].ok()) return false;
    if (!CheckEqual(*a->pieces[i], *b->pieces[i], equality).ok() ||
        !SameWeights(*a->pieces[i], *b->pieces[i]))
      return false;
  }
  return true;
}

}  // namespace

Sample CopySample(const Sample& sample) {
  Sample copy;
  copy.name = sample.name;
  copy.module = sample.module->Clone();
  copy.graph_net_json = sample.graph_net_json;
  copy.graph_hash = sample.graph_hash;
  copy.has_constraints = sample.has_constraints;
  copy.constraint_order = sample.constraint_order;
  copy.extra_files = sample.extra_files;
  copy.provenance = sample.provenance;
  copy.weights = sample.weights;
  return copy;
}

const std::vector<MutationKind>& MutationKinds() {
  static const auto* const kKinds = new std::vector<MutationKind>(MakeKinds());
  return *kKinds;
}

void TryMutations(const Sample& original, const DecomposeConfig& config,
                  const DecompositionFolderOptions& folder, const Decomposition& other,
                  uint64_t seed, const std::string& scratch,
                  std::map<std::string, MutationTotal>* totals, std::vector<std::string>* misses) {
  const auto miss = [&](const std::string& kind, const std::string& what) {
    misses->push_back(absl::StrCat(original.name, ", ", kind, ": ", what));
  };
  const absl::StatusOr<Decomposition> made = Decompose(original, config);
  if (!made.ok()) return miss("decompose", std::string(made.status().message()));
  const std::string right = JoinPath(scratch, "right");
  const std::string wrong = JoinPath(scratch, "wrong");
  const auto clear = [](const std::string& path) { std::filesystem::remove_all(path); };
  clear(right);
  if (const auto written = WriteDecomposition(*made, right, folder); !written.ok()) {
    return miss("write", std::string(written.status().message()));
  }
  FolderValidationOptions options;
  options.weights = true;
  const auto validate = [&](const std::string& path) {
    return ValidateFolder(CopySample(original), path, options);
  };
  const absl::StatusOr<FolderValidation> valid = validate(right);
  if (!valid.ok() || !valid->report.ok()) {
    return miss("undamaged",
                std::string((valid.ok() ? valid->report.status() : valid.status()).message()));
  }
  DecomposeConfig flipped = config;
  flipped.cut.style = config.cut.style == Style::kDag ? Style::kChain : Style::kDag;
  const absl::StatusOr<Decomposition> other_style = Decompose(original, flipped);
  const absl::StatusOr<Read> read_right = ReadAll(right);
  uint64_t number = 0;
  for (const MutationKind& kind : MutationKinds()) {
    Random random(seed * 1000 + number++);
    clear(wrong);
    Damage damage;
    if (kind.in_memory != nullptr) {
      Decomposition copy = CopyOf(*made);
      damage = kind.in_memory(random, other, &copy);
      if (damage.what.empty()) continue;
      // No reader will meet damage that cannot be stored.
      if (!WriteDecomposition(copy, wrong, folder).ok()) continue;
    } else {
      std::filesystem::copy(right, wrong, std::filesystem::copy_options::recursive);
      damage = kind.on_disk(random, wrong);
      if (damage.what.empty()) continue;
    }
    MutationTotal& total = (*totals)[kind.name];
    // If no value or every value is passed through, a chain is also a DAG.
    if (kind.name == kStyleKind && other_style.ok() &&
        other_style->config.subgraphs == made->config.subgraphs) {
      ++total.no_effect;
      continue;
    }
    if (SameRead(read_right, ReadAll(wrong), folder.format == PieceFormat::kProtobuf)) {
      ++total.no_effect;
      continue;
    }
    ++total.applied;
    const absl::StatusOr<FolderValidation> found = validate(wrong);
    if (!found.ok() || found->report.ok()) {
      miss(kind.name, absl::StrCat(damage.what,
                                   found.ok() ? "" : absl::StrCat(": ", found.status().message())));
      continue;
    }
    ++total.detected;
    const auto at = [&](const Finding& finding) {
      if (damage.piece < 0)
        return finding.piece >= 0 || !finding.where.empty() ||
               absl::StrContains(finding.message, scratch);
      // If a piece cannot be read, the message names the subgraph.
      for (int piece = damage.piece - 1; piece <= damage.piece + 1; ++piece) {
        if (absl::StrContains(finding.message, absl::StrCat("subgraph ", piece, " "))) return true;
      }
      return finding.piece >= damage.piece - 1 && finding.piece <= damage.piece + 1;
    };
    const auto& findings = found->report.findings;
    if (std::any_of(findings.begin(), findings.end(), at)) {
      ++total.placed;
    } else {
      miss(kind.name,
           absl::StrCat(damage.what, ", not placed: ", found->report.status().message()));
    }
  }
  clear(right);
  clear(wrong);
}

std::string MutationTable(const std::map<std::string, MutationTotal>& totals) {
  std::string table = absl::StrFormat("%-52s %8s %9s %7s %10s\n", "kind", "applied", "detected",
                                      "placed", "no effect");
  MutationTotal sum;
  for (const MutationKind& kind : MutationKinds()) {
    const auto it = totals.find(kind.name);
    const MutationTotal total = it == totals.end() ? MutationTotal() : it->second;
    absl::StrAppendFormat(&table, "%-52s %8d %9d %7d %10d\n", kind.name, total.applied,
                          total.detected, total.placed, total.no_effect);
    sum.applied += total.applied;
    sum.detected += total.detected;
    sum.placed += total.placed;
    sum.no_effect += total.no_effect;
  }
  absl::StrAppendFormat(&table, "%-52s %8d %9d %7d %10d\n",
                        absl::StrCat("all ", MutationKinds().size(), " kinds"), sum.applied,
                        sum.detected, sum.placed, sum.no_effect);
  return table;
}

}  // namespace graphnet
