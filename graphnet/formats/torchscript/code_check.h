// Checks the source code in a TorchScript archive before LibTorch compiles it.
//
// torch::jit::load not only compiles: it evaluates default arguments, constants
// of classes and, by a mistake of its own, annotations of NamedTuple fields; it
// runs __setstate__; it folds operators on numbers, strings and tuples whose
// inputs are constant. And it compiles by recursion: over expressions, blocks,
// and from each definition to those it mentions.
//
// So only the small language is let through that PyTorch's own writer
// (python_print.cpp) uses: classes, functions, assignments, if, while, for over
// a range, with; expressions of names, attributes, calls, indices, literals.
// No operators, no comprehensions, no comments. Within it,
//   - what load evaluates is a literal or a plain type,
//   - __setstate__, __getstate__ and torch.classes do not occur,
//   - brackets, indentation and chains of a.b().c are at most kMaxNesting deep,
//     and the compiler's recursion as a whole stays within a bound,
//   - strings and tuples cannot be made to double again and again.
// The bounds are such that no real file comes near; what LibTorch of torch 2.13 does
// beyond is noted with each.
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

// How large a value becomes when the compiler folds what is constant. Sums of
// two stay far from overflow, as both are cut at kCap.
struct FoldedSize {
  static constexpr uint64_t kCap = uint64_t{1} << 40;
  uint64_t string_bytes = 0;
  uint64_t leaves = 1;  // of the tuples and lists that it consists of
};
inline uint64_t Capped(uint64_t value) { return std::min(value, FoldedSize::kCap); }

class CodeCheck {
 public:
  // `constant_string_bytes[i]` is the length of all strings in CONSTANTS.c<i>.
  explicit CodeCheck(std::vector<uint64_t> constant_string_bytes)
      : constant_string_bytes_(std::move(constant_string_bytes)) {}

  // Checks one source file. `entry` is its name, "code/__torch__/a.py"; both
  // arguments have to outlive this object. A refusal is
  // InvalidArgument("code/__torch__/a.py:<line>:<column>: ...").
  absl::Status AddFile(absl::string_view entry, absl::string_view text);

  // Checks what depends on all files.
  absl::Status Finish();

 private:
  friend class ExpressionCheck;
  friend class FileCheck;

  // A class or a function outside classes.
  struct Definition {
    absl::string_view entry;
    size_t line = 0;
    bool is_named_tuple = false;
    // Levels of recursion that compiling it takes, without what it mentions.
    uint64_t depth = 0;
    // Qualified names that it mentions, and what their use may be within.
    absl::flat_hash_set<std::string> mentions;
    // Of a NamedTuple: the leaves and the names of the types of its fields.
    uint64_t leaves = 0;
    std::vector<std::string> field_types;
  };

  absl::Status CheckFile(absl::string_view entry, absl::string_view text);
  // Finds the definition that a name or its start refers to, or -1.
  int Resolve(absl::string_view qualified_name) const;
  absl::Status CheckDepth();
  absl::Status CountNamedTupleLeaves();

  const std::vector<uint64_t> constant_string_bytes_;
  std::vector<std::pair<absl::string_view, absl::string_view>> files_;
  std::vector<Definition> definitions_;
  absl::flat_hash_map<std::string, int> index_;  // qualified name -> definition
  // Attributes that stand for constant strings, with their lengths.
  absl::flat_hash_map<std::string, uint64_t> string_attributes_;
  // Last components of names of NamedTuples, with their leaves.
  absl::flat_hash_map<std::string, uint64_t> named_tuples_;
  uint64_t max_annotation_ = 1;  // leaves of the largest
  bool sizes_known_ = false;     // true in the second pass
};

// Checks the text of a type, as in "Dict[str, List[__torch__.a.B]]". A refusal
// is InvalidArgument.
absl::Status CheckTypeText(absl::string_view type);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_TORCHSCRIPT_CODE_CHECK_H_
