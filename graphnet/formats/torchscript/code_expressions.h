// Internal: checks expressions, literals and types in the code of a TorchScript archive.
#ifndef GRAPHNET_FORMATS_TORCHSCRIPT_CODE_EXPRESSIONS_H_
#define GRAPHNET_FORMATS_TORCHSCRIPT_CODE_EXPRESSIONS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/formats/torchscript/code_check.h"
#include "graphnet/formats/torchscript/code_lexer.h"

namespace graphnet {

// A part of a line of code.
using Tokens = absl::Span<const CodeToken>;

// Returns the index of the bracket that closes tokens[open]. The lexer guarantees that it exists.
size_t Closing(Tokens tokens, size_t open);
// Returns the index of the first token `text` outside of brackets at or after `from`;
// tokens.size() if there is none.
size_t FindOutside(Tokens tokens, absl::string_view text, size_t from = 0);
// Returns the text between the quotes.
absl::string_view Unquoted(const CodeToken& string);

// Checks the expressions of one file. Records the names that they mention, how deep they
// nest, and how large their values become when constants are folded.
class ExpressionCheck {
 protected:
  using Token = CodeToken;
  using Status = absl::Status;

  ExpressionCheck(CodeCheck* check, absl::string_view entry, absl::string_view text)
      : check_(*check), entry_(entry), text_(text), lexer_(text) {}

  Status ErrorAtOffset(size_t offset, absl::string_view message) const;
  size_t Offset(const Token& token) const { return token.text.data() - text_.data(); }
  Status Error(const Token& token, absl::string_view message) const {
    return ErrorAtOffset(Offset(token), message);
  }
  Status Unexpected(const Token& token) const;
  // Returns the error for an incomplete statement, at its last token.
  Status Incomplete(Tokens line) const;

  // The folded size of an expression: a tuple without brackets, or one value.
  struct Folded {
    bool is_tuple;
    FoldedSize sum;       // over the elements
    uint64_t max_leaves;  // the largest number among the elements
    uint64_t max_depth;   // likewise

    FoldedSize whole() const {
      return {sum.string_bytes, is_tuple ? Capped(sum.leaves + 1) : max_leaves,
              is_tuple ? Capped(max_depth + 1) : max_depth};
    }
    FoldedSize element() const { return {sum.string_bytes, max_leaves, max_depth}; }
  };

  // Checks an expression. If `parts` is given, the sizes of its elements are appended.
  absl::StatusOr<Folded> Expression(Tokens tokens, std::vector<FoldedSize>* parts = nullptr);
  // Checks a value that LibTorch evaluates when it loads the file. It must be a
  // literal, so that no code runs. Returns the length of its strings in bytes.
  absl::StatusOr<uint64_t> Literal(Tokens tokens);
  // Checks a type: names, dots, square brackets and commas. It cannot contain a
  // call, because LibTorch evaluates it as a value in a NamedTuple.
  // Returns the number of leaves.
  absl::StatusOr<uint64_t> Annotation(Tokens tokens);
  // Returns the dotted name that begins at tokens[i].
  static std::string Path(Tokens tokens, size_t i);
  static bool IsTypeOfPackedParameters(Tokens tokens, size_t i);
  static bool IsKeyword(absl::string_view name);

  CodeCheck::Definition& definition() { return check_.definitions_[definition_]; }

  CodeCheck& check_;
  const absl::string_view entry_;
  const absl::string_view text_;
  CodeLexer lexer_;

  // The place of the current expression.
  size_t num_blocks_ = 1;  // that enclose it
  int definition_ = 0;     // index of its definition
  std::string qualified_name_;
  absl::flat_hash_set<std::string> called_;       // in the class, by methods of other names
  std::string function_;                          // the function or method
  uint64_t function_depth_ = 0;                   // levels of recursion in the function
  absl::flat_hash_set<absl::string_view> names_;  // the function's variables
  absl::flat_hash_map<absl::string_view, FoldedSize> variables_;

 private:
  // An open bracket in an expression, or the expression itself. There are no
  // binary operators, so each element is one operand: a name, a literal or
  // a group, followed by a chain of attributes, calls and indices.
  struct Frame {
    enum Kind { kGroup, kList, kDict, kIndex, kCall };
    Kind kind = kGroup;
    const Token* start = nullptr;
    size_t elements = 0;
    FoldedSize sum{0, 0};
    uint64_t max_leaves = 1;
    uint64_t max_depth = 0;
    std::vector<FoldedSize>* parts = nullptr;  // receives the elements' sizes; may be null

    // The current operand.
    FoldedSize size;
    absl::string_view first;  // its first name; empty if it does not begin with one
    absl::string_view last;   // its last name
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

  Status EndElement(const Token& token, Frame* frame) const;
  Status Name(Tokens tokens, size_t i, Frame* frame);
  Status String(const Token& token, bool attribute, Frame* frame);
  Status Attribute(Tokens tokens, size_t i, Frame* frame);
  Status AttributeName(const Token& token, absl::string_view name, Frame* frame);
  uint64_t ConstantStringBytes(absl::string_view name) const;
  Status RunsAtLoad(const Token& token, absl::string_view name) const;
  Status Close(const Frame& frame, bool has_comma, Frame* outer);
  Status CheckSize(const Token& token, const FoldedSize& size) const;
  void NoteDepth(uint64_t depth);
  void Mention(std::string path);
};

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_TORCHSCRIPT_CODE_EXPRESSIONS_H_
