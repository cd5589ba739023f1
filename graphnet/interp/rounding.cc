#include "graphnet/interp/rounding.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graphnet/base/distributions.h"
#include "graphnet/base/tolerance.h"
#include "graphnet/interp/inputs/numbers.h"
#include "graphnet/ir/text/equality.h"

namespace graphnet {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
// A result that rounding alone changed is called wrong as seldom as this.
constexpr double kFalseAlarms = 1e-3;
// Both results are rounded, and independently of each other.
constexpr double kBothSides = 1.41421356;
// The runs that a spread comes from, and the spread of the others that counts as this many more.
constexpr double kRunsOfSpread = 16;

// Returns the limit of the root mean square of differences, in standard deviations, by Wilson and
// Hilferty's approximation of the chi-squared distribution. That the deviations themselves are
// estimates counts for as much as it does for a single element.
double MeanLimit(double degrees) {
  const double z = NormalLimit(2 * kFalseAlarms);
  const double part = 2 / (9 * degrees);
  const double cube = 1 - part + z * std::sqrt(part);
  const double estimated =
      StudentLimit(kFalseAlarms, kRunsOfSpread * degrees) / NormalLimit(kFalseAlarms);
  return std::sqrt(cube * cube * cube) * estimated;
}

// Returns "6,300": two digits that count, and commas; "8.2e+07" for more than millions.
std::string TimesText(double times) {
  if (times >= 1e6 || times < 10) return absl::StrFormat("%.2g", times);
  const double unit = std::pow(10.0, std::floor(std::log10(times)) - 1);
  std::string digits = absl::StrCat(std::llround(std::round(times / unit) * unit));
  for (size_t end = digits.size(); end > 3; end -= 3) digits.insert(end - 3, ",");
  return digits;
}

// The elements of a tensor as doubles: two for each complex element.
class Elements {
 public:
  explicit Elements(const TensorData& data) : numbers_(NumbersOf(data.dtype)) {
    if (data.bytes == nullptr || numbers_.read == nullptr) return;
    bytes_ = data.bytes->data();
    size_ = data.bytes->size() / numbers_.bytes;
  }
  bool is_known() const { return bytes_ != nullptr; }
  size_t size() const { return size_; }
  bool is_complex() const { return numbers_.is_complex; }
  double operator[](size_t i) const { return numbers_.read(bytes_ + i * numbers_.bytes); }

 private:
  Numbers numbers_;
  const char* bytes_ = nullptr;
  size_t size_ = 0;
};

// Returns the distance of two numbers; 0 for two nan and for the same infinity.
double Distance(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  const double distance = std::abs(a - b);
  return std::isnan(distance) ? kInfinite : distance;
}

// Measures how far a result is from another one, in parts of what rounding explains.
class Judge {
 public:
  explicit Judge(const OutputRounding& by)
      : value_(by.value), spread_(by.spread), exact_(by.exact) {
    per_element_ = value_.is_complex() ? 2 : 1;
    const double elements = std::max<double>(static_cast<double>(spread_.size()), 1);
    of_one_ = kBothSides * StudentLimit(kFalseAlarms / elements, kRunsOfSpread);
    of_all_ = kBothSides * MeanLimit(by.degrees);
  }

  // Returns by how much element `i` may differ.
  double Limit(size_t i) const { return of_one_ * Spread(i); }
  size_t size() const { return value_.size(); }
  double Value(size_t i) const { return value_[i]; }

  bool Differs(const Elements& other) const {
    for (size_t i = 0; i < value_.size(); ++i) {
      if (Distance(value_[i], other[i]) != 0) return true;
    }
    return false;
  }

  struct Result {
    double ratio = 0;
    int64_t beyond = 0;
  };
  // `other(i)` is element i of the other result. Rounding may be `size` times as large.
  template <typename Other>
  Result Compare(Other other, double size = 1) const {
    Result result;
    double squares = 0;
    double counted = 0;
    for (size_t i = 0; i < value_.size(); ++i) {
      double distance = Distance(value_[i], other(i));
      // A result that is nearer to the exact one is right, whatever this one is.
      if (exact_.is_known()) distance = std::min(distance, Distance(exact_[i], other(i)));
      Add(distance, Spread(i) * size, &result, &squares, &counted);
    }
    Finish(squares, counted, &result);
    return result;
  }

  // The same, against the nearer of this result and of one in which a decision fell otherwise.
  Result CompareNearest(const Elements& near, const Elements& other) const {
    Result result;
    double squares = 0;
    double counted = 0;
    for (size_t i = 0; i < value_.size(); ++i) {
      const double part = std::min(Distance(value_[i], other[i]),
                                   Distance(near[i], other[i]) / kSizeOfDecidingRuns);
      Add(part, Spread(i), &result, &squares, &counted);
    }
    Finish(squares, counted, &result);
    return result;
  }

 private:
  double Spread(size_t i) const { return spread_[i / per_element_]; }

  void Add(double distance, double spread, Result* result, double* squares, double* counted) const {
    if (spread > 0) ++*counted;
    if (distance == 0) return;
    const double part = spread > 0 ? distance / spread : kInfinite;
    result->ratio = std::max(result->ratio, part / of_one_);
    if (part > of_one_) ++result->beyond;
    *squares += part * part;
  }
  void Finish(double squares, double counted, Result* result) const {
    if (counted == 0) return;
    result->ratio = std::max(result->ratio, std::sqrt(squares / counted) / of_all_);
  }

  Elements value_;
  Elements spread_;
  Elements exact_;
  size_t per_element_ = 1;
  double of_one_ = 0;
  double of_all_ = 0;
};

// Returns whether rounding explains a wrong answer, too: zeros everywhere, or one number. It is known to
// explain an answer that differs.
bool IsBlind(const Judge& judge) {
  if (judge.size() == 0) return false;
  double least = kInfinite;
  double greatest = -kInfinite;
  for (size_t i = 0; i < judge.size(); ++i) {
    if (!std::isfinite(judge.Value(i))) continue;
    least = std::min(least, judge.Value(i));
    greatest = std::max(greatest, judge.Value(i));
  }
  if (least == 0 && greatest == 0) return true;  // they have no digit
  if (judge.Compare([](size_t) { return 0.0; }).ratio <= 1) return true;
  const double middle = least / 2 + greatest / 2;
  return least < greatest && judge.Compare([=](size_t) { return middle; }).ratio <= 1;
}

RoundingFinding JudgeWhole(const OutputRounding& by, const TensorData& other) {
  RoundingFinding finding;
  const size_t bytes = by.value.bytes == nullptr ? 0 : by.value.bytes->size();
  const auto width = static_cast<size_t>(std::max(DTypeBytes(by.value.dtype), 1));
  bool decided = true;
  for (size_t i = 0; i + width <= bytes; i += width) {
    const char* const mine = by.value.bytes->data() + i;
    const char* const its = other.bytes->data() + i;
    if (std::memcmp(mine, its, width) == 0) continue;
    ++finding.beyond;
    const auto found = std::find_if(
        by.otherwise.begin(), by.otherwise.end(), [&](const OutputRounding::Otherwise& run) {
          return std::memcmp(run.value.bytes->data() + i, its, width) == 0;
        });
    if (found == by.otherwise.end()) {
      decided = false;
    } else if (finding.decision.empty()) {
      finding.decision = found->decision;
    }
  }
  finding.verdict = decided ? RoundingVerdict::kDecision : RoundingVerdict::kBeyond;
  finding.ratio = decided ? 1 : kInfinite;
  if (decided) finding.beyond = 0;
  return finding;
}

}  // namespace

absl::string_view RoundingVerdictName(RoundingVerdict verdict) {
  switch (verdict) {
    case RoundingVerdict::kEqual: return "equal";
    case RoundingVerdict::kRounding: return "rounding";
    case RoundingVerdict::kDecision: return "decision";
    case RoundingVerdict::kBlind: return "blind";
    case RoundingVerdict::kBeyond: return "beyond";
    case RoundingVerdict::kOtherForm: return "other_form";
  }
  return "";
}

std::optional<RoundingVerdict> RoundingVerdictOfName(absl::string_view name) {
  for (int i = 0; i <= static_cast<int>(RoundingVerdict::kOtherForm); ++i) {
    if (name == RoundingVerdictName(static_cast<RoundingVerdict>(i)))
      return static_cast<RoundingVerdict>(i);
  }
  return std::nullopt;
}

std::string RoundingFinding::Text() const {
  switch (verdict) {
    case RoundingVerdict::kEqual: return "equal bits";
    case RoundingVerdict::kRounding:
      return absl::StrFormat("rounding: %.2g of what rounding explains", ratio);
    case RoundingVerdict::kDecision:
      return absl::StrCat("a decision within rounding flips: ", decision);
    case RoundingVerdict::kBlind: return "blind: rounding would explain a wrong answer, too";
    case RoundingVerdict::kOtherForm: return "of another form";
    case RoundingVerdict::kBeyond: break;
  }
  std::string text = std::isfinite(ratio)
                         ? absl::StrCat("beyond rounding: ", TimesText(ratio), " times")
                         : "beyond rounding: rounding does not change it";
  if (!first.empty()) absl::StrAppend(&text, ", first at ", first);
  return text;
}

RoundingFinding JudgeRounding(const OutputRounding& by, const TensorData& other) {
  RoundingFinding finding;
  if (by.value.dtype != other.dtype || by.value.shape != other.shape) {
    finding.verdict = RoundingVerdict::kOtherForm;
    finding.ratio = kInfinite;
    return finding;
  }
  if (SameData(by.value, other)) return finding;
  if (!HasFractions(by.value.dtype) || by.spread.bytes == nullptr) return JudgeWhole(by, other);
  const Judge judge(by);
  const Elements elements(other);
  const Judge::Result result = judge.Compare([&](size_t i) { return elements[i]; });
  finding.ratio = result.ratio;
  finding.beyond = result.beyond;
  if (result.ratio == 0) {
    // Either the numbers are equal, as 0 and -0 or two nan are, or the other result is the exact one.
    if (!judge.Differs(elements)) return finding;
    finding.verdict = RoundingVerdict::kRounding;
    return finding;
  }
  if (result.ratio <= 1) {
    finding.verdict = IsBlind(judge) ? RoundingVerdict::kBlind : RoundingVerdict::kRounding;
    return finding;
  }
  finding.verdict = RoundingVerdict::kBeyond;
  for (const OutputRounding::Otherwise& run : by.otherwise) {
    const Judge::Result nearest = judge.CompareNearest(Elements(run.value), elements);
    if (nearest.ratio > 1 || nearest.ratio > finding.ratio) continue;
    finding.verdict = RoundingVerdict::kDecision;
    finding.ratio = nearest.ratio;
    finding.beyond = 0;
    finding.decision = run.decision;
  }
  return finding;
}

std::optional<int> DerivedLevel(const OutputRounding& by) {
  if (!HasFractions(by.value.dtype) || by.spread.bytes == nullptr) return std::nullopt;
  const Judge judge(by);
  const ToleranceClass dtypes = ToleranceClassOf(DTypeName(by.value.dtype));
  for (int t = kMinToleranceLevel; t <= kMaxToleranceLevel; ++t) {
    const Tolerance tolerance = ToleranceAt(t, dtypes);
    bool all = true;
    for (size_t i = 0; i < judge.size() && all; ++i) {
      const double value = judge.Value(i);
      all = !std::isfinite(value) ||
            judge.Limit(i) <= tolerance.atol + tolerance.rtol * std::abs(value);
    }
    if (all) return t;
  }
  return std::nullopt;
}

const RoundingFinding& WorstOf(const std::vector<RoundingFinding>& findings) {
  static const auto* const none = new RoundingFinding;
  const auto it = std::max_element(
      findings.begin(), findings.end(), [](const RoundingFinding& a, const RoundingFinding& b) {
        return std::pair(a.verdict, a.ratio) < std::pair(b.verdict, b.ratio);
      });
  return it == findings.end() ? *none : *it;
}

}  // namespace graphnet
