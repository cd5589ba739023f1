// Asks random queries of every sample below a folder, by the index and without it:
//
//   queries_corpus FOLDER [QUERIES [SEED]]
//
// The samples with a match must be the same: CallQuery::Find over all of them, and over those whose
// rows have all terms of the query, read from the bytes of the rows. Prints each difference and, at
// the end, how many candidates and samples there were, and how long the rows took. Exits with 1 if
// there was a difference.
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "graphnet/base/parallel.h"
#include "graphnet/corpus/match.h"
#include "graphnet/formats/formats.h"
#include "tests/corpus/random_query.h"

namespace graphnet {
namespace {

int Run(const std::string& folder, int queries, unsigned seed) {
  const auto inputs = FindInputs({folder});
  if (!inputs.ok()) {
    std::fprintf(stderr, "%s\n", std::string(inputs.status().message()).c_str());
    return 2;
  }
  std::vector<Sample> samples;
  std::vector<CorpusRow> rows;
  for (const std::string& path : *inputs) {
    absl::StatusOr<Sample> sample = Load(path);
    absl::StatusOr<CorpusRow> row = sample.ok() ? MakeRow(*sample) : sample.status();
    if (!row.ok()) {
      std::printf("%s: %s\n", path.c_str(), std::string(row.status().message()).c_str());
      continue;
    }
    samples.push_back(*std::move(sample));
    rows.push_back(*std::move(row));
  }
  std::mt19937 random(seed);
  size_t asked = 0, with_match = 0, found = 0, candidates = 0, differences = 0, without_terms = 0;
  while (asked < static_cast<size_t>(queries)) {
    const std::string text = RandomQuery(*samples[random() % samples.size()].module, &random);
    const auto query = CallQuery::Parse(text);
    if (!query.ok()) continue;
    ++asked;
    const std::vector<QueryTerm> terms = TermsOf(*query);
    without_terms += terms.empty() ? 1 : 0;
    std::vector<char> all(samples.size()), indexed(samples.size()), named(samples.size());
    ParallelFor(
        samples.size(), NumCpus(),
        [&](size_t i) {
          named[i] = HasTerms(rows[i], terms) ? 1 : 0;
          const auto scanned = query->Find(samples[i].module.get());
          if (!scanned.ok()) return scanned.status();
          all[i] = scanned->empty() ? 0 : 1;
          if (named[i] == 0) return absl::OkStatus();
          const auto count = CountMatches(*query, rows[i].blob);
          if (!count.ok()) return count.status();
          indexed[i] = *count > 0 ? 1 : 0;
          return *count == scanned->size() ? absl::OkStatus()
                                           : absl::InternalError("other matches in the blob");
        },
        [&](size_t i, const absl::Status& status) {
          found += all[i] != 0 ? 1 : 0;
          candidates += named[i] != 0 ? 1 : 0;
          if (status.ok() && all[i] == indexed[i]) return;
          ++differences;
          std::printf("%s: %s: %s\n", text.c_str(), samples[i].name.c_str(),
                      status.ok() ? "the index lacks it" : std::string(status.message()).c_str());
        });
    bool any = false;
    for (const char one : all) any |= one != 0;
    with_match += any ? 1 : 0;
  }
  std::printf(
      "%zu queries over %zu samples, %zu with a match, %zu without a term: %zu samples "
      "match of %zu candidates, %zu differences\n",
      asked, samples.size(), with_match, without_terms, found, candidates, differences);
  return differences == 0 ? 0 : 1;
}

}  // namespace
}  // namespace graphnet

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: queries_corpus FOLDER [QUERIES [SEED]]\n");
    return 2;
  }
  return graphnet::Run(argv[1], argc > 2 ? std::atoi(argv[2]) : 300,
                       argc > 3 ? static_cast<unsigned>(std::atoi(argv[3])) : 1);
}
