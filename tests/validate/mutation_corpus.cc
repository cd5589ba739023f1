// Damages decompositions of GraphNet samples in every way that mutations.h knows, and counts how
// often the validator notices:
//
//   mutation_corpus FOLDER [SAMPLES [SCRATCH]]
//
// It takes so many samples (default: 100), spread over the folder, by turns as chain and DAG, as
// folders and as protobuf. Exits with 1 if any damage was missed.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "graphnet/base/file.h"
#include "graphnet/formats/graphnet_folder/reader.h"
#include "tests/validate/mutations.h"

namespace graphnet {
namespace {

int Run(const std::string& root, size_t wanted, const std::string& scratch) {
  std::vector<std::string> paths;
  for (auto it = std::filesystem::recursive_directory_iterator(root);
       it != std::filesystem::end(it); ++it) {
    if (!it->is_directory() || !IsGraphNetFolder(it->path().string())) continue;
    paths.push_back(it->path().string());
    it.disable_recursion_pending();
  }
  std::sort(paths.begin(), paths.end());
  std::map<std::string, MutationTotal> totals;
  std::vector<std::string> misses;
  Decomposition other;
  size_t done = 0;
  for (size_t i = 0; i < std::min(wanted, paths.size()); ++i) {
    const absl::StatusOr<Sample> sample =
        ReadGraphNetFolder(paths[i * paths.size() / std::min(wanted, paths.size())]);
    if (!sample.ok()) {
      misses.push_back(std::string(sample.status().message()));
      continue;
    }
    DecomposeConfig config;
    config.mode = DecomposeMode::kEqual;
    config.number = 2 + static_cast<int64_t>(i % 5);
    config.cut.style = i % 2 == 0 ? Style::kChain : Style::kDag;
    DecompositionFolderOptions folder;
    folder.format = i / 2 % 2 == 0 ? PieceFormat::kGraphNetFolder : PieceFormat::kProtobuf;
    const size_t before = misses.size();
    TryMutations(*sample, config, folder, other, i, scratch, &totals, &misses);
    for (size_t k = before; k < misses.size(); ++k) std::printf("MISS %s\n", misses[k].c_str());
    std::fflush(stdout);
    if (absl::StatusOr<Decomposition> made = Decompose(*sample, config); made.ok())
      other = *std::move(made);
    ++done;
  }
  std::printf("%s%zu samples, %zu missed\n", MutationTable(totals).c_str(), done, misses.size());
  return misses.empty() ? 0 : 1;
}

}  // namespace
}  // namespace graphnet

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: mutation_corpus FOLDER [SAMPLES [SCRATCH]]\n");
    return 2;
  }
  const int wanted = argc > 2 ? std::max(1, std::atoi(argv[2])) : 100;
  const std::string scratch = argc > 3 ? argv[3] : std::filesystem::temp_directory_path().string();
  return graphnet::Run(argv[1], static_cast<size_t>(wanted), scratch);
}
