#include "graphnet/formats/torchscript/code_check.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/torchscript/code_lexer.h"

namespace graphnet {
namespace {

// Bounds that no real file comes near; what LibTorch of torch 2.13 does beyond
// is noted with each.

// Levels of recursion to compile one definition and all it mentions. With a
// stack of 8 MiB, a chain of 1,000 functions works and one of 2,000 overflows.
constexpr uint64_t kMaxCompileDepth = 1000;
// What a definition counts for, next to the levels of its text.
constexpr uint64_t kDefinitionDepth = 4;
// Elements of one list or call: compiling a list of 65,000 takes 1 s and one of
// 200,000 takes 20 s.
constexpr size_t kMaxElements = 65535;
// Bytes of a constant string, as doubled 30 times it takes all memory.
constexpr uint64_t kMaxFoldedString = 1 << 20;
// Leaves of a tuple's type: 2^18 take 0.5 s, 2^24 hang.
constexpr uint64_t kMaxTupleLeaves = 1 << 18;
// Leaves of a NamedTuple: 2^10 take 0.2 s, 2^14 take 36 s.
constexpr uint64_t kMaxNamedTupleLeaves = 512;
constexpr uint64_t kMaxAnnotationLeaves = 4096;
// Tokens of a statement with a Union, which compares all pairs of its types.
constexpr size_t kMaxUnionTokens = 2048;
// Loops of one function: 1,000 take 3 s and 3,000 more than 30 s.
constexpr int kMaxLoops = 200;

// Keywords that begin a statement and occur nowhere else, and those that occur
// nowhere at all: True, False, None and NoneType are just names here.
constexpr absl::string_view kKeywords[] = {
    "and",  "as",  "assert", "break",  "class",  "continue", "def",  "del",   "elif",
    "else", "for", "from",   "global", "if",     "import",   "in",   "is",    "lambda",
    "not",  "or",  "pass",   "raise",  "return", "while",    "with", "yield",
};

// Operators whose result grows with the numbers or strings given, and that run
// when a file is loaded, if these are constant.
constexpr absl::string_view kRunsAtLoad[] = {
    "center", "expandtabs", "factorial", "ljust", "replace", "rjust", "zfill",
};

// Operators that return a string made of their arguments,
constexpr absl::string_view kStringOperators[] = {
    "__getitem__",
    "_unwrap_optional",
    "add",
    "annotate",
    "capitalize",
    "copy",
    "format",
    "getattr",
    "join",
    "lower",
    "lstrip",
    "max",
    "min",
    "mul",
    "partition",
    "percentFormat",
    "rpartition",
    "rstrip",
    "slice",
    "str",
    "strip",
    "swapcase",
    "title",
    "unchecked_cast",
    "unchecked_unwrap_optional",
    "upper",
};
// or a string of their own, of at most kOwnStringBytes.
constexpr absl::string_view kStringSources[] = {
    "_get_cpu_capability", "bin", "chr", "hex", "oct", "str", "type",
};
constexpr uint64_t kOwnStringBytes = 64;

// Operators whose result has a type that one of the arguments has or contains.
constexpr absl::string_view kGenericOperators[] = {
    "__getitem__",
    "_unwrap_optional",
    "add",
    "annotate",
    "append",
    "awaitable",
    "copy",
    "extend",
    "fork",
    "get",
    "getattr",
    "insert",
    "items",
    "keys",
    "list",
    "max",
    "min",
    "mul",
    "pop",
    "popitem",
    "setdefault",
    "slice",
    "sorted",
    "unchecked_cast",
    "unchecked_unwrap_optional",
    "update",
    "values",
    "wait",
};

constexpr absl::string_view kNumberNames[] = {"inf", "nan", "infj", "nanj"};
constexpr absl::string_view kConstantNames[] = {"False", "None", "NoneType", "True"};
// Names that no variable may have; the writer renames such variables.
constexpr absl::string_view kReservedNames[] = {
    "CONSTANTS", "__torch__", "annotate", "fork", "getattr", "inf",
    "infj",      "nan",       "nanj",     "ops",  "torch",
};

template <size_t n>
bool IsIn(absl::string_view name, const absl::string_view (&names)[n]) {
  return absl::c_linear_search(names, name);
}

uint64_t Capped(uint64_t value) { return std::min(value, FoldedSize::kCap); }

using Token = CodeToken;
using Tokens = absl::Span<const Token>;

absl::string_view Unquoted(const Token& string) {
  return string.text.substr(1, string.text.size() - 2);
}

// The bracket that closes tokens[open]; there is one, the lexer has seen to it.
size_t Closing(Tokens tokens, size_t open) {
  int depth = 0;
  for (size_t i = open; i < tokens.size(); ++i) {
    if (tokens[i].kind != Token::kPunctuation) continue;
    const char c = tokens[i].text[0];
    if (c == '(' || c == '[' || c == '{') ++depth;
    if ((c == ')' || c == ']' || c == '}') && --depth == 0) return i;
  }
  return tokens.size();
}

// The first token `text` outside brackets at or after `from`, or the end.
size_t FindOutside(Tokens tokens, absl::string_view text, size_t from = 0) {
  for (size_t i = from; i < tokens.size(); ++i) {
    if (tokens[i].Is(text)) return i;
    if (tokens[i].kind == Token::kPunctuation && absl::StrContains("([{", tokens[i].text[0])) {
      i = Closing(tokens, i);
    }
  }
  return tokens.size();
}

// "code/__torch__/a/b.py" -> "__torch__.a.b"
std::string ModuleName(absl::string_view entry) {
  absl::ConsumePrefix(&entry, "code/");
  absl::ConsumeSuffix(&entry, ".py");
  return absl::StrReplaceAll(entry, {{"/", "."}});
}

bool IsTorchClasses(absl::string_view qualified_name) {
  return qualified_name == "__torch__.torch.classes" ||
         absl::StartsWith(qualified_name, "__torch__.torch.classes.");
}

}  // namespace

// Checks one file. Runs twice: first to find what there is, then, when the
// sizes of all constants are known, to see what folding makes of them.
class FileCheck {
 public:
  FileCheck(CodeCheck* check, absl::string_view entry, absl::string_view text)
      : check_(*check), entry_(entry), text_(text), lexer_(text), module_(ModuleName(entry)) {}

  absl::Status Run() {
    while (lexer_.Next()) RETURN_IF_ERROR(Line(lexer_.tokens()));
    if (lexer_.error().has_value()) {
      return ErrorAtOffset(lexer_.error()->first, lexer_.error()->second);
    }
    if (opens_block_) return ErrorAtOffset(text_.size(), "a block is missing");
    return LeaveBlocks(0);
  }

 private:
  using Status = absl::Status;

  // What the lines of one indentation belong to.
  enum class Block { kFile, kClass, kFunction, kOther };
  struct Level {
    Block block;
    size_t indent;
    absl::string_view closure;  // the name of a function within a function
    bool returned = false;      // a return has ended the function
  };

  enum class ClassKind { kPlain, kModule, kNamedTuple, kInterface, kEnum };

  // Of a class while its lines are read.
  struct Class {
    ClassKind kind = ClassKind::kPlain;
    absl::flat_hash_map<std::string, uint64_t> methods;  // -> depth
    absl::flat_hash_set<std::string> called;             // by methods of other names
    absl::flat_hash_set<std::string> hooks;              // that are still to be defined
    uint64_t deepest_type = 0;                           // of an attribute
  };

  // A bracket that is open in an expression, or the expression itself. As there
  // are no binary operators, each element is one operand: a name, a literal or
  // a group, and a chain of attributes, calls and indices behind it.
  struct Frame {
    enum Kind { kGroup, kList, kDict, kIndex, kCall };
    Kind kind = kGroup;
    const Token* start = nullptr;
    size_t elements = 0;
    FoldedSize sum{0, 0};
    uint64_t max_leaves = 1;
    std::vector<FoldedSize>* parts = nullptr;  // where the elements are listed, too

    // The operand in hand.
    FoldedSize size;
    absl::string_view first;  // its first name, if it begins with one
    absl::string_view last;   // the name at its end
    uint64_t chain = 0;
    bool called = false;

    void StartOperand(absl::string_view name = "") {
      size = FoldedSize();
      first = last = name;
      chain = 0;
      called = false;
    }
    bool IsOperator() const { return first == "torch" || first == "ops"; }
    void AddString(uint64_t bytes) { size.string_bytes = Capped(size.string_bytes + bytes); }
  };

  // --- Errors ---------------------------------------------------------------

  Status ErrorAtOffset(size_t offset, absl::string_view message) const {
    const absl::string_view before = text_.substr(0, offset);
    const size_t newline = before.rfind('\n');  // npos + 1 is 0
    return ErrorAt(entry_, 1 + absl::c_count(before, '\n'), offset - (newline + 1) + 1, message);
  }
  size_t Offset(const Token& token) const { return token.text.data() - text_.data(); }
  Status Error(const Token& token, absl::string_view message) const {
    return ErrorAtOffset(Offset(token), message);
  }
  Status Unexpected(const Token& token) const {
    return Error(token,
                 absl::StrCat("'", Printable(token.text, 40), "' is not what PyTorch writes here"));
  }
  // At the end of tokens that lack something.
  Status Incomplete(Tokens line) const {
    return Error(line.back(), "the statement is not what PyTorch writes");
  }

  // --- Statements -----------------------------------------------------------

  Status Line(Tokens line) {
    RETURN_IF_ERROR(Indent(line));
    const Token& first = line.front();
    if (line.size() > kMaxUnionTokens &&
        absl::c_any_of(line, [](const Token& t) { return t.Is("Union"); })) {
      return Error(first, "a statement with a Union is too long");
    }
    switch (levels_.back().block) {
      case Block::kFile:
        if (first.Is("class")) return ClassHeader(line);
        if (first.Is("def")) return FunctionHeader(line);
        return Unexpected(first);
      case Block::kClass:
        if (first.Is("def")) return FunctionHeader(line);
        return ClassAttribute(line);
      case Block::kFunction:
      case Block::kOther: return FunctionStatement(line);
    }
    return absl::InternalError("no such block");
  }

  Status Indent(Tokens line) {
    const size_t indent = lexer_.indent();
    if (opens_block_) {
      if (indent <= levels_.back().indent) {
        return Error(line.front(), "the block is empty");
      }
      if (levels_.size() > kMaxNesting) {
        return Error(line.front(),
                     absl::StrCat("blocks are nested more than ", kMaxNesting, " deep"));
      }
      levels_.push_back({next_block_, indent, next_closure_, false});
      opens_block_ = false;
      return absl::OkStatus();
    }
    RETURN_IF_ERROR(LeaveBlocks(indent));
    if (indent != levels_.back().indent) {
      return Error(line.front(), "the indentation fits no block");
    }
    return absl::OkStatus();
  }

  Status LeaveBlocks(size_t indent) {
    while (levels_.back().indent > indent) {
      const Level level = levels_.back();
      levels_.pop_back();
      if (level.block == Block::kClass) RETURN_IF_ERROR(EndClass());
      if (level.block == Block::kFunction && level.closure.empty()) {
        EndFunction(levels_.back().block == Block::kClass);
      }
    }
    return absl::OkStatus();
  }

  // Takes note that the next line begins a block, which `line` has to announce
  // by its last token.
  Status OpenBlock(Tokens line, Block block, absl::string_view closure = "") {
    if (!line.back().Is(":")) return Incomplete(line);
    opens_block_ = true;
    next_block_ = block;
    next_closure_ = closure;
    return absl::OkStatus();
  }

  // class Name: | class Name(Base):
  Status ClassHeader(Tokens line) {
    if (line.size() < 3 || !line[1].IsName()) return Incomplete(line);
    class_ = Class();
    if (line.size() == 6 && line[2].Is("(") && line[4].Is(")")) {
      const absl::string_view base = line[3].text;
      if (base == "Module") {
        class_.kind = ClassKind::kModule;
      } else if (base == "NamedTuple") {
        class_.kind = ClassKind::kNamedTuple;
      } else if (base == "Interface" || base == "ModuleInterface") {
        class_.kind = ClassKind::kInterface;
      } else if (base == "Enum") {
        class_.kind = ClassKind::kEnum;
      } else {
        return Unexpected(line[3]);
      }
    } else if (line.size() != 3) {
      return Unexpected(line[2]);
    }
    RETURN_IF_ERROR(StartDefinition(line[1]));
    definition().is_named_tuple = class_.kind == ClassKind::kNamedTuple;
    return OpenBlock(line, Block::kClass);
  }

  Status StartDefinition(const Token& name) {
    RETURN_IF_ERROR(CheckNewName(name));
    qualified_name_ = absl::StrCat(module_, ".", name.text);
    if (IsTorchClasses(qualified_name_)) {
      return Error(name, "defines a class of torch.classes");
    }
    if (check_.sizes_known_) {
      definition_ = check_.index_.at(qualified_name_);
      return absl::OkStatus();
    }
    definition_ = static_cast<int>(check_.definitions_.size());
    if (!check_.index_.emplace(qualified_name_, definition_).second) {
      return Error(name, "the name is defined twice");
    }
    CodeCheck::Definition definition;
    definition.entry = entry_;
    // Definitions come in order, so the lines are counted once.
    const size_t offset = Offset(name);
    line_ += absl::c_count(text_.substr(line_offset_, offset - line_offset_), '\n');
    line_offset_ = offset;
    definition.line = line_;
    definition.depth = kDefinitionDepth;
    check_.definitions_.push_back(std::move(definition));
    return absl::OkStatus();
  }

  CodeCheck::Definition& definition() { return check_.definitions_[definition_]; }

  Status EndClass() {
    // A method is compiled where another one calls it.
    uint64_t deepest = class_.deepest_type;
    uint64_t called = 0;
    for (const auto& [name, depth] : class_.methods) {
      deepest = std::max(deepest, depth);
      if (class_.called.contains(name)) called += depth + kDefinitionDepth;
    }
    if (!check_.sizes_known_) definition().depth += deepest + called;
    // LibTorch looks a hook's function up without a check.
    if (!class_.hooks.empty()) {
      return ErrorAt(
          entry_, definition().line, 0,
          absl::StrCat("the hook '", *class_.hooks.begin(), "' is not defined after its mention"));
    }
    return absl::OkStatus();
  }

  void EndFunction(bool is_method) {
    if (is_method) {
      class_.methods[function_] = function_depth_;
    } else if (!check_.sizes_known_) {
      definition().depth += function_depth_;
    }
  }

  Status CheckNewName(const Token& name) const {
    if (!name.IsName() || IsIn(name.text, kKeywords)) return Unexpected(name);
    if (name.text == "__setstate__" || name.text == "__getstate__") {
      return Error(name,
                   absl::StrCat("defines ", name.text, ", which runs when the file is loaded"));
    }
    return absl::OkStatus();
  }

  Status AddVariable(const Token& name) {
    RETURN_IF_ERROR(CheckNewName(name));
    if (IsIn(name.text, kReservedNames) || IsIn(name.text, kConstantNames)) {
      return Unexpected(name);
    }
    names_.insert(name.text);
    return absl::OkStatus();
  }

  // def name(parameters) -> Type: | def closure():
  Status FunctionHeader(Tokens line) {
    const Block around = levels_.back().block;
    if (line.size() < 5 || !line[2].Is("(")) return Incomplete(line);
    RETURN_IF_ERROR(CheckNewName(line[1]));
    const size_t close = Closing(line, 2);
    if (around != Block::kFile && around != Block::kClass) {
      // The body of a fork. It has no signature; its return gives its type.
      if (close != 3 || line.size() != 5) return Unexpected(line[2]);
      RETURN_IF_ERROR(AddVariable(line[1]));
      return OpenBlock(line, Block::kFunction, line[1].text);
    }
    if (around == Block::kFile) {
      class_ = Class();
      RETURN_IF_ERROR(StartDefinition(line[1]));
    } else {
      // LibTorch takes the first parameter of an interface's method without a
      // look.
      if (close == 3 || class_.kind == ClassKind::kNamedTuple || class_.kind == ClassKind::kEnum) {
        return Unexpected(line[1]);
      }
      class_.hooks.erase(std::string(line[1].text));
    }
    function_ = std::string(line[1].text);
    function_depth_ = 0;
    loops_ = 0;
    variables_.clear();
    names_.clear();
    RETURN_IF_ERROR(Parameters(line.subspan(3, close - 3)));
    // Without this, the type of the result would not be in the text.
    if (close + 2 >= line.size() || !line[close + 1].Is("->")) {
      return Incomplete(line);
    }
    RETURN_IF_ERROR(Annotation(line.subspan(close + 2, line.size() - close - 3)).status());
    return OpenBlock(line, Block::kFunction);
  }

  // name: Type=literal, ...
  Status Parameters(Tokens tokens) {
    while (!tokens.empty()) {
      const size_t comma = FindOutside(tokens, ",");
      const Tokens parameter = tokens.first(comma);
      if (parameter.empty()) return Unexpected(tokens[0]);
      RETURN_IF_ERROR(AddVariable(parameter[0]));
      const size_t equal = FindOutside(parameter, "=");
      if (equal > 1) {
        if (!parameter[1].Is(":")) return Unexpected(parameter[1]);
        ASSIGN_OR_RETURN(const uint64_t leaves, Annotation(parameter.subspan(2, equal - 2)));
        Assign(parameter[0].text, {0, leaves});
      }
      if (equal < parameter.size()) {
        RETURN_IF_ERROR(Literal(parameter.subspan(equal)).status());
      }
      tokens.remove_prefix(std::min(comma + 1, tokens.size()));
    }
    return absl::OkStatus();
  }

  // The statements that LibTorch expects in a class of each kind; for others it
  // reads parts that they do not have.
  //
  // name : Type | name : Final[Type] = literal | name = literal
  // __annotations__["name"] = Type | __parameters__ = ["name", ]
  Status ClassAttribute(Tokens line) {
    const Token& name = line[0];
    if (!name.IsName() || IsIn(name.text, kKeywords) || line.size() < 3 ||
        class_.kind == ClassKind::kInterface) {
      return Unexpected(name);
    }
    const size_t equal = FindOutside(line, "=");
    if (class_.kind == ClassKind::kEnum) {
      if (equal != 1) return Unexpected(line[1]);
      const bool negative = line[2].Is("-");
      if (line.size() != (negative ? 4 : 3) || line.back().IsName() ||
          absl::EndsWith(line.back().text, "j")) {
        return Incomplete(line);
      }
      RETURN_IF_ERROR(Literal(line.subspan(equal)).status());
      NoteStringAttribute(name, name.text.size() + line.back().text.size());
      return absl::OkStatus();
    }
    if (IsListOfNames(name.text) && class_.kind != ClassKind::kNamedTuple) {
      if (equal == 1) {
        return ListOfNames(line.subspan(2), absl::EndsWith(name.text, "hooks__"));
      }
      if (name.text != "__annotations__" || equal != 4 || !line[1].Is("[") ||
          line[2].kind != Token::kString) {
        return Unexpected(line[1]);
      }
      return Annotation(line.subspan(5)).status();
    }
    if (!line[1].Is(":")) return Unexpected(line[1]);
    const Tokens type = line.subspan(2, equal - 2);
    function_depth_ = 0;
    RETURN_IF_ERROR(Annotation(type).status());
    class_.deepest_type = std::max(class_.deepest_type, function_depth_);
    if (class_.kind == ClassKind::kNamedTuple) {
      // The writer leaves defaults out. LibTorch would evaluate not the default
      // but the type.
      if (equal != line.size()) return Unexpected(line[equal]);
      if (!check_.sizes_known_) AddField(type);
      return absl::OkStatus();
    }
    if (equal == line.size()) return absl::OkStatus();
    ASSIGN_OR_RETURN(const uint64_t string_bytes, Literal(line.subspan(equal)));
    NoteStringAttribute(name, string_bytes);
    return absl::OkStatus();
  }

  void NoteStringAttribute(const Token& name, uint64_t bytes) {
    if (bytes == 0) return;
    uint64_t& known = check_.string_attributes_[std::string(name.text)];
    known = std::max(known, bytes);
  }

  static bool IsListOfNames(absl::string_view attribute) {
    return attribute == "__parameters__" || attribute == "__buffers__" ||
           attribute == "__annotations__" || attribute == "__forward_hooks__" ||
           attribute == "__forward_pre_hooks__";
  }

  // ["a", "b", ]
  Status ListOfNames(Tokens tokens, bool hooks) {
    if (tokens.size() < 2 || !tokens[0].Is("[") || !tokens.back().Is("]")) {
      return Unexpected(tokens.empty() ? lexer_.tokens().back() : tokens[0]);
    }
    for (size_t i = 1; i + 1 < tokens.size(); ++i) {
      const bool string = i % 2 == 1;
      if (string ? tokens[i].kind != Token::kString : !tokens[i].Is(",")) {
        return Unexpected(tokens[i]);
      }
      if (string && hooks && !class_.hooks.emplace(Unquoted(tokens[i])).second) {
        return Error(tokens[i], "the hook is there twice");
      }
    }
    return absl::OkStatus();
  }

  void AddField(Tokens type) {
    for (size_t i = 0; i < type.size(); ++i) {
      if (!type[i].IsName() || (i > 0 && type[i - 1].Is("."))) continue;
      ++definition().leaves;
      if (type[i].text == "__torch__") {
        definition().field_types.push_back(Path(type, i));
      }
    }
  }

  Status FunctionStatement(Tokens line) {
    const Token& first = line[0];
    Level& level = levels_.back();
    if (level.returned) return Unexpected(first);
    if (first.Is("def")) return FunctionHeader(line);
    if (first.Is("pass")) {
      return line.size() == 1 ? absl::OkStatus() : Unexpected(line[1]);
    }
    if (class_.kind == ClassKind::kInterface) return Unexpected(first);
    if (first.Is("else")) {
      return line.size() == 2 ? OpenBlock(line, Block::kOther) : Incomplete(line);
    }
    if (first.Is("return")) {
      // One return, at the end; so LibTorch need not rewrite the control flow.
      if (level.block != Block::kFunction) return Unexpected(first);
      level.returned = true;
      if (line.size() == 1) return absl::OkStatus();
      ASSIGN_OR_RETURN(const Folded result, Expression(line.subspan(1)));
      if (!level.closure.empty()) Assign(level.closure, result.whole());
      return absl::OkStatus();
    }
    if ((first.Is("for") || first.Is("while")) && ++loops_ > kMaxLoops) {
      return Error(first, absl::StrCat("more than ", kMaxLoops, " loops in a function"));
    }
    if (first.Is("if") || first.Is("while") || first.Is("with")) {
      if (line.size() < 3) return Incomplete(line);
      RETURN_IF_ERROR(Expression(line.subspan(1, line.size() - 2)).status());
      return OpenBlock(line, Block::kOther);
    }
    if (first.Is("for")) {
      // Over a range only: a loop over a tuple is unrolled, and such loops
      // within each other multiply.
      if (line.size() < 7 || !line[2].Is("in") || !line[3].Is("range") ||
          names_.contains("range") || !line[4].Is("(") || Closing(line, 4) + 2 != line.size()) {
        return Error(first, "a loop that is not over a range");
      }
      RETURN_IF_ERROR(AddVariable(line[1]));
      RETURN_IF_ERROR(Expression(line.subspan(3, line.size() - 4)).status());
      return OpenBlock(line, Block::kOther);
    }
    return SimpleStatement(line);
  }

  // expression | targets = expression | name : Type = expression
  Status SimpleStatement(Tokens line) {
    const size_t equal = FindOutside(line, "=");
    if (equal == line.size()) return Expression(line).status();
    if (equal == 0 || equal + 1 == line.size()) return Incomplete(line);
    Tokens targets = line.first(equal);
    std::vector<FoldedSize> parts;
    ASSIGN_OR_RETURN(const Folded value, Expression(line.subspan(equal + 1), &parts));
    const size_t colon = FindOutside(targets, ":");
    if (colon < targets.size()) {
      RETURN_IF_ERROR(Annotation(targets.subspan(colon + 1)).status());
      targets = targets.first(colon);
      if (targets.size() != 1) return Unexpected(line[0]);
    }
    if (FindOutside(targets, ",") == targets.size()) {
      if (targets.size() > 1) return Expression(targets).status();  // a.b = c
      RETURN_IF_ERROR(AddVariable(targets[0]));
      Assign(targets[0].text, value.whole());
      return absl::OkStatus();
    }
    for (size_t i = 0; i < targets.size(); ++i) {
      if (i % 2 == 1) {
        if (!targets[i].Is(",")) return Unexpected(targets[i]);
        continue;
      }
      RETURN_IF_ERROR(AddVariable(targets[i]));
      // `a, b = b, a` hands over one by one; a tuple's elements are not told apart.
      const bool one_by_one = value.is_tuple && parts.size() == targets.size() / 2 + 1;
      Assign(targets[i].text, one_by_one ? parts[i / 2] : value.element());
    }
    return absl::OkStatus();
  }

  void Assign(absl::string_view name, const FoldedSize& size) {
    if (size.string_bytes == 0 && size.leaves <= 1) return;
    FoldedSize& variable = variables_[name];
    variable.string_bytes = std::max(variable.string_bytes, size.string_bytes);
    variable.leaves = std::max(variable.leaves, size.leaves);
  }

  // --- Expressions ----------------------------------------------------------

  // The elements of a tuple without brackets, or one value.
  struct Folded {
    bool is_tuple;
    FoldedSize sum;
    uint64_t max_leaves;

    FoldedSize whole() const {
      return {sum.string_bytes, is_tuple ? Capped(sum.leaves + 1) : max_leaves};
    }
    FoldedSize element() const { return {sum.string_bytes, max_leaves}; }
  };

  absl::StatusOr<Folded> Expression(Tokens tokens, std::vector<FoldedSize>* parts = nullptr) {
    std::vector<Frame> frames(1);
    frames[0].parts = parts;
    bool operand = false;   // does the previous token end an operand?
    uint64_t brackets = 0;  // levels of recursion of the brackets around
    for (size_t i = 0; i < tokens.size(); ++i) {
      const Token& token = tokens[i];
      Frame& frame = frames.back();
      const char c = token.text[0];
      if (token.kind != Token::kPunctuation) {
        if (operand) return Unexpected(token);
        operand = true;
        if (token.IsName() && frame.kind == Frame::kCall && i + 1 < tokens.size() &&
            tokens[i + 1].Is("=")) {
          ++i;  // the name of an argument
          operand = false;
        } else if (token.IsName()) {
          RETURN_IF_ERROR(Name(tokens, i, &frame));
        } else if (token.kind == Token::kString) {
          const bool attribute = frames.size() > 1 && frame.kind == Frame::kCall &&
                                 frames[frames.size() - 2].last == "getattr";
          RETURN_IF_ERROR(String(token, attribute, &frame));
        }
      } else if (absl::StrContains("([{", c)) {
        Frame inner;
        inner.start = &token;
        inner.kind = c == '('   ? (operand ? Frame::kCall : Frame::kGroup)
                     : c == '[' ? (operand ? Frame::kIndex : Frame::kList)
                                : Frame::kDict;
        if (operand && c == '{') return Unexpected(token);
        if (operand) ++frame.chain;
        brackets += frame.chain + 1;
        frames.push_back(inner);
        operand = false;
      } else if (absl::StrContains(")]}", c)) {
        // Elements may end in a comma.
        if (!operand && frame.start != &tokens[i - 1] && !tokens[i - 1].Is(",")) {
          return Unexpected(token);
        }
        if (operand) RETURN_IF_ERROR(EndElement(token, &frame));
        Frame& outer = frames[frames.size() - 2];
        if (frame.elements == 0 && frame.kind == Frame::kIndex) {
          return Unexpected(token);
        }
        const bool has_comma = frame.elements > (operand ? 1 : 0);
        RETURN_IF_ERROR(Close(frame, has_comma, &outer));
        brackets -= outer.chain + 1;
        frames.pop_back();
        operand = true;
      } else if (c == '.') {
        if (!operand || i + 1 == tokens.size() || !tokens[i + 1].IsName()) {
          return Unexpected(token);
        }
        RETURN_IF_ERROR(Attribute(tokens, ++i, &frame));
      } else if (c == ',' || (c == ':' && frame.kind == Frame::kDict)) {
        if (!operand) return Unexpected(token);
        RETURN_IF_ERROR(EndElement(token, &frame));
        operand = false;
      } else if (c == '-' || c == '+') {
        if (!IsSign(tokens, i, operand)) return Unexpected(token);
        operand = false;
      } else {
        return Unexpected(token);
      }
      const uint64_t chain = frames.back().chain;
      if (chain > kMaxNesting) {
        return Error(token, absl::StrCat("a chain of more than ", kMaxNesting,
                                         " attributes, calls and indices"));
      }
      NoteDepth(brackets + chain);
    }
    Frame& outer = frames.front();
    if (!operand && !tokens.back().Is(",")) return Unexpected(tokens.back());
    const bool is_tuple = outer.elements > 0;
    if (operand) RETURN_IF_ERROR(EndElement(tokens.back(), &outer));
    const Folded result = {is_tuple, outer.sum, outer.max_leaves};
    RETURN_IF_ERROR(CheckSize(tokens[0], result.whole()));
    return result;
  }

  // Ends an element of a bracket at `token`.
  Status EndElement(const Token& token, Frame* frame) const {
    // An operator that is not called could be called by another name, which
    // would hide it from the checks below; so could a function such as str.
    const bool bare = frame->chain == 0 && !frame->first.empty();
    const bool type_fits = frame->kind == Frame::kCall || frame->kind == Frame::kIndex;
    if ((frame->IsOperator() && !frame->called) ||
        (bare && !type_fits && !names_.contains(frame->first) &&
         !IsIn(frame->first, kConstantNames) && !IsIn(frame->first, kNumberNames))) {
      return Error(token, absl::StrCat("'", Printable(frame->last, 40), "' is no value"));
    }
    frame->sum.string_bytes = Capped(frame->sum.string_bytes + frame->size.string_bytes);
    frame->sum.leaves = Capped(frame->sum.leaves + frame->size.leaves);
    frame->max_leaves = std::max(frame->max_leaves, frame->size.leaves);
    if (frame->parts != nullptr) frame->parts->push_back(frame->size);
    if (++frame->elements > kMaxElements) {
      return Error(token, absl::StrCat("more than ", kMaxElements, " elements"));
    }
    frame->StartOperand();
    return absl::OkStatus();
  }

  // A name that begins an operand.
  Status Name(Tokens tokens, size_t i, Frame* frame) {
    const Token& name = tokens[i];
    if (IsIn(name.text, kKeywords)) return Unexpected(name);
    if (name.text == "__torch__") Mention(Path(tokens, i));
    frame->StartOperand(name.text);
    const auto variable = variables_.find(name.text);
    if (variable != variables_.end()) frame->size = variable->second;
    return absl::OkStatus();
  }

  // A string; or, in getattr(x, "name"), an attribute.
  Status String(const Token& token, bool attribute, Frame* frame) {
    const absl::string_view text = Unquoted(token);
    if (absl::StrContains(text, "torch.classes")) {
      return Error(token, "mentions torch.classes");
    }
    frame->StartOperand();
    if (!attribute) {
      frame->AddString(text.size());
      return absl::OkStatus();
    }
    if (absl::StrContains(text, '\\')) {
      return Error(token, "an attribute with an escape in its name");
    }
    if (IsIn(text, kRunsAtLoad)) return RunsAtLoad(token, text);
    return AttributeName(token, text, frame);
  }

  // The name behind a '.'.
  Status Attribute(Tokens tokens, size_t i, Frame* frame) {
    const Token& name = tokens[i];
    const absl::string_view before = tokens[i - 2].text;
    if (IsIn(name.text, kKeywords)) return Unexpected(name);
    if (name.text == "classes" && before == "torch") {
      return Error(name, "mentions torch.classes");
    }
    if (IsIn(name.text, kRunsAtLoad) && (frame->IsOperator() || frame->size.string_bytes > 0)) {
      return RunsAtLoad(name, name.text);
    }
    if (before == "CONSTANTS") frame->AddString(ConstantStringBytes(name.text));
    ++frame->chain;
    frame->last = name.text;
    // Of what type an attribute is, an annotation says.
    frame->size.leaves = std::max(frame->size.leaves, check_.max_annotation_);
    return AttributeName(name, name.text, frame);
  }

  // An attribute may be a constant string, or a method of the class.
  Status AttributeName(const Token& token, absl::string_view name, Frame* frame) {
    if (name == "__setstate__" || name == "__getstate__") {
      return Error(token, absl::StrCat("mentions ", name));
    }
    const auto constant = check_.string_attributes_.find(name);
    if (constant != check_.string_attributes_.end()) {
      frame->AddString(constant->second);
    }
    if (name != function_) class_.called.emplace(name);
    return absl::OkStatus();
  }

  // CONSTANTS.c0; LibTorch does not look at the first letter.
  uint64_t ConstantStringBytes(absl::string_view name) const {
    size_t index = 0;
    return absl::SimpleAtoi(name.substr(1), &index) && index < check_.constant_string_bytes_.size()
               ? check_.constant_string_bytes_[index]
               : 0;
  }

  // Is tokens[i] the sign of a number, or the one within a complex number?
  static bool IsSign(Tokens tokens, size_t i, bool operand) {
    const auto is_number = [](const Token& token) {
      return token.kind == Token::kNumber || (token.IsName() && IsIn(token.text, kNumberNames));
    };
    if (i + 1 == tokens.size() || !is_number(tokens[i + 1])) return false;
    if (!operand) return tokens[i].Is("-");
    return is_number(tokens[i - 1]) && !absl::EndsWith(tokens[i - 1].text, "j") &&
           absl::EndsWith(tokens[i + 1].text, "j");
  }

  Status RunsAtLoad(const Token& token, absl::string_view name) const {
    return Error(token, absl::StrCat("calls '", name,
                                     "', which may run when the file is "
                                     "loaded, for any time"));
  }

  // Makes of a bracket what it adds to the operand around or before it.
  Status Close(const Frame& frame, bool has_comma, Frame* outer) {
    const uint64_t most = frame.max_leaves;
    FoldedSize& size = outer->size;
    switch (frame.kind) {
      case Frame::kIndex: break;
      case Frame::kGroup:
        outer->StartOperand();
        size = {frame.sum.string_bytes, has_comma ? Capped(frame.sum.leaves + 1) : most};
        break;
      case Frame::kList:  // of one type
        outer->StartOperand();
        size = {frame.sum.string_bytes, most + 1};
        break;
      case Frame::kDict:  // of two
        outer->StartOperand();
        size = {frame.sum.string_bytes, Capped(2 * most + 1)};
        break;
      case Frame::kCall: {
        // Of a variable that is called, nothing is known but the annotation.
        absl::string_view callee = outer->last;
        if (outer->chain == 1 && names_.contains(callee)) callee = "";
        const uint64_t strings = Capped(size.string_bytes + frame.sum.string_bytes);
        const auto named_tuple = check_.named_tuples_.find(callee);
        if (named_tuple != check_.named_tuples_.end()) {
          size = {strings, named_tuple->second};
        } else {
          size.string_bytes = IsIn(callee, kStringOperators) ? strings : 0;
          if (IsIn(callee, kStringSources)) outer->AddString(kOwnStringBytes);
          size.leaves = IsIn(callee, kGenericOperators) ? std::max(size.leaves, most)
                        : outer->IsOperator()           ? 1
                                                        : check_.max_annotation_;
        }
        outer->last = "";
        outer->called = true;
        break;
      }
    }
    return CheckSize(*frame.start, size);
  }

  Status CheckSize(const Token& token, const FoldedSize& size) const {
    if (!check_.sizes_known_) return absl::OkStatus();
    if (size.string_bytes > kMaxFoldedString) {
      return Error(token, "a constant string grows too long");
    }
    if (size.leaves > kMaxTupleLeaves) {
      return Error(token, "a tuple's type grows too large");
    }
    return absl::OkStatus();
  }

  void NoteDepth(uint64_t depth) {
    function_depth_ = std::max<uint64_t>(function_depth_, depth + levels_.size());
  }

  // A value that LibTorch evaluates when it loads the file: "= literal", of
  // which no part runs. Returns the bytes of its strings.
  absl::StatusOr<uint64_t> Literal(Tokens tokens) {
    if (tokens.size() < 2) return Incomplete(lexer_.tokens());
    uint64_t string_bytes = 0;
    for (size_t i = 1; i < tokens.size(); ++i) {
      const Token& token = tokens[i];
      const Token& before = tokens[i - 1];
      const Tokens rest = tokens.subspan(i);
      if (token.kind == Token::kString) string_bytes += token.text.size();
      if (before.Is("CONSTANTS") && rest.size() > 1) {
        string_bytes += ConstantStringBytes(rest[1].text);
      }
      bool runs = false;
      if (token.IsName() && !before.Is(".")) {
        // torch.device("cpu") is written out, and annotate(List[int], []).
        runs = token.text == "getattr" || token.text == "ops" ||
               (token.text == "torch" && (rest.size() < 6 || !rest[2].Is("device") ||
                                          rest[4].kind != Token::kString || !rest[5].Is(")")));
      } else if (token.Is("(") || token.Is("[")) {
        // Behind an operand, a bracket calls or indexes it.
        const bool operand = before.kind != Token::kPunctuation || before.Is(")") ||
                             before.Is("]") || before.Is("}");
        const bool plain = before.IsName() && !tokens[i - 2].Is(".");
        const bool device =
            i > 3 && before.Is("device") && tokens[i - 3].Is("torch") && !tokens[i - 4].Is(".");
        const bool fine = token.Is("[") ? plain : device || (plain && before.Is("annotate"));
        runs = operand && !fine;
      }
      if (runs) {
        return Error(token,
                     "only a literal can be here, as this runs when the "
                     "file is loaded");
      }
    }
    RETURN_IF_ERROR(Expression(tokens.subspan(1)).status());
    return string_bytes;
  }

  // A type: names, dots, square brackets and commas. So no part of it is a call
  // when LibTorch takes it for a value, as it does in a NamedTuple.
  // Returns the number of leaves.
  absl::StatusOr<uint64_t> Annotation(Tokens tokens) {
    if (tokens.empty()) return Incomplete(lexer_.tokens());
    uint64_t leaves = 0;
    uint64_t depth = 0;
    size_t dots = 0;
    for (size_t i = 0; i < tokens.size(); ++i) {
      const Token& token = tokens[i];
      const bool after_name = i > 0 && tokens[i - 1].IsName();
      if (token.IsName()) {
        if (after_name || IsIn(token.text, kKeywords)) return Unexpected(token);
        const bool first = i == 0 || !tokens[i - 1].Is(".");
        dots = first ? 0 : dots + 1;
        if (dots > kMaxNesting) {
          return Error(token, "the name has too many parts");
        }
        if (token.text == "classes" && i > 1 && tokens[i - 2].Is("torch")) {
          return Error(token, "mentions torch.classes");
        }
        if (first) ++leaves;
        if (first && token.text == "__torch__") Mention(Path(tokens, i));
        const auto named_tuple = check_.named_tuples_.find(token.text);
        if (named_tuple != check_.named_tuples_.end()) {
          leaves += named_tuple->second;
        }
      } else if (token.Is("[") && after_name) {
        NoteDepth(++depth);
      } else if (token.Is("]") && !tokens[i - 1].Is("[")) {
        --depth;
      } else if (token.Is("(")) {  // Tuple[()]
        if (i == 0 || !tokens[i - 1].Is("[") || i + 1 == tokens.size() || !tokens[i + 1].Is(")")) {
          return Unexpected(token);
        }
        ++i;
      } else if (!token.Is(",") && !(token.Is(".") && after_name)) {
        return Unexpected(token);
      }
    }
    if (!check_.sizes_known_) {
      if (leaves > kMaxAnnotationLeaves) {
        return Error(tokens[0], "the type has too many parts");
      }
      check_.max_annotation_ = std::max(check_.max_annotation_, leaves);
    }
    return leaves;
  }

  // The dotted name that begins at tokens[i].
  static std::string Path(Tokens tokens, size_t i) {
    std::string path(tokens[i].text);
    while (i + 2 < tokens.size() && tokens[i + 1].Is(".") && tokens[i + 2].IsName() &&
           path.size() <= kMaxNameBytes) {
      absl::StrAppend(&path, ".", tokens[i + 2].text);
      i += 2;
    }
    return path;
  }

  void Mention(std::string path) {
    if (check_.sizes_known_) return;
    // A class that is being compiled is known to its own methods.
    if (path == qualified_name_) return;
    definition().mentions.insert(std::move(path));
  }

  CodeCheck& check_;
  const absl::string_view entry_;
  const absl::string_view text_;
  CodeLexer lexer_;
  const std::string module_;

  std::vector<Level> levels_ = {{Block::kFile, 0, "", false}};
  bool opens_block_ = false;
  Block next_block_ = Block::kFile;
  absl::string_view next_closure_;
  size_t line_ = 1;         // the line of
  size_t line_offset_ = 0;  // this byte

  int definition_ = 0;  // index of the one in hand
  std::string qualified_name_;
  Class class_;
  std::string function_;         // the function or method in hand
  uint64_t function_depth_ = 0;  // levels of recursion in it
  int loops_ = 0;
  absl::flat_hash_set<absl::string_view> names_;  // of its variables
  absl::flat_hash_map<absl::string_view, FoldedSize> variables_;
};

absl::Status CodeCheck::AddFile(absl::string_view entry, absl::string_view text) {
  files_.emplace_back(entry, text);
  return FileCheck(this, entry, text).Run();
}

absl::Status CodeCheck::Finish() {
  RETURN_IF_ERROR(CheckDepth());
  RETURN_IF_ERROR(CountNamedTupleLeaves());
  sizes_known_ = true;
  for (const auto& [entry, text] : files_) {
    RETURN_IF_ERROR(FileCheck(this, entry, text).Run());
  }
  return absl::OkStatus();
}

int CodeCheck::Resolve(absl::string_view qualified_name) const {
  for (size_t end = 0; end < qualified_name.size();) {
    end = std::min(qualified_name.find('.', end + 1), qualified_name.size());
    const auto it = index_.find(qualified_name.substr(0, end));
    if (it != index_.end()) return it->second;
  }
  return -1;
}

// LibTorch compiles a definition when it meets the first mention, in the midst
// of the one that mentions it. In which order it meets them is not known here;
// so definitions that mention each other count as one level of recursion each,
// all together (Tarjan's strongly connected components), and else the longest
// chain counts.
absl::Status CodeCheck::CheckDepth() {
  const int count = static_cast<int>(definitions_.size());
  std::vector<std::vector<int>> mentions(count);
  for (int i = 0; i < count; ++i) {
    for (const std::string& name : definitions_[i].mentions) {
      const int target = Resolve(name);
      if (target >= 0 && target != i) mentions[i].push_back(target);
    }
  }

  constexpr int kUnseen = -1;
  std::vector<int> order(count, kUnseen);
  std::vector<int> low(count, 0);
  std::vector<bool> settled(count, false);
  std::vector<uint64_t> depth(count, 0);
  std::vector<int> open;
  std::vector<std::pair<int, size_t>> path;
  int seen = 0;
  for (int root = 0; root < count; ++root) {
    if (order[root] != kUnseen) continue;
    path.emplace_back(root, 0);
    while (!path.empty()) {
      const auto [i, next] = path.back();
      if (next == 0) {
        order[i] = low[i] = seen++;
        open.push_back(i);
      }
      if (next < mentions[i].size()) {
        ++path.back().second;
        const int target = mentions[i][next];
        if (order[target] == kUnseen) {
          path.emplace_back(target, 0);
        } else if (!settled[target]) {
          low[i] = std::min(low[i], order[target]);
        }
        continue;
      }
      path.pop_back();
      if (!path.empty()) {
        low[path.back().first] = std::min(low[path.back().first], low[i]);
      }
      if (low[i] != order[i]) continue;
      // The component of `i` is complete: it is the end of `open`.
      auto begin = open.end() - 1;
      while (*begin != i) --begin;
      uint64_t own = 0;
      uint64_t deepest = 0;
      for (auto member = begin; member != open.end(); ++member) {
        own += definitions_[*member].depth;
        for (int target : mentions[*member]) {
          if (settled[target]) deepest = std::max(deepest, depth[target]);
        }
      }
      for (auto member = begin; member != open.end(); ++member) {
        settled[*member] = true;
        depth[*member] = own + deepest;
      }
      if (own + deepest > kMaxCompileDepth) {
        return ErrorAt(definitions_[i].entry, definitions_[i].line, 0,
                       absl::StrCat("compiling this and all it mentions takes "
                                    "more than ",
                                    kMaxCompileDepth, " levels of recursion"));
      }
      open.erase(begin, open.end());
    }
  }
  return absl::OkStatus();
}

// A NamedTuple's type is that of its fields, written out.
absl::Status CodeCheck::CountNamedTupleLeaves() {
  std::vector<bool> done(definitions_.size(), false);
  for (size_t root = 0; root < definitions_.size(); ++root) {
    // After CheckDepth, chains of definitions are short.
    const auto count = [&](const auto& self, int i) -> void {
      Definition& definition = definitions_[i];
      if (done[i]) return;
      done[i] = true;  // at once, in case of a cycle; LibTorch refuses these
      for (const std::string& name : definition.field_types) {
        const int field = Resolve(name);
        if (field < 0) continue;
        self(self, field);
        definition.leaves = Capped(definition.leaves + definitions_[field].leaves);
      }
    };
    count(count, static_cast<int>(root));
  }
  uint64_t most = 1;
  for (const auto& [name, i] : index_) {
    const Definition& definition = definitions_[i];
    if (!definition.is_named_tuple) continue;
    if (definition.leaves > kMaxNamedTupleLeaves) {
      return ErrorAt(definition.entry, definition.line, 0,
                     absl::StrCat("a NamedTuple of more than ", kMaxNamedTupleLeaves, " leaves"));
    }
    uint64_t& leaves = named_tuples_[name.substr(name.rfind('.') + 1)];
    leaves = std::max(leaves, definition.leaves);
    most = std::max(most, leaves);
  }
  max_annotation_ *= most;  // so far, a NamedTuple counted as one leaf
  return absl::OkStatus();
}

absl::Status CheckTypeText(absl::string_view type) {
  // As if it were the type of an attribute.
  const std::string text = absl::StrCat("class A:\n  a : ", type, "\n");
  if (!absl::StrContains(type, '\n') && !absl::StrContains(type, '=') &&
      CodeCheck({}).AddFile("code/type.py", text).ok()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("not a plain type: ", Printable(type)));
}

}  // namespace graphnet
