// Measures reading programs of torch.export: the JSON, the structure, and everything with weights.
//
//   pt2_benchmark FILE…
//
// Prints a line for each file: bytes of JSON, MB/s of parsing it, and milliseconds of an import
// without and with weights, each the best of several.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>

#include "graphnet/formats/pt2/importer.h"
#include "graphnet/formats/pt2/json.h"

namespace graphnet {
namespace {

// Returns the milliseconds of the fastest of `times` calls.
template <typename Fn>
double Best(int times, Fn&& fn) {
  double best = 1e300;
  for (int i = 0; i < times; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    fn();
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - begin;
    best = std::min(best, time.count());
  }
  return best;
}

int Run(int argc, char** argv) {
  std::printf("%10s %8s %10s %10s  %s\n", "JSON", "MB/s", "structure", "weights", "file");
  for (int i = 1; i < argc; ++i) {
    const std::string path = argv[i];
    const auto sample = ImportPt2File(path, {.weights = false});
    if (!sample.ok()) {
      std::fprintf(stderr, "%s\n", std::string(sample.status().message()).c_str());
      return 1;
    }
    const std::string& json = sample->extra_files.at(std::string(kProgramFile));
    const double parse = Best(5, [&] { (void)pt2::JsonDocument::Parse(json); });
    const double structure = Best(5, [&] { (void)ImportPt2File(path, {.weights = false}); });
    const double whole = Best(3, [&] { (void)ImportPt2File(path); });
    std::printf("%10zu %8.0f %7.2f ms %7.2f ms  %s\n", json.size(),
                static_cast<double>(json.size()) / 1e3 / parse, structure, whole, path.c_str());
  }
  return 0;
}

}  // namespace
}  // namespace graphnet

int main(int argc, char** argv) { return graphnet::Run(argc, argv); }
