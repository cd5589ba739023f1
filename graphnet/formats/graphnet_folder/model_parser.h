// The parser of model.py, a class in several files. model_parser.cc parses functions and the file
// as a whole, model_paddle.cc the syntax that only Paddle's samples have, model_statements.cc
// statements and the names of nodes, and model_expressions.cc expressions. model_calls.cc resolves
// names and calls. model_posted.cc has the syntax of functions that PyTorch prints for readers.
#ifndef GRAPHNET_FORMATS_GRAPHNET_FOLDER_MODEL_PARSER_H_
#define GRAPHNET_FORMATS_GRAPHNET_FOLDER_MODEL_PARSER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/base/name_hash.h"
#include "graphnet/formats/graphnet_folder/argument_stack.h"
#include "graphnet/formats/graphnet_folder/framework.h"
#include "graphnet/formats/graphnet_folder/named_values.h"
#include "graphnet/formats/graphnet_folder/posted_parser.h"
#include "graphnet/formats/graphnet_folder/scanner.h"
#include "graphnet/ir/module.h"

namespace graphnet {

constexpr int kComparison = 1;

struct BinaryOperator {
  uint32_t punct;
  int precedence;  // higher binds tighter; kComparison is the lowest
  absl::string_view target;
  absl::string_view in_place_target;  // empty: no augmented form
};

// Returns the operator of `a OP= b`; null if `punct` is not an augmented assignment.
const BinaryOperator* FindAugmented(uint32_t punct);

// Returns whether `name` is one of Python's keywords that the subset does not use.
bool IsForeignKeyword(absl::string_view name);

class ModelParser {
 public:
  ModelParser(const std::string& text, absl::string_view file_name, Framework framework,
              Module* module)
      : scanner_(text, file_name),
        framework_(framework),
        module_(module),
        values_(module, text.size()),
        file_(file_name),
        text_size_(text.size()) {}

  // Parses the file. May be called once.
  absl::Status Run();
  // Parses one function forward instead (posted_parser.h).
  absl::Status RunPosted(PostedFunction* function);

 private:
  // The meaning of a name at a point of the program.
  struct Binding {
    enum Kind : uint8_t { kUndefined, kValue, kReleased };
    Argument value;  // a node, a literal or a graph
    Kind kind = kUndefined;
    bool names_a_node = false;  // a node of the graph has this name
  };

  // The names of one function. A body sees no values of the function around it, only the nested
  // functions that it may refer to.
  struct Scope {
    Graph* graph = nullptr;
    absl::flat_hash_map<absl::string_view, Binding, NameHash> names;
    // A node that has no name yet: an alias of `a` that follows `a += b` or `a[i] = b` names the
    // node.
    Node* unnamed = nullptr;
    absl::string_view unnamed_base;  // `a`
  };

  class CallArguments;

  // model_parser.cc
  absl::Status ParseImports();
  absl::StatusOr<absl::string_view> ParseImportable();
  absl::StatusOr<absl::string_view> ParseDotted();
  absl::StatusOr<absl::string_view> ParseDottedRest(absl::string_view first, bool is_import);
  absl::Status ParseFunction(bool is_method, int depth);
  absl::Status ParseSignature(bool is_method);
  absl::Status ParseBody(int outer_indent, int depth);
  absl::Status ParseReturn();

  // model_paddle.cc
  bool is_paddle() const { return framework_ == Framework::kPaddle; }
  absl::Status ParseInit();
  absl::Status ParseDelete();
  absl::Status ParseUnpacking(absl::string_view first, bool parenthesised);
  absl::StatusOr<Argument> ParseOutputsRest();
  absl::StatusOr<std::optional<Argument>> ParsePlace(absl::string_view path);
  absl::Status CheckSubscript(const Argument& value, const Argument& index) const;

  // model_posted.cc
  bool is_posted() const { return posted_ != nullptr; }
  absl::Status ParseAnnotation(Node* node, std::string* text);
  absl::Status ParseAnnotatedAssignment(absl::string_view target);
  absl::Status ParseFlattenedInputs(absl::string_view first);
  absl::StatusOr<Argument> ParseUnflattened();
  absl::StatusOr<Argument> ParseSelf(absl::string_view first);
  absl::StatusOr<std::string> ParseSelfPath(absl::string_view first, int depth);
  absl::Status SkipBrackets();
  void ReturnUnusedValues();

  // model_statements.cc
  absl::Status ParseStatement();
  absl::Status ParseAssignment(absl::string_view target);
  void Bind(absl::string_view name, const Argument& value);
  absl::Status Alias(absl::string_view target, absl::string_view source);
  absl::Status ParseAugmented(absl::string_view target, const BinaryOperator& op);
  absl::Status ParseSubscriptStatement(absl::string_view first);
  void NameNewNodes();
  void NameNode(Node* node, absl::string_view name);
  absl::string_view DefaultName(const Node& node) const;
  absl::string_view UniqueName(absl::string_view base);
  void FinishUnnamed();
  Node* Create(Op op, absl::string_view target, absl::Span<const Argument> args,
               absl::Span<const KwArg> kwargs);
  // Returns `value` as an argument of a node of the current graph (NamedValues::WrittenOut).
  Argument WrittenOut(const Argument& value);
  void StartStatement() {
    stack_.Reset();
    values_.Forget();
    new_nodes_.clear();
  }
  bool EndsStatement() const {
    const Token& token = scanner_.token();
    return token.kind == TokenKind::kNewline || token.kind == TokenKind::kEnd ||
           scanner_.Is(Punct(";"));
  }
  // Passes over the current token and returns `value`, its meaning.
  Argument Taken(const Argument& value) {
    scanner_.Next();
    return value;
  }
  void Release(absl::string_view name) { scope_.names[name].kind = Binding::kReleased; }

  // model_expressions.cc
  absl::StatusOr<Argument> ParseExpressionRest(Argument value);
  absl::StatusOr<Argument> ParseExpressionList();
  absl::StatusOr<Argument> ParseTupleRest(const Argument& first);
  absl::StatusOr<Argument> ParseExpression();
  absl::StatusOr<Argument> ParseBinaryRest(Argument left, int lowest);
  absl::StatusOr<Argument> MakeBinary(const BinaryOperator& op, const Argument& left,
                                      const Argument& right);
  absl::StatusOr<Argument> ParseUnary();
  absl::StatusOr<Argument> ParsePrimary();
  absl::StatusOr<Argument> ParseAtom();
  absl::StatusOr<Argument> ParsePostfix(Argument value);
  absl::StatusOr<Argument> ParseSubscript();
  absl::StatusOr<Argument> ParseSubscriptElement();
  absl::StatusOr<Argument> ParseParenthesis();
  absl::StatusOr<Argument> ParseParenthesisRest(size_t base);
  absl::StatusOr<Argument> ParseList();
  absl::StatusOr<Argument> ParseDict();

  // model_calls.cc
  absl::StatusOr<Argument> Lookup(absl::string_view name);
  static std::optional<Argument> NamedLiteral(absl::string_view name);
  // Takes a bracket's element if it is just a number or the name of a value, as most elements are.
  bool TakeElement(Argument* value);
  absl::StatusOr<Argument> ParseAtomFromName(absl::string_view name);
  absl::StatusOr<Argument> ParseGlobal(absl::string_view first);
  absl::StatusOr<Argument> ParseConstant(absl::string_view first, absl::string_view path);
  absl::StatusOr<Argument> ParseDeviceCall(absl::string_view first);
  absl::StatusOr<Argument> ParseVmapCall(absl::string_view first);
  absl::StatusOr<Argument> ParseSliceCall(absl::string_view first);
  absl::StatusOr<Argument> ParseNumberCall(absl::string_view first);
  absl::StatusOr<Argument> ParseCall(Op op, absl::string_view target,
                                     std::optional<Argument> self = std::nullopt);

  Scanner scanner_;
  const Framework framework_;
  Module* module_;
  NamedValues values_;
  absl::string_view file_;
  size_t text_size_;
  Scope scope_;
  // Imported names and the paths that they stand for.
  absl::flat_hash_map<absl::string_view, absl::string_view, NameHash> imports_;
  absl::flat_hash_map<absl::string_view, int> suffixes_;
  absl::flat_hash_map<absl::string_view, Graph*> functions_;
  PostedFunction* posted_ = nullptr;  // null for the file of a sample
  // Annotations of names that PyTorch prints before it binds them.
  absl::flat_hash_map<absl::string_view, std::string> announced_;
  // Values of paddle._C_ops that the text treats as tuples.
  absl::flat_hash_set<const Node*> tuples_;

  // State of the statement that is being parsed:
  SourceLocation location_;
  ArgumentStack stack_;
  std::vector<KwArg> kwargs_;
  std::vector<Node*> new_nodes_;
  std::vector<absl::string_view> more_targets_;
  int depth_ = 0;  // of operators, on the parser's own stack
};

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_GRAPHNET_FOLDER_MODEL_PARSER_H_
