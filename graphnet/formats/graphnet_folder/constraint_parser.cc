#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/name_hash.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/graphnet_folder/parsers.h"
#include "graphnet/formats/graphnet_folder/plain_cursor.h"
#include "graphnet/formats/graphnet_folder/scanner.h"
#include "graphnet/ir/verifier.h"

namespace graphnet {
namespace {

using Kind = SymExpr::Kind;

class ConstraintParser {
 public:
  ConstraintParser(const std::string& text, absl::string_view file_name, Module* module,
                   bool* has_constraints, std::vector<std::string>* order)
      : scanner_(text, file_name),
        module_(module),
        has_constraints_(has_constraints),
        order_(order) {}

  absl::Status Run() {
    *has_constraints_ = scanner_.token().kind != TokenKind::kEnd;
    while (scanner_.token().kind != TokenKind::kEnd) {
      if (scanner_.token().kind != TokenKind::kName) return scanner_.Expected("an assignment");
      if (scanner_.indent() != 0) return scanner_.Error("unexpected indentation");
      if (scanner_.IsName("from")) {
        RETURN_IF_ERROR(ParseImport());
      } else {
        RETURN_IF_ERROR(ParseAssignment());
      }
      RETURN_IF_ERROR(scanner_.ExpectNewline("after the statement"));
    }
    return absl::OkStatus();
  }

 private:
  using NodesByName = absl::flat_hash_map<absl::string_view, Node*, NameHash>;

  // from sympy import Symbol, Expr, Rel, Eq
  absl::Status ParseImport() {
    scanner_.Next();
    if (!scanner_.AcceptName("sympy")) return scanner_.Error("only sympy may be imported here");
    RETURN_IF_ERROR(scanner_.ExpectName("import", "'import'"));
    const auto take_name = [&] { return scanner_.TakeName("a name to import").status(); };
    if (scanner_.Accept(Punct("(")))
      return scanner_.TakeElements(Punct(")"), "after the names", take_name);
    do {
      RETURN_IF_ERROR(take_name());
    } while (scanner_.Accept(Punct(",")));
    return absl::OkStatus();
  }

  absl::Status ParseAssignment() {
    const Token target = scanner_.token();
    scanner_.Next();
    RETURN_IF_ERROR(scanner_.Expect(Punct("="), "after the name"));
    return scanner_.TakeParenthesised("after the value", [&] { return ParseValue(target); });
  }

  absl::Status ParseValue(const Token& target) {
    if (target.text == "dynamic_dim_constraint_symbols") return ParseSymbols();
    if (target.text == "dynamic_dim_constraint_symbol2example_value") return ParseExamples();
    if (target.text == "dynamic_dim_constraint_relations") return ParseRelations();
    if (target.text == "dynamic_dim_constraint_input_shapes") return ParseShapes();
    if (scanner_.IsName("Symbol")) return ParseSymbolDefinition(target);
    return scanner_.ErrorAtOffset(target.begin,
                                  absl::StrCat("unknown variable '", target.text, "'"));
  }

  // S0 = Symbol("S0")
  absl::Status ParseSymbolDefinition(const Token& target) {
    scanner_.Next();
    RETURN_IF_ERROR(scanner_.Expect(Punct("("), "after Symbol"));
    const char* const name_begin = scanner_.token().begin;
    ASSIGN_OR_RETURN(const absl::string_view name, scanner_.TakeText("the name of the symbol"));
    if (name != target.text) {
      return scanner_.ErrorAtOffset(name_begin,
                                    absl::StrCat("the symbol must be named '", target.text, "'"));
    }
    if (!defined_.insert(target.text).second) {
      return scanner_.ErrorAtOffset(target.begin,
                                    absl::StrCat("a second symbol '", target.text, "'"));
    }
    scanner_.Accept(Punct(","));
    return scanner_.Expect(Punct(")"), "after the name of the symbol");
  }

  absl::StatusOr<absl::string_view> ParseDefinedSymbol() {
    const char* const begin = scanner_.token().begin;
    ASSIGN_OR_RETURN(const absl::string_view name, scanner_.TakeName("a symbol"));
    if (defined_.contains(name)) return name;
    return scanner_.ErrorAtOffset(begin, absl::StrCat("'", name, "' is not defined"));
  }

  absl::StatusOr<absl::string_view> ParseListedSymbol() {
    const char* const begin = scanner_.token().begin;
    ASSIGN_OR_RETURN(const absl::string_view name, ParseDefinedSymbol());
    if (module_->FindSymbol(name) != nullptr) return name;
    return scanner_.ErrorAtOffset(begin, absl::StrCat("symbol '", name, "' is not listed"));
  }

  absl::Status ParseSymbols() {
    RETURN_IF_ERROR(scanner_.Expect(Punct("["), "before the symbols"));
    return scanner_.TakeElements(Punct("]"), "after the symbols", [&]() -> absl::Status {
      const char* const begin = scanner_.token().begin;
      ASSIGN_OR_RETURN(const absl::string_view name, ParseDefinedSymbol());
      if (module_->FindSymbol(name) != nullptr) {
        return scanner_.ErrorAtOffset(begin, absl::StrCat("symbol '", name, "' is listed twice"));
      }
      if (module_->symbols().size() >= kMaxSymbols) return scanner_.Error("too many symbols");
      module_->AddSymbol(name, std::nullopt);
      return absl::OkStatus();
    });
  }

  absl::Status ParseExamples() {
    RETURN_IF_ERROR(scanner_.Expect(Punct("{"), "before the example values"));
    return scanner_.TakeElements(Punct("}"), "after the example values", [&]() -> absl::Status {
      const char* const begin = scanner_.token().begin;
      ASSIGN_OR_RETURN(const absl::string_view name, ParseListedSymbol());
      if (module_->FindSymbol(name)->example) {
        return scanner_.ErrorAtOffset(begin,
                                      absl::StrCat("a second example value of '", name, "'"));
      }
      RETURN_IF_ERROR(scanner_.Expect(Punct(":"), "after the symbol"));
      // A number that is no size may be zero or less.
      const bool is_negative = scanner_.Accept(Punct("-"));
      if (scanner_.token().int_value < 0) return scanner_.Expected("an integer");
      ASSIGN_OR_RETURN(const int64_t example, scanner_.TakeInt("an integer", is_negative));
      module_->AddSymbol(name, example);
      return absl::OkStatus();
    });
  }

  absl::Status ParseRelations() {
    RETURN_IF_ERROR(scanner_.Expect(Punct("["), "before the relations"));
    return scanner_.TakeElements(Punct("]"), "after the relations", [&]() -> absl::Status {
      const char* const begin = scanner_.token().begin;
      ASSIGN_OR_RETURN(const SymExpr* relation, ParseRelation());
      const std::optional<int64_t> holds = EvaluateWithExamples(*module_, *relation);
      if (holds == 0) return scanner_.ErrorAtOffset(begin, "the example values break the relation");
      module_->AddRelation(module_->CopySym(relation));
      return absl::OkStatus();
    });
  }

  // a < b, Eq(a, b), Ne(a, b), Lt …
  absl::StatusOr<const SymExpr*> ParseRelation() {
    static constexpr std::pair<absl::string_view, Kind> kFunctions[] = {
        {"Eq", Kind::kEq}, {"Ne", Kind::kNe}, {"Lt", Kind::kLt},
        {"Le", Kind::kLe}, {"Gt", Kind::kGt}, {"Ge", Kind::kGe}};
    for (const auto& [name, kind] : kFunctions) {
      if (!scanner_.AcceptName(name)) continue;
      return ParseOperands(kind, 0,
                           {"after the relation", "between the sides", "after the relation"});
    }
    ASSIGN_OR_RETURN(const SymExpr* lhs, ParseSum(0));
    static constexpr std::pair<uint32_t, Kind> kOperators[] = {
        {Punct("=="), Kind::kEq}, {Punct("!="), Kind::kNe}, {Punct("<"), Kind::kLt},
        {Punct("<="), Kind::kLe}, {Punct(">"), Kind::kGt},  {Punct(">="), Kind::kGe}};
    for (const auto& [punct, kind] : kOperators) {
      if (!scanner_.Accept(punct)) continue;
      ASSIGN_OR_RETURN(const SymExpr* rhs, ParseSum(0));
      return scratch_.SymBinary(kind, lhs, rhs);
    }
    return scanner_.Expected("a comparison");
  }

  // Parses (a, b). `where` describes its three punctuation marks, for messages.
  absl::StatusOr<const SymExpr*> ParseOperands(Kind kind, int depth,
                                               const std::array<absl::string_view, 3>& where) {
    RETURN_IF_ERROR(scanner_.Expect(Punct("("), where[0]));
    ASSIGN_OR_RETURN(const SymExpr* lhs, ParseSum(depth));
    RETURN_IF_ERROR(scanner_.Expect(Punct(","), where[1]));
    ASSIGN_OR_RETURN(const SymExpr* rhs, ParseSum(depth));
    scanner_.Accept(Punct(","));
    RETURN_IF_ERROR(scanner_.Expect(Punct(")"), where[2]));
    return scratch_.SymBinary(kind, lhs, rhs);
  }

  // A chain of operators makes the tree deeper on the left, so its length counts as nesting too.
  absl::StatusOr<const SymExpr*> ParseSum(int depth) {
    ASSIGN_OR_RETURN(const SymExpr* left, ParseProduct(depth));
    while (scanner_.Is(Punct("+")) || scanner_.Is(Punct("-"))) {
      if (++depth > kMaxDepth) return scanner_.Error("the expression nests too deep");
      const Kind kind = scanner_.Is(Punct("+")) ? Kind::kAdd : Kind::kSub;
      scanner_.Next();
      ASSIGN_OR_RETURN(const SymExpr* right, ParseProduct(depth));
      left = scratch_.SymBinary(kind, left, right);
    }
    return left;
  }

  absl::StatusOr<const SymExpr*> ParseProduct(int depth) {
    ASSIGN_OR_RETURN(const SymExpr* left, ParseUnary(depth));
    while (true) {
      const std::optional<Kind> kind = scanner_.Is(Punct("*"))    ? std::optional(Kind::kMul)
                                       : scanner_.Is(Punct("//")) ? std::optional(Kind::kFloorDiv)
                                       : scanner_.Is(Punct("%"))  ? std::optional(Kind::kMod)
                                                                  : std::nullopt;
      if (!kind) return left;
      if (++depth > kMaxDepth) return scanner_.Error("the expression nests too deep");
      scanner_.Next();
      ASSIGN_OR_RETURN(const SymExpr* right, ParseUnary(depth));
      left = scratch_.SymBinary(*kind, left, right);
    }
  }

  absl::StatusOr<const SymExpr*> ParseUnary(int depth) {
    if (depth > kMaxDepth) return scanner_.Error("the expression nests too deep");
    if (scanner_.Accept(Punct("-"))) {
      if (scanner_.token().kind == TokenKind::kInt && scanner_.token().int_value < 0) {
        scanner_.Next();
        return scratch_.SymInt(std::numeric_limits<int64_t>::min());
      }
      ASSIGN_OR_RETURN(const SymExpr* operand, ParseUnary(depth + 1));
      if (operand->kind == Kind::kInt && operand->value == std::numeric_limits<int64_t>::min())
        return scanner_.Error("the integer does not fit in 64 bits");
      return operand->kind == Kind::kInt ? scratch_.SymInt(-operand->value)
                                         : scratch_.SymNeg(operand);
    }
    ASSIGN_OR_RETURN(const SymExpr* base, ParseAtom(depth));
    if (!scanner_.Accept(Punct("**"))) return base;
    ASSIGN_OR_RETURN(const SymExpr* exponent, ParseUnary(depth + 1));
    return scratch_.SymBinary(Kind::kPow, base, exponent);
  }

  absl::StatusOr<const SymExpr*> ParseAtom(int depth) {
    if (scanner_.token().kind == TokenKind::kInt) {
      ASSIGN_OR_RETURN(const int64_t value, scanner_.TakeInt("an integer"));
      return scratch_.SymInt(value);
    }
    if (scanner_.Accept(Punct("("))) {
      ASSIGN_OR_RETURN(const SymExpr* inner, ParseSum(depth + 1));
      RETURN_IF_ERROR(scanner_.Expect(Punct(")"), "after the expression"));
      return inner;
    }
    static constexpr std::pair<absl::string_view, Kind> kFunctions[] = {
        {"floor_div", Kind::kFloorDiv},
        {"Mod", Kind::kMod},
        {"Min", Kind::kMin},
        {"Max", Kind::kMax}};
    for (const auto& [name, kind] : kFunctions) {
      if (!scanner_.AcceptName(name)) continue;
      return ParseOperands(kind, depth + 1,
                           {"after the function", "between the arguments", "after the arguments"});
    }
    ASSIGN_OR_RETURN(const absl::string_view name, ParseListedSymbol());
    return scratch_.SymSymbol(name);
  }

  // Takes an entry whose sizes are numbers, if it has the usual spelling in one line or in four,
  // and returns its argument. Otherwise takes nothing and returns null.
  Node* TakePlainShape(NodesByName* unlisted) {
    if (!scanner_.Is(Punct("("))) return nullptr;
    PlainCursor at = {scanner_.token().begin, scanner_.text_end()};
    const bool is_long = at.Accept("(\n        [");
    if (!is_long && !at.Accept("([")) return nullptr;
    dims_.clear();
    has_symbol_ = false;
    if (!at.Accept("]")) {
      do {
        const int64_t size = at.TakeDigits();
        if (size < 0 || dims_.size() >= kMaxRank) return nullptr;
        dims_.push_back(size);
      } while (at.Accept(", "));
      if (!at.Accept("]")) return nullptr;
    }
    // A name with an escape is not found below, since the names of arguments have none.
    absl::string_view name;
    if (!at.Accept(is_long ? ",\n        " : ", ") || !at.TakeQuoted(&name) ||
        !at.Accept(is_long ? ",\n    ),\n" : "),\n")) {
      return nullptr;
    }
    const auto it = unlisted->find(name);
    if (it == unlisted->end()) return nullptr;
    Node* const node = it->second;
    unlisted->erase(it);
    scanner_.ContinueAt(at.next, is_long ? 4 : 1);
    return node;
  }

  // [([S0, 3, S1, S1], "L_x_"), …]
  absl::Status ParseShapes() {
    if (seen_shapes_) return scanner_.Error("the shapes are given twice");
    seen_shapes_ = true;
    NodesByName unlisted;
    unlisted.reserve(module_->main()->num_nodes() / 2);
    for (Node* node : module_->main()->nodes()) {
      if (!node->is_placeholder()) break;
      unlisted[node->target()] = node;
    }
    RETURN_IF_ERROR(scanner_.Expect(Punct("["), "before the shapes"));
    std::vector<absl::string_view> listed;
    RETURN_IF_ERROR(scanner_.TakeElements(Punct("]"), "after the shapes", [&]() -> absl::Status {
      const char* begin = scanner_.token().begin;
      while (Node* const node = TakePlainShape(&unlisted)) {
        listed.push_back(node->target());
        RETURN_IF_ERROR(ApplyShape(node, begin));
        begin = scanner_.token().begin;
      }
      if (scanner_.Is(Punct("]"))) return absl::OkStatus();
      RETURN_IF_ERROR(scanner_.Expect(Punct("("), "before a shape"));
      RETURN_IF_ERROR(ParseDims());
      RETURN_IF_ERROR(scanner_.Expect(Punct(","), "after the shape"));
      const char* name_begin = nullptr;
      absl::string_view name;
      RETURN_IF_ERROR(scanner_.TakeParenthesised("after the name", [&]() -> absl::Status {
        name_begin = scanner_.token().begin;
        ASSIGN_OR_RETURN(name, scanner_.TakeText("the name of an argument"));
        return absl::OkStatus();
      }));
      const auto it = unlisted.find(name);
      if (it == unlisted.end()) {
        return scanner_.ErrorAtOffset(
            name_begin,
            absl::StrCat("'", name, "' is not an argument of forward, or is listed twice"));
      }
      Node* node = it->second;
      unlisted.erase(it);
      listed.push_back(node->target());
      RETURN_IF_ERROR(ApplyShape(node, begin));
      scanner_.Accept(Punct(","));
      return scanner_.Expect(Punct(")"), "after the name");
    }));
    if (!unlisted.empty() || !std::is_sorted(listed.begin(), listed.end())) {
      for (absl::string_view name : listed) order_->emplace_back(name);
    }
    return absl::OkStatus();
  }

  absl::Status ParseDims() {
    dims_.clear();
    has_symbol_ = false;
    RETURN_IF_ERROR(scanner_.Expect(Punct("["), "before the sizes"));
    return scanner_.TakeElements(Punct("]"), "after the sizes", [&]() -> absl::Status {
      if (dims_.size() >= kMaxRank) return scanner_.Error("the tensor has too many dimensions");
      const Token& token = scanner_.token();
      const char* const begin = token.begin;
      if (token.kind == TokenKind::kInt && token.int_value >= 0 && scanner_.EndsElement()) {
        dims_.push_back(token.int_value);
        scanner_.Next();
        return absl::OkStatus();
      }
      ASSIGN_OR_RETURN(const SymExpr* expr, ParseSum(0));
      if (expr->kind == Kind::kInt) {
        if (expr->value < 0) return scanner_.ErrorAtOffset(begin, "the size is negative");
        dims_.push_back(expr->value);
      } else {
        dims_.push_back(expr);
        has_symbol_ = true;
      }
      return absl::OkStatus();
    });
  }

  absl::Status ApplyShape(Node* node, const char* begin) {
    const TensorMeta* known = node->tensor_meta();
    if (known == nullptr) {
      return scanner_.ErrorAtOffset(
          begin, absl::StrCat("argument '", node->target(), "' has no record in weight_meta.py"));
    }
    bool same = known->shape.size() == dims_.size();
    for (size_t i = 0; same && i < dims_.size(); ++i) {
      const std::optional<int64_t> size =
          dims_[i].is_static() ? dims_[i].value : EvaluateWithExamples(*module_, *dims_[i].expr);
      same = size == known->shape[i].value;
    }
    if (!same) {
      return scanner_.ErrorAtOffset(
          begin, absl::StrCat("the shape of '", node->target(),
                              "' at the example values is not the one in weight_meta.py"));
    }
    if (has_symbol_) {
      TensorMeta meta = *known;
      meta.shape = dims_;
      node->set_meta(module_->InternValueMeta(meta));
    }
    return absl::OkStatus();
  }

  static constexpr size_t kMaxSymbols = 1000;
  // Half the limit, because each level may nest a sum in a product.
  static constexpr int kMaxDepth = kMaxNesting / 2;

  Scanner scanner_;
  Module* module_;
  Module scratch_;  // holds expressions until it is known that they are needed
  bool* has_constraints_;
  std::vector<std::string>* order_;
  absl::flat_hash_set<absl::string_view> defined_;
  std::vector<Dim> dims_;
  bool has_symbol_ = false;
  bool seen_shapes_ = false;
};

}  // namespace

absl::Status ParseConstraintsPy(const std::string& text, absl::string_view file_name,
                                Module* module, bool* has_constraints,
                                std::vector<std::string>* order) {
  return ConstraintParser(text, file_name, module, has_constraints, order).Run();
}

}  // namespace graphnet
