// Internal: expressions, literals and types of the code in a TorchScript archive.
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

using Tokens = absl::Span<const CodeToken>;

// The bracket that closes tokens[open]; there is one, the lexer has seen to it.
size_t Closing(Tokens tokens, size_t open);
// The first token `text` outside brackets at or after `from`, or the end.
size_t FindOutside(Tokens tokens, absl::string_view text, size_t from = 0);
// What is between the quotes.
absl::string_view Unquoted(const CodeToken& string);

// Checks the expressions of one file, and notes what they mention, how deep they nest and
// what folding makes of them.
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
  // At the end of tokens that lack something.
  Status Incomplete(Tokens line) const;

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

  absl::StatusOr<Folded> Expression(Tokens tokens, std::vector<FoldedSize>* parts = nullptr);
  // A value that LibTorch evaluates when it loads the file: "= literal", of
  // which no part runs. Returns the bytes of its strings.
  absl::StatusOr<uint64_t> Literal(Tokens tokens);
  // A type: names, dots, square brackets and commas. So no part of it is a call
  // when LibTorch takes it for a value, as it does in a NamedTuple.
  // Returns the number of leaves.
  absl::StatusOr<uint64_t> Annotation(Tokens tokens);
  // The dotted name that begins at tokens[i].
  static std::string Path(Tokens tokens, size_t i);
  static bool IsKeyword(absl::string_view name);

  CodeCheck::Definition& definition() { return check_.definitions_[definition_]; }

  CodeCheck& check_;
  const absl::string_view entry_;
  const absl::string_view text_;
  CodeLexer lexer_;

  // Where the expression stands.
  size_t num_blocks_ = 1;  // around it
  int definition_ = 0;     // its index
  std::string qualified_name_;
  absl::flat_hash_set<std::string> called_;       // by methods of other names, in the class
  std::string function_;                          // the function or method
  uint64_t function_depth_ = 0;                   // levels of recursion in it
  absl::flat_hash_set<absl::string_view> names_;  // of its variables
  absl::flat_hash_map<absl::string_view, FoldedSize> variables_;

 private:
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
