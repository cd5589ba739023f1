// Compares the facts that are inferred about calls with the results of LibTorch's meta kernels, for
// all GraphNet samples below a folder:
//
//   facts_corpus FOLDER [STRIDE]
//
// Prints, by operator, how many values have the same dtype and sizes and how many are known only in
// part or not at all, and prints each difference. Exits with 1 if there is one.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "graphnet/formats/graphnet_folder/reader.h"
#include "graphnet/interp/inputs/draw.h"
#include "graphnet/interp/shapes.h"
#include "graphnet/ops/lowering.h"
#include "tests/facts/shapes/compare_facts.h"

namespace graphnet {
namespace {

// Runs the calls and compares them with the metas of the kernels, up to the first call that needs
// data.
absl::Status AddSample(const std::string& path, FactsComparison* comparison) {
  absl::StatusOr<Sample> sample = ReadGraphNetFolder(path);
  if (!sample.ok()) return sample.status();
  RefusedCalls refused;
  absl::StatusOr<LoweredModule> lowered = LowerToAten(*sample->module, &refused);
  if (!lowered.ok()) return lowered.status();
  DrawOptions draw;
  draw.max_elements = 1024;  // Shapes seldom depend on more elements.
  const auto values = DrawInputs(*sample, draw);
  if (!values.ok()) return values.status();
  absl::Status status = InferShapes(lowered->module.get(), *values).status();
  for (const Node* node : lowered->module->main()->nodes()) comparison->Add(*node);
  return status;
}

int Main(const std::string& root, size_t stride) {
  std::vector<std::string> paths;
  for (auto it = std::filesystem::recursive_directory_iterator(root);
       it != std::filesystem::end(it); ++it) {
    if (!it->is_directory() || !IsGraphNetFolder(it->path().string())) continue;
    paths.push_back(it->path().string());
    it.disable_recursion_pending();
  }
  std::sort(paths.begin(), paths.end());
  FactsComparison comparison;
  size_t samples = 0, cut = 0;
  for (size_t i = 0; i < paths.size(); i += stride) {
    ++samples;
    if (!AddSample(paths[i], &comparison).ok()) ++cut;
  }
  std::printf("%-48s %9s %9s %9s %9s\n", "operator", "equal", "in part", "unknown", "different");
  for (const auto& [name, counts] : comparison.by_operator) {
    std::printf("%-48s %9zu %9zu %9zu %9zu\n", name.c_str(), counts.equal, counts.partly,
                counts.unknown, counts.different);
  }
  for (const std::string& what : comparison.differences) std::printf("DIFFERS %s\n", what.c_str());
  std::printf(
      "%zu samples, %zu of them in part: %zu values equal, %zu in part, %zu unknown, %zu "
      "different\n",
      samples, cut, comparison.all.equal, comparison.all.partly, comparison.all.unknown,
      comparison.all.different);
  return comparison.all.different == 0 ? 0 : 1;
}

}  // namespace
}  // namespace graphnet

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: facts_corpus FOLDER [STRIDE]\n");
    return 2;
  }
  return graphnet::Main(argv[1], argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 1);
}
