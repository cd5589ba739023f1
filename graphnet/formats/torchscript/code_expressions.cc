#include "graphnet/formats/torchscript/code_expressions.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/torchscript/packed_parameters.h"

namespace graphnet {
namespace {

// Elements of one list or call: compiling a list of 65,000 takes 1 s and one of
// 200,000 takes 20 s.
constexpr size_t kMaxElements = 65535;
// Bytes of a constant string. Doubled 30 times, a string would fill the memory.
constexpr uint64_t kMaxFoldedString = 1 << 20;
// Leaves of a tuple's type: 2^18 take 0.5 s, 2^24 never end.
constexpr uint64_t kMaxTupleLeaves = 1 << 18;
// LibTorch's analysis of aliases visits the elements of a tuple twice: 2^25 visits take a second.
constexpr uint64_t kMaxTupleVisits = 1 << 25;
// A leaf counts twice for each tuple around it, as it is visited so often.
constexpr uint64_t kMaxAnnotationLeaves = 4096;

// Keywords that no expression contains: those that only begin a statement, and
// those that the writer never uses. True, False, None and NoneType are names here.
constexpr absl::string_view kKeywords[] = {
    "and",  "as",  "assert", "break",  "class",  "continue", "def",  "del",   "elif",
    "else", "for", "from",   "global", "if",     "import",   "in",   "is",    "lambda",
    "not",  "or",  "pass",   "raise",  "return", "while",    "with", "yield",
};

// Operators whose result grows with their numbers or strings. They run when a file
// is loaded if their operands are constant.
constexpr absl::string_view kRunsAtLoad[] = {
    "center", "expandtabs", "factorial", "ljust", "replace", "rjust", "zfill",
};

// Operators that return one of their arguments or something made of it. The result's
// type contains parts of the arguments' types, and a string contains theirs.
constexpr absl::string_view kPassingOperators[] = {"__getitem__",
                                                   "_unwrap_optional",
                                                   "add",
                                                   "annotate",
                                                   "copy",
                                                   "getattr",
                                                   "max",
                                                   "min",
                                                   "mul",
                                                   "slice",
                                                   "unchecked_cast",
                                                   "unchecked_unwrap_optional"};
// Other operators whose result has a type that an argument has or contains.
constexpr absl::string_view kGenericOperators[] = {
    "append", "awaitable", "extend",  "fork",       "get",    "insert", "items",  "keys",
    "list",   "pop",       "popitem", "setdefault", "sorted", "update", "values", "wait"};
// Other operators that return a string made of their arguments.
constexpr absl::string_view kStringOperators[] = {
    "capitalize", "format", "join", "lower", "lstrip",   "partition", "percentFormat",
    "rpartition", "rstrip", "str",  "strip", "swapcase", "title",     "upper"};
// Operators that return a new string of at most kOwnStringBytes.
constexpr absl::string_view kStringSources[] = {
    "_get_cpu_capability", "bin", "chr", "hex", "oct", "str", "type",
};
constexpr uint64_t kOwnStringBytes = 64;

constexpr absl::string_view kNumberNames[] = {"inf", "nan", "infj", "nanj"};
constexpr absl::string_view kConstantNames[] = {"False", "None", "NoneType", "True"};

template <size_t n>
bool IsIn(absl::string_view name, const absl::string_view (&names)[n]) {
  return absl::c_linear_search(names, name);
}

// Returns whether tokens[i] is the sign of a number, or the sign within a complex number.
bool IsSign(Tokens tokens, size_t i, bool operand) {
  const auto is_number = [](const CodeToken& token) {
    return token.kind == CodeToken::kNumber || (token.IsName() && IsIn(token.text, kNumberNames));
  };
  if (i + 1 == tokens.size() || !is_number(tokens[i + 1])) return false;
  if (!operand) return tokens[i].Is("-");
  return is_number(tokens[i - 1]) && !absl::EndsWith(tokens[i - 1].text, "j") &&
         absl::EndsWith(tokens[i + 1].text, "j");
}

}  // namespace

size_t Closing(Tokens tokens, size_t open) {
  int depth = 0;
  for (size_t i = open; i < tokens.size(); ++i) {
    if (tokens[i].kind != CodeToken::kPunctuation) continue;
    const char c = tokens[i].text[0];
    if (c == '(' || c == '[' || c == '{') ++depth;
    if ((c == ')' || c == ']' || c == '}') && --depth == 0) return i;
  }
  return tokens.size();
}

size_t FindOutside(Tokens tokens, absl::string_view text, size_t from) {
  for (size_t i = from; i < tokens.size(); ++i) {
    if (tokens[i].Is(text)) return i;
    if (tokens[i].kind == CodeToken::kPunctuation && absl::StrContains("([{", tokens[i].text[0])) {
      i = Closing(tokens, i);
    }
  }
  return tokens.size();
}

absl::string_view Unquoted(const CodeToken& string) {
  return string.text.substr(1, string.text.size() - 2);
}

bool ExpressionCheck::IsKeyword(absl::string_view name) { return IsIn(name, kKeywords); }

absl::Status ExpressionCheck::ErrorAtOffset(size_t offset, absl::string_view message) const {
  const absl::string_view before = text_.substr(0, offset);
  const size_t newline = before.rfind('\n');  // npos + 1 is 0
  return ErrorAt(entry_, 1 + absl::c_count(before, '\n'), offset - (newline + 1) + 1, message);
}
absl::Status ExpressionCheck::Unexpected(const Token& token) const {
  return Error(token,
               absl::StrCat("'", Printable(token.text, 40), "' is not what PyTorch writes here"));
}

absl::Status ExpressionCheck::Incomplete(Tokens line) const {
  return Error(line.back(), "the statement is not what PyTorch writes");
}

absl::StatusOr<ExpressionCheck::Folded> ExpressionCheck::Expression(
    Tokens tokens, std::vector<FoldedSize>* parts) {
  std::vector<Frame> frames(1);
  frames[0].parts = parts;
  bool operand = false;   // true if the previous token ends an operand
  uint64_t brackets = 0;  // levels of recursion of the open brackets
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
      // The last element may be followed by a comma.
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
  const Folded result = {is_tuple, outer.sum, outer.max_leaves, outer.max_depth};
  RETURN_IF_ERROR(CheckSize(tokens[0], result.whole()));
  return result;
}

// Ends an element of a bracket before `token`.
absl::Status ExpressionCheck::EndElement(const Token& token, Frame* frame) const {
  // An operator or a function such as str that is not called here could be called
  // under another name, which would hide it from the checks below.
  const bool bare = frame->chain == 0 && !frame->first.empty();
  const bool type_fits = frame->kind == Frame::kCall || frame->kind == Frame::kIndex;
  if ((frame->IsOperator() && !frame->called) ||
      (bare && !type_fits && !names_.contains(frame->first) &&
       !IsIn(frame->first, kConstantNames) && !IsIn(frame->first, kNumberNames))) {
    return Error(token, absl::StrCat("'", Printable(frame->last, 40), "' is not a value"));
  }
  frame->sum.string_bytes = Capped(frame->sum.string_bytes + frame->size.string_bytes);
  frame->sum.leaves = Capped(frame->sum.leaves + frame->size.leaves);
  frame->max_leaves = std::max(frame->max_leaves, frame->size.leaves);
  frame->max_depth = std::max(frame->max_depth, frame->size.depth);
  if (frame->parts != nullptr) frame->parts->push_back(frame->size);
  if (++frame->elements > kMaxElements) {
    return Error(token, absl::StrCat("more than ", kMaxElements, " elements"));
  }
  frame->StartOperand();
  return absl::OkStatus();
}

// Checks a name that begins an operand.
absl::Status ExpressionCheck::Name(Tokens tokens, size_t i, Frame* frame) {
  const Token& name = tokens[i];
  if (IsKeyword(name.text)) return Unexpected(name);
  if (name.text == "__torch__") Mention(Path(tokens, i));
  const bool is_hidden =
      (name.text == "torch" || name.text == "annotate") && names_.contains(name.text);
  // LibTorch takes the variable, so a call through it reaches no function of PyTorch.
  if (is_hidden && i + 1 < tokens.size() && (tokens[i + 1].Is(".") || tokens[i + 1].Is("("))) {
    return Error(name, absl::StrCat("a variable hides '", name.text, "'"));
  }
  frame->StartOperand(is_hidden ? absl::string_view() : name.text);
  const auto variable = variables_.find(name.text);
  if (variable != variables_.end()) frame->size = variable->second;
  return absl::OkStatus();
}

// Checks a string. In getattr(x, "name"), it is an attribute.
absl::Status ExpressionCheck::String(const Token& token, bool attribute, Frame* frame) {
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

// Returns whether tokens[i] is the "classes" of __torch__.torch.classes.quantized.C, where C is a
// class of packed parameters, and no object of it is made.
bool ExpressionCheck::IsTypeOfPackedParameters(Tokens tokens, size_t i) {
  constexpr size_t kPart = 4;  // from __torch__ to classes, and from classes to C
  if (i < kPart || !tokens[i - kPart].Is("__torch__") ||
      (i > kPart && tokens[i - kPart - 1].Is("."))) {
    return false;
  }
  const bool is_called = i + kPart + 1 < tokens.size() && tokens[i + kPart + 1].Is("(");
  return !is_called && IsPackedParameters(Path(tokens, i - kPart));
}

// Checks the name after a '.'.
absl::Status ExpressionCheck::Attribute(Tokens tokens, size_t i, Frame* frame) {
  const Token& name = tokens[i];
  const absl::string_view before = tokens[i - 2].text;
  if (IsKeyword(name.text)) return Unexpected(name);
  if (name.text == "classes" && before == "torch" && !IsTypeOfPackedParameters(tokens, i)) {
    return Error(name, "mentions torch.classes");
  }
  if (IsIn(name.text, kRunsAtLoad) && (frame->IsOperator() || frame->size.string_bytes > 0)) {
    return RunsAtLoad(name, name.text);
  }
  if (before == "CONSTANTS") frame->AddString(ConstantStringBytes(name.text));
  ++frame->chain;
  frame->last = name.text;
  // An annotation gives the attribute's type.
  frame->size.leaves = std::max(frame->size.leaves, check_.max_annotation_);
  return AttributeName(name, name.text, frame);
}

// An attribute may be a constant string, or a method of the class.
absl::Status ExpressionCheck::AttributeName(const Token& token, absl::string_view name,
                                            Frame* frame) {
  if (name == "__setstate__" || name == "__getstate__") {
    return Error(token, absl::StrCat("mentions ", name));
  }
  const auto constant = check_.string_attributes_.find(name);
  if (constant != check_.string_attributes_.end()) {
    frame->AddString(constant->second);
  }
  if (name != function_) called_.emplace(name);
  return absl::OkStatus();
}

// Handles CONSTANTS.c0. LibTorch ignores the first letter.
uint64_t ExpressionCheck::ConstantStringBytes(absl::string_view name) const {
  size_t index = 0;
  return absl::SimpleAtoi(name.substr(1), &index) && index < check_.constant_string_bytes_.size()
             ? check_.constant_string_bytes_[index]
             : 0;
}

absl::Status ExpressionCheck::RunsAtLoad(const Token& token, absl::string_view name) const {
  return Error(token, absl::StrCat("calls '", name,
                                   "', which may run when the file is loaded and take any time"));
}

// Adds a closed bracket to the operand that it forms or follows.
absl::Status ExpressionCheck::Close(const Frame& frame, bool has_comma, Frame* outer) {
  const uint64_t most = frame.max_leaves;
  FoldedSize& size = outer->size;
  switch (frame.kind) {
    case Frame::kIndex: break;
    case Frame::kGroup:
      outer->StartOperand();
      size = {frame.sum.string_bytes, has_comma ? Capped(frame.sum.leaves + 1) : most,
              has_comma ? Capped(frame.max_depth + 1) : frame.max_depth};
      break;
    case Frame::kList:  // all elements have one type
      outer->StartOperand();
      size = {frame.sum.string_bytes, most + 1};
      break;
    case Frame::kDict:  // keys and values have two types
      outer->StartOperand();
      size = {frame.sum.string_bytes, Capped(2 * most + 1)};
      break;
    case Frame::kCall: {
      // Only the annotation says anything about a variable that is called.
      absl::string_view callee = outer->last;
      if (outer->chain == 1 && names_.contains(callee)) callee = "";
      const uint64_t strings = Capped(size.string_bytes + frame.sum.string_bytes);
      const auto named_tuple = check_.named_tuples_.find(callee);
      if (named_tuple != check_.named_tuples_.end()) {
        size = {strings, named_tuple->second};
      } else {
        const bool passes = IsIn(callee, kPassingOperators);
        size.string_bytes = passes || IsIn(callee, kStringOperators) ? strings : 0;
        if (IsIn(callee, kStringSources)) outer->AddString(kOwnStringBytes);
        size.leaves = passes || IsIn(callee, kGenericOperators) ? std::max(size.leaves, most)
                      : outer->IsOperator()                     ? 1
                                                                : check_.max_annotation_;
        size.depth =
            passes || IsIn(callee, kGenericOperators) ? std::max(size.depth, frame.max_depth) : 0;
      }
      outer->last = "";
      outer->called = true;
      break;
    }
  }
  return CheckSize(*frame.start, size);
}

absl::Status ExpressionCheck::CheckSize(const Token& token, const FoldedSize& size) const {
  if (!check_.sizes_known_) return absl::OkStatus();
  if (size.string_bytes > kMaxFoldedString) {
    return Error(token, "a constant string grows too long");
  }
  if (size.leaves > kMaxTupleLeaves ||
      size.leaves > kMaxTupleVisits >> std::min<uint64_t>(size.depth, 63)) {
    return Error(token, "a tuple's type grows too large");
  }
  return absl::OkStatus();
}

void ExpressionCheck::NoteDepth(uint64_t depth) {
  function_depth_ = std::max<uint64_t>(function_depth_, depth + num_blocks_);
}

absl::StatusOr<uint64_t> ExpressionCheck::Literal(Tokens tokens) {
  if (tokens.size() < 2) return Incomplete(lexer_.tokens());
  uint64_t string_bytes = 0;
  size_t constructor = 0;  // the bracket after the name of a NamedTuple
  for (size_t i = 1; i < tokens.size(); ++i) {
    const Token& token = tokens[i];
    const Token& before = tokens[i - 1];
    const Tokens rest = tokens.subspan(i);
    if (token.kind == Token::kString) string_bytes += token.text.size();
    if (before.Is("CONSTANTS") && rest.size() > 1) {
      string_bytes += ConstantStringBytes(rest[1].text);
    }
    if (token.Is("__torch__") && !before.Is(".")) {
      const std::string path = Path(tokens, i);
      const auto parts = static_cast<size_t>(std::count(path.begin(), path.end(), '.'));
      if (check_.MayBeNamedTuple(path)) constructor = i + 2 * parts + 1;
    }
    bool runs = false;
    if (token.IsName() && !before.Is(".")) {
      // The writer uses torch.device("cpu") and annotate(List[int], []) here.
      runs = token.text == "getattr" || token.text == "ops" ||
             (token.text == "torch" && (rest.size() < 6 || !rest[2].Is("device") ||
                                        rest[4].kind != Token::kString || !rest[5].Is(")")));
    } else if (token.Is("(") || token.Is("[")) {
      // A bracket after an operand calls or indexes it.
      const bool operand =
          before.kind != Token::kPunctuation || before.Is(")") || before.Is("]") || before.Is("}");
      const bool plain = before.IsName() && !tokens[i - 2].Is(".");
      const bool device =
          i > 3 && before.Is("device") && tokens[i - 3].Is("torch") && !tokens[i - 4].Is(".");
      const bool fine =
          token.Is("[") ? plain : device || i == constructor || (plain && before.Is("annotate"));
      runs = operand && !fine;
    }
    if (runs) {
      return Error(token,
                   "only a literal is allowed here, because this runs when the file is loaded");
    }
  }
  RETURN_IF_ERROR(Expression(tokens.subspan(1)).status());
  return string_bytes;
}

absl::StatusOr<uint64_t> ExpressionCheck::Annotation(Tokens tokens) {
  if (tokens.empty()) return Incomplete(lexer_.tokens());
  uint64_t leaves = 0;
  std::vector<uint64_t> weights = {1};  // of a leaf within each open bracket
  size_t dots = 0;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const Token& token = tokens[i];
    const bool after_name = i > 0 && tokens[i - 1].IsName();
    if (token.IsName()) {
      if (after_name || IsKeyword(token.text)) return Unexpected(token);
      const bool first = i == 0 || !tokens[i - 1].Is(".");
      dots = first ? 0 : dots + 1;
      if (dots > kMaxNesting) {
        return Error(token, "the name has too many parts");
      }
      if (token.text == "classes" && i > 1 && tokens[i - 2].Is("torch") &&
          !IsTypeOfPackedParameters(tokens, i)) {
        return Error(token, "mentions torch.classes");
      }
      if (first) leaves = Capped(leaves + weights.back());
      if (first && token.text == "__torch__") Mention(Path(tokens, i));
      const auto named_tuple = check_.named_tuples_.find(token.text);
      if (named_tuple != check_.named_tuples_.end()) {
        leaves = Capped(leaves + weights.back() * named_tuple->second);
      }
    } else if (token.Is("[") && after_name) {
      const absl::string_view container = tokens[i - 1].text;
      const bool doubles = container == "Tuple" || container == "Future" || container == "Await";
      NoteDepth(weights.size());
      weights.push_back(Capped(doubles ? 2 * weights.back() : weights.back()));
    } else if (token.Is("]") && !tokens[i - 1].Is("[")) {
      if (weights.size() == 1) return Unexpected(token);
      weights.pop_back();
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

std::string ExpressionCheck::Path(Tokens tokens, size_t i) {
  std::string path(tokens[i].text);
  while (i + 2 < tokens.size() && tokens[i + 1].Is(".") && tokens[i + 2].IsName() &&
         path.size() <= kMaxNameBytes) {
    absl::StrAppend(&path, ".", tokens[i + 2].text);
    i += 2;
  }
  return path;
}

void ExpressionCheck::Mention(std::string path) {
  if (check_.sizes_known_) return;
  // The methods of a class already know the class while it is compiled.
  if (path == qualified_name_) return;
  definition().mentions.insert(std::move(path));
}

}  // namespace graphnet
