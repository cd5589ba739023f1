#include "graphnet/ir/text/parser.h"

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/status.h"
#include "graphnet/ir/graph.h"
#include "graphnet/ir/text/literal.h"
#include "graphnet/ir/text/sample_parser.h"
#include "graphnet/ir/text/scanner.h"
#include "graphnet/ir/text/scratch.h"
#include "graphnet/ir/text/value_parser.h"
#include "graphnet/ir/unchecked_builder.h"

namespace graphnet {
namespace {

using text_internal::ParseSampleFields;
using text_internal::Scanner;
using text_internal::Scratch;
using text_internal::ValueParser;

constexpr absl::string_view kModuleWord = "graphnet.module";
constexpr absl::string_view kSampleWord = "graphnet.sample";

class ModuleParser {
 public:
  ModuleParser(Scanner* scanner, Scratch* scratch, Module* module)
      : in_(*scanner), scratch_(*scratch), module_(*module), values_(scanner, scratch, module) {}

  // Reads declarations and graphs up to the end of the text, or to the "end" line if `until_end`.
  bool Parse(bool until_end);

 private:
  // A node that names a graph which was not yet defined, and the place of its arguments, which are
  // read again.
  struct Unresolved {
    Node* node;
    const char* arguments;
    bool in_parentheses;
  };

  bool ParseSymbol();
  bool ParseRelation();
  bool ParseAttribute();
  bool ParseGraph();
  bool ParseParameter();
  bool ParseStatement();
  bool ParseOperation(absl::string_view name, Node** out);
  bool ParseReturn(absl::string_view name, Node** out);
  // Reads the optional parts after a node: meta, annotation, draw spec, path, location.
  bool ParseSuffix(Node* node);
  bool ParseLocation(Node* node);
  bool Resolve();

  // Reads "%name" and reserves the name. The caller puts the node in **slot.
  bool DefineName(absl::string_view* name, Node*** slot);
  bool ReserveName(const char* where, absl::string_view name, Node*** slot);
  Node* MakeNode(Op op, absl::string_view target, absl::string_view name) {
    return UncheckedBuilder(graph_).CreateNode(op, target, values_.args(), values_.kwargs(), name);
  }
  // Reads arguments; see Unresolved.
  bool ParseArguments(bool in_parentheses);
  void RememberUnresolved(Node* node);

  Scanner& in_;
  Scratch& scratch_;
  Module& module_;
  ValueParser values_;
  Graph* graph_ = nullptr;
  absl::string_view file_;  // The file of the location read last.
  std::vector<Unresolved> unresolved_;
  const char* arguments_ = nullptr;  // The place of the arguments of the node being read.
  bool in_parentheses_ = false;
};

bool ModuleParser::Parse(bool until_end) {
  while (true) {
    scratch_.Reset();
    bool ok;
    if (in_.TryWord("graph")) {
      ok = ParseGraph();
    } else if (in_.TryWord("attribute")) {
      ok = ParseAttribute();
    } else if (in_.TryWord("symbol")) {
      ok = ParseSymbol();
    } else if (in_.TryWord("relation")) {
      ok = ParseRelation();
    } else if (until_end && in_.TryWord("end")) {
      return (in_.AtEnd() || in_.Fail("nothing more")) && Resolve();
    } else if (!until_end && in_.AtEnd()) {
      return Resolve();
    } else {
      return in_.Fail(until_end ? "symbol, relation, attribute, graph or end"
                                : "symbol, relation, attribute or graph");
    }
    if (!ok) return false;
  }
}

bool ModuleParser::ParseSymbol() {
  const char* const where = in_.Here();
  absl::string_view name;
  if (!in_.ReadNonemptyName("the name of a symbol", &name)) return false;
  if (module_.FindSymbol(name) != nullptr) {
    return in_.FailAt(where, absl::StrCat("symbol ", name, " is declared twice"));
  }
  std::optional<int64_t> example;
  if (in_.TryChar('=')) {
    example = 0;
    if (!in_.ReadInteger("an integer", &*example)) return false;
  }
  module_.AddSymbol(name, example);
  return true;
}

bool ModuleParser::ParseRelation() {
  const SymExpr* relation = nullptr;
  if (!values_.ParseRelation(&relation)) return false;
  module_.AddRelation(relation);
  return true;
}

bool ModuleParser::ParseAttribute() {
  const char* const where = in_.Here();
  Attribute attribute;
  TensorMeta meta;
  DrawSpec draw_spec;
  if (!in_.ReadNonemptyName("the name of an attribute", &attribute.name)) return false;
  if (module_.FindAttribute(attribute.name) != nullptr) {
    return in_.FailAt(where, absl::StrCat("attribute ", attribute.name, " is declared twice"));
  }
  if (in_.TryChar(':')) {
    if (!values_.ParseTensorMeta(&meta)) return false;
    attribute.meta = &meta;
  }
  if (in_.TryWord("as") && !in_.ReadNonemptyName("a type", &attribute.annotation)) return false;
  if (in_.Peek() == '{') {
    if (!values_.ParseDrawSpec(&draw_spec)) return false;
    attribute.draw_spec = &draw_spec;
  }
  module_.AddAttribute(attribute);
  return true;
}

bool ModuleParser::ParseGraph() {
  const char* const where = in_.Here();
  absl::string_view name;
  if (!in_.Expect('@') || !in_.ReadNonemptyName("the name of a graph", &name)) return false;
  if (values_.graphs().contains(name)) {
    return in_.FailAt(where, absl::StrCat("graph @", name, " is defined twice"));
  }
  graph_ = module_.AddGraph(name);
  values_.graphs().emplace(graph_->name(), graph_);
  values_.StartGraph(graph_);
  if (!in_.Expect('(')) return false;
  while (!in_.TryChar(')')) {
    if (!ParseParameter()) return false;
    if (in_.TryChar(',')) continue;
    if (in_.TryChar(')')) break;
    return in_.Fail("',' or ')'");
  }
  if (!in_.Expect('{')) return false;
  while (!in_.TryChar('}')) {
    if (!ParseStatement()) return false;
  }
  return true;
}

bool ModuleParser::ReserveName(const char* where, absl::string_view name, Node*** slot) {
  return values_.ReserveNode(name, slot) ||
         in_.FailAt(where, absl::StrCat("%", name, " is defined twice"));
}

bool ModuleParser::DefineName(absl::string_view* name, Node*** slot) {
  const char* const where = in_.Here();
  return in_.Expect('%') && in_.ReadNonemptyName("the name of a node", name) &&
         ReserveName(where, *name, slot);
}

bool ModuleParser::ParseParameter() {
  scratch_.Reset();
  if (in_.Peek() != '%') return in_.Fail("a parameter or ')'");
  absl::string_view name;
  Node** slot = nullptr;
  if (!DefineName(&name, &slot)) return false;
  absl::string_view target = name;
  if (in_.Peek() == '"' && !in_.ReadName("a name", &target)) return false;
  *slot = UncheckedBuilder(graph_).CreateNode(Op::kPlaceholder, target, {}, {}, name);
  return ParseSuffix(*slot);
}

bool ModuleParser::ParseStatement() {
  scratch_.Reset();
  absl::string_view name = "output";
  Node** slot = nullptr;
  if (in_.Peek() == '%') {
    return DefineName(&name, &slot) && in_.Expect('=') && ParseOperation(name, slot) &&
           ParseSuffix(*slot);
  }
  const char* const where = in_.Here();
  if (!in_.TryWord("return")) return in_.Fail("'%', return or '}'");
  return ReserveName(where, name, &slot) && ParseReturn(name, slot) && ParseSuffix(*slot);
}

bool ModuleParser::ParseArguments(bool in_parentheses) {
  arguments_ = in_.Here();
  in_parentheses_ = in_parentheses;
  return in_parentheses ? values_.ParseCall() : values_.ParseSingleArg();
}

void ModuleParser::RememberUnresolved(Node* node) {
  if (!values_.found_unknown_graph()) return;
  values_.forget_unknown_graph();
  unresolved_.push_back({node, arguments_, in_parentheses_});
}

bool ModuleParser::ParseReturn(absl::string_view name, Node** out) {
  if (!ParseArguments(/*in_parentheses=*/false)) return false;
  *out = MakeNode(Op::kOutput, "output", name);
  RememberUnresolved(*out);
  return true;
}

bool ModuleParser::ParseOperation(absl::string_view name, Node** out) {
  Op op = Op::kCallFunction;
  bool needs_call = true;
  absl::string_view target;
  if (in_.TryChar('.')) {
    op = Op::kCallMethod;
    if (!in_.ReadName("the name of a method", &target)) return false;
  } else if (in_.Peek() == '"') {
    if (!in_.ReadName("the name of a function", &target)) return false;
  } else {
    const absl::string_view word = in_.PeekWord();
    if (word.empty()) return in_.Fail("an operation");
    if (word == "return") {
      in_.TryWord(word);
      return ParseReturn(name, out);
    }
    if (word == "get_attr") {
      op = Op::kGetAttr;
      needs_call = false;
    } else if (word == "placeholder") {
      op = Op::kPlaceholder;
      needs_call = false;
    } else if (word == "call_module") {
      op = Op::kCallModule;
    } else if (word == "output") {
      op = Op::kOutput;
    }
    if (op != Op::kCallFunction) in_.TryWord(word);
    if (!in_.ReadName(op == Op::kCallModule ? "the path of a module" : "a name", &target))
      return false;
  }
  if (needs_call || in_.Peek() == '(') {
    if (!ParseArguments(/*in_parentheses=*/true)) return false;
    *out = MakeNode(op, target, name);
    RememberUnresolved(*out);
  } else {
    *out = UncheckedBuilder(graph_).CreateNode(op, target, {}, {}, name);
  }
  return true;
}

bool ModuleParser::ParseSuffix(Node* node) {
  const char next = in_.Peek();
  if (next == '%' || next == ',' || next == '}') return true;  // The common case.
  if (in_.TryChar(':')) {
    const ValueMeta* meta = nullptr;
    if (!values_.ParseMeta(&meta)) return false;
    UncheckedBuilder(graph_).SetMeta(node, meta);
  }
  absl::string_view name;
  if (in_.TryWord("as")) {
    if (!in_.ReadNonemptyName("a type", &name)) return false;
    node->set_annotation(name);
  }
  if (in_.Peek() == '{') {
    DrawSpec draw_spec;
    if (!values_.ParseDrawSpec(&draw_spec)) return false;
    node->set_draw_spec(draw_spec);
  }
  if (in_.TryWord("in")) {
    if (!in_.ReadNonemptyName("the path of a module", &name)) return false;
    node->set_module_path(name);
  }
  return !in_.TryWord("at") || ParseLocation(node);
}

bool ModuleParser::ParseLocation(Node* node) {
  SourceLocation location;
  bool has_position = true;
  if (in_.Peek() == '"') {
    if (!in_.ReadName("a file name", &file_)) return false;
    file_ = module_.InternString(file_);
    has_position = in_.TryChar(':');
  }
  location.file = file_;
  uint64_t line = 0;
  uint64_t column = 0;
  constexpr uint64_t kMax = std::numeric_limits<uint32_t>::max();
  if (has_position) {
    if (!in_.ReadCount("a line number", kMax, &line)) return false;
    if (in_.TryChar(':') && !in_.ReadCount("a column", kMax, &column)) return false;
  }
  location.line = static_cast<uint32_t>(line);
  location.column = static_cast<uint32_t>(column);
  node->set_location(location);
  return true;
}

bool ModuleParser::Resolve() {
  for (const Unresolved& unresolved : unresolved_) {
    scratch_.Reset();
    values_.Reread(*unresolved.node);
    in_.MoveTo(unresolved.arguments);
    if (!ParseArguments(unresolved.in_parentheses)) return false;
    unresolved.node->set_args(values_.args());
    unresolved.node->set_kwargs(values_.kwargs());
  }
  return true;
}

// Reads the version after the word that starts a text.
bool ParseVersion(Scanner& in) {
  const char* const where = in.Here();
  int64_t version = 0;
  if (!in.ReadInteger("a version number", &version)) return false;
  return version == 1 ||
         in.FailAt(where,
                   absl::StrCat("version ", version, " is not known; this reader knows version 1"));
}

absl::Status CheckSize(absl::string_view text, absl::string_view file_name,
                       const ParseOptions& options) {
  if (text.size() <= options.max_bytes) return absl::OkStatus();
  return ErrorAt(
      file_name, 0, 0,
      absl::StrCat("the text has ", text.size(), " bytes; the limit is ", options.max_bytes));
}

std::unique_ptr<Module> ParseModuleText(Scanner& in, Scratch& scratch, bool has_header) {
  auto module = std::make_unique<Module>();
  if (!ModuleParser(&in, &scratch, module.get()).Parse(/*until_end=*/has_header)) return nullptr;
  return module;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Module>> ParseModule(absl::string_view text,
                                                    absl::string_view file_name,
                                                    const ParseOptions& options) {
  RETURN_IF_ERROR(CheckSize(text, file_name, options));
  Scratch scratch;
  Scanner in(text, &scratch);
  std::unique_ptr<Module> module;
  const bool has_header = in.TryWord(kModuleWord);
  if (!has_header && in.PeekWord() == kSampleWord) {
    in.Fail("a module");
  } else if (!has_header || ParseVersion(in)) {
    module = ParseModuleText(in, scratch, has_header);
  }
  if (in.failed()) return in.status(file_name);
  return module;
}

absl::StatusOr<Sample> ParseSample(absl::string_view text, absl::string_view file_name,
                                   const ParseOptions& options) {
  RETURN_IF_ERROR(CheckSize(text, file_name, options));
  Scratch scratch;
  Scanner in(text, &scratch);
  Sample sample;
  bool has_fields = in.TryWord(kSampleWord);
  if (has_fields && (!ParseVersion(in) || !ParseSampleFields(in, scratch, &sample))) {
    return in.status(file_name);
  }
  if (has_fields && in.TryWord("end")) {
    if (!in.AtEnd()) in.Fail("nothing more");
  } else {
    const bool has_header = in.TryWord(kModuleWord);
    if (has_fields && !has_header) {
      in.Fail("a field of the sample, graphnet.module or end");
    } else if (!has_header || ParseVersion(in)) {
      sample.module = ParseModuleText(in, scratch, has_header);
    }
  }
  if (in.failed()) return in.status(file_name);
  return sample;
}

bool LooksLikeText(absl::string_view bytes, bool fragments) {
  Scratch scratch;
  Scanner in(bytes, &scratch);
  const absl::string_view word = in.PeekWord();
  if (word == kModuleWord || word == kSampleWord) return true;
  return fragments &&
         (word == "graph" || word == "symbol" || word == "relation" || word == "attribute");
}

}  // namespace graphnet
