// Measures how fast the rows of a corpus are made, on pieces of the samples below the folder that
// GRAPHNET_CORPUS names, in processor time of one thread.
//
//   rows       protobuf -> verified sample -> row
//   hash       baseline: protobuf -> verified sample -> hash with metas, which any store of graphs
//              has to do
//   near       all pairs with a likeness of at least 0.9
//   near_slow  baseline: the same by comparing each with each
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "benchmark/benchmark.h"
#include "benchmarks/ratio_reporter.h"
#include "graphnet/corpus/near.h"
#include "graphnet/corpus/row.h"
#include "graphnet/decompose/decomposer.h"
#include "graphnet/formats/formats.h"
#include "graphnet/formats/protobuf/sample_proto.h"
#include "graphnet/ir/canonical_hash.h"

namespace graphnet {
namespace {

// Pieces of 64 operators of every 16th sample, in protobuf form.
const std::vector<std::string>& Graphs() {
  static const std::vector<std::string>* const graphs = [] {
    auto* const made = new std::vector<std::string>;
    const char* const root = std::getenv("GRAPHNET_CORPUS");
    if (root == nullptr) return made;
    const auto inputs = FindInputs({root});
    if (!inputs.ok()) return made;
    const char* const stride_text = std::getenv("GRAPHNET_CORPUS_STRIDE");
    const size_t stride = stride_text != nullptr ? std::max(1, std::atoi(stride_text)) : 16;
    DecomposeConfig config;
    config.mode = DecomposeMode::kFixedSize;
    config.number = 64;
    for (size_t i = 0; i < inputs->size(); i += stride) {
      const auto sample = Load((*inputs)[i]);
      if (!sample.ok()) continue;
      const auto cut = Decompose(*sample, config);
      if (!cut.ok()) continue;
      for (const Sample& piece : cut->pieces) made->push_back(SerializeSample(piece).value());
    }
    return made;
  }();
  return *graphs;
}

bool SkipWithoutCorpus(benchmark::State& state) {
  if (!Graphs().empty()) return false;
  state.SkipWithError("set GRAPHNET_CORPUS to a folder of GraphNet samples");
  return true;
}

void SetRate(benchmark::State& state, size_t graphs) {
  state.counters["graphs/s"] = benchmark::Counter(static_cast<double>(graphs * state.iterations()),
                                                  benchmark::Counter::kIsRate);
}

void BM_rows(benchmark::State& state) {
  if (SkipWithoutCorpus(state)) return;
  for (auto _ : state) {
    for (const std::string& bytes : Graphs()) {
      const auto row = MakeRow(DeserializeSample(bytes, "piece").value());
      if (!row.ok()) std::abort();
      benchmark::DoNotOptimize(row);
    }
  }
  SetRate(state, Graphs().size());
}
BENCHMARK(BM_rows)->Unit(benchmark::kMillisecond);

void BM_hash(benchmark::State& state) {
  if (SkipWithoutCorpus(state)) return;
  for (auto _ : state) {
    for (const std::string& bytes : Graphs()) {
      benchmark::DoNotOptimize(
          CanonicalHash(*DeserializeSample(bytes, "piece")->module, {.metas = true}));
    }
  }
  SetRate(state, Graphs().size());
}
BENCHMARK(BM_hash)->Unit(benchmark::kMillisecond);

const std::vector<FeatureList>& Features() {
  static const std::vector<FeatureList>* const features = [] {
    auto* const made = new std::vector<FeatureList>;
    for (const std::string& bytes : Graphs()) {
      auto* const row = new CorpusRow(MakeRow(DeserializeSample(bytes, "piece").value()).value());
      made->push_back(row->features);
    }
    return made;
  }();
  return *features;
}

void BM_near(benchmark::State& state) {
  if (SkipWithoutCorpus(state)) return;
  for (auto _ : state) benchmark::DoNotOptimize(NearPairs(Features(), 0.9).value());
  SetRate(state, Features().size());
}
BENCHMARK(BM_near)->Unit(benchmark::kMillisecond);

void BM_near_slow(benchmark::State& state) {
  if (SkipWithoutCorpus(state)) return;
  for (auto _ : state) {
    size_t pairs = 0;
    for (size_t a = 0; a < Features().size(); ++a) {
      for (size_t b = a + 1; b < Features().size(); ++b)
        pairs += Jaccard(Features()[a], Features()[b]) >= 0.9 ? 1 : 0;
    }
    benchmark::DoNotOptimize(pairs);
  }
  SetRate(state, Features().size());
}
BENCHMARK(BM_near_slow)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace graphnet

int main(int argc, char** argv) {
  return graphnet::RunBenchmarks(
      argc, argv,
      {{"rows against reading and hashing alone", "BM_rows", "BM_hash", "graphs/s", 0.12},
       {"near duplicates against comparing all", "BM_near", "BM_near_slow", "graphs/s", 5}});
}
