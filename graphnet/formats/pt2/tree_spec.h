// Reads pytrees as torch.export stores them, as a string of JSON:
//
//   [1, {"type": "builtins.dict", "context": "[\"k\"]", "children_spec": [LEAF]}]
#ifndef GRAPHNET_FORMATS_PT2_TREE_SPEC_H_
#define GRAPHNET_FORMATS_PT2_TREE_SPEC_H_

#include <cstddef>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace graphnet::pt2 {

// A structure of lists, tuples and dicts with leaves.
struct TreeSpec {
  // kOther is an instance of a class, such as a dataclass or named tuple; its fields are children.
  enum class Kind { kLeaf, kTuple, kList, kDict, kOther };
  // A key of a dict: None, bool, int, float or string.
  using Key = std::variant<std::monostate, bool, int64_t, double, std::string>;

  Kind kind = Kind::kLeaf;
  std::vector<TreeSpec> children;
  std::vector<Key> keys;  // one for each child of a dict

  // Returns the number of leaves; walks the whole tree.
  size_t num_leaves() const;
};

// Parses a tree. InvalidArgument for a malformed text and for any version but 1.
absl::StatusOr<TreeSpec> ParseTreeSpec(absl::string_view text);

// Returns true for a class that a reader of the program knows besides those of PyTorch.
using KnowsClass = std::function<bool(absl::string_view name)>;

// Returns the same structure, but with a tuple for each instance of a class that PyTorch alone does
// not know, such as one of transformers, unless `knows` knows it: torch.export.load refuses it
// unless its library has been imported. Adds each such class once to `classes`. torch.export.load
// also imports the modules that some contexts name, so a container with such a context becomes one
// without it: a defaultdict becomes a dict. Errors as for ParseTreeSpec().
absl::StatusOr<std::string> WithoutClasses(absl::string_view text,
                                           std::vector<std::string>* classes,
                                           const KnowsClass& knows = nullptr);

}  // namespace graphnet::pt2

#endif  // GRAPHNET_FORMATS_PT2_TREE_SPEC_H_
