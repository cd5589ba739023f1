// Checks the source code in a TorchScript archive before LibTorch compiles it.
//
// torch::jit::load does more than compile. It evaluates default arguments, constants
// of classes and, by mistake, annotations of NamedTuple fields. It runs
// __setstate__. It folds operators on constant numbers, strings and tuples. And it
// compiles recursively: over expressions, over blocks, and from each definition to
// those that it mentions.
//
// The check therefore accepts only the small language that PyTorch's own writer
// (python_print.cpp) uses: classes, functions, assignments, if, while, for over
// a range, with; and expressions of names, attributes, calls, indices and literals.
// It accepts no operators, comprehensions or comments. In accepted code,
//   - everything that load evaluates is a literal or a plain type,
//   - a __setstate__ only assigns parts of the state and hands them to methods of its class; it is
//     run by LoadWithState (state_loader.h), not by LibTorch,
//   - torch.classes does not occur, but as the type of packed parameters,
//   - brackets, indentation and chains of a.b().c are at most kMaxNesting deep,
//     and the compiler's recursion as a whole is bounded,
//   - strings and tuples cannot double again and again.
// No real file comes near the bounds. The comment at each bound says what LibTorch
// of torch 2.13 does beyond it.
#ifndef GRAPHNET_FORMATS_TORCHSCRIPT_CODE_CHECK_H_
#define GRAPHNET_FORMATS_TORCHSCRIPT_CODE_CHECK_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace graphnet {

// The size of a value after the compiler has folded constants. All members are
// capped at kCap, so that the sum of two cannot overflow.
struct FoldedSize {
  static constexpr uint64_t kCap = uint64_t{1} << 40;
  uint64_t string_bytes = 0;
  uint64_t leaves = 1;  // elements of nested tuples and lists
  uint64_t depth = 0;   // tuples within tuples, without a list in between
};
// Returns `value`, at most kCap.
inline uint64_t Capped(uint64_t value) { return std::min(value, FoldedSize::kCap); }

// Checks all source files of one archive: AddFile for each, then Finish.
class CodeCheck {
 public:
  // `constant_string_bytes[i]` is the length of all strings in CONSTANTS.c<i>.
  explicit CodeCheck(std::vector<uint64_t> constant_string_bytes)
      : constant_string_bytes_(std::move(constant_string_bytes)) {}

  // Checks one source file. `entry` is its name, such as "code/__torch__/a.py".
  // Both arguments must outlive this object. A refusal is
  // InvalidArgument("code/__torch__/a.py:<line>:<column>: ...").
  absl::Status AddFile(absl::string_view entry, absl::string_view text);

  // Checks the properties that depend on all files. Call it once, after the last file.
  absl::Status Finish();

  // Returns whether a class has a __setstate__.
  bool has_set_state() const { return has_set_state_; }

 private:
  friend class ExpressionCheck;
  friend class FileCheck;

  // A class, or a function outside of classes.
  struct Definition {
    absl::string_view entry;
    size_t line = 0;
    bool is_named_tuple = false;
    // Levels of recursion for compiling it, without the definitions it mentions.
    uint64_t depth = 0;
    // Dotted names that it mentions. A prefix of one may be a definition's name.
    absl::flat_hash_set<std::string> mentions;
    // For a NamedTuple: the number of leaves, and the type names of its fields.
    uint64_t leaves = 0;
    std::vector<std::string> field_types;
  };

  absl::Status CheckFile(absl::string_view entry, absl::string_view text);
  // Returns the index of the definition that a name or a prefix of it refers to; -1
  // if there is none.
  int Resolve(absl::string_view qualified_name) const;
  // Returns whether the name is that of a NamedTuple. The first pass does not know all of them.
  bool MayBeNamedTuple(absl::string_view qualified_name) const;
  absl::Status CheckDepth();
  absl::Status CountNamedTupleLeaves();

  const std::vector<uint64_t> constant_string_bytes_;
  std::vector<std::pair<absl::string_view, absl::string_view>> files_;
  std::vector<Definition> definitions_;
  absl::flat_hash_map<std::string, int> index_;  // qualified name -> definition
  // Attributes that are constant strings, and their lengths in bytes.
  absl::flat_hash_map<std::string, uint64_t> string_attributes_;
  // NamedTuples by the last component of their names, and their leaves.
  absl::flat_hash_map<std::string, uint64_t> named_tuples_;
  uint64_t max_annotation_ = 1;  // leaves of the largest annotation
  bool sizes_known_ = false;     // true in the second pass
  bool has_set_state_ = false;
};

// Checks the text of a type, such as "Dict[str, List[__torch__.a.B]]". A refusal
// is InvalidArgument.
absl::Status CheckTypeText(absl::string_view type);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_TORCHSCRIPT_CODE_CHECK_H_
