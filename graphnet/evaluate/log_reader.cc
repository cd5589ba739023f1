#include "graphnet/evaluate/log_reader.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graphnet/base/json.h"
#include "graphnet/base/status.h"

namespace graphnet {
namespace {

constexpr size_t kNumComparisons = size_t{kNumToleranceLevels} * kNumToleranceClasses;
constexpr size_t kMaxReasonBytes = 300;
// The least number of decimals of a speedup, which is written as %.4f or %.5f.
constexpr size_t kSpeedupDecimals = 4;
// Limits of a line of times, and of the entries of a sample.
constexpr size_t kMaxTimesBytes = 4096;
constexpr size_t kMaxEntries = 64;

// The names of the 64 comparisons in logs. Some share a name, as do all of t = 0; the first counts.
struct ComparisonNames {
  ComparisonNames() {
    for (size_t i = 0; i < kNumComparisons; ++i) {
      const int t = kMinToleranceLevel + static_cast<int>(i) / kNumToleranceClasses;
      names[i] = ToleranceName(t, static_cast<ToleranceClass>(i % kNumToleranceClasses));
    }
    for (size_t i = 0; i < kNumComparisons; ++i)
      first[i] = index.try_emplace(names[i], i).first->second;
  }
  std::array<std::string, kNumComparisons> names;
  std::array<size_t, kNumComparisons> first;
  absl::flat_hash_map<absl::string_view, size_t> index;
};
const ComparisonNames& Names() {
  static const auto* const kNames = new ComparisonNames;
  return *kNames;
}

size_t Find(absl::string_view text, char c, size_t from) {
  const void* found =
      from < text.size() ? std::memchr(text.data() + from, c, text.size() - from) : nullptr;
  return found == nullptr ? absl::string_view::npos
                          : static_cast<size_t>(static_cast<const char*>(found) - text.data());
}

// Removes and returns the first word of `text`; it is empty if there is none.
absl::string_view NextWord(absl::string_view* text) {
  *text = absl::StripLeadingAsciiWhitespace(*text);
  size_t n = 0;
  while (n < text->size() && !absl::ascii_isspace((*text)[n])) ++n;
  const absl::string_view word = text->substr(0, n);
  text->remove_prefix(n);
  return word;
}

size_t CountWords(absl::string_view text) {
  size_t words = 0;
  while (!NextWord(&text).empty()) ++words;
  return words;
}

bool MentionsError(absl::string_view line) {
  return absl::StrContains(line, "Error:") || absl::StrContains(line, "Exception:");
}

// The lines of one sample, in any order, and what they mean together.
class SampleLines {
 public:
  SampleLines(bool times, LogWarnings* warnings) : times_(times), oddities_(warnings) {}

  size_t line() const { return line_; }
  const SampleResult& result() const { return result_; }
  size_t num_dtypes() const { return result_.eager_dtypes.size(); }

  void Begin(absl::string_view path, size_t line) {
    line_ = line;
    seen_ = {};
    known_ = 0;
    next_ = 0;
    equal_ = max_diff_ = mean_diff_ = absl::string_view();
    failure_ = error_ = absl::string_view();
    result_.path.assign(path.data(), path.size());
    result_.config.clear();
    result_.reason.clear();
    result_.eager_dtypes.clear();
    result_.compiled_dtypes.clear();
    result_.outputs.clear();
    result_.blind.clear();
    result_.rounding.reset();
    result_.eager_times.clear();
    result_.compiled_times.clear();
    result_.speedups.clear();
    result_.intervals.clear();
  }

  // Adds a line that does not begin a sample: its text from the first known tag on, or all of it.
  void Add(absl::string_view line, size_t number) {
    for (size_t at = Find(line, '[', 0); at != absl::string_view::npos;
         at = Find(line, '[', at + 1)) {
      const absl::string_view rest = line.substr(at + 1);
      if (absl::StartsWith(rest, "Correctness]")) {
        if (!AddComparison(rest.substr(12))) NoteError(line);
        return;
      }
      if (AddTagged(rest, number)) break;
    }
    NoteError(line);
  }

  void Finish() {
    JoinOutputs();
    result_.status = Status();
    if (result_.status == Outcome::kCorrect) {
      result_.reason.clear();
    } else if (result_.reason.empty()) {
      result_.reason = Printable(absl::StripAsciiWhitespace(!error_.empty() ? error_ : failure_),
                                 kMaxReasonBytes);
    }
  }

 private:
  struct Seen {
    bool eager = false;
    bool compiled = false;
    bool shapes = false;
    bool dtypes = false;
    std::optional<Outcome> status;
  };

  void Note(LogOddity oddity, size_t line) { oddities_->Add(oddity, line); }

  void NoteError(absl::string_view line) {
    if (error_.empty() && MentionsError(line)) error_ = line;
  }

  // Returns whether a tag is known, and adds its values. `rest` is the text after its "[".
  bool AddTagged(absl::string_view rest, size_t number) {
    if (absl::ConsumePrefix(&rest, "Config] ")) {
      const size_t colon = rest.find(": ");
      if (colon != absl::string_view::npos && result_.config.size() < kMaxEntries) {
        result_.config.emplace_back(rest.substr(0, colon),
                                    absl::StripAsciiWhitespace(rest.substr(colon + 2)));
      }
    } else if (absl::ConsumePrefix(&rest, "Datatype][eager]:")) {
      seen_.eager = true;
      Words(rest, &result_.eager_dtypes);
    } else if (absl::ConsumePrefix(&rest, "Datatype][compiled]:")) {
      seen_.compiled = true;
      Words(rest, &result_.compiled_dtypes);
    } else if (absl::StartsWith(rest, "DataType]")) {
      seen_.dtypes |= absl::StrContains(rest, "match:True");
    } else if (absl::StartsWith(rest, "Shape]")) {
      seen_.shapes |= absl::StrContains(rest, "match:True");
    } else if (absl::ConsumePrefix(&rest, "Performance][eager]: ")) {
      AddTimes(rest, number, &result_.eager_times);
    } else if (absl::ConsumePrefix(&rest, "Performance][compiled]: ")) {
      AddTimes(rest, number, &result_.compiled_times);
    } else if (absl::ConsumePrefix(&rest, "Speedup][")) {
      AddSpeedup(rest, number);
    } else if (absl::ConsumePrefix(&rest, "Interval][")) {
      AddInterval(rest, number);
    } else if (absl::StartsWith(rest, "Fail due to ")) {
      failure_ = absl::StripSuffix(absl::StripAsciiWhitespace(rest), "]");
    } else if (absl::ConsumePrefix(&rest, "Blind] ")) {
      AddBlind(rest, number);
    } else if (absl::ConsumePrefix(&rest, "Rounding] ")) {
      AddRounding(rest, number);
    } else if (absl::ConsumePrefix(&rest, "Status] ")) {
      AddStatus(rest, number);
    } else {
      return false;
    }
    return true;
  }

  static void Words(absl::string_view text, std::vector<std::string>* words) {
    words->clear();
    for (absl::string_view word = NextWord(&text); !word.empty(); word = NextWord(&text)) {
      words->emplace_back(word);
    }
  }

  // Adds "[KEY]: VALUES". Returns false unless it is a comparison and nothing else.
  bool AddComparison(absl::string_view rest) {
    absl::string_view values;
    if (absl::StartsWith(rest, "[all_close")) {
      seen_.shapes = true;
      const ComparisonNames& names = Names();
      // Comparisons usually come in order.
      size_t found = next_;
      const std::string& expected = names.names[found];
      if (rest.size() > expected.size() + 3 &&
          std::memcmp(rest.data() + 1, expected.data(), expected.size()) == 0 &&
          rest.substr(expected.size() + 1, 2) == "]:") {
        values = rest.substr(expected.size() + 3);
      } else {
        const size_t end = rest.find("]:");
        if (end == absl::string_view::npos) return false;
        const auto it = names.index.find(rest.substr(1, end - 1));
        if (it == names.index.end()) return false;
        found = it->second;
        values = rest.substr(end + 2);
      }
      next_ = (found + 1) % kNumComparisons;
      found = names.first[found];
      known_ |= uint64_t{1} << found;
      comparisons_[found] = values;
      return values.size() <= 2;  // longer texts may contain anything
    }
    if (absl::ConsumePrefix(&rest, "[equal]:")) {
      equal_ = rest;
    } else if (absl::ConsumePrefix(&rest, "[max_diff]:")) {
      max_diff_ = rest;
    } else if (absl::ConsumePrefix(&rest, "[mean_diff]:")) {
      mean_diff_ = rest;
    }
    return false;
  }

  void AddTimes(absl::string_view text, size_t number, ByMeasure<TimeStatistics>* times) {
    if (!times_) return;
    times->clear();
    const Json document = text.size() <= kMaxTimesBytes ? Json::Parse(text) : Json();
    if (!document.is_object()) return Note(LogOddity::kBadValue, number);
    for (const auto& [measure, members] : document.members()) {
      if (!members.is_object()) continue;
      TimeStatistics& made = times->emplace_back(measure, TimeStatistics()).second;
      const std::pair<const char*, double*> fields[] = {
          {"median", &made.median}, {"iqr", &made.iqr}, {"mean", &made.mean},
          {"std", &made.std},       {"min", &made.min}, {"max", &made.max}};
      for (const auto& [name, value] : fields) *value = members.Get<double>(name).value_or(*value);
    }
  }

  void AddSpeedup(absl::string_view rest, size_t number) {
    const size_t end = rest.find("]:");
    double value = 0;
    if (end == absl::string_view::npos || !absl::SimpleAtod(rest.substr(end + 2), &value) ||
        result_.speedups.size() == kMaxEntries) {
      return Note(LogOddity::kBadValue, number);
    }
    const absl::string_view measure = rest.substr(0, end);
    std::erase_if(result_.speedups, [&](const auto& entry) { return entry.first == measure; });
    result_.speedups.emplace_back(measure, value);
  }

  // Adds "e2e]: 1.20000 1.30000".
  void AddInterval(absl::string_view rest, size_t number) {
    const size_t end = std::min(rest.find("]:"), rest.size());
    absl::string_view values = rest.substr(std::min(end + 2, rest.size()));
    std::pair<double, double> interval;
    if (!absl::SimpleAtod(NextWord(&values), &interval.first) ||
        !absl::SimpleAtod(NextWord(&values), &interval.second) ||
        result_.intervals.size() == kMaxEntries) {
      return Note(LogOddity::kBadValue, number);
    }
    result_.intervals.emplace_back(rest.substr(0, end), interval);
  }

  // Returns the text behind the ": " at `colon`; empty if there is none.
  static std::string TextAfter(absl::string_view rest, size_t colon) {
    return Printable(absl::StripAsciiWhitespace(rest.substr(std::min(colon + 2, rest.size()))),
                     kMaxReasonBytes);
  }

  // Adds "2 from t = -10: zeros".
  void AddBlind(absl::string_view rest, size_t number) {
    const size_t colon = std::min(rest.find(": "), rest.size());
    const std::vector<absl::string_view> words = absl::StrSplit(rest.substr(0, colon), ' ');
    BlindOutput blind;
    if (words.size() != 5 || !absl::SimpleAtoi(words[0], &blind.output) ||
        !absl::SimpleAtoi(words[4], &blind.from_t) || result_.blind.size() == kMaxEntries) {
      return Note(LogOddity::kBadValue, number);
    }
    blind.answer = TextAfter(rest, colon);
    result_.blind.push_back(std::move(blind));
  }

  // Adds "rounding from t = -6: rounding: 0.8 of what rounding explains".
  void AddRounding(absl::string_view rest, size_t number) {
    const size_t colon = std::min(rest.find(": "), rest.size());
    const std::vector<absl::string_view> words = absl::StrSplit(rest.substr(0, colon), ' ');
    SampleRounding rounding;
    rounding.verdict = RoundingVerdictOfName(words[0]);
    int level = 0;
    const bool has_level = words.size() == 5 && absl::SimpleAtoi(words[4], &level);
    if (colon == rest.size() || (!rounding.verdict.has_value() && words[0] != kUnknownRounding) ||
        (words.size() > 1 && !has_level)) {
      return Note(LogOddity::kBadValue, number);
    }
    if (has_level) rounding.level = level;
    rounding.text = TextAfter(rest, colon);
    result_.rounding = std::move(rounding);
  }

  void AddStatus(absl::string_view rest, size_t number) {
    const size_t colon = std::min(rest.find(": "), rest.size());
    const auto outcome = OutcomeOfName(absl::StripAsciiWhitespace(rest.substr(0, colon)));
    if (!outcome.has_value()) return Note(LogOddity::kBadValue, number);
    // The comparisons decide whether numbers are right.
    const bool compared = *outcome == Outcome::kAccuracy || *outcome == Outcome::kBlind;
    seen_.status = compared ? Outcome::kCorrect : *outcome;
    result_.reason = TextAfter(rest, colon);
  }

  Outcome Status() const {
    if (seen_.status.has_value()) return *seen_.status;
    if (!seen_.eager) return Outcome::kEagerFail;
    if (!seen_.compiled) return Outcome::kCompileFail;
    if (!seen_.shapes) return Outcome::kShapeMismatch;
    if (!seen_.dtypes) return Outcome::kTypeMismatch;
    return error_.empty() ? Outcome::kCorrect : Outcome::kRuntimeFail;
  }

  // Assigns the values of each line to the outputs that they belong to.
  void JoinOutputs() {
    const bool compared = known_ != 0 || !equal_.empty();
    const size_t n = num_dtypes();
    if (!compared) return;
    if (n == 0) {
      if (seen_.eager) Note(LogOddity::kNoOutputs, line_);
      return;
    }
    result_.outputs.assign(n, OutputComparison());
    bool unequal = false;
    for (size_t i = 0; i < kNumComparisons; ++i) {
      const size_t first = Names().first[i];
      if ((known_ >> first & 1) == 0) continue;
      const uint64_t bit = uint64_t{1} << i;
      unequal |=
          !Spread(comparisons_[first], [&](OutputComparison* output, absl::string_view word) {
            if (IsTrue(word)) output->close |= bit;
          });
    }
    if (!equal_.empty()) {
      unequal |= !Spread(equal_, [&](OutputComparison* output, absl::string_view word) {
        output->equal = IsTrue(word);
      });
    }
    Spread(max_diff_, [](OutputComparison* output, absl::string_view word) {
      (void)absl::SimpleAtod(word, &output->max_diff);
    });
    Spread(mean_diff_, [](OutputComparison* output, absl::string_view word) {
      (void)absl::SimpleAtod(word, &output->mean_diff);
    });
    if (!unequal) return;
    Note(LogOddity::kUnequalOutputs, line_);
    result_.outputs.clear();
  }

  // Passes one word to each output. Returns false if their numbers differ.
  template <typename Take>
  bool Spread(absl::string_view text, Take take) {
    if (result_.outputs.size() == 1 && text.size() == 2 && text[0] == ' ' &&
        text[1] > ' ') {  // the usual case
      take(&result_.outputs[0], text.substr(1));
      return true;
    }
    for (OutputComparison& output : result_.outputs) {
      const absl::string_view word = NextWord(&text);
      if (word.empty()) return false;
      take(&output, word);
    }
    return NextWord(&text).empty();
  }

  static bool IsTrue(absl::string_view word) {
    if (word == "1") return true;
    double value = 0;
    return word == "True" || (absl::SimpleAtod(word, &value) && !std::isnan(value) && value != 0);
  }

  bool times_;
  LogWarnings* oddities_;
  size_t line_ = 0;
  Seen seen_;
  uint64_t known_ = 0;  // a bit for each of comparisons_ that was found
  std::array<absl::string_view, kNumComparisons> comparisons_;
  size_t next_ = 0;
  absl::string_view equal_, max_diff_, mean_diff_;
  absl::string_view failure_, error_;
  SampleResult result_;
};

// Returns where the tag that begins a sample starts in a line; npos if there is none.
size_t FindProcessing(absl::string_view line) {
  // The text after another tag may contain anything.
  static constexpr absl::string_view kOthers[] = {
      "[Correctness]", "[Config] ", "[Datatype]",   "[DataType]", "[Shape]",     "[Performance]",
      "[Speedup]",     "[Result]",  "[Fail due to", "[Blind] ",   "[Rounding] ", "[Status] "};
  for (size_t at = Find(line, '[', 0); at != absl::string_view::npos;
       at = Find(line, '[', at + 1)) {
    const absl::string_view rest = line.substr(at);
    if (absl::StartsWith(rest, "[Processing] ")) return at;
    for (const absl::string_view other : kOthers) {
      if (absl::StartsWith(rest, other)) return absl::string_view::npos;
    }
  }
  return absl::string_view::npos;
}

// Returns whether the last line of a log, which has no line end, is incomplete.
bool IsCut(absl::string_view line, absl::string_view prompt, size_t outputs) {
  if (line.size() < prompt.size()) return !line.empty() && absl::StartsWith(prompt, line);
  if (!absl::ConsumePrefix(&line, prompt)) return false;
  if (!absl::StartsWith(line, "[")) return line.empty();
  // The number and lengths of the following names are unknown, but no complete log ends with them.
  if (absl::StartsWith(line, "[Processing]") || absl::StartsWith(line, "[Datatype]")) return true;
  if (absl::StartsWith(line, "[Fail due to")) return !absl::EndsWith(line, "]");
  if (absl::StartsWith(line, "[DataType]") || absl::StartsWith(line, "[Shape]")) {
    return !absl::EndsWith(line, "match:True") && !absl::EndsWith(line, "match:False");
  }
  if (absl::ConsumePrefix(&line, "[Status] ")) {
    return !OutcomeOfName(line.substr(0, line.find(':'))).has_value();
  }
  if (absl::StartsWith(line, "[Rounding] ")) return !absl::StrContains(line, ": ");
  const size_t end = line.find("]: ");
  if (absl::StartsWith(line, "[Correctness]")) {
    return end == absl::string_view::npos || CountWords(line.substr(end + 3)) < outputs;
  }
  if (absl::StartsWith(line, "[Performance]")) return !absl::EndsWith(line, "}");
  if (absl::StartsWith(line, "[Speedup]") || absl::StartsWith(line, "[Interval]")) {
    const size_t point = line.rfind('.');
    return end == absl::string_view::npos || point == absl::string_view::npos ||
           line.size() - point - 1 < kSpeedupDecimals;
  }
  return !absl::StrContains(line, "]");
}

}  // namespace

void LogWarnings::Add(LogOddity oddity, size_t line) {
  Count& count = counts[static_cast<size_t>(oddity)];
  if (count.count++ == 0 || line < count.first_line) count.first_line = line;
}

void LogWarnings::Merge(const LogWarnings& later) {
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i].count == 0) counts[i].first_line = later.counts[i].first_line;
    counts[i].count += later.counts[i].count;
  }
}

std::vector<std::string> LogWarnings::Messages(absl::string_view file) const {
  static constexpr absl::string_view kWhat[kNumLogOddities] = {
      "the numbers of values and of outputs differ: wrong at every t",
      "nothing to compare, as there are no outputs: wrong at every t",
      "a line without a valid value, which is ignored",
      "a path occurs more than once: the last sample counts",
  };
  std::vector<std::string> messages;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i].count == 0) continue;
    messages.push_back(
        absl::StrCat(Printable(file, 1000), ":", counts[i].first_line, ": ", kWhat[i],
                     counts[i].count == 1 ? "" : absl::StrCat(" (", counts[i].count, " times)")));
  }
  return messages;
}

absl::Status ReadLogLines(absl::string_view bytes, const LogReadOptions& options,
                          LogWarnings* warnings,
                          absl::FunctionRef<absl::Status(size_t line, const SampleResult&)> take) {
  SampleLines sample(options.times, warnings);
  absl::string_view prompt;
  bool inside = false;
  size_t number = options.first_line;
  for (size_t at = 0; at < bytes.size(); ++number) {
    const size_t end = std::min(Find(bytes, '\n', at), bytes.size());
    absl::string_view line = bytes.substr(at, end - at);
    at = end + 1;
    if (absl::EndsWith(line, "\r")) line.remove_suffix(1);
    const size_t tag = FindProcessing(line);
    if (tag != absl::string_view::npos) {
      if (inside) {
        sample.Finish();
        RETURN_IF_ERROR(take(sample.line(), sample.result()));
      }
      inside = true;
      prompt = line.substr(0, tag);
      sample.Begin(absl::StripAsciiWhitespace(line.substr(line.find("] ", tag) + 2)), number);
    }
    if (!inside) continue;
    if (end == bytes.size() && IsCut(line, prompt, sample.num_dtypes())) {
      return ErrorAt(options.file, number, 0,
                     absl::StrCat("the log ends in the middle of this line, in sample ",
                                  Printable(sample.result().path)));
    }
    if (tag == absl::string_view::npos) sample.Add(line, number);
  }
  if (!inside) return absl::OkStatus();
  sample.Finish();
  return take(sample.line(), sample.result());
}

std::vector<size_t> DivideLog(absl::string_view bytes, size_t parts) {
  std::vector<size_t> begins = {0};
  for (size_t i = 1; i < parts; ++i) {
    size_t at = std::max(bytes.size() / parts * i, begins.back() + 1);
    // Skip to the next line that begins a sample.
    at = Find(bytes, '\n', std::min(at, bytes.size()));
    while (at != absl::string_view::npos) {
      const size_t end = std::min(Find(bytes, '\n', at + 1), bytes.size());
      if (FindProcessing(bytes.substr(at + 1, end - at - 1)) != absl::string_view::npos) break;
      at = end < bytes.size() ? end : absl::string_view::npos;
    }
    if (at == absl::string_view::npos) break;
    begins.push_back(at + 1);
  }
  return begins;
}

}  // namespace graphnet
