#include "graphnet/evaluate/macro.h"

#include <cmath>

namespace graphnet {

MacroParameters MacroAt(absl::Span<const LoggedSample> samples, int t) {
  MacroParameters made;
  made.total = samples.size();
  double logs = 0;
  double slow_logs = 0;
  for (const LoggedSample& sample : samples) {
    if (!sample.IsCorrect(t)) continue;
    const double log = std::log(sample.speedup);
    ++made.correct;
    logs += log;
    if (sample.speedup < 1) {
      ++made.slow;
      slow_logs += log;
    }
  }
  const auto total = static_cast<double>(made.total);
  const auto correct = static_cast<double>(made.correct);
  const auto slow = static_cast<double>(made.slow);
  if (made.total > 0) made.lambda = correct / total;
  if (made.correct > 0) {
    made.alpha = std::exp(logs / correct);
    made.eta = slow / correct;
  }
  if (made.slow > 0) made.beta = std::exp(slow_logs / slow);
  return made;
}

std::vector<double> ErrorShares(absl::Span<const LoggedSample> samples, int t,
                                Interpretation interpretation) {
  std::vector<double> shares(PenaltyClasses(interpretation).size());
  double failed = 0;
  for (const LoggedSample& sample : samples) {
    const Outcome outcome = sample.At(t);
    if (outcome == Outcome::kCorrect) continue;
    ++shares[PenaltyClassOf(interpretation, outcome)];
    ++failed;
  }
  for (double& share : shares) share = failed > 0 ? share / failed : 0;
  return shares;
}

double Gamma(int t, double b, absl::Span<const double> shares, Interpretation interpretation) {
  if (t <= 0) return b;
  double exponent = 0;
  const absl::Span<const PenaltyClass> classes = PenaltyClasses(interpretation);
  for (size_t c = 0; c < classes.size(); ++c) {
    if (t < classes[c].threshold) exponent += shares[c];
  }
  return std::pow(b, exponent);
}

double MacroScore(const MacroParameters& m, double p, double failure) {
  return std::pow(m.alpha, m.lambda) * std::pow(m.beta, m.lambda * m.eta * p) *
         std::pow(failure, 1 - m.lambda);
}

}  // namespace graphnet
