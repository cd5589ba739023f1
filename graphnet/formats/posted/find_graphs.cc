#include "graphnet/formats/posted/find_graphs.h"

#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graphnet/base/limits.h"

namespace graphnet::posted {
namespace {

constexpr absl::string_view kForward = "def forward(";
constexpr absl::string_view kModule = "(torch.nn.Module):";

// Returns the name of the class that a line begins; nullopt for other lines. Logs of Dynamo write
// the path of a file before it.
std::optional<absl::string_view> ClassOf(absl::string_view words) {
  if (!absl::ConsumeSuffix(&words, kModule)) return std::nullopt;
  if (!absl::ConsumePrefix(&words, "class ")) {
    const size_t at = words.find(".py class ");
    if (at == absl::string_view::npos) return std::nullopt;
    words.remove_prefix(at + 10);
  }
  if (words.empty() || words.size() > 1000 || absl::StrContains(words, ' ')) return std::nullopt;
  return words;
}

// Returns the title in "===== TITLE =====".
absl::string_view TitleOf(absl::string_view words) {
  if (words.size() < 6 || !absl::StartsWith(words, "==") || !absl::EndsWith(words, "==")) return {};
  while (absl::ConsumePrefix(&words, "=")) {
  }
  while (absl::ConsumeSuffix(&words, "=")) {
  }
  return absl::StripAsciiWhitespace(words);
}

// Returns a name made of a title or of the name of a class: "forward_graph_1".
std::string NameOf(absl::string_view title) {
  std::string name;
  // Dynamo ends its titles with 8 digits of an identifier, and more of it in groups of 4.
  const size_t groups = title.rfind('_');
  if (groups != absl::string_view::npos && title.size() - groups > 12 && title.size() > 37)
    title.remove_suffix(37);
  bool was_lower = false;
  for (const char c : title.substr(0, 60)) {
    if (absl::ascii_isalnum(c)) {
      if (absl::ascii_isupper(c) && was_lower) name.push_back('_');
      name.push_back(absl::ascii_tolower(c));
    } else if (!name.empty() && name.back() != '_') {
      name.push_back('_');
    }
    was_lower = absl::ascii_islower(c);
  }
  while (!name.empty() && name.back() == '_') name.pop_back();
  return name.empty() ? "graph" : name;
}

class Finder {
 public:
  explicit Finder(const Lines& lines) : lines_(lines) {}

  std::vector<Graph> Run() {
    for (at_ = 0; at_ < lines_.size();) Step();
    Finish();
    return std::move(graphs_);
  }

 private:
  struct Open {
    size_t indent;
    Function function;
    bool has_forward = false;
  };

  void Step() {
    const Line& line = lines_[at_];
    const absl::string_view words = line.words();
    if (line.is_fence || words == "TRACED GRAPH") {
      Finish();
      ++at_;
    } else if (const absl::string_view title = TitleOf(words); !title.empty()) {
      Finish();
      title_ = title;
      ++at_;
    } else if (const auto name = ClassOf(words)) {
      OpenClass(*name, absl::StartsWith(words, "class ") ? line.indent() : 0);
      ++at_;
    } else if (absl::StartsWith(words, kForward)) {
      TakeForward(line.indent());
    } else if (absl::StartsWith(words, "def load_args(")) {
      Finish();
      Range range = {at_ + 1, Block(line.indent())};
      at_ = range.end;
      if (!graphs_.empty()) graphs_.back().load_args = range;
    } else if (words == "Graph signature:") {
      Finish();
      TakeSignature();
    } else {
      ++at_;
    }
  }

  // Returns the line behind a block that stands below the current line.
  size_t Block(size_t indent) const {
    size_t end = at_ + 1;
    bool in_header = true;
    for (size_t i = at_ + 1; i < lines_.size(); ++i) {
      const Line& line = lines_[i];
      const absl::string_view words = line.words();
      if (line.is_fence) break;
      if (words.empty() || words[0] == '#') continue;
      // Formatters close the brackets of a header below its "def".
      const bool closes = in_header && line.indent() == indent && words[0] == ')';
      if (line.indent() <= indent && !closes) break;
      if (line.indent() <= indent || absl::EndsWith(words, ":")) in_header = false;
      end = i + 1;
    }
    return end;
  }

  void OpenClass(absl::string_view name, size_t indent) {
    Close(indent);
    if (open_.size() > static_cast<size_t>(kMaxNesting)) return;
    open_.push_back({indent, {.name = std::string(name)}});
  }

  void TakeForward(size_t indent) {
    while (!open_.empty() && open_.back().indent >= indent) Close(open_.back().indent);
    if (open_.empty()) open_.push_back({indent});
    Range range = {at_, EndOfForward(indent)};
    if (!open_.back().has_forward) {
      open_.back().has_forward = true;
      open_.back().function.forward = range;
    }
    at_ = range.end;
  }

  // Returns the line behind the method forward, which ends at its return.
  size_t EndOfForward(size_t indent) const {
    const size_t end = Block(indent);
    for (size_t i = at_ + 1; i < end; ++i) {
      // An elision stands where the text was cut.
      const absl::string_view words = lines_[i].words();
      if (words == "..." || words == "\xe2\x80\xa6" || words == "[...]") return i;
    }
    return end;
  }

  // Closes the classes that do not enclose a line with that indentation.
  void Close(size_t indent) {
    while (!open_.empty() && open_.back().indent >= indent) {
      Open closed = std::move(open_.back());
      open_.pop_back();
      if (!closed.has_forward) continue;
      if (open_.empty()) {
        Add(std::move(closed.function));
      } else {
        open_.back().function.classes.push_back(std::move(closed.function));
      }
    }
  }
  void Finish() { Close(0); }

  void Add(Function function) {
    Graph graph;
    std::string name = NameOf(title_.empty() ? function.name : title_);
    const int taken = taken_[name]++;
    graph.name = taken == 0 ? std::move(name) : absl::StrCat(name, "_", taken);
    graph.function = std::move(function);
    graphs_.push_back(std::move(graph));
    title_ = {};
  }

  void TakeSignature() {
    Range range = {++at_, at_};
    for (; at_ < lines_.size() && !lines_[at_].is_fence; ++at_) {
      const absl::string_view words = lines_[at_].words();
      if (ClassOf(words) || absl::StartsWith(words, kForward)) break;
      range.end = at_ + 1;
      if (absl::StartsWith(words, "Range constraints:")) {
        if (!graphs_.empty()) graphs_.back().ranges = at_;
        range.end = at_++;
        break;
      }
    }
    if (!graphs_.empty()) graphs_.back().signature = range;
  }

  const Lines& lines_;
  size_t at_ = 0;
  absl::string_view title_;
  std::vector<Open> open_;
  std::vector<Graph> graphs_;
  absl::flat_hash_map<std::string, int> taken_;
};

}  // namespace

bool HasGraph(absl::string_view text) {
  if (!absl::StrContains(text, kForward) || absl::StrContains(text.substr(0, 4096), '\0'))
    return false;
  // The names that PyTorch gives to classes, its operators, or the releases of values.
  static constexpr absl::string_view kMarks[] = {"class GraphModule(", "class Repro(", "torch.ops.",
                                                 ";  "};
  return absl::c_any_of(kMarks,
                        [&](absl::string_view mark) { return absl::StrContains(text, mark); });
}

std::vector<Graph> FindGraphs(const Lines& lines) { return Finder(lines).Run(); }

}  // namespace graphnet::posted
