#include "graphnet/interp/measure_rounding.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graphnet/base/memory.h"
#include "graphnet/base/status.h"
#include "graphnet/interp/inputs/numbers.h"
#include "graphnet/interp/random_rounding.h"
#include "graphnet/interp/repeatable_run.h"
#include "graphnet/interp/tensors.h"
#include "graphnet/interp/torch/status.h"

namespace graphnet {
namespace {

using NamedOutputs = std::map<std::string, TensorData>;

// The spread of an element comes from 16 runs; what the whole output shows counts like this many.
constexpr double kRunsOfPrior = 4;
constexpr int kFewestRuns = 4;

struct RoundingRun {
  NamedOutputs outputs;
  std::vector<RoundingDecision> decisions;
};

int64_t BytesOf(const NamedOutputs& outputs) {
  int64_t bytes = 0;
  for (const auto& [name, data] : outputs) {
    if (data.bytes != nullptr) bytes += static_cast<int64_t>(data.bytes->size());
  }
  return bytes;
}

// Returns the first decision of `run` that is not that of `first`; nullopt if all are the same.
std::optional<std::string> FirstFlip(const RoundingRun& first, const RoundingRun& run) {
  const size_t common = std::min(first.decisions.size(), run.decisions.size());
  for (size_t i = 0; i < common; ++i) {
    const RoundingDecision& decision = run.decisions[i];
    if (decision.digest == first.decisions[i].digest) continue;
    return decision.node == nullptr
               ? decision.op
               : absl::StrCat(decision.op, " at %", Printable(decision.node->name()));
  }
  if (first.decisions.size() == run.decisions.size()) return std::nullopt;
  return "control flow";
}

bool IsFloatingOutput(const TensorData& data) {
  return data.bytes != nullptr && HasFractions(data.dtype);
}

// The elements of outputs of one form as doubles; complex elements are two.
std::vector<double> NumbersIn(const TensorData& data) {
  const Numbers numbers = NumbersOf(data.dtype);
  std::vector<double> made(data.bytes->size() / numbers.bytes);
  for (size_t i = 0; i < made.size(); ++i)
    made[i] = numbers.read(data.bytes->data() + i * numbers.bytes);
  return made;
}

// Computes the spread of one output from the runs whose decisions count.
class Spread {
 public:
  // Takes a value whose squares are known.
  Spread(const TensorData& value, std::vector<double> squares, size_t runs)
      : num_runs_(static_cast<double>(runs)), x_(NumbersIn(value)), squares_(std::move(squares)) {
    per_element_ = x_.size() / std::max<size_t>(squares_.size(), 1);
    for (double& square : squares_) square /= std::max(num_runs_, 1.0);
  }
  Spread(const TensorData& value, const std::vector<const TensorData*>& runs)
      : runs_(runs), num_runs_(static_cast<double>(runs.size())) {
    per_element_ = NumbersOf(value.dtype).is_complex ? 2 : 1;
    x_ = NumbersIn(value);
    squares_.assign(x_.size() / per_element_, 0);
    for (const TensorData* run : runs_) {
      EachSquare(*run, [&](size_t i, double square) { squares_[i] += square; });
    }
    for (double& square : squares_) square /= std::max(num_runs_, 1.0);
  }

  // Adds what is known beside the runs of an element alone.
  void Widen(const TensorData* exact) {
    double squares = 0;
    double values = 0;
    for (size_t i = 0; i < squares_.size(); ++i) {
      const double magnitude = Magnitude(i);
      if (!std::isfinite(magnitude) || !std::isfinite(squares_[i])) continue;
      squares += squares_[i];
      values += magnitude * magnitude;
    }
    const double mean = squares / std::max<double>(static_cast<double>(squares_.size()), 1);
    const double relative = values > 0 ? squares / values : 0;
    std::vector<double> known;
    if (exact != nullptr) known = NumbersIn(*exact);
    for (size_t i = 0; i < squares_.size(); ++i) {
      const double magnitude = Magnitude(i);
      // An element near 0 may be one that all runs put to 0, such as a relu does.
      const double prior =
          magnitude * magnitude <= 16 * mean ? mean : relative * magnitude * magnitude;
      squares_[i] = (num_runs_ * squares_[i] + kRunsOfPrior * prior) / (num_runs_ + kRunsOfPrior);
      if (known.size() != x_.size()) continue;
      double distance = 0;
      for (size_t part = 0; part < per_element_; ++part) {
        const double difference = x_[i * per_element_ + part] - known[i * per_element_ + part];
        distance += difference * difference;
      }
      // The distance says nothing of rounding where the result in float64 took another decision.
      if (std::isfinite(distance) && distance <= 900 * std::max(squares_[i], prior))
        squares_[i] += distance;
    }
  }

  // Returns OutputRounding::degrees.
  double Degrees() const {
    std::vector<double> means;
    for (const TensorData* run : runs_) {
      double sum = 0;
      double counted = 0;
      EachSquare(*run, [&](size_t i, double square) {
        if (!(squares_[i] > 0) || !std::isfinite(square)) return;
        sum += square / squares_[i];
        ++counted;
      });
      if (counted > 0) means.push_back(sum / counted);
    }
    if (means.size() < 2) return 1;
    double mean = 0;
    for (const double value : means) mean += value / static_cast<double>(means.size());
    double variance = 0;
    for (const double value : means)
      variance += (value - mean) * (value - mean) / static_cast<double>(means.size() - 1);
    const auto elements = static_cast<double>(squares_.size());
    if (variance <= 0 || mean <= 0) return std::max(elements, 1.0);
    return std::clamp(2 * mean * mean / variance, 1.0, std::max(elements, 1.0));
  }

  TensorData Data(const std::vector<int64_t>& shape) const {
    std::string bytes(squares_.size() * sizeof(float), '\0');
    for (size_t i = 0; i < squares_.size(); ++i) {
      const auto deviation = static_cast<float>(std::sqrt(squares_[i]));
      std::memcpy(bytes.data() + i * sizeof(float), &deviation, sizeof(float));
    }
    TensorData data;
    data.dtype = DType::kFloat32;
    data.shape = shape;
    data.bytes = std::make_shared<const std::string>(std::move(bytes));
    return data;
  }

 private:
  double Magnitude(size_t i) const {
    double square = 0;
    for (size_t part = 0; part < per_element_; ++part) {
      const double x = x_[i * per_element_ + part];
      square += x * x;
    }
    return std::sqrt(square);
  }

  // Calls `visit` with the square of the distance of each element of a run. Two nan are equal, and so
  // are two infinities of one sign.
  template <typename Visit>
  void EachSquare(const TensorData& run, Visit visit) const {
    const Numbers numbers = NumbersOf(run.dtype);
    const char* const bytes = run.bytes->data();
    for (size_t i = 0; i < squares_.size(); ++i) {
      double square = 0;
      for (size_t part = 0; part < per_element_; ++part) {
        const size_t at = i * per_element_ + part;
        const double y = numbers.read(bytes + at * numbers.bytes);
        if (y == x_[at] || (std::isnan(y) && std::isnan(x_[at]))) continue;
        square += (y - x_[at]) * (y - x_[at]);
      }
      visit(i, std::isnan(square) ? std::numeric_limits<double>::infinity() : square);
    }
  }

  std::vector<const TensorData*> runs_;
  double num_runs_ = 0;
  size_t per_element_ = 1;
  std::vector<double> x_;
  std::vector<double> squares_;
};

bool SameForm(const TensorData& a, const TensorData& b) {
  return a.dtype == b.dtype && a.shape == b.shape;
}

absl::StatusOr<RoundingRun> RunOnce(const RunAgain& run, const MeasureRoundingOptions& options,
                                    int number, float size) {
  RoundingRun made;
  RandomRounding rounding({.seed = static_cast<uint32_t>(number + 1), .size = size});
  RunOptions how;
  how.seed = options.seed;
  const bool is_seen = options.observer != nullptr && number < options.runs;
  how.observer = [&](const Node& node, const c10::IValue& value) -> absl::Status {
    rounding.CallsOf(node);
    return is_seen ? options.observer(number, node, value) : absl::OkStatus();
  };
  ASSIGN_OR_RETURN(const std::vector<c10::IValue> outputs, run(how));
  ASSIGN_OR_RETURN(made.outputs, NameOutputs(outputs));
  made.decisions = rounding.decisions();
  return made;
}

// Returns the output of a run if it has the form of `value`; null otherwise.
const TensorData* OutputOf(const RoundingRun& run, const std::string& name,
                           const TensorData& value) {
  const auto it = run.outputs.find(name);
  return it != run.outputs.end() && SameForm(it->second, value) ? &it->second : nullptr;
}

// Adds a run in which a decision fell otherwise to all outputs.
void AddOtherwise(const RoundingRun& run, const std::string& decision,
                  std::map<std::string, OutputRounding>* roundings) {
  for (auto& [name, rounding] : *roundings) {
    if (const TensorData* data = OutputOf(run, name, rounding.value); data != nullptr)
      rounding.otherwise.push_back({*data, decision});
  }
}

OutputRounding Summarise(const std::string& name, const TensorData& value,
                         const std::vector<RoundingRun>& alike, const NamedOutputs& exact) {
  OutputRounding made;
  made.value = value;
  if (!IsFloatingOutput(made.value)) return made;
  std::vector<const TensorData*> runs;
  for (const RoundingRun& run : alike) {
    const TensorData* data = OutputOf(run, name, value);
    if (data != nullptr) runs.push_back(data);
  }
  if (runs.empty()) return made;
  const auto known = exact.find(name);
  const bool is_known = known != exact.end() && known->second.shape == made.value.shape &&
                        IsFloatingOutput(known->second);
  if (is_known) made.exact = known->second;
  Spread spread(made.value, runs);
  made.degrees = spread.Degrees();
  spread.Widen(is_known ? &made.exact : nullptr);
  made.spread = spread.Data(made.value.shape);
  return made;
}

bool ExplainsAll(const std::map<std::string, OutputRounding>& roundings,
                 const NamedOutputs* others) {
  if (others == nullptr) return false;
  return std::all_of(roundings.begin(), roundings.end(), [&](const auto& named) {
    const auto other = others->find(named.first);
    return other != others->end() && JudgeRounding(named.second, other->second).is_explained();
  });
}

}  // namespace

absl::StatusOr<std::map<std::string, OutputRounding>> MeasureRounding(
    const RunAgain& run, const MeasureRoundingOptions& options) {
  ASSIGN_OR_RETURN(const RoundingRun first, RunOnce(run, options, -1, 0));
  const int64_t budget = AvailableMemoryBytes() / 8;
  const int64_t fits = budget / std::max<int64_t>(BytesOf(first.outputs), 1);
  const auto limited = [&](int runs) {
    return static_cast<int>(std::min<int64_t>(runs, std::max<int64_t>(fits / 2, kFewestRuns)));
  };
  std::vector<RoundingRun> alike;
  std::vector<std::pair<RoundingRun, std::string>> otherwise;
  for (int i = 0; i < limited(options.runs); ++i) {
    ASSIGN_OR_RETURN(RoundingRun made, RunOnce(run, options, i, 1));
    if (std::optional<std::string> flip = FirstFlip(first, made)) {
      otherwise.emplace_back(std::move(made), *std::move(flip));
    } else {
      alike.push_back(std::move(made));
    }
  }
  // If decisions fall otherwise in most runs, these runs are what rounding does.
  if (alike.size() < kFewestRuns) {
    for (const auto& [made, flip] : otherwise) alike.push_back(made);
  }
  std::map<std::string, OutputRounding> made;
  for (const auto& [name, data] : first.outputs)
    made[name] = Summarise(name, data, alike, options.exact);
  for (const auto& [run_made, flip] : otherwise) AddOtherwise(run_made, flip, &made);
  if (first.decisions.empty() || ExplainsAll(made, options.others)) return made;
  for (int i = 0; i < limited(options.deciding_runs); ++i) {
    ASSIGN_OR_RETURN(const RoundingRun run_made,
                     RunOnce(run, options, options.runs + i, kSizeOfDecidingRuns));
    if (const std::optional<std::string> flip = FirstFlip(first, run_made))
      AddOtherwise(run_made, *flip, &made);
  }
  return made;
}

absl::StatusOr<std::map<std::string, OutputRounding>> MeasureRoundingOf(
    const Module& module, std::map<std::string, TensorData> values, const PrepareOptions& prepare,
    const MeasureRoundingOptions& options) {
  ASSIGN_OR_RETURN(PreparedRun prepared, PrepareRun(module, std::move(values), prepare));
  ASSIGN_OR_RETURN(RepeatableRun run, RepeatableRun::Make(std::move(prepared)));
  return MeasureRounding([&](const RunOptions& how) { return run.RunAgain(how); }, options);
}

OutputRounding RoundingOfValue(const TensorData& value, const std::vector<double>& squares,
                               size_t runs) {
  OutputRounding made;
  made.value = value;
  Spread spread(value, squares, runs);
  spread.Widen(nullptr);
  made.spread = spread.Data(value.shape);
  return made;
}

}  // namespace graphnet
