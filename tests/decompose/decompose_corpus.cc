// Decomposes every GraphNet sample below a folder in many ways, in memory, and validates the
// structure of the pieces:
//
//   decompose_corpus FOLDER [JOBS [STRIDE [SCRATCH]]]
//
// SCRATCH is a folder to write to. With it, pieces of 64 operators, 2 pieces and 32 pieces are also
// written, as protobuf and as GraphNet folders, read back and validated. Prints a line for each
// failure and, at the end, a table by scheme and style and the numbers of refused cuts by reason.
// Exits with 1 if anything failed.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graphnet/base/file.h"
#include "graphnet/base/parallel.h"
#include "graphnet/base/status.h"
#include "graphnet/decompose/decomposer.h"
#include "graphnet/decompose/folder.h"
#include "graphnet/decompose/graph_index.h"
#include "graphnet/decompose/regions.h"
#include "graphnet/decompose/schemes.h"
#include "graphnet/formats/graphnet_folder/reader.h"
#include "graphnet/validate/structure.h"

namespace graphnet {
namespace {

constexpr int kRandomSets = 20;

struct Total {
  int64_t samples = 0;
  int64_t decompositions = 0;
  int64_t pieces = 0;
  int64_t ports = 0;
  int64_t failures = 0;
  double seconds = 0;  // time of cutting
  double validation_seconds = 0;
};

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class Corpus {
 public:
  Corpus(const std::string& root, size_t stride, std::string scratch)
      : scratch_(std::move(scratch)) {
    for (auto it = std::filesystem::recursive_directory_iterator(root);
         it != std::filesystem::end(it); ++it) {
      if (!it->is_directory() || !IsGraphNetFolder(it->path().string())) continue;
      paths_.push_back(it->path().string());
      it.disable_recursion_pending();
    }
    std::sort(paths_.begin(), paths_.end());
    std::vector<std::string> some;
    for (size_t i = 0; i < paths_.size(); i += stride) some.push_back(paths_[i]);
    paths_ = std::move(some);
  }

  int Run(int jobs) {
    ParallelFor(
        paths_.size(), jobs, [this](size_t i) { return RunSample(paths_[i]); },
        [this](size_t, const absl::Status& status) {
          if (status.ok()) return;
          ++unreadable_;
          std::printf("FAIL %s\n", std::string(status.message()).c_str());
        });
    std::printf("%-22s %-5s %8s %8s %10s %12s %8s %9s %9s\n", "scheme", "style", "samples", "cut",
                "pieces", "ports", "failed", "cut s", "valid. s");
    int64_t failures = unreadable_;
    for (const auto& [key, total] : totals_) {
      std::printf("%-22s %-5s %8lld %8lld %10lld %12lld %8lld %9.1f %9.1f\n", key.first.c_str(),
                  key.second.c_str(), static_cast<long long>(total.samples),
                  static_cast<long long>(total.decompositions),
                  static_cast<long long>(total.pieces), static_cast<long long>(total.ports),
                  static_cast<long long>(total.failures), total.seconds, total.validation_seconds);
      failures += total.failures;
    }
    std::printf("%zu samples, %lld of them unreadable, %lld with repeated blocks\n", paths_.size(),
                static_cast<long long>(unreadable_), static_cast<long long>(with_blocks_));
    for (const auto& [reason, count] : refused_) {
      std::printf("refused %lld: %s\n", static_cast<long long>(count), reason.c_str());
    }
    std::printf("%lld failures\n", static_cast<long long>(failures));
    return failures == 0 ? 0 : 1;
  }

 private:
  absl::Status RunSample(const std::string& path) {
    const absl::StatusOr<Sample> sample = ReadGraphNetFolder(path);
    RETURN_IF_ERROR(sample.status());
    for (const Style style : {Style::kChain, Style::kDag}) {
      const auto run = [&](const char* name, DecomposeMode mode, int64_t number) {
        DecomposeConfig config;
        config.mode = mode;
        config.number = number;
        config.cut.style = style;
        Account(path, name, style, 1, {RunOne(*sample, config)});
      };
      const auto store = [&](const char* name, DecomposeMode mode, int64_t number) {
        if (scratch_.empty()) return;
        DecomposeConfig config;
        config.mode = mode;
        config.number = number;
        config.cut.style = style;
        for (const PieceFormat format : {PieceFormat::kProtobuf, PieceFormat::kGraphNetFolder}) {
          const char* as = format == PieceFormat::kProtobuf ? ", protobuf" : ", folders";
          Account(path, absl::StrCat(name, as), style, 1, {RunStored(*sample, config, format)});
        }
      };
      store("64 operators", DecomposeMode::kFixedSize, 64);
      store("2 pieces", DecomposeMode::kEqual, 2);
      store("32 pieces", DecomposeMode::kEqual, 32);
      run("every 1", DecomposeMode::kSingleOp, 0);
      run("every 8", DecomposeMode::kFixedSize, 8);
      run("every 64", DecomposeMode::kFixedSize, 64);
      run("2 pieces", DecomposeMode::kEqual, 2);
      run("32 pieces", DecomposeMode::kEqual, 32);
      run("balanced 8", DecomposeMode::kBalanced, 8);
      run("blocks", DecomposeMode::kBlocks, 0);
      std::vector<Result> results;
      for (uint64_t seed = 0; seed < kRandomSets; ++seed)
        results.push_back(RunRandom(*sample, style, seed));
      Account(path, "20 random", style, 1, results);
    }
    return absl::OkStatus();
  }

  struct Result {
    absl::Status status;
    Total total;
    std::vector<std::string> refused;
    bool has_blocks = false;
  };

  Result RunOne(const Sample& sample, const DecomposeConfig& config) {
    Result result;
    const double begin = Now();
    absl::StatusOr<Decomposition> made = Decompose(sample, config);
    result.total.seconds = Now() - begin;
    result.status = made.status();
    if (!made.ok()) return result;
    result.has_blocks = config.mode == DecomposeMode::kBlocks && made->pieces.size() > 1;
    Validate(sample, made->pieces, config.cut, &result);
    return result;
  }

  Result RunStored(const Sample& sample, const DecomposeConfig& config, PieceFormat format) {
    Result result;
    const double begin = Now();
    const std::string folder =
        JoinPath(scratch_, absl::StrCat("decompose_corpus_", next_folder_.fetch_add(1)));
    const absl::StatusOr<StoredDecomposition> stored =
        [&]() -> absl::StatusOr<StoredDecomposition> {
      ASSIGN_OR_RETURN(const Decomposition made, Decompose(sample, config));
      RETURN_IF_ERROR(WriteDecomposition(made, folder, {.format = format}).status());
      return ReadDecomposition(folder, /*with_weights=*/true);
    }();
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
    result.total.seconds = Now() - begin;
    result.status = stored.status();
    if (!stored.ok()) return result;
    // In a folder, locations refer to the piece's own model.py.
    EqualityOptions equality = kExact;
    equality.locations = format == PieceFormat::kProtobuf;
    Validate(sample, stored->pieces, config.cut, &result, equality);
    return result;
  }

  // Cuts at random positions. In a DAG some ranges are left out and cut out on their own, to
  // validate the rest with them.
  Result RunRandom(const Sample& sample, Style style, uint64_t seed) {
    Result result;
    std::mt19937_64 random(seed);
    const GraphIndex index(*sample.module->main());
    const auto n = static_cast<uint64_t>(index.num_operators());
    std::vector<int64_t> cuts;
    for (uint64_t i = 1 + random() % 12; i > 0; --i)
      cuts.push_back(static_cast<int64_t>(random() % (n + 1)));
    std::sort(cuts.begin(), cuts.end());
    const Regions regions(index);
    for (const int64_t cut : cuts) {
      if (regions.OpenAt(cut) == nullptr) continue;
      // A cut in a region must be refused with the predicted reason; the next allowed one is made.
      const std::string why = regions.WhyNot(cut);
      const auto refusal = CutRanges(sample, {Range{0, cut}}, {.style = style});
      if (refusal.ok() || refusal.status().code() != absl::StatusCode::kFailedPrecondition) {
        result.status = absl::InternalError(absl::StrCat("cut ", cut, " should have been refused"));
        return result;
      }
      const bool tuple = why.find("parts the tuple") == 0;
      result.refused.push_back(tuple ? "a tuple would cross"
                                     : "within a vmap nest or autocast region");
    }
    std::vector<Range> ranges;
    std::vector<Range> rest;
    int64_t start = 0;
    cuts = AllowedCuts(std::move(cuts), regions, static_cast<int64_t>(n));
    cuts.push_back(static_cast<int64_t>(n));
    for (const int64_t cut : cuts) {
      const bool gap = style == Style::kDag && random() % 3 == 0;
      (gap ? rest : ranges).push_back({std::exchange(start, cut), cut});
    }
    CutOptions options = {.style = style};
    if (!rest.empty()) options.all_inputs = false;
    const double begin = Now();
    std::vector<Sample> pieces;
    for (const std::vector<Range>& some : {ranges, rest}) {
      if (some.empty()) continue;
      absl::StatusOr<std::vector<Sample>> cut = CutRanges(sample, some, options);
      result.status = cut.status();
      if (!cut.ok()) return result;
      for (Sample& piece : *cut) pieces.push_back(std::move(piece));
    }
    result.total.seconds = Now() - begin;
    std::sort(pieces.begin(), pieces.end(), [](const Sample& a, const Sample& b) {
      return a.provenance[0].start < b.provenance[0].start;
    });
    Validate(sample, pieces, options, &result);
    return result;
  }

  static void Validate(const Sample& sample, const std::vector<Sample>& pieces,
                       const CutOptions& cut, Result* result,
                       const EqualityOptions& equality = kExact) {
    result->total.decompositions = 1;
    result->total.pieces = static_cast<int64_t>(pieces.size());
    for (const Sample& piece : pieces) {
      result->total.ports += static_cast<int64_t>(piece.module->main()->placeholders().size());
    }
    const double begin = Now();
    StructureOptions options;
    options.cut = cut;
    options.equality = equality;
    result->status = ValidateStructure(sample, pieces, options).status();
    result->total.validation_seconds = Now() - begin;
  }

  void Account(const std::string& path, const std::string& scheme, Style style, int64_t samples,
               const std::vector<Result>& results) {
    const std::lock_guard<std::mutex> lock(mutex_);
    Total& total = totals_[{scheme, style == Style::kChain ? "chain" : "dag"}];
    total.samples += samples;
    for (size_t i = 0; i < results.size(); ++i) {
      const Result& result = results[i];
      total.decompositions += result.total.decompositions;
      total.pieces += result.total.pieces;
      total.ports += result.total.ports;
      total.seconds += result.total.seconds;
      total.validation_seconds += result.total.validation_seconds;
      for (const std::string& reason : result.refused) ++refused_[reason];
      with_blocks_ += result.has_blocks && style == Style::kChain ? 1 : 0;
      if (result.status.ok()) continue;
      ++total.failures;
      std::printf("FAIL %s: %s, %s, set %zu: %s\n", path.c_str(), scheme.c_str(),
                  style == Style::kChain ? "chain" : "dag", i,
                  std::string(result.status.message()).c_str());
    }
  }

  const std::string scratch_;
  std::atomic<int> next_folder_{0};
  std::vector<std::string> paths_;
  std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, Total> totals_;
  std::map<std::string, int64_t> refused_;
  int64_t unreadable_ = 0;
  int64_t with_blocks_ = 0;
};

}  // namespace
}  // namespace graphnet

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: decompose_corpus FOLDER [JOBS [STRIDE [SCRATCH]]]\n");
    return 2;
  }
  const int jobs = argc > 2 ? std::max(1, std::atoi(argv[2])) : graphnet::NumCpus();
  const int stride = argc > 3 ? std::max(1, std::atoi(argv[3])) : 1;
  return graphnet::Corpus(argv[1], static_cast<size_t>(stride), argc > 4 ? argv[4] : "").Run(jobs);
}
