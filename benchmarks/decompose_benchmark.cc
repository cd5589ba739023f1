// Compares cutting the largest sample of a corpus, and validating the pieces, with importing it.
// GRAPHNET_CORPUS names the corpus, or GRAPHNET_SAMPLE one sample. split_module_benchmark.py
// measures torch.fx in the same way.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "benchmark/benchmark.h"
#include "benchmarks/ratio_reporter.h"
#include "graphnet/base/file.h"
#include "graphnet/base/limits.h"
#include "graphnet/decompose/decomposer.h"
#include "graphnet/formats/graphnet_folder/reader.h"
#include "graphnet/validate/structure.h"

namespace graphnet {
namespace {

struct Input {
  std::string path;
  std::string model_py;
  std::string weight_meta_py;
  Sample sample;
};

// Returns the sample with the largest model.py.
std::string LargestSample(const std::string& root) {
  std::string largest;
  uintmax_t most = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (entry.path().filename() != "model.py" || entry.file_size() <= most) continue;
    most = entry.file_size();
    largest = entry.path().parent_path().string();
  }
  return largest;
}

Input* LoadInput() {
  auto* input = new Input;
  const char* sample = std::getenv("GRAPHNET_SAMPLE");
  const char* corpus = std::getenv("GRAPHNET_CORPUS");
  input->path = sample != nullptr ? sample : corpus != nullptr ? LargestSample(corpus) : "";
  if (input->path.empty()) {
    std::fprintf(stderr, "set GRAPHNET_CORPUS or GRAPHNET_SAMPLE\n");
    std::exit(2);
  }
  input->model_py = ReadFile(JoinPath(input->path, "model.py"), kMaxTextFileBytes).value();
  input->weight_meta_py =
      ReadFile(JoinPath(input->path, "weight_meta.py"), kMaxTextFileBytes).value();
  input->sample = ReadGraphNetFolder(input->path).value();
  return input;
}

const Input& GetInput() {
  static const Input* const input = LoadInput();
  return *input;
}

void SetRate(benchmark::State& state) {
  state.counters["graphs/s"] =
      benchmark::Counter(static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

std::vector<Range> Pieces(int64_t k) {
  DecomposeConfig config;
  config.mode = DecomposeMode::kEqual;
  config.number = k;
  config.cut.style = Style::kDag;
  const Decomposition made = Decompose(GetInput().sample, config).value();
  std::vector<Range> ranges;
  for (const SubgraphConfig& piece : made.config.subgraphs) ranges.push_back(piece.range);
  return ranges;
}

void BM_import(benchmark::State& state) {
  const Input& input = GetInput();
  for (auto _ : state) {
    const auto module = ParseGraphNetModel(input.model_py, input.weight_meta_py, input.path);
    if (!module.ok()) state.SkipWithError(std::string(module.status().message()).c_str());
  }
  SetRate(state);
}

void Split(benchmark::State& state, Style style) {
  const std::vector<Range> ranges = Pieces(state.range(0));
  for (auto _ : state) {
    // Like split_module, give no piece an input that it does not use.
    const auto pieces = CutRanges(GetInput().sample, ranges, {.style = style, .all_inputs = false});
    if (!pieces.ok()) state.SkipWithError(std::string(pieces.status().message()).c_str());
  }
  state.counters["pieces"] = static_cast<double>(ranges.size());
  SetRate(state);
}
void BM_split_dag(benchmark::State& state) { Split(state, Style::kDag); }
void BM_split_chain(benchmark::State& state) { Split(state, Style::kChain); }

void BM_validate_dag(benchmark::State& state) {
  const CutOptions cut = {.style = Style::kDag};
  const std::vector<Sample> pieces =
      CutRanges(GetInput().sample, Pieces(state.range(0)), cut).value();
  for (auto _ : state) {
    const ValidationReport report = ValidateStructure(GetInput().sample, pieces, {.cut = cut});
    if (!report.ok()) state.SkipWithError(std::string(report.status().message()).c_str());
  }
  SetRate(state);
}

BENCHMARK(BM_import)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_split_dag)->Arg(1)->Arg(10)->Arg(100)->Arg(1000)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_split_chain)->Arg(10)->Arg(100)->Arg(1000)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_validate_dag)->Arg(8)->Arg(1000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace graphnet

int main(int argc, char** argv) {
  std::printf("sample: %s\n", graphnet::GetInput().path.c_str());
  return graphnet::RunBenchmarks(
      argc, argv,
      {{"DAG of 1,000 pieces / import, graphs/s", "BM_split_dag1000", "BM_import", "graphs/s",
        0.25},
       {"DAG of 100 pieces / import, graphs/s", "BM_split_dag100", "BM_import", "graphs/s", 0},
       {"chain of 1,000 pieces / import, graphs/s", "BM_split_chain1000", "BM_import", "graphs/s",
        0},
       {"structural validation of 8 pieces / import, graphs/s", "BM_validate_dag8", "BM_import",
        "graphs/s", 1}});
}
