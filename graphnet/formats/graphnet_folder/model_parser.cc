#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/graphnet_folder/argument_stack.h"
#include "graphnet/formats/graphnet_folder/folder_form.h"
#include "graphnet/formats/graphnet_folder/parsers.h"
#include "graphnet/formats/graphnet_folder/scanner.h"
#include "graphnet/ir/unchecked_builder.h"

namespace graphnet {
namespace {

// What a name means at a point of the program.
struct Binding {
  enum Kind : uint8_t { kUndefined, kValue, kReleased };
  Argument value;  // a node, a literal or a graph
  Kind kind = kUndefined;
  bool names_a_node = false;  // some node of the graph bears the name
};

struct BinaryOperator {
  uint32_t punct;
  int precedence;  // higher binds tighter
  absl::string_view target;
  absl::string_view in_place_target;  // empty: no augmented form
};
constexpr int kComparison = 1;
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

// `a OP= b`
const BinaryOperator* FindAugmented(uint32_t punct) {
  if ((punct & 0xff) != '=') return nullptr;
  const BinaryOperator* op = FindBinary(punct >> 8);
  return op != nullptr && !op->in_place_target.empty() ? op : nullptr;
}

// Python's keywords that the subset has no use for.
bool IsForeignKeyword(absl::string_view name) {
  static constexpr absl::string_view kOurs[] = {"False", "None", "True", "def", "return"};
  return name.size() >= 2 && name.size() <= 8 && IsPythonKeyword(name) &&
         !absl::c_linear_search(kOurs, name);
}

bool IsImportable(absl::string_view module) {
  const absl::string_view root = module.substr(0, module.find('.'));
  return root == "torch" || root == "math" || root == "operator" || root == "builtins" ||
         root == "typing";
}

class ModelParser {
 public:
  ModelParser(const std::string& text, absl::string_view file_name, Module* module)
      : scanner_(text, file_name), module_(module), file_(file_name), text_size_(text.size()) {}

  absl::Status Run() {
    RETURN_IF_ERROR(ParseImports());
    if (!scanner_.IsName("class"))
      return scanner_.Expected("'class GraphModule(torch.nn.Module):'");
    if (scanner_.indent() != 0) return scanner_.Error("unexpected indentation");
    scanner_.Next();
    if (!scanner_.IsName("GraphModule")) return scanner_.Expected("the class name GraphModule");
    scanner_.Next();
    RETURN_IF_ERROR(scanner_.Expect(Punct("("), "after the class name"));
    if (scanner_.token().kind != TokenKind::kName)
      return scanner_.Expected("the base class torch.nn.Module");
    ASSIGN_OR_RETURN(const absl::string_view base, ParseDotted());
    if (base != "torch.nn.Module") return scanner_.Error("the base class must be torch.nn.Module");
    RETURN_IF_ERROR(scanner_.Expect(Punct(")"), "after the base class"));
    RETURN_IF_ERROR(scanner_.Expect(Punct(":"), "after the class header"));
    RETURN_IF_ERROR(scanner_.ExpectNewline("after the class header"));
    if (!scanner_.IsName("def")) return scanner_.Expected("'def forward'");
    if (scanner_.indent() == 0) return scanner_.Error("expected an indented method");
    RETURN_IF_ERROR(ParseFunction(/*is_method=*/true, 0));
    if (scanner_.token().kind != TokenKind::kEnd) {
      return scanner_.Error("expected nothing after the method 'forward'");
    }
    return absl::OkStatus();
  }

 private:
  // --- Header ------------------------------------------------------------------
  absl::Status ParseImports() {
    while (scanner_.token().kind == TokenKind::kName && !scanner_.IsName("class")) {
      if (scanner_.indent() != 0) return scanner_.Error("unexpected indentation");
      if (scanner_.IsName("import")) {
        scanner_.Next();
        ASSIGN_OR_RETURN(const absl::string_view name, ParseImportable());
        imports_[name.substr(0, name.find('.'))] = name.substr(0, name.find('.'));
      } else if (scanner_.IsName("from")) {
        scanner_.Next();
        ASSIGN_OR_RETURN(const absl::string_view from, ParseImportable());
        if (!scanner_.IsName("import")) return scanner_.Expected("'import'");
        do {
          scanner_.Next();
          if (scanner_.token().kind != TokenKind::kName)
            return scanner_.Expected("a name to import");
          imports_[scanner_.token().text] =
              module_->InternString(absl::StrCat(from, ".", scanner_.token().text));
          scanner_.Next();
        } while (scanner_.Is(Punct(",")));
      } else {
        // aten = torch.ops.aten: the names of operator overloads stay short.
        const absl::string_view name = scanner_.token().text;
        const char* const begin = scanner_.token().begin;
        scanner_.Next();
        if (!scanner_.Is(Punct("=")))
          return scanner_.Error("expected an import or the class GraphModule");
        scanner_.Next();
        if (scanner_.token().kind != TokenKind::kName)
          return scanner_.Expected("an operator namespace");
        ASSIGN_OR_RETURN(const absl::string_view path, ParseDotted());
        if (path != absl::StrCat("torch.ops.", name)) {
          return scanner_.ErrorAtOffset(
              begin, absl::StrCat("only an operator namespace may be named here, as in '", name,
                                  " = torch.ops.", name, "'"));
        }
        imports_[name] = name;
      }
      RETURN_IF_ERROR(scanner_.ExpectNewline("after the import"));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<absl::string_view> ParseImportable() {
    if (scanner_.token().kind != TokenKind::kName) return scanner_.Expected("the name of a module");
    const char* const begin = scanner_.token().begin;
    ASSIGN_OR_RETURN(const absl::string_view name, ParseDotted());
    if (!IsImportable(name)) {
      return scanner_.ErrorAtOffset(begin, absl::StrCat("module '", name,
                                                        "' may not be imported; only torch, "
                                                        "math, operator, builtins and typing may"));
    }
    return name;
  }

  // NAME ("." NAME)*, as one view; the current token is the first name.
  absl::StatusOr<absl::string_view> ParseDotted() {
    const char* const begin = scanner_.token().begin;
    const char* end = begin + scanner_.token().text.size();
    bool contiguous = true;
    scanner_.Next();
    while (scanner_.Is(Punct("."))) {
      contiguous &= scanner_.token().begin == end;
      scanner_.Next();
      if (scanner_.token().kind != TokenKind::kName) return scanner_.Expected("a name after '.'");
      contiguous &= scanner_.token().begin == end + 1;
      end = scanner_.token().begin + scanner_.token().text.size();
      scanner_.Next();
    }
    if (!contiguous) return scanner_.ErrorAtOffset(begin, "white space inside a dotted name");
    return absl::string_view(begin, static_cast<size_t>(end - begin));
  }

  // --- Functions ---------------------------------------------------------------
  // A function has its own names: a body is isolated from above, but for the
  // functions it may refer to.
  struct Scope {
    Graph* graph = nullptr;
    absl::flat_hash_map<absl::string_view, Binding> names;
    // A node whose name is still to come: `a += b` and `a[i] = b` are followed
    // by an alias of `a` that names them.
    Node* unnamed = nullptr;
    absl::string_view unnamed_base;  // `a`
  };

  absl::Status ParseFunction(bool is_method, int depth) {
    if (depth > kMaxNesting) return scanner_.Error("functions nest too deep");
    const int indent = scanner_.indent();
    scanner_.Next();  // def
    const Token name = scanner_.token();
    if (name.kind != TokenKind::kName) return scanner_.Expected("the name of the function");
    if (is_method && name.text != "forward") return scanner_.Expected("the method name 'forward'");
    if (!is_method && module_->FindGraph(name.text) != nullptr) {
      return scanner_.Error(absl::StrCat("a second function named '", name.text, "'"));
    }
    scanner_.Next();

    Scope scope;
    scope.graph = module_->AddGraph(name.text);
    if (is_method) scope.names.reserve(text_size_ / 96);
    std::swap(scope, scope_);
    absl::Status status = ParseSignature(is_method);
    if (status.ok()) status = ParseBody(indent, depth);
    std::swap(scope, scope_);
    if (!is_method) functions_[name.text] = scope.graph;
    return status;
  }

  absl::Status ParseSignature(bool is_method) {
    RETURN_IF_ERROR(scanner_.Expect(Punct("("), "after the function name"));
    if (is_method) {
      if (!scanner_.IsName("self")) return scanner_.Expected("the parameter 'self'");
      scanner_.Next();
      if (!scanner_.Is(Punct(")"))) RETURN_IF_ERROR(scanner_.Expect(Punct(","), "after 'self'"));
    }
    while (!scanner_.Is(Punct(")"))) {
      const Token name = scanner_.token();
      if (name.kind != TokenKind::kName) return scanner_.Expected("a parameter");
      const SourceLocation location = {file_, scanner_.line(), scanner_.column()};
      Binding& binding = scope_.names[name.text];
      if (binding.kind != Binding::kUndefined || name.text == "self") {
        return scanner_.Error(absl::StrCat("a second parameter named '", name.text, "'"));
      }
      Node* node =
          UncheckedBuilder(scope_.graph).CreateNode(Op::kPlaceholder, name.text, {}, {}, name.text);
      node->set_location(location);
      binding = {node, Binding::kValue, true};
      scanner_.Next();
      if (scanner_.Accept(Punct(":"))) {
        if (scanner_.token().kind != TokenKind::kName) return scanner_.Expected("a type");
        ASSIGN_OR_RETURN(const absl::string_view annotation, ParseDotted());
        node->set_annotation(annotation);
      }
      if (scanner_.Is(Punct("="))) return scanner_.Error("default values are not supported");
      if (!scanner_.Accept(Punct(","))) break;
    }
    RETURN_IF_ERROR(scanner_.Expect(Punct(")"), "after the parameters"));
    RETURN_IF_ERROR(scanner_.Expect(Punct(":"), "after the parameters"));
    return scanner_.ExpectNewline("after the function header");
  }

  absl::Status ParseBody(int outer_indent, int depth) {
    if (scanner_.token().kind == TokenKind::kEnd || scanner_.indent() <= outer_indent) {
      return scanner_.Error("expected an indented function body");
    }
    const int indent = scanner_.indent();
    while (true) {
      if (scanner_.token().kind == TokenKind::kEnd || scanner_.indent() < indent) {
        return scanner_.Error("the function ends without a return");
      }
      if (scanner_.at_line_start() && scanner_.indent() != indent) {
        return scanner_.Error("unexpected indentation");
      }
      if (scanner_.IsName("return")) {
        RETURN_IF_ERROR(ParseReturn());
        break;
      }
      if (scanner_.IsName("def")) {
        FinishUnnamed();
        RETURN_IF_ERROR(ParseFunction(/*is_method=*/false, depth + 1));
        continue;
      }
      RETURN_IF_ERROR(ParseStatement());
      if (scanner_.Accept(Punct(";"))) {
        if (scanner_.token().kind == TokenKind::kNewline) scanner_.Next();
        continue;
      }
      RETURN_IF_ERROR(scanner_.ExpectNewline("after the statement"));
    }
    if (scanner_.token().kind != TokenKind::kEnd && scanner_.indent() > outer_indent) {
      return scanner_.Error("a statement after the return");
    }
    return absl::OkStatus();
  }

  absl::Status ParseReturn() {
    FinishUnnamed();
    const SourceLocation location = {file_, scanner_.line(), scanner_.column()};
    scanner_.Next();
    StartStatement();
    // A bare return is what is left of a file that was cut.
    ASSIGN_OR_RETURN(const Argument value, ParseExpressionList());
    NameNewNodes({});
    // "output" may be the name of a variable.
    const absl::string_view name = UniqueName("output");
    Node* node = UncheckedBuilder(scope_.graph)
                     .CreateNode(Op::kOutput, "output", absl::MakeConstSpan(&value, 1), {}, name);
    node->set_location(location);
    scanner_.Accept(Punct(";"));
    return scanner_.ExpectNewline("after the return");
  }

  // --- Statements --------------------------------------------------------------
  void StartStatement() {
    stack_.Reset();
    new_nodes_.clear();
  }

  absl::Status ParseStatement() {
    // Formatters put long targets into parentheses.
    const bool parenthesised = scanner_.Accept(Punct("("));
    if (scanner_.token().kind != TokenKind::kName) return scanner_.Expected("a statement");
    const Token first = scanner_.token();
    if (IsForeignKeyword(first.text)) {
      return scanner_.Error(absl::StrCat("'", first.text,
                                         "' is outside the subset of straight-line "
                                         "assignments and calls"));
    }
    StartStatement();
    location_ = {file_, scanner_.line(), scanner_.column()};
    scanner_.Next();
    if (parenthesised) RETURN_IF_ERROR(scanner_.Expect(Punct(")"), "after the name"));
    if (scanner_.Is(Punct("="))) return ParseAssignment(first);
    FinishUnnamed();
    if (scanner_.token().kind == TokenKind::kPunct) {
      if (const BinaryOperator* op = FindAugmented(scanner_.token().punct)) {
        return ParseAugmented(first, *op);
      }
    }
    if (scanner_.Is(Punct(":"))) return scanner_.Error("annotated variables are not supported");
    if (scanner_.Is(Punct(","))) return scanner_.Error("assignments to tuples are not supported");
    if (scanner_.Is(Punct("["))) return ParseSubscriptStatement(first);
    // A call for its effect.
    ASSIGN_OR_RETURN(Argument value, ParseAtomFromName(first));
    ASSIGN_OR_RETURN(value, ParsePostfix(value));
    if (scanner_.Is(Punct("=")))
      return scanner_.Error("only names and subscripts can be assigned to");
    if (!value.is_node() || new_nodes_.empty()) return scanner_.Expected("an assignment or a call");
    NameNewNodes({});
    return absl::OkStatus();
  }

  absl::Status ParseAssignment(const Token& first) {
    // Most statements have one target; further ones are kept aside.
    const absl::string_view target = first.text;
    more_targets_.clear();
    Argument value;
    while (true) {
      scanner_.Next();  // =
      // A name, in parentheses or not, is a further target, an alias or the
      // start of an expression.
      const size_t base = stack_.size();
      const bool parenthesised = scanner_.Accept(Punct("("));
      const Token token = scanner_.token();
      if (token.kind != TokenKind::kName) {
        FinishUnnamed();
        if (parenthesised) {
          ASSIGN_OR_RETURN(value, ParseParenthesisRest(base));
          ASSIGN_OR_RETURN(value, ParseExpressionRest(value));
        } else {
          ASSIGN_OR_RETURN(value, ParseExpressionList());
        }
        break;
      }
      scanner_.Next();
      const bool closed = parenthesised && scanner_.Accept(Punct(")"));
      if (closed == parenthesised) {
        if (scanner_.Is(Punct("="))) {
          more_targets_.push_back(token.text);
          continue;
        }
        if (EndsStatement()) {
          if (more_targets_.empty() && token.text != "None") return Alias(target, token);
          ASSIGN_OR_RETURN(value, ParseAtomFromName(token));
          break;
        }
      }
      FinishUnnamed();
      ASSIGN_OR_RETURN(value, ParseAtomFromName(token));
      if (parenthesised && !closed) {
        ASSIGN_OR_RETURN(value, ParsePostfix(value));
        ASSIGN_OR_RETURN(value, ParseBinaryRest(value, kComparison));
        stack_.Push(value);
        ASSIGN_OR_RETURN(value, ParseParenthesisRest(base));
      }
      ASSIGN_OR_RETURN(value, ParseExpressionRest(value));
      break;
    }
    if (value.is_none()) {
      FinishUnnamed();
      Release(target);
      for (absl::string_view name : more_targets_) Release(name);
      return absl::OkStatus();
    }
    Bind(target, value);
    for (absl::string_view name : more_targets_) Bind(name, value);
    return absl::OkStatus();
  }

  bool EndsStatement() const {
    const Token& token = scanner_.token();
    return token.kind == TokenKind::kNewline || token.kind == TokenKind::kEnd ||
           scanner_.Is(Punct(";"));
  }

  void Release(absl::string_view name) { scope_.names[name].kind = Binding::kReleased; }

  // Binds a name to the value of an expression; the node that yields it takes
  // the name if it is new.
  void Bind(absl::string_view name, const Argument& value) {
    NameNewNodes(value.is_node() && !new_nodes_.empty() && new_nodes_.back() == value.node()
                     ? name
                     : absl::string_view());
    new_nodes_.clear();
    Binding& binding = scope_.names[name];
    binding.value = value.is_aggregate() ? module_->CopyArgument(value) : value;
    binding.kind = Binding::kValue;
  }

  // `target = source`
  absl::Status Alias(absl::string_view target, const Token& source) {
    if (const std::optional<Argument> literal = NamedLiteral(source.text)) {
      FinishUnnamed();
      Bind(target, *literal);
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(const Argument value, Lookup(source));
    if (scope_.unnamed != nullptr) {
      if (source.text == scope_.unnamed_base) {
        // This alias names `a += b` or `a[i] = b`.
        Binding& binding = scope_.names[target];
        if (!binding.names_a_node) {
          binding.names_a_node = true;
          UncheckedBuilder(scope_.graph).SetName(scope_.unnamed, target);
          scope_.unnamed = nullptr;
        }
      }
      FinishUnnamed();
    }
    Binding& binding = scope_.names[target];
    // The first alias of a parameter names its placeholder, as torch.fx prints
    // them (`l_x_ = L_x_`).
    if (value.is_node() && value.node()->is_placeholder() && !binding.names_a_node &&
        value.node()->name() == value.node()->target()) {
      UncheckedBuilder(scope_.graph).SetName(value.node(), target);
      binding.names_a_node = true;
    }
    binding.value = value;
    binding.kind = Binding::kValue;
    return absl::OkStatus();
  }

  absl::Status ParseAugmented(const Token& target, const BinaryOperator& op) {
    ASSIGN_OR_RETURN(const Argument self, Lookup(target));
    scanner_.Next();
    ASSIGN_OR_RETURN(const Argument value, ParseExpressionList());
    const Argument args[] = {self, value};
    Node* node = Create(Op::kCallFunction, op.in_place_target, args, {});
    new_nodes_.pop_back();
    NameNewNodes({});
    scope_.unnamed = node;
    scope_.unnamed_base = target.text;
    Binding& binding = scope_.names[target.text];
    binding.value = node;
    binding.kind = Binding::kValue;
    return absl::OkStatus();
  }

  // `name[...]...`: an item assignment, or a call on an element.
  absl::Status ParseSubscriptStatement(const Token& first) {
    ASSIGN_OR_RETURN(const Argument self, Lookup(first));
    scanner_.Next();  // [
    ASSIGN_OR_RETURN(const Argument index, ParseSubscript());
    if (scanner_.token().kind == TokenKind::kPunct && FindAugmented(scanner_.token().punct)) {
      return scanner_.Error("augmented assignments to elements are not supported");
    }
    if (!scanner_.Is(Punct("="))) {
      const Argument args[] = {self, index};
      Argument value = Create(Op::kCallFunction, "operator.getitem", args, {});
      ASSIGN_OR_RETURN(value, ParsePostfix(value));
      NameNewNodes({});
      return absl::OkStatus();
    }
    scanner_.Next();
    ASSIGN_OR_RETURN(const Argument value, ParseExpressionList());
    if (scanner_.Is(Punct("=")))
      return scanner_.Error("chained assignments to elements are not supported");
    const Argument args[] = {self, index, value};
    Node* node = Create(Op::kCallFunction, "operator.setitem", args, {});
    new_nodes_.pop_back();
    NameNewNodes({});
    scope_.unnamed = node;
    scope_.unnamed_base = first.text;
    return absl::OkStatus();
  }

  // --- Names of nodes ----------------------------------------------------------
  // Names the nodes made by this statement: the last takes `name` if given, the
  // others (nested calls) names after their targets.
  void NameNewNodes(absl::string_view name) {
    for (size_t i = 0; i < new_nodes_.size(); ++i) {
      const bool takes_name = i + 1 == new_nodes_.size() && !name.empty();
      NameNode(new_nodes_[i], takes_name ? name : DefaultName(*new_nodes_[i]));
    }
    new_nodes_.clear();
  }

  void NameNode(Node* node, absl::string_view name) {
    Binding& binding = scope_.names[name];
    if (!binding.names_a_node) {
      binding.names_a_node = true;
      UncheckedBuilder(scope_.graph).SetName(node, name);
    } else {
      UncheckedBuilder(scope_.graph).SetName(node, UniqueName(name));
    }
  }

  absl::string_view DefaultName(const Node& node) const {
    const absl::string_view target = node.target();
    const size_t dot = target.rfind('.');
    return dot == absl::string_view::npos ? target : target.substr(dot + 1);
  }

  // A name that no node has yet, noted as taken.
  absl::string_view UniqueName(absl::string_view base) {
    std::string name(base);
    for (int& i = suffixes_[base];; name = absl::StrCat(base, "_", i)) {
      const auto it = scope_.names.find(name);
      if (it == scope_.names.end() || !it->second.names_a_node) break;
      ++i;
    }
    const absl::string_view kept = module_->arena().Copy(absl::string_view(name));
    scope_.names[kept].names_a_node = true;
    return kept;
  }

  // The node of an augmented or item assignment that no alias names.
  void FinishUnnamed() {
    if (scope_.unnamed == nullptr) return;
    NameNode(scope_.unnamed, DefaultName(*scope_.unnamed));
    scope_.unnamed = nullptr;
  }

  Node* Create(Op op, absl::string_view target, absl::Span<const Argument> args,
               absl::Span<const KwArg> kwargs) {
    Node* node = UncheckedBuilder(scope_.graph).CreateNode(op, target, args, kwargs, {});
    node->set_location(location_);
    new_nodes_.push_back(node);
    return node;
  }

  // --- Expressions -------------------------------------------------------------
  absl::StatusOr<Argument> Lookup(const Token& token) {
    const auto it = scope_.names.find(token.text);
    if (it != scope_.names.end() && it->second.kind == Binding::kValue) return it->second.value;
    // Functions that are complete can be referred to from any later one.
    if (it == scope_.names.end()) {
      const auto function = functions_.find(token.text);
      if (function != functions_.end()) return Argument(function->second);
    }
    if (token.text == "self") {
      return scanner_.ErrorAtOffset(token.begin, "attributes of self are outside the subset");
    }
    if (it != scope_.names.end() && it->second.kind == Binding::kReleased) {
      return scanner_.ErrorAtOffset(
          token.begin,
          absl::StrCat("'", token.text, "' is used after it was released (set to None)"));
    }
    return scanner_.ErrorAtOffset(token.begin, absl::StrCat("'", token.text, "' is not defined"));
  }

  static std::optional<Argument> NamedLiteral(absl::string_view name) {
    switch (name.size()) {
      case 3:
        if (name == "inf") return Argument(std::numeric_limits<double>::infinity());
        if (name == "nan") return Argument(std::numeric_limits<double>::quiet_NaN());
        break;
      case 4:
        if (name == "None") return Argument();
        if (name == "True") return Argument(true);
        break;
      case 5:
        if (name == "False") return Argument(false);
        break;
      case 8:
        if (name == "Ellipsis") return Argument::Ellipsis();
        break;
      default: break;
    }
    return std::nullopt;
  }

  // What follows the first atom of an expression list.
  absl::StatusOr<Argument> ParseExpressionRest(Argument value) {
    ASSIGN_OR_RETURN(value, ParsePostfix(value));
    ASSIGN_OR_RETURN(value, ParseBinaryRest(value, kComparison));
    if (!scanner_.Is(Punct(","))) return value;
    return ParseTupleRest(value);
  }

  // expression ("," expression)*: a tuple without brackets.
  absl::StatusOr<Argument> ParseExpressionList() {
    ASSIGN_OR_RETURN(const Argument first, ParseExpression());
    if (!scanner_.Is(Punct(","))) return first;
    return ParseTupleRest(first);
  }

  absl::StatusOr<Argument> ParseTupleRest(const Argument& first) {
    const size_t base = stack_.size();
    stack_.Push(first);
    while (scanner_.Accept(Punct(","))) {
      if (EndsStatement()) break;
      ASSIGN_OR_RETURN(const Argument element, ParseExpression());
      stack_.Push(element);
    }
    return Argument::Tuple(stack_.Close(base));
  }

  absl::StatusOr<Argument> ParseExpression() {
    // Brackets are counted by the scanner; this bounds chains of ** and of
    // unary operators.
    ASSIGN_OR_RETURN(const Argument operand, ParseUnary());
    return ParseBinaryRest(operand, kComparison);
  }

  // The rest of a chain of binary operators that bind at least as tight as
  // `lowest`.
  absl::StatusOr<Argument> ParseBinaryRest(Argument left, int lowest) {
    while (scanner_.token().kind == TokenKind::kPunct) {
      // The usual ends of an expression.
      const uint32_t punct = scanner_.token().punct;
      if (punct == ',' || punct == ')' || punct == ';' || punct == ']') return left;
      const BinaryOperator* op = FindBinary(punct);
      if (op == nullptr || op->precedence < lowest) return left;
      scanner_.Next();
      ASSIGN_OR_RETURN(Argument right, ParseUnary());
      // What binds tighter belongs to the right operand; ** groups to the right.
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

  absl::StatusOr<Argument> MakeBinary(const BinaryOperator& op, const Argument& left,
                                      const Argument& right) {
    // 1 + 2j is how Python writes a complex number.
    if (right.kind() == Argument::Kind::kComplex && (left.is_int() || left.is_float()) &&
        right.complex().real() == 0 && (op.punct == '+' || op.punct == '-')) {
      const double real = left.is_int() ? static_cast<double>(left.integer()) : left.real();
      const double imag = right.complex().imag();
      return module_->Complex({real, op.punct == '+' ? imag : -imag});
    }
    const Argument args[] = {left, right};
    return Argument(Create(Op::kCallFunction, op.target, args, {}));
  }

  absl::StatusOr<Argument> ParseUnary() {
    if (scanner_.token().kind != TokenKind::kPunct) return ParsePrimary();
    const uint32_t punct = scanner_.token().punct;
    if (punct != '-' && punct != '~' && punct != '+') return ParsePrimary();
    if (++depth_ > kMaxNesting) return scanner_.Error("operators nest too deep");
    const char* const begin = scanner_.token().begin;
    scanner_.Next();
    const bool is_literal = scanner_.token().kind == TokenKind::kInt;
    if (is_literal && punct == '-' && scanner_.token().text == "9223372036854775808") {
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

  absl::StatusOr<Argument> ParsePrimary() {
    ASSIGN_OR_RETURN(const Argument atom, ParseAtom());
    return ParsePostfix(atom);
  }

  absl::StatusOr<Argument> ParseAtom() {
    const Token token = scanner_.token();
    switch (token.kind) {
      case TokenKind::kName: scanner_.Next(); return ParseAtomFromName(token);
      case TokenKind::kInt:
        if (token.text == "9223372036854775808") {
          return scanner_.Error("the integer does not fit in 64 bits");
        }
        scanner_.Next();
        return Argument(token.int_value);
      case TokenKind::kFloat: scanner_.Next(); return Argument(token.float_value);
      case TokenKind::kImaginary:
        scanner_.Next();
        return module_->Complex({0.0, token.float_value});
      case TokenKind::kString:
        scanner_.Next();
        if (scanner_.token().kind == TokenKind::kString) {
          return scanner_.Error("adjacent strings are not joined");
        }
        return Argument(token.text);
      case TokenKind::kPunct:
        switch (token.punct) {
          case '(': return ParseParenthesis();
          case '[': return ParseList();
          case '{': return ParseDict();
          case Punct("..."): scanner_.Next(); return Argument::Ellipsis();
          default: break;
        }
        break;
      default: break;
    }
    return scanner_.Expected("an expression");
  }

  // `token` is a name that has been taken already.
  absl::StatusOr<Argument> ParseAtomFromName(const Token& token) {
    const auto it = scope_.names.find(token.text);
    if (it != scope_.names.end() && it->second.kind == Binding::kValue) return it->second.value;
    if (const std::optional<Argument> literal = NamedLiteral(token.text)) return *literal;
    if (scanner_.Is(Punct("(")) || scanner_.Is(Punct("."))) {
      if (it == scope_.names.end() || it->second.kind == Binding::kUndefined) {
        return ParseGlobal(token);
      }
    }
    if (IsForeignKeyword(token.text)) {
      return scanner_.ErrorAtOffset(token.begin,
                                    absl::StrCat("'", token.text, "' is outside the subset"));
    }
    return Lookup(token);
  }

  // A function or constant: `torch.conv2d(…)`, `torch.float32`, `slice(…)`.
  absl::StatusOr<Argument> ParseGlobal(const Token& first) {
    // The path as one view.
    const char* end = first.begin + first.text.size();
    while (scanner_.Is(Punct("."))) {
      if (scanner_.token().begin != end) return scanner_.Error("white space inside a dotted name");
      scanner_.Next();
      if (scanner_.token().kind != TokenKind::kName) return scanner_.Expected("a name after '.'");
      if (scanner_.token().begin != end + 1)
        return scanner_.Error("white space inside a dotted name");
      end = scanner_.token().begin + scanner_.token().text.size();
      scanner_.Next();
    }
    const absl::string_view written(first.begin, static_cast<size_t>(end - first.begin));
    const bool is_call = scanner_.Is(Punct("("));
    const bool is_plain = written.size() == first.text.size();

    if (is_plain && is_call) {
      if (written == "slice") return ParseSliceCall(first);
      if (written == "device") return ParseDeviceCall(first);
      if (written == "complex" || written == "float") return ParseNumberCall(first);
    }
    const auto import = imports_.find(first.text);
    if (import == imports_.end()) {
      if (first.text == "self") return Lookup(first).status();
      if (is_plain && is_call && IsBuiltinFunction(written)) {
        return ParseCall(Op::kCallFunction,
                         module_->InternString(absl::StrCat("builtins.", written)));
      }
      return scanner_.ErrorAtOffset(first.begin, absl::StrCat("'", first.text, "' is not defined"));
    }
    absl::string_view path = written;
    if (import->second != first.text) {  // from torch import inf
      path = module_->InternString(absl::StrCat(import->second, written.substr(first.text.size())));
    }
    if (is_call) {
      if (path == "torch.device") return ParseDeviceCall(first);
      if (path == "torch.vmap") return ParseVmapCall(first);
      return ParseCall(Op::kCallFunction, path);
    }
    return ParseConstant(first, path);
  }

  absl::StatusOr<Argument> ParseConstant(const Token& first, absl::string_view path) {
    absl::string_view name = path;
    const bool is_torch = absl::ConsumePrefix(&name, "torch.");
    if (is_torch) {
      if (const auto dtype = ParseDType(name)) return Argument(*dtype);
      if (const auto layout = ParseLayout(name)) return Argument(*layout);
      if (const auto format = ParseMemoryFormat(name)) return Argument(*format);
    }
    if (is_torch || absl::ConsumePrefix(&name, "math.")) {
      if (name == "inf") return Argument(std::numeric_limits<double>::infinity());
      if (name == "nan") return Argument(std::numeric_limits<double>::quiet_NaN());
      if (name == "pi") return Argument(std::numbers::pi);
      if (name == "e") return Argument(std::numbers::e);
    }
    return scanner_.ErrorAtOffset(first.begin,
                                  absl::StrCat("'", path, "' is not a constant known here"));
  }

  // device(type='cuda', index=0), device('cuda:0')
  absl::StatusOr<Argument> ParseDeviceCall(const Token& first) {
    CallArguments call(this);
    RETURN_IF_ERROR(call.Parse());
    Argument type;
    Argument index;
    if (!call.args().empty()) type = call.args()[0];
    if (call.args().size() > 1) index = call.args()[1];
    bool known = call.args().size() <= 2;
    for (const KwArg& kwarg : call.kwargs()) {
      if (kwarg.name == "type" && type.is_none()) {
        type = kwarg.value;
      } else if (kwarg.name == "index" && index.is_none()) {
        index = kwarg.value;
      } else {
        known = false;
      }
    }
    std::optional<Device> device;
    if (known && type.is_string()) device = ParseDevice(type.string());
    if (device && index.is_int() && device->index < 0 && index.integer() >= 0 &&
        index.integer() < 128) {
      device->index = static_cast<int16_t>(index.integer());
    } else if (!index.is_none()) {
      device.reset();
    }
    if (!device) {
      return scanner_.ErrorAtOffset(first.begin,
                                    "expected a device such as device(type='cuda', index=0)");
    }
    return Argument(*device);
  }

  // torch.vmap(body, in_dims=(0, None))(x, y): the function that it makes is called at
  // once, and is no value of its own.
  absl::StatusOr<Argument> ParseVmapCall(const Token& first) {
    static constexpr absl::string_view kByPosition[] = {"in_dims", "out_dims", "randomness"};
    Argument body;
    std::vector<KwArg> kwargs;
    {
      CallArguments call(this);
      RETURN_IF_ERROR(call.Parse());
      if (call.args().empty() || !call.args()[0].is_graph() || call.args().size() > 4) {
        return scanner_.ErrorAtOffset(first.begin, "torch.vmap takes a function defined before");
      }
      body = call.args()[0];
      for (size_t i = 1; i < call.args().size(); ++i) {
        kwargs.push_back({kByPosition[i - 1], call.args()[i]});
      }
      for (const KwArg& kwarg : call.kwargs()) {
        for (const KwArg& other : kwargs) {
          if (other.name != kwarg.name) continue;
          return scanner_.ErrorAtOffset(first.begin,
                                        absl::StrCat("argument '", kwarg.name, "' is given twice"));
        }
        kwargs.push_back(kwarg);
      }
    }
    if (!scanner_.Is(Punct("("))) return scanner_.Expected("the operands of torch.vmap");
    CallArguments call(this);
    RETURN_IF_ERROR(call.Parse());
    if (!call.kwargs().empty()) {
      return scanner_.ErrorAtOffset(first.begin, "torch.vmap's operands have no keywords");
    }
    const Argument args[] = {body, Argument::Tuple(call.args())};
    return Argument(Create(Op::kCallFunction, "torch.vmap", args, kwargs));
  }

  // slice(stop), slice(start, stop), slice(start, stop, step)
  absl::StatusOr<Argument> ParseSliceCall(const Token& first) {
    CallArguments call(this);
    RETURN_IF_ERROR(call.Parse());
    const absl::Span<const Argument> args = call.args();
    if (args.empty() || args.size() > 3 || !call.kwargs().empty()) {
      return scanner_.ErrorAtOffset(first.begin, "slice takes one to three arguments");
    }
    Argument parts[3];
    if (args.size() == 1) {
      parts[1] = args[0];
    } else {
      for (size_t i = 0; i < args.size(); ++i) parts[i] = args[i];
    }
    call.Drop();
    const size_t base = stack_.size();
    for (const Argument& part : parts) stack_.Push(part);
    return Argument::Slice(stack_.Close(base));
  }

  // complex(1.0, 2.0) and float('nan') are how literals are written; with other
  // arguments they are calls.
  absl::StatusOr<Argument> ParseNumberCall(const Token& first) {
    CallArguments call(this);
    RETURN_IF_ERROR(call.Parse());
    const absl::Span<const Argument> args = call.args();
    if (first.text == "complex" && args.size() == 2 && args[0].is_float() && args[1].is_float() &&
        call.kwargs().empty()) {
      return module_->Complex({args[0].real(), args[1].real()});
    }
    if (first.text == "float" && args.size() == 1 && args[0].is_string() && call.kwargs().empty()) {
      const absl::string_view text = args[0].string();
      if (text == "nan") return Argument(std::numeric_limits<double>::quiet_NaN());
      if (text == "inf") return Argument(std::numeric_limits<double>::infinity());
      if (text == "-inf") return Argument(-std::numeric_limits<double>::infinity());
      return scanner_.ErrorAtOffset(first.begin,
                                    "expected float('nan'), float('inf') or float('-inf')");
    }
    return Argument(Create(Op::kCallFunction,
                           module_->InternString(absl::StrCat("builtins.", first.text)), args,
                           call.kwargs()));
  }

  // The arguments of one call; they live on the stack until this dies.
  class CallArguments {
   public:
    explicit CallArguments(ModelParser* parser)
        : parser_(parser), base_(parser->stack_.size()), kwbase_(parser->kwargs_.size()) {}
    ~CallArguments() { Drop(); }
    void Drop() {
      if (dropped_) return;
      dropped_ = true;
      parser_->stack_.Pop(base_);
      parser_->kwargs_.resize(kwbase_);
    }

    void Push(const Argument& arg) { parser_->stack_.Push(arg); }

    absl::Status Parse() {
      Scanner& scanner = parser_->scanner_;
      scanner.Next();  // (
      while (!scanner.Is(Punct(")"))) {
        if (scanner.Is(Punct("*")) || scanner.Is(Punct("**"))) {
          return scanner.Error("starred arguments are not supported");
        }
        const Token token = scanner.token();
        if (token.kind == TokenKind::kName) {
          scanner.Next();
          if (scanner.Is(Punct("="))) {
            for (size_t i = kwbase_; i < parser_->kwargs_.size(); ++i) {
              if (parser_->kwargs_[i].name == token.text) {
                return scanner.Error(absl::StrCat("keyword '", token.text, "' is given twice"));
              }
            }
            if (parser_->kwargs_.size() - kwbase_ >= kMaxKeywords) {
              return scanner.Error("too many keyword arguments");
            }
            scanner.Next();
            ASSIGN_OR_RETURN(const Argument value, parser_->ParseExpression());
            parser_->kwargs_.push_back({token.text, value});
            if (!scanner.Accept(Punct(","))) break;
            continue;
          }
          ASSIGN_OR_RETURN(Argument value, parser_->ParseAtomFromName(token));
          ASSIGN_OR_RETURN(value, parser_->ParsePostfix(value));
          ASSIGN_OR_RETURN(value, parser_->ParseBinaryRest(value, kComparison));
          RETURN_IF_ERROR(PushPositional(value));
        } else {
          ASSIGN_OR_RETURN(const Argument value, parser_->ParseExpression());
          RETURN_IF_ERROR(PushPositional(value));
        }
        if (!scanner.Accept(Punct(","))) break;
      }
      return scanner.Expect(Punct(")"), "after the arguments");
    }

    absl::Span<const Argument> args() const { return parser_->stack_.From(base_); }
    absl::Span<const KwArg> kwargs() const {
      return absl::MakeConstSpan(parser_->kwargs_).subspan(kwbase_);
    }

   private:
    static constexpr size_t kMaxKeywords = 255;

    absl::Status PushPositional(const Argument& value) {
      if (parser_->kwargs_.size() > kwbase_) {
        return parser_->scanner_.Error("a positional argument after a keyword argument");
      }
      Push(value);
      return absl::OkStatus();
    }

    ModelParser* parser_;
    size_t base_;
    size_t kwbase_;
    bool dropped_ = false;
  };

  absl::StatusOr<Argument> ParseCall(Op op, absl::string_view target,
                                     std::optional<Argument> self = std::nullopt) {
    CallArguments call(this);
    if (self) call.Push(*self);
    RETURN_IF_ERROR(call.Parse());
    return Argument(Create(op, target, call.args(), call.kwargs()));
  }

  // What follows an atom: attribute reads, method calls, subscripts.
  absl::StatusOr<Argument> ParsePostfix(Argument value) {
    while (scanner_.token().kind == TokenKind::kPunct) {
      switch (scanner_.token().punct) {
        case '.': {
          scanner_.Next();
          const Token name = scanner_.token();
          if (name.kind != TokenKind::kName) return scanner_.Expected("a name after '.'");
          scanner_.Next();
          if (scanner_.Is(Punct("("))) {
            ASSIGN_OR_RETURN(value, ParseCall(Op::kCallMethod, name.text, value));
          } else {
            const Argument args[] = {value, name.text};
            value = Create(Op::kCallFunction, "builtins.getattr", args, {});
          }
          break;
        }
        case '[': {
          scanner_.Next();
          ASSIGN_OR_RETURN(const Argument index, ParseSubscript());
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

  // The index after "[", up to and with "]".
  absl::StatusOr<Argument> ParseSubscript() {
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

  // An expression, or a slice written with colons.
  absl::StatusOr<Argument> ParseSubscriptElement() {
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

  // "(" … ")": a tuple, or an expression in parentheses.
  absl::StatusOr<Argument> ParseParenthesis() {
    scanner_.Next();
    return ParseParenthesisRest(stack_.size());
  }

  // After "("; an element that was read already lies on the stack from `base`.
  absl::StatusOr<Argument> ParseParenthesisRest(size_t base) {
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

  absl::StatusOr<Argument> ParseList() {
    scanner_.Next();
    const size_t base = stack_.size();
    while (!scanner_.Is(Punct("]"))) {
      ASSIGN_OR_RETURN(const Argument element, ParseExpression());
      stack_.Push(element);
      if (!scanner_.Accept(Punct(","))) break;
    }
    RETURN_IF_ERROR(scanner_.Expect(Punct("]"), "after the list"));
    return Argument::List(stack_.Close(base));
  }

  absl::StatusOr<Argument> ParseDict() {
    scanner_.Next();
    const size_t base = stack_.size();
    while (!scanner_.Is(Punct("}"))) {
      ASSIGN_OR_RETURN(const Argument key, ParseExpression());
      bool has_node = false;
      ForEachArgument(key, [&](const Argument& a) { has_node |= a.is_node(); });
      if (has_node) return scanner_.Error("the key of a dict must be a literal");
      RETURN_IF_ERROR(scanner_.Expect(Punct(":"), "after the key"));
      ASSIGN_OR_RETURN(const Argument value, ParseExpression());
      stack_.Push(key);
      stack_.Push(value);
      if (!scanner_.Accept(Punct(","))) break;
    }
    RETURN_IF_ERROR(scanner_.Expect(Punct("}"), "after the dict"));
    return Argument::Dict(stack_.Close(base));
  }

  Scanner scanner_;
  Module* module_;
  absl::string_view file_;
  size_t text_size_;
  Scope scope_;
  // Imported names and the paths they stand for.
  absl::flat_hash_map<absl::string_view, absl::string_view> imports_;
  absl::flat_hash_map<absl::string_view, int> suffixes_;
  absl::flat_hash_map<absl::string_view, Graph*> functions_;

  // Of the statement that is being parsed:
  SourceLocation location_;
  ArgumentStack stack_;
  std::vector<KwArg> kwargs_;
  std::vector<Node*> new_nodes_;
  std::vector<absl::string_view> more_targets_;
  int depth_ = 0;  // of operators, on the parser's own stack
};

}  // namespace

absl::Status ParseModelPy(const std::string& text, absl::string_view file_name, Module* module) {
  return ModelParser(text, file_name, module).Run();
}

}  // namespace graphnet
