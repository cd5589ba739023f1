// Pytrees as torch.export stores them, JSON in a text:
//
//   [1, {"type": "builtins.dict", "context": "[\"k\"]", "children_spec": [LEAF]}]
#ifndef GRAPHNET_FORMATS_PT2_TREE_SPEC_H_
#define GRAPHNET_FORMATS_PT2_TREE_SPEC_H_

#include <cstddef>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace graphnet::pt2 {

// A structure of lists, tuples and dicts, and where its leaves are.
struct TreeSpec {
  // kOther: of a class, such as a dataclass or named tuple; its fields are its children.
  enum class Kind { kLeaf, kTuple, kList, kDict, kOther };
  // Of a dict: None, bool, int, float or text.
  using Key = std::variant<std::monostate, bool, int64_t, double, std::string>;

  Kind kind = Kind::kLeaf;
  std::vector<TreeSpec> children;
  std::vector<Key> keys;  // of a dict, one a child

  size_t num_leaves() const;
};

// InvalidArgument for what is not written so, and for another version than 1.
absl::StatusOr<TreeSpec> ParseTreeSpec(absl::string_view text);

// The same structure with tuples in the place of what is of a class that PyTorch alone does not
// know, such as those of transformers: torch.export.load refuses those where their library has not
// been imported. Adds the names of such classes to `classes`, each once. Errors as ParseTreeSpec.
absl::StatusOr<std::string> WithoutClasses(absl::string_view text,
                                           std::vector<std::string>* classes);

}  // namespace graphnet::pt2

#endif  // GRAPHNET_FORMATS_PT2_TREE_SPEC_H_
