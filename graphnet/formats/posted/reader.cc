#include "graphnet/formats/posted/reader.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/listed_names.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/graphnet_folder/posted_parser.h"
#include "graphnet/formats/posted/annotation.h"
#include "graphnet/formats/posted/find_graphs.h"
#include "graphnet/formats/posted/lines.h"
#include "graphnet/formats/posted/load_args.h"
#include "graphnet/formats/posted/signature.h"

namespace graphnet::posted {
namespace {

// The name of the text in messages of the parser, which become messages of this reader.
constexpr absl::string_view kText = "text";

std::string Joined(const Lines& lines, const Range& range) {
  std::string text;
  for (size_t i = range.begin; i < range.end; ++i) absl::StrAppend(&text, lines[i].text, "\n");
  return text;
}

// Returns the place in "# File: x.py:134 in forward, code: …"; nullopt for other lines, and no file
// for the line by which PyTorch says that it knows none.
std::optional<SourceLocation> PlaceIn(absl::string_view words) {
  if (words == "# No stacktrace found for following nodes") return SourceLocation();
  if (!absl::ConsumePrefix(&words, "# File: ")) return std::nullopt;
  for (size_t at = words.find(':'); at != absl::string_view::npos; at = words.find(':', at + 1)) {
    absl::string_view rest = words.substr(at + 1);
    size_t n = 0;
    while (n < rest.size() && absl::ascii_isdigit(rest[n])) ++n;
    uint32_t line = 0;
    if (n == 0 || !absl::SimpleAtoi(rest.substr(0, n), &line)) continue;
    rest.remove_prefix(n);
    if (rest.empty() || absl::StartsWith(rest, " in ") || absl::StartsWith(rest, ", code"))
      return SourceLocation{.file = words.substr(0, at), .line = line};
  }
  return std::nullopt;
}

class GraphReader {
 public:
  GraphReader(const Lines& lines, std::vector<std::string>* notes)
      : lines_(lines), notes_(*notes), module_(std::make_unique<Module>()) {}

  absl::StatusOr<std::unique_ptr<Module>> Run(const Graph& graph) {
    RETURN_IF_ERROR(Read(graph.function, module_->AddGraph("forward"), 0));
    if (num_strided_ > 0) {
      notes_.push_back(absl::StrCat("the strides of ", num_strided_, " input",
                                    num_strided_ == 1 ? "" : "s",
                                    " are left out: inputs are drawn contiguous"));
    }
    if (!graph.signature.empty())
      RETURN_IF_ERROR(ApplySignature(lines_, graph.signature, module_.get(), &notes_));
    if (graph.ranges > 0) AddRanges(lines_[graph.ranges].words(), module_.get());
    if (!graph.load_args.empty()) {
      ApplyLoadArgs(ReadLoadArgs(Joined(lines_, graph.load_args)), module_.get(), &notes_);
    }
    GiveExamples();
    return std::move(module_);
  }

 private:
  // Reads a function and the bodies that belong to it.
  absl::Status Read(const Function& function, graphnet::Graph* graph, int depth) {
    PostedFunction parsed{.graph = graph};
    for (const Function& body : function.classes)
      parsed.bodies[body.name] = module_->AddGraph(body.name);
    RETURN_IF_ERROR(Parse(function.forward, &parsed));
    if (parsed.is_cut) {
      notes_.push_back(absl::StrCat("the text ends before ",
                                    depth == 0 ? "the graph" : Printable(function.name),
                                    " returns: it returns the values that nothing uses"));
    }
    for (const auto& [node, text] : parsed.annotations) Annotate(text, depth == 0, node);
    if (depth == 0) {
      for (Node* node : graph->nodes()) {
        if (node->is_placeholder() && node->tensor_meta() != nullptr && node->annotation().empty())
          node->set_annotation("torch.Tensor");
      }
    }
    Place(function.forward, graph);
    for (const Function& body : function.classes)
      RETURN_IF_ERROR(Read(body, parsed.bodies[body.name], depth + 1));
    return absl::OkStatus();
  }

  absl::Status Parse(const Range& range, PostedFunction* parsed) {
    absl::Status status = ParsePostedFunction(Joined(lines_, range), kText, module_.get(), parsed);
    const std::optional<ErrorPlace> place = PlaceOf(status);
    if (!place) return status;
    // The parser counts from the first line of the function, behind what was taken off.
    const size_t line = range.begin + place->line - 1;
    const size_t offset = line < lines_.size() ? lines_[line].offset : 0;
    absl::string_view message = status.message();
    absl::ConsumePrefix(&message, absl::StrCat(kText, ":", place->line, ":", place->column, ": "));
    return absl::Status(status.code(),
                        absl::StrCat(line + 1, ":", place->column + offset, ": ", message));
  }

  void Annotate(absl::string_view text, bool is_main, Node* node) {
    const Annotation annotation = ReadAnnotation(text, module_.get());
    num_strided_ += is_main && node->is_placeholder() && annotation.is_strided ? 1 : 0;
    if (annotation.tensor != nullptr) {
      node->set_meta(module_->InternValueMeta(*annotation.tensor));
      if (node->op() == Op::kGetAttr)
        module_->AddAttribute({.name = node->target(), .meta = annotation.tensor});
    }
    if (annotation.is_number && node->is_placeholder()) {
      node->set_annotation("torch.SymInt");
      if (is_main && annotation.number != nullptr &&
          annotation.number->kind == SymExpr::Kind::kSymbol) {
        number_inputs_.emplace_back(node, annotation.number->name);
      }
    }
  }

  // Gives the nodes of a function the places in the comments above them, or else in the text.
  void Place(const Range& range, graphnet::Graph* graph) {
    std::vector<SourceLocation> places(range.end - range.begin);
    SourceLocation current;
    for (size_t i = range.begin; i < range.end; ++i) {
      const absl::string_view words = lines_[i].words();
      if (absl::StartsWith(words, "#")) {
        if (const auto place = PlaceIn(words)) current = *place;
      }
      places[i - range.begin] = current;
    }
    for (Node* node : graph->nodes()) {
      const SourceLocation location = node->location();
      const size_t line = location.line == 0 ? 0 : location.line - 1;
      if (line >= places.size()) continue;
      const bool is_call = node->is_call();
      node->set_location(is_call ? places[line] : SourceLocation());
    }
  }

  // Gives symbols sizes with which the graph can be run, where the text says none.
  void GiveExamples() {
    struct Bounds {
      int64_t low = 0;
      int64_t high = std::numeric_limits<int64_t>::max();
    };
    absl::flat_hash_map<absl::string_view, Bounds> bounds;
    for (const SymExpr* relation : module_->relations()) {
      const SymExpr &symbol = *relation->lhs, &number = *relation->rhs;
      if (symbol.kind != SymExpr::Kind::kSymbol || number.kind != SymExpr::Kind::kInt) continue;
      Bounds& of_it = bounds[symbol.name];
      if (relation->kind == SymExpr::Kind::kGe) of_it.low = std::max(of_it.low, number.value);
      if (relation->kind == SymExpr::Kind::kLe) of_it.high = std::min(of_it.high, number.value);
    }
    std::vector<std::string> given;
    int64_t next = 4;
    const std::vector<Symbol> symbols(module_->symbols().begin(), module_->symbols().end());
    for (const Symbol& symbol : symbols) {
      // The value of an unbacked symbol follows from data.
      if (symbol.example.has_value() || absl::StartsWith(symbol.name, "u")) continue;
      const Bounds& of_it = bounds[symbol.name];
      const int64_t example = std::max(of_it.low, std::min(of_it.high, next++));
      module_->AddSymbol(symbol.name, example);
      given.push_back(absl::StrCat(Printable(symbol.name), " = ", example));
    }
    for (const auto& [node, name] : number_inputs_) {
      const Symbol* const symbol = module_->FindSymbol(name);
      if (symbol == nullptr || !symbol->example || node->draw_spec() != nullptr) continue;
      const Argument example = *symbol->example;
      DrawSpec spec;
      spec.data = Argument::List({&example, 1});
      node->set_draw_spec(spec);
    }
    if (given.empty()) return;
    notes_.push_back(absl::StrCat("the text has no sizes for its symbols; these are taken: ",
                                  ListedNames(given)));
  }

  const Lines& lines_;
  std::vector<std::string>& notes_;
  std::unique_ptr<Module> module_;
  size_t num_strided_ = 0;
  std::vector<std::pair<Node*, absl::string_view>> number_inputs_;  // with their symbols
};

// A line takes more memory than the bytes of a short one.
bool HasTooManyLines(absl::string_view text) {
  return static_cast<size_t>(absl::c_count(text, '\n')) >= kMaxTextLines;
}

absl::StatusOr<std::unique_ptr<Module>> Read(const Lines& lines, const Graph& graph,
                                             std::vector<std::string>* notes) {
  return GraphReader(lines, notes).Run(graph);
}

}  // namespace

bool LooksLikePosted(absl::string_view text, bool must_be_readable) {
  if (!HasGraph(text) || HasTooManyLines(text)) return false;
  const Lines lines(text);
  return absl::c_any_of(FindGraphs(lines), [&](const Graph& graph) {
    std::vector<std::string> notes;
    return !must_be_readable || Read(lines, graph, &notes).ok();
  });
}

std::vector<std::string> ListGraphs(absl::string_view text) {
  if (HasTooManyLines(text)) return {};
  const Lines lines(text);
  std::vector<std::string> names, unreadable;
  for (const Graph& graph : FindGraphs(lines)) {
    std::vector<std::string> notes;
    (Read(lines, graph, &notes).ok() ? names : unreadable).push_back(graph.name);
  }
  return names.empty() ? unreadable : names;
}

absl::StatusOr<Sample> ReadGraph(absl::string_view text, absl::string_view name,
                                 std::vector<std::string>* notes) {
  if (HasTooManyLines(text))
    return absl::ResourceExhaustedError(absl::StrCat("more than ", kMaxTextLines, " lines"));
  const Lines lines(text);
  const std::vector<Graph> graphs = FindGraphs(lines);
  absl::Status first_error;
  std::vector<std::string> found;
  std::vector<std::string> unread;
  std::optional<Sample> sample;
  for (const Graph& graph : graphs) {
    if (!name.empty() && graph.name != name) continue;
    if (sample.has_value()) {
      found.push_back(graph.name);
      continue;
    }
    std::vector<std::string> remarks;
    absl::StatusOr<std::unique_ptr<Module>> module = Read(lines, graph, &remarks);
    if (!module.ok()) {
      if (first_error.ok()) first_error = module.status();
      unread.push_back(absl::StrCat(graph.name, " (line ", graph.function.forward.begin + 1, ")"));
      continue;
    }
    sample.emplace();
    sample->name = graph.name;
    sample->module = *std::move(module);
    if (notes == nullptr) continue;
    if (!unread.empty())
      notes->push_back(absl::StrCat("no graph, and left out: ", ListedNames(unread)));
    notes->insert(notes->end(), remarks.begin(), remarks.end());
  }
  if (!sample.has_value()) {
    if (!first_error.ok()) return first_error;
    if (!name.empty())
      return absl::NotFoundError(absl::StrCat("no graph is named ", Printable(name)));
    return absl::InvalidArgumentError("no method forward of a torch.nn.Module is in the text");
  }
  if (!found.empty() && notes != nullptr) {
    notes->push_back(absl::StrCat("the first of ", found.size() + 1, " graphs is read; ",
                                  "#NAME behind the path takes another: ", ListedNames(found)));
  }
  return *std::move(sample);
}

}  // namespace graphnet::posted
