// Checks the statements and definitions of one source file.
#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/torchscript/code_check.h"
#include "graphnet/formats/torchscript/code_expressions.h"

namespace graphnet {
namespace {

// Levels of recursion that a definition adds to those of its text.
constexpr uint64_t kDefinitionDepth = 4;
// Tokens of a statement with a Union: LibTorch compares all pairs of its types.
constexpr size_t kMaxUnionTokens = 2048;
// Loops of one function: 1,000 take 3 s, and 3,000 take more than 30 s.
constexpr int kMaxLoops = 200;

// Names that variables must not have. The writer renames such variables, but not those that are
// called "torch" or "annotate", which ExpressionCheck::Name handles.
constexpr absl::string_view kReservedNames[] = {"CONSTANTS", "False", "None",    "NoneType", "True",
                                                "__torch__", "fork",  "getattr", "inf",      "infj",
                                                "nan",       "nanj",  "ops"};

// Maps "code/__torch__/a/b.py" to "__torch__.a.b".
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

// Checks a file in two passes: the first finds the definitions; the second, when the
// sizes of all constants are known, bounds the values that folding makes of them.
class FileCheck : private ExpressionCheck {
 public:
  FileCheck(CodeCheck* check, absl::string_view entry, absl::string_view text)
      : ExpressionCheck(check, entry, text), module_(ModuleName(entry)) {}

  absl::Status Run() {
    while (lexer_.Next()) RETURN_IF_ERROR(Line(lexer_.tokens()));
    if (lexer_.error().has_value()) {
      return ErrorAtOffset(lexer_.error()->first, lexer_.error()->second);
    }
    if (opens_block_) return ErrorAtOffset(text_.size(), "a block is missing");
    return LeaveBlocks(0);
  }

 private:
  // The kind of block that the lines of one indentation belong to.
  enum class Block { kFile, kClass, kFunction, kOther };
  struct Level {
    Block block;
    size_t indent;
    absl::string_view closure;  // the name of a function within a function
    bool returned = false;      // a return has ended the function
  };

  enum class ClassKind { kPlain, kModule, kNamedTuple, kInterface, kEnum };

  // The state of a class while its lines are read.
  struct Class {
    ClassKind kind = ClassKind::kPlain;
    absl::flat_hash_map<std::string, uint64_t> methods;  // -> depth
    absl::flat_hash_set<std::string> hooks;              // not yet defined
    uint64_t deepest_type = 0;                           // of an attribute's type
  };

  Status Line(Tokens line) {
    RETURN_IF_ERROR(Indent(line));
    num_blocks_ = levels_.size();
    const Token& first = line.front();
    if (line.size() > kMaxUnionTokens &&
        absl::c_any_of(line, [](const Token& t) { return t.Is("Union"); })) {
      return Error(first, "a statement with a Union is too long");
    }
    switch (levels_.back().block) {
      case Block::kFile:
        if (first.Is("class")) return ClassHeader(line);
        if (first.Is("def")) return FunctionHeader(line);
        if (first.Is("op_version_set")) return VersionOfOperators(line);
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
      return Error(line.front(), "the indentation does not match a block");
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

  // Expects a block from the next line on. `line` must end in a colon.
  Status OpenBlock(Tokens line, Block block, absl::string_view closure = "") {
    if (!line.back().Is(":")) return Incomplete(line);
    opens_block_ = true;
    next_block_ = block;
    next_closure_ = closure;
    return absl::OkStatus();
  }

  // Checks `op_version_set = 1`, the first line of files before version 3. LibTorch skips it.
  Status VersionOfOperators(Tokens line) {
    if (Offset(line.front()) != 0) return Unexpected(line.front());
    const bool is_number = line.size() == 3 && line[1].Is("=") && line[2].text.size() < 4 &&
                           absl::c_all_of(line[2].text, [](char c) {
                             return absl::ascii_isdigit(static_cast<unsigned char>(c));
                           });
    return is_number ? absl::OkStatus() : Incomplete(line);
  }

  // Checks `class Name:` or `class Name(Base):`.
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
    called_.clear();
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
    // Definitions come in order, so each line is counted only once.
    const size_t offset = Offset(name);
    line_ += absl::c_count(text_.substr(line_offset_, offset - line_offset_), '\n');
    line_offset_ = offset;
    definition.line = line_;
    definition.depth = kDefinitionDepth;
    check_.definitions_.push_back(std::move(definition));
    return absl::OkStatus();
  }

  Status EndClass() {
    // A method is compiled at the call in another method.
    uint64_t deepest = class_.deepest_type;
    uint64_t called = 0;
    for (const auto& [name, depth] : class_.methods) {
      deepest = std::max(deepest, depth);
      if (called_.contains(name)) called += depth + kDefinitionDepth;
    }
    if (!check_.sizes_known_) definition().depth += deepest + called;
    // LibTorch looks up the function of a hook without checking that it exists.
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
    if (!name.IsName() || IsKeyword(name.text)) return Unexpected(name);
    return absl::OkStatus();
  }

  Status AddVariable(const Token& name) {
    RETURN_IF_ERROR(CheckNewName(name));
    if (absl::c_linear_search(kReservedNames, name.text)) return Unexpected(name);
    names_.insert(name.text);
    return absl::OkStatus();
  }

  // Checks `def name(parameters) -> Type:` or `def closure():`.
  Status FunctionHeader(Tokens line) {
    const Block around = levels_.back().block;
    if (line.size() < 5 || !line[2].Is("(")) return Incomplete(line);
    RETURN_IF_ERROR(CheckNewName(line[1]));
    const size_t close = Closing(line, 2);
    if (around != Block::kFile && around != Block::kClass) {
      // This is the body of a fork. It has no signature; its return gives its type.
      if (close != 3 || line.size() != 5) return Unexpected(line[2]);
      RETURN_IF_ERROR(AddVariable(line[1]));
      return OpenBlock(line, Block::kFunction, line[1].text);
    }
    if (around == Block::kFile) {
      class_ = Class();
      RETURN_IF_ERROR(StartDefinition(line[1]));
    } else {
      // LibTorch reads the first parameter of an interface's method without checking
      // that there is one.
      if (close == 3 || class_.kind == ClassKind::kNamedTuple || class_.kind == ClassKind::kEnum) {
        return Unexpected(line[1]);
      }
      class_.hooks.erase(std::string(line[1].text));
    }
    function_ = std::string(line[1].text);
    if (function_ == "__setstate__") {
      if (around != Block::kClass) return Unexpected(line[1]);
      check_.has_set_state_ = true;
      set_state_ = line[1];
    }
    function_depth_ = 0;
    loops_ = 0;
    variables_.clear();
    names_.clear();
    RETURN_IF_ERROR(Parameters(line.subspan(3, close - 3)));
    // The text must state the type of the result.
    if (close + 2 >= line.size() || !line[close + 1].Is("->")) {
      return Incomplete(line);
    }
    RETURN_IF_ERROR(Annotation(line.subspan(close + 2, line.size() - close - 3)).status());
    return OpenBlock(line, Block::kFunction);
  }

  // Checks `name: Type=literal, ...`.
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

  // Checks that a class of each kind has only the statements that LibTorch expects in
  // it. LibTorch would read parts that others do not have. The forms are
  //
  // name : Type | name : Final[Type] = literal | name = literal
  // __annotations__["name"] = Type | __parameters__ = ["name", ]
  Status ClassAttribute(Tokens line) {
    const Token& name = line[0];
    if (!name.IsName() || IsKeyword(name.text) || line.size() < 3 ||
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
      // The writer omits defaults. LibTorch would evaluate the type instead of the
      // default.
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

  // Checks a list of names: ["a", "b", ].
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
    if (function_ == "__setstate__") RETURN_IF_ERROR(SetStateStatement(line));
    if (first.Is("def")) return FunctionHeader(line);
    if (first.Is("pass")) {
      return line.size() == 1 ? absl::OkStatus() : Unexpected(line[1]);
    }
    if (class_.kind == ClassKind::kInterface) return Unexpected(first);
    if (first.Is("else")) {
      return line.size() == 2 ? OpenBlock(line, Block::kOther) : Incomplete(line);
    }
    if (first.Is("return")) {
      // Only one return is allowed, at the end, so LibTorch never rewrites the control flow.
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
      // Only loops over a range are allowed: LibTorch unrolls loops over a tuple, and
      // nested ones multiply.
      if (line.size() < 7 || !line[2].Is("in") || !line[3].Is("range") ||
          names_.contains("range") || !line[4].Is("(") || Closing(line, 4) + 2 != line.size()) {
        return Error(first, "the loop is not over a range");
      }
      RETURN_IF_ERROR(AddVariable(line[1]));
      RETURN_IF_ERROR(Expression(line.subspan(3, line.size() - 4)).status());
      return OpenBlock(line, Block::kOther);
    }
    return SimpleStatement(line);
  }

  // Checks that a statement of __setstate__ is one of those that PyTorch's modules have:
  // `self.a = (state)[0]`, `_0 = (self).set_weight_bias((state)[1], (state)[2], )`. They call no
  // operator and no function, and have no blocks.
  Status SetStateStatement(Tokens line) const {
    static constexpr absl::string_view kOthers[] = {"__torch__", "torch", "ops",  "CONSTANTS",
                                                    "getattr",   "fork",  "wait", "annotate"};
    const Token& last = line.back();
    if (!last.Is(":") && absl::c_none_of(line, [](const Token& token) {
          return token.IsName() && absl::c_linear_search(kOthers, token.text);
        })) {
      return absl::OkStatus();
    }
    return Error(set_state_, "defines __setstate__, which runs when the file is loaded");
  }

  // Checks `expression`, `targets = expression` or `name : Type = expression`.
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
      // `a, b = b, a` assigns element by element. Other tuples have one size for all elements.
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
    variable.depth = std::max(variable.depth, size.depth);
  }

  const std::string module_;

  std::vector<Level> levels_ = {{Block::kFile, 0, "", false}};
  bool opens_block_ = false;
  Block next_block_ = Block::kFile;
  absl::string_view next_closure_;
  size_t line_ = 1;         // number of the line at line_offset_
  size_t line_offset_ = 0;  // bytes up to the last definition

  Class class_;
  Token set_state_;  // the name of the last __setstate__
  int loops_ = 0;
};

absl::Status CodeCheck::CheckFile(absl::string_view entry, absl::string_view text) {
  return FileCheck(this, entry, text).Run();
}

}  // namespace graphnet
