#include <limits>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/graphnet_folder/folder_form.h"
#include "graphnet/formats/graphnet_folder/model_parser.h"

namespace graphnet {
namespace {

constexpr int kPower = 8;
constexpr BinaryOperator kBinaryOperators[] = {
    {Punct("=="), kComparison, "operator.eq", ""},
    {Punct("!="), kComparison, "operator.ne", ""},
    {Punct("<"), kComparison, "operator.lt", ""},
    {Punct("<="), kComparison, "operator.le", ""},
    {Punct(">"), kComparison, "operator.gt", ""},
    {Punct(">="), kComparison, "operator.ge", ""},
    {Punct("|"), 2, "operator.or_", "operator.ior"},
    {Punct("^"), 3, "operator.xor", "operator.ixor"},
    {Punct("&"), 4, "operator.and_", "operator.iand"},
    {Punct("<<"), 5, "operator.lshift", "operator.ilshift"},
    {Punct(">>"), 5, "operator.rshift", "operator.irshift"},
    {Punct("+"), 6, "operator.add", "operator.iadd"},
    {Punct("-"), 6, "operator.sub", "operator.isub"},
    {Punct("*"), 7, "operator.mul", "operator.imul"},
    {Punct("/"), 7, "operator.truediv", "operator.itruediv"},
    {Punct("//"), 7, "operator.floordiv", "operator.ifloordiv"},
    {Punct("%"), 7, "operator.mod", "operator.imod"},
    {Punct("@"), 7, "operator.matmul", "operator.imatmul"},
    {Punct("**"), kPower, "operator.pow", "operator.ipow"},
};

const BinaryOperator* FindBinary(uint32_t punct) {
  for (const BinaryOperator& op : kBinaryOperators) {
    if (op.punct == punct) return &op;
  }
  return nullptr;
}

}  // namespace

const BinaryOperator* FindAugmented(uint32_t punct) {
  if ((punct & 0xff) != '=') return nullptr;
  const BinaryOperator* op = FindBinary(punct >> 8);
  return op != nullptr && !op->in_place_target.empty() ? op : nullptr;
}

bool IsForeignKeyword(absl::string_view name) {
  static constexpr absl::string_view kOurs[] = {"False", "None", "True", "def", "return"};
  return name.size() >= 2 && name.size() <= 8 && IsPythonKeyword(name) &&
         !absl::c_linear_search(kOurs, name);
}

// Parses an expression list whose first atom has been taken.
absl::StatusOr<Argument> ModelParser::ParseExpressionRest(Argument value) {
  ASSIGN_OR_RETURN(value, ParsePostfix(value));
  ASSIGN_OR_RETURN(value, ParseBinaryRest(value, kComparison));
  if (!scanner_.Is(Punct(","))) return value;
  return ParseTupleRest(value);
}

// Parses expression ("," expression)*, where several make a tuple without brackets.
absl::StatusOr<Argument> ModelParser::ParseExpressionList() {
  ASSIGN_OR_RETURN(const Argument first, ParseExpression());
  if (!scanner_.Is(Punct(","))) return first;
  return ParseTupleRest(first);
}

absl::StatusOr<Argument> ModelParser::ParseTupleRest(const Argument& first) {
  const size_t base = stack_.size();
  stack_.Push(first);
  while (scanner_.Accept(Punct(","))) {
    if (EndsStatement()) break;
    ASSIGN_OR_RETURN(const Argument element, ParseExpression());
    stack_.Push(element);
  }
  return Argument::Tuple(stack_.Close(base));
}

absl::StatusOr<Argument> ModelParser::ParseExpression() {
  if (Argument element; TakeElement(&element)) return element;
  // The scanner bounds brackets. `depth_` bounds chains of ** and of unary operators.
  ASSIGN_OR_RETURN(const Argument operand, ParseUnary());
  return ParseBinaryRest(operand, kComparison);
}

// Parses the rest of a chain of binary operators with a precedence of at least `lowest`.
absl::StatusOr<Argument> ModelParser::ParseBinaryRest(Argument left, int lowest) {
  while (scanner_.token().kind == TokenKind::kPunct) {
    // The usual ends of an expression.
    const uint32_t punct = scanner_.token().punct;
    if (punct == ',' || punct == ')' || punct == ';' || punct == ']') return left;
    const BinaryOperator* op = FindBinary(punct);
    if (op == nullptr || op->precedence < lowest) return left;
    scanner_.Next();
    ASSIGN_OR_RETURN(Argument right, ParseUnary());
    // An operator of higher precedence belongs to the right operand; ** groups to the right.
    while (scanner_.token().kind == TokenKind::kPunct) {
      const BinaryOperator* next = FindBinary(scanner_.token().punct);
      if (next == nullptr || next->precedence < op->precedence) break;
      if (next->precedence == op->precedence) {
        if (op->precedence == kComparison) {
          return scanner_.Error("chained comparisons are not supported");
        }
        if (op->precedence != kPower) break;
      }
      if (++depth_ > kMaxNesting) return scanner_.Error("operators nest too deep");
      ASSIGN_OR_RETURN(right, ParseBinaryRest(right, next->precedence));
      --depth_;
    }
    ASSIGN_OR_RETURN(left, MakeBinary(*op, left, right));
  }
  if (scanner_.token().kind == TokenKind::kName && IsForeignKeyword(scanner_.token().text)) {
    return scanner_.Error(absl::StrCat("'", scanner_.token().text, "' is outside the subset"));
  }
  return left;
}

absl::StatusOr<Argument> ModelParser::MakeBinary(const BinaryOperator& op, const Argument& left,
                                                 const Argument& right) {
  // Python writes a complex number as 1 + 2j.
  if (right.kind() == Argument::Kind::kComplex && (left.is_int() || left.is_float()) &&
      right.complex().real() == 0 && (op.punct == '+' || op.punct == '-')) {
    const double real = left.is_int() ? static_cast<double>(left.integer()) : left.real();
    const double imag = right.complex().imag();
    return module_->Complex({real, op.punct == '+' ? imag : -imag});
  }
  const Argument args[] = {left, right};
  return Argument(Create(Op::kCallFunction, op.target, args, {}));
}

absl::StatusOr<Argument> ModelParser::ParseUnary() {
  if (scanner_.token().kind != TokenKind::kPunct) return ParsePrimary();
  const uint32_t punct = scanner_.token().punct;
  if (punct != '-' && punct != '~' && punct != '+') return ParsePrimary();
  if (++depth_ > kMaxNesting) return scanner_.Error("operators nest too deep");
  const char* const begin = scanner_.token().begin;
  scanner_.Next();
  const bool is_literal = scanner_.token().kind == TokenKind::kInt;
  if (is_literal && punct == '-' && scanner_.token().int_value < 0) {
    scanner_.Next();
    --depth_;
    return Argument(std::numeric_limits<int64_t>::min());
  }
  ASSIGN_OR_RETURN(Argument operand, ParseUnary());
  // -x ** y is -(x ** y).
  if (scanner_.Is(Punct("**"))) {
    ASSIGN_OR_RETURN(operand, ParseBinaryRest(operand, kPower));
  }
  --depth_;
  if (punct == '-') {
    if (operand.is_int()) {
      if (operand.integer() == std::numeric_limits<int64_t>::min()) {
        return scanner_.ErrorAtOffset(begin, "the integer does not fit in 64 bits");
      }
      return Argument(-operand.integer());
    }
    if (operand.is_float()) return Argument(-operand.real());
    if (operand.kind() == Argument::Kind::kComplex) return module_->Complex(-operand.complex());
  } else if (punct == '+' && (operand.is_int() || operand.is_float())) {
    return operand;
  }
  const absl::string_view target = punct == '-'   ? "operator.neg"
                                   : punct == '~' ? "operator.invert"
                                                  : "operator.pos";
  return Argument(Create(Op::kCallFunction, target, absl::MakeConstSpan(&operand, 1), {}));
}

absl::StatusOr<Argument> ModelParser::ParsePrimary() {
  ASSIGN_OR_RETURN(const Argument atom, ParseAtom());
  return ParsePostfix(atom);
}

absl::StatusOr<Argument> ModelParser::ParseAtom() {
  const Token& token = scanner_.token();
  switch (token.kind) {
    case TokenKind::kName: {
      const absl::string_view name = token.text;
      scanner_.Next();
      return ParseAtomFromName(name);
    }
    case TokenKind::kInt: return scanner_.TakeInt("an integer");
    case TokenKind::kFloat: return Taken(token.float_value);
    case TokenKind::kImaginary: return Taken(module_->Complex({0.0, token.float_value}));
    case TokenKind::kString: return Argument(scanner_.TakeStrings());
    case TokenKind::kPunct:
      switch (token.punct) {
        case '(': return ParseParenthesis();
        case '[': return ParseList();
        case '{': return ParseDict();
        case Punct("..."): return Taken(Argument::Ellipsis());
        default: break;
      }
      break;
    default: break;
  }
  return scanner_.Expected("an expression");
}

// Parses the attribute reads, method calls and subscripts after an atom.
absl::StatusOr<Argument> ModelParser::ParsePostfix(Argument value) {
  while (scanner_.token().kind == TokenKind::kPunct) {
    switch (scanner_.token().punct) {
      case '.': {
        scanner_.Next();
        ASSIGN_OR_RETURN(const absl::string_view name, scanner_.TakeName("a name after '.'"));
        if (scanner_.Is(Punct("("))) {
          ASSIGN_OR_RETURN(value, ParseCall(Op::kCallMethod, name, value));
        } else {
          const Argument args[] = {value, name};
          value = Create(Op::kCallFunction, "builtins.getattr", args, {});
        }
        break;
      }
      case '[': {
        scanner_.Next();
        const char* const begin = scanner_.token().begin;
        ASSIGN_OR_RETURN(const Argument index, ParseSubscript());
        if (const absl::Status status = CheckSubscript(value, index); !status.ok())
          return scanner_.ErrorAtOffset(begin, status.message());
        const Argument args[] = {value, index};
        value = Create(Op::kCallFunction, "operator.getitem", args, {});
        break;
      }
      case '(': return scanner_.Error("only functions and methods can be called");
      default: return value;
    }
  }
  return value;
}

// Parses the index after "[", and the "]".
absl::StatusOr<Argument> ModelParser::ParseSubscript() {
  const size_t base = stack_.size();
  bool is_tuple = false;
  do {
    if (scanner_.Is(Punct("]")) && stack_.size() > base) break;
    ASSIGN_OR_RETURN(const Argument element, ParseSubscriptElement());
    stack_.Push(element);
    is_tuple |= scanner_.Is(Punct(","));
  } while (scanner_.Accept(Punct(",")));
  RETURN_IF_ERROR(scanner_.Expect(Punct("]"), "after the index"));
  if (is_tuple) return Argument::Tuple(stack_.Close(base));
  const Argument index = stack_.From(base)[0];
  stack_.Pop(base);
  return index;
}

// Parses an expression, or a slice written with colons.
absl::StatusOr<Argument> ModelParser::ParseSubscriptElement() {
  Argument parts[3];
  int part = 0;
  bool is_slice = false;
  while (true) {
    if (!scanner_.Is(Punct(":")) && !scanner_.Is(Punct("]")) && !scanner_.Is(Punct(","))) {
      ASSIGN_OR_RETURN(parts[part], ParseExpression());
    } else if (!scanner_.Is(Punct(":")) && !is_slice) {
      return scanner_.Expected("an index");
    }
    if (!scanner_.Is(Punct(":"))) break;
    is_slice = true;
    if (++part > 2) return scanner_.Error("a slice has at most three parts");
    scanner_.Next();
  }
  if (!is_slice) return parts[0];
  const size_t base = stack_.size();
  for (const Argument& p : parts) stack_.Push(p);
  return Argument::Slice(stack_.Close(base));
}

// Parses "(" … ")": a tuple, or an expression in parentheses.
absl::StatusOr<Argument> ModelParser::ParseParenthesis() {
  scanner_.Next();
  return ParseParenthesisRest(stack_.size());
}

// Parses the rest after "(". If the first element has been read, it lies on the stack at `base`.
absl::StatusOr<Argument> ModelParser::ParseParenthesisRest(size_t base) {
  if (is_paddle() && scanner_.IsName("lambda")) return ParseOutputsRest();
  bool is_tuple = stack_.size() == base && scanner_.Is(Punct(")"));
  if (stack_.size() > base) is_tuple = scanner_.Accept(Punct(","));
  while (!scanner_.Is(Punct(")")) && (is_tuple || stack_.size() == base)) {
    ASSIGN_OR_RETURN(const Argument element, ParseExpression());
    stack_.Push(element);
    if (!scanner_.Accept(Punct(","))) break;
    is_tuple = true;
  }
  RETURN_IF_ERROR(scanner_.Expect(Punct(")"), "after the expression"));
  if (is_tuple) return Argument::Tuple(stack_.Close(base));
  const Argument inner = stack_.From(base)[0];
  stack_.Pop(base);
  return inner;
}

absl::StatusOr<Argument> ModelParser::ParseList() {
  scanner_.Next();
  const size_t base = stack_.size();
  RETURN_IF_ERROR(scanner_.TakeElements(Punct("]"), "after the list", [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const Argument element, ParseExpression());
    stack_.Push(element);
    return absl::OkStatus();
  }));
  return Argument::List(stack_.Close(base));
}

absl::StatusOr<Argument> ModelParser::ParseDict() {
  scanner_.Next();
  const size_t base = stack_.size();
  RETURN_IF_ERROR(scanner_.TakeElements(Punct("}"), "after the dict", [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const Argument key, ParseExpression());
    if (values_.HasNode(key)) return scanner_.Error("the key of a dict must be a literal");
    RETURN_IF_ERROR(scanner_.Expect(Punct(":"), "after the key"));
    ASSIGN_OR_RETURN(const Argument value, ParseExpression());
    stack_.Push(key);
    stack_.Push(value);
    return absl::OkStatus();
  }));
  return Argument::Dict(stack_.Close(base));
}

}  // namespace graphnet
