// Compares the fingerprints of ranges with the hashes of the pieces that are cut there, for samples
// below a folder:
//
//   ranges_corpus FOLDER [SAMPLES]
//
// All ranges of 1, 2, 5, 13 and 34 operators of so many samples (100), which are spread over the
// folder, are cut out and hashed. Two of them must have one fingerprint if and only if their pieces
// have one hash. Prints each difference and, at the end, how many ranges there were. Then finds the
// ranges and the modules that recur in all samples of the folder, and prints how long that took and
// the first of them. Exits with 1 if there was a difference.
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/parallel.h"
#include "graphnet/corpus/range_walk.h"
#include "graphnet/corpus/recurring.h"
#include "graphnet/formats/formats.h"
#include "tests/corpus/slow_ranges.h"

namespace graphnet {
namespace {

using corpus_internal::Fingerprint;

double ProcessorTime() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Compared {
  std::string place;
  Fingerprint fast;
  std::string slow;
};

std::vector<Compared> RangesOf(const Sample& sample, const corpus_internal::RangeForm& form,
                               const corpus_internal::FingerprintKeys& keys) {
  std::vector<Compared> made;
  const SlowRanges slow(sample);
  corpus_internal::RangeWalk walk(keys);
  for (uint32_t start = 0; start < form.num_operators(); ++start) {
    if (form.can_cut[start] != slow.CanCut(start)) std::printf("%s: cuts\n", sample.name.c_str());
    if (!form.can_cut[start]) continue;
    walk.Start(form, start);
    for (const uint32_t calls : {1, 2, 5, 13, 34}) {
      while (walk.end() < start + calls && walk.Extend()) {
      }
      if (walk.end() < start + calls || !form.can_cut[walk.end()]) continue;
      const auto hash = slow.Hash({start, walk.end()});
      const auto piece = walk.Piece();
      if (!piece.has_value()) continue;
      made.push_back({absl::StrCat(sample.name, " ", start, ":", walk.end()), *piece,
                      hash.ok() ? *hash : std::string(hash.status().message())});
    }
  }
  return made;
}

size_t Compare(const std::vector<std::string>& inputs, size_t number) {
  corpus_internal::Tokens tokens;
  const corpus_internal::FingerprintKeys keys;
  std::vector<Sample> samples;
  std::vector<corpus_internal::RangeForm> forms;
  const size_t stride = std::max<size_t>(1, inputs.size() / number);
  for (size_t i = 0; i < inputs.size() && samples.size() < number; i += stride) {
    absl::StatusOr<Sample> sample = Load(inputs[i]);
    if (!sample.ok()) continue;
    auto form = corpus_internal::MakeRangeForm(*sample->module, /*modules=*/false);
    if (!form.ok()) continue;
    tokens.Number(&*form);
    samples.push_back(*std::move(sample));
    forms.push_back(*std::move(form));
  }
  std::vector<std::vector<Compared>> all(samples.size());
  ParallelFor(
      samples.size(), NumCpus(),
      [&](size_t i) {
        all[i] = RangesOf(samples[i], forms[i], keys);
        return absl::OkStatus();
      },
      [](size_t, const absl::Status&) {});
  absl::flat_hash_map<Fingerprint, const Compared*> by_fast;
  absl::flat_hash_map<std::string, const Compared*> by_slow;
  size_t ranges = 0, again = 0, differences = 0;
  for (const std::vector<Compared>& some : all) {
    for (const Compared& one : some) {
      ++ranges;
      const Compared* const fast = by_fast.try_emplace(one.fast, &one).first->second;
      const Compared* const slow = by_slow.try_emplace(one.slow, &one).first->second;
      again += slow != &one ? 1 : 0;
      if (fast == slow) continue;
      ++differences;
      std::printf("%s: by fingerprint as %s, by hash as %s\n", one.place.c_str(),
                  fast->place.c_str(), slow->place.c_str());
    }
  }
  std::printf("%zu ranges of %zu samples, %zu of them seen before: %zu differences\n", ranges,
              samples.size(), again, differences);
  return differences;
}

void Find(const std::vector<std::string>& inputs, RecurringOptions options) {
  double reading = ProcessorTime();
  RecurringRanges search(options);
  for (const std::string& path : inputs) {
    const absl::StatusOr<Sample> sample = Load(path);
    auto form = sample.ok() ? PrepareRanges(*sample->module, options) : sample.status();
    const absl::Status added = form.ok() ? search.Add(*std::move(form)) : form.status();
    if (!added.ok()) std::printf("%s: %s\n", path.c_str(), std::string(added.message()).c_str());
  }
  const double begin = ProcessorTime();
  reading = begin - reading;
  const absl::StatusOr<Recurring> found = search.Find();
  if (!found.ok()) {
    std::printf("%s\n", std::string(found.status().message()).c_str());
    return;
  }
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  std::printf("%zu %s recur, %zu cut short; reading %.1f s, search %.1f s, %ld MB at the most\n",
              found->found, options.modules ? "modules" : "ranges", found->cut_short, reading,
              ProcessorTime() - begin, usage.ru_maxrss / 1024);
  for (size_t i = 0; i < std::min<size_t>(found->ranges.size(), 10); ++i) {
    const RecurringRange& range = found->ranges[i];
    std::printf("%6ld times in %5zu graphs: %s %ld:%ld %s\n", static_cast<long>(range.occurrences),
                range.graphs.size(), inputs[range.graph].c_str(),
                static_cast<long>(range.range.start), static_cast<long>(range.range.end),
                range.module.c_str());
  }
}

int Run(const std::string& folder, size_t number) {
  const auto inputs = FindInputs({folder});
  if (!inputs.ok()) {
    std::fprintf(stderr, "%s\n", std::string(inputs.status().message()).c_str());
    return 2;
  }
  const size_t differences = number == 0 ? 0 : Compare(*inputs, number);
  Find(*inputs, {.jobs = NumCpus()});
  Find(*inputs, {.modules = true, .most_calls = int64_t{1} << 32, .jobs = NumCpus()});
  return differences == 0 ? 0 : 1;
}

}  // namespace
}  // namespace graphnet

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "usage: ranges_corpus FOLDER [SAMPLES]\n");
    return 2;
  }
  return graphnet::Run(argv[1], argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 100);
}
