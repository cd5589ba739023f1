#include "graphnet/extract/input_leaves.h"

#include "absl/strings/str_cat.h"

namespace graphnet {
namespace {

void NameLeaves(const ValueTree& tree, const std::string& name, InputLeaves* leaves) {
  switch (tree.kind) {
    case ValueTree::Kind::kTensor: leaves->tensors.try_emplace(tree.number, name); break;
    case ValueTree::Kind::kNone:
    case ValueTree::Kind::kBool:
    case ValueTree::Kind::kInt:
    case ValueTree::Kind::kFloat:
    case ValueTree::Kind::kString: leaves->constants.emplace(name, &tree); break;
    default: break;
  }
  const bool is_dict = tree.kind == ValueTree::Kind::kDict;
  for (size_t i = 0; i < tree.elements.size(); ++i) {
    // Keys and values alternate.
    const bool has_key = is_dict && i % 2 == 1 && !tree.elements[i - 1].text.empty();
    if (is_dict && i % 2 == 0) continue;
    NameLeaves(
        tree.elements[i],
        has_key ? absl::StrCat(name, ".", tree.elements[i - 1].text) : absl::StrCat(name, ".", i),
        leaves);
  }
}

}  // namespace

InputLeaves LeavesOf(const StitchManifest& manifest) {
  InputLeaves leaves;
  for (const auto& input : manifest.inputs) NameLeaves(input.pattern, input.name, &leaves);
  return leaves;
}

}  // namespace graphnet
