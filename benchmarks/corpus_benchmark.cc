// Measures speed and size on the real corpus, the folder of GraphNet samples that GRAPHNET_CORPUS
// names.
//
//   import        model.py + weight_meta.py -> verified module, one thread
//   import x2     the same on two threads
//   jit_parser    baseline: LibTorch's C++ parser builds the syntax tree of model.py
//   tokenize      bound: find the names in both files and intern them, nothing else
//   import_all    all six files -> verified sample, for comparison with protobuf
//   protobuf      the same samples from their protobuf form
//   sizes         bytes of protobuf over bytes of text, bytes of memory a node
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "benchmark/benchmark.h"
#include "benchmarks/jit_parser.h"
#include "benchmarks/ratio_reporter.h"
#include "graphnet/base/file.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/parallel.h"
#include "graphnet/formats/formats.h"
#include "graphnet/formats/graphnet_folder/reader.h"
#include "graphnet/formats/protobuf/sample_proto.h"

namespace graphnet {
namespace {

struct Item {
  std::string folder;
  GraphNetFileMap files;
  std::string protobuf;
};

std::vector<Item>& Corpus() {
  static std::vector<Item>* const corpus = [] {
    auto* items = new std::vector<Item>;
    const char* root = std::getenv("GRAPHNET_CORPUS");
    if (root == nullptr) return items;
    const auto inputs = FindInputs({root});
    if (!inputs.ok()) return items;
    // A quarter of the corpus by default keeps a run within minutes.
    const char* stride_text = std::getenv("GRAPHNET_CORPUS_STRIDE");
    const size_t stride = stride_text ? std::max(1, std::atoi(stride_text)) : 4;
    for (size_t i = 0; i < inputs->size(); i += stride) {
      Item item;
      item.folder = (*inputs)[i];
      for (const char* name : {"model.py", "weight_meta.py", "input_meta.py",
                               "input_tensor_constraints.py", "graph_net.json", "graph_hash.txt"}) {
        auto content = ReadFile(JoinPath(item.folder, name), kMaxTextFileBytes);
        if (content.ok()) item.files[name] = *std::move(content);
      }
      const auto sample = ParseGraphNetFiles(item.files, item.folder);
      if (!sample.ok()) continue;
      item.protobuf = SerializeSample(*sample).value();
      items->push_back(std::move(item));
    }
    return items;
  }();
  return *corpus;
}

size_t TextBytes(const Item& item) {
  return item.files.at("model.py").size() + item.files.at("weight_meta.py").size();
}

size_t TextBytes() {
  size_t bytes = 0;
  for (const Item& item : Corpus()) bytes += TextBytes(item);
  return bytes;
}

bool SkipWithoutCorpus(benchmark::State& state) {
  if (!Corpus().empty()) return false;
  state.SkipWithError("set GRAPHNET_CORPUS to a folder of GraphNet samples");
  return true;
}

void SetThroughput(benchmark::State& state, double bytes) {
  state.counters["MB/s"] = benchmark::Counter(bytes * static_cast<double>(state.iterations()) / 1e6,
                                              benchmark::Counter::kIsRate);
}

void BM_import(benchmark::State& state) {
  if (SkipWithoutCorpus(state)) return;
  const int threads = static_cast<int>(state.range(0));
  std::vector<Item>& corpus = Corpus();
  for (auto _ : state) {
    ParallelFor(
        corpus.size(), threads,
        [&](size_t i) {
          const Item& item = corpus[i];
          auto module = ParseGraphNetModel(item.files.at("model.py"),
                                           item.files.at("weight_meta.py"), item.folder);
          benchmark::DoNotOptimize(module);
          return module.status();
        },
        [](size_t, const absl::Status& status) {
          if (!status.ok()) std::abort();
        });
  }
  SetThroughput(state, static_cast<double>(TextBytes()));
}
BENCHMARK(BM_import)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

void BM_jit_parser(benchmark::State& state) {
  if (SkipWithoutCorpus(state)) return;
  double bytes = 0;
  for (auto _ : state) {
    bytes = 0;
    for (const Item& item : Corpus()) {
      // LibTorch refuses a few files, which do not count.
      const std::string& text = item.files.at("model.py");
      if (ParseWithLibTorch(text)) bytes += static_cast<double>(text.size());
    }
  }
  SetThroughput(state, bytes);
}
BENCHMARK(BM_jit_parser)->UseRealTime()->Unit(benchmark::kMillisecond);

// Does the least that every importer must do: finds the names and interns them.
size_t TokenizeAndIntern(absl::string_view text,
                         absl::flat_hash_map<absl::string_view, int>* names) {
  size_t tokens = 0;
  const char* p = text.data();
  const char* const end = p + text.size();
  const auto is_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  while (p < end) {
    if (!is_name(*p)) {
      tokens += *p > ' ' ? 1 : 0;
      ++p;
      continue;
    }
    const char* begin = p;
    while (p < end && is_name(*p)) ++p;
    if (*begin > '9') {
      names->try_emplace(absl::string_view(begin, static_cast<size_t>(p - begin)),
                         static_cast<int>(names->size()));
    }
    ++tokens;
  }
  return tokens;
}

void BM_tokenize(benchmark::State& state) {
  if (SkipWithoutCorpus(state)) return;
  for (auto _ : state) {
    for (const Item& item : Corpus()) {
      absl::flat_hash_map<absl::string_view, int> names;
      benchmark::DoNotOptimize(TokenizeAndIntern(item.files.at("model.py"), &names));
      benchmark::DoNotOptimize(TokenizeAndIntern(item.files.at("weight_meta.py"), &names));
    }
  }
  SetThroughput(state, static_cast<double>(TextBytes()));
}
BENCHMARK(BM_tokenize)->UseRealTime()->Unit(benchmark::kMillisecond);

void SetSampleRate(benchmark::State& state) {
  state.counters["samples/s"] = benchmark::Counter(
      static_cast<double>(Corpus().size() * state.iterations()), benchmark::Counter::kIsRate);
}

void BM_import_all(benchmark::State& state) {
  if (SkipWithoutCorpus(state)) return;
  for (auto _ : state) {
    for (const Item& item : Corpus()) {
      auto sample = ParseGraphNetFiles(item.files, item.folder);
      if (!sample.ok()) std::abort();
      benchmark::DoNotOptimize(sample);
    }
  }
  SetSampleRate(state);
}
BENCHMARK(BM_import_all)->UseRealTime()->Unit(benchmark::kMillisecond);

void BM_protobuf(benchmark::State& state) {
  if (SkipWithoutCorpus(state)) return;
  for (auto _ : state) {
    for (const Item& item : Corpus()) {
      auto sample = DeserializeSample(item.protobuf, item.folder);
      if (!sample.ok()) std::abort();
      benchmark::DoNotOptimize(sample);
    }
  }
  SetSampleRate(state);
}
BENCHMARK(BM_protobuf)->UseRealTime()->Unit(benchmark::kMillisecond);

void BM_sizes(benchmark::State& state) {
  if (SkipWithoutCorpus(state)) return;
  double protobuf = 0;
  double memory = 0;
  double nodes = 0;
  for (auto _ : state) {
    protobuf = memory = nodes = 0;
    for (const Item& item : Corpus()) {
      protobuf += static_cast<double>(item.protobuf.size());
      const auto sample = ParseGraphNetFiles(item.files, item.folder);
      memory += static_cast<double>(sample->module->MemoryBytes());
      nodes += static_cast<double>(sample->module->num_nodes());
    }
  }
  state.counters["protobuf_percent_of_text"] = 100 * protobuf / static_cast<double>(TextBytes());
  state.counters["memory_bytes_per_node"] = memory / nodes;
}
BENCHMARK(BM_sizes)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace graphnet

int main(int argc, char** argv) {
  return graphnet::RunBenchmarks(
      argc, argv,
      {{"import / torch::jit::Parser (MB/s)", "BM_import1", "BM_jit_parser", "MB/s", 5},
       {"import / tokenize-and-intern loop (MB/s)", "BM_import1", "BM_tokenize", "MB/s", 0},
       {"import on 2 threads / on 1 (MB/s)", "BM_import2", "BM_import1", "MB/s", 1.7},
       {"load protobuf / import folder (samples/s)", "BM_protobuf", "BM_import_all", "samples/s",
        5}});
}
