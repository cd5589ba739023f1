// Parses the syntax that only Paddle's samples have: an empty __init__, del, tuples that are
// unpacked, lambdas that make a tuple of an operator's outputs, and places.
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/graphnet_folder/model_parser.h"
#include "graphnet/formats/graphnet_folder/scanner.h"

namespace graphnet {
namespace {

// Takes these names and punctuation marks, which must come next.
absl::Status ExpectWords(Scanner* scanner, std::initializer_list<absl::string_view> words,
                         absl::string_view where) {
  for (const absl::string_view word : words) {
    const bool is_name = absl::ascii_isalpha(static_cast<unsigned char>(word[0])) || word[0] == '_';
    const bool is_there =
        is_name ? scanner->IsName(word) : scanner->Is(static_cast<unsigned char>(word[0]));
    if (!is_there) return scanner->Expected(absl::StrCat("'", word, "' ", where));
    scanner->Next();
  }
  return absl::OkStatus();
}

}  // namespace

// Takes def __init__(self): super().__init__() if it comes next. Then the next method must follow.
absl::Status ModelParser::ParseInit() {
  const int indent = scanner_.indent();
  const Scanner before = scanner_;
  scanner_.Next();  // def
  if (!scanner_.IsName("__init__")) {
    scanner_ = before;
    return absl::OkStatus();
  }
  scanner_.Next();
  RETURN_IF_ERROR(ExpectWords(&scanner_, {"(", "self", ")", ":"}, "in the head of __init__"));
  RETURN_IF_ERROR(scanner_.ExpectNewline("after the head of __init__"));
  RETURN_IF_ERROR(ExpectWords(&scanner_, {"super", "(", ")", ".", "__init__", "(", ")"},
                              "in __init__, which does nothing else"));
  RETURN_IF_ERROR(scanner_.ExpectNewline("after the statement"));
  if (scanner_.indent() > indent) {
    return scanner_.Error(
        "a sample that defines modules of its own is not a graph: forward must take everything it "
        "needs as arguments");
  }
  if (!scanner_.IsName("def") || scanner_.indent() != indent)
    return scanner_.Expected("'def forward'");
  return absl::OkStatus();
}

// del a, b
absl::Status ModelParser::ParseDelete() {
  FinishUnnamed();
  scanner_.Next();  // del
  const bool parenthesised = scanner_.Accept(Punct("("));
  do {
    if (parenthesised && scanner_.Is(Punct(")"))) break;
    const absl::string_view name = scanner_.token().text;
    if (scanner_.token().kind != TokenKind::kName) return scanner_.Expected("a name after del");
    RETURN_IF_ERROR(Lookup(name).status());
    scanner_.Next();
    Release(name);
  } while (scanner_.Accept(Punct(",")));
  return parenthesised ? scanner_.Expect(Punct(")"), "after the names") : absl::OkStatus();
}

// Parses the rest after `first` in "a, b = value", "(a, b) = value" or "a, b, = value".
absl::Status ModelParser::ParseUnpacking(absl::string_view first, bool parenthesised) {
  FinishUnnamed();
  std::vector<absl::string_view> targets = {first};
  while (scanner_.Accept(Punct(","))) {
    if (scanner_.token().kind != TokenKind::kName) break;
    targets.push_back(scanner_.token().text);
    scanner_.Next();
  }
  if (parenthesised) RETURN_IF_ERROR(scanner_.Expect(Punct(")"), "after the names"));
  RETURN_IF_ERROR(scanner_.Expect(Punct("="), "after the names"));
  const char* const begin = scanner_.token().begin;
  ASSIGN_OR_RETURN(const Argument value, ParseExpressionList());
  NameNewNodes();
  if (value.is_list() || value.is_tuple()) {
    if (value.elements().size() != targets.size()) {
      return scanner_.ErrorAtOffset(
          begin, absl::StrCat(targets.size(), " names for ", value.elements().size(), " values"));
    }
    for (size_t i = 0; i < targets.size(); ++i) Bind(targets[i], value.elements()[i]);
    return absl::OkStatus();
  }
  if (!value.is_node()) return scanner_.ErrorAtOffset(begin, "expected a tuple to take apart");
  tuples_.insert(value.node());
  for (size_t i = 0; i < targets.size(); ++i) {
    const Argument args[] = {value, static_cast<int64_t>(i)};
    Bind(targets[i], Argument(Create(Op::kCallFunction, "operator.getitem", args, {})));
  }
  return absl::OkStatus();
}

// Parses the rest after "(" in "(lambda x, f: f(x))(call, lambda out: out if isinstance(out, (list,
// tuple)) else (out, None, None))". Returns the call, whose value is a tuple.
absl::StatusOr<Argument> ModelParser::ParseOutputsRest() {
  static constexpr absl::string_view kWhere = "in the lambda that makes a tuple of outputs";
  const char* const begin = scanner_.token().begin;
  RETURN_IF_ERROR(
      ExpectWords(&scanner_, {"lambda", "x", ",", "f", ":", "f", "(", "x", ")", ")", "("}, kWhere));
  ASSIGN_OR_RETURN(const Argument call, ParseExpression());
  RETURN_IF_ERROR(ExpectWords(&scanner_,
                              {",", "lambda", "out", ":", "out", "if", "isinstance", "(", "out",
                               ",", "(", "list", ",", "tuple", ")", ")", "else", "(", "out"},
                              kWhere));
  while (scanner_.Accept(Punct(","))) {
    if (!scanner_.AcceptName("None")) break;
  }
  RETURN_IF_ERROR(scanner_.Expect(Punct(")"), kWhere));
  scanner_.Accept(Punct(","));
  RETURN_IF_ERROR(scanner_.Expect(Punct(")"), kWhere));
  if (!call.is_node() || new_nodes_.empty() || new_nodes_.back() != call.node())
    return scanner_.ErrorAtOffset(begin, "expected the call of an operator in the lambda");
  tuples_.insert(call.node());
  return call;
}

// Parses the rest of paddle.CPUPlace() or paddle.CUDAPlace(0), from "(" on, and returns the device.
// Returns nullopt for any other call, also for one that returns the current place.
absl::StatusOr<std::optional<Argument>> ModelParser::ParsePlace(absl::string_view path) {
  absl::string_view name = path;
  if (!absl::ConsumePrefix(&name, "paddle.core.") && !absl::ConsumePrefix(&name, "paddle."))
    return std::nullopt;
  if (name != "CPUPlace" && name != "CUDAPlace") return std::nullopt;
  RETURN_IF_ERROR(scanner_.Expect(Punct("("), "after the name of a place"));
  Device device;
  if (name == "CUDAPlace") {
    const Token index = scanner_.token();
    if (index.kind != TokenKind::kInt || index.int_value < 0 || index.int_value > 127)
      return scanner_.Expected("the number of a device");
    device = {DeviceType::kCuda, static_cast<int16_t>(index.int_value)};
    scanner_.Next();
  }
  RETURN_IF_ERROR(scanner_.Expect(Punct(")"), "after the place"));
  return Argument(device);
}

// Only the lambda or a tuple of names says that the value of a Paddle operator is a tuple. Without
// them the value may be a tensor or a tuple, so subscripting it is refused.
absl::Status ModelParser::CheckSubscript(const Argument& value, const Argument& index) const {
  if (!is_paddle() || !index.is_int() || !value.is_node() || tuples_.contains(value.node()) ||
      !absl::StartsWith(value.node()->target(), "paddle._C_ops.")) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("it is unknown whether the value of ",
                                                 value.node()->target(),
                                                 " is a tuple; unpack it into a tuple of names"));
}

}  // namespace graphnet
